//! Frames of others: floods, forged farewells and associations, replays.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Datagram};
use keytoll_wlan::access_point::{Config, Ended};
use keytoll_wlan::bss::{BROADCAST, Protected, Rsn, Security};
use keytoll_wlan::eapol::{PacketType, Pdu};
use keytoll_wlan::frame::management::{Authentication, Farewell};
use keytoll_wlan::frame::{
    AuthenticationAlgorithm, Elements, Frame, Header, Management, ManagementHeader, ReasonCode, StatusCode,
};
use keytoll_wlan::station::Failure;
use keytoll_wlan::{Akm, Cipher, MacAddr, dot1x, rrkm};

use crate::cell::{AP, Cell, WPA2_PSK, eap, packet, pmk, ssid};

const SECOND: Duration = Duration::from_secs(1);
const PROTECTED: Rsn = Rsn { akm: Akm::PskSha256, management: Protected::Always, ..WPA2_PSK };

pub(crate) fn forged(from: MacAddr, to: MacAddr, body: &Management<'_>) -> Datagram {
    let header = Header::Management(ManagementHeader::new(body.subtype(), to, from, AP));
    let bytes = Frame { header, body: &body.to_bytes() }.to_bytes();
    Datagram { protocol: Protocol::MANAGEMENT, from: Addr::Mac(from), to: Addr::Mac(to), bytes }
}

fn farewell() -> Management<'static> {
    Management::Deauthentication(Farewell::new(ReasonCode::UNSPECIFIED_REASON))
}

fn authentication() -> Management<'static> {
    Management::Authentication(Authentication {
        algorithm: AuthenticationAlgorithm::OPEN_SYSTEM,
        sequence: 1,
        status: StatusCode::SUCCESS,
        rest: &[],
    })
}

fn joined(rsn: Rsn) -> (Cell, MacAddr) {
    let security = Security::Rsn(rsn);
    let mut cell = Cell::new(security, 1, Real::default());
    let station = cell.station(1, security, 1);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!(cell.joined, [station]);
    (cell, station)
}

#[test]
fn forged_farewells_end_an_association_only_where_nothing_protects_management() {
    let (mut cell, station) = joined(WPA2_PSK);
    cell.deliver(&forged(AP, station, &farewell()));
    assert_eq!(cell.left, [(station, Failure::Ended(1))]);
    cell.deliver(&forged(station, AP, &farewell()));
    assert_eq!(cell.ended, [(station, Ended::Left(1))]);

    let (mut cell, station) = joined(PROTECTED);
    for to in [station, BROADCAST] {
        cell.deliver(&forged(AP, to, &farewell()));
    }
    cell.deliver(&forged(station, AP, &farewell()));
    cell.up(station, &packet(1));
    assert_eq!((cell.left.len(), cell.ended.len(), cell.packets.len()), (0, 0, 1));
    assert_eq!(cell.discards.0.len(), 3, "{:?}", cell.discards);
}

/// A frame whose addresses are a receiver's, a sender's and a network's, in this order.
fn addressed([to, from, bssid]: [MacAddr; 3], body: &Management<'_>) -> Datagram {
    let header = Header::Management(ManagementHeader::new(body.subtype(), to, from, bssid));
    let bytes = Frame { header, body: &body.to_bytes() }.to_bytes();
    Datagram { bytes, ..forged(from, AP, body) }
}

#[test]
fn an_access_point_takes_only_what_is_for_it() {
    let (mut cell, station) = joined(WPA2_PSK);
    let (other, stranger) = ([2, 0, 0, 0, 0, 0xb], [2, 0, 0, 0, 9, 9]);
    let before = cell.frames.len();
    for addresses in [[other, station, AP], [AP, station, other], [BROADCAST, station, AP], [AP, AP, AP]] {
        cell.deliver(&addressed(addresses, &authentication()));
        cell.deliver(&addressed(addresses, &farewell()));
    }
    assert_eq!((cell.frames.len(), cell.ap.stranger_count(), &cell.ended[..]), (before, 0, &[][..]));
    // Probe requests alone may be for everybody.
    let probe = Management::ProbeRequest(Elements::default());
    for (to, bssid, answers) in [(BROADCAST, BROADCAST, 1), (AP, BROADCAST, 2), (AP, AP, 3), (AP, other, 3)] {
        cell.deliver(&addressed([to, stranger, bssid], &probe));
        assert_eq!(cell.frames.len(), before + answers, "{to:?} {bssid:?}");
    }
}

