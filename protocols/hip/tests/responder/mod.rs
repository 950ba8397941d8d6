//! Any bytes as what a responder lives through: the fuzz targets `hip_responder` and `hip_diet_responder`, and the test that
//! replays their corpora.
//!
//! Null cryptography, so that the bytes can forge everything. The format:
//!
//!   Exchange(1) Packets(1) Step(*)     exchange: 0 base, 1 diet of draft 24, 2 diet of the prototypes; for `hip_diet_responder`
//!                                      0 diet of draft 24, 1 diet of the prototypes, 2 diet of draft 24 with AKA.
//!                                      The lowest three bits of packets: so many of a true exchange have been delivered. The
//!                                      next two: the card 0 answers, 1 wants another challenge first, 2 does not believe the
//!                                      network, 3 answers wrongly. The next one: the HSS has no vector.
//!   0 Length(2) Bytes(*)               a packet to the responder, with the right checksum
//!   1 At(2) Value(1)                   the last packet that the initiator sent, with one octet changed
//!   2                                  the next packet of the true exchange is delivered
//!   3                                  the next deadline of the responder passes
//!   4 Which(1)                         a command of the responder's owner
//!
//! Invariants: no panic, bounded memory, and when the owner has closed its associations and time has passed, no state is left.

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use keytoll_crypto::{Null, Real, keys};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_hip::config::{Aka, Config, Limits, Puzzles};
use keytoll_hip::event::{Answer, AssociationId, Command, Event, Refused, Vector};
use keytoll_hip::identity::DietVariant;
use keytoll_hip::wire::aka::{Challenge, Response};
use keytoll_hip::wire::builder::put_checksum;
use keytoll_hip::wire::header::HEADER_LEN;
use keytoll_hip::{Endpoint, HostIdentity};
use keytoll_net::{Addr, wire::Reader};

const INITIATOR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const RESPONDER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const ASSOCIATIONS_MAX: usize = 8;
const WAITING_MAX: usize = 64;
/// More deadlines in sequence than any peer can have: a timer that rearms itself for ever.
const TICKS_MAX: usize = 10_000;

fn at(ip: IpAddr) -> Addr {
    Addr::Ip { ip, protocol: 139 }
}

/// What both hosts speak.
#[derive(Clone, Copy)]
enum Exchange {
    Base,
    Draft24,
    Prototype,
    Aka,
}

fn config(exchange: Exchange, name: &str) -> Config {
    let rng = &mut Rng::named(7, name);
    let mut agreeing = |group, variant| {
        let key = Real::default().generate(group, &mut *rng);
        (HostIdentity::agreeing(key, variant), variant)
    };
    let (identity, variant) = match exchange {
        Exchange::Draft24 | Exchange::Aka => agreeing(Group::X25519, DietVariant::Draft24),
        Exchange::Prototype => agreeing(Group::Ecp256, DietVariant::Prototype),
        Exchange::Base => {
            let key = keys::generate_null(KeyKind::EcdsaP256, rng);
            (HostIdentity::signing(key, &mut Null), DietVariant::default())
        }
    };
    let aka = match (exchange, name) {
        (Exchange::Aka, "a") => Aka::Subscriber(b"001010000000001".to_vec()),
        (Exchange::Aka, _) => Aka::Required,
        _ => Aka::None,
    };
    let limits = Limits { associations_max: ASSOCIATIONS_MAX, ..Limits::default() };
    // However many I2s an input has, each is looked at to its end.
    let puzzle = Puzzles { broken_max: u8::MAX, ..Puzzles::default() };
    Config { variant, limits, puzzle, aka, ..Config::new(vec![identity.expect("a kind that HIP has")]) }
}

/// What card and HSS do, bit by bit.
#[derive(Clone, Copy)]
struct Subscription(u8);

impl Subscription {
    fn vector(self, is_second: bool) -> Result<Box<Vector>, Refused> {
        if self.0 & 4 != 0 {
            return Err(Refused);
        }
        let challenge = Challenge { rand: [if is_second { 2 } else { 1 }; 16], autn: [9; 16] };
        let (expected, key) = (Secret::from(&[7; 8][..]), Secret::from(&[5; 32][..]));
        Ok(Box::new(Vector { challenge, expected, key }))
    }

    fn answer(self, challenge: Challenge) -> Box<Answer> {
        let response = match self.0 & 3 {
            1 if challenge.rand[0] == 1 => Response::Auts([3; 14]),
            2 => Response::Reject,
            3 => Response::Res(vec![8; 8]),
            _ => Response::Res(vec![7; 8]),
        };
        Box::new(Answer { response, key: Secret::from(&[5; 32][..]) })
    }
}

/// Two hosts, and the packets between them that wait for their delivery.
struct World {
    initiator: Endpoint,
    responder: Endpoint,
    subscription: Subscription,
    now: Time,
    waiting: VecDeque<Datagram>,
    /// The last packet that the initiator sent.
    last: Option<Datagram>,
    /// The responder's, as its owner knows them.
    up: BTreeSet<AssociationId>,
}

impl World {
    fn new(exchange: Exchange, subscription: Subscription) -> Self {
        let [initiator, responder] = ["a", "b"].map(|name| config(exchange, name));
        let peer = Some(responder.identities[0].hit());
        let mut world = Self {
            initiator: Endpoint::new(initiator, Rng::named(1, "a/hip")),
            responder: Endpoint::new(responder, Rng::named(1, "b/hip")),
            subscription,
            now: Time::ZERO,
            waiting: VecDeque::new(),
            last: None,
            up: BTreeSet::new(),
        };
        let begin = Command::Initiate { identity: 0, peer, local: at(INITIATOR), remote: at(RESPONDER) };
        world.handle(INITIATOR, Input::Command(begin));
        world
    }

