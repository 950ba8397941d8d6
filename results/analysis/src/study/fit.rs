//! Processors fitted to published numbers: with a clock so low that a delay, and cycles of other nodes, come out as published.
//!
//! A clock scales computation alone. The links' part of the delay is measured on this machine and subtracted first.

use keytoll_trace::Node;

use super::Repetition;
use crate::stats::median95;
use crate::summary::{Summary, SummaryRow};

/// The published numbers to which processors are fitted.
#[derive(Debug, PartialEq, Eq)]
pub struct Fit {
    /// The delay that comes out.
    pub delay: FittedDelay,
    /// The cycles that come out, each at a node that has no part in the delay.
    pub cycles: &'static [FittedCycles],
}

/// A published delay from the trigger to the answer to the first packet.
#[derive(Debug, PartialEq, Eq)]
pub struct FittedDelay {
    /// The variant of its row.
    pub variant: &'static str,
    /// The network of its row.
    pub network: &'static str,
    /// The delay in milliseconds.
    pub ms: u32,
    /// The nodes that compute in it, with the clocks of the testbed in Hz. The ratio of the clocks is kept.
    pub clocks_hz: &'static [(Node, u64)],
}

/// The published cycles of some variants at a node.
#[derive(Debug, PartialEq, Eq)]
pub struct FittedCycles {
    /// The node.
    pub node: Node,
    /// Its clock on the testbed in Hz.
    pub clock_hz: u64,
    /// The cycles of an authentication.
    pub cycles: u64,
    /// The variants for which they are published; the median of these comes out.
    pub variants: &'static [&'static str],
}

impl Fit {
    /// The clock of each node, from a run on this machine's processors; `None` if the run lacks a row of the fit.
    pub(super) fn clocks_hz(&self, run: &Summary) -> Option<Vec<(Node, f64)>> {
        let of_cycles = self.cycles.iter().map(|cycles| Some((cycles.node, cycles.clock_hz(run)?)));
        self.delay.clocks_hz(run)?.into_iter().map(Some).chain(of_cycles).collect()
    }

    /// Other clocks, if the delay was missed by more than [`CLOSE`] on fitted processors: the machine may have another speed than in the
    /// run on its own processors, and the answer to the first packet needs computation, too. `None` if the delay was met.
    pub(super) fn corrected_hz(&self, run: &Summary, fitted: &Repetition) -> Option<Vec<(Node, f64)>> {
        let of_cycles =
            self.cycles.iter().map(|cycles| Some((cycles.node, cycles.clock_hz(&fitted.summary)?)));
        self.delay.corrected_hz(run, fitted)?.into_iter().map(Some).chain(of_cycles).collect()
    }
}

/// A fitted delay is met within this part of it.
const CLOSE: f64 = 0.02;

impl FittedDelay {
    fn row<'a>(&self, run: &'a Summary) -> Option<&'a SummaryRow> {
        let mut rows = run.rows.iter().filter(|row| row.charged && row.variant == self.variant);
        rows.find(|row| row.network == self.network)
    }

    fn links_ms(row: &SummaryRow) -> Option<f64> {
        Some(row.first_packet_ms?.p50 - row.delay_split_p50_ms?.computation)
    }

    fn corrected_hz(&self, run: &Summary, fitted: &Repetition) -> Option<Vec<(Node, f64)>> {
        let (links_ms, met_ms) =
            (Self::links_ms(self.row(run)?)?, self.row(&fitted.summary)?.first_packet_ms?.p50);
        let wanted_ms = f64::from(self.ms);
        let slower = (wanted_ms - links_ms) / (met_ms - links_ms);
        let is_missed = (met_ms / wanted_ms - 1.0).abs() > CLOSE && slower.is_finite() && slower > 0.0;
        let nodes =
            self.clocks_hz.iter().map(|&(node, _)| (node, fitted.clocks_hz.get(node.name()).copied()));
        nodes.map(|(node, hz)| Some((node, hz? / slower))).collect::<Option<_>>().filter(|_| is_missed)
    }

    fn clocks_hz(&self, run: &Summary) -> Option<Vec<(Node, f64)>> {
        let row = self.row(run)?;
        // Computation does not depend on the network, and a busy machine only prolongs it.
        let of_variant = run.rows.iter().filter(|row| row.charged && row.variant == self.variant);
        let computations_ms = of_variant.filter_map(|row| Some(row.delay_split_p50_ms?.computation));
        let least_ms = computations_ms.fold(f64::INFINITY, f64::min);
        let slower = (f64::from(self.ms) - Self::links_ms(row)?) / self.computation_ms(row, least_ms)?;
        let fitted = self.clocks_hz.iter().map(|&(node, hz)| (node, hz as f64 / slower));
        (slower.is_finite() && slower > 0.0).then(|| fitted.collect())
    }

    /// The computation in the delay at the clocks of the testbed.
    fn computation_ms(&self, row: &SummaryRow, here_ms: f64) -> Option<f64> {
        let by_node = &row.delay_split_ms.as_ref()?.computation_by_node;
        let all: f64 = by_node.iter().map(|(_, ms)| ms).sum();
        let of_node = |&(node, clock_hz): &(Node, u64)| {
            let part = by_node.get(node.name())? / all;
            Some(here_ms * part * machine_hz(row, node)? / clock_hz as f64)
        };
        self.clocks_hz.iter().map(of_node).sum()
    }
}

/// The clock of this machine, in which the cycles of a node are counted.
fn machine_hz(row: &SummaryRow, node: Node) -> Option<f64> {
    let cpu = row.cpu.get(node.name())?;
    Some(cpu.cycles? / cpu.ns * 1e9)
}

