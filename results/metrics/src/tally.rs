//! The statistics of a row: their size depends on its nodes, links and reasons, never on its length.

use std::collections::BTreeMap;

use keytoll_trace::{Link, Node, OperationCost, Part, Protocol};

use super::{
    FailureTally, Ladder, LinkCount, Messages, MoveTally, NodeCost, Outcome, Profile, Sample, TimesTally,
    TrafficTally,
};
use crate::stats::{Blocks, Distribution, Welford};

/// Statistics over the authentications of a row.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// All of them.
    pub n: u64,
    /// Those that ended with a usable SA.
    pub established: u64,
    /// The others, by reason.
    pub failures: BTreeMap<String, u64>,
    /// What these have cost, by reason.
    pub failed: BTreeMap<String, FailureTally>,
    /// Those during which the measuring process lost the CPU.
    pub disturbed: u64,
    /// Whether computation was charged to virtual time.
    pub charged: bool,
    /// Durations and parts of them, without authentications whose computation was disturbed and charged.
    pub times: TimesTally,
    /// The computation part of their delays per node, total.
    pub computation_by_node_ns: BTreeMap<Node, u64>,
    /// Traffic on each link, summed over all authentications.
    pub links: BTreeMap<Link, LinkCount>,
    /// Bytes on each link by the node that sent them, summed likewise.
    pub bytes_from: BTreeMap<(Link, Node), u64>,
    /// Traffic outside the authentications, total.
    pub after: LinkCount,
    /// Costs of each node.
    pub nodes: BTreeMap<Node, NodeTally>,
    /// The deepest stack of each node in its first authentication; empty where it was not measured.
    pub stack_peak_bytes: BTreeMap<Node, u64>,
    /// Computation of each node in virtual time; empty if computation is not charged.
    pub profiles: BTreeMap<Node, ProfileTally>,
    /// Inputs that took nodes time, from the triggers to the outcomes; empty if computation is not charged.
    pub steps: StepsTally,
    /// User traffic; `None` if none was configured.
    pub traffic: Option<TrafficTally>,
    /// Moves of the device to another address; `None` if there were none.
    pub moves: Option<MoveTally>,
    /// Frequency of the CPU profile in which cycles are expressed.
    pub profile_hz: BTreeMap<Node, f64>,
    /// Discarded messages, by protocol and reason.
    pub discards: BTreeMap<(Protocol, String), u64>,
    /// The crypto operations of the row.
    pub operations: Vec<Operation>,
    /// The kinds of messages of the row.
    pub messages: Messages,
    /// The messages of one authentication; `None` without authentications.
    pub ladder: Option<Ladder>,
    /// Records and costs of authentications that were already concluded; not counted elsewhere.
    pub late_records: u64,
    /// Sample numbers with records but without a trigger; not counted elsewhere.
    pub without_trigger: u64,
}

/// A crypto operation, over all authentications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The part of the authentications; `None` in older files.
    pub part: Option<Part>,
    /// Its cost.
    pub cost: OperationCost,
}

/// Costs of the authentications at one node.
#[derive(Debug, Clone, Default)]
pub struct NodeTally {
    /// CPU time of those undisturbed.
    pub cpu_ns: Distribution,
    /// The same by block of the run; empty where rows are not measured in turns.
    pub cpu_blocks_ns: Blocks,
    /// The part spent in crypto operations.
    pub crypto_ns: Distribution,
    /// Sample number and heap peak of the first measured authentication.
    pub heap_peak_first: Option<(u32, u64)>,
    /// Heap that an idle SA pair keeps.
    pub idle_sa_bytes: Distribution,
    /// Maximum resident memory of another maker's program.
    pub resident_max_bytes: Option<u64>,
}

/// Computation of the undisturbed authentications at one node in virtual time.
#[derive(Debug, Clone, Default)]
pub struct ProfileTally {
    /// How long it was busy.
    pub busy_ns: Welford,
    /// How often a timer found it computing.
    pub hits: Welford,
}

/// Inputs that took nodes time, in undisturbed authentications.
#[derive(Debug, Clone, Default)]
pub struct StepsTally {
    /// The authentications.
    pub authentications: u64,
    /// How long each input took, in virtual time.
    pub busy_ns: BTreeMap<Node, Welford>,
}

impl StepsTally {
    pub(super) fn add(&mut self, node: Node, busy_ns: u64) {
        self.busy_ns.entry(node).or_default().add(busy_ns as f64);
    }
}

impl Tally {
    /// Bytes of an authentication that a node sends over a link, mean; nothing if there are none.
    pub fn bytes_from_mean(&self, link: Link, node: Node) -> Option<f64> {
        self.bytes_from.get(&(link, node)).map(|&bytes| bytes as f64 / self.n as f64)
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        self.n += 1;
        self.disturbed += u64::from(sample.disturbed);
        self.charged |= sample.charged;
        self.add_outcome(sample);
        if sample.delay_is_sound() {
            self.add_delay(sample);
        }
        for (link, count) in &sample.links {
            self.links.entry(*link).or_default().add(count);
        }
        self.after.add(&sample.after);
        for (node, cost) in &sample.nodes {
            self.nodes.entry(*node).or_default().add(sample, cost);
        }
        for (node, profile) in sample.profiles.iter().filter(|_| !sample.disturbed) {
            self.profiles.entry(*node).or_default().add(*profile);
        }
        if let Some(traffic) = &sample.traffic {
            self.traffic.get_or_insert_default().add(traffic);
        }
        if let Some(moved) = &sample.moved {
            self.moves.get_or_insert_default().add(moved, sample);
        }
    }

    fn add_outcome(&mut self, sample: &Sample) {
        self.established += u64::from(sample.outcome == Outcome::Established);
        if let Some(why) = sample.outcome.failure() {
            *self.failures.entry(why.to_owned()).or_default() += 1;
            self.failed.entry(why.to_owned()).or_default().add(sample);
        }
    }

    fn add_delay(&mut self, sample: &Sample) {
        self.times.add(&sample.times, sample.block.as_ref().map(|measured| measured.block));
        let Some(split) = &sample.split else { return };
        for (node, ns) in &split.computation_ns {
            *self.computation_by_node_ns.entry(*node).or_default() += ns;
        }
    }
}

impl ProfileTally {
    fn add(&mut self, profile: Profile) {
        self.busy_ns.add(profile.busy_ns as f64);
        self.hits.add(profile.hits as f64);
    }
}

impl NodeTally {
    fn add(&mut self, sample: &Sample, cost: &NodeCost) {
        if !sample.disturbed {
            self.cpu_ns.add(cost.cpu_ns);
            sample.block.iter().for_each(|block| self.cpu_blocks_ns.add(block.block, cost.cpu_ns));
            cost.crypto_ns.iter().for_each(|&ns| self.crypto_ns.add(ns));
        }
        if let Some(bytes) = cost.heap_peak_bytes {
            let peak = (sample.sample, bytes);
            self.heap_peak_first = Some(self.heap_peak_first.map_or(peak, |first| first.min(peak)));
        }
        self.resident_max_bytes = self.resident_max_bytes.max(cost.resident_max_bytes);
        if let Some(bytes) = cost.idle_sa_bytes {
            self.idle_sa_bytes.add(bytes);
        }
    }
}
