//! A live run: row after row, authentication after authentication, one at a time on an otherwise idle machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use keytoll_daemons::Usage;
use keytoll_lab::{Keeper, Keepers, RowEnd, RunError, Seized, Stop, WARM_UP, supported};
use keytoll_native::clock;
use keytoll_net::Addr;
use keytoll_net::ip::protocol::ESP;
use keytoll_rig::{Layout, Placement};
use keytoll_rigs as rigs;
use keytoll_scenario::catalogue::facet::IPSEC;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_sim::Recorder;
use keytoll_trace::file::ReadError;
use keytoll_trace::{Cost, Fact, ForeignCost, Node, OperationCost, Part, SampleCost};

use super::foreign::{self, Daemon, Foreign, Initiator, Order};
use super::line::{Line, What};
use super::merge::{self, Notes};
use super::message::{Ask, Operation, Spent, Tell};
use super::process::Process;
use super::testbed::{LiveError, Testbed};

/// The interval of checks whether foreign daemons are idle.
const LOOK: Duration = Duration::from_millis(2);
/// Some never do.
const LOOKS_MAX: u32 = 100;

/// Note about all live rows.
const NOTE: &str = "Live world, every node a process of its own on this machine; cpu is that of the node's thread, system \
                    calls, the emulation of its links and the notes it takes of datagrams included. The device closes its SA as soon as it is measured";
const NOTE_ESP: &str = "ESP travels in UDP";
const NOTE_LOOPBACK: &str = "Live on 127.0.0.0/8, with IPv4 and ports of the system's choice, because only root may make \
                             network namespaces";

const NOTE_CAPTURED: &str =
    "Captured while it was measured: cpu, heap and delays contain the writing of the captures";

/// Refuses a plan that cannot run here: because this build lacks an algorithm, or a foreign daemon is not installed.
///
/// # Errors
/// Those of [`run`] before its first authentication.
pub fn refuse(plan: &Plan) -> Result<(), RunError> {
    supported(plan)?;
    plan.rows.iter().try_for_each(foreign::check).map_err(LiveError::from)?;
    Ok(())
}

/// Runs every row of a plan, one after the other; returns how each ended, in the order of the plan.
///
/// # Errors
/// When the run cannot start or continue, or its results cannot be written.
pub fn run<K: Keepers>(
    plan: &Plan,
    keepers: &K,
    progress: &(dyn Fn() + Sync),
    stop: &Stop,
) -> Result<Vec<Option<RowEnd>>, RunError> {
    refuse(plan)?;
    let testbed = Testbed::build(plan)?;
    let origin_ns = clock::monotonic_ns();
    let captures = keepers.capturing().map(|(path, samples_max)| (absolute(path), samples_max));
    let start = |node| Process::start(plan, node, &testbed, origin_ns, captures.clone());
    let mut processes =
        ours(plan, &testbed.placement).into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let foreign = Foreign::prepare(plan);
    let launcher = Launcher { plan, foreign, origin_ns, testbed: &testbed, keepers, progress, stop };
    let mut ends = vec![None; plan.rows.len()];
    for (index, row) in plan.rows.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        ends[index] = Some(launcher.row(&mut processes, index, row)?);
    }
    Ok(ends)
}

/// Our processes may have another working directory.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The nodes of ours in any row.
fn ours(plan: &Plan, placement: &Placement) -> BTreeSet<Node> {
    let of_row = |row| rigs::layout(row, placement).nodes.into_iter();
    let own = plan.rows.iter().flat_map(of_row).filter(|spec| !spec.maker.is_foreign());
    own.map(|spec| spec.node).collect()
}

