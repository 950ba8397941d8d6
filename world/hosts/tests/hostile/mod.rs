//! Hostile packets between device, gateway and AAA server, and hostile methods at either end: nobody is admitted, the
//! failure has a name, and no state is left. RFC 3748 §4 and §7, RFC 3579 §4, RFC 2865 §5.24.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod bench;

use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use self::bench::{AAA, Bench, DEVICE, GATEWAY, MISTAKE, USER, certificate};
use keytoll_crypto_api::Secret;
use keytoll_eap::methods::gtc::GtcPeer;
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::tunnel::Framing;
use keytoll_eap::{
    Keys, Message, MethodType, PeerMethod, PeerOffer, PeerStep, ServerConfig, ServerMethod, ServerOffer,
    ServerStep, Turn,
};
use keytoll_engine::Datagram;
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_radius::number::AttributeType;
use keytoll_radius::wire::Packet;
use keytoll_tls::Config;

fn password() -> Secret {
    Secret::from(&b"opensesame"[..])
}

fn md5_peer() -> Arc<dyn PeerOffer> {
    Arc::new(Md5Peer { password: password() })
}

fn md5_server() -> Arc<dyn ServerOffer> {
    let users = BTreeMap::from([(USER.as_bytes().to_vec(), password())]);
    Arc::new(Md5Server { passwords: Arc::new(users), name: b"aaa".to_vec() })
}

/// TLS with a certificate for this name; all certificates have one issuer, which is trusted.
fn tls_config(name: &str) -> Config {
    let (credential, trust) = certificate(name);
    Config { credential: Some(credential), trust: Some(trust), ..Config::new() }
}

fn tls_peer_of(config: &Config) -> Arc<dyn PeerOffer> {
    Arc::new(TlsPeer { tunnels: tls_client(config).unwrap(), framing: Framing::default() })
}

fn tls_peer() -> Arc<dyn PeerOffer> {
    tls_peer_of(&tls_config("ue.lab"))
}

fn tls_of(config: &Config) -> Arc<dyn ServerOffer> {
    Arc::new(TlsServer { tunnels: tls_server(config).unwrap(), framing: Framing::default() })
}

fn tls() -> Arc<dyn ServerOffer> {
    tls_of(&tls_config("aaa.lab"))
}

/// Sends the same data in every message of EAP-TLS, in either role, except in a server's first.
#[derive(Clone)]
struct Says {
    first: Vec<u8>,
    then: Vec<u8>,
}

impl Says {
    fn always(data: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { first: data.clone(), then: data })
    }

    /// RFC 5216 §3.1: S is set in the first.
    fn after_start(data: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { first: vec![0x20], then: data })
    }
}

impl PeerOffer for Says {
    fn method(&self) -> MethodType {
        MethodType::TLS
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(self.clone())
    }
}

impl ServerOffer for Says {
    fn method(&self) -> MethodType {
        MethodType::TLS
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(self.clone())
    }
}

impl PeerMethod for Says {
    fn on_request(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Continue(self.then.clone())
    }
}

impl ServerMethod for Says {
    fn begin(&mut self, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(self.first.clone())
    }

    fn on_response(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(self.then.clone())
    }
}

/// A method that succeeds before anything was proved.
struct Generous;

impl ServerOffer for Generous {
    fn method(&self) -> MethodType {
        MethodType::MD5
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Self)
    }
}

impl ServerMethod for Generous {
    fn begin(&mut self, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Done(Keys { msk: Some(Secret::new(vec![7; 64])), ..Keys::default() })
    }

    fn on_response(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Ignore("nothing was asked")
    }
}

