//! Quantiles: exact for few values, with three digits from a histogram for more.
//! Read Hyndman & Fan, The American Statistician 50 (1996) 361: type 7, that of NumPy, R and Excel; and David & Nagaraja,
//! Order Statistics (2003) §7.1, for the interval of the median.

use hdrhistogram::Histogram;

use super::Interval;

/// Up to this many values are kept individually.
const EXACT_MAX: usize = 10_000;

/// The median of some values and its distribution-free 95 % interval, which is unknown below six; `None` without values.
pub fn median95(values: impl IntoIterator<Item = f64>) -> Option<(f64, Option<Interval>)> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| (interpolated(&sorted, 0.5), interval_of_median(&sorted)))
}

/// Two of the values, equally many ranks from the least and from the greatest.
fn interval_of_median(sorted: &[f64]) -> Option<Interval> {
    let rank = median_rank95(sorted.len() as u64)? as usize;
    Some(Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank] })
}

/// Collects values (nanoseconds, bytes, …) for quantiles in bounded memory.
#[derive(Debug, Clone)]
pub struct Quantiles(Kept);

#[derive(Debug, Clone)]
enum Kept {
    Exact(Vec<u64>),
    Histogram(Box<Histogram<u64>>),
}

impl Default for Quantiles {
    fn default() -> Self {
        Self(Kept::Exact(Vec::new()))
    }
}

impl Quantiles {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        match &mut self.0 {
            Kept::Exact(values) if values.len() < EXACT_MAX => values.push(value),
            Kept::Exact(values) => {
                let mut histogram = histogram_of(values);
                record(&mut histogram, value);
                self.0 = Kept::Histogram(Box::new(histogram));
            }
            Kept::Histogram(histogram) => record(histogram, value),
        }
    }

    /// The quantiles at `fractions` (0 to 1); `None` without values.
    pub fn at<const N: usize>(&self, fractions: [f64; N]) -> Option<[f64; N]> {
        match &self.0 {
            Kept::Exact(values) if values.is_empty() => None,
            Kept::Exact(values) => {
                let sorted = sorted(values);
                Some(fractions.map(|fraction| interpolated(&sorted, fraction)))
            }
            Kept::Histogram(histogram) => {
                Some(fractions.map(|fraction| histogram.value_at_quantile(fraction) as f64))
            }
        }
    }

    /// The distribution function as so many points at most, rising: a share of the values, and the value that so many do not exceed. Few
    /// values are all there; of many a tenth of the points are among the greatest hundredth, where single ones matter.
    pub fn curve(&self, most: usize) -> Vec<(f64, f64)> {
        match &self.0 {
            Kept::Exact(values) => {
                let (sorted, n) = (sorted(values), values.len());
                let rank = |share: f64| ((share * n as f64).ceil() as usize).clamp(1, n);
                let ranks = if n <= most { (1..=n).collect() } else { ranks(most, rank) };
                ranks.into_iter().map(|rank| (rank as f64 / n as f64, sorted[rank - 1])).collect()
            }
            Kept::Histogram(histogram) => {
                let at = |share| (share, histogram.value_at_quantile(share) as f64);
                shares(most).map(at).collect()
            }
        }
    }

    /// The distribution-free 95 % interval of the quantile at `share`: two of the values. `None` where they are too few for it, as less than
    /// six are for the median.
    pub fn interval95(&self, share: f64) -> Option<Interval> {
        match &self.0 {
            Kept::Exact(values) => {
                let [low, high] = ranks95(values.len() as u64, share)?;
                let sorted = sorted(values);
                Some(Interval { low: sorted[low as usize - 1], high: sorted[high as usize - 1] })
            }
            Kept::Histogram(histogram) => {
                let n = histogram.len();
                let at = |rank: u64| histogram.value_at_quantile(rank as f64 / n as f64) as f64;
                ranks95(n, share).map(|[low, high]| Interval { low: at(low), high: at(high) })
            }
        }
    }
}

/// So many shares from 0 to 1; a tenth of them within the last hundredth.
fn shares(most: usize) -> impl Iterator<Item = f64> {
    let last = most / 10;
    let first = most - last;
    let body = (0..first).map(move |place| 0.99 * place as f64 / first as f64);
    body.chain((0..last).map(move |place| 0.99 + 0.01 * (place + 1) as f64 / last as f64))
}

