//! A load on serving nodes, as formulas and as the simulator have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Named;

/// A row in the simulator: the busiest node is as busy as it was sized, at another rate and possibly with fewer cores.
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
    pub sized_utilisation: f64,
    /// By which factor the processors of the serving nodes are slower than the table's, so that few devices keep them as busy as many.
    pub slower_ratio: f64,
    /// 99th percentile of the delay without load, of devices alone in the simulator.
    pub unloaded_p99_ms: f64,
    /// What the formulas say.
    pub predicted: Side,
    /// What the simulator says.
    pub simulated: Side,
}

/// What formulas or the simulator say of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The share of each node's cores' time that it is busy.
    pub utilisation: Named<f64>,
    /// Delays; absent if a node does not keep up, or nobody succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Percentiles>,
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
