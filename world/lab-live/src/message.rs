//! What the parent asks of a node's process, and what that tells: one JSON line each.

use std::path::PathBuf;

use keytoll_lab::Seized;
use keytoll_rig::Placement;
use keytoll_trace::Node;
use serde::{Deserialize, Serialize};

/// The first line: who the process is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// The plan as a scenario file, seed and so all secrets included: it never touches a disk.
    pub(super) plan: String,
    pub(super) node: Node,
    /// When time began, on CLOCK_MONOTONIC.
    pub(super) origin_ns: u64,
    pub(super) placement: Placement,
    /// Where the lines of each row go.
    pub(super) dir: PathBuf,
    /// Where captures go, and how many authentications of each row they hold.
    pub(super) captures: Option<(PathBuf, u32)>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Become the node of this row.
    Row(usize),
    /// What is noted from now on belongs to this authentication; none: to the warm-up, which is not kept.
    Begin(Option<u32>),
    /// Device: want to reach the gateway.
    Go,
    /// Say what the authentication has cost.
    Spent,
    /// Device: close the SA.
    Close,
    /// Forget what could be continued, and what was counted.
    Forget,
    /// The row is over.
    End,
}

/// What is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Tell {
    /// What was asked has been done.
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
    pub(super) phase: String,
    pub(super) operation: String,
    pub(super) algorithm: String,
    pub(super) count: u64,
    pub(super) ns: u64,
    pub(super) bytes: u64,
}
