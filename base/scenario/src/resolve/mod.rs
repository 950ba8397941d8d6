//! From a document to a plan: resolves names to parameters, multiplies products into rows, and checks everything.
//!
//! ```text
//!   methods x networks x topologies x sweep --.
//!   [[row]] ----------------------------------+--> rows, each with its settings --> Plan
//! ```

pub(crate) mod cpu;
pub(crate) mod makers;
pub(crate) mod network;
pub(crate) mod population;
mod sweep;
pub(crate) mod values;
mod whole;

use std::path::Path;
use std::time::Duration;

use crate::catalogue::keys::KEYS;
use crate::catalogue::{Method, Topology};
use crate::diagnostic::ScenarioError;
use crate::families;
use crate::options::settings::Settings;
use crate::options::{idle, traffic};
use crate::plan::{CryptoMode, Exponents, Network, Plan, RowPlan, SAMPLES_MAX, WorldKind};
use crate::quantity::Kind;
use crate::tree::{Item, Table};
use sweep::Variation;

/// The keys whose values are multiplied into rows; explicit rows exclude them.
const PRODUCT_KEYS: &[&str] = &["methods", "networks", "topologies", "suites", "sweep"];

/// The keys of a row.
const ROW_KEYS: &[&str] = &["method", "network", "topology", "variant", "options"];

/// More rows than this are a mistake in a sweep.
const ROWS_MAX: usize = 10_000;

/// The limit on the length of a title.
pub(crate) const TITLE_CHARS_MAX: usize = 200;

/// Resolves a scenario.
pub(crate) fn plan(document: &Table, name: &str) -> Result<Plan, ScenarioError> {
    document.only("a scenario", &KEYS.iter().map(|key| key.name).collect::<Vec<_>>())?;
    let plan = Plan {
        title: title(document, name)?,
        study: document.or("study", None, |item| label(item, 60).map(Some))?,
        seed: document.or("seed", 1, seed)?,
        samples: document.or("samples", 30, samples)?,
        interval: document.or("interval", Duration::from_secs(10), interval)?,
        crypto: document.or("crypto", CryptoMode::Real, |item| {
            item.pick("crypto mode", &CryptoMode::ALL, CryptoMode::name)
        })?,
        costs: document.or("costs", None, |item| label(item, 4096).map(Some))?,
        exponents: document.or("exponents", Exponents::Short, |item| {
            item.pick("exponent length", &Exponents::ALL, Exponents::name)
        })?,
        world: document
            .or("world", WorldKind::Sim, |item| item.pick("world", &WorldKind::ALL, WorldKind::name))?,
        cpus: cpu::resolve(document.get("cpus"))?,
        population: document.get(population::POPULATION).map(population::read).transpose()?,
        rows: rows(document)?,
    };
    check_crypto(document, &plan)?;
    makers::check_world(document, &plan)?;
    network::check_world(document, &plan)?;
    traffic::check_world(document, &plan)?;
    families::check_world(document, &plan)?;
    population::check(document, &plan)?;
    whole::check(document, &plan)?;
    Ok(plan)
}

/// Null crypto accepts every key, so that a wrong key would not be noticed; a cost table is required with `table` and refused
/// otherwise.
fn check_crypto(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    check_costs(document, plan)?;
    let faults = plan.rows.iter().filter_map(|row| row.options.fault);
    match (document.get("crypto"), { faults }.find(|fault| fault.is_wrong_key())) {
        (Some(item), Some(fault)) if !plan.crypto.computes() => {
            let message = format!("`fault = \"{}\"` needs cryptography", fault.name());
            let said = format!("{} crypto takes every key for the right one", plan.crypto.name());
            let error = item.spot.error(message, said);
            Err(error.hint("`crypto = \"real\"`, or another fault"))
        }
        _ => Ok(()),
    }
}

fn check_costs(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    match (document.get("crypto"), document.get("costs"), plan.crypto) {
        (Some(item), None, CryptoMode::Table) => {
            let error = item.spot.error("table crypto without `costs`".to_owned(), "charged by which table?");
            Err(error
                .hint("`costs = \"FILE\"`, or `--costs FILE`; `keytoll crypto --calibrate FILE` writes one, `reference` is built in"))
        }
        (_, Some(item), mode) if mode != CryptoMode::Table => {
            let message = format!("`costs` are charged by table crypto, and this is {}", mode.name());
            Err(item.spot.error(message, "not used").hint("`crypto = \"table\"`, or leave `costs` out"))
        }
        _ => check_costs_of_nodes(document, plan),
    }
}

