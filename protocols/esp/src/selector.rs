//! Selectors, RFC 4301 §4.4.1.1: which packets a policy or an SA is for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_engine::wire::DecodeError;

use crate::ip::{self, Fragment, Header, extension};

/// What of a packet decides its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The next layer protocol.
    pub protocol: u8,
    /// Its ports; the same number twice for ICMP, which has type and code instead; none if they cannot be seen.
    pub ports: Option<(u16, u16)>,
}

impl Flow {
    /// The flow of an IP packet.
    // Always inlined: copying what it makes costs more than making it.
    #[inline(always)]
    pub fn of(packet: &[u8]) -> Result<(Header, Self), DecodeError> {
        let header = Header::read(packet)?;
        let Header { source, destination, protocol, header_len, total_len, fragment, .. } = header;
        let flow = if fragment == Fragment::Later {
            Self { source, destination, protocol, ports: None }
        } else {
            Self::of_payload(source, destination, protocol, &packet[header_len..total_len])
        };
        Ok((header, flow))
    }

    /// The flow of a payload without an IP header.
    #[inline(always)]
    pub fn of_payload(source: IpAddr, destination: IpAddr, mut protocol: u8, mut payload: &[u8]) -> Self {
        while protocol == extension::DESTINATION && source.is_ipv6() {
            let Some((next, rest)) = after_options(payload) else { break };
            (protocol, payload) = (next, rest);
        }
        Self { source, destination, protocol, ports: ports(protocol, payload) }
    }
}

/// RFC 8200 §4.6:  Next Header(1) Hdr Ext Len(1) Options(*)
fn after_options(payload: &[u8]) -> Option<(u8, &[u8])> {
    let &[next, len, ..] = payload else { return None };
    Some((next, payload.get(8 + usize::from(len) * 8..)?))
}

// RFC 4301 §4.4.1.1: TCP, UDP, SCTP, DCCP and UDP-Lite begin with their ports, ICMP with type and code.
#[inline]
fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    match (protocol, payload) {
        (6 | 17 | 33 | 132 | 136, &[a, b, c, d, ..]) => {
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
        }
        (1 | 58, &[kind, code, ..]) => {
            let both = u16::from_be_bytes([kind, code]);
            Some((both, both))
        }
        _ => None,
    }
}

/// Addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// From the first to the last.
    V4(u32, u32),
    /// From the first to the last.
    V6(u128, u128),
}

impl Addresses {
    /// A range of addresses; none if they are of different families.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => Some(Self::V4(first.into(), last.into())),
            (IpAddr::V6(first), IpAddr::V6(last)) => Some(Self::V6(first.into(), last.into())),
            _ => None,
        }
    }

    /// One address.
    pub fn one(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address.into(), address.into()),
            IpAddr::V6(address) => Self::V6(address.into(), address.into()),
        }
    }

    /// The only address, if there is but one.
    pub fn single(self) -> Option<IpAddr> {
        match self {
            Self::V4(first, last) => (first == last).then(|| Ipv4Addr::from(first).into()),
            Self::V6(first, last) => (first == last).then(|| Ipv6Addr::from(first).into()),
        }
    }

    /// Whether an address is among them.
    #[inline]
    pub fn contain(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(first, last), IpAddr::V4(address)) => (first..=last).contains(&address.into()),
            (Self::V6(first, last), IpAddr::V6(address)) => (first..=last).contains(&address.into()),
            _ => false,
        }
    }
}

/// One side of a traffic: RFC 7296 §3.13.1 calls it a traffic selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The addresses.
    pub addresses: Addresses,
    /// The next layer protocol; 0 for any.
    pub protocol: u8,
    /// The ports.
    pub ports: Ports,
}

/// The ports of a selector: RFC 4301 §4.4.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// From the first to the last.
    Range(u16, u16),
    /// Packets of which the ports cannot be seen.
    Opaque,
}

impl Ports {
    /// Every port, and packets that have none.
    pub const ANY: Self = Self::Range(0, u16::MAX);

    #[inline]
    fn contain(self, port: Option<u16>) -> bool {
        match (self, port) {
            (Self::ANY, _) | (Self::Opaque, None) => true,
            (Self::Range(first, last), Some(port)) => (first..=last).contains(&port),
            (Self::Range(..), None) | (Self::Opaque, Some(_)) => false,
        }
    }
}

