//! Where the time of a node goes in an authentication: every crypto operation in the order of the messages, and the rest of
//! the node.
//!
//! ```text
//! Cost::Step --label--> message of each operation --lines--> runs of operations, sample by sample
//!            --column--> one suite: lines with median and interval, totals of every node, and with a skeleton the cost of
//!                        cryptography by subtraction and by addition                        --> Profile
//! ```

mod column;
mod label;
mod lines;
mod packets;
mod skeleton;

use std::collections::BTreeMap;

use keytoll_trace::provenance::Provenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use column::{Beside, Cell, Column, Measured, NodeTotal};
pub use packets::{MeasuredPackets, MeasuredSuite, PacketColumn, Packets, Processing, Stage};
pub use skeleton::{Contribution, Sides, Skeleton};

use crate::stats::{Welford, blocks_interval95, interval95, median95};
use crate::summary::Median;
use lines::Key;

/// The format of [`Profile`].
pub const FORMAT: u32 = 1;

/// What `keytoll profile --json` prints. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The version of this interface.
    pub format: u32,
    /// Version, arguments, time and machine of the measurement; absent in files from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The method's name in the catalogue.
    pub method: String,
    /// The node that the lines are about.
    pub node: String,
    /// Network and topology.
    pub network: String,
    /// One for each suite.
    pub columns: Vec<Column>,
    /// The operations in the order of the messages.
    pub lines: Vec<Line>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

/// One operation, or the same several times in sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The message that it belongs to.
    pub message: String,
    /// The operation, in words.
    pub operation: String,
    /// Its purpose: the key, payload or proof, in the protocol's terms, with a number if its message has several such lines; empty if
    /// nothing distinguishes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// The phase of the protocol.
    pub phase: String,
    /// Its cost with each suite; `null` where it does not occur.
    pub cells: Vec<Option<Cell>>,
}

/// The median of `n` values with 95 % intervals, and their mean. A single disturbed value can shift the mean, so no verdict is based on
/// it. Values of one block of the run are not independent, for the machine is slower at some times than at others: verdicts are
/// based on blocks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median.
    pub p50: f64,
    /// Lower end of its distribution-free 95 % interval; absent below six values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_high: Option<f64>,
    /// The median of each block of the run, in their order; absent in files from before there were blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks_p50: Vec<f64>,
    /// Lower end of the 95 % interval of the blocks' medians (Student's t, trimmed from ten blocks on); absent below three blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_ci95_high: Option<f64>,
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the mean's 95 % interval (Student t); absent below two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_half: Option<f64>,
    /// Over how many values.
    pub n: u64,
}

impl Estimate {
    /// Of some values, each with its block; None without any.
    pub(crate) fn of(values: impl IntoIterator<Item = (u32, f64)>) -> Option<Self> {
        let (mut moments, mut blocks) = (Welford::default(), BTreeMap::<u32, Vec<f64>>::new());
        for (block, value) in values {
            moments.add(value);
            blocks.entry(block).or_default().push(value);
        }
        let (p50, interval) = median95(blocks.values().flatten().copied())?;
        let of_blocks = blocks.into_values().filter_map(median95).map(|(median, _)| median);
        let blocks_p50: Vec<f64> = of_blocks.collect();
        let of_blocks = blocks_interval95(blocks_p50.iter().copied());
        Some(Self {
            p50,
            p50_ci95_low: interval.map(|interval| interval.low),
            p50_ci95_high: interval.map(|interval| interval.high),
            blocks_p50,
            blocks_ci95_low: of_blocks.map(|interval| interval.low),
            blocks_ci95_high: of_blocks.map(|interval| interval.high),
            mean: moments.mean()?,
            ci95_half: interval95(&moments).map(|interval| (interval.high - interval.low) / 2.0),
            n: moments.n(),
        })
    }

    /// The median with its interval: that of the blocks if it is known.
    pub fn median(&self) -> Median {
        let of_blocks = self.blocks_ci95_low.zip(self.blocks_ci95_high);
        Median { value: self.p50, interval: of_blocks.or(self.p50_ci95_low.zip(self.p50_ci95_high)) }
    }
}

/// The subject of a profile.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The method's name in the catalogue.
    pub method: &'a str,
    /// The node that the lines are about.
    pub node: keytoll_trace::Node,
    /// Network and topology.
    pub network: &'a str,
}

impl Profile {
    /// Combines the columns; their lines match if message, operation and phase are equal.
    pub fn new(subject: Subject<'_>, measured: &[Measured<'_>], notes: Vec<String>) -> Self {
        let columns: Vec<(Column, Vec<(Key, Cell)>)> =
            measured.iter().map(|measured| Column::of(subject.node, measured)).collect();
        let mut keys = Vec::new();
        columns.iter().for_each(|(_, cells)| lines::weave(&mut keys, cells.iter().map(|(key, _)| key)));
        let cell = |cells: &[(Key, Cell)], key: &Key| {
            cells.iter().find(|(other, _)| other == key).map(|(_, cell)| cell.clone())
        };
        let purposes: Vec<String> = keys.iter().map(|key| purpose(key, &keys)).collect();
        let line = |(key, purpose): (Key, String)| Line {
            cells: columns.iter().map(|(_, cells)| cell(cells, &key)).collect(),
            message: key.message,
            operation: lines::words(&key.operation).to_owned(),
            purpose,
            phase: key.phase,
        };
        Self {
            format: FORMAT,
            provenance: None,
            method: subject.method.to_owned(),
            node: subject.node.name().to_owned(),
            network: subject.network.to_owned(),
            lines: keys.into_iter().zip(purposes).map(line).collect(),
            columns: columns.into_iter().map(|(column, _)| column).collect(),
            notes,
        }
    }
}

/// The purpose of a line, with its number among those that would look the same.
fn purpose(key: &Key, keys: &[Key]) -> String {
    let looks = |key: &Key| (key.message.clone(), key.operation.clone(), key.purpose.clone());
    let same: Vec<&Key> = keys.iter().filter(|other| looks(other) == looks(key)).collect();
    let place = same.iter().position(|other| *other == key).unwrap_or(0) + 1;
    let place = (same.len() > 1).then(|| format!("{place} of {}", same.len()));
    let told = (!key.purpose.is_empty()).then(|| key.purpose.clone());
    told.into_iter().chain(place).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
