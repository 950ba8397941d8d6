//! Numbers with intervals, on which verdicts are based: medians, and numbers derived from several.
//! A case is decided only if the whole interval is on one side.
//!
//! Of two numbers that were measured in the same blocks of a run, the ratio or difference in each block counts: where the machine was slow, it
//! was slow for both. Read Law, Simulation Modeling and Analysis (2015) §10.2.1 (paired t).

use super::{Evidence, Figure};
use keytoll_analysis::profile::Estimate;
use keytoll_analysis::stats::blocks_interval95;
use keytoll_analysis::summary::Median;

/// A number, not negative unless it is a difference, with the ends of its interval: both are the number itself if it is exact, and infinite if
/// too little was measured for an interval, so that nothing follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Doubtful {
    pub(crate) value: f64,
    low: f64,
    high: f64,
    /// The number in each block of the run, if its interval is that of blocks.
    blocks: Option<InBlocks>,
}

/// A run has at most so many blocks.
const BLOCKS_MAX: usize = 16;

/// A number in each block of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct InBlocks {
    values: [f64; BLOCKS_MAX],
    count: usize,
}

impl InBlocks {
    /// `None` if there are more blocks than expected.
    fn of(of_blocks: &[f64]) -> Option<Self> {
        let mut values = [0.0; BLOCKS_MAX];
        values.get_mut(..of_blocks.len())?.copy_from_slice(of_blocks);
        Some(Self { values, count: of_blocks.len() })
    }

    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { values: self.values.map(of), ..self }
    }

    /// Block by block; `None` if there are more blocks of one than of the other.
    fn zip(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let values = std::array::from_fn(|block| of(self.values[block], other.values[block]));
        (self.count == other.count).then_some(Self { values, ..self })
    }
}

impl From<Median> for Doubtful {
    fn from(Median { value, interval }: Median) -> Self {
        let (low, high) = interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Self::between(low, value, high)
    }
}

impl From<&Estimate> for Doubtful {
    fn from(estimate: &Estimate) -> Self {
        let of_blocks = InBlocks::of(&estimate.blocks_p50);
        of_blocks
            .and_then(|blocks| Self::in_blocks(estimate.p50, blocks))
            .unwrap_or_else(|| estimate.median().into())
    }
}

impl From<&Figure> for Doubtful {
    fn from(figure: &Figure) -> Self {
        // Counts and memory are exact: only what varies has an interval.
        let interval = figure.low.zip(figure.high);
        interval.map_or(figure.value.into(), |(low, high)| Self::between(low, figure.value, high))
    }
}

impl From<f64> for Doubtful {
    fn from(value: f64) -> Self {
        Self::between(value, value, value)
    }
}

impl From<Doubtful> for Figure {
    fn from(number: Doubtful) -> Self {
        Self::of_median(number.median())
    }
}

impl Doubtful {
    /// A number that varies, unlike a count: nothing follows from it without an interval.
    pub(crate) fn of_varying(figure: &Figure) -> Self {
        Median { value: figure.value, interval: figure.low.zip(figure.high) }.into()
    }

    /// A number with the ends of its interval.
    pub(crate) const fn between(low: f64, value: f64, high: f64) -> Self {
        Self { value, low, high, blocks: None }
    }

    /// A number with the interval of blocks, which includes it; `None` below three blocks.
    fn in_blocks(value: f64, blocks: InBlocks) -> Option<Self> {
        let interval = blocks_interval95(blocks.values.into_iter().take(blocks.count))?;
        let (low, high) = (interval.low.min(value), interval.high.max(value));
        Some(Self { value, low, high, blocks: Some(blocks) })
    }

    /// A number that follows from two: by blocks if both are known in the same ones, or one of them in blocks and the other exactly;
    /// `apart` otherwise.
    fn combined(self, other: Self, apart: Self, of: fn(f64, f64) -> f64) -> Self {
        let blocks = match (self.blocks, other.blocks) {
            (Some(one), Some(two)) => one.zip(two, of),
            (Some(one), None) if other.is_exact() => Some(one.map(|value| of(value, other.value))),
            (None, Some(two)) if self.is_exact() => Some(two.map(|value| of(self.value, value))),
            _ => None,
        };
        blocks.and_then(|blocks| Self::in_blocks(apart.value, blocks)).unwrap_or(apart)
    }

    /// Whether it has no interval.
    fn is_exact(self) -> bool {
        self.low == self.high
    }

    /// With its interval, if it is known.
    fn median(self) -> Median {
        let is_known = self.low.is_finite() && self.high.is_finite();
        let interval = (is_known && self.low < self.high).then_some((self.low, self.high));
        Median { value: self.value, interval }
    }

