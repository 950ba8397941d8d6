//! Criteria at the bottom of the tree with their grades, given or made of values, and draws of what they may be as well.

use keytoll_crypto_api::Rng;

use crate::grading::Rule;
use crate::random::Normal;

/// What a grade or a gradation given by a person may be off by, in steps: it stands for all that is rounded to it.
pub const HALF_STEP: f64 = 0.5;

/// A criterion by which alternatives are graded.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// γ: a grade is the factor 2^γ.
    pub gamma: f64,
    /// Where the grades are from.
    pub basis: Basis,
}

/// Where grades are from; an element for each alternative.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// A person gave them.
    Given(Vec<f64>),
    /// They are computed.
    Valued {
        /// The values.
        values: Vec<Valued>,
        /// How they become grades.
        rule: Rule,
        /// What they are compared with.
        reference: Reference,
    },
}

/// A value of 0 or more.
#[derive(Debug, Clone, PartialEq)]
pub struct Valued {
    /// The value.
    pub value: f64,
    /// What it may be as well.
    pub doubt: Doubt,
}

/// What a value may be as well.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// Nothing else.
    None,
    /// As its interval says: the standard deviation of its logarithm to the base 2.
    Interval {
        /// The standard deviation.
        log2_stddev: f64,
    },
    /// What each resample of the authentications has.
    Resampled(Vec<f64>),
}

impl Doubt {
    /// Nothing if the deviation is 0.
    pub fn within(log2_stddev: f64) -> Self {
        if log2_stddev > 0.0 { Self::Interval { log2_stddev } } else { Self::None }
    }
}

/// What values are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reference {
    /// Nothing: thresholds stand for themselves.
    None,
    /// A positive number.
    Number(f64),
    /// The value of an alternative, which is positive.
    Alternative(usize),
    /// The best value of all alternatives, which is positive.
    Best,
}

impl Leaf {
    /// The grades.
    pub fn grades(&self) -> Vec<f64> {
        match &self.basis {
            Basis::Given(grades) => grades.clone(),
            Basis::Valued { values, rule, reference } => {
                let values: Vec<f64> = values.iter().map(|value| value.value).collect();
                graded(&values, rule, *reference).collect()
            }
        }
    }

    /// The same without rounding.
    #[must_use]
    pub fn unrounded(&self) -> Self {
        let Basis::Valued { values, rule, reference } = &self.basis else { return self.clone() };
        let basis = Basis::Valued { values: values.clone(), rule: rule.unrounded(), reference: *reference };
        Self { gamma: self.gamma, basis }
    }

    /// The steps γ·g.
    pub fn steps(&self) -> Vec<f64> {
        self.grades().iter().map(|grade| self.gamma * grade).collect()
    }

    /// Whether any of its values is drawn out of resamples.
    pub fn is_resampled(&self) -> bool {
        let is_resampled = |value: &Valued| matches!(value.doubt, Doubt::Resampled(_));
        matches!(&self.basis, Basis::Valued { values, .. } if values.iter().any(is_resampled))
    }

    /// Draws steps. A given grade is drawn within half a step, independently for each alternative: it represents all values between two
    /// grades, so two alternatives with one grade may have different values. A measured value is drawn by its deviation, or it has the
    /// value of the resample chosen for the alternative.
    pub fn draw(&self, random: &mut Rng, normal: &mut Normal, chosen: &[usize], steps: &mut [f64]) {
        match &self.basis {
            Basis::Given(grades) => {
                steps.iter_mut().zip(grades).for_each(|(step, grade)| *step = draw_given(*grade, random));
            }
            Basis::Valued { values, rule, reference } => {
                for ((step, value), resample) in steps.iter_mut().zip(values).zip(chosen) {
                    *step = value.draw(random, normal, *resample);
                }
                let reference = reference.of(steps, rule);
                steps.iter_mut().for_each(|step| *step = rule.grade(*step, reference));
            }
        }
        steps.iter_mut().for_each(|step| *step *= self.gamma);
    }
}

fn graded(values: &[f64], rule: &Rule, reference: Reference) -> impl Iterator<Item = f64> {
    let reference = reference.of(values, rule);
    values.iter().map(move |value| rule.grade(*value, reference))
}

fn draw_given(grade: f64, random: &mut Rng) -> f64 {
    grade + (random.unit() - 0.5) * 2.0 * HALF_STEP
}

impl Valued {
    fn draw(&self, random: &mut Rng, normal: &mut Normal, resample: usize) -> f64 {
        match &self.doubt {
            Doubt::None => self.value,
            Doubt::Interval { log2_stddev } => self.value * (log2_stddev * normal.draw(random)).exp2(),
            Doubt::Resampled(_) => self.resampled(resample),
        }
    }

