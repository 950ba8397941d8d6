//! One row: one method over one network, authentication after authentication.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_crypto::{Metered, Prices, Provider};
use keytoll_engine::Time;
use keytoll_hosts::{Event, Host, Order};
use keytoll_native::{clock, heap};
use keytoll_rig::{Goal, LinkSpec, NodeSpec, Placement, QUIET, Setup};
use keytoll_rigs::{self as rigs, Credentials};
use keytoll_scenario::plan::{CpuProfile, CryptoMode, Plan, RowPlan};
use keytoll_scenario::population::Population;
use keytoll_sim::{NodeConfig, NodeIndex, Recorder, World};
use keytoll_trace::{
    BlockCost, Cost, MoveCost, Node, OperationCost, Part, SampleCost, StackCost, StepCost, TrafficCost,
};

use crate::costs::{Costs, NodeCosts};
use crate::gauge::{Gauge, Ruler};
use crate::keeper::{Discard, Keeper};
use crate::node_heap::NodeHeap;
use crate::pace::Pace;
use crate::provider::metered;
use crate::traffic::{DRAIN_MAX, Sieve, Traffic};
use crate::turns::block_of;

/// Bytes after the echo header: `ping`'s default.
pub const ECHO_BYTES: usize = 56;
/// Unrecorded authentications before the first one, where computation is measured: caches, branch predictors and the crypto
/// library's own tables must be warm.
pub const WARM_UP: u32 = 3;
/// The limit of virtual time for an authentication; IKE times out much earlier.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Timeout of the echo reply once the SA is up; a lost echo request is not retransmitted.
pub const ECHO_PATIENCE: Duration = Duration::from_secs(5);

/// Ends a run early when set; measurements so far are kept.
pub type Stop = AtomicBool;

/// How a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowEnd {
    /// Recorded authentications.
    pub samples: u32,
    /// How many of them have a step that was not charged its measured time, because the thread was preempted.
    pub smoothed: u32,
    /// How long the thread was preempted in all steps, in nanoseconds.
    pub away_ns: u64,
    /// The charged time of all steps, in nanoseconds.
    pub charged_ns: u64,
    /// How fast the CPU computed.
    pub(crate) pace: Pace,
    /// How many of them failed.
    pub failed: u32,
    /// How many of them the device never reported an outcome for.
    pub unfinished: u32,
    /// Authentications that could not start, because the device was still busy with the previous one or had its SA; they are not
    /// recorded.
    pub not_begun: u32,
    /// Ended early.
    pub stopped: bool,
}

/// A row that can run.
pub struct Row {
    world: World<Box<dyn Host>, Metered<Provider>, Gauge>,
    /// The node that initiates.
    initiator: NodeIndex,
    /// The ends of user traffic, the initiator first.
    users: [NodeIndex; 2],
    /// Every node, with its heap.
    nodes: Vec<(NodeIndex, Node, NodeHeap)>,
    /// The most heap of each node until the end of its first authentication, which may have been a rehearsal.
    first_peaks: Option<Vec<i64>>,
    samples: u32,
    interval: Duration,
    /// Whether computation takes virtual time.
    charged: bool,
    goal: Goal,
    /// Whether nodes connect to each other before the first authentication.
    has_connections: bool,
    /// Which nodes hold SAs.
    sa_holders: Vec<Node>,
    /// The device has an SA now.
    open: bool,
    /// Whether an authentication has not ended although its time limit is over.
    under_way: bool,
    setup: Box<dyn Setup>,
    core_hz: f64,
    /// For nodes with costs of other cores.
    core_hz_of: BTreeMap<Node, f64>,
    /// User traffic after the SAs are established.
    traffic: Option<Traffic>,
    /// Receives every event of every host.
    watcher: Option<Watcher>,
}

/// Receives the events of hosts before the row does.
pub type Watcher = Box<dyn FnMut(Time, Node, &Event)>;

/// One authentication of a profile.
#[derive(Debug)]
pub(crate) struct Profiled {
    /// The steps of each node.
    pub(crate) steps: Vec<StepCost>,
    /// How long the thread was preempted.
    pub(crate) away_ns: u64,
}

/// How one authentication ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    /// The device did not report an outcome.
    Unfinished,
    /// There was an SA already, or the previous authentication was in progress.
    NotBegun,
}

