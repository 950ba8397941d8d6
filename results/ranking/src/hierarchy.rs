//! The tree of criteria: what is weighed against what, and what a criterion at the bottom weighs in all.

/// A criterion in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The criterion above it, which stands before it; none for a main criterion.
    pub parent: Option<usize>,
    /// Whether alternatives are graded by it: then there is none below it.
    pub is_leaf: bool,
}

/// All criteria; those above stand before those below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    groups: Vec<Vec<usize>>,
}

impl Hierarchy {
    /// The tree of these criteria. A parent must stand before its children, and a leaf has none.
    pub fn new(nodes: Vec<Node>) -> Self {
        let children = |parent: Option<usize>| {
            (0..nodes.len()).filter(|&node| nodes[node].parent == parent).collect::<Vec<_>>()
        };
        let parents = std::iter::once(None).chain((0..nodes.len()).map(Some));
        let groups = parents.map(children).filter(|children| !children.is_empty()).collect();
        Self { nodes, groups }
    }

    /// The criteria.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The criteria that share a parent, group by group: their weights add up to 1.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The group of a criterion, itself included.
    pub fn siblings(&self, node: usize) -> &[usize] {
        self.groups.iter().find(|group| group.contains(&node)).map_or(&[], Vec::as_slice)
    }

    /// The criteria at the bottom, in order.
    pub fn leaves(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node].is_leaf)
    }

    /// What every criterion weighs in all, of its weight within its group.
    pub fn shares(&self, weights: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; self.nodes.len()];
        self.shares_into(weights, &mut shares);
        shares
    }

    /// The same into a buffer of their number.
    pub fn shares_into(&self, weights: &[f64], shares: &mut [f64]) {
        for (node, Node { parent, .. }) in self.nodes.iter().enumerate() {
            shares[node] = weights[node] * parent.map_or(1.0, |parent| shares[parent]);
        }
    }

    /// What every criterion at the bottom weighs in all.
    pub fn leaf_weights(&self, weights: &[f64]) -> Vec<f64> {
        let shares = self.shares(weights);
        self.leaves().map(|leaf| shares[leaf]).collect()
    }

    /// The weights within the groups after one was set to `weight` and the rest of its group shares what is left as before; equally,
    /// if it had everything.
    pub fn varied(&self, weights: &[f64], node: usize, weight: f64) -> Vec<f64> {
        let group = self.siblings(node);
        let others = group.len().saturating_sub(1) as f64;
        let rest = 1.0 - weights[node];
        let mut varied = weights.to_vec();
        for &sibling in group {
            let part = if rest > 0.0 { weights[sibling] / rest } else { 1.0 / others };
            varied[sibling] = if sibling == node { weight } else { (1.0 - weight) * part };
        }
        varied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two main criteria; the second has two below it, of which the second has two again.
    fn hierarchy() -> Hierarchy {
        let node = |parent, is_leaf| Node { parent, is_leaf };
        Hierarchy::new(vec![
            node(None, true),
            node(None, false),
            node(Some(1), true),
            node(Some(1), false),
            node(Some(3), true),
            node(Some(3), true),
        ])
    }

    #[test]
    fn shares_multiply_down_the_tree() {
        let hierarchy = hierarchy();
        assert_eq!(hierarchy.groups(), [vec![0, 1], vec![2, 3], vec![4, 5]]);
        let weights = [0.25, 0.75, 0.5, 0.5, 0.25, 0.75];
        assert_eq!(hierarchy.leaf_weights(&weights), [0.25, 0.375, 0.09375, 0.28125]);
        assert_eq!(hierarchy.leaf_weights(&weights).iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn the_rest_of_a_group_shares_what_is_left() {
        let hierarchy = hierarchy();
        let weights = [0.25, 0.75, 0.5, 0.5, 1.0, 0.0];
        assert_eq!(hierarchy.varied(&weights, 0, 1.0), [1.0, 0.0, 0.5, 0.5, 1.0, 0.0]);
        assert_eq!(hierarchy.varied(&weights, 4, 0.5), [0.25, 0.75, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(hierarchy.varied(&weights, 5, 0.5), [0.25, 0.75, 0.5, 0.5, 0.5, 0.5]);
    }
}
