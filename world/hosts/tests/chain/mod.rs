//! Arbitrary bytes as a device's EAP, through IKE_AUTH, gateway and RADIUS to the AAA server: the fuzz target `eap_chain`,
//! and the test that replays its corpus.
//!
//! The device speaks IKE correctly, under null cryptography; the bytes decide what it sends in EAP, and sometimes what
//! happens to a RADIUS datagram. The format:
//!
//!   Chain(1) Step(*)             which method, and whether the gateway asks for the identity
//!   0                            the device answers as a genuine peer
//!   1 At(2) Byte(1)              the same with another byte
//!   2 Cut(2)                     its beginning
//!   3 Type(1) Length(2) Data(*)  a response of this type with these data and the right identifier
//!   4 Length(2) Bytes(*)         these bytes
//!   5                            as if EAP had succeeded
//!   6                            as if it had failed
//!   7 At(2) Byte(1)              the next RADIUS datagram arrives with another byte
//!   8                            the next RADIUS datagram is lost
//!   9                            time passes
//!   10                           the device starts once more, beside its existing SA
//!
//! Invariants: no panic; nobody is admitted whom the AAA server has not accepted, nor under another name; abandoned state is
//! released; the run ends.

#![allow(dead_code, reason = "a fuzz target uses its part of it")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::methods::aka;
use keytoll_eap::methods::gtc::{GtcPeer, GtcServer};
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
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
use keytoll_eap::{Limits, Passwords, Peer, PeerConfig, PeerOffer, PeerOutput, ServerConfig, ServerOffer};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_hosts::described::Value;
use keytoll_hosts::event::Established;
use keytoll_hosts::{Aaa, AaaAccess, AaaConfig, Event, Gateway, GatewayConfig, Order, Subscribers};
use keytoll_ike::Endpoint;
use keytoll_ike::config::{Believe, Config, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::wire::Identity;
use keytoll_ike::{Eap, SaId};
use keytoll_net::wire::Reader;
use keytoll_radius::{client, server};

/// The number of chains.
pub(crate) const CHAINS: u8 = 8;

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const AAA: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
const USER: &str = "nemo@lab";
const IMSI: &str = "001010000000001";
/// At most so many steps and datagrams are processed.
const STEPS_MAX: usize = 200;
const DATAGRAMS_MAX: usize = 4_000;
/// Longer than any timeout of a half-finished conversation.
const A_WHILE: Duration = Duration::from_secs(600);

/// Runs the bytes; returns how many devices the gateway admitted.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn run(bytes: &[u8]) -> usize {
    let mut r = Reader::new(bytes);
    let Ok(choice) = r.u8("chain") else { return 0 };
    let mut chain = Chain::new(choice % CHAINS);
    chain.begin();
    for _ in 0..STEPS_MAX {
        if chain.step(&mut r).is_none() {
            break;
        }
    }
    chain.finish()
}

/// The device, the AAA server and everything between them.
struct Chain {
    device: Endpoint,
    peer_config: Arc<PeerConfig>,
    identity: Vec<u8>,
    /// The device's EAP peer of each SA, and the last request to it.
    peers: BTreeMap<SaId, (Peer, Option<Vec<u8>>)>,
    gateway: Gateway,
    aaa: Aaa,
    rng: Rng,
    now: Time,
    wire: VecDeque<Datagram>,
    carried: usize,
    /// What happens to the next RADIUS datagram.
    fault: Option<Fault>,
    /// Whether RADIUS was altered, so that names need not be the AAA server's.
    is_tampered: bool,
    accepted: BTreeSet<Vec<u8>>,
    accepted_count: usize,
    let_in: usize,
}

enum Fault {
    Change(usize, u8),
    Lose,
}

