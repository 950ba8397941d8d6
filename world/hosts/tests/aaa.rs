//! The AAA server alone, with a scripted NAS and an HSS behind it. Null cryptography.
//! RFC 3579 §2.2, 3GPP TS 29.273 §8.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use keytoll_crypto::Null;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_diameter::{Name, client as hss_client, server as hss_server};
use keytoll_eap::methods::aka;
use keytoll_eap::packet::{self, MethodType};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::Algorithm;
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::server::Settings;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::{Limits, ServerConfig};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_hosts::{Aaa, AaaConfig, Event, Host, Hss, HssAccess, HssConfig, Order, Subscribers};
use keytoll_net::{Addr, Socket};
use keytoll_radius::number::{AttributeType, Code};
use keytoll_radius::server;
use keytoll_radius::wire::{Attribute, Packet, PacketBuilder};

const NAS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const AAA: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
const HSS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 3));
const DIAMETER: u16 = 3868;
const USER: &[u8] = b"0001010000000001@lab";

fn secret() -> Secret {
    Secret::from(&b"testing123"[..])
}

fn name(host: &str) -> Name {
    Name { host: host.into(), realm: "lab".into() }
}

fn centre() -> AuthenticationCentre {
    let mut centre = AuthenticationCentre::new(Rng::named(1, "centre"));
    let algorithm = Algorithm::Milenage(Milenage::with_opc(&[0x11; 16], &[0x22; 16]));
    let imsi = Imsi::parse("001010000000001").unwrap();
    centre.insert(imsi, Subscriber { algorithm, amf: [0x80, 0], sqn: Sqn::new(0) });
    centre
}

/// Asks the HSS for the vectors of two authentications at a time.
fn hss_access() -> HssAccess {
    let (local, server) = (Socket::new(AAA, 40_000), Socket::new(HSS, DIAMETER));
    HssAccess {
        diameter: hss_client::Config::new(local, server, name("aaa"), "lab".into()),
        batch: 2,
        kept_max: 8,
    }
}

/// An AAA server, its HSS, and what the NAS has received.
struct Bench {
    aaa: Aaa,
    hss: Hss,
    now: Time,
    next: u8,
    /// Messages that went to the HSS.
    to_hss: usize,
    /// Whether the HSS hears anything.
    is_reachable: bool,
    /// Rejected users and reasons.
    rejected: Vec<(Vec<u8>, &'static str)>,
    /// Streams that the AAA server asked to close.
    closed: Vec<(Addr, Addr)>,
}

/// An answer to the NAS.
struct Answer {
    code: u8,
    eap: Vec<u8>,
    state: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        Self::with(hss_access())
    }

