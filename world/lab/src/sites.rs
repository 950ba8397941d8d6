//! Who has which address and port in a row: documentation prefixes in the simulator and in network namespaces, a corner
//! of 127.0.0.0/8 where neither is to be had.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_engine::trace::Node;
use keytoll_ike::v2::config::Pool;
use keytoll_scenario::plan::{Options, RowPlan};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ports {
    pub(crate) ike: u16,
    pub(crate) nat: u16,
    pub(crate) radius: u16,
    pub(crate) accounting: u16,
    pub(crate) diameter: u16,
}

impl Ports {
    /// RFC 7296 §2, RFC 3948 §2.1, RFC 2865 §3, RFC 2866 §3, RFC 6733 §2.1.
    pub(crate) const STANDARD: Self =
        Self { ike: 500, nat: 4500, radius: 1812, accounting: 1813, diameter: 3868 };
}

impl Sites {
    /// The laboratory's: RFC 3849 and RFC 5737.
    pub(crate) fn lab(options: &Options) -> Self {
        let parse = |text: &str| text.parse().expect("a literal address");
        let [ue, gw, inner, first, brought] = if options.ipv6 {
            ["2001:db8:1::2", "2001:db8:1::1", "2001:db8:2::1", "2001:db8:2::1:0", "2001:db8:2::2"].map(parse)
        } else {
            ["192.0.2.2", "192.0.2.1", "203.0.113.1", "203.0.113.2", "203.0.113.254"].map(parse)
        };
        let [core, aaa, hss] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"].map(parse);
        let pool = Pool { first, size: if options.ipv6 { 1 << 16 } else { 250 } };
        Self { ue, gw, inner, pool, brought, core, aaa, hss, ports: Ports::STANDARD, encapsulated: false }
    }

    /// On the machine's own loopback, at 127.a.b.1 and the next ones. IPv4: IPv6 has one loopback address only.
    pub(crate) fn loopback([a, b]: [u8; 2], ports: Ports) -> Self {
        let at = |last| IpAddr::V4(Ipv4Addr::new(127, a, b, last));
        let lab = Self::lab(&Options { ipv6: false, ..Options::default() });
        Self { ue: at(1), gw: at(2), core: at(3), aaa: at(4), hss: at(5), ports, encapsulated: true, ..lab }
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

    /// Whose address it is.
    pub(crate) fn owner(&self, ip: IpAddr) -> Option<Node> {
        let owners = [
            (self.ue, Node::Ue),
            (self.gw, Node::Gw),
            (self.core, Node::Gw),
            (self.aaa, Node::Aaa),
            (self.hss, Node::Hss),
        ];
        owners.into_iter().find_map(|(address, node)| (address == ip).then_some(node))
    }
}
