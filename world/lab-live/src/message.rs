//! The requests of the launcher to a node's process, and its answers: one JSON line each.

use std::path::PathBuf;

use keytoll_lab::Seized;
use keytoll_rig::Placement;
use keytoll_trace::Node;
use serde::{Deserialize, Serialize};

/// The first line: the node of the process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// The plan as a scenario file, including its seed and therefore all secrets: it is never written to a disk.
    pub(super) plan: String,
    pub(super) node: Node,
    /// The origin of time, on CLOCK_MONOTONIC.
    pub(super) origin_ns: u64,
    pub(super) placement: Placement,
    /// The directory of the logs of each row.
    pub(super) dir: PathBuf,
    /// The directory of captures, and how many authentications of each row they contain.
    pub(super) captures: Option<(PathBuf, u32)>,
}

/// A request.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Become the node of this row.
    Row(usize),
    /// Start of an authentication; `None`: of the warm-up, which is not recorded.
    Begin(Option<u32>),
    /// Device: reach for the gateway.
    Go,
    /// Report the cost of the authentication.
    Spent,
    /// Device: close the SA.
    Close,
    /// Discard sessions that could be resumed, and counters.
    Forget,
    /// The row is over.
    End,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Tell {
    /// The request is done.
    Ready,
    /// Device: the echo came back.
    Done,
    /// Device: there is no SA.
    Failed,
    /// The costs.
    Spent(Spent),
    /// The row's crypto operations, and what was captured.
    Ended(Vec<Operation>, Option<Seized>),
    /// It cannot go on.
    Trouble(String),
}

/// What an authentication has cost a node.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) cpu_ns: u64,
    pub(super) crypto_ns: u64,
    pub(super) heap_peak_bytes: u64,
    /// What the heap has grown by.
    pub(super) heap_grown_bytes: i64,
}

/// What one operation has cost over the whole row.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Operation {
    /// Whether it followed the outcome of an authentication.
    pub(super) is_after: bool,
    pub(super) phase: String,
    pub(super) operation: String,
    pub(super) algorithm: String,
    pub(super) count: u64,
    pub(super) ns: u64,
    pub(super) bytes: u64,
}