    fn with(access: HssAccess) -> Self {
        let radius = server::Config::new(BTreeMap::from([(NAS, server::Client { secret: secret() })]));
        let settings = Settings { pseudonyms: false, reauthentications_max: 0, ..Settings::default() };
        let method = aka::server(settings, Book::new(BookLimits::default()));
        let eap = Arc::new(ServerConfig { methods: vec![method], limits: Limits::default() });
        let config = AaaConfig { radius, eap, address: AAA, subscribers: Subscribers::Hss(access) };
        assert_eq!(format!("{config:?}"), "AaaConfig { address: 198.51.100.2, .. }");
        let diameter = hss_server::Config::new(Addr::tcp(HSS, DIAMETER).socket().unwrap(), name("hss"));
        Self {
            aaa: Aaa::new(config, &Seed::from(1), "aaa"),
            hss: Hss::new(HssConfig { diameter, subscribers: centre() }),
            now: Time::ZERO,
            next: 0,
            to_hss: 0,
            is_reachable: true,
            rejected: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// The NAS sends an EAP packet under a new identifier, with the State of the last answer if there is one.
    fn ask(&mut self, eap: &[u8], state: &[u8]) -> Option<Answer> {
        self.next += 1;
        let mut request = PacketBuilder::authentic(Code::ACCESS_REQUEST, self.next);
        if !state.is_empty() {
            request.attribute(&Attribute::new(AttributeType::STATE, state).unwrap());
        }
        request.eap_message(eap);
        let sealed = request.seal_request(&[self.next; 16], &secret(), &mut Null).unwrap();
        let (from, to) = (Addr::udp(NAS, 50_000), Addr::udp(AAA, 1812));
        self.for_aaa(Input::Datagram { from, to, bytes: &sealed.bytes })
    }

    /// A device sends its identity.
    fn begin(&mut self) -> Option<Answer> {
        self.ask(&packet::response(0, MethodType::IDENTITY, USER), &[])
    }

    /// Handles one input, and all messages that follow between the AAA server and its HSS.
    fn for_aaa(&mut self, input: Input<'_, Order>) -> Option<Answer> {
        self.aaa.handle(input, &mut Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace });
        self.carry()
    }

    fn carry(&mut self) -> Option<Answer> {
        let mut answer = None;
        while let Some(output) = self.aaa.poll() {
            match output {
                Output::Event(Event::Rejected { name, why, .. }) => self.rejected.push((name, why)),
                Output::Event(_) => {}
                Output::Datagram(datagram) if datagram.to.ip().unwrap() == HSS => self.for_hss(&datagram),
                Output::Datagram(datagram) => answer = Some(Answer::of(&datagram)),
                Output::Close { local, peer } => self.closed.push((local, peer)),
                Output::Inner(_) => unreachable!("an AAA server carries no packets of users"),
            }
        }
        answer
    }

    fn for_hss(&mut self, &Datagram { from, to, ref bytes, .. }: &Datagram) {
        self.to_hss += 1;
        if !self.is_reachable {
            return;
        }
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        self.hss.handle(Input::Datagram { from, to, bytes }, &mut cx);
        while let Some(output) = self.hss.poll() {
            if let Output::Datagram(Datagram { from, to, bytes, .. }) = output {
                self.aaa.handle(Input::Datagram { from, to, bytes: &bytes }, &mut cx);
            }
        }
    }

    /// Advances to the AAA server's next deadline.
    fn tick(&mut self) -> Option<Answer> {
        self.now = self.now.max(self.aaa.deadline()?.at);
        self.for_aaa(Input::Tick)
    }
}

impl Answer {
    fn of(datagram: &Datagram) -> Self {
        let packet = Packet::read(&datagram.bytes).unwrap();
        let of_kind = |kind| packet.attributes.iter().filter(move |attribute| attribute.kind() == kind);
        let all = |kind| of_kind(kind).flat_map(|attribute| attribute.value().to_vec()).collect();
        Self { code: packet.code.0, eap: all(AttributeType::EAP_MESSAGE), state: all(AttributeType::STATE) }
    }
}

const CHALLENGE: u8 = 11;
const REJECT: u8 = 3;
/// Subtypes, RFC 4187 §11.
const AKA_CHALLENGE: u8 = 1;
const AKA_NOTIFICATION: u8 = 12;

/// TS 29.273 §8.1.2.1: the first challenge waits for the HSS, a second one uses vectors of the same batch, and dropped
/// vectors are gone.
#[test]
fn vectors_are_requested_stored_and_dropped() {
    let mut bench = Bench::new();
    assert_eq!(bench.begin().unwrap().code, CHALLENGE);
    let first = bench.to_hss;
    assert!(first >= 2, "capabilities, and the question");
    assert_eq!(bench.begin().unwrap().code, CHALLENGE);
    assert_eq!(bench.to_hss, first, "the second was in the batch");
    assert_eq!(bench.begin().unwrap().code, CHALLENGE);
    assert_eq!(bench.to_hss, first + 1);
    bench.aaa.forget();
    assert_eq!(bench.begin().unwrap().code, CHALLENGE);
    assert_eq!(bench.to_hss, first + 2, "the one in stock was thrown away");
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.question_count()), (4, 0));
}

