//! A population in the simulator: one world with the nodes that serve, in which devices arrive on a schedule, authenticate, stay,
//! authenticate anew, move and go. Nothing is kept of a device that is gone.
//!
//! ```text
//!   Schedule, Agenda --> device arrives, re-authenticates, moves, leaves --> World --events, facts--> Census
//! ```

mod access;
mod agenda;
mod builder;
mod facts;
mod gateways;
mod heaps;
mod loss;
mod till;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_census::{Account, Census};
use keytoll_crypto::{Metered, Provider};
use keytoll_crypto_api::Seed;
use keytoll_engine::Time;
use keytoll_engine::trace::Node;
use keytoll_hosts::event::Reason;
use keytoll_hosts::{Event, Host, Order, SessionId};
use keytoll_native::{clock, heap};
use keytoll_net::Host as Address;
use keytoll_rig::Crowd;
use keytoll_rigs::Credentials;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::population::{Population, Schedule, Spreads};
use keytoll_sim::{LinkConfig, NodeConfig, NodeIndex, ProviderIndex, World};

use crate::costs::Costs;
use crate::once;
use crate::row::{ECHO_BYTES, Stop};
use crate::run::{RunError, refuse};
use agenda::{Agenda, Errand};
use builder::Builder;
use facts::Facts;
use gateways::Gateways;
use heaps::Heaps;
use till::Till;

/// Time for the serving nodes to connect to each other before the load begins.
const SETTLING: Duration = Duration::from_secs(5);
/// A device that has closed its session, or failed, is gone after this time: until then it answers retransmissions.
const LINGERING: Duration = Duration::from_secs(10);
/// Virtual time after which a population without a duration ends although some attempts have no outcome.
const PATIENCE: Duration = Duration::from_secs(3600);
/// One second.
const SECOND: Duration = Duration::from_secs(1);

/// What a population has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct PopulationEnd {
    /// What was counted.
    pub account: Account,
    /// Whether it went on until its end.
    pub is_whole: bool,
    /// The heap of its whole world when the most devices were there; none where the heap is not counted.
    pub heap_bytes: Option<u64>,
}

/// How far populations are: the steps of all of them, at each of which `progress` is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// How many there are.
    pub count: u64,
    /// What they are.
    pub of: &'static str,
}

/// The steps of a plan's populations: seconds if their end is known, for much may go on after the last arrival; otherwise devices whose
/// first attempt has an outcome, for with the last one they end. `None` without a population.
pub fn steps(plan: &Plan) -> Option<Steps> {
    let population = plan.population.as_ref()?;
    let worlds = worlds(plan, population).len() as u64;
    let seconds = |length: Duration| length.as_secs() + u64::from(length.subsec_nanos() > 0);
    Some(match population.duration {
        Some(length) => Steps { count: worlds * seconds(length), of: "simulated seconds" },
        None => Steps { count: worlds * u64::from(population.devices), of: "devices with an outcome" },
    })
}

