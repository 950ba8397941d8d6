//! A station that moves between the access points of a network, with fast transition and without.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_wlan::access_point::{self, AccessPoint, Command, Ended, ToOthers};
use keytoll_wlan::bss::{BROADCAST, Protected, Rsn, Security};
use keytoll_wlan::dot1x::Eap;
use keytoll_wlan::frame::management::Authentication;
use keytoll_wlan::frame::rsn::Mde;
use keytoll_wlan::frame::{AuthenticationAlgorithm, Frame, Header, Management, ManagementHeader, StatusCode};
use keytoll_wlan::keys::PmkR1;
use keytoll_wlan::station::{self, Failure, Station};
use keytoll_wlan::transition::{Domain, Pull};
use keytoll_wlan::{Akm, Cipher, MacAddr};

use crate::cell::{Discards, WPA2_PSK, access_point, eap, msk, packet, station};

const SECOND: Duration = Duration::from_secs(1);
const A: MacAddr = [2, 0, 0, 0, 0, 0xa];
const B: MacAddr = [2, 0, 0, 0, 0, 0xb];
const FT_PSK: Security = security(Akm::FtPsk, Protected::Never);

const fn security(akm: Akm, management: Protected) -> Security {
    Security::Rsn(Rsn { akm, management, ..WPA2_PSK })
}

/// Two access points of one network and a station.
struct Campus {
    now: Time,
    access_points: BTreeMap<MacAddr, AccessPoint>,
    station: Station,
    joined: Vec<MacAddr>,
    ended: Vec<(MacAddr, Ended)>,
    told: Vec<Result<MacAddr, Failure>>,
    pulls: usize,
    /// The last of them.
    pulled: Option<Pull>,
    /// Whether access points speak to each other.
    is_wired: bool,
    frames: Vec<Datagram>,
    on_air: VecDeque<Datagram>,
    lose_nth: Option<usize>,
    loss: f64,
    rng: Rng,
    arrived: Vec<(MacAddr, Vec<u8>)>,
    discards: Discards,
    crypto: Real,
}

fn own(address: MacAddr, security: Security) -> access_point::Config {
    let mde = Mde { mdid: [0xa1, 0xb2], over_ds: false, resource_request: false };
    let domain = Domain { mde, r0kh_id: address.to_vec() };
    access_point::Config { address, domain: Some(domain), ..access_point(security) }
}

impl Campus {
    fn new(security: Security) -> Self {
        let seed = Seed::from(1);
        let access_points = [A, B].map(|own_address| {
            (own_address, AccessPoint::new(own(own_address, security), &seed, &format!("{own_address:?}")))
        });
        Self {
            now: Time::ZERO,
            access_points: access_points.into(),
            station: Station::new(station(1, security, 1, 0), &seed, "ue"),
            joined: Vec::new(),
            ended: Vec::new(),
            told: Vec::new(),
            pulls: 0,
            pulled: None,
            is_wired: true,
            frames: Vec::new(),
            on_air: VecDeque::new(),
            lose_nth: None,
            loss: 0.0,
            rng: seed.stream("air"),
            arrived: Vec::new(),
            discards: Discards::default(),
            crypto: Real::default(),
        }
    }

    /// One whose station has joined at A, to which alone its probe request came.
    fn joined(security: Security) -> Self {
        let mut campus = Self::new(security);
        let away = campus.access_points.remove(&B).unwrap();
        campus.order(station::Command::Join);
        campus.run(SECOND);
        campus.access_points.insert(B, away);
        assert_eq!((&campus.told[..], &campus.joined[..]), (&[Ok(A)][..], &[A][..]), "{:?}", campus.discards);
        campus
    }

    /// Moves, and says with how many frames of authentication and association.
    fn roam(&mut self, to: MacAddr) -> usize {
        let before = self.frames.len();
        self.order(station::Command::Roam(to));
        self.run(SECOND);
        self.frames.len() - before
    }

    fn order(&mut self, command: station::Command) {
        self.station_takes(Input::Command(command));
    }

