//! `keytoll check`: what a scenario would run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use keytoll_report::counted;
use keytoll_scenario::Plan;
use keytoll_scenario::catalogue::networks;
use keytoll_scenario::plan::{CpuProfile, Network, RowPlan, WorldKind};
use keytoll_scenario::population::Population;
use keytoll_scenario::quantity::duration;
use keytoll_trace::Node;
use miette::Report;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::progress::about;
use crate::{live, load, ready, screen};

/// Resolves a scenario and prints its rows.
pub(crate) fn check(args: &CheckArgs) -> Result<ExitCode, Report> {
    let source = args.scenario.source()?;
    if source.is_load() {
        args.unchanged()?;
        load::describe(&source, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if source.is_node() {
        args.unchanged()?;
        live::describe(&source, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = args.scenario.changes.plan(&source)?;
    let work = ready::ask(&plan, &args.out_dir(), &args.execution)?;
    if args.json {
        screen::print_json(&Checked::from(&plan))?;
    } else {
        screen::print(&text(&plan))?;
    }
    screen::note(&format!("\n{work}"));
    Ok(ExitCode::SUCCESS)
}

fn text(plan: &Plan) -> String {
    [head(plan), rows(plan), networks(plan), cpus(plan)].join("\n")
}

fn head(plan: &Plan) -> String {
    if let Some(population) = &plan.population {
        return head_of_population(plan, population);
    }
    let count = format!(
        "{} x {} = {} authentications",
        counted(plan.rows.len() as u64, "row"),
        counted(plan.samples.into(), "sample"),
        plan.authentications()
    );
    let how = format!(
        "{count}, one every {}{}; seed {}, crypto {}, {} exponents, world {}",
        duration(plan.interval),
        row_min(plan).map_or_else(String::new, |time| format!(" ({} of virtual time a row)", about(time))),
        plan.seed,
        plan.crypto.name(),
        plan.exponents.name(),
        plan.world.name()
    );
    format!("{}{}", screen::paragraph(&plan.title), screen::paragraph(&how))
}

fn head_of_population(plan: &Plan, population: &Population) -> String {
    let devices = counted(population.devices.into(), "device");
    let whose = if population.mix.is_empty() {
        format!("{} of {devices} each", counted(plan.rows.len() as u64, "population"))
    } else {
        format!("one population of {devices} of {}", counted(plan.rows.len() as u64, "method"))
    };
    let gateways = match (population.gateways, population.gateway_lost) {
        (1, _) => String::new(),
        (count, None) => format!(", {count} gateways"),
        (count, Some(lost)) => {
            let at = duration(lost.at);
            format!(", {count} gateways, of which number {} is lost after {at}", lost.gateway)
        }
    };
    let how = format!(
        "{whose}{gateways}, arrivals: {}; seed {}, crypto {}, {} exponents, world {}",
        population.arrivals,
        plan.seed,
        plan.crypto.name(),
        plan.exponents.name(),
        plan.world.name()
    );
    format!("{}{}", screen::paragraph(&plan.title), screen::paragraph(&how))
}

/// The least duration of a row. The live world does not wait for intervals.
fn row_min(plan: &Plan) -> Option<Duration> {
    (plan.world == WorldKind::Sim && plan.population.is_none())
        .then(|| plan.interval.saturating_mul(plan.samples))
}

fn rows(plan: &Plan) -> String {
    let heads = ["method", "network", "topology", "suites", "variant", "mark"];
    screen::folded(&heads, plan.rows.iter().map(row), 2)
}

fn row(row: &RowPlan) -> Vec<String> {
    vec![
        row.method.name().to_owned(),
        row.network.name.clone(),
        row.topology.name().to_owned(),
        names(&row.suites).join(","),
        variant(row),
        row.standing().mark().to_owned(),
    ]
}

/// The variant without the suite, which has its own column.
fn variant(row: &RowPlan) -> String {
    let words = row.variant.split(' ').filter(|word| !word.starts_with("suite="));
    words.collect::<Vec<_>>().join(" ")
}

fn names(suites: &[impl ToString]) -> Vec<String> {
    suites.iter().map(ToString::to_string).collect()
}

/// Every network once, with its name and its parameters.
fn networks(plan: &Plan) -> String {
    let mut seen = Vec::new();
    for network in plan.rows.iter().map(|row| &row.network) {
        if !seen.contains(&network) {
            seen.push(network);
        }
    }
    let line = |network: &Network| {
        vec![network.name.clone(), network.basis.name().to_owned(), networks::summary(network)]
    };
    screen::table(&seen.into_iter().map(line).collect::<Vec<_>>())
}

fn cpus(plan: &Plan) -> String {
    let line = |(node, cpu): (&Node, &CpuProfile)| {
        let costs = cpu.costs.as_ref().map(|costs| format!("costs of {costs}"));
        let own = [node.name().to_owned(), cpu.name.clone(), counted(cpu.cores.into(), "core")];
        own.into_iter().chain(costs).collect::<Vec<_>>()
    };
    screen::table(&plan.cpus.iter().map(line).collect::<Vec<_>>())
}

/// What a scenario would run. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked<'a> {
    /// The title of the scenario.
    title: &'a str,
    /// The seed as text: JavaScript loses the low bits of 64-bit numbers.
    seed: String,
    /// Authentications of each row; of a population its devices.
    samples: u32,
    /// Authentications in all.
    authentications: u64,
    /// The least duration of a row, in seconds of virtual time: as many intervals as samples. Absent in the live world.
    #[serde(skip_serializing_if = "Option::is_none")]
    row_s_min: Option<f64>,
    /// `real`, `openssl`, `null` or `table`.
    crypto: &'static str,
    /// Private exponents of MODP groups: `short` or `full`.
    exponents: &'static str,
    /// `sim` or `live`.
    world: &'static str,
    /// The CPU profile of each node.
    cpus: BTreeMap<&'static str, &'a str>,
    /// In the order of execution.
    rows: Vec<CheckedRow<'a>>,
    /// The resolved plan: a scenario file without defaults.
    plan: String,
}

/// One method over one network.
#[derive(Serialize, JsonSchema)]
struct CheckedRow<'a> {
    /// The method's name in the catalogue.
    method: &'static str,
    /// What differs from the method's default.
    variant: &'a str,
    /// The network's name.
    network: &'a str,
    /// The topology's name.
    topology: &'static str,
    /// The suites offered for IKE SAs.
    #[serde(rename = "ike_suites")]
    suites: Vec<String>,
    /// The suites offered for traffic.
    esp_suites: Vec<String>,
    /// The standing of its worst algorithm: empty, `weak` or `broken`.
    standing: &'static str,
}

impl<'a> From<&'a Plan> for Checked<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self {
            title: &plan.title,
            seed: plan.seed.to_string(),
            samples: plan.population.as_ref().map_or(plan.samples, |population| population.devices),
            authentications: plan.authentications(),
            row_s_min: row_min(plan).map(|time| time.as_secs_f64()),
            crypto: plan.crypto.name(),
            exponents: plan.exponents.name(),
            world: plan.world.name(),
            cpus: plan.cpus.iter().map(|(node, cpu)| (node.name(), cpu.name.as_str())).collect(),
            rows: plan.rows.iter().map(CheckedRow::from).collect(),
            plan: plan.to_toml(),
        }
    }
}

impl<'a> From<&'a RowPlan> for CheckedRow<'a> {
    fn from(row: &'a RowPlan) -> Self {
        Self {
            method: row.method.name(),
            variant: &row.variant,
            network: &row.network.name,
            topology: row.topology.name(),
            suites: names(&row.suites),
            esp_suites: names(&row.esp_suites),
            standing: row.standing().mark(),
        }
    }
}
