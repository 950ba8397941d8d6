//! Passwords guessed inside tunnels, behind anonymous names and with an invented Calling-Station-Id for each attempt. The limit for a user
//! holds for the name inside, and other users are served.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::{Provider, Real};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::methods::md5::Md5Server;
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{Binding, PeapPeer, PeapServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::mschap::{Exchange, PasswordHash};
use keytoll_eap::packet::{self, MethodType};
use keytoll_eap::tunnel::avp::{Avp, AvpCode, write_avps};
use keytoll_eap::tunnel::{Framing, Tunnel, Tunnels};
use keytoll_eap::{
    Limits, Passwords, Peer, PeerConfig, PeerOffer, PeerOutput, Reason, ServerConfig, ServerOffer,
};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_hosts::{Aaa, AaaConfig, Event, Subscribers};
use keytoll_net::Addr;
use keytoll_radius::number::{AttributeType, Code};
use keytoll_radius::server;
use keytoll_radius::wire::{Attribute, Packet, PacketBuilder};
use keytoll_tls::Version;

use crate::common::Pki;

const NAS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const AAA: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
/// Outside tunnels.
const IDENTITY: &[u8] = b"anonymous@lab";
const FULL: &str = "too many password attempts for this user";
/// Conversations of a user at a time.
const PER_USER_MAX: usize = 3;
/// Conversations of a device, and of all devices.
const PER_STATION_MAX: usize = 64;
const CONVERSATIONS_MAX: usize = 400;
const GUESSES: u64 = 60;
/// From guess to guess; all of them take six seconds.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longer than an attempt is queued and a refusal is kept back.
const ALL_QUEUED: Duration = Duration::from_secs(7);
/// Number of queued attempts of a user.
const QUEUED_MAX: usize = 64;

fn word(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

fn radius_secret() -> Secret {
    word("testing123")
}

/// Makes the peer for a user and a password.
type MakePeer = Box<dyn Fn(&str, &str) -> Arc<dyn PeerOffer>>;

/// A method with a tunnel: the peer for a user and a password, and the server.
struct Method {
    name: &'static str,
    /// Whether it finds a password without the domain before the name.
    has_domains: bool,
    peer: MakePeer,
    server: Arc<dyn ServerOffer>,
}

fn passwords() -> Arc<dyn Passwords> {
    Arc::new(BTreeMap::from(["alice", "bob"].map(|user| (user.as_bytes().to_vec(), word("opensesame")))))
}

fn inner_server() -> Arc<ServerConfig> {
    let mschapv2 = MschapV2Server { passwords: passwords(), name: b"server".to_vec(), retries: 0 };
    Arc::new(ServerConfig { methods: vec![Arc::new(mschapv2)], limits: Limits::default() })
}

fn ttls(
    name: &'static str,
    (ours, theirs): (Arc<dyn Tunnels>, Arc<dyn Tunnels>),
    inside: fn(Secret) -> TtlsInside,
) -> Method {
    let framing = Framing::default();
    let peer = move |user: &str, text: &str| -> Arc<dyn PeerOffer> {
        let (tunnels, inside) = (Arc::clone(&ours), inside(word(text)));
        Arc::new(TtlsPeer { tunnels, framing, user: user.into(), inside })
    };
    let server = TtlsServer { tunnels: theirs, framing, passwords: passwords(), eap: inner_server() };
    Method { name, has_domains: name.contains("EAP-"), peer: Box::new(peer), server: Arc::new(server) }
}

fn peap((ours, theirs): (Arc<dyn Tunnels>, Arc<dyn Tunnels>)) -> Method {
    let (framing, binding) = (Framing::default(), Binding::Off);
    let peer = move |user: &str, text: &str| -> Arc<dyn PeerOffer> {
        let inside = Arc::new(MschapV2Peer { password: word(text), name: None });
        Arc::new(PeapPeer { tunnels: Arc::clone(&ours), framing, user: user.into(), inside, binding })
    };
    let server = PeapServer { tunnels: theirs, framing, inside: inner_server(), binding };
    Method { name: "PEAP", has_domains: true, peer: Box::new(peer), server: Arc::new(server) }
}

fn methods() -> [Method; 4] {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let tunnels = || pki.server_only(Version::Tls12);
    let in_eap =
        |password| TtlsInside::Eap(Arc::new(MschapV2Peer { password, name: None }) as Arc<dyn PeerOffer>);
    [
        ttls("TTLS with PAP", tunnels(), TtlsInside::Pap),
        ttls("TTLS with MS-CHAP-V2", tunnels(), TtlsInside::MschapV2),
        ttls("TTLS with EAP-MSCHAPv2", tunnels(), in_eap),
        peap(tunnels()),
    ]
}

/// An AAA server, and a NAS that carries the packets of one device after the other.
struct Bench {
    aaa: Aaa,
    crypto: Provider,
    rng: Rng,
    now: Time,
    requests: u32,
    stations: u32,
    /// User-Name.
    outside: Vec<u8>,
    /// The reasons of rejections, and the accepted identities.
    rejected: Vec<&'static str>,
    accepted: Vec<Vec<u8>>,
    /// All answers, by the port and the identifier of the request.
    answers: Vec<((u16, u8), Answer)>,
    /// How many of them the devices have read.
    read_count: usize,
    /// The devices that wait for the answer to a request, by the number of their attempt.
    waiting: BTreeMap<(u16, u8), (usize, Peer)>,
    /// The last answer to each attempt.
    ended: BTreeMap<usize, Code>,
    attempts: usize,
}

/// The RADIUS answer: its code, the EAP packet and the State.
type Answer = (Code, Vec<u8>, Vec<u8>);

impl Bench {
    fn new(server: &Arc<dyn ServerOffer>, per_user_max: usize) -> Self {
        let clients = BTreeMap::from([(NAS, server::Client { secret: radius_secret() })]);
        let reject_delay = Duration::from_secs(1);
        let radius = server::Config {
            conversations_per_user_max: per_user_max,
            conversations_per_station_max: PER_STATION_MAX,
            conversations_max: CONVERSATIONS_MAX,
            reject_delay,
            ..server::Config::new(clients)
        };
        let eap = Arc::new(ServerConfig { methods: vec![Arc::clone(server)], limits: Limits::default() });
        let config = AaaConfig { radius, eap, address: AAA, subscribers: Subscribers::Nobody };
        Self {
            aaa: Aaa::new(config, &Seed::from(1), "aaa"),
            crypto: Provider::Real(Real::default()),
            rng: Rng::named(1, "devices"),
            now: Time::ZERO,
            requests: 0,
            stations: 0,
            outside: IDENTITY.to_vec(),
            rejected: Vec::new(),
            accepted: Vec::new(),
            answers: Vec::new(),
            read_count: 0,
            waiting: BTreeMap::new(),
            ended: BTreeMap::new(),
            attempts: 0,
        }
    }

    fn handle(&mut self, input: Input<'_, keytoll_hosts::Order>) -> Option<Answer> {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut NoTrace };
        self.aaa.handle(input, &mut cx);
        let mut answer = None;
        while let Some(output) = self.aaa.poll() {
            match output {
                Output::Event(Event::Rejected { why, .. }) => self.rejected.push(why),
                Output::Event(Event::Accepted(identity)) => self.accepted.push(identity),
                Output::Datagram(datagram) => {
                    let request = (datagram.to.port().unwrap(), datagram.bytes[1]);
                    self.answers.push((request, read(&datagram.bytes)));
                    answer = Some(read(&datagram.bytes));
                }
                _ => {}
            }
        }
        answer
    }

    /// The port and the identifier of the last request: as many ports as a NAS needs, so that no identifier is in use twice.
    fn last_request(&self) -> (u16, u8) {
        let [.., identifier] = self.requests.to_be_bytes();
        (u16::try_from(40_000 + self.requests / 256).unwrap(), identifier)
    }

    fn ask(&mut self, eap: &[u8], state: &[u8]) -> Option<Answer> {
        self.requests += 1;
        let (port, identifier) = self.last_request();
        let mut request = PacketBuilder::authentic(Code::ACCESS_REQUEST, identifier);
        let station = format!("02-00-{:08X}", self.stations);
        let user = Attribute::new(AttributeType::USER_NAME, &self.outside).unwrap();
        request.attribute(&user);
        request.attribute(&Attribute::new(AttributeType::CALLING_STATION_ID, station.as_bytes()).unwrap());
        if !state.is_empty() {
            request.attribute(&Attribute::new(AttributeType::STATE, state).unwrap());
        }
        request.eap_message(eap);
        let authenticator = self.rng.bytes();
        let sealed = request.seal_request(&authenticator, &radius_secret(), &mut self.crypto).unwrap();
        let (from, to) = (Addr::udp(NAS, port), Addr::udp(AAA, 1812));
        self.handle(Input::Datagram { from, to, bytes: &sealed.bytes })
    }

    /// A device of its own tries a password; its last answer, unless it has to wait for that.
    fn attempt(&mut self, offer: Arc<dyn PeerOffer>) -> Option<Code> {
        self.stations += 1;
        self.attempt_again(offer)
    }

    /// The device of the attempt before tries a password.
    fn attempt_again(&mut self, offer: Arc<dyn PeerOffer>) -> Option<Code> {
        self.start(offer);
        self.go_on();
        self.ended.get(&self.attempts).copied()
    }

    fn start(&mut self, offer: Arc<dyn PeerOffer>) {
        self.attempts += 1;
        let config = PeerConfig { methods: vec![offer], ..PeerConfig::default() };
        let peer = Peer::new(Arc::new(config), IDENTITY.to_vec());
        self.ask(&packet::response(0, MethodType::IDENTITY, IDENTITY), &[]);
        self.waiting.insert(self.last_request(), (self.attempts, peer));
    }

    /// The devices read their answers, and go on.
    fn go_on(&mut self) {
        while let Some((request, (code, eap, state))) = self.answers.get(self.read_count).cloned() {
            self.read_count += 1;
            let Some((attempt, mut peer)) = self.waiting.remove(&request) else { continue };
            let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut NoTrace };
            if let PeerOutput::Send(response) = peer.step(&eap, &mut self.rng, &mut cx) {
                self.ask(&response, &state);
                self.waiting.insert(self.last_request(), (attempt, peer));
            } else {
                self.ended.insert(attempt, code);
            }
        }
    }

    fn wait(&mut self, until: Time) {
        while let Some(deadline) = self.aaa.deadline().filter(|deadline| deadline.at <= until) {
            self.now = self.now.max(deadline.at);
            self.handle(Input::Tick);
            self.go_on();
        }
        self.now = until;
    }

    /// How many devices were refused for a wrong password.
    fn judged(&self) -> usize {
        self.rejected.iter().filter(|why| **why == Reason::WRONG_PASSWORD.0).count()
    }

    /// Guesses the password of `alice`, and waits until no guess is queued; returns how many were judged.
    fn guess(&mut self, method: &Method) -> usize {
        for guess in 0..GUESSES {
            // RFC 2759 §4: with MSCHAPv2 alice has her password in every domain.
            let domain =
                if method.has_domains && guess % 2 == 1 { format!("D{guess}\\") } else { String::new() };
            self.attempt((method.peer)(&format!("{domain}alice"), &format!("guess {guess}")));
            self.wait(Time::ZERO + INTERVAL * u32::try_from(guess + 1).unwrap());
        }
        self.wait(self.now + ALL_QUEUED);
        self.judged()
    }
}

fn read(bytes: &[u8]) -> Answer {
    let packet = Packet::read(bytes).unwrap();
    let all = |kind| {
        let of_kind = packet.attributes.iter().filter(move |attribute| attribute.kind() == kind);
        of_kind.flat_map(|attribute| attribute.value().to_vec()).collect()
    };
    (packet.code, all(AttributeType::EAP_MESSAGE), all(AttributeType::STATE))
}

#[test]
fn few_passwords_of_a_user_are_tried_inside_tunnels() {
    for method in methods() {
        let mut open = Bench::new(&method.server, usize::MAX);
        assert_eq!(open.guess(&method), GUESSES as usize, "{}: without a limit all are judged", method.name);
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        let judged = bench.guess(&method);
        let seconds = (bench.now.as_nanos() / 1_000_000_000) as usize;
        assert!(judged <= seconds * PER_USER_MAX, "{}: {judged}", method.name);
        assert!(judged > PER_USER_MAX, "{}: {judged}", method.name);
        let refused = bench.rejected.iter().filter(|why| **why == FULL).count();
        assert_eq!(judged + refused, GUESSES as usize, "{}: {:?}", method.name, bench.rejected);
    }
}

/// Names cost nothing outside tunnels, and use up no places: neither of the user that they name nor of one with another name inside.
#[test]
fn names_outside_tunnels_keep_nobody_out() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for name in ["alice", "alice@lab"] {
            for _ in 0..2 * PER_USER_MAX {
                bench.outside = name.into();
                bench.stations += 1;
                let eap = packet::response(0, MethodType::IDENTITY, name.as_bytes());
                assert!(bench.ask(&eap, &[]).is_some(), "{}", method.name);
            }
            let hers = bench.attempt((method.peer)("alice", "opensesame"));
            assert_eq!(hers, Some(Code::ACCESS_ACCEPT), "{} {name}", method.name);
        }
    }
}

