//! The plan of a run: a scenario with everything resolved, owned, and with units in names and types.
//!
//! A plan needs no further lookups: networks have their parameters, suites their algorithms. It can be printed as a scenario
//! file ([`Plan::to_toml`]) that parses to the same plan.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_crypto_api::algorithm::{Group, KeyKind, Standing};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Node;

use crate::catalogue::airs::Air;
use crate::catalogue::{Impairments, Method, Topology, suites};
pub use crate::families::Options;
pub use crate::options::certificates::Chain;
pub use crate::options::ipsec::{Mode, SaLimits};
pub use crate::options::nodes::{Maker, Makers};
pub use crate::options::tls::{Tls, TlsVersion};
pub use crate::options::traffic::{Traffic, TrafficDirection, TrafficKind};
use crate::population::Population;

/// Most authentications of a row.
pub const SAMPLES_MAX: u64 = 1_000_000_000;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// A title of one line.
    pub title: String,
    /// The name of the study it belongs to.
    pub study: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Authentications per row.
    pub samples: u32,
    /// Time between the triggers of two authentications, unless the first lasts longer.
    pub interval: Duration,
    /// The crypto provider.
    pub crypto: CryptoMode,
    /// The cost table of `crypto = "table"`; the path is relative to the working directory.
    pub costs: Option<String>,
    /// How long MODP exponents are.
    pub exponents: Exponents,
    /// Which world the hosts live in.
    pub world: WorldKind,
    /// The CPU of every node.
    pub cpus: BTreeMap<Node, CpuProfile>,
    /// The devices of a population; `None`: one device authenticates again and again.
    pub population: Option<Population>,
    /// The rows of the table, in the order of the scenario.
    pub rows: Vec<RowPlan>,
}

impl Plan {
    /// How many authentications the whole plan triggers; of a population, how many devices arrive.
    pub fn authentications(&self) -> u64 {
        match &self.population {
            None => self.rows.len() as u64 * u64::from(self.samples),
            Some(population) if population.mix.is_empty() => {
                self.rows.len() as u64 * u64::from(population.devices)
            }
            Some(population) => population.devices.into(),
        }
    }
}

/// One row of the result: one method over one network.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPlan {
    /// How the device and the gateway authenticate each other.
    pub method: &'static Method,
    /// The difference from other rows of the same method and network: `chain=4,4`; often empty.
    pub variant: String,
    /// The link between device and gateway.
    pub network: Network,
    /// Which nodes there are.
    pub topology: Topology,
    /// Suites offered for the IKE SA, in order of preference; empty for a method without one.
    pub suites: Vec<Suite>,
    /// Suites offered for ESP, in order of preference; empty for a method without IPsec.
    pub esp_suites: Vec<Suite>,
    /// Everything else.
    pub options: Options,
}

impl Plan {
    /// A row's root seed depends on the row itself, not on its position, so that an additional row changes no other.
    pub fn seed_of(&self, row: &RowPlan) -> Seed {
        let name =
            format!("row/{}/{}/{}/{}", row.method.name(), row.variant, row.network.name, row.topology.name());
        Seed::from(self.seed).stream(&name).seed()
    }
}

impl RowPlan {
    /// Whether it has a node: one of its method, unless its options do without.
    pub fn has_node(&self, node: Node) -> bool {
        self.method.nodes.contains(&node) && !(self.method.family.without)(self).contains(&node)
    }

    /// The groups for key agreement that it offers, of its suites and of its method's own exchange.
    pub fn groups(&self) -> impl Iterator<Item = Group> {
        let suites = self.suites.iter().chain(&self.esp_suites);
        suites
            .filter_map(|suite| suite.group)
            .chain((self.method.family.groups)(&self.options, self.method).iter().copied())
    }

