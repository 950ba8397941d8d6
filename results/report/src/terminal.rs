//! The table on the screen: at most 100 columns, readable without colour, every number with its unit and its doubt.

use std::io::{self, Write};

use keytoll_analysis::beside::Beside;
use keytoll_analysis::summary::{CAPTURED, Cpu, LinkMeans, Memory, Summary, SummaryRow};

use crate::groups::{Group, groups, label, seed, shared, short_label};
use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{counted, known, plain, ranged};
use crate::{provenance, traffic, words};

/// No line is longer, however wide the screen is.
pub const WIDTH_MAX: usize = 100;

/// Labels have as much room beside the numbers, or the numbers are folded.
const LABEL_MIN: usize = 20;

/// Writes the tables of a run for a screen of so many columns.
pub fn write(summary: &Summary, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let (groups, shared) = (groups(summary), shared(summary).collect::<Vec<_>>());
    let shape = Shape { groups: &groups, shared: &shared, width };
    headline(summary, width, &mut out)?;
    section("Delay", &DELAY_HEAD, shape, delay_lines, &mut out)?;
    section("Messages", &LINK_HEAD, shape, link_lines, &mut out)?;
    if summary.rows.iter().any(is_costed) {
        section("CPU", &CPU_HEAD, shape, cpu_lines, &mut out)?;
        section("Memory", &MEMORY_HEAD, shape, memory_lines, &mut out)?;
    }
    if summary.rows.iter().any(|row| row.traffic.is_some()) {
        section("Traffic", &traffic::HEAD, shape, traffic::lines, &mut out)?;
    }
    beside(summary, &shared, width, &mut out)?;
    failures(summary, width, &mut out)?;
    footnotes(summary, width, &mut out)
}

fn headline(summary: &Summary, width: usize, out: &mut impl Write) -> io::Result<()> {
    let n: u64 = summary.rows.iter().map(|row| row.n).sum();
    let title = format!("{}: {}, {}", summary.title, counted(n, "authentication"), seed(summary));
    wrapped(&title, width, out)?;
    if !summary.complete {
        wrapped("The run is not complete: this is what was measured of it.", width, out)?;
    }
    words::of_run(summary).map_or(Ok(()), |words| wrapped(&words, width, out))
}

const DELAY_HEAD: [Head<'static>; 6] = [
    ("", false),
    ("ok/n", true),
    ("delay ms", true),
    ("p95 ms", true),
    ("mean ms", true),
    ("packet ms", true),
];
const LINK_HEAD: [Head<'static>; 6] =
    [("", false), ("link", false), ("msgs", true), ("pkts", true), ("bytes", true), ("retr", true)];
const CPU_HEAD: [Head<'static>; 7] = [
    ("", false),
    ("node", false),
    ("cpu µs", true),
    ("p95 µs", true),
    ("mean µs", true),
    ("crypto µs", true),
    ("Mcycles", true),
];
const MEMORY_HEAD: [Head<'static>; 4] =
    [("", false), ("node", false), ("heap KiB", true), ("idle SA bytes", true)];

/// The rows of all tables, and how they are shown.
#[derive(Clone, Copy)]
struct Shape<'a> {
    groups: &'a [Group<'a>],
    /// What the headings say of all rows.
    shared: &'a [&'a str],
    width: usize,
}