fn check(bench: &Bench, said: &[&str], discards: &[&str]) {
    assert_eq!((bench.said(), bench.discards()), (owned(said), owned(discards)));
    bench.check_nothing_is_held();
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

/// IKE protects the packet, so it is the gateway's own and no better one will follow: the device gives up at once.
const UNANSWERABLE: [&str; 1] = ["ue found: EAP packet without an answer"];
/// The AAA server tolerates a few unusable packets, then ends the conversation.
const USELESS: [&str; 2] = ["ue was told: EAP Failure", "aaa found: EAP packets that cannot be used"];
const NO_REQUEST: [&str; 2] =
    ["ue was told: EAP Failure", "gw found: RADIUS challenge without an EAP request"];
const TIMEOUT: [&str; 2] = ["ue was told: EAP Failure", "gw found: RADIUS timeout"];

#[test]
fn an_undisturbed_device_is_admitted() {
    for (peer, server) in [(md5_peer(), md5_server()), (tls_peer(), tls())] {
        let bench = Bench::new(peer, server).run();
        assert_eq!((bench.said(), bench.discards()), (owned(&["ue got in"]), vec![]));
    }
}

/// Whether it goes to the AAA server.
fn is_request(datagram: &Datagram) -> bool {
    datagram.to.ip().unwrap() == AAA
}

fn is_answer(datagram: &Datagram) -> bool {
    datagram.from.ip().unwrap() == AAA
}

/// RFC 2866 §3: the accounting port.
const ACCOUNTING: u16 = 1813;

/// The position of an attribute's value in a RADIUS packet.
fn value_at(bytes: &[u8], kind: AttributeType) -> Option<std::ops::Range<usize>> {
    let mut at = 20;
    while let Some(&[found, length, ..]) = bytes.get(at..).filter(|rest| rest.len() >= 2) {
        if found == kind.0 {
            return Some(at + 2..at + usize::from(length));
        }
        at += usize::from(length);
    }
    None
}

/// Overwrites a byte of the EAP packet inside.
fn change_eap(datagram: &mut Datagram, at: usize, change: impl FnOnce(u8) -> u8) {
    if let Some(eap) = value_at(&datagram.bytes, AttributeType::EAP_MESSAGE) {
        let byte = &mut datagram.bytes[eap][at];
        *byte = change(*byte);
    }
}

/// Puts another EAP packet inside.
fn replace_eap(datagram: &mut Datagram, packet: &[u8]) {
    while let Some(eap) = value_at(&datagram.bytes, AttributeType::EAP_MESSAGE) {
        datagram.bytes.drain(eap.start - 2..eap.end);
    }
    datagram.bytes.extend([AttributeType::EAP_MESSAGE.0, packet.len() as u8 + 2]);
    datagram.bytes.extend(packet);
    let length = u16::try_from(datagram.bytes.len()).unwrap().to_be_bytes();
    datagram.bytes[2..4].copy_from_slice(&length);
}

/// Alters the challenges of the AAA server; the device's responses pass unchanged.
fn with_challenges(change: fn(&mut Datagram)) -> Bench {
    let tamper = move |datagram: &mut Datagram| {
        if is_answer(datagram) && datagram.bytes[0] == 11 {
            change(datagram);
        }
        true
    };
    Bench::new(md5_peer(), md5_server()).tampered(tamper).run()
}

#[test]
fn an_identifier_out_of_step_is_not_answered_by_the_server() {
    let bench = with_challenges(|datagram| change_eap(datagram, 1, |identifier| identifier.wrapping_add(1)));
    check(&bench, &USELESS, &["aaa: EAP unexpected identifier"]);
}

#[test]
fn challenges_without_a_request_are_not_forwarded_to_the_device() {
    // RFC 3579 §2.2: the NAS checks Code and Length of the server's packets, too.
    let cut = with_challenges(|datagram| change_eap(datagram, 3, |length| length + 1));
    let unheard = ["ue: EAP end before the beginning"];
    check(&cut, &NO_REQUEST, &unheard);
    for code in [2, 3, 4, 9] {
        let bench = match code {
            2 => with_challenges(|datagram| change_eap(datagram, 0, |_| 2)),
            3 => with_challenges(|datagram| replace_eap(datagram, &[3, 1, 0, 4])),
            4 => with_challenges(|datagram| replace_eap(datagram, &[4, 1, 0, 4])),
            _ => with_challenges(|datagram| change_eap(datagram, 0, |_| 9)),
        };
        check(&bench, &NO_REQUEST, &unheard);
    }
}

#[test]
fn an_unearned_success_admits_nobody() {
    let bench = Bench::new(md5_peer(), Arc::new(Generous)).run();
    check(&bench, &UNANSWERABLE, &["ue: EAP end before the beginning"]);
}

/// A peer that runs a method and receives Success before the method has succeeded.
#[test]
fn an_early_success_is_not_believed_either() {
    let success = |datagram: &mut Datagram| {
        if is_answer(datagram) && datagram.bytes[0] == 11 {
            // The second challenge becomes a Success.
            let eap = value_at(&datagram.bytes, AttributeType::EAP_MESSAGE).unwrap();
            let [_, identifier, _, _, _, flags, ..] = datagram.bytes[eap] else { panic!("EAP-TLS") };
            if flags & 0x20 == 0 {
                replace_eap(datagram, &[3, identifier.wrapping_sub(1), 0, 4]);
            }
        }
        true
    };
    let bench = Bench::new(tls_peer(), tls()).tampered(success).run();
    check(&bench, &NO_REQUEST, &[]);
}

#[test]
fn a_refusal_of_every_method_is_a_failure_of_the_server() {
    let bench = Bench::new(Arc::new(GtcPeer { password: password() }), md5_server()).run();
    check(&bench, &["ue found: EAP no acceptable method", "aaa found: EAP no acceptable method"], &[]);
}

/// RFC 5216 §2.1.5: data of a first fragment, with L and M set, that announces four gigabytes.
fn oversized() -> Vec<u8> {
    [&[0xc0, 0xff, 0xff, 0xff, 0xff][..], &[0; 200]].concat()
}

#[test]
fn oversized_fragments_end_the_method_at_the_receiver() {
    let bench = Bench::new(tls_peer(), Says::always(oversized())).run();
    check(&bench, &["ue found: EAP-TLS message too long"], &[]);
    let bench = Bench::new(Says::always(oversized()), tls()).run();
    check(&bench, &["ue was told: EAP Failure", "aaa found: EAP-TLS message too long"], &[]);
}

#[test]
fn fragments_without_end_end() {
    // Endless fragments without a declared total length.
    let endless = || Says::after_start([&[0x40][..], &[0; 1000]].concat());
    let said = ["ue was told: EAP Failure", "aaa found: EAP too many rounds"];
    check(&Bench::new(tls_peer(), endless()).run(), &said, &[]);
    check(&Bench::new(endless(), tls()).run(), &said, &[]);
}

#[test]
fn truncated_fragments_are_not_answered() {
    // L is set, but the length is missing.
    let cut = || Says::after_start(vec![0x80, 0]);
    let bench = Bench::new(tls_peer(), cut()).run();
    check(&bench, &UNANSWERABLE, &["ue: EAP-TLS packet cut short"]);
    let bench = Bench::new(cut(), tls()).run();
    check(&bench, &USELESS, &["aaa: EAP-TLS packet cut short"]);
}

#[test]
fn radius_without_or_with_a_wrong_message_authenticator_is_silence() {
    type Change = fn(&mut Datagram);
    let wrong: Change = |datagram| {
        let at = value_at(&datagram.bytes, AttributeType::MESSAGE_AUTHENTICATOR).unwrap();
        datagram.bytes[at.start] ^= 1;
    };
    let missing: Change = |datagram| {
        let value = value_at(&datagram.bytes, AttributeType::MESSAGE_AUTHENTICATOR).unwrap();
        datagram.bytes.drain(value.start - 2..value.end);
        let length = u16::try_from(datagram.bytes.len()).unwrap().to_be_bytes();
        datagram.bytes[2..4].copy_from_slice(&length);
    };
    for (change, why) in [(wrong, "wrong Message-Authenticator"), (missing, "no Message-Authenticator")] {
        for (is_its, who) in [(is_request as fn(&Datagram) -> bool, "aaa"), (is_answer, "gw")] {
            let tamper = move |datagram: &mut Datagram| {
                if is_its(datagram) {
                    change(datagram);
                }
                true
            };
            let bench = Bench::new(md5_peer(), md5_server()).tampered(tamper).run();
            let discards = bench.discards();
            assert!(discards.contains(&format!("{who}: {why}")), "{who} {why}: {discards:?}");
            assert_eq!(bench.said(), owned(&TIMEOUT), "{who} {why}");
            bench.check_nothing_is_held();
        }
    }
}

/// RFC 3579 §2.1: an EAP-Start, which starts a conversation, in the middle of one.
#[test]
fn an_eap_start_halfway_starts_nothing_anew() {
    let start = |datagram: &mut Datagram| {
        if is_request(datagram) && value_at(&datagram.bytes, AttributeType::STATE).is_some() {
            replace_eap(datagram, &[]);
        }
        true
    };
    let bench = Bench::new(md5_peer(), md5_server()).tampered(start).run();
    check(&bench, &USELESS, &["aaa: EAP begins twice"]);
}

/// The State of another conversation, which the server no longer knows.
#[test]
fn a_replayed_state_is_refused() {
    let first: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    let replay = move |datagram: &mut Datagram| {
        if is_request(datagram)
            && let Some(at) = value_at(&datagram.bytes, AttributeType::STATE)
        {
            let mut first = first.lock().unwrap();
            let state = first.get_or_insert_with(|| datagram.bytes[at.clone()].to_vec());
            datagram.bytes[at].copy_from_slice(state);
        }
        true
    };
    // TLS takes several rounds, each with a State of its own.
    let bench = Bench::new(tls_peer(), tls()).tampered(replay).run();
    check(&bench, &["ue was told: EAP Failure"], &["aaa: unknown State"]);
}

#[test]
fn an_aaa_server_that_falls_silent_halfway_is_given_up() {
    let mut answers = 0;
    let silent = move |datagram: &mut Datagram| {
        answers += usize::from(is_answer(datagram));
        !is_answer(datagram) || answers <= 1
    };
    let bench = Bench::new(md5_peer(), md5_server()).tampered(silent).run();
    assert_eq!(bench.said(), owned(&TIMEOUT));
    bench.check_nothing_is_held();
}

/// Power loss after any of its datagrams: in IKE_SA_INIT, in every round of EAP, in the last IKE_AUTH, in a liveness
/// check, in a rekeying, in the delete of the rekeyed SA. No host keeps any state of it.
#[test]
fn a_device_killed_after_any_datagram_is_forgotten() {
    // Enough for EAP-TLS, a liveness check and two rekeyings, and finished early enough for the last timer.
    const DATAGRAMS: usize = 16;
    for (peer, server) in [(md5_peer(), md5_server()), (tls_peer(), tls())] {
        for last in 1..=DATAGRAMS {
            let mut left = last;
            let killed = move |datagram: &mut Datagram| {
                let is_own = datagram.from.ip().unwrap() == DEVICE;
                if datagram.to.ip().unwrap() != DEVICE && !is_own {
                    return true;
                }
                let lives = left > 0;
                left -= usize::from(is_own && lives);
                lives
            };
            let bench = Bench::new(Arc::clone(&peer), Arc::clone(&server)).watchful();
            bench.tampered(killed).run().check_nothing_is_held();
        }
    }
}

/// The names in the Access-Accept and the first accounting report, and the reported events.
fn accounted_as(peer: Arc<dyn PeerOffer>, server: Arc<dyn ServerOffer>) -> (Vec<String>, Vec<String>) {
    let names = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&names);
    let note = move |datagram: &mut Datagram| {
        let is_accept = is_answer(datagram) && datagram.bytes[0] == 2;
        if is_accept || datagram.to.port().unwrap() == ACCOUNTING {
            let name = value_at(&datagram.bytes, AttributeType::USER_NAME).unwrap();
            notes.lock().unwrap().push(String::from_utf8_lossy(&datagram.bytes[name]).into_owned());
        }
        true
    };
    let bench = Bench::new(peer, server).accounting().tampered(note).run();
    let names = names.lock().unwrap().clone();
    (names, bench.said())
}

