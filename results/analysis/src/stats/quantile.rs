//! Quantiles: exact while there are few values, three digits from a histogram beyond.
//! Read Hyndman & Fan, The American Statistician 50 (1996) 361: type 7, the one of NumPy, R and Excel.

use hdrhistogram::Histogram;

/// Up to this many values are kept as they are.
const EXACT_MAX: usize = 10_000;

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

    /// The quantiles at `fractions` (0 to 1); None without values.
    pub fn at<const N: usize>(&self, fractions: [f64; N]) -> Option<[f64; N]> {
        match &self.0 {
            Kept::Exact(values) if values.is_empty() => None,
            Kept::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                Some(fractions.map(|fraction| interpolated(&sorted, fraction)))
            }
            Kept::Histogram(histogram) => {
                Some(fractions.map(|fraction| histogram.value_at_quantile(fraction) as f64))
            }
        }
    }
}

fn histogram_of(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("three digits are within hdrhistogram's 0 to 5");
    histogram.auto(true);
    values.iter().for_each(|&value| record(&mut histogram, value));
    histogram
}

/// The most that the buckets of a histogram can name: 292 years in nanoseconds.
const HISTOGRAM_MAX: u64 = i64::MAX as u64;

fn record(histogram: &mut Histogram<u64>, value: u64) {
    if histogram.record(value.min(HISTOGRAM_MAX)).is_err() {
        // It cannot grow that far where usize has 32 bits: the value counts as the greatest it can name.
        histogram.saturating_record(value);
    }
}

/// Type 7: the value at rank (n − 1)·p, interpolated between its neighbours.
fn interpolated(sorted: &[u64], fraction: f64) -> f64 {
    let rank = (sorted.len() - 1) as f64 * fraction.clamp(0.0, 1.0);
    let below = sorted[rank.floor() as usize] as f64;
    let above = sorted[rank.ceil() as usize] as f64;
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