    /// The standing of its worst algorithm, for the mark beside its name.
    pub fn standing(&self) -> Standing {
        let key = self.options.key_kind(self.method).map(KeyKind::standing);
        let suites = self.suites.iter().chain(&self.esp_suites).map(suites::standing);
        let groups = self.groups().map(Group::standing);
        suites.chain(groups).chain(key).chain([self.method.standing]).max().unwrap_or(Standing::Good)
    }
}

/// The crypto provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CryptoMode {
    /// Computes, with AWS-LC.
    Real,
    /// Real cryptography of the system's OpenSSL, which strongSwan and FreeRADIUS use. Only in builds with it.
    OpenSsl,
    /// No cryptography: lengths are right and both sides agree.
    Null,
    /// As null, with the cost of every operation charged from a table: the same on every machine.
    Table,
}

impl CryptoMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Real, Self::OpenSsl, Self::Null, Self::Table];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::OpenSsl => "openssl",
            Self::Null => "null",
            Self::Table => "table",
        }
    }

    /// Whether anything is computed; otherwise every key is accepted.
    pub const fn computes(self) -> bool {
        matches!(self, Self::Real | Self::OpenSsl)
    }
}

/// The length of the private exponents of MODP groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exponents {
    /// Twice the group's strength, as libraries do today.
    Short,
    /// As long as the modulus, as the measurements of the papers need.
    Full,
}

impl Exponents {
    /// Both lengths.
    pub const ALL: [Self; 2] = [Self::Short, Self::Full];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
        }
    }
}

/// Where the hosts run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorldKind {
    /// In virtual time, all nodes in one process.
    Sim,
    /// On real sockets and the real clock, each node in a process of its own.
    Live,
}

impl WorldKind {
    /// Every world.
    pub const ALL: [Self; 2] = [Self::Sim, Self::Live];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Live => "live",
        }
    }
}

/// The processor of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuProfile {
    /// The name in the catalogue, or the scenario's own.
    pub name: String,
    /// Clock frequency in Hz; `None`: this machine's, unscaled.
    pub hz: Option<f64>,
    /// How many inputs the node can handle at the same time.
    pub cores: u16,
    /// The cost table of a daemon, charged instead of the node's own computation.
    pub costs: Option<String>,
}

/// A link between the device and the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The name in the catalogue, or the scenario's own.
    pub name: String,
    /// From the gateway to the device.
    pub down: Direction,
    /// From the device to the gateway.
    pub up: Direction,
    /// The MTU in bytes.
    pub mtu_bytes: u16,
    /// The radio channel, if it is one: its rates are those of both directions.
    pub air: Option<&'static Air>,
    /// The source of the parameters.
    pub source: String,
    /// How well founded they are.
    pub basis: Basis,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    /// One-way delay without serialization.
    pub delay: Duration,
    /// Standard deviation of the delay (normal distribution, as of netem).
    pub jitter: Duration,
    /// Rate in bits per second; `None`: unlimited.
    pub rate_bits_per_s: Option<u64>,
    /// Length of the sender's queue in bytes; excess packets are dropped.
    pub queue_bytes_max: u64,
    /// Loss, reordering and the like.
    pub impairments: Impairments,
}

/// How well founded the parameters of a network are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Printed in a paper or published with a tool.
    Printed,
    /// Fitted to the figures of a paper.
    Calibrated,
    /// Derived from published measurements of others.
    Derived,
    /// Typical of such networks, without a particular measurement.
    Typical,
    /// Not measured by anybody.
    Hypothetical,
    /// Given by the scenario.
    Custom,
}

impl Basis {
    /// Every basis, the best founded first.
    pub const ALL: [Self; 6] =
        [Self::Printed, Self::Calibrated, Self::Derived, Self::Typical, Self::Hypothetical, Self::Custom];

    /// The name used in scenarios and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Calibrated => "calibrated",
            Self::Derived => "derived",
            Self::Typical => "typical",
            Self::Hypothetical => "hypothetical",
            Self::Custom => "custom",
        }
    }
}
