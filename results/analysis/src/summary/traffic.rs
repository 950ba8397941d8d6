//! The object `traffic` of a row: user traffic through the SAs, or outside them, after each authentication.

use keytoll_trace::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Named;
use crate::metrics::{TrafficNodeTally, TrafficTally};
use crate::stats::{Distribution, Welford, interval95};
use crate::summary::Median;

/// User traffic. Means and intervals are over the authentications with traffic; packet times are over all packets of all of
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficSummary {
    /// The number of authentications with traffic.
    pub n: u64,
    /// New data that arrived, in Mbit/s: `up` at the gateway, `down` at the device (for echoes the replies' data).
    /// Absent if none arrived.
    pub goodput_mbit_s: Named<Measure>,
    /// Packets with data, means.
    pub packets: TrafficPackets,
    /// Round-trip time: of echoes, and of bulk data until its acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<Times>,
    /// One-way delay of datagrams at a constant rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_ms: Option<Times>,
    /// The longest time without new data, of each authentication's traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_gap_ms: Option<Times>,
    /// Bytes added to each packet on the path, answers and acknowledgements included: ESP, outer headers, fragments'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_bytes: Option<f64>,
    /// Rekeyings meanwhile, mean.
    pub rekeys: f64,
    /// Costs of the device and the gateway.
    pub nodes: Named<TrafficNodeSummary>,
}

/// Packets with data, means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficPackets {
    /// Sent by the sources, including retransmissions.
    pub sent: f64,
    /// Of these, sent again.
    pub repeated: f64,
    /// Of these, those that did not arrive; for echoes, those without a reply.
    pub lost: f64,
    /// The number of retransmission timeouts of sources.
    pub timeouts: f64,
}

/// A mean over authentications; for CPU time also a median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower end of the 95 % two-sided Student-t interval of the mean; absent below two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_high: Option<f64>,
    /// Median; absent for rates of data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Lower end of the distribution-free 95 % interval of the median; absent below six values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_high: Option<f64>,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// Standard deviation of the sample; absent below two values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// How many values this is over.
    pub n: u64,
}

impl Measure {
    /// The median with its interval, if there is one.
    pub fn median(&self) -> Option<Median> {
        Some(Median { value: self.p50?, interval: self.p50_ci95_low.zip(self.p50_ci95_high) })
    }

    fn with_median(values: &Distribution, scale: f64) -> Option<Self> {
        let interval = values.quantile_interval95(0.5);
        Some(Self {
            p50: values.quantiles([0.50]).map(|[p50]| p50 * scale),
            p50_ci95_low: interval.map(|interval| interval.low * scale),
            p50_ci95_high: interval.map(|interval| interval.high * scale),
            ..Self::of(values.moments(), scale)?
        })
    }

    /// The mean with its interval.
    pub fn mean_interval(&self) -> Median {
        Median { value: self.mean, interval: self.ci95_low.zip(self.ci95_high) }
    }

    /// Half the width of the interval: the number after ±.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.ci95_high? - self.ci95_low?) / 2.0)
    }

    fn of(values: &Welford, scale: f64) -> Option<Self> {
        let interval = interval95(values);
        Some(Self {
            mean: values.mean()? * scale,
            ci95_low: interval.map(|interval| interval.low * scale),
            ci95_high: interval.map(|interval| interval.high * scale),
            p50: None,
            p50_ci95_low: None,
            p50_ci95_high: None,
            min: values.min()? * scale,
            max: values.max()? * scale,
            stddev: values.stddev().map(|stddev| stddev * scale),
            n: values.n(),
        })
    }
}

/// Times of many packets in milliseconds. They are not independent, so there is no interval of the mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Arithmetic mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
    /// How many.
    pub n: u64,
}

impl Times {
    fn of(values: &Distribution) -> Option<Self> {
        let moments = values.moments();
        let [p50, p95, p99] = values.quantiles([0.50, 0.95, 0.99])?.map(|ns| ns * MS_PER_NS);
        Some(Self {
            mean: moments.mean()? * MS_PER_NS,
            min: moments.min()? * MS_PER_NS,
            p50,
            p95,
            p99,
            max: moments.max()? * MS_PER_NS,
            n: moments.n(),
        })
    }
}

/// Costs of traffic at one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficNodeSummary {
    /// CPU time of this machine per IP packet that either node sent, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_packet: Option<Measure>,
    /// The part spent in crypto operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crypto_ns_per_packet: Option<f64>,
    /// Share of the sources' time in which the node computed, in virtual time, with traffic and everything else.
    pub busy_share: f64,
}

const MS_PER_NS: f64 = 1e-6;
const NS_PER_PS: f64 = 1e-3;
const MBIT_PER_BIT: f64 = 1e-6;

/// Writes up the traffic of a row.
pub(super) fn traffic(tally: &TrafficTally) -> TrafficSummary {
    let mean = |values: &Welford| values.mean().unwrap_or(0.0);
    TrafficSummary {
        n: tally.sent.n(),
        goodput_mbit_s: WAYS.iter().filter_map(|&(name, nodes)| goodput(tally, name, nodes)).collect(),
        packets: TrafficPackets {
            sent: mean(&tally.sent),
            repeated: mean(&tally.repeated),
            lost: mean(&tally.lost),
            timeouts: mean(&tally.timeouts),
        },
        round_trip_ms: Times::of(&tally.round_trip_ns),
        one_way_ms: Times::of(&tally.one_way_ns),
        longest_gap_ms: Times::of(&tally.longest_gap_ns),
        overhead_bytes: tally.overhead_bytes.mean(),
        rekeys: mean(&tally.rekeys),
        nodes: tally.nodes.iter().map(|(node, costs)| (node.name().to_owned(), of_node(costs))).collect(),
    }
}

/// The directions, and where data arrives.
const WAYS: [(&str, &[Node]); 2] = [("up", &Node::SERVING), ("down", &[Node::Ue])];

fn goodput(tally: &TrafficTally, name: &str, nodes: &[Node]) -> Option<(String, Measure)> {
    let arrived = nodes.iter().find_map(|node| tally.goodput.get(node))?;
    Some((name.to_owned(), Measure::of(arrived, MBIT_PER_BIT)?))
}

fn of_node(costs: &TrafficNodeTally) -> TrafficNodeSummary {
    TrafficNodeSummary {
        cpu_ns_per_packet: Measure::with_median(&costs.cpu_ps_per_packet, NS_PER_PS),
        crypto_ns_per_packet: costs.crypto_ns_per_packet.mean(),
        busy_share: costs.busy_share.mean().unwrap_or(0.0),
    }
}
