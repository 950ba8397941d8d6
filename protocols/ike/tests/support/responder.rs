//! Arbitrary bytes as inputs of a responder: the fuzz target `ikev2_responder`, and the test that replays its corpus.
//!
//! Null cryptography, so that the bytes can forge everything. The format:
//!
//!   State(1) Step(*)       state: 0 nothing yet, 1 half open, 2 established, 3 established and requesting a child itself,
//!                          4 established and rekeying the IKE SA itself
//!   0 Length(2) Bytes(*)                        a datagram as it is
//!   1 Exchange(1) Flags(1) First(1) Length(2) Chain(*)
//!                                               a protected message with the right SPIs and id around this chain
//!   0x81 Cleartext(2) Exchange(1) …             the same after an unencrypted payload of this length
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
    Believe, ChildConfig, Connection, HalfOpen, Mode, Pool, Prove, Reauthenticate, Version,
};
use keytoll_ike::v2::Endpoint;
use keytoll_ike::wire::Identity;
use keytoll_ike::{Command, Config, Event, SaId};
use keytoll_net::{Addr, Socket, wire::Reader};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const HALF_OPEN_MAX: usize = 8;
/// More deadlines in sequence than any peer can have: a timer that rearms itself for ever.
const TICKS_MAX: usize = 10_000;

/// The bit of a step with an unencrypted payload in front.
const IN_THE_CLEAR: u8 = 0x80;
/// An unknown payload type.
const UNKNOWN: u8 = 200;

/// A payload of so many bytes before the encrypted one; none if there is no room for its header.
fn in_the_clear(length: u16) -> Vec<u8> {
    let mut payload = vec![0; if length < 4 { 0 } else { length.into() }];
    if let [next, _, high, low, ..] = &mut payload[..] {
        *next = 46;
        [*high, *low] = length.to_be_bytes();
    }
    payload
}

/// One side.
fn config(local: &str, remote: &str) -> Config {
    let identity = |name: &str| name.parse::<Identity>().expect("a domain name is an identity");
    let suite = |text: &str| Suite::esp(text).expect("a suite of the catalogue");
    let secret = || Secret::from(&b"secret"[..]);
    let mut config = Config::new(vec![Connection {
        name: String::new(),
        version: Version::V2,
        local_id: identity(local),
        remote_id: Some(identity(remote)),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").expect("a suite of the catalogue")],
        child: Some(ChildConfig {
            suites: vec![suite("aes128gcm16-x25519"), suite("aes128gcm16")],
            mode: Mode::Tunnel,
            local: vec![],
            remote: vec![],
            rekey_after: None,
        }),
        request_address: true,
        pool: Some(Pool { first: Ipv4Addr::new(10, 0, 0, 1).into(), size: 4 }),
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    }]);
    config.half_open =
        HalfOpen { cookies_from: 4, max: HALF_OPEN_MAX, per_address_max: 4, ..HalfOpen::default() };
    config
}

/// The responder and what a peer of it must know.
struct Table {
    now: Time,
    responder: Endpoint,
    /// The SAs that the owner knows of.
    sas: BTreeSet<SaId>,
    children: BTreeSet<(SaId, u32)>,
    /// The SPIs in the header of the last SA that sent.
    spis: [u8; 16],
    next_id: u32,
    /// The id of its last request.
    asked_id: u32,
    sent: Vec<Datagram>,
}

/// Runs the bytes.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn run(bytes: &[u8]) {
    let mut r = Reader::new(bytes);
    let Ok(state) = r.u8("state") else { return };
    let mut table = Table::in_state(state % 5);
    while table.step(&mut r).is_some() {}
    table.close();
}

impl Table {
    fn new() -> Self {
        Self {
            now: Time::ZERO,
            responder: Endpoint::new(config("gw.example.org", "device.example.org"), Rng::named(1, "r")),
            sas: BTreeSet::new(),
            children: BTreeSet::new(),
            spis: [0; 16],
            next_id: 0,
            asked_id: 0,
            sent: Vec::new(),
        }
    }

