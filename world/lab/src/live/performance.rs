//! A live run: row after row, authentication after authentication, one at a time on an otherwise idle machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use keytoll_daemons::Usage;
use keytoll_daemons::vici::Vici;
use keytoll_ike::v1::number::QUICK_MODE;
use keytoll_native::clock;
use keytoll_scenario::catalogue::Phase1;
use keytoll_scenario::plan::{Maker, Plan, RowPlan};
use keytoll_sim::Recorder;
use keytoll_trace::file::ReadError;
use keytoll_trace::{Cost, Fact, ForeignCost, Node, OperationCost, SampleCost};

use super::foreign::{self, CHILD, Guest, Score};
use super::line::{Line, What};
use super::merge::{self, Notes};
use super::message::{Ask, Operation, Spent, Tell};
use super::stage::{LiveError, NODES, Stage};
use super::troupe::Player;
use crate::capture::Seized;
use crate::credentials::Credentials;
use crate::keeper::Keeper;
use crate::row::{RowEnd, Stop, WARM_UP, has_sas, row_seed};
use crate::run::{Keepers, RunError};

/// Between two looks at whether other makers' programs have come to rest.
const LOOK: Duration = Duration::from_millis(2);
/// Some never do.
const LOOKS_MAX: u32 = 100;

/// What is true of every live row.
const NOTE: &str = "Live world, every node a process of its own on this machine; cpu is that of the node's thread, system \
                    calls, the emulation of its links and the notes it takes of datagrams included. The device closes its SA as soon as it is measured, and ESP travels in UDP";
const NOTE_LOOPBACK: &str = "Live on 127.0.0.0/8, with IPv4 and ports of the system's choice, because only root may make \
                             network namespaces";

const NOTE_UNSEEN: &str = "What other makers' programs say to each other is not seen: the link between them is absent and not emulated";

/// Seen in charon's log: `ignoring QUICK_MODE request while phase 1 is incomplete`.
const NOTE_RACE: &str = "Aggressive mode's last message and quick mode's first leave one after the other, and charon 5.9.8 \
                         drops the second if one of its threads has it before another is done with the first: then the \
                         device waits for its retransmission";

const NOTE_CAPTURED: &str =
    "Captured while it was measured: cpu, heap and delays contain the writing of the captures";

/// Refuses a plan with other makers' programs that are not there.
pub(crate) fn refuse(plan: &Plan) -> Result<(), RunError> {
    plan.rows.iter().try_for_each(foreign::check).map_err(LiveError::from)?;
    Ok(())
}

/// Runs every row of a plan; gives how each ended, in the order of the plan.
pub(crate) fn run<K: Keepers>(
    plan: &Plan,
    keepers: &K,
    progress: &(dyn Fn() + Sync),
    stop: &Stop,
) -> Result<Vec<Option<RowEnd>>, RunError> {
    let stage = Stage::build(plan)?;
    let origin_ns = clock::monotonic_ns();
    let captures = keepers.capturing().map(|(path, samples_max)| (absolute(path), samples_max));
    let start = |node| Player::start(plan, node, &stage, origin_ns, captures.clone());
    let mut players = ours(plan).into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let credentials = Credentials::prepare(plan);
    let house = House { plan, credentials, origin_ns, stage: &stage, keepers, progress, stop };
    let mut ends = vec![None; plan.rows.len()];
    for (index, row) in plan.rows.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        ends[index] = Some(house.row(&mut players, index, row)?);
    }
    Ok(ends)
}

/// Our processes may be started elsewhere.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The nodes that are ours in some row.
fn ours(plan: &Plan) -> Vec<Node> {
    let plays = |node: &Node| plan.rows.iter().any(|row| is_ours(row, *node));
    NODES.into_iter().filter(plays).collect()
}

/// Whether one of our processes is a node of a row. Other makers' AAA servers bring their own vectors.
fn is_ours(row: &RowPlan, node: Node) -> bool {
    let maker = row.options.makers.of(if node == Node::Hss { Node::Aaa } else { node });
    !maker.is_foreign() && row.topology.nodes(row.method).contains(&node)
}

/// What a reader of a row must know.
fn notes<'a>(row: &RowPlan, stage: &Stage) -> impl Iterator<Item = &'a str> {
    let makers = row.options.makers;
    let ground = if stage.is_loopback() { NOTE_LOOPBACK } else { "" };
    let ike = if makers.ue.is_foreign() { makers.ue } else { makers.gw };
    let is_unseen = makers.gw.is_foreign() && (makers.ue.is_foreign() || makers.aaa.is_foreign());
    let unseen = if is_unseen { NOTE_UNSEEN } else { "" };
    let can_race = makers.gw == Maker::StrongSwan && row.method.phase1() == Some(Phase1::Aggressive);
    let race = if can_race { NOTE_RACE } else { "" };
    [NOTE, ground, foreign::note(ike), foreign::note(makers.aaa), unseen, race]
        .into_iter()
        .filter(|note| !note.is_empty())
}

