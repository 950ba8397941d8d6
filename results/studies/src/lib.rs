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

mod claim;
pub mod dh_groups;
mod dimensioning;
mod doubtful;
mod hip_dex_aka;
mod ikev2_wireless;
mod ipsec_overheads;
mod published;
pub mod rrkm;
mod suitability;
#[cfg(test)]
mod timed;

use keytoll_analysis::study::{
    Account, Basis, Bound, Calibration, Cell, CellWant, Evidence, FORMAT, Figure, Finding, Fit, FittedCycles,
    FittedDelay, Line, LoadWant, Printed, Processors, ProfileWant, Repetition, Sheet, Supplement, Table,
    Verdict, Wants,
};
use keytoll_analysis::{Findings, Summary};

/// Every study, in the order of the list.
pub const STUDIES: &[Study] = &[
    ikev2_wireless::STUDY,
    dimensioning::STUDY,
    ipsec_overheads::STUDY,
    dh_groups::STUDY,
    hip_dex_aka::STUDY,
    suitability::STUDY,
    rrkm::STUDY,
];

/// A paper's measurements, to be repeated.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its subject, in a few words.
    pub title: &'static str,
    /// The paper.
    pub source: &'static str,
    /// What it measures; a scenario may be that of several studies.
    pub scenario: Scenario,
    /// What it needs besides the run of its scenario.
    pub wants: Wants,
    tables: fn(&Material<'_>) -> Vec<Table>,
    findings: fn(&Material<'_>) -> Vec<Finding>,
    notes: fn(&Material<'_>) -> Vec<String>,
}

/// A scenario of a study.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The name of its file in `scenarios/studies/`, without `.toml`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// The input of a study.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The run.
    pub summary: &'a Summary,
    /// Measurements besides the run.
    pub supplement: &'a Supplement,
}

impl<'a> Material<'a> {
    /// The run again on these processors.
    fn repeated(&self, processors: Processors) -> Option<&'a Summary> {
        Some(&self.repetition(processors)?.summary)
    }

    /// The run again on these processors, with their clocks.
    fn repetition(&self, processors: Processors) -> Option<&'a Repetition> {
        self.supplement.repetitions.iter().find(|repetition| repetition.processors == processors.name())
    }
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
            findings: (self.findings)(material).into_iter().map(|it| if_complete(summary, it)).collect(),
            notes: crypto_note(summary).into_iter().chain((self.notes)(material)).collect(),
        }
    }
}

/// Nothing follows from a part of a run.
fn if_complete(summary: &Summary, finding: Finding) -> Finding {
    let verdict = if summary.complete { finding.verdict } else { Verdict::CannotBeJudged };
    Finding { verdict, ..finding }
}

/// That the run computed nothing.
fn crypto_note(summary: &Summary) -> Option<String> {
    let has_null = summary.rows.iter().any(|row| row.crypto == "null");
    has_null.then(|| {
        "Run without cryptography (`--crypto null`): times, throughput, CPU and memory contain no computation, in contrast to the paper's."
            .to_owned()
    })
}

pub use dimensioning::question;
pub use suitability::against_the_slides;

/// The findings with the account of the study that the run belongs to.
#[must_use]
pub fn judged(findings: Findings) -> Findings {
    let Findings { manifest, summary, supplement, .. } = &findings;
    let study = manifest.study.as_deref().and_then(Study::named);
    let account = study.map(|study| study.account(&Material { summary, supplement }));
    Findings { study: account, ..findings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_scenarios_belong_to_a_study() {
        for study in STUDIES {
            assert_eq!(STUDIES.iter().filter(|other| other.name == study.name).count(), 1);
            assert!(Study::named(study.name).is_some_and(|found| found.title == study.title));
            let key = format!("study = \"{}\"\n", study.scenario.name);
            assert!(study.scenario.text.contains(&key), "the scenario of {} lacks {key}", study.name);
        }
    }
}
