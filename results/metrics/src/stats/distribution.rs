//! All statistics of one quantity, collected in bounded memory.

use super::{Interval, Quantiles, Welford, interval95};

/// Mean, interval, extremes and quantiles of whole numbers (nanoseconds).
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    moments: Welford,
    quantiles: Quantiles,
}

impl Distribution {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        self.moments.add(value as f64);
        self.quantiles.add(value);
    }

    /// Count, mean, standard deviation and extremes.
    pub fn moments(&self) -> &Welford {
        &self.moments
    }

    /// The 95 % interval of the mean.
    pub fn interval95(&self) -> Option<Interval> {
        interval95(&self.moments)
    }

    /// The distribution-free 95 % interval of the quantile at `share`; `None` where the values are too few for it.
    pub fn quantile_interval95(&self, share: f64) -> Option<Interval> {
        self.quantiles.interval95(share)
    }

    /// The distribution function as so many points at most, rising: a share of the values, and the value that so many do not exceed.
    pub fn curve(&self, most: usize) -> Vec<(f64, f64)> {
        self.quantiles.curve(most)
    }

    /// The quantiles at `fractions`.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> Option<[f64; N]> {
        self.quantiles.at(fractions)
    }
}
