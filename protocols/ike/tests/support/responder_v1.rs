//! Arbitrary bytes as inputs of an IKEv1 responder: the fuzz target `ikev1_responder`, and the test that replays its corpus.
//!
//! Null cryptography, so that the bytes can forge everything. The format:
//!
//!   State(1) Step(*)   state: 0 nothing yet, 1 main mode before message 3, 2 before message 5, 3 aggressive mode before
//!                      message 3, 4 established, 5 established and offering a child itself
//!   0 Length(2) Bytes(*)                        a datagram as it is
//!   1 Exchange(1) Id(1) First(1) Length(2) Chain(*)
//!                                               an authentic message with the right cookies around this chain
//!   2                                           the next deadline passes
//!   3 Which(1)                                  a command of the owner
//!
//! Invariants: no panic, bounded memory, and when the owner has closed its SAs and time has passed, no state is left.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_ike::config::{
    Believe, ChildConfig, Config, Connection, HalfOpen, Mode, Phase1, Prove, Reauthenticate, V1, Version,
};
use keytoll_ike::event::{Command, Event, SaId};
use keytoll_ike::v1::Endpoint;
use keytoll_ike::wire::Identity;
use keytoll_net::{Addr, Socket, wire::Reader};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const HALF_OPEN_MAX: usize = 8;
/// HMAC-SHA-1, all zeros.
const HASH_LEN: u8 = 20;
/// AES.
const BLOCK_LEN: usize = 16;
/// More deadlines in sequence than any peer can have: a timer that rearms itself for ever.
const TICKS_MAX: usize = 10_000;

fn connection(local: &str, remote: &str, phase1: Phase1) -> Connection {
    let identity = |name: &str| name.parse::<Identity>().expect("a domain name is an identity");
    let suite = |text: &str| Suite::esp(text).expect("a suite of the catalogue");
    let secret = || Secret::from(&b"secret"[..]);
    let lifetimes = V1 { lifetime: Duration::from_secs(3600), ..V1::new(phase1) };
    Connection {
        name: String::new(),
        version: Version::V1(V1 { child_lifetime: Duration::from_secs(600), ..lifetimes }),
        local_id: identity(local),
        remote_id: Some(identity(remote)),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike("aes128-sha1-modp1024").expect("a suite of the catalogue")],
        child: Some(ChildConfig {
            suites: vec![suite("aes128-sha1"), suite("aes128-sha1-modp1024")],
            mode: Mode::Tunnel,
            local: vec![],
            remote: vec![],
            rekey_after: None,
        }),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: Some(Duration::from_secs(60)),
    }
}

/// One side, which accepts both modes.
fn config(local: &str, remote: &str) -> Config {
    let both = [Phase1::Main, Phase1::Aggressive].map(|phase1| connection(local, remote, phase1));
    let mut config = Config::new(both.to_vec());
    config.half_open = HalfOpen { max: HALF_OPEN_MAX, per_address_max: 4, ..HalfOpen::default() };
    config
}

/// The responder and what a peer of it must know.
struct Table {
    now: Time,
    responder: Endpoint,
    /// The SAs that the owner knows of.
    sas: BTreeSet<SaId>,
    children: BTreeSet<(SaId, u32)>,
    /// The cookies in the header of the last SA that sent.
    cookies: [u8; 16],
    sent: Vec<Datagram>,
}

/// Runs the bytes.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn run(bytes: &[u8]) {
    let mut r = Reader::new(bytes);
    let Ok(state) = r.u8("state") else { return };
    let mut table = Table::in_state(state % 6);
    while table.step(&mut r).is_some() {}
    table.close();
}

impl Table {
    fn in_state(state: u8) -> Self {
        let mut table = Self {
            now: Time::ZERO,
            responder: Endpoint::new(config("gw.example.org", "device.example.org"), Rng::named(1, "r")),
            sas: BTreeSet::new(),
            children: BTreeSet::new(),
            cookies: [0; 16],
            sent: Vec::new(),
        };
        match state {
            0 => {}
            3 => table.shake_hands(1, 1),
            // Main mode has three rounds, and the third message of quick mode has no answer.
            rounds @ 1..=2 => table.shake_hands(0, rounds.into()),
            _ => table.shake_hands(0, 5),
        }
        if state == 5 {
            table.wish(0);
        }
        table
    }

    /// Lets a genuine initiator send this many messages.
    fn shake_hands(&mut self, connection: usize, rounds: usize) {
        let mut initiator = Endpoint::new(config("device.example.org", "gw.example.org"), Rng::named(1, "i"));
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        let command = Command::Initiate { connection, local: DEVICE, remote: GATEWAY };
        initiator.handle(Input::Command(command), &mut cx);
        for _ in 0..rounds {
            let said = std::iter::from_fn(|| initiator.poll());
            let packet = said.filter_map(|output| match output {
                Output::Datagram(packet) => Some(packet),
                Output::Event(_) | Output::Inner(_) | Output::Close { .. } => None,
            });
            let packets: Vec<Datagram> = packet.collect();
            for packet in packets {
                self.receive(&packet.bytes);
                for answer in std::mem::take(&mut self.sent) {
                    let input = Input::Datagram { from: answer.from, to: answer.to, bytes: &answer.bytes };
                    let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
                    initiator.handle(input, &mut cx);
                }
            }
        }
    }

