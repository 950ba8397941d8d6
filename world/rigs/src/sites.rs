//! Addresses and ports that rigs share: device and gateway on the access network, and an authenticator's back end, which is AAA
//! server and HSS.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;

/// Device and gateway on the access network. The laboratory's addresses are of RFC 3849 and RFC 5737; on the loopback they have
/// the numbers 1 and 2.
pub(crate) fn on_access(row: &RowPlan, placement: &Placement) -> [IpAddr; 2] {
    let [ue, gw] =
        if is_ipv6(row, placement) { ["2001:db8:1::2", "2001:db8:1::1"] } else { ["192.0.2.2", "192.0.2.1"] }
            .map(|text| text.parse().expect("a literal address"));
    [placement.address(ue, 1), placement.address(gw, 2)]
}

/// Whether the access network of a row is one of IPv6, of which the loopback interface has a single address.
pub(crate) const fn is_ipv6(row: &RowPlan, placement: &Placement) -> bool {
    row.options.ipv6 && !placement.is_loopback()
}

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

    /// The same behind this one of several gateways in the laboratory, counted from 0.
    pub(crate) fn behind(&self, gateway: u32) -> Self {
        let place = u8::try_from(gateway).expect("a population has at most 64 gateways");
        // The second one is beside the HSS.
        let core = if place == 0 { self.core } else { IpAddr::V4(Ipv4Addr::new(198, 51, 100, 3 + place)) };
        Self { core, ..self.clone() }
    }
}

/// What the gateway of this number is called, counted from 0: `gw`, and the others `gw-2` and so on.
pub(crate) fn name(gateway: u32) -> String {
    if gateway == 0 { "gw".to_owned() } else { format!("gw-{}", gateway + 1) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_gateways_have_one_address_or_name() {
        let sites = Sites::of(&Placement::Simulator);
        let all = || (0..64).map(|gateway| sites.behind(gateway));
        let addresses: BTreeSet<_> = all().map(|sites| sites.core).chain([sites.aaa, sites.hss]).collect();
        assert_eq!(addresses.len(), 66);
        assert_eq!((0..64).map(name).collect::<BTreeSet<_>>().len(), 64);
    }
}
