//! Processes that are slow or fast as a whole, by the generator of random numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp, Normal};

use super::*;
use crate::compare::blocks::{BlockValue, Timed};
use crate::compare::{RowName, Run, Verdict, runs};

/// A run of a process that is slower or faster by about five percent as a whole.
fn measured(work: f64, seed: u64) -> MeasuredRun {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (process, noise) = (Normal::new(0.0_f64, 0.05).unwrap().sample(&mut rng), Exp::new(100.0).unwrap());
    let time = |sample: u32| {
        let value = work * process.exp() * (1.0 + noise.sample(&mut rng));
        Timed { run: 0, block: sample / 4, reference: 22.0, value }
    };
    let times: Vec<Timed> = (0..60).map(time).collect();
    let values = times.iter().map(|time| time.value).collect();
    let cpu = Values {
        measure: "cpu_us.gw".to_owned(),
        values,
        judged_by: JudgedBy::Blocks(BlockValue::Least, times),
    };
    let messages = Values {
        measure: "messages".to_owned(),
        values: vec![4.0; 60],
        judged_by: JudgedBy::Authentications,
    };
    let row = MeasuredRow {
        name: RowName { world: "sim".to_owned(), ..RowName::default() },
        n: 60,
        failed: 1,
        values: vec![cpu, messages],
    };
    let (place, machine, of_plan) = (format!("run-{seed}"), "a processor".to_owned(), seed.to_string());
    Run { place, machine, seed: of_plan, repeats_seed: 0, other_load: None, complete: true, rows: vec![row] }
}

/// How many of a hundred comparisons of so many runs with so many find a difference of CPU time.
fn differ(count: u64, work: [f64; 2]) -> usize {
    let side = |work: f64, from: u64| joined((from..from + count).map(|seed| measured(work, seed)).collect());
    let compared = |seed: u64| {
        let [a, b] = [side(work[0], 2000 * count + seed * count), side(work[1], 9000 * count + seed * count)];
        runs(&a, &b).pairs[0].contrasts[0].verdict
    };
    (0..100).filter(|seed| matches!(compared(*seed), Verdict::More | Verdict::Less)).count()
}

/// One run with one: what lasts for a whole run is taken for a difference of the builds. Five with five: it is not.
#[test]
fn what_a_whole_run_suffers_is_no_difference_of_several() {
    let (one, five) = (differ(1, [400.0, 400.0]), differ(5, [400.0, 400.0]));
    assert!(one > 30 && five <= 3, "{one} and {five} of 100");
}

#[test]
fn twenty_percent_more_work_is_found_by_five_runs_of_each() {
    let found = differ(5, [400.0, 480.0]);
    assert!(found >= 90, "{found} of 100");
}

#[test]
fn two_runs_are_too_few() {
    let contrast = |count: u64| {
        let side = |from: u64| joined((from..from + count).map(|seed| measured(400.0, seed)).collect());
        let found = runs(&side(0), &side(50));
        (found.pairs[0].contrasts[0].clone(), found.notes)
    };
    let (two, notes) = contrast(2);
    assert_eq!(two.verdict, Verdict::CannotBeJudged);
    assert!(notes[0].contains("both sides need 3"), "{notes:?}");
    let (three, notes) = contrast(3);
    assert_eq!((three.unit, three.units_count, three.a.n), (Unit::Run, [3, 3], 180));
    assert_eq!(notes, [""; 0]);
}

/// SciPy 1.17.1: `exp` of `stats.ttest_ind(b, a, equal_var=False).confidence_interval()` for the logarithms of these numbers, and of the
/// difference of their means.
const WELCH: [f64; 3] = [1.097_977_223_248_204_8, 1.044_765_854_803_435_3, 1.153_898_720_205_26];

#[test]
fn the_ratio_has_the_interval_of_welch() {
    let logs = |values: [f64; 3]| values.map(f64::ln);
    let found = of_runs(&logs([100.0, 102.0, 104.0]), &logs([110.0, 111.0, 115.0]));
    let interval = found.interval.unwrap();
    for (value, wanted) in [(found.ratio, WELCH[0]), (interval.low, WELCH[1]), (interval.high, WELCH[2])] {
        assert!((value - wanted).abs() < 1e-6, "{value} is not {wanted}");
    }
    assert_eq!(of_runs(&[1.0; 3], &[1.0; 3]).p, 1.0, "no variation, no difference");
    assert_eq!(of_runs(&[1.0; 3], &[2.0; 3]).p, 0.0, "no variation, a difference");
}

