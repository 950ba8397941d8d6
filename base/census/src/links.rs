//! The links of a population, each direction by itself: what went over them, and how much more could have.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SECOND_NS, nanos};

/// One direction of a link, or of many alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    /// `SENDER-RECEIVER`.
    pub(crate) name: String,
    pub(crate) count: u64,
    /// Of each; none if nothing limits it, or not all have the same.
    pub(crate) bits_per_s: Option<u64>,
}

/// What one direction carried in a second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flow {
    pub(crate) bytes: u64,
    pub(crate) transit_max: Duration,
    pub(crate) refused_packets: u64,
}

impl Flow {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.transit_max = self.transit_max.max(other.transit_max);
        self.refused_packets += other.refused_packets;
    }
}

/// One direction of a link, or of all access links together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// How many links it is.
    pub links: u64,
    /// The rate of each, in bit/s; absent if nothing limits it, or they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_s: Option<u64>,
    /// Bytes that went over it, IP headers included, those lost on the way, too.
    pub bytes: u64,
    /// The share of its rate that was used, over the whole load; absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// The same in its busiest second; several links together are busier one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation_max: Option<f64>,
    /// The longest time from being handed to a link until arrival, waiting for it included, in milliseconds.
    pub transit_max_ms: f64,
    /// Packets that found its queue full.
    pub refused_packets: u64,
}

pub(crate) fn summary(way: &Way, flows: impl Iterator<Item = Flow>, end: Duration) -> LinkSummary {
    let (mut all, mut busiest_bytes) = (Flow::default(), 0);
    for flow in flows {
        all.merge(&flow);
        busiest_bytes = busiest_bytes.max(flow.bytes);
    }
    let share = |bytes: u64, ns: u64| {
        let bits = way.bits_per_s? as f64 * way.count as f64 * ns as f64 / SECOND_NS as f64;
        Some(bytes as f64 * 8.0 / bits)
    };
    let utilisation = share(all.bytes, nanos(end).max(1));
    let busiest = share(busiest_bytes, SECOND_NS.min(nanos(end).max(1)));
    LinkSummary {
        links: way.count,
        bits_per_s: way.bits_per_s,
        bytes: all.bytes,
        utilisation,
        utilisation_max: busiest.zip(utilisation).map(|(busiest, mean)| busiest.max(mean)),
        transit_max_ms: all.transit_max.as_secs_f64() * 1e3,
        refused_packets: all.refused_packets,
    }
}
