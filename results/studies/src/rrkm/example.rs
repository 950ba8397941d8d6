//! Material with invented numbers, for the tests of this study.

use super::{EAP_TLS, METHODS, Method, Processors, RRKM, Side};
use crate::{Material, Supplement};
use keytoll_analysis::Named;
use keytoll_analysis::study::Repetition;
use keytoll_analysis::summary::{
    Cpu, Delay, FORMAT, LinkMeans, OperationMean, SplitMedians, Summary, SummaryRow,
};

/// A run with these numbers, and its repetition.
pub(super) struct Example {
    pub(super) summary: Summary,
    pub(super) supplement: Supplement,
}

impl Example {
    /// The paper's methods take what it prints, EAP-TLS also AES.
    pub(super) fn as_printed() -> Self {
        let summary = Summary {
            format: FORMAT,
            title: "made up".into(),
            seed: "1".into(),
            complete: true,
            provenance: None,
            beside: Vec::new(),
            rows: METHODS.map(row).to_vec(),
        };
        let repetition = Repetition {
            processors: Processors::Host.name().to_owned(),
            clocks_hz: Named::default(),
            summary: summary.clone(),
        };
        let supplement = Supplement { repetitions: vec![repetition], ..Supplement::default() };
        Self { summary, supplement }
    }

    /// Changes the row of a method in the run, and in its repetition.
    pub(super) fn with(mut self, method: Method, change: impl Fn(&mut SummaryRow)) -> Self {
        let repeated = self.supplement.repetitions.iter_mut().map(|repetition| &mut repetition.summary);
        let rows = std::iter::once(&mut self.summary).chain(repeated).flat_map(|summary| &mut summary.rows);
        rows.filter(|row| row.method == method.method).for_each(change);
        self
    }

    pub(super) fn material(&self) -> Material<'_> {
        Material { summary: &self.summary, supplement: &self.supplement }
    }
}

/// An operation, at AP and at STA.
type Counts = &'static [(&'static str, &'static str, [f64; 2])];

fn counts(method: Method) -> Counts {
    match method.method {
        "wep-shared-key" => &[("shared-key", "stream", [1.0, 1.0])],
        "rrkm" => &[("rrkm", "stream", [2.0, 2.0]), ("rrkm", "hash", [1.0, 1.0])],
        "dot1x-eap-tls" => &[
            ("eap", "verify", [1.0, 1.0]),
            ("eap", "rsa-encrypt", [0.0, 1.0]),
            ("eap", "rsa-decrypt", [1.0, 0.0]),
            ("eap", "prf", [1.0, 1.0]),
            ("eap", "encrypt", [2.0, 2.0]),
        ],
        _ => &[("4-way", "wrap", [1.0, 1.0])],
    }
}

/// What is no part of an authentication: data, and a new key.
const BESIDE: Counts = &[("traffic", "stream", [7.0, 7.0]), ("rekeying", "hash", [1.0, 1.0])];

fn operations(method: Method, side: Side) -> (String, Vec<OperationMean>) {
    let of = |&(phase, operation, counts): &(&str, &str, [f64; 2])| OperationMean {
        part: None,
        phase: phase.into(),
        operation: operation.into(),
        algorithm: "one".into(),
        count: counts[side as usize],
        ns: counts[side as usize] * if operation == "verify" { 9000.0 } else { 1000.0 },
    };
    let operations = counts(method).iter().chain(BESIDE).map(of);
    (side.node().to_owned(), operations.collect())
}

fn row(method: Method) -> SummaryRow {
    let (ms, kilocycles) = if method == EAP_TLS { (70.0, 4000.0) } else { (12.0, 150.0) };
    let bytes = if method == RRKM { 600.0 } else { 573.0 };
    let means = LinkMeans { messages: 8.0, packets: 8.0, bytes, retransmissions: 0.0, lost_packets: 0.0 };
    SummaryRow {
        method: method.method.into(),
        network: "wlan-11b".into(),
        world: "sim".into(),
        crypto: "real".into(),
        n: 30,
        succeeded: 30,
        planned: 30,
        charged: true,
        delay_ms: Some(delay(ms)),
        delay_split_p50_ms: Some(SplitMedians { network: ms - 1.0, computation: 1.0, waiting: 0.0 }),
        links: std::iter::once(("ue-ap".to_owned(), means)).collect(),
        cpu: Side::ALL.map(|side| (side.node().to_owned(), cpu(kilocycles))).into_iter().collect(),
        operations: Side::ALL.map(|side| operations(method, side)).into_iter().collect(),
        ..SummaryRow::default()
    }
}

fn delay(median: f64) -> Delay {
    Delay {
        mean: median,
        min: median,
        p5: median,
        p50: median,
        p50_ci95_low: Some(median * 0.99),
        p50_ci95_high: Some(median * 1.01),
        p95: median,
        p99: median,
        max: median,
        n: 30,
        ..Delay::default()
    }
}

fn cpu(kilocycles: f64) -> Cpu {
    let ns = kilocycles * 500.0;
    Cpu {
        ns,
        ns_p5: ns,
        ns_p50: ns,
        ns_p50_ci95_low: Some(ns * 0.99),
        ns_p50_ci95_high: Some(ns * 1.01),
        ns_p95: ns,
        cycles: Some(kilocycles * 1e3),
        cycles_p50: Some(kilocycles * 1e3),
        crypto_ns: None,
        crypto_ns_p50: None,
        ns_ci95_low: None,
        ns_ci95_high: None,
        n: 30,
        ..Cpu::default()
    }
}