impl Chain {
    fn new(choice: u8) -> Self {
        let seed = Seed::from(1);
        let (peer, offer, identity) = method(choice % 4);
        let limits = Limits::default();
        Self {
            device: Endpoint::new(device(&identity), &seed, "ue"),
            peer_config: Arc::new(PeerConfig { methods: vec![peer], limits }),
            identity,
            peers: BTreeMap::new(),
            gateway: gateway(choice >= 4, &seed),
            aaa: aaa(offer, &seed),
            rng: seed.stream("ue/eap"),
            now: Time::ZERO,
            wire: VecDeque::new(),
            carried: 0,
            fault: None,
            is_tampered: false,
            accepted: BTreeSet::new(),
            accepted_count: 0,
            let_in: 0,
        }
    }

    fn begin(&mut self) {
        self.for_device(Input::Command(keytoll_ike::Command::Initiate {
            connection: 0,
            local: DEVICE,
            remote: GATEWAY,
        }));
        self.carry();
    }

    fn step(&mut self, r: &mut Reader<'_>) -> Option<()> {
        match r.u8("step").ok()? % 11 {
            0 => self.answer(|genuine, _| genuine),
            1 => {
                let (at, byte) = (usize::from(r.u16("at").ok()?), r.u8("byte").ok()?);
                self.answer(|mut genuine, _| {
                    let at = at % genuine.len().max(1);
                    genuine.get_mut(at).into_iter().for_each(|found| *found = byte);
                    genuine
                });
            }
            2 => {
                let cut = usize::from(r.u16("cut").ok()?);
                self.answer(|mut genuine, _| {
                    genuine.truncate(cut);
                    genuine
                });
            }
            3 => {
                let kind = MethodType(r.u8("type").ok()?);
                let data = taken(r)?.to_vec();
                self.answer(|_, asked| packet::response(asked, kind, &data));
            }
            4 => {
                let bytes = taken(r)?.to_vec();
                self.answer(|_, _| bytes);
            }
            5 => self.tell(Eap::Success { packet: Vec::new(), msk: None, identity: None }),
            6 => self.tell(Eap::Failure { packet: Vec::new() }),
            7 => self.fault = Some(Fault::Change(r.u16("at").ok()?.into(), r.u8("byte").ok()?)),
            8 => self.fault = Some(Fault::Lose),
            9 => self.tick(),
            _ => self.begin(),
        }
        self.carry();
        Some(())
    }

    /// The SA whose EAP response is due, the oldest first.
    fn turn(&self) -> Option<SaId> {
        self.peers.iter().find(|(_, (_, asked))| asked.is_some()).map(|(sa, _)| *sa)
    }

    /// Answers the outstanding request with an altered genuine answer.
    fn answer(&mut self, change: impl FnOnce(Vec<u8>, u8) -> Vec<u8>) {
        let Some(sa) = self.turn() else { return };
        let Some((peer, asked)) = self.peers.get_mut(&sa) else { return };
        let request = asked.take().unwrap_or_default();
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        let eap = match peer.step(&request, &mut self.rng, &mut cx) {
            PeerOutput::Send(genuine) => {
                Eap::Packet(change(genuine, request.get(1).copied().unwrap_or_default()))
            }
            PeerOutput::Success(keys) => Eap::Success { packet: Vec::new(), msk: keys.msk, identity: None },
            PeerOutput::Ignored | PeerOutput::Failed(_) => Eap::Failure { packet: Vec::new() },
        };
        self.for_device(Input::Command(keytoll_ike::Command::Eap(sa, eap)));
    }

    fn tell(&mut self, eap: Eap) {
        let Some(sa) = self.turn() else { return };
        self.peers.remove(&sa);
        self.for_device(Input::Command(keytoll_ike::Command::Eap(sa, eap)));
    }

    /// Advances to the next deadline of any host.
    fn tick(&mut self) {
        let deadlines = [self.device.deadline(), self.gateway.deadline(), self.aaa.deadline()];
        let Some(next) = deadlines.into_iter().flatten().map(|deadline| deadline.at).min() else { return };
        self.now = self.now.max(next);
        self.for_device(Input::Tick);
        self.for_gateway(Input::Tick);
        self.for_aaa(Input::Tick);
    }

