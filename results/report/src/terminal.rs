//! The table on the screen: 100 columns, readable without colour, every number with its unit and its doubt.

use std::io::{self, Write};

use keytoll_analysis::beside::Beside;
use keytoll_analysis::summary::{CAPTURED, Cpu, LinkMeans, Summary, SummaryRow};

use crate::groups::{Group, groups, label, seed, shared, short_label};
use crate::layout::{Head, Line, fitted, table, wrapped};
use crate::number::{known, plain, uncertain};
use crate::traffic;

/// No line is longer.
const WIDTH: usize = 100;

/// Writes the tables of a run.
pub fn write(summary: &Summary, mut out: impl Write) -> io::Result<()> {
    let (groups, shared) = (groups(summary), shared(summary).collect::<Vec<_>>());
    headline(summary, &mut out)?;
    section("Delay and traffic", &DELAY_HEAD, (&groups, &shared), delay_lines, &mut out)?;
    if summary.rows.iter().any(is_costed) {
        section("CPU and memory", &CPU_HEAD, (&groups, &shared), cpu_lines, &mut out)?;
    }
    if summary.rows.iter().any(|row| row.traffic.is_some()) {
        section("Traffic", &traffic::HEAD, (&groups, &shared), traffic::lines, &mut out)?;
    }
    beside(summary, &shared, &mut out)?;
    failures(summary, &mut out)?;
    footnotes(summary, &mut out)
}

fn headline(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let n: u64 = summary.rows.iter().map(|row| row.n).sum();
    let title = format!("{}: {n} authentications, {}", summary.title, seed(summary));
    writeln!(out, "{}", fitted(&title, WIDTH))?;
    if !summary.complete {
        writeln!(out, "The run is not complete: this is what was measured of it.")?;
    }
    Ok(())
}

const DELAY_HEAD: [Head<'static>; 10] = [
    ("", false),
    ("ok/n", true),
    ("delay ms", true),
    ("p95 ms", true),
    ("packet ms", true),
    ("link", false),
    ("msgs", true),
    ("pkts", true),
    ("bytes", true),
    ("retr", true),
];
const CPU_HEAD: [Head<'static>; 8] = [
    ("", false),
    ("node", false),
    ("cpu µs", true),
    ("crypto µs", true),
    ("Mcycles", true),
    ("n", true),
    ("heap KiB", true),
    ("idle SA bytes", true),
];

