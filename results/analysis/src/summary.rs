//! `summary.json`: the public, versioned results of a run. Fields are only ever added.
//!
//! Unknown values are absent, never zero: a node that was not measured, the spread of a single sample,
//! the delay of a row in which no authentication succeeded.
//!
//! `n` counts all authentications of the row. Delays are over the successful ones; links and CPU over all n, failed ones
//! included. Authentications during which the measuring process lost the CPU (`disturbed`) are excluded from the
//! CPU figures, and from the delays where computation is charged to virtual time; the `n` beside a mean tells how many remain.

mod file;
mod load;
mod moves;
mod operations;
mod steps;
mod traffic;

use std::collections::BTreeMap;

use keytoll_census::{Account, PopulationSummary};
use keytoll_trace::manifest::{Manifest, ManifestRow};
use keytoll_trace::provenance::Provenance;
use keytoll_trace::{Node, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Named;
use crate::beside::{Beside, beside};
use crate::metrics::times::{
    COMPUTATION, DELAY, FAILED_AFTER, FIRST_PACKET, NETWORK, Time, WAITED_FOR_LOST, WAITING,
    WAITING_FOR_REPEATS,
};
use crate::metrics::{LinkCount, NodeTally, ProfileTally, TIMER_HZ, Tally, TimesTally};
use crate::stats::{Distribution, interval95};
pub use file::{ContentError, ReadError, parse, read, write};
pub use load::{
    Concern, Generator, LateStarts, LoadCondition, LoadOutcome, LoadSummary, LoadVerdict, OperationCount,
    TargetUsage, WakeCount,
};
pub use moves::{MoveCpu, MovesSummary};
pub use operations::OperationMean;
pub use steps::StepsSummary;
pub use traffic::{Measure, Times, TrafficNodeSummary, TrafficPackets, TrafficSummary};

/// The format of [`Summary`].
pub const FORMAT: u32 = 1;

/// The value of network, topology, world and crypto in a row of a capture, where they are unknown.
pub const CAPTURED: &str = "captured";
/// The world of real sockets.
pub const LIVE: &str = "live";

/// The whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The version of this interface.
    pub format: u32,
    /// The title of the scenario.
    pub title: String,
    /// The seed as text, because JavaScript loses the low bits of 64-bit numbers. Empty if nothing was random.
    pub seed: String,
    /// False if the run was interrupted, or a row has fewer authentications than planned.
    pub complete: bool,
    /// Version, arguments, time and machine of the measurement, from the run's `manifest.json`; absent in files from before this
    /// was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The rows, in the order of the plan.
    pub rows: Vec<SummaryRow>,
    /// Our nodes compared with other makers' programs; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

/// One method over one network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SummaryRow {
    /// The method's name in the catalogue.
    pub method: String,
    /// The options that differ from the method's default.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// `sim`, `live` or `captured`.
    pub world: String,
    /// `real`, `openssl`, `null`, `table` or `captured`.
    pub crypto: String,
    /// Authentications measured.
    pub n: u64,
    /// Those that ended with a usable SA.
    pub succeeded: u64,
    /// The failed ones by `node: reason`, where the node is the one that detected the failure.
    pub failures: BTreeMap<String, u64>,
    /// From the trigger until the device knew that it had failed, over the failed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_after_ms: Option<Delay>,
    /// From the trigger to a usable SA, over the successful ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Delay>,
    /// How the delay divides, as means over the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_split_ms: Option<DelaySplit>,
    /// The same as medians of each part: they need not add up to the median of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_split_p50_ms: Option<SplitMedians>,
    /// How long retransmission timers ran in successful authentications that retransmitted because a packet was lost; absent if there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_for_lost_ms: Option<Delay>,
    /// Time without datagrams in flight or computation until a retransmission, over all successful authentications; absent if there
    /// was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for_repeats_ms: Option<Delay>,
    /// Traffic on each link, means over all n.
    pub links: Named<LinkMeans>,
    /// CPU costs of each node, means over all n that were not disturbed.
    pub cpu: Named<Cpu>,
    /// Heap of each node.
    pub memory_bytes: Named<Memory>,
    /// From the trigger until the packet that caused it came back through the SA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_packet_ms: Option<Delay>,
    /// Traffic outside the authentication (deletes, liveness, rekeying, RADIUS accounting), means over all n.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<LinkMeans>,
    /// Discarded messages by `protocol: reason`, total.
    pub discards: BTreeMap<String, u64>,
    /// Authentications during which the measuring process lost the CPU.
    pub disturbed: u64,
    /// Whether computation takes virtual time.
    pub charged: bool,
    /// The planned number of authentications.
    pub planned: u64,
    /// Notes for readers of this row.
    pub notes: Vec<String>,
    /// User traffic after the SAs were set up; absent if none was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSummary>,
    /// Moves of the device to another address; absent if it stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<MovesSummary>,
    /// What became of the devices of a population, of which `n` are the attempts; absent if one device authenticated again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<PopulationSummary>,
    /// What a load of a real target tells besides its population; absent in the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSummary>,
    /// The crypto operations of each node, means over all n; absent for other makers' programs, and in captures.
    #[serde(default, skip_serializing_if = "operations::is_empty")]
    pub operations: Named<Vec<OperationMean>>,
    /// The inputs that took each node time; absent where computation is not charged, and in files from before they were counted.
    #[serde(default, skip_serializing_if = "steps::is_empty")]
    pub steps: Named<StepsSummary>,
}

