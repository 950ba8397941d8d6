//! Rows that may be compared with each other: same network, topology, world and crypto.

use keytoll_analysis::summary::{CAPTURED, Summary, SummaryRow};

/// Comparable rows under one heading.
pub(crate) struct Group<'a> {
    /// `wifi-11g, raw, sim, real crypto`, and what all rows of the run have in common.
    pub(crate) heading: String,
    /// In the order of the plan.
    pub(crate) rows: Vec<&'a SummaryRow>,
}

/// The groups of a summary, in order of first appearance.
pub(crate) fn groups(summary: &Summary) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let common = shared(summary).map(|word| format!(", {word}")).collect::<String>();
    for row in &summary.rows {
        let heading = heading(row) + &common;
        match groups.iter_mut().find(|group| group.heading == heading) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { heading, rows: vec![row] }),
        }
    }
    groups
}

fn heading(row: &SummaryRow) -> String {
    if row.world == CAPTURED {
        return CAPTURED.to_owned();
    }
    format!("{}, {}, {}, {} crypto", row.network, row.topology, row.world, row.crypto)
}

/// `seed 42`, or that there is none.
pub(crate) fn seed(summary: &Summary) -> String {
    if summary.seed.is_empty() { CAPTURED.to_owned() } else { format!("seed {}", summary.seed) }
}

/// The words in the variants of all rows, if there are several rows.
pub(crate) fn shared(summary: &Summary) -> impl Iterator<Item = &str> {
    let (first, rest) =
        summary.rows.split_first().map_or(("", &[][..]), |(row, rest)| (row.variant.as_str(), rest));
    let has = |row: &SummaryRow, word: &str| row.variant.split(' ').any(|other| other == word);
    first
        .split(' ')
        .filter(move |word| !word.is_empty() && !rest.is_empty() && rest.iter().all(|row| has(row, word)))
}

/// The label of a row without what all rows of its run have in common, which the heading says.
pub(crate) fn short_label(row: &SummaryRow, shared: &[&str]) -> String {
    let own = row.variant.split(' ').filter(|word| !shared.contains(word));
    let variant = own.collect::<Vec<_>>().join(" ");
    label(&SummaryRow { variant, ..row.clone() })
}

/// `ikev2-rsa2048 chain=4,4`.
pub(crate) fn label(row: &SummaryRow) -> String {
    match row.variant.as_str() {
        "" => row.method.clone(),
        variant => format!("{} {variant}", row.method),
    }
}
