//! What authentications that failed have cost, by reason.

use std::collections::BTreeMap;

use keytoll_trace::Node;

use super::Sample;
use super::times::FAILED_AFTER;
use crate::stats::{Distribution, Welford};

/// Costs of the authentications that failed for one reason.
#[derive(Debug, Clone, Default)]
pub struct FailureTally {
    /// From the trigger until the device knew, of those where it did.
    pub after_ns: Distribution,
    /// Messages over all links until the outcome, without retransmissions.
    pub messages: Welford,
    /// Bytes of their packets, retransmissions included.
    pub bytes: Welford,
    /// CPU time of each node, of those undisturbed.
    pub cpu_ns: BTreeMap<Node, Welford>,
}

impl FailureTally {
    /// CPU time of all nodes together, mean; nothing if it was not measured.
    pub fn cpu_ns_mean(&self) -> Option<f64> {
        let means: Vec<f64> = self.cpu_ns.values().filter_map(Welford::mean).collect();
        (!means.is_empty()).then(|| means.iter().sum())
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        if let Some(ns) = sample.times.get(&FAILED_AFTER).filter(|_| sample.delay_is_sound()) {
            self.after_ns.add(ns);
        }
        self.messages.add(sample.total.messages as f64);
        self.bytes.add(sample.total.bytes as f64);
        for (node, cost) in sample.nodes.iter().filter(|_| !sample.disturbed) {
            self.cpu_ns.entry(*node).or_default().add(cost.cpu_ns as f64);
        }
    }
}
