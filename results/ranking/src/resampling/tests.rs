//! Resamples beside a plain bootstrap, and the numbers of which they are made.

use keytoll_crypto_api::Rng;
use proptest::prelude::*;

use super::*;
use crate::random::exponential;

const MEDIAN: Statistic = Statistic::Quantile(0.5);
const P95: Statistic = Statistic::Quantile(0.95);

fn of(statistic: Statistic, column: &str) -> Estimate {
    Estimate { statistic, number: Number::Column(column.to_owned()), counts: Counts::All }
}

/// Numbers of an exponential distribution.
fn drawn(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Rng::named(seed, "test");
    (0..n).map(|_| exponential(&mut random)).collect()
}

/// The statistic of values, computed plainly.
fn plainly(statistic: Statistic, mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match statistic {
        Statistic::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Statistic::Quantile(fraction) => {
            let rank = (values.len() - 1) as f64 * fraction;
            let (below, above) = (values[rank.floor() as usize], values[rank.ceil() as usize]);
            below + (above - below) * rank.fract()
        }
    }
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    [mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()]
}

fn resamples(numbers: &[Vec<f64>], statistics: &[Statistic], seed: u64) -> Vec<Option<Vec<f64>>> {
    let estimates: Vec<Estimate> = statistics.iter().map(|statistic| of(*statistic, "x")).collect();
    resampled(&RowName::default(), numbers, &estimates, seed)
}

proptest! {
    /// However often each value is drawn, and whether some values are skipped at first or not.
    #[test]
    fn a_resample_has_the_statistic_of_what_was_drawn(
        values in prop::collection::vec((0_u32..50, 0_u32..4), 1..400),
        fraction in 0.0..=1.0,
    ) {
        let (numbers, times): (Vec<f64>, Vec<u32>) =
            values.iter().map(|(value, times)| (f64::from(*value) + 1.0, *times)).unzip();
        let expanded: Vec<f64> = numbers.iter().zip(&times)
            .flat_map(|(value, times)| vec![*value; *times as usize]).collect();
        for statistic in [Statistic::Quantile(fraction), MEDIAN, P95, Statistic::Mean] {
            let grouped = Grouped::new(&numbers, statistic, numbers.len()).unwrap();
            let found = grouped.of(&times);
            prop_assert_eq!(found.is_none(), expanded.is_empty());
            if let Some(found) = found {
                prop_assert!((found - plainly(statistic, expanded.clone())).abs() < 1e-9, "{:?}", statistic);
            }
        }
    }
}

/// Of a plain bootstrap, every value of every resample drawn.
fn spread_plainly(values: &[f64], statistic: Statistic) -> f64 {
    let mut random = Rng::named(9, "test/plainly");
    let mut one = || values[random.below(values.len() as u64) as usize];
    let found: Vec<f64> =
        (0..1000).map(|_| plainly(statistic, (0..values.len()).map(|_| one()).collect())).collect();
    moments(&found)[1] / plainly(statistic, values.to_vec())
}

fn spreads_are_those_of_plain_resampling(n: usize) {
    let values = drawn(n, 4);
    let statistics = [MEDIAN, P95, Statistic::Mean];
    let found = resamples(&vec![values.clone(); 3], &statistics, 1);
    let spread = found.iter().map(|parts| moments(parts.as_ref().unwrap())[1]).collect::<Vec<_>>();
    let values = &values;
    let plain = thread::scope(|scope| {
        let plain = statistics.map(|statistic| scope.spawn(move || spread_plainly(values, statistic)));
        plain.map(|spread| spread.join().unwrap())
    });
    for ((spread, statistic), plain) in spread.iter().zip(statistics).zip(plain) {
        assert!((spread / plain - 1.0).abs() < 0.12, "{n} {statistic:?}: {spread}, {plain}");
    }
}

#[test]
fn the_spread_of_few_values_is_that_of_plain_resampling() {
    spreads_are_those_of_plain_resampling(30);
    spreads_are_those_of_plain_resampling(400);
}

#[test]
fn the_spread_of_many_values_is_that_of_plain_resampling() {
    spreads_are_those_of_plain_resampling(5000);
}