    /// Its quotient by a number that is not negative: its lower end is that of this divided by the other's upper end.
    pub(crate) fn per(self, other: Self) -> Self {
        let apart = Self::between(self.low / other.high, self.value / other.value, self.high / other.low);
        self.combined(other, apart, |one, two| one / two)
    }

    pub(crate) fn less(self, other: Self) -> Self {
        let apart = Self::between(self.low - other.high, self.value - other.value, self.high - other.low);
        self.combined(other, apart, |one, two| one - two)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let apart = Self::between(self.low + other.low, self.value + other.value, self.high + other.high);
        self.combined(other, apart, |one, two| one + two)
    }

    /// In another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        let blocks = self.blocks.map(|blocks| blocks.map(|value| value * factor));
        Self { blocks, ..Self::between(self.low * factor, self.value * factor, self.high * factor) }
    }

    /// The same with an interval that is wider by so much at both ends, which is not that of blocks.
    pub(crate) fn widened(self, by: f64) -> Self {
        Self::between(self.low - by, self.value, self.high + by)
    }

    /// Half the width of the interval.
    pub(crate) fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The geometric mean of independent positive numbers; their uncertainties add up in squares of logarithms.
    pub(crate) fn geometric_mean(numbers: &[Self]) -> Option<Self> {
        let n = numbers.len() as f64;
        let value = (numbers.iter().map(|number| number.value.ln()).sum::<f64>() / n).exp();
        let arm = |end: fn(&Self) -> f64| {
            let squares = numbers.iter().map(|number| (end(number) / number.value).ln().powi(2));
            (squares.sum::<f64>().sqrt() / n).exp()
        };
        let (below, above) = (arm(|number| number.low), arm(|number| number.high));
        (!numbers.is_empty()).then(|| Self::between(value / below, value, value * above))
    }

    /// Whether it is greater; `None` if the intervals overlap or, in the same blocks, the interval of the difference contains 0.
    pub(crate) fn exceeds(self, other: Self) -> Option<bool> {
        let more = self.less(other);
        if more.low > 0.0 {
            Some(true)
        } else if more.high < 0.0 || self == other {
            Some(false)
        } else {
            None
        }
    }

    /// Whether it is at most `limit`; `None` if the interval contains the limit.
    pub(crate) fn is_at_most(self, limit: f64) -> Option<bool> {
        if self.high <= limit {
            Some(true)
        } else if self.low > limit {
            Some(false)
        } else {
            None
        }
    }

    /// Whether it is at least `limit`; `None` if the interval contains the limit.
    pub(crate) fn is_at_least(self, limit: f64) -> Option<bool> {
        self.times(-1.0).turned().is_at_most(-limit)
    }

    /// Whether it is a positive number up to this factor, either way; `None` if the interval crosses an edge.
    pub(crate) fn is_within_factor(self, number: f64, factor: f64) -> Option<bool> {
        all([self.is_at_least(number / factor), self.is_at_most(number * factor)])
    }

    /// Whether it is within `distance` of a number; `None` if the interval crosses the edge.
    pub(crate) fn is_near(self, number: f64, distance: f64) -> Option<bool> {
        all([self.is_at_least(number - distance), self.is_at_most(number + distance)])
    }

    /// The least first again.
    fn turned(self) -> Self {
        Self { low: self.high, high: self.low, ..self }
    }

    pub(crate) fn evidence(self, what: impl Into<String>, unit: &str) -> Evidence {
        Evidence::ranged(what, self.median(), unit)
    }
}

