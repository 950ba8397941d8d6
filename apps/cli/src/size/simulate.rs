//! `keytoll size --simulate`: the answer beside that of the simulator, with real engines, queues and retransmissions.
//!
//! Costs are those of a table, so that the simulation is the same everywhere and soon over. A row is measured with them alone first, on
//! processors on which an authentication takes each node as long as it was sized. Then the formulas and the simulator answer the same question:
//! how long do devices take with these cores at the rate that was sized?

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_analysis::census::{Account, PopulationSummary};
use keytoll_analysis::simulation::SLOWER_RATIO;
use keytoll_analysis::stats::ranks95;
use keytoll_analysis::{Named, Summary};
use keytoll_dimensioning::outcome::{Contradiction, Percentiles, Side, Simulation, SizedRow, Verdict};
use keytoll_dimensioning::{Arrivals, Planned, Processor, Question, Run, Sizing};
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan, WorldKind};
use keytoll_scenario::population::{Arrivals as Schedule, Population, Rate, Spread, Stage};
use keytoll_scenario::quantity::Probability;
use keytoll_trace::Node;
use miette::{Report, miette};

use crate::progress::{Counted, Progress};
use crate::report;
use crate::run::{streaming, told};
use crate::screen::Usage;

/// The share that must be as fast as they must be.
const WANTED_SHARE: f64 = 0.99;
/// Authentications by which a row is measured alone: as many as devices, within these limits, for a 99th percentile takes hundreds.
const ALONE: RangeInclusive<u32> = 100..=2000;
/// A rate at which no authentication waits for another one.
const RATE_WITHOUT_LOAD_PER_S: f64 = 1e-3;
/// A steady load is written as devices that authenticate so seldom.
const PERIOD_S: f64 = 1e6;

/// Simulates the rows of a sizing, so many devices for each, as far as they have populations.
pub(super) fn simulations(
    plan: &Plan,
    (question, sizing): (&Question, &Sizing),
    devices: u32,
    stop: &AtomicBool,
) -> Result<Vec<Simulation>, Report> {
    let rows: Vec<(&SizedRow, &RowPlan)> =
        sizing.rows.iter().filter_map(|row| Some((row, planned(plan, row)?))).collect();
    let populated: Vec<_> = rows.iter().filter(|(_, row)| populates(row, devices).is_ok()).collect();
    if let (true, Some((_, row))) = (populated.is_empty(), rows.first()) {
        let why = populates(row, devices).err().unwrap_or("it has no populations");
        let message = format!("`{}` cannot be simulated: {why}", row.method.name());
        return Err(Usage::hint(message, "leave `--simulate` out").into());
    }
    let length = populated.len() as u64 * u64::from(devices);
    let progress = Progress::begin(Counted { length, of: "devices", switch: "--devices" });
    let one = |(sized, row): &&(&SizedRow, &RowPlan)| {
        Trial::new(plan, row, sized, question, devices)?.run(&|| progress.tick(), stop)
    };
    populated.iter().map(one).collect()
}

/// Where the simulator contradicts, the delay is not kept; and it decides where formulas do not.
pub(super) fn contradict(sizing: &mut Sizing) {
    let is_same = |row: &SizedRow, of: &Simulation| {
        (&row.method, &row.variant, &row.network, &row.topology)
            == (&of.method, &of.variant, &of.network, &of.topology)
    };
    for row in
        sizing.rows.iter_mut().filter(|row| [Verdict::Kept, Verdict::HalfOpenFull].contains(&row.verdict))
    {
        let Some(simulation) = sizing.simulations.iter().find(|of| is_same(row, of)) else { continue };
        row.contradiction = contradiction(simulation, sizing.p99_max_ms);
        row.verdict = if row.contradiction.is_some() { Verdict::Contradicted } else { Verdict::Kept };
    }
}

/// Whether more than one in a hundred fail or are too slow: the whole interval of the 99th percentile is above the limit.
fn contradiction(of: &Simulation, p99_max_ms: f64) -> Option<Contradiction> {
    let Side { delay_ms, p99_ci95_ms, succeeded_share, .. } = of.simulated;
    // Too few have succeeded for an interval: then the percentile itself counts.
    let least_ms = p99_ci95_ms.map(|[least_ms, _]| least_ms).or(delay_ms.map(|delay| delay.p99));
    let is_too_slow = least_ms.is_some_and(|least_ms| least_ms > p99_max_ms);
    (succeeded_share < WANTED_SHARE || is_too_slow).then(|| Contradiction {
        p99_max_ms,
        simulated_p99_ms: delay_ms.map(|delay| delay.p99),
        wanted_share: WANTED_SHARE,
        succeeded_share,
        slower_ratio: of.slower_ratio,
    })
}

fn interrupted() -> Report {
    miette!("interrupted: the simulation has not ended, and nothing is shown")
}

/// Rows that have no populations of so many devices, and why not.
pub(super) fn left_out(plan: &Plan, sizing: &Sizing, devices: u32) -> Vec<String> {
    let told = |row: &SizedRow| {
        let why = populates(planned(plan, row)?, devices).err()?;
        Some(format!("{} over {}, {}: not simulated, for {why}", row.method, row.network, row.topology))
    };
    sizing.rows.iter().filter_map(told).collect()
}