impl FittedCycles {
    fn clock_hz(&self, run: &Summary) -> Option<f64> {
        let rows = run.rows.iter().filter(|row| row.charged && self.variants.contains(&row.variant.as_str()));
        let cycles = rows.filter_map(|row| row.cpu.get(self.node.name())?.cycles_p50);
        let (median, _) = median95(cycles)?;
        Some(median / self.cycles as f64 * self.clock_hz as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Cpu, Delay, DelaySplit, SplitMedians};

    const FIT: Fit = Fit {
        delay: FittedDelay {
            variant: "PSK",
            network: "wifi",
            ms: 25,
            clocks_hz: &[(Node::Ue, 1_000_000_000), (Node::Gw, 2_000_000_000)],
        },
        cycles: &[FittedCycles {
            node: Node::Aaa,
            clock_hz: 3_000_000_000,
            cycles: 100_000_000,
            variants: &["TLS"],
        }],
    };

    /// A machine of 4 GHz, on which the device computes 0.2 ms of a delay and the gateway 0.1 ms.
    fn run() -> Summary {
        let named = |values: [(&str, f64); 2]| values.map(|(node, value)| (node.to_owned(), value));
        let cpu = |ms: f64| Cpu {
            ns: ms * 1e6,
            cycles: Some(ms * 4e6),
            cycles_p50: Some(ms * 4e6),
            ..Cpu::default()
        };
        let psk = SummaryRow {
            variant: "PSK".into(),
            network: "wifi".into(),
            charged: true,
            first_packet_ms: Some(Delay { p50: 5.3, ..Delay::default() }),
            delay_split_ms: Some(DelaySplit {
                network: 4.0,
                computation: 0.3,
                waiting: 0.0,
                computation_by_node: named([("ue", 0.2), ("gw", 0.1)]).into_iter().collect(),
            }),
            delay_split_p50_ms: Some(SplitMedians { network: 4.0, computation: 0.3, waiting: 0.0 }),
            cpu: [("ue", 0.25), ("gw", 0.15)]
                .map(|(node, ms)| (node.to_owned(), cpu(ms)))
                .into_iter()
                .collect(),
            ..SummaryRow::default()
        };
        let tls = SummaryRow {
            variant: "TLS".into(),
            network: "wifi".into(),
            charged: true,
            cpu: [("aaa".to_owned(), cpu(0.5))].into_iter().collect(),
            ..SummaryRow::default()
        };
        Summary {
            format: crate::summary::FORMAT,
            title: String::new(),
            seed: String::new(),
            complete: true,
            provenance: None,
            rows: vec![psk, tls],
            beside: Vec::new(),
        }
    }

    /// The clocks of ue, gw and aaa.
    fn fitted(run: &Summary) -> Vec<(&'static str, f64)> {
        let clocks = FIT.clocks_hz(run).unwrap_or_default().into_iter();
        clocks.map(|(node, hz)| (node.name(), hz.round())).collect()
    }

    /// The links take 5.3 − 0.3 = 5 ms. At the testbed's clocks the nodes compute 0.2 · 4 ÷ 1 + 0.1 · 4 ÷ 2 = 1 ms, so processors
    /// 20 times as slow make 25 ms. 2 million cycles count as 100 million at a fiftieth of the clock.
    #[test]
    fn the_delay_and_the_cycles_come_out() {
        assert_eq!(fitted(&run()), [("ue", 5e7), ("gw", 1e8), ("aaa", 6e7)]);
    }

    #[test]
    fn a_row_that_was_measured_on_a_busy_machine_does_not_count() {
        let mut busy = run();
        let mut other = busy.rows[0].clone();
        other.network = "umts".into();
        busy.rows[0].delay_split_p50_ms = Some(SplitMedians { network: 4.0, computation: 0.9, waiting: 0.0 });
        busy.rows[0].first_packet_ms = Some(Delay { p50: 5.9, ..Delay::default() });
        busy.rows.push(other);
        assert_eq!(fitted(&busy), fitted(&run()));
    }

    /// The links take 5 ms, so 30 ms for 25 are 25 ms of computation for 20.
    #[test]
    fn a_delay_that_was_missed_is_corrected() {
        let fitted = |ping_ms: f64| {
            let mut summary = run();
            summary.rows[0].first_packet_ms = Some(Delay { p50: ping_ms, ..Delay::default() });
            let clocks_hz = [("ue", 5e7), ("gw", 1e8), ("aaa", 6e7)].map(|(node, hz)| (node.to_owned(), hz));
            Repetition { processors: "fitted".into(), clocks_hz: clocks_hz.into_iter().collect(), summary }
        };
        let corrected = |ping_ms: f64| FIT.corrected_hz(&run(), &fitted(ping_ms));
        let rounded = corrected(30.0).unwrap().into_iter().map(|(node, hz)| (node.name(), hz.round()));
        assert_eq!(rounded.collect::<Vec<_>>(), [("ue", 62_500_000.0), ("gw", 125_000_000.0), ("aaa", 6e7)]);
        assert_eq!([25.4, 24.6].map(corrected), [None, None], "met within 2 %");
    }

    #[test]
    fn a_run_without_time_for_computation_cannot_be_fitted() {
        let mut uncharged = run();
        uncharged.rows.iter_mut().for_each(|row| row.charged = false);
        assert_eq!(FIT.clocks_hz(&uncharged), None);
        let mut slow = run();
        slow.rows[0].first_packet_ms = Some(Delay { p50: 30.0, ..Delay::default() });
        assert_eq!(FIT.clocks_hz(&slow), None, "the links alone take longer than published");
    }
}