    fn station_takes(&mut self, input: Input<'_, station::Command>) {
        self.station
            .handle(input, &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.discards });
        while let Some(output) = self.station.poll() {
            match output {
                Output::Datagram(frame) => self.put(frame),
                Output::Inner(packet) => self.arrived.push(([0; 6], packet)),
                Output::Event(station::Event::Eap(packet)) => {
                    let answer = match packet[0] {
                        1 => Eap::Packet(eap(2, packet[1])),
                        _ => Eap::Success { packet: Vec::new(), msk: Some(msk()) },
                    };
                    self.order(station::Command::Eap(answer));
                }
                Output::Event(station::Event::EapStart) => {}
                Output::Event(station::Event::Joined(at)) => self.told.push(Ok(at)),
                Output::Event(station::Event::Failed(why) | station::Event::Left(why)) => {
                    self.told.push(Err(why));
                }
                Output::Close { .. } => unreachable!("there are no streams"),
            }
        }
    }

    fn ap_takes(&mut self, at: MacAddr, input: Input<'_, Command>) {
        let Some(engine) = self.access_points.get_mut(&at) else { return };
        engine.handle(input, &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.discards });
        while let Some(output) = self.access_points.get_mut(&at).and_then(Engine::poll) {
            match output {
                Output::Datagram(frame) => self.put(frame),
                Output::Event(event) => self.on_event(at, event),
                other => unreachable!("{other:?}"),
            }
        }
        while let Some(said) = self.access_points.get_mut(&at).and_then(AccessPoint::poll_to_others) {
            self.on_said(at, said);
        }
    }

    fn on_said(&mut self, at: MacAddr, said: ToOthers) {
        match said {
            ToOthers::CameFrom(station, from) => {
                self.ap_takes(from, Input::Command(Command::Forget(station)));
            }
            ToOthers::Pull(pull) => {
                self.pulls += 1;
                let holder: MacAddr = pull.r0kh_id[..].try_into().unwrap();
                let key = self.is_wired.then(|| self.pmk_r1(holder, &pull)).flatten();
                self.pulled = Some(pull.clone());
                self.ap_takes(at, Input::Command(Command::PmkR1(pull, key)));
            }
        }
    }

    fn pmk_r1(&mut self, holder: MacAddr, pull: &Pull) -> Option<PmkR1> {
        let cx = &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.discards };
        self.access_points.get_mut(&holder)?.pmk_r1(pull, cx)
    }

    fn on_event(&mut self, at: MacAddr, event: access_point::Event) {
        use access_point::Event;
        let command = match event {
            Event::EapStart(station) => Command::Eap(station, Eap::Packet(eap(1, 7))),
            Event::Eap(station, packet) => {
                let packet = vec![3, packet[1], 0, 4];
                Command::Eap(station, Eap::Success { packet, msk: Some(msk()) })
            }
            Event::Packet(_, packet) => return self.arrived.push((at, packet)),
            Event::Joined(_) => return self.joined.push(at),
            Event::Ended(_, why) => return self.ended.push((at, why)),
        };
        self.ap_takes(at, Input::Command(command));
    }

    fn put(&mut self, frame: Datagram) {
        self.frames.push(frame.clone());
        if self.lose_nth != Some(self.frames.len() - 1) && !self.rng.chance(self.loss) {
            self.on_air.push_back(frame);
        }
    }

    fn deliver(&mut self, &Datagram { from, to, ref bytes, .. }: &Datagram) {
        let Addr::Mac(receiver) = to else { return };
        let input = || Input::Datagram { from, to, bytes };
        let is_of_ap = [A, B].map(Addr::Mac).contains(&from);
        match receiver {
            BROADCAST if !is_of_ap => [A, B].into_iter().for_each(|ap| self.ap_takes(ap, input())),
            A | B => self.ap_takes(receiver, input()),
            _ => self.station_takes(Input::Datagram { from, to, bytes }),
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            while let Some(frame) = self.on_air.pop_front() {
                self.deliver(&frame);
            }
            let deadlines = self.access_points.values().filter_map(Engine::deadline);
            let next = deadlines.chain(self.station.deadline()).min().filter(|next| next.at <= until);
            let Some(Deadline { at, .. }) = next else { break };
            self.now = self.now.max(at);
            self.station_takes(Input::Tick);
            [A, B].into_iter().for_each(|ap| self.ap_takes(ap, Input::Tick));
        }
        self.now = until;
    }

    /// Packets in both directions, and one to all, at this access point.
    fn check_traffic(&mut self, at: MacAddr) {
        self.arrived.clear();
        self.station_takes(Input::Inner(&packet(1)));
        let cx = &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.discards };
        let address = station(1, FT_PSK, 1, 0).address;
        let engine = self.access_points.get_mut(&at).unwrap();
        let frames = [engine.send(address, &packet(2), cx), engine.send_to_all(&packet(3), cx)];
        frames.into_iter().flatten().for_each(|frame| self.put(frame));
        self.run(Duration::ZERO);
        let expected = [(at, packet(1)), ([0; 6], packet(2)), ([0; 6], packet(3))];
        assert_eq!(self.arrived, expected, "{:?}", self.discards);
    }

    fn members(&self) -> [usize; 2] {
        [A, B].map(|at| self.access_points[&at].member_count())
    }
}