#[test]
fn a_station_takes_only_what_is_for_it_and_of_its_network() {
    let (mut cell, station) = joined(WPA2_PSK);
    let other = [2, 0, 0, 0, 0, 0xb];
    for addresses in [[other, AP, AP], [station, AP, other]] {
        cell.deliver(&Datagram { to: Addr::Mac(station), ..addressed(addresses, &farewell()) });
    }
    assert_eq!((&cell.left[..], cell.discards.0.len()), (&[][..], 2), "{:?}", cell.discards);
}

#[test]
fn an_answer_of_another_access_point_is_not_answered() {
    use AuthenticationAlgorithm as Algorithm;
    let other = [2, 0, 0, 0, 0, 0xb];
    let wep = Cipher::Wep104;
    for security in [Security::Rsn(WPA2_PSK), Security::SharedKey(wep), Security::Rrkm(wep)] {
        let mut cell = Cell::new(security, 1, Real::default());
        for algorithm in [
            Algorithm::OPEN_SYSTEM,
            Algorithm::SHARED_KEY,
            Algorithm::FAST_BSS_TRANSITION,
            rrkm::ALGORITHM,
            Algorithm(99),
        ] {
            for (sequence, status) in [
                (2, StatusCode::SUCCESS),
                (2, StatusCode::UNSUPPORTED_AUTH_ALGORITHM),
                (3, StatusCode::TRANSACTION_SEQUENCE_ERROR),
                (1, StatusCode::REFUSED),
                (u16::MAX - 1, StatusCode::SUCCESS),
            ] {
                let answer = Authentication { algorithm, sequence, status, rest: &[] };
                cell.deliver(&forged(other, AP, &Management::Authentication(answer)));
                assert!(cell.frames.is_empty(), "{security:?} {algorithm:?} {sequence} {status:?}");
            }
        }
        assert_eq!(cell.ap.stranger_count(), 0);
    }
}

/// A data frame in the clear to the access point.
fn data(source: MacAddr) -> Datagram {
    let bytes = [&[0x08, 0x01, 0, 0][..], &AP, &source, &AP, &[0; 2], &packet(1)].concat();
    Datagram { protocol: Protocol::FRAMES, from: Addr::Mac(source), to: Addr::Mac(AP), bytes }
}

/// Frames of whoever is not associated are answered, but not as many as somebody sends in the names of others.
#[test]
fn a_flood_of_data_of_strangers_is_answered_a_few_times_in_a_second() {
    let (mut cell, station) = joined(WPA2_PSK);
    let before = cell.frames.len();
    let flood = |cell: &mut Cell| {
        for number in 0..2_000_u32 {
            let [_, _, c, d] = number.to_be_bytes();
            cell.deliver(&data([2, 9, 9, 9, c, d]));
            cell.deliver(&data([2, 9, 9, 9, 0, 1]));
        }
        cell.frames.len() - before
    };
    assert_eq!(flood(&mut cell), 64 + 3, "64 stations, one of them four times");
    cell.run(SECOND);
    assert_eq!(flood(&mut cell), 2 * (64 + 3));
    cell.run(SECOND);
    cell.up(station, &packet(1));
    assert_eq!((cell.packets.len(), cell.ended.len()), (1, 0));
}

