//! The world: nodes, links, and the event loop.
//!
//! An input that reaches a node waits until one of its cores is free. Then the host handles it, and the meter decides how long
//! that takes. The core is busy until then, and only then the host's datagrams, events and facts come out (the fact `Triggered`
//! with the arrival time of its input, because waiting starts there). Even with several cores, hosts process inputs one after
//! the other in the order of their start; only their times overlap.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keytoll_crypto_api::{Crypto, Seed};
use keytoll_engine::trace::{Fact, Fate, Link, Node, Protocol, Record};
use keytoll_engine::{Datagram, Engine, Output, Time};
use keytoll_net::{Host, OnWire};

use crate::air::{self, Channels};
use crate::links::{Carriage, Channel, WRONG_CHECKSUM, carried};
use crate::net::{End, Net, Parcel};
use crate::node::{Arrived, NodeState, Pending, Work};
use crate::queue::{Queue, What};
use crate::routes::Way;
use crate::slab::Slab;
use crate::{Free, LinkConfig, Meter, NodeConfig, NodeIndex, Passing, ProviderIndex, QueueUse, Recorder};

/// Why an input is discarded whose node has no room for it to wait.
pub const NODE_QUEUE_FULL: &str = "node queue full";

/// The capacity of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Datagrams on all links together; further ones are dropped with `Fate::QueueFull`.
    pub datagrams_in_flight_max: usize,
    /// Nodes that are not asked to rest ([`Engine::rest`]) when others have something to do: those that were idle for longest are. With
    /// none each is asked after all it does, when its memory is still in the caches.
    pub nodes_awake_max: usize,
    /// Links that do not rest when others need room: those used last.
    pub links_awake_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { datagrams_in_flight_max: 1 << 20, nodes_awake_max: 256, links_awake_max: 256 }
    }
}

/// The invariant behind every use of a node.
const GONE: &str = "a node is used until it is removed";

/// A host that needs another tick right after one gets it this much later: timers that are due at the same time fire one after
/// the other, and a host whose deadline never changes cannot stop the clock.
const TICK_AGAIN: Duration = Duration::from_micros(1);

/// A simulated network of hosts `H` with crypto providers `C`; a meter `M` charges for their computation.
pub struct World<H: Engine, C, M = Free> {
    now: Time,
    sample: u32,
    seed: Seed,
    limits: Limits,
    meter: M,
    providers: Vec<C>,
    nodes: Vec<Slot<H>>,
    /// Places of nodes that were removed and that no event names any more.
    vacant: Vec<NodeIndex>,
    /// Nodes that have computed since they rested, the first in front.
    awake: VecDeque<NodeIndex>,
    /// How many nodes have each name.
    names: BTreeMap<Node, u32>,
    net: Net,
    channels: Channels,
    queue: Queue,
    parcels: Slab<Parcel>,
    commands: Slab<(NodeIndex, H::Command)>,
    jobs: Slab<Job<H::Event>>,
    /// Emptied [`Work`]s for reuse, so that events do not allocate.
    spare: Vec<Work<H::Event>>,
    events: VecDeque<(Time, NodeIndex, H::Event)>,
}

/// The place of a node, which is taken by another one when it is removed and no event names it any more.
struct Slot<H: Engine> {
    node: Option<NodeState<H>>,
    /// How many scheduled events name it.
    named: u32,
}

/// A computation whose results are known but not out yet.
struct Job<E> {
    node: NodeIndex,
    arrived: Time,
    busy: Duration,
    /// How much of that comes after the outputs.
    after: Duration,
    sample: u32,
    work: Work<E>,
}

