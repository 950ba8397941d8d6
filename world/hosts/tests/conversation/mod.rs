//! Arbitrary bytes as faults of EAP packets in transit: the fuzz targets `eap_peer` and `eap_server`, and the test that
//! replays their corpora.
//!
//! Two genuine ends talk, and the bytes alter everything sent to one of them. Null cryptography, so that the bytes can
//! forge everything. The format:
//!
//!   Conversation(1) Step(*)      which methods the two are configured for
//!   0                            the packet that is due arrives
//!   1 At(2) Byte(1)              the same with another byte
//!   2 Cut(2)                     its beginning
//!   3 Type(1) Length(2) Data(*)  instead of it one of this type with these data and the right identifier
//!   4 Length(2) Bytes(*)         instead of it these bytes
//!   5 Which(1)                   an earlier one once more; the due one stays due
//!   6 End(1)                     a Success or a Failure with the right identifier; the due one stays due
//!   7                            both start anew, with their stored state
//!   8 Answer(1)                  the subscriber database answers like this from now on
//!
//! Invariants: no panic; packets are well-formed and answer the request; the conversation ends after a bounded number of
//! rounds; nothing follows the end.

#![allow(dead_code, reason = "a fuzz target uses its part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_crypto::{Null, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::methods::gtc::{GtcPeer, GtcServer};
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{Binding, PeapPeer, PeapServer};
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::methods::{aka, aka_prime, sim};
use keytoll_eap::packet::{self, MethodType};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::simaka::{peer as simaka_peer, server as simaka_server};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{
    Answer, Limits, Packet, Passwords, Peer, PeerConfig, PeerOffer, PeerOutput, Question, Server,
    ServerConfig, ServerOffer, ServerOutput,
};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_net::wire::Reader;
use keytoll_pki::{Anchors, Authority, Request, Validity};
use keytoll_tls::{Config, Version};

/// The number of conversations.
pub(crate) const CONVERSATIONS: u8 = 15;

const USER: &[u8] = b"nemo";
const NOW_UNIX_SECONDS: u64 = 1_790_000_000;
/// The number of packets remembered for repetition.
const REMEMBERED_MAX: usize = 64;

/// The end whose input the bytes alter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Peer,
    Server,
}

/// Runs the bytes; whether both ends had a success at least once.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn run(bytes: &[u8], target: Target) -> bool {
    let mut r = Reader::new(bytes);
    let Ok(choice) = r.u8("conversation") else { return false };
    let mut table = Table::new(choice % CONVERSATIONS, target);
    while table.step(&mut r).is_some() {}
    table.succeeded == [true, true]
}

/// The packets sent to the target without interference.
pub(crate) fn genuine(choice: u8, target: Target) -> Vec<Vec<u8>> {
    let mut table = Table::new(choice, target);
    while table.due.is_some() {
        table.deliver_due(|packet| packet);
    }
    assert_eq!(table.succeeded, [true, true], "conversation {choice} succeeds");
    table.said
}

/// Both ends of a conversation as configured.
struct Ends {
    peer: Arc<PeerConfig>,
    server: Arc<ServerConfig>,
    /// The peer's card, if it has one.
    card: Option<(SharedCard, Flavour)>,
}

impl Ends {
    fn new(choice: u8) -> Self {
        let password = Secret::from(&b"opensesame"[..]);
        let users: Arc<dyn Passwords> = Arc::new(BTreeMap::from([(USER.to_vec(), password.clone())]));
        let name = b"aaa".to_vec();
        let md5 = || -> Arc<dyn PeerOffer> { Arc::new(Md5Peer { password: password.clone() }) };
        let gtc = || -> Arc<dyn PeerOffer> { Arc::new(GtcPeer { password: password.clone() }) };
        let mschapv2 =
            || -> Arc<dyn PeerOffer> { Arc::new(MschapV2Peer { password: password.clone(), name: None }) };
        let of_server: [Arc<dyn ServerOffer>; 3] = [
            Arc::new(Md5Server { passwords: Arc::clone(&users), name: name.clone() }),
            Arc::new(GtcServer { passwords: Arc::clone(&users), prompt: name.clone() }),
            Arc::new(MschapV2Server { passwords: Arc::clone(&users), name, retries: 2 }),
        ];
        match choice {
            0 => Self::with(vec![md5()], vec![Arc::clone(&of_server[0])]),
            1 => Self::with(vec![gtc()], vec![Arc::clone(&of_server[1])]),
            2 => Self::with(vec![mschapv2()], vec![Arc::clone(&of_server[2])]),
            3 => Self::with(vec![mschapv2(), gtc()], of_server.to_vec()),
            4 => Self::with_card(Flavour::Sim),
            5 => Self::with_card(Flavour::Aka),
            6 => Self::with_card(Flavour::AkaPrime),
            7 => Self::with_tls(Version::Tls12),
            8 => Self::with_tls(Version::Tls13),
            9 => Self::with_ttls(Version::Tls12, TtlsInside::Pap(password.clone()), users, &of_server),
            10 => Self::with_ttls(Version::Tls13, TtlsInside::MschapV2(password.clone()), users, &of_server),
            11 => Self::with_ttls(Version::Tls13, TtlsInside::Eap(md5()), users, &of_server),
            12 => Self::with_ttls(Version::Tls12, TtlsInside::Eap(mschapv2()), users, &of_server),
            13 => Self::with_peap(Version::Tls12, mschapv2(), of_server.to_vec()),
            _ => Self::with_peap(Version::Tls13, mschapv2(), of_server.to_vec()),
        }
    }

