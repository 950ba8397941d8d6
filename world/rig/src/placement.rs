//! Where the nodes of a row are: documentation prefixes in the simulator and in network namespaces, a corner of
//! 127.0.0.0/8 where neither is to be had.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// Where the nodes of a row are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// In the simulator, at the laboratory's addresses.
    Simulator,
    /// In network namespaces, at the laboratory's addresses.
    Namespaces,
    /// On the machine's own loopback, at 127.a.b.1 and the next ones. IPv4: IPv6 has one loopback address only.
    Loopback {
        /// The bytes a and b.
        net: [u8; 2],
        /// The ports in place of the standard ones.
        ports: BTreeMap<u16, u16>,
    },
}

impl Placement {
    /// The address of somebody who has that one in the laboratory, and on the loopback that place from 1.
    pub fn address(&self, laboratory: IpAddr, place: u8) -> IpAddr {
        match *self {
            Self::Simulator | Self::Namespaces => laboratory,
            Self::Loopback { net: [a, b], .. } => IpAddr::V4(Ipv4Addr::new(127, a, b, place)),
        }
    }

    /// The port of a protocol that has that one by its standard.
    pub fn port(&self, standard: u16) -> u16 {
        match self {
            Self::Simulator | Self::Namespaces => standard,
            Self::Loopback { ports, .. } => ports.get(&standard).copied().unwrap_or(standard),
        }
    }

    /// Whether the nodes have real sockets, none of which carries packets directly on IP.
    pub const fn is_live(&self) -> bool {
        !matches!(self, Self::Simulator)
    }

    /// Whether the nodes are on the machine's own loopback.
    pub const fn is_loopback(&self) -> bool {
        matches!(self, Self::Loopback { .. })
    }
}
