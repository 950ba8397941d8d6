//! Material with invented numbers, for the tests of this study.

use super::published::delay_ms;
use super::{Access, Architecture, FITTED_CPUS, METHODS, Method, Part, published};
use crate::Processors;
use crate::{Material, Supplement};
use keytoll_analysis::Named;
use keytoll_analysis::study::Repetition;
use keytoll_analysis::summary::{Cpu, Delay, FORMAT, LinkMeans, Memory, SplitMedians, Summary, SummaryRow};

/// What a method takes: messages and bytes in RAN and core, millions of cycles and kilobytes at UE and GW.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) method: Method,
    pub(super) messages: [f64; 2],
    pub(super) bytes: f64,
    pub(super) megacycles: [f64; 2],
    pub(super) kilobytes: [u64; 2],
    /// Added to the derived delay on fitted CPUs.
    pub(super) later_ms: f64,
}

/// Numbers of a method that are the slides' own.
pub(super) fn as_printed(method: Method) -> Numbers {
    let messages =
        Part::ALL.map(|part| published::messages(method, part).map_or(0.0, |messages| messages.value));
    let [saved, least] = if method == super::DEX_AKA { [0.12, 0.02] } else { [1.0, 1.0] };
    Numbers {
        method,
        messages,
        bytes: if method == super::DEX_AKA { 1850.0 } else { 5000.0 },
        megacycles: [248.0 * saved, 237.0 * least],
        kilobytes: if method == super::DEX_AKA { [24, 24] } else { [118, 121] },
        later_ms: 0.0,
    }
}

/// A run with these numbers, and its repetitions.
pub(super) struct Example {
    summary: Summary,
    supplement: Supplement,
}

impl Example {
    pub(super) fn of(numbers: &[Numbers]) -> Self {
        let summary = summary(numbers);
        let repetition = |processors: Processors| Repetition {
            processors: processors.name().to_owned(),
            clocks_hz: Named::default(),
            summary: summary.clone(),
        };
        let repetitions = [Processors::Host, Processors::Calibrated(&FITTED_CPUS)].map(repetition).to_vec();
        Self { summary, supplement: Supplement { repetitions, ..Supplement::default() } }
    }

    pub(super) fn as_printed() -> Self {
        Self::of(&METHODS.map(as_printed))
    }

    /// Without time for computation, as with null crypto.
    pub(super) fn uncharged(mut self) -> Self {
        self.summary.rows.iter_mut().for_each(|row| row.charged = false);
        self.supplement.repetitions.clear();
        self
    }

    /// Over one access network alone, so that a method has too few rows for an interval of their medians.
    pub(super) fn over_one_network(mut self) -> Self {
        let network = Access::ALL[0].network();
        let repetitions = self.supplement.repetitions.iter_mut().map(|repetition| &mut repetition.summary);
        repetitions.chain([&mut self.summary]).for_each(|of| of.rows.retain(|row| row.network == network));
        self
    }

    pub(super) fn material(&self) -> Material<'_> {
        Material { summary: &self.summary, supplement: &self.supplement }
    }
}

fn summary(numbers: &[Numbers]) -> Summary {
    let places = || Access::ALL.into_iter().flat_map(|access| Architecture::ALL.map(|at| (access, at)));
    let rows = numbers.iter().flat_map(|numbers| places().map(|at| row(numbers, at)));
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

fn row(numbers: &Numbers, at: (Access, Architecture)) -> SummaryRow {
    let Numbers { method, messages: [ran, core], bytes, megacycles, kilobytes, later_ms } = *numbers;
    let ms = delay_ms(method, at).map_or(0.0, |delay| delay.value) + later_ms;
    let computation = published::computation_ms(method, at.0).map_or(0.0, |ms| ms.value);
    let server = if method == super::DEX_AKA { "gw-hss" } else { "gw-aaa" };
    let links =
        [("ue-gw", ran, bytes), (server, core, 0.0)].into_iter().filter(|(_, messages, _)| *messages > 0.0);
    let nodes = ["ue", "gw"];
    SummaryRow {
        method: method.method.into(),
        network: at.0.network().into(),
        topology: at.1.name().into(),
        world: "sim".into(),
        crypto: "real".into(),
        n: 30,
        succeeded: 30,
        delay_ms: Some(delay(ms)),
        delay_split_p50_ms: Some(SplitMedians { network: ms - computation, computation, waiting: 0.0 }),
        links: links.map(|(link, messages, bytes)| (link.to_owned(), means(messages, bytes))).collect(),
        cpu: nodes
            .into_iter()
            .zip(megacycles)
            .map(|(node, cycles)| (node.to_owned(), cpu(cycles * unrest(at))))
            .collect(),
        memory_bytes: nodes
            .into_iter()
            .zip(kilobytes)
            .map(|(node, kb)| (node.to_owned(), memory(kb)))
            .collect(),
        charged: true,
        planned: 30,
        ..SummaryRow::default()
    }
}

/// Rows of a method differ by up to a per cent from their median.
fn unrest((access, architecture): (Access, Architecture)) -> f64 {
    let place = 4.0 * f64::from(access as u8) + f64::from(architecture as u8);
    1.0 + 0.01 * (place - 3.5) / 3.5
}

fn delay(median: f64) -> Delay {
    Delay {
        mean: median,
        min: median,
        p5: median,
        p50: median,
        p50_ci95_low: Some(median - 0.5),
        p50_ci95_high: Some(median + 0.5),
        p95: median,
        p99: median,
        max: median,
        n: 30,
        ..Delay::default()
    }
}

fn means(messages: f64, bytes: f64) -> LinkMeans {
    LinkMeans { messages, packets: messages, bytes, retransmissions: 0.0, lost_packets: 0.0 }
}

/// The part of each node's memory that is stack.
const STACK_BYTES: u64 = 10_000;

fn memory(kilobytes: u64) -> Memory {
    Memory {
        peak: Some((kilobytes * 1000).saturating_sub(STACK_BYTES)),
        stack_peak: Some(STACK_BYTES),
        idle_sa: None,
        resident_max: None,
    }
}

fn cpu(megacycles: f64) -> Cpu {
    let ns = megacycles * 500.0;
    Cpu {
        ns,
        ns_p5: ns,
        ns_p50: ns,
        ns_p50_ci95_low: Some(ns * 0.99),
        ns_p50_ci95_high: Some(ns * 1.01),
        ns_p95: ns,
        cycles: Some(megacycles * 1e6),
        cycles_p50: Some(megacycles * 1e6),
        crypto_ns: None,
        crypto_ns_p50: None,
        ns_ci95_low: None,
        ns_ci95_high: None,
        n: 30,
        ..Cpu::default()
    }
}
