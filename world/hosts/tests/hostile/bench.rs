//! A device, a gateway and an AAA server, and an attacker on the links between them. Null cryptography, so that the attacker
//! has every key.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::{Null, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, Credential, Trust};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_eap::{Limits, PeerConfig, PeerOffer, ServerConfig, ServerOffer};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_hosts::{
    Aaa, AaaAccess, AaaConfig, Device, DeviceConfig, EapCredentials, EapIdentity, Gateway, GatewayConfig,
    Order, Subscribers,
};
use keytoll_ike::Config;
use keytoll_ike::config::{Believe, Connection, Prove, Reauthenticate, Version};
use keytoll_net::Addr;
use keytoll_pki::{Anchors, Authority, Request, Validity};
use keytoll_radius::number::Code;
use keytoll_radius::wire::PacketBuilder;
use keytoll_radius::{client, server};

pub(crate) const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
pub(crate) const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(crate) const AAA: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));

/// The message of a deliberate panic in a method of the AAA server.
pub(crate) const MISTAKE: &str = "the mistake";

/// The device's identity.
pub(crate) const USER: &str = "ue@lab";
const NOW_UNIX_SECONDS: u64 = 1_790_000_000;
/// Longer than any timeout of a half-finished conversation.
const A_WHILE: Duration = Duration::from_secs(600);

/// A certificate with a dummy key, and a trust store that accepts it.
pub(crate) fn certificate(name: &str) -> (Credential, Arc<dyn Trust>) {
    let (kind, make) = (KeyKind::EcdsaP256, &mut keys::generate_null);
    let validity =
        Validity { from_unix_seconds: NOW_UNIX_SECONDS - 1000, until_unix_seconds: NOW_UNIX_SECONDS + 1000 };
    let mut authority = Authority::new(kind, validity, &Seed::from(1), make, &mut Null);
    let alternatives = [AlternativeName::Dns(name.to_owned())];
    let request = Request { name, alternatives: &alternatives, kind, chain_length: 2 };
    let credential = authority.issue(&request, make, &mut Null);
    let anchors = Anchors::new([&authority.anchor()[..]], NOW_UNIX_SECONDS, &mut Null).unwrap();
    (credential, Arc::new(anchors))
}