impl Selector {
    /// Everything to and from these addresses.
    pub const fn of(addresses: Addresses) -> Self {
        Self { addresses, protocol: 0, ports: Ports::ANY }
    }

    #[inline]
    fn covers(&self, address: IpAddr, protocol: u8, port: Option<u16>) -> bool {
        self.addresses.contain(address)
            && (self.protocol == 0 || self.protocol == protocol)
            && self.ports.contain(port)
    }
}

/// Both sides of a traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selectors {
    /// Our side: one of these.
    pub local: Vec<Selector>,
    /// The peer's side: one of these.
    pub remote: Vec<Selector>,
}

impl Selectors {
    /// Everything between two ranges.
    pub fn between(local: Addresses, remote: Addresses) -> Self {
        Self { local: vec![Selector::of(local)], remote: vec![Selector::of(remote)] }
    }

    /// Whether a packet that leaves is meant.
    #[inline]
    pub fn cover_outbound(&self, flow: &Flow) -> bool {
        let (source, destination) = flow.ports.unzip();
        side(&self.local, flow.source, flow.protocol, source)
            && side(&self.remote, flow.destination, flow.protocol, destination)
    }

    /// Whether a packet that arrives is meant.
    #[inline]
    pub fn cover_inbound(&self, flow: &Flow) -> bool {
        let (source, destination) = flow.ports.unzip();
        side(&self.remote, flow.source, flow.protocol, source)
            && side(&self.local, flow.destination, flow.protocol, destination)
    }

    /// The only address of the peer's side, if there is but one.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        match &self.remote[..] {
            [only] => only.addresses.single(),
            _ => None,
        }
    }
}

#[inline]
fn side(selectors: &[Selector], address: IpAddr, protocol: u8, port: Option<u16>) -> bool {
    selectors.iter().any(|selector| selector.covers(address, protocol, port))
}

/// The IP version that a next header number announces inside ESP.
pub(crate) const fn version_of(next_header: u8) -> Option<u8> {
    match next_header {
        ip::IPV4 => Some(4),
        ip::IPV6 => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn flow(source: &str, destination: &str, protocol: u8, ports: Option<(u16, u16)>) -> Flow {
        Flow { source: address(source), destination: address(destination), protocol, ports }
    }

    #[test]
    fn a_packet_is_covered_when_all_its_selectors_are() {
        let web = Selectors {
            local: vec![Selector::of(Addresses::new(address("10.0.0.0"), address("10.0.0.255")).unwrap())],
            remote: vec![Selector {
                addresses: Addresses::one(address("192.0.2.1")),
                protocol: 6,
                ports: Ports::Range(80, 80),
            }],
        };
        assert!(web.cover_outbound(&flow("10.0.0.7", "192.0.2.1", 6, Some((4000, 80)))));
        assert!(web.cover_inbound(&flow("192.0.2.1", "10.0.0.7", 6, Some((80, 4000)))));
        for wrong in [
            flow("10.0.1.7", "192.0.2.1", 6, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.2", 6, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.1", 17, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.1", 6, Some((4000, 443))),
            flow("10.0.0.7", "192.0.2.1", 6, None),
            flow("::ffff:10.0.0.7", "::ffff:192.0.2.1", 6, Some((4000, 80))),
        ] {
            assert!(!web.cover_outbound(&wrong), "{wrong:?}");
        }
    }

    /// RFC 4301 §7: a later fragment has no ports; only selectors that do not ask for them, or ask for none, take it.
    #[test]
    fn packets_without_ports_want_any_or_opaque() {
        let side = |ports| Selector { ports, ..Selector::of(Addresses::one(address("10.0.0.1"))) };
        let covers = |ports, port| side(ports).covers(address("10.0.0.1"), 17, port);
        assert!(covers(Ports::ANY, None) && covers(Ports::ANY, Some(9)));
        assert!(covers(Ports::Opaque, None) && !covers(Ports::Opaque, Some(9)));
        assert!(!covers(Ports::Range(9, 9), None) && covers(Ports::Range(9, 9), Some(9)));
    }
}
