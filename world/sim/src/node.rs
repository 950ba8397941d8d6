//! A node: a host, its crypto provider, and the cores that its inputs wait for.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::{Fact, Node, Protocol, Revealed, Trace};
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};

use crate::queue::Queue;
use crate::{Before, Stimulus};

/// Index of a node in its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(u32);

impl NodeIndex {
    pub(crate) fn new(place: usize) -> Self {
        Self(u32::try_from(place).expect("a world has fewer than 2³² nodes"))
    }

    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }

    /// Nodes are numbered from 0 in the order in which they were added.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Index of a crypto provider in its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderIndex(pub(crate) usize);

/// The configuration of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name in the records; several nodes may share one.
    pub name: Node,
    /// The number of inputs it can process at once; at least one.
    pub cores: u32,
    /// The number of datagrams that may wait for a core; further ones are discarded.
    pub queue_datagrams_max: usize,
}

impl NodeConfig {
    /// One core and a queue of 4096 datagrams.
    pub const fn new(name: Node) -> Self {
        Self { name, cores: 1, queue_datagrams_max: 4096 }
    }
}

/// An input for a host.
#[derive(Debug)]
pub(crate) enum Pending<C> {
    /// A datagram.
    Packet(Datagram),
    /// A command of the caller.
    Command(C),
    /// A deadline that has passed.
    Tick,
}

impl<C> Pending<C> {
    /// The input's kind for the meter.
    pub(crate) fn stimulus(&self) -> Stimulus<'_> {
        match self {
            Self::Packet(datagram) => Stimulus::Packet(datagram),
            Self::Command(_) => Stimulus::Command,
            Self::Tick => Stimulus::Tick,
        }
    }
}

/// An input and when it reached the node.
#[derive(Debug)]
pub(crate) struct Arrived<C> {
    /// When.
    pub(crate) at: Time,
    /// The input.
    pub(crate) input: Pending<C>,
}

/// What a host records during one input.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The recorded facts.
    pub(crate) facts: Vec<Fact>,
    /// Whether its keys are wanted.
    pub(crate) wants_keys: bool,
    /// The revealed keys.
    pub(crate) revealed: Vec<Revealed>,
}

impl Trace for Notes {
    fn record(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    fn wants_keys(&self) -> bool {
        self.wants_keys
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.revealed.push(revealed);
    }
}

/// The results of one input.
#[derive(Debug)]
pub(crate) struct Work<E> {
    /// The host's records.
    pub(crate) notes: Notes,
    /// The host's outputs.
    pub(crate) outputs: Vec<Output<E>>,
}

/// More facts and outputs of one input are rare.
const FACTS: usize = 8;
const OUTPUTS: usize = 4;

impl<E> Default for Work<E> {
    /// With room from the start: what grows while a host handles an input counts as its memory.
    fn default() -> Self {
        let notes = Notes { facts: Vec::with_capacity(FACTS), ..Notes::default() };
        Self { notes, outputs: Vec::with_capacity(OUTPUTS) }
    }
}

/// How long the queue of a node was since this was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueueUse {
    /// Its mean length over time.
    pub mean: f64,
    /// Its greatest.
    pub max: usize,
}

/// The length of a queue over time.
#[derive(Debug, Default)]
struct QueueGauge {
    /// Inputs × nanoseconds.
    area: u128,
    begun: Time,
    since: Time,
    max: usize,
}

impl QueueGauge {
    /// The queue was so long until now, and is about to change.
    fn look(&mut self, length: usize, now: Time) {
        self.area += now.since(self.since).as_nanos() * length as u128;
        (self.since, self.max) = (now, self.max.max(length));
    }

    fn take(&mut self, length: usize, now: Time) -> QueueUse {
        self.look(length, now);
        let span_ns = now.since(self.begun).as_nanos().max(1);
        let taken = QueueUse { mean: self.area as f64 / span_ns as f64, max: self.max };
        *self = Self { area: 0, begun: now, since: now, max: length };
        taken
    }
}

/// How busy the cores of a node have been lately: what they did counts the less the longer ago it was, and nothing after a while.
#[derive(Debug, Clone, Copy, Default)]
struct Lately {
    /// Of the time of all cores.
    busy: f32,
    at: Time,
}

/// How long what a node did counts at most, in seconds.
const LATELY_S: f64 = 0.1;

impl Lately {
    /// The share until now.
    #[inline]
    fn until(&mut self, now: Time) -> f64 {
        if self.busy > 0.0 {
            return self.less_by(now);
        }
        self.at = now;
        0.0
    }

    fn less_by(&mut self, now: Time) -> f64 {
        let past = now.since(self.at).as_secs_f64() / LATELY_S;
        self.at = now;
        self.busy *= (1.0 - past).max(0.0) as f32;
        f64::from(self.busy).min(1.0)
    }

    /// One of so many cores computes for so long from now on.
    #[inline]
    fn computes(&mut self, busy: Duration, cores: u32) {
        if busy.is_zero() {
            return;
        }
        self.busy += (busy.as_secs_f64() / LATELY_S / f64::from(cores)) as f32;
    }
}