fn endpoint(local: &str, remote: Option<&str>, prove: Prove, believe: Believe) -> Config {
    Config::new(vec![Connection {
        name: String::new(),
        version: Version::V2,
        local_id: local.parse().unwrap(),
        remote_id: remote.map(|remote| remote.parse().unwrap()),
        signatures: Vec::new(),
        local: prove,
        remote: believe,
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").unwrap()],
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

fn secret() -> Secret {
    Secret::from(&b"testing123"[..])
}

fn device(
    trust: Arc<dyn Trust>,
    peer: Arc<dyn PeerOffer>,
    seed: &Seed,
    more: impl FnOnce(&mut Connection),
) -> Device {
    let methods = PeerConfig { methods: vec![peer], limits: Limits::default() };
    let mut ike = endpoint(USER, Some("gw.lab"), Prove::Eap, Believe::Certificate(trust));
    more(&mut ike.connections[0]);
    let config = DeviceConfig {
        ike,
        address: DEVICE,
        gateway: GATEWAY,
        inner: None,
        target: GATEWAY,
        eap: Some(EapCredentials { config: Arc::new(methods), identity: EapIdentity::Fixed(USER.into()) }),
    };
    Device::new(config, seed, "ue")
}

fn gateway(
    credential: Credential,
    seed: &Seed,
    access: impl FnOnce(&mut AaaAccess),
    more: impl FnOnce(&mut Connection),
) -> Gateway {
    let radius = client::Config {
        local: GATEWAY,
        ports: (40_000..=40_007).collect(),
        server: client::Server::new(AAA, secret()),
        nas_identifier: "gw.lab".into(),
        retransmission: client::Retransmission::default(),
    };
    let mut ike = endpoint("gw.lab", None, Prove::Certificate(credential), Believe::Eap);
    more(&mut ike.connections[0]);
    let mut aaa = AaaAccess { radius, asks_identity: false, names_addresses: false, accounts: false };
    access(&mut aaa);
    let config = GatewayConfig { ike, address: GATEWAY, inner: vec![], aaa: Some(aaa) };
    Gateway::new(config, seed, "gw")
}

/// An AAA server with one method.
pub(crate) fn aaa(method: Arc<dyn ServerOffer>, limits: impl FnOnce(&mut server::Config)) -> Aaa {
    let mut radius = server::Config::new(BTreeMap::from([(GATEWAY, server::Client { secret: secret() })]));
    limits(&mut radius);
    let eap = ServerConfig { methods: vec![method], limits: Limits::default() };
    let config = AaaConfig { radius, eap: Arc::new(eap), address: AAA, subscribers: Subscribers::Nobody };
    Aaa::new(config, &Seed::from(1), "aaa")
}

/// Alters a datagram; returns false to drop it.
pub(crate) type Tamper = dyn FnMut(&mut Datagram) -> bool;

pub(crate) struct Bench {
    device: Device,
    device_methods: Arc<dyn PeerOffer>,
    pub(crate) gateway: Gateway,
    pub(crate) aaa: Aaa,
    pub(crate) now: Time,
    wire: VecDeque<Datagram>,
    tamper: Box<Tamper>,
    facts: [Vec<Fact>; 3],
    /// The number of devices that started and never continued, and how many more do so with every datagram.
    pub(crate) flooders: u32,
    flood: u32,
    /// The maximum number of conversations at the AAA server.
    pub(crate) held_max: usize,
    is_logged: bool,
    /// Debug output of the hosts and their events, before each datagram.
    pub(crate) log: String,
}

impl Bench {
    pub(crate) fn new(peer: Arc<dyn PeerOffer>, server: Arc<dyn ServerOffer>) -> Self {
        let (seed, (credential, trust)) = (Seed::from(1), certificate("gw.lab"));
        Self {
            device: device(trust, Arc::clone(&peer), &seed, |_| {}),
            device_methods: peer,
            gateway: gateway(credential, &seed, |_| {}, |_| {}),
            aaa: aaa(server, |_| {}),
            now: Time::ZERO,
            wire: VecDeque::new(),
            tamper: Box::new(|_| true),
            facts: Default::default(),
            flooders: 0,
            flood: 0,
            held_max: 0,
            is_logged: false,
            log: String::new(),
        }
    }

    pub(crate) fn tampered(mut self, tamper: impl FnMut(&mut Datagram) -> bool + 'static) -> Self {
        self.tamper = Box::new(tamper);
        self
    }

    /// The gateway reports the device's session to the AAA server.
    pub(crate) fn accounting(mut self) -> Self {
        let (credential, _) = certificate("gw.lab");
        self.gateway = gateway(credential, &Seed::from(1), |aaa| aaa.accounts = true, |_| {});
        self
    }

    /// The gateway requests the EAP identity instead of using IDi.
    pub(crate) fn asking(mut self) -> Self {
        let (credential, _) = certificate("gw.lab");
        self.gateway = gateway(credential, &Seed::from(1), |aaa| aaa.asks_identity = true, |_| {});
        self
    }

    /// Only EAP authenticates the gateway (RFC 5998).
    pub(crate) fn eap_only(mut self) -> Self {
        let (seed, (credential, trust)) = (Seed::from(1), certificate("gw.lab"));
        self.gateway = gateway(credential, &seed, |_| {}, |terms| terms.local = Prove::Eap);
        let peers = self.device_methods.clone();
        self.device = device(trust, peers, &seed, |terms| terms.remote = Believe::Eap);
        self
    }

    /// The gateway accepts only this user.
    pub(crate) fn expecting(mut self, name: &str) -> Self {
        let (credential, _) = certificate("gw.lab");
        self.gateway = gateway(
            credential,
            &Seed::from(1),
            |_| {},
            |terms| {
                terms.remote_id = Some(name.parse().unwrap());
            },
        );
        self
    }

    /// The gateway checks the liveness of a silent device; the device rekeys every minute.
    pub(crate) fn watchful(mut self) -> Self {
        let (seed, (credential, trust)) = (Seed::from(1), certificate("gw.lab"));
        let peers = self.device_methods.clone();
        self.gateway = gateway(
            credential,
            &seed,
            |_| {},
            |terms| {
                terms.liveness_after = Some(Duration::from_secs(30));
            },
        );
        self.device = device(trust, peers, &seed, |terms| terms.rekey_after = Some(Duration::from_secs(60)));
        self
    }

    /// Records the hosts' debug output.
    pub(crate) fn logged(mut self) -> Self {
        self.is_logged = true;
        self
    }

    fn write_log(&mut self) {
        if self.is_logged {
            let Self { device, gateway, aaa, facts, .. } = self;
            self.log += &format!("{device:?} {gateway:?} {aaa:?} {facts:?}\n");
        }
    }

    /// So many devices start and never continue, with every datagram.
    pub(crate) fn flooded(mut self, flood: u32) -> Self {
        self.flood = flood;
        self
    }

    /// So many devices send their identity through the gateway, and nothing more.
    pub(crate) fn flood(&mut self, count: u32) {
        let (mut facts, mut wire) = (Vec::new(), VecDeque::new());
        for flooder in self.flooders..self.flooders + count {
            let mut packet = PacketBuilder::authentic(Code::ACCESS_REQUEST, flooder as u8);
            packet.eap_message(b"\x02\x00\x00\x0c\x01nobody!");
            let sealed = packet.seal_request(&authenticator(flooder), &secret(), &mut Null).unwrap();
            let from = Addr::udp(GATEWAY, 50_000 + (flooder >> 8) as u16);
            let input = Input::Datagram { from, to: Addr::udp(AAA, 1812), bytes: &sealed.bytes };
            step(&mut self.aaa, input, self.now, &mut facts, &mut wire);
            self.held_max = self.held_max.max(self.aaa.conversation_count());
        }
        self.flooders += count;
    }

    /// Ticks the AAA server.
    pub(crate) fn tick_aaa(&mut self) {
        step(&mut self.aaa, Input::Tick, self.now + A_WHILE, &mut self.facts[2], &mut self.wire);
    }

    /// Runs an authentication of the device, and lets all timeouts pass.
    pub(crate) fn run(mut self) -> Self {
        self.command();
        let end = self.now + A_WHILE;
        loop {
            if let Some(mut datagram) = self.wire.pop_front() {
                self.flood(self.flood);
                self.write_log();
                if (self.tamper)(&mut datagram) {
                    self.deliver(&datagram);
                }
                continue;
            }
            let deadlines = [self.device.deadline(), self.gateway.deadline(), self.aaa.deadline()];
            let next = deadlines.into_iter().flatten().map(|deadline| deadline.at).min();
            let Some(next) = next.filter(|next| *next <= end) else { return self };
            self.now = self.now.max(next);
            step(&mut self.device, Input::Tick, self.now, &mut self.facts[0], &mut self.wire);
            step(&mut self.gateway, Input::Tick, self.now, &mut self.facts[1], &mut self.wire);
            step(&mut self.aaa, Input::Tick, self.now, &mut self.facts[2], &mut self.wire);
        }
    }

    fn command(&mut self) {
        let echo = Input::Command(Order::Echo { payload_bytes: 0 });
        step(&mut self.device, echo, self.now, &mut self.facts[0], &mut self.wire);
    }

    fn deliver(&mut self, datagram: &Datagram) {
        let input = Input::Datagram { from: datagram.from, to: datagram.to, bytes: &datagram.bytes };
        let wire = &mut self.wire;
        match datagram.to.ip().unwrap() {
            DEVICE => step(&mut self.device, input, self.now, &mut self.facts[0], wire),
            GATEWAY => step(&mut self.gateway, input, self.now, &mut self.facts[1], wire),
            _ => step_or_recover(&mut self.aaa, input, self.now, &mut self.facts[2], wire),
        }
    }

    /// All reported failures, the device's first, and whether the device was admitted.
    pub(crate) fn said(&self) -> Vec<String> {
        let of = |(name, facts): (&str, &Vec<Fact>)| {
            let say = |fact: &Fact| match fact {
                Fact::Failed { why } => Some(format!("{name} found: {why}")),
                Fact::Refused { why } => Some(format!("{name} was told: {why}")),
                Fact::Usable => Some(format!("{name} got in")),
                _ => None,
            };
            facts.iter().filter_map(say).collect::<Vec<_>>()
        };
        ["ue", "gw", "aaa"].into_iter().zip(&self.facts).flat_map(of).collect()
    }

    /// Reasons of discards without consecutive duplicates.
    pub(crate) fn discards(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (name, facts) in ["ue", "gw", "aaa"].into_iter().zip(&self.facts) {
            for fact in facts {
                if let Fact::Discarded { why, .. } = fact {
                    let line = format!("{name}: {why}");
                    if !found.contains(&line) {
                        found.push(line);
                    }
                }
            }
        }
        found
    }

    pub(crate) fn check_nothing_is_held(&self) {
        let gateway =
            (self.gateway.ike_sa_count(), self.gateway.proving_count(), self.gateway.radius_outstanding());
        assert_eq!((gateway, self.aaa.conversation_count()), ((0, 0, 0), 0), "{:?}", self.said());
    }
}

/// A different Request Authenticator for each, as a client draws them.
fn authenticator(flooder: u32) -> [u8; 16] {
    let mut authenticator = [0; 16];
    authenticator[..4].copy_from_slice(&flooder.to_be_bytes());
    authenticator
}

/// As `step`, for a host that may panic: recovers as the live driver does.
fn step_or_recover<E: Engine>(
    host: &mut E,
    input: Input<'_, E::Command>,
    now: Time,
    facts: &mut Vec<Fact>,
    wire: &mut VecDeque<Datagram>,
) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| step(host, input, now, facts, wire)));
    if let Err(mistake) = outcome {
        // Any other panic is a failed test.
        if mistake.downcast_ref() != Some(&MISTAKE) {
            panic::resume_unwind(mistake);
        }
        host.handle(Input::Recover, &mut Ctx { now, crypto: &mut Null, trace: facts });
        send_all(host, wire);
    }
}

/// Handles one input with its outputs.
fn step<E: Engine>(
    host: &mut E,
    input: Input<'_, E::Command>,
    now: Time,
    facts: &mut Vec<Fact>,
    wire: &mut VecDeque<Datagram>,
) {
    host.handle(input, &mut Ctx { now, crypto: &mut Null, trace: facts });
    send_all(host, wire);
}

fn send_all<E: Engine>(host: &mut E, wire: &mut VecDeque<Datagram>) {
    while let Some(output) = host.poll() {
        if let Output::Datagram(datagram) = output {
            wire.push_back(datagram);
        }
    }
}
