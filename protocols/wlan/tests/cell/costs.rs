//! What an authentication and a day of new keys cost each side: paper 001, table 4-2, as counted in the engines.

use std::time::Duration;

use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_wlan::Cipher;
use keytoll_wlan::access_point::AccessPoint;
use keytoll_wlan::bss::Security;
use keytoll_wlan::station::{Command, Station};

use crate::cell::{access_point, address, packet, station};

/// The two sides, with a meter each.
struct Pair {
    now: Time,
    station: (Station, Metered<Provider>),
    access_point: (AccessPoint, Metered<Provider>),
    frames: usize,
}

fn take<E: Engine>(
    (engine, crypto): &mut (E, Metered<Provider>),
    now: Time,
    input: Input<'_, E::Command>,
) -> Vec<Datagram> {
    engine.handle(input, &mut Ctx { now, crypto, trace: &mut NoTrace });
    let outputs = std::iter::from_fn(|| engine.poll());
    let frame = |output| if let Output::Datagram(frame) = output { Some(frame) } else { None };
    outputs.filter_map(frame).collect()
}

impl Pair {
    fn joined(security: Security, crypto: fn() -> Provider) -> Self {
        let (seed, [a, b]) = (Seed::from(1), [0, 1].map(|_| Metered::count_only(crypto())));
        let mut pair = Self {
            now: Time::ZERO,
            station: (Station::new(station(1, security, 1, 0), &seed, "ue"), a),
            access_point: (AccessPoint::new(access_point(security), &seed, "ap"), b),
            frames: 0,
        };
        pair.station_takes(Input::Command(Command::Join));
        assert!(pair.station.0.is_member() && pair.access_point.0.is_member(address(1)));
        pair
    }

    fn station_takes(&mut self, input: Input<'_, Command>) {
        let sent = take(&mut self.station, self.now, input);
        self.frames += sent.len();
        sent.iter().for_each(|frame| self.ap_takes(frame));
    }

    fn ap_takes(&mut self, &Datagram { from, to, ref bytes, .. }: &Datagram) {
        let answers = take(&mut self.access_point, self.now, Input::Datagram { from, to, bytes });
        for Datagram { from, to, bytes, .. } in answers {
            self.station_takes(Input::Datagram { from, to, bytes: &bytes });
        }
    }

    /// Goes on to the next deadline of either side.
    fn go_on(&mut self) {
        let deadlines = [self.station.0.deadline(), self.access_point.0.deadline()];
        self.now = deadlines.into_iter().flatten().min().unwrap().at;
        self.station_takes(Input::Tick);
        assert_eq!(take(&mut self.access_point, self.now, Input::Tick), []);
    }

    /// What the station and the access point have done: phase, algorithm, count.
    fn counted(&self) -> [Vec<(&'static str, String, u64)>; 2] {
        [&self.station.1, &self.access_point.1].map(|meter| {
            let rows = meter.snapshot();
            rows.iter().map(|row| (row.phase.name(), row.algorithm.to_string(), row.count)).collect()
        })
    }
}

const fn real() -> fn() -> Provider {
    || Provider::Real(Real::default())
}

const fn null() -> fn() -> Provider {
    || Provider::Null(Null)
}

#[test]
fn an_authentication_costs_what_the_paper_counts() {
    let row = |phase, algorithm: &str, count| (phase, algorithm.to_owned(), count);
    for (security, expected) in [
        (Security::SharedKey(Cipher::Wep104), vec![row("shared-key", "rc4", 1)]),
        (Security::Rrkm(Cipher::Wep104), vec![row("rrkm", "sha1", 1), row("rrkm", "rc4", 2)]),
    ] {
        for crypto in [real(), null()] {
            let pair = Pair::joined(security, crypto);
            assert_eq!(pair.counted(), [expected.clone(), expected.clone()], "{security:?}");
        }
    }
}

#[test]
fn a_day_of_minutes_costs_each_side_one_hash_a_minute_and_one_look_at_the_clock() {
    let mut pair = Pair::joined(Security::Rrkm(Cipher::Wep104), null());
    let (start, before) = (pair.now, pair.frames);
    while pair.now.since(start) < Duration::from_secs(86_400) {
        pair.go_on();
    }
    assert_eq!(pair.frames - before, 1, "a probe request, for the timer in its response");
    pair.station_takes(Input::Inner(&packet(1)));
    for counted in pair.counted() {
        let of = |phase| counted.iter().filter(|row| row.0 == phase).map(|row| row.2).collect::<Vec<_>>();
        assert_eq!((of("rekeying"), of("traffic")), (vec![1440], vec![1]));
    }
}

/// A hundred stations of the paper: an access point hashes once for each and period, whatever the group does.
#[test]
fn an_access_point_hashes_for_each_of_its_stations() {
    let security = Security::Rrkm(Cipher::Wep104);
    let mut pair = Pair::joined(security, null());
    for number in 2..=100 {
        let another = Station::new(station(number, security, 1, 0), &Seed::from(u64::from(number)), "ue");
        let meter = Metered::count_only(null()());
        pair.station = (another, meter);
        pair.station_takes(Input::Command(Command::Join));
    }
    assert_eq!(pair.access_point.0.member_count(), 100);
    let periods = 1440;
    for _ in 0..periods {
        pair.now = pair.access_point.0.deadline().unwrap().at;
        assert_eq!(take(&mut pair.access_point, pair.now, Input::Tick), []);
    }
    let [_, counted] = pair.counted();
    let hashes: Vec<_> = counted.into_iter().filter(|row| row.0 == "rekeying").collect();
    assert_eq!(hashes, [("rekeying", "sha1".to_owned(), 100 * periods)]);
}
