//! What a load tells besides its population: what is in `load.json`, and in its row of `summary.json`.

mod verdict;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use verdict::{Concern, LateStarts, LoadCondition, LoadOutcome, LoadVerdict};

/// What a load was asked for and reached, and what it needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Starts in a second that the schedule wanted, over its length, which ends where a device more would begin or its stages end;
    /// in a closed loop over the time until the last outcome.
    pub asked_per_s: f64,
    /// Authenticated devices in a second, over the length of the schedule, or until the last of them was authenticated if that is later.
    pub reached_per_s: f64,
    /// Threads of the generator.
    pub workers: u32,
    /// Sessions that the target closed or lost, by reason.
    pub lost: BTreeMap<String, u64>,
    /// Datagrams that could not be used, by reason.
    pub discarded: BTreeMap<String, u64>,
    /// Sessions that were not closed in time at the end.
    pub left_open: u64,
    /// The generator itself.
    pub generator: Generator,
    /// What the target needed, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_usage: Option<TargetUsage>,
    /// Whether it has passed.
    #[serde(flatten)]
    pub verdict: LoadVerdict,
}

/// What the generator needed, and whether it limited what it offered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// CPU time of all its threads, in seconds.
    pub cpu_s: f64,
    /// CPU time for each authenticated device, in microseconds; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_established: Option<f64>,
    /// The part of it in operations of cryptography; absent if these took longer than all of it, for a thread that waits for a core
    /// amid one has no CPU time meanwhile, and nobody knows how long it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_us_per_established: Option<f64>,
    /// Starts that it could not make itself, by reason: nothing was sent, and the target had no part in it. On a schedule they are
    /// among the failed; in a closed loop they were made later, and each attempt counts here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// The number of seconds in which starts were late by more than a millisecond at the 99.9th percentile, refused, or a thread had no time left.
    pub limited_s: u64,
    /// The number of seconds in which devices began or were meant to.
    pub starting_s: u64,
}

/// What the target needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetUsage {
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// CPU time for each authenticated device, in microseconds; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_established: Option<f64>,
    /// The part of it in operations of cryptography; absent if it is not told, or more than all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_us_per_established: Option<f64>,
    /// The operations of cryptography in all this CPU time; absent if they are not told, or if the target began anew meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationCount>,
    /// What it took to be woken by messages; absent if it is not told, or if the target began anew meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wakes: Vec<WakeCount>,
    /// The most memory, in bytes; absent if it is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<u64>,
    /// From when on it could not be measured, to the end or until it was begun anew, in seconds from the start, to the second; absent if
    /// all that it used was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_from_s: Option<u64>,
}

/// How often an operation of cryptography ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCount {
    /// The operation, as cost tables call it.
    pub operation: String,
    /// The algorithm, as cost tables call it.
    pub algorithm: String,
    /// How often.
    pub count: u64,
    /// Bytes worked on in all.
    pub bytes: u64,
}

/// How often messages have woken a process after pauses of some length, and what that took until it slept again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeCount {
    /// The shortest of the pauses, in microseconds; the longest are shorter than those of the next class.
    pub pause_us: u32,
    /// Whether several messages were received before the process slept again, not one.
    pub is_several: bool,
    /// How often.
    pub count: u64,
    /// How often the first message told when it had arrived.
    pub timed_count: u64,
    /// The messages that were received and sent.
    pub messages: u64,
    /// CPU time of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in operations of cryptography.
    pub crypto_ns: u64,
    /// The part of it from being awake until the last message is about to be sent; until the next sleep if none was.
    pub answered_ns: u64,
    /// Time from the arrival of the first message until the process was awake, of those that told.
    pub latency_ns: u64,
}
