//! The addresses and ports of an authenticator's back end: AAA server and HSS.

use std::net::IpAddr;

use keytoll_rig::Placement;

/// The addresses and ports of the nodes behind an authenticator.
#[derive(Debug, Clone)]
pub struct Sites {
    /// The authenticator's address on the side of the AAA server. It is IPv4, as in paper 000.
    pub core: IpAddr,
    /// The AAA server.
    pub aaa: IpAddr,
    /// The HSS.
    pub hss: IpAddr,
    /// The listening ports.
    pub ports: Ports,
}

/// The listening ports of the AAA protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// RADIUS.
    pub radius: u16,
    /// RADIUS accounting.
    pub accounting: u16,
    /// Diameter.
    pub diameter: u16,
}

/// RFC 2865 §3, RFC 2866 §3, RFC 6733 §2.1.
pub(crate) const STANDARD_PORTS: [u16; 3] = [1812, 1813, 3868];

impl Sites {
    /// Addresses of RFC 5737 in the laboratory; on the loopback the numbers 3 to 5.
    pub(crate) fn of(placement: &Placement) -> Self {
        let at = |text: &str, place| placement.address(text.parse().expect("a literal address"), place);
        let [radius, accounting, diameter] = STANDARD_PORTS.map(|port| placement.port(port));
        Self {
            core: at("198.51.100.1", 3),
            aaa: at("198.51.100.2", 4),
            hss: at("198.51.100.3", 5),
            ports: Ports { radius, accounting, diameter },
        }
    }
}