fn section(
    title: &str,
    head: &[Head<'_>],
    Shape { groups, shared, width }: Shape<'_>,
    lines_of: fn(&SummaryRow) -> Vec<Vec<String>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows = groups.iter().flat_map(|group| group.rows.iter().flat_map(|row| lines_of(row)));
    let label_max = label_max(head, rows, width);
    let mut lines = Vec::new();
    for group in groups {
        lines.push(Line::Text(group.heading.clone()));
        for row in &group.rows {
            lines.extend(labelled(&short_label(row, shared), lines_of(row), label_max));
        }
    }
    writeln!(out, "\n{title}")?;
    // Where a label has a second column that says of what a line is, both stand before every fold.
    let fixed = if head.get(1).is_some_and(|(_, right)| !right) { 2 } else { 1 };
    table(head, fixed, &lines, width, out)
}

/// How much room the other columns leave for labels, two blanks between columns.
fn label_max(head: &[Head<'_>], rows: impl Iterator<Item = Vec<String>>, width: usize) -> usize {
    let mut widths: Vec<usize> = head[1..].iter().map(|(name, _)| name.chars().count()).collect();
    for cells in rows {
        for (widest, cell) in widths.iter_mut().zip(&cells) {
            *widest = cell.chars().count().max(*widest);
        }
    }
    let others: usize = widths.iter().map(|widest| widest + 2).sum();
    width.saturating_sub(others).max(LABEL_MIN)
}

/// The lines of a row behind its label; a label that is too long stands alone.
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

fn delay_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    vec![delay_cells(row).to_vec()]
}

/// Those that succeeded, and how long they took.
pub(crate) fn delay_cells(row: &SummaryRow) -> [String; 5] {
    let delay = row.delay_ms;
    [
        format!("{}/{}", row.succeeded, row.n),
        delay.map_or_else(|| known(None), |delay| ranged(delay.median())),
        known(delay.map(|delay| delay.p95)),
        known(delay.map(|delay| delay.mean)),
        known(row.first_packet_ms.map(|delay| delay.p50)),
    ]
}

/// One line per link.
fn link_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    row.links.iter().map(link_cells).collect()
}

fn link_cells((link, means): (&str, &LinkMeans)) -> Vec<String> {
    let numbers = [means.messages, means.packets, means.bytes, means.retransmissions];
    std::iter::once(link.to_owned()).chain(numbers.map(plain)).collect()
}

/// One line per node.
fn cpu_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    let named = |node: &str| std::iter::once(node.to_owned()).chain(cpu_cells(row.cpu.get(node))).collect();
    // Heap is measured wherever CPU is, and also where every sample was disturbed.
    row.memory_bytes.names().map(named).collect()
}

/// What an authentication cost a node.
pub(crate) fn cpu_cells(cpu: Option<&Cpu>) -> [String; 5] {
    let us = |of: fn(&Cpu) -> Option<f64>| known(cpu.and_then(of).map(|ns| ns / 1e3));
    [
        cpu.map_or_else(|| known(None), |cpu| ranged(cpu.median().times(1e-3))),
        us(|cpu| Some(cpu.ns_p95)),
        us(|cpu| Some(cpu.ns)),
        us(|cpu| cpu.crypto_ns_p50),
        known(cpu.and_then(|cpu| cpu.cycles_p50).map(|cycles| cycles / 1e6)),
    ]
}

/// One line per node.
fn memory_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    let named = |(node, memory): (&str, &Memory)| {
        std::iter::once(node.to_owned()).chain(memory_cells(Some(memory))).collect()
    };
    row.memory_bytes.iter().map(named).collect()
}

/// Heap of a node.
pub(crate) fn memory_cells(memory: Option<&Memory>) -> [String; 2] {
    [
        known(memory.and_then(|memory| memory.peak).map(|bytes| bytes as f64 / 1024.0)),
        known(memory.and_then(|memory| memory.idle_sa).map(f64::round)),
    ]
}

const BESIDE_HEAD: [Head<'static>; 8] = [
    ("", false),
    ("node", false),
    ("cpu µs", true),
    ("theirs µs", true),
    ("ratio", true),
    ("delay ms", true),
    ("theirs ms", true),
    ("whose", false),
];