/// The costs of a daemon belong to those of a table for all other nodes.
fn check_costs_of_nodes(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let has_costs = plan.cpus.values().any(|cpu| cpu.costs.is_some());
    let (Some(item), true) = (document.get("cpus"), has_costs && plan.crypto != CryptoMode::Table) else {
        return Ok(());
    };
    let message = format!("`costs` of a cpu are charged by table crypto, and this is {}", plan.crypto.name());
    Err(item.spot.error(message, "not used").hint("`crypto = \"table\"` and `costs = \"reference\"`"))
}

/// The title; by default the name of the file.
fn title(document: &Table, name: &str) -> Result<String, ScenarioError> {
    let stem =
        Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    document.or("title", stem, |item| {
        let title = label(item, TITLE_CHARS_MAX)?;
        let blank = || item.spot.error("the title is empty".to_owned(), "no words").hint("leave it out");
        if title.trim().is_empty() { Err(blank()) } else { Ok(title) }
    })
}

/// A string of one line.
fn label(item: &Item, chars_max: usize) -> Result<String, ScenarioError> {
    let text = item.text("a string")?;
    if text.chars().any(char::is_control) || text.chars().count() > chars_max {
        let message = format!("expected one line of at most {chars_max} characters");
        return Err(item.spot.error(message, "too long or with control characters"));
    }
    Ok(text.to_owned())
}

/// A seed; those beyond TOML's integers are strings.
fn seed(item: &Item) -> Result<u64, ScenarioError> {
    match item.text("an integer").ok().map(str::parse) {
        Some(Ok(seed)) => Ok(seed),
        _ => item.integer(0..=u64::MAX),
    }
}

fn samples(item: &Item) -> Result<u32, ScenarioError> {
    item.integer(1..=SAMPLES_MAX).map(|samples| samples as u32)
}

/// From a millisecond to a week.
fn interval(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 1_000_000..=604_800_000_000_000).map(Duration::from_nanos)
}

/// The rows, explicit or multiplied.
fn rows(document: &Table) -> Result<Vec<RowPlan>, ScenarioError> {
    let base = Settings::default().changed_by(document.get("options"))?;
    let Some(rows) = document.get("row") else {
        return product(document, &base);
    };
    let rival = document.entries.iter().find(|entry| PRODUCT_KEYS.contains(&entry.key.as_str()));
    if let Some(rival) = rival {
        let message = format!("`{}` and `[[row]]` exclude each other", rival.key);
        return Err(rival.key_spot.error(message, "remove this, or every `[[row]]`"));
    }
    let tables = rows.some_elements("row")?.iter().map(Item::table).collect::<Result<Vec<_>, _>>()?;
    let rows = tables.iter().map(|row| explicit(row, &base)).collect::<Result<Vec<_>, _>>()?;
    check_options(document, &rows)?;
    different(&tables, &rows)?;
    Ok(rows)
}

/// Options of all rows must have an effect on one of them.
fn check_options(document: &Table, rows: &[RowPlan]) -> Result<(), ScenarioError> {
    let tables = ["options", "sweep"].into_iter().filter_map(|key| document.get(key));
    tables.map(Item::table).try_for_each(|table| idle::check(table?, rows))
}

/// Refuses a duplicate row.
fn different(tables: &[&Table], rows: &[RowPlan]) -> Result<(), ScenarioError> {
    let again = (1..rows.len()).find(|&later| rows[..later].contains(&rows[later]));
    again.map_or(Ok(()), |later| {
        let method = rows[later].method.name();
        let spot = tables[later].get("method").map_or(&tables[later].spot, |item| &item.spot);
        let message = format!("the same row of `{method}` is there twice");
        Err(spot.error(message, "again").hint("leave it out; `samples` says how often a row authenticates"))
    })
}

/// A row that is written out.
fn explicit(row: &Table, base: &Settings) -> Result<RowPlan, ScenarioError> {
    row.only("a row", ROW_KEYS)?;
    let method = method(row.need("method", "a row")?)?;
    let network_item = row.need("network", "a row")?;
    let network = network::resolve(network_item)?;
    let topology = row.or("topology", Topology::Raw, topology)?;
    let settings = base.clone().changed_by(row.get("options"))?.fitted_to(method);
    let blame = row.get("options").unwrap_or(network_item);
    settings.check(method, blame, (network_item, &network))?;
    let variant = row.or("variant", settings.variant(&[]), |item| label(item, 200))?;
    let plan = row_plan(method, network, topology, variant, settings);
    if let Some(options) = row.get("options") {
        idle::check(options.table()?, std::slice::from_ref(&plan))?;
    }
    Ok(plan)
}

