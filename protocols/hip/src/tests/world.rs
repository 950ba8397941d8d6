//! Two endpoints and a network between them that loses, repeats and delays what it is told to.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_crypto::{Null, Real, keys};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_net::Addr;

use crate::config::{Config, Initiator, Puzzles, Retransmission};
use crate::encapsulation::hip_in_udp;
use crate::event::{Answer, AssociationId, ChildSa, Command, Event, Reason, Refused, Vector};
use crate::identity::{DietVariant, HostIdentity};
use crate::number::PacketType;
use crate::wire::aka::{Challenge, Response};
use crate::{Endpoint, Hit};

pub(super) const A: usize = 0;
pub(super) const B: usize = 1;

/// One host: its endpoint, and what it has said.
pub(super) struct Host {
    pub(super) engine: Endpoint,
    pub(super) hit: Hit,
    pub(super) events: Vec<Event>,
    pub(super) facts: Vec<Fact>,
}

/// What the network does with a packet: how many copies arrive, and after how long.
pub(super) type Fate = Box<dyn FnMut(&Datagram, &mut Rng) -> Vec<Duration>>;

/// What the card and the HSS do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    Good,
    /// The card wants another sequence number first.
    OutOfStep,
    /// And does so again.
    ForeverOutOfStep,
    /// The card does not believe the network.
    Distrusted,
    /// The card has another key.
    WrongRes,
    /// The card agrees on another key than the HSS.
    WrongKey,
    /// The HSS does not know the subscriber.
    Unknown,
    /// The HSS does not answer.
    Down,
}

pub(super) struct World {
    pub(super) hosts: Vec<Host>,
    pub(super) now: Time,
    pub(super) crypto: Box<dyn Crypto>,
    pub(super) fate: Fate,
    pub(super) subscription: Subscription,
    /// Everything that was sent, in order.
    pub(super) sent: Vec<Datagram>,
    queue: BTreeMap<(Time, u64), Datagram>,
    number: u64,
    rng: Rng,
    /// Where a host is reached beside its first address.
    pub(super) moved: BTreeMap<Addr, usize>,
}

pub(super) const DELAY: Duration = Duration::from_millis(10);

pub(super) fn address(host: usize) -> Addr {
    let last = u8::try_from(host + 1).expect("few hosts");
    Addr::Ip { ip: IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), protocol: 139 }
}

/// An identity that signs.
pub(super) fn signing(kind: KeyKind, name: &str) -> HostIdentity {
    let key = keys::generate(kind, &mut Rng::named(7, name));
    HostIdentity::signing(key, &mut Real::default()).expect("a kind that HIP has")
}

/// One that only pretends to sign.
pub(super) fn pretended(kind: KeyKind, name: &str) -> HostIdentity {
    let key = keys::generate_null(kind, &mut Rng::named(7, name));
    HostIdentity::signing(key, &mut Null).expect("a kind that HIP has")
}

/// An identity for the diet exchange.
pub(super) fn agreeing(group: Group, variant: DietVariant, name: &str) -> HostIdentity {
    let key = Real::default().generate(group, &mut Rng::named(7, name));
    HostIdentity::agreeing(key, variant).expect("a group that HIP has")
}

/// A configuration that is quick to compute and to give up.
pub(super) fn config(identity: HostIdentity) -> Config {
    Config {
        puzzle: Puzzles { difficulty_bits: 4, ..Puzzles::default() },
        retransmission: Retransmission { first: Duration::from_millis(500), tries: 4 },
        ..Config::new(vec![identity])
    }
}

pub(super) fn base_pair() -> [Config; 2] {
    ["a", "b"].map(|name| config(signing(KeyKind::EcdsaP256, name)))
}

pub(super) fn pretended_pair() -> [Config; 2] {
    ["a", "b"].map(|name| config(pretended(KeyKind::EcdsaP256, name)))
}

pub(super) fn diet_pair(variant: DietVariant) -> [Config; 2] {
    let group = if variant == DietVariant::Draft24 { Group::X25519 } else { Group::Ecp256 };
    ["a", "b"].map(|name| Config { variant, ..config(agreeing(group, variant, name)) })
}