#[test]
fn a_run_with_a_known_seed_counts_only_for_cpu_times() {
    let mut of_a: Vec<_> = (0..3).map(|seed| measured(400.0, seed)).collect();
    of_a[1].seed = "0".to_owned();
    let all = joined(of_a);
    let row = &all.rows[0];
    let n = |measure: &str| row.measured(measure).unwrap().values.len();
    assert_eq!((all.place.as_str(), row.n, row.failed), ("run-0, run-1, run-2", 120, 2));
    assert_eq!((n("cpu_us.gw"), n("messages")), (180, 120));
    let notes = runs(&all, &measured(400.0, 9)).notes;
    assert!(
        notes[0].starts_with("Only CPU times count of runs with the seed of an earlier one (A: 1, B: 0)"),
        "{notes:?}"
    );
}

/// On real sockets a seed repeats nothing.
#[test]
fn live_runs_with_one_seed_all_count() {
    let live = |seed| {
        let mut run = measured(400.0, seed);
        (run.seed, run.rows[0].name.world) = ("1".to_owned(), "live".to_owned());
        run
    };
    let all = joined((0..3).map(live).collect());
    assert_eq!((all.rows[0].n, all.repeats_seed), (180, 0));
}

#[test]
fn a_copy_is_found() {
    let runs = [
        measured(400.0, 0),
        measured(400.0, 1),
        MeasuredRun { place: "copy".to_owned(), ..measured(400.0, 0) },
    ];
    assert_eq!(copies(&runs), Some(["run-0", "copy"]));
    assert_eq!(copies(&runs[..2]), None);
}

/// Where runs are too few, authentications are no substitute: they are not independent.
#[test]
fn delays_of_two_runs_cannot_be_judged() {
    let of = |seed: u64| {
        let mut run = measured(400.0, seed);
        let values = &mut run.rows[0].values[0];
        values.measure = "delay_ms".to_owned();
        if let JudgedBy::Blocks(value, _) = &mut values.judged_by {
            *value = BlockValue::Median;
        }
        run
    };
    let verdict = |count: u64| {
        let side = |from: u64| joined((from..from + count).map(of).collect());
        runs(&side(0), &side(50)).pairs[0].contrasts[0].verdict
    };
    assert_eq!((verdict(2), verdict(3)), (Verdict::CannotBeJudged, Verdict::NotToldApart));
}

/// The least of many times is less than that of few.
#[test]
fn runs_of_different_lengths_are_compared_alike() {
    let of = |samples: usize, seed: u64| {
        let mut run = measured(400.0, seed);
        for (place, time) in times(&mut run).iter_mut().enumerate() {
            time.block = (place / samples) as u32;
        }
        run
    };
    let side = |samples, from: u64| joined((from..from + 20).map(|seed| of(samples, seed)).collect());
    let found = runs(&side(4, 0), &side(15, 50)).pairs[0].contrasts[0].clone();
    assert!((found.ratio.unwrap() - 1.0).abs() < 0.05, "{found:?}");
}

/// A run that the machine disturbed all the time is one of several, whether its blocks count or not.
#[test]
fn a_slow_run_does_not_make_one_of_two() {
    let mut slow = measured(400.0, 1);
    for time in times(&mut slow) {
        time.reference = 30.0;
    }
    let (a, b) = (joined(vec![measured(400.0, 0), slow]), measured(400.0, 2));
    assert_eq!(runs(&a, &b).pairs[0].contrasts[0].verdict, Verdict::CannotBeJudged);
}

fn times(run: &mut MeasuredRun) -> &mut [Timed] {
    match &mut run.rows[0].values[0].judged_by {
        JudgedBy::Blocks(_, times) => times,
        JudgedBy::Authentications => &mut [],
    }
}
