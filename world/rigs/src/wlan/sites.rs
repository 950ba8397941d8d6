//! The addresses in a row of wireless LANs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;
use keytoll_wlan::MacAddr;

use crate::sites;

/// The station: locally administered, as RFC 7042 §2.1 has addresses that nobody assigns.
const STATION: MacAddr = [0x02, 0, 0, 0, 0, 0x02];
/// The access point.
pub(super) const ACCESS_POINT: MacAddr = [0x02, 0, 0, 0, 0, 0x01];

/// The other access point of a network that has two.
pub(super) const OTHER_ACCESS_POINT: MacAddr = [0x02, 0, 0, 0, 0, 0x03];

/// The addresses of a row's nodes.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    /// The station's own address.
    pub(super) station: MacAddr,
    pub(super) ue: IpAddr,
    pub(super) ap: IpAddr,
    /// The access point's address on the other side, and what is behind it.
    pub(super) back_end: sites::Sites,
}

impl Sites {
    /// Those of a row.
    pub(super) fn of(row: &RowPlan, placement: &Placement) -> Self {
        let [ue, ap] = sites::on_access(row, placement);
        Self { station: STATION, ue, ap, back_end: sites::Sites::of(placement) }
    }

    /// The same with another station, one of many. RFC 2544 §C.2.2 has IPv4 addresses for measurements.
    pub(super) fn with_station(&self, number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        let [block, site, ..] = STATION;
        let ue = match self.ap {
            IpAddr::V4(_) => Ipv4Addr::new(198, 18, high, low).into(),
            IpAddr::V6(ap) => Ipv6Addr::from(u128::from(ap) + (1 << 16) + u128::from(number)).into(),
        };
        Self { station: [block, site, 0, 1, high, low], ue, ..self.clone() }
    }
}