impl World {
    pub(super) fn new(configs: impl IntoIterator<Item = Config>, seed: u64) -> Self {
        let hosts = configs.into_iter().enumerate().map(|(index, config)| {
            let hit = config.identities[0].hit();
            let engine = Endpoint::new(config, Rng::named(seed, &format!("{index}/hip")));
            Host { engine, hit, events: Vec::new(), facts: Vec::new() }
        });
        Self {
            hosts: hosts.collect(),
            now: Time::ZERO,
            crypto: Box::new(Real::default()),
            fate: Box::new(|_, _| vec![DELAY]),
            subscription: Subscription::Good,
            sent: Vec::new(),
            queue: BTreeMap::new(),
            number: 0,
            rng: Rng::named(seed, "network"),
            moved: BTreeMap::new(),
        }
    }

    /// The same without cryptography.
    pub(super) fn pretending(mut self) -> Self {
        self.crypto = Box::new(Null);
        self
    }

    pub(super) fn handle(&mut self, host: usize, input: Input<'_, Command>) {
        let it = &mut self.hosts[host];
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut it.facts };
        it.engine.handle(input, &mut cx);
        let mut commands = Vec::new();
        while let Some(output) = self.hosts[host].engine.poll() {
            match output {
                Output::Datagram(datagram) => self.carry(&datagram),
                Output::Event(event) => {
                    commands.extend(reply(self.subscription, &event));
                    self.hosts[host].events.push(event);
                }
                other => panic!("HIP has no {other:?}"),
            }
        }
        for command in commands {
            self.handle(host, Input::Command(command));
        }
    }

    fn carry(&mut self, datagram: &Datagram) {
        self.sent.push(datagram.clone());
        for delay in (self.fate)(datagram, &mut self.rng) {
            self.number += 1;
            self.queue.insert((self.now + delay, self.number), datagram.clone());
        }
    }

    /// Something that somebody sends.
    pub(super) fn inject(&mut self, datagram: &Datagram) {
        let to = self.host_at(datagram.to).expect("a host of ours");
        self.handle(to, Input::Datagram { from: datagram.from, to: datagram.to, bytes: &datagram.bytes });
    }

    fn host_at(&self, at: Addr) -> Option<usize> {
        let known = (0..self.hosts.len()).find(|host| address(*host) == at);
        known.or_else(|| self.moved.get(&at).copied())
    }

    pub(super) fn command(&mut self, host: usize, command: Command) {
        self.handle(host, Input::Command(command));
    }

    pub(super) fn initiate(&mut self, from: usize, to: usize) {
        let peer = Some(self.hosts[to].hit);
        self.command(
            from,
            Command::Initiate { identity: 0, peer, local: address(from), remote: address(to) },
        );
    }

    /// The same of a host that is none of the configuration.
    pub(super) fn initiate_as(&mut self, who: Initiator, from: usize, to: usize) {
        let peer = Some(self.hosts[to].hit);
        let it = &mut self.hosts[from];
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut it.facts };
        it.engine.initiate_as(who, peer, (address(from), address(to)), &mut cx);
        self.handle(from, Input::Tick);
    }

    /// Runs for so long, or until nothing happens any more.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let packet = self.queue.keys().next().map(|(at, _)| (*at, None));
            let timers = self
                .hosts
                .iter()
                .enumerate()
                .filter_map(|(host, it)| it.engine.deadline().map(|deadline| (deadline.at, Some(host))));
            let Some((at, timer)) = timers.chain(packet).min() else { break };
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            match timer {
                Some(host) => self.handle(host, Input::Tick),
                None => {
                    let (_, datagram) = self.queue.pop_first().expect("a packet is first");
                    if self.host_at(datagram.to).is_some() {
                        self.inject(&datagram);
                    }
                }
            }
        }
        self.now = self.now.max(end);
    }

    pub(super) fn run_a_while(&mut self) {
        self.run(Duration::from_millis(400));
    }

    /// The names of packets, with who sent them.
    pub(super) fn ladder(&self) -> String {
        let mut lines = Vec::new();
        for datagram in &self.sent {
            let from = if self.host_at(datagram.from) == Some(A) { "a" } else { "b" };
            lines.push(format!(
                "{from} {}",
                PacketType(hip_in_udp(&datagram.bytes).unwrap_or(&datagram.bytes)[2]).name().unwrap_or(&"?")
            ));
        }
        lines.join(", ")
    }

    pub(super) fn discards(&self, host: usize) -> Vec<&str> {
        let facts = self.hosts[host].facts.iter();
        facts
            .filter_map(|fact| match fact {
                Fact::Discarded { why, .. } => Some(&**why),
                _ => None,
            })
            .collect()
    }

    /// The pairs of SAs that stand at a host, by what the owner was told.
    pub(super) fn children(&self, host: usize) -> Vec<&ChildSa> {
        let mut children: Vec<&ChildSa> = Vec::new();
        for event in &self.hosts[host].events {
            match event {
                Event::ChildUp(_, child) => children.push(child),
                Event::ChildRekeyed { new, .. } => children.push(new),
                Event::ChildDown(_, spi) => children.retain(|child| child.pair.inbound_spi != *spi),
                _ => {}
            }
        }
        children
    }

    /// The last pair at a host.
    pub(super) fn child(&self, host: usize) -> &ChildSa {
        self.children(host).last().copied().expect("a child is up")
    }

    pub(super) fn failures(&self, host: usize) -> Vec<Reason> {
        let events = self.hosts[host].events.iter();
        events
            .filter_map(|event| match event {
                Event::Failed(_, reason) => Some(*reason),
                _ => None,
            })
            .collect()
    }

    pub(super) fn association(&self, host: usize) -> AssociationId {
        let mut events = self.hosts[host].events.iter().rev();
        let found = events.find_map(|event| match event {
            Event::Established(established) => Some(established.association),
            _ => None,
        });
        found.expect("an association is up")
    }

    /// Both hosts have the same keys, and SPIs that fit.
    pub(super) fn assert_agreement(&self, one: usize, other: usize) {
        let (ours, theirs) = (self.child(one), self.child(other));
        assert_eq!(
            (ours.pair.inbound_spi, ours.pair.outbound_spi),
            (theirs.pair.outbound_spi, theirs.pair.inbound_spi)
        );
        assert_eq!((&ours.pair.inbound, &ours.pair.outbound), (&theirs.pair.outbound, &theirs.pair.inbound));
        assert_eq!(
            (ours.local, ours.remote, ours.pair.suite),
            (theirs.remote, theirs.local, theirs.pair.suite)
        );
        assert_ne!(ours.pair.inbound, ours.pair.outbound);
    }

    pub(super) fn assert_nothing_is_kept(&self) {
        for host in &self.hosts {
            let engine = &host.engine;
            let kept = (engine.association_count(), engine.unproved_count(), engine.spi_count());
            assert_eq!(kept, (0, 0, 0));
            assert_eq!(engine.deadline(), None);
        }
    }
}

