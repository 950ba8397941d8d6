//! CPU times and delays that depend on the speed of the machine, judged by blocks of authentications. Read Hodges & Lehmann, Annals of
//! Mathematical Statistics 34 (1963) 598 (the estimate and its interval); `ranks` has the test.
//!
//! Authentications that follow one another are slow or fast together, so they are no independent values. The unit is a block: rows take turns,
//! and the blocks of each are spread over the run. A core is up to half slower while its sibling computes or neighbours fill the caches; a
//! reference computation next to each authentication shows it. Only authentications that were measured at full speed count.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ranked::Ranked;
use super::ranks::{interval_rank95, rank_sum};
use super::repeated::{self, OfRun};
use crate::stats::Interval;

/// Rows differ only by more than this. Memory layout, caches and other accidents of a process change all its times: of 100 pairs of runs of one
/// build on a shared machine, 93 % of the ratios were within 3 %, 73 % within 1 %.
pub const TOLERANCE: f64 = 0.03;
/// Fewer blocks say nothing of how they vary.
pub const BLOCKS_MIN: usize = 4;
/// The machine is at full speed where the reference takes at most so many times its usual minimum.
pub const FULL_SPEED: f64 = 1.03;
/// The usual minimum of the reference is this quantile: a single value may be a fault of the clock.
const QUICK: f64 = 0.05;
/// A block of more authentications than this goes without its first one, which finds cold caches.
const COLD_ABOVE: usize = 2;

/// One time, and when it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The run, of several on one side of a comparison.
    pub run: u32,
    /// The block.
    pub block: u32,
    /// The time of the reference computation.
    pub reference: f64,
    /// The time.
    pub value: f64,
}

/// The value of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockValue {
    /// The least of its times, the one with the fewest disturbances: for CPU times.
    Least,
    /// Their median: for delays, which also vary by what links do.
    Median,
}

/// The independent value of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// An authentication.
    #[default]
    Authentication,
    /// A block of authentications.
    Block,
    /// A run.
    Run,
}

/// How the second of two rows differs from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// The unit of the comparison.
    pub(super) unit: Unit,
    /// How many of either row.
    pub(super) units: [u64; 2],
    /// By blocks, the median of all ratios of one of the second row and one of the first; by runs, the ratio of geometric means.
    pub(super) ratio: f64,
    /// Its 95 % interval.
    pub(super) interval: Option<Interval>,
    /// Two-sided probability of such a difference by chance if the true one is within the tolerance.
    pub(super) p: f64,
    /// The share of pairs of blocks or runs in which that of the second row has more, ties counting half.
    pub(super) superiority: f64,
}

/// Compares two rows, by runs if either has several; `None` if either has too few runs or blocks at full speed.
pub(super) fn difference(a: &[Timed], b: &[Timed], value: BlockValue) -> Option<Difference> {
    let quick = quick_reference(a.iter().chain(b))?;
    let is_by_runs = [a, b].into_iter().any(repeated::is_repeated);
    let most = [a, b].into_iter().filter_map(block_len).min()?;
    let [a, b] = [a, b].map(|times| blocks(times, (quick, most), value));
    if is_by_runs {
        return repeated::difference([&a, &b]);
    }
    let [a, b] = [a, b].map(|blocks| blocks.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
    (a.len().min(b.len()) >= BLOCKS_MIN).then(|| Difference::of(&a, &b))
}

/// The usual minimum of the reference; `None` without any.
fn quick_reference<'a>(times: impl Iterator<Item = &'a Timed>) -> Option<f64> {
    let references = Ranked::of(&times.map(|time| time.reference).collect::<Vec<_>>());
    (references.n() > 0).then(|| references.at((references.n() as f64 * QUICK) as u64))
}

/// The length of the blocks of the run with the shortest ones: the least of more times is less.
fn block_len(times: &[Timed]) -> Option<usize> {
    let mut lens: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
    times.iter().for_each(|time| *lens.entry(time.run).or_default().entry(time.block).or_default() += 1);
    lens.values().filter_map(|blocks| blocks.values().max().copied()).min()
}

/// The value of each block that has authentications at full speed, in logarithms, with its run: of so many authentications at most.
fn blocks(times: &[Timed], (quick, most): (f64, usize), value: BlockValue) -> Vec<OfRun> {
    let mut blocks: BTreeMap<(u32, u32), Vec<&Timed>> = BTreeMap::new();
    times.iter().for_each(|time| blocks.entry((time.run, time.block)).or_default().push(time));
    let of_block = |block: &Vec<&Timed>| {
        let block = &block[..block.len().min(most)];
        let warm = &block[usize::from(block.len() > COLD_ABOVE)..];
        let sound = warm.iter().filter(|time| time.reference <= FULL_SPEED * quick && time.value > 0.0);
        value.of(&sound.map(|time| time.value.ln()).collect::<Vec<_>>())
    };
    blocks.iter().filter_map(|((run, _), block)| Some((*run, of_block(block)?))).collect()
}

