//! Sensitivity to weights: each goes from 0 to 1 while the rest of its group shares what is left as before.
//!
//! Where utilities are linear in the weights, those of two alternatives meet where u_j(0) + x·(u_j(1) − u_j(0)) is the same for both:
//! one division. Otherwise (TOPSIS) the sign of their difference is looked at on a grid, and each change of it is bisected.

use crate::hierarchy::Hierarchy;
use crate::methods::{Prepared, is_tied, order};

/// Steps of the grid for methods that are not linear.
const GRID: u32 = 500;

/// Halvings of a step of the grid: to 2⁻⁴⁰ of it.
const HALVINGS: u32 = 40;

/// A decision whose weights can be varied.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    /// The criteria.
    pub hierarchy: &'a Hierarchy,
    /// Their weights within the groups.
    pub weights: &'a [f64],
    /// The grades, prepared by a method.
    pub grades: &'a Prepared,
}

/// A weight at which two alternatives are equal, and change places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The weight of the criterion.
    pub at: f64,
    /// The alternative that is ahead for greater weights.
    pub above: usize,
    /// The one that is ahead for smaller weights.
    pub below: usize,
}

/// What happens while a weight is varied.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The criterion.
    pub node: usize,
    /// Its weight as it is.
    pub weight: f64,
    /// Every change of places, by weight.
    pub crossings: Vec<Crossing>,
    /// The weights, around the present one, with which the same alternative is the best.
    pub winner_keeps: (f64, f64),
}

impl Sweep {
    /// The change of places that is nearest to the present weight.
    pub fn nearest(&self) -> Option<Crossing> {
        let distance = |crossing: &Crossing| (crossing.at - self.weight).abs();
        self.crossings.iter().copied().min_by(|one, other| distance(one).total_cmp(&distance(other)))
    }

    /// How far the weight must move until another alternative is the best; none if it never is.
    pub fn distance_to_another_winner(&self) -> Option<f64> {
        let (from, to) = self.winner_keeps;
        let down = (from > 0.0).then_some(self.weight - from);
        let up = (to < 1.0).then_some(to - self.weight);
        down.into_iter().chain(up).min_by(f64::total_cmp)
    }
}

impl Decision<'_> {
    /// The utilities with the weights as they are.
    pub fn utilities(&self) -> Vec<f64> {
        self.grades.utilities(&self.hierarchy.leaf_weights(self.weights))
    }

    /// The utilities with one weight changed.
    pub fn utilities_at(&self, node: usize, weight: f64) -> Vec<f64> {
        let varied = self.hierarchy.varied(self.weights, node, weight);
        self.grades.utilities(&self.hierarchy.leaf_weights(&varied))
    }

    /// A sweep for every criterion that is weighed against others.
    pub fn sweeps(&self) -> Vec<Sweep> {
        let groups = self.hierarchy.groups().iter().filter(|group| group.len() > 1);
        let mut nodes: Vec<usize> = groups.flatten().copied().collect();
        nodes.sort_unstable();
        nodes.into_iter().map(|node| self.sweep(node)).collect()
    }

    fn sweep(&self, node: usize) -> Sweep {
        let mut crossings = if self.grades.is_linear() { self.met(node) } else { self.searched(node) };
        crossings.sort_by(|one, other| one.at.total_cmp(&other.at));
        let weight = self.weights[node];
        let winner_keeps = self.winner_keeps(weight, &crossings);
        Sweep { node, weight, crossings, winner_keeps }
    }

    /// From the nearest crossing of the winner below the present weight to the nearest one above.
    fn winner_keeps(&self, weight: f64, crossings: &[Crossing]) -> (f64, f64) {
        let best = order(&self.utilities()).first().copied();
        let of_winner = |ahead: fn(&Crossing) -> usize| {
            crossings.iter().filter(move |crossing| Some(ahead(crossing)) == best).map(|crossing| crossing.at)
        };
        // Below the crossing another is ahead, or above it.
        let from = of_winner(|crossing| crossing.above).filter(|at| *at <= weight).fold(0.0, f64::max);
        let to = of_winner(|crossing| crossing.below).filter(|at| *at >= weight).fold(1.0, f64::min);
        (from, to)
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = self.grades.alternatives();
        (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
    }

    fn met(&self, node: usize) -> Vec<Crossing> {
        let (start, end) = (self.utilities_at(node, 0.0), self.utilities_at(node, 1.0));
        let meet = |(one, other): (usize, usize)| {
            if is_tied(start[one], start[other]) || is_tied(end[one], end[other]) {
                return None;
            }
            let (before, after) = (start[one] - start[other], end[one] - end[other]);
            ((before > 0.0) != (after > 0.0)).then(|| crossing(before / (before - after), before, one, other))
        };
        self.pairs().filter_map(meet).collect()
    }

    fn searched(&self, node: usize) -> Vec<Crossing> {
        let at = |step: u32| f64::from(step) / f64::from(GRID);
        let grid: Vec<_> = (0..=GRID).map(|step| self.utilities_at(node, at(step))).collect();
        let search = |(one, other): (usize, usize)| self.changes(node, &grid, one, other);
        self.pairs().flat_map(search).collect()
    }

    /// The changes of sign of one pair, ties left out: between two points of the grid that are not tied.
    fn changes(&self, node: usize, grid: &[Vec<f64>], one: usize, other: usize) -> Vec<Crossing> {
        let decided = grid.iter().enumerate().filter(|(_, at)| !is_tied(at[one], at[other]));
        let signs: Vec<(usize, f64)> = decided.map(|(step, at)| (step, at[one] - at[other])).collect();
        let turns = signs.windows(2).filter(|pair| (pair[0].1 > 0.0) != (pair[1].1 > 0.0));
        let bisected = turns.map(|pair| {
            let ends = [pair[0].0, pair[1].0].map(|step| step as f64 / f64::from(GRID));
            crossing(self.bisect(node, ends, pair[0].1 > 0.0, one, other), pair[0].1, one, other)
        });
        bisected.collect()
    }

    fn bisect(
        &self,
        node: usize,
        [mut low, mut high]: [f64; 2],
        ahead: bool,
        one: usize,
        other: usize,
    ) -> f64 {
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            let at = self.utilities_at(node, middle);
            *(if (at[one] > at[other]) == ahead { &mut low } else { &mut high }) = middle;
        }
        (low + high) / 2.0
    }
}

