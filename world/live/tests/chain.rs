//! The whole chain on loopback: device, gateway, AAA server and HSS, each with its own sockets and thread. EAP-AKA inside
//! IKEv2, RADIUS over UDP, Diameter over TCP; IPv4, and IPv6 behind the gateway. No privileges: ports are what is free.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_diameter::DIAMETER;
use keytoll_diameter::wire::message;
use keytoll_diameter::{Name, client as hss_client, server as hss_server};
use keytoll_eap::methods::aka;
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::server::Settings;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::{Limits, PeerConfig, ServerConfig};
use keytoll_engine::trace::{Fact, NoTrace, Protocol};
use keytoll_hosts::{
    Aaa, AaaAccess, AaaConfig, Device, DeviceConfig, EapCredentials, EapIdentity, Event, Gateway,
    GatewayConfig, Host, Hss, HssAccess, HssConfig, Order, Subscribers,
};
use keytoll_ike::config::{Believe, ChildConfig, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::{Config, Mode};
use keytoll_live::{Driver, Seen, Sockets, Streaming, Tap, Waker};
use keytoll_net::{Addr, Socket};
use keytoll_pki::{Anchors, Authority, Request, Validity};
use keytoll_radius::{client, server};

const LIMIT: Duration = Duration::from_secs(10);
const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 12));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 13));
const REALM: &str = "lab";
const NOW_UNIX_SECONDS: u64 = 1_790_000_000;

/// A gateway's certificate, and who trusts it.
fn certificate() -> (Credential, Arc<dyn Trust>) {
    let (kind, make) = (KeyKind::EcdsaP256, &mut keys::generate);
    let (from_unix_seconds, until_unix_seconds) = (NOW_UNIX_SECONDS - 1000, NOW_UNIX_SECONDS + 1000);
    let validity = Validity { from_unix_seconds, until_unix_seconds };
    let crypto = &mut Real::default();
    let mut authority = Authority::new(kind, validity, &Seed::from(1), make, crypto);
    let request = Request { name: "gw.lab", alternatives: &[], kind, chain_length: 2 };
    let alternative = [keytoll_crypto_api::credentials::AlternativeName::Dns("gw.lab".into())];
    let credential = authority.issue(&Request { alternatives: &alternative, ..request }, make, crypto);
    let anchors = Anchors::new([&authority.anchor()[..]], NOW_UNIX_SECONDS, crypto).unwrap();
    (credential, Arc::new(anchors))
}

fn imsi() -> Imsi {
    Imsi::parse("001010000000001").unwrap()
}

/// TS 35.208 §4.3, set 19.
fn algorithm() -> Algorithm {
    let key = 0x5122_2502_14c3_3e72_3a5d_d523_fc14_5fc0_u128.to_be_bytes();
    Algorithm::Milenage(Milenage::with_opc(
        &key,
        &0x981d_464c_7c52_eb6e_5036_2349_84ad_0bcf_u128.to_be_bytes(),
    ))
}

fn ike(own: &str, peer: Option<&str>, prove: Prove, believe: Believe, ports: [u16; 2]) -> Config {
    let child = ChildConfig {
        suites: vec![Suite::esp("aes128gcm16").unwrap()],
        mode: Mode::Transport,
        local: vec![],
        remote: vec![],
        rekey_after: None,
    };
    let connection = Connection {
        name: "chain".into(),
        version: Version::V2,
        local_id: own.parse().unwrap(),
        remote_id: peer.map(|peer| peer.parse().unwrap()),
        signatures: Vec::new(),
        local: prove,
        remote: believe,
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").unwrap()],
        child: Some(child),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    };
    Config { port: ports[0], nat_port: ports[1], force_encapsulation: true, ..Config::new(vec![connection]) }
}

fn secret() -> Secret {
    Secret::from(&b"testing123"[..])
}

fn name(host: &str) -> Name {
    Name { host: host.into(), realm: REALM.into() }
}

fn streaming() -> Streaming {
    Streaming::new(DIAMETER, message::length)
}

type Node = Driver<Box<dyn Host>, Real>;

