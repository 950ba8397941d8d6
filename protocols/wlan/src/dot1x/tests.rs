//! A supplicant and an authenticator on one LAN, with a toy of an EAP method: one request, whose answer is right or wrong.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Deadline, Time};

use super::authenticator::WepConfig;
use super::*;
use crate::suite::Cipher;

const STATION: MacAddr = [2, 0, 0, 0, 0, 1];

const REQUEST: [u8; 5] = [1, 7, 0, 5, 4];
const RESPONSE: [u8; 5] = [2, 7, 0, 5, 4];
const SUCCESS: [u8; 4] = [3, 7, 0, 4];
const FAILURE: [u8; 4] = [4, 7, 0, 4];

fn msk() -> Option<Secret> {
    Some(Secret::new((0..64).collect()))
}

fn success(packet: &[u8]) -> Eap {
    Eap::Success { packet: packet.to_vec(), msk: msk() }
}

fn pdu(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[2, kind, 0, body.len() as u8], body].concat()
}

/// The clock, lent to both sides.
struct World {
    now: Time,
    crypto: Real,
}

impl World {
    fn new() -> Self {
        Self { now: Time::ZERO + Duration::from_secs(1000), crypto: Real::default() }
    }

    fn cx<R>(&mut self, act: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
        act(&mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut NoTrace })
    }

    /// Goes on to this deadline; gives how long that took.
    fn advance(&mut self, deadline: Option<Deadline>) -> Duration {
        let at = deadline.expect("something is awaited").at;
        let took = at.since(self.now);
        self.now = at;
        took
    }
}

fn authenticator(config: AuthenticatorConfig) -> Authenticator {
    Authenticator::new(config, Rng::named(1, "ap/wep"))
}

fn wep(change_after: Option<Duration>) -> AuthenticatorConfig {
    let wep = WepConfig { cipher: Cipher::Wep104, change_after };
    AuthenticatorConfig { wep: Some(wep), ..AuthenticatorConfig::default() }
}

/// Authenticates the station at the authenticator up to the EAP server's verdict, which is still to come.
fn up_to_the_verdict(ap: &mut Authenticator, world: &mut World) {
    let started = world.cx(|cx| ap.on_pdu(STATION, &pdu(1, &[]), cx)).unwrap();
    assert_eq!(started, [AuthenticatorOutput::EapStart(STATION)]);
    let sent = world.cx(|cx| ap.on_eap(STATION, Eap::Packet(REQUEST.to_vec()), cx)).unwrap();
    assert_eq!(sent, [AuthenticatorOutput::Send(STATION, pdu(0, &REQUEST))]);
    let told = world.cx(|cx| ap.on_pdu(STATION, &pdu(0, &RESPONSE), cx)).unwrap();
    assert_eq!(told, [AuthenticatorOutput::Eap(STATION, RESPONSE.to_vec())]);
}

fn authorized(ap: &mut Authenticator, world: &mut World) -> Vec<AuthenticatorOutput> {
    up_to_the_verdict(ap, world);
    world.cx(|cx| ap.on_eap(STATION, success(&SUCCESS), cx)).unwrap()
}

fn supplicant() -> Supplicant {
    Supplicant::new(SupplicantConfig::default())
}

/// Authenticates the supplicant.
fn authenticated(supplicant: &mut Supplicant, world: &mut World) {
    let told = world.cx(|cx| supplicant.on_pdu(&pdu(0, &REQUEST), cx)).unwrap();
    assert_eq!(told, [SupplicantOutput::EapStart, SupplicantOutput::Eap(REQUEST.to_vec())]);
    let sent = world.cx(|cx| supplicant.on_eap(Eap::Packet(RESPONSE.to_vec()), cx));
    assert_eq!(sent, [SupplicantOutput::Send(pdu(0, &RESPONSE))]);
    let told = world.cx(|cx| supplicant.on_pdu(&pdu(0, &SUCCESS), cx)).unwrap();
    assert_eq!(told, [SupplicantOutput::Eap(SUCCESS.to_vec())]);
    let done = world.cx(|cx| supplicant.on_eap(success(&[]), cx));
    assert_eq!(done, [SupplicantOutput::Authorized(msk())]);
}

#[test]
fn a_station_is_authorized_and_logs_off() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    let done = authorized(&mut ap, &mut world);
    let sent = AuthenticatorOutput::Send(STATION, pdu(0, &SUCCESS));
    assert_eq!(done, [sent, AuthenticatorOutput::Authorized(STATION, msk())]);
    assert!(ap.is_authorized(STATION) && ap.deadline().is_none());
    let left = world.cx(|cx| ap.on_pdu(STATION, &pdu(2, &[]), cx)).unwrap();
    assert_eq!(left, [AuthenticatorOutput::Ended(STATION, Ended::LoggedOff)]);
    assert_eq!(ap.station_count(), 0);
}

