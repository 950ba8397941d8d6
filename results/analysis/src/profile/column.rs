//! One suite of a profile.

use std::collections::BTreeMap;

use keytoll_trace::{Cost, Node, StepCost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;
use super::lines::{Key, Run, Worked, weave};
use super::skeleton::Skeleton;

/// The measurements with one suite.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The suite.
    pub suite: &'a str,
    /// The standing of its worst algorithm, empty if it is good.
    pub mark: &'a str,
    /// With every operation timed.
    pub timed: &'a [Cost],
    /// Real and null cryptography side by side, if measured.
    pub skeleton: Option<Beside<'a>>,
}

/// The same authentications with and without cryptography.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// Real, timed as a whole.
    pub full: &'a [Cost],
    /// Null, timed as a whole.
    pub skeleton: &'a [Cost],
    /// Null, with every operation timed.
    pub skeleton_timed: &'a [Cost],
}

/// One suite of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// The suite.
    pub suite: String,
    /// The standing of its worst algorithm: empty, `weak` or `broken`.
    pub mark: String,
    /// Authentications measured.
    pub n: u64,
    /// Every node with costs, in the order of the reports.
    pub nodes: Vec<NodeTotal>,
    /// With and without cryptography; absent if it was not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skeleton: Option<Skeleton>,
}

/// The cost of an authentication at a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTotal {
    /// The node.
    pub node: String,
    /// The total, in milliseconds.
    pub total_ms: Estimate,
    /// The part in crypto operations.
    pub crypto_ms: Estimate,
    /// The rest: parsing, state, memory, packets.
    pub rest_ms: Estimate,
    /// The share of cryptography in the total, 0 to 1, of medians.
    pub crypto_share: f64,
    /// The median of the total in cycles of the core's own clock.
    pub total_cycles: f64,
}

/// The cost of an operation with one suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The algorithm.
    pub algorithm: String,
    /// How often it runs in sequence, mean over the authentications.
    pub count: f64,
    /// Their cost together, in milliseconds.
    pub ms: Estimate,
    /// The median in cycles of the core's own clock.
    pub cycles: f64,
    /// The share of the node's total, 0 to 1, of medians: shares need not add up to 1.
    pub share: f64,
}

impl Column {
    /// Evaluates a suite: the column, and its lines for one node.
    pub(super) fn of(node: Node, measured: &Measured<'_>) -> (Self, Vec<(Key, Cell)>) {
        let timed = Work::of(measured.timed);
        let column = Self {
            suite: measured.suite.to_owned(),
            mark: measured.mark.to_owned(),
            n: timed.samples.len() as u64,
            nodes: timed.nodes().filter_map(|node| timed.total(node)).collect(),
            skeleton: measured.skeleton.and_then(|beside| Skeleton::of(node, &timed, &beside)),
        };
        let cells = timed.cells(node);
        (column, cells)
    }

    /// The totals of one node.
    pub fn node(&self, name: &str) -> Option<&NodeTotal> {
        self.nodes.iter().find(|total| total.node == name)
    }
}

/// The work of every node, authentication by authentication.
#[derive(Debug, Default)]
pub(super) struct Work {
    ms_per_tick: f64,
    hz: BTreeMap<Node, f64>,
    pub(super) samples: Vec<WorkedSample>,
}

/// The work of every node in one authentication.
#[derive(Debug, Default)]
pub(super) struct WorkedSample {
    /// The block of the run.
    block: u32,
    nodes: BTreeMap<Node, Worked>,
}

impl WorkedSample {
    pub(super) fn get(&self, node: Node) -> Option<&Worked> {
        self.nodes.get(&node)
    }
}

