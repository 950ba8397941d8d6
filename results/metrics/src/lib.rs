//! From the records and costs of one row to one [`Sample`] per authentication, and their statistics.
//!
//! ```text
//! Record --\            +-- conclude --> Sample --> Tally (statistics of the row)
//!           Meter: open authentications       '---> sink (a file, or the rows that Samples keeps)
//! Cost ----/
//! ```
//!
//! Only authentications in progress are held, so memory does not grow with the length of a run. An
//! authentication is concluded `LINGER` samples after its outcome, when all its datagrams have long arrived; those without
//! outcome are concluded at the end of the row.

mod conclude;
mod cover;
mod failures;
mod ladder;
mod messages;
mod moves;
mod profiler;
mod sample;
pub mod stats;
mod tally;
pub mod times;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use keytoll_trace::{BlockCost, Cost, Fact, MoveCost, Node, Record, TrafficCost};

use conclude::Routes;
pub use failures::FailureTally;
pub use ladder::{Hop, Ladder};
pub use messages::{MessageKind, Messages};
pub use moves::{Move, MoveNodeTally, MoveTally};
pub use profiler::TIMER_HZ;
pub use sample::{LinkCount, NodeCost, Outcome, Profile, Sample, Split};
pub use tally::{NodeTally, Operation, ProfileTally, StepsTally, Tally};
pub use times::{Time, Times, TimesTally};
pub use traffic::{Traffic, TrafficLink, TrafficNode, TrafficNodeTally, TrafficTally};

/// An authentication with an outcome is concluded after this many later ones.
const LINGER: u32 = 64;

/// Beyond this many authentications in progress the oldest is concluded as unfinished.
const OPEN_MAX: usize = 65_536;

/// [`Samples`] keeps this many of the first authentications.
pub const KEPT_MAX: usize = 10_000;

/// The authentications of a row and their statistics.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// The first [`KEPT_MAX`], in the order in which they were concluded.
    pub kept: Vec<Sample>,
    /// The number that is only in the statistics.
    pub left_out: u64,
    /// Statistics over all of them.
    pub tally: Tally,
}

/// Measures a row and keeps its first [`KEPT_MAX`] authentications.
pub fn measure(records: impl IntoIterator<Item = Record>, costs: impl IntoIterator<Item = Cost>) -> Samples {
    let mut samples = Samples::default();
    let keep = |sample: &Sample| {
        if samples.kept.len() < KEPT_MAX {
            samples.kept.push(sample.clone());
        } else {
            samples.left_out += 1;
        }
    };
    let mut meter = Meter::new(keep);
    meter.feed(records, costs);
    let tally = meter.finish();
    Samples { tally, ..samples }
}

/// Processes the records and costs of a row as a stream and passes on authentications as they end.
///
/// `Authentications` does the work. It is not generic, so that this crate compiles and optimizes it, and callers need no optimization.
#[derive(Debug)]
pub struct Meter<S> {
    authentications: Authentications,
    sink: S,
}

/// What gets every concluded authentication.
type Sink<'a> = &'a mut dyn FnMut(&Sample);

/// The open authentications of a row, and the statistics of the concluded ones.
#[derive(Debug, Default)]
struct Authentications {
    open: BTreeMap<u32, Open>,
    /// The open authentications that have an outcome.
    ended: BTreeSet<u32>,
    /// Authentications with a lower number are concluded, except those without an outcome.
    closed_below: u32,
    newest: u32,
    routes: Routes,
    tally: Tally,
    spare: Vec<Vec<Record>>,
}

/// An authentication that may get more records.
#[derive(Debug, Default)]
struct Open {
    records: Vec<Record>,
    costs: BTreeMap<Node, NodeCost>,
    traffic_costs: BTreeMap<Node, TrafficCost>,
    move_costs: BTreeMap<Node, MoveCost>,
    block: Option<BlockCost>,
}

impl<S: FnMut(&Sample)> Meter<S> {
    /// An empty row; `sink` gets every authentication once.
    pub fn new(sink: S) -> Self {
        Self { authentications: Authentications::default(), sink }
    }

