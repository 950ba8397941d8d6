//! What became of the rows of a run, and of the findings of a study, as cases.

use keytoll_analysis::study::{Account, Finding, Verdict};
use keytoll_analysis::summary::SummaryRow;

use super::junit::{Case, Outcome, Suite};
use crate::study::evidence;

/// What a scenario wants of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Its devices are authenticated.
    Success,
    /// Some are.
    Part,
    /// Nobody is: it has a fault, or credentials that are wrong.
    Failure,
}

/// A case for each row.
pub(super) fn of_rows(title: &str, rows: &[SummaryRow], expected: impl Fn(&SummaryRow) -> Expected) -> Suite {
    let case = |row: &SummaryRow| Case {
        class: row.setting().to_string(),
        name: row.subject().to_string(),
        outcome: outcome(row, expected(row)),
        told: reasons(row),
    };
    Suite { name: format!("keytoll run {title}"), time_s: None, cases: rows.iter().map(case).collect() }
}

/// A failing case for an interrupted run, in which unmeasured rows have no cases.
pub fn interrupted(rows: &[SummaryRow]) -> Case {
    let measured = rows.iter().filter(|row| counted(row).0 > 0).count();
    let why = match measured {
        0 => "the run was interrupted before anything was measured".to_owned(),
        1 => "the run was interrupted: one row was measured".to_owned(),
        measured => format!("the run was interrupted: {measured} rows were measured"),
    };
    Case {
        class: "run".to_owned(),
        name: "complete".to_owned(),
        outcome: Outcome::Failed(why),
        told: String::new(),
    }
}

fn outcome(row: &SummaryRow, expected: Expected) -> Outcome {
    let (all, established) = counted(row);
    match expected {
        _ if all == 0 => Outcome::Skipped("nothing was measured".to_owned()),
        Expected::Failure if established > 0 => {
            Outcome::Failed(format!("{established} of {all} were established in spite of a fault"))
        }
        Expected::Success if established < all => {
            let why: Vec<String> = failures(row).map(|(why, count)| format!("{count} {why}")).collect();
            Outcome::Failed(format!(
                "{} of {all} were not established: {}",
                all - established,
                why.join("; ")
            ))
        }
        Expected::Part if established == 0 => Outcome::Failed(format!("none of {all} were established")),
        _ if row.population.is_none() && all < row.planned => {
            Outcome::Failed(format!("{all} of {} were measured", row.planned))
        }
        _ => Outcome::Passed,
    }
}

/// How many there were, and how many of them were established.
fn counted(row: &SummaryRow) -> (u64, u64) {
    match &row.population {
        Some(population) => (population.offered, population.established),
        None => (row.n, row.succeeded),
    }
}

/// Reasons and how often each.
fn failures(row: &SummaryRow) -> impl Iterator<Item = (&str, u64)> {
    let of_population = row.population.iter().flat_map(|population| &population.failures);
    let of_population = of_population.map(|(why, count)| (why.as_str(), *count));
    row.failures.iter().map(|(why, count)| (why.as_str(), *count)).chain(of_population)
}

fn reasons(row: &SummaryRow) -> String {
    let told: Vec<String> = failures(row).map(|(why, count)| format!("{why}: {count}")).collect();
    told.join("; ")
}

/// A case for each finding: one that does not hold has failed, one that cannot be judged is skipped.
pub(super) fn of_study(account: &Account) -> Suite {
    let case = |finding: &Finding| Case {
        class: account.study.clone(),
        name: finding.name.clone(),
        outcome: judged(finding),
        told: format!("{}: {} Here: {}", finding.verdict_words(), finding.claim, evidence(finding)),
    };
    Suite {
        name: format!("keytoll study {}", account.study),
        time_s: None,
        cases: account.findings.iter().map(case).collect(),
    }
}

fn judged(finding: &Finding) -> Outcome {
    match finding.verdict {
        Verdict::Holds | Verdict::HoldsInPart => Outcome::Passed,
        Verdict::DoesNotHold => Outcome::Failed(format!("{}: {}", finding.verdict_words(), finding.claim)),
        Verdict::CannotBeJudged => Outcome::Skipped(finding.verdict_words()),
    }
}
