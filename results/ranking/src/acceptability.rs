//! Monte-Carlo over weights, grades and measurements: how often an alternative has which rank, and the weights of those who would
//! choose it.
//!
//! R. Lahdelma, P. Salminen, "SMAA-2: Stochastic multicriteria acceptability analysis for group decision making", Operations Research 49
//! (2001): rank acceptability indices and central weight vectors.

use keytoll_crypto_api::Rng;
use schemars::JsonSchema;
use serde::Serialize;

use crate::graded::{HALF_STEP, Leaf};
use crate::hierarchy::Hierarchy;
use crate::methods::{Matrix, Method, ranks};
use crate::random::{Normal, exponential};
use crate::resampling::RESAMPLES;

/// Draws between two signs of progress.
pub const DRAWS_AT_ONCE: u32 = 1000;

/// Which weights are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// Any: uniform in every group, as if nobody had said anything.
    Any,
    /// Those that there are, each known to half a gradation.
    Near,
}

/// What is drawn from.
#[derive(Clone, Copy)]
pub struct Draws<'a> {
    /// The criteria.
    pub hierarchy: &'a Hierarchy,
    /// Their weights within the groups.
    pub weights: &'a [f64],
    /// Those at the bottom.
    pub leaves: &'a [Leaf],
    /// The method of ranking.
    pub method: &'static Method,
    /// For each alternative the first one that is the same, whose measurements it shares.
    pub same: &'a [usize],
    /// The root of the random numbers.
    pub seed: u64,
    /// How many times.
    pub count: u32,
    /// Called after every [`DRAWS_AT_ONCE`].
    pub done: &'a (dyn Fn() + Sync),
}

/// What became of an alternative.
#[derive(Debug, Clone, PartialEq)]
pub struct Acceptability {
    /// The part of the draws in which it had each rank, from the first; alternatives that are equal share their ranks' better one.
    pub ranks: Vec<f64>,
    /// The mean of the weights within the groups with which it was the first; none if it never was.
    pub central_weights: Option<Vec<f64>>,
}

impl Draws<'_> {
    /// Draws, and counts for every alternative.
    pub fn acceptability(&self, weights: Weights) -> Vec<Acceptability> {
        let mut sheet = Sheet::new(self);
        for drawn in 1..=self.count {
            sheet.draw(weights);
            if drawn.is_multiple_of(DRAWS_AT_ONCE) {
                (self.done)();
            }
        }
        sheet.tallies.iter().map(|tally| tally.finish(self.count)).collect()
    }
}

/// Counts of one alternative.
#[derive(Debug, Clone)]
struct Tally {
    ranks: Vec<u32>,
    weights: Vec<f64>,
}

/// The state of the draws, and buffers that every draw uses again.
struct Sheet<'a> {
    of: &'a Draws<'a>,
    random: Rng,
    normal: Normal,
    weights: Vec<f64>,
    shares: Vec<f64>,
    bottom: Vec<usize>,
    is_resampled: bool,
    /// The resample of each alternative.
    chosen: Vec<usize>,
    steps: Matrix,
    tallies: Vec<Tally>,
}

impl<'a> Sheet<'a> {
    fn new(of: &'a Draws<'a>) -> Self {
        let alternatives = of.leaves.first().map_or(0, |leaf| leaf.steps().len());
        let nodes = of.weights.len();
        Self {
            of,
            random: Rng::named(of.seed, "rank/acceptability"),
            normal: Normal::default(),
            weights: of.weights.to_vec(),
            shares: vec![0.0; nodes],
            bottom: of.hierarchy.leaves().collect(),
            is_resampled: of.leaves.iter().any(Leaf::is_resampled),
            chosen: vec![0; alternatives],
            steps: vec![vec![0.0; alternatives]; of.leaves.len()],
            tallies: vec![Tally { ranks: vec![0; alternatives], weights: vec![0.0; nodes] }; alternatives],
        }
    }