const MALLORY: &str = "mallory.lab";

/// RFC 2865 §5.1, RFC 5216 §5.2: outside the tunnel the device claims another name.
#[test]
fn sessions_are_accounted_under_the_authenticated_name() {
    let ttls = TtlsPeer {
        tunnels: tls_client(&tls_config("ue.lab")).unwrap(),
        framing: Framing::default(),
        user: MALLORY.into(),
        inside: TtlsInside::Pap(password()),
    };
    let ttls_server = TtlsServer {
        tunnels: tls_server(&Config { trust: None, ..tls_config("aaa.lab") }).unwrap(),
        framing: Framing::default(),
        passwords: Arc::new(BTreeMap::from([(MALLORY.as_bytes().to_vec(), password())])),
        eap: Arc::new(ServerConfig::default()),
    };
    let by_password: (Arc<dyn PeerOffer>, Arc<dyn ServerOffer>) = (Arc::new(ttls), Arc::new(ttls_server));
    let [ours, theirs] = [MALLORY, "aaa.lab"].map(|name| Config { resumption: true, ..tls_config(name) });
    let by_certificate = (tls_peer_of(&ours), tls_of(&theirs));
    // The last resumes the session of the one before.
    for (peer, server) in [by_password, by_certificate.clone(), by_certificate] {
        assert_eq!(accounted_as(peer, server), (owned(&[MALLORY; 2]), owned(&["ue got in"])));
    }
}

