//! The inputs of each node that took it time: what waits in its queue, and for how long it occupies a core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;
use crate::Named;
use crate::metrics::{StepsTally, Tally};

/// Inputs of a node, from the trigger of an authentication to its outcome, over those that were not disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepsSummary {
    /// How many an authentication has, mean.
    pub per_authentication: f64,
    /// How long one occupies a core of the node's CPU profile: mean.
    pub busy_ns: f64,
    /// Its standard deviation; absent below two inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_ns_stddev: Option<f64>,
    /// How many were measured.
    pub n: u64,
}

pub(super) fn is_empty(steps: &Named<StepsSummary>) -> bool {
    steps.names().next().is_none()
}

/// Those of each node.
pub(super) fn steps(tally: &Tally) -> Named<StepsSummary> {
    let StepsTally { authentications, busy_ns } = &tally.steps;
    let of_node = busy_ns.iter().filter_map(|(&node, busy_ns)| {
        let steps = StepsSummary {
            per_authentication: busy_ns.n() as f64 / (*authentications).max(1) as f64,
            busy_ns: busy_ns.mean()?,
            busy_ns_stddev: busy_ns.stddev(),
            n: busy_ns.n(),
        };
        Some((name(node), steps))
    });
    of_node.collect()
}
