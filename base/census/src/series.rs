//! The series of a population: a point a second.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::delays::FewDelays;
use crate::links::Flow;
use crate::{Known, SECOND_NS};

/// What happened in one second.
#[derive(Debug, Clone, Default)]
pub(crate) struct Second {
    pub(crate) offered: u64,
    pub(crate) begun: u64,
    pub(crate) established: u64,
    pub(crate) failed: u64,
    pub(crate) left: u64,
    pub(crate) messages: u64,
    pub(crate) retransmissions: u64,
    pub(crate) cookies_asked: u64,
    pub(crate) cookies_shown: u64,
    pub(crate) lost_packets: u64,
    pub(crate) discards: u64,
    pub(crate) delays: FewDelays,
    pub(crate) nodes: BTreeMap<String, Usage>,
    /// By the place of the link's direction.
    pub(crate) flows: Vec<Flow>,
}

/// The use of a node in one second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) busy_ns: u64,
    pub(crate) queue_mean: f64,
    pub(crate) queue_max: u64,
    pub(crate) refused: u64,
    pub(crate) discards: u64,
    pub(crate) established: u64,
}

impl Second {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.begun += other.begun;
        self.established += other.established;
        self.failed += other.failed;
        self.left += other.left;
        self.messages += other.messages;
        self.retransmissions += other.retransmissions;
        self.cookies_asked += other.cookies_asked;
        self.cookies_shown += other.cookies_shown;
        self.lost_packets += other.lost_packets;
        self.discards += other.discards;
        self.delays.merge(&other.delays);
        self.flows.resize(self.flows.len().max(other.flows.len()), Flow::default());
        self.flows.iter_mut().zip(&other.flows).for_each(|(flow, more)| flow.merge(more));
        for (node, more) in &other.nodes {
            let usage = self.nodes.entry(node.clone()).or_default();
            usage.busy_ns += more.busy_ns;
            usage.queue_mean += more.queue_mean;
            usage.queue_max = usage.queue_max.max(more.queue_max);
            usage.refused += more.refused;
            usage.discards += more.discards;
            usage.established += more.established;
        }
    }
}

/// Nodes of a second at most: as many gateways as a population may have, and what is behind them.
pub(crate) const NODES_MAX: usize = 64 + 16;

/// A second of the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its beginning, from the start of the load.
    pub second: u64,
    /// Attempts that were meant to begin in it.
    pub offered: u64,
    /// Attempts that began in it.
    pub begun: u64,
    /// Attempts that succeeded in it.
    pub established: u64,
    /// Attempts that failed in it.
    pub failed: u64,
    /// Attempts offered until its end that have no outcome then.
    pub in_flight: u64,
    /// What was established and has not ended until its end.
    pub present: u64,
    /// Messages sent, those sent again included.
    pub messages: u64,
    /// Messages sent again.
    pub retransmissions: u64,
    /// Messages in which a gateway asked for a cookie, of those that it sent.
    #[serde(default)]
    pub cookies_asked: u64,
    /// Attempts that began once more with the cookie that they were asked for, a round trip more each.
    #[serde(default)]
    pub cookies_shown: u64,
    /// Packets lost on links or refused by their queues.
    pub lost_packets: u64,
    /// What arrived and could not be used.
    pub discards: u64,
    /// Delay from the intended start of those that succeeded in it, in milliseconds: median, 99th percentile and longest.
    pub delay_ms: Option<[f64; 3]>,
    /// The nodes, by name.
    #[serde(deserialize_with = "bounded::at_most::<_, _, NODES_MAX>")]
    pub nodes: Vec<NodePoint>,
}

impl Point {
    /// The node of this name; of several, as `gw-1` and so on, all together: the means of their cores and queues, the longest queue, and
    /// the sums.
    pub fn node(&self, name: &str) -> Option<NodePoint> {
        if let Some(node) = self.nodes.iter().find(|node| node.node == name) {
            return Some(node.clone());
        }
        let is_one =
            |node: &&NodePoint| node.established.is_some() && node.node.split('-').next() == Some(name);
        let all: Vec<&NodePoint> = self.nodes.iter().filter(is_one).collect();
        let mean =
            |of: fn(&NodePoint) -> f64| all.iter().map(|node| of(node)).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| NodePoint {
            node: name.to_owned(),
            utilisation: mean(|node| node.utilisation),
            queue_mean: mean(|node| node.queue_mean),
            queue_max: all.iter().map(|node| node.queue_max).max().unwrap_or(0),
            discards: all.iter().map(|node| node.discards).sum(),
            established: all.iter().map(|node| node.established).sum(),
        })
    }

    /// Those that are one of several.
    pub fn several(&self) -> impl Iterator<Item = &NodePoint> {
        self.nodes.iter().filter(|node| node.established.is_some())
    }
}

/// A node in a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodePoint {
    /// Its name.
    pub node: String,
    /// The share of its cores' time that it was busy.
    pub utilisation: f64,
    /// The mean length of its queue.
    pub queue_mean: f64,
    /// The greatest.
    pub queue_max: u64,
    /// What arrived at it and could not be used.
    #[serde(default)]
    pub discards: u64,
    /// Attempts that succeeded at it, if it is one of several gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub established: Option<u64>,
}

pub(crate) fn points(seconds: &[Second], nodes: &BTreeMap<String, Known>, end: Duration) -> Vec<Point> {
    let (mut in_flight, mut present) = (0_u64, 0_u64);
    let point = |(second, place): (&Second, u64)| {
        in_flight = (in_flight + second.offered).saturating_sub(second.established + second.failed);
        present = (present + second.established).saturating_sub(second.left);
        let quantile = |quantile| second.delays.quantile_ms(quantile);
        let delay_ms = quantile(0.5).zip(quantile(0.99)).zip(second.delays.max_ms());
        // The last second may be a part of one.
        let end_ns = crate::nanos(end);
        let length_ns = end_ns.saturating_sub(place * SECOND_NS).clamp(1, SECOND_NS);
        let length_ns = if end_ns > place * SECOND_NS { length_ns } else { SECOND_NS };
        let node = |(name, known): (&String, &Known)| {
            let usage = second.nodes.get(name).copied().unwrap_or_default();
            let utilisation = usage.busy_ns as f64 / (length_ns as f64 * f64::from(known.cores));
            NodePoint {
                node: name.clone(),
                utilisation,
                queue_mean: usage.queue_mean,
                queue_max: usage.queue_max,
                discards: usage.discards,
                established: known.is_one_of_several.then_some(usage.established),
            }
        };
        Point {
            second: place,
            offered: second.offered,
            begun: second.begun,
            established: second.established,
            failed: second.failed,
            in_flight,
            present,
            messages: second.messages,
            retransmissions: second.retransmissions,
            cookies_asked: second.cookies_asked,
            cookies_shown: second.cookies_shown,
            lost_packets: second.lost_packets,
            discards: second.discards,
            delay_ms: delay_ms.map(|((p50, p99), max)| [p50, p99, max]),
            nodes: nodes.iter().map(node).collect(),
        }
    };
    seconds.iter().zip(0..).map(point).collect()
}
