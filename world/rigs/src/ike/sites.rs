//! The addresses and ports in a row of IKE.

use std::net::IpAddr;

use keytoll_ike::config::Pool;
use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;

use crate::sites;

/// The addresses and ports of a row's nodes.
#[derive(Debug, Clone)]
pub struct Sites {
    /// The device.
    pub ue: IpAddr,
    /// The gateway's address on the device's side.
    pub gw: IpAddr,
    /// The gateway's address behind the tunnel.
    pub inner: IpAddr,
    /// The pool of the gateway.
    pub pool: Pool,
    /// The inner address of a device without an assigned one.
    pub brought: IpAddr,
    /// IKE, on both sides.
    pub(crate) port: u16,
    /// IKE behind a NAT, and ESP in UDP.
    pub(crate) nat_port: u16,
    /// The AAA server and the HSS.
    pub back_end: sites::Sites,
    /// Whether ESP is always encapsulated in UDP: the live world has no raw sockets.
    pub(crate) encapsulated: bool,
}

/// RFC 7296 §2, RFC 3948 §2.1.
const PORT: u16 = 500;
const NAT_PORT: u16 = 4500;

/// The ports of IKE and of the back end.
pub(crate) const STANDARD_PORTS: [u16; 5] = {
    let [radius, accounting, diameter] = sites::STANDARD_PORTS;
    [PORT, NAT_PORT, radius, accounting, diameter]
};

impl Sites {
    /// Those of a row. The laboratory's are of RFC 3849 and RFC 5737.
    pub fn of(row: &RowPlan, placement: &Placement) -> Self {
        let parse = |text: &str| text.parse().expect("a literal address");
        let is_ipv6 = sites::is_ipv6(row, placement);
        let [inner, first, brought] = if is_ipv6 {
            ["2001:db8:2::1", "2001:db8:2::1:0", "2001:db8:2::2"].map(parse)
        } else {
            ["203.0.113.1", "203.0.113.2", "203.0.113.254"].map(parse)
        };
        let [ue, gw] = sites::on_access(row, placement);
        Self {
            ue,
            gw,
            inner,
            pool: Pool { first, size: if is_ipv6 { 1 << 16 } else { 250 } },
            brought,
            port: placement.port(PORT),
            nat_port: placement.port(NAT_PORT),
            back_end: sites::Sites::of(placement),
            encapsulated: placement.is_live(),
        }
    }

    /// Those with this one of several gateways, counted from 0. On the devices' side all have one address, as behind a router that spreads
    /// them, and each gives out the same inner ones: what is behind one is not what is behind another.
    pub(crate) fn behind(&self, gateway: u32) -> Self {
        Self { back_end: self.back_end.behind(gateway), ..self.clone() }
    }

    /// The destination of the device's echo request: the gateway, or with an inner address the gateway's inner one.
    pub(crate) fn target(&self, row: &RowPlan) -> IpAddr {
        let is_inside = row.options.ike.virtual_address || self.inner_of_device(row).is_some();
        if is_inside { self.inner } else { self.gw }
    }

    /// The inner address of a device that IKEv1 does not assign: foreign daemons' ESP in user space needs one.
    pub fn inner_of_device(&self, row: &RowPlan) -> Option<IpAddr> {
        let wanted = row.method.phase1().is_some() && row.options.makers.foreign().is_some();
        wanted.then_some(self.brought)
    }
}