impl Work {
    pub(super) fn of(costs: &[Cost]) -> Self {
        let mut work = Self::default();
        let mut steps: BTreeMap<u32, BTreeMap<Node, Vec<&StepCost>>> = BTreeMap::new();
        let mut blocks = BTreeMap::new();
        for cost in costs {
            match cost {
                Cost::Clock { ticks_hz, profile_hz } => {
                    work.ms_per_tick = 1e3 / ticks_hz;
                    work.hz.extend(profile_hz.iter().copied());
                }
                Cost::Step(step) => {
                    steps.entry(step.sample).or_default().entry(step.node).or_default().push(step);
                }
                Cost::Block(measured) => _ = blocks.insert(measured.sample, measured.block),
                Cost::Sample(_)
                | Cost::Operation(_)
                | Cost::OperationIn(..)
                | Cost::Stack(_)
                | Cost::Foreign(_)
                | Cost::Traffic(_)
                | Cost::Move(_) => {}
            }
        }
        let worked = |(sample, nodes): (u32, BTreeMap<Node, Vec<&StepCost>>)| WorkedSample {
            block: blocks.get(&sample).copied().unwrap_or_default(),
            nodes: nodes.into_iter().map(|(node, steps)| (node, Worked::of(&steps))).collect(),
        };
        work.samples = steps.into_iter().map(worked).collect();
        work
    }

    /// Every node that did something.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        Node::ALL.into_iter().filter(|node| self.samples.iter().any(|sample| sample.get(*node).is_some()))
    }

    pub(super) fn ms(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ms_per_tick
    }

    /// Block and milliseconds of something in each authentication, summed over some nodes.
    pub(super) fn each_ms<'a>(
        &'a self,
        nodes: &'a [Node],
        of: impl Fn(&Worked) -> u64 + 'a,
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        self.samples.iter().map(move |sample| {
            let ticks = nodes.iter().filter_map(|node| sample.get(*node)).map(&of).sum();
            (sample.block, self.ms(ticks))
        })
    }

    fn total(&self, node: Node) -> Option<NodeTotal> {
        let of = |part: fn(&Worked) -> u64| Estimate::of(self.each_ms(&[node], part));
        let total_ms = of(Worked::ticks)?;
        let crypto_ms = of(Worked::crypto_ticks)?;
        Some(NodeTotal {
            node: node.name().to_owned(),
            crypto_share: crypto_ms.p50 / total_ms.p50,
            total_cycles: self.cycles(node, total_ms.p50),
            rest_ms: of(|worked| worked.ticks().saturating_sub(worked.crypto_ticks()))?,
            total_ms,
            crypto_ms,
        })
    }

    fn cycles(&self, node: Node, ms: f64) -> f64 {
        self.hz.get(&node).map_or(0.0, |hz| ms / 1e3 * hz)
    }

    /// The lines of a node in their order, each over all authentications: an absent operation cost nothing.
    fn cells(&self, node: Node) -> Vec<(Key, Cell)> {
        let mut keys = Vec::new();
        let samples: Vec<(u32, &Worked)> =
            self.samples.iter().filter_map(|sample| Some((sample.block, sample.get(node)?))).collect();
        samples.iter().for_each(|(_, worked)| weave(&mut keys, worked.runs.iter().map(|run| &run.key)));
        let total_ms = self.total(node).map_or(0.0, |total| total.total_ms.p50);
        keys.into_iter().filter_map(|key| self.cell(node, key, &samples, total_ms)).collect()
    }

    fn cell<'a>(
        &self,
        node: Node,
        key: Key,
        samples: &[(u32, &'a Worked)],
        total_ms: f64,
    ) -> Option<(Key, Cell)> {
        let found =
            |(block, worked): &(u32, &'a Worked)| (*block, worked.runs.iter().find(|run| run.key == key));
        let runs: Vec<(u32, Option<&Run>)> = samples.iter().map(found).collect();
        let ms = runs.iter().map(|(block, run)| (*block, self.ms(run.map_or(0, |run| run.ticks))));
        let ms = Estimate::of(ms)?;
        let found = || runs.iter().filter_map(|(_, run)| *run);
        let count = found().map(|run| run.count).sum::<u64>() as f64 / runs.len() as f64;
        let algorithm = found().next()?.algorithm.clone();
        let (cycles, share) = (self.cycles(node, ms.p50), ms.p50 / total_ms);
        Some((key, Cell { algorithm, count, ms, cycles, share }))
    }
}