    fn with(peers: Vec<Arc<dyn PeerOffer>>, servers: Vec<Arc<dyn ServerOffer>>) -> Self {
        let limits = Limits::default();
        Self {
            peer: Arc::new(PeerConfig { methods: peers, limits }),
            server: Arc::new(ServerConfig { methods: servers, limits }),
            card: None,
        }
    }

    /// With everything that a server can request: pseudonyms, fast re-authentication, result indications.
    fn with_card(flavour: Flavour) -> Self {
        let card = SharedCard::new(Card::new(imsi(), "lab", algorithm(), Sqn::new(0)));
        let wallet = simaka_peer::Settings::default();
        let settings = simaka_server::Settings {
            ask_identity: true,
            result_indications: true,
            kdfs: vec![2, 1],
            ..simaka_server::Settings::default()
        };
        let book = Book::new(BookLimits::default());
        let (peer, server) = match flavour {
            Flavour::Sim => (sim::peer(card.clone(), wallet), sim::server(settings, book)),
            Flavour::Aka => (aka::peer(card.clone(), wallet), aka::server(settings, book)),
            Flavour::AkaPrime => (aka_prime::peer(card.clone(), wallet), aka_prime::server(settings, book)),
        };
        Self { card: Some((card, flavour)), ..Self::with(vec![peer], vec![server]) }
    }

    fn with_tls(version: Version) -> Self {
        let (ours, theirs) = tunnels(version, true);
        let framing = Framing { packet_bytes_max: 512 };
        let peer = Arc::new(TlsPeer { tunnels: ours, framing });
        Self::with(vec![peer], vec![Arc::new(TlsServer { tunnels: theirs, framing })])
    }

    fn with_ttls(
        version: Version,
        inside: TtlsInside,
        passwords: Arc<dyn Passwords>,
        of_server: &[Arc<dyn ServerOffer>],
    ) -> Self {
        let (ours, theirs) = tunnels(version, false);
        let framing = Framing::default();
        let peer = Arc::new(TtlsPeer { tunnels: ours, framing, user: USER.to_vec(), inside });
        let eap = Arc::new(ServerConfig { methods: of_server.to_vec(), limits: Limits::default() });
        Self::with(vec![peer], vec![Arc::new(TtlsServer { tunnels: theirs, framing, passwords, eap })])
    }

    fn with_peap(version: Version, inside: Arc<dyn PeerOffer>, of_server: Vec<Arc<dyn ServerOffer>>) -> Self {
        let (ours, theirs) = tunnels(version, false);
        let (framing, binding) = (Framing::default(), Binding::default());
        let peer = Arc::new(PeapPeer { tunnels: ours, framing, user: USER.to_vec(), inside, binding });
        let inside = Arc::new(ServerConfig { methods: of_server, limits: Limits::default() });
        Self::with(vec![peer], vec![Arc::new(PeapServer { tunnels: theirs, framing, inside, binding })])
    }

    fn identity(&self) -> Vec<u8> {
        self.card.as_ref().map_or_else(|| USER.to_vec(), |(card, flavour)| card.identity(*flavour))
    }
}

fn imsi() -> Imsi {
    Imsi::parse("001010000000001").expect("a literal IMSI")
}

fn algorithm() -> Algorithm {
    Algorithm::Milenage(Milenage::with_opc(&[1; 16], &[2; 16]))
}

