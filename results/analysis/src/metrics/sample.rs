//! One authentication, measured. Units are in the names.

use std::collections::BTreeMap;

use keytoll_trace::{ForeignCost, Link, Node, SampleCost};

use super::{Times, Traffic};

/// What one authentication took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its number in the row.
    pub sample: u32,
    /// When the trigger came, in virtual time since the start of the row.
    pub triggered_at_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, and how long what in it.
    pub times: Times,
    /// Where the delay went; None unless established.
    pub split: Option<Split>,
    /// What it sent over each link, from the trigger to the outcome, RADIUS accounting apart.
    pub links: BTreeMap<Link, LinkCount>,
    /// The same over all links.
    pub total: LinkCount,
    /// What the sample sent outside that span: deletes, liveness, rekeying. RADIUS accounting always.
    pub after: LinkCount,
    /// Messages that arrived and could not be used, at all nodes.
    pub discards: u32,
    /// Virtual time was charged for computation.
    pub charged: bool,
    /// The driver lost the CPU meanwhile: computation times are not to be used.
    pub disturbed: bool,
    /// What it cost each node on this machine; empty where nobody measured.
    pub nodes: BTreeMap<Node, NodeCost>,
    /// What each node computed in virtual time; empty where computation is not charged.
    pub profiles: BTreeMap<Node, Profile>,
    /// What users sent once the SAs were there; None where nothing was to be sent.
    pub traffic: Option<Traffic>,
}

impl Sample {
    /// Whether its delay says something: a disturbed computation that was charged to virtual time does not.
    pub fn delay_is_sound(&self) -> bool {
        !(self.disturbed && self.charged)
    }
}

/// How an authentication ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a usable SA.
    Established,
    /// Without one.
    Failed {
        /// The node that found out, and its name for it: `aaa: EAP wrong password`.
        why: String,
    },
    /// Not at all: the run stopped before.
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

    /// Node and reason to group by, unless established.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Established => None,
            Self::Failed { why } => Some(why),
            Self::Unfinished => Some("unfinished"),
        }
    }
}

/// Where the delay of an authentication went. The parts add up to the delay to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// At least one datagram of the authentication that will arrive was under way (queueing, serialisation, propagation).
    pub network_ns: u64,
    /// None was, and a node was computing; per node. Of two at once the one that ended first counts.
    pub computation_ns: BTreeMap<Node, u64>,
    /// Neither: timers ran, or a datagram that was going to be lost, damaged or a second copy was under way.
    pub waiting_ns: u64,
}

impl Split {
    /// Computation at all nodes.
    pub fn computation_total_ns(&self) -> u64 {
        self.computation_ns.values().sum()
    }
}

/// What went over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCount {
    /// Protocol messages, fragments of one counted once, retransmissions not.
    pub messages: u64,
    /// IP packets after fragmentation, retransmissions and lost ones included; not those that a full queue refused
    /// and not the copies that the network made.
    pub packets: u64,
    /// The bytes of these packets, IP headers included.
    pub bytes: u64,
    /// Messages sent again.
    pub retransmissions: u64,
    /// Of `packets`, those lost or damaged, and those that a full queue refused.
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

/// What one authentication made a node compute in virtual time, until the packet that triggered it came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Profile {
    /// For how long it was busy.
    pub busy_ns: u64,
    /// How often a timer of [`TIMER_HZ`](super::TIMER_HZ) found it computing.
    pub hits: u64,
}

/// What one authentication cost one node on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCost {
    /// CPU time.
    pub cpu_ns: u64,
    /// The part of it spent in crypto operations; other makers' programs do not tell.
    pub crypto_ns: Option<u64>,
    /// Highest heap use of the node so far.
    pub heap_peak_bytes: Option<u64>,
    /// Heap that the idle SA pair keeps.
    pub idle_sa_bytes: Option<u64>,
    /// The most memory that another maker's program has had, code included.
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
