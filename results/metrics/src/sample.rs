//! One authentication, measured. Units are in the names.

use std::collections::BTreeMap;

use keytoll_trace::{BlockCost, ForeignCost, Link, Node, SampleCost};

use super::{Move, Times, Traffic};

/// The measurements of one authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its number in the row.
    pub sample: u32,
    /// When it was triggered, in virtual time since the start of the row.
    pub triggered_at_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Its duration and parts of it.
    pub times: Times,
    /// How the delay divides; `None` unless it succeeded.
    pub split: Option<Split>,
    /// Traffic on each link, from the trigger to the outcome, without RADIUS accounting.
    pub links: BTreeMap<Link, LinkCount>,
    /// The same over all links.
    pub total: LinkCount,
    /// Traffic outside that span: deletes, liveness, rekeying; and all RADIUS accounting.
    pub after: LinkCount,
    /// Discarded messages at all nodes.
    pub discards: u32,
    /// Whether virtual time was charged for computation.
    pub charged: bool,
    /// Whether the measuring process lost the CPU meanwhile, so that computation times are invalid.
    pub disturbed: bool,
    /// Costs of each node on this machine; empty if they were not measured.
    pub nodes: BTreeMap<Node, NodeCost>,
    /// Computation of each node in virtual time; empty if computation is not charged.
    pub profiles: BTreeMap<Node, Profile>,
    /// User traffic after the SAs were set up; `None` if none was configured.
    pub traffic: Option<Traffic>,
    /// The move of the device to another address; `None` if it stayed.
    pub moved: Option<Move>,
    /// When it was measured; `None` where rows are not measured in turns.
    pub block: Option<BlockCost>,
}

impl Sample {
    /// Whether its delay is valid: with a disturbed computation that was charged to virtual time it is not.
    pub fn delay_is_sound(&self) -> bool {
        !(self.disturbed && self.charged)
    }
}

/// How an authentication ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a usable SA.
    Established,
    /// It failed.
    Failed {
        /// The node that detected the failure, and its reason: `aaa: EAP wrong password`.
        why: String,
    },
    /// The run ended before it did.
    Unfinished,
}

impl Outcome {
    /// `established`, `failed` or `unfinished`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::Failed { .. } => "failed",
            Self::Unfinished => "unfinished",
        }
    }

    /// Node and reason to group by, unless it succeeded.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Established => None,
            Self::Failed { why } => Some(why),
            Self::Unfinished => Some("unfinished"),
        }
    }
}

/// How the delay of an authentication divides. The parts add up to the delay to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// At least one datagram that would arrive was in flight (queueing, serialisation, propagation).
    pub network_ns: u64,
    /// None was, and a node was computing; per node. If two compute at once, the one that ended first counts.
    pub computation_ns: BTreeMap<Node, u64>,
    /// Neither: timers ran, the HSS waited for its store, or a datagram that was going to be lost, damaged or a duplicate was in
    /// flight.
    pub waiting_ns: u64,
}

impl Split {
    /// Computation at all nodes.
    pub fn computation_total_ns(&self) -> u64 {
        self.computation_ns.values().sum()
    }
}

/// Traffic on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCount {
    /// Protocol messages; fragments of one are counted once, retransmissions not at all.
    pub messages: u64,
    /// IP packets after fragmentation, including retransmissions and lost ones, without those dropped by a full queue and
    /// without duplicates made by the network.
    pub packets: u64,
    /// The bytes of these packets, IP headers included.
    pub bytes: u64,
    /// Messages sent again.
    pub retransmissions: u64,
    /// Those of `packets` that were lost or damaged, and those dropped by a full queue.
    pub lost_packets: u64,
}

impl LinkCount {
    /// Adds another count to this one.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.retransmissions += other.retransmissions;
        self.lost_packets += other.lost_packets;
    }
}

/// A node's computation for one authentication in virtual time, until the packet that triggered it returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Profile {
    /// How long it was busy.
    pub busy_ns: u64,
    /// How often a timer of [`TIMER_HZ`](super::TIMER_HZ) found it computing.
    pub hits: u64,
}

/// The cost of one authentication at one node on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCost {
    /// CPU time.
    pub cpu_ns: u64,
    /// The part spent in crypto operations; other makers' programs do not report it.
    pub crypto_ns: Option<u64>,
    /// Maximum heap use of the node so far.
    pub heap_peak_bytes: Option<u64>,
    /// Heap that the idle SA pair keeps.
    pub idle_sa_bytes: Option<u64>,
    /// Maximum resident memory of another maker's program, code included.
    pub resident_max_bytes: Option<u64>,
}

impl NodeCost {
    pub(super) fn of(cost: &SampleCost) -> Self {
        Self {
            cpu_ns: cost.cpu_ns,
            crypto_ns: Some(cost.crypto_ns),
            heap_peak_bytes: Some(cost.heap_peak_bytes),
            idle_sa_bytes: cost.idle_sa_bytes,
            resident_max_bytes: None,
        }
    }

    pub(super) fn of_foreign(cost: &ForeignCost) -> Self {
        Self {
            cpu_ns: cost.cpu_ns,
            crypto_ns: None,
            heap_peak_bytes: None,
            idle_sa_bytes: None,
            resident_max_bytes: Some(cost.resident_max_bytes),
        }
    }
}
