//! Costs of a run: measured on this machine and never repeatable to the last digit, or charged from a cost table and the same everywhere.

use std::borrow::Cow;

use crate::{Message, Node, Protocol, stored};

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Cost {
    /// How cycles were counted: once, first.
    Clock {
        /// Ticks of the cycle counter per second; with a cost table ticks are picoseconds.
        ticks_hz: f64,
        /// Frequency of the CPU profile that cycles are expressed in, per node.
        profile_hz: Vec<(Node, f64)>,
    },
    /// What one authentication cost one node.
    Sample(SampleCost),
    /// The cost of one operation over the whole row, in older files without parts.
    Operation(OperationCost),
    /// What one authentication cost a foreign daemon.
    Foreign(ForeignCost),
    /// What one input cost a node, operation by operation; only profiles have them.
    Step(StepCost),
    /// What the traffic of one authentication cost one node.
    Traffic(TrafficCost),
    /// What the moves of a device after one authentication cost one node.
    Move(MoveCost),
    /// The cost of one operation in one part of all authentications of the row.
    OperationIn(Part, OperationCost),
    /// When one authentication was measured, and how fast the machine was then.
    Block(BlockCost),
    /// The stack that one node needed in its first authentication.
    Stack(StackCost),
}

/// The stack that one node needed in its first authentication, which was a rehearsal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackCost {
    /// The node.
    pub node: Node,
    /// The deepest stack of any of its steps, in bytes below the simulator's own frames.
    pub peak_bytes: u64,
}

/// When one authentication was measured: rows take turns, a block of authentications each, so that blocks of a row are spread over the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCost {
    /// The authentication.
    pub sample: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Time of a fixed computation directly before or after it, whichever took longer.
    pub reference_ns: u64,
}

/// Whether something belongs to an authentication or to the life of the SA after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Part {
    /// Between trigger and outcome.
    #[default]
    Authentication,
    /// Outside that span: traffic, deletes, liveness, rekeying.
    After,
}

impl Part {
    /// `authentication` or `after`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::After => "after",
        }
    }
}

/// What one input cost a node: from the moment it was given to the host until that had nothing more to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCost {
    /// The authentication.
    pub sample: u32,
    /// The node.
    pub node: Node,
    /// What arrived.
    pub stimulus: Stimulus,
    /// The messages that the node sent because of it.
    pub sent: Vec<Message>,
    /// Ticks of the cycle counter, without what the meter itself took.
    pub ticks: u64,
    /// The crypto operations in it, in the order in which they ran.
    pub operations: Vec<StepOperation>,
}

/// What made a node compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stimulus {
    /// A message of a protocol that knows messages.
    Message(Message),
    /// Another datagram: IPsec traffic, or one that cannot be read.
    Datagram(Protocol),
    /// A command of its own user, or a timer.
    Own,
}

/// One crypto operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOperation {
    /// The phase of the protocol, e.g. `sa-init`.
    pub phase: Cow<'static, str>,
    /// What it was for, e.g. `SKEYSEED`; empty if the engine did not say.
    pub purpose: Cow<'static, str>,
    /// The operation, e.g. `agree`.
    pub operation: Cow<'static, str>,
    /// The algorithm, e.g. `x25519`.
    pub algorithm: Cow<'static, str>,
    /// Ticks of the cycle counter, without what the meter itself took; 0 where it only counts.
    pub ticks: u64,
    /// Bytes worked on.
    pub bytes: u64,
}

/// What one authentication cost one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleCost {
    /// The authentication.
    pub sample: u32,
    /// The node.
    pub node: Node,
    /// CPU time of the host this ran on.
    pub cpu_ns: u64,
    /// The part of it spent in crypto operations.
    pub crypto_ns: u64,
    /// Highest heap use of the node so far minus what it held before it was built, in bytes; of the first authentication, until
    /// the end of the node's very first one, which may have been a rehearsal.
    pub heap_peak_bytes: u64,
    /// Heap that the established SA pair keeps, in bytes; None where it was not measured.
    pub idle_sa_bytes: Option<u64>,
}

/// What the traffic of one authentication cost one node, from its beginning until all that was sent had arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficCost {
    /// The authentication.
    pub sample: u32,
    /// The node.
    pub node: Node,
    /// CPU time of the host this ran on.
    pub cpu_ns: u64,
    /// The part of it spent in crypto operations.
    pub crypto_ns: u64,
}

/// What the moves of a device after one authentication cost one node: from each announcement of a new address until that was
/// verified, whatever made the node say something or ended that span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveCost {
    /// The authentication.
    pub sample: u32,
    /// The node.
    pub node: Node,
    /// CPU time of the host this ran on.
    pub cpu_ns: u64,
    /// The part of it spent in crypto operations.
    pub crypto_ns: u64,
}

/// What one authentication cost a node that is a foreign daemon, as the operating system counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignCost {
    /// The authentication.
    pub sample: u32,
    /// The node.
    pub node: Node,
    /// CPU time of all threads of the program.
    pub cpu_ns: u64,
    /// The most memory that the program has had so far, code included.
    pub resident_max_bytes: u64,
}

/// The cost of one operation over all authentications of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationCost {
    /// The node.
    pub node: Node,
    /// The phase of the protocol, e.g. `ike-sa-init`.
    pub phase: Cow<'static, str>,
    /// The operation, e.g. `agree`.
    pub operation: Cow<'static, str>,
    /// The algorithm, e.g. `x25519`.
    pub algorithm: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// Time in all, nanoseconds of the host; of a step that was preempted the usual time.
    pub ns: u64,
    /// Bytes worked on.
    pub bytes: u64,
}

stored!(enum Cost {
    0 = Clock { ticks_hz, profile_hz },
    1 = Sample(cost),
    2 = Operation(cost),
    3 = Foreign(cost),
    4 = Step(cost),
    5 = Traffic(cost),
    6 = Move(cost),
    7 = OperationIn(part, cost),
    8 = Block(cost),
    9 = Stack(cost),
});
stored!(enum Part { 0 = Authentication, 1 = After });
stored!(struct StepCost { sample, node, stimulus, sent, ticks, operations });
stored!(enum Stimulus { 0 = Message(message), 1 = Datagram(protocol), 2 = Own });
stored!(struct StepOperation { phase, purpose, operation, algorithm, ticks, bytes });
stored!(struct BlockCost { sample, block, reference_ns });
stored!(struct StackCost { node, peak_bytes });
stored!(struct SampleCost { sample, node, cpu_ns, crypto_ns, heap_peak_bytes, idle_sa_bytes });
stored!(struct TrafficCost { sample, node, cpu_ns, crypto_ns });
stored!(struct MoveCost { sample, node, cpu_ns, crypto_ns });
stored!(struct ForeignCost { sample, node, cpu_ns, resident_max_bytes });
stored!(struct OperationCost { node, phase, operation, algorithm, count, ns, bytes });