/// RFC 3579 §2.1: a NAS may begin with an EAP-Start, and with another User-Name than the later identity.
#[test]
fn a_password_is_counted_for_the_identity_of_eap() {
    let server: Arc<dyn ServerOffer> =
        Arc::new(Md5Server { passwords: passwords(), name: b"server".to_vec() });
    for (per_user_max, judged) in [(usize::MAX, GUESSES as usize), (PER_USER_MAX, PER_USER_MAX)] {
        let mut bench = Bench::new(&server, per_user_max);
        for _ in 0..GUESSES {
            bench.stations += 1;
            let (_, asked, state) = bench.ask(&[], &[]).unwrap();
            let identity = packet::response(asked[1], MethodType::IDENTITY, b"alice");
            let (_, challenge, state) = bench.ask(&identity, &state).unwrap();
            let value = [&[16][..], &[7; 16]].concat();
            bench.ask(&packet::response(challenge[1], MethodType::MD5, &value), &state);
        }
        assert_eq!(bench.judged(), judged);
    }
}

/// The AVPs of MS-CHAP-V2 in TTLS for `bob`.
fn bobs_proof(tunnel: &mut dyn Tunnel, cx: &mut Ctx<'_>) -> Vec<u8> {
    let drawn = tunnel.export("ttls challenge", None, 17, cx).unwrap();
    let challenge: [u8; 16] = drawn[..16].try_into().unwrap();
    let exchange = Exchange { authenticator_challenge: &challenge, peer_challenge: &[3; 16], user: b"bob" };
    let response = PasswordHash::new(&word("opensesame"), cx.crypto).nt_response(&exchange, cx.crypto);
    let proof = [&[drawn[16], 0][..], &[3; 16], &[0; 8], &response].concat();
    write_avps(&[
        Avp::new(AvpCode::USER_NAME, b"bob"),
        Avp::new(AvpCode::MS_CHAP_CHALLENGE, &challenge),
        Avp::new(AvpCode::MS_CHAP2_RESPONSE, &proof),
    ])
}

