//! The sizing of the run, and what the simulator said to the formulas.

use keytoll_analysis::Summary;
use keytoll_analysis::simulation::Simulation;
use keytoll_analysis::summary::SummaryRow;
use keytoll_dimensioning::outcome::{SizedNode, SizedRow};
use keytoll_dimensioning::{Planned, Run, Sizing, size, sized::UTILISATION_MAX};

use super::{CLOCK_HZ, LOAD, question};
use crate::Material;
use crate::doubtful::Doubtful;
use crate::ikev2_wireless::measured::Measured;
use crate::ikev2_wireless::{Place, Variant, published};
use crate::published::Published;

/// Both.
pub(super) struct Sized<'a> {
    summary: &'a Summary,
    sizing: Option<Sizing>,
    simulations: &'a [Simulation],
}

/// A serving node of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    Gateway,
    Aaa,
}

impl Server {
    pub(super) const ALL: [Self; 2] = [Self::Gateway, Self::Aaa];

    pub(super) const fn node(self) -> &'static str {
        match self {
            Self::Gateway => "gw",
            Self::Aaa => "aaa",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "GW",
            Self::Aaa => "AAA",
        }
    }
}

impl<'a> Sized<'a> {
    pub(super) fn of(material: &Material<'a>) -> Self {
        let Material { summary, supplement } = *material;
        Self { summary, sizing: sizing(summary), simulations: &supplement.simulations }
    }

    /// The sizing of a variant.
    pub(super) fn row(&self, variant: Variant) -> Option<&SizedRow> {
        self.sizing.as_ref()?.rows.iter().find(|row| row.variant == variant.label)
    }

    pub(super) fn node(&self, variant: Variant, server: Server) -> Option<&SizedNode> {
        self.row(variant)?.nodes.get(server.node())
    }

    /// The simulation of a variant.
    pub(super) fn simulation(&self, variant: Variant) -> Option<&'a Simulation> {
        self.simulations.iter().find(|simulation| simulation.variant == variant.label)
    }

    /// Milliseconds of computation at a node: its cycles over its clock.
    pub(super) fn computed_ms(&self, variant: Variant, node: &str) -> Option<f64> {
        let cpu = self.measured(variant)?.cpu.get(node)?;
        Some(cpu.cycles_p50? / cpu.sampled?.cpu_hz * 1e3)
    }

    /// The same with its interval.
    pub(super) fn computed(&self, variant: Variant, node: &str) -> Option<Doubtful> {
        let cpu = self.measured(variant)?.cpu.get(node)?;
        let half_ms = cpu.cycles_p50_half_width().unwrap_or(0.0) / cpu.sampled?.cpu_hz * 1e3;
        Some(Doubtful::from(self.computed_ms(variant, node)?).widened(half_ms))
    }

    /// Busy cores of a server; as uncertain as the mean of the work of an authentication.
    pub(super) fn busy_cores(&self, variant: Variant, server: Server) -> Option<Doubtful> {
        let cpu = self.measured(variant)?.cpu.get(server.node())?;
        let busy = self.node(variant, server)?.busy_cores;
        let end = |ns: Option<f64>| busy * ns.map_or(1.0, |ns| ns / cpu.ns);
        Some(Doubtful::between(end(cpu.ns_ci95_low), busy, end(cpu.ns_ci95_high)))
    }

    /// Milliseconds of the delay in which nodes compute.
    pub(super) fn computation_ms(&self, variant: Variant) -> Option<f64> {
        Some(self.measured(variant)?.delay_split_p50_ms?.computation)
    }

    fn measured(&self, variant: Variant) -> Option<&'a SummaryRow> {
        Measured(self.summary).charged_row(variant, Place::Wifi)
    }
}

/// Of the rows over WiFi: nodes work the same over the other network.
fn sizing(summary: &Summary) -> Option<Sizing> {
    let rows: Vec<SummaryRow> =
        summary.rows.iter().filter(|row| row.network == LOAD.network && row.charged).cloned().collect();
    let clocks = rows.iter().flat_map(|row| row.cpu.iter());
    let clocks_hz = clocks.filter_map(|(node, cpu)| Some((node.to_owned(), cpu.sampled?.cpu_hz))).collect();
    let summary = Summary { rows, ..summary.clone() };
    // The load is far below the rate at which a gateway asks for cookies.
    let planned = Planned { clocks_hz, ..Planned::default() };
    size(&Run { summary: &summary, planned }, &question(&LOAD)).ok()
}

/// Authentications a second.
pub(super) fn rate_per_s() -> f64 {
    question(&LOAD).steady_per_s()
}

