//! A profile of IPsec traffic on the screen and as JSON: paper 004's Table 3, its Figure 5 as a table, its Figure 4 as bars,
//! readable without colour.

use std::io::{self, Write};

use keytoll_analysis::profile::{Estimate, PacketColumn, Packets, Processing, Stage};

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{plain, ranged};

/// The longest line, however wide the screen is.
const WIDTH_MAX: usize = 100;

/// Writes a profile as JSON: indented, with a final newline.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(packets: &Packets, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, packets)?;
    writeln!(out)
}

/// Writes a profile for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(packets: &Packets, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    wrapped(&headline(packets), width, &mut out)?;
    totals(packets, width, &mut out)?;
    stages(packets, ("Inbound", |processing| &processing.inbound), width, &mut out)?;
    stages(packets, ("Outbound", |processing| &processing.outbound), width, &mut out)?;
    let first = packets.columns.first();
    first.map_or(Ok(()), |column| bars(column, packets, width, &mut out))?;
    writeln!(out)?;
    packets.notes.iter().try_for_each(|note| wrapped(note, width, &mut out))
}

/// One sentence about what was measured.
pub(crate) fn headline(packets: &Packets) -> String {
    let Packets { packet_bytes, native_us, .. } = packets;
    format!(
        "ESP: what an echo request of {packet_bytes} bytes and its answer cost a server at the end of a tunnel; {} packets \
         each way",
        native_us.n
    )
}

fn estimate(estimate: &Estimate) -> String {
    ranged(estimate.median())
}