impl RowEnd {
    /// The end of a row of which only the number of attempts is told.
    pub fn of_attempts(samples: u32) -> Self {
        Self { samples, ..Self::default() }
    }

    const fn count(&mut self, outcome: End) {
        match outcome {
            End::Done => {}
            End::Failed => self.failed += 1,
            End::Unfinished => self.unfinished += 1,
            End::NotBegun => self.not_begun += 1,
        }
    }

    fn measured(&mut self, meter: &Gauge) {
        self.smoothed += u32::from(meter.was_smoothed());
        self.away_ns += meter.away_ns();
        self.charged_ns += meter.charged_ns();
    }

    /// A note for the reader if the thread was preempted: how often, and for which share of the time.
    pub(crate) fn absence(self) -> Option<String> {
        let Self { smoothed, samples, away_ns, charged_ns, .. } = self;
        let share = away_ns as f64 / (away_ns + charged_ns).max(1) as f64;
        (smoothed > 0).then(|| {
            format!(
                "disturbed, for the driver lost the CPU meanwhile, which is not charged: {smoothed} of {samples}, {:.0} % of \
                 the time",
                share * 100.0
            )
        })
    }

    /// Whether every planned authentication started, and was reported as a success or a failure.
    pub const fn is_whole(&self) -> bool {
        !self.stopped && self.unfinished == 0 && self.not_begun == 0
    }

    /// Notes for the reader about authentications that are missing or unfinished; none if the row is complete or was only
    /// interrupted.
    pub fn shortfalls(self) -> impl Iterator<Item = String> {
        let waited_s = PATIENCE.as_secs();
        [
            (
                self.not_begun,
                "could not begin, for the one before had not ended or its SA was still there".to_owned(),
            ),
            (self.unfinished, format!("had no end, for the device was told nothing in {waited_s} s")),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("authentications that {what}: {count}"))
    }
}

impl Row {
    /// Builds the hosts of a row. `core_hz` is the frequency this machine runs at.
    pub fn new(plan: &Plan, row: &RowPlan, credentials: &Credentials, core_hz: f64) -> Self {
        let charged = plan.crypto != CryptoMode::Null;
        let (seed, placement) = (plan.seed_of(row), Placement::Simulator);
        let layout = rigs::layout(row, &placement);
        let mut setup = credentials.set_up(row, &placement, &seed);
        let mut builder =
            Builder { world: World::new(seed, Gauge::new()), plan, charged, core_hz, nodes: Vec::new() };
        for spec in &layout.nodes {
            builder.node(spec.node, || setup.host(spec.node));
            builder.reach(spec);
        }
        layout.links.iter().for_each(|link| builder.join(link));
        builder.store(row);
        Self {
            initiator: builder.index(layout.initiator),
            users: layout.users.nodes.map(|node| builder.index(node)),
            samples: plan.samples,
            interval: plan.interval,
            charged,
            goal: layout.goal,
            has_connections: layout.has_connections(),
            sa_holders: layout.nodes.iter().filter(|spec| spec.holds_sas).map(|spec| spec.node).collect(),
            open: false,
            under_way: false,
            setup,
            core_hz,
            core_hz_of: BTreeMap::new(),
            traffic: Traffic::of(row, layout.users),
            watcher: None,
            world: builder.world,
            nodes: builder.nodes,
            first_peaks: None,
        }
    }

    /// Passes every event of every host to a watcher from now on.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    /// Lets time pass without new authentications.
    pub fn pass(&mut self, time: Duration, keeper: &mut dyn Keeper) {
        self.pass_until(self.world.now() + time, keeper);
    }

    fn next_event(&mut self, until: Time, recorder: &mut dyn Recorder) -> Option<(Time, NodeIndex, Event)> {
        let (at, node, event) = self.world.run_until(until, recorder)?;
        let named = self.nodes.iter().find(|(index, ..)| *index == node);
        if let (Some(watcher), Some(&(_, name, _))) = (&mut self.watcher, named) {
            watcher(at, name, &event);
        }
        Some((at, node, event))
    }

    /// Runs every authentication of the row; `progress` is called after each. A started authentication is finished before the row
    /// stops, so that none is recorded partially.
    pub fn run(&mut self, keeper: &mut dyn Keeper, progress: &dyn Fn(), stop: &Stop) -> RowEnd {
        let mut end = RowEnd::default();
        self.begin(keeper);
        self.advance(self.samples, &mut end, keeper, progress, stop);
        self.finish(keeper);
        end
    }

