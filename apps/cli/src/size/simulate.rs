//! `keytoll size --simulate`: the answer beside that of the simulator, with real engines, queues and retransmissions.
//!
//! Costs are those of a table, so that the simulation is the same everywhere and soon over. A row is measured with them alone first;
//! then the formulas and the simulator are asked the same: how long do so many devices take with so many cores?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_analysis::census::PopulationSummary;
use keytoll_analysis::{Named, Summary};
use keytoll_dimensioning::outcome::{Contradiction, Percentiles, Side, Simulation, SizedRow, Verdict};
use keytoll_dimensioning::{Arrivals, Processor, Question, Run, Sizing};
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
/// No node of a simulation has more cores: with the same utilisation more take more devices, and waits become shorter.
const CORES_MAX: u32 = 8;
/// Authentications by which a row is measured alone.
const ALONE: u32 = 100;
/// A simulation lasts this many delays at least: it begins and ends with empty queues, which must not count.
const DELAYS_MIN: f64 = 60.0;
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

/// Where the simulator contradicts, the delay is not kept.
pub(super) fn contradict(sizing: &mut Sizing) {
    let is_same = |row: &SizedRow, of: &Simulation| {
        (&row.method, &row.variant, &row.network, &row.topology)
            == (&of.method, &of.variant, &of.network, &of.topology)
    };
    for row in sizing.rows.iter_mut().filter(|row| row.verdict == Verdict::Kept) {
        let simulation = sizing.simulations.iter().find(|of| is_same(row, of));
        row.contradiction = simulation.and_then(|of| contradiction(row, of, sizing.p99_max_ms));
        if row.contradiction.is_some() {
            row.verdict = Verdict::Contradicted;
        }
    }
}

