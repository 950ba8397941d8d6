//! A device that goes to another address and announces it (RFC 8046): how long that takes, and what it costs.
//!
//! ```text
//!   Moved -- announcement, question, answer --> MoveVerified -- a packet of users --> Reached
//!         '------ signalling, CPU time -------'
//! ```

use std::collections::BTreeMap;

use keytoll_trace::{Fact, MoveCost, Node, Record};

use super::conclude::{of_message, of_packets};
use super::{LinkCount, Sample};
use crate::stats::{Distribution, Welford};

/// The move after one authentication.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Move {
    /// From the announcement until the new address was verified; `None` if it never was.
    pub verified_ns: Option<u64>,
    /// From the announcement until the first packet of an SA arrived at the new address; `None` if none did.
    pub reached_ns: Option<u64>,
    /// Packets of SAs that came to the old address meanwhile, and were lost.
    pub missed_packets: u64,
    /// What was said until the new address was verified, over all links; nothing if it never was.
    pub signalling: LinkCount,
    /// The cost of each node.
    pub costs: BTreeMap<Node, MoveCost>,
}

impl Move {
    /// The first one in the records of an authentication, in chronological order.
    pub(super) fn of(records: &[Record], costs: BTreeMap<Node, MoveCost>) -> Option<Self> {
        let begun = records.iter().position(|record| matches!(record.fact, Fact::Moved))?;
        let after = &records[begun..];
        let since_ns = |record: &Record| record.at_ns.saturating_sub(after[0].at_ns);
        let mut moved = Self { costs, ..Self::default() };
        if let Some(verified) = after.iter().position(|record| matches!(record.fact, Fact::MoveVerified)) {
            moved.verified_ns = Some(since_ns(&after[verified]));
            after[..verified].iter().for_each(|record| moved.count(&record.fact));
        }
        for record in after {
            if let Fact::Reached { missed_packets } = record.fact
                && moved.reached_ns.is_none()
            {
                (moved.reached_ns, moved.missed_packets) = (Some(since_ns(record)), missed_packets);
            }
        }
        Some(moved)
    }

    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::Sent(message) if !message.protocol.is_traffic() => {
                self.signalling.add(&of_message(message));
            }
            &Fact::Carried { protocol, packets, bytes, fate, .. } if !protocol.is_traffic() => {
                self.signalling.add(&of_packets(packets, bytes, fate));
            }
            _ => {}
        }
    }
}

/// The moves of a row.
#[derive(Debug, Clone, Default)]
pub struct MoveTally {
    /// All of them.
    pub n: u64,
    /// Those whose new address was verified.
    pub verified: u64,
    /// From the announcement until the new address was verified, where it was.
    pub verified_ns: Distribution,
    /// From the announcement until the first packet of an SA arrived at the new address, where one did.
    pub reached_ns: Distribution,
    /// Packets of SAs that came to the old address meanwhile, where one arrived at the new address.
    pub missed_packets: Welford,
    /// What was said until the new address was verified, total of those that were.
    pub signalling: LinkCount,
    /// The cost of each node, of those undisturbed.
    pub nodes: BTreeMap<Node, MoveNodeTally>,
}

/// The cost of moves at one node.
#[derive(Debug, Clone, Default)]
pub struct MoveNodeTally {
    /// CPU time.
    pub cpu_ns: Distribution,
    /// The part spent in crypto operations.
    pub crypto_ns: Distribution,
}

impl MoveTally {
    pub(super) fn add(&mut self, moved: &Move, sample: &Sample) {
        self.n += 1;
        self.verified += u64::from(moved.verified_ns.is_some());
        self.signalling.add(&moved.signalling);
        if moved.reached_ns.is_some() {
            self.missed_packets.add(moved.missed_packets as f64);
        }
        if sample.delay_is_sound() {
            moved.verified_ns.iter().for_each(|&ns| self.verified_ns.add(ns));
            moved.reached_ns.iter().for_each(|&ns| self.reached_ns.add(ns));
        }
        for cost in moved.costs.values().filter(|_| !sample.disturbed) {
            let node = self.nodes.entry(cost.node).or_default();
            node.cpu_ns.add(cost.cpu_ns);
            node.crypto_ns.add(cost.crypto_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_trace::{Fate, Link, Message, Name, Protocol};

    use super::*;
    use crate::measure;

    const TOY: Protocol = Protocol::new(&"toy");

    fn at(at_ns: u64, node: Node, fact: Fact) -> Record {
        Record { at_ns, node, sample: 0, fact }
    }

    fn says(at_ns: u64, node: Node, retransmission: bool) -> [Record; 2] {
        let message = Message { bytes: 200, retransmission, ..Message::new(TOY, Name::new(&"moved")) };
        [Fact::Sent(message), carried(TOY)].map(|fact| at(at_ns, node, fact))
    }

    fn carried(protocol: Protocol) -> Fact {
        let link = Link(Node::Ue, Node::Gw);
        Fact::Carried { link, protocol, packets: 1, bytes: 228, transit_ns: 100, fate: Fate::Delivered }
    }

    fn moved(more: impl IntoIterator<Item = Record>) -> Option<Move> {
        let first = [at(0, Node::Ue, Fact::Triggered), at(50, Node::Ue, Fact::Usable)];
        let samples = measure(first.into_iter().chain(more), []);
        samples.kept.into_iter().next().unwrap().moved
    }

    #[test]
    fn what_was_said_until_the_address_was_verified_counts() {
        let records = [at(1000, Node::Ue, Fact::Moved)]
            .into_iter()
            .chain(says(1000, Node::Ue, false))
            .chain(says(1500, Node::Ue, true))
            .chain(says(1600, Node::Gw, false))
            .chain([at(1650, Node::Gw, carried(Protocol::ESP))])
            .chain(says(1700, Node::Ue, false))
            .chain([at(1800, Node::Gw, Fact::MoveVerified)])
            .chain([at(2000, Node::Ue, Fact::Reached { missed_packets: 3 })])
            .chain(says(9000, Node::Ue, false));
        let Move { verified_ns, reached_ns, missed_packets, signalling, .. } = moved(records).unwrap();
        assert_eq!((verified_ns, reached_ns, missed_packets), (Some(800), Some(1000), 3));
        let LinkCount { messages, retransmissions, packets, bytes, .. } = signalling;
        assert_eq!((messages, retransmissions, packets, bytes), (3, 1, 4, 4 * 228));
    }

    #[test]
    fn an_address_that_was_not_verified_has_no_times_and_a_device_that_stays_no_move() {
        let records = [at(1000, Node::Ue, Fact::Moved)].into_iter().chain(says(1000, Node::Ue, false));
        assert_eq!(moved(records), Some(Move::default()));
        assert_eq!(moved([]), None);
    }
}
