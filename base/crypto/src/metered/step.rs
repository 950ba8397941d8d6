//! The operations of one step of a node, to correct their times when the step was preempted.

use super::PhaseSums;

/// Room for the operations of a step is reserved from the start, so that nothing allocates while measuring.
const OPERATIONS: usize = 256;

/// One operation: where its time was added.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    /// Index of its phase.
    pub(super) phase: usize,
    /// Index of its slot.
    pub(super) slot: usize,
    pub(super) ticks: u64,
}

/// The operations since the step began.
#[derive(Debug)]
pub(super) struct Step(Vec<Timed>);

impl Default for Step {
    fn default() -> Self {
        Self(Vec::with_capacity(OPERATIONS))
    }
}

impl Step {
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, operation: Timed) {
        self.0.push(operation);
    }

    /// Replaces the measured times in the sums by `charged` ticks together, and returns the measured ones. It is unknown which
    /// operation was interrupted: each gets a share in proportion to its mean in other steps, or to its own time at first.
    pub(super) fn charge(&mut self, phases: &mut [PhaseSums], charged: u64) -> u64 {
        let measured = self.0.iter().map(|operation| operation.ticks).sum();
        self.0.iter().for_each(|operation| operation.remove(phases));
        let usual: Vec<f64> = self.0.iter().map(|operation| operation.usual(phases)).collect();
        let (all, mut before, mut given) = (usual.iter().sum::<f64>().max(f64::MIN_POSITIVE), 0.0, 0);
        for (operation, usual) in self.0.iter_mut().zip(usual) {
            before += usual;
            let until = ((charged as f64 * (before / all)).round() as u64).min(charged);
            operation.ticks = until - given;
            given = until;
            operation.add(phases);
        }
        measured
    }
}

impl Timed {
    fn add(&self, phases: &mut [PhaseSums]) {
        let sums = phases[self.phase].sums_mut(self.slot);
        sums.count += 1;
        sums.ticks = sums.ticks.saturating_add(self.ticks);
    }

    fn remove(&self, phases: &mut [PhaseSums]) {
        let sums = phases[self.phase].sums_mut(self.slot);
        sums.count -= 1;
        sums.ticks = sums.ticks.saturating_sub(self.ticks);
    }

    fn usual(&self, phases: &mut [PhaseSums]) -> f64 {
        let sums = phases[self.phase].sums_mut(self.slot);
        if sums.count > 0 { sums.ticks as f64 / sums.count as f64 } else { self.ticks as f64 }
    }
}
