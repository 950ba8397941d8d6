//! Where the time of a node goes in an authentication: every crypto operation in the order of the messages, and what is
//! left of the node without them.
//!
//! ```text
//! Cost::Step --label--> which message an operation belongs to --lines--> runs of operations, sample by sample
//!            --column--> one suite: lines with mean and interval, totals of every node, and with a skeleton what
//!                        cryptography costs by subtraction and by addition                        --> Profile
//! ```

mod column;
mod label;
mod lines;
mod packets;
mod skeleton;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use column::{Beside, Cell, Column, Measured, NodeTotal};
pub use packets::{MeasuredPackets, MeasuredSuite, PacketColumn, Packets, Processing, Stage};
pub use skeleton::{Contribution, Sides, Skeleton};

use crate::stats::{Welford, interval95};
use lines::Key;

/// The format of [`Profile`].
pub const FORMAT: u32 = 1;

/// What `keytoll profile --json` prints. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The version of this interface.
    pub format: u32,
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
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// One operation, or the same several times in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The message that it belongs to.
    pub message: String,
    /// The operation, in words.
    pub operation: String,
    /// The phase of the protocol.
    pub phase: String,
    /// What it costs with each suite; none where it does not happen.
    pub cells: Vec<Option<Cell>>,
}

/// A mean of `n` values and half the width of its 95 % interval (Student t).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the interval; absent below two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_half: Option<f64>,
    /// Over how many values.
    pub n: u64,
}

impl Estimate {
    /// Of some values; None without any.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut moments = Welford::default();
        values.into_iter().for_each(|value| moments.add(value));
        Self::from_moments(&moments)
    }

    fn from_moments(moments: &Welford) -> Option<Self> {
        let half = interval95(moments).map(|interval| (interval.high - interval.low) / 2.0);
        Some(Self { mean: moments.mean()?, ci95_half: half, n: moments.n() })
    }
}

/// What a profile is about.
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
    /// Sets the columns side by side; their lines meet where message, operation and phase are the same.
    pub fn new(subject: Subject<'_>, measured: &[Measured<'_>], notes: Vec<String>) -> Self {
        let columns: Vec<(Column, Vec<(Key, Cell)>)> =
            measured.iter().map(|measured| Column::of(subject.node, measured)).collect();
        let mut keys = Vec::new();
        columns.iter().for_each(|(_, cells)| lines::weave(&mut keys, cells.iter().map(|(key, _)| key)));
        let cell = |cells: &[(Key, Cell)], key: &Key| {
            cells.iter().find(|(other, _)| other == key).map(|(_, cell)| cell.clone())
        };
        let line = |key: Key| Line {
            cells: columns.iter().map(|(_, cells)| cell(cells, &key)).collect(),
            message: key.message,
            operation: lines::words(&key.operation).to_owned(),
            phase: key.phase,
        };
        Self {
            format: FORMAT,
            method: subject.method.to_owned(),
            node: subject.node.name().to_owned(),
            network: subject.network.to_owned(),
            lines: keys.into_iter().map(line).collect(),
            columns: columns.into_iter().map(|(column, _)| column).collect(),
            notes,
        }
    }
}

#[cfg(test)]
mod tests;
