//! `traffic` and the keys that go with it: what users send once the SAs are there.

use std::time::Duration;

use crate::diagnostic::ScenarioError;
use crate::plan::{Network, Options, Plan, Traffic, TrafficDirection, TrafficKind, WorldKind};
use crate::quantity::{self, Kind};
use crate::tree::{Item, Table, Value};

/// What it is called that nothing is sent, or that IPsec is not used.
const NONE: &str = "none";
/// What it is called that it is.
const ESP: &str = "esp";
/// The longest packets that go unfragmented.
const PATH: &str = "path";
/// Headers of IPv6 and TCP and some data.
const BULK_PACKET_BYTES_MIN: u16 = 128;

/// `"none"`, or a kind.
pub(super) fn kind(item: &Item) -> Result<Option<TrafficKind>, ScenarioError> {
    let all: Vec<_> = std::iter::once(None).chain(TrafficKind::ALL.map(Some)).collect();
    item.pick("kind of traffic", &all, kind_name)
}

pub(super) fn kind_name(kind: Option<TrafficKind>) -> &'static str {
    kind.map_or(NONE, TrafficKind::name)
}

/// From a tenth of a second to an hour.
pub(super) fn duration(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 100_000_000..=3_600_000_000_000).map(Duration::from_nanos)
}

/// From ten microseconds to a minute.
pub(super) fn interval(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 10_000..=60_000_000_000).map(Duration::from_nanos)
}

/// `"path"`, or the length of an IP packet: 64 bytes hold every header.
pub(super) fn packet(item: &Item) -> Result<Option<u16>, ScenarioError> {
    const BYTES: std::ops::RangeInclusive<u64> = 64..=65_000;
    match &item.value {
        Value::Text(text) if text == PATH => Ok(None),
        Value::Integer(_) => item.integer(BYTES).map(|bytes| Some(bytes as u16)),
        _ => item.quantity(Kind::Size, BYTES).map(|bytes| Some(bytes as u16)),
    }
}

pub(super) fn print_packet(bytes: Option<u16>) -> String {
    bytes.map_or_else(|| PATH.to_owned(), |bytes| quantity::size(bytes.into()))
}

/// From a kilobit to ten gigabits a second.
pub(super) fn rate(item: &Item) -> Result<u64, ScenarioError> {
    item.quantity(Kind::Rate, 1_000..=10_000_000_000)
}

/// Up to what TCP's window can say (RFC 7323 §2.3).
pub(super) fn window(item: &Item) -> Result<u32, ScenarioError> {
    item.quantity(Kind::Size, 4_096..=1 << 30).map(|bytes| bytes as u32)
}

/// `"esp"` or `"none"`.
pub(super) fn ipsec(item: &Item) -> Result<bool, ScenarioError> {
    item.pick("way past or through IPsec", &[true, false], ipsec_name)
}

pub(super) const fn ipsec_name(protected: bool) -> &'static str {
    if protected { ESP } else { NONE }
}

/// Refuses what cannot flow.
pub(super) fn check(
    options: &Options,
    blame: &Item,
    (network_item, network): (&Item, &Network),
) -> Result<(), ScenarioError> {
    let Traffic { kind: Some(kind), direction, packet_bytes, protected, .. } = options.traffic else {
        return Ok(());
    };
    if options.childless && protected {
        let message = "traffic needs an SA to go through";
        let label = "`traffic` with `childless = true`";
        return Err(blame.spot.error(message, label).hint("`childless = false`, or `ipsec = \"none\"`"));
    }
    if kind != TrafficKind::Bulk {
        return Ok(());
    }
    if packet_bytes.is_some_and(|bytes| bytes < BULK_PACKET_BYTES_MIN) {
        let message = format!("bulk traffic needs packets of at least {BULK_PACKET_BYTES_MIN} B");
        return Err(blame.spot.error(message, "`traffic_packet` with `traffic = \"bulk\"`"));
    }
    let is_endless = |wanted: bool, rate: Option<u64>| wanted && rate.is_none();
    if is_endless(direction.is_up(), network.up.rate_bits_per_s)
        || is_endless(direction.is_down(), network.down.rate_bits_per_s)
    {
        let message = "bulk traffic needs a network with a rate, or nothing would slow it down";
        let hint = "another network, or `up` and `down` rates of its own: `{ base = \"loopback\", up = \"1 Gbit/s\", down = \"1 Gbit/s\" }`";
        return Err(network_item.spot.error(message, "this network").hint(hint));
    }
    Ok(())
}

/// A scenario's traffic is made in virtual time.
pub(super) fn check_world(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    if plan.world == WorldKind::Sim || plan.rows.iter().all(|row| row.options.traffic.kind.is_none()) {
        return Ok(());
    }
    let spot = document.get("world").map_or_else(|| document.spot.start(), |item| item.spot.clone());
    let message = "the traffic of a scenario is made in the simulator";
    Err(spot.error(message, "here").hint("`world = \"sim\"`, or leave `traffic` out"))
}

/// How a direction is called.
pub(super) fn direction(item: &Item) -> Result<TrafficDirection, ScenarioError> {
    item.pick("direction", &TrafficDirection::ALL, TrafficDirection::name)
}
