//! Rows that may be compared with each other: same network, topology, world and crypto.

use keytoll_analysis::summary::{CAPTURED, Summary, SummaryRow};

/// Comparable rows under one heading.
pub(crate) struct Group<'a> {
    /// `wifi-11g, raw, sim, real crypto`.
    pub(crate) heading: String,
    /// In the order of the plan.
    pub(crate) rows: Vec<&'a SummaryRow>,
}

/// The groups of a summary, in order of first appearance.
pub(crate) fn groups(summary: &Summary) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in &summary.rows {
        let heading = heading(row);
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

/// `ikev2-rsa2048 chain=4,4`.
pub(crate) fn label(row: &SummaryRow) -> String {
    match row.variant.as_str() {
        "" => row.method.clone(),
        variant => format!("{} {variant}", row.method),
    }
}