/// The next AVPs of an attacker inside a TTLS tunnel, from the AVPs of the server.
type Script = fn(&mut dyn Tunnel, &[u8], &mut Ctx<'_>) -> Vec<u8>;

/// Follows a script in a TTLS tunnel until the server sends no more challenge; returns the number of messages of the attacker.
fn in_tunnel(bench: &mut Bench, client: &Arc<dyn Tunnels>, script: Script) -> usize {
    let (mut crypto, mut rng) = (Provider::Real(Real::default()), Rng::named(1, "bob"));
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut NoTrace };
    let mut tunnel = client.begin(&mut cx, &mut rng).unwrap();
    let identity = packet::response(0, MethodType::IDENTITY, IDENTITY);
    let mut answer = bench.ask(&identity, &[]);
    let (mut flight, mut said) = (Vec::new(), 0);
    while let Some((Code::ACCESS_CHALLENGE, request, state)) = answer {
        // RFC 5281 §9.1: flags L, M and S; with L a length comes before the data.
        let (flags, data) = (request[5], &request[if request[5] & 0x80 == 0 { 6 } else { 10 }..]);
        flight.extend_from_slice(if flags & 0x20 == 0 { data } else { &[] });
        if flags & 0x40 == 0 {
            let got = std::mem::take(&mut flight);
            if !got.is_empty() {
                tunnel.feed(&got, &mut cx, &mut rng).unwrap();
            }
            if tunnel.is_established() {
                let received = tunnel.take_received();
                let avps = script(&mut *tunnel, &received, &mut cx);
                tunnel.send(&avps, &mut cx, &mut rng).unwrap();
                said += 1;
            }
        }
        let response = [&[0][..], &tunnel.take_output()].concat();
        answer = bench.ask(&packet::response(request[1], MethodType::TTLS, &response), &state);
    }
    assert!(answer.is_none(), "the server admits no user");
    said
}

