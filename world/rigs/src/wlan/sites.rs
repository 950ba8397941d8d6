//! The addresses in a row of wireless LANs.

use std::net::IpAddr;

use keytoll_rig::Placement;
use keytoll_scenario::plan::RowPlan;
use keytoll_wlan::MacAddr;

use crate::sites;

/// The station: locally administered, as RFC 7042 §2.1 has addresses that nobody assigns.
pub(super) const STATION: MacAddr = [0x02, 0, 0, 0, 0, 0x02];
/// The access point.
pub(super) const ACCESS_POINT: MacAddr = [0x02, 0, 0, 0, 0, 0x01];

/// The IP addresses of a row's nodes.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    pub(super) ue: IpAddr,
    pub(super) ap: IpAddr,
    /// The access point's address on the other side, and what is behind it.
    pub(super) back_end: sites::Sites,
}

impl Sites {
    /// Those of a row.
    pub(super) fn of(row: &RowPlan, placement: &Placement) -> Self {
        let [ue, ap] = sites::on_access(row, placement);
        Self { ue, ap, back_end: sites::Sites::of(placement) }
    }
}
