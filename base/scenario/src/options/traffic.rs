//! `traffic` and its keys: user traffic after the SAs are established.

use std::time::Duration;

use super::{Setting, field, quoted};
use crate::catalogue::facet::IPSEC;
use crate::diagnostic::ScenarioError;
use crate::families::Options;
use crate::plan::{Network, Plan, WorldKind};
use crate::quantity::{self, Kind};
use crate::tree::{Item, Table, Value};

/// User traffic through the SAs after each authentication, or outside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Its kind; `None`: no traffic.
    pub kind: Option<TrafficKind>,
    /// Its duration.
    pub duration: Duration,
    /// Length of its IP packets in bytes; `None`: the longest unfragmented ones, or those of `ping`.
    pub packet_bytes: Option<u16>,
    /// Its direction; echoes are answered and bulk data is acknowledged in the other direction.
    pub direction: TrafficDirection,
    /// Bits of IP packets per second; only for constant traffic.
    pub rate_bits_per_s: u64,
    /// Time from one echo request to the next.
    pub interval: Duration,
    /// The window of bulk data in bytes.
    pub window_bytes: u32,
    /// Whether it goes through the child SA; otherwise outside IPsec, for comparison.
    pub protected: bool,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            kind: None,
            duration: Duration::from_secs(10),
            packet_bytes: None,
            direction: TrafficDirection::Up,
            rate_bits_per_s: 1_000_000,
            interval: Duration::from_secs(1),
            window_bytes: 1 << 19,
            protected: true,
        }
    }
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficKind {
    /// ICMP echo requests at an interval.
    Echo,
    /// UDP datagrams at a constant rate.
    Constant,
    /// As much as a window like that of TCP allows.
    Bulk,
}

impl TrafficKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Echo, Self::Constant, Self::Bulk];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "icmp",
            Self::Constant => "constant",
            Self::Bulk => "bulk",
        }
    }
}

/// The direction of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficDirection {
    /// From the device.
    Up,
    /// To the device.
    Down,
    /// Both at once.
    Both,
}

impl TrafficDirection {
    /// Every direction.
    pub const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Both];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    /// Whether the device is a source.
    pub fn is_up(self) -> bool {
        self != Self::Down
    }

    /// Whether the gateway sends.
    pub fn is_down(self) -> bool {
        self != Self::Up
    }
}

/// The word for no traffic, or no IPsec.
const NONE: &str = "none";
/// The word for protection by ESP.
const ESP: &str = "esp";
/// The word for the longest unfragmented packets.
const PATH: &str = "path";
/// Headers of IPv6 and TCP and some data.
const BULK_PACKET_BYTES_MIN: u16 = 128;

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting::new(
        "traffic",
        &["none", "icmp", "constant", "bulk"],
        "what users send once the device is in",
        field!(options.traffic.kind, kind, |kind| quoted(kind_name(*kind))),
    ),
    Setting::new(
        "traffic_duration",
        &["100 ms to 3600 s"],
        "for how long they send it",
        field!(options.traffic.duration, duration, |time| quoted(&quantity::duration(*time))),
    )
    .needs(|options, _| options.traffic.kind.is_some(), WITHOUT),
    Setting::new(
        "traffic_packet",
        &["path", "64 B to 65000 B"],
        "length of its IP packets; `path`: the longest that go unfragmented",
        field!(options.traffic.packet_bytes, packet, |bytes| quoted(&print_packet(bytes))),
    )
    .needs(|options, _| options.traffic.kind.is_some(), WITHOUT),
    Setting::new(
        "traffic_direction",
        &["up", "down", "both"],
        "which way it goes",
        field!(options.traffic.direction, direction, |way| quoted(way.name())),
    )
    .needs(|options, _| options.traffic.kind.is_some(), WITHOUT),
    Setting::new(
        "traffic_rate",
        &["1 kbit/s to 10 Gbit/s"],
        "how much of it there is",
        field!(options.traffic.rate_bits_per_s, rate, |rate| quoted(&quantity::rate(*rate))),
    )
    .needs(
        |options, _| options.traffic.kind == Some(TrafficKind::Constant),
        "without `traffic = \"constant\"`",
    ),
    Setting::new(
        "traffic_interval",
        &["10 us to 60 s"],
        "from one echo request to the next",
        field!(options.traffic.interval, interval, |time| quoted(&quantity::duration(*time))),
    )
    .needs(|options, _| options.traffic.kind == Some(TrafficKind::Echo), "without `traffic = \"icmp\"`"),
    Setting::new(
        "traffic_window",
        &["4096 B to 1073741824 B"],
        "window of its TCP connection",
        field!(options.traffic.window_bytes, window, |bytes| quoted(&quantity::size((*bytes).into()))),
    )
    .needs(|options, _| options.traffic.kind == Some(TrafficKind::Bulk), "without `traffic = \"bulk\"`"),
    Setting::new(
        "ipsec",
        &["esp", "none"],
        "through IPsec or past it",
        field!(options.traffic.protected, ipsec, |protected| quoted(ipsec_name(*protected))),
    )
    .of(&IPSEC)
    .needs(|options, _| options.traffic.kind.is_some(), WITHOUT),
];