    /// How many authentications are planned.
    pub(crate) const fn samples(&self) -> u32 {
        self.samples
    }

    /// Everything before the first authentication.
    pub(crate) fn begin(&mut self, keeper: &mut dyn Keeper) {
        keeper.cost(self.clock());
        self.connect();
        if self.is_timed() {
            self.warm_up(keeper);
        }
        self.nodes.iter_mut().for_each(|(.., heap)| heap.pause());
    }

    /// Runs authentications until there are so many of them, or the row stops.
    pub(crate) fn advance(
        &mut self,
        until: u32,
        end: &mut RowEnd,
        keeper: &mut dyn Keeper,
        progress: &dyn Fn(),
        stop: &Stop,
    ) {
        self.nodes.iter_mut().for_each(|(.., heap)| heap.resume());
        while end.samples < until {
            if stop.load(Ordering::Relaxed) {
                end.stopped = true;
                break;
            }
            self.next_sample(end, keeper);
            progress();
            if self.unpriced().is_some() || keeper.has_failed() {
                break;
            }
        }
        self.nodes.iter_mut().for_each(|(.., heap)| heap.pause());
    }

    /// The sums over all authentications.
    pub(crate) fn finish(&mut self, keeper: &mut dyn Keeper) {
        self.operations(keeper);
    }

    /// One authentication, and what follows it until the next one.
    fn next_sample(&mut self, end: &mut RowEnd, keeper: &mut dyn Keeper) {
        let before = self.is_timed().then(|| end.pace.look());
        let outcome = self.sample(end.samples, keeper);
        if let Some(before) = before {
            let reference_ns = clock::ticks_to_ns(before.max(end.pace.look())) as u64;
            let block = block_of(end.samples, self.samples);
            keeper.cost(Cost::Block(BlockCost { sample: end.samples, block, reference_ns }));
        }
        end.count(outcome);
        end.measured(self.world.meter_mut());
        if let (End::Done, Some(traffic)) = (outcome, self.traffic.clone()) {
            self.carry(&traffic, end.samples, keeper);
        }
        self.rest(keeper);
        self.moved(end.samples, keeper);
        end.samples += 1;
    }

    /// Whether computation is measured and takes virtual time.
    fn is_timed(&mut self) -> bool {
        self.charged && self.world.meter_mut().ruler() == Ruler::Counter
    }

    /// Charges the prices of a table, in virtual time and in the costs.
    pub fn charge(&mut self, prices: &Arc<Prices>) {
        self.world.meter_mut().charge_table();
        for &(node, ..) in &self.nodes {
            self.world.crypto_mut(node).charge(Arc::clone(prices));
        }
    }

    /// Charges each node of this row what its table says, messages and all.
    pub(crate) fn charge_costs(&mut self, costs: &Costs, row: &RowPlan) {
        self.world.meter_mut().charge_table();
        for &(node, name, _) in &self.nodes {
            let NodeCosts { prices, message, core_hz } = costs.at(name, row);
            self.world.crypto_mut(node).charge(prices);
            self.world.meter_mut().charge_messages(node, message, core_hz / self.core_hz);
            self.core_hz_of.insert(name, core_hz);
        }
    }

    /// The frequency of the cores to which a node's costs belong.
    fn core_hz_of(&self, name: Node) -> f64 {
        self.core_hz_of.get(&name).copied().unwrap_or(self.core_hz)
    }

    /// Operation and algorithm of the first one without a price.
    pub(crate) fn unpriced(&self) -> Option<(String, String)> {
        self.nodes.iter().find_map(|&(node, ..)| self.world.crypto(node).unpriced())
    }

    /// Every node's host.
    pub fn hosts(&self) -> impl Iterator<Item = (Node, &dyn Host)> {
        self.nodes.iter().map(|&(node, name, _)| (name, &**self.world.host(node)))
    }

    /// Lets the nodes connect to each other before the first trigger, so that no authentication includes it.
    fn connect(&mut self) {
        if self.has_connections {
            self.rest(&mut Discard);
        }
    }

    fn warm_up(&mut self, keeper: &mut dyn Keeper) {
        self.rehearse_with_stacks(keeper);
        (1..WARM_UP).for_each(|_| self.rehearse());
        for &(node, ..) in &self.nodes {
            self.world.crypto_mut(node).reset();
            self.world.meter_mut().take_moved_ns(node);
        }
        self.forget();
    }