/// Whether all are true: false if one is false, otherwise `None` if one is undecided.
pub(crate) fn all(cases: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    for case in cases {
        match case {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = None,
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A median of one or two values has no interval, and is not exact for that.
    #[test]
    fn nothing_follows_from_a_number_whose_interval_is_not_known() {
        let unknown = Doubtful::from(Median { value: 5.0, interval: None });
        assert_eq!(
            (unknown.is_at_most(6.0), unknown.is_at_least(6.0), unknown.is_near(5.0, 1.0)),
            (None, None, None)
        );
        assert_eq!((unknown.exceeds(1.0.into()), Doubtful::from(1.0).exceeds(unknown)), (None, None));
        assert_eq!(
            (unknown.per(unknown).is_at_most(2.0), unknown.per(2.0.into()).is_at_most(9.0)),
            (None, None)
        );
        assert_eq!(unknown.median(), Median { value: 5.0, interval: None });
        let mean = Doubtful::geometric_mean(&[unknown, Doubtful::from(2.0)]).unwrap();
        assert_eq!(mean.is_at_most(100.0), None);
        assert_eq!(Doubtful::from(5.0).is_at_most(6.0), Some(true), "an exact one");
    }

    fn doubtful(low: f64, value: f64, high: f64) -> Doubtful {
        Doubtful::between(low, value, high)
    }

    #[test]
    fn a_case_is_decided_only_if_the_whole_interval_is_on_one_side() {
        let number = doubtful(4.0, 5.0, 6.0);
        assert_eq!([6.0, 5.5, 3.9].map(|limit| number.is_at_most(limit)), [Some(true), None, Some(false)]);
        assert_eq!([4.0, 4.5, 6.1].map(|limit| number.is_at_least(limit)), [Some(true), None, Some(false)]);
        assert_eq!([1.0, 0.5].map(|distance| number.is_near(5.0, distance)), [Some(true), None]);
        assert_eq!(number.is_near(9.0, 1.0), Some(false));
        let factors =
            [4.9, 5.1, 8.0, 3.0].map(|number_printed| number.is_within_factor(number_printed, 1.25));
        assert_eq!(factors, [Some(true), None, Some(false), Some(false)]);
        assert_eq!(number.exceeds(doubtful(1.0, 2.0, 3.0)), Some(true));
        assert_eq!(number.exceeds(doubtful(5.5, 7.0, 8.0)), None);
        assert_eq!(number.exceeds(doubtful(6.5, 7.0, 8.0)), Some(false));
    }

    fn of_blocks(blocks: &[f64]) -> Doubtful {
        let p50 = blocks.iter().sum::<f64>() / blocks.len() as f64;
        (&Estimate { p50, blocks_p50: blocks.to_vec(), ..Estimate::default() }).into()
    }

    /// A machine that is up to half slower in some blocks: each number may be anything from 80 to 170, and the ratio is about 1.1.
    #[test]
    fn numbers_of_the_same_blocks_are_compared_block_by_block() {
        let slow = [1.0, 1.5, 1.0, 1.4, 1.0, 1.0, 1.5, 1.2];
        let jitter = [0.01, -0.01, 0.0, 0.01, 0.0, -0.01, 0.01, -0.01];
        let blocks = |work: f64, sign: f64| {
            let each = slow.iter().zip(jitter).map(|(slow, jitter)| work * slow * (1.0 + sign * jitter));
            of_blocks(&each.collect::<Vec<_>>())
        };
        let (one, other) = (blocks(110.0, 1.0), blocks(100.0, -1.0));
        assert_eq!((one.is_at_most(120.0), one.exceeds(other)), (None, Some(true)));
        assert_eq!(one.per(other).less(1.0.into()).is_near(0.1, 0.03), Some(true));
        assert_eq!(one.per(other).times(100.0).plus(0.0.into()).is_at_least(105.0), Some(true));
        let apart = Doubtful::between(other.low, other.value, other.high);
        assert_eq!((one.exceeds(apart), one.per(apart).is_near(1.1, 0.03)), (None, None));
        assert_eq!((blocks(100.0, 1.0).exceeds(other), other.exceeds(other)), (None, Some(false)));
    }

    #[test]
    fn two_blocks_or_too_many_say_nothing() {
        let interval = (Some(1.0), Some(9.0));
        for blocks_p50 in [vec![4.0, 5.0], vec![4.0; BLOCKS_MAX + 1]] {
            let (p50_ci95_low, p50_ci95_high) = interval;
            let estimate =
                Estimate { p50: 4.5, p50_ci95_low, p50_ci95_high, blocks_p50, ..Estimate::default() };
            assert_eq!(Doubtful::from(&estimate), doubtful(1.0, 4.5, 9.0));
        }
    }

    #[test]
    fn derived_numbers_are_as_uncertain_as_both() {
        let (four, two) = (doubtful(3.0, 4.0, 6.0), doubtful(1.0, 2.0, 3.0));
        assert_eq!(four.per(two), doubtful(1.0, 2.0, 6.0));
        assert_eq!(four.less(two), doubtful(0.0, 2.0, 5.0));
        assert_eq!(four.plus(two), doubtful(4.0, 6.0, 9.0));
        assert_eq!((four.widened(0.5), four.half_width()), (doubtful(2.5, 4.0, 6.5), 1.5));
    }

    /// Two numbers that may be a fourth or four times themselves: ln 4 · √2 ÷ 2 of their mean's logarithm.
    #[test]
    fn a_geometric_mean_is_less_uncertain_than_each() {
        let mean = Doubtful::geometric_mean(&[doubtful(1.0, 4.0, 16.0), doubtful(4.0, 16.0, 64.0)]).unwrap();
        let factor = 4.0_f64.powf(0.5_f64.sqrt());
        for (found, wanted) in [(mean.value, 8.0), (mean.low, 8.0 / factor), (mean.high, 8.0 * factor)] {
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found} is not {wanted}");
        }
        assert_eq!(Doubtful::geometric_mean(&[]), None);
    }

    #[test]
    fn one_false_is_false_and_one_doubt_is_doubt() {
        assert_eq!(all([Some(true), Some(true)]), Some(true));
        assert_eq!(all([Some(true), None]), None);
        assert_eq!(all([None, Some(false)]), Some(false));
    }
}
