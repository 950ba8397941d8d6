//! A cell: an access point, stations, an air between them that loses, doubles and reorders, and an EAP method of two messages
//! that makes the same MSK on both sides.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Crypto, Rng, Secret, Seed};
use keytoll_engine::trace::{Fact, Revealed, Trace};
use keytoll_engine::{Addr, Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_wlan::access_point::{self, AccessPoint};
use keytoll_wlan::bss::{BROADCAST, Protected, Rsn, Security, Ssid};
use keytoll_wlan::cipher::WepKey;
use keytoll_wlan::dot1x::Eap;
use keytoll_wlan::rrkm::{self, KeyHash};
use keytoll_wlan::sae::Password;
use keytoll_wlan::station::{self, Station};
use keytoll_wlan::{Akm, Cipher, MacAddr, shared_key};

/// How long an epoch of RRKM is.
pub(crate) const PERIOD_S: u16 = 60;
pub(crate) const AP: MacAddr = [2, 0, 0, 0, 0, 0xa];

pub(crate) const fn address(number: u8) -> MacAddr {
    [2, 0, 0, 0, 1, number]
}

pub(crate) const WPA2_PSK: Rsn =
    Rsn { akm: Akm::Psk, pairwise: Cipher::Ccmp128, group: Cipher::Ccmp128, management: Protected::Never };

pub(crate) fn pmk(number: u8, security: Security) -> Option<Secret> {
    match security {
        Security::Rsn(rsn) if !rsn.akm.has_eap() && !matches!(rsn.akm, Akm::Sae | Akm::FtSae) => {
            Some(Secret::new(vec![number; rsn.akm.pmk_len()]))
        }
        _ => None,
    }
}

/// The password of SAE.
fn password(number: u8, security: Security) -> Option<Password> {
    let has_sae = matches!(security, Security::Rsn(Rsn { akm: Akm::Sae | Akm::FtSae, .. }));
    let made = || Password::of_network(b"keytoll", &[number; 8], None, &[Curve::P256], &mut Real::default());
    has_sae.then(made)
}

/// The keys of WEP, of as many octets as the cipher has.
fn wep_key(number: u8, cipher: Cipher) -> WepKey {
    WepKey::new(&vec![number; cipher.key_len()]).unwrap()
}

pub(crate) fn shared_key(number: u8, security: Security) -> Option<shared_key::Config> {
    let Security::SharedKey(cipher) = security else { return None };
    Some(shared_key::Config { key: wep_key(number, cipher), key_id: 2 })
}

/// Every station has the same own key as its number times sixteen and that of the network.
fn own_key(station: u8, number: u8, cipher: Cipher) -> WepKey {
    wep_key(station.wrapping_mul(16).wrapping_add(number), cipher)
}

pub(crate) fn rrkm(security: Security, period_s: u16) -> Option<rrkm::AccessPointConfig> {
    let Security::Rrkm(cipher) = security else { return None };
    let keys = (0..=255).map(|station| (address(station), own_key(station, 1, cipher))).collect();
    let (period_s, first_epoch) = (NonZeroU16::new(period_s).unwrap(), 4711);
    Some(rrkm::AccessPointConfig { keys, hash: KeyHash::Sha1, period_s, first_epoch })
}

/// What an access point of such a network knows.
pub(crate) fn access_point(security: Security) -> access_point::Config {
    access_point::Config {
        password: password(1, security),
        shared_key: shared_key(1, security),
        rrkm: rrkm(security, PERIOD_S),
        ..access_point::Config::new(AP, ssid(), security, pmk(1, security))
    }
}

/// What a station of such a network knows, with the network's key or another one.
pub(crate) fn station(number: u8, security: Security, key: u8, clock_drift_ppm: i32) -> station::Config {
    let own = match security {
        Security::Rrkm(cipher) => Some(own_key(number, key, cipher)),
        _ => None,
    };
    station::Config {
        password: password(key, security),
        shared_key: shared_key(key, security),
        rrkm: own.map(|key| rrkm::StationConfig { key, hash: KeyHash::Sha1, clock_drift_ppm }),
        ..station::Config::new(address(number), ssid(), security, pmk(key, security))
    }
}

/// Remembers why frames were discarded, and counts new keys.
#[derive(Debug, Default)]
pub(crate) struct Discards(pub(crate) Vec<String>, pub(crate) BTreeMap<String, usize>);

impl Trace for Discards {
    fn record(&mut self, fact: Fact) {
        match fact {
            Fact::Discarded { why, .. } => self.0.push(why.to_string()),
            Fact::Rekeyed { what } => *self.1.entry(what.into_owned()).or_default() += 1,
            _ => {}
        }
    }

    fn reveal(&mut self, _: Revealed) {}
}

/// What the air does with a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Air {
    pub(crate) loss: f64,
    pub(crate) copies: f64,
    pub(crate) reorders: f64,
}

