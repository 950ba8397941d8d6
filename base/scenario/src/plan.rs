//! The plan of a run: everything a scenario says, resolved, owned, and in units that cannot be mistaken.
//!
//! A plan names nothing that has to be looked up again: networks carry their numbers, suites their algorithms. It can
//! be printed as a scenario file ([`Plan::to_toml`]) that reads back as the same plan.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::algorithm::{KeyKind, Standing};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Node;

use crate::catalogue::{Impairments, Method, Topology, suites};
pub use crate::families::Options;
pub use crate::options::certificates::Chain;
pub use crate::options::ipsec::{Mode, SaLimits};
pub use crate::options::nodes::{Maker, Makers};
pub use crate::options::tls::{Tls, TlsVersion};
pub use crate::options::traffic::{Traffic, TrafficDirection, TrafficKind};

/// Most authentications of a row.
pub const SAMPLES_MAX: u64 = 1_000_000_000;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One line on what it is about.
    pub title: String,
    /// The study of a paper that it is made for, by its name.
    pub study: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Authentications per row.
    pub samples: u32,
    /// Time from the trigger of one authentication to the trigger of the next, while the last one lasted no longer.
    pub interval: Duration,
    /// Who computes.
    pub crypto: CryptoMode,
    /// The file with what operations cost, where a table is charged; relative to where keytoll is started.
    pub costs: Option<String>,
    /// How long MODP exponents are.
    pub exponents: Exponents,
    /// Which world the hosts live in.
    pub world: WorldKind,
    /// The CPU of every node.
    pub cpus: BTreeMap<Node, CpuProfile>,
    /// The rows of the table, in the order of the scenario.
    pub rows: Vec<RowPlan>,
}

impl Plan {
    /// How many authentications the whole plan triggers.
    pub fn authentications(&self) -> u64 {
        self.rows.len() as u64 * u64::from(self.samples)
    }
}

/// One row of the result: one method over one network.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPlan {
    /// How the device and the gateway authenticate each other.
    pub method: &'static Method,
    /// What distinguishes the row from others of the same method and network: `chain=4,4`; often empty.
    pub variant: String,
    /// The link between device and gateway.
    pub network: Network,
    /// Which nodes there are.
    pub topology: Topology,
    /// Suites offered for the SA under which the nodes negotiate, in order of preference; none of a method without such an SA.
    pub suites: Vec<Suite>,
    /// Suites offered for ESP, in order of preference; none of a method without IPsec.
    pub esp_suites: Vec<Suite>,
    /// Everything else.
    pub options: Options,
}

impl RowPlan {
    /// The standing of the worst algorithm in it, for the mark that goes with its name wherever it is shown.
    pub fn standing(&self) -> Standing {
        let key = self.options.key_kind(self.method).map(KeyKind::standing);
        let suites = self.suites.iter().chain(&self.esp_suites).map(suites::standing);
        suites.chain(key).chain([self.method.standing]).max().unwrap_or(Standing::Good)
    }
}

/// Which provider stands behind the crypto door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CryptoMode {
    /// Computes, with AWS-LC.
    Real,
    /// Computes, with the system's OpenSSL: the library that strongSwan and FreeRADIUS call. Only in builds with it.
    OpenSsl,
    /// Costs nothing, lengths and agreement stay true.
    Null,
    /// As null, and every operation is charged what a table says that it costs: the same on every machine.
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

    /// Whether anything is computed; else every key is as good as another.
    pub const fn computes(self) -> bool {
        matches!(self, Self::Real | Self::OpenSsl)
    }
}

/// How long the private exponents of MODP groups are.
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

/// Where the hosts live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorldKind {
    /// Virtual time, every node in one process.
    Sim,
    /// Sockets and the real clock, every node a process of its own.
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
    /// Clock frequency in Hz; none: the machine keytoll runs on, unscaled.
    pub hz: Option<f64>,
    /// How many inputs the node can handle at a time.
    pub cores: u16,
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
    /// Longest IP packet, header included.
    pub mtu_bytes: u16,
    /// Where the numbers come from.
    pub source: String,
    /// How well founded they are.
    pub basis: Basis,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    /// One-way delay without serialisation.
    pub delay: Duration,
    /// Standard deviation of the delay (normal distribution, as netem's).
    pub jitter: Duration,
    /// Serialisation rate; none: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// What the sender may have waiting for the link; more is dropped.
    pub queue_bytes_max: u64,
    /// What happens to its packets besides.
    pub impairments: Impairments,
}

/// How well founded the numbers of a network are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Printed in a paper or published with a tool.
    Printed,
    /// Fitted so that a paper's figures come out.
    Calibrated,
    /// Concluded from measurements that others published.
    Derived,
    /// What such networks typically do; no one measurement behind it.
    Typical,
    /// Nobody measured it.
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
