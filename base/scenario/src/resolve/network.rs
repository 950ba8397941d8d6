//! A network: a name of the catalogue, or a table with parameters that modify a preset or an ideal link.
//!
//! Every parameter of a direction can be given for both (`delay`) or for one (`delay_down`, `delay_up`); rates are always for
//! one (`down`, `up`). Loss and other impairments are in `catalogue/impairments.rs`.

use std::time::Duration;

use crate::catalogue::airs::{AIRS, Air};
use crate::catalogue::impairments::{IMPAIRMENTS, Impairment, Part};
use crate::catalogue::networks;
use crate::diagnostic::ScenarioError;
use crate::plan::{Basis, Direction, Network, Plan, WorldKind};
use crate::quantity::{self, Kind, Probability};
use crate::tree::{Item, Table, Value};

/// A parameter of a direction, with parser and printer.
struct Property {
    key: &'static str,
    read: fn(&mut Direction, &Item) -> Result<(), ScenarioError>,
    print: fn(&Direction) -> String,
}

/// The parameters that have a key for both directions and one for each, besides those of impairments.
const PROPERTIES: &[Property] = &[
    Property { key: "delay", read: |d, item| set(&mut d.delay, delay(item)), print: |d| quoted(d.delay) },
    Property { key: "jitter", read: |d, item| set(&mut d.jitter, delay(item)), print: |d| quoted(d.jitter) },
    Property {
        key: "queue",
        read: |d, item| set(&mut d.queue_bytes_max, item.quantity(Kind::Size, QUEUE_BYTES)),
        print: |d| format!("\"{}\"", quantity::size(d.queue_bytes_max)),
    },
];

/// The keys of a network besides those of [`PROPERTIES`] and of impairments.
const KEYS: &[&str] = &["name", "base", "air", "down", "up", "mtu", "source", "basis"];

/// A shorter queue could not hold one packet.
const QUEUE_BYTES: std::ops::RangeInclusive<u64> = 1500..=1_000_000_000_000;

// RFC 791 §3.1: every IPv4 host accepts 576 bytes.
const MTU_BYTES: std::ops::RangeInclusive<u64> = 576..=65_535;

/// How a missing limit is written.
pub(crate) const UNLIMITED: &str = "unlimited";

/// Resolves a name or a table.
pub(super) fn resolve(item: &Item) -> Result<Network, ScenarioError> {
    match &item.value {
        Value::Text(name) => preset(item, name),
        Value::Table(table) => custom(table),
        _ => Err(item.wrong("the name of a network or a table")),
    }
}

fn preset(item: &Item, name: &str) -> Result<Network, ScenarioError> {
    networks::named(name).ok_or_else(|| item.spot.unknown("network", name, &networks::names()))
}

fn custom(table: &Table) -> Result<Network, ScenarioError> {
    table.only("a network", &keys().iter().map(String::as_str).collect::<Vec<_>>())?;
    let Some(name) = table.get("name") else {
        return Err(table.spot.error("a network without `name`", "`name` is missing"));
    };
    let mut network = base(table.get("base"))?;
    network.name = super::label(name, 40)?;
    network.source = table.or("source", network.source, |item| super::label(item, 200))?;
    let pick_basis = |item: &Item| item.pick("basis", &Basis::ALL, Basis::name);
    network.basis = table.or("basis", Basis::Custom, pick_basis)?;
    let mtu = u64::from(network.mtu_bytes);
    network.mtu_bytes = table.or("mtu", mtu, |item| item.integer(MTU_BYTES))? as u16;
    properties(&mut network, table)?;
    network.air = table.or("air", network.air, air)?;
    rates(&mut network, table)?;
    // A paper's figures are those of presets: a network with other parameters cannot have their basis.
    let claims_paper = matches!(network.basis, Basis::Printed | Basis::Calibrated);
    if claims_paper && networks::named(&network.name).as_ref() != Some(&network) {
        network.basis = Basis::Custom;
    }
    Ok(network)
}

/// Radio channels are simulated only.
pub(super) fn check_world(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let on_air = plan.rows.iter().find(|row| row.network.air.is_some());
    let Some(row) = on_air.filter(|_| plan.world == WorldKind::Live) else { return Ok(()) };
    let spot = document.get("world").map_or_else(|| document.spot.start(), |item| item.spot.clone());
    let message = format!("the radio channel of `{}` exists in the simulator only", row.network.name);
    Err(spot.error(message, "no simulator").hint("`world = \"sim\"`, or another network, such as `wifi-11g`"))
}

fn keys() -> Vec<String> {
    let both = of_directions().map(str::to_owned);
    let each = of_directions().flat_map(|key| [format!("{key}_down"), format!("{key}_up")]);
    KEYS.iter().map(|key| (*key).to_owned()).chain(both).chain(each).collect()
}