impl<H: Engine, C: Crypto, M: Meter<C>> World<H, C, M> {
    /// A world without nodes at time zero. The seed determines all random draws of the links.
    pub fn new(seed: impl Into<Seed>, meter: M) -> Self {
        Self {
            now: Time::ZERO,
            sample: 0,
            seed: seed.into(),
            limits: Limits::default(),
            meter,
            providers: Vec::new(),
            nodes: Vec::new(),
            vacant: Vec::new(),
            awake: VecDeque::new(),
            names: BTreeMap::new(),
            net: Net::new(Limits::default().links_awake_max),
            channels: Channels::default(),
            queue: Queue::default(),
            parcels: Slab::default(),
            commands: Slab::default(),
            jobs: Slab::default(),
            spare: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Changes the capacity.
    pub fn set_limits(&mut self, limits: Limits) {
        self.net.set_awake_max(limits.links_awake_max);
        self.limits = limits;
    }

    /// Adds a host with a crypto provider of its own. It has no address yet.
    pub fn add_node(&mut self, config: NodeConfig, host: H, crypto: C) -> NodeIndex {
        let provider = self.add_provider(crypto);
        self.add_node_with(config, host, provider)
    }

    /// Adds a crypto provider for several nodes.
    pub fn add_provider(&mut self, crypto: C) -> ProviderIndex {
        self.providers.push(crypto);
        ProviderIndex(self.providers.len() - 1)
    }

    /// Adds a host that uses this crypto provider. It has no address yet.
    pub fn add_node_with(&mut self, config: NodeConfig, host: H, crypto: ProviderIndex) -> NodeIndex {
        let namesakes = self.names.entry(config.name).or_default();
        let node = NodeState::new(config, *namesakes, host, crypto);
        *namesakes += 1;
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.nodes.push(Slot { node: None, named: 0 });
            NodeIndex::new(self.nodes.len() - 1)
        });
        self.nodes[index.place()].node = Some(node);
        self.arm(index, self.now);
        index
    }

    /// Removes a node with the links to these neighbours and these addresses, and returns its host. What is on its way to it is lost;
    /// what it was computing never comes out, nor do events of it that nobody has taken.
    pub fn remove_node(&mut self, index: NodeIndex, neighbours: &[NodeIndex], addresses: &[Host]) -> H {
        neighbours.iter().for_each(|neighbour| self.net.part(index, *neighbour));
        addresses.iter().for_each(|address| self.net.unassign(*address, index));
        self.queue.disarm(index);
        self.events.retain(|(_, node, _)| *node != index);
        let node = self.nodes[index.place()].node.take().expect(GONE);
        self.release_place(index);
        node.host
    }

    /// Lets a removed node's place be taken again once no event names it.
    fn release_place(&mut self, index: NodeIndex) {
        let slot = &self.nodes[index.place()];
        if slot.node.is_none() && slot.named == 0 {
            self.vacant.push(index);
        }
    }

    /// Schedules an event that names a node.
    fn schedule(&mut self, at: Time, node: NodeIndex, what: What) {
        self.nodes[node.place()].named += 1;
        self.queue.push(at, what);
    }

    /// An event that names a node has come; whether the node is still there.
    fn came(&mut self, node: NodeIndex) -> bool {
        self.nodes[node.place()].named -= 1;
        self.release_place(node);
        self.nodes[node.place()].node.is_some()
    }

    fn node(&self, index: NodeIndex) -> &NodeState<H> {
        self.nodes[index.place()].node.as_ref().expect(GONE)
    }

    fn node_mut(&mut self, index: NodeIndex) -> &mut NodeState<H> {
        self.nodes[index.place()].node.as_mut().expect(GONE)
    }

    /// How long the queue of a node was since this was asked last.
    pub fn take_queue_use(&mut self, node: NodeIndex) -> QueueUse {
        let now = self.now;
        self.node_mut(node).take_queue_use(now)
    }

    /// Assigns an address to a node. A node may have many; an address belongs to the node it was assigned to last.
    pub fn add_address(&mut self, node: NodeIndex, host: impl Into<Host>) {
        self.net.assign(host.into(), node);
    }

    /// Lets a node have an address that others have, too: a datagram to it goes to the one that its sender has a link to.
    pub fn share_address(&mut self, node: NodeIndex, host: impl Into<Host>) {
        self.net.assign_too(host.into(), node);
    }

    /// Connects two nodes by a link, which replaces an existing one.
    pub fn add_link(&mut self, a: NodeIndex, b: NodeIndex, config: &LinkConfig) {
        let (a, b) = (self.end(a), self.end(b));
        self.net.join(a, b, config);
    }

