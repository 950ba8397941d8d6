//! Virtual time: nanoseconds since the start of a run, constructible, printable, no operating system.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A moment, in nanoseconds since the start of the run.
// Kept one higher, so that an `Option` of it, as every timer is one, takes no more room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(NonZeroU64);

impl Default for Time {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(NonZeroU64::MIN);
    /// Later than everything.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// The moment `nanos` nanoseconds after the start, at the latest [`Time::MAX`].
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// The time from `earlier` to here; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates at [`Time::MAX`], 584 years after the start.
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Self> for Time {
    type Output = Duration;

    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({})", self.as_nanos())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        write!(f, "{}.{:06} ms", nanos / 1_000_000, nanos % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_the_start_to_the_last_and_a_timer_is_no_larger() {
        assert_eq!((Time::ZERO.as_nanos(), Time::from_nanos(7).as_nanos()), (0, 7));
        assert_eq!((Time::default(), Time::from_nanos(u64::MAX)), (Time::ZERO, Time::MAX));
        assert_eq!(Time::ZERO + Duration::MAX, Time::MAX);
        assert_eq!(Time::MAX + Duration::from_nanos(1), Time::MAX);
        let time = Time::from_nanos(1_500_000);
        assert_eq!((time.to_string(), format!("{time:?}")), ("1.500000 ms".into(), "Time(1500000)".into()));
        assert_eq!(size_of::<Option<Time>>(), size_of::<Time>());
    }
}
