//! From the trace of a run to its results. Pure functions, except for [`directory`], which opens the files.
//!
//! ```text
//! records, costs --metrics--> Sample (one per authentication) --metrics::Tally--> statistics --summary--> Summary
//! ```
//!
//! * [`metrics`] turns the records and costs of a row into one [`Sample`] per authentication, streaming.
//! * [`stats`] is the statistics: Welford, quantiles, Student t.
//! * [`summary`] is the public, versioned `summary.json`.
//! * [`handling`] is what a message costs besides cryptography, for cost tables.
//! * [`primitives`] is about single crypto operations: their statistics, and a table of their costs.
//! * [`comparable`] decides which rows are comparable.
//! * [`composition`] is what CPU time is made of, [`verdict`] what follows from a run as a whole.
//! * [`beside`] compares our nodes with other makers' programs.
//! * [`samples`] is `samples.csv`, read line by line.
//! * [`compare`] compares two runs, or the rows of one, authentication by authentication.
//! * [`study`] is what a study of a paper gives; `keytoll-studies` makes it.
//! * [`profile`] shows where the time of a node goes, operation by operation.
//! * [`simulation`] is a load as formulas and as the simulator have it.
//! * [`directory`] does all of it for a run directory.

pub mod beside;
pub mod comparable;
pub mod compare;
pub mod composition;
pub mod daemon;
pub mod directory;
pub mod handling;
mod named;
pub mod primitives;
pub mod profile;
pub mod samples;
pub mod simulation;
pub mod study;
pub mod summary;
pub mod verdict;

pub use directory::{Findings, RowFindings};
/// The counts of a population.
pub use keytoll_census as census;
/// From the records of a row to one sample per authentication, and their statistics.
pub use keytoll_metrics as metrics;
pub use keytoll_metrics::stats;
pub use keytoll_metrics::{Meter, Outcome, Sample, Samples, Tally};
/// The vocabulary of results: nodes, links and rows.
pub use keytoll_trace as trace;
pub use named::Named;
pub use summary::Summary;