/// An HSS at an address, and where that is.
fn hss(at: SocketAddr, seed: &Seed) -> (Node, Socket) {
    let sockets = Sockets::bind(&[]).unwrap().streaming(streaming(), &[at]).unwrap();
    let local = sockets.locals()[0];
    let mut subscribers = AuthenticationCentre::new(seed.stream("centre"));
    subscribers.insert(imsi(), Subscriber { algorithm: algorithm(), amf: [0x80, 0], sqn: Sqn::new(32) });
    let config = HssConfig { diameter: hss_server::Config::new(local, name("hss.lab")), subscribers };
    (Driver::new(Box::new(Hss::new(config)), Real::default(), sockets), local)
}

/// An AAA server for one client.
fn aaa(gateway: IpAddr, hss: Socket, seed: &Seed) -> (Node, Socket) {
    let sockets = Sockets::bind(&[(hss.ip, 0).into()]).unwrap().streaming(streaming(), &[]).unwrap();
    let local = sockets.locals()[0];
    let clients = BTreeMap::from([(gateway, server::Client { secret: secret() })]);
    let radius = server::Config { authentication_port: local.port, ..server::Config::new(clients) };
    // Every authentication is a full one, and asks the HSS.
    let settings = Settings { pseudonyms: false, reauthentications_max: 0, ..Settings::default() };
    let server = aka::server(settings, Book::new(BookLimits::default()));
    let eap = Arc::new(ServerConfig { methods: vec![server], limits: Limits::default() });
    // What it calls itself in Diameter; which port it calls from is the system's choice.
    let diameter = hss_client::Config::new(local.at_port(3868), hss, name("aaa.lab"), REALM.into());
    let subscribers = Subscribers::Hss(HssAccess { diameter, batch: 1, kept_max: 8 });
    let config = AaaConfig { radius, eap, address: local.ip, subscribers };
    (Driver::new(Box::new(Aaa::new(config, seed, "aaa")), Real::default(), sockets), local)
}

/// Two ports that are free at both addresses, bound there.
fn ike_sockets() -> (Sockets, [SocketAddr; 2]) {
    (0..20)
        .find_map(|_| {
            let device = Sockets::bind(&[(DEVICE, 0).into(), (DEVICE, 0).into()]).unwrap();
            let gateway = [0, 1].map(|n| SocketAddr::new(GATEWAY, device.locals()[n].port));
            Sockets::bind(&gateway).ok()?;
            Some((device, gateway))
        })
        .expect("some port is free at both addresses")
}

fn gateway(ike_at: [SocketAddr; 2], aaa: Socket, credential: Credential, seed: &Seed) -> Node {
    let sockets = Sockets::bind(&[ike_at[0], ike_at[1], (aaa.ip, 0).into()]).unwrap();
    let radius_port = sockets.locals()[2].port;
    let radius = client::Config {
        local: aaa.ip,
        ports: vec![radius_port],
        server: client::Server { authentication: aaa, ..client::Server::new(aaa.ip, secret()) },
        nas_identifier: "gw.lab".into(),
        retransmission: client::Retransmission::default(),
    };
    let prove = Prove::Certificate(credential);
    let config = GatewayConfig {
        ike: ike("gw.lab", None, prove, Believe::Eap, ike_at.map(|at| at.port())),
        address: GATEWAY,
        inner: vec![],
        aaa: Some(AaaAccess { radius, asks_identity: true, names_addresses: false, accounts: false }),
    };
    Driver::new(Box::new(Gateway::new(config, seed, "gw")), Real::default(), sockets)
}

fn device(sockets: Sockets, trust: Arc<dyn Trust>, seed: &Seed) -> Node {
    let ports = [0, 1].map(|n| sockets.locals()[n].port);
    let card = SharedCard::new(Card::new(imsi(), REALM, algorithm(), Sqn::new(0)));
    let peer = aka::peer(card.clone(), Default::default());
    let methods = PeerConfig { methods: vec![peer], limits: Limits::default() };
    let config = DeviceConfig {
        ike: ike("ue@lab", Some("gw.lab"), Prove::Eap, Believe::Certificate(trust), ports),
        address: DEVICE,
        gateway: GATEWAY,
        inner: None,
        target: GATEWAY,
        eap: Some(EapCredentials {
            config: Arc::new(methods),
            identity: EapIdentity::Card(card, Flavour::Aka),
        }),
    };
    Driver::new(Box::new(Device::new(config, seed, "ue")), Real::default(), sockets)
}

/// A node that runs until it is told to stop.
struct Running {
    thread: JoinHandle<Node>,
    waker: Waker,
    facts: Arc<Mutex<Vec<Fact>>>,
}