/// A distribution of delays in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Delay {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower end of the 95 % two-sided Student-t interval of the mean; absent below two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_high: Option<f64>,
    /// Least.
    pub min: f64,
    /// 5th percentile.
    #[serde(default)]
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// Lower end of the distribution-free 95 % interval of the median; absent below six values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_high: Option<f64>,
    /// How many blocks of the run the authentications are from; absent where rows are not measured in turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Lower end of the 95 % interval of the blocks' medians (Student's t, trimmed from ten blocks on); absent below three blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_blocks_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_blocks_ci95_high: Option<f64>,
    /// 95th percentile.
    pub p95: f64,
    /// Lower end of its distribution-free 95 % interval; absent below 72 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci95_high: Option<f64>,
    /// 99th percentile.
    pub p99: f64,
    /// Lower end of its distribution-free 95 % interval; absent below 368 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci95_high: Option<f64>,
    /// Greatest.
    pub max: f64,
    /// Standard deviation of the sample; absent below two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// How many values this is over.
    pub n: u64,
}

impl Delay {
    /// The median with its interval.
    /// The ends of the interval of the 95th percentile, if it has one.
    pub fn p95_interval(&self) -> Option<[f64; 2]> {
        self.p95_ci95_low.zip(self.p95_ci95_high).map(|(low, high)| [low, high])
    }

    /// The ends of the interval of the 99th percentile, if it has one.
    pub fn p99_interval(&self) -> Option<[f64; 2]> {
        self.p99_ci95_low.zip(self.p99_ci95_high).map(|(low, high)| [low, high])
    }

    /// The median with its distribution-free interval.
    pub fn median(&self) -> Median {
        Median { value: self.p50, interval: self.p50_ci95_low.zip(self.p50_ci95_high) }
    }

    /// The median with the interval of the blocks, which includes it, where there are enough blocks: the computation in delays of one block
    /// is slow or fast together, so that these are not independent.
    pub fn median_of_blocks(&self) -> Median {
        let of_blocks = self.p50_blocks_ci95_low.zip(self.p50_blocks_ci95_high);
        let interval = of_blocks.map(|(low, high)| (low.min(self.p50), high.max(self.p50)));
        Median { interval: interval.or(self.median().interval), ..self.median() }
    }
}

/// A median and its distribution-free 95 % interval, which is unknown below six values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
}

impl Median {
    /// The same in another unit.
    pub fn times(self, factor: f64) -> Self {
        let interval = self.interval.map(|(low, high)| (low * factor, high * factor));
        Self { value: self.value * factor, interval }
    }
}