/// What follows from a printed cost: a number for a second of work at an authentication.
pub(super) fn followed(
    variant: Variant,
    server: Server,
    of: fn(f64) -> f64,
    source: &'static str,
) -> Option<Published> {
    let cost = published::megacycles(variant, server.node()).filter(|_| server == Server::Aaa)?;
    let value = of(cost.value * 1e6 / CLOCK_HZ);
    Some(Published { bound: cost.bound, ..Published::derived(value, source) })
}

/// The least cores that are not busier than formulas allow.
pub(super) fn cores(work_s: f64) -> f64 {
    (rate_per_s() * work_s / UTILISATION_MAX).ceil().max(1.0)
}

#[cfg(test)]
pub(super) mod tests {
    use keytoll_analysis::Named;
    use keytoll_analysis::simulation::{Percentiles, Side};
    use keytoll_analysis::summary::{Cpu, SampledCpu, SplitMedians};

    use super::*;
    use crate::Supplement;
    use crate::ikev2_wireless::example::{Cell, summary};

    /// Numbers like the paper's: label, messages, medians over WiFi and UMTS, millions of cycles of ue, gw and aaa.
    pub(in super::super) fn cells() -> [Cell; 4] {
        [
            Cell("PSK", 4.0, [25.0, 700.0], [10.0, 10.0, 0.0]),
            Cell("MD5", 10.0, [40.0, 1900.0], [12.0, 12.0, 1.0]),
            Cell("SIM", 12.0, [50.0, 2300.0], [13.0, 13.0, 1.0]),
            Cell("TLS-2-2", 18.0, [140.0, 5800.0], [90.0, 18.0, 100.0]),
        ]
    }

    /// A run with processors of 3 GHz, in which all computation is in the delay, and simulations that agree.
    pub(in super::super) struct Example {
        summary: Summary,
        pub(in super::super) supplement: Supplement,
    }

    impl Example {
        pub(in super::super) fn of(cells: &[Cell]) -> Self {
            let mut summary = summary(cells);
            summary.rows.iter_mut().for_each(at_three_gigahertz);
            let wifi = summary.rows.iter().filter(|row| row.network == LOAD.network);
            let simulations = wifi.map(simulation).collect();
            Self { supplement: Supplement { simulations, ..Supplement::default() }, summary }
        }

        pub(in super::super) fn sized(&self) -> Sized<'_> {
            Sized::of(&Material { summary: &self.summary, supplement: &self.supplement })
        }
    }

    fn at_three_gigahertz(row: &mut SummaryRow) {
        let sampled = SampledCpu {
            cycles: 0.0,
            cycles_ci95_low: None,
            cycles_ci95_high: None,
            hits: 0,
            n: 50,
            timer_hz: 1000.0,
            cpu_hz: 3e9,
        };
        let scaled = |(node, cpu): (&str, &Cpu)| {
            let cycles = cpu.cycles_p50.unwrap_or(0.0);
            let ns = cycles / 3.0;
            let (low, high) = (Some(ns * 0.98), Some(ns * 1.02));
            let cpu = Cpu {
                ns,
                ns_ci95_low: low,
                ns_ci95_high: high,
                ns_p50: ns,
                ns_p50_ci95_low: low,
                ns_p50_ci95_high: high,
                cycles: Some(cycles),
                sampled: Some(sampled),
                ..*cpu
            };
            (node.to_owned(), cpu)
        };
        row.cpu = row.cpu.iter().map(scaled).collect();
        let computation = row.cpu.iter().map(|(_, cpu)| cpu.ns / 1e6).sum();
        row.delay_split_p50_ms = Some(SplitMedians { network: 5.0, computation, waiting: 0.0 });
    }

    fn simulation(row: &SummaryRow) -> Simulation {
        let side = || Side {
            utilisation: [("gw".to_owned(), 0.5), ("aaa".to_owned(), 0.7)].into_iter().collect(),
            delay_ms: Some(Percentiles { p50: 50.0, p95: 80.0, p99: 90.0 }),
            p99_ci95_ms: None,
            succeeded_share: 1.0,
            amplification_ratio: 1.0,
        };
        Simulation {
            method: row.method.clone(),
            variant: row.variant.clone(),
            network: row.network.clone(),
            topology: row.topology.clone(),
            devices: 10_000,
            authentications_per_s: 100.0,
            cores: Named::default(),
            clocks_hz: Named::default(),
            sized_utilisation: 0.5,
            slower_ratio: 1.0,
            lasts_delays_count: 100.0,
            unloaded_p99_ms: 60.0,
            predicted: side(),
            simulated: side(),
        }
    }
}
