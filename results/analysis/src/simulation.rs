//! A load on serving nodes, as formulas and as the simulator have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Named;

/// A row in the simulator at the rate for which it was sized, with the same cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// The method's name in the catalogue.
    pub method: String,
    /// The options that differ from the method's default.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// How many devices authenticated.
    pub devices: u64,
    /// How many began a second.
    pub authentications_per_s: f64,
    /// Cores of each node.
    pub cores: Named<u32>,
    /// How busy the busiest node is in the sizing.
    #[serde(default)]
    pub sized_utilisation: f64,
    /// By which factor the processors of the serving nodes are slower than the sized ones, so that few devices keep them as busy as many: 1
    /// at the sized rate, which every simulation has now.
    #[serde(default = "at_the_sized_rate")]
    pub slower_ratio: f64,
    /// Clocks of the nodes' processors: with the costs of the table, an authentication takes each node as long as it was sized.
    pub clocks_hz: Named<f64>,
    /// How many times the median delay the arrivals last: queues are empty at the beginning and at the end.
    pub lasts_delays_count: f64,
    /// 99th percentile of the delay without load, of devices alone in the simulator.
    pub unloaded_p99_ms: f64,
    /// What the formulas say.
    pub predicted: Side,
    /// What the simulator says.
    pub simulated: Side,
}

/// The ratio of the processors of a simulation at the sized rate.
const fn at_the_sized_rate() -> f64 {
    SLOWER_RATIO
}

/// Processors of a simulation at the sized rate are as fast as the sized ones.
pub const SLOWER_RATIO: f64 = 1.0;

/// Whether formulas and simulator agree about delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The 99th percentiles are within a fifth of each other.
    Agree,
    /// They are not, and their 95 % intervals do not overlap.
    Differ,
    /// The samples are too small for a verdict.
    Open,
    /// The simulation is too short for a verdict: most devices meet queues that are still empty.
    TooShort,
}

/// The 99th percentiles of formulas and simulator differ by no more than this where they agree.
const NEAR: f64 = 0.2;
/// A simulation lasts at least this many delays.
pub const LASTS_DELAYS_MIN: f64 = 20.0;

impl Simulation {
    /// Whether both sides agree about delays. Nothing agrees with delays that one side does not have.
    pub fn agreement(&self) -> Agreement {
        let p99 = |side: &Side| side.delay_ms.map(|delay| delay.p99);
        let sides = [&self.predicted, &self.simulated];
        match (sides.map(p99), sides.map(|side| side.p99_ci95_ms)) {
            _ if self.lasts_delays_count < LASTS_DELAYS_MIN => Agreement::TooShort,
            ([Some(one), Some(other)], _) if (other / one - 1.0).abs() <= NEAR => Agreement::Agree,
            ([Some(_), Some(_)], [Some(one), Some(other)]) if one[1] < other[0] || other[1] < one[0] => {
                Agreement::Differ
            }
            ([Some(_), Some(_)], _) => Agreement::Open,
            _ => Agreement::Differ,
        }
    }
}

/// What formulas or the simulator say of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The share of each node's cores' time that it is busy.
    pub utilisation: Named<f64>,
    /// Delays; absent if a node does not keep up, or nobody succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Percentiles>,
    /// The 95 % interval of the 99th percentile, by the number of authentications; absent if they are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci95_ms: Option<[f64; 2]>,
    /// The share of authentications that succeed.
    pub succeeded_share: f64,
    /// All messages over those sent for the first time.
    pub amplification_ratio: f64,
}

/// Percentiles of a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}