    /// What a resample has.
    pub(crate) fn resampled(&self, resample: usize) -> f64 {
        match &self.doubt {
            Doubt::Resampled(values) => values[resample],
            _ => self.value,
        }
    }
}

impl Reference {
    /// Its value; not a number where there is none.
    pub(crate) fn of(self, values: &[f64], rule: &Rule) -> f64 {
        match self {
            Self::None => f64::NAN,
            Self::Number(number) => number,
            Self::Alternative(alternative) => values[alternative],
            Self::Best => rule.best(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grading::{Relative, Rounding};

    fn certain(value: f64) -> Valued {
        Valued { value, doubt: Doubt::None }
    }

    fn relative(values: Vec<Valued>) -> Leaf {
        let rule = Relative {
            gamma: 1.0,
            better_max: 3,
            worse_max: 2,
            more_is_better: false,
            rounding: Rounding::Nearest,
        };
        let basis =
            Basis::Valued { values, rule: Rule::Relative(rule), reference: Reference::Alternative(1) };
        Leaf { gamma: 2.0, basis }
    }

    #[test]
    fn values_are_compared_with_that_of_an_alternative() {
        let leaf = relative(vec![certain(0.0), certain(100.0), certain(30.0), certain(300.0)]);
        assert_eq!(leaf.grades(), [3.0, 0.0, 2.0, -2.0]);
        assert_eq!(leaf.steps(), [6.0, 0.0, 4.0, -4.0]);
        assert_eq!(leaf.unrounded().grades()[2], (10.0_f64 / 3.0).log2());
    }

    #[test]
    fn values_are_compared_with_the_best_of_all() {
        let mut leaf = relative(vec![certain(40.0), certain(10.0), certain(20.0)]);
        let Basis::Valued { rule: Rule::Relative(rule), reference, .. } = &mut leaf.basis else {
            unreachable!()
        };
        *reference = Reference::Best;
        assert_eq!((rule.more_is_better, leaf.grades()), (false, vec![-2.0, 0.0, -1.0]));
        let Basis::Valued { rule: Rule::Relative(rule), .. } = &mut leaf.basis else { unreachable!() };
        rule.more_is_better = true;
        assert_eq!(leaf.grades(), [0.0, -2.0, -1.0]);
    }

    #[test]
    fn equal_grades_are_drawn_independently() {
        let leaf = Leaf { gamma: 1.0, basis: Basis::Given(vec![2.0, 1.0, 2.0]) };
        let (mut random, mut normal) = (Rng::named(1, "test"), Normal::default());
        let mut drawn = [0.0; 3];
        for _ in 0..100 {
            leaf.draw(&mut random, &mut normal, &[0; 3], &mut drawn);
            assert_ne!(drawn[0], drawn[2]);
            assert!(
                drawn.iter().zip([2.0, 1.0, 2.0]).all(|(step, grade)| (step - grade).abs() <= 0.5),
                "{drawn:?}"
            );
        }
    }

    #[test]
    fn certain_values_are_drawn_as_they_are() {
        let leaf = relative(vec![certain(10.0), certain(100.0)]);
        let (mut random, mut normal) = (Rng::named(1, "test"), Normal::default());
        let mut drawn = [0.0; 2];
        leaf.draw(&mut random, &mut normal, &[0; 3], &mut drawn);
        assert_eq!(drawn.to_vec(), leaf.steps());
        let uncertain = relative(vec![Valued { value: 60.0, doubt: Doubt::within(1.0) }, certain(100.0)]);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            uncertain.draw(&mut random, &mut normal, &[0; 2], &mut drawn);
            seen.insert(drawn[0] as i64);
        }
        assert!(seen.len() > 2, "{seen:?}");
    }

    #[test]
    fn of_a_resample_all_values_are_its_own() {
        let resampled = Valued { value: 50.0, doubt: Doubt::Resampled(vec![25.0, 100.0, 0.0]) };
        let leaf = relative(vec![resampled.clone(), resampled]);
        assert!(leaf.is_resampled() && !relative(vec![certain(1.0); 2]).is_resampled());
        let (mut random, mut normal) = (Rng::named(1, "test"), Normal::default());
        let mut draw = |chosen: [usize; 2]| {
            let mut drawn = [0.0; 2];
            leaf.draw(&mut random, &mut normal, &chosen, &mut drawn);
            drawn
        };
        assert_eq!([draw([0, 1]), draw([1, 0]), draw([1, 1])], [[4.0, 0.0], [-4.0, 0.0], [0.0, 0.0]]);
        // Nothing is a multiple of nothing, which is as good as itself.
        assert_eq!([draw([2, 2]), draw([1, 2])], [[0.0, 0.0], [-4.0, 0.0]]);
    }
}
