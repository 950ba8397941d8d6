//! The tables of a run on the screen: at most 100 columns, readable without colour, every number with its unit and its interval.

use std::io::{self, Write};

use keytoll_analysis::beside::Beside;
use keytoll_analysis::comparable::{Group, Subject, Variant, groups, shared};
use keytoll_analysis::summary::{CAPTURED, Summary, SummaryRow};

use crate::columns::beside::BESIDE;
use crate::columns::{self, Column, Medium, TABLES, Table};
use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::notes::{discards, notes};
use crate::number::{counted, ranged};
use crate::provenance::{self, seed};
use crate::words;

/// The longest line, however wide the screen is.
pub const WIDTH_MAX: usize = 100;

/// The least width of labels; numbers are folded if it is not left.
const LABEL_MIN: usize = 20;

/// Writes the tables of a run for a screen of so many columns.
///
/// # Errors
/// When they cannot be written.
pub fn write(summary: &Summary, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let (groups, shared) = (groups(&summary.rows), shared(&summary.rows));
    let shape = Shape { groups: &groups, shared: &shared, width };
    headline(summary, width, &mut out)?;
    let told = TABLES.into_iter().filter(|table| table.is_told(&summary.rows));
    told.into_iter().try_for_each(|table| section(table, shape, &mut out))?;
    beside(summary, &shared, width, &mut out)?;
    failures(summary, width, &mut out)?;
    footnotes(summary, width, &mut out)
}

fn headline(summary: &Summary, width: usize, out: &mut impl Write) -> io::Result<()> {
    let n: u64 = summary.rows.iter().map(|row| row.n).sum();
    let title = format!("{}: {}, {}", summary.title, counted(n, "authentication"), seed(summary));
    wrapped(&title, width, out)?;
    words::unfinished(summary).map_or(Ok(()), |words| wrapped(&words, width, out))?;
    words::of_run(summary).map_or(Ok(()), |words| wrapped(&words, width, out))
}

/// The rows of all tables, and their layout.
#[derive(Clone, Copy)]
struct Shape<'a> {
    groups: &'a [Group<'a>],
    /// The words that all rows share, which stand in the headings.
    shared: &'a [&'a str],
    width: usize,
}

/// The heads of columns on the screen, the first being the label; names are left-aligned, numbers right-aligned.
fn heads<Of: 'static>(
    columns: impl Iterator<Item = &'static Column<Of>>,
    is_cryptography_only: bool,
) -> Vec<Head<'static>> {
    let head = |column: &'static Column<Of>| {
        (Medium::Screen.head(column, is_cryptography_only), !column.unit.is_empty())
    };
    std::iter::once(("", false)).chain(columns.map(head)).collect()
}

fn section(
    shown: &'static Table,
    Shape { groups, shared, width }: Shape<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut all = groups.iter().flat_map(|group| &group.rows);
    let head = heads(columns::columns(&[shown], Medium::Screen), all.any(|row| row.is_cryptography_only()));
    let lines_of = |row: &SummaryRow| columns::lines(&[shown], row, Medium::Screen);
    let rows = groups.iter().flat_map(|group| group.rows.iter().flat_map(|row| lines_of(row)));
    let label_max = label_max(&head, rows, width);
    let mut lines = Vec::new();
    for group in groups {
        lines.push(Line::Text(heading(group, shared)));
        for row in &group.rows {
            lines.extend(labelled(&row.subject().without(shared), lines_of(row), label_max));
        }
    }
    writeln!(out, "\n{}", shown.title)?;
    // The second column of a label, such as the node, stands before every fold, too.
    let fixed = if head.get(1).is_some_and(|(_, right)| !right) { 2 } else { 1 };
    table(&head, fixed, &lines, width, out)
}

/// The setting of a group, and the words that all rows of the run share.
fn heading(group: &Group<'_>, shared: &[&str]) -> String {
    let common = shared.iter().map(|word| format!(", {word}"));
    group.setting.to_string() + &common.collect::<String>()
}