/// A node of the world.
pub(crate) struct NodeState<H: Engine> {
    pub(crate) config: NodeConfig,
    /// Index among the nodes of its name, from 0.
    pub(crate) ordinal: u32,
    pub(crate) host: H,
    /// The place of its crypto provider, which others may use, too.
    pub(crate) crypto: ProviderIndex,
    /// How many cores are busy.
    computing: u32,
    busy_until: Time,
    lately: Lately,
    /// Whether its host has computed since it rested.
    pub(crate) is_awake: bool,
    /// When its queue was asked for last.
    asked: Time,
    /// Made when something has to wait for the first time.
    queue: Option<Box<Waiting<H::Command>>>,
}

/// The inputs that wait for a core.
struct Waiting<C> {
    inputs: VecDeque<Arrived<C>>,
    datagrams: usize,
    has_tick: bool,
    gauge: QueueGauge,
}

impl<C> Waiting<C> {
    fn since(begun: Time) -> Self {
        let gauge = QueueGauge { begun, since: begun, ..QueueGauge::default() };
        Self { inputs: VecDeque::new(), datagrams: 0, has_tick: false, gauge }
    }
}

impl<H: Engine> NodeState<H> {
    pub(crate) fn new(config: NodeConfig, ordinal: u32, host: H, crypto: ProviderIndex) -> Self {
        let (computing, is_awake, queue) = (0, false, None);
        let (busy_until, asked, lately) = (Time::ZERO, Time::ZERO, Lately::default());
        Self { config, ordinal, host, crypto, computing, busy_until, lately, is_awake, asked, queue }
    }

    /// Its host is not expected to compute soon.
    pub(crate) fn rest(&mut self) {
        self.is_awake = false;
        self.host.rest();
        if let Some(queue) = self.queue.as_mut().filter(|queue| queue.inputs.is_empty()) {
            queue.inputs = VecDeque::new();
        }
    }

    /// Whether a core is free now.
    pub(crate) fn is_free(&self) -> bool {
        self.computing < self.cores()
    }

    fn cores(&self) -> u32 {
        self.config.cores.max(1)
    }

    /// What it did before an input that reached it then, and that it takes now.
    pub(crate) fn before(&mut self, arrived: Time, now: Time) -> Before {
        let idle = (arrived == now).then(|| now.since(self.busy_until));
        Before { idle, utilisation: self.lately.until(now) }
    }

    /// One of its cores, which may have to wake up first, computes for so long, and until then.
    pub(crate) fn computes(&mut self, busy: Duration, end: Time) {
        self.lately.computes(busy, self.cores());
        self.busy_until = self.busy_until.max(end);
    }

    /// Occupies a core.
    pub(crate) fn occupy(&mut self) {
        self.computing += 1;
    }

    /// Frees a core.
    pub(crate) fn vacate(&mut self) {
        self.computing -= 1;
    }

    /// Whether the host's deadline has passed.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.host.deadline().is_some_and(|deadline| deadline.at <= now)
    }

    /// Schedules the host's next tick, at `earliest` or later; not while one already waits for a core.
    pub(crate) fn arm(&self, queue: &mut Queue, index: NodeIndex, earliest: Time) {
        if self.queue.as_ref().is_some_and(|queue| queue.has_tick) {
            return;
        }
        match self.host.deadline() {
            Some(deadline) => queue.arm(index, deadline.at.max(earliest)),
            None => queue.calm(index),
        }
    }

    /// Queues an input for a core. A datagram that finds the queue full is dropped; its protocol is returned.
    pub(crate) fn enqueue(&mut self, arrived: Arrived<H::Command>) -> Result<(), Protocol> {
        let queue = self.queue.get_or_insert_with(|| Box::new(Waiting::since(self.asked)));
        match &arrived.input {
            Pending::Packet(datagram) if queue.datagrams >= self.config.queue_datagrams_max => {
                return Err(datagram.protocol);
            }
            Pending::Packet(_) => queue.datagrams += 1,
            Pending::Tick => queue.has_tick = true,
            Pending::Command(_) => {}
        }
        queue.gauge.look(queue.inputs.len(), arrived.at);
        queue.inputs.push_back(arrived);
        Ok(())
    }

    /// How long the queue was since this was asked last.
    pub(crate) fn take_queue_use(&mut self, now: Time) -> QueueUse {
        self.asked = now;
        let queue = self.queue.as_mut();
        queue.map_or_else(QueueUse::default, |queue| queue.gauge.take(queue.inputs.len(), now))
    }

    /// The oldest waiting input.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<Arrived<H::Command>> {
        let queue = self.queue.as_mut()?;
        queue.gauge.look(queue.inputs.len(), now);
        let arrived = queue.inputs.pop_front()?;
        match arrived.input {
            Pending::Packet(_) => queue.datagrams -= 1,
            Pending::Tick => queue.has_tick = false,
            Pending::Command(_) => {}
        }
        Some(arrived)
    }

    /// Lets the host handle an input and collects the results.
    pub(crate) fn handle(
        &mut self,
        input: Pending<H::Command>,
        now: Time,
        crypto: &mut dyn Crypto,
        work: &mut Work<H::Event>,
    ) {
        let mut cx = Ctx { now, crypto, trace: &mut work.notes };
        match input {
            Pending::Packet(Datagram { from, to, bytes, .. }) => {
                self.host.handle(Input::Datagram { from, to, bytes: &bytes }, &mut cx);
            }
            Pending::Command(command) => self.host.handle(Input::Command(command), &mut cx),
            Pending::Tick => self.host.handle(Input::Tick, &mut cx),
        }
        work.outputs.extend(std::iter::from_fn(|| self.host.poll()));
    }
}
