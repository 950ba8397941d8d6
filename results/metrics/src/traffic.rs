//! User traffic after an authentication: after one of them, and summed over a row.

use std::collections::BTreeMap;

use keytoll_trace::{Fact, Link, Node, Protocol, Record, Spread, TrafficCost};

use super::Tally;
use crate::stats::{Distribution, Welford};

/// The user traffic after one authentication.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// What each node sent and received: the device and the gateway.
    pub nodes: BTreeMap<Node, TrafficNode>,
    /// What each link carried, protected by IPsec or not.
    pub links: BTreeMap<Link, TrafficLink>,
    /// The number of child and IKE SAs that were rekeyed meanwhile.
    pub rekeys: u64,
}

/// Traffic and costs of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrafficNode {
    /// Its counters.
    pub told: keytoll_trace::Traffic,
    /// How long it was busy, in virtual time.
    pub busy_ns: u64,
    /// Its cost on this machine.
    pub cost: Option<TrafficCost>,
}

/// Traffic on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficLink {
    /// IP packets after fragmentation, including lost ones, without those dropped by a full queue.
    pub packets: u64,
    /// Their bytes, all headers included.
    pub bytes: u64,
    /// Those lost or damaged, and those dropped by a full queue.
    pub lost_packets: u64,
    /// Bytes of those dropped by a full queue.
    pub refused_bytes: u64,
}

impl Traffic {
    /// `None` if there was no traffic, or it did not finish. Discards go to the tally at once.
    pub(super) fn of(
        records: &[Record],
        costs: BTreeMap<Node, TrafficCost>,
        tally: &mut Tally,
    ) -> Option<Self> {
        let begun = records.iter().position(|record| matches!(record.fact, Fact::TrafficBegan))?;
        let mut traffic = Self::default();
        for record in &records[begun..] {
            traffic.take(record, tally);
        }
        for (node, cost) in costs {
            traffic.nodes.entry(node).and_modify(|of| of.cost = Some(cost));
        }
        (!traffic.nodes.is_empty()).then_some(traffic)
    }

    fn take(&mut self, record: &Record, tally: &mut Tally) {
        match &record.fact {
            Fact::Traffic(told) => self.nodes.entry(record.node).or_default().told = (**told).clone(),
            Fact::TrafficComputed { busy_ns } => {
                // Servers compute, too, but user traffic does not pass them.
                self.nodes.entry(record.node).and_modify(|of| of.busy_ns = *busy_ns);
            }
            &Fact::TrafficCarried { link, packets, bytes, lost_packets, refused_bytes } => {
                self.links.insert(link, TrafficLink { packets, bytes, lost_packets, refused_bytes });
            }
            Fact::TrafficDiscarded { protocol, why, count } => {
                let key: (Protocol, String) = (*protocol, why.to_string());
                *tally.discards.entry(key).or_default() += count;
            }
            // The SAs live on after the stations have recorded their counters.
            Fact::Rekeyed { .. } if self.nodes.is_empty() => self.rekeys += 1,
            _ => {}
        }
    }

    /// Data that arrived at a node, in bits per second: until its last byte, but at least over the sending time.
    pub fn goodput_bits_per_s(&self, node: Node) -> Option<f64> {
        let told = &self.nodes.get(&node)?.told;
        let elapsed_ns = told.duration_ns.max(told.last_arrival_ns).max(1);
        (told.payload_bytes > 0).then(|| told.payload_bytes as f64 * 8e9 / elapsed_ns as f64)
    }

    /// Sums a counter over both nodes.
    fn sum(&self, of: fn(&keytoll_trace::Traffic) -> u64) -> u64 {
        self.nodes.values().map(|node| of(&node.told)).sum()
    }

    /// Data packets that sources sent.
    pub fn sent(&self) -> u64 {
        self.sum(|told| told.data_packets_sent)
    }

    /// Of these, those sent again.
    pub fn repeated(&self) -> u64 {
        self.sum(|told| told.repeated_packets)
    }