/// Our nodes beside other makers' programs.
fn beside(summary: &Summary, shared: &[&str], width: usize, out: &mut impl Write) -> io::Result<()> {
    if summary.beside.is_empty() {
        return Ok(());
    }
    let cells = |pair: &Beside| {
        let own = pair.variant.split(' ').filter(|word| !word.is_empty() && !shared.contains(word));
        let label = std::iter::once(pair.method.as_str()).chain(own).collect::<Vec<_>>().join(" ");
        let numbers = [Some(pair.cpu_ns / 1e3), Some(pair.maker_cpu_ns / 1e3), Some(pair.cpu_ratio)];
        let numbers = numbers.into_iter().chain([pair.delay_ms, pair.maker_delay_ms]).map(known);
        let head = [format!("  {label}"), pair.node.clone()].into_iter();
        Line::Cells(head.chain(numbers).chain([pair.maker.clone()]).collect())
    };
    let lines: Vec<_> = summary.beside.iter().map(cells).collect();
    writeln!(out)?;
    wrapped("Beside other makers' programs: the same node in the same place, ours ÷ theirs", width, out)?;
    table(&BESIDE_HEAD, 2, &lines, width, out)
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

/// The row, then each reason, then what arrived that nobody could use: it often says more.
fn failures_of(row: &SummaryRow, width: usize, out: &mut impl Write) -> io::Result<()> {
    let after = row.failed_after_ms.map(|delay| ranged(delay.median()));
    let after = after.map_or_else(String::new, |after| format!(", after {after} ms"));
    wrapped(&format!("  {}, {}{after}", label(row), row.network), width, out)?;
    for (why, count) in &row.failures {
        wrapped(&format!("    {count} of {}  {why}", row.n), width, out)?;
    }
    if let Some(discards) = discards(row) {
        wrapped(&format!("    discarded: {discards}"), width, out)?;
    }
    Ok(())
}

/// What arrived in a row and could not be used: `50 radius: unknown client`.
pub(crate) fn discards(row: &SummaryRow) -> Option<String> {
    let each = row.discards.iter().map(|(why, count)| format!("{count} {why}"));
    (!row.discards.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

fn footnotes(summary: &Summary, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    let captured = !summary.rows.is_empty() && summary.rows.iter().all(|row| row.world == CAPTURED);
    let measured = summary.provenance.as_ref().filter(|_| !captured).map(provenance::sentence);
    notes(summary).iter().chain(&measured).try_for_each(|note| wrapped(note, width, out))
}

/// Whether anything is known of what it cost; of what was captured nothing is.
fn is_costed(row: &SummaryRow) -> bool {
    row.memory_bytes.names().next().is_some()
}

/// What a reader must know of the columns and of this run.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes: Vec<String> = NOTES.map(str::to_owned).to_vec();
    if summary.rows.iter().any(is_costed) {
        notes.push(COST_NOTE.to_owned());
    }
    if summary.rows.iter().any(|row| row.traffic.is_some()) {
        notes.push(traffic::NOTE.to_owned());
    }
    if summary.rows.iter().any(|row| row.world != CAPTURED) {
        notes.push(charged(summary).to_owned());
    }
    notes.extend(gathered(summary));
    notes
}

/// The notes of all rows, each told once with the rows it is about, unless those are all. What follows a colon differs
/// from row to row.
fn gathered(summary: &Summary) -> Vec<String> {
    let shared: Vec<_> = shared(summary).collect();
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &summary.rows {
        for note in &row.notes {
            let (what, detail) = note.split_once(": ").unwrap_or((note, ""));
            let about =
                format!("{}, {} {detail}", short_label(row, &shared), row.network).trim_end().to_owned();
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

const NOTES: [&str; 2] = [
    "ok/n: established of all measured. delay: trigger to usable SA of those established, median with its \
     distribution-free 95 % interval, 95th percentile, mean. packet: median time until the packet that caused it came back \
     through the SA, of those that did: where links lose packets, these are not all.",
    "msgs, pkts, bytes, retr: means over all n. msgs without retransmissions (retr); pkts and bytes are IP packets \
     after fragmentation, headers and retransmissions included.",
];
const COST_NOTE: &str = "cpu: time of this machine per authentication, median with its distribution-free 95 % interval, 95th \
     percentile, mean; crypto: median of its part in crypto operations; Mcycles: the median at the \
     clock frequency this machine was seen running at. heap: highest use during start and the first authentication.";

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
    fn an_empty_run_says_so() {
        let summary = Summary { rows: Vec::new(), complete: false, ..example::findings().summary };
        let text = shown(&summary);
        assert!(text.contains("0 authentications") && text.contains("not complete"), "{text}");
    }

    #[test]
    fn a_note_is_told_once_for_all_its_rows() {
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
    fn what_differs_from_row_to_row_is_told_for_each_of_them() {
        let mut summary = example::findings().summary;
        summary.rows.truncate(2);
        summary.rows[0].notes = vec!["weak algorithms".into(), "disturbed: 2 of 30".into()];
        summary.rows[1].notes = vec!["weak algorithms".into(), "disturbed: 3 of 30".into()];
        assert_eq!(
            gathered(&summary),
            ["weak algorithms.", "disturbed: ikev2-psk, wifi-11g 2 of 30; ikev2-psk, umts-r99-64 3 of 30."]
        );
    }

    #[test]
    fn a_median_comes_with_its_interval_and_says_who_waited() {
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