impl BlockValue {
    fn of(self, logarithms: &[f64]) -> Option<f64> {
        let ranked = Ranked::of(logarithms);
        let place = match self {
            Self::Least => 0,
            Self::Median => ranked.n() / 2,
        };
        (ranked.n() > 0).then(|| ranked.at(place))
    }
}

impl Difference {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let differences: Vec<f64> = a.iter().flat_map(|one| b.iter().map(move |other| other - one)).collect();
        let differences = Ranked::of(&differences);
        let (n, middle) = (
            differences.n(),
            f64::midpoint(differences.at((differences.n() - 1) / 2), differences.at(differences.n() / 2)),
        );
        let interval = interval_rank95(a.len(), b.len()).map(|rank| Interval {
            low: differences.at(rank - 1).exp(),
            high: differences.at(n - rank).exp(),
        });
        let superiority = rank_sum(&Ranked::of(a), &Ranked::of(b)).superiority;
        let units = [a.len() as u64, b.len() as u64];
        Self {
            unit: Unit::Block,
            units,
            ratio: middle.exp(),
            interval,
            p: p_beyond_tolerance(a, b, middle),
            superiority,
        }
    }
}

/// The p of the first row moved towards the second one by the tolerance; 1 if that reaches it, or if the rows do not differ.
fn p_beyond_tolerance(a: &[f64], b: &[f64], difference: f64) -> f64 {
    if difference == 0.0 {
        return 1.0;
    }
    let by = TOLERANCE.ln_1p().copysign(difference);
    let moved: Vec<f64> = a.iter().map(|value| value + by).collect();
    let found = rank_sum(&Ranked::of(&moved), &Ranked::of(b));
    let is_beyond = if difference > 0.0 { found.superiority > 0.5 } else { found.superiority < 0.5 };
    if is_beyond { found.p } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Exp, Uniform};

    use super::*;

    /// Times of a row on a machine that is slow for stretches of authentications, across the limits of blocks.
    fn measured(work: f64, seed: u64, slow_share: f64) -> Vec<Timed> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (noise, uniform) = (Exp::new(30.0).unwrap(), Uniform::new(0.0, 1.0).unwrap());
        let mut is_slow = false;
        let time = |sample: u32| {
            if uniform.sample(&mut rng) < 0.2 {
                is_slow = uniform.sample(&mut rng) < slow_share;
            }
            let (reference, slow) = if is_slow { (26.0, 1.5) } else { (22.3, 1.0) };
            let value = work * slow * (1.0 + noise.sample(&mut rng));
            Timed { run: 0, block: sample / 4, reference: reference + 0.1 * uniform.sample(&mut rng), value }
        };
        (0..60).map(time).collect()
    }

    /// How many of so many comparisons were judged, and how many found a difference.
    fn differ(seeds: std::ops::Range<u64>, [a, b]: [f64; 2]) -> [usize; 2] {
        let compared = |seed: u64| {
            let (a, b) = (measured(a, 2 * seed, 0.2), measured(b, 2 * seed + 1, 0.5));
            difference(&a, &b, BlockValue::Least)
        };
        let judged: Vec<_> = seeds.filter_map(compared).collect();
        [judged.len(), judged.iter().filter(|found| found.p < 0.05).count()]
    }

    #[test]
    fn the_same_work_on_a_machine_of_changing_speed_does_not_differ() {
        let [judged, differ] = differ(0..200, [400.0, 400.0]);
        assert!(judged >= 180 && differ <= 10, "{differ} of {judged}");
    }

    #[test]
    fn eight_percent_more_work_is_found_nine_times_of_ten() {
        let [judged, differ] = differ(200..300, [400.0, 432.0]);
        assert!(judged >= 90 && differ >= 90, "{differ} of {judged}");
    }

    #[test]
    fn a_run_that_was_slow_all_the_time_cannot_be_judged() {
        let (a, b) = (measured(400.0, 1, 0.0), measured(400.0, 2, 1.0));
        let slow: Vec<_> = b.into_iter().filter(|time| time.reference > 25.0).collect();
        assert!(slow.len() > 40);
        assert_eq!(difference(&a, &slow, BlockValue::Least), None);
        assert!(difference(&slow, &slow, BlockValue::Least).is_some(), "both alike");
        assert_eq!(difference(&[], &[], BlockValue::Least), None);
    }

    #[test]
    fn rows_with_the_same_times_do_not_differ() {
        let times = measured(400.0, 7, 0.0);
        let found = difference(&times, &times, BlockValue::Least).unwrap();
        assert_eq!((found.ratio, found.p), (1.0, 1.0));
    }

    #[test]
    fn the_ratio_is_that_of_the_work() {
        let found =
            difference(&measured(400.0, 5, 0.2), &measured(480.0, 6, 0.2), BlockValue::Least).unwrap();
        let interval = found.interval.unwrap();
        assert!((1.17..1.23).contains(&found.ratio), "{found:?}");
        assert!(interval.low < found.ratio && found.ratio < interval.high && interval.low > 1.1, "{found:?}");
    }
}