/// TLS of both sides with resumption, under certificates with dummy keys.
fn tunnels(version: Version, mutual: bool) -> (Arc<dyn Tunnels>, Arc<dyn Tunnels>) {
    let (kind, make) = (KeyKind::EcdsaP256, &mut keys::generate_null);
    let validity =
        Validity { from_unix_seconds: NOW_UNIX_SECONDS - 1000, until_unix_seconds: NOW_UNIX_SECONDS + 1000 };
    let mut authority = Authority::new(kind, validity, &Seed::from(1), make, &mut Null);
    let mut issue =
        |name| authority.issue(&Request { name, alternatives: &[], kind, chain_length: 2 }, make, &mut Null);
    let (peer, aaa) = (issue("peer"), issue("aaa"));
    let anchors = Anchors::new([&authority.anchor()[..]], NOW_UNIX_SECONDS, &mut Null);
    let trust: Arc<dyn Trust> = Arc::new(anchors.expect("the authority's own certificate parses"));
    let config = |credential: Option<Credential>, trusts: bool| Config {
        credential,
        trust: trusts.then(|| Arc::clone(&trust)),
        oldest: version,
        newest: version,
        resumption: true,
        ..Config::new()
    };
    let usable = "the laboratory's certificates are usable";
    let client = tls_client(&config(mutual.then_some(peer), true)).expect(usable);
    (client, tls_server(&config(Some(aaa), mutual)).expect(usable))
}

/// The two ends and the packets between them.
struct Table {
    target: Target,
    ends: Ends,
    centre: AuthenticationCentre,
    /// The answer of the subscriber database, if not the genuine one.
    answer: Option<Answer>,
    peer: Peer,
    server: Server,
    rngs: [Rng; 2],
    /// The next packet for the target.
    due: Option<Vec<u8>>,
    said: Vec<Vec<u8>>,
    /// Whether peer and server have had a success.
    succeeded: [bool; 2],
}

impl Table {
    fn new(choice: u8, target: Target) -> Self {
        let ends = Ends::new(choice);
        let mut centre = AuthenticationCentre::new(Rng::named(1, "centre"));
        centre.insert(imsi(), Subscriber { algorithm: algorithm(), amf: [0x80, 0], sqn: Sqn::new(32) });
        let mut table = Self {
            target,
            centre,
            answer: None,
            peer: Peer::new(Arc::clone(&ends.peer), ends.identity()),
            server: Server::new(Arc::clone(&ends.server)),
            rngs: [Rng::named(1, "peer"), Rng::named(1, "server")],
            due: None,
            said: Vec::new(),
            succeeded: [false; 2],
            ends,
        };
        table.begin();
        table
    }

    fn begin(&mut self) {
        self.peer = Peer::new(Arc::clone(&self.ends.peer), self.ends.identity());
        self.server = Server::new(Arc::clone(&self.ends.server));
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        let first = match self.server.begin(None, &mut self.rngs[1], &mut cx) {
            ServerOutput::Send(first) => first,
            other => panic!("a server begins with a request, not {other:?}"),
        };
        self.due = match self.target {
            Target::Peer => Some(first),
            Target::Server => self.tell_peer(&first),
        };
    }

    fn step(&mut self, r: &mut Reader<'_>) -> Option<()> {
        match r.u8("step").ok()? % 9 {
            0 => self.deliver_due(|packet| packet),
            1 => {
                let (at, byte) = (usize::from(r.u16("at").ok()?), r.u8("byte").ok()?);
                self.deliver_due(|mut packet| {
                    let at = at % packet.len();
                    packet[at] = byte;
                    packet
                });
            }
            2 => {
                let cut = usize::from(r.u16("cut").ok()?);
                self.deliver_due(|mut packet| {
                    packet.truncate(cut);
                    packet
                });
            }
            3 => {
                let kind = MethodType(r.u8("type").ok()?);
                let data = taken(r)?;
                let packet = self.right(kind, data);
                self.deliver_instead(&packet);
            }
            4 => self.deliver_instead(taken(r)?),
            5 => {
                let which = usize::from(r.u8("which").ok()?);
                if let Some(packet) = self.said.get(which % self.said.len().max(1)).cloned() {
                    self.deliver(&packet);
                }
            }
            6 => {
                let end = if r.u8("end").ok()?.is_multiple_of(2) { packet::success } else { packet::failure };
                self.deliver(&end(self.server.identifier()));
            }
            7 => self.begin(),
            _ => self.answer = lie(r.u8("answer").ok()?),
        }
        Some(())
    }

