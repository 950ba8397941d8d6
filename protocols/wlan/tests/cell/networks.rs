//! Every kind of network: stations get in, packets go both ways and to all, and leave.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_engine::Addr;
use keytoll_wlan::bss::{BROADCAST, Protected, Rsn, Security};
use keytoll_wlan::frame::{Element, Frame, Header, Management};
use keytoll_wlan::handshake::Reason;
use keytoll_wlan::station::{Command, Failure};
use keytoll_wlan::{Akm, Cipher, access_point};

use crate::cell::{AP, Cell, WPA2_PSK, packet};

const SECOND: Duration = Duration::from_secs(1);

fn networks() -> Vec<Security> {
    let rsn = |akm, pairwise, group, management| Security::Rsn(Rsn { akm, pairwise, group, management });
    let mut all = vec![
        Security::Open,
        Security::SharedKey(Cipher::Wep40),
        Security::SharedKey(Cipher::Wep104),
        Security::Rrkm(Cipher::Wep40),
        Security::Rrkm(Cipher::Wep104),
        Security::Dot1xWep(Cipher::Wep40),
        Security::Dot1xWep(Cipher::Wep104),
        Security::Rsn(WPA2_PSK),
        rsn(Akm::Psk, Cipher::Tkip, Cipher::Tkip, Protected::Never),
        rsn(Akm::Psk, Cipher::Ccmp128, Cipher::Tkip, Protected::IfBothCan),
        rsn(Akm::PskSha256, Cipher::Ccmp256, Cipher::Ccmp256, Protected::Always),
        rsn(Akm::Sae, Cipher::Gcmp256, Cipher::Gcmp256, Protected::Always),
        rsn(Akm::SuiteB192, Cipher::Gcmp256, Cipher::Gcmp256, Protected::Always),
    ];
    for akm in [Akm::Dot1x, Akm::Dot1xSha256, Akm::SuiteB] {
        all.push(rsn(akm, Cipher::Gcmp128, Cipher::Ccmp128, Protected::IfBothCan));
    }
    all
}

#[test]
fn stations_get_in_and_packets_go_everywhere() {
    for security in networks() {
        let mut cell = Cell::new(security, 1, Real::default());
        let stations = [1, 2].map(|number| cell.station(number, security, 1));
        stations.into_iter().for_each(|station| cell.join(station));
        cell.run(SECOND);
        assert_eq!((&cell.joined[..], &cell.failed[..]), (&stations[..], &[][..]), "{security:?}");
        assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (2, 0), "{security:?}");
        for (number, station) in (0..).zip(stations) {
            cell.up(station, &packet(number));
            cell.down(station, &packet(number + 2));
        }
        cell.down(BROADCAST, &packet(9));
        let [a, b] = stations;
        let expected =
            [(AP, 0), (a, 2), (AP, 1), (b, 3), (a, 9), (b, 9)].map(|(to, number)| (to, packet(number)));
        assert_eq!(cell.packets, expected, "{security:?} {:?}", cell.discards);
        stations.into_iter().for_each(|station| cell.order(station, Command::Leave));
        cell.run(SECOND * 10);
        assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0), "{security:?}");
        assert_eq!(cell.discards.0, Vec::<String>::new(), "{security:?}");
    }
}

#[test]
fn an_authentication_has_as_many_frames_as_the_standard_draws() {
    for (security, frames) in [
        // Probe, authentication, association; then the four messages; with 802.1X request, response and success before them.
        (Security::Open, 6),
        (Security::Rsn(WPA2_PSK), 6 + 4),
        (Security::Rsn(Rsn { akm: Akm::Dot1x, ..WPA2_PSK }), 6 + 3 + 4),
        // Two commits and two confirms instead of the two messages of open system authentication.
        (Security::Rsn(Rsn { akm: Akm::Sae, management: Protected::Always, ..WPA2_PSK }), 6 + 2 + 4),
        // Four messages with a challenge.
        (Security::SharedKey(Cipher::Wep104), 6 + 2),
        (Security::Rrkm(Cipher::Wep104), 6 + 2),
        // The group's key and the station's own.
        (Security::Dot1xWep(Cipher::Wep104), 6 + 3 + 2),
    ] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        cell.join(station);
        cell.run(SECOND);
        assert_eq!((cell.joined.len(), cell.frames.len()), (1, frames), "{security:?}");
    }
}

#[test]
fn a_wrong_key_is_named_on_both_sides_and_nothing_is_kept() {
    let security = Security::Rsn(WPA2_PSK);
    let mut cell = Cell::new(security, 1, Real::default());
    let station = cell.station(1, security, 2);
    cell.join(station);
    cell.run(SECOND * 10);
    assert_eq!(cell.ended, [(station, access_point::Ended::Handshake(Reason::WrongKey))]);
    // The station is told that the handshake took too long.
    assert_eq!(cell.failed, [(station, Failure::Ended(15))]);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));
    assert!(!cell.stations[&station].is_busy());
}

