//! All studies at once: a table of every finding with its verdict on the screen, and a page with a section for each study.

use std::io::{self, Write};

use keytoll_analysis::study::{Account, Accounts};
use keytoll_page::{self as page, Block, Cell, Column, Page, Section};

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::page::study;
use crate::study::verdicts;

/// The longest line, however wide the screen is.
const WIDTH_MAX: usize = 100;

/// Writes a line for every finding, for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(accounts: &Accounts, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    wrapped(&headline(accounts), width, &mut out)?;
    accounts.studies.iter().try_for_each(|account| findings(account, width, &mut out))
}

/// How many findings have which verdict.
fn headline(accounts: &Accounts) -> String {
    let all = accounts.studies.iter().flat_map(|account| &account.findings);
    let (count, studies) = (all.clone().count(), accounts.studies.len());
    format!("{count} findings of {studies} studies: {}", verdicts(&all))
}

fn findings(account: &Account, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    let incomplete = if account.complete { "" } else { ", not complete" };
    wrapped(&format!("{}{incomplete}: {}", account.study, account.title), width, out)?;
    let head: [Head<'_>; 2] = [("  finding", false), ("verdict", false)];
    let lines: Vec<Line> = account
        .findings
        .iter()
        .map(|finding| Line::Cells(vec![format!("  {}", finding.name), finding.verdict_words()]))
        .collect();
    table(&head, 1, &lines, width, out)
}

/// The page of all studies: every finding, then each study.
pub fn page(accounts: &Accounts) -> Page {
    let named = |name: &String| format!("Missing, or not complete: {name}.");
    Page {
        title: "Studies".to_owned(),
        verdict: vec![headline(accounts)],
        warnings: accounts.missing.iter().map(named).collect(),
        sections: std::iter::once(all_findings(accounts)).chain(accounts.studies.iter().map(study)).collect(),
        ..Page::default()
    }
}

fn all_findings(accounts: &Accounts) -> Section {
    let column = |head: &str| Column { head: head.to_owned(), ..Column::default() };
    let lines = accounts.studies.iter().flat_map(|account| {
        account.findings.iter().map(|finding| {
            [&*account.study, &*finding.verdict_words(), &*finding.claim, &*finding.name].map(text).to_vec()
        })
    });
    let table = page::Table {
        id: "findings-table".to_owned(),
        caption: "Every finding".to_owned(),
        columns: ["study", "verdict", "what the paper says", "name"].map(column).to_vec(),
        lines: lines.collect(),
    };
    let (id, title) = ("findings".to_owned(), "All findings".to_owned());
    Section { id, title, blocks: vec![Block::Table(table)], sections: Vec::new() }
}

fn text(text: &str) -> Cell {
    Cell { shown: text.to_owned(), written: text.to_owned(), is_published: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::account;

    const MARKED: &str = "cannot be judged, on a fitted input";

    #[test]
    fn verdicts_on_fitted_inputs_are_marked_on_the_screen_and_on_the_page() {
        let accounts = Accounts::new(vec![account()], ["example"]);
        let mut screen = Vec::new();
        write(&accounts, WIDTH_MAX, &mut screen).unwrap();
        let screen = String::from_utf8(screen).unwrap();
        assert!(screen.contains(MARKED), "{screen}");
        let page = page(&accounts);
        let Block::Table(table) = &page.sections[0].blocks[0] else { panic!("the first block is a table") };
        let verdicts: Vec<&str> = table.lines.iter().map(|line| line[1].shown.as_str()).collect();
        assert_eq!(verdicts, ["holds in part", MARKED]);
    }
}