    fn handle(&mut self, host: IpAddr, input: Input<'_, Command>) {
        let engine = if host == INITIATOR { &mut self.initiator } else { &mut self.responder };
        engine.handle(input, &mut Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace });
        let outputs: Vec<_> = std::iter::from_fn(|| engine.poll()).collect();
        for output in outputs {
            match output {
                Output::Datagram(datagram) => self.send(host, datagram),
                Output::Event(event) => self.note(host, &event),
                _ => {}
            }
        }
        assert!(self.responder.association_count() <= ASSOCIATIONS_MAX, "there is a limit");
    }

    fn send(&mut self, host: IpAddr, datagram: Datagram) {
        if host == INITIATOR {
            self.last = Some(datagram.clone());
        }
        // No true exchange has more that waits.
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(datagram);
        }
    }

    fn note(&mut self, host: IpAddr, event: &Event) {
        match event {
            Event::VectorWanted { association, resynchronise, .. } => {
                let vector = self.subscription.vector(resynchronise.is_some());
                self.handle(host, Input::Command(Command::Vector(*association, vector)));
            }
            Event::Challenged(association, challenge) => {
                let answer = self.subscription.answer(*challenge);
                self.handle(host, Input::Command(Command::Answer(*association, answer)));
            }
            Event::Established(established) if host == RESPONDER => {
                assert!(self.up.insert(established.association), "an association is established once");
            }
            Event::Closed(id, _) if host == RESPONDER => {
                assert!(self.up.remove(id), "what was not up is not closed");
            }
            _ => {}
        }
    }

    fn deliver(&mut self) {
        let Some(datagram) = self.waiting.pop_front() else { return };
        let Some(host) = datagram.to.ip().filter(|ip| [INITIATOR, RESPONDER].contains(ip)) else { return };
        let Datagram { from, to, bytes, .. } = &datagram;
        self.handle(host, Input::Datagram { from: *from, to: *to, bytes });
    }

    /// A packet of somebody who calls himself the initiator.
    fn inject(&mut self, mut bytes: Vec<u8>) {
        if bytes.len() >= HEADER_LEN {
            put_checksum(&mut bytes, (INITIATOR, RESPONDER));
        }
        let (from, to) = (at(INITIATOR), at(RESPONDER));
        self.handle(RESPONDER, Input::Datagram { from, to, bytes: &bytes });
    }

    fn tick(&mut self) -> bool {
        let Some(deadline) = self.responder.deadline() else { return false };
        self.now = self.now.max(deadline.at);
        self.handle(RESPONDER, Input::Tick);
        true
    }

    fn command(&mut self, which: u8) {
        let Some(&id) = self.up.first() else { return };
        let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
        let command = match which % 4 {
            0 => Command::Rekey(id),
            1 => Command::Readdress(id, at(elsewhere)),
            2 => Command::Heard(id),
            _ => Command::Close(id),
        };
        self.handle(RESPONDER, Input::Command(command));
    }

    /// One step; none if there are no more.
    fn step(&mut self, r: &mut Reader<'_>) -> Option<()> {
        match r.u8("step").ok()? % 5 {
            0 => {
                let len = r.u16("length").ok()?;
                self.inject(r.take(len.into(), "bytes").ok()?.to_vec());
            }
            1 => {
                let (place, value) = (usize::from(r.u16("place").ok()?), r.u8("value").ok()?);
                let mut bytes = self.last.clone()?.bytes;
                let len = bytes.len();
                bytes[place % len] = value;
                self.inject(bytes);
            }
            2 => self.deliver(),
            3 => {
                self.tick();
            }
            _ => self.command(r.u8("command").ok()?),
        }
        Some(())
    }

    fn end(&mut self) {
        for id in std::mem::take(&mut self.up) {
            self.up.insert(id);
            self.handle(RESPONDER, Input::Command(Command::Close(id)));
        }
        let ticks = (0..TICKS_MAX).take_while(|_| self.tick()).count();
        assert!(ticks < TICKS_MAX, "a timer that has no end");
        let engine = &self.responder;
        assert_eq!((engine.association_count(), engine.unproved_count(), engine.spi_count()), (0, 0, 0));
    }
}

/// Runs an input of a responder of any exchange; says how many associations were up before its owner closed them.
pub(crate) fn run(bytes: &[u8]) -> usize {
    run_one_of([Exchange::Base, Exchange::Draft24, Exchange::Prototype], bytes)
}

/// The same of the diet exchange, with AKA and without.
pub(crate) fn run_diet(bytes: &[u8]) -> usize {
    run_one_of([Exchange::Draft24, Exchange::Prototype, Exchange::Aka], bytes)
}

fn run_one_of(exchanges: [Exchange; 3], bytes: &[u8]) -> usize {
    let mut r = Reader::new(bytes);
    let (Ok(exchange), Ok(packets)) = (r.u8("exchange"), r.u8("packets")) else { return 0 };
    let mut world = World::new(exchanges[usize::from(exchange) % 3], Subscription(packets >> 3));
    for _ in 0..packets % 8 {
        world.deliver();
    }
    while world.step(&mut r).is_some() {}
    let up = world.up.len();
    world.end();
    up
}
