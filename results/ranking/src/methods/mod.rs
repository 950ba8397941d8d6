//! Methods of ranking behind one interface. Each gets the same numbers: for every criterion at the bottom of the tree its weight, and
//! for every alternative the steps γ·g of its grade, which stand for the value 2^(γ·g).
//!
//! A new method is a file here and a line in [`METHODS`].

mod multiplicative;
mod topsis;
mod weighted_product;
mod weighted_sum;

/// A row for every criterion, a column for every alternative.
pub type Matrix = Vec<Vec<f64>>;

/// A method of ranking.
#[derive(Debug)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What of the steps does not depend on the weights.
    prepare: fn(&Matrix) -> Matrix,
    /// How the utilities come about.
    combine: Combine,
    /// Scores of utilities, in the same order.
    score: fn(&[f64]) -> Vec<f64>,
}

/// How weights and prepared rows become utilities.
#[derive(Debug, Clone, Copy)]
enum Combine {
    /// Sums of the weighted rows: utilities are linear in the weights.
    Sum,
    /// Anything else: weights, rows, utilities.
    By(fn(&[f64], &Matrix, &mut [f64])),
}

/// Every method, the default first.
pub const METHODS: &[Method] =
    &[multiplicative::METHOD, weighted_sum::METHOD, weighted_product::METHOD, topsis::METHOD];

impl Method {
    /// The method of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// The grades as the method uses them.
    pub fn prepare(&self, steps: &Matrix) -> Prepared {
        Prepared { rows: (self.prepare)(steps), combine: self.combine }
    }

    /// Scores of utilities.
    pub fn scores(&self, utilities: &[f64]) -> Vec<f64> {
        (self.score)(utilities)
    }
}

/// Grades, prepared for any weights.
#[derive(Debug, Clone)]
pub struct Prepared {
    rows: Matrix,
    combine: Combine,
}

impl Prepared {
    /// Whether utilities are linear in the weights.
    pub const fn is_linear(&self) -> bool {
        matches!(self.combine, Combine::Sum)
    }

    /// How many alternatives there are.
    pub fn alternatives(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The utility of every alternative: the greater, the better.
    pub fn utilities(&self, weights: &[f64]) -> Vec<f64> {
        let mut utilities = vec![0.0; self.alternatives()];
        self.utilities_into(weights, &mut utilities);
        utilities
    }

    /// The same into a buffer of their number.
    pub fn utilities_into(&self, weights: &[f64], utilities: &mut [f64]) {
        match self.combine {
            Combine::Sum => sum(weights, &self.rows, utilities),
            Combine::By(combine) => combine(weights, &self.rows, utilities),
        }
    }
}

fn sum(weights: &[f64], rows: &Matrix, utilities: &mut [f64]) {
    utilities.fill(0.0);
    for (weight, row) in weights.iter().zip(rows) {
        utilities.iter_mut().zip(row).for_each(|(utility, value)| *utility += weight * value);
    }
}

/// 2^(γ·g), every row divided by something of it.
fn values(steps: &Matrix, divisor: fn(&[f64]) -> f64) -> Matrix {
    let of_row = |row: &Vec<f64>| {
        let values: Vec<f64> = row.iter().map(|step| step.exp2()).collect();
        let divisor = divisor(&values);
        values.iter().map(|value| value / divisor).collect()
    };
    steps.iter().map(of_row).collect()
}

fn as_they_are(steps: &Matrix) -> Matrix {
    steps.clone()
}

/// The alternatives from the best to the worst; equal ones in the order of their columns.
pub fn order(utilities: &[f64]) -> Vec<usize> {
    let ranks = ranks(utilities);
    let mut order: Vec<usize> = (0..utilities.len()).collect();
    order.sort_by_key(|&one| (ranks[one], one));
    order
}

/// The place of every alternative, from 1; equal ones share it.
pub fn ranks(utilities: &[f64]) -> Vec<usize> {
    let ahead = |of: f64| utilities.iter().filter(|other| **other > of && !is_tied(**other, of)).count();
    utilities.iter().map(|&utility| 1 + ahead(utility)).collect()
}

/// Whether two utilities differ by no more than arithmetic does.
pub fn is_tied(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs()).max(1.0)
}