#[test]
fn a_device_without_a_certificate_has_no_name_and_is_not_admitted() {
    let careless = tls_of(&Config { trust: None, ..tls_config("aaa.lab") });
    let bench = Bench::new(tls_peer(), careless).run();
    let said = ["ue was told: EAP Failure", "aaa found: EAP-TLS peer without a certified name"];
    check(&bench, &said, &[]);
}

/// RFC 2866 §2: accounting reports get lost; the session continues, and nothing failed.
#[test]
fn a_lost_report_is_no_failed_authentication() {
    let lost = |datagram: &mut Datagram| datagram.to.port().unwrap() != ACCOUNTING;
    let bench = Bench::new(md5_peer(), md5_server()).accounting().tampered(lost).run();
    assert_eq!(bench.said(), owned(&["ue got in"]));
    assert_eq!(bench.discards(), owned(&["gw: accounting report lost: RADIUS timeout"]));
    assert_eq!(bench.gateway.radius_outstanding(), 0);
}

/// Every bit of every RADIUS packet: whatever happens, no state is left. Under null cryptography the altered packet often
/// counts as authentic, so this exceeds what is possible on a real link.
#[test]
fn no_flipped_bit_leaves_any_state() {
    for (which, bit) in (0..4).flat_map(|which| (0..100 * 8).step_by(3).map(move |bit| (which, bit))) {
        let mut seen = 0;
        let flip = move |datagram: &mut Datagram| {
            if is_request(datagram) || is_answer(datagram) {
                let length = datagram.bytes.len();
                if seen == which {
                    datagram.bytes[bit / 8 % length] ^= 1 << (bit % 8);
                }
                seen += 1;
            }
            true
        };
        let bench = Bench::new(md5_peer(), md5_server()).tampered(flip).run();
        let said = bench.said();
        assert!(!said.is_empty(), "bit {bit} of {which}: an end has a name");
        if said[0] != "ue got in" {
            bench.check_nothing_is_held();
        }
    }
}