fn avps_of_eap(packet: &[u8]) -> Vec<u8> {
    write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, packet)])
}

/// `bob` proves himself, and then begins EAP as `alice` in the same tunnel: her password would be counted for him.
fn bob_then_alice(tunnel: &mut dyn Tunnel, received: &[u8], cx: &mut Ctx<'_>) -> Vec<u8> {
    if received.is_empty() {
        return bobs_proof(tunnel, cx);
    }
    avps_of_eap(&packet::response(0, MethodType::IDENTITY, b"alice"))
}

/// EAP for `alice` would have its verdict before the end; `bob` ends the conversation with success.
fn alice_then_bob(_: &mut dyn Tunnel, received: &[u8], _: &mut Ctx<'_>) -> Vec<u8> {
    if received.is_empty() {
        return avps_of_eap(&packet::response(0, MethodType::IDENTITY, b"alice"));
    }
    write_avps(&[Avp::new(AvpCode::USER_NAME, b"bob"), Avp::new(AvpCode::USER_PASSWORD, b"opensesame")])
}

#[test]
fn one_user_tries_a_password_in_a_tunnel() {
    for script in [bob_then_alice, alice_then_bob] as [Script; 2] {
        let pki = Pki::new(KeyKind::EcdsaP256, 2);
        let (client, server) = pki.server_only(Version::Tls12);
        let method = ttls("TTLS", (Arc::clone(&client), server), TtlsInside::Pap);
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        let said = in_tunnel(&mut bench, &client, script);
        assert_eq!((said, &bench.rejected[..]), (2, &["EAP-TTLS unexpected AVP"][..]));
    }
}

