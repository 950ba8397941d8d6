//! From the trace of a run to its findings. Pure functions but for [`directory`], which opens the files.
//!
//! ```text
//! records, costs --metrics--> Sample (one per authentication) --metrics::Tally--> statistics --summary--> Summary
//! ```
//!
//! * [`metrics`] turns the records and costs of a row into one [`Sample`] per authentication, streaming.
//! * [`stats`] is the arithmetic: Welford, quantiles, Student t.
//! * [`summary`] is the public, versioned `summary.json`.
//! * [`primitives`] is about single crypto operations: their statistics, the table of their costs.
//! * [`comparable`] says which rows may be compared.
//! * [`beside`] sets our nodes beside other makers' programs.
//! * [`study`] sets a summary beside what a paper printed.
//! * [`profile`] says where the time of a node goes, operation by operation.
//! * [`directory`] does all of it for a run directory.

pub mod beside;
pub mod comparable;
pub mod directory;
pub mod metrics;
mod named;
pub mod primitives;
pub mod profile;
pub mod stats;
pub mod study;
pub mod summary;

pub use directory::{Findings, RowFindings};
/// The nodes, links and rows that findings are about.
pub use keytoll_trace as trace;
pub use metrics::{Meter, Outcome, Sample, Samples, Tally};
pub use named::Named;
pub use summary::Summary;