/// Checks the test's assumptions: an AAA server's challenge is a packet with a State.
#[test]
fn the_packets_contain_what_these_tests_look_for() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let note = move |datagram: &mut Datagram| {
        if is_answer(datagram) {
            let packet = Packet::read(&datagram.bytes).unwrap();
            assert_eq!(datagram.to.ip().unwrap(), GATEWAY);
            notes.lock().unwrap().push(packet.code.0);
        }
        true
    };
    Bench::new(md5_peer(), md5_server()).tampered(note).run();
    assert_eq!(*seen.lock().unwrap(), [11, 2]);
}

/// A hundred thousand devices send their identity and nothing more, before and while one authenticates: it is admitted,
/// the remaining state is bounded, and after a while it is gone.
#[test]
fn a_flood_of_conversations_does_not_lock_out_others() {
    const MAX: usize = 10_000;
    let mut bench = Bench::new(md5_peer(), md5_server());
    bench.flood(92_000);
    assert_eq!(bench.aaa.conversation_count(), MAX);
    // Each message of the device meets two thousand more conversations.
    let mut bench = bench.flooded(2_000).run();
    assert_eq!(bench.said(), ["ue got in"]);
    assert!(bench.flooders > 100_000, "only {}", bench.flooders);
    assert!(bench.held_max <= MAX, "{} conversations", bench.held_max);
    assert_eq!(bench.aaa.conversation_count(), 0, "two minutes later");
    bench.tick_aaa();
    assert_eq!(bench.aaa.remembered_count(), 0, "no response is kept longer than half a minute");
}

/// A method whose key is known to the test.
struct Keyed;

const MSK: [u8; 64] = [0xa5; 64];