/// What the card and the HSS say.
fn reply(subscription: Subscription, event: &Event) -> Option<Command> {
    match event {
        Event::VectorWanted { association, resynchronise, .. } => {
            let vector = match subscription {
                Subscription::Down => return None,
                Subscription::Unknown => Err(Refused),
                _ => Ok(Box::new(vector(resynchronise.is_some()))),
            };
            Some(Command::Vector(*association, vector))
        }
        Event::Challenged(association, challenge) => {
            Some(Command::Answer(*association, Box::new(answer(subscription, *challenge))))
        }
        _ => None,
    }
}

fn vector(is_second: bool) -> Vector {
    let rand = [if is_second { 2 } else { 1 }; 16];
    let expected = Secret::from(&[rand[0]; 8][..]);
    Vector { challenge: Challenge { rand, autn: [9; 16] }, expected, key: Secret::from(&[5; 32][..]) }
}

fn answer(subscription: Subscription, challenge: Challenge) -> Answer {
    let first = challenge.rand[0];
    let res = Response::Res(vec![first; 8]);
    let key = Secret::from(&[5; 32][..]);
    let response = match subscription {
        Subscription::OutOfStep if first == 1 => Response::Auts([3; 14]),
        Subscription::ForeverOutOfStep => Response::Auts([3; 14]),
        Subscription::Distrusted => Response::Reject,
        Subscription::WrongRes => Response::Res(vec![0xee; 8]),
        Subscription::WrongKey => return Answer { response: res, key: Secret::from(&[6; 32][..]) },
        _ => res,
    };
    Answer { response, key }
}