impl Running {
    fn start(mut node: Node) -> Self {
        let (waker, facts) = (node.waker(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&facts);
        let run = move || {
            let mut latest = Vec::new();
            while node.next_event(LIMIT, &mut latest).is_some() {
                noted.lock().unwrap().append(&mut latest);
            }
            noted.lock().unwrap().append(&mut latest);
            node
        };
        Self { thread: thread::spawn(run), waker, facts }
    }

    fn stop(self) -> Vec<Fact> {
        self.waker.wake();
        drop(self.thread.join().unwrap());
        Arc::into_inner(self.facts).expect("the thread is gone").into_inner().unwrap()
    }
}

/// Counts messages of a transport.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<[usize; 2]>>);

impl Counter {
    fn count(&self, seen: &Seen<'_>) {
        let place = usize::from(matches!(seen.to, Addr::Tcp(_)));
        self.0.lock().unwrap()[place] += 1;
    }
}

impl Tap for Counter {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.count(seen);
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.count(seen);
    }
}

/// Drives until an event satisfies `wished`.
fn until(driver: &mut Node, wished: impl Fn(&Event) -> bool) -> Event {
    let (mut facts, mut events) = (Vec::new(), Vec::new());
    while let Some(event) = driver.next_event(LIMIT, &mut facts) {
        if wished(&event) {
            return event;
        }
        events.push(event);
    }
    panic!("not in time; instead {events:?}\n{facts:#?}");
}

/// One authentication, and its end.
fn authenticate(device: &mut Node) {
    device.command(Order::Echo { payload_bytes: 56 }, &mut NoTrace);
    let up = until(device, |event| matches!(event, Event::Established(_)));
    until(device, |event| *event == Event::EchoReply);
    let Event::Established(up) = up else { unreachable!("until() gave it") };
    device.command(Order::Close(up.session), &mut NoTrace);
    until(device, |event| matches!(event, Event::Closed { .. }));
}

fn sent(facts: &[Fact], protocol: Protocol) -> usize {
    let is = |fact: &&Fact| matches!(fact, Fact::Sent(message) if message.protocol == protocol);
    facts.iter().filter(is).count()
}

fn discards(facts: &[Fact]) -> Vec<&Fact> {
    facts.iter().filter(|fact| matches!(fact, Fact::Discarded { .. })).collect()
}

/// EAP-AKA through all four; the HSS dies in between and comes back at its address.
fn chain(behind: IpAddr) {
    let seed = Seed::system().unwrap();
    let (credential, trust) = certificate();
    let (hss_node, hss_at) = hss((behind, 0).into(), &seed);
    let (aaa, aaa_at) = aaa(behind, hss_at, &seed);
    let (device_sockets, gateway_at) = ike_sockets();
    let counter = Counter::default();
    let first_hss = Running::start(hss_node);
    let aaa = Running::start(aaa.with_tap(counter.clone()));
    let gateway = Running::start(gateway(gateway_at, aaa_at, credential, &seed));
    let mut device = device(device_sockets, trust, &seed);

    authenticate(&mut device);
    let first_facts = first_hss.stop();
    assert!(discards(&first_facts).is_empty(), "{first_facts:#?}");
    assert_eq!(sent(&first_facts, DIAMETER), 2, "CEA and the vectors");
    let second_hss = Running::start(hss(hss_at.into(), &seed.clone()).0);
    authenticate(&mut device);

    let facts = aaa.stop();
    // Two exchanges each; a third, because the new HSS does not know how far the card's sequence numbers are.
    let [radius, diameter] = *counter.0.lock().unwrap();
    assert!(radius >= 10 && diameter >= 10, "{radius} messages over UDP, {diameter} over TCP");
    let mut calls = discards(&facts).into_iter();
    let refused = |fact: &Fact| matches!(fact, Fact::Discarded { why, .. } if why.contains("refused"));
    assert!(calls.all(refused), "only calls while nobody was there are in vain: {facts:#?}");
    assert_eq!(sent(&second_hss.stop(), DIAMETER), 3, "CEA, vectors, and vectors after resynchronisation");
    drop(gateway.stop());
}

#[test]
fn eap_aka_with_an_hss_behind_tcp() {
    chain(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 14)));
}

#[test]
fn the_same_with_ipv6_behind_the_gateway() {
    chain(Ipv6Addr::LOCALHOST.into());
}
