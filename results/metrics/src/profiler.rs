//! A sampling profiler in virtual time, like OProfile in paper 000: a timer interrupts a node a thousand times a second and
//! counts how often the node is computing. On a real machine this is cheap and coarse: a computation between two interrupts is
//! never seen.

use std::collections::BTreeMap;

use keytoll_trace::{Fact, Node, Record};

use super::sample::Profile;

/// The frequency of the timer: paper 000 §IV-A.
pub const TIMER_HZ: u64 = 1000;

const PERIOD_NS: u64 = 1_000_000_000 / TIMER_HZ;

/// The golden section of a period. Triggers occur at whole seconds; a synchronous timer would always sample the first
/// computation at the same point, so each authentication shifts it by this amount, which fills a period evenly.
const STEP_NS: u64 = 618_034;

/// The profiler's counts for one authentication, until the packet that triggered it has returned.
pub(super) fn profile(number: u32, records: &[Record]) -> BTreeMap<Node, Profile> {
    let end_ns = end_ns(records).unwrap_or(u64::MAX);
    let phase_ns = u64::from(number) * STEP_NS % PERIOD_NS;
    let mut nodes: BTreeMap<Node, Profile> = BTreeMap::new();
    for record in records.iter().filter(|record| record.at_ns <= end_ns) {
        if let Fact::Computed { busy_ns } = record.fact {
            let profile = nodes.entry(record.node).or_default();
            let begun_ns = record.at_ns.saturating_sub(busy_ns);
            profile.busy_ns += busy_ns;
            profile.hits += interrupts_until(record.at_ns, phase_ns) - interrupts_until(begun_ns, phase_ns);
        }
    }
    nodes
}

/// The first packet belongs to a node's charge; without one it ends with the outcome.
fn end_ns(records: &[Record]) -> Option<u64> {
    let at = |wanted: fn(&Fact) -> bool| {
        let found = records.iter().find(|record| record.node == Node::Ue && wanted(&record.fact));
        found.map(|record| record.at_ns)
    };
    at(|fact| matches!(fact, Fact::FirstPacket))
        .or_else(|| at(|fact| matches!(fact, Fact::Failed { .. } | Fact::Usable)))
}

fn interrupts_until(at_ns: u64, phase_ns: u64) -> u64 {
    (at_ns + PERIOD_NS - phase_ns) / PERIOD_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn computed(at_ns: u64, node: Node, busy_ns: u64) -> Record {
        Record { at_ns, node, sample: 0, fact: Fact::Computed { busy_ns } }
    }

    fn at(at_ns: u64, fact: Fact) -> Record {
        Record { at_ns, node: Node::Ue, sample: 0, fact }
    }

    #[test]
    fn interrupts_that_find_the_node_computing_are_counted() {
        let records = [
            at(0, Fact::Triggered),
            // Interrupts at 1, 2 and 3 ms.
            computed(3_200_000, Node::Ue, 2_400_000),
            // Between two of them.
            computed(3_900_000, Node::Gw, 800_000),
            at(3_900_000, Fact::Usable),
            computed(5_000_000, Node::Ue, 1),
            at(5_000_000, Fact::FirstPacket),
            // The deletion, seconds later, is not part of the authentication.
            computed(9_000_000, Node::Ue, 4_000_000),
        ];
        let seen = profile(0, &records);
        assert_eq!(seen[&Node::Ue], Profile { busy_ns: 2_400_001, hits: 3 + 1 });
        assert_eq!(seen[&Node::Gw], Profile { busy_ns: 800_000, hits: 0 });
    }

    #[test]
    fn a_failed_authentication_ends_with_its_failure() {
        let failed = at(2_000_000, Fact::Failed { why: "timeout".into() });
        let records = [computed(2_000_000, Node::Ue, 2_000_000), failed, computed(9_000_000, Node::Ue, 1000)];
        assert_eq!(profile(0, &records)[&Node::Ue].busy_ns, 2_000_000);
    }

    proptest! {
        /// Over many authentications the estimate is right, however short the computation.
        #[test]
        fn the_mean_of_the_hits_is_the_time(begun_ns in 0..10_000_000_u64, busy_ns in 1..20_000_000_u64) {
            let records = [computed(begun_ns + busy_ns, Node::Ue, busy_ns)];
            let hits: u64 = (0..1000).map(|number| profile(number, &records)[&Node::Ue].hits).sum();
            let wanted = busy_ns as f64 / PERIOD_NS as f64;
            prop_assert!((hits as f64 / 1000.0 - wanted).abs() < 0.01, "{} of {}", hits, wanted);
        }
    }
}
