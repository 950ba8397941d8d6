//! Values in blocks that are spread over a run: a machine is slower at some times than at others, so values of one block are not
//! independent, and the block is the unit of inference. Read Law, Simulation Modeling and Analysis (2015) §9.5.3 (batch means), and Tukey &
//! McLaughlin, Sankhyā A 25 (1963) 331 (the interval of a trimmed mean): other programs disturb some blocks, and a single one of these would
//! make the interval of a mean several times as wide.

use std::collections::BTreeMap;

use super::{Distribution, Interval, Welford, two_sided_quantile};

/// Below so many blocks nothing shows how much blocks differ.
const BLOCKS_MIN: usize = 3;
/// From so many blocks on the greatest fifth of them and the least fifth are trimmed.
const TRIMMED_FROM: usize = 10;

/// The values of each block.
#[derive(Debug, Clone, Default)]
pub struct Blocks(BTreeMap<u32, Distribution>);

impl Blocks {
    /// Adds a value to a block.
    pub fn add(&mut self, block: u32, value: u64) {
        self.0.entry(block).or_default().add(value);
    }

    /// How many blocks have values.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The 95 % interval of the blocks' medians; `None` below three blocks.
    pub fn median_interval95(&self) -> Option<Interval> {
        blocks_interval95(self.0.values().filter_map(|block| block.quantiles([0.5])).map(|[median]| median))
    }
}

/// The 95 % interval of a quantity that has one value in each block, by Student's t: of the mean of all blocks, or of the mean without the
/// greatest and the least fifth of them from ten blocks on. `None` below three blocks.
pub fn blocks_interval95(of_blocks: impl IntoIterator<Item = f64>) -> Option<Interval> {
    let mut sorted: Vec<f64> = of_blocks.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let trimmed = if n < TRIMMED_FROM { 0 } else { n / 5 };
    let kept = n - 2 * trimmed;
    if n < BLOCKS_MIN {
        return None;
    }
    let (mut mean, mut winsorized) = (Welford::default(), Welford::default());
    sorted[trimmed..n - trimmed].iter().for_each(|&value| mean.add(value));
    let (least, greatest) = (sorted[trimmed], sorted[n - trimmed - 1]);
    sorted.iter().for_each(|value| winsorized.add(value.clamp(least, greatest)));
    let error = winsorized.stddev()? * (n as f64).sqrt() / kept as f64;
    let (mean, half) = (mean.mean()?, two_sided_quantile(0.05, kept as f64 - 1.0) * error);
    Some(Interval { low: mean - half, high: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: &[&[u64]]) -> Blocks {
        let mut all = Blocks::default();
        for (block, values) in (0..).zip(blocks) {
            values.iter().for_each(|&value| all.add(block, value));
        }
        all
    }

    #[test]
    fn the_medians_of_blocks_are_the_unit() {
        // Medians 1 2 3 4 5: the worked example of `interval.rs`.
        let blocks = of(&[&[1, 1, 900], &[2], &[3, 3], &[3, 5], &[5, 0, 9]]);
        let interval = blocks.median_interval95().unwrap();
        let half = 2.776_445_105_197_793 * 0.5_f64.sqrt();
        assert!((interval.low - (3.0 - half)).abs() < 1e-9 && (interval.high - (3.0 + half)).abs() < 1e-9);
        assert_eq!(blocks.count(), 5);
    }

    /// Ten blocks, of which two at either end are trimmed: 3 to 8 have the mean 5.5. With 3 and 8 in their place the variance is
    /// (6 · 2.5² + 2 · 1.5² + 2 · 0.5²) ÷ 9 = 42.5 ÷ 9; t(0.975; 5) = 2.570581836.
    #[test]
    fn disturbed_blocks_are_trimmed() {
        let half = 2.570_581_835_636_314 * (42.5_f64 / 9.0).sqrt() * 10.0_f64.sqrt() / 6.0;
        for greatest in [10.0, 1e6] {
            let blocks = [7.0, 1.0, 3.0, 8.0, greatest, 5.0, 4.0, 2.0, 9.0, 6.0];
            let interval = blocks_interval95(blocks).unwrap();
            assert!((interval.low - (5.5 - half)).abs() < 1e-9, "{interval:?}");
            assert!((interval.high - (5.5 + half)).abs() < 1e-9, "{interval:?}");
        }
    }

    #[test]
    fn two_blocks_say_nothing() {
        assert_eq!(of(&[&[1, 2], &[3, 4]]).median_interval95(), None);
        assert_eq!(of(&[]).median_interval95(), None);
    }
}