/// Notes for the reader of a row.
fn notes(row: &RowPlan, placement: &Placement) -> impl Iterator<Item = &'static str> {
    let loopback = placement.is_loopback().then_some(NOTE_LOOPBACK);
    let has_raw_esp = rigs::layout(row, placement).nodes.iter().any(|spec| spec.datagrams.iter().any(is_esp));
    let esp = (row.method.has(&IPSEC) && !has_raw_esp).then_some(NOTE_ESP);
    [NOTE].into_iter().chain(esp).chain(loopback).chain(foreign::notes(row))
}

fn is_esp(at: &Addr) -> bool {
    matches!(at, Addr::Ip { protocol: ESP, .. })
}

/// The state that all rows share.
struct Launcher<'a, K> {
    plan: &'a Plan,
    foreign: Foreign,
    origin_ns: u64,
    testbed: &'a Testbed,
    keepers: &'a K,
    progress: &'a (dyn Fn() + Sync),
    stop: &'a Stop,
}

impl<K: Keepers> Launcher<'_, K> {
    fn row(&self, processes: &mut [Process], index: usize, row: &RowPlan) -> Result<RowEnd, RunError> {
        notes(row, &self.testbed.placement).for_each(|note| self.keepers.note(index, note));
        if self.keepers.capturing().is_some() {
            self.keepers.note(index, NOTE_CAPTURED);
        }
        let mut keeper = self.keepers.begin(index, row)?;
        let layout = rigs::layout(row, &self.testbed.placement);
        let profile_hz = layout.nodes.iter().map(|spec| (spec.node, clock::core_hz())).collect();
        keeper.cost(Cost::Clock { ticks_hz: clock::ticks_hz(), profile_hz });
        let mut nodes = self.start(processes, index, (row, layout))?;
        let end = self.authentications(&mut nodes)?;
        nodes.end(&mut keeper, |captured| self.keepers.captured(captured))?;
        self.keep(index, end, nodes, &mut keeper)?;
        self.keepers.end(index, keeper, end)?;
        Ok(end)
    }

    /// Starts all nodes of a row: the initiator last.
    fn start<'p>(
        &self,
        processes: &'p mut [Process],
        index: usize,
        (row, layout): (&RowPlan, Layout),
    ) -> Result<RowNodes<'p>, LiveError> {
        let seed = self.plan.seed_of(row);
        let is_ours =
            |process: &&mut Process| layout.node(process.node()).is_some_and(|spec| !spec.maker.is_foreign());
        let mut processes: Vec<_> = processes.iter_mut().filter(is_ours).collect();
        let mut daemons = Vec::new();
        for node in layout.nodes.iter().rev().map(|spec| spec.node) {
            if let Some(process) = processes.iter_mut().find(|process| process.node() == node) {
                process.done(&Ask::Row(index))?;
                continue;
            }
            let (place, dir) = (self.testbed.place(node), &self.testbed.folder(node)?);
            let placement = &self.testbed.placement;
            let order = Order { row, seed: &seed, placement, node, place, dir, has_many_devices: false };
            daemons.push((node, self.foreign.start(&order)?));
        }
        let begins = daemons.iter().find(|(node, _)| *node == layout.initiator);
        let initiator = begins.map(|(_, daemon)| daemon.initiator()).transpose()?;
        let origin_ns = self.origin_ns;
        Ok(RowNodes {
            layout,
            processes,
            daemons,
            initiator,
            origin_ns,
            lines: Vec::new(),
            costs: Vec::new(),
        })
    }

    fn authentications(&self, nodes: &mut RowNodes<'_>) -> Result<RowEnd, LiveError> {
        for _ in 0..WARM_UP {
            nodes.authenticate(None)?;
        }
        nodes.all(&Ask::Forget)?;
        let mut end = RowEnd::default();
        while end.samples < self.plan.samples {
            if self.stop.load(Ordering::Relaxed) {
                end.stopped = true;
                break;
            }
            end.failed += u32::from(!nodes.authenticate(Some(end.samples))?);
            end.samples += 1;
            (self.progress)();
        }
        Ok(end)
    }

    /// Merges the logs of all processes.
    fn keep(
        &self,
        index: usize,
        end: RowEnd,
        nodes: RowNodes<'_>,
        keeper: &mut K::Keeper,
    ) -> Result<(), RunError> {
        let unreadable = |why: ReadError| LiveError::Notes(why.to_string());
        let mut notes = vec![Notes::of(nodes.lines)];
        for process in &nodes.processes {
            let file = self.testbed.folder(process.node())?.join(format!("{index:03}.lines"));
            notes.push(Notes::open(&file).map_err(unreadable)?);
        }
        let mut costs = nodes.costs.into_iter().peekable();
        for sample in 0..end.samples {
            let mut records = merge::sample(&mut notes, sample).map_err(unreadable)?;
            if let Some(initiator) = &nodes.initiator {
                merge::usable_after(initiator.last_message(), &mut records);
            }
            records.into_iter().for_each(|record| keeper.record(record));
            while let Some((_, cost)) = costs.next_if(|(of, _)| *of <= sample) {
                keeper.cost(cost);
            }
        }
        Ok(())
    }
}