/// Whoever has no keys makes room for one that comes, and members with keys for nobody.
#[test]
fn a_flood_of_associations_does_not_fill_the_access_point() {
    let security = Security::Rsn(WPA2_PSK);
    let config = Config { members_max: 8, ..Config::new(AP, ssid(), security, pmk(1, security)) };
    let mut cell = Cell::with(config, 1, Real::default());
    let stations: Vec<_> = (1..=9).map(|number| cell.station(number, security, 1)).collect();
    cell.join(stations[0]);
    cell.run(SECOND);
    let sent = cell.frames.iter().filter(|frame| frame.from == Addr::Mac(stations[0]));
    let request = sent.clone().find(|frame| frame.bytes[0] == 0).unwrap().clone();
    for number in 0..200 {
        let stranger = [2, 9, 9, 9, 9, number];
        cell.deliver(&forged(stranger, AP, &authentication()));
        cell.deliver(&from_another(&request, stranger));
    }
    cell.settle();
    for station in &stations[1..] {
        cell.join(*station);
        cell.run(SECOND / 4);
    }
    assert_eq!(cell.joined, stations[..8], "{:?}", cell.failed);
    assert_eq!(cell.failed, [(stations[8], Failure::Refused(17))]);
    assert!(cell.ended.iter().all(|(who, why)| !stations.contains(who) && *why == Ended::Displaced));
    assert_eq!(cell.ap.member_count(), 8);
}

/// IEEE 802.1X-2004 §8.2.4.1.2: a station whose EAP has failed is not judged again for the quiet period, associated anew or not.
#[test]
fn who_fails_is_held_for_the_quiet_period() {
    let security = Security::Rsn(Rsn { akm: Akm::Dot1xSha256, ..WPA2_PSK });
    let mut cell = Cell::new(security, 1, Real::default());
    let [station, other] = [1, 2].map(|number| cell.station(number, security, 1));
    cell.is_accepted = false;
    cell.join(station);
    cell.run(SECOND);
    assert_eq!(cell.ended, [(station, Ended::Dot1x(dot1x::Ended::EapFailed))]);
    cell.is_accepted = true;
    cell.ended.clear();
    cell.failed.clear();
    for _ in 0..3 {
        cell.join(station);
        cell.run(SECOND * 10);
        assert_eq!(cell.ended.pop(), Some((station, Ended::Dot1x(dot1x::Ended::Held))));
        assert_eq!(cell.failed.pop(), Some((station, Failure::Ended(23))));
    }
    cell.join(other);
    cell.run(SECOND * 30);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!(cell.joined, [other, station]);
}

/// 802.11-2020 §11.3.5.8 has an access point tell who is not associated; nobody is told in everybody's name.
#[test]
fn data_in_everybodys_name_ends_no_association() {
    let (mut cell, station) = joined(WPA2_PSK);
    let stranger = [2, 0, 0, 0, 0, 0x77];
    for source in [BROADCAST, [1, 0, 0x5e, 0, 0, 1], AP] {
        let sent = cell.frames.len();
        cell.deliver(&data(source));
        assert_eq!(cell.frames.len(), sent, "{source:x?}");
    }
    assert_eq!(cell.left, []);
    let sent = cell.frames.len();
    cell.deliver(&data(stranger));
    assert_eq!(cell.frames.len(), sent + 1, "a stranger is told");
    cell.up(station, &packet(1));
    assert_eq!(cell.packets.len(), 1);
}

#[test]
fn a_flood_of_farewells_costs_no_member() {
    let (mut cell, station) = joined(PROTECTED);
    for _ in 0..10_000 {
        cell.deliver(&forged(AP, station, &farewell()));
    }
    cell.down(station, &packet(1));
    assert_eq!((cell.packets.len(), cell.discards.0.len()), (1, 10_000));
}

