//! Who has which address and port in a row.

use std::net::IpAddr;

use keytoll_ike::config::Pool;
use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;

/// The addresses and ports of a row's nodes.
#[derive(Debug, Clone)]
pub(crate) struct Sites {
    /// The device.
    pub(crate) ue: IpAddr,
    /// The gateway, on the device's side.
    pub(crate) gw: IpAddr,
    /// The gateway's address behind the tunnel.
    pub(crate) inner: IpAddr,
    /// What the gateway assigns.
    pub(crate) pool: Pool,
    /// The inner address of a device to which nobody assigns one.
    pub(crate) brought: IpAddr,
    /// The gateway on the AAA server's side. Between them IPv4, as in paper 000.
    pub(crate) core: IpAddr,
    /// The AAA server.
    pub(crate) aaa: IpAddr,
    /// The HSS.
    pub(crate) hss: IpAddr,
    pub(crate) ports: Ports,
    /// Whether ESP always goes in UDP: the live world has no raw sockets.
    pub(crate) encapsulated: bool,
}

/// Where protocols listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) ike: u16,
    pub(crate) nat: u16,
    pub(crate) radius: u16,
    pub(crate) accounting: u16,
    pub(crate) diameter: u16,
}

/// RFC 7296 §2, RFC 3948 §2.1, RFC 2865 §3, RFC 2866 §3, RFC 6733 §2.1.
pub(crate) const STANDARD_PORTS: [u16; 5] = [500, 4500, 1812, 1813, 3868];

impl Ports {
    fn of(placement: &Placement) -> Self {
        let [ike, nat, radius, accounting, diameter] = STANDARD_PORTS.map(|port| placement.port(port));
        Self { ike, nat, radius, accounting, diameter }
    }
}

impl Sites {
    /// Those of a row. The laboratory's are of RFC 3849 and RFC 5737.
    pub(crate) fn of(row: &RowPlan, placement: &Placement) -> Self {
        let is_ipv6 = row.options.ipv6 && !placement.is_loopback();
        let parse = |text: &str| text.parse().expect("a literal address");
        let [ue, gw, inner, first, brought] = if is_ipv6 {
            ["2001:db8:1::2", "2001:db8:1::1", "2001:db8:2::1", "2001:db8:2::1:0", "2001:db8:2::2"].map(parse)
        } else {
            ["192.0.2.2", "192.0.2.1", "203.0.113.1", "203.0.113.2", "203.0.113.254"].map(parse)
        };
        let [core, aaa, hss] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"].map(parse);
        Self {
            ue: placement.address(ue, 1),
            gw: placement.address(gw, 2),
            inner,
            pool: Pool { first, size: if is_ipv6 { 1 << 16 } else { 250 } },
            brought,
            core: placement.address(core, 3),
            aaa: placement.address(aaa, 4),
            hss: placement.address(hss, 5),
            ports: Ports::of(placement),
            encapsulated: placement.is_live(),
        }
    }

    /// Whom the device pings: the gateway, or with an inner address the gateway's inner side.
    pub(crate) fn target(&self, row: &RowPlan) -> IpAddr {
        let is_inside = row.options.virtual_address || self.inner_of_device(row).is_some();
        if is_inside { self.inner } else { self.gw }
    }

    /// The inner address that the device brings along where IKEv1 has none to assign: other makers' ESP in user space
    /// wants one.
    pub(crate) fn inner_of_device(&self, row: &RowPlan) -> Option<IpAddr> {
        let wanted = row.method.phase1().is_some() && row.options.makers.foreign().is_some();
        wanted.then_some(self.brought)
    }
}
