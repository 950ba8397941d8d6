//! By how much the best alternative leads if one thing at a time is otherwise: the data of a tornado diagram.

use crate::graded::Leaf;
use crate::hierarchy::Hierarchy;
use crate::methods::{Matrix, Method, order};

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// The weight of a criterion, by a gradation: halved and doubled before the group is normalised.
    Weight(usize),
    /// The grade of the best alternative by a criterion at the bottom, by a grade.
    Grade(usize),
}

/// A bar: the lead of the best over the second at either end of the change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// What is changed.
    pub input: Input,
    /// The lead with one step less; negative if the second is then ahead.
    pub less: f64,
    /// With one step more.
    pub more: f64,
}

impl Bar {
    /// From end to end.
    pub fn width(&self) -> f64 {
        (self.more - self.less).abs()
    }
}

/// The bars, widest first; none with fewer than two alternatives.
pub fn tornado(hierarchy: &Hierarchy, weights: &[f64], leaves: &[Leaf], method: &Method) -> Vec<Bar> {
    let steps: Matrix = leaves.iter().map(Leaf::steps).collect();
    let utilities =
        |weights: &[f64], steps: &Matrix| method.prepare(steps).utilities(&hierarchy.leaf_weights(weights));
    let [best, second, ..] = order(&utilities(weights, &steps))[..] else { return Vec::new() };
    let lead = |weights: &[f64], steps: &Matrix| {
        let utilities = utilities(weights, steps);
        utilities[best] - utilities[second]
    };
    let groups = hierarchy.groups().iter().filter(|group| group.len() > 1);
    let by_weight = groups.flatten().map(|&node| {
        let with = |factor| lead(&weighted(hierarchy, weights, node, factor), &steps);
        Bar { input: Input::Weight(node), less: with(0.5), more: with(2.0) }
    });
    let by_grade = hierarchy.leaves().zip(leaves).enumerate().map(|(row, (node, leaf))| {
        let with = |grades: f64| {
            let mut steps = steps.clone();
            steps[row][best] += grades * leaf.gamma;
            lead(weights, &steps)
        };
        Bar { input: Input::Grade(node), less: with(-1.0), more: with(1.0) }
    });
    let mut bars: Vec<Bar> = by_weight.chain(by_grade).collect();
    bars.sort_by(|one, other| other.width().total_cmp(&one.width()).then(one.input.cmp(&other.input)));
    bars
}

fn weighted(hierarchy: &Hierarchy, weights: &[f64], node: usize, factor: f64) -> Vec<f64> {
    let weight = weights[node];
    hierarchy.varied(weights, node, factor * weight / (1.0 - weight + factor * weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graded::Basis;
    use crate::hierarchy::Node;

    #[test]
    fn the_widest_bar_is_the_first() {
        let hierarchy = Hierarchy::new(vec![Node { parent: None, is_leaf: true }; 2]);
        let given = |grades: [f64; 2]| Leaf { gamma: 1.0, basis: Basis::Given(grades.to_vec()) };
        let leaves = [given([3.0, 0.0]), given([0.0, 1.0])];
        let bars = tornado(&hierarchy, &[0.5, 0.5], &leaves, &crate::methods::METHODS[0]);
        // Weights 1/3 and 2/3 lead by 3/3 − 2/3, and 2/3 and 1/3 by 6/3 − 1/3; a grade moves the lead by its weight.
        let expected = [
            (Input::Weight(0), 1.0 / 3.0, 5.0 / 3.0),
            (Input::Weight(1), 5.0 / 3.0, 1.0 / 3.0),
            (Input::Grade(0), 0.5, 1.5),
            (Input::Grade(1), 0.5, 1.5),
        ];
        assert_eq!(bars.len(), 4);
        assert!(bars.is_sorted_by(|one, other| one.width() >= other.width()));
        for (input, less, more) in expected {
            let bar = bars.iter().find(|bar| bar.input == input).unwrap();
            assert!((bar.less - less).abs() < 1e-12 && (bar.more - more).abs() < 1e-12, "{bar:?}");
        }
    }
}
