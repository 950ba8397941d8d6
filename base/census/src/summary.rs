//! `population` of a row in `summary.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::links::{self, LinkSummary, Way};
use crate::loss::{Loss, LossSummary};
use crate::series::{Second, Usage};
use crate::{Census, Known, nanos};

/// What became of a population.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PopulationSummary {
    /// Devices that arrived.
    pub devices: u64,
    /// Attempts that were meant to begin: first ones, re-authentications and those at another address.
    pub offered: u64,
    /// Attempts that began.
    pub begun: u64,
    /// Those that succeeded.
    pub established: u64,
    /// Those that failed.
    pub failed: u64,
    /// The failed ones by `node: reason`, where the node is the one that detected the failure; with real targets by reason.
    pub failures: BTreeMap<String, u64>,
    /// Those without an outcome at the end.
    pub in_flight: u64,
    /// The most attempts without an outcome at the end of any second.
    pub in_flight_max: u64,
    /// The most devices that were established at once.
    pub present_max: u64,
    /// The length of the load, in seconds.
    pub duration_s: f64,
    /// When the last attempt had succeeded, in seconds from the start of the load, to the second; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_established_s: Option<u64>,
    /// The most attempts that succeeded in one second.
    pub established_per_s_max: u64,
    /// Attempts that were meant to begin in a second, over the length of the schedule; in a closed loop until the last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Attempts that succeeded in a second, over the length of the schedule, or until the last success if that is later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub established_per_s: Option<f64>,
    /// From the intended start until it is established, over those that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Percentiles>,
    /// From the intended start until it began: how late the generator was, or how long a closed door was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<Percentiles>,
    /// Messages of all nodes.
    pub messages: Repeated,
    /// Cookies of IKE; absent if no gateway asked for any, and with real targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookies: Option<CookieSummary>,
    /// Packets lost on links or refused by their queues.
    pub lost_packets: u64,
    /// What arrived and could not be used.
    pub discards: u64,
    /// The nodes, by name; several gateways are `gw-1` and so on.
    pub nodes: BTreeMap<String, NodeSummary>,
    /// The loss of a gateway; absent if none was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSummary>,
    /// The links, each direction as `SENDER-RECEIVER`; access links together. Empty with real targets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, LinkSummary>,
    /// Heap of a device in all nodes together, when the most were there; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_device: Option<f64>,
}

/// Messages, and how many of them were sent again.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Repeated {
    /// All that were sent.
    pub sent: u64,
    /// Those of them that had been sent before.
    pub again: u64,
    /// All ÷ those sent for the first time; 1 if none was sent again.
    pub amplification: f64,
}

/// Cookies of IKE (RFC 7296 §2.6).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CookieSummary {
    /// Messages in which a gateway asked for one.
    pub messages: u64,
    /// Attempts that began once more with the one that they were asked for: round trips that cookies cost.
    pub repeated: u64,
    /// Of all attempts that began, the share that this is.
    pub share_of_begun: f64,
}

/// Percentiles in milliseconds, exact to a thousandth of their length.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// How many values this is over.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// 99.99th percentile.
    pub p99_99: f64,
    /// Greatest.
    pub max: f64,
}

/// The use of a node.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodeSummary {
    /// How many inputs it handles at once.
    pub cores: u32,
    /// The share of its cores' time that it was busy, over the whole load.
    pub utilisation: f64,
    /// The same in its busiest second.
    pub utilisation_max: f64,
    /// The mean length of its queue in the second in which that was longest.
    pub queue_mean_max: f64,
    /// The greatest length of its queue.
    pub queue_max: u64,
    /// Inputs that found its queue full, and were dropped.
    #[serde(default)]
    pub refused_inputs: u64,
    /// Busy time for each attempt that succeeded, in nanoseconds, of one of several gateways for each that succeeded at it; absent if none
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_ns_per_established: Option<f64>,
    /// For how long its cores were busy, in seconds, all together.
    #[serde(default)]
    pub busy_s: f64,
    /// What arrived at it and could not be used.
    #[serde(default)]
    pub discards: u64,
    /// Attempts that succeeded at it; absent if it is not one of several gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub established: Option<u64>,
    /// Its heap when the most devices were there, in bytes; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_bytes: Option<u64>,
}