/// Runs the populations of a plan on up to `threads` threads, each on one; `progress` is called at each step of their [`steps`].
/// The results are in the order of the rows; a row that did not begin has none. They do not depend on the number of threads.
///
/// # Errors
/// When the plan cannot run here.
pub fn populate(
    plan: &Plan,
    threads: usize,
    progress: &(dyn Fn() + Sync),
    stop: &Stop,
) -> Result<Vec<Option<PopulationEnd>>, RunError> {
    once::of_process();
    refuse(plan)?;
    let Some(population) = &plan.population else { return Ok(Vec::new()) };
    let costs = Costs::of(plan)?;
    let core_hz = costs.as_ref().map_or_else(clock::core_hz, |costs| costs.core_hz);
    let credentials = Credentials::prepare(plan);
    let worlds = worlds(plan, population);
    let ends = Mutex::new(vec![None; plan.rows.len()]);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let is_over = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
    let setting = Setting { plan, population, credentials: &credentials, costs: costs.as_ref(), core_hz };
    let work = || -> Result<(), RunError> {
        once::of_thread();
        while let Some(rows) = worlds.get(next.fetch_add(1, Ordering::Relaxed)) {
            if is_over() {
                break;
            }
            let of_rows: Vec<_> = rows.iter().map(|&index| &plan.rows[index]).collect();
            let done = setting.run(&of_rows, progress, &is_over);
            let done = done.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            rows.iter().zip(done).for_each(|(&index, end)| ends[index] = Some(end));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads.clamp(1, worlds.len().max(1))).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(ends.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The rows of each world: one row each, or those of a mix in its order.
fn worlds(plan: &Plan, population: &Population) -> Vec<Vec<usize>> {
    if population.mix.is_empty() {
        return (0..plan.rows.len()).map(|index| vec![index]).collect();
    }
    let place = |share: &keytoll_scenario::population::Share| {
        plan.rows.iter().position(|row| row.method == share.method)
    };
    vec![population.mix.iter().filter_map(place).collect()]
}

/// What all worlds of a plan have in common.
struct Setting<'a> {
    plan: &'a Plan,
    population: &'a Population,
    credentials: &'a Credentials,
    costs: Option<&'a Costs>,
    core_hz: f64,
}

impl Setting<'_> {
    fn run(
        &self,
        rows: &[&RowPlan],
        progress: &(dyn Fn() + Sync),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<PopulationEnd>, RunError> {
        let (_spares, role) = (heap::keep_spares(), heaps::enter_world());
        let mut built = Built::new(self, rows)?;
        let is_whole = built.live(progress, is_over);
        let ends = built.ends(is_whole);
        let unpriced = built.unpriced();
        drop((built, role));
        match (unpriced, self.costs) {
            (Some((operation, algorithm)), Some(costs)) => {
                let (path, row) = (costs.path.clone(), rows[0].method.name());
                Err(RunError::Unpriced { path, row, operation, algorithm })
            }
            _ => Ok(ends),
        }
    }
}

/// A serving node.
struct Serving {
    node: Node,
    name: String,
    /// Its number among the gateways, if it is one.
    gateway: Option<u32>,
    index: NodeIndex,
    addresses: Vec<Address>,
    /// Serving nodes that it has links to.
    neighbours: Vec<NodeIndex>,
}

/// The access link of the devices of a share.
struct Access {
    config: LinkConfig,
    /// The node at its other end, by the number of the gateway.
    to: Vec<NodeIndex>,
}

/// A device that is there.
struct Device {
    number: u32,
    address: Address,
    share: usize,
    /// The gateway that it has.
    gateway: u32,
    /// The intended start of its attempt under way.
    intended: Option<Duration>,
    session: Option<SessionId>,
    is_established: bool,
    /// Whether it has been, on this visit.
    has_been: bool,
    is_leaving: bool,
    /// Whether its first attempt has no outcome yet.
    is_new: bool,
    /// Whether the gateway of its session is lost.
    is_cut_off: bool,
    /// When it authenticates anew, if it is established then.
    anew_at: Option<Duration>,
}

/// A population in its world.
struct Built {
    world: World<Box<dyn Host>, Metered<Provider>, Till>,
    crowd: Box<dyn Crowd>,
    population: Population,
    seed: Seed,
    serving: Vec<Serving>,
    access: Vec<Access>,
    gateways: Gateways,
    purse: ProviderIndex,
    /// Of each device.
    cores: u32,
    schedule: Option<Schedule>,
    /// When the next device of the schedule is meant to arrive.
    next_arrival: Option<Duration>,
    agenda: Agenda,
    stays: Option<Spreads>,
    moves: Option<Spreads>,
    /// By the number of a node.
    devices: Vec<Option<Device>>,
    /// By the number of a device: its node, while it is there, and its visits.
    whereabouts: Vec<(Option<NodeIndex>, u16)>,
    /// By the number of an access link: the device that lends it to others, if links are shared.
    lenders: Vec<Vec<NodeIndex>>,
    arrived: u32,
    /// Devices whose first attempt has an outcome, and of how many `progress` knows.
    settled: [u32; 2],
    facts: Facts,
    shares: Vec<Census>,
    /// When the load began.
    zero: Time,
    /// The heap before anything was built, and when the load began.
    heaps_before: [Heaps; 2],
    /// The most devices at once, and the heap then.
    fullest: (usize, Heaps),
    there: usize,
}

impl Built {
    fn new(setting: &Setting<'_>, rows: &[&RowPlan]) -> Result<Self, RunError> {
        let &Setting { plan, population, credentials, costs, core_hz } = setting;
        let seed = plan.seed_of(rows[0]);
        let empty = Heaps::now(heaps::SERVING_MAX);
        let mut crowd = credentials.populate(rows, population, &seed);
        let mut builder = Builder::new(plan, (population, rows), (costs, core_hz), &seed);
        let mut access: Vec<Access> = Vec::new();
        for gateway in 0..population.gateways {
            let layouts: Vec<_> = (0..rows.len()).map(|share| crowd.layout(share, gateway)).collect();
            builder.build(&mut *crowd, &layouts, (gateway, population.gateways));
            for (share, layout) in layouts.iter().enumerate() {
                let (config, to) = builder.links(layout, gateway);
                match access.get_mut(share) {
                    Some(access) => access.to.push(to),
                    None => access.push(Access { config, to: vec![to] }),
                }
                builder.tell_links(layout, population);
            }
        }
        let (purse, cores) = (builder.purse(), builder.cores(Node::Ue));
        let Builder { world, serving, facts, .. } = builder;
        let schedule = population.schedule(&seed)?;
        let draws = |spread: Option<_>, name| spread.map(|spread| Population::draws(spread, &seed, name));
        let mut built = Self {
            stays: draws(population.stay, "stays"),
            moves: draws(population.moves, "moves"),
            world,
            crowd,
            population: population.clone(),
            gateways: Gateways::new(population.gateways, &seed),
            seed,
            serving,
            access,
            purse,
            cores,
            schedule,
            next_arrival: None,
            agenda: Agenda::default(),
            devices: Vec::new(),
            whereabouts: vec![(None, 0); population.devices as usize],
            lenders: Vec::new(),
            arrived: 0,
            settled: [0, 0],
            facts,
            shares: vec![Census::new(); rows.len()],
            zero: Time::ZERO,
            heaps_before: [empty, Heaps::default()],
            fullest: (0, Heaps::default()),
            there: 0,
        };
        built.settle();
        Ok(built)
    }

    /// Lets the serving nodes connect to each other; then the load begins.
    fn settle(&mut self) {
        let until = self.world.now() + SETTLING;
        while self.world.run_until(until, &mut self.facts).is_some() {}
        self.zero = self.world.now();
        for serving in &self.serving {
            self.world.take_queue_use(serving.index);
        }
        self.facts.begin(self.zero);
        self.heaps_before[1] = Heaps::now(self.serving.len());
        self.next_arrival = self.schedule.as_mut().and_then(Iterator::next);
        if let keytoll_scenario::population::Arrivals::AtATime(count) = self.population.arrivals {
            (0..count).for_each(|_| self.agenda.plan(Duration::ZERO, Errand::Arrive));
        }
        self.agenda.plan(SECOND, Errand::Look);
        self.population.gateway_lost.into_iter().for_each(|lost| self.agenda.plan(lost.at, Errand::Lose));
    }

    fn since(&self) -> Duration {
        self.world.now().since(self.zero)
    }

    /// Lets the population live; false if it is over before its end, or something has no price.
    fn live(&mut self, progress: &dyn Fn(), is_over: &dyn Fn() -> bool) -> bool {
        loop {
            if is_over() {
                return false;
            }
            let until = self.next_at().unwrap_or(self.since() + SECOND);
            let end = self.population.duration.filter(|end| *end <= until);
            let has_come = self.run_until(end.unwrap_or(until));
            self.tell(progress);
            if !has_come {
                continue;
            }
            if end.is_some() {
                progress();
                return true;
            }
            if let Some((at, errand)) = self.next_errand() {
                self.go(at, errand, progress);
                if errand == Errand::Look && self.unpriced().is_some() {
                    return false;
                }
            }
            if self.is_over() {
                return true;
            }
        }
    }

    /// Tells of the devices that have an outcome, where they are the steps.
    fn tell(&mut self, progress: &dyn Fn()) {
        let [settled, told] = &mut self.settled;
        let are_steps = self.population.duration.is_none();
        (*told..*settled).filter(|_| are_steps).for_each(|_| progress());
        *told = *settled;
    }

    /// When something is to be done next.
    fn next_at(&self) -> Option<Duration> {
        self.next_arrival.into_iter().chain(self.agenda.next_at()).min()
    }

    /// The next arrival of the schedule, or what is on the agenda before.
    fn next_errand(&mut self) -> Option<(Duration, Errand)> {
        match (self.next_arrival, self.agenda.next_at()) {
            (Some(at), other) if other.is_none_or(|other| at < other) => {
                self.next_arrival = self.schedule.as_mut().and_then(Iterator::next);
                Some((at, Errand::Arrive))
            }
            _ => self.agenda.pop(),
        }
    }

    /// Whether everything has happened: all have arrived, and all have an outcome or waited for it long enough.
    fn is_over(&self) -> bool {
        let has_arrived = self.arrived == self.population.devices || self.nobody_comes();
        let in_flight = || self.shares.iter().map(Census::in_flight).sum::<u64>();
        self.population.duration.is_none()
            && has_arrived
            && (in_flight() == 0 || self.since() > self.last_arrival() + PATIENCE)
    }

    fn nobody_comes(&self) -> bool {
        self.schedule.is_some() && self.next_arrival.is_none()
    }

    fn last_arrival(&self) -> Duration {
        self.facts.last_arrival
    }

    /// Lets the world go on until then; false if something has come up that is to be done before.
    fn run_until(&mut self, until: Duration) -> bool {
        while let Some((at, node, event)) = self.world.run_until(self.zero + until, &mut self.facts) {
            let at = at.since(self.zero);
            self.happened(at, node, event);
            if self.agenda.next_at().is_some_and(|next| next < until) {
                return false;
            }
        }
        true
    }

    fn go(&mut self, at: Duration, errand: Errand, progress: &dyn Fn()) {
        match errand {
            Errand::Arrive if self.arrived < self.population.devices => {
                let number = self.arrived;
                self.arrived += 1;
                self.facts.last_arrival = at;
                self.attach(number, at, true);
            }
            Errand::Arrive => {}
            Errand::Look => {
                self.look(at);
                self.agenda.plan(at + SECOND, Errand::Look);
                if self.population.duration.is_some() {
                    progress();
                }
            }
            Errand::Reauthenticate(number, visit) => self.authenticate_anew(number, visit, at),
            Errand::Move(number, visit) => self.move_on(number, visit, at),
            Errand::Leave(number) => self.leave(number, at),
            Errand::Lose => self.lose_gateway(at),
            Errand::Return(number, visit) => self.begin_again(number, visit, at),
            Errand::Vanish(number, visit) => {
                if let Some(index) = self.found(number, visit) {
                    self.remove(index);
                }
            }
        }
    }

    /// The node of a device that is still on this visit.
    fn found(&self, number: u32, visit: u16) -> Option<NodeIndex> {
        let (index, current) = self.whereabouts[number as usize];
        index.filter(|_| current == visit)
    }

    /// A device comes to its access link, and begins.
    fn attach(&mut self, number: u32, intended: Duration, is_new: bool) {
        let member = self.population.member(&self.seed, number);
        let (_, visit) = self.whereabouts[number as usize];
        let seat = self.crowd.seat(member, visit.into());
        let config = NodeConfig { cores: self.cores, queue_datagrams_max: 64, ..NodeConfig::new(Node::Ue) };
        let index = self.world.add_node_with(config, seat.host, self.purse);
        self.world.add_address(index, seat.address);
        let gateway = self.gateways.of(seat.address);
        self.link(index, number, (member.share, gateway));
        let device = Device {
            number,
            address: seat.address,
            share: member.share,
            gateway,
            intended: Some(intended),
            session: None,
            is_established: false,
            has_been: false,
            is_leaving: false,
            is_new,
            is_cut_off: false,
            anew_at: None,
        };
        let place = index.number() as usize;
        if self.devices.len() <= place {
            self.devices.resize_with(place + 1, || None);
        }
        self.devices[place] = Some(device);
        self.whereabouts[number as usize].0 = Some(index);
        self.there += 1;
        let census = &mut self.shares[member.share];
        if is_new {
            census.device();
        }
        census.offered(intended);
        census.begun(intended, intended);
        self.world.command(index, Order::Echo { payload_bytes: ECHO_BYTES });
    }

    fn happened(&mut self, at: Duration, node: NodeIndex, event: Event) {
        let Some(device) = self.devices.get_mut(node.number() as usize).and_then(Option::as_mut) else {
            return;
        };
        match event {
            Event::Established(established) => device.session = Some(established.session),
            Event::Rekeyed { old, new } if device.session == Some(old) => device.session = Some(new),
            Event::Usable => self.established(at, node),
            Event::GaveUp(failure) | Event::Failed(failure) => self.failed(at, node, &failure.why),
            Event::ChildFailed { why, .. } => self.failed(at, node, &why),
            Event::Closed { session, .. } if device.session == Some(session) => self.closed(at, node),
            _ => {}
        }
    }

    fn established(&mut self, at: Duration, node: NodeIndex) {
        let Some(device) = &mut self.devices[node.number() as usize] else { return };
        let Some(intended) = device.intended.take() else { return };
        self.settled[0] += u32::from(std::mem::take(&mut device.is_new));
        let census = &mut self.shares[device.share];
        let is_back = std::mem::take(&mut device.is_cut_off);
        if device.is_established && !is_back {
            // The session before is closed with this.
            census.left(at);
        }
        census.established(intended, at);
        device.is_established = true;
        let is_first = !std::mem::replace(&mut device.has_been, true);
        let (number, gateway) = (device.number, device.gateway);
        self.tell_gateway(at, gateway, is_back);
        self.plan_stay(number, at, is_first);
        self.next_in_loop(at);
    }

    /// Plans what a device does next, once it is established; its stay begins with the first session of a visit.
    fn plan_stay(&mut self, number: u32, at: Duration, is_first: bool) {
        self.plan_reauthentication(number, at);
        if !is_first {
            return;
        }
        let (_, visit) = self.whereabouts[number as usize];
        // One who has moved stays on: its stay began at its first visit.
        if let (Some(stays), 0) = (&mut self.stays, visit) {
            self.agenda.plan(at + stays.draw(), Errand::Leave(number));
        }
        if let Some(moves) = &mut self.moves {
            self.agenda.plan(at + moves.draw(), Errand::Move(number, visit));
        }
    }

    /// Plans when a device that is there authenticates anew, whether it could the last time or not.
    fn plan_reauthentication(&mut self, number: u32, at: Duration) {
        let (index, visit) = self.whereabouts[number as usize];
        let device = index.and_then(|index| self.devices[index.number() as usize].as_mut());
        if let (Some(after), Some(device)) = (self.population.reauthenticate, device) {
            device.anew_at = Some(at + after);
            self.agenda.plan(at + after, Errand::Reauthenticate(number, visit));
        }
    }

    /// Plans when a device without a session is gone.
    fn plan_end(&mut self, number: u32, at: Duration) {
        let (_, visit) = self.whereabouts[number as usize];
        self.agenda.plan(at + LINGERING, Errand::Vanish(number, visit));
    }

    fn failed(&mut self, at: Duration, node: NodeIndex, why: &Reason) {
        let Some(device) = &mut self.devices[node.number() as usize] else { return };
        if device.intended.take().is_none() {
            return;
        }
        self.settled[0] += u32::from(std::mem::take(&mut device.is_new));
        let told_by = if why.is_hearsay { "told" } else { "ue" };
        self.shares[device.share].failed(at, &format!("{told_by}: {}", why.name));
        let Device { number, has_been, is_established, is_cut_off, .. } = *device;
        match () {
            () if is_cut_off && !is_established => self.plan_return(number, at),
            // With HIP the session before has ended with this attempt.
            () if has_been => self.plan_reauthentication(number, at),
            () => self.plan_end(number, at),
        }
        self.next_in_loop(at);
    }

    /// In a closed loop the next device begins when one has its outcome.
    fn next_in_loop(&mut self, at: Duration) {
        if self.schedule.is_none() && self.arrived < self.population.devices {
            self.agenda.plan(at, Errand::Arrive);
        }
    }

    /// The session of a device has ended.
    fn closed(&mut self, at: Duration, node: NodeIndex) {
        let Some(device) = &mut self.devices[node.number() as usize] else { return };
        device.session = None;
        let Device { number, share, is_cut_off, is_leaving, .. } = *device;
        if std::mem::take(&mut device.is_established) && !is_cut_off {
            self.shares[share].left(at);
        }
        match () {
            () if is_leaving => self.plan_end(number, at),
            () if is_cut_off => self.begin_again(number, self.whereabouts[number as usize].1, at),
            () => {}
        }
    }

    /// A device that is there authenticates anew, unless it is doing so.
    fn authenticate_anew(&mut self, number: u32, visit: u16, at: Duration) {
        let Some(index) = self.found(number, visit) else { return };
        let Some(device) = &mut self.devices[index.number() as usize] else { return };
        // What was planned before it came back is planned anew.
        if device.is_leaving || device.intended.is_some() || device.anew_at != Some(at) {
            return;
        }
        device.intended = Some(at);
        let census = &mut self.shares[device.share];
        census.offered(at);
        census.begun(at, at);
        self.world.command(index, Order::Reauthenticate);
    }

    /// A device is elsewhere at once, and attaches there; nobody is told at the place that it has left.
    fn move_on(&mut self, number: u32, visit: u16, at: Duration) {
        let Some(index) = self.found(number, visit) else { return };
        let Some(device) = &self.devices[index.number() as usize] else { return };
        if device.is_leaving || device.intended.is_some() {
            return;
        }
        if device.is_established && !device.is_cut_off {
            self.shares[device.share].left(at);
        }
        self.remove(index);
        self.whereabouts[number as usize].1 = visit.wrapping_add(1);
        self.attach(number, at, false);
    }

    /// A device closes its session and goes.
    fn leave(&mut self, number: u32, at: Duration) {
        let (Some(index), _) = self.whereabouts[number as usize] else { return };
        let Some(device) = &mut self.devices[index.number() as usize] else { return };
        if device.intended.is_some() {
            // It goes when it has the outcome of its attempt.
            return self.agenda.plan(at + SECOND, Errand::Leave(number));
        }
        device.is_leaving = true;
        match device.session {
            Some(session) => self.world.command(index, Order::Close(session)),
            None => self.plan_end(number, at),
        }
    }

    /// Looks at queues and heap at the end of a second.
    fn look(&mut self, at: Duration) {
        let second = at.saturating_sub(SECOND);
        for serving in &self.serving {
            let used = self.world.take_queue_use(serving.index);
            self.facts.census.queued(&serving.name, second, used.mean, used.max as u64);
        }
        if self.there > self.fullest.0 {
            self.fullest = (self.there, Heaps::now(self.heaps_before[1].count()));
        }
    }

    /// What was counted, for each share.
    fn ends(&mut self, is_whole: bool) -> Vec<PopulationEnd> {
        let at = self.since();
        self.look(Duration::from_secs(at.as_secs()) + SECOND);
        self.tell_heaps();
        self.facts.census.end(at);
        if let Ok(Some(span)) = self.population.span(&self.seed) {
            self.facts.census.planned(span);
        }
        let heap_bytes = u64::try_from(self.fullest.1.all - self.heaps_before[0].all).ok();
        let heap_bytes = heap_bytes.filter(|bytes| *bytes > 0);
        let whole = &self.facts.census;
        let end = |census: &Census| {
            let mut census = census.clone();
            census.merge(whole);
            PopulationEnd { account: census.account(), is_whole, heap_bytes }
        };
        let mut ends: Vec<_> = self.shares.iter().map(end).collect();
        if ends.len() > 1 {
            // The nodes are those of all shares, and what they did is not to be divided by the successes of one.
            let nodes = ends.iter_mut().flat_map(|end| end.account.summary.nodes.values_mut());
            nodes.for_each(|node| node.busy_ns_per_established = None);
        }
        ends
    }

    /// Tells what the devices and each serving node took when the most devices were there.
    fn tell_heaps(&mut self) {
        let (there, heaps) = &self.fullest;
        let [empty, begun] = &self.heaps_before;
        let bytes = heaps.all - begun.all;
        if *there > 0 && bytes > 0 {
            self.facts.census.measured_bytes_per_device(bytes as f64 / *there as f64);
        }
        let since = heaps.since(empty);
        for serving in &self.serving {
            let bytes = since.of(serving.index.number());
            bytes.into_iter().for_each(|bytes| self.facts.census.measured_heap(&serving.name, bytes));
        }
    }

    fn unpriced(&self) -> Option<(String, String)> {
        let of_serving = self.serving.iter().find_map(|serving| self.world.crypto(serving.index).unpriced());
        of_serving.or_else(|| self.world.provider(self.purse).unpriced())
    }
}
