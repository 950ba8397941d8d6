//! With and without cryptography: what remains when every primitive costs nothing, and whether the difference equals the
//! metered cost of the primitives.

use std::collections::BTreeMap;

use keytoll_trace::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;
use super::column::{Beside, Work};
use super::lines::Worked;
use crate::stats::median95;

/// The two costs of cryptography may differ by this part of the subtraction.
const AGREEMENT: f64 = 0.10;
/// The number of steps that are listed where they differ.
const CONTRIBUTIONS: usize = 5;

/// The same authentications with and without cryptography, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skeleton {
    /// At the node that the profile is about.
    pub node: Sides,
    /// At all nodes together: messages are exchanged in lock-step, so this is the duration of an authentication without a network.
    pub all: Sides,
    /// Where subtraction and addition differ at the node, the step with the largest difference first.
    pub contributions: Vec<Contribution>,
}

/// Full and skeleton.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides {
    /// With cryptography.
    pub full_ms: Estimate,
    /// Without cryptography.
    pub skeleton_ms: Estimate,
    /// The cost of cryptography: full minus skeleton, turn by turn.
    pub by_subtraction_ms: Estimate,
    /// The cost of cryptography: the sum of the metered operations.
    pub by_addition_ms: Estimate,
    /// By how much the addition exceeds the subtraction (or is less), relative to the subtraction, of medians.
    pub difference: f64,
    /// Whether that is within 10 %.
    pub agrees: bool,
    /// The cost of the null operations, which are still called.
    pub skeleton_crypto_ms: Estimate,
    /// Their share of the skeleton, 0 to 1.
    pub skeleton_crypto_share: f64,
}

/// The contribution of one step to the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contribution {
    /// The received message, or the sent one.
    pub step: String,
    /// Full minus skeleton, in milliseconds.
    pub by_subtraction_ms: f64,
    /// Its metered operations.
    pub by_addition_ms: f64,
}

impl Contribution {
    /// What the operations do not explain, in milliseconds: the cost of cryptography in the code around it.
    pub fn unexplained_ms(&self) -> f64 {
        self.by_subtraction_ms - self.by_addition_ms
    }
}

impl Skeleton {
    pub(super) fn of(node: Node, timed: &Work, beside: &Beside<'_>) -> Option<Self> {
        let three = Three {
            timed,
            full: &Work::of(beside.full),
            skeleton: &Work::of(beside.skeleton),
            skeleton_timed: &Work::of(beside.skeleton_timed),
        };
        let all: Vec<Node> = timed.nodes().collect();
        Some(Self {
            node: three.sides(&[node])?,
            all: three.sides(&all)?,
            contributions: three.contributions(node),
        })
    }
}

/// The series to compare.
struct Three<'a> {
    timed: &'a Work,
    full: &'a Work,
    skeleton: &'a Work,
    skeleton_timed: &'a Work,
}

impl Three<'_> {
    fn sides(&self, nodes: &[Node]) -> Option<Sides> {
        let (full, skeleton) =
            (self.full.each_ms(nodes, Worked::ticks), self.skeleton.each_ms(nodes, Worked::ticks));
        let differences = full.zip(skeleton).map(|((block, full), (_, skeleton))| (block, full - skeleton));
        let by_subtraction_ms = Estimate::of(differences)?;
        let by_addition_ms = Estimate::of(self.timed.each_ms(nodes, Worked::crypto_ticks))?;
        let skeleton_ms = Estimate::of(self.skeleton.each_ms(nodes, Worked::ticks))?;
        let skeleton_crypto_ms = Estimate::of(self.skeleton_timed.each_ms(nodes, Worked::crypto_ticks))?;
        let difference = by_addition_ms.p50 / by_subtraction_ms.p50 - 1.0;
        Some(Sides {
            full_ms: Estimate::of(self.full.each_ms(nodes, Worked::ticks))?,
            skeleton_crypto_share: skeleton_crypto_ms.p50 / skeleton_ms.p50,
            skeleton_ms,
            by_subtraction_ms,
            by_addition_ms,
            difference,
            agrees: difference.abs() <= AGREEMENT,
            skeleton_crypto_ms,
        })
    }

    fn contributions(&self, node: Node) -> Vec<Contribution> {
        let full = step_medians(self.full, node, false);
        let skeleton = step_medians(self.skeleton, node, false);
        let crypto = step_medians(self.timed, node, true);
        let of = |medians: &BTreeMap<String, f64>, step: &str| medians.get(step).copied().unwrap_or(0.0);
        let mut contributions: Vec<Contribution> = full
            .iter()
            .map(|(step, ms)| Contribution {
                step: step.clone(),
                by_subtraction_ms: ms - of(&skeleton, step),
                by_addition_ms: of(&crypto, step),
            })
            .collect();
        contributions.sort_by(|a, b| b.unexplained_ms().abs().total_cmp(&a.unexplained_ms().abs()));
        contributions.truncate(CONTRIBUTIONS);
        contributions
    }
}

/// Median milliseconds of each step of a node, or of its operations; an authentication without the step counts as zero.
fn step_medians(work: &Work, node: Node, crypto: bool) -> BTreeMap<String, f64> {
    let mut ticks: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (place, sample) in work.samples.iter().enumerate() {
        for step in sample.get(node).iter().flat_map(|worked| &worked.steps) {
            let each = ticks.entry(step.name.clone()).or_insert_with(|| vec![0; work.samples.len()]);
            each[place] += if crypto { step.crypto_ticks } else { step.ticks };
        }
    }
    let median = |each: Vec<u64>| median95(each.into_iter().map(|ticks| work.ms(ticks)));
    ticks.into_iter().filter_map(|(step, each)| Some((step, median(each)?.0))).collect()
}