pub(crate) fn of(census: &Census) -> PopulationSummary {
    let sum = |of: fn(&Second) -> u64| census.seconds.iter().map(of).sum::<u64>();
    let (sent, again) = (sum(|second| second.messages), sum(|second| second.retransmissions));
    let amplification = if sent > again { sent as f64 / (sent - again) as f64 } else { 1.0 };
    let points = census.points();
    let last = census.seconds.iter().rposition(|second| second.established > 0);
    let [offered, established] = [sum(|second| second.offered), sum(|second| second.established)];
    let begun = sum(|second| second.begun);
    // Of a schedule that was interrupted what has passed of it.
    let span = census.span.min(census.end);
    let asked = if span.is_zero() { census.last_established } else { span };
    PopulationSummary {
        devices: census.devices,
        offered,
        begun,
        established,
        failed: sum(|second| second.failed),
        failures: census.failures.clone(),
        in_flight: census.in_flight(),
        in_flight_max: points.iter().map(|point| point.in_flight).max().unwrap_or(0),
        present_max: census.present_max,
        duration_s: census.end.as_secs_f64(),
        last_established_s: last.map(|place| place as u64 + 1),
        offered_per_s: per_s(offered, asked),
        established_per_s: per_s(established, asked.max(census.last_established)),
        established_per_s_max: census.seconds.iter().map(|second| second.established).max().unwrap_or(0),
        delay_ms: census.delays.percentiles(),
        late_ms: census.late.percentiles(),
        messages: Repeated { sent, again, amplification },
        cookies: cookies(sum(|second| second.cookies_asked), sum(|second| second.cookies_shown), begun),
        lost_packets: sum(|second| second.lost_packets),
        discards: sum(|second| second.discards),
        nodes: census
            .nodes
            .iter()
            .map(|(name, known)| (name.clone(), node(census, name, *known, established)))
            .collect(),
        loss: census.loss.as_ref().map(Loss::summary),
        links: links(census),
        bytes_per_device: census.bytes_per_device,
    }
}

fn per_s(count: u64, span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| count as f64 / span.as_secs_f64())
}

fn cookies(asked: u64, round_trips: u64, begun: u64) -> Option<CookieSummary> {
    let share_of_begun = round_trips as f64 / begun.max(1) as f64;
    (asked > 0).then_some(CookieSummary { messages: asked, repeated: round_trips, share_of_begun })
}

fn links(census: &Census) -> BTreeMap<String, LinkSummary> {
    let of = |(place, way): (usize, &Way)| {
        let flows = census.seconds.iter().filter_map(|second| second.flows.get(place).copied());
        (way.name.clone(), links::summary(way, flows, census.end))
    };
    census.ways.iter().enumerate().map(of).collect()
}

fn node(census: &Census, name: &str, known: Known, established: u64) -> NodeSummary {
    let usages = || census.seconds.iter().filter_map(|second| second.nodes.get(name));
    let sum = |of: fn(&Usage) -> u64| usages().map(of).sum::<u64>();
    let busy_ns = sum(|usage| usage.busy_ns);
    let of_cores = f64::from(known.cores);
    let busiest_ns = usages().map(|usage| usage.busy_ns).max().unwrap_or(0);
    let utilisation = busy_ns as f64 / (nanos(census.end).max(1) as f64 * of_cores);
    // A last second that is shorter may be the busiest.
    let busiest = busiest_ns as f64 / (crate::SECOND_NS as f64 * of_cores);
    let own = known.is_one_of_several.then(|| sum(|usage| usage.established));
    let established = own.unwrap_or(established);
    NodeSummary {
        cores: known.cores,
        utilisation,
        utilisation_max: busiest.max(utilisation),
        queue_mean_max: usages().map(|usage| usage.queue_mean).fold(0.0, f64::max),
        queue_max: usages().map(|usage| usage.queue_max).max().unwrap_or(0),
        refused_inputs: usages().map(|usage| usage.refused).sum(),
        busy_ns_per_established: (established > 0).then(|| busy_ns as f64 / established as f64),
        busy_s: busy_ns as f64 / crate::SECOND_NS as f64,
        discards: sum(|usage| usage.discards),
        established: own,
        heap_bytes: census.heaps.get(name).copied(),
    }
}
