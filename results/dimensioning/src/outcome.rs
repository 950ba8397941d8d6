//! What a sizing says, as `keytoll size --json` prints it. Fields are only ever added.

use keytoll_analysis::Named;
pub use keytoll_analysis::simulation::{Percentiles, Side, Simulation};
use schemars::JsonSchema;
use serde::Serialize;

/// The format of [`Sizing`].
pub const FORMAT: u32 = 1;

/// What the devices of an operator need.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sizing {
    /// The version of this interface.
    pub format: u32,
    /// The title of the run.
    pub run: String,
    /// False if the run was interrupted.
    pub complete: bool,
    /// Devices with a subscription.
    pub devices_registered: u64,
    /// Devices with a session at the same time.
    pub devices_at_once: u64,
    /// How long after an authentication a device authenticates anew.
    pub reauthenticate_s: f64,
    /// When devices authenticate: `poisson`, `diurnal`, or a storm in words.
    pub arrivals: String,
    /// Authentications a second at the busiest time.
    pub authentications_per_s: f64,
    /// Those of them that the storm adds.
    pub storm_authentications_per_s: f64,
    /// Changes of keys a second between authentications; absent if keys last as long as authentications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rekeys_per_s: Option<f64>,
    /// The delay that 99 % must not exceed.
    pub p99_max_ms: f64,
    /// The processor of the serving nodes: `as in the run`, `host`, or its name.
    pub processor: String,
    /// The methods that were sized, in the order of the run.
    pub rows: Vec<SizedRow>,
    /// Rows of the run that cannot be sized, and why.
    pub left_out: Vec<String>,
    /// What changes if devices use the cheapest method instead of another one.
    pub replacements: Vec<Replacement>,
    /// The work of daemons over the work of the run's own nodes; absent without daemons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<DaemonShare>,
    /// What is assumed.
    pub assumptions: Vec<String>,
    /// What the simulator says to the formulas; absent if it was not asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub simulations: Vec<Simulation>,
}

/// Whether the delay is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// With these cores 99 % are as fast as they must be.
    Kept,
    /// The given cores keep up, and more than 1 % are too slow.
    TooSlow,
    /// The given cores do not keep up.
    TooFewCores,
    /// Even without any load more than 1 % are too slow: no number of cores changes that.
    SlowWithoutLoad,
    /// The round trip of cookies makes more than 1 % too slow: no number of cores changes that, a larger `half_open_max` does.
    SlowWithCookies,
    /// By the formulas the delay is kept, but more SAs are half open than the gateway keeps: it drops some, which no formula counts.
    HalfOpenFull,
    /// By the formulas the delay is kept, and the simulator contradicts.
    Contradicted,
}

/// A method over a network.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SizedRow {
    /// The method's name in the catalogue.
    pub method: String,
    /// The options that differ from the method's default, and the daemons that the row is sized with.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// How many authentications were measured.
    pub n: u64,
    /// How many of them succeeded, and have a delay.
    pub delays_count: u64,
    /// Whether the delay is kept.
    pub verdict: Verdict,
    /// Whether so many were measured that the verdict can be said at 95 % confidence: at least 299, and more if nearly 1 % are too slow.
    pub is_certain: bool,
    /// How the simulator contradicts a delay that is kept by the formulas; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Contradiction>,
    /// The serving nodes.
    pub nodes: Named<SizedNode>,
    /// Delays without load.
    pub unloaded_ms: Percentiles,
    /// Delays at the busiest time; absent if a node does not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Percentiles>,
    /// The 95 % interval of the 99th percentile, by the number of measured authentications; absent if they are too few, or a node does not
    /// keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p99_ci95_ms: Option<[f64; 2]>,
    /// Cookies that the gateway asks for at the busiest time; absent if it never asks, or a node does not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookies: Option<CookieLoad>,
    /// Sum of an authentication's waits for cores; absent if a node does not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_ms: Option<Percentiles>,
    /// Mean time of computation, look-ups and waits behind the node that faces the device; absent if nothing is there, or a node does not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_end_ms: Option<f64>,
    /// By how much the load may grow, as a factor, until the delay is not kept any more; absent if it is not kept now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_room_ratio: Option<f64>,
    /// By how much, as a factor, until the first node does not keep up any more.
    pub keeps_up_ratio: f64,
    /// Cores of each node at each of several sites, so that the others are enough if one is lost.
    pub site_lost: SiteLost,
    /// What happens if all devices come back at once after an outage.
    pub outage: Drained,
    /// What a storm does; absent if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storm: Option<Drained>,
    /// Where the formulas fail or the measurement is thin.
    pub notes: Vec<String>,
}

