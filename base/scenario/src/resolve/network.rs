//! A network: a name of the catalogue, or a table with numbers of its own on top of a preset or of an ideal link.
//!
//! Every number of a direction can be given for both (`delay`) or for one (`delay_down`, `delay_up`); rates always are
//! for one (`down`, `up`).

use std::time::Duration;

use crate::catalogue::networks;
use crate::diagnostic::ScenarioError;
use crate::plan::{Basis, Direction, Network};
use crate::quantity::{self, Kind, Probability};
use crate::tree::{Item, Table, Value};

/// A number of a direction: how it is read, and printed.
pub(crate) struct Property {
    pub(crate) key: &'static str,
    read: fn(&mut Direction, &Item) -> Result<(), ScenarioError>,
    pub(crate) print: fn(&Direction) -> String,
}

/// The numbers that have a key for both directions and one for each.
pub(crate) const PROPERTIES: &[Property] = &[
    Property { key: "delay", read: |d, item| set(&mut d.delay, delay(item)), print: |d| quoted(d.delay) },
    Property { key: "jitter", read: |d, item| set(&mut d.jitter, delay(item)), print: |d| quoted(d.jitter) },
    Property { key: "loss", read: |d, item| set(&mut d.loss, chance(item)), print: |d| percent(d.loss) },
    Property {
        key: "reorder",
        read: |d, item| set(&mut d.reorder, chance(item)),
        print: |d| percent(d.reorder),
    },
    Property {
        key: "duplicate",
        read: |d, item| set(&mut d.duplicate, chance(item)),
        print: |d| percent(d.duplicate),
    },
    Property {
        key: "corrupt",
        read: |d, item| set(&mut d.corrupt, chance(item)),
        print: |d| percent(d.corrupt),
    },
    Property {
        key: "queue",
        read: |d, item| set(&mut d.queue_bytes_max, item.quantity(Kind::Size, QUEUE_BYTES)),
        print: |d| format!("\"{}\"", quantity::size(d.queue_bytes_max)),
    },
];

/// The keys of a network besides those of [`PROPERTIES`].
const KEYS: &[&str] = &["name", "base", "down", "up", "mtu", "source", "basis"];

/// Shorter queues could not hold one packet.
const QUEUE_BYTES: std::ops::RangeInclusive<u64> = 1500..=1_000_000_000_000;

/// RFC 791 §3.1: every IPv4 host accepts 576 bytes.
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
    rates(&mut network, table)?;
    Ok(network)
}

fn keys() -> Vec<String> {
    let both = PROPERTIES.iter().map(|property| property.key.to_owned());
    let each =
        PROPERTIES.iter().flat_map(|Property { key, .. }| [format!("{key}_down"), format!("{key}_up")]);
    KEYS.iter().map(|key| (*key).to_owned()).chain(both).chain(each).collect()
}

/// The preset to start from, or an ideal link.
fn base(item: Option<&Item>) -> Result<Network, ScenarioError> {
    let Some(item) = item else {
        return Ok(Network {
            name: String::new(),
            down: Direction::IDEAL,
            up: Direction::IDEAL,
            mtu_bytes: 1500,
            source: "the scenario".to_owned(),
            basis: Basis::Custom,
        });
    };
    let mut network = preset(item, item.text("the name of a network")?)?;
    network.source = format!("the scenario, on top of {}", network.name);
    Ok(network)
}

fn properties(network: &mut Network, table: &Table) -> Result<(), ScenarioError> {
    for Property { key, read, .. } in PROPERTIES {
        if let Some(item) = table.get(key) {
            read(&mut network.down, item)?;
            read(&mut network.up, item)?;
        }
        if let Some(item) = table.get(&format!("{key}_down")) {
            read(&mut network.down, item)?;
        }
        if let Some(item) = table.get(&format!("{key}_up")) {
            read(&mut network.up, item)?;
        }
    }
    Ok(())
}

fn rates(network: &mut Network, table: &Table) -> Result<(), ScenarioError> {
    let (down, up) = (&mut network.down.rate_bits_per_s, &mut network.up.rate_bits_per_s);
    *down = table.or("down", *down, rate)?;
    *up = table.or("up", *up, rate)?;
    Ok(())
}

/// From 1 kbit/s to 10 Tbit/s.
fn rate(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == UNLIMITED => Ok(None),
        _ => item.quantity(Kind::Rate, 1_000..=10_000_000_000_000).map(Some),
    }
}

/// At most a minute: IKE gives up sooner.
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

fn percent(probability: Probability) -> String {
    format!("\"{probability}\"")
}