/// The verdict of EAP-MSCHAPv2 comes before the end of its conversation, which may end at once or be kept for long.
#[test]
fn a_try_counts_whatever_becomes_of_its_conversation() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let inside =
        |password| TtlsInside::Eap(Arc::new(MschapV2Peer { password, name: None }) as Arc<dyn PeerOffer>);
    let method = ttls("TTLS with EAP-MSCHAPv2", pki.server_only(Version::Tls12), inside);
    let mut bench = Bench::new(&method.server, PER_USER_MAX);
    bench.guess(&method);
    let seconds = (bench.now.as_nanos() / 1_000_000_000) as usize;
    let full = bench.rejected.iter().filter(|why| **why == FULL).count();
    assert!(full > 0 && GUESSES as usize - full <= seconds * PER_USER_MAX, "{full} in {seconds} s");
    // Nothing of that counts now, although conversations may be open.
    let hers = bench.attempt((method.peer)("alice", "opensesame"));
    assert_eq!(hers, Some(Code::ACCESS_ACCEPT));
}

/// A known device of `alice` has attempts of its own, for its Calling-Station-Id.
#[test]
fn a_guesser_does_not_keep_out_a_device_that_was_let_in_before() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        assert_eq!(bench.attempt((method.peer)("alice", "opensesame")), Some(Code::ACCESS_ACCEPT));
        let hers = bench.stations;
        for guess in 0..PER_USER_MAX {
            bench.attempt((method.peer)("alice", &format!("guess {guess}")));
        }
        assert_eq!(bench.attempt((method.peer)("alice", "opensesame")), None, "{}", method.name);
        let others = std::mem::replace(&mut bench.stations, hers);
        let again = bench.attempt_again((method.peer)("alice", "opensesame"));
        assert_eq!(again, Some(Code::ACCESS_ACCEPT), "{}", method.name);
        // The same holds for the name outside.
        bench.outside = b"alice".to_vec();
        let again = bench.attempt_again((method.peer)("alice", "opensesame"));
        assert_eq!(again, Some(Code::ACCESS_ACCEPT), "{}", method.name);
        bench.stations = others;
        let foreign = bench.attempt((method.peer)("alice", "opensesame"));
        assert_eq!(foreign, None, "{}", method.name);
    }
}