    /// Processes whole streams, with the costs of an authentication after its records.
    pub fn feed(&mut self, records: impl IntoIterator<Item = Record>, costs: impl IntoIterator<Item = Cost>) {
        self.authentications.feed(&mut records.into_iter(), &mut costs.into_iter(), &mut self.sink);
    }

    /// Takes the next record.
    pub fn record(&mut self, record: Record) {
        self.authentications.record(record, &mut self.sink);
    }

    /// Takes the next cost.
    pub fn cost(&mut self, cost: Cost) {
        self.authentications.cost(cost, &mut self.sink);
    }

    /// Concludes all open authentications and returns the statistics.
    pub fn finish(mut self) -> Tally {
        self.authentications.finish(&mut self.sink)
    }
}

impl Authentications {
    fn feed(
        &mut self,
        records: &mut dyn Iterator<Item = Record>,
        costs: &mut dyn Iterator<Item = Cost>,
        sink: Sink<'_>,
    ) {
        let mut early = None;
        for record in records {
            let sample = record.sample;
            self.record(record, sink);
            self.costs_until(sample, costs, &mut early, sink);
        }
        early.into_iter().chain(costs).for_each(|cost| self.cost(cost, sink));
    }

    fn record(&mut self, record: Record, sink: Sink<'_>) {
        if is_traffic_of_users(&record.fact) {
            return;
        }
        self.routes.learn(&record.fact);
        self.advance(record.sample, sink);
        let sample = record.sample;
        let ends = conclude::is_end(&record);
        let Some(open) = self.open_mut(sample) else {
            self.tally.late_records += 1;
            return;
        };
        open.records.push(record);
        if ends {
            self.ended.insert(sample);
        }
    }

    fn cost(&mut self, cost: Cost, sink: Sink<'_>) {
        match cost {
            Cost::Clock { profile_hz, .. } => self.tally.profile_hz.extend(profile_hz),
            Cost::Operation(cost) => self.tally.operations.push(Operation { part: None, cost }),
            Cost::OperationIn(part, cost) => {
                self.tally.operations.push(Operation { part: Some(part), cost });
            }
            Cost::Sample(cost) => self.node_cost(cost.sample, cost.node, NodeCost::of(&cost), sink),
            Cost::Foreign(cost) => self.node_cost(cost.sample, cost.node, NodeCost::of_foreign(&cost), sink),
            // The sums of its steps are in the sample's own cost.
            Cost::Step(_) => {}
            Cost::Traffic(cost) => self.traffic_cost(cost, sink),
            Cost::Move(cost) => self.move_cost(cost, sink),
            Cost::Block(cost) => self.block_cost(cost, sink),
            Cost::Stack(cost) => {
                self.tally.stack_peak_bytes.insert(cost.node, cost.peak_bytes);
            }
        }
    }

    fn finish(&mut self, sink: Sink<'_>) -> Tally {
        while let Some((&sample, _)) = self.open.first_key_value() {
            self.close(sample, sink);
        }
        std::mem::take(&mut self.tally)
    }

    fn node_cost(&mut self, sample: u32, node: Node, cost: NodeCost, sink: Sink<'_>) {
        self.advance(sample, sink);
        match self.open_mut(sample) {
            Some(open) => _ = open.costs.insert(node, cost),
            None => self.tally.late_records += 1,
        }
    }

    fn traffic_cost(&mut self, cost: TrafficCost, sink: Sink<'_>) {
        self.advance(cost.sample, sink);
        match self.open_mut(cost.sample) {
            Some(open) => _ = open.traffic_costs.insert(cost.node, cost),
            None => self.tally.late_records += 1,
        }
    }

    fn move_cost(&mut self, cost: MoveCost, sink: Sink<'_>) {
        self.advance(cost.sample, sink);
        match self.open_mut(cost.sample) {
            Some(open) => _ = open.move_costs.insert(cost.node, cost),
            None => self.tally.late_records += 1,
        }
    }