#[test]
fn both_sides_understand_each_other_and_share_wep_keys() {
    let mut world = World::new();
    let mut ap = authenticator(wep(Some(Duration::from_secs(60))));
    let mut station = supplicant();
    authenticated(&mut station, &mut world);
    let outputs = authorized(&mut ap, &mut world);
    let [_, _, group, unicast, AuthenticatorOutput::Install(STATION, installed)] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    let mut received = |output: &AuthenticatorOutput, world: &mut World| {
        let AuthenticatorOutput::Send(STATION, pdu) = output else { panic!("{output:?}") };
        match &world.cx(|cx| station.on_pdu(pdu, cx)).unwrap()[..] {
            [SupplicantOutput::Install(key)] => key.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(Some(&received(group, &mut world)), ap.group_key());
    assert_eq!(received(unicast, &mut world), *installed);
    // In a minute the station's own key changes; the group's when the access point wants it.
    assert_eq!(world.advance(ap.deadline()), Duration::from_secs(60));
    let outputs = world.cx(|cx| ap.tick(cx));
    let [unicast, AuthenticatorOutput::Install(STATION, next)] = &outputs[..] else { panic!("{outputs:?}") };
    assert!(received(unicast, &mut world) == *next && next != installed);
    let outputs = world.cx(|cx| ap.change_group_key(cx));
    assert_eq!(Some(&received(&outputs[0], &mut world)), ap.group_key());
}

#[test]
fn a_request_is_repeated_and_then_given_up() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    world.cx(|cx| ap.begin(STATION, cx)).unwrap();
    world.cx(|cx| ap.on_eap(STATION, Eap::Packet(REQUEST.to_vec()), cx)).unwrap();
    assert!(world.cx(|cx| ap.tick(cx)).is_empty());
    for wait in [3, 6, 12, 20] {
        assert_eq!(world.advance(ap.deadline()).as_secs(), wait);
        let again = world.cx(|cx| ap.tick(cx));
        assert_eq!(again, [AuthenticatorOutput::Send(STATION, pdu(0, &REQUEST))]);
    }
    world.advance(ap.deadline());
    let over = world.cx(|cx| ap.tick(cx));
    assert_eq!(over, [AuthenticatorOutput::Ended(STATION, Ended::Unanswered)]);
    assert_eq!(ap.station_count(), 0);
}

#[test]
fn a_silent_server_ends_the_conversation() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    up_to_the_verdict(&mut ap, &mut world);
    assert_eq!(world.advance(ap.deadline()).as_secs(), 30);
    let over = world.cx(|cx| ap.tick(cx));
    assert_eq!(over, [AuthenticatorOutput::Ended(STATION, Ended::ServerSilent)]);
}

#[test]
fn after_a_failure_nothing_is_answered_for_a_while() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    up_to_the_verdict(&mut ap, &mut world);
    let failed = world.cx(|cx| ap.on_eap(STATION, Eap::Failure { packet: FAILURE.to_vec() }, cx)).unwrap();
    let sent = AuthenticatorOutput::Send(STATION, pdu(0, &FAILURE));
    assert_eq!(failed, [sent, AuthenticatorOutput::Ended(STATION, Ended::EapFailed)]);
    for ignored in [pdu(1, &[]), pdu(2, &[]), pdu(0, &RESPONSE)] {
        assert_eq!(world.cx(|cx| ap.on_pdu(STATION, &ignored, cx)), Err(Refused::Held));
    }
    assert_eq!(world.advance(ap.deadline()).as_secs(), 60);
    assert!(world.cx(|cx| ap.tick(cx)).is_empty());
    up_to_the_verdict(&mut ap, &mut world);
}

#[test]
fn what_answers_nothing_is_named() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    let mut refused = |ap: &mut Authenticator, bytes: &[u8]| {
        world.cx(|cx| ap.on_pdu(STATION, bytes, cx)).unwrap_err().to_string()
    };
    assert_eq!(refused(&mut ap, &pdu(0, &RESPONSE)), "EAPOL packet that nobody waits for");
    assert_eq!(
        refused(&mut ap, &[2, 0, 0]),
        "EAPOL packet body length at offset 2: needs 2 bytes, 1 are left"
    );
    assert_eq!(
        refused(&mut ap, &[2, 0, 0, 9, 1]),
        "EAPOL packet body at offset 4: needs 9 bytes, 1 are left"
    );
    assert_eq!(refused(&mut ap, &pdu(3, &[1])), "EAPOL packet type that this side does not take");
    let mut world = World::new();
    world.cx(|cx| ap.begin(STATION, cx)).unwrap();
    world.cx(|cx| ap.on_eap(STATION, Eap::Packet(REQUEST.to_vec()), cx)).unwrap();
    for (packet, why) in [
        (&[2, 8, 0, 5, 4][..], "EAP unexpected identifier"),
        (&REQUEST, "EAP packet of the wrong direction"),
        (&[2, 7, 0, 9, 4], "EAP length at offset 2: length 9 does not fit"),
    ] {
        let refused = world.cx(|cx| ap.on_pdu(STATION, &pdu(0, packet), cx));
        assert_eq!(refused.unwrap_err().to_string(), why);
    }
    assert!(world.cx(|cx| ap.on_pdu(STATION, &pdu(0, &RESPONSE), cx)).is_ok());
}

