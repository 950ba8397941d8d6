//! Packets through a tunnel as a page: the stages stacked as in paper 004's Figure 4, its Table 3, and every stage.

use keytoll_analysis::profile::{Estimate, PacketColumn, Packets, Processing, Stage};
use keytoll_page::{self as page, Block, Chart, Page, Section, Table};

use super::anchor;
use super::figure::{self, Bar, Frame, parts_of};
use super::profile::{INTERVAL, median, notes, percent};
use super::tables::{number, plain, text};
use crate::number::{plain as shown, ranged};
use crate::packets::{headline, nanoseconds, suite};
use crate::provenance;

/// The page of packets through a tunnel.
pub fn packets(packets: &Packets) -> Page {
    let suites = packets.columns.iter().map(|column| of_suite(packets, column));
    let totals = Section {
        id: "totals".to_owned(),
        title: "Full, skeleton and native".to_owned(),
        blocks: vec![Block::Text(headline(packets)), Block::Table(totals(packets))],
        sections: Vec::new(),
    };
    let stages = Section {
        id: "stages".to_owned(),
        title: "Stage by stage".to_owned(),
        blocks: WAYS.iter().filter_map(|way| stages(packets, way)).map(Block::Chart).collect(),
        sections: suites.collect(),
    };
    Page {
        title: format!("ESP, packets of {} bytes", packets.packet_bytes),
        verdict: packets.columns.iter().map(verdict).collect(),
        facts: packets.provenance.as_ref().map(provenance::facts).unwrap_or_default(),
        warnings: Vec::new(),
        sections: vec![totals, stages, notes("packets", &packets.notes)],
    }
}

fn verdict(column: &PacketColumn) -> String {
    let (total, share) = (ranged(column.full.total_us.median()), percent(column.crypto_share));
    format!(
        "A request and its answer with {} take {total} µs; cryptography is {share} of what IPsec adds.",
        suite(column)
    )
}

/// A direction of a packet: its name, and its stages.
type Way = (&'static str, fn(&Processing) -> &[Stage]);

const WAYS: [Way; 2] =
    [("Inbound", |processing| &processing.inbound), ("Outbound", |processing| &processing.outbound)];

/// The stages of every suite, full and skeleton.
fn stages(packets: &Packets, (way, of): &Way) -> Option<Chart> {
    let sides = |column: &PacketColumn| {
        let name = suite(column);
        [("full", &column.full), ("skeleton", &column.skeleton)]
            .map(|(side, processing)| (format!("{name}, {side}"), of(processing).to_vec()))
    };
    let bar = |label: &str, stage: &Stage| {
        let time = stage.us.median().times(1e3);
        Bar {
            label: label.to_owned(),
            part: stage.stage.clone(),
            value: time.value,
            interval: time.interval,
            n: Some(stage.us.n),
        }
    };
    let all: Vec<(String, Vec<Stage>)> = packets.columns.iter().flat_map(sides).collect();
    let bars: Vec<Bar> =
        all.iter().flat_map(|(label, stages)| stages.iter().map(move |stage| bar(label, stage))).collect();
    let parts = parts_of(bars.iter().map(|bar| bar.part.as_str()));
    let frame = Frame {
        id: format!("stages-{}", anchor(way)),
        title: format!("{way}, stage by stage, ns"),
        note: format!("{INTERVAL} Those of stages need not add up to that of the whole."),
        unit: "ns",
    };
    figure::stacked(frame, &bars, &parts)
}

/// Table 3.
fn totals(packets: &Packets) -> Table {
    let columns = [
        ("suite", "", ""),
        ("full µs", "µs", "with cryptography"),
        ("skeleton µs", "µs", "without cryptography"),
        ("native µs", "µs", "without IPsec"),
        ("crypto µs", "µs", "full less skeleton, packet by packet"),
        ("n", "packets", ""),
        ("crypto of IPsec", "%", "part of cryptography in what IPsec adds, of medians"),
        ("kcycles", "kcycles", "thousands of cycles of the median"),
    ];
    let line = |column: &PacketColumn| {
        let PacketColumn { full, skeleton, crypto_us, crypto_share, .. } = column;
        let times = [&full.total_us, &skeleton.total_us, &packets.native_us, crypto_us].map(us);
        let kilocycles = full.total_us.p50 * 1e-9 * packets.core_hz;
        let n = full.total_us.n;
        let last = [
            number(n.to_string(), n as f64),
            number(percent(*crypto_share), 100.0 * crypto_share),
            number(shown(kilocycles), kilocycles),
        ];
        std::iter::once(text(&suite(column))).chain(times).chain(last).collect()
    };
    Table {
        id: "totals-table".to_owned(),
        caption:
            "A request and its answer with every suite, the same without cryptography, and without IPsec"
                .to_owned(),
        columns: columns.map(|(head, unit, meaning)| plain(head, unit, meaning)).to_vec(),
        lines: packets.columns.iter().map(line).collect(),
    }
}

fn us(of: &Estimate) -> page::Cell {
    median(of.median())
}

/// The stages of a suite, full and skeleton.
fn of_suite(packets: &Packets, column: &PacketColumn) -> Section {
    let columns = [
        ("way", "", ""),
        ("stage", "", ""),
        ("full ns", "ns", "with cryptography: median, in brackets its distribution-free 95 % interval"),
        ("skeleton ns", "ns", "without"),
        ("n", "packets", ""),
        ("cycles", "cycles", "of the median"),
        ("share of its way", "%", ""),
    ];
    let ns = |us: &Estimate| match packets.is_below_clock_step(us) {
        true => text(&nanoseconds(packets, us)),
        false => median(us.median().times(1e3)),
    };
    let line = |way: &str, stage: &Stage, skeleton: &[Stage]| {
        let beside = skeleton.iter().find(|other| other.stage == stage.stage);
        let n = stage.us.n;
        vec![
            text(way),
            text(&stage.stage),
            ns(&stage.us),
            beside.map_or_else(|| text("–"), |other| ns(&other.us)),
            number(n.to_string(), n as f64),
            number(shown(stage.cycles), stage.cycles),
            number(percent(stage.share), 100.0 * stage.share),
        ]
    };
    let lines = WAYS.iter().flat_map(|&(way, of)| {
        let skeleton = of(&column.skeleton);
        of(&column.full).iter().map(move |stage| line(way, stage, skeleton))
    });
    let id = format!("suite-{}", anchor(&column.suite));
    let table = Table {
        id: format!("{id}-table"),
        caption: format!("Stages of a packet with {}", suite(column)),
        columns: columns.map(|(head, unit, meaning)| plain(head, unit, meaning)).to_vec(),
        lines: lines.collect(),
    };
    Section { id, title: suite(column), blocks: vec![Block::Table(table)], sections: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::tests;
    use crate::page::tests::{charts, text_of};

    #[test]
    fn stages_are_stacked_for_every_suite_both_ways() {
        let page = packets(&tests::packets());
        // Two suites, full and skeleton, two stages each way.
        assert_eq!(charts(&page).map(|chart| chart.lines.len()).collect::<Vec<_>>(), [8, 8]);
        let text = text_of(&page);
        assert!(
            text.contains("&lt; 30"),
            "decryption without cryptography is below the step of the clock: {text}"
        );
        assert!(text.contains("3des-md5 (broken), skeleton") && text.contains("SA lookup"), "{text}");
    }
}