    fn step(&mut self, r: &mut Reader<'_>) -> Option<()> {
        match r.u8("step").ok()? % 4 {
            0 => {
                let length = usize::from(r.u16("length").ok()?).min(r.len());
                let bytes = r.take(length, "bytes").ok()?;
                self.receive(bytes);
            }
            1 => {
                let [exchange, id, first] = r.array("kind").ok()?;
                let length = usize::from(r.u16("length").ok()?).min(r.len());
                let chain = r.take(length, "chain").ok()?;
                let message = self.protected(exchange, id, first, chain);
                self.receive(&message);
            }
            2 => drop(self.tick()),
            _ => {
                let which = r.u8("which").ok()?;
                self.wish(which);
            }
        }
        assert!(self.responder.half_open_count() <= HALF_OPEN_MAX, "half-open SAs are bounded");
        Some(())
    }

    /// The protected form of a chain in null cryptography: in phase 1 the chain, else with a HASH of zeros before it; padding.
    fn protected(&self, exchange: u8, id: u8, first: u8, chain: &[u8]) -> Vec<u8> {
        let phase1 = id == 0;
        let mut inside = Vec::new();
        if !phase1 {
            inside.extend([first, 0, 0, 4 + HASH_LEN]);
            inside.extend([0; HASH_LEN as usize]);
        }
        inside.extend(chain);
        inside.resize(inside.len().next_multiple_of(BLOCK_LEN), 0);
        let mut message = self.cookies.to_vec();
        message.extend([if phase1 { first } else { 8 }, 0x10, exchange, 1]);
        message.extend(u32::from(id).to_be_bytes());
        message.extend(u32::try_from(28 + inside.len()).unwrap_or(u32::MAX).to_be_bytes());
        message.extend(inside);
        message
    }

    fn receive(&mut self, bytes: &[u8]) {
        let (from, to) = (Socket::new(DEVICE, 500), Socket::new(GATEWAY, 500));
        self.feed(Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes });
    }

    /// Advances to the next deadline, if there is one.
    fn tick(&mut self) -> bool {
        let Some(deadline) = self.responder.deadline() else { return false };
        self.now = self.now.max(deadline.at);
        self.feed(Input::Tick);
        true
    }

    fn wish(&mut self, which: u8) {
        let Some(&sa) = self.sas.first() else { return };
        let child = self.children.first().copied();
        let command = match (which % 6, child) {
            (0, _) => Command::CreateChild(sa),
            (1, Some((sa, spi))) => Command::RekeyChild(sa, spi),
            (2, _) => Command::RekeyIke(sa),
            (3, Some((sa, spi))) => Command::DeleteChild(sa, spi),
            (4, _) => Command::Delete(sa),
            _ => Command::Probe(sa),
        };
        self.feed(Input::Command(command));
    }

    fn feed(&mut self, input: Input<'_, Command>) {
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        self.responder.handle(input, &mut cx);
        self.sent.clear();
        while let Some(output) = self.responder.poll() {
            match output {
                Output::Datagram(datagram) => {
                    let cookies = datagram.bytes.first_chunk().expect("messages have headers");
                    if cookies[8..] != [0; 8] {
                        self.cookies = *cookies;
                    }
                    self.sent.push(datagram);
                }
                Output::Event(event) => self.note(&event),
                Output::Inner(_) | Output::Close { .. } => unreachable!("IKE speaks datagrams"),
            }
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Established(up) => assert!(self.sas.insert(up.sa), "an SA comes up once"),
            Event::Closed(sa, _) => {
                assert!(self.sas.remove(sa), "what is closed was up");
                assert!(self.children.iter().all(|(of, _)| of != sa), "its children went down before");
            }
            Event::Rekeyed { old, new } => {
                assert!(self.sas.remove(old), "what is replaced was up");
                // Both may have existed side by side before.
                self.sas.insert(*new);
                let children = std::mem::take(&mut self.children);
                let moved = |(sa, spi)| if sa == *old { (*new, spi) } else { (sa, spi) };
                self.children = children.into_iter().map(moved).collect();
            }
            Event::ChildUp(sa, child) => drop(self.children.insert((*sa, child.pair.inbound_spi))),
            Event::ChildRekeyed { sa, new, .. } => drop(self.children.insert((*sa, new.pair.inbound_spi))),
            Event::ChildDown(sa, spi) => {
                assert!(self.children.remove(&(*sa, *spi)), "what goes down was up");
            }
            _ => {}
        }
    }

    /// The owner closes everything, time passes, and no state is left.
    fn close(&mut self) {
        for sa in self.sas.clone() {
            self.feed(Input::Command(Command::Delete(sa)));
        }
        let ticks = (0..TICKS_MAX).take_while(|_| self.tick()).count();
        assert!(ticks < TICKS_MAX, "timers run for ever");
        let left = (self.responder.sa_count(), self.sas.len(), self.children.len());
        assert_eq!(left, (0, 0, 0), "nothing is left after {:?}", self.now.since(Time::ZERO));
        assert!(self.now.since(Time::ZERO) < Duration::from_secs(36_000), "nothing waits for hours");
    }
}