/// Whether a row has populations of so many devices; if not, why.
fn populates(row: &RowPlan, devices: u32) -> Result<(), &'static str> {
    let population = in_one_stage(devices, Stage::Storm(devices, Duration::from_secs(1)));
    (row.method.family.populates)(row, &population).map_err(|unfit| unfit.why)
}

/// Devices that arrive in one stage and stay.
fn in_one_stage(devices: u32, stage: Stage) -> Population {
    Population {
        devices,
        arrivals: Schedule::Stages(vec![stage]),
        mix: Vec::new(),
        stay: None,
        reauthenticate: None,
        moves: None,
        wrong: Probability::ZERO,
        devices_per_link: 1,
        gateways: 1,
        gateway_lost: None,
        liveness: None,
        aaa_store: None,
        hss_store: None,
        duration: None,
    }
}

/// A plan with some of its rows and the costs of a table: its own, if it has one.
pub(super) fn with_table(plan: &Plan, is_wanted: impl Fn(&RowPlan) -> bool) -> Plan {
    let costs = plan.costs.clone().filter(|_| plan.crypto == CryptoMode::Table);
    Plan {
        crypto: CryptoMode::Table,
        costs: costs.or_else(|| Some(super::REFERENCE.to_owned())),
        world: WorldKind::Sim,
        rows: plan.rows.iter().filter(|row| is_wanted(row)).cloned().collect(),
        study: None,
        population: None,
        ..plan.clone()
    }
}

/// The plan of a row.
fn planned<'a>(plan: &'a Plan, row: &SizedRow) -> Option<&'a RowPlan> {
    report::planned(plan, [&row.method, &row.variant, &row.network, &row.topology])
}

/// A row, and what the simulator and the formulas are asked about it.
struct Trial<'a> {
    plan: Plan,
    sized: &'a SizedRow,
    question: &'a Question,
    devices: u32,
    cores: BTreeMap<Node, u32>,
}

impl<'a> Trial<'a> {
    fn new(
        plan: &Plan,
        row: &RowPlan,
        sized: &'a SizedRow,
        question: &'a Question,
        devices: u32,
    ) -> Result<Self, Report> {
        let samples = devices.clamp(*ALONE.start(), *ALONE.end());
        let mut plan = Plan { samples, rows: vec![row.clone()], ..with_table(plan, |_| false) };
        let mut cores = BTreeMap::new();
        for node in Node::ALL {
            let Some(has) = sized.nodes.get(node.name()) else { continue };
            cores.insert(node, has.cores);
            let profile = plan.cpus.entry(node).or_default();
            profile.cores = u16::try_from(has.cores)
                .map_err(|_| miette!("no simulated node has more than {} cores", u16::MAX))?;
        }
        Ok(Self { plan, sized, question, devices, cores })
    }

