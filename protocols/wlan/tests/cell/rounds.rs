//! RRKM in a cell: keys that change by themselves while packets go both ways, clocks that drift, stations that sleep.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Crypto;
use keytoll_engine::{Datagram, Time};
use keytoll_wlan::bss::{BROADCAST, Security};
use keytoll_wlan::station::Failure;
use keytoll_wlan::{Cipher, MacAddr, access_point};

use crate::cell::{AP, Cell, access_point, packet, rrkm};

const RRKM: Security = Security::Rrkm(Cipher::Wep104);
const SECOND: Duration = Duration::from_secs(1);
const DAY_S: u64 = 86_400;

/// A cell with such periods, and stations with such clocks that have joined.
fn joined(period_s: u16, drifts_ppm: &[i32], crypto: impl Crypto + 'static) -> (Cell, Vec<MacAddr>) {
    let config = access_point::Config { rrkm: rrkm(RRKM, period_s), ..access_point(RRKM) };
    let mut cell = Cell::with(config, 1, crypto);
    cell.run(SECOND * 100);
    let stations: Vec<_> =
        (1..).zip(drifts_ppm).map(|(number, drift)| cell.drifting_station(number, RRKM, 1, *drift)).collect();
    stations.iter().for_each(|station| cell.join(*station));
    cell.run(SECOND);
    assert_eq!(cell.joined, stations, "{:?} {:?}", cell.failed, cell.discards);
    (cell, stations)
}

#[test]
fn thousands_of_boundaries_cost_no_packet() {
    let (mut cell, stations) = joined(1, &[0], Real::default());
    for round in 0..5_000_u32 {
        cell.run(Duration::from_millis(613));
        cell.up(stations[0], &packet(round as u8));
        cell.down(stations[0], &packet(round as u8));
        cell.down(BROADCAST, &packet(round as u8));
        assert_eq!(cell.packets.len(), 3 * (round as usize + 1), "round {round}: {:?}", cell.discards);
    }
    assert_eq!(cell.discards.0, Vec::<String>::new());
    // On each side one for the station and one for the group, which is hashed when it is needed.
    let boundaries = 613 * 5_000 / 1_000;
    let rekeyed = ["pairwise", "group"].map(|what| cell.discards.1[what]);
    assert_eq!(rekeyed.map(|count| count.abs_diff(2 * boundaries) <= 4), [true; 2], "{rekeyed:?}");
}

/// For a day of clocks that drift, every packet arrives. Without correction they would be 17 seconds off at its end: nine epochs of two
/// seconds.
fn clocks_drift_for_a_day(up: bool, down: bool) {
    let drifts_ppm = [200, -200, 20, 0];
    for (period_s, step) in [(60, 7), (2, 5)] {
        let (mut cell, stations) = joined(period_s, &drifts_ppm, Real::default());
        let mut sent = 0;
        for round in 0..(DAY_S / step) as usize {
            cell.run(SECOND * step as u32);
            let station = stations[round % stations.len()];
            if up {
                cell.up(station, &packet(1));
            }
            if down {
                cell.down(station, &packet(2));
            }
            sent += usize::from(up) + usize::from(down);
        }
        let lost = (sent - cell.packets.len(), cell.discards.0.first());
        assert_eq!(lost, (0, None), "{period_s}");
    }
}

#[test]
fn clocks_that_drift_cost_no_packet() {
    clocks_drift_for_a_day(true, true);
}

#[test]
fn clocks_that_drift_cost_no_packet_of_a_station_that_only_sends() {
    clocks_drift_for_a_day(true, false);
}

#[test]
fn clocks_that_drift_cost_no_packet_of_a_station_that_only_hears() {
    clocks_drift_for_a_day(false, true);
}

/// WEP does not notice a frame that comes again within an epoch or two. It must not hold the clock of a station that has heard the
/// access point since.
#[test]
fn replayed_frames_do_not_hold_a_stations_clock() {
    let (mut cell, stations) = joined(10, &[0], Real::default());
    let rounds = 20;
    for round in 0..rounds {
        cell.down(stations[0], &packet(round));
        let old = cell.frames.last().unwrap().clone();
        cell.run(SECOND * 10);
        cell.down(stations[0], &packet(round));
        for _ in 0..60 {
            cell.deliver(&old);
            cell.run(Duration::from_millis(450));
        }
        cell.packets.clear();
        cell.up(stations[0], &packet(round));
        assert_eq!(cell.packets, [(AP, packet(round))], "round {round}: {:?}", cell.discards.0.last());
    }
    // 37 seconds for each round, on both sides.
    let (rekeyed, expected) = (cell.discards.1["pairwise"], 2 * 37 * usize::from(rounds) / 10);
    assert!(rekeyed.abs_diff(expected) <= 4, "{rekeyed} {expected}");
}

/// A beacon whose timer says something else.
fn forged_beacon(cell: &mut Cell, timer_us: u64) -> Datagram {
    let mut beacon = cell.beacon();
    beacon.bytes[24..32].copy_from_slice(&timer_us.to_le_bytes());
    beacon
}

