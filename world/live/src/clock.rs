//! The real clock in the engines' type of time.

use keytoll_engine::Time;
use keytoll_native::clock;

/// Time since this clock's origin.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self::at(clock::monotonic_ns())
    }

    /// A clock with this origin on the machine's CLOCK_MONOTONIC: processes with the same origin have the same time, so that their
    /// records can be merged.
    pub const fn at(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Its origin on the machine's CLOCK_MONOTONIC.
    pub const fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Now.
    pub fn now(&self) -> Time {
        Time::from_nanos(clock::monotonic_ns().saturating_sub(self.origin_ns))
    }
}