/// If the HSS does not answer, the question times out and the device is told that it failed.
#[test]
fn without_the_hss_nobody_is_accepted_and_nothing_is_kept() {
    let mut bench = Bench::new();
    bench.is_reachable = false;
    assert!(bench.begin().is_none(), "it waits");
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.question_count()), (1, 1));
    assert!(bench.begin().is_none());
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.question_count()), (2, 2));
    while bench.aaa.question_count() > 0 {
        // RFC 4187 §6.3.1: the peer is notified, and its answer ends the conversation.
        bench.tick();
    }
    assert!(bench.now > Time::ZERO);
    while bench.aaa.conversation_count() > 0 {
        bench.tick();
    }
}

/// A broken stream is reconnected; an outstanding question is not lost with it.
#[test]
fn a_question_survives_its_stream() {
    let mut bench = Bench::new();
    bench.is_reachable = false;
    assert!(bench.begin().is_none());
    bench.is_reachable = true;
    let (peer, local) = (Addr::tcp(HSS, DIAMETER), Addr::tcp(AAA, 40_000));
    let mut cx = Ctx { now: bench.now, crypto: &mut Null, trace: &mut NoTrace };
    bench.aaa.handle(Input::Lost { peer, local }, &mut cx);
    let answer = bench.carry().or_else(|| (0..10).find_map(|_| bench.tick()));
    let (code, after) = (answer.map(|answer| answer.code), bench.now.since(Time::ZERO));
    assert!(
        after.as_millis() < 1500,
        "{code:?} after {after:?}: sooner than the question would be asked again"
    );
    assert!(code.is_some(), "the device has its answer");
}

/// RFC 6733 §13: over TLS an HSS is accepted under a name that it has proved, otherwise its stream is closed.
#[test]
fn a_secured_hss_is_accepted_under_its_proved_name() {
    for (proved, is_believed) in [("hss", true), ("somebody", false)] {
        let mut access = hss_access();
        access.diameter.secured = true;
        let mut bench = Bench::with(access);
        let (peer, local) = (Addr::tcp(HSS, DIAMETER), Addr::tcp(AAA, 40_000));
        let mut cx = Ctx { now: bench.now, crypto: &mut Null, trace: &mut NoTrace };
        bench.aaa.handle(Input::Secured { peer, local, names: &[proved.to_owned()] }, &mut cx);
        let eap = bench.begin().unwrap().eap;
        assert_eq!(eap[5], if is_believed { AKA_CHALLENGE } else { AKA_NOTIFICATION }, "{proved}");
        let closed = (!is_believed).then_some((local, peer));
        assert_eq!(bench.closed, closed.into_iter().collect::<Vec<_>>(), "{proved}");
    }
}

/// RFC 3579 §2.2: an unusable packet ends nothing at once, for somebody else may have sent it; the request is repeated, but
/// not without end.
#[test]
fn unusable_packets_are_answered_three_times() {
    let mut bench = Bench::new();
    let mut answer = bench.begin().unwrap();
    let challenge = answer.eap.clone();
    for n in 1..=3 {
        answer = bench.ask(&packet::response(99, MethodType::AKA, b""), &answer.state).unwrap();
        assert_eq!((answer.code, &answer.eap), (CHALLENGE, &challenge), "useless packet {n}");
        assert_eq!(bench.aaa.conversation_count(), 1);
    }
    answer = bench.ask(&packet::response(99, MethodType::AKA, b""), &answer.state).unwrap();
    assert_eq!((answer.code, answer.eap), (REJECT, packet::failure(challenge[1])));
    assert_eq!(bench.aaa.conversation_count(), 0);
    assert_eq!(bench.rejected, [(USER.to_vec(), "EAP packets that cannot be used")]);
}

