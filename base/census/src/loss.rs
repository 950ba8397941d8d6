//! What the loss of a gateway does: how many devices had it, and how long each was without one.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Delays, Percentiles};

/// A loss as it is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loss {
    pub(crate) gateway: String,
    pub(crate) at: Duration,
    pub(crate) devices: u64,
    pub(crate) outages: Delays,
}

/// The loss of a gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LossSummary {
    /// The node that was lost.
    pub gateway: String,
    /// When, in seconds from the start of the load.
    pub at_s: f64,
    /// Devices that were established at it.
    pub devices: u64,
    /// Those of them that were established at another one until the end.
    pub devices_back: u64,
    /// From the loss until then, over those; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_ms: Option<Percentiles>,
}

impl Loss {
    pub(crate) fn summary(&self) -> LossSummary {
        LossSummary {
            gateway: self.gateway.clone(),
            at_s: self.at.as_secs_f64(),
            devices: self.devices,
            devices_back: self.outages.count(),
            outage_ms: self.outages.percentiles(),
        }
    }
}