/// Probe, authentication and reassociation, two frames each; without fast transition the 4-way handshake, and EAP before it.
const FAST: usize = 6;
const SLOW_PSK: usize = 6 + 4;

#[test]
fn fast_transition_takes_four_frames_and_no_eap() {
    for (akm, management) in [
        (Akm::FtPsk, Protected::Never),
        (Akm::FtPsk, Protected::Always),
        (Akm::FtDot1x, Protected::IfBothCan),
        (Akm::FtDot1xSha384, Protected::Always),
        (Akm::FtSae, Protected::Always),
    ] {
        let mut campus = Campus::joined(security(akm, management));
        campus.check_traffic(A);
        assert_eq!(campus.roam(B), FAST, "{akm:?} {:?}", campus.discards);
        assert_eq!((campus.members(), campus.pulls), ([0, 1], 1));
        assert_eq!(campus.ended, [(A, Ended::Left(8))]);
        campus.check_traffic(B);
        // Back, and there again: A holds the PMK-R0, and B has kept its PMK-R1.
        for (number, to) in [A, B, A, B].into_iter().enumerate() {
            assert_eq!(campus.roam(to), FAST, "{akm:?} {number} {:?}", campus.discards);
            campus.check_traffic(to);
        }
        assert_eq!((campus.told.len(), campus.pulls, campus.told.iter().all(Result::is_ok)), (6, 1, true));
        // Keys of the group change under the keys of a transition.
        campus.ap_takes(B, Input::Command(Command::ChangeGroupKeys));
        campus.run(SECOND);
        campus.check_traffic(B);
        campus.run(SECOND * 10);
        let strangers: usize = campus.access_points.values().map(AccessPoint::stranger_count).sum();
        assert_eq!((strangers, campus.discards.0.first()), (0, None), "{akm:?}");
    }
}

#[test]
fn without_fast_transition_it_associates_anew() {
    let mut campus = Campus::joined(Security::Rsn(WPA2_PSK));
    assert_eq!(campus.roam(B), SLOW_PSK);
    campus.check_traffic(B);
    assert_eq!((campus.members(), campus.pulls), ([0, 1], 0));
    let mut campus = Campus::joined(Security::Open);
    assert_eq!(campus.roam(B), FAST);
    campus.check_traffic(B);
}

#[test]
fn a_target_that_does_not_get_the_key_has_the_station_associate_anew() {
    for (akm, slow) in [(Akm::FtPsk, SLOW_PSK), (Akm::FtDot1x, SLOW_PSK + 3)] {
        let mut campus = Campus::joined(security(akm, Protected::Never));
        campus.is_wired = false;
        assert_eq!(campus.roam(B), slow + 2, "{akm:?}: the fast one is refused first");
        campus.check_traffic(B);
        assert_eq!((campus.members(), campus.told.len()), ([0, 1], 2));
    }
}

#[test]
fn two_access_points_do_not_answer_each_others_refusals() {
    for (security, algorithm) in [
        (Security::Open, AuthenticationAlgorithm::SHARED_KEY),
        (FT_PSK, AuthenticationAlgorithm::FAST_BSS_TRANSITION),
        (Security::SharedKey(Cipher::Wep104), AuthenticationAlgorithm::OPEN_SYSTEM),
        (security(Akm::Sae, Protected::Always), AuthenticationAlgorithm(99)),
    ] {
        let mut campus = Campus::new(security);
        // Somebody has written A's address as the sender.
        let asks = Authentication { algorithm, sequence: 1, status: StatusCode::SUCCESS, rest: &[] };
        let body = Management::Authentication(asks);
        let header = Header::Management(ManagementHeader::new(body.subtype(), B, A, B));
        let bytes = Frame { header, body: &body.to_bytes() }.to_bytes();
        let (from, to) = (Addr::Mac(A), Addr::Mac(B));
        campus.deliver(&Datagram { protocol: Protocol::MANAGEMENT, from, to, bytes });
        let refusal = campus.on_air.pop_front().unwrap();
        // Even where the refusal names A's network, A does not go on.
        let mut at_home = refusal.clone();
        at_home.bytes[16..22].copy_from_slice(&A);
        [refusal, at_home].iter().for_each(|frame| campus.deliver(frame));
        assert_eq!(campus.on_air, [], "{security:?}");
    }
}