/// Every method over every network in every topology with every variation, in the order of the file.
fn product(document: &Table, base: &Settings) -> Result<Vec<RowPlan>, ScenarioError> {
    let methods = each(document, "methods", "method", method)?;
    let networks = each(document, "networks", "network", |item| Ok((item, network::resolve(item)?)))?;
    let topologies = document.or("topologies", vec![Topology::Raw], |item| {
        item.some_elements("topology")?.iter().map(topology).collect()
    })?;
    once(document, "methods", "method", methods.iter().map(|method| method.name()))?;
    once(document, "networks", "network", networks.iter().map(|(_, network)| network.name.as_str()))?;
    once(document, "topologies", "topology", topologies.iter().map(|topology| topology.name()))?;
    let variations = sweep::variations(document, base)?;
    limit(document, methods.len() * networks.len() * topologies.len() * variations.len())?;
    let mut rows = Vec::new();
    for &method in &methods {
        for (item, network) in &networks {
            for &topology in &topologies {
                multiply(&mut rows, method, (item, network), topology, &variations)?;
            }
        }
    }
    check_options(document, &rows)?;
    Ok(rows)
}

/// Refuses a duplicate name in a list, which would make duplicate rows.
fn once<'a>(
    document: &Table,
    key: &str,
    noun: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), ScenarioError> {
    let Some(item) = document.get(key) else { return Ok(()) };
    let mut seen = Vec::new();
    for (item, name) in item.elements().iter().zip(names) {
        if seen.contains(&name) {
            let message = format!("{noun} `{name}` is in `{key}` twice");
            let hint = "leave it out; `samples` says how often a row authenticates";
            return Err(item.spot.error(message, "again").hint(hint));
        }
        seen.push(name);
    }
    Ok(())
}

/// Adds a row for every variation that differs for the method.
fn multiply(
    rows: &mut Vec<RowPlan>,
    method: &'static Method,
    (item, network): (&Item, &Network),
    topology: Topology,
    variations: &[Variation<'_>],
) -> Result<(), ScenarioError> {
    let first = rows.len();
    for variation in variations {
        let settings = variation.settings.clone().fitted_to(method);
        settings.check(method, variation.blame.unwrap_or(item), (item, network))?;
        let variant = settings.variant(&variation.swept_for(method));
        let row = row_plan(method, network.clone(), topology, variant, settings);
        // Chain lengths do not distinguish methods without certificates: such rows would be duplicates.
        if !rows[first..].contains(&row) {
            rows.push(row);
        }
    }
    Ok(())
}

fn row_plan(
    method: &'static Method,
    network: Network,
    topology: Topology,
    variant: String,
    settings: Settings,
) -> RowPlan {
    let (suites, esp_suites) = (settings.suites(method), settings.esp_suites(method));
    let options = settings.options;
    RowPlan { method, variant, network, topology, suites, esp_suites, options }
}

/// The elements of a required list.
fn each<'a, T>(
    document: &'a Table,
    key: &str,
    noun: &str,
    read: impl Fn(&'a Item) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let missing = || {
        let spot = document.spot.start();
        spot.error(format!("a scenario without `{key}`"), format!("`{key}` is missing"))
            .hint(format!("`keytoll list {key}` shows what there is"))
    };
    let item = document.get(key).ok_or_else(missing)?;
    item.some_elements(noun)?.iter().map(read).collect()
}

fn limit(document: &Table, rows: usize) -> Result<(), ScenarioError> {
    if rows <= ROWS_MAX {
        return Ok(());
    }
    let spot = document.entry("sweep").map_or_else(|| document.spot.start(), |entry| entry.key_spot.clone());
    let message = format!("{rows} rows are more than {ROWS_MAX}");
    Err(spot.error(message, "the product of all lists").hint("split the scenario"))
}

fn method(item: &Item) -> Result<&'static Method, ScenarioError> {
    let example =
        item.text("the name of a method").ok().and_then(Method::named).filter(|it| it.family.is_example);
    let all: Vec<_> = Method::all().collect();
    example.map_or_else(|| item.pick("method", &all, Method::name), Ok)
}

fn topology(item: &Item) -> Result<Topology, ScenarioError> {
    item.pick("topology", &Topology::ALL, Topology::name)
}
