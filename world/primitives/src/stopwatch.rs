//! Repeats a workload under the thread's CPU clock.
//!
//! That clock stops while another thread has the CPU, so no measurement needs to be discarded. Reading it
//! is a system call of a few hundred nanoseconds, which is subtracted, as is the usual time of undoing an operation. Operations
//! shorter than [`SHORTEST_NS`] are repeated in batches of about that length, and each measurement is the mean of a batch.

use std::time::Duration;

use keytoll_native::clock;

use crate::workload::Workload;

/// The shortest measurement to which the cost of reading the clock is negligible.
const SHORTEST_NS: u64 = 50_000;
/// What the clock tells apart.
const CLOCK_NS: f64 = 1.0;
/// Operations in the batch that determines the length of a short operation.
const TRIAL: u32 = 200;
/// After this time caches and branch predictors are warm.
const WARM_UP_NS: u64 = 1_000_000;
/// Fewer measurements do not show the spread.
const MEASUREMENTS_MIN: u64 = 10;
/// More measurements add no information.
const MEASUREMENTS_MAX: u64 = 1_000;

/// How much to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Operations of each primitive; `None`: as many as fit into the time.
    pub operations: Option<u64>,
    /// CPU time for each primitive, if ten measurements do not take longer.
    pub time: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Self { operations: None, time: Duration::from_millis(60) }
    }
}

/// Measures workloads.
pub(crate) struct Stopwatch {
    effort: Effort,
    /// The time between two readings of the clock with nothing in between.
    empty_ns: u64,
}

impl Stopwatch {
    pub(crate) fn new(effort: Effort) -> Self {
        let mut spans = [0; 101];
        // Twice, because the first round warms the instruction cache.
        for _ in 0..2 {
            spans.fill_with(|| {
                let start = clock::thread_cpu_ns();
                clock::thread_cpu_ns() - start
            });
        }
        spans.sort_unstable();
        Self { effort, empty_ns: spans[spans.len() / 2] }
    }

    /// Operations per measurement, and nanoseconds per operation in every measurement.
    pub(crate) fn time(&self, workload: &mut Workload<'_>) -> (u32, Vec<f64>) {
        let once_ns = match warm_up(&mut workload.run).saturating_sub(self.empty_ns) {
            // As short as reading the clock: a single reading is meaningless, and a batch planned with it would take for ever.
            short if short < self.empty_ns => self.span(&mut workload.run, TRIAL) / u64::from(TRIAL),
            once_ns => once_ns,
        };
        let (batch, measurements) = self.effort.plan(once_ns);
        let undo_ns = workload.undo.as_mut().map_or(0.0, |undo| self.usual(undo, batch));
        // Nothing takes less time than the clock tells apart.
        let least_ns = CLOCK_NS / f64::from(batch);
        let mut one =
            || (self.span(&mut workload.run, batch) as f64 / f64::from(batch) - undo_ns).max(least_ns);
        (batch, (0..measurements).map(|_| one()).collect())
    }

    /// The median of a few measurements.
    fn usual(&self, run: &mut dyn FnMut(), batch: u32) -> f64 {
        let mut spans: Vec<u64> = (0..MEASUREMENTS_MIN + 1).map(|_| self.span(run, batch)).collect();
        spans.sort_unstable();
        spans[spans.len() / 2] as f64 / f64::from(batch)
    }

    fn span(&self, run: &mut dyn FnMut(), batch: u32) -> u64 {
        let start = clock::thread_cpu_ns();
        (0..batch).for_each(|_| run());
        (clock::thread_cpu_ns() - start).saturating_sub(self.empty_ns)
    }
}

/// Runs for a while; returns the shortest time of one run.
fn warm_up(run: &mut dyn FnMut()) -> u64 {
    let begun = clock::thread_cpu_ns();
    let mut shortest = u64::MAX;
    loop {
        let start = clock::thread_cpu_ns();
        run();
        let end = clock::thread_cpu_ns();
        shortest = shortest.min(end - start);
        if end - begun >= WARM_UP_NS {
            return shortest;
        }
    }
}

impl Effort {
    /// Operations per measurement, and the number of measurements.
    fn plan(self, once_ns: u64) -> (u32, u64) {
        let once_ns = once_ns.max(1);
        let long_enough = SHORTEST_NS.div_ceil(once_ns);
        let (batch, measurements) = match self.operations {
            Some(operations) => {
                let batch = dividing(operations, long_enough.min(operations / MEASUREMENTS_MIN).max(1));
                (batch, operations.div_ceil(batch))
            }
            None => {
                let fitting = self.time.as_nanos() as u64 / (once_ns * long_enough);
                (long_enough, fitting.clamp(MEASUREMENTS_MIN, MEASUREMENTS_MAX))
            }
        };
        (u32::try_from(batch).unwrap_or(u32::MAX), measurements)
    }
}

/// The longest batch up to `longest`, but not less than half of it, of which so many operations are a multiple; if there is none, the
/// last batch has more operations than are left.
fn dividing(operations: u64, longest: u64) -> u64 {
    (longest.div_ceil(2)..=longest).rev().find(|batch| operations.is_multiple_of(*batch)).unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn short_operations_go_in_batches_and_long_ones_alone() {
        let free = Effort { operations: None, time: Duration::from_millis(60) };
        assert_eq!(free.plan(100), (500, 1000));
        assert_eq!(free.plan(60_000), (1, 1000));
        assert_eq!(free.plan(100_000_000), (1, 10), "never fewer than ten");
        let counted = |operations| Effort { operations: Some(operations), ..free };
        assert_eq!(counted(10_000).plan(100), (500, 20));
        assert_eq!(counted(10).plan(100), (1, 10));
        assert_eq!(counted(3).plan(100), (1, 3));
        assert_eq!(counted(40).plan(18_000), (2, 20), "forty are no multiple of three");
        assert_eq!(counted(97).plan(10_000), (5, 20), "never fewer than asked");
    }

    #[test]
    fn every_measurement_is_there_and_every_operation_was_run() {
        let (runs, undone) = (Cell::new(0), Cell::new(0));
        let mut workload = Workload {
            run: Box::new(|| runs.set(runs.get() + 1)),
            undo: Some(Box::new(|| undone.set(undone.get() + 1))),
        };
        let effort = Effort { operations: Some(1_000), ..Effort::default() };
        let (batch, ns) = Stopwatch::new(effort).time(&mut workload);
        assert_eq!((batch, ns.len()), (100, 10), "an operation this short is measured in batches");
        assert!(runs.get() > 1_000, "warm-up and measurements: {}", runs.get());
        assert_eq!(undone.get(), 11 * 100);
    }

    #[test]
    fn what_takes_less_than_the_clock_tells_apart_takes_as_long_as_that() {
        let spin = || (0..10_000).for_each(|n| _ = std::hint::black_box(n));
        let mut workload = Workload { run: Box::new(|| {}), undo: Some(Box::new(spin)) };
        let effort = Effort { operations: Some(3), ..Effort::default() };
        let (batch, ns) = Stopwatch::new(effort).time(&mut workload);
        assert_eq!((batch, ns), (1, vec![CLOCK_NS; 3]));
    }
}