/// Medians of the parts of the delay in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitMedians {
    /// Datagrams were in flight.
    pub network: f64,
    /// Nodes were computing, and no datagram was in flight.
    pub computation: f64,
    /// Neither.
    pub waiting: f64,
}

/// The parts of the delay in milliseconds; they add up to its mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelaySplit {
    /// Datagrams were in flight.
    pub network: f64,
    /// Nodes were computing, and no datagram was in flight.
    pub computation: f64,
    /// Neither.
    pub waiting: f64,
    /// `computation` per node.
    pub computation_by_node: Named<f64>,
}

/// Traffic on a link, means per authentication.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkMeans {
    /// Protocol messages, without retransmissions.
    pub messages: f64,
    /// IP packets after fragmentation, retransmissions included.
    pub packets: f64,
    /// Bytes of these packets including all headers.
    pub bytes: f64,
    /// Messages sent again.
    pub retransmissions: f64,
    /// Packets lost, damaged, or dropped by a full queue.
    pub lost_packets: f64,
}

/// The CPU cost of an authentication at a node.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// CPU time of this machine in nanoseconds, mean.
    pub ns: f64,
    /// Its 5th percentile.
    #[serde(default)]
    pub ns_p5: f64,
    /// Its median.
    #[serde(default)]
    pub ns_p50: f64,
    /// Lower end of the distribution-free 95 % interval of the median; absent below six values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_p50_ci95_high: Option<f64>,
    /// How many blocks of the run the authentications are from; absent where rows are not measured in turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Lower end of the 95 % interval of the blocks' medians (Student's t, trimmed from ten blocks on); absent below three blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_blocks_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_blocks_ci95_high: Option<f64>,
    /// Its 95th percentile.
    #[serde(default)]
    pub ns_p95: f64,
    /// `ns` in cycles of the node's CPU profile; absent if its frequency is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// `ns_p50` in such cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_p50: Option<f64>,
    /// The part of `ns` spent in crypto operations; absent for foreign daemons, which do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_ns: Option<f64>,
    /// Median of the time spent in crypto operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_ns_p50: Option<f64>,
    /// Lower end of the 95 % interval of `ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_ci95_high: Option<f64>,
    /// The number of authentications.
    pub n: u64,
    /// The estimate of a sampling profiler; absent where computation is not charged to virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledCpu>,
}

impl Cpu {
    /// Half the width of the interval of `cycles_p50`: of the blocks' medians where there are enough blocks, because authentications of
    /// one block are not independent.
    pub fn cycles_p50_half_width(&self) -> Option<f64> {
        let of_blocks = self.ns_blocks_ci95_low.zip(self.ns_blocks_ci95_high);
        let (low, high) = of_blocks.or(self.ns_p50_ci95_low.zip(self.ns_p50_ci95_high))?;
        let half_ns = (high - low) / 2.0;
        (self.ns_p50 > 0.0).then_some(half_ns * self.cycles_p50? / self.ns_p50)
    }

    /// The median with its interval, in nanoseconds.
    pub fn median(&self) -> Median {
        Median { value: self.ns_p50, interval: self.ns_p50_ci95_low.zip(self.ns_p50_ci95_high) }
    }
}

/// Cycles of an authentication as a sampling profiler estimates them in virtual time. Equation (1) of Faigl 2009 (`keytoll list papers`):
/// C = S · f_CPU ÷ (n · f_timer), where S is how often the timer found the node computing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledCpu {
    /// C.
    pub cycles: f64,
    /// Lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles_ci95_high: Option<f64>,
    /// S.
    pub hits: u64,
    /// n.
    pub n: u64,
    /// f_CPU: the clock of the node's CPU profile.
    pub cpu_hz: f64,
    /// f_timer.
    pub timer_hz: f64,
}

impl SampledCpu {
    /// Half the width of the interval of `cycles`.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.cycles_ci95_high? - self.cycles_ci95_low?) / 2.0)
    }
}