/// The width that the other columns leave for labels. Empty columns are left out.
fn label_max(head: &[Head<'_>], rows: impl Iterator<Item = Vec<String>>, width: usize) -> usize {
    let mut widths = vec![0; head.len() - 1];
    for cells in rows {
        for (widest, cell) in widths.iter_mut().zip(&cells) {
            *widest = cell.chars().count().max(*widest);
        }
    }
    let shown = head[1..].iter().zip(widths).filter(|(_, widest)| *widest > 0);
    let others: usize = shown.map(|((name, _), widest)| widest.max(name.chars().count()) + 2).sum();
    width.saturating_sub(others).max(LABEL_MIN)
}

/// The lines of a row after its label; a label that is too long has a line of its own.
fn labelled(label: &str, cells: Vec<Vec<String>>, label_max: usize) -> Vec<Line> {
    let label = format!("  {label}");
    let alone = label.chars().count() > label_max;
    let mut lines = Vec::new();
    if alone {
        lines.push(Line::Text(label.clone()));
    }
    for (place, cells) in cells.into_iter().enumerate() {
        let first = if place == 0 && !alone { label.clone() } else { String::new() };
        lines.push(Line::Cells(std::iter::once(first).chain(cells).collect()));
    }
    lines
}

/// Our nodes compared with foreign daemons.
fn beside(summary: &Summary, shared: &[&str], width: usize, out: &mut impl Write) -> io::Result<()> {
    if summary.beside.is_empty() {
        return Ok(());
    }
    let cells = |pair: &Beside| {
        let subject = Subject { method: &pair.method, variant: Variant(&pair.variant) };
        let label = format!("  {}", subject.without(shared));
        let cells = BESIDE.iter().map(|column| (column.of)(pair).shown());
        Line::Cells(std::iter::once(label).chain(cells).collect())
    };
    let lines: Vec<_> = summary.beside.iter().map(cells).collect();
    writeln!(out)?;
    wrapped("Beside foreign daemons: the same node in the same setting, ours ÷ theirs", width, out)?;
    table(&heads(BESIDE.iter(), false), 2, &lines, width, out)
}

fn failures(summary: &Summary, width: usize, out: &mut impl Write) -> io::Result<()> {
    let failed: Vec<&SummaryRow> = summary.rows.iter().filter(|row| !row.failures.is_empty()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    wrapped("Not established: when the device knew, which node found out, and why", width, out)?;
    failed.into_iter().try_for_each(|row| failures_of(row, width, out))
}

/// The row, then each reason, then the discarded messages, which often explain it.
fn failures_of(row: &SummaryRow, width: usize, out: &mut impl Write) -> io::Result<()> {
    let after = row.failed_after_ms.map(|delay| ranged(delay.median()));
    let after = after.map_or_else(String::new, |after| format!(", after {after} ms"));
    wrapped(&format!("  {}, {}{after}", row.subject(), row.network), width, out)?;
    for (why, count) in &row.failures {
        wrapped(&format!("    {count} of {}  {why}", row.n), width, out)?;
    }
    if let Some(discards) = discards(row) {
        wrapped(&format!("    discarded: {discards}"), width, out)?;
    }
    Ok(())
}

fn footnotes(summary: &Summary, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    let captured = !summary.rows.is_empty() && summary.rows.iter().all(|row| row.world == CAPTURED);
    let measured = summary.provenance.as_ref().filter(|_| !captured).map(provenance::sentence);
    notes(summary).iter().chain(&measured).try_for_each(|note| wrapped(note, width, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;

    fn shown(summary: &Summary) -> String {
        let mut out = Vec::new();
        write(summary, WIDTH_MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_of_an_example() {
        insta::assert_snapshot!(shown(&example::findings().summary));
    }

    #[test]
    fn an_empty_run_is_reported_as_such() {
        let summary = Summary { rows: Vec::new(), complete: false, ..example::findings().summary };
        let text = shown(&summary);
        assert!(text.contains("0 authentications") && text.contains("not complete"), "{text}");
    }

    #[test]
    fn an_interrupted_run_says_that_rows_are_measured_at_a_time() {
        let mut summary = Summary { complete: false, ..example::findings().summary };
        summary.rows[1].planned += 1;
        assert!(!shown(&summary).contains("several rows"), "one row lacks authentications");
        summary.rows[0].planned += 1;
        let rows = summary.rows.len();
        let text = shown(&summary).split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = format!(
            "2 of {rows} rows have fewer authentications than planned, because several rows are measured at a time."
        );
        assert!(text.contains(&format!("{} {sentence}", words::UNFINISHED)), "{text}");
    }

    #[test]
    fn a_median_has_its_interval_and_waiting_rows_are_noted() {
        let mut summary = example::findings().summary;
        let delay = summary.rows[0].delay_ms.as_mut().unwrap();
        (delay.p50, delay.p50_ci95_low, delay.p50_ci95_high) = (12.28, Some(11.9), Some(13.1));
        let text = shown(&summary);
        assert!(text.contains("12.28 [11.90, 13.10]"), "{text}");
        assert!(text.contains("waited for a lost packet: ikev2-psk, wifi-11g 1 of 3, 4.0 s"), "{text}");
    }

    #[test]
    fn a_narrow_screen_is_kept() {
        for width in [80, 60, WIDTH_MIN] {
            let mut out = Vec::new();
            write(&example::findings().summary, width, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width) && !text.contains('…'), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_screen(
            method in "[a-z0-9-]{1,60}", variant in "[a-zé=, -]{0,140}", mean in 0.0..1e9f64, bytes in 0.0..1e9f64,
        ) {
            let mut summary = example::findings().summary;
            let row = &mut summary.rows[0];
            (row.method, row.variant) = (method, variant);
            row.notes = vec!["x".repeat(300)];
            let delay = row.delay_ms.as_mut().unwrap();
            (delay.mean, delay.p50, delay.p50_ci95_low, delay.p50_ci95_high) = (mean, mean, Some(mean / 2.0), Some(mean * 2.0));
            row.links.values_mut().for_each(|link| link.bytes = bytes);
            for line in shown(&summary).lines() {
                prop_assert!(line.chars().count() <= WIDTH_MAX, "{}", line);
            }
        }
    }
}
