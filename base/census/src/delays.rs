//! Delays by the thousandth of their length: counted, not kept.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Percentiles;

/// Delays of a load, or of a part of it: microseconds with three digits.
#[derive(Debug, Clone)]
pub struct Delays(Histogram<u64>);

/// A month: no load lasts longer.
const LONGEST_US: u64 = 31 * 24 * 3600 * 1_000_000;

impl Default for Delays {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are within hdrhistogram's 0 to 5"))
    }
}

impl Delays {
    /// Counts one.
    pub fn record(&mut self, delay: Duration) {
        let us = micros(delay).min(LONGEST_US);
        self.0.record(us).expect("a histogram that resizes itself takes everything");
    }

    /// Counts those of another part, too.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a histogram that resizes itself takes everything");
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The delay that this share of them do not exceed; `None` without any.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_micros(self.0.value_at_quantile(quantile)))
    }

    /// Lengths in microseconds, ascending, each with how many are as long, to a thousandth.
    pub fn counts(&self) -> Vec<[u64; 2]> {
        let all = self.0.iter_recorded();
        all.map(|step| [step.value_iterated_to().min(self.0.max()), step.count_at_value()]).collect()
    }

    /// In milliseconds; `None` without any.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1000.0;
        (!self.0.is_empty()).then(|| Percentiles {
            n: self.0.len(),
            mean: self.0.mean() / 1000.0,
            min: self.0.min() as f64 / 1000.0,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: self.0.max() as f64 / 1000.0,
        })
    }
}

fn micros(delay: Duration) -> u64 {
    u64::try_from(delay.as_micros()).unwrap_or(u64::MAX)
}

/// Bits of a bucket below the leading one: its width is 1/64 of its length.
const BITS: u32 = 6;

/// Delays of one second, in buckets of microseconds of which few are in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct FewDelays {
    buckets: BTreeMap<u16, u32>,
    max_us: u64,
}

impl FewDelays {
    pub(crate) fn record(&mut self, delay: Duration) {
        let us = micros(delay);
        *self.buckets.entry(bucket(us)).or_default() += 1;
        self.max_us = self.max_us.max(us);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.max_us = self.max_us.max(other.max_us);
    }

    /// The delay in milliseconds below which this share of them is; `None` without any.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        let count: u64 = self.buckets.values().map(|&count| u64::from(count)).sum();
        let rank = ((count as f64 * quantile).ceil() as u64).max(1);
        let mut sum = 0;
        let (bucket, _) = self.buckets.iter().find(|(_, count)| {
            sum += u64::from(**count);
            sum >= rank
        })?;
        Some(upper_us(*bucket).min(self.max_us) as f64 / 1000.0)
    }

    /// The longest in milliseconds.
    pub(crate) fn max_ms(&self) -> Option<f64> {
        (!self.buckets.is_empty()).then_some(self.max_us as f64 / 1000.0)
    }
}

fn bucket(us: u64) -> u16 {
    let exponent = u64::BITS - us.leading_zeros();
    let shift = exponent.saturating_sub(BITS + 1);
    let place = u64::from(shift) * (1 << BITS) + (us >> shift);
    u16::try_from(place).unwrap_or(u16::MAX)
}

/// The longest delay in a bucket.
fn upper_us(bucket: u16) -> u64 {
    let place = u64::from(bucket);
    let shift = (place >> BITS).saturating_sub(1);
    let leading = place - (shift << BITS);
    ((u128::from(leading) + 1) << shift).saturating_sub(1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_no_wider_than_a_64th(us in 0..u64::MAX / 2) {
            let upper = upper_us(bucket(us));
            prop_assert!(upper >= us && upper - us <= us / 64, "{} {}", us, upper);
            prop_assert!(bucket(upper) == bucket(us) && bucket(upper + 1) == bucket(us) + 1);
        }
    }

    #[test]
    fn quantiles_of_few() {
        let mut few = FewDelays::default();
        assert_eq!((few.quantile_ms(0.5), few.max_ms()), (None, None));
        (1..=100).for_each(|ms| few.record(Duration::from_millis(ms)));
        let [p50, p99] = [0.5, 0.99].map(|quantile| few.quantile_ms(quantile).unwrap());
        assert!((50.0..51.0).contains(&p50) && (99.0..=100.0).contains(&p99), "{p50} {p99}");
        assert_eq!(few.max_ms(), Some(100.0));
    }
}
