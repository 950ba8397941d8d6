//! The order in which a thread measures rows with timed computation: in turns, a block of authentications each. So every row has blocks
//! all over the run, and slow times of the machine do not fall on one row alone. Rows are worlds of their own: the order changes no
//! fact of them.

use std::sync::atomic::Ordering;

use keytoll_scenario::plan::{Plan, RowPlan};

use crate::keeper::Keeper;
use crate::row::{Row, RowEnd, Stop};
use crate::run::{Keepers, RunError};

/// A row has at most so many blocks.
const BLOCKS_MAX: u64 = 16;
/// A block has at least so many authentications, because the first ones find cold caches.
const BLOCK_MIN: u64 = 3;
/// At most so many rows are measured in turns, over all threads; each has two open files.
const OPEN_MAX: usize = 256;

/// The block of an authentication; blocks differ by at most one authentication.
pub(crate) fn block_of(sample: u32, samples: u32) -> u32 {
    block_among(sample, samples, blocks(samples))
}

/// How many blocks so many authentications of a row have.
pub fn blocks(samples: u32) -> u32 {
    (u64::from(samples) / BLOCK_MIN).clamp(1, BLOCKS_MAX) as u32
}

/// The block of one of several measurements, of so many blocks that differ by at most one measurement.
pub(crate) fn block_among(measurement: u32, measurements: u32, blocks: u32) -> u32 {
    (u64::from(measurement) * u64::from(blocks) / u64::from(measurements.max(1))) as u32
}

/// The first authentication of the next block.
fn end_of_block(sample: u32, samples: u32) -> u32 {
    let block = block_of(sample, samples);
    (sample..samples).find(|&next| block_of(next, samples) != block).unwrap_or(samples)
}

/// A row in progress.
pub(crate) struct Open<K> {
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) row: Row,
    pub(crate) keeper: K,
    pub(crate) end: RowEnd,
}

impl<K: Keeper> Open<K> {
    /// Measures the next block.
    fn take_turn(&mut self, progress: &dyn Fn(), stop: &Stop) {
        let until = end_of_block(self.end.samples, self.row.samples());
        self.row.advance(until, &mut self.end, &mut self.keeper, progress, stop);
    }

    fn has_ended(&self) -> bool {
        self.end.stopped || self.end.samples >= self.row.samples() || self.keeper.has_failed()
    }
}

/// Measures the rows of one thread in turns. `open` builds and begins one, `close` gets each that has ended.
pub(crate) fn in_turns<K: Keepers>(
    rows: &[(usize, &RowPlan)],
    threads: usize,
    open: impl Fn(usize, &RowPlan) -> Result<Open<K::Keeper>, RunError>,
    close: impl Fn(Open<K::Keeper>) -> Result<(), RunError>,
    progress: &dyn Fn(),
    stop: &Stop,
) -> Result<(), RunError> {
    for together in rows.chunks((OPEN_MAX / threads.max(1)).max(1)) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let opened = together.iter().map(|&(index, row)| open(index, row));
        let mut waiting = opened.collect::<Result<Vec<_>, _>>()?;
        while !waiting.is_empty() {
            waiting.iter_mut().for_each(|row| row.take_turn(progress, stop));
            for ended in waiting.extract_if(.., |row| row.has_ended()) {
                close(ended)?;
            }
        }
    }
    Ok(())
}

/// The rows that one of several threads measures.
pub(crate) fn share(plan: &Plan, thread: usize, threads: usize) -> Vec<(usize, &RowPlan)> {
    plan.rows.iter().enumerate().skip(thread).step_by(threads.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_equal_length_and_in_order() {
        let of = |samples: u32| (0..samples).map(|sample| block_of(sample, samples)).collect::<Vec<_>>();
        assert_eq!(of(4), [0; 4]);
        assert_eq!(of(7), [0, 0, 0, 0, 1, 1, 1]);
        let many = of(1000);
        assert!(many.is_sorted() && many.last() == Some(&15), "{many:?}");
        let lengths: Vec<_> = many.chunk_by(|one, next| one == next).map(<[u32]>::len).collect();
        assert!(lengths.iter().all(|length| [62, 63].contains(length)), "{lengths:?}");
    }

    #[test]
    fn turns_end_where_blocks_do() {
        let next = |&from: &u32| (from < 11).then(|| end_of_block(from, 11));
        let ends: Vec<_> = std::iter::successors(Some(0), next).collect();
        assert_eq!(ends, [0, 4, 8, 11]);
    }
}