/// Of an exponential distribution the 95th percentile is 3 and varies by √19 times 1/√n; the mean is 1 and varies by 1/√n.
#[test]
fn the_spread_of_a_percentile_is_its_own_and_not_that_of_a_mean() {
    let found = resamples(&vec![drawn(20_000, 3); 2], &[P95, Statistic::Mean], 1);
    let [p95, mean] = [&found[0], &found[1]].map(|parts| moments(parts.as_ref().unwrap())[1]);
    assert!((p95 / mean / (19_f64.sqrt() / 20_f64.ln()) - 1.0).abs() < 0.1, "{p95} {mean}");
}

fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let ([a, sa], [b, sb]) = (moments(one), moments(other));
    one.iter().zip(other).map(|(x, y)| (x - a) * (y - b)).sum::<f64>() / one.len() as f64 / sa / sb
}

#[test]
fn the_statistics_of_a_row_are_of_the_same_resample() {
    let (bytes, others) = (drawn(200, 1), drawn(200, 2));
    let delays: Vec<f64> = bytes.iter().zip(&others).map(|(bytes, other)| 2.0 * bytes + other).collect();
    let found = resamples(&[bytes.clone(), delays.clone(), others.clone()], &[Statistic::Mean; 3], 1);
    let found: Vec<_> = found.into_iter().map(Option::unwrap).collect();
    // Means of resamples are correlated as the values are.
    for (place, values) in [(1, &delays), (2, &others)] {
        let (means, values) = (correlation(&found[0], &found[place]), correlation(&bytes, values));
        assert!((means - values).abs() < 0.07, "{means}, {values}");
    }
    assert!(correlation(&found[0], &found[1]) > 0.8);
}

#[test]
fn a_row_has_a_stream_of_its_own() {
    let row = |method: &str| RowName { method: method.to_owned(), ..RowName::default() };
    let of_row = |method: &str, seed| resampled(&row(method), &[drawn(20, 1)], &[of(MEDIAN, "x")], seed);
    assert_eq!(of_row("psk", 1), of_row("psk", 1));
    assert_ne!(of_row("psk", 1), of_row("psk", 2));
    assert_ne!(of_row("psk", 1), of_row("rsa", 1));
}

#[test]
fn nothing_and_zero_have_no_resamples() {
    let none = vec![f64::NAN; 5];
    let found = resamples(&[none, vec![0.0; 5], vec![], vec![1.0, f64::NAN, 1.0, 1.0, 1.0]], &[MEDIAN; 4], 1);
    assert_eq!(found[..3], [None, None, None]);
    assert!(found[3].as_ref().unwrap().iter().all(|part| *part == 1.0));
}

const HEAD: &str = "method,variant,network,topology,world,crypto,outcome,delay_ns,charged,disturbed,ue_cpu_ns,ue_gw_bytes,gw_aaa_bytes";

fn read(lines: &[&str], estimates: &[Estimate]) -> BTreeMap<RowName, Vec<Vec<f64>>> {
    let text = [&[HEAD], lines].concat().join("\n");
    rows(Table::new(text.as_bytes()).unwrap(), estimates).unwrap()
}

#[test]
fn the_numbers_are_those_that_a_summary_counts() {
    let with = |number: Number, counts| Estimate { statistic: MEDIAN, number, counts };
    let column = |name: &str| Number::Column(name.to_owned());
    let links = Number::Sum(["ue_gw_bytes", "gw_aaa_bytes", "aaa_hss_bytes"].map(str::to_owned).to_vec());
    let estimates = [
        with(column("delay_ns"), Counts::Sound),
        with(column("ue_cpu_ns"), Counts::Undisturbed),
        with(links, Counts::All),
        with(Number::Success, Counts::All),
        with(column("hss_cpu_ns"), Counts::All),
    ];
    let read = read(
        &[
            "psk,,wifi,raw,sim,real,established,20,true,false,5,100,",
            "rsa,,wifi,raw,sim,real,established,30,true,false,5,100,",
            "psk,,wifi,raw,sim,real,established,90,true,true,6,100,50",
            "psk,,wifi,raw,sim,real,failed,,true,false,7,80,",
        ],
        &estimates,
    );
    assert_eq!(read.len(), 2);
    let psk = read.iter().find(|(name, _)| name.method == "psk").unwrap().1;
    let known: Vec<Vec<f64>> =
        psk.iter().map(|of| of.iter().copied().filter(|number| !number.is_nan()).collect()).collect();
    assert_eq!(known, [vec![20.0], vec![5.0, 7.0], vec![100.0, 150.0, 80.0], vec![1.0, 1.0, 0.0], vec![]]);
    assert!(
        psk.iter().all(|of| of.len() == 3),
        "one number of each authentication, so that they stay together"
    );
}
