//! The addresses and ports in a row of HIP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_hip::wire::packet::IP_PROTOCOL;
use keytoll_net::Addr;
use keytoll_net::ip::protocol::ESP;
use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;

use crate::sites;

/// RFC 9028 §4: HIP and ESP in UDP.
const PORT: u16 = 10_500;

/// The ports of HIP and of the HSS.
pub(super) const STANDARD_PORTS: [u16; 2] = [PORT, sites::STANDARD_PORTS[2]];

/// The addresses and ports of a row's nodes.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    pub(super) ue: IpAddr,
    pub(super) gw: IpAddr,
    /// Where the device goes, if it moves.
    pub(super) elsewhere: Option<IpAddr>,
    /// The port of HIP in UDP; none: HIP is on IP.
    pub(super) port: Option<u16>,
    /// The gateway's address on the other side, and the HSS.
    pub(super) back_end: sites::Sites,
}

impl Sites {
    /// Those of a row. On the loopback interface there are no raw sockets.
    pub(super) fn of(row: &RowPlan, placement: &Placement) -> Self {
        let [ue, gw] = sites::on_access(row, placement);
        Self {
            ue,
            gw,
            elsewhere: row.options.hip.move_after.map(|_| elsewhere(ue)),
            port: placement.is_loopback().then(|| placement.port(PORT)),
            back_end: sites::Sites::of(placement),
        }
    }

    /// Those with this one of several gateways, counted from 0, which all have one address on the devices' side.
    pub(super) fn behind(&self, gateway: u32) -> Self {
        Self { back_end: self.back_end.behind(gateway), ..self.clone() }
    }

    /// Where a node has its HIP.
    pub(super) fn signalling(&self, ip: IpAddr) -> Addr {
        self.port.map_or(Addr::Ip { ip, protocol: IP_PROTOCOL }, |port| Addr::udp(ip, port))
    }

    /// Where a node has its HIP, and its ESP.
    pub(super) fn sockets(&self, ip: IpAddr) -> [Addr; 2] {
        let signalling = self.signalling(ip);
        [signalling, if self.port.is_some() { signalling } else { Addr::Ip { ip, protocol: ESP } }]
    }
}

/// The device's other address on the access network, which nobody else has there.
const fn elsewhere(ue: IpAddr) -> IpAddr {
    match ue {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() | 0x80)),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() | 0x80)),
    }
}