/// What all rows have in common.
struct House<'a, K> {
    plan: &'a Plan,
    credentials: Credentials,
    origin_ns: u64,
    stage: &'a Stage,
    keepers: &'a K,
    progress: &'a (dyn Fn() + Sync),
    stop: &'a Stop,
}

impl<K: Keepers> House<'_, K> {
    fn row(&self, players: &mut [Player], index: usize, row: &RowPlan) -> Result<RowEnd, RunError> {
        notes(row, self.stage).for_each(|note| self.keepers.note(index, note));
        if self.keepers.capturing().is_some() {
            self.keepers.note(index, NOTE_CAPTURED);
        }
        let mut keeper = self.keepers.begin(index, row)?;
        keeper.cost(Cost::Clock {
            ticks_hz: clock::ticks_hz(),
            profile_hz: NODES.map(|node| (node, clock::core_hz())).to_vec(),
        });
        let mut cast = self.cast(players, index, row)?;
        let end = self.authentications(&mut cast)?;
        cast.end(&mut keeper, |captured| self.keepers.captured(captured))?;
        self.keep(index, end, cast, &mut keeper)?;
        self.keepers.end(index, keeper, end)?;
        Ok(end)
    }

    /// Everybody of a row in their places: first whoever answers, last the device.
    fn cast<'p>(
        &self,
        players: &'p mut [Player],
        index: usize,
        row: &RowPlan,
    ) -> Result<Cast<'p>, LiveError> {
        let (seed, sites) = (row_seed(self.plan, row), self.stage.ground.sites(&row.options));
        let score = Score { row, seed: &seed, sites: &sites, credentials: &self.credentials };
        let mut players: Vec<_> = players.iter_mut().filter(|player| is_ours(row, player.node())).collect();
        let mut guests = Vec::new();
        for node in NODES.into_iter().rev() {
            if let Some(player) = players.iter_mut().find(|player| player.node() == node) {
                player.done(&Ask::Row(index))?;
            } else if row.options.makers.of(node).is_foreign()
                && row.topology.nodes(row.method).contains(&node)
            {
                guests.push(score.start(node, self.stage)?);
            }
        }
        let device = guests.iter().find_map(|guest| guest.device());
        let vici = device.map(keytoll_daemons::Charon::vici).transpose()?;
        let (childless, origin_ns) = (row.options.childless, self.origin_ns);
        Ok(Cast { players, guests, vici, childless, origin_ns, lines: Vec::new(), costs: Vec::new() })
    }

    fn authentications(&self, cast: &mut Cast<'_>) -> Result<RowEnd, LiveError> {
        for _ in 0..WARM_UP {
            cast.authenticate(None)?;
        }
        cast.all(&Ask::Forget)?;
        let mut end = RowEnd::default();
        while end.samples < self.plan.samples {
            if self.stop.load(Ordering::Relaxed) {
                end.stopped = true;
                break;
            }
            end.failed += u32::from(!cast.authenticate(Some(end.samples))?);
            end.samples += 1;
            (self.progress)();
        }
        Ok(end)
    }

    /// Puts together what all processes noted.
    fn keep(
        &self,
        index: usize,
        end: RowEnd,
        cast: Cast<'_>,
        keeper: &mut K::Keeper,
    ) -> Result<(), RunError> {
        let unreadable = |why: ReadError| LiveError::Notes(why.to_string());
        let mut notes = vec![Notes::of(cast.lines)];
        for player in &cast.players {
            let file = self.stage.folder(player.node())?.join(format!("{index:03}.lines"));
            notes.push(Notes::open(&file).map_err(unreadable)?);
        }
        let mut costs = cast.costs.into_iter().peekable();
        for sample in 0..end.samples {
            let mut records = merge::sample(&mut notes, sample).map_err(unreadable)?;
            if cast.vici.is_some() {
                merge::usable_after(QUICK_MODE.0, &mut records);
            }
            records.into_iter().for_each(|record| keeper.record(record));
            while let Some((_, cost)) = costs.next_if(|(of, _)| *of <= sample) {
                keeper.cost(cost);
            }
        }
        Ok(())
    }
}

/// Everybody of a row.
struct Cast<'p> {
    players: Vec<&'p mut Player>,
    guests: Vec<Guest>,
    /// How a device that is not ours is told to begin.
    vici: Option<Vici>,
    childless: bool,
    origin_ns: u64,
    /// What we note ourselves of such a device.
    lines: Vec<Line>,
    /// With the authentication that each belongs to.
    costs: Vec<(u32, Cost)>,
}

