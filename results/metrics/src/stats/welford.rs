//! Mean and standard deviation in one pass. Read Welford, Technometrics 4 (1962) 419, or Knuth TAOCP 2 §4.2.2.

/// Running count, mean, variance and extremes, in the unit of what is added.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Welford {
    n: u64,
    mean: f64,
    squares: f64,
    extremes: Option<(f64, f64)>,
}

impl Welford {
    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.add_many(value, 1);
    }

    /// Adds a value so often.
    pub fn add_many(&mut self, value: f64, count: u64) {
        if count == 0 {
            return;
        }
        self.n += count;
        let before = value - self.mean;
        self.mean += before * count as f64 / self.n as f64;
        self.squares += count as f64 * before * (value - self.mean);
        let (min, max) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((min.min(value), max.max(value)));
    }

    /// How many values were added.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The mean; None without values.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// The standard deviation of the sample (divisor n − 1); `None` below two values.
    pub fn stddev(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt())
    }

    /// The least value.
    pub fn min(&self) -> Option<f64> {
        self.extremes.map(|(min, _)| min)
    }

    /// The greatest value.
    pub fn max(&self) -> Option<f64> {
        self.extremes.map(|(_, max)| max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f64]) -> Welford {
        let mut welford = Welford::default();
        values.iter().for_each(|&value| welford.add(value));
        welford
    }

    #[test]
    fn nothing_is_unknown_and_one_has_no_spread() {
        assert_eq!((of(&[]).mean(), of(&[]).stddev(), of(&[]).min()), (None, None, None));
        assert_eq!((of(&[3.0]).mean(), of(&[3.0]).stddev(), of(&[3.0]).max()), (Some(3.0), None, Some(3.0)));
    }

    #[test]
    fn a_worked_example() {
        // 2 4 4 4 5 5 7 9: mean 5, Σ(x − 5)² = 32, 32 ÷ 7.
        let welford = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(welford.mean(), Some(5.0));
        assert!((welford.stddev().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((welford.min(), welford.max()), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn a_small_spread_on_a_large_mean_survives() {
        let welford = of(&[1e15, 1e15 + 1.0, 1e15 + 2.0]);
        assert!((welford.stddev().unwrap() - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn agrees_with_two_passes(values in prop::collection::vec(-1e6..1e6f64, 2..200)) {
            let welford = of(&values);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let stddev = (squares / (values.len() - 1) as f64).sqrt();
            prop_assert!((welford.mean().unwrap() - mean).abs() < 1e-6);
            prop_assert!((welford.stddev().unwrap() - stddev).abs() < 1e-6 * stddev.max(1.0));
        }
    }
}