    /// A packet with the right identifier for the target.
    fn right(&self, kind: MethodType, data: &[u8]) -> Vec<u8> {
        match self.target {
            Target::Peer => packet::request(self.server.identifier(), kind, data),
            Target::Server => packet::response(self.server.identifier(), kind, data),
        }
    }

    fn deliver_due(&mut self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        if let Some(packet) = self.due.take() {
            if self.said.len() < REMEMBERED_MAX {
                self.said.push(packet.clone());
            }
            let kept = packet.clone();
            self.deliver(&change(packet));
            // The carrier retransmits what was not answered.
            if self.due.is_none() && !self.is_over() {
                self.due = Some(kept);
            }
        }
    }

    fn deliver_instead(&mut self, packet: &[u8]) {
        let kept = self.due.take();
        self.deliver(packet);
        self.due = self.due.take().or(kept);
    }

    fn is_over(&self) -> bool {
        match self.target {
            Target::Peer => self.peer.is_over(),
            Target::Server => self.server.is_over(),
        }
    }

    /// Delivers a packet to the target and its answer to the other end, and keeps that one's reply.
    fn deliver(&mut self, packet: &[u8]) {
        let back = match self.target {
            Target::Peer => self.tell_peer(packet).and_then(|answer| self.tell_server(&answer)),
            Target::Server => self.tell_server(packet).and_then(|answer| self.tell_peer(&answer)),
        };
        self.due = back.or(self.due.take());
    }

    fn tell_peer(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let was_over = self.peer.is_over();
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        let output = self.peer.step(bytes, &mut self.rngs[0], &mut cx);
        assert!(!was_over || output == PeerOutput::Ignored, "nothing comes after the end");
        match output {
            PeerOutput::Send(answer) => {
                let Ok(Packet::Response(response)) = Packet::read(&answer) else { panic!("a response") };
                assert_eq!(response.identifier, bytes[1], "it answers what was asked");
                Some(answer)
            }
            PeerOutput::Ignored => None,
            PeerOutput::Success(keys) => {
                assert!(self.peer.is_over() && bytes[0] == 3, "a Success alone makes a success");
                assert!(keys.msk.is_none_or(|msk| msk.len() == 64), "an MSK has 64 bytes");
                self.succeeded[0] = true;
                None
            }
            PeerOutput::Failed(_) => {
                assert!(self.peer.is_over(), "who has failed is over");
                None
            }
        }
    }

    fn tell_server(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let was_over = self.server.is_over();
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        let mut output = self.server.step(bytes, &mut self.rngs[1], &mut cx);
        assert!(!was_over || output == ServerOutput::Ignored, "nothing comes after the end");
        while let ServerOutput::Ask(question) = output {
            let answer = self.database(&question);
            let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
            output = self.server.answer(answer, &mut self.rngs[1], &mut cx);
        }
        match output {
            ServerOutput::Send(request) => {
                let Ok(Packet::Request(read)) = Packet::read(&request) else { panic!("a request") };
                assert_eq!(
                    read.identifier,
                    self.server.identifier(),
                    "its identifier is the one that is out"
                );
                Some(request)
            }
            ServerOutput::Ignored | ServerOutput::Ask(_) => None,
            ServerOutput::Success(accepted) => {
                assert_eq!(Packet::read(&accepted.packet), Ok(Packet::Success(self.server.identifier())));
                assert!(self.server.is_over(), "who has succeeded is over");
                self.succeeded[1] = true;
                self.server.admit();
                Some(accepted.packet)
            }
            ServerOutput::Failure { packet, .. } => {
                assert_eq!(Packet::read(&packet), Ok(Packet::Failure(self.server.identifier())));
                assert!(self.server.is_over(), "who has failed is over");
                Some(packet)
            }
        }
    }

    fn database(&mut self, question: &Question) -> Answer {
        self.answer.clone().unwrap_or_else(|| self.centre.answer(question, &mut Null))
    }
}

/// Length(2) and so many bytes, or what is left.
fn taken<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::from(r.u16("length").ok()?).min(r.len());
    r.take(length, "bytes").ok()
}

/// A wrong answer of the subscriber database.
fn lie(which: u8) -> Option<Answer> {
    match which % 5 {
        0 => None,
        1 => Some(Answer::Triplets(Vec::new())),
        2 => Some(Answer::WrongAuts),
        3 => Some(Answer::UnknownSubscriber),
        _ => Some(Answer::Unavailable),
    }
}
