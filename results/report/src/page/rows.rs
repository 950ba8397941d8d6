//! The rows of a run as the page shows them: with their labels, and with all that was found of them.

use keytoll_analysis::comparable::{groups, shared};
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
        let row = |summary: &'a SummaryRow| {
            let place = all.iter().position(|row| std::ptr::eq(row, summary));
            let found = place.and_then(|place| findings.rows.get(place));
            Row { summary, found, label: summary.subject().without(&shared) }
        };
        let mut known: Vec<Self> = Vec::new();
        for group in groups(all) {
            let heading = group.setting.to_string();
            let id = unique(&anchor(&group.setting.to_string()), &known);
            known.push(Self {
                id,
                heading,
                shared: shared.clone(),
                rows: group.rows.into_iter().map(row).collect(),
            });
        }
        known
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

/// The anchor, with a number if another section has it.
fn unique(id: &str, known: &[Rows<'_>]) -> String {
    let is_free = |id: &String| known.iter().all(|rows| rows.id != *id);
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    let mut all = std::iter::once(id.to_owned()).chain(numbered);
    all.find(is_free).expect("there is always another number")
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