/// The nanoseconds of a stage; of one that is too short for the clock only that.
pub(crate) fn nanoseconds(packets: &Packets, us: &Estimate) -> String {
    match packets.clock_step_us {
        Some(step_us) if packets.is_below_clock_step(us) => format!("< {}", plain(step_us * 1e3)),
        _ => ranged(us.median().times(1e3)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(crate) fn suite(column: &PacketColumn) -> String {
    match column.mark.as_str() {
        "" => column.suite.clone(),
        mark => format!("{} ({mark})", column.suite),
    }
}

/// Table 3.
fn totals(packets: &Packets, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nFull, skeleton and native, µs")?;
    let head: [Head<'_>; 7] = [
        ("suite", false),
        ("full", true),
        ("skeleton", true),
        ("native", true),
        ("crypto", true),
        ("of IPsec", true),
        ("kcycles", true),
    ];
    let line = |column: &PacketColumn| {
        let PacketColumn { full, skeleton, crypto_us, crypto_share, .. } = column;
        let times = [&full.total_us, &skeleton.total_us, &packets.native_us, crypto_us].map(estimate);
        let cycles = plain(full.total_us.p50 * 1e-9 * packets.core_hz);
        Line::Cells(
            [suite(column)].into_iter().chain(times).chain([percent(*crypto_share), cycles]).collect(),
        )
    };
    table(&head, 1, &packets.columns.iter().map(line).collect::<Vec<_>>(), width, out)
}

/// Figure 5: the stages of every suite side by side, and the skeleton of the first suite.
fn stages(
    packets: &Packets,
    (way, of): (&str, fn(&Processing) -> &[Stage]),
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(first) = packets.columns.first() else { return Ok(()) };
    writeln!(out, "\n{way}, stage by stage, ns")?;
    let columns = packets.columns.iter().map(|column| (column.suite.as_str(), true));
    let head: Vec<Head<'_>> =
        std::iter::once(("", false)).chain(columns).chain([("skeleton", true)]).collect();
    let cell = |stages: &[Stage], name: &str| {
        let found = stages.iter().find(|stage| stage.stage == name);
        found.map_or_else(|| "–".to_owned(), |stage| nanoseconds(packets, &stage.us))
    };
    let line = |stage: &Stage| {
        let full = packets.columns.iter().map(|column| cell(of(&column.full), &stage.stage));
        let skeleton = cell(of(&first.skeleton), &stage.stage);
        Line::Cells(std::iter::once(stage.stage.clone()).chain(full).chain([skeleton]).collect())
    };
    table(&head, 1, &of(&first.full).iter().map(line).collect::<Vec<_>>(), width, out)
}

/// Width of the longest bar, in columns.
const BARS: std::ops::RangeInclusive<usize> = 10..=40;
const BESIDE_BARS: usize = 60;

/// Figure 4 for the first suite: the stages of a request and its reply, from top to bottom.
fn bars(column: &PacketColumn, packets: &Packets, width: usize, out: &mut impl Write) -> io::Result<()> {
    let PacketColumn { full, .. } = column;
    let room = width.saturating_sub(BESIDE_BARS).clamp(*BARS.start(), *BARS.end()) as f64;
    writeln!(out)?;
    wrapped(&format!("{}: the way of a request and its answer, full", suite(column)), width, out)?;
    let stages = || full.inbound.iter().chain(&full.outbound).map(|stage| stage.us.p50);
    let longest = stages().fold(full.echo_us.p50, f64::max);
    let bar = |name: &str, us: &Estimate, share: Option<f64>| {
        let cells = [
            format!("  {name}"),
            nanoseconds(packets, us),
            if packets.is_below_clock_step(us) {
                "–".to_owned()
            } else {
                plain(us.p50 * 1e-6 * packets.core_hz)
            },
            share.map_or_else(String::new, percent),
            "█".repeat((us.p50 / longest * room).round() as usize),
        ];
        Line::Cells(cells.to_vec())
    };
    let ways = |stages: &[Stage]| -> Vec<Line> {
        stages.iter().map(|stage| bar(&stage.stage, &stage.us, Some(stage.share))).collect()
    };
    let whole = |way: &str, us: &Estimate| Line::Text(format!("{way}, {} µs as a whole", estimate(us)));
    let lines = std::iter::once(whole("inbound", &full.inbound_us))
        .chain(ways(&full.inbound))
        .chain([Line::Text("server".to_owned()), bar("echo", &full.echo_us, None)])
        .chain([whole("outbound", &full.outbound_us)])
        .chain(ways(&full.outbound));
    let head: [Head<'_>; 5] =
        [("", false), ("ns", true), ("cycles", true), ("of its way", true), ("", false)];
    table(&head, 1, &lines.collect::<Vec<_>>(), width, out)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn median(p50: f64) -> Estimate {
        let (low, high) = (Some(p50 * 0.98), Some(p50 * 1.02));
        Estimate {
            p50,
            p50_ci95_low: low,
            p50_ci95_high: high,
            mean: p50 * 9.0,
            n: 1000,
            ..Estimate::default()
        }
    }

    fn processing(crypto: f64) -> Processing {
        let stage =
            |stage: &str, us, share| Stage { stage: stage.into(), us: median(us), cycles: us * 3e3, share };
        Processing {
            total_us: median(2.0 * crypto + 1.2),
            inbound_us: median(crypto + 0.2),
            echo_us: median(0.8),
            outbound_us: median(crypto + 0.2),
            inbound: vec![stage("SA lookup", 0.04, 0.1), stage("decrypt", crypto, 0.9)],
            outbound: vec![stage("policy lookup", 0.02, 0.05), stage("encrypt", crypto, 0.95)],
        }
    }

    pub(crate) fn packets() -> Packets {
        let column = |suite: &str, mark: &str, crypto| PacketColumn {
            suite: suite.into(),
            mark: mark.into(),
            full: processing(crypto),
            skeleton: processing(0.01),
            crypto_us: median(2.0 * crypto - 0.02),
            crypto_share: 0.93,
        };
        Packets {
            format: 1,
            provenance: None,
            packet_bytes: 736,
            core_hz: 3e9,
            clock_step_us: Some(0.03),
            native_us: median(0.8),
            columns: vec![column("3des-md5", "broken", 21.0), column("aes128gcm16", "", 0.31)],
            notes: vec!["A note on how it was measured.".into()],
        }
    }

    #[test]
    fn the_screen_of_an_example() {
        let mut out = Vec::new();
        write(&packets(), WIDTH_MAX, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_narrow_screen_is_kept() {
        for width in [80, 60, WIDTH_MIN] {
            let mut out = Vec::new();
            write(&packets(), width, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width) && !text.contains('…'), "{text}");
        }
    }

    #[test]
    fn json_reads_back() {
        let mut out = Vec::new();
        write_json(&packets(), &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<Packets>(&out).unwrap(), packets());
    }
}
