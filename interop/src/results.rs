//! The table of `RESULTS.md`: what [`Chain::outcome`] says of every method, which `tests/eap_chains.rs` proves cell by
//! cell.

use crate::chain::{Chain, Outcome};
use crate::eap::Method;

/// The table, and below it what its numbers stand for.
pub fn table() -> String {
    let mut notes = Vec::new();
    let row = |method: &Method| {
        let cells: Vec<_> = Chain::ALL.iter().map(|chain| cell(chain.outcome(*method), &mut notes)).collect();
        format!("| {method} | {} |\n", cells.join(" | "))
    };
    let rows: String = Method::ALL.iter().map(row).collect();
    let chains: Vec<_> = Chain::ALL.iter().map(ToString::to_string).collect();
    let head = format!("| method | {} |\n|{}\n", chains.join(" | "), "---|".repeat(chains.len() + 1));
    let notes: String = notes.iter().zip(1..).map(|(note, n)| format!("{n}. {note}\n")).collect();
    format!("{head}{rows}\n{notes}")
}

fn cell(outcome: Outcome, notes: &mut Vec<&'static str>) -> String {
    let mut note = |why| {
        let known = notes.iter().position(|note| *note == why);
        known.unwrap_or_else(|| {
            notes.push(why);
            notes.len() - 1
        }) + 1
    };
    match outcome {
        Outcome::Passed => "passed".into(),
        Outcome::PassedWith(what) => format!("passed ({})", note(what)),
        Outcome::Failed { why, .. } => format!("fails ({})", note(why)),
        Outcome::NotOffered(why) => format!("not offered ({})", note(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_md_shows_what_the_tests_prove() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
        let shown = std::fs::read_to_string(file).unwrap();
        assert!(shown.contains(&table()), "RESULTS.md must contain this table:\n\n{}", table());
    }

    #[test]
    fn equal_reasons_share_a_number() {
        let mut notes = Vec::new();
        let cells =
            [Outcome::NotOffered("a"), Outcome::Failed { words: "", why: "b" }, Outcome::NotOffered("a")];
        let cells = cells.map(|outcome| cell(outcome, &mut notes));
        assert_eq!(cells, ["not offered (1)", "fails (2)", "not offered (1)"]);
    }
}
