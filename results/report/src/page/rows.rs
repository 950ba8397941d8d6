//! The rows of a run as the page shows them: with their labels, and with all that was found of them.

use std::collections::{BTreeMap, BTreeSet};

use keytoll_analysis::comparable::{Group, groups, shared};
use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::{Findings, RowFindings};

use super::anchor;

/// The rows of one setting.
pub(super) struct Rows<'a> {
    /// The anchor of their section; those within it begin with it.
    pub(super) id: String,
    /// The setting.
    pub(super) heading: String,
    /// The options that all rows of the run share, which are not in their labels.
    pub(super) shared: Vec<&'a str>,
    /// In the order of the run.
    pub(super) rows: Vec<Row<'a>>,
}

/// A row.
#[derive(Clone)]
pub(super) struct Row<'a> {
    /// Its line in the summary.
    pub(super) summary: &'a SummaryRow,
    /// Everything that was found of it; nothing of populations.
    pub(super) found: Option<&'a RowFindings>,
    /// Method and options, without those that all rows share.
    pub(super) label: String,
}

impl<'a> Rows<'a> {
    /// The rows of a run by their settings.
    pub(super) fn groups(findings: &'a Findings) -> Vec<Self> {
        let all = &findings.summary.rows;
        let shared = shared(all);
        let places: BTreeMap<*const SummaryRow, usize> =
            all.iter().enumerate().map(|(place, row)| (std::ptr::from_ref(row), place)).collect();
        let row = |summary: &'a SummaryRow| {
            let place = places.get(&std::ptr::from_ref(summary)).copied();
            let found = place.and_then(|place| findings.rows.get(place));
            Row { summary, found, label: summary.subject().without(&shared) }
        };
        let mut anchors = Anchors::default();
        let rows = |group: Group<'a>| {
            let heading = group.setting.to_string();
            let id = anchors.next(&anchor(&heading));
            Self { id, heading, shared: shared.clone(), rows: group.rows.into_iter().map(row).collect() }
        };
        groups(all).into_iter().map(rows).collect()
    }

    /// The anchor of something in this section.
    pub(super) fn id(&self, name: &str) -> String {
        format!("{}-{}", self.id, anchor(name))
    }

    /// The lines of the summary.
    pub(super) fn summaries(&self) -> impl Iterator<Item = &'a SummaryRow> {
        self.rows.iter().map(|row| row.summary)
    }

    /// The label of a line of the summary.
    pub(super) fn label(&self, summary: &SummaryRow) -> &str {
        let row = self.rows.iter().find(|row| std::ptr::eq(row.summary, summary));
        row.map(|row| row.label.as_str()).unwrap_or_default()
    }
}

/// Anchors, each given out once.
#[derive(Default)]
struct Anchors {
    given: BTreeSet<String>,
    /// The number that is tried next for each, which others may have taken.
    numbers: BTreeMap<String, u64>,
}

impl Anchors {
    /// The anchor, with a number if another section has it.
    fn next(&mut self, id: &str) -> String {
        let number = self.numbers.entry(id.to_owned()).or_insert(0);
        loop {
            *number += 1;
            let anchor = if *number == 1 { id.to_owned() } else { format!("{id}-{number}") };
            if self.given.insert(anchor.clone()) {
                return anchor;
            }
        }
    }
}

/// How many authentications there are in each row: `n = 30 each`, or from the least to the greatest.
pub(super) fn counts(counts: impl IntoIterator<Item = u64>) -> String {
    let counts: Vec<u64> = counts.into_iter().collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most && counts.len() > 1 => format!("n = {least} each"),
        (Some(least), Some(most)) if least == most => format!("n = {least}"),
        (Some(least), Some(most)) => format!("n = {least} to {most}"),
        _ => "n = 0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_given_once_and_in_little_time_however_many_want_it() {
        let mut anchors = Anchors::default();
        let given = ["wifi", "wifi-2", "wifi", "wifi", "umts"].map(|id| anchors.next(id));
        assert_eq!(given, ["wifi", "wifi-2", "wifi-3", "wifi-4", "umts"]);
        // Looked for one by one these would be 10¹⁰ comparisons.
        let many: BTreeSet<String> = (0..100_000).map(|_| anchors.next("same")).collect();
        assert_eq!(many.len(), 100_000);
    }
}