    /// Those that did not arrive; for echoes, those without a reply.
    pub fn lost(&self) -> u64 {
        self.sent().saturating_sub(self.sum(|told| told.data_packets_got))
    }

    /// The longest time without new data at either node.
    pub fn longest_gap_ns(&self) -> u64 {
        self.nodes.values().map(|node| node.told.longest_gap_ns).max().unwrap_or(0)
    }

    /// IP packets that either node sent, answers and acknowledgements included.
    pub fn packets(&self) -> u64 {
        self.sum(|told| told.out_packets)
    }

    /// Bytes added to each of these packets on the path: IPsec, outer headers and those of fragments.
    pub fn overhead_bytes(&self) -> Option<f64> {
        let wire: u64 = self.links.values().map(|link| link.bytes + link.refused_bytes).sum();
        let around = wire as f64 - self.sum(|told| told.out_bytes) as f64;
        (self.packets() > 0).then(|| around / self.packets() as f64)
    }
}

/// The user traffic of all authentications of a row.
#[derive(Debug, Clone, Default)]
pub struct TrafficTally {
    /// Bits per second of received data, by receiving node.
    pub goodput: BTreeMap<Node, Welford>,
    /// Data packets that sources sent.
    pub sent: Welford,
    /// Of these, those sent again.
    pub repeated: Welford,
    /// Those that did not arrive.
    pub lost: Welford,
    /// The number of retransmission timeouts of sources.
    pub timeouts: Welford,
    /// Round-trip time in nanoseconds, over all packets.
    pub round_trip_ns: Distribution,
    /// One-way delay in nanoseconds, over all packets.
    pub one_way_ns: Distribution,
    /// The longest time without new data, in nanoseconds.
    pub longest_gap_ns: Distribution,
    /// Bytes added to each packet on the path.
    pub overhead_bytes: Welford,
    /// Rekeyings meanwhile.
    pub rekeys: Welford,
    /// Costs of each node.
    pub nodes: BTreeMap<Node, TrafficNodeTally>,
}

/// Costs of traffic at one node.
#[derive(Debug, Clone, Default)]
pub struct TrafficNodeTally {
    /// CPU time of this machine per packet that either node sent, in picoseconds.
    pub cpu_ps_per_packet: Distribution,
    /// The part spent in crypto operations.
    pub crypto_ns_per_packet: Welford,
    /// Share of time in which the node computed, in virtual time.
    pub busy_share: Welford,
}

impl TrafficTally {
    pub(super) fn add(&mut self, traffic: &Traffic) {
        for (&node, of) in &traffic.nodes {
            self.add_node(node, of, traffic);
        }
        self.sent.add(traffic.sent() as f64);
        self.lost.add(traffic.lost() as f64);
        self.repeated.add(traffic.repeated() as f64);
        self.timeouts.add(traffic.sum(|told| told.timeouts) as f64);
        self.rekeys.add(traffic.rekeys as f64);
        self.longest_gap_ns.add(traffic.longest_gap_ns());
        traffic.overhead_bytes().iter().for_each(|&bytes| self.overhead_bytes.add(bytes));
    }

    fn add_node(&mut self, node: Node, of: &TrafficNode, traffic: &Traffic) {
        if let Some(goodput) = traffic.goodput_bits_per_s(node) {
            self.goodput.entry(node).or_default().add(goodput);
        }
        spread(&mut self.round_trip_ns, &of.told.round_trips);
        spread(&mut self.one_way_ns, &of.told.one_way);
        let tally = self.nodes.entry(node).or_default();
        tally.busy_share.add(of.busy_ns as f64 / of.told.duration_ns.max(1) as f64);
        if let Some(cost) = &of.cost {
            let packets = traffic.packets().max(1) as f64;
            tally.cpu_ps_per_packet.add((cost.cpu_ns as f64 * 1e3 / packets).round() as u64);
            tally.crypto_ns_per_packet.add(cost.crypto_ns as f64 / packets);
        }
    }
}

fn spread(distribution: &mut Distribution, spread: &Spread) {
    for (value, count) in spread.values() {
        (0..count).for_each(|_| distribution.add(value));
    }
}