    fn draw(&mut self, weights: Weights) {
        self.draw_weights(weights);
        self.of.hierarchy.shares_into(&self.weights, &mut self.shares);
        if self.is_resampled {
            self.choose();
        }
        for (leaf, steps) in self.of.leaves.iter().zip(&mut self.steps) {
            leaf.draw(&mut self.random, &mut self.normal, &self.chosen, steps);
        }
        let bottom: Vec<f64> = self.bottom.iter().map(|&leaf| self.shares[leaf]).collect();
        let utilities = self.of.method.prepare(&self.steps).utilities(&bottom);
        for (tally, rank) in self.tallies.iter_mut().zip(ranks(&utilities)) {
            tally.count(rank, &self.weights);
        }
    }

    /// One resample for all criteria of an alternative, so that what was long and also many stays both.
    fn choose(&mut self) {
        for (place, &same) in self.of.same.iter().enumerate() {
            self.chosen[place] =
                if same == place { self.random.below(RESAMPLES as u64) as usize } else { self.chosen[same] };
        }
    }

    fn draw_weights(&mut self, weights: Weights) {
        for group in self.of.hierarchy.groups().iter().filter(|group| group.len() > 1) {
            for &node in group {
                self.weights[node] = match weights {
                    Weights::Any => exponential(&mut self.random),
                    Weights::Near => {
                        self.of.weights[node] * ((self.random.unit() - 0.5) * 2.0 * HALF_STEP).exp2()
                    }
                };
            }
            let sum: f64 = group.iter().map(|&node| self.weights[node]).sum();
            group.iter().for_each(|&node| self.weights[node] /= sum);
        }
    }
}

impl Tally {
    fn count(&mut self, rank: usize, weights: &[f64]) {
        self.ranks[rank - 1] += 1;
        if rank == 1 {
            self.weights.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
    }

    fn finish(&self, draws: u32) -> Acceptability {
        let firsts = f64::from(self.ranks[0]);
        Acceptability {
            ranks: self.ranks.iter().map(|&count| f64::from(count) / f64::from(draws)).collect(),
            central_weights: (firsts > 0.0).then(|| self.weights.iter().map(|sum| sum / firsts).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graded::Basis;
    use crate::hierarchy::Node;

    fn acceptability(grades: &[[f64; 2]], weights: Weights, seed: u64) -> Vec<Acceptability> {
        let hierarchy = Hierarchy::new(vec![Node { parent: None, is_leaf: true }; grades.len()]);
        let leaf = |grades: &[f64; 2]| Leaf { gamma: 1.0, basis: Basis::Given(grades.to_vec()) };
        let leaves: Vec<Leaf> = grades.iter().map(leaf).collect();
        let equal = vec![1.0 / grades.len() as f64; grades.len()];
        let method = &crate::methods::METHODS[0];
        let draws = Draws {
            hierarchy: &hierarchy,
            weights: &equal,
            leaves: &leaves,
            method,
            same: &[0, 1],
            seed,
            count: 20_000,
            done: &|| {},
        };
        draws.acceptability(weights)
    }

    #[test]
    fn of_two_equal_opposites_each_is_the_best_for_half_of_all_weights() {
        let found = acceptability(&[[8.0, 0.0], [0.0, 8.0]], Weights::Any, 1);
        assert!((found[0].ranks[0] - 0.5).abs() < 0.02, "{found:?}");
        // The mean of a weight that is uniform above 1/2.
        let central = found[0].central_weights.as_ref().unwrap();
        assert!((central[0] - 0.75).abs() < 0.02 && (central[0] + central[1] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_clearly_better_stays_so_near_its_weights() {
        let found = acceptability(&[[9.0, 0.0], [0.0, 3.0]], Weights::Near, 1);
        assert_eq!(found[0].ranks, [1.0, 0.0]);
        assert_eq!(found[1].central_weights, None);
        let found = acceptability(&[[9.0, 0.0], [0.0, 3.0]], Weights::Any, 1);
        assert!((found[0].ranks[0] - 0.75).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn a_seed_makes_the_same_draws() {
        let draw = |seed| acceptability(&[[1.0, 0.0], [0.0, 1.0]], Weights::Near, seed);
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
