//! Several runs of one plan as one side of a comparison. Read Welch, Biometrika 34 (1947) 28 (the test and its degrees of freedom).
//!
//! The state of a process and of the machine changes the CPU times of a whole run, so the blocks of one run are slow together: two runs of one
//! build differ by up to a tenth while compilers run. Where both sides have several runs, the run is the unit, and that variation is
//! measured.

use std::collections::{BTreeMap, BTreeSet};

use super::CPU;
use super::Run;
use super::blocks::{Difference, TOLERANCE, Timed, Unit};
use super::ranked::Ranked;
use super::ranks::rank_sum;
use super::resampling::Statistic;
use super::samples::{JudgedBy, MeasuredRow, MeasuredRun, Values};
use crate::stats::{Interval, Welford, two_sided_probability, two_sided_quantile};

/// Fewer runs on a side say too little of how runs vary.
pub const RUNS_MIN: usize = 3;

/// The world in which links follow from the seed.
const SIM: &str = "sim";

/// The value of a run's block, in logarithms, and the run.
pub(super) type OfRun = (u32, f64);

/// Several runs as one. Of a simulated row with the seed of an earlier one only CPU times count: it repeats links and losses.
///
/// # Panics
/// Without runs.
pub fn joined(runs: Vec<MeasuredRun>) -> MeasuredRun {
    let mut seen = BTreeSet::new();
    let whole = (0..).zip(runs).map(|(number, mut run)| {
        for row in &mut run.rows {
            let is_new = row.name.world != SIM || seen.insert((row.name.clone(), run.seed.clone()));
            run.repeats_seed |= u32::from(!is_new);
            numbered(row, number, !is_new);
        }
        run
    });
    whole.reduce(with).expect("a side has a run")
}

/// Two runs with the same CPU times, one after the other: copies, which are no independent measurements.
pub fn copies(runs: &[MeasuredRun]) -> Option<[&str; 2]> {
    let is_copy = |one: &MeasuredRun, other: &MeasuredRun| {
        let times = |run: &MeasuredRun| {
            let cpu =
                run.rows.iter().flat_map(|row| &row.values).filter(|values| values.measure.starts_with(CPU));
            cpu.map(|values| values.values.clone()).collect::<Vec<_>>()
        };
        !times(one).is_empty() && times(one) == times(other)
    };
    let pairs =
        runs.iter().enumerate().flat_map(|(at, one)| runs[at + 1..].iter().map(move |other| (one, other)));
    { pairs }.find(|(one, other)| is_copy(one, other)).map(|(one, other)| [&*one.place, &*other.place])
}

/// A note on the runs of which only CPU times count.
pub(super) fn left_out<R>(runs: [&Run<R>; 2]) -> Option<String> {
    let [a, b] = runs.map(|run| run.repeats_seed);
    (a + b > 0).then(|| {
        format!(
            "Only CPU times count of runs with the seed of an earlier one (A: {a}, B: {b}): their losses and delays of links are the same. \
             `keytoll run --set seed=N` makes others."
        )
    })
}

/// Gives each time of a row the number of its run, and leaves out what the row repeats.
fn numbered(row: &mut MeasuredRow, number: u32, repeats: bool) {
    if repeats {
        (row.n, row.failed) = (0, 0);
        row.values.retain(|values| values.measure.starts_with(CPU));
    }
    for values in &mut row.values {
        if let JudgedBy::Blocks(_, times) = &mut values.judged_by {
            times.iter_mut().for_each(|time| time.run = number);
        }
    }
}

fn with(mut all: MeasuredRun, run: MeasuredRun) -> MeasuredRun {
    all.place = format!("{}, {}", all.place, run.place);
    if !all.machine.split(" and ").any(|machine| machine == run.machine) {
        all.machine = format!("{} and {}", all.machine, run.machine);
    }
    all.other_load = [all.other_load, run.other_load].into_iter().flatten().reduce(f64::max);
    all.complete &= run.complete;
    all.repeats_seed += run.repeats_seed;
    for row in run.rows {
        match all.rows.iter_mut().find(|known| known.name == row.name) {
            Some(known) => extend(known, row),
            None => all.rows.push(row),
        }
    }
    all
}

fn extend(row: &mut MeasuredRow, more: MeasuredRow) {
    row.n += more.n;
    row.failed += more.failed;
    for values in more.values {
        match row.values.iter_mut().find(|known| known.measure == values.measure) {
            Some(known) => known.extend(values),
            None => row.values.push(values),
        }
    }
}

impl Values {
    fn extend(&mut self, more: Self) {
        self.values.extend(more.values);
        if let (JudgedBy::Blocks(_, times), JudgedBy::Blocks(_, of_more)) =
            (&mut self.judged_by, more.judged_by)
        {
            times.extend(of_more);
        }
    }
}

/// Whether times are of several runs, at full speed of the machine or not.
pub(super) fn is_repeated(times: &[Timed]) -> bool {
    times.iter().any(|time| time.run != times[0].run)
}

/// Compares two sides run by run; `None` if either has too few runs.
pub(super) fn difference([a, b]: [&[OfRun]; 2]) -> Option<Difference> {
    let [a, b] = [a, b].map(medians);
    (a.len().min(b.len()) >= RUNS_MIN).then(|| of_runs(&a, &b))
}

/// The median block of each run.
fn medians(blocks: &[OfRun]) -> Vec<f64> {
    let mut runs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    blocks.iter().for_each(|(run, value)| runs.entry(*run).or_default().push(*value));
    runs.values().map(|blocks| Statistic::MEDIAN.of(&Ranked::of(blocks))).collect()
}

fn of_runs(a: &[f64], b: &[f64]) -> Difference {
    let ([mean_a, error_a], [mean_b, error_b]) = (mean_and_error(a), mean_and_error(b));
    let (difference, error) = (mean_b - mean_a, (error_a + error_b).sqrt().max(f64::MIN_POSITIVE));
    let each = |error: f64, runs: &[f64]| error.powi(2) / (runs.len() - 1) as f64;
    let freedom = ((error_a + error_b).powi(2) / (each(error_a, a) + each(error_b, b))).max(1.0);
    let beyond = difference.abs() - TOLERANCE.ln_1p();
    let reach = two_sided_quantile(0.05, freedom) * error;
    Difference {
        unit: Unit::Run,
        units: [a.len() as u64, b.len() as u64],
        ratio: difference.exp(),
        interval: Some(Interval { low: (difference - reach).exp(), high: (difference + reach).exp() }),
        p: if beyond > 0.0 { two_sided_probability(beyond / error, freedom) } else { 1.0 },
        superiority: rank_sum(&Ranked::of(a), &Ranked::of(b)).superiority,
    }
}

/// The mean, and the square of its standard error.
fn mean_and_error(runs: &[f64]) -> [f64; 2] {
    let mut moments = Welford::default();
    runs.iter().for_each(|run| moments.add(*run));
    let [mean, stddev] = [moments.mean(), moments.stddev()].map(Option::unwrap_or_default);
    [mean, stddev.powi(2) / runs.len() as f64]
}

#[cfg(test)]
mod tests;