/// All nodes of a row.
struct RowNodes<'p> {
    layout: Layout,
    processes: Vec<&'p mut Process>,
    daemons: Vec<(Node, Box<dyn Daemon>)>,
    /// The foreign daemon that initiates, if that node is not ours.
    initiator: Option<Box<dyn Initiator>>,
    origin_ns: u64,
    /// Our own log of that daemon.
    lines: Vec<Line>,
    /// With the number of their authentications.
    costs: Vec<(u32, Cost)>,
}

impl RowNodes<'_> {
    /// One authentication, from idle to idle nodes; returns whether an SA was established.
    fn authenticate(&mut self, sample: Option<u32>) -> Result<bool, LiveError> {
        self.all(&Ask::Begin(sample))?;
        let before = self.at_rest()?;
        let established = if self.initiator.is_some() { self.initiate(sample)? } else { self.go()? };
        let spent = self.spent()?;
        let after = self.at_rest()?;
        if let Some(sample) = sample {
            self.note(sample, established, &spent);
            self.note_daemons(sample, &before, &after);
        }
        self.close()?;
        Ok(established)
    }

    /// Sends the same request to all processes, and waits until all have answered.
    fn all(&mut self, ask: &Ask) -> Result<(), LiveError> {
        self.processes.iter_mut().try_for_each(|process| process.done(ask))
    }

    /// Makes our initiator reach for the other side.
    fn go(&mut self) -> Result<bool, LiveError> {
        let initiator = self.own_initiator()?;
        initiator.ask(&Ask::Go)?;
        match initiator.hear()? {
            Tell::Done => Ok(true),
            Tell::Failed => Ok(false),
            other => Err(initiator.trouble(&format!("it tells {other:?}"))),
        }
    }

    /// The process of the initiator.
    fn own_initiator(&mut self) -> Result<&mut Process, LiveError> {
        let begins = self.processes.iter_mut().find(|process| process.node() == self.layout.initiator);
        begins
            .map(|process| &mut **process)
            .ok_or_else(|| LiveError::Notes("a row whose initiator nobody is".to_owned()))
    }

    /// Makes a foreign daemon set up an SA, and waits for the result.
    fn initiate(&mut self, sample: Option<u32>) -> Result<bool, LiveError> {
        let Some(initiator) = &mut self.initiator else { return Ok(false) };
        let begun_ns = clock::monotonic_ns();
        let told = initiator.initiate(self.layout.goal);
        let ended_ns = clock::monotonic_ns();
        let established = told.is_ok();
        let outcome = match told {
            Ok(()) => Fact::Usable,
            Err(why) => Fact::Failed { why: why.into() },
        };
        if let Some(sample) = sample {
            for (at_ns, fact) in [(begun_ns, Fact::Triggered), (ended_ns, outcome)] {
                let (at_ns, what) = (at_ns - self.origin_ns, What::Fact(fact));
                self.lines.push(Line { sample, at_ns, node: self.layout.initiator, what });
            }
        }
        Ok(established)
    }

    /// The cost of the authentication at each of our nodes.
    fn spent(&mut self) -> Result<Vec<(Node, Spent)>, LiveError> {
        let each = |process: &mut &mut Process| {
            process.ask(&Ask::Spent)?;
            match process.hear()? {
                Tell::Spent(spent) => Ok((process.node(), spent)),
                other => Err(process.trouble(&format!("it tells {other:?}"))),
            }
        };
        self.processes.iter_mut().map(each).collect()
    }

    /// The CPU time of each foreign daemon, once all are idle.
    fn at_rest(&self) -> Result<Vec<Usage>, LiveError> {
        let mut seen = self.usages()?;
        for _ in 0..LOOKS_MAX {
            if self.daemons.is_empty() {
                break;
            }
            sleep(LOOK);
            let now = self.usages()?;
            let is_quiet = now.iter().zip(&seen).all(|(now, seen)| now.cpu_ns == seen.cpu_ns);
            seen = now;
            if is_quiet {
                break;
            }
        }
        Ok(seen)
    }

    fn usages(&self) -> Result<Vec<Usage>, LiveError> {
        let each = |(node, daemon): &(Node, Box<dyn Daemon>)| {
            let ended = || LiveError::Node { node: node.name(), why: "the program has ended".to_owned() };
            daemon.usage().ok_or_else(ended)
        };
        self.daemons.iter().map(each).collect()
    }

    fn note(&mut self, sample: u32, established: bool, spent: &[(Node, Spent)]) {
        for &(node, spent) in spent {
            let grown = u64::try_from(spent.heap_grown_bytes).ok();
            let cost = SampleCost {
                sample,
                node,
                cpu_ns: spent.cpu_ns,
                crypto_ns: spent.crypto_ns,
                heap_peak_bytes: spent.heap_peak_bytes,
                idle_sa_bytes: grown.filter(|_| established && self.layout.holds_sas(node)),
            };
            self.costs.push((sample, Cost::Sample(cost)));
        }
    }

    fn note_daemons(&mut self, sample: u32, before: &[Usage], after: &[Usage]) {
        for (((node, _), before), after) in self.daemons.iter().zip(before).zip(after) {
            let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns);
            let (node, resident_max_bytes) = (*node, after.resident_max_bytes);
            self.costs
                .push((sample, Cost::Foreign(ForeignCost { sample, node, cpu_ns, resident_max_bytes })));
        }
    }

    /// The device deletes its SA, and all nodes become idle.
    fn close(&mut self) -> Result<(), LiveError> {
        match &mut self.initiator {
            Some(initiator) => initiator.terminate(),
            None => self.own_initiator()?.done(&Ask::Close)?,
        }
        self.at_rest().map(drop)
    }

    /// Ends the logs of all processes, and keeps their crypto costs.
    fn end(&mut self, keeper: &mut impl Keeper, captured: impl Fn(Seized)) -> Result<(), LiveError> {
        for process in &mut self.processes {
            process.ask(&Ask::End)?;
            match process.hear()? {
                Tell::Ended(operations, seized) => {
                    let node = process.node();
                    seized.into_iter().for_each(&captured);
                    operations.into_iter().for_each(|of| keeper.cost(operation(node, of)));
                }
                other => return Err(process.trouble(&format!("it tells {other:?}"))),
            }
        }
        Ok(())
    }
}

fn operation(node: Node, of: Operation) -> Cost {
    let Operation { is_after, phase, operation, algorithm, count, ns, bytes } = of;
    let part = if is_after { Part::After } else { Part::Authentication };
    let (phase, operation, algorithm) = (phase.into(), operation.into(), algorithm.into());
    Cost::OperationIn(part, OperationCost { node, phase, operation, algorithm, count, ns, bytes })
}
