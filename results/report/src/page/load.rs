//! Loads: the verdict, the conditions with their values, how late starts were, and what may be wrong.

use keytoll_analysis::Findings;
use keytoll_analysis::summary::{LateStarts, LoadCondition, LoadVerdict};
use keytoll_page::{Block, Cell, Column, Section, Table};

use super::tables::text;

/// The verdict with its reasons; nothing for a run that is no load.
pub(super) fn headline(findings: &Findings) -> Option<String> {
    verdict(findings).map(LoadVerdict::headline)
}

/// What may be wrong with a load.
pub(super) fn hints(findings: &Findings) -> impl Iterator<Item = String> {
    verdict(findings).into_iter().flat_map(|verdict| verdict.hints.iter().cloned())
}

/// The verdict in full.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let verdict = verdict(findings)?;
    let conditions = (!verdict.conditions.is_empty()).then(|| Block::Table(conditions(verdict)));
    let late = verdict.late_starts.as_ref().map(|late| Block::Note(rule(late)));
    Some(Section {
        id: "verdict".to_owned(),
        title: "Verdict".to_owned(),
        blocks: [Some(Block::Text(verdict.headline())), conditions, late].into_iter().flatten().collect(),
        sections: Vec::new(),
    })
}

fn verdict(findings: &Findings) -> Option<&LoadVerdict> {
    findings.summary.rows.iter().find_map(|row| row.load.as_ref()).map(|load| &load.verdict)
}

fn conditions(verdict: &LoadVerdict) -> Table {
    let head = |head: &str| Column { head: head.to_owned(), ..Column::default() };
    let line = |condition: &LoadCondition| -> Vec<Cell> {
        let result = verdict.of(condition).to_string();
        [condition.condition.as_str(), condition.value(), &result].map(text).to_vec()
    };
    Table {
        id: "conditions".to_owned(),
        caption: "Conditions under which the load has failed".to_owned(),
        columns: ["fail if", "measured", "result"].map(head).to_vec(),
        lines: verdict.conditions.iter().map(line).collect(),
    }
}

fn rule(late: &LateStarts) -> String {
    format!("Late starts: {}. A load that breaks this rule is inconclusive.", late.rule())
}