/// The ranks of so many shares, each once.
fn ranks(most: usize, rank: impl Fn(f64) -> usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = shares(most).map(rank).collect();
    ranks.dedup();
    ranks
}

fn sorted(values: &[u64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().map(|value| value as f64).collect()
}

/// The first of the ranks of the median; the second is as far from the greatest.
pub fn median_rank95(n: u64) -> Option<u64> {
    ranks95(n, 0.5).map(|[low, _]| low)
}

/// The ranks, from 1 on, of the two of n values between which the quantile at `share` lies in 95 of 100 cases: it is below the first in at
/// most 2.5 of them, and above the second in as few. `None` if the extremes enclose it less often.
pub fn ranks95(n: u64, share: f64) -> Option<[u64; 2]> {
    if n > EXACT_MAX as u64 {
        let (middle, by) = (n as f64 * share, NORMAL_975 * (n as f64 * share * (1.0 - share)).sqrt());
        let [low, high] = [(middle - by) as u64, (middle + by).ceil() as u64 + 1];
        return (low > 0 && high <= n).then_some([low, high]);
    }
    // The count of values below the quantile is binomial.
    let (mut ln_weight, mut within, mut low) = (n as f64 * (-share).ln_1p(), 0.0, None);
    let odds = share / (1.0 - share);
    for count in 0..n {
        within += f64::exp(ln_weight);
        low = low.or((within > 0.025).then_some(count));
        if within >= 0.975 {
            return low.filter(|&low| low > 0).map(|low| [low, count + 1]);
        }
        ln_weight += ((n - count) as f64 / (count + 1) as f64 * odds).ln();
    }
    None
}

/// The quantile of the normal distribution at 97.5 %.
const NORMAL_975: f64 = 1.959_964;

fn histogram_of(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("three digits are within hdrhistogram's 0 to 5");
    histogram.auto(true);
    values.iter().for_each(|&value| record(&mut histogram, value));
    histogram
}

/// The maximum value of a histogram's buckets: 292 years in nanoseconds.
const HISTOGRAM_MAX: u64 = i64::MAX as u64;

fn record(histogram: &mut Histogram<u64>, value: u64) {
    if histogram.record(value.min(HISTOGRAM_MAX)).is_err() {
        // It cannot grow that far if usize has 32 bits: then the value counts as the maximum.
        histogram.saturating_record(value);
    }
}

/// Type 7: the value at rank (n − 1)·p, interpolated between its neighbours.
fn interpolated(sorted: &[f64], fraction: f64) -> f64 {
    let rank = (sorted.len() - 1) as f64 * fraction.clamp(0.0, 1.0);
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Quantiles {
        let mut quantiles = Quantiles::default();
        values.into_iter().for_each(|value| quantiles.add(value));
        quantiles
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(of([]).at([0.5]), None);
    }

    #[test]
    fn small_sets_are_exact() {
        assert_eq!(of([7]).at([0.0, 0.5, 1.0]), Some([7.0, 7.0, 7.0]));
        // Ranks 4·0.5 = 2 and 4·0.95 = 3.8: 40 + 0.8 × 10.
        let [median, p95] = of([50, 10, 40, 20, 30]).at([0.5, 0.95]).unwrap();
        assert_eq!(median, 30.0);
        assert!((p95 - 48.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_of_the_median_has_the_ranks_of_the_tables() {
        // Ranks of the two-sided 95 % interval: Conover, Practical Nonparametric Statistics (1999), table A3 and §3.2.
        let ranks = [5, 6, 8, 9, 10, 15, 20, 25, 30, 50, 100].map(median_rank95);
        let wanted = [0, 1, 1, 2, 2, 4, 6, 8, 10, 18, 40];
        assert_eq!(ranks, wanted.map(|rank| (rank > 0).then_some(rank)));
        let interval = of((1..=30).rev()).interval95(0.5).unwrap();
        assert_eq!((interval.low, interval.high), (10.0, 21.0));
        assert_eq!(of([]).interval95(0.5), None);
    }

    /// SciPy 1.17.1: `binom.ppf(0.025, n, p)` and `binom.ppf(0.975, n, p) + 1`, both within 1..=n.
    #[test]
    fn the_intervals_of_percentiles_have_the_ranks_of_the_binomial_distribution() {
        let ranks = [(367, 0.99), (368, 0.99), (1000, 0.99), (72, 0.95), (71, 0.95), (9999, 0.95)]
            .map(|(n, share)| ranks95(n, share));
        let wanted = [None, Some([360, 368]), Some([983, 997]), Some([64, 72]), None, Some([9456, 9542])];
        assert_eq!(ranks, wanted);
        let [low, high] = ranks95(EXACT_MAX as u64 + 1, 0.95).unwrap();
        assert!(low.abs_diff(9458) <= 1 && high.abs_diff(9544) <= 1, "{low} {high}");
        let interval = of(1..=1000).interval95(0.99).unwrap();
        assert_eq!([interval.low, interval.high], [983.0, 997.0]);
    }

    #[test]
    fn differences_have_medians_too() {
        let (median, interval) = median95([4.0, -1.0, 2.0, 1000.0, 3.0, 0.5]).unwrap();
        // Of six values the extremes are the interval.
        assert_eq!((median, interval), (2.5, Some(Interval { low: -1.0, high: 1000.0 })));
        assert_eq!(median95([1.0, 2.0]), Some((1.5, None)));
        assert_eq!(median95([]), None);
    }

    #[test]
    fn beyond_the_kept_values_the_ranks_continue() {
        let exact = median_rank95(EXACT_MAX as u64).unwrap();
        assert!(median_rank95(EXACT_MAX as u64 + 2).unwrap().abs_diff(exact) <= 1);
        let interval = of((1..=100_000).map(|value| value * 1_000)).interval95(0.5).unwrap();
        assert!((interval.low / 49_690_000.0 - 1.0).abs() < 1e-3, "{interval:?}");
        assert!((interval.high / 50_310_000.0 - 1.0).abs() < 1e-3, "{interval:?}");
    }

    #[test]
    fn a_curve_has_all_of_few_values_and_the_ends_of_many() {
        assert_eq!(of([30, 10]).curve(10), [(0.5, 10.0), (1.0, 30.0)]);
        assert_eq!(of([]).curve(10), []);
        for n in [1_000, 100_000] {
            let curve = of(1..=n).curve(400);
            assert!(curve.len() <= 400 && curve.is_sorted(), "{n}");
            let beyond = |(share, value): &(f64, f64)| (value / n as f64 - share).abs() > 0.003;
            assert_eq!(curve.iter().find(|point| beyond(point)), None, "{n}");
            assert!(curve[0].1 <= 1.0 + n as f64 * 0.001 && curve[curve.len() - 1].0 == 1.0);
            assert!(curve[curve.len() - 1].1 >= n as f64, "{n}");
            assert!(curve.iter().filter(|(share, _)| *share > 0.99).count() >= 9, "{n}");
        }
    }

    #[test]
    fn large_sets_keep_three_digits() {
        let [median, p99] = of((1..=100_000).map(|value| value * 1_000)).at([0.5, 0.99]).unwrap();
        assert!((median / 50_000_000.0 - 1.0).abs() < 1e-3, "{median}");
        assert!((p99 / 99_000_000.0 - 1.0).abs() < 1e-3, "{p99}");
    }

    #[test]
    fn the_largest_number_is_no_panic() {
        let mut quantiles = of(0..10_001);
        quantiles.add(u64::MAX);
        assert!(quantiles.at([1.0]).unwrap()[0] > 9e18);
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(values in prop::collection::vec(0u64..1_000_000, 1..100)) {
            let [low, p50, p95, high] = of(values.iter().copied()).at([0.0, 0.5, 0.95, 1.0]).unwrap();
            prop_assert_eq!(low, *values.iter().min().unwrap() as f64);
            prop_assert_eq!(high, *values.iter().max().unwrap() as f64);
            prop_assert!(low <= p50 && p50 <= p95 && p95 <= high);
        }
    }
}
