//! The object `moves` of a row: the device has gone to another address after each authentication, and has announced it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Delay, LinkMeans, Median, delay, means};
use crate::Named;
use crate::metrics::{MoveNodeTally, MoveTally};

/// Moves of the device, one after each authentication that was established and has kept its SA until then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovesSummary {
    /// How many.
    pub n: u64,
    /// Those whose new address was verified.
    pub succeeded: u64,
    /// From the announcement until the new address was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_ms: Option<Delay>,
    /// From the announcement until the first packet of an SA arrived at the new address; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_ms: Option<Delay>,
    /// Packets of SAs that came to the old address meanwhile and were lost, mean; absent if none arrived at a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_packets: Option<f64>,
    /// What was said over all links until the new address was verified, means over those where it was; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signalling: Option<LinkMeans>,
    /// The cost of each node.
    pub cpu: Named<MoveCpu>,
}

/// The CPU cost of a move at a node: CPU time of this machine in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveCpu {
    /// Mean.
    pub ns: f64,
    /// Median.
    pub ns_p50: f64,
    /// Lower end of the distribution-free 95 % interval of the median; absent below six values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_p50_ci95_high: Option<f64>,
    /// Median of the time spent in crypto operations.
    pub crypto_ns_p50: f64,
    /// The number of moves.
    pub n: u64,
}

impl MoveCpu {
    /// The median with its interval, in nanoseconds.
    pub fn median(&self) -> Median {
        Median { value: self.ns_p50, interval: self.ns_p50_ci95_low.zip(self.ns_p50_ci95_high) }
    }

    fn of(costs: &MoveNodeTally) -> Option<Self> {
        let interval = costs.cpu_ns.quantile_interval95(0.5);
        let [ns_p50] = costs.cpu_ns.quantiles([0.5])?;
        let [crypto_ns_p50] = costs.crypto_ns.quantiles([0.5])?;
        Some(Self {
            ns: costs.cpu_ns.moments().mean()?,
            ns_p50,
            ns_p50_ci95_low: interval.map(|interval| interval.low),
            ns_p50_ci95_high: interval.map(|interval| interval.high),
            crypto_ns_p50,
            n: costs.cpu_ns.moments().n(),
        })
    }
}

/// Writes up the moves of a row.
pub(super) fn moves(tally: &MoveTally) -> MovesSummary {
    let named = tally.nodes.iter();
    MovesSummary {
        n: tally.n,
        succeeded: tally.verified,
        verified_ms: delay(&tally.verified_ns),
        reached_ms: delay(&tally.reached_ns),
        missed_packets: tally.missed_packets.mean(),
        signalling: (tally.verified > 0).then(|| means(&tally.signalling, tally.verified)),
        cpu: named.filter_map(|(node, costs)| Some((node.name().to_owned(), MoveCpu::of(costs)?))).collect(),
    }
}
