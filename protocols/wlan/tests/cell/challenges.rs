//! Authentication by a challenge: wrong keys, frames out of sequence and again, floods.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_engine::{Addr, Datagram};
use keytoll_wlan::access_point::{Config, Ended};
use keytoll_wlan::bss::Security;
use keytoll_wlan::cipher::Refused;
use keytoll_wlan::frame::management::Authentication;
use keytoll_wlan::frame::{AuthenticationAlgorithm, Management, StatusCode};
use keytoll_wlan::shared_key;
use keytoll_wlan::station::Failure;
use keytoll_wlan::{Cipher, MacAddr, rrkm};

use crate::cell::{AP, Cell, access_point, packet};
use crate::forgeries::forged;

const SECOND: Duration = Duration::from_secs(1);
const SHARED_KEY: Security = Security::SharedKey(Cipher::Wep104);
const RRKM: Security = Security::Rrkm(Cipher::Wep104);
const WRONG_ICV: shared_key::Failure = shared_key::Failure::Encryption(Refused::Icv);

fn algorithm(security: Security) -> AuthenticationAlgorithm {
    if security == RRKM { rrkm::ALGORITHM } else { AuthenticationAlgorithm::SHARED_KEY }
}

fn frame(algorithm: AuthenticationAlgorithm, sequence: u16) -> Management<'static> {
    Management::Authentication(Authentication { algorithm, sequence, status: StatusCode::SUCCESS, rest: &[] })
}

/// What the last frame says, which is one of authentication in the clear.
fn last_answer(cell: &Cell) -> (u16, StatusCode) {
    let body = &cell.frames.last().unwrap().bytes[24..];
    let Ok(Management::Authentication(frame)) = Management::read(11, body) else { panic!("{body:?}") };
    (frame.sequence, frame.status)
}

#[test]
fn a_wrong_key_is_named_and_nothing_is_kept() {
    // The access point sees the wrong key in frame 3, and refuses with status 15.
    let mut cell = Cell::new(SHARED_KEY, 1, Real::default());
    let station = cell.station(1, SHARED_KEY, 2);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!(cell.ended, [(station, Ended::Authentication(WRONG_ICV))]);
    assert_eq!(cell.failed, [(station, Failure::Refused(15))]);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));

    // With RRKM the station sees it in frame 2, and the access point waits for nothing.
    let mut cell = Cell::new(RRKM, 1, Real::default());
    let station = cell.station(1, RRKM, 2);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!(cell.failed, [(station, Failure::Authentication(WRONG_ICV))]);
    cell.run(SECOND * 10);
    assert_eq!(cell.ended, [(station, Ended::Authentication(shared_key::Failure::Timeout))]);
    assert_eq!(last_answer(&cell), (4, StatusCode::REJECTED_SEQUENCE_TIMEOUT));
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));
}

#[test]
fn another_key_id_is_another_key() {
    let mut config = access_point(SHARED_KEY);
    config.shared_key.iter_mut().for_each(|shared| shared.key_id = 1);
    let mut cell = Cell::with(config, 1, Real::default());
    let station = cell.station(1, SHARED_KEY, 1);
    cell.join(station);
    cell.run(SECOND);
    let why = shared_key::Failure::Encryption(Refused::KeyId);
    assert_eq!(cell.ended, [(station, Ended::Authentication(why))]);
    assert_eq!(cell.failed, [(station, Failure::Refused(15))]);
}

#[test]
fn a_station_without_a_key_at_the_access_point_is_refused() {
    let mut config = access_point(RRKM);
    config.rrkm.iter_mut().for_each(|rrkm| rrkm.keys.clear());
    let mut cell = Cell::with(config, 1, Real::default());
    let station = cell.station(1, RRKM, 1);
    cell.join(station);
    cell.run(SECOND);
    assert_eq!((cell.failed, cell.ap.stranger_count()), (vec![(station, Failure::Refused(1))], 0));
}

#[test]
fn frames_out_of_sequence_and_of_other_algorithms_are_refused_with_their_status() {
    for security in [SHARED_KEY, RRKM] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        for (asked, expected) in [
            ((algorithm(security), 3), (4, StatusCode::TRANSACTION_SEQUENCE_ERROR)),
            ((AuthenticationAlgorithm::OPEN_SYSTEM, 1), (2, StatusCode::UNSUPPORTED_AUTH_ALGORITHM)),
            ((AuthenticationAlgorithm::SAE, 1), (2, StatusCode::UNSUPPORTED_AUTH_ALGORITHM)),
        ] {
            cell.deliver(&forged(station, AP, &frame(asked.0, asked.1)));
            assert_eq!(last_answer(&cell), expected, "{security:?} {asked:?}");
        }
        assert_eq!(cell.ap.stranger_count(), 0);
        // The station joins all the same, and what is out of sequence for it changes nothing.
        cell.join(station);
        cell.run(SECOND);
        cell.deliver(&forged(AP, station, &frame(algorithm(security), 4)));
        cell.up(station, &packet(1));
        assert_eq!((cell.joined.len(), cell.packets.len()), (1, 1));
    }
}