    /// Connects a node to another by the link that these two have, which they share from now on. Does nothing if there is no such
    /// link.
    pub fn share_link(&mut self, node: NodeIndex, to: NodeIndex, with: [NodeIndex; 2]) {
        self.net.share(node, to, with);
    }

    /// Removes the link between two nodes; what is on its way arrives.
    pub fn remove_link(&mut self, a: NodeIndex, b: NodeIndex) {
        self.net.part(a, b);
    }

    /// Now.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Records belong to this sample from now on.
    pub fn set_sample(&mut self, sample: u32) {
        self.sample = sample;
    }

    /// The host at a node.
    pub fn host(&self, node: NodeIndex) -> &H {
        &self.node(node).host
    }

    /// Lends the host of a node, to inspect, change or replace it.
    pub fn with_host<R>(&mut self, node: NodeIndex, change: impl FnOnce(&mut H) -> R) -> R {
        let result = change(&mut self.node_mut(node).host);
        self.arm(node, self.now);
        result
    }

    /// The crypto provider of a node.
    pub fn crypto(&self, node: NodeIndex) -> &C {
        &self.providers[self.node(node).crypto.0]
    }

    /// A crypto provider.
    pub fn provider(&self, provider: ProviderIndex) -> &C {
        &self.providers[provider.0]
    }

    /// The crypto provider of a node, to read its meters or prepare keys.
    pub fn crypto_mut(&mut self, node: NodeIndex) -> &mut C {
        let provider = self.node(node).crypto;
        &mut self.providers[provider.0]
    }

    /// The meter.
    pub fn meter_mut(&mut self) -> &mut M {
        &mut self.meter
    }

    /// Gives a host a command now; it is handled when the world runs.
    pub fn command(&mut self, node: NodeIndex, command: H::Command) {
        self.command_at(self.now, node, command);
    }

    /// Gives a host a command at a given time, or now if that is past.
    pub fn command_at(&mut self, at: Time, node: NodeIndex, command: H::Command) {
        let place = self.commands.insert((node, command));
        self.schedule(at.max(self.now), node, What::Command(place));
    }

    /// The time of the next event, or of what the world does by itself before it, which has none; `None` if nothing will happen
    /// without a command.
    pub fn next_at(&self) -> Option<Time> {
        if self.events.is_empty() { self.queue.next_at() } else { Some(self.now) }
    }

    /// Whether no packet is in flight and no node computes: without a command, the next thing to happen is a timer.
    pub fn is_quiet(&self) -> bool {
        self.parcels.len() == 0 && self.jobs.len() == 0
    }