/// Memory of a node in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Maximum use of heap during initialisation and the first authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
    /// Maximum depth of the stack in the first authentication. Absent where computation is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_peak: Option<u64>,
    /// Memory of an idle SA pair, median: a table that grows in one authentication is not its doing. Absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_sa: Option<f64>,
    /// Maximum resident memory of another maker's program, code included; absent for our own nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_max: Option<u64>,
}

/// Summarises a run: one row of the summary for each row of the manifest that has statistics.
pub fn summarise<'a>(
    manifest: &Manifest,
    rows: impl IntoIterator<Item = (&'a ManifestRow, &'a Tally)>,
) -> Summary {
    let rows: Vec<_> = rows.into_iter().map(|(row, tally)| summarise_row(row, tally)).collect();
    Summary {
        format: FORMAT,
        title: manifest.title.clone(),
        seed: manifest.seed.clone(),
        provenance: Some(manifest.provenance.clone()),
        complete: manifest.complete && rows.len() == manifest.rows.len() && rows.iter().all(is_whole),
        beside: beside(&rows),
        rows,
    }
}

/// Summarises a row with a population.
pub fn summarise_population(row: &ManifestRow, account: &Account) -> SummaryRow {
    let population = &account.summary;
    SummaryRow {
        n: population.offered,
        succeeded: population.established,
        failures: population.failures.clone(),
        charged: row.world == SIM && row.crypto != "null",
        planned: population.offered,
        population: Some(population.clone()),
        notes: row.notes.clone(),
        after: None,
        ..summarise_row(row, &Tally::default())
    }
}

/// Whether a row has as many authentications as planned.
fn is_whole(row: &SummaryRow) -> bool {
    row.n >= row.planned
}

/// Summarises one row.
pub fn summarise_row(row: &ManifestRow, tally: &Tally) -> SummaryRow {
    SummaryRow {
        method: row.method.clone(),
        variant: row.variant.clone(),
        network: row.network.clone(),
        topology: row.topology.clone(),
        world: row.world.clone(),
        crypto: row.crypto.clone(),
        n: tally.n,
        succeeded: tally.established,
        failures: tally.failures.clone(),
        failed_after_ms: delay(tally.times.get(&FAILED_AFTER)),
        delay_ms: delay_in_blocks(&tally.times, &DELAY),
        delay_split_ms: delay_split(tally),
        delay_split_p50_ms: split_medians(tally),
        waited_for_lost_ms: delay(tally.times.get(&WAITED_FOR_LOST)),
        waiting_for_repeats_ms: delay(tally.times.get(&WAITING_FOR_REPEATS)).filter(|wait| wait.max > 0.0),
        links: tally.links.iter().map(|(link, total)| (link.name(), means(total, tally.n))).collect(),
        cpu: tally
            .nodes
            .iter()
            .filter_map(|(&node, costs)| Some((name(node), cpu(node, costs, row, tally)?)))
            .collect(),
        memory_bytes: tally
            .nodes
            .iter()
            .map(|(node, costs)| (name(*node), memory(costs, tally.stack_peak_bytes.get(node))))
            .collect(),
        first_packet_ms: delay_in_blocks(&tally.times, &FIRST_PACKET),
        after: (tally.n > 0).then(|| means(&tally.after, tally.n)),
        discards: discards(tally),
        disturbed: tally.disturbed,
        charged: tally.charged && row.world == SIM,
        planned: row.samples_planned.into(),
        population: None,
        load: None,
        notes: notes(row, tally),
        traffic: tally.traffic.as_ref().map(traffic::traffic),
        moves: tally.moves.as_ref().map(moves::moves),
        operations: operations::operations(tally),
        steps: steps::steps(tally),
    }
}

fn name(node: Node) -> String {
    node.name().to_owned()
}

const NS_PER_MS: f64 = 1e6;

/// The world with virtual time, to which computation can be charged.
const SIM: &str = "sim";

