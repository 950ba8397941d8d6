//! The notes below the tables of a run: explanations of rare columns, and peculiarities of this run.

use keytoll_analysis::comparable::shared;
use keytoll_analysis::summary::{CAPTURED, Summary, SummaryRow};

use crate::columns::{TABLES, Table};

/// All notes, a paragraph each.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let rows = &summary.rows;
    let told = TABLES.into_iter().filter(|table| table.is_told(rows));
    let of_table = |table: &'static Table| {
        let rare = table.rare(rows).map(|column| format!("{}: {}.", column.head, column.meaning));
        let note = Some(table.note.to_owned()).filter(|note| !note.is_empty());
        note.into_iter().chain(rare)
    };
    let is_measured = rows.iter().any(|row| row.world != CAPTURED);
    let charged = is_measured.then(|| charged(summary).to_owned());
    told.flat_map(of_table).chain(charged).chain(gathered(summary)).collect()
}

/// The discarded messages of a row: `50 radius: unknown client`.
pub(crate) fn discards(row: &SummaryRow) -> Option<String> {
    let each = row.discards.iter().map(|(why, count)| format!("{count} {why}"));
    (!row.discards.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

/// The notes of all rows. Each appears once with the rows it concerns, unless these are all of them. The part after a colon
/// differs from row to row.
fn gathered(summary: &Summary) -> Vec<String> {
    let shared = shared(&summary.rows);
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &summary.rows {
        for note in &row.notes {
            let (what, detail) = note.split_once(": ").unwrap_or((note, ""));
            let label = row.subject().without(&shared);
            let about = format!("{label}, {} {detail}", row.network).trim_end().to_owned();
            match told.iter_mut().find(|(known, _)| *known == what) {
                Some((_, rows)) => rows.push(about),
                None => told.push((what, vec![about])),
            }
        }
    }
    let is_of_all = |what: &str, rows: &[String]| {
        let is_plain = |row: &SummaryRow| row.notes.iter().any(|note| note == what);
        rows.len() > 1 && rows.len() == summary.rows.len() && summary.rows.iter().all(is_plain)
    };
    let sentence = |(what, rows): (&str, Vec<String>)| match is_of_all(what, &rows) {
        true => format!("{what}."),
        false => format!("{what}: {}.", rows.join("; ")),
    };
    told.into_iter().map(sentence).collect()
}

fn charged(summary: &Summary) -> &'static str {
    if summary.rows.iter().all(|row| row.world == "live") && !summary.rows.is_empty() {
        return "Delays are by the real clock: computation of every node and the machine's scheduler are in them.";
    }
    match (summary.rows.iter().all(|row| row.charged), summary.rows.iter().any(|row| row.charged)) {
        (true, true) => "Computation is charged to virtual time: delays contain it.",
        (_, false) => {
            "Computation is not charged to virtual time: delays are those of the network and of timers."
        }
        (false, true) => {
            "Computation is charged to virtual time in some rows only (`charged` in summary.json)."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_note_appears_once_for_all_its_rows() {
        let mut summary = example::findings().summary;
        summary.rows.iter_mut().for_each(|row| row.notes.clear());
        summary.rows[0].notes = vec!["weak algorithms".into(), "smoothed: 2 of 30".into()];
        summary.rows[2].notes = vec!["smoothed: 3 of 30".into()];
        assert_eq!(
            gathered(&summary),
            [
                "weak algorithms: ikev2-psk, wifi-11g.",
                "smoothed: ikev2-psk, wifi-11g 2 of 30; ikev2-rsa2048 chain=4,4, wifi-11g 3 of 30.",
            ]
        );
    }

    #[test]
    fn the_part_after_the_colon_appears_for_each_row() {
        let mut summary = example::findings().summary;
        summary.rows.truncate(2);
        summary.rows[0].notes = vec!["weak algorithms".into(), "disturbed: 2 of 30".into()];
        summary.rows[1].notes = vec!["weak algorithms".into(), "disturbed: 3 of 30".into()];
        assert_eq!(
            gathered(&summary),
            ["weak algorithms.", "disturbed: ikev2-psk, wifi-11g 2 of 30; ikev2-psk, umts-r99-64 3 of 30."]
        );
    }
}