/// Attempts for other users, and bare identities, with the Calling-Station-Id of a device of `alice` leave it its attempts.
#[test]
fn strangers_with_the_address_of_a_device_do_not_keep_it_out() {
    let method = &methods()[0];
    let mut bench = Bench::new(&method.server, PER_USER_MAX);
    for stranger in 0..2 * PER_USER_MAX {
        bench.attempt_again((method.peer)(&format!("stranger {stranger}"), "?"));
    }
    for _ in 0..2 * PER_USER_MAX {
        bench.ask(&packet::response(0, MethodType::IDENTITY, b"stranger"), &[]);
    }
    let hers = bench.attempt_again((method.peer)("alice", "opensesame"));
    assert_eq!(hers, Some(Code::ACCESS_ACCEPT));
}

/// `bob` is let in under the User-Name `alice`: that makes his device familiar to him, not to her.
#[test]
fn a_claimed_name_makes_no_device_familiar() {
    let method = &methods()[0];
    let mut bench = Bench::new(&method.server, PER_USER_MAX);
    bench.outside = b"alice".to_vec();
    assert_eq!(bench.attempt((method.peer)("bob", "opensesame")), Some(Code::ACCESS_ACCEPT));
    for guess in 0..3 * PER_USER_MAX {
        bench.outside = format!("anonymous@{guess}").into_bytes();
        bench.attempt_again((method.peer)("alice", &format!("guess {guess}")));
    }
    assert_eq!(bench.judged(), PER_USER_MAX, "{:?}", bench.rejected);
}

/// Otherwise a peer that keeps its TLS session would learn from the next handshake that its password was right.
#[test]
fn a_session_that_the_limit_refuses_is_not_resumed() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    for (guesses, is_kept) in [(0, true), (PER_USER_MAX + QUEUED_MAX, false)] {
        let method = ttls("TTLS with PAP", pki.resuming(false, Version::Tls12), TtlsInside::Pap);
        let others = ttls("TTLS with PAP", pki.server_only(Version::Tls12), TtlsInside::Pap);
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for guess in 0..guesses {
            bench.attempt((others.peer)("alice", &format!("guess {guess}")));
        }
        let requests = [0, 0].map(|_| {
            let before = bench.requests;
            let answer = bench.attempt((method.peer)("alice", "opensesame"));
            bench.wait(bench.now + ALL_QUEUED);
            (answer.is_some(), bench.requests - before)
        });
        let [(first_is_in, first), (second_is_in, second)] = requests;
        assert!(second_is_in && first_is_in == is_kept);
        assert_eq!(second < first, is_kept, "{second} requests after {first}");
    }
}

/// While the attempts of `alice` are used up, her own password has to wait like a wrong one, and `bob` is let in.
#[test]
fn a_limit_inside_tunnels_concerns_one_user() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for guess in 0..PER_USER_MAX {
            bench.attempt((method.peer)("alice", &format!("guess {guess}")));
        }
        assert_eq!(bench.attempt((method.peer)("alice", "opensesame")), None, "{}", method.name);
        let hers = bench.last_request();
        let bobs = bench.attempt((method.peer)("bob", "opensesame"));
        assert_eq!(bobs, Some(Code::ACCESS_ACCEPT), "{}", method.name);
        let of_hers = |bench: &Bench| bench.answers.iter().find(|(request, _)| *request == hers).cloned();
        bench.wait(Time::ZERO + Duration::from_millis(990));
        assert_eq!(of_hers(&bench), None, "{}", method.name);
        bench.wait(Time::ZERO + Duration::from_millis(1010));
        let (_, (code, ..)) = of_hers(&bench).unwrap();
        assert_ne!(code, Code::ACCESS_REJECT, "{}", method.name);
        bench.wait(Time::ZERO + Duration::from_secs(3));
        let hers = bench.attempt((method.peer)("alice", "opensesame"));
        assert_eq!(hers, Some(Code::ACCESS_ACCEPT), "{}", method.name);
    }
}