/// The cores of a method over a network, and nothing that follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Needed {
    /// The method's name in the catalogue.
    pub method: String,
    /// The options that differ from the method's default.
    pub variant: String,
    /// How many authentications were measured.
    pub n: u64,
    /// Whether the delay is kept.
    pub verdict: Verdict,
    /// Whether so many were measured that this can be said at 95 % confidence.
    pub is_certain: bool,
    /// The serving nodes.
    pub nodes: Named<SizedNode>,
}

/// A serving node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SizedNode {
    /// The clock of its processor; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<f64>,
    /// Its work for an authentication.
    pub work_per_authentication_us: f64,
    /// Steps of an authentication that wait for a core.
    pub steps_per_authentication: f64,
    /// Squared coefficient of variation of their times.
    pub squared_variation_ratio: f64,
    /// Cores that are busy on average.
    pub busy_cores: f64,
    /// Cores that it needs, or has if they were given.
    pub cores: u32,
    /// Whether they were given.
    pub is_given: bool,
    /// The least cores with which it would do; absent if those it has are enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_cores: Option<u32>,
    /// The share of its cores' time that it is busy.
    pub utilisation: f64,
    /// The share of steps that wait.
    pub waiting_steps_share: f64,
    /// The mean wait of a step; absent if the node does not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_mean_us: Option<f64>,
    /// Heap for the node and its idle sessions; absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<f64>,
}

/// A node with the costs of a daemon, compared with the same node of the run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DaemonShare {
    /// The method's name in the catalogue.
    pub method: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// The node.
    pub node: String,
    /// The daemon and its version.
    pub software: String,
    /// The processor on which it was measured.
    pub cpu: String,
    /// The daemon's busy cores at the busiest time.
    pub busy_cores: f64,
    /// Those of the node as the run measured it.
    pub own_busy_cores: f64,
    /// The daemon's over those.
    pub ratio: f64,
    /// The share of the daemon's CPU time in the kernel, at its busiest measured load.
    pub kernel_share: f64,
}

/// How often a gateway asks for a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CookieLoad {
    /// The mean number of half-open SAs.
    pub half_open_mean: f64,
    /// The number of half-open SAs from which it asks.
    pub asked_from_half_open: u32,
    /// The share of authentications that it asks.
    pub asked_share: f64,
    /// The additional round trip of each, if no packet is lost.
    pub round_trip_ms: f64,
}

/// Several sites, of which one is lost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SiteLost {
    /// How many there are.
    pub sites_count: u32,
    /// Cores of each node at each site.
    pub cores_per_site: Named<u32>,
}

/// Many that come together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Drained {
    /// How many.
    pub devices: u64,
    /// When the last one is in; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_in_after_s: Option<f64>,
    /// The longest wait.
    pub wait_max_s: f64,
    /// The node that is the slowest.
    pub bottleneck: String,
    /// After so long devices give up, before the last one is in; absent if it is in before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gives_up_after_s: Option<f64>,
    /// What is not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Another method for some devices.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Replacement {
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// The method that is replaced, with its variant.
    pub from: String,
    /// The cheaper one.
    pub to: String,
    /// How many devices.
    pub devices: u64,
    /// Busy cores that each node saves; below zero where it costs some.
    pub saved_busy_cores: Named<f64>,
    /// Heap that each node saves; below zero where it costs some.
    pub saved_bytes: Named<f64>,
}

/// The delay is not kept in the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Contradiction {
    /// The delay that 99 % must not exceed.
    pub p99_max_ms: f64,
    /// The 99th percentile in the simulator; absent if no authentication succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_p99_ms: Option<f64>,
    /// The share of authentications that must succeed within the delay.
    pub wanted_share: f64,
    /// The share that succeeded in the simulator, however late.
    pub succeeded_share: f64,
    /// By which factor the simulator's processors are slower than the sized ones: 1 at the sized rate, which every simulation has now.
    pub slower_ratio: f64,
}