fn delay(values: &Distribution) -> Option<Delay> {
    let moments = values.moments();
    let interval = values.interval95();
    let ends = |share: f64| {
        let interval = values.quantile_interval95(share);
        [interval.map(|it| it.low / NS_PER_MS), interval.map(|it| it.high / NS_PER_MS)]
    };
    let [[p50_ci95_low, p50_ci95_high], [p95_ci95_low, p95_ci95_high], [p99_ci95_low, p99_ci95_high]] =
        [0.50, 0.95, 0.99].map(ends);
    let [p5, p50, p95, p99] = values.quantiles([0.05, 0.50, 0.95, 0.99])?.map(|ns| ns / NS_PER_MS);
    Some(Delay {
        mean: moments.mean()? / NS_PER_MS,
        ci95_low: interval.map(|interval| interval.low / NS_PER_MS),
        ci95_high: interval.map(|interval| interval.high / NS_PER_MS),
        min: moments.min()? / NS_PER_MS,
        p5,
        p50,
        p50_ci95_low,
        p50_ci95_high,
        blocks: None,
        p50_blocks_ci95_low: None,
        p50_blocks_ci95_high: None,
        p95,
        p95_ci95_low,
        p95_ci95_high,
        p99,
        p99_ci95_low,
        p99_ci95_high,
        max: moments.max()? / NS_PER_MS,
        stddev: moments.stddev().map(|ns| ns / NS_PER_MS),
        n: moments.n(),
    })
}

/// A time that may contain computation.
fn delay_in_blocks(times: &TimesTally, time: &Time) -> Option<Delay> {
    let blocks = times.of_blocks(time);
    let interval = blocks.median_interval95();
    Some(Delay {
        blocks: Some(blocks.count()).filter(|&count| count > 0),
        p50_blocks_ci95_low: interval.map(|interval| interval.low / NS_PER_MS),
        p50_blocks_ci95_high: interval.map(|interval| interval.high / NS_PER_MS),
        ..delay(times.get(time))?
    })
}

fn delay_split(tally: &Tally) -> Option<DelaySplit> {
    let mean_ms = |time| Some(tally.times.get(time).moments().mean()? / NS_PER_MS);
    let n = tally.times.get(&COMPUTATION).moments().n() as f64;
    let per_node = tally.computation_by_node_ns.iter();
    Some(DelaySplit {
        network: mean_ms(&NETWORK)?,
        computation: mean_ms(&COMPUTATION)?,
        waiting: mean_ms(&WAITING)?,
        computation_by_node: per_node.map(|(&node, &ns)| (name(node), ns as f64 / n / NS_PER_MS)).collect(),
    })
}

fn split_medians(tally: &Tally) -> Option<SplitMedians> {
    let median_ms = |time| Some(tally.times.get(time).quantiles([0.5])?[0] / NS_PER_MS);
    Some(SplitMedians {
        network: median_ms(&NETWORK)?,
        computation: median_ms(&COMPUTATION)?,
        waiting: median_ms(&WAITING)?,
    })
}

fn means(total: &LinkCount, n: u64) -> LinkMeans {
    let mean = |total: u64| total as f64 / n as f64;
    LinkMeans {
        messages: mean(total.messages),
        packets: mean(total.packets),
        bytes: mean(total.bytes),
        retransmissions: mean(total.retransmissions),
        lost_packets: mean(total.lost_packets),
    }
}

fn cpu(node: Node, costs: &NodeTally, row: &ManifestRow, tally: &Tally) -> Option<Cpu> {
    let ns = costs.cpu_ns.moments().mean()?;
    let (interval, of_median) = (costs.cpu_ns.interval95(), costs.cpu_ns.quantile_interval95(0.5));
    let (blocks, of_blocks) = (costs.cpu_blocks_ns.count(), costs.cpu_blocks_ns.median_interval95());
    let [ns_p5, ns_p50, ns_p95] = costs.cpu_ns.quantiles([0.05, 0.5, 0.95])?;
    let in_cycles = |ns: f64| Some(ns * 1e-9 * tally.profile_hz.get(&node)?);
    let cycles = in_cycles(ns);
    Some(Cpu {
        ns,
        ns_p5,
        ns_p50,
        ns_p50_ci95_low: of_median.map(|interval| interval.low),
        ns_p50_ci95_high: of_median.map(|interval| interval.high),
        blocks: (blocks > 0).then_some(blocks),
        ns_blocks_ci95_low: of_blocks.map(|interval| interval.low),
        ns_blocks_ci95_high: of_blocks.map(|interval| interval.high),
        ns_p95,
        cycles,
        cycles_p50: in_cycles(ns_p50),
        crypto_ns: costs.crypto_ns.moments().mean(),
        crypto_ns_p50: costs.crypto_ns.quantiles([0.5]).map(|[median]| median),
        ns_ci95_low: interval.map(|interval| interval.low),
        ns_ci95_high: interval.map(|interval| interval.high),
        n: costs.cpu_ns.moments().n(),
        sampled: cycles
            .filter(|_| row.world == SIM)
            .and_then(|cycles| sampled(cycles, tally.profiles.get(&node)?)),
    })
}