    /// Runs until a host has an event, and returns it with its time and node; `None` once nothing more happens up to and
    /// including `until`. Then the time is `until`, unless that is [`Time::MAX`].
    pub fn run_until(
        &mut self,
        until: Time,
        recorder: &mut dyn Recorder,
    ) -> Option<(Time, NodeIndex, H::Event)> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let Some((at, what)) = self.queue.pop(until) else { break };
            self.now = at;
            self.happen(what, recorder);
        }
        if until < Time::MAX {
            self.now = self.now.max(until);
        }
        None
    }

    fn happen(&mut self, what: What, recorder: &mut dyn Recorder) {
        match what {
            What::Arrive(place) => {
                let Parcel { node, datagram, is_damaged } = self.parcels.take(place);
                if !self.came(node) {
                    return;
                }
                if is_damaged {
                    let fact = Fact::Discarded { protocol: datagram.protocol, why: WRONG_CHECKSUM.into() };
                    return self.note(node, self.sample, fact, recorder);
                }
                self.admit(node, Pending::Packet(datagram), recorder);
            }
            What::Command(place) => {
                let (node, command) = self.commands.take(place);
                if !self.came(node) {
                    return;
                }
                self.admit(node, Pending::Command(command), recorder);
            }
            What::Tick(node) => self.tick(node, recorder),
            What::Done(place) => {
                let job = self.jobs.take(place);
                if self.came(job.node) {
                    self.finish(job, recorder);
                }
            }
            What::Free(node) => {
                if self.came(node) {
                    self.go_on(node, recorder);
                }
            }
        }
    }

    fn tick(&mut self, node: NodeIndex, recorder: &mut dyn Recorder) {
        if self.node(node).is_due(self.now) {
            self.admit(node, Pending::Tick, recorder);
        } else {
            self.arm(node, self.now);
        }
    }

    /// Admits an input to a node: to a core if one is free, else into the queue if there is room.
    fn admit(&mut self, index: NodeIndex, input: Pending<H::Command>, recorder: &mut dyn Recorder) {
        let arrived = Arrived { at: self.now, input };
        let node = self.node_mut(index);
        if node.is_free() {
            self.compute(index, arrived, recorder);
        } else if let Err(protocol) = node.enqueue(arrived) {
            let fact = Fact::Discarded { protocol, why: NODE_QUEUE_FULL.into() };
            self.note(index, self.sample, fact, recorder);
        }
    }

    /// Lets a host handle an input; the results come out when the computation ends.
    fn compute(&mut self, index: NodeIndex, arrived: Arrived<H::Command>, recorder: &mut dyn Recorder) {
        let mut work = self.spare.pop().unwrap_or_default();
        let again = if matches!(arrived.input, Pending::Tick) { self.now + TICK_AGAIN } else { self.now };
        work.notes.wants_keys = recorder.captures(self.sample);
        let node = self.nodes[index.place()].node.as_mut().expect(GONE);
        let crypto = &mut self.providers[node.crypto.0];
        let before = node.before(arrived.at, self.now);
        let waking = self.meter.begin(index, crypto, arrived.input.stimulus(), before);
        node.handle(arrived.input, self.now, crypto, &mut work);
        let busy = self.meter.end(index, crypto, &work.notes.facts);
        let after = self.meter.after_outputs().min(busy);
        let idle = waking + self.meter.waits();
        let done = self.now + idle + busy;
        node.computes(busy, done);
        let was_awake = std::mem::replace(&mut node.is_awake, true);
        node.arm(&mut self.queue, index, again);
        if !was_awake {
            self.stays_awake(index);
        }
        let job = Job { node: index, arrived: arrived.at, busy, after, sample: self.sample, work };
        if done == self.now {
            self.release(job, recorder);
        } else {
            self.node_mut(index).occupy();
            let place = self.jobs.insert(job);
            self.schedule(self.now + idle + (busy - after), index, What::Done(place));
        }
    }

    /// A node is awake from now on: in its place the one that has been awake for longest rests, if there are too many.
    #[inline(never)]
    fn stays_awake(&mut self, index: NodeIndex) {
        self.awake.push_back(index);
        if self.awake.len() > self.limits.nodes_awake_max
            && let Some(first) = self.awake.pop_front()
            && let Some(node) = &mut self.nodes[first.place()].node
        {
            node.rest();
        }
    }

    /// Ends a computation: its results come out, and its core takes the next input, at once or after a while.
    fn finish(&mut self, job: Job<H::Event>, recorder: &mut dyn Recorder) {
        let Job { node, after, .. } = job;
        self.release(job, recorder);
        if after.is_zero() {
            self.go_on(node, recorder);
        } else {
            self.schedule(self.now + after, node, What::Free(node));
        }
    }

    /// A core of a node is free, and takes the next input.
    fn go_on(&mut self, index: NodeIndex, recorder: &mut dyn Recorder) {
        self.node_mut(index).vacate();
        let now = self.now;
        while self.node(index).is_free() {
            let Some(arrived) = self.node_mut(index).dequeue(now) else { break };
            if matches!(arrived.input, Pending::Tick) && !self.node(index).is_due(now) {
                self.arm(index, self.now);
            } else {
                self.compute(index, arrived, recorder);
            }
        }
    }

    /// Releases the results of an input.
    fn release(&mut self, job: Job<H::Event>, recorder: &mut dyn Recorder) {
        let Job { node, arrived, busy, sample, mut work, .. } = job;
        if !busy.is_zero() {
            let busy_ns = u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX);
            self.note(node, sample, Fact::Computed { busy_ns }, recorder);
        }
        work.notes.revealed.drain(..).for_each(|revealed| recorder.reveal(revealed));
        for fact in work.notes.facts.drain(..) {
            let at = if fact == Fact::Triggered { arrived } else { self.now };
            self.note_at(at, node, sample, fact, recorder);
        }
        for output in work.outputs.drain(..) {
            match output {
                Output::Datagram(datagram) => self.send(node, sample, datagram, recorder),
                Output::Event(event) => self.events.push_back((self.now, node, event)),
                Output::Inner(_) => self.no_interface(node, sample, recorder),
                // Streams are not modelled: messages arrive whether they are closed or not.
                Output::Close { .. } => {}
            }
        }
        self.spare.push(work);
    }

    /// Records that a packet for the machine itself was discarded: simulated nodes have no interface.
    fn no_interface(&self, node: NodeIndex, sample: u32, recorder: &mut dyn Recorder) {
        let fact = Fact::Discarded { protocol: Protocol::IP, why: "no interface".into() };
        self.note(node, sample, fact, recorder);
    }

    /// Passes a datagram to the link that leads to its receiver, or to all stations in reach.
    fn send(&mut self, from: NodeIndex, sample: u32, datagram: Datagram, recorder: &mut dyn Recorder) {
        if air::is_group(datagram.to) {
            return self.send_to_group(from, sample, &datagram, recorder);
        }
        match self.net.route(from, datagram.to.host()) {
            Some(way) => self.send_on(way, from, sample, datagram, recorder),
            None => self.no_route(from, sample, datagram.protocol, recorder),
        }
    }

    fn no_route(&self, from: NodeIndex, sample: u32, protocol: Protocol, recorder: &mut dyn Recorder) {
        self.note(from, sample, Fact::Discarded { protocol, why: "no route to host".into() }, recorder);
    }

    #[inline]
    fn send_on(
        &mut self,
        way: Way,
        from: NodeIndex,
        sample: u32,
        mut datagram: Datagram,
        recorder: &mut dyn Recorder,
    ) {
        let protocol = datagram.protocol;
        let from_name = self.node(from).config.name;
        let channel = self.net.channel(way, self.now, &self.seed);
        let Some(handed) = Handed::new(self.now, (from_name, sample), channel, &datagram, recorder) else {
            let fact = Fact::Discarded { protocol, why: "message too long".into() };
            return self.note(from, sample, fact, recorder);
        };
        if self.parcels.len() >= self.limits.datagrams_in_flight_max {
            return handed.record(Duration::ZERO, Fate::QueueFull, recorder);
        }
        let leaves = self.channels.leaves(channel, self.now, (&datagram, handed.on_wire), &self.seed);
        let Some(leaves) = leaves else { return handed.record(Duration::ZERO, Fate::QueueFull, recorder) };
        let carriage = channel.carry(leaves, handed.on_wire, &mut datagram.bytes);
        let transit = carriage.arrives.since(self.now);
        handed.record(transit, carriage.fate, recorder);
        if carriage.copy.is_some() {
            handed.record(transit, Fate::Duplicate, recorder);
        }
        self.deliver(way.node, carriage, datagram);
    }

    /// A frame to a group is on the air once, and one fact tells of it: delivered if anybody receives it.
    #[inline(never)]
    fn send_to_group(
        &mut self,
        from: NodeIndex,
        sample: u32,
        datagram: &Datagram,
        recorder: &mut dyn Recorder,
    ) {
        let ways = self.net.in_reach(from).to_vec();
        let Some(&first) = ways.first() else {
            return self.no_route(from, sample, datagram.protocol, recorder);
        };
        let from_name = self.node(from).config.name;
        let channel = self.net.channel(first, self.now, &self.seed);
        let Some(handed) = Handed::new(self.now, (from_name, sample), channel, datagram, recorder) else {
            let fact = Fact::Discarded { protocol: datagram.protocol, why: "message too long".into() };
            return self.note(from, sample, fact, recorder);
        };
        if self.parcels.len() >= self.limits.datagrams_in_flight_max {
            return handed.record(Duration::ZERO, Fate::QueueFull, recorder);
        }
        let leaves = self.channels.leaves(channel, self.now, (datagram, handed.on_wire), &self.seed);
        let Some(leaves) = leaves else { return handed.record(Duration::ZERO, Fate::QueueFull, recorder) };
        let mut told = None;
        for way in ways {
            let mut frame = datagram.clone();
            let channel = self.net.channel(way, self.now, &self.seed);
            let carriage = channel.carry(leaves, handed.on_wire, &mut frame.bytes);
            let fate = (carriage.arrives.since(self.now), carriage.fate);
            told = match told {
                Some((has_arrived, fate)) if has_arrived || !carriage.arrives() => Some((has_arrived, fate)),
                _ => Some((carriage.arrives(), fate)),
            };
            self.deliver(way.node, carriage, frame);
        }
        if let Some((_, (transit, fate))) = told {
            handed.record(transit, fate, recorder);
        }
    }

    /// Lets a datagram that a channel has carried arrive, if it does, and its copy.
    #[inline]
    fn deliver(&mut self, node: NodeIndex, carriage: Carriage, datagram: Datagram) {
        let (arrives, does_arrive) = (carriage.arrives, carriage.arrives());
        let is_damaged = carriage.is_dropped_by_receiver(datagram.to);
        let copy = carriage.copy.map(|bytes| Datagram { bytes, ..datagram });
        if does_arrive {
            self.dispatch(arrives, Parcel { node, datagram, is_damaged });
        }
        if let Some(copy) = copy {
            self.dispatch(arrives, Parcel { node, datagram: copy, is_damaged: false });
        }
    }

    fn dispatch(&mut self, arrives: Time, parcel: Parcel) {
        let node = parcel.node;
        let place = self.parcels.insert(parcel);
        self.schedule(arrives, node, What::Arrive(place));
    }

    /// Schedules the next tick of a node, at `earliest` or later.
    fn arm(&mut self, index: NodeIndex, earliest: Time) {
        let node = self.nodes[index.place()].node.as_ref().expect(GONE);
        node.arm(&mut self.queue, index, earliest);
    }

    fn note(&self, node: NodeIndex, sample: u32, fact: Fact, recorder: &mut dyn Recorder) {
        self.note_at(self.now, node, sample, fact, recorder);
    }

    fn note_at(&self, at: Time, node: NodeIndex, sample: u32, fact: Fact, recorder: &mut dyn Recorder) {
        let name = self.node(node).config.name;
        recorder.record_of(node, Record { at_ns: at.as_nanos(), node: name, sample, fact });
    }

    fn end(&self, index: NodeIndex) -> End {
        let node = self.node(index);
        End { index, name: node.config.name, ordinal: node.ordinal }
    }
}