    /// The first authentication, which is not recorded, and how much stack it takes.
    fn rehearse_with_stacks(&mut self, keeper: &mut dyn Keeper) {
        self.world.meter_mut().watch_stacks();
        self.rehearse_authentication();
        let peaks = self.world.meter_mut().take_stacks();
        self.rest(&mut Discard);
        for &(index, node, _) in &self.nodes {
            let peak = peaks.get(&index.number()).copied();
            peak.into_iter().for_each(|peak_bytes| keeper.cost(Cost::Stack(StackCost { node, peak_bytes })));
        }
    }

    /// An unrecorded authentication, and the end of its SA.
    fn rehearse(&mut self) {
        self.rehearse_authentication();
        self.rest(&mut Discard);
    }

    fn rehearse_authentication(&mut self) {
        self.authenticate(&mut Discard);
        self.first_peaks.get_or_insert_with(|| peaks(&self.nodes));
    }

    /// Resets the hosts, so that the first recorded authentication is a full one, as with null crypto.
    fn forget(&mut self) {
        self.setup.forget();
        for &(node, ..) in &self.nodes {
            self.world.with_host(node, |host| host.forget());
        }
    }

    /// Operations of all nodes belong to this part from now on.
    fn set_part(&mut self, part: Part) {
        self.nodes.iter().for_each(|&(node, ..)| self.world.crypto_mut(node).set_part(part));
    }

    /// One authentication and its costs.
    fn sample(&mut self, sample: u32, keeper: &mut dyn Keeper) -> End {
        if self.open || self.under_way {
            return End::NotBegun;
        }
        self.world.set_sample(sample);
        let live: Vec<i64> = self.nodes.iter().map(|(.., heap)| heap.live()).collect();
        self.world.meter_mut().begin_sample();
        self.set_part(Part::Authentication);
        let end = self.authenticate(keeper);
        self.set_part(Part::After);
        self.under_way = end == End::Unfinished;
        let so_far = peaks(&self.nodes);
        let first = self.first_peaks.get_or_insert_with(|| so_far.clone());
        // The rehearsals after the first authentication leave memory behind that is not the first one's.
        let peaks = if sample == 0 { first } else { &so_far };
        for ((&(node, name, heap), live), &peak) in self.nodes.iter().zip(live).zip(peaks) {
            let grown = heap.live() - live;
            keeper.cost(Cost::Sample(SampleCost {
                sample,
                node: name,
                cpu_ns: self.world.meter_mut().cpu_ns(node),
                crypto_ns: self.world.meter_mut().crypto_ns(node),
                heap_peak_bytes: u64::try_from(peak).unwrap_or(0),
                idle_sa_bytes: u64::try_from(grown)
                    .ok()
                    .filter(|_| end == End::Done && self.sa_holders.contains(&name)),
            }));
        }
        end
    }

    /// From the echo request that triggers the SA until its reply, or the failure of the authentication.
    fn authenticate(&mut self, keeper: &mut dyn Keeper) -> End {
        self.setup.before_authentication();
        if self.open {
            return End::NotBegun;
        }
        self.world.command(self.initiator, Order::Echo { payload_bytes: ECHO_BYTES });
        let (mut until, mut silent) = (self.world.now() + PATIENCE, End::Unfinished);
        loop {
            let Some((_, node, event)) = self.next_event(until, keeper) else { return silent };
            if node != self.initiator {
                continue;
            }
            self.note(&event);
            match event {
                Event::EchoReply => return End::Done,
                Event::Usable if self.goal == Goal::Sa => return End::Done,
                // A lost echo request is not retransmitted.
                Event::Usable => (until, silent) = (self.world.now() + ECHO_PATIENCE, End::Done),
                event if event.is_failure() => return End::Failed,
                _ => {}
            }
        }
    }