/// `before` is by how much `one` is ahead for smaller weights.
fn crossing(at: f64, before: f64, one: usize, other: usize) -> Crossing {
    let (below, above) = if before > 0.0 { (one, other) } else { (other, one) };
    Crossing { at, above, below }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::Node;
    use crate::methods::Method;

    fn flat(leaves: usize) -> Hierarchy {
        Hierarchy::new(vec![Node { parent: None, is_leaf: true }; leaves])
    }

    fn sweep(method: &str, node: usize) -> Sweep {
        // By the first criterion A is two steps better than B and C is between; by the second it is the other way round.
        let steps = vec![vec![2.0, 0.0, 1.5], vec![0.0, 2.0, 1.5]];
        let grades = Method::named(method).unwrap().prepare(&steps);
        let hierarchy = flat(2);
        Decision { hierarchy: &hierarchy, weights: &[0.5, 0.5], grades: &grades }.sweep(node)
    }

    #[test]
    fn places_change_where_lines_meet() {
        let found = sweep("mahp", 0);
        // A and B meet at 1/2, A and C where 2x = 3/2, B and C where 2(1 − x) = 3/2.
        let at: Vec<f64> = found.crossings.iter().map(|crossing| crossing.at).collect();
        assert_eq!(at, [0.25, 0.5, 0.75]);
        assert_eq!(found.crossings[0], Crossing { at: 0.25, above: 2, below: 1 });
        assert_eq!(found.crossings[2], Crossing { at: 0.75, above: 0, below: 2 });
        assert_eq!(found.winner_keeps, (0.25, 0.75));
        assert_eq!(found.nearest().unwrap().at, 0.5);
        assert_eq!(found.distance_to_another_winner(), Some(0.25));
    }

    #[test]
    fn a_search_finds_what_is_computed() {
        // The weighted product is linear in the weights; searched for, its crossings are the same.
        let steps = vec![vec![2.0, 0.3, 1.5, 0.0], vec![0.0, 2.0, 1.5, 0.1], vec![1.0, 1.1, -1.0, 2.0]];
        let grades = Method::named("mahp").unwrap().prepare(&steps);
        let hierarchy = flat(3);
        let decision = Decision { hierarchy: &hierarchy, weights: &[0.5, 0.2, 0.3], grades: &grades };
        for node in 0..3 {
            let (computed, searched) = (decision.met(node), decision.searched(node));
            assert_eq!(computed.len(), searched.len());
            for (one, other) in computed.iter().zip(&searched) {
                assert!((one.at - other.at).abs() < 1e-9, "{computed:?} {searched:?}");
                assert_eq!((one.above, one.below), (other.above, other.below));
            }
        }
        assert!(!sweep("topsis", 0).crossings.is_empty());
    }

    #[test]
    fn who_is_better_by_everything_never_loses_the_place() {
        let grades = Method::named("mahp").unwrap().prepare(&vec![vec![2.0, 1.0], vec![1.0, 0.0]]);
        let hierarchy = flat(2);
        let decision = Decision { hierarchy: &hierarchy, weights: &[0.5, 0.5], grades: &grades };
        for sweep in decision.sweeps() {
            assert_eq!((sweep.winner_keeps, sweep.nearest()), ((0.0, 1.0), None));
            assert_eq!(sweep.distance_to_another_winner(), None);
        }
    }
}