pub(crate) struct Cell {
    pub(crate) now: Time,
    pub(crate) ap: AccessPoint,
    pub(crate) stations: BTreeMap<MacAddr, Station>,
    pub(crate) joined: Vec<MacAddr>,
    pub(crate) failed: Vec<(MacAddr, station::Failure)>,
    pub(crate) left: Vec<(MacAddr, station::Failure)>,
    pub(crate) ended: Vec<(MacAddr, access_point::Ended)>,
    /// Packets that arrived, with their receiver.
    pub(crate) packets: Vec<(MacAddr, Vec<u8>)>,
    pub(crate) discards: Discards,
    /// Every frame that was sent, in order.
    pub(crate) frames: Vec<Datagram>,
    pub(crate) air: Air,
    /// The air loses this one of all frames.
    pub(crate) lose_nth: Option<usize>,
    crypto: Box<dyn Crypto>,
    rng: Rng,
    on_air: VecDeque<Datagram>,
    /// Whether the station's EAP succeeds.
    pub(crate) eap_succeeds: bool,
    /// Whether the EAP server accepts it.
    pub(crate) is_accepted: bool,
}

pub(crate) fn msk() -> Secret {
    Secret::new((0..64).collect())
}

/// An EAP packet of this code and identifier with a byte of data.
pub(crate) fn eap(code: u8, identifier: u8) -> Vec<u8> {
    vec![code, identifier, 0, 6, 4, 0]
}

impl Cell {
    pub(crate) fn new(security: Security, seed: u64, crypto: impl Crypto + 'static) -> Self {
        Self::with(access_point(security), seed, crypto)
    }

    pub(crate) fn with(config: access_point::Config, seed: u64, crypto: impl Crypto + 'static) -> Self {
        let seed = Seed::from(seed);
        Self {
            now: Time::ZERO,
            ap: AccessPoint::new(config, &seed, "ap"),
            stations: BTreeMap::new(),
            joined: Vec::new(),
            failed: Vec::new(),
            left: Vec::new(),
            ended: Vec::new(),
            packets: Vec::new(),
            discards: Discards::default(),
            frames: Vec::new(),
            air: Air::default(),
            lose_nth: None,
            crypto: Box::new(crypto),
            rng: seed.stream("air"),
            on_air: VecDeque::new(),
            eap_succeeds: true,
            is_accepted: true,
        }
    }

    /// A station that demands this, with the network's key or another one.
    pub(crate) fn station(&mut self, number: u8, security: Security, key: u8) -> MacAddr {
        self.drifting_station(number, security, key, 0)
    }

    /// The same with a clock that is so much faster than the access point's.
    pub(crate) fn drifting_station(
        &mut self,
        number: u8,
        security: Security,
        key: u8,
        clock_drift_ppm: i32,
    ) -> MacAddr {
        self.add(number, station(number, security, key, clock_drift_ppm))
    }

    /// One that keeps the PMKs of so many access points.
    pub(crate) fn returning_station(&mut self, number: u8, security: Security, pmksas_max: usize) -> MacAddr {
        self.add(number, station::Config { pmksas_max, ..station(number, security, 1, 0) })
    }

    fn add(&mut self, number: u8, config: station::Config) -> MacAddr {
        let own = config.address;
        self.stations.insert(own, Station::new(config, &Seed::from(u64::from(number)), "ue"));
        own
    }

    pub(crate) fn join(&mut self, station: MacAddr) {
        self.order(station, station::Command::Join);
    }

    pub(crate) fn order(&mut self, station: MacAddr, command: station::Command) {
        self.station_takes(station, Input::Command(command));
    }