impl Cast<'_> {
    /// One authentication from an idle beginning to an idle end; whether there was an SA.
    fn authenticate(&mut self, sample: Option<u32>) -> Result<bool, LiveError> {
        self.all(&Ask::Begin(sample))?;
        let before = self.at_rest()?;
        let established = if self.vici.is_some() { self.initiate(sample)? } else { self.go()? };
        let spent = self.spent()?;
        let after = self.at_rest()?;
        if let Some(sample) = sample {
            self.book(sample, established, &spent);
            self.book_guests(sample, &before, &after);
        }
        self.close()?;
        Ok(established)
    }

    /// Asks all of ours for the same, and waits until all have done it.
    fn all(&mut self, ask: &Ask) -> Result<(), LiveError> {
        self.players.iter_mut().try_for_each(|player| player.done(ask))
    }

    /// Our device wants to reach the gateway.
    fn go(&mut self) -> Result<bool, LiveError> {
        let device = self.device()?;
        device.ask(&Ask::Go)?;
        match device.hear()? {
            Tell::Done => Ok(true),
            Tell::Failed => Ok(false),
            other => Err(device.trouble(&format!("it tells {other:?}"))),
        }
    }

    fn device(&mut self) -> Result<&mut Player, LiveError> {
        let device = self.players.iter_mut().find(|player| player.node() == Node::Ue);
        device
            .map(|player| &mut **player)
            .ok_or_else(|| LiveError::Notes("a row without a device".to_owned()))
    }

    /// A device that is not ours is told to set up an SA, and tells when it has one.
    fn initiate(&mut self, sample: Option<u32>) -> Result<bool, LiveError> {
        let what = if self.childless { ("ike", "c") } else { ("child", CHILD) };
        let Some(vici) = &mut self.vici else { return Ok(false) };
        let begun_ns = clock::monotonic_ns();
        let told = vici.run("initiate", &[what, ("timeout", "600000"), ("loglevel", "-1")]);
        let ended_ns = clock::monotonic_ns();
        let established = told.is_ok();
        let outcome = match told {
            Ok(()) => Fact::Usable,
            Err(why) => Fact::Failed { why: why.to_string().into() },
        };
        if let Some(sample) = sample {
            for (at_ns, fact) in [(begun_ns, Fact::Triggered), (ended_ns, outcome)] {
                let (at_ns, what) = (at_ns - self.origin_ns, What::Fact(fact));
                self.lines.push(Line { sample, at_ns, node: Node::Ue, what });
            }
        }
        Ok(established)
    }

    /// What the authentication has cost each of ours.
    fn spent(&mut self) -> Result<Vec<(Node, Spent)>, LiveError> {
        let each = |player: &mut &mut Player| {
            player.ask(&Ask::Spent)?;
            match player.hear()? {
                Tell::Spent(spent) => Ok((player.node(), spent)),
                other => Err(player.trouble(&format!("it tells {other:?}"))),
            }
        };
        self.players.iter_mut().map(each).collect()
    }

    /// The CPU time of each guest, once none of them is busy any more.
    fn at_rest(&self) -> Result<Vec<Usage>, LiveError> {
        let mut seen = self.usages()?;
        for _ in 0..LOOKS_MAX {
            if self.guests.is_empty() {
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
        let each = |guest: &Guest| guest.usage().ok_or_else(|| guest.gone());
        self.guests.iter().map(each).collect()
    }

    fn book(&mut self, sample: u32, established: bool, spent: &[(Node, Spent)]) {
        for &(node, spent) in spent {
            let grown = u64::try_from(spent.heap_grown_bytes).ok();
            let cost = SampleCost {
                sample,
                node,
                cpu_ns: spent.cpu_ns,
                crypto_ns: spent.crypto_ns,
                heap_peak_bytes: spent.heap_peak_bytes,
                idle_sa_bytes: grown.filter(|_| established && has_sas(node)),
            };
            self.costs.push((sample, Cost::Sample(cost)));
        }
    }

    fn book_guests(&mut self, sample: u32, before: &[Usage], after: &[Usage]) {
        for ((guest, before), after) in self.guests.iter().zip(before).zip(after) {
            let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns);
            let (node, resident_max_bytes) = (guest.node, after.resident_max_bytes);
            self.costs
                .push((sample, Cost::Foreign(ForeignCost { sample, node, cpu_ns, resident_max_bytes })));
        }
    }

    /// The device closes its SA, and everybody comes to rest.
    fn close(&mut self) -> Result<(), LiveError> {
        match &mut self.vici {
            // What came of it when it failed, an IKE SA without child for one, must not be left to the next; and where there
            // is nothing, that is no failure.
            Some(vici) => {
                let _ = vici.run("terminate", &[("ike", "c"), ("timeout", "20000"), ("loglevel", "-1")]);
            }
            None => self.device()?.done(&Ask::Close)?,
        }
        self.at_rest().map(drop)
    }

    /// Ends the notes of all of ours; keeps what their crypto cost.
    fn end(&mut self, keeper: &mut impl Keeper, captured: impl Fn(Seized)) -> Result<(), LiveError> {
        for player in &mut self.players {
            player.ask(&Ask::End)?;
            match player.hear()? {
                Tell::Ended(operations, seized) => {
                    let node = player.node();
                    seized.into_iter().for_each(&captured);
                    operations.into_iter().for_each(|of| keeper.cost(Cost::Operation(operation(node, of))));
                }
                other => return Err(player.trouble(&format!("it tells {other:?}"))),
            }
        }
        Ok(())
    }
}

fn operation(node: Node, of: Operation) -> OperationCost {
    let Operation { phase, operation, algorithm, count, ns, bytes } = of;
    let (phase, operation, algorithm) = (phase.into(), operation.into(), algorithm.into());
    OperationCost { node, phase, operation, algorithm, count, ns, bytes }
}