#[test]
fn a_wrong_password_is_named() {
    let security = Security::Rsn(Rsn { akm: Akm::Sae, management: Protected::Always, ..WPA2_PSK });
    let mut cell = Cell::new(security, 1, Real::default());
    let station = cell.station(1, security, 2);
    cell.join(station);
    cell.run(SECOND * 20);
    assert!(matches!(cell.failed[..], [(_, Failure::Sae(_))]), "{:?}", cell.failed);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));
}

#[test]
fn eap_that_fails_is_named() {
    let security = Security::Rsn(Rsn { akm: Akm::Dot1x, ..WPA2_PSK });
    let mut cell = Cell::new(security, 1, Real::default());
    cell.eap_succeeds = false;
    let station = cell.station(1, security, 1);
    cell.join(station);
    cell.run(SECOND * 10);
    assert_eq!(cell.failed, [(station, Failure::EapFailed)]);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));
}

#[test]
fn a_network_that_protects_in_another_way_is_refused() {
    let security = Security::Rsn(WPA2_PSK);
    for demanded in [
        Security::Open,
        Security::Rsn(Rsn { akm: Akm::Sae, ..WPA2_PSK }),
        Security::Rsn(Rsn { management: Protected::Always, ..WPA2_PSK }),
    ] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, demanded, 1);
        cell.join(station);
        cell.run(SECOND);
        assert_eq!(cell.failed, [(station, Failure::NoCommonSuite)], "{demanded:?}");
    }
}

#[test]
fn networks_of_wep_are_told_apart() {
    let [shared, rrkm, dynamic] =
        [Security::SharedKey, Security::Rrkm, Security::Dot1xWep].map(|of| of(Cipher::Wep104));
    // Status 13: another authentication algorithm is wanted.
    let other = Failure::Refused(13);
    for (network, demanded, expected) in [
        (shared, Security::Open, Failure::NoCommonSuite),
        (Security::Open, shared, Failure::NoCommonSuite),
        (shared, Security::Rsn(WPA2_PSK), Failure::NoCommonSuite),
        (shared, rrkm, other),
        (rrkm, shared, other),
        (rrkm, dynamic, other),
        (dynamic, rrkm, other),
    ] {
        let mut cell = Cell::new(network, 1, Real::default());
        let station = cell.station(1, demanded, 1);
        cell.join(station);
        cell.run(SECOND);
        assert_eq!(cell.failed, [(station, expected)], "{demanded:?} in {network:?}");
    }
}

#[test]
fn nobody_there_is_a_timeout() {
    let security = Security::Rsn(WPA2_PSK);
    let mut cell = Cell::new(security, 1, Real::default());
    cell.air.loss = 1.0;
    let station = cell.station(1, security, 1);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!((cell.failed.len(), cell.frames.len()), (1, 3));
    assert_eq!(cell.failed[0].1, Failure::Timeout);
}

#[test]
fn keys_of_the_group_change_without_a_lost_packet() {
    for security in networks().into_iter().filter(|security| *security != Security::Open) {
        let mut cell = Cell::new(security, 1, Real::default());
        let stations = [1, 2].map(|number| cell.station(number, security, 1));
        stations.into_iter().for_each(|station| cell.join(station));
        cell.run(SECOND);
        for round in 0..5 {
            cell.order_ap(access_point::Command::ChangeGroupKeys);
            cell.run(SECOND);
            cell.down(BROADCAST, &packet(round));
        }
        assert_eq!(cell.packets.len(), 2 * 5, "{security:?} {:?}", cell.discards);
        assert_eq!((cell.left.len(), cell.ended.len()), (0, 0), "{security:?}");
    }
}

/// A beacon is what a probe response is, and a traffic indication map: whoever hears it can join.
#[test]
fn a_beacon_says_what_a_probe_response_says() {
    for security in networks() {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        cell.join(station);
        cell.run(SECOND);
        let response = cell.frames.iter().find_map(|frame| announced(&frame.bytes, true)).unwrap();
        let beacon = cell.beacon();
        assert_eq!(beacon.to, Addr::Mac(BROADCAST));
        let mut beacon = announced(&beacon.bytes, false).unwrap();
        assert_eq!(beacon.remove(2), [5, 4, 0, 1, 0, 0], "the map: every beacon is a DTIM, nobody sleeps");
        assert_eq!(beacon, response, "{security:?}");
        let has_h2e = beacon.contains(&vec![244, 1, 0x20]);
        assert_eq!(has_h2e, matches!(security, Security::Rsn(Rsn { akm: Akm::Sae, .. })), "{security:?}");
    }
}

/// The elements of a beacon or probe response.
fn announced(bytes: &[u8], is_response: bool) -> Option<Vec<Vec<u8>>> {
    let frame = Frame::read(bytes).ok()?;
    let Header::Management(header) = frame.header else { return None };
    let Ok(Management::Beacon(beacon)) = Management::read(header.subtype, frame.body) else { return None };
    (beacon.is_response == is_response).then(|| beacon.elements.0.iter().map(Element::to_bytes).collect())
}