    /// Delivers datagrams until there are none, or a host floods.
    fn carry(&mut self) {
        while let Some(mut datagram) = self.wire.pop_front() {
            self.carried += 1;
            assert!(self.carried < DATAGRAMS_MAX, "an answer to an answer to an answer");
            if self.survives(&mut datagram) {
                match datagram.to.ip().expect("everything here goes over IP") {
                    DEVICE => self.for_device(input_of(&datagram)),
                    GATEWAY => self.for_gateway(input_of(&datagram)),
                    _ => self.for_aaa(input_of(&datagram)),
                }
            }
        }
    }

    fn survives(&mut self, datagram: &mut Datagram) -> bool {
        if datagram.to.ip().expect("everything here goes over IP") != AAA
            && datagram.from.ip().expect("everything here goes over IP") != AAA
        {
            return true;
        }
        match self.fault.take() {
            Some(Fault::Lose) => false,
            Some(Fault::Change(at, byte)) => {
                self.is_tampered = true;
                let at = at % datagram.bytes.len();
                datagram.bytes[at] = byte;
                true
            }
            None => true,
        }
    }

    fn for_device(&mut self, input: Input<'_, keytoll_ike::Command>) {
        self.device.handle(input, &mut Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace });
        while let Some(output) = self.device.poll() {
            match output {
                Output::Datagram(datagram) => self.wire.push_back(datagram),
                Output::Event(keytoll_ike::Event::EapPacket(sa, request)) => {
                    let fresh = || Peer::new(Arc::clone(&self.peer_config), self.identity.clone());
                    let entry = self.peers.entry(sa);
                    entry.or_insert_with(|| (fresh().over_reliable_layer(), None)).1 = Some(request);
                }
                Output::Event(keytoll_ike::Event::Failed(sa, ..) | keytoll_ike::Event::Closed(sa, _)) => {
                    self.peers.remove(&sa);
                }
                Output::Event(_) => {}
                Output::Inner(_) | Output::Close { .. } => unreachable!("no interface, and no streams"),
            }
        }
    }

    fn for_gateway(&mut self, input: Input<'_, Order>) {
        self.gateway.handle(input, &mut Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace });
        while let Some(output) = self.gateway.poll() {
            match output {
                Output::Datagram(datagram) => self.wire.push_back(datagram),
                Output::Event(Event::Established(up)) => self.judge(&up),
                Output::Event(_) => {}
                Output::Inner(_) | Output::Close { .. } => unreachable!("no interface, and no streams"),
            }
        }
        let (proving, outstanding) = (self.gateway.proving_count(), self.gateway.radius_outstanding());
        assert!(proving <= self.gateway.ike_sa_count(), "every conversation has its SA");
        assert!(outstanding <= 256, "{outstanding} requests");
    }

    /// Somebody is let in.
    fn judge(&mut self, up: &Established) {
        self.let_in += 1;
        if self.is_tampered {
            return;
        }
        assert!(self.let_in <= self.accepted_count, "the AAA server has accepted everybody who is let in");
        let fields = up.details.fields();
        let peer = fields.get("peer").and_then(Value::text);
        let is_accepted =
            |peer: &str| self.accepted.iter().any(|name| Identity::of_name(name).to_string() == peer);
        assert!(peer.is_some_and(is_accepted), "{peer:?} was not proved");
    }

    fn for_aaa(&mut self, input: Input<'_, Order>) {
        self.aaa.handle(input, &mut Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace });
        while let Some(output) = self.aaa.poll() {
            match output {
                Output::Datagram(datagram) => self.wire.push_back(datagram),
                Output::Event(Event::Accepted(name)) => {
                    self.accepted.insert(name);
                    self.accepted_count += 1;
                }
                Output::Event(_) => {}
                Output::Inner(_) | Output::Close { .. } => unreachable!("no interface, and no streams"),
            }
        }
    }

    /// Lets all timeouts pass; afterwards no unfinished state may be held.
    fn finish(mut self) -> usize {
        let end = self.now + A_WHILE;
        self.carried = 0;
        while self.now < end {
            let before = self.now;
            self.tick();
            self.carry();
            if self.now == before && self.wire.is_empty() {
                break;
            }
        }
        let held = (self.gateway.proving_count(), self.gateway.radius_outstanding());
        assert_eq!((held, self.aaa.conversation_count()), ((0, 0), 0), "nothing is held");
        assert!(self.gateway.ike_sa_count() <= self.let_in, "half-open SAs are forgotten");
        self.let_in
    }
}

