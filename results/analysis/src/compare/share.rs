//! The ratio of two shares, and its interval. Read Wilson, Journal of the American Statistical Association 22 (1927) 209, for the interval
//! of one share; Donner & Zou, Statistical Methods in Medical Research 21 (2012) 347 (MOVER-R), for that of the ratio of two.

use crate::stats::Interval;

/// So many of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) count: u64,
    pub(super) of: u64,
}

/// The 97.5th percentile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

impl Share {
    pub(super) const fn is_of_some(self) -> bool {
        self.of > 0
    }

    pub(super) fn value(self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// Wilson's interval.
    fn interval(self) -> Interval {
        let (n, p) = (self.of as f64, self.value());
        let middle = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        Interval { low: ((middle - half) / whole).max(0.0), high: ((middle + half) / whole).min(1.0) }
    }
}

/// The 95 % interval of `b` ÷ `a`: without an upper end if `a` is nothing; none at all if both are.
pub(super) fn ratio_of_shares(a: Share, b: Share) -> Option<Interval> {
    if !a.is_of_some() || !b.is_of_some() || a.count + b.count == 0 {
        return None;
    }
    let (pa, pb) = (a.value(), b.value());
    let (of_a, of_b) = (a.interval(), b.interval());
    let root = |inner: f64| inner.max(0.0).sqrt();
    let both = pa * pb;
    let below = |end: f64| end * (2.0 * pa - end);
    let above = |end: f64| end * (2.0 * pb - end);
    // The smaller root of R²·below − 2R·both + above, in the form that also holds where `below` is 0 or less.
    let low = above(of_b.low) / (both + root(both * both - above(of_b.low) * below(of_a.high)));
    let high = match below(of_a.low) {
        least if least > 0.0 => (both + root(both * both - above(of_b.high) * least)) / least,
        _ => f64::INFINITY,
    };
    Some(Interval { low: low.max(0.0), high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Binomial, Distribution};

    /// `statsmodels.stats.proportion.proportion_confint(81, 263, method="wilson")`; the figures are also Newcombe's of 1998, table I.
    #[test]
    fn one_share_as_newcombe_has_it() {
        let found = Share { count: 81, of: 263 }.interval();
        assert!((found.low - 0.2553).abs() < 5e-5 && (found.high - 0.3662).abs() < 5e-5, "{found:?}");
        let none = Share { count: 0, of: 20 }.interval();
        assert!(none.low == 0.0 && (none.high - 0.1611).abs() < 5e-5, "{none:?}");
    }

    /// In about 95 of 100 experiments the interval has the true ratio.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let rng = &mut ChaCha8Rng::seed_from_u64(7);
        for (pa, pb) in [(0.5, 0.6), (0.9, 0.99), (0.95, 0.7), (0.01, 0.03), (0.02, 0.02)] {
            let mut draw = |p: f64| Share { count: Binomial::new(300, p).unwrap().sample(rng), of: 300 };
            let covers = |it: Interval| it.low <= pb / pa && pb / pa <= it.high;
            let covered =
                (0..1000).filter(|_| ratio_of_shares(draw(pa), draw(pb)).is_some_and(covers)).count();
            assert!((920..=990).contains(&covered), "{covered} of 1000 with {pa} and {pb}");
        }
    }

    #[test]
    fn what_is_divided_by_nothing_has_no_upper_end_and_still_a_lower_one() {
        let of = |count| Share { count, of: 1000 };
        let more = ratio_of_shares(of(0), of(50)).unwrap();
        assert!(more.low > 5.0 && more.high.is_infinite(), "{more:?}");
        let chance = ratio_of_shares(of(0), of(2)).unwrap();
        assert!(chance.low < 1.0 && chance.high.is_infinite(), "{chance:?}");
        let from_one = ratio_of_shares(of(1), of(500)).unwrap();
        assert!(from_one.low > 50.0 && from_one.high.is_finite(), "{from_one:?}");
        assert_eq!(ratio_of_shares(of(0), of(0)), None);
        assert_eq!(ratio_of_shares(of(5), Share { count: 0, of: 0 }), None);
        let all = ratio_of_shares(of(1000), of(1000)).unwrap();
        assert!(all.low > 0.99 && all.low < 1.0 && all.high > 1.0 && all.high < 1.01, "{all:?}");
    }
}