    fn block_cost(&mut self, cost: BlockCost, sink: Sink<'_>) {
        self.advance(cost.sample, sink);
        match self.open_mut(cost.sample) {
            Some(open) => open.block = Some(cost),
            None => self.tally.late_records += 1,
        }
    }

    /// The open authentication of that number; `None` if it was concluded before.
    fn open_mut(&mut self, sample: u32) -> Option<&mut Open> {
        if sample < self.closed_below && !self.open.contains_key(&sample) {
            return None;
        }
        let spare = &mut self.spare;
        let fresh = || Open { records: spare.pop().unwrap_or_default(), ..Open::default() };
        Some(self.open.entry(sample).or_insert_with(fresh))
    }

    /// A later authentication starts: concludes those that have lingered long enough.
    fn advance(&mut self, sample: u32, sink: Sink<'_>) {
        if sample <= self.newest {
            return;
        }
        self.newest = sample;
        self.closed_below = self.closed_below.max(sample.saturating_sub(LINGER));
        while let Some(&ended) = self.ended.first().filter(|&&ended| ended < self.closed_below) {
            self.close(ended, sink);
        }
        while self.open.len() >= OPEN_MAX {
            let (&oldest, _) = self.open.first_key_value().expect("OPEN_MAX is above zero");
            self.closed_below = self.closed_below.max(oldest + 1);
            self.close(oldest, sink);
        }
    }

    fn close(&mut self, number: u32, sink: Sink<'_>) {
        self.ended.remove(&number);
        let Some(mut open) = self.open.remove(&number) else { return };
        // Mostly they are: to look is cheaper than to sort.
        if !open.records.is_sorted_by_key(|record| record.at_ns) {
            // Records are long: their times are sorted, and each is moved once.
            open.records.sort_by_cached_key(|record| record.at_ns);
        }
        let concluded = conclude::conclude(number, &open.records, &self.routes, &mut self.tally);
        if let Some(sample) = concluded {
            let traffic = Traffic::of(&open.records, open.traffic_costs, &mut self.tally);
            let moved = Move::of(&open.records, open.move_costs);
            let sample = Sample { nodes: open.costs, traffic, moved, block: open.block, ..sample };
            self.tally.add(&sample);
            sink(&sample);
        }
        open.records.clear();
        self.spare.push(open.records);
    }

    /// Processes the costs up to and including `sample`; the first later one waits in `early`.
    fn costs_until(
        &mut self,
        sample: u32,
        costs: &mut dyn Iterator<Item = Cost>,
        early: &mut Option<Cost>,
        sink: Sink<'_>,
    ) {
        let is_later = |cost: &Cost| of_sample(cost).is_some_and(|of| of > sample);
        // A cost is hundreds of bytes: the one that waits stays in its place.
        while !early.as_ref().is_some_and(is_later) {
            match early.take().or_else(|| costs.next()) {
                Some(later) if is_later(&later) => *early = Some(later),
                Some(cost) => self.cost(cost, sink),
                None => return,
            }
        }
    }
}

/// The authentication that a cost belongs to, unless it concerns the whole row.
const fn of_sample(cost: &Cost) -> Option<u32> {
    match cost {
        Cost::Sample(cost) => Some(cost.sample),
        Cost::Foreign(cost) => Some(cost.sample),
        Cost::Step(cost) => Some(cost.sample),
        Cost::Traffic(cost) => Some(cost.sample),
        Cost::Move(cost) => Some(cost.sample),
        Cost::Block(cost) => Some(cost.sample),
        Cost::Clock { .. } | Cost::Operation(_) | Cost::OperationIn(..) | Cost::Stack(_) => None,
    }
}

/// User traffic is no part of an authentication and may be unlimited.
fn is_traffic_of_users(fact: &Fact) -> bool {
    let protocol = match fact {
        Fact::Sent(message) => message.protocol,
        Fact::Carried { protocol, .. } => *protocol,
        _ => return false,
    };
    protocol.is_traffic()
}

#[cfg(test)]
mod tests;
