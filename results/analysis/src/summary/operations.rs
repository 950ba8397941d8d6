//! The crypto operations of a row, node by node.

use keytoll_trace::Part;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;
use crate::Named;
use crate::metrics::{Operation, Tally};

/// A crypto operation of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationMean {
    /// `authentication`, or `after` for what follows its outcome; absent of older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The phase of the protocol, like `ike-sa-init`.
    pub phase: String,
    /// The operation, like `agree`.
    pub operation: String,
    /// The algorithm, like `x25519`.
    pub algorithm: String,
    /// How often in this part, or from the beginning of an authentication to that of the next one: mean.
    pub count: f64,
    /// Their time on this machine in nanoseconds, together, without preemption as `cpu` is; 0 where operations are only counted.
    pub ns: f64,
}

impl OperationMean {
    /// Whether it belongs to the authentication itself; all do in older runs, which have no parts.
    pub fn is_in_authentication(&self) -> bool {
        self.part.as_deref().is_none_or(|part| part == Part::Authentication.name())
    }
}

pub(super) fn is_empty(operations: &Named<Vec<OperationMean>>) -> bool {
    operations.names().next().is_none()
}

/// Those of each node together.
pub(super) fn operations(tally: &Tally) -> Named<Vec<OperationMean>> {
    let per_authentication = |total: u64| total as f64 / tally.n.max(1) as f64;
    let mean = |Operation { part, cost }: &Operation| OperationMean {
        part: part.map(|part| part.name().to_owned()),
        phase: cost.phase.to_string(),
        operation: cost.operation.to_string(),
        algorithm: cost.algorithm.to_string(),
        count: per_authentication(cost.count),
        ns: per_authentication(cost.ns),
    };
    let by_node = tally.operations.chunk_by(|one, next| one.cost.node == next.cost.node);
    by_node.map(|costs| (name(costs[0].cost.node), costs.iter().map(mean).collect())).collect()
}

#[cfg(test)]
mod tests {
    use keytoll_trace::{Node, OperationCost};

    use super::*;

    #[test]
    fn counts_are_means_and_nodes_apart() {
        let cost = |node, operation: &'static str, count| Operation {
            part: Some(Part::Authentication),
            cost: OperationCost {
                node,
                phase: "eap".into(),
                operation: operation.into(),
                algorithm: "rsa2048".into(),
                count,
                ns: 10 * count,
                bytes: 0,
            },
        };
        let costs = vec![cost(Node::Ue, "sign", 4), cost(Node::Ue, "verify", 2), cost(Node::Ap, "sign", 6)];
        let means = operations(&Tally { n: 4, operations: costs, ..Tally::default() });
        let of = |node: &str| {
            let means = means.get(node).unwrap().iter();
            means.map(|mean| (mean.operation.as_str(), mean.count, mean.ns)).collect::<Vec<_>>()
        };
        assert_eq!(of("ue"), [("sign", 1.0, 10.0), ("verify", 0.5, 5.0)]);
        assert_eq!((of("ap"), means.get("aaa")), (vec![("sign", 1.5, 15.0)], None));
        assert!(is_empty(&operations(&Tally::default())));
    }
}
