//! Many stations at one access point, each with an address and a seed of its own, and with RRKM with a key of its own.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_hosts::Host;
use keytoll_rig::Placement;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_sim::LinkConfig;
use keytoll_wlan::MacAddr;

use super::keys::Keys;
use super::sites::{self, Sites};
use super::{air, build, has_back_end, keys};
use crate::back_end::BackEnd;
use crate::credentials::Credentials;
use crate::provider;

/// An access point and its stations.
pub struct Crowd {
    /// The access point.
    pub access_point: Seat,
    /// The stations.
    pub stations: Vec<Seat>,
    /// The link between each station and the access point.
    pub link: LinkConfig,
}

/// A host and its addresses.
pub struct Seat {
    /// The host.
    pub host: Box<dyn Host>,
    /// Its address in frames.
    pub address: MacAddr,
    /// Its IP address.
    pub ip: IpAddr,
}

/// Whether a row of stations and their access point has no servers behind it.
pub fn has_no_servers(row: &RowPlan) -> bool {
    !has_back_end(row)
}

/// The row with keys that change so often, and stations that stay so long without traffic.
pub fn lasting(row: &RowPlan, period: Duration, stays: Duration) -> RowPlan {
    let mut row = row.clone();
    let options = &mut row.options.wlan;
    (options.rrkm.period, options.group_rekey, options.stays_idle) = (period, Some(period), stays);
    row
}

/// The access point of a row of this plan, and so many stations of that row.
///
/// # Panics
/// If the EAP server is not inside the access point.
pub fn crowd(plan: &Plan, row: &RowPlan, stations: u16, seed: &Seed) -> Crowd {
    assert!(!has_back_end(row), "the access point of many stations has no servers behind it");
    let back_end = BackEnd::of(row, &Credentials::prepare(plan, |_| None), seed);
    let (sites, mut crypto) = (Sites::of(row, &Placement::Simulator), provider(plan));
    let shared = keys::of(row, seed, &mut crypto);
    let mut member = |number: u16| {
        let own = seed.stream_of(format_args!("station/{number}")).seed();
        let keys = if build::is_rrkm(row) { keys::of(row, &own, &mut crypto) } else { shared.clone() };
        (sites.with_station(number), own, keys)
    };
    let members: Vec<(Sites, Seed, Keys)> = (1..=stations).map(&mut member).collect();
    let known: Vec<_> = members.iter().map(|(sites, _, keys)| (sites.station, keys.clone())).collect();
    let access_point = build::access_point((row, &sites), (&shared, &known), back_end.ends(), seed);
    let seat = |(sites, own, keys): &(Sites, Seed, Keys)| Seat {
        host: Box::new(build::station((row, sites), keys, back_end.ends().map(|ends| &ends.device), own)),
        address: sites.station,
        ip: sites.ue,
    };
    Crowd {
        access_point: Seat { host: Box::new(access_point), address: sites::ACCESS_POINT, ip: sites.ap },
        stations: members.iter().map(seat).collect(),
        link: air(row),
    }
}
