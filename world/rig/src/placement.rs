//! Where the nodes of a row run: at documentation prefixes in the simulator and in network namespaces, or in a part of 127.0.0.0/8
//! without these.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// Where the nodes of a row run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// In the simulator, at the addresses of the laboratory.
    Simulator,
    /// In network namespaces, at the addresses of the laboratory.
    Namespaces,
    /// On the loopback interface, at consecutive addresses from 127.a.b.1. IPv4 only: IPv6 has a single loopback address.
    Loopback {
        /// The bytes a and b.
        net: [u8; 2],
        /// Replacements of standard ports.
        ports: BTreeMap<u16, u16>,
    },
}

impl Placement {
    /// The address of the node with this address in the laboratory, and with this number, from 1, on the loopback.
    pub fn address(&self, laboratory: IpAddr, place: u8) -> IpAddr {
        match *self {
            Self::Simulator | Self::Namespaces => laboratory,
            Self::Loopback { net: [a, b], .. } => IpAddr::V4(Ipv4Addr::new(127, a, b, place)),
        }
    }

    /// The port of a protocol with this standard port.
    pub fn port(&self, standard: u16) -> u16 {
        match self {
            Self::Simulator | Self::Namespaces => standard,
            Self::Loopback { ports, .. } => ports.get(&standard).copied().unwrap_or(standard),
        }
    }

    /// Whether the nodes have real sockets. Raw ones are for namespaces only.
    pub const fn is_live(&self) -> bool {
        !matches!(self, Self::Simulator)
    }

    /// Whether the nodes are on the loopback interface.
    pub const fn is_loopback(&self) -> bool {
        matches!(self, Self::Loopback { .. })
    }
}