    fn run(mut self, progress: &(dyn Fn() + Sync), stop: &AtomicBool) -> Result<Simulation, Report> {
        let going = || if stop.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) };
        let measured = |plan: &Plan| {
            let summary = streaming::summary(plan, 1, &|| (), stop).map_err(told)?;
            going().map(|()| summary)
        };
        let per_s = self.question.steady_per_s() + self.question.storm_per_s();
        self.set_clocks(&measured(&Plan { samples: *ALONE.start(), ..self.plan.clone() })?)?;
        let predicted = self.asked(&measured(&self.plan)?, per_s)?;
        let plan = Plan { population: Some(self.population(per_s)?), ..self.plan.clone() };
        let ends = keytoll_lab::populate(&plan, 1, progress, stop).map_err(told)?;
        going()?;
        let end = ends.into_iter().flatten().next().ok_or_else(interrupted)?;
        Ok(Simulation {
            method: self.sized.method.clone(),
            variant: self.sized.variant.clone(),
            network: self.sized.network.clone(),
            topology: self.sized.topology.clone(),
            devices: self.devices.into(),
            authentications_per_s: per_s,
            cores: self.cores.iter().map(|(node, cores)| (node.name().to_owned(), *cores)).collect(),
            sized_utilisation: self.sized.nodes.iter().map(|(_, node)| node.utilisation).fold(0.0, f64::max),
            slower_ratio: SLOWER_RATIO,
            clocks_hz: super::clocks_hz(&self.plan).into_iter().collect(),
            lasts_delays_count: f64::from(self.devices) / per_s / (predicted.unloaded_ms.p50 / 1e3),
            unloaded_p99_ms: predicted.unloaded_ms.p99,
            predicted: side_of(&predicted),
            simulated: self.side_of_population(&end.account, per_s),
        })
    }

    /// Gives the serving nodes processors on which an authentication takes each as long as it was sized.
    fn set_clocks(&mut self, alone: &Summary) -> Result<(), Report> {
        let with_table = self.asked(alone, RATE_WITHOUT_LOAD_PER_S)?;
        for node in self.cores.keys() {
            let store_us = self.question.stores_s.get(node.name()).map_or(0.0, |store_s| store_s * 1e6);
            let work_us = |row: &SizedRow| {
                row.nodes.get(node.name()).map(|node| node.work_per_authentication_us - store_us)
            };
            let works_us = work_us(&with_table)
                .zip(work_us(self.sized))
                .filter(|(table, sized)| *table > 0.0 && *sized > 0.0);
            let Some((table_us, sized_us)) = works_us else { continue };
            let clock_hz = with_table.nodes.get(node.name()).and_then(|node| node.clock_hz);
            self.plan.cpus.entry(*node).or_default().hz = clock_hz.map(|hz| hz * table_us / sized_us);
        }
        Ok(())
    }

    /// What the formulas say of this row, alone and with the costs of the table.
    fn asked(&self, alone: &Summary, per_s: f64) -> Result<SizedRow, Report> {
        // The command line names the table of a simulation.
        let planned =
            Planned { message: keytoll_lab::message_price(&self.plan), ..super::planned(&self.plan) };
        let run = Run { summary: alone, planned };
        let cores = self.cores.iter().map(|(node, cores)| (node.name().to_owned(), *cores)).collect();
        let within_s = f64::from(self.devices) / per_s;
        let (arrivals, steady_per_s) = match self.question.arrivals {
            Arrivals::Storm { .. } => (Arrivals::Storm { devices: self.devices.into(), within_s }, 1e-9),
            Arrivals::Poisson | Arrivals::Diurnal => (Arrivals::Poisson, per_s),
        };
        let devices = (steady_per_s * PERIOD_S).max(1.0);
        let question = Question {
            devices_registered: devices as u64,
            devices_at_once: devices as u64,
            reauthenticate_s: devices.floor() / steady_per_s,
            rekey_s: None,
            arrivals,
            cores,
            processor: Processor::AsRun,
            devices_moved: 1,
            methods: Vec::new(),
            ..self.question.clone()
        };
        let sizing = keytoll_dimensioning::size(&run, &question).map_err(|error| super::told(&error))?;
        sizing.rows.into_iter().next().ok_or_else(|| miette!("the row was not measured"))
    }

    fn population(&self, per_s: f64) -> Result<Population, Report> {
        let rate =
            Rate::nearest(per_s).ok_or_else(|| miette!("no simulation has {per_s:.0} arrivals a second"))?;
        let within = Duration::from_secs_f64(f64::from(self.devices) / per_s);
        let stage = match self.question.arrivals {
            Arrivals::Storm { .. } => Stage::Storm(self.devices, within),
            Arrivals::Poisson | Arrivals::Diurnal => Stage::Poisson(rate, None),
        };
        let store = |node: Node| {
            let store_s = self.question.stores_s.get(node.name())?;
            Some(Spread::Fixed(Duration::from_secs_f64(*store_s)))
        };
        Ok(Population {
            aaa_store: store(Node::Aaa),
            hss_store: store(Node::Hss),
            ..in_one_stage(self.devices, stage)
        })
    }

    /// A node's utilisation is that at the rate: its work over the time in which so many devices arrive on average. The simulation ends with
    /// a second of which a part is idle, and a storm with a queue that drains.
    fn side_of_population(&self, Account { summary, delays_us, .. }: &Account, per_s: f64) -> Side {
        let PopulationSummary { offered, established, messages, duration_s, .. } = summary;
        let at_rate = match self.question.arrivals {
            Arrivals::Storm { .. } => 1.0,
            Arrivals::Poisson | Arrivals::Diurnal => duration_s * per_s / (*offered).max(1) as f64,
        };
        let nodes = summary.nodes.iter();
        Side {
            utilisation: nodes
                .map(|(name, node)| (name.clone(), at_rate * node.utilisation))
                .collect::<Named<_>>(),
            delay_ms: summary.delay_ms.map(|delay| Percentiles {
                p50: delay.p50,
                p95: delay.p95,
                p99: delay.p99,
            }),
            p99_ci95_ms: p99_ci95_ms(delays_us),
            succeeded_share: *established as f64 / (*offered).max(1) as f64,
            amplification_ratio: messages.amplification,
        }
    }
}

/// The 95 % interval of the 99th percentile of counted delays, ascending, each with how many are as long.
fn p99_ci95_ms(delays_us: &[[u64; 2]]) -> Option<[f64; 2]> {
    let n: u64 = delays_us.iter().map(|[_, count]| count).sum();
    let at = |rank: u64| {
        let mut within = 0;
        let found = delays_us.iter().find(|[_, count]| {
            within += count;
            within >= rank
        });
        found.map(|[us, _]| *us as f64 / 1e3)
    };
    let [low, high] = ranks95(n, WANTED_SHARE)?;
    Some([at(low)?, at(high)?])
}

/// By formulas nobody fails and nothing is sent again.
fn side_of(row: &SizedRow) -> Side {
    Side {
        utilisation: row.nodes.iter().map(|(name, node)| (name.to_owned(), node.utilisation)).collect(),
        delay_ms: row.delay_ms,
        p99_ci95_ms: row.delay_p99_ci95_ms,
        succeeded_share: 1.0,
        amplification_ratio: 1.0,
    }
}