    pub(crate) fn beacon(&mut self) -> Datagram {
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut self.discards };
        self.ap.beacon(&mut cx)
    }

    pub(crate) fn order_ap(&mut self, command: access_point::Command) {
        self.ap_takes(Input::Command(command));
    }

    fn station_takes(&mut self, station: MacAddr, input: Input<'_, station::Command>) {
        let Some(engine) = self.stations.get_mut(&station) else { return };
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut self.discards };
        engine.handle(input, &mut cx);
        while let Some(output) = self.stations.get_mut(&station).and_then(Engine::poll) {
            match output {
                Output::Datagram(frame) => self.put(frame),
                Output::Inner(packet) => self.packets.push((station, packet)),
                Output::Event(event) => self.on_station(station, event),
                Output::Close { .. } => unreachable!("there are no streams"),
            }
        }
    }

    fn on_station(&mut self, station: MacAddr, event: station::Event) {
        match event {
            station::Event::EapStart => {}
            station::Event::Eap(packet) => {
                let answer = match packet[0] {
                    1 if self.eap_succeeds => Eap::Packet(eap(2, packet[1])),
                    3 => Eap::Success { packet: Vec::new(), msk: Some(msk()) },
                    _ => Eap::Failure { packet: Vec::new() },
                };
                self.order(station, station::Command::Eap(answer));
            }
            station::Event::Joined(ap) => {
                assert_eq!(ap, AP);
                self.joined.push(station);
            }
            station::Event::Failed(why) => self.failed.push((station, why)),
            station::Event::Left(why) => self.left.push((station, why)),
        }
    }

    fn ap_takes(&mut self, input: Input<'_, access_point::Command>) {
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut self.discards };
        self.ap.handle(input, &mut cx);
        while let Some(output) = self.ap.poll() {
            match output {
                Output::Datagram(frame) => self.put(frame),
                Output::Event(event) => self.on_ap(event),
                other => unreachable!("{other:?}"),
            }
        }
    }

    fn on_ap(&mut self, event: access_point::Event) {
        use access_point::{Command, Event};
        match event {
            Event::EapStart(station) => self.order_ap(Command::Eap(station, Eap::Packet(eap(1, 7)))),
            Event::Eap(station, packet) => {
                let verdict = |code| vec![code, packet[1], 0, 4];
                let eap = match self.is_accepted {
                    true => Eap::Success { packet: verdict(3), msk: Some(msk()) },
                    false => Eap::Failure { packet: verdict(4) },
                };
                self.order_ap(Command::Eap(station, eap));
            }
            Event::Packet(_, packet) => self.packets.push((AP, packet)),
            Event::Joined(_) => {}
            Event::Ended(station, why) => self.ended.push((station, why)),
        }
    }

    fn put(&mut self, frame: Datagram) {
        self.frames.push(frame.clone());
        if self.rng.chance(self.air.loss) || self.lose_nth == Some(self.frames.len() - 1) {
            return;
        }
        if self.rng.chance(self.air.copies) {
            self.on_air.push_back(frame.clone());
        }
        if self.rng.chance(self.air.reorders) {
            self.on_air.push_front(frame);
        } else {
            self.on_air.push_back(frame);
        }
    }

    /// Delivers a frame as if somebody had sent it.
    pub(crate) fn deliver(&mut self, frame: &Datagram) {
        let Addr::Mac(to) = frame.to else { return };
        let Datagram { from, to: end, ref bytes, .. } = *frame;
        if to == AP || to[0] & 1 == 1 && from != Addr::Mac(AP) {
            return self.ap_takes(Input::Datagram { from, to: end, bytes });
        }
        let receivers: Vec<_> =
            self.stations.keys().copied().filter(|station| *station == to || to == BROADCAST).collect();
        receivers.into_iter().for_each(|station| {
            self.station_takes(station, Input::Datagram { from, to: end, bytes });
        });
    }

    /// Delivers what is on the air and nothing else.
    pub(crate) fn settle(&mut self) {
        while let Some(frame) = self.on_air.pop_front() {
            self.deliver(&frame);
        }
    }

    /// Runs for so long.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.settle();
            let deadlines = self.stations.values().filter_map(Engine::deadline).chain(self.ap.deadline());
            let Some(next) = deadlines.map(|deadline| deadline.at).min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            let due: Vec<_> = self.stations.keys().copied().collect();
            due.into_iter().for_each(|station| self.station_takes(station, Input::Tick));
            self.ap_takes(Input::Tick);
        }
        self.now = until;
        self.settle();
    }

    /// A station hears and does nothing for so long, in which the others go on.
    pub(crate) fn sleep(&mut self, station: MacAddr, time: Duration) -> (MacAddr, Station) {
        let asleep = self.stations.remove(&station).unwrap();
        self.run(time);
        (station, asleep)
    }

    /// It is there again, and finds out what time it is when it has something to do.
    pub(crate) fn wake(&mut self, (station, asleep): (MacAddr, Station)) {
        self.stations.insert(station, asleep);
    }

    /// A packet of a station to the access point.
    pub(crate) fn up(&mut self, station: MacAddr, packet: &[u8]) {
        self.station_takes(station, Input::Inner(packet));
        self.settle();
    }

    /// A packet of the access point to a station, or to all.
    pub(crate) fn down(&mut self, station: MacAddr, packet: &[u8]) {
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut self.discards };
        let frame = match station {
            BROADCAST => self.ap.send_to_all(packet, &mut cx),
            station => self.ap.send(station, packet, &mut cx),
        };
        if let Some(frame) = frame {
            self.put(frame);
        }
        self.settle();
    }
}

pub(crate) fn ssid() -> Ssid {
    Ssid::new("keytoll").unwrap()
}

/// A packet of IPv4, as far as anybody here looks.
pub(crate) fn packet(number: u8) -> Vec<u8> {
    vec![0x45, number, 1, 2, 3]
}
