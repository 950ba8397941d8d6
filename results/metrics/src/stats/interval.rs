//! The 95 % two-sided confidence interval of a mean, Student t. Read A&S §26.7.

use super::{Welford, two_sided_quantile};

/// An interval around a mean, in the unit of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The interval that contains the true mean in 95 of 100 such experiments; `None` below two values, where
/// the spread is unknown.
pub fn interval95(values: &Welford) -> Option<Interval> {
    let (mean, stddev) = (values.mean()?, values.stddev()?);
    let n = values.n() as f64;
    let half = two_sided_quantile(0.05, n - 1.0) * stddev / n.sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_interval() {
        let mut values = Welford::default();
        assert_eq!(interval95(&values), None);
        values.add(1.0);
        assert_eq!(interval95(&values), None);
    }

    #[test]
    fn a_worked_example() {
        // 1 2 3 4 5: mean 3, s = √2.5, t(0.975; 4) = 2.776445105, half = 2.776445105 × √2.5 ÷ √5.
        let mut values = Welford::default();
        [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().for_each(|value| values.add(value));
        let interval = interval95(&values).unwrap();
        let half = 2.776_445_105_197_793 * 0.5_f64.sqrt();
        assert!((interval.low - (3.0 - half)).abs() < 1e-9);
        assert!((interval.high - (3.0 + half)).abs() < 1e-9);
    }
}
