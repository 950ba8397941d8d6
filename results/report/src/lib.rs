//! Output of findings for people and programs. Nothing is computed here: every number is from `keytoll-analysis`, and is only
//! rounded and laid out.
//!
//! * `columns` defines the columns of all tables of a run.
//! * [`terminal`] is the table on the screen, [`page`] the page with the charts.
//! * [`csv`] are the files with a line for each authentication, each operation, each kind of message, each second.
//! * `columnar` makes Parquet files of them, in builds with the feature `parquet`.
//! * [`curve`] is the course of populations over time.
//! * [`study`] shows what was measured beside what a paper printed, on the screen and as `study.json`.
//! * [`studies`] shows several studies at once.
//! * [`export`] writes the tables for other programs.
//! * [`profile`] shows where the CPU time of a node goes, [`packets`] where that of a packet goes.
//! * [`primitives`] is the table of crypto operations.
//! * [`compare`] shows how two runs differ.
//! * [`directory`] writes all files of a run directory from its traces.

#[cfg(feature = "parquet")]
pub mod columnar;
mod columns;
pub mod compare;
pub mod csv;
pub mod curve;
pub mod directory;
pub mod export;
pub mod layout;
mod notes;
mod number;
pub mod packets;
pub mod page;
pub mod primitives;
pub mod profile;
mod provenance;
pub mod studies;
pub mod study;
pub mod terminal;
mod words;

pub use number::counted;

#[cfg(test)]
mod example;