/// Nobody proves what a beacon says. Whoever forges one has no station lose a frame, whichever way it pushes the clock and in
/// however many steps, while the station hears its access point now and then.
#[test]
fn forged_timers_do_not_move_a_stations_clock() {
    for step_ms in [29_000, 31_000, 5_000, 55_000, 90, 59_910] {
        let (mut cell, stations) = joined(60, &[0], Real::default());
        for round in 0..400_u32 {
            cell.run(Duration::from_millis(3_700));
            let now_ms = u64::try_from(cell.now.since(Time::ZERO).as_millis()).unwrap();
            for step in 1..=10 {
                let beacon = forged_beacon(&mut cell, (now_ms + step * step_ms) * 1000);
                cell.deliver(&beacon);
            }
            cell.packets.clear();
            cell.up(stations[0], &packet(1));
            let hears = round % 100 == 0;
            if hears {
                cell.down(stations[0], &packet(2));
            }
            let arrived = 1 + usize::from(hears);
            assert_eq!(cell.packets.len(), arrived, "{step_ms} {round}: {:?}", cell.discards.0.last());
        }
        assert_eq!((cell.left.len(), cell.ended.len()), (0, 0));
    }
}

/// Before it has heard anything in an epoch, old frames hold its clock no longer than it can be wrong.
#[test]
fn replayed_frames_do_not_hold_the_clock_of_a_station_that_hears_nothing_else() {
    let (mut cell, stations) = joined(10, &[0], Real::default());
    cell.down(stations[0], &packet(1));
    let old = cell.frames.last().unwrap().clone();
    for _ in 0..200 {
        cell.run(Duration::from_millis(450));
        cell.deliver(&old);
    }
    cell.packets.clear();
    cell.up(stations[0], &packet(2));
    assert_eq!(cell.packets, [(AP, packet(2))], "{:?}", cell.discards.0.last());
}

/// A probe response before the authentication proves nothing either: the challenge says what is left of the epoch.
#[test]
fn a_station_does_not_set_its_clock_by_the_answer_to_its_probe() {
    let mut cell = Cell::new(RRKM, 1, Real::default());
    cell.run(SECOND * 30);
    let station = cell.station(1, RRKM, 1);
    cell.lose_nth = Some(1);
    cell.join(station);
    cell.settle();
    let mut response = cell.frames[1].clone();
    response.bytes[24..32].copy_from_slice(&59_000_000_u64.to_le_bytes());
    cell.deliver(&response);
    cell.run(SECOND);
    assert_eq!(cell.joined, [station]);
    let before = cell.discards.1.get("pairwise").copied();
    cell.run(SECOND * 20);
    assert_eq!((before, cell.discards.1.get("pairwise")), (None, None), "the epoch lasts");
}

/// Whatever frame is lost at whatever time before a boundary, and sent again behind it.
#[test]
fn a_boundary_during_the_authentication_costs_no_packet() {
    for phase_ms in (700..1000).step_by(20) {
        for lost in 0..7 {
            let config = access_point::Config { rrkm: rrkm(RRKM, 1), ..access_point(RRKM) };
            let mut cell = Cell::with(config, 1, Real::default());
            cell.run(Duration::from_millis(5_000 + phase_ms));
            let station = cell.station(1, RRKM, 1);
            cell.lose_nth = Some(lost);
            cell.join(station);
            cell.run(SECOND);
            assert_eq!(cell.joined, [station], "{phase_ms} {lost} {:?}", cell.failed);
            for round in 0..40 {
                cell.run(Duration::from_millis(90));
                cell.up(station, &packet(round));
                cell.down(station, &packet(round));
                cell.down(BROADCAST, &packet(round));
            }
            assert_eq!(cell.packets.len(), 3 * 40, "{phase_ms} {lost} {:?}", cell.discards.0);
        }
    }
}

#[test]
fn an_access_point_that_slept_has_forgotten_who_was_about_to_join() {
    let (mut cell, _) = joined(1, &[], Real::default());
    let station = cell.station(1, RRKM, 1);
    // The association request waits for as long as the access point sleeps.
    cell.lose_nth = Some(6);
    cell.join(station);
    cell.settle();
    let request = cell.frames[6].clone();
    cell.now += SECOND * 3600 * 24 * 30;
    cell.deliver(&request);
    assert_eq!((cell.ap.member_count(), cell.ap.stranger_count()), (0, 0));
    assert_eq!(cell.discards.0, ["association without authentication"]);
}

#[test]
fn a_station_that_slept_for_a_week_goes_on_and_after_more_it_authenticates_again() {
    let (mut cell, stations) = joined(60, &[0], Real::default());
    let [station] = stations[..] else { unreachable!("it is one") };
    for asleep in [3, 1_000, 10_079_u32] {
        let slept = cell.sleep(station, SECOND * 60 * asleep);
        cell.packets.clear();
        cell.wake(slept);
        cell.up(station, &packet(1));
        cell.down(station, &packet(2));
        cell.down(BROADCAST, &packet(3));
        let expected = [(AP, packet(1)), (station, packet(2)), (station, packet(3))];
        assert_eq!(cell.packets, expected, "{asleep} {:?}", cell.discards);
    }
    let slept = cell.sleep(station, SECOND * 60 * 10_090);
    cell.wake(slept);
    cell.run(SECOND);
    assert!(
        matches!(cell.left[..], [(_, Failure::MissedEpochs(missed))] if missed.epochs >= 10_090),
        "{:?}",
        cell.left
    );
    assert_eq!((cell.ap.member_count(), cell.ended.len(), cell.discards.0.len()), (0, 1, 1));
    cell.join(station);
    cell.run(SECOND);
    cell.up(station, &packet(4));
    assert_eq!((cell.joined.len(), cell.packets.last()), (2, Some(&(AP, packet(4)))));
}