    /// User traffic from its start until all sent packets have arrived, and its costs.
    fn carry(&mut self, traffic: &Traffic, sample: u32, keeper: &mut dyn Keeper) {
        let Some(ends) = self.world.host(self.users[0]).user_ends() else { return };
        let stations = traffic.stations(ends);
        self.world.meter_mut().begin_sample();
        let mut sieve = Sieve::new(keeper);
        for (node, station) in self.users.into_iter().zip(stations) {
            self.world.command(node, Order::Traffic(Box::new(station)));
        }
        self.pass_until(self.world.now() + traffic.duration + QUIET, &mut sieve);
        for _ in 0..DRAIN_MAX {
            if sieve.arrives() + QUIET <= self.world.now() {
                break;
            }
            self.pass_until(self.world.now() + QUIET, &mut sieve);
        }
        self.end_traffic(&mut sieve);
        sieve.finish(self.world.now(), sample);
        for &(node, name, _) in &self.nodes {
            keeper.cost(Cost::Traffic(TrafficCost {
                sample,
                node: name,
                cpu_ns: self.world.meter_mut().cpu_ns(node),
                crypto_ns: self.world.meter_mut().crypto_ns(node),
            }));
        }
    }

    /// What moves of the device after an authentication cost each node.
    fn moved(&mut self, sample: u32, keeper: &mut dyn Keeper) {
        for &(node, name, _) in &self.nodes {
            if let Some((cpu_ns, crypto_ns)) = self.world.meter_mut().take_moved_ns(node) {
                keeper.cost(Cost::Move(MoveCost { sample, node: name, cpu_ns, crypto_ns }));
            }
        }
    }

    fn pass_until(&mut self, until: Time, recorder: &mut dyn Recorder) {
        while let Some((_, node, event)) = self.next_event(until, recorder) {
            if node == self.initiator {
                self.note(&event);
            }
        }
    }

    /// Both stations report their counters, once their queues are empty.
    fn end_traffic(&mut self, recorder: &mut dyn Recorder) {
        let nodes = self.users;
        nodes.iter().for_each(|&node| self.world.command(node, Order::TrafficEnd));
        let (mut ended, until) = (0, self.world.now() + PATIENCE);
        while ended < nodes.len() {
            let Some((_, node, event)) = self.next_event(until, recorder) else { break };
            ended += usize::from(event == Event::TrafficEnded);
            if node == self.initiator {
                self.note(&event);
            }
        }
    }

    /// Tracks whether the device has an SA, and a late outcome.
    fn note(&mut self, event: &Event) {
        match event {
            Event::Usable => (self.open, self.under_way) = (true, false),
            Event::Closed { .. } => self.open = false,
            event if event.is_failure() => self.under_way = false,
            _ => {}
        }
    }

    /// Waits for the next trigger: the first one at which the previous authentication and its SA have ended.
    fn rest(&mut self, keeper: &mut dyn Keeper) {
        let end = self.world.now() + PATIENCE;
        loop {
            let next = self.next_trigger();
            self.pass_until(next, keeper);
            if self.has_ended() || next >= end {
                break;
            }
        }
    }

    /// Whether the device has no SA and awaits no answer, such as that to its last DELETE, and no packet is in flight.
    fn has_ended(&self) -> bool {
        !self.open && self.world.host(self.initiator).under_way_count() == 0 && self.world.is_quiet()
    }

    /// A whole number of intervals after the start of the run, at least one after now.
    fn next_trigger(&self) -> Time {
        let interval = self.interval.as_nanos().max(1) as u64;
        Time::from_nanos((self.world.now().as_nanos() / interval + 1) * interval)
    }

    /// Prepares a profile: connects and warms up, and records every step from now on; with `timed` also every operation and its time.
    pub(crate) fn begin_profile(&mut self, timed: bool) {
        self.connect();
        for &(node, ..) in &self.nodes {
            let crypto = self.world.crypto_mut(node);
            crypto.keep_time(timed);
            if timed {
                crypto.keep_journal();
            }
        }
        self.world.meter_mut().steps_mut().want();
        self.warm_up(&mut Discard);
    }

    /// One authentication for a profile, directly after a rehearsal; `None` if it failed, or the previous SA did not end.
    pub(crate) fn profiled(&mut self, sample: u32) -> Option<Profiled> {
        self.rehearse();
        if self.open {
            return None;
        }
        self.world.set_sample(sample);
        self.nodes.iter().for_each(|(node, ..)| self.world.crypto_mut(*node).clear_journal());
        self.world.meter_mut().steps_mut().clear();
        let (ticks, cpu_ns) = (clock::ticks(), clock::thread_cpu_ns());
        let end = self.authenticate(&mut Discard);
        let cpu_ns = clock::thread_cpu_ns() - cpu_ns;
        let away_ns = (clock::ticks_to_ns(clock::ticks() - ticks) as u64).saturating_sub(cpu_ns);
        let steps = self.steps(sample);
        self.rest(&mut Discard);
        (end == End::Done).then_some(Profiled { steps, away_ns })
    }

