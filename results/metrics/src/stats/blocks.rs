//! Values in blocks that are spread over a run: a machine is slower at some times than at others, so values of one block are not
//! independent, and the block is the unit of inference. Read Law, Simulation Modeling and Analysis (2015) §9.5.3 (batch means).

use std::collections::BTreeMap;

use super::{Distribution, Interval, Welford, interval95};

/// Below so many blocks nothing shows how much blocks differ.
const BLOCKS_MIN: u64 = 3;

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

    /// The 95 % interval of the blocks' medians, by Student's t; `None` below three blocks.
    pub fn median_interval95(&self) -> Option<Interval> {
        let mut medians = Welford::default();
        let of_blocks = self.0.values().filter_map(|block| block.quantiles([0.5]));
        of_blocks.for_each(|[median]| medians.add(median));
        if medians.n() < BLOCKS_MIN { None } else { interval95(&medians) }
    }
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

    #[test]
    fn two_blocks_say_nothing() {
        assert_eq!(of(&[&[1, 2], &[3, 4]]).median_interval95(), None);
        assert_eq!(of(&[]).median_interval95(), None);
    }
}