/// RFC 2865 §5.33: the answer has all Proxy-States of the request. Where they leave it no room the device is rejected, and that is told.
#[test]
fn an_answer_without_room_is_a_rejection_that_is_told() {
    let mut bench = Bench::new();
    let mut request = PacketBuilder::authentic(Code::ACCESS_REQUEST, 1);
    request.eap_message(&packet::response(0, MethodType::IDENTITY, USER));
    let states = [[7; 253].as_slice(); 15].into_iter().chain([[8; 188].as_slice()]);
    states.for_each(|state| request.attribute(&Attribute::new(AttributeType::PROXY_STATE, state).unwrap()));
    let sealed = request.seal_request(&[1; 16], &secret(), &mut Null).unwrap();
    let (from, to) = (Addr::udp(NAS, 50_000), Addr::udp(AAA, 1812));
    let answer = bench.for_aaa(Input::Datagram { from, to, bytes: &sealed.bytes }).unwrap();
    assert_eq!((answer.code, answer.eap.len(), bench.aaa.conversation_count()), (REJECT, 0, 0));
    assert_eq!(bench.rejected, [(USER.to_vec(), "RADIUS answer too long")]);
}

/// Without an outstanding request there is nothing to repeat: the first unusable packet is the end.
#[test]
fn a_conversation_does_not_begin_with_an_unusable_packet() {
    let mut bench = Bench::new();
    let answer = bench.ask(&packet::response(7, MethodType::AKA, b"early"), &[]).unwrap();
    assert_eq!((answer.code, bench.aaa.conversation_count()), (REJECT, 0));
}

/// A draining server lets conversations under way finish, and accepts no new ones.
#[test]
fn conversations_under_way_finish_while_the_server_drains() {
    let mut bench = Bench::new();
    let begun = bench.begin().unwrap();
    assert!(bench.for_aaa(Input::Command(Order::Drain)).is_none());
    assert!(bench.begin().is_none(), "somebody else may take it");
    assert_eq!(bench.aaa.conversation_count(), 1);
    let rejected = packet::response(begun.eap[1], MethodType::NAK, &[0]);
    assert_eq!(bench.ask(&rejected, &begun.state).unwrap().code, REJECT);
    assert_eq!(bench.aaa.conversation_count(), 0);
}

/// Passwords are supported inside EAP methods only: a plain one is rejected, and the rejection is logged.
#[test]
fn a_request_without_eap_is_rejected_by_name() {
    let mut bench = Bench::new();
    let mut request = PacketBuilder::authentic(Code::ACCESS_REQUEST, 1);
    request.attribute(&Attribute::new(AttributeType::USER_NAME, b"mallory").unwrap());
    request.attribute(&Attribute::new(AttributeType(2), &[0; 16]).unwrap());
    let sealed = request.seal_request(&[1; 16], &secret(), &mut Null).unwrap();
    let (from, to) = (Addr::udp(NAS, 50_000), Addr::udp(AAA, 1812));
    let answer = bench.for_aaa(Input::Datagram { from, to, bytes: &sealed.bytes }).unwrap();
    assert_eq!((answer.code, bench.aaa.conversation_count()), (REJECT, 0));
    assert_eq!(bench.rejected, [(b"mallory".to_vec(), "no EAP")]);
    assert!(format!("{:?}", bench.aaa).contains("198.51.100.2"), "a log says which server it was");
}

/// A request is remembered for a while, to recognise retransmissions, and then forgotten.
#[test]
fn a_repeated_request_has_the_same_answer_and_is_forgotten() {
    let mut bench = Bench::new();
    let first = bench.begin().unwrap();
    bench.next -= 1;
    let again = bench.begin().unwrap();
    assert_eq!((again.code, again.eap, again.state), (first.code, first.eap, first.state));
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.remembered_count()), (1, 1));
    bench.begin();
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.remembered_count()), (2, 2));
    for _ in 0..100 {
        bench.tick();
    }
    assert_eq!((bench.aaa.conversation_count(), bench.aaa.remembered_count()), (0, 0));
}