#[test]
fn who_asks_to_associate_under_a_members_address_gets_it_only_if_the_member_has_lost_its_keys() {
    let (mut cell, station) = joined(PROTECTED);
    let again: Vec<Datagram> =
        cell.frames.iter().filter(|frame| frame.from == Addr::Mac(station)).cloned().collect();
    // The member's own authentication and association request, sent again by somebody else: it is asked, and answers.
    again[1..3].iter().for_each(|frame| cell.deliver(frame));
    cell.run(SECOND * 3);
    cell.up(station, &packet(1));
    assert_eq!((cell.ended.len(), cell.packets.len()), (0, 1));

    // The member itself begins anew, without its keys: it is refused at first, comes back when it may (1000 time units later), and
    // is admitted, for nobody has answered.
    cell.station(1, Security::Rsn(PROTECTED), 1);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!((cell.joined.len(), cell.failed.len()), (1, 0));
    cell.run(SECOND / 10);
    assert_eq!((cell.joined.len(), &cell.failed[..], cell.ended[0].1), (2, &[][..], Ended::Anew));
}

#[test]
fn a_member_is_asked_again_and_the_question_lapses() {
    let (mut cell, station) = joined(PROTECTED);
    let sent = cell.frames.iter().filter(|frame| frame.from == Addr::Mac(station));
    let again: Vec<Datagram> = sent.skip(1).take(2).cloned().collect();
    // The first request is lost.
    cell.deliver(&again[0]);
    cell.settle();
    cell.lose_nth = Some(cell.frames.len());
    cell.deliver(&again[1]);
    cell.run(SECOND * 3);
    again.iter().for_each(|frame| cell.deliver(frame));
    cell.run(SECOND * 3);
    assert_eq!(cell.ended, []);

    // It hears none of them, and is asked once more when somebody comes much later.
    let asleep = cell.stations.remove(&station).unwrap();
    let before = cell.frames.len();
    again.iter().for_each(|frame| cell.deliver(frame));
    cell.run(SECOND * 10);
    // Two answers, and a request every 201 of 1000 time units.
    assert_eq!(cell.frames.len() - before, 2 + 5);
    cell.wake((station, asleep));
    again.iter().for_each(|frame| cell.deliver(frame));
    cell.run(SECOND * 3);
    cell.up(station, &packet(1));
    assert_eq!((cell.ended.len(), cell.packets.len()), (0, 1));
}

#[test]
fn a_flood_of_authentications_is_bounded_and_a_station_still_gets_in() {
    let security = Security::Rsn(WPA2_PSK);
    let config = Config { strangers_max: 64, ..Config::new(AP, ssid(), security, pmk(1, security)) };
    let mut cell = Cell::with(config, 1, Real::default());
    let station = cell.station(1, security, 1);
    for number in 0..20_000_u32 {
        let [_, b, c, d] = number.to_be_bytes();
        cell.deliver(&forged([2, 9, 9, b, c, d], AP, &authentication()));
        if number == 10_000 {
            cell.join(station);
        }
        cell.settle();
        assert!(cell.ap.stranger_count() <= 128);
    }
    assert_eq!(cell.joined, [station]);
    cell.run(SECOND * 10);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (1, 0));
}

#[test]
fn replayed_frames_are_told_and_change_nothing() {
    let (mut cell, station) = joined(PROTECTED);
    cell.up(station, &packet(1));
    cell.down(station, &packet(2));
    let sent = cell.frames.clone();
    let before = cell.discards.0.len();
    sent[sent.len() - 2..].iter().for_each(|frame| cell.deliver(frame));
    assert_eq!(
        (cell.packets.len(), &cell.discards.0[before..]),
        (2, &["replayed packet number".to_owned(), "replayed packet number".into()][..])
    );
    // Message 3, which KRACK sends again: it is in the clear, and a station that has its keys takes nothing in the clear but EAPOL.
    let third = sent.iter().filter(|frame| frame.from == Addr::Mac(AP)).nth(4).unwrap();
    cell.deliver(third);
    cell.down(station, &packet(3));
    cell.up(station, &packet(4));
    assert_eq!(cell.packets.len(), 4);
}

