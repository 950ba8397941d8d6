//! Everything a scenario can name, each list in one place and each entry with its source.

pub mod airs;
pub(crate) mod cpus;
pub mod eap;
pub mod facet;
mod faults;
mod groups;
pub(crate) mod impairments;
pub(crate) mod keys;
mod method;
pub mod networks;
pub mod options;
mod papers;
pub mod scenarios;
pub mod signatures;
pub mod suites;
mod topologies;

use keytoll_crypto_api::algorithm::{Group, SignatureScheme};

pub use eap::{EAP_METHODS, EapMethod};
pub use faults::Fault;
pub use impairments::Impairments;
pub use method::Method;
pub use topologies::Topology;

/// A line of `keytoll list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name scenarios use.
    pub name: String,
    /// What it is, in a few words.
    pub summary: String,
    /// Where it is specified, or its numbers come from.
    pub source: String,
    /// `weak`, `broken`, `hypothetical`, …; empty if there is nothing to say.
    pub standing: &'static str,
}

/// The lists of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Authentication methods.
    Methods,
    /// Links between device and gateway.
    Networks,
    /// Arrangements of nodes.
    Topologies,
    /// Groups for key agreement.
    Groups,
    /// Suites for the IKE SA.
    Suites,
    /// Signatures of IKEv2.
    Signatures,
    /// Processors.
    Cpus,
    /// What can be wrong on purpose.
    Faults,
    /// Scenarios that come with keytoll.
    Scenarios,
    /// What other entries name by author and year.
    Papers,
}

impl List {
    /// Every list.
    pub const ALL: [Self; 10] = [
        Self::Methods,
        Self::Networks,
        Self::Topologies,
        Self::Groups,
        Self::Suites,
        Self::Signatures,
        Self::Cpus,
        Self::Faults,
        Self::Scenarios,
        Self::Papers,
    ];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Methods => "methods",
            Self::Networks => "networks",
            Self::Topologies => "topologies",
            Self::Groups => "groups",
            Self::Suites => "suites",
            Self::Signatures => "signatures",
            Self::Cpus => "cpus",
            Self::Faults => "faults",
            Self::Scenarios => "scenarios",
            Self::Papers => "papers",
        }
    }

    /// What is in it.
    pub fn entries(self) -> Vec<Entry> {
        match self {
            Self::Methods => Method::all().map(Method::entry).collect(),
            Self::Networks => networks::all().iter().map(networks::entry).collect(),
            Self::Topologies => Topology::ALL.into_iter().map(Topology::entry).collect(),
            Self::Groups => Group::ALL.iter().copied().map(groups::entry).collect(),
            Self::Suites => suites::entries(),
            Self::Signatures => SignatureScheme::NEGOTIABLE.into_iter().map(signatures::entry).collect(),
            Self::Cpus => cpus::ALL.iter().map(cpus::Cpu::entry).collect(),
            Self::Faults => Fault::ALL.into_iter().map(Fault::entry).collect(),
            Self::Scenarios => scenarios::BUILTIN.iter().map(scenarios::Builtin::entry).collect(),
            Self::Papers => papers::entries(),
        }
    }
}