/// The frames of one side in an authentication, by their number.
fn authentications(cell: &Cell, from: MacAddr) -> Vec<Datagram> {
    let is_authentication = |frame: &&Datagram| frame.bytes[0] == 0xb0 && frame.from == Addr::Mac(from);
    cell.frames.iter().filter(is_authentication).cloned().collect()
}

#[test]
fn repeated_frames_are_answered_with_the_same_octets() {
    for security in [SHARED_KEY, RRKM] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        let asks = forged(station, AP, &frame(algorithm(security), 1));
        cell.deliver(&asks);
        cell.deliver(&asks);
        let challenges = authentications(&cell, AP);
        assert_eq!(challenges[0].bytes[24..], challenges[1].bytes[24..], "{security:?}");
        cell.settle();

        // Every frame of the authentication is lost once, in turn.
        for lost in 2..6 {
            let mut cell = Cell::new(security, 1, Real::default());
            let station = cell.station(1, security, 1);
            cell.lose_nth = Some(lost);
            cell.join(station);
            cell.run(SECOND);
            cell.up(station, &packet(1));
            assert_eq!((cell.joined.len(), cell.packets.len()), (1, 1), "{lost} {:?}", cell.discards);
            // A challenge, a response and a result, however often: the longest frames are the same if they come again.
            let mut bodies: Vec<_> =
                [station, AP].iter().flat_map(|side| authentications(&cell, *side)).collect();
            bodies.iter_mut().for_each(|frame| {
                frame.bytes.drain(..24);
            });
            bodies.sort_by(|a, b| a.bytes.cmp(&b.bytes));
            let sent = bodies.len();
            bodies.dedup_by(|a, b| a.bytes == b.bytes);
            assert_eq!((bodies.len(), sent > 4), (4, true), "{security:?} {lost}");
        }
    }
}

#[test]
fn a_flood_of_frame_1_is_bounded_and_a_station_still_gets_in() {
    for security in [SHARED_KEY, RRKM] {
        let config = Config { strangers_max: 64, ..access_point(security) };
        let mut cell = Cell::with(config, 1, Real::default());
        let station = cell.station(1, security, 1);
        let asks = frame(algorithm(security), 1);
        for number in 0..20_000_u32 {
            let [_, b, c, d] = number.to_be_bytes();
            // With RRKM a stranger has to know the address of a station to be answered.
            let from = if security == RRKM { [2, 0, 0, 0, 1, d.max(2)] } else { [2, 9, 9, b, c, d] };
            cell.deliver(&forged(from, AP, &asks));
            if number == 10_000 {
                cell.join(station);
            }
            cell.settle();
            assert!(cell.ap.stranger_count() <= 64);
        }
        assert_eq!(cell.joined, [station], "{security:?}");
        cell.run(SECOND * 10);
        assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (1, 0), "{security:?}");
    }
}

#[test]
fn who_answers_a_challenge_under_a_members_address_without_the_key_takes_nothing_from_it() {
    for security in [SHARED_KEY, RRKM] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        cell.join(station);
        cell.run(SECOND);
        let third = authentications(&cell, station).pop().unwrap();
        // Frame 3 again, without a challenge and for another challenge than its own.
        cell.deliver(&third);
        cell.deliver(&forged(station, AP, &frame(algorithm(security), 1)));
        cell.deliver(&third);
        assert_eq!(last_answer(&cell), (4, StatusCode::CHALLENGE_FAILURE));
        cell.run(SECOND * 10);
        cell.up(station, &packet(1));
        cell.down(station, &packet(2));
        assert_eq!((cell.ended.len(), cell.left.len(), cell.packets.len()), (0, 0, 2), "{security:?}");
    }
}

#[test]
fn damaged_frames_of_a_session_cost_no_member_its_keys() {
    for security in [SHARED_KEY, RRKM] {
        let mut cell = Cell::new(security, 1, Real::default());
        let station = cell.station(1, security, 1);
        cell.join(station);
        cell.run(SECOND);
        for frame in authentications(&cell, station).iter().chain(&authentications(&cell, AP)) {
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
        cell.packets.clear();
        cell.up(station, &packet(1));
        cell.down(station, &packet(2));
        assert_eq!(cell.packets, [(AP, packet(1)), (station, packet(2))], "{security:?}");
        assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (1, 0), "{security:?}");
    }
}