fn keys() -> Keys {
    Keys { msk: Some(Secret::from(&MSK[..])), emsk: Some(Secret::from(&MSK[..])), ..Keys::default() }
}

impl PeerOffer for Keyed {
    fn method(&self) -> MethodType {
        MethodType::GTC
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(Self)
    }
}

impl ServerOffer for Keyed {
    fn method(&self) -> MethodType {
        MethodType::GTC
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Self)
    }
}

impl PeerMethod for Keyed {
    fn on_request(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Satisfied(Vec::new(), keys())
    }
}

impl ServerMethod for Keyed {
    fn begin(&mut self, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(Vec::new())
    }

    fn on_response(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Done(keys())
    }
}

/// A method that panics on the first response.
#[derive(Default)]
struct Mistaken {
    has_met: AtomicBool,
}

impl ServerOffer for Mistaken {
    fn method(&self) -> MethodType {
        MethodType::GTC
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        if self.has_met.swap(true, Ordering::Relaxed) { Box::new(Keyed) } else { Box::new(Panics) }
    }
}

struct Panics;

impl ServerMethod for Panics {
    fn begin(&mut self, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(Vec::new())
    }

    fn on_response(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> ServerStep {
        panic::panic_any(MISTAKE)
    }
}

/// A conversation interrupted by a panic is dropped: its device is refused at once, no state of it is held, and the next
/// device is admitted.
#[test]
fn a_panic_in_the_aaa_server_refuses_only_the_device_concerned() {
    let bench = Bench::new(Arc::new(Keyed), Arc::new(Mistaken::default())).run();
    assert_eq!(bench.said(), owned(&["ue was told: EAP Failure"]));
    bench.check_nothing_is_held();
    assert_eq!(bench.run().said(), owned(&["ue was told: EAP Failure", "ue got in"]));
}

/// Neither the MSK nor the RADIUS secret is logged, at any moment of an authentication.
#[test]
fn no_key_is_in_a_log() {
    let mut bench = Bench::new(Arc::new(Keyed), Arc::new(Keyed)).logged().run();
    assert_eq!(bench.said(), ["ue got in"]);
    let log = std::mem::take(&mut bench.log);
    assert!(log.len() > 10_000, "{log}");
    for secret in [&MSK[..8], b"testing123"] {
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let list = format!("{secret:?}").trim_matches(['[', ']']).to_owned();
        let text = String::from_utf8_lossy(secret).into_owned();
        for spelling in [hex.to_uppercase(), hex, list, text] {
            assert!(!log.contains(&spelling), "{spelling}");
        }
    }
}

/// Finds the device's response to MD5-Challenge in a datagram that null cryptography leaves readable.
fn md5_response(datagram: &mut Datagram) -> Option<&mut [u8]> {
    let is_response = |window: &[u8]| window[0] == 2 && window[4..] == [4, 16];
    let at =
        datagram.bytes.windows(6).position(is_response).filter(|_| datagram.from.ip().unwrap() == DEVICE)?;
    Some(&mut datagram.bytes[at..])
}

/// RFC 3579 §2.2: a packet that does not answer the outstanding request never reaches the AAA server, and ends the attempt.
#[test]
fn the_gateway_forwards_nothing_but_answers() {
    type Change = fn(&mut [u8]);
    let changes: [(Change, &str); 3] = [
        (|eap| eap[1] ^= 0x55, "gw found: EAP unexpected identifier"),
        (|eap| eap[0] = 1, "gw found: EAP packet that is no response"),
        (|eap| eap[0] = 9, "gw found: EAP packet that is no response"),
    ];
    for (change, found) in changes {
        let forwarded = Arc::new(Mutex::new(0));
        let count = Arc::clone(&forwarded);
        let junk = move |datagram: &mut Datagram| {
            md5_response(datagram).into_iter().for_each(change);
            *count.lock().unwrap() += usize::from(is_request(datagram));
            true
        };
        let bench = Bench::new(md5_peer(), md5_server()).tampered(junk).run();
        check(&bench, &["ue was told: EAP Failure", found], &[]);
        assert_eq!(*forwarded.lock().unwrap(), 1, "the identity, {found}");
    }
}

/// RFC 3579 §2.1: a NAS that requested the identity forwards the response, and nothing else in its place.
#[test]
fn a_gateway_that_requests_the_identity_accepts_nothing_else() {
    let genuine = Bench::new(md5_peer(), md5_server()).asking().run();
    assert_eq!(genuine.said(), owned(&["ue got in"]));
    let (other_type, other_identifier) =
        ("EAP response of another type than Identity", "EAP unexpected identifier");
    for (at, value, found) in [(4, MethodType::GTC.0, other_type), (1, 7, other_identifier)] {
        let forwarded = Arc::new(Mutex::new(0));
        let count = Arc::clone(&forwarded);
        let instead = move |datagram: &mut Datagram| {
            let identity = [&[2, 0, 0, 11, 1], USER.as_bytes()].concat();
            let place = datagram.bytes.windows(identity.len()).position(|window| window == identity);
            if let Some(place) = place.filter(|_| datagram.from.ip().unwrap() == DEVICE) {
                datagram.bytes[place + at] = value;
            }
            *count.lock().unwrap() += usize::from(is_request(datagram));
            true
        };
        let bench = Bench::new(md5_peer(), md5_server()).asking().tampered(instead).run();
        check(&bench, &["ue was told: EAP Failure", &format!("gw found: {found}")], &[]);
        assert_eq!(*forwarded.lock().unwrap(), 0, "{found}");
    }
}

/// RFC 3579 §2.6.3: the code of the answer decides, whatever its EAP packet.
#[test]
fn a_reject_with_a_success_inside_is_a_failure() {
    let success = |datagram: &mut Datagram| {
        if is_answer(datagram) && datagram.bytes[0] == 3 {
            change_eap(datagram, 0, |_| 3);
        }
        true
    };
    let bench = Bench::new(Arc::new(GtcPeer { password: password() }), md5_server()).tampered(success).run();
    check(&bench, &["ue found: EAP no acceptable method", "aaa found: EAP no acceptable method"], &[]);
}

/// Removes all attributes of a type from the Access-Accept, as a foreign RADIUS server might omit them.
fn without(kind: AttributeType) -> impl FnMut(&mut Datagram) -> bool {
    move |datagram| {
        while is_answer(datagram)
            && datagram.bytes[0] == 2
            && let Some(value) = value_at(&datagram.bytes, kind)
        {
            datagram.bytes.drain(value.start - 2..value.end);
            let length = u16::try_from(datagram.bytes.len()).unwrap().to_be_bytes();
            datagram.bytes[2..4].copy_from_slice(&length);
        }
        true
    }
}

const WRONG_IDENTITY: [&str; 2] = ["ue was told: AUTHENTICATION_FAILED", "gw found: unexpected identity"];

/// RFC 7296 §2.16: the device claims in IKE to be [`USER`]; the identity that EAP authenticated counts.
#[test]
fn the_admitted_identity_is_that_of_eap_not_idi() {
    let certified = || (tls_peer_of(&tls_config(MALLORY)), tls());
    let by_password = || (md5_peer(), md5_server());
    for (ends, proved) in [(certified(), MALLORY), (by_password(), USER)] {
        for expected in [USER, MALLORY] {
            let (peer, server) = (Arc::clone(&ends.0), Arc::clone(&ends.1));
            let bench = Bench::new(peer, server).expecting(expected).run();
            let said: &[&str] = if expected == proved { &["ue got in"] } else { &WRONG_IDENTITY };
            assert_eq!(bench.said(), owned(said), "{proved} where {expected} is expected");
        }
    }
}

#[test]
fn an_accept_that_names_nobody_proves_nobody() {
    let nameless = || Bench::new(md5_peer(), md5_server()).tampered(without(AttributeType::USER_NAME));
    assert_eq!(nameless().expecting(USER).run().said(), owned(&WRONG_IDENTITY));
    assert_eq!(nameless().run().said(), owned(&["ue got in"]), "where anybody is expected");
}

/// RFC 5998 §4: a password is sent only to a server that was authenticated by something else.
#[test]
fn an_unauthenticated_gateway_gets_no_password() {
    let refused = ["ue found: EAP no acceptable method", "aaa found: EAP no acceptable method"];
    check(&Bench::new(md5_peer(), md5_server()).eap_only().run(), &refused, &[]);
    assert_eq!(Bench::new(tls_peer(), tls()).eap_only().run().said(), owned(&["ue got in"]));
}