/// A PDU of EAPOL in the clear, behind the headers of the first data frame that was sent from there.
fn eapol(cell: &Cell, from: MacAddr, packet_type: PacketType, body: &[u8]) -> Datagram {
    let is_data = |frame: &&Datagram| frame.from == Addr::Mac(from) && frame.bytes[0] == 8;
    let mut frame = cell.frames.iter().find(is_data).unwrap().clone();
    frame.bytes.truncate(24 + 8);
    frame.bytes.extend(Pdu { version: 2, packet_type, body }.to_bytes());
    frame
}

#[test]
fn forged_eapol_in_the_clear_ends_no_member_with_keys() {
    for management in [Protected::Never, Protected::Always] {
        let (mut cell, station) = joined(Rsn { akm: Akm::Dot1xSha256, management, ..WPA2_PSK });
        let before = cell.discards.0.len();
        for (from, packet_type, body) in [
            (station, PacketType::LOGOFF, Vec::new()),
            (station, PacketType::START, Vec::new()),
            (station, PacketType::EAP_PACKET, eap(2, 7)),
            (AP, PacketType::EAP_PACKET, eap(1, 9)),
            (AP, PacketType::EAP_PACKET, vec![4, 9, 0, 4]),
        ] {
            let frame = eapol(&cell, from, packet_type, &body);
            cell.deliver(&frame);
            cell.run(SECOND * 2);
        }
        assert_eq!(&cell.discards.0[before..], &["not protected as agreed"; 5]);
        assert_eq!((cell.joined.len(), cell.ended.len(), cell.left.len()), (1, 0, 0));
        cell.up(station, &packet(1));
        cell.down(station, &packet(2));
        assert_eq!(cell.packets, [(AP, packet(1)), (station, packet(2))]);
    }
}

/// The same frame from another address, which stands at the third and fourth place of six octets.
fn from_another(frame: &Datagram, from: MacAddr) -> Datagram {
    let mut frame = Datagram { from: Addr::Mac(from), ..frame.clone() };
    frame.bytes[10..16].copy_from_slice(&from);
    frame
}

#[test]
fn an_open_authentication_does_not_do_where_sae_is_demanded() {
    let (mut cell, station) = joined(Rsn { akm: Akm::Sae, management: Protected::Always, ..WPA2_PSK });
    let is_association = |frame: &&Datagram| frame.from == Addr::Mac(station) && frame.bytes[0] == 0;
    let association = cell.frames.iter().find(is_association).unwrap().clone();
    let stranger = [2, 0, 0, 0, 9, 9];
    cell.deliver(&forged(stranger, AP, &authentication()));
    cell.deliver(&from_another(&association, stranger));
    let answer = cell.frames.last().unwrap();
    let Header::Management(header) = Frame::read(&answer.bytes).unwrap().header else { panic!("{answer:?}") };
    let Ok(Management::AssociationResponse(response)) = Management::read(header.subtype, &answer.bytes[24..])
    else {
        panic!("{answer:?}")
    };
    assert_eq!((header.destination, response.status), (stranger, StatusCode::INVALID_PMKID));
    assert_eq!((cell.ap.member_count(), cell.ap.is_member(stranger)), (1, false));
}

#[test]
fn damaged_frames_of_a_session_cost_a_protected_member_nothing() {
    let (mut cell, station) = joined(PROTECTED);
    let sent = cell.frames.clone();
    for frame in &sent {
        for cut in 0..frame.bytes.len() {
            let mut wrong = frame.clone();
            wrong.bytes.truncate(cut);
            cell.deliver(&wrong);
            let mut wrong = frame.clone();
            wrong.bytes[cut] ^= 1 << (cut % 8);
            cell.deliver(&wrong);
        }
    }
    cell.run(SECOND * 10);
    // A damaged sender's address is a stranger's, who has not got the key.
    assert!(cell.ended.iter().all(|(who, _)| *who != station), "{:?}", cell.ended);
    assert_eq!((cell.packets.len(), cell.left.len(), cell.ap.is_member(station)), (0, 0, true));
    cell.up(station, &packet(1));
    cell.down(station, &packet(2));
    assert_eq!(cell.packets, [(AP, packet(1)), (station, packet(2))]);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (1, 0));
}
