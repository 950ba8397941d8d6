//! Studies: measurements of a paper, repeated and compared with what the paper printed.
//!
//! ```text
//! Material --tables--> figures, each beside the published one
//!         --findings--> the paper's claims, each with a verdict and its evidence    --> Account
//!         --notes--> notes for readers of both
//! ```
//!
//! The material is the summary of the scenario's run, and what else a study [`Wants`]: profiles with and without
//! cryptography, packets through a tunnel, the run again on other processors. A study is a folder here, its scenario in `scenarios/studies/`, and a line in [`STUDIES`].
//! Published numbers are data in that folder, each with its source, and never appear as measured ones.

mod cell;
pub(crate) mod dh_groups;
mod doubtful;
mod figure;
mod finding;
mod hip_dex_aka;
mod ikev2_wireless;
mod ipsec_overheads;
pub(crate) mod rrkm;
mod sheet;
mod supplement;
mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cell::{Cell, CellWant, OperationSum};
pub use figure::{Basis, Bound, Figure};
pub use finding::{Evidence, Finding, Verdict};
pub use sheet::Sheet;
pub use supplement::{
    Calibration, FILE as SUPPLEMENT, Processors, Repetition, Supplement, SupplementError, Wants,
};
pub use table::{Line, Table};

use crate::summary::Summary;

/// Every study, in the order of the list.
pub const STUDIES: &[Study] =
    &[ikev2_wireless::STUDY, ipsec_overheads::STUDY, dh_groups::STUDY, hip_dex_aka::STUDY, rrkm::STUDY];

/// The format of [`Account`].
pub const FORMAT: u32 = 1;

/// A paper's measurements, to be repeated.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// Its name on the command line, and that of its scenario.
    pub name: &'static str,
    /// Its subject, in a few words.
    pub title: &'static str,
    /// The paper.
    pub source: &'static str,
    /// The scenario, a TOML text.
    pub scenario: &'static str,
    /// What it needs besides the run of its scenario.
    pub wants: Wants,
    tables: fn(&Material<'_>) -> Vec<Table>,
    findings: fn(&Material<'_>) -> Vec<Finding>,
    notes: fn(&Material<'_>) -> Vec<String>,
}

/// The input of a study.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The run.
    pub summary: &'a Summary,
    /// Measurements besides the run.
    pub supplement: &'a Supplement,
}

impl Study {
    /// The study with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STUDIES.iter().find(|study| study.name == name)
    }

    /// Compares the measurements with the published numbers.
    pub fn account(&self, material: &Material<'_>) -> Account {
        let summary = material.summary;
        Account {
            format: FORMAT,
            study: self.name.to_owned(),
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            authentications: summary.rows.iter().map(|row| row.n).sum(),
            seed: summary.seed.clone(),
            complete: summary.complete,
            tables: (self.tables)(material),
            findings: (self.findings)(material),
            notes: (self.notes)(material),
        }
    }
}

/// `study.json`: the results of a study. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// The version of this interface.
    pub format: u32,
    /// The name of the study.
    pub study: String,
    /// Its subject.
    pub title: String,
    /// The paper.
    pub source: String,
    /// The number of measured authentications.
    pub authentications: u64,
    /// The seed as text, because JavaScript loses the low bits of 64-bit numbers.
    pub seed: String,
    /// False if the run was interrupted, or a row has fewer authentications than planned.
    pub complete: bool,
    /// The paper's figures and tables, repeated.
    pub tables: Vec<Table>,
    /// The paper's claims, judged.
    pub findings: Vec<Finding>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_of_their_scenarios() {
        for study in STUDIES {
            assert_eq!(STUDIES.iter().filter(|other| other.name == study.name).count(), 1);
            assert!(Study::named(study.name).is_some_and(|found| found.title == study.title));
            let key = format!("study = \"{}\"\n", study.name);
            assert!(study.scenario.contains(&key), "the scenario of {} lacks {key}", study.name);
        }
    }
}