fn section(
    title: &str,
    head: &[Head<'_>],
    (groups, shared): (&[Group<'_>], &[&str]),
    lines_of: fn(&SummaryRow) -> Vec<Vec<String>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let heads = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = groups.iter().flat_map(|group| group.rows.iter().flat_map(|row| lines_of(row)));
    let label_max = label_max(head, rows);
    let mut lines = vec![Line::Cells(heads)];
    for group in groups {
        lines.push(Line::Text(group.heading.clone()));
        for row in &group.rows {
            lines.extend(labelled(&short_label(row, shared), lines_of(row), label_max));
        }
    }
    writeln!(out, "\n{title}")?;
    table(head, &lines, WIDTH, out)
}

/// How much room the other columns leave for labels, two blanks between columns.
fn label_max(head: &[Head<'_>], rows: impl Iterator<Item = Vec<String>>) -> usize {
    let mut widths: Vec<usize> = head[1..].iter().map(|(name, _)| name.chars().count()).collect();
    for cells in rows {
        for (width, cell) in widths.iter_mut().zip(&cells) {
            *width = cell.chars().count().max(*width);
        }
    }
    let others: usize = widths.iter().map(|width| width + 2).sum();
    WIDTH.saturating_sub(others)
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

/// One line per link; the first says how long it took.
fn delay_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = row.links.iter().map(link_cells).collect();
    if lines.is_empty() {
        lines.push(vec![String::new(); 5]);
    }
    let delay = row.delay_ms.as_ref();
    let head = [
        format!("{}/{}", row.succeeded, row.n),
        delay.map_or_else(|| known(None), |delay| uncertain(delay.mean, delay.half_width())),
        known(delay.map(|delay| delay.p95)),
        known(row.first_packet_ms.map(|delay| delay.mean)),
    ];
    let first = lines.iter_mut().enumerate();
    first.for_each(|(place, line)| {
        let before = if place == 0 { head.to_vec() } else { vec![String::new(); head.len()] };
        line.splice(0..0, before);
    });
    lines
}

fn link_cells((link, means): (&str, &LinkMeans)) -> Vec<String> {
    let numbers = [means.messages, means.packets, means.bytes, means.retransmissions];
    std::iter::once(link.to_owned()).chain(numbers.map(plain)).collect()
}

/// One line per node.
fn cpu_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    // Heap is measured wherever CPU is, and also where every sample was disturbed.
    row.memory_bytes.names().map(|node| node_cells(row, node)).collect()
}

fn node_cells(row: &SummaryRow, node: &str) -> Vec<String> {
    let cpu = row.cpu.get(node);
    let memory = row.memory_bytes.get(node);
    vec![
        node.to_owned(),
        cpu.map_or_else(|| known(None), cpu_us),
        known(cpu.and_then(|cpu| cpu.crypto_ns).map(|ns| ns / 1e3)),
        known(cpu.and_then(|cpu| cpu.cycles).map(|cycles| cycles / 1e6)),
        cpu.map_or_else(|| known(None), |cpu| cpu.n.to_string()),
        known(memory.and_then(|memory| memory.peak).map(|bytes| bytes as f64 / 1024.0)),
        known(memory.and_then(|memory| memory.idle_sa).map(f64::round)),
    ]
}

fn cpu_us(cpu: &Cpu) -> String {
    uncertain(cpu.ns / 1e3, cpu.ns_half_width().map(|half| half / 1e3))
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
fn beside(summary: &Summary, shared: &[&str], out: &mut impl Write) -> io::Result<()> {
    if summary.beside.is_empty() {
        return Ok(());
    }
    let heads = BESIDE_HEAD.map(|(name, _)| name.to_owned()).to_vec();
    let cells = |pair: &Beside| {
        let own = pair.variant.split(' ').filter(|word| !word.is_empty() && !shared.contains(word));
        let label = std::iter::once(pair.method.as_str()).chain(own).collect::<Vec<_>>().join(" ");
        let numbers = [Some(pair.cpu_ns / 1e3), Some(pair.maker_cpu_ns / 1e3), Some(pair.cpu_ratio)];
        let numbers = numbers.into_iter().chain([pair.delay_ms, pair.maker_delay_ms]).map(known);
        let head = [format!("  {label}"), pair.node.clone()].into_iter();
        Line::Cells(head.chain(numbers).chain([pair.maker.clone()]).collect())
    };
    let lines: Vec<_> = std::iter::once(Line::Cells(heads)).chain(summary.beside.iter().map(cells)).collect();
    writeln!(out, "\nBeside other makers' programs: the same node in the same place, ours ÷ theirs")?;
    table(&BESIDE_HEAD, &lines, WIDTH, out)
}

fn failures(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let failed: Vec<&SummaryRow> = summary.rows.iter().filter(|row| !row.failures.is_empty()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNot established: when the device knew, which node found out, and why")?;
    failed.into_iter().try_for_each(|row| failures_of(row, out))
}

/// The row, then each reason, then what arrived that nobody could use: it often says more.
fn failures_of(row: &SummaryRow, out: &mut impl Write) -> io::Result<()> {
    let after = row.failed_after_ms.map(|delay| uncertain(delay.mean, delay.half_width()));
    let after = after.map_or_else(String::new, |after| format!(", after {after} ms"));
    wrapped(&format!("  {}, {}{after}", label(row), row.network), WIDTH, out)?;
    for (why, count) in &row.failures {
        wrapped(&format!("    {count} of {}  {why}", row.n), WIDTH, out)?;
    }
    if let Some(discards) = discards(row) {
        wrapped(&format!("    discarded: {discards}"), WIDTH, out)?;
    }
    Ok(())
}

/// What arrived in a row and could not be used: `50 radius: unknown client`.
pub(crate) fn discards(row: &SummaryRow) -> Option<String> {
    let each = row.discards.iter().map(|(why, count)| format!("{count} {why}"));
    (!row.discards.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

fn footnotes(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    notes(summary).iter().try_for_each(|note| wrapped(note, WIDTH, out))
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
    let disturbed: u64 = summary.rows.iter().map(|row| row.disturbed).sum();
    if disturbed > 0 {
        notes.push(format!("{disturbed} authentications {DISTURBED}"));
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
    let is_of_all = |rows: &[String]| rows.len() > 1 && rows.len() == summary.rows.len();
    let sentence = |(what, rows): (&str, Vec<String>)| match is_of_all(&rows) {
        true => format!("{what}."),
        false => format!("{what}: {}.", rows.join("; ")),
    };
    told.into_iter().map(sentence).collect()
}

const NOTES: [&str; 2] = [
    "ok/n: established of all measured. delay: trigger to usable SA, mean of those established ± half the 95 % \
     interval (Student t). packet: mean time until the packet that caused it came back through the SA, of those that \
     did: where links lose packets, these are not all.",
    "msgs, pkts, bytes, retr: means over all n. msgs without retransmissions (retr); pkts and bytes are IP packets \
     after fragmentation, headers and retransmissions included.",
];
const COST_NOTE: &str = "cpu: time of this machine per authentication, mean ± half the 95 % interval over n; Mcycles: that time at the \
     clock frequency this machine was seen running at. heap: highest use during start and the first authentication.";
const DISTURBED: &str = "were disturbed (the driver lost the CPU) and are not in the cpu figures, nor in the delays \
                         where computation is charged.";

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
        write(summary, &mut out).unwrap();
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

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_screen(
            method in "[a-z0-9-]{1,60}", variant in "[a-zé=, -]{0,140}", mean in 0.0..1e9f64, bytes in 0.0..1e9f64,
        ) {
            let mut summary = example::findings().summary;
            let row = &mut summary.rows[0];
            (row.method, row.variant) = (method, variant);
            row.notes = vec!["x".repeat(300)];
            row.delay_ms.as_mut().unwrap().mean = mean;
            row.links.values_mut().for_each(|link| link.bytes = bytes);
            for line in shown(&summary).lines() {
                prop_assert!(line.chars().count() <= WIDTH, "{}", line);
            }
        }
    }
}
