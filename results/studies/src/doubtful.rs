//! Numbers with intervals, on which verdicts are based: medians, and numbers derived from several.
//! A case is decided only if the whole interval is on one side.

use super::{Evidence, Figure};
use keytoll_analysis::summary::Median;

/// A number, not negative unless it is a difference, with the ends of its interval; both are the number itself if no interval is
/// known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Doubtful {
    pub(crate) value: f64,
    low: f64,
    high: f64,
}

impl From<Median> for Doubtful {
    fn from(Median { value, interval }: Median) -> Self {
        let (low, high) = interval.unwrap_or((value, value));
        Self { value, low, high }
    }
}

impl From<&Figure> for Doubtful {
    fn from(figure: &Figure) -> Self {
        Median { value: figure.value, interval: figure.low.zip(figure.high) }.into()
    }
}

impl From<f64> for Doubtful {
    fn from(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

impl From<Doubtful> for Figure {
    fn from(number: Doubtful) -> Self {
        Self::of_median(number.median())
    }
}

impl Doubtful {
    /// A number with the ends of its interval.
    pub(crate) fn between(low: f64, value: f64, high: f64) -> Self {
        Self { value, low, high }
    }

    /// With its interval, if it is known.
    fn median(self) -> Median {
        let interval = (self.low < self.high).then_some((self.low, self.high));
        Median { value: self.value, interval }
    }

    /// Its quotient by a number that is not negative: its lower end is that of this divided by the other's upper end.
    pub(crate) fn per(self, other: Self) -> Self {
        Self { value: self.value / other.value, low: self.low / other.high, high: self.high / other.low }
    }

    pub(crate) fn less(self, other: Self) -> Self {
        Self { value: self.value - other.value, low: self.low - other.high, high: self.high - other.low }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }

    /// In another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The same with an interval that is wider by so much at both ends.
    pub(crate) fn widened(self, by: f64) -> Self {
        Self { low: self.low - by, high: self.high + by, ..self }
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
        (!numbers.is_empty()).then_some(Self { value, low: value / below, high: value * above })
    }

    /// Whether it is greater; `None` if the intervals overlap.
    pub(crate) fn exceeds(self, other: Self) -> Option<bool> {
        if self.low > other.high {
            Some(true)
        } else if self.high < other.low || self == other {
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
