//! Delays under load: without waits, with those of queues, and with the queue that a storm leaves.

use crate::delay::{self, Unloaded, Waits};
use crate::outcome::CookieLoad;

/// The delays of a row at a load with which every node keeps up.
pub(crate) struct Loaded {
    /// Delays without waits, the round trip of cookies included.
    pub(crate) without_waits: Unloaded,
    pub(crate) waits: Waits,
    /// The additional wait of the last device of a storm.
    pub(crate) backlog_s: f64,
    pub(crate) cookies: Option<CookieLoad>,
}

impl Loaded {
    /// The share of delays that are longer.
    pub(crate) fn exceed(&self, s: f64) -> f64 {
        delay::exceed(&self.without_waits, &self.waits, s)
    }

    /// The share of devices for which the queue of a storm alone takes longer.
    pub(crate) fn swamped(&self, s: f64) -> f64 {
        if self.backlog_s > s { 1.0 - s / self.backlog_s } else { 0.0 }
    }

    /// The delay that this share does not exceed.
    pub(crate) fn quantile_s(&self, share: f64) -> f64 {
        delay::quantile_s(&self.without_waits, &self.waits, share) + share * self.backlog_s
    }

    /// The sum of waits that this share does not exceed.
    pub(crate) fn waiting_s(&self, share: f64) -> f64 {
        self.waits.quantile_s(share) + share * self.backlog_s
    }
}