/// The profile's clock is not recorded, but follows from these cycles and the charged time.
fn sampled(cycles: f64, profile: &ProfileTally) -> Option<SampledCpu> {
    let busy_ns = profile.busy_ns.mean().filter(|&busy_ns| busy_ns > 0.0)?;
    let (cpu_hz, timer_hz) = (cycles / (busy_ns * 1e-9), TIMER_HZ as f64);
    let cycles = |hits: f64| hits * cpu_hz / timer_hz;
    let (mean, interval, n) = (profile.hits.mean()?, interval95(&profile.hits), profile.hits.n());
    Some(SampledCpu {
        cycles: cycles(mean),
        cycles_ci95_low: interval.map(|interval| cycles(interval.low)),
        cycles_ci95_high: interval.map(|interval| cycles(interval.high)),
        hits: (mean * n as f64).round() as u64,
        n,
        cpu_hz,
        timer_hz,
    })
}

fn memory(costs: &NodeTally, stack: Option<&u64>) -> Memory {
    Memory {
        peak: costs.heap_peak_first.map(|(_, bytes)| bytes),
        stack_peak: stack.copied(),
        idle_sa: costs.idle_sa_bytes.quantiles([0.5]).map(|[median]| median),
        resident_max: costs.resident_max_bytes,
    }
}

fn discards(tally: &Tally) -> BTreeMap<String, u64> {
    let named = |protocol: Protocol, why: &str| format!("{}: {why}", protocol.name());
    tally.discards.iter().map(|((protocol, why), &count)| (named(*protocol, why), count)).collect()
}

/// The plan's notes, and those of the measurement itself.
fn notes(row: &ManifestRow, tally: &Tally) -> Vec<String> {
    let confessions = [
        (tally.late_records, "records of authentications concluded before were not counted"),
        (tally.without_trigger, "sample numbers without a trigger were not counted"),
        (tally.messages.left_out(), "messages of further kinds are not in messages.csv"),
    ];
    let confessed = confessions.into_iter().filter(|(count, _)| *count > 0);
    let short = row.shortfall(tally.n).filter(|short| !row.notes.contains(short));
    let confessed = confessed.map(|(count, what)| format!("{count} {what}"));
    row.notes
        .iter()
        .cloned()
        .chain(short)
        .chain(waited(tally))
        .chain(disturbed(tally))
        .chain(confessed)
        .collect()
}

/// How many waited for a lost packet, and how long, which separates the mean and the percentiles from the median.
fn waited(tally: &Tally) -> Option<String> {
    let waited = delay(tally.times.get(&WAITED_FOR_LOST))?;
    let (n, of, seconds) = (waited.n, tally.established, waited.p50 / 1e3);
    let how_long = if n == 1 { format!("{seconds:.1} s") } else { format!("{seconds:.1} s at the median") };
    Some(format!("waited for a lost packet: {n} of {of}, {how_long}"))
}

/// How many were disturbed, if any.
fn disturbed(tally: &Tally) -> Option<String> {
    let (count, of) = (tally.disturbed, tally.n);
    (count > 0).then(|| format!("{DISTURBED}: {count} of {of}"))
}

/// Why authentications are not in the CPU figures.
const DISTURBED: &str =
    "disturbed, for the driver lost the CPU meanwhile, and left out of the cpu figures and of charged delays";
