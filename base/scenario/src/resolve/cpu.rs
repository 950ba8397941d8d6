//! `[cpus]`: the processor of a node, by name or by parameters.

use std::collections::BTreeMap;

use keytoll_engine::trace::Node;

use crate::catalogue::{Method, cpus};
use crate::diagnostic::{ScenarioError, choice};
use crate::plan::CpuProfile;
use crate::quantity::Kind;
use crate::tree::{Item, Table, Value};

/// From 1 kHz to 1 THz.
const HZ: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000;

/// The word for this machine, unscaled.
pub(crate) const HOST: &str = "host";

/// The processor of every node; by default this machine.
pub(super) fn resolve(item: Option<&Item>) -> Result<BTreeMap<Node, CpuProfile>, ScenarioError> {
    let mut cpus = nodes().map(|node| (node, CpuProfile::default())).collect::<BTreeMap<_, _>>();
    let Some(item) = item else {
        return Ok(cpus);
    };
    let table = item.table()?;
    table.only("`cpus`", &nodes().map(Node::name).collect::<Vec<_>>())?;
    for (node, cpu) in &mut cpus {
        if let Some(item) = table.get(node.name()) {
            *cpu = profile(item)?;
        }
    }
    Ok(cpus)
}

/// The nodes that take part in some method.
fn nodes() -> impl Iterator<Item = Node> {
    Node::ALL.into_iter().filter(|node| Method::all().any(|method| method.nodes.contains(node)))
}

fn profile(item: &Item) -> Result<CpuProfile, ScenarioError> {
    match &item.value {
        Value::Text(name) => preset(item, name),
        Value::Table(table) => custom(table),
        _ => Err(item.wrong("the name of a cpu or a table")),
    }
}

fn preset(item: &Item, name: &str) -> Result<CpuProfile, ScenarioError> {
    CpuProfile::named(name).ok_or_else(|| item.spot.unknown("cpu", name, &names()))
}

fn names() -> Vec<&'static str> {
    cpus::ALL.iter().map(|cpu| cpu.name).collect()
}

/// A name alone is looked up in the catalogue; a name with a frequency defines a processor. With `costs` the processor is that on which
/// they were measured, unless it has a frequency.
fn custom(table: &Table) -> Result<CpuProfile, ScenarioError> {
    table.only("a cpu", &["name", "frequency", "cores", "costs"])?;
    let costs = table.or("costs", None, |item| super::label(item, 4096).map(Some))?;
    let Some(name_item) = table.get("name") else {
        if costs.is_some() {
            return Ok(CpuProfile { costs, ..plain(table)? });
        }
        return Err(table.spot.error("a cpu without `name`", "`name` is missing"));
    };
    let name = super::label(name_item, 40)?;
    let hz = match table.get("frequency") {
        Some(item) => frequency(item)?,
        None => preset(name_item, &name).map_err(|error| needs_frequency(&name, error))?.hz,
    };
    Ok(CpuProfile { name, hz, costs, ..plain(table)? })
}

/// This machine, or one with another frequency, with so many cores.
fn plain(table: &Table) -> Result<CpuProfile, ScenarioError> {
    let cores = table.or("cores", 1, |item| item.integer(1..=1024))? as u16;
    let hz = table.or("frequency", None, frequency)?;
    Ok(CpuProfile { hz, cores, ..CpuProfile::default() })
}

fn needs_frequency(name: &str, error: ScenarioError) -> ScenarioError {
    let hint = format!("a cpu of your own needs a `frequency`; {}", choice(name, &names()));
    error.hint(hint)
}

fn frequency(item: &Item) -> Result<Option<f64>, ScenarioError> {
    if matches!(&item.value, Value::Text(text) if text == HOST) {
        return Ok(None);
    }
    item.quantity(Kind::Frequency, HZ).map(|hz| Some(hz as f64))
}
