//! Stations that come back: with the PMK of the association before, they need neither EAP nor SAE.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_wlan::access_point::Config;
use keytoll_wlan::bss::{Protected, Rsn, Security};
use keytoll_wlan::handshake::PmksaCache;
use keytoll_wlan::station::Command;
use keytoll_wlan::{Akm, MacAddr};

use crate::cell::{AP, Cell, WPA2_PSK, access_point, packet};

const SECOND: Duration = Duration::from_secs(1);
const EAP: Security = Security::Rsn(Rsn { akm: Akm::Dot1xSha256, ..WPA2_PSK });
const SAE: Security = Security::Rsn(Rsn { akm: Akm::Sae, management: Protected::Always, ..WPA2_PSK });
/// Probe, authentication, association, and the 4-way handshake.
const SHORTEST: usize = 6 + 4;
/// Request, response and success of EAP; a commit and a confirm of each side instead of open system authentication.
const WITH_EAP: usize = SHORTEST + 3;
const WITH_SAE: usize = SHORTEST + 2;

/// A cell whose sides keep as many PMKs, and a station that has been there.
fn left(security: Security, pmksas_max: [usize; 2]) -> (Cell, MacAddr) {
    let config = Config { pmksas_max: pmksas_max[0], ..access_point(security) };
    let mut cell = Cell::with(config, 1, Real::default());
    let station = cell.returning_station(1, security, pmksas_max[1]);
    cell.join(station);
    cell.run(SECOND);
    cell.order(station, Command::Leave);
    cell.run(SECOND);
    assert_eq!((cell.joined.len(), cell.left.len()), (1, 1));
    (cell, station)
}

/// Joins again, and says with how many frames.
fn frames_of_return(cell: &mut Cell, station: MacAddr) -> usize {
    let before = cell.frames.len();
    cell.join(station);
    cell.run(SECOND);
    let frames = cell.frames.len() - before;
    assert_eq!((cell.joined.len(), &cell.failed[..]), (2, &[][..]), "{:?}", cell.discards);
    cell.up(station, &packet(1));
    cell.down(station, &packet(2));
    assert_eq!(cell.packets, [(AP, packet(1)), (station, packet(2))]);
    frames
}

#[test]
fn a_pmk_that_both_keep_spares_eap_and_sae() {
    for (security, whole) in [(EAP, WITH_EAP), (SAE, WITH_SAE)] {
        for (pmksas_max, expected) in [([8, 8], SHORTEST), ([8, 0], whole), ([0, 0], whole)] {
            let (mut cell, station) = left(security, pmksas_max);
            assert_eq!(frames_of_return(&mut cell, station), expected, "{security:?} {pmksas_max:?}");
        }
    }
}

#[test]
fn an_access_point_that_has_forgotten_it_has_the_station_authenticate_again() {
    let (mut cell, station) = left(EAP, [0, 8]);
    assert_eq!(frames_of_return(&mut cell, station), WITH_EAP);
    // With SAE the association is refused, and the station begins anew: authentication and association are two frames each.
    let (mut cell, station) = left(SAE, [0, 8]);
    assert_eq!(frames_of_return(&mut cell, station), WITH_SAE + 4);
}

#[test]
fn a_pmk_ends_with_its_time() {
    let (mut cell, station) = left(EAP, [8, 8]);
    cell.run(PmksaCache::LIFETIME);
    assert_eq!(frames_of_return(&mut cell, station), WITH_EAP);
}

/// Another access point under the same address has met the station, too: it knows the address, and not the name of the PMK.
#[test]
fn a_pmk_of_another_name_is_none() {
    let (mut cell, station) = left(SAE, [8, 8]);
    let (mut other, _) = left(SAE, [8, 0]);
    frames_of_return(&mut other, station);
    other.order(station, Command::Leave);
    other.run(SECOND);
    cell.ap = other.ap;
    assert_eq!(frames_of_return(&mut cell, station), WITH_SAE + 4);
}