    fn in_state(state: u8) -> Self {
        let mut table = Self::new();
        if state > 0 {
            table.shake_hands(if state == 1 { 1 } else { 2 });
        }
        match state {
            3 => table.wish(0),
            4 => table.wish(2),
            _ => {}
        }
        table
    }

    /// Gives a genuine initiator so many answers.
    fn shake_hands(&mut self, rounds: usize) {
        let mut initiator = Endpoint::new(config("device.example.org", "gw.example.org"), Rng::named(1, "i"));
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        let command = Command::Initiate { connection: 0, local: DEVICE, remote: GATEWAY };
        initiator.handle(Input::Command(command), &mut cx);
        for _ in 0..rounds {
            let Some(Output::Datagram(request)) = initiator.poll() else { panic!("it has something to say") };
            self.receive(&request.bytes);
            let answer = self.sent.pop().expect("a genuine request is answered");
            let input = Input::Datagram { from: answer.from, to: answer.to, bytes: &answer.bytes };
            let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
            initiator.handle(input, &mut cx);
            self.next_id += 1;
        }
    }

    fn step(&mut self, r: &mut Reader<'_>) -> Option<()> {
        let kind = r.u8("step").ok()?;
        match kind % 4 {
            0 => {
                let length = usize::from(r.u16("length").ok()?).min(r.len());
                let bytes = r.take(length, "bytes").ok()?;
                self.receive(bytes);
            }
            1 => {
                let cleartext = if kind & IN_THE_CLEAR == 0 { 0 } else { r.u16("cleartext").ok()? };
                let [exchange, flags, first] = r.array("kind").ok()?;
                let length = usize::from(r.u16("length").ok()?).min(r.len());
                let chain = r.take(length, "chain").ok()?;
                let message = self.protected((exchange, flags, first), cleartext, chain);
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

    /// The protected form of a chain in null cryptography: an IV, the chain, no padding, an ICV of zeros.
    fn protected(&mut self, (exchange, flags, first): (u8, u8, u8), cleartext: u16, chain: &[u8]) -> Vec<u8> {
        let response = flags & 0x20 != 0;
        let id = if response { self.asked_id } else { self.next_id };
        self.next_id += u32::from(!response);
        let body_len = u16::try_from(4 + 8 + chain.len() + 1 + 16).unwrap_or(u16::MAX);
        let mut message = self.spis.to_vec();
        let in_front = in_the_clear(cleartext);
        message.extend([if in_front.is_empty() { 46 } else { UNKNOWN }, 0x20, exchange, flags]);
        message.extend(id.to_be_bytes());
        message.extend((28 + in_front.len() as u32 + u32::from(body_len)).to_be_bytes());
        message.extend(in_front);
        message.extend([first, 0]);
        message.extend(body_len.to_be_bytes());
        message.extend([0; 8]);
        message.extend(chain);
        message.extend([0; 1 + 16]);
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
                Output::Datagram(datagram) => self.sends(datagram),
                Output::Event(event) => self.note(&event),
                Output::Inner(_) | Output::Close { .. } => unreachable!("IKE speaks datagrams"),
            }
        }
    }

    fn sends(&mut self, datagram: Datagram) {
        let header = &datagram.bytes[..28];
        let spis: [u8; 16] = header[..16].try_into().expect("sixteen bytes");
        if spis[8..] != [0; 8] {
            if spis != self.spis {
                self.next_id = u32::from(header[18] == 34);
            }
            self.spis = spis;
        }
        if header[19] & 0x20 == 0 {
            self.asked_id = u32::from_be_bytes(header[20..24].try_into().expect("four bytes"));
        }
        self.sent.push(datagram);
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Established(up) => assert!(self.sas.insert(up.sa), "an SA comes up once"),
            Event::Closed(sa, _) => {
                assert!(self.sas.remove(sa), "what is closed was up");
                assert!(self.children.iter().all(|(of, _)| of != sa), "its children went down before");
            }
            Event::Rekeyed { old, new } => {
                assert!(self.sas.remove(old) && self.sas.insert(*new), "what is replaced was up");
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