const WITHOUT: &str = "without `traffic`";

/// `"none"`, or a kind.
fn kind(item: &Item) -> Result<Option<TrafficKind>, ScenarioError> {
    let all: Vec<_> = std::iter::once(None).chain(TrafficKind::ALL.map(Some)).collect();
    item.pick("kind of traffic", &all, kind_name)
}

fn kind_name(kind: Option<TrafficKind>) -> &'static str {
    kind.map_or(NONE, TrafficKind::name)
}

/// From a tenth of a second to an hour.
fn duration(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 100_000_000..=3_600_000_000_000).map(Duration::from_nanos)
}

/// From ten microseconds to a minute.
fn interval(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 10_000..=60_000_000_000).map(Duration::from_nanos)
}

/// `"path"`, or the length of an IP packet: 64 bytes suffice for every header.
fn packet(item: &Item) -> Result<Option<u16>, ScenarioError> {
    const BYTES: std::ops::RangeInclusive<u64> = 64..=65_000;
    match &item.value {
        Value::Text(text) if text == PATH => Ok(None),
        Value::Integer(_) => item.integer(BYTES).map(|bytes| Some(bytes as u16)),
        _ => item.quantity(Kind::Size, BYTES).map(|bytes| Some(bytes as u16)),
    }
}

#[allow(clippy::ref_option, reason = "printers take what a field holds")]
fn print_packet(bytes: &Option<u16>) -> String {
    bytes.map_or_else(|| PATH.to_owned(), |bytes| quantity::size(bytes.into()))
}

/// From a kilobit to ten gigabits a second.
fn rate(item: &Item) -> Result<u64, ScenarioError> {
    item.quantity(Kind::Rate, 1_000..=10_000_000_000)
}

// RFC 7323 §2.3: the largest window of TCP.
fn window(item: &Item) -> Result<u32, ScenarioError> {
    item.quantity(Kind::Size, 4_096..=1 << 30).map(|bytes| bytes as u32)
}

/// `"esp"` or `"none"`.
fn ipsec(item: &Item) -> Result<bool, ScenarioError> {
    item.pick("way past or through IPsec", &[true, false], ipsec_name)
}

const fn ipsec_name(protected: bool) -> &'static str {
    if protected { ESP } else { NONE }
}

/// Refuses impossible traffic.
pub(super) fn check(
    options: &Options,
    blame: &Item,
    (network_item, network): (&Item, &Network),
) -> Result<(), ScenarioError> {
    let Traffic { kind: Some(kind), direction, packet_bytes, protected, .. } = options.traffic else {
        return Ok(());
    };
    if !options.has_traffic_sa() && protected {
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
    // A radio channel has its own rate.
    let is_endless = |wanted: bool, rate: Option<u64>| wanted && rate.is_none() && network.air.is_none();
    if is_endless(direction.is_up(), network.up.rate_bits_per_s)
        || is_endless(direction.is_down(), network.down.rate_bits_per_s)
    {
        let message = "bulk traffic needs a network with a rate, or nothing would slow it down";
        let hint = "another network, or `up` and `down` rates of its own: `{ base = \"loopback\", up = \"1 Gbit/s\", down = \"1 Gbit/s\" }`";
        return Err(network_item.spot.error(message, "this network").hint(hint));
    }
    Ok(())
}

/// Traffic of scenarios exists in virtual time only.
pub(crate) fn check_world(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    if plan.world == WorldKind::Sim || plan.rows.iter().all(|row| row.options.traffic.kind.is_none()) {
        return Ok(());
    }
    let spot = document.get("world").map_or_else(|| document.spot.start(), |item| item.spot.clone());
    let message = "the traffic of a scenario is made in the simulator";
    Err(spot.error(message, "here").hint("`world = \"sim\"`, or leave `traffic` out"))
}

/// How a direction is called.
fn direction(item: &Item) -> Result<TrafficDirection, ScenarioError> {
    item.pick("direction", &TrafficDirection::ALL, TrafficDirection::name)
}