/// A datagram handed to a link.
struct Handed {
    at: Time,
    from: Node,
    sample: u32,
    link: Link,
    mtu_bytes: u16,
    protocol: Protocol,
    on_wire: OnWire,
    /// The original datagram, if the recorder captures.
    datagram: Option<Datagram>,
}

impl Handed {
    /// What is recorded of a datagram on a channel; `None` if it is too long for it.
    #[inline]
    fn new(
        at: Time,
        (from, sample): (Node, u32),
        channel: &Channel,
        datagram: &Datagram,
        recorder: &dyn Recorder,
    ) -> Option<Self> {
        Some(Self {
            at,
            from,
            sample,
            link: channel.link,
            mtu_bytes: channel.mtu_bytes,
            protocol: datagram.protocol,
            on_wire: channel.on_wire(datagram)?,
            datagram: recorder.captures(sample).then(|| datagram.clone()),
        })
    }

    /// Records the fate of the datagram, or of a copy.
    fn record(&self, transit: Duration, fate: Fate, recorder: &mut dyn Recorder) {
        let &Self { at, from, sample, link, mtu_bytes, protocol, on_wire, .. } = self;
        let fact = carried(link, protocol, on_wire, transit, fate);
        recorder.record(Record { at_ns: at.as_nanos(), node: from, sample, fact });
        if let Some(datagram) = &self.datagram {
            recorder.pass(&Passing { at, from, sample, link, mtu_bytes, datagram, transit, fate });
        }
    }
}