/// A stranger repeats open authentication and association request of a member at the other access point.
#[test]
fn who_has_no_keys_does_not_end_a_membership_elsewhere() {
    for akm in [Akm::PskSha256, Akm::Dot1xSha256] {
        let security = security(akm, Protected::Always);
        let mut campus = Campus::joined(security);
        let before = campus.frames.len();
        campus.roam(B);
        let of_station =
            |frame: &&Datagram| [0xb0, 0x20].contains(&frame.bytes[0]) && frame.to == Addr::Mac(B);
        let sent: Vec<Datagram> = campus.frames[before..].iter().filter(of_station).cloned().collect();
        assert_eq!((sent.len(), campus.members()), (2, [0, 1]));

        let mut campus = Campus::joined(security);
        sent.iter().for_each(|frame| campus.deliver(frame));
        campus.on_air.clear();
        campus.run(SECOND / 10);
        assert_eq!((campus.members(), &campus.ended[..]), ([1, 0], &[][..]), "{akm:?}");
        campus.check_traffic(A);
    }
}

#[test]
fn who_names_its_new_access_point_as_the_one_before_stays() {
    let mut campus = Campus::joined(Security::Open);
    let before = campus.frames.len();
    campus.roam(B);
    let is_reassociation = |frame: &&Datagram| frame.bytes[0] == 0x20;
    let mut again = campus.frames[before..].iter().find(is_reassociation).unwrap().clone();
    let is_authentication = |frame: &&Datagram| frame.bytes[0] == 0xb0 && frame.to == Addr::Mac(B);
    let authentication = campus.frames[before..].iter().find(is_authentication).unwrap().clone();
    // Capabilities and listen interval come before the current access point's address.
    again.bytes[28..34].copy_from_slice(&B);
    [authentication, again].iter().for_each(|frame| campus.deliver(frame));
    assert_eq!((campus.members(), campus.ended.last()), ([0, 1], Some(&(B, Ended::Anew))));
}

#[test]
fn every_frame_of_a_transition_may_be_lost_once() {
    for lost in 0..FAST {
        let mut campus = Campus::joined(FT_PSK);
        campus.lose_nth = Some(campus.frames.len() + lost);
        let frames = campus.roam(B);
        assert!(frames > FAST, "{lost}");
        assert_eq!(
            (campus.members(), campus.told.last()),
            ([0, 1], Some(&Ok(B))),
            "{lost} {:?}",
            campus.discards
        );
        campus.check_traffic(B);
    }
}

/// The lesson of KRACK for fast transition (CVE-2017-13082): a reassociation request that comes again installs nothing.
#[test]
fn a_replayed_reassociation_request_does_not_reinstall_the_key() {
    let mut campus = Campus::joined(FT_PSK);
    campus.roam(B);
    campus.check_traffic(B);
    let is_reassociation = |frame: &&Datagram| frame.bytes[0] == 0x20;
    let request = campus.frames.iter().find(is_reassociation).unwrap().clone();
    let data = |campus: &Campus| {
        campus.frames.iter().filter(|frame| frame.bytes[0] == 8).cloned().collect::<Vec<_>>()
    };
    let before = data(&campus);
    campus.deliver(&request);
    campus.run(Duration::ZERO);
    campus.check_traffic(B);
    let after = data(&campus).split_off(before.len());
    // The packet number is in the first octets behind the header.
    let numbers = |frames: &[Datagram]| {
        frames.iter().map(|frame| (frame.from, frame.to, frame.bytes[24..32].to_vec())).collect::<Vec<_>>()
    };
    assert!(
        numbers(&after).iter().all(|number| !numbers(&before).contains(number)),
        "a packet number is used twice"
    );
    assert_eq!(campus.joined, [A, B]);
    // One with anything else in it is nobody's.
    let mut wrong = request;
    *wrong.bytes.last_mut().unwrap() ^= 1;
    let discards = campus.discards.0.len();
    campus.deliver(&wrong);
    assert_eq!(campus.discards.0.len(), discards + 1);
    campus.check_traffic(B);
}

#[test]
fn a_station_with_another_key_is_refused() {
    // It has entered the domain under another PSK at a holder of its own.
    let mut campus = Campus::joined(FT_PSK);
    let config = access_point::Config { pmk: Some(Secret::new(vec![9; 32])), ..own(B, FT_PSK) };
    campus.access_points.insert(B, AccessPoint::new(config, &Seed::from(2), "other"));
    campus.is_wired = false;
    campus.roam(B);
    campus.run(SECOND * 20);
    // Where it has not proved a key, nobody tells A that it has come.
    assert_eq!((campus.members(), campus.told.len()), ([1, 0], 2), "{:?}", campus.told);
    assert!(matches!(campus.told[1], Err(Failure::Ended(15))), "{:?}", campus.told);
}

