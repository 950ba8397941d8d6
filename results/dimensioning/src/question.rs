//! What an operator asks: how many devices, how often they authenticate, and when.

use std::collections::BTreeMap;

use keytoll_analysis::Summary;
use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::trace::cost_table::MessagePrice;

use crate::cookies::Cookies;
use crate::daemon::DaemonAt;

/// A question of sizing.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Devices that have a subscription.
    pub devices_registered: u64,
    /// Those that hold a session at the same time.
    pub devices_at_once: u64,
    /// How long after an authentication a device authenticates anew.
    pub reauthenticate_s: f64,
    /// How long keys last; `None`: as long as the authentication.
    pub rekey_s: Option<f64>,
    /// When devices authenticate.
    pub arrivals: Arrivals,
    /// The delay that 99 % of authentications must not exceed.
    pub p99_s: f64,
    /// Cores of nodes that have them already, by the node's name; others are given as many as they need.
    pub cores: BTreeMap<String, u32>,
    /// How long a server's store takes for a look-up, of which there is one in an authentication; a core waits for it.
    pub stores_s: BTreeMap<String, f64>,
    /// The processor of the serving nodes.
    pub processor: Processor,
    /// Sites that share the load, one of which may be lost; at least two.
    pub sites: u32,
    /// Devices that may be given another method.
    pub devices_moved: u64,
    /// The methods to look at; all of the run if empty.
    pub methods: Vec<String>,
}

/// When devices authenticate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At any time, independently of each other.
    Poisson,
    /// So many within a time, besides those that authenticate at any time.
    Storm {
        /// The devices.
        devices: u64,
        /// The time.
        within_s: f64,
    },
    /// Along a day: nobody at its beginning, most in its middle, on straight lines between.
    Diurnal,
}

/// A processor, scaled by its clock only.
#[derive(Debug, Clone, PartialEq)]
pub enum Processor {
    /// That of each node in the run.
    AsRun,
    /// The machine that the run was made on.
    Host,
    /// One with this clock.
    Clock {
        /// Its name.
        name: String,
        /// Its frequency.
        hz: f64,
    },
}

/// A run to size from.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The measurements.
    pub summary: &'a Summary,
    /// The plan of the run.
    pub planned: Planned,
}

/// The part of a run's plan that sizing needs in addition to its measurements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// The clocks of nodes' processors in the simulator, by name; others are the machine's own.
    pub clocks_hz: BTreeMap<String, f64>,
    /// The cookies of gateways, by the method, variant, network and topology of the row; gateways of other rows ask for none.
    pub cookies: BTreeMap<[String; 4], Cookies>,
    /// The cost of a message by the load of its node, where the run was charged such prices.
    pub message: Option<MessagePrice>,
    /// Daemons that rows are sized with, too; one for each node at most.
    pub daemons: Vec<DaemonAt>,
}

/// The name of a row: its method, variant, network and topology.
pub(crate) fn row_name(row: &SummaryRow) -> [String; 4] {
    [&row.method, &row.variant, &row.network, &row.topology].map(Clone::clone)
}

/// The rate in the middle of a day over its mean: `diurnal 0/s to RATE` rises and falls on straight lines.
const PEAK_OF_DAY: f64 = 2.0;

impl Question {
    /// Authentications a second at the busiest time, without a storm.
    pub fn steady_per_s(&self) -> f64 {
        let mean = self.devices_at_once as f64 / self.reauthenticate_s;
        if self.arrivals == Arrivals::Diurnal { PEAK_OF_DAY * mean } else { mean }
    }

    /// Those of the storm among them.
    pub fn storm_per_s(&self) -> f64 {
        match self.arrivals {
            Arrivals::Storm { devices, within_s } => devices as f64 / within_s,
            Arrivals::Poisson | Arrivals::Diurnal => 0.0,
        }
    }

    /// How many devices a storm has.
    pub(crate) fn storm_devices(&self) -> f64 {
        match self.arrivals {
            Arrivals::Storm { devices, .. } => devices as f64,
            Arrivals::Poisson | Arrivals::Diurnal => 0.0,
        }
    }

    /// Changes of keys between authentications, a second, all the time.
    pub fn rekeys_per_s(&self) -> Option<f64> {
        // The last key of an authentication ends with it.
        let of_each = |rekey_s: f64| ((self.reauthenticate_s / rekey_s).ceil() - 1.0) / self.reauthenticate_s;
        self.rekey_s.map(|rekey_s| self.devices_at_once as f64 * of_each(rekey_s))
    }
}

#[cfg(test)]
pub(crate) fn example() -> Question {
    Question {
        devices_registered: 2_000_000,
        devices_at_once: 1_440_000,
        reauthenticate_s: 28_800.0,
        rekey_s: None,
        arrivals: Arrivals::Poisson,
        p99_s: 0.3,
        cores: BTreeMap::new(),
        stores_s: BTreeMap::new(),
        processor: Processor::AsRun,
        sites: 2,
        devices_moved: 100_000,
        methods: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_become_rates() {
        let question = example();
        assert_eq!(
            (question.steady_per_s(), question.storm_per_s(), question.rekeys_per_s()),
            (50.0, 0.0, None)
        );
        let day = Question { arrivals: Arrivals::Diurnal, ..example() };
        assert_eq!(day.steady_per_s(), 100.0);
        let storm = Question { arrivals: Arrivals::Storm { devices: 50_000, within_s: 10.0 }, ..example() };
        assert_eq!((storm.steady_per_s(), storm.storm_per_s()), (50.0, 5000.0));
    }

    /// A million clients whose keys last an hour change 278 a second; the eighth hour ends in a new authentication.
    #[test]
    fn keys_are_changed_between_authentications() {
        let hourly = Question { devices_at_once: 1_000_000, rekey_s: Some(3600.0), ..example() };
        let expected = 1e6 * 7.0 / 28_800.0;
        assert!((hourly.rekeys_per_s().unwrap() - expected).abs() < 1e-9);
        let never = Question { rekey_s: Some(28_800.0), ..example() };
        assert_eq!(never.rekeys_per_s(), Some(0.0));
    }
}
