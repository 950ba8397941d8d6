//! A host that obeys orders, a world of two of them, and a meter that charges a fixed time.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::trace::{Fact, Fate, Node, Protocol, Record};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_net::Addr;
use keytoll_sim::{Before, Direction, Free, LinkConfig, Meter, NodeConfig, NodeIndex, Stimulus, World};

use crate::no_crypto::NoCrypto;

/// The protocol of the toys.
pub(crate) const TOY: Protocol = Protocol::new(&"toy");

/// An order to a toy host.
#[derive(Debug)]
pub(crate) enum Order {
    Send(Datagram),
    /// Have this deadline, or none.
    WakeAt(Option<Time>),
}

/// An event of a toy host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    Got(Vec<u8>),
    Ticked,
}

/// Obeys orders; echoes what it receives if configured so. Records `Triggered` for each command, `Usable` for each datagram.
#[derive(Debug, Default)]
pub(crate) struct Toy {
    pub(crate) echo: bool,
    /// Keeps its deadline when ticked, which hosts should not do.
    pub(crate) clings: bool,
    /// How often it was asked to rest.
    pub(crate) rested: usize,
    deadline: Option<Time>,
    out: VecDeque<Output<News>>,
}

impl Engine for Toy {
    type Command = Order;
    type Event = News;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(Order::Send(datagram)) => {
                cx.trace.record(Fact::Triggered);
                self.out.push_back(Output::Datagram(datagram));
            }
            Input::Command(Order::WakeAt(at)) => self.deadline = at,
            Input::Datagram { from, to, bytes } => {
                cx.trace.record(Fact::Usable);
                if self.echo {
                    self.out.push_back(Output::Datagram(udp(to, from, bytes.to_vec())));
                }
                self.out.push_back(Output::Event(News::Got(bytes.to_vec())));
            }
            Input::Tick => {
                self.deadline = self.deadline.filter(|_| self.clings);
                self.out.push_back(Output::Event(News::Ticked));
            }
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } | Input::Recover => {
                unreachable!("no simulator says so")
            }
        }
    }

    fn poll(&mut self) -> Option<Output<News>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.deadline.map(|at| Deadline { at, why: "told so" })
    }

    fn rest(&mut self) {
        self.rested += 1;
    }
}

/// Charges a node the same time for every input.
#[derive(Debug, Default)]
pub(crate) struct Fixed(pub(crate) Vec<Duration>);

impl<C> Meter<C> for Fixed {
    fn begin(&mut self, _: NodeIndex, _: &mut C, _: Stimulus<'_>, _: Before) -> Duration {
        Duration::ZERO
    }

    fn end(&mut self, node: NodeIndex, _crypto: &mut C, _noted: &[Fact]) -> Duration {
        self.0.get(node.number() as usize).copied().unwrap_or_default()
    }
}

/// Charges the gateway 10 ms for an input that finds it idle, 20 ms if it has been for a second, and 1 ms for one that has waited.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    pub(crate) idle: Option<Duration>,
    /// How long the gateway wakes up.
    pub(crate) waking: Duration,
    /// How much of its time it needs after its outputs.
    pub(crate) after: Duration,
    /// How busy the gateway had been before each input.
    pub(crate) utilisations: Vec<f64>,
}

impl<C> Meter<C> for Warm {
    fn begin(&mut self, node: NodeIndex, _: &mut C, _: Stimulus<'_>, before: Before) -> Duration {
        if node.number() > 0 {
            self.utilisations.push(before.utilisation);
        }
        self.idle = before.idle;
        if node.number() == 0 || before.idle.is_none() { Duration::ZERO } else { self.waking }
    }

    fn end(&mut self, node: NodeIndex, _crypto: &mut C, _noted: &[Fact]) -> Duration {
        match (node.number(), self.idle) {
            (0, _) => Duration::ZERO,
            (_, None) => millis(1),
            (_, Some(idle)) if idle < millis(1000) => millis(10),
            (_, Some(_)) => millis(20),
        }
    }

    fn after_outputs(&self) -> Duration {
        self.after
    }
}

pub(crate) fn udp(from: Addr, to: Addr, bytes: Vec<u8>) -> Datagram {
    Datagram { protocol: TOY, from, to, bytes }
}

pub(crate) fn addr(ip: &str) -> Addr {
    Addr::udp(ip.parse().unwrap(), 500)
}

pub(crate) fn ms(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

pub(crate) fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) const UE: [&str; 2] = ["10.0.0.1", "fd00::1"];
pub(crate) const GW: [&str; 2] = ["10.0.0.2", "fd00::2"];

/// A device and a gateway with an address of each IP version, connected by a link; the gateway's kind can be chosen.
pub(crate) struct Pair<M: Meter<NoCrypto> = Free> {
    pub(crate) world: World<Toy, NoCrypto, M>,
    pub(crate) ue: NodeIndex,
    pub(crate) gw: NodeIndex,
    pub(crate) records: Vec<Record>,
}

impl Pair {
    pub(crate) fn over(link: &LinkConfig, seed: u64) -> Self {
        Self::metered(link, seed, Free, NodeConfig::new(Node::Gw))
    }

    /// A pair that uses this link direction both ways.
    pub(crate) fn through(direction: Direction) -> Self {
        Self::over(&LinkConfig { a_to_b: direction, ..LinkConfig::default() }, 1)
    }
}

impl<M: Meter<NoCrypto>> Pair<M> {
    pub(crate) fn metered(link: &LinkConfig, seed: u64, meter: M, gateway: NodeConfig) -> Self {
        let mut world = World::new(seed, meter);
        let ue = world.add_node(NodeConfig::new(Node::Ue), Toy::default(), NoCrypto);
        let gw = world.add_node(gateway, Toy::default(), NoCrypto);
        let addresses = UE.map(|ip| (ue, ip)).into_iter().chain(GW.map(|ip| (gw, ip)));
        addresses.for_each(|(node, ip)| world.add_address(node, ip.parse::<IpAddr>().unwrap()));
        world.add_link(ue, gw, link);
        Self { world, ue, gw, records: Vec::new() }
    }

    /// Lets the device send a datagram to the gateway at a given time.
    pub(crate) fn send_at(&mut self, at: Time, bytes: Vec<u8>) {
        self.world.command_at(at, self.ue, Order::Send(udp(addr(UE[0]), addr(GW[0]), bytes)));
    }

    /// Runs until nothing is left to do; returns the events with time and node.
    pub(crate) fn run(&mut self) -> Vec<(Time, NodeIndex, News)> {
        let (world, records) = (&mut self.world, &mut self.records);
        std::iter::from_fn(|| world.run_until(Time::MAX, records)).collect()
    }

    /// Arrival times of datagrams at the gateway, in nanoseconds.
    pub(crate) fn arrivals_ns(&mut self) -> Vec<u64> {
        let gw = self.gw;
        self.run().into_iter().filter(|event| event.1 == gw).map(|event| event.0.as_nanos()).collect()
    }

    /// The fates of all datagrams, in the order in which they were sent.
    pub(crate) fn fates(&self) -> Vec<Fate> {
        let fate = |record: &Record| match record.fact {
            Fact::Carried { fate, .. } => Some(fate),
            _ => None,
        };
        self.records.iter().filter_map(fate).collect()
    }
}
