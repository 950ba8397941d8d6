//! Epochs from the timing synchronization function (TSF) that beacons carry. 802.11-2020 §11.1.3.

use std::time::Duration;

/// Divides the time of a cell into epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// How long an epoch is; not zero.
    pub period: Duration,
    /// Where epoch 0 begins, in microseconds of the TSF.
    pub tsf_0_us: u64,
}

impl Clock {
    /// The epoch at this time of the TSF, in microseconds; how well a station follows the TSF is its owner's matter.
    pub fn epoch(&self, tsf_us: u64) -> u32 {
        let passed = tsf_us.saturating_sub(self.tsf_0_us) / self.period_us();
        u32::try_from(passed).unwrap_or(u32::MAX)
    }

    /// When the epoch after that of this time begins, in microseconds of the TSF.
    pub fn next_boundary_us(&self, tsf_us: u64) -> u64 {
        let next = u64::from(self.epoch(tsf_us)) + 1;
        self.tsf_0_us.saturating_add(next.saturating_mul(self.period_us()))
    }

    fn period_us(&self) -> u64 {
        u64::try_from(self.period.as_micros()).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_begin_on_the_boundary() {
        let clock = Clock { period: Duration::from_secs(60), tsf_0_us: 1000 };
        assert_eq!([0, 1000, 60_000_999, 60_001_000].map(|at| clock.epoch(at)), [0, 0, 0, 1]);
        assert_eq!(clock.next_boundary_us(60_000_999), 60_001_000);
        assert_eq!(clock.next_boundary_us(60_001_000), 120_001_000);
        assert_eq!(Clock { period: Duration::ZERO, ..clock }.epoch(u64::MAX), u32::MAX);
    }
}