/// The keys for both directions, in printing order: the queue after its loss.
fn of_directions() -> impl Iterator<Item = &'static str> {
    let [times @ .., queue] = PROPERTIES else { unreachable!("there are properties") };
    let impairments = IMPAIRMENTS.iter().map(|impairment| impairment.key);
    times.iter().map(|property| property.key).chain(impairments).chain([queue.key])
}

/// Every parameter of a direction with its key, as TOML values.
pub(crate) fn printed(direction: &Direction) -> impl Iterator<Item = (&'static str, String)> {
    of_directions().map(|key| {
        let property = PROPERTIES.iter().find(|property| property.key == key);
        let impairment = IMPAIRMENTS.iter().find(|impairment| impairment.key == key);
        let print = || impairment.map(|impairment| direction.impairments.print(impairment));
        (key, property.map(|property| (property.print)(direction)).or_else(print).unwrap_or_default())
    })
}

/// The preset, or an ideal link.
fn base(item: Option<&Item>) -> Result<Network, ScenarioError> {
    let Some(item) = item else {
        return Ok(Network {
            name: String::new(),
            down: Direction::IDEAL,
            up: Direction::IDEAL,
            mtu_bytes: 1500,
            air: None,
            source: "the scenario".to_owned(),
            basis: Basis::Custom,
        });
    };
    let mut network = preset(item, item.text("the name of a network")?)?;
    network.source = format!("the scenario, on top of {}", network.name);
    Ok(network)
}

fn properties(network: &mut Network, table: &Table) -> Result<(), ScenarioError> {
    for key in of_directions() {
        if let Some(item) = table.get(key) {
            change(&mut network.down, key, item)?;
            change(&mut network.up, key, item)?;
        }
        if let Some(item) = table.get(&format!("{key}_down")) {
            change(&mut network.down, key, item)?;
        }
        if let Some(item) = table.get(&format!("{key}_up")) {
            change(&mut network.up, key, item)?;
        }
    }
    Ok(())
}

/// Parses a parameter of a direction, or an impairment.
fn change(direction: &mut Direction, key: &str, item: &Item) -> Result<(), ScenarioError> {
    if let Some(property) = PROPERTIES.iter().find(|property| property.key == key) {
        return (property.read)(direction, item);
    }
    let impairment = IMPAIRMENTS.iter().find(|impairment| impairment.key == key);
    impairment.map_or(Ok(()), |impairment| {
        direction.impairments.set(impairment.key, chances(impairment, item)?);
        Ok(())
    })
}

/// One probability, or a table of them.
fn chances(impairment: &Impairment, item: &Item) -> Result<Vec<Probability>, ScenarioError> {
    let Value::Table(table) = &item.value else {
        return chance(item).map(|chance| vec![chance]);
    };
    let Impairment { key, parts, .. } = impairment;
    if parts.is_empty() {
        return Err(item.wrong("a probability like `\"0.1 %\"`"));
    }
    let what = format!("`{key}`");
    table.only(&what, &parts.iter().map(|part| part.key).collect::<Vec<_>>())?;
    let read = |part: &Part| match (table.get(part.key), part.default) {
        (None, Some(default)) => Ok(default),
        _ => chance(table.need(part.key, &what)?),
    };
    parts.iter().map(read).collect()
}

fn rates(network: &mut Network, table: &Table) -> Result<(), ScenarioError> {
    let rate_of_air =
        ["down", "up"].into_iter().find_map(|key| table.entry(key)).filter(|_| network.air.is_some());
    if let Some(entry) = rate_of_air {
        let message = format!("a radio channel has its own rates, and `{}` has no effect", entry.key);
        return Err(entry.key_spot.error(message, "leave it out, or `air`"));
    }
    let (down, up) = (&mut network.down.rate_bits_per_s, &mut network.up.rate_bits_per_s);
    if network.air.is_some() {
        (*down, *up) = (None, None);
        return Ok(());
    }
    *down = table.or("down", *down, rate)?;
    *up = table.or("up", *up, rate)?;
    Ok(())
}

fn air(item: &Item) -> Result<Option<&'static Air>, ScenarioError> {
    let airs: Vec<_> = AIRS.iter().collect();
    item.pick("radio channel", &airs, |air| air.name).map(Some)
}

/// From 1 kbit/s to 10 Tbit/s.
fn rate(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == UNLIMITED => Ok(None),
        _ => item.quantity(Kind::Rate, 1_000..=10_000_000_000_000).map(Some),
    }
}

/// At most a minute: IKE times out earlier.
fn delay(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 0..=60_000_000_000).map(Duration::from_nanos)
}

fn chance(item: &Item) -> Result<Probability, ScenarioError> {
    let parts = item.quantity(Kind::Probability, 0..=u64::from(Probability::ONE.parts_per_billion()))?;
    Ok(Probability::from_parts_per_billion(parts as u32))
}

fn set<T>(slot: &mut T, value: Result<T, ScenarioError>) -> Result<(), ScenarioError> {
    *slot = value?;
    Ok(())
}

fn quoted(duration: Duration) -> String {
    format!("\"{}\"", quantity::duration(duration))
}