/// Whether more than one in a hundred fail or are too slow, where that is not due to the smaller nodes of the simulation.
fn contradiction(row: &SizedRow, of: &Simulation, p99_max_ms: f64) -> Option<Contradiction> {
    let is_slower = of.slower_ratio > 1.0;
    let as_sized = |side: &Side| match side.delay_ms?.p99 {
        p99 if is_slower => Some(row.unloaded_ms.p99 + (p99 - of.unloaded_p99_ms).max(0.0) / of.slower_ratio),
        p99 => Some(p99),
    };
    let is_within = |side: &Side| as_sized(side).is_some_and(|p99_ms| p99_ms <= p99_max_ms);
    let succeeds = of.simulated.succeeded_share >= WANTED_SHARE;
    let has_all_cores = row.nodes.iter().all(|(name, node)| of.cores.get(name) == Some(&node.cores));
    let is_due = (!is_slower && has_all_cores) || is_within(&of.predicted);
    (!succeeds || (is_due && !is_within(&of.simulated))).then(|| Contradiction {
        p99_max_ms,
        simulated_p99_ms: as_sized(&of.simulated),
        wanted_share: WANTED_SHARE,
        succeeded_share: of.simulated.succeeded_share,
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
        let mut plan = Plan { samples: ALONE, rows: vec![row.clone()], ..with_table(plan, |_| false) };
        let most = sized.nodes.iter().map(|(_, node)| node.cores).max().unwrap_or(1);
        let scale = (f64::from(CORES_MAX) / f64::from(most)).min(1.0);
        let mut cores = BTreeMap::new();
        for node in Node::ALL {
            let Some(has) = sized.nodes.get(node.name()) else { continue };
            let count = (f64::from(has.cores) * scale).round().max(1.0) as u32;
            cores.insert(node, count);
            let profile = plan.cpus.entry(node).or_default();
            profile.cores = u16::try_from(count).map_err(|_| miette!("more cores than a node can have"))?;
        }
        Ok(Self { plan, sized, question, devices, cores })
    }

    fn run(mut self, progress: &(dyn Fn() + Sync), stop: &AtomicBool) -> Result<Simulation, Report> {
        let going = || if stop.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) };
        let measured = |plan: &Plan| {
            let summary = streaming::summary(plan, 1, &|| (), stop).map_err(told)?;
            going().map(|()| summary)
        };
        let fast = measured(&self.plan)?;
        let (rate_per_s, rate_max_per_s) = (self.rate_per_s(&fast)?, self.rate_max_per_s(&fast)?);
        let slower_ratio = (rate_per_s / rate_max_per_s).max(1.0);
        let per_s = rate_per_s / slower_ratio;
        self.slow_down(&fast, slower_ratio);
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
            sized_utilisation: busiest(self.sized),
            slower_ratio,
            unloaded_p99_ms: predicted.unloaded_ms.p99,
            predicted: side_of(&predicted),
            simulated: self.side_of_population(&end.account.summary, per_s),
        })
    }

    /// The rate that keeps the busiest node as busy as it is in the sizing.
    fn rate_per_s(&self, alone: &Summary) -> Result<f64, Report> {
        let at_one = self.asked(alone, 1.0)?;
        let (wanted, of_one) = (busiest(self.sized), busiest(&at_one));
        Ok((wanted / of_one).clamp(1e-3, 1e6))
    }

    /// The highest rate at which so many devices take long enough.
    fn rate_max_per_s(&self, alone: &Summary) -> Result<f64, Report> {
        let delay_s = self.asked(alone, 1e-3)?.unloaded_ms.p50 / 1e3;
        Ok(f64::from(self.devices) / (DELAYS_MIN * delay_s))
    }

    /// Gives the serving nodes slower processors, so that fewer devices keep them as busy.
    fn slow_down(&mut self, alone: &Summary, slower_ratio: f64) {
        let cpu = |node: &Node| alone.rows.first().and_then(|row| row.cpu.get(node.name()));
        for node in self.cores.keys() {
            let machine_hz = cpu(node).and_then(|cpu| Some(cpu.cycles? / cpu.ns * 1e9));
            let profile = self.plan.cpus.entry(*node).or_default();
            profile.hz = profile.hz.or(machine_hz).map(|hz| hz / slower_ratio);
        }
    }

    /// What the formulas say of this row, alone and with the costs of the table.
    fn asked(&self, alone: &Summary, per_s: f64) -> Result<SizedRow, Report> {
        let clocks = self.plan.cpus.iter();
        let clocks_hz = clocks.filter_map(|(node, profile)| Some((node.name().to_owned(), profile.hz?)));
        let run = Run { summary: alone, clocks_hz: clocks_hz.collect() };
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
    fn side_of_population(&self, population: &PopulationSummary, per_s: f64) -> Side {
        let PopulationSummary { offered, established, messages, duration_s, .. } = population;
        let at_rate = match self.question.arrivals {
            Arrivals::Storm { .. } => 1.0,
            Arrivals::Poisson | Arrivals::Diurnal => duration_s * per_s / (*offered).max(1) as f64,
        };
        let nodes = population.nodes.iter();
        Side {
            utilisation: nodes
                .map(|(name, node)| (name.clone(), at_rate * node.utilisation))
                .collect::<Named<_>>(),
            delay_ms: population.delay_ms.map(|delay| Percentiles {
                p50: delay.p50,
                p95: delay.p95,
                p99: delay.p99,
            }),
            succeeded_share: *established as f64 / (*offered).max(1) as f64,
            amplification_ratio: messages.amplification,
        }
    }
}

/// How busy the busiest node is.
fn busiest(row: &SizedRow) -> f64 {
    row.nodes.iter().map(|(_, node)| node.utilisation).fold(0.0, f64::max)
}

/// By formulas nobody fails and nothing is sent again.
fn side_of(row: &SizedRow) -> Side {
    Side {
        utilisation: row.nodes.iter().map(|(name, node)| (name.to_owned(), node.utilisation)).collect(),
        delay_ms: row.delay_ms,
        succeeded_share: 1.0,
        amplification_ratio: 1.0,
    }
}