fn input_of<C>(datagram: &Datagram) -> Input<'_, C> {
    Input::Datagram { from: datagram.from, to: datagram.to, bytes: &datagram.bytes }
}

fn taken<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::from(r.u16("length").ok()?).min(r.len());
    r.take(length, "bytes").ok()
}

fn secret() -> Secret {
    Secret::from(&b"testing123"[..])
}

/// A method of both sides, and the device's identity for it.
fn method(choice: u8) -> (Arc<dyn PeerOffer>, Arc<dyn ServerOffer>, Vec<u8>) {
    let password = secret();
    let users: Arc<dyn Passwords> = Arc::new(BTreeMap::from([(USER.as_bytes().to_vec(), password.clone())]));
    let (name, identity) = (b"aaa".to_vec(), USER.as_bytes().to_vec());
    match choice {
        0 => (Arc::new(Md5Peer { password }), Arc::new(Md5Server { passwords: users, name }), identity),
        1 => {
            (Arc::new(GtcPeer { password }), Arc::new(GtcServer { passwords: users, prompt: name }), identity)
        }
        2 => (
            Arc::new(MschapV2Peer { password, name: None }),
            Arc::new(MschapV2Server { passwords: users, name, retries: 1 }),
            identity,
        ),
        _ => {
            let card = SharedCard::new(Card::new(imsi(), "lab", algorithm(), Sqn::new(0)));
            let identity = card.identity(Flavour::Aka);
            let settings = simaka_server::Settings { ask_identity: true, ..Default::default() };
            let book = Book::new(BookLimits::default());
            (aka::peer(card, simaka_peer::Settings::default()), aka::server(settings, book), identity)
        }
    }
}

fn imsi() -> Imsi {
    Imsi::parse(IMSI).expect("a literal IMSI")
}

fn algorithm() -> Algorithm {
    Algorithm::Milenage(Milenage::with_opc(&[1; 16], &[2; 16]))
}

fn endpoint(local: Identity, prove: Prove, believe: Believe) -> Config {
    Config::new(vec![Connection {
        name: String::new(),
        version: Version::V2,
        local_id: local,
        remote_id: None,
        signatures: Vec::new(),
        local: prove,
        remote: believe,
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").expect("a literal suite")],
        child: None,
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    }])
}

fn device(identity: &[u8]) -> Config {
    endpoint(Identity::of_name(identity), Prove::Eap, Believe::psk(secret()))
}

fn gateway(asks_identity: bool, seed: &Seed) -> Gateway {
    let radius = client::Config {
        local: GATEWAY,
        ports: vec![40_000],
        server: client::Server::new(AAA, secret()),
        nas_identifier: "gw.lab".into(),
        retransmission: client::Retransmission::default(),
    };
    let name = "gw.lab".parse().expect("a literal identity");
    let config = GatewayConfig {
        ike: endpoint(name, Prove::Psk(secret()), Believe::Eap),
        address: GATEWAY,
        inner: vec![],
        aaa: Some(AaaAccess { radius, asks_identity, names_addresses: false, accounts: false }),
    };
    Gateway::new(config, seed, "gw")
}

fn aaa(offer: Arc<dyn ServerOffer>, seed: &Seed) -> Aaa {
    let radius = server::Config::new(BTreeMap::from([(GATEWAY, server::Client { secret: secret() })]));
    let eap = Arc::new(ServerConfig { methods: vec![offer], limits: Limits::default() });
    let mut centre = AuthenticationCentre::new(seed.stream("centre"));
    centre.insert(imsi(), Subscriber { algorithm: algorithm(), amf: [0x80, 0], sqn: Sqn::new(32) });
    let subscribers = Subscribers::Own(centre);
    Aaa::new(AaaConfig { radius, eap, address: AAA, subscribers }, seed, "aaa")
}