    /// Every recorded step, node by node.
    fn steps(&mut self, sample: u32) -> Vec<StepCost> {
        let steps = std::mem::take(self.world.meter_mut().steps_mut());
        let of = |&(node, name, _): &(NodeIndex, Node, NodeHeap)| {
            steps.of((node, name), sample, self.world.crypto(node)).collect::<Vec<_>>()
        };
        let costs = self.nodes.iter().flat_map(of).collect();
        *self.world.meter_mut().steps_mut() = steps;
        costs
    }

    /// The clocks of this row's costs.
    pub(crate) fn clock(&mut self) -> Cost {
        Cost::Clock {
            ticks_hz: self.world.meter_mut().ruler().hz(),
            profile_hz: self.nodes.iter().map(|(_, name, _)| (*name, self.core_hz_of(*name))).collect(),
        }
    }

    fn operations(&mut self, keeper: &mut dyn Keeper) {
        let ruler = self.world.meter_mut().ruler();
        for &(node, name, _) in &self.nodes {
            for row in self.world.crypto(node).snapshot() {
                let cost = OperationCost {
                    node: name,
                    phase: row.phase.name().into(),
                    operation: row.operation.into(),
                    algorithm: row.algorithm,
                    count: row.count,
                    ns: ruler.ns(row.ticks) as u64,
                    bytes: row.bytes,
                };
                keeper.cost(Cost::OperationIn(row.part, cost));
            }
        }
    }
}

/// The most heap of each node so far.
fn peaks(nodes: &[(NodeIndex, Node, NodeHeap)]) -> Vec<i64> {
    nodes.iter().map(|(.., heap)| heap.peak()).collect()
}

/// What building the nodes of a row needs.
struct Builder<'a> {
    world: World<Box<dyn Host>, Metered<Provider>, Gauge>,
    plan: &'a Plan,
    charged: bool,
    core_hz: f64,
    nodes: Vec<(NodeIndex, Node, NodeHeap)>,
}

impl Builder<'_> {
    /// A node is reached at addresses besides those of its links, too.
    fn reach(&mut self, spec: &NodeSpec) {
        let node = self.index(spec.node);
        spec.inner.iter().for_each(|inner| self.world.add_address(node, *inner));
        spec.datagrams.iter().for_each(|at| self.world.add_address(node, at.host()));
    }

    /// Connects two nodes according to the layout.
    fn join(&mut self, link: &LinkSpec) {
        let nodes = link.ends.map(|end| {
            let node = self.index(end.node);
            self.world.add_address(node, end.host);
            node
        });
        self.world.add_link(nodes[0], nodes[1], &link.config);
    }

    /// Lets the HSS wait for its store as the row has it.
    fn store(&mut self, row: &RowPlan) {
        let Some(times) = row.options.hss_store else { return };
        let draws = Population::draws(times, &self.plan.seed_of(row), "hss store");
        let hss = self.index(Node::Hss);
        self.world.meter_mut().look_up_in(hss, draws);
    }

    /// The node of that name.
    fn index(&self, name: Node) -> NodeIndex {
        let named = self.nodes.iter().find(|&&(_, other, _)| other == name);
        named.expect("a layout names only nodes that it has").0
    }

    /// Builds a node under its own heap tag.
    fn node(&mut self, name: Node, host: impl FnOnce() -> Box<dyn Host>) {
        let role = u8::try_from(self.nodes.len() + 1).expect("a topology has a handful of nodes");
        let own = NodeHeap::new(role);
        let guard = heap::enter(role);
        let host = host();
        let mut crypto = metered(self.plan);
        drop(guard);
        if self.plan.crypto.computes() {
            crypto.keep_step();
        }
        let profile = self.plan.cpus.get(&name);
        let scale = profile.and_then(|profile| profile.hz).map(|hz| self.core_hz / hz);
        self.world.meter_mut().add_node(scale, self.charged);
        let cores = profile.map_or(1, |profile: &CpuProfile| profile.cores);
        let config = NodeConfig { cores: u32::from(cores), ..NodeConfig::new(name) };
        let index = self.world.add_node(config, host, crypto);
        self.nodes.push((index, name, own));
    }
}