#[test]
fn an_eapol_start_begins_a_conversation_anew_but_not_at_once() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig::default());
    up_to_the_verdict(&mut ap, &mut world);
    let start = pdu(1, &[]);
    assert_eq!(world.cx(|cx| ap.on_pdu(STATION, &start, cx)), Err(Refused::Unexpected));
    world.now += Duration::from_secs(1);
    up_to_the_verdict(&mut ap, &mut world);
}

#[test]
fn a_station_authenticates_again_and_stays_authorized_meanwhile() {
    let mut world = World::new();
    let hour = Some(Duration::from_secs(3600));
    let mut ap =
        authenticator(AuthenticatorConfig { reauthenticate_after: hour, ..AuthenticatorConfig::default() });
    authorized(&mut ap, &mut world);
    assert_eq!(Some(world.advance(ap.deadline())), hour);
    assert_eq!(world.cx(|cx| ap.tick(cx)), [AuthenticatorOutput::EapStart(STATION)]);
    assert!(ap.is_authorized(STATION));
    let failed = Eap::Failure { packet: FAILURE.to_vec() };
    world.cx(|cx| ap.on_eap(STATION, failed, cx)).unwrap();
    assert!(!ap.is_authorized(STATION));
}

#[test]
fn strangers_displace_each_other_but_no_authorized_station() {
    let mut world = World::new();
    let mut ap = authenticator(AuthenticatorConfig {
        strangers_max: 2,
        stations_max: 1,
        ..AuthenticatorConfig::default()
    });
    let mut begin = |ap: &mut Authenticator, last: u8| {
        world.now += Duration::from_millis(1);
        world.cx(|cx| ap.begin([2, 0, 0, 0, 1, last], cx))
    };
    for last in 1..=2 {
        assert_eq!(begin(&mut ap, last).unwrap().len(), 1);
    }
    let displaced = AuthenticatorOutput::Ended([2, 0, 0, 0, 1, 1], Ended::Displaced);
    assert_eq!(begin(&mut ap, 3).unwrap()[0], displaced);
    ap.forget([2, 0, 0, 0, 1, 3]);
    authorized(&mut ap, &mut World::new());
    assert_eq!(World::new().cx(|cx| ap.begin([2; 6], cx)), Err(Refused::TableFull));
    assert!(ap.is_authorized(STATION));
}

#[test]
fn a_supplicant_asks_thrice_and_finds_nobody() {
    let mut world = World::new();
    let mut station = supplicant();
    let start = [SupplicantOutput::Send(pdu(1, &[]))];
    assert_eq!(world.cx(|cx| station.start(cx)), start);
    assert!(world.cx(|cx| station.start(cx)).is_empty());
    for _ in 0..2 {
        assert_eq!(world.advance(station.deadline()).as_secs(), 30);
        assert_eq!(world.cx(|cx| station.tick(cx)), start);
    }
    world.advance(station.deadline());
    assert_eq!(world.cx(|cx| station.tick(cx)), [SupplicantOutput::Unanswered]);
    assert!(station.deadline().is_none());
}

#[test]
fn a_supplicant_asks_again_when_eap_falls_silent() {
    let mut world = World::new();
    let mut station = supplicant();
    world.cx(|cx| station.on_pdu(&pdu(0, &REQUEST), cx)).unwrap();
    assert_eq!(world.advance(station.deadline()).as_secs(), 30);
    assert_eq!(world.cx(|cx| station.tick(cx)), [SupplicantOutput::Send(pdu(1, &[]))]);
}

#[test]
fn a_supplicant_that_failed_waits_unless_the_authenticator_begins() {
    let mut world = World::new();
    let mut station = supplicant();
    world.cx(|cx| station.on_pdu(&pdu(0, &REQUEST), cx)).unwrap();
    let failure = || Eap::Failure { packet: Vec::new() };
    assert_eq!(world.cx(|cx| station.on_eap(failure(), cx)), [SupplicantOutput::Failed]);
    assert_eq!(world.cx(|cx| station.on_pdu(&pdu(0, &SUCCESS), cx)), Err(Refused::Unexpected));
    authenticated(&mut station, &mut world);
    // And in the middle of a session the authenticator may begin, too.
    authenticated(&mut station, &mut world);
    assert_eq!(station.logoff(), [SupplicantOutput::Send(pdu(2, &[]))]);
    assert!(!station.is_authorized() && station.logoff().is_empty());
}

#[test]
fn a_supplicant_takes_no_keys_before_eap_has_made_any() {
    let mut world = World::new();
    let mut station = supplicant();
    let mut refused =
        |bytes: &[u8]| world.cx(|cx| station.on_pdu(bytes, cx)).expect_err("not for a supplicant");
    assert_eq!(refused(&pdu(3, &[1; 49])), Refused::NoKeys);
    assert_eq!(refused(&pdu(1, &[])), Refused::PacketType);
    assert_eq!(refused(&pdu(0, &RESPONSE)), Refused::Direction);
}