/// A power failure ends, and devices with one name start together. The server lets in the next one of the queue after each success.
#[test]
fn devices_with_one_name_are_let_in_one_after_another() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for _ in 0..PER_USER_MAX + QUEUED_MAX {
            bench.stations += 1;
            bench.start((method.peer)("alice", "opensesame"));
        }
        bench.go_on();
        let let_in = bench.ended.values().filter(|code| **code == Code::ACCESS_ACCEPT).count();
        assert_eq!(let_in, PER_USER_MAX + QUEUED_MAX, "{}: {:?}", method.name, bench.rejected);
    }
}

/// Three wrong attempts, and others in the queue: each that is let in is reported, under its own name.
#[test]
fn each_accept_is_reported() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for user in ["alice", "bob"] {
            for guess in 0..PER_USER_MAX {
                bench.attempt((method.peer)(user, &format!("guess {guess}")));
            }
        }
        for device in 0..20 {
            bench.stations += 1;
            bench.start((method.peer)(["alice", "bob"][device % 2], "opensesame"));
        }
        bench.go_on();
        assert_eq!(bench.accepted.len(), 0, "{}", method.name);
        bench.wait(Time::ZERO + ALL_QUEUED);
        let accepts = bench.answers.iter().filter(|(_, (code, ..))| *code == Code::ACCESS_ACCEPT).count();
        assert_eq!((accepts, bench.accepted.len()), (20, 20), "{}: {:?}", method.name, bench.rejected);
        assert_eq!(bench.accepted.iter().filter(|name| *name == b"bob").count(), 10, "{}", method.name);
        assert_eq!(bench.judged(), 2 * PER_USER_MAX, "{}: {:?}", method.name, bench.rejected);
    }
}

/// Attempts for an invented user with the address of a device of `alice` wait in their queue, and leave it its places.
#[test]
fn queued_attempts_with_the_address_of_a_device_do_not_keep_it_out() {
    let method = &methods()[0];
    let mut bench = Bench::new(&method.server, PER_USER_MAX);
    for guess in 0..PER_STATION_MAX + PER_USER_MAX {
        bench.attempt_again((method.peer)("nobody", &format!("guess {guess}")));
    }
    let hers = bench.attempt_again((method.peer)("alice", "opensesame"));
    assert_eq!(hers, Some(Code::ACCESS_ACCEPT));
}

/// The queues of many invented users keep a quarter of all conversations at most.
#[test]
fn queues_of_many_users_keep_nobody_out() {
    let method = &methods()[0];
    let mut bench = Bench::new(&method.server, PER_USER_MAX);
    for guess in 0..2 * CONVERSATIONS_MAX {
        bench.attempt((method.peer)(&format!("stranger {}", guess % 8), "?"));
    }
    assert!(bench.rejected.contains(&FULL));
    let hers = bench.attempt((method.peer)("alice", "opensesame"));
    assert_eq!(hers, Some(Code::ACCESS_ACCEPT));
}

/// All guesses have begun before the first password is tried: as many are queued as may be, and few of those have their turn in time.
#[test]
fn a_queue_of_attempts_is_bounded_in_length_and_time() {
    for method in methods() {
        let mut bench = Bench::new(&method.server, PER_USER_MAX);
        for guess in 0..2 * QUEUED_MAX {
            bench.stations += 1;
            bench.start((method.peer)("alice", &format!("guess {guess}")));
        }
        bench.go_on();
        let refused = |bench: &Bench| bench.rejected.iter().filter(|why| **why == FULL).count();
        assert_eq!(refused(&bench), QUEUED_MAX - PER_USER_MAX, "{}", method.name);
        bench.wait(Time::ZERO + ALL_QUEUED);
        // At the beginning, and after each of the next four seconds: at the fifth they are too old.
        assert_eq!(bench.judged(), 5 * PER_USER_MAX, "{}", method.name);
        assert_eq!(refused(&bench) + bench.judged(), 2 * QUEUED_MAX, "{}", method.name);
        assert_eq!(bench.aaa.conversation_count(), 0);
    }
}