#[test]
fn an_access_point_gives_no_other_the_key_that_it_was_given_itself() {
    let mut campus = Campus::joined(FT_PSK);
    campus.roam(B);
    let pull = campus.pulled.take().unwrap();
    // B under its own name and another's, and for itself and another.
    for r0kh_id in [A, B] {
        for r1kh_id in [A, B] {
            let pull = Pull { r0kh_id: r0kh_id.to_vec(), r1kh_id, ..pull.clone() };
            assert!(campus.pmk_r1(B, &pull).is_none(), "{r0kh_id:?} {r1kh_id:?}");
        }
    }
    assert!(campus.pmk_r1(A, &pull).is_some());
    assert!(campus.pmk_r1(A, &Pull { r0kh_id: B.to_vec(), ..pull }).is_none());
}

#[test]
fn nobody_at_the_target_ends_the_membership() {
    let mut campus = Campus::joined(FT_PSK);
    campus.access_points.remove(&B);
    campus.roam(B);
    campus.run(SECOND * 5);
    assert_eq!(campus.told, [Ok(A), Err(Failure::Timeout)]);
    assert!(!campus.station.is_busy());
}

#[test]
fn a_flood_of_first_frames_is_bounded() {
    let mut campus = Campus::joined(FT_PSK);
    campus.access_points.insert(
        B,
        AccessPoint::new(access_point::Config { strangers_max: 64, ..own(B, FT_PSK) }, &Seed::from(1), "b"),
    );
    campus.is_wired = false;
    let before = campus.frames.len();
    campus.roam(B);
    let first = campus.frames[before..].iter().find(|frame| frame.bytes[0] == 0xb0).unwrap().clone();
    for number in 0..5_000_u32 {
        let [_, b, c, d] = number.to_be_bytes();
        let mut forged = first.clone();
        forged.from = Addr::Mac([2, 9, 9, b, c, d]);
        forged.bytes[10..16].copy_from_slice(&[2, 9, 9, b, c, d]);
        campus.deliver(&forged);
        campus.on_air.clear();
        assert!(campus.access_points[&B].stranger_count() <= 64);
    }
    campus.run(SECOND * 10);
    assert_eq!(campus.access_points[&B].stranger_count(), 0);
    campus.check_traffic(B);
}

#[test]
fn with_losses_it_is_a_member_somewhere_or_knows_that_it_is_not() {
    let mut moved = 0;
    for seed in 0..400 {
        let akm = [Akm::FtPsk, Akm::FtDot1x][seed as usize % 2];
        let mut campus = Campus::joined(security(akm, Protected::Never));
        (campus.loss, campus.rng) = ([0.1, 0.3][seed as usize / 2 % 2], Rng::named(seed, "air"));
        campus.roam(B);
        campus.run(SECOND * 100);
        campus.loss = 0.0;
        let is_member = campus.station.is_member();
        assert!(is_member || !campus.station.is_busy(), "{seed}: half-open station");
        let last = campus.told.last().unwrap();
        assert_eq!(last.is_ok(), is_member, "{seed}: {last:?}");
        if is_member && campus.access_points[&B].is_member(station(1, FT_PSK, 1, 0).address) {
            campus.check_traffic(B);
            moved += 1;
        }
    }
    assert!(moved > 200, "{moved}");
}

#[test]
fn damaged_frames_of_a_transition_cost_a_member_nothing() {
    let mut campus = Campus::joined(security(Akm::FtPsk, Protected::Always));
    let before = campus.frames.len();
    campus.roam(B);
    let sent = campus.frames.split_off(before);
    for frame in sent {
        for at in 0..frame.bytes.len() {
            let mut wrong = frame.clone();
            wrong.bytes.truncate(at);
            campus.deliver(&wrong);
            let mut wrong = frame.clone();
            wrong.bytes[at] ^= 1 << (at % 8);
            campus.deliver(&wrong);
        }
    }
    campus.run(SECOND * 10);
    campus.check_traffic(B);
    let strangers: usize = campus.access_points.values().map(AccessPoint::stranger_count).sum();
    assert_eq!((campus.members(), strangers), ([0, 1], 0));
}
