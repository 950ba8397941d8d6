//! Summaries with invented numbers, for the tests of this study.

use super::{OF_2009, Place, Speeds};
use crate::{Material, Processors, Repetition, Supplement};
use keytoll_analysis::Named;
use keytoll_analysis::summary::{
    Cpu, Delay, DelaySplit, FORMAT, LinkMeans, SplitMedians, Summary, SummaryRow,
};

/// Label, messages, medians of pings over WiFi and UMTS in milliseconds, cycles of ue, gw and aaa in millions. Bytes are 400 per
/// message, and a server without cycles was not asked. Computation is a third of the ping over WiFi, at most 57 ms, and a SA is
/// usable 1 ms before the echo reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell(pub(crate) &'static str, pub(crate) f64, pub(crate) [f64; 2], pub(crate) [f64; 3]);

/// A run that is the same on fitted processors.
pub(super) struct Example {
    pub(super) summary: Summary,
    pub(super) supplement: Supplement,
}

impl Example {
    pub(super) fn of(cells: &[Cell]) -> Self {
        Self::of_summary(summary(cells))
    }

    pub(super) fn of_summary(summary: Summary) -> Self {
        let clocks_hz = [("ue", 4e7), ("gw", 7.5e7), ("aaa", 6e7)];
        let repetition = Repetition {
            processors: Processors::Fitted(&OF_2009).name().to_owned(),
            clocks_hz: clocks_hz.map(|(node, hz)| (node.to_owned(), hz)).into_iter().collect(),
            summary: summary.clone(),
        };
        Self { summary, supplement: Supplement { repetitions: vec![repetition], ..Supplement::default() } }
    }

    pub(super) fn speeds(&self) -> Speeds<'_> {
        Speeds::of(&Material { summary: &self.summary, supplement: &self.supplement })
    }
}

/// A summary of rows with these numbers, over both networks.
pub(crate) fn summary(cells: &[Cell]) -> Summary {
    let rows = cells.iter().flat_map(|cell| Place::ALL.map(|place| row(cell, place)));
    Summary {
        format: FORMAT,
        title: "made up".into(),
        seed: "1".into(),
        complete: true,
        provenance: None,
        beside: Vec::new(),
        rows: rows.collect(),
    }
}

fn row(&Cell(label, messages, [wifi, umts], cycles): &Cell, place: Place) -> SummaryRow {
    let ping = if place == Place::Wifi { wifi } else { umts };
    let computation = wifi.min(170.0) / 2.5;
    let nodes = ["ue", "gw", "aaa"].into_iter().zip(cycles).filter(|(_, cycles)| *cycles > 0.0);
    let servers = if cycles[2] > 0.0 { Some(("gw-aaa", messages - 6.0)) } else { None };
    let links = [("ue-gw", messages)].into_iter().chain(servers);
    SummaryRow {
        method: "a method".into(),
        variant: label.into(),
        network: place.network().into(),
        topology: "raw".into(),
        world: "sim".into(),
        crypto: "real".into(),
        n: 50,
        succeeded: 50,
        delay_ms: Some(delay(ping - 1.0)),
        first_packet_ms: Some(delay(ping)),
        delay_split_ms: Some(DelaySplit {
            network: ping - 1.0 - computation,
            computation,
            waiting: 0.0,
            computation_by_node: Named::default(),
        }),
        delay_split_p50_ms: Some(SplitMedians {
            network: ping - 1.0 - computation,
            computation,
            waiting: 0.0,
        }),
        links: links.map(|(link, messages)| (link.to_owned(), means(messages))).collect(),
        cpu: nodes.map(|(node, cycles)| (node.to_owned(), cpu(cycles))).collect(),
        charged: true,
        planned: 50,
        ..SummaryRow::default()
    }
}

fn delay(median: f64) -> Delay {
    let (ci95_low, ci95_high) = (Some(median - 1.0), Some(median + 3.0));
    let (mean, min, max) = (median + 1.0, median - 5.0, median + 20.0);
    Delay {
        mean,
        ci95_low,
        ci95_high,
        min,
        p5: min,
        p50: median,
        p50_ci95_low: Some(median - 0.5),
        p50_ci95_high: Some(median + 1.5),
        p95: max,
        p99: max,
        max,
        stddev: Some(5.0),
        n: 50,
        ..Delay::default()
    }
}

fn means(messages: f64) -> LinkMeans {
    let bytes = 400.0 * messages;
    LinkMeans { messages, packets: messages, bytes, retransmissions: 0.0, lost_packets: 0.0 }
}

fn cpu(megacycles: f64) -> Cpu {
    let ns = megacycles * 500.0;
    Cpu {
        ns: ns * 1.2,
        ns_p5: ns * 0.8,
        ns_p50: ns,
        ns_p50_ci95_low: Some(ns * 0.9),
        ns_p50_ci95_high: Some(ns * 1.1),
        ns_p95: ns * 2.0,
        cycles: Some(megacycles * 1.2e6),
        cycles_p50: Some(megacycles * 1e6),
        crypto_ns: Some(ns / 2.0),
        crypto_ns_p50: Some(ns / 2.0),
        ns_ci95_low: Some(ns * 0.7),
        ns_ci95_high: Some(ns * 1.7),
        n: 50,
        ..Cpu::default()
    }
}
