//! The bootstrap interval of a ratio: of two medians, two other quantiles or two means. Read Efron & Tibshirani, An Introduction to
//! the Bootstrap (1993) §13.3 (percentile intervals); David & Nagaraja, Order Statistics (2003) §2.1 and §2.5.
//!
//! Nothing is drawn but what counts: the k-th smallest of n values drawn with replacement is the value at rank ⌈n·U⌉, where U, the
//! k-th smallest of n uniform numbers, has the distribution Beta(k, n + 1 − k). So a resample costs the same for any n. The mean of
//! a resample is drawn from the normal distribution that it approaches.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Beta, Distribution, Normal};

use super::ranked::Ranked;
use crate::stats::Interval;

/// Resamples of a group.
const RESAMPLES: usize = 4000;
/// The same values have the same interval.
const SEED: u64 = 0x6b65_7974_6f6c_6c00;

/// What is computed of a group of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Statistic {
    /// The quantile at this fraction: type 7 of Hyndman and Fan, as everywhere here.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
}

impl Statistic {
    pub(super) const MEDIAN: Self = Self::Quantile(0.5);

    /// Of some values; not a number without any.
    pub(super) fn of(self, ranked: &Ranked) -> f64 {
        match self {
            _ if ranked.n() == 0 => f64::NAN,
            Self::Mean => ranked.moments().mean().unwrap_or(f64::NAN),
            Self::Quantile(fraction) => {
                let rank = (ranked.n() - 1) as f64 * fraction;
                between(ranked.at(rank.floor() as u64), ranked.at(rank.ceil() as u64), rank)
            }
        }
    }

    /// Whether so many values say something of it: where fewer than one is above a quantile, it is that of the greatest.
    pub(super) fn is_known_from(self, n: u64) -> bool {
        match self {
            Self::Mean => n > 0,
            Self::Quantile(fraction) => n as f64 * (1.0 - fraction) >= 0.999_999,
        }
    }

    /// Of one resample after another.
    fn resampled(self, ranked: &Ranked, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        match self {
            Self::Quantile(fraction) => quantiles(ranked, fraction, rng),
            Self::Mean => means(ranked, rng),
        }
    }
}

fn between(below: f64, above: f64, rank: f64) -> f64 {
    below + (above - below) * rank.fract()
}

fn quantiles(ranked: &Ranked, fraction: f64, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
    let n = ranked.n() as f64;
    let rank = (n - 1.0) * fraction;
    let first = Beta::new(rank.floor() + 1.0, n - rank.floor()).ok()?;
    // The next smallest is the least of those above.
    let others = n - rank.floor() - 1.0;
    let next = if others >= 1.0 { Beta::new(1.0, others).ok() } else { None };
    let value = |u: f64| ranked.at((n * u) as u64);
    let draw = |_| {
        let u = first.sample(rng);
        let above = next.map_or(u, |next| u + (1.0 - u) * next.sample(rng));
        between(value(u), value(above), rank)
    };
    Some((0..RESAMPLES).map(draw).collect())
}

fn means(ranked: &Ranked, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
    let values = ranked.moments();
    let deviation = values.stddev()? / (values.n() as f64).sqrt();
    let normal = Normal::new(values.mean()?, deviation).ok()?;
    Some((0..RESAMPLES).map(|_| normal.sample(rng)).collect())
}

/// The 95 % interval of a statistic of `b` ÷ that of `a`; nothing if the latter may be 0.
pub(super) fn ratio_interval(a: &Ranked, b: &Ranked, statistic: Statistic) -> Option<Interval> {
    let rng = &mut ChaCha8Rng::seed_from_u64(SEED);
    let (below, above) = (statistic.resampled(a, rng)?, statistic.resampled(b, rng)?);
    let ratios: Vec<f64> = above.iter().zip(&below).map(|(above, below)| above / below).collect();
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    let ratios = Ranked::of(&ratios);
    let [low, high] = [0.025, 0.975].map(|fraction| Statistic::Quantile(fraction).of(&ratios));
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use rand_distr::Exp1;

    use super::*;

    /// Values of an exponential distribution.
    fn drawn(n: usize, seed: u64) -> Vec<f64> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Exp1.sample_iter(rng).take(n).collect()
    }

    /// A plain bootstrap, every value of every resample drawn.
    fn plainly(a: &[f64], b: &[f64], statistic: Statistic) -> Interval {
        let rng = &mut ChaCha8Rng::seed_from_u64(99);
        let mut resampled = |values: &[f64]| {
            let uniform = rand_distr::Uniform::new(0, values.len()).unwrap();
            let drawn: Vec<f64> = (0..values.len()).map(|_| values[uniform.sample(rng)]).collect();
            statistic.of(&Ranked::of(&drawn))
        };
        let ratios: Vec<f64> = (0..RESAMPLES).map(|_| resampled(b) / resampled(a)).collect();
        let ratios = Ranked::of(&ratios);
        let [low, high] = [0.025, 0.975].map(|fraction| Statistic::Quantile(fraction).of(&ratios));
        Interval { low, high }
    }

    #[test]
    fn the_short_way_leads_where_the_long_one_does() {
        for statistic in
            [Statistic::MEDIAN, Statistic::Quantile(0.95), Statistic::Quantile(0.99), Statistic::Mean]
        {
            let (a, b) = (drawn(151, 1), drawn(80, 2));
            let short = ratio_interval(&Ranked::of(&a), &Ranked::of(&b), statistic).unwrap();
            let long = plainly(&a, &b, statistic);
            let differs = |one: f64, other: f64| (one / other - 1.0).abs();
            let apart = differs(short.low, long.low).max(differs(short.high, long.high));
            assert!(apart < 0.06, "{statistic:?}: {short:?}, {long:?}");
        }
    }

    /// In about 95 of 100 experiments the interval has the true ratio, here 1.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let covers = |seed: u64| {
            let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| Ranked::of(&drawn(40, seed)));
            let interval = ratio_interval(&a, &b, Statistic::MEDIAN);
            interval.is_some_and(|interval| interval.low <= 1.0 && 1.0 <= interval.high)
        };
        let covered = (1000..1200).filter(|seed| covers(*seed)).count();
        assert!((181..=199).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn what_may_be_divided_by_nothing_has_no_interval() {
        let nine = |value| Ranked::counted([(value, 9)]);
        assert_eq!(ratio_interval(&nine(0.0), &nine(1.0), Statistic::MEDIAN), None);
        let same = ratio_interval(&nine(2.0), &nine(3.0), Statistic::Mean).unwrap();
        assert_eq!((same.low, same.high), (1.5, 1.5));
    }
}
