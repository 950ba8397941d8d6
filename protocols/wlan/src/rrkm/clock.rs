//! When epochs begin, by the clock of one side. An epoch begins with each period of the access point's timer (TSF). A station sets
//! its clock by the challenge of its authentication, which says how long the epoch still lasts, and corrects it later by frames and by
//! the timer that beacons and probe responses carry. 802.11-2020 §11.1.3.
//!
//! Nobody proves what a beacon says, and a frame can be sent again. Such hints move a clock no further than it can have drifted since
//! the access point has last shown which epoch it is.

use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_engine::Time;

/// How much faster or slower a clock may be: a tenth. Crystals are a thousand times better.
const DRIFT_MAX_PPM: i32 = 100_000;
const MILLION: u64 = 1_000_000;
/// Hints move a clock by one part in so many of the time since something was proved: 2000 millionths, for two clocks that are each
/// ten times worse than 802.11-2020 §11.1.3.9 permits.
const HINTED: u32 = 500;
/// And by so much for the time that frames take.
const SLACK: Duration = Duration::from_millis(100);

/// A clock that counts epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    epoch: u32,
    /// When the epoch after it begins.
    next_at: Time,
    /// How long an epoch is by this clock.
    period: Duration,
    /// When the other side has shown which epoch it is.
    sure_at: Time,
    /// By how much hints have moved the boundaries to later times since then.
    moved_ns: i64,
}

impl Clock {
    /// A clock that shows an epoch now, which lasts for so long. It is faster than the access point's by so many millionths.
    pub fn new(epoch: u32, now: Time, left: Duration, period_s: NonZeroU16, drift_ppm: i32) -> Self {
        let period_us = u64::from(period_s.get()) * MILLION;
        let rate = MILLION.saturating_add_signed(drift_ppm.clamp(-DRIFT_MAX_PPM, DRIFT_MAX_PPM).into());
        let period = Duration::from_nanos(
            period_us * 1000 / rate * MILLION + period_us * 1000 % rate * MILLION / rate,
        );
        Self { epoch, next_at: now + left, period, sure_at: now, moved_ns: 0 }
    }

    /// The epoch that it has come to.
    pub fn advance(&mut self, now: Time) -> u32 {
        if self.next_at <= now {
            let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX).max(1);
            let passed = u64::try_from(now.since(self.next_at).as_nanos()).unwrap_or(u64::MAX) / period + 1;
            self.epoch = self.epoch.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
            self.next_at += Duration::from_nanos(passed.saturating_mul(period));
        }
        self.epoch
    }

    /// Corrects it by the timer, which a beacon says: to the nearest epoch of which that is true, if it can be.
    pub fn follow(&mut self, timer_us: u64, period_s: NonZeroU16, now: Time) {
        let epoch = self.advance(now);
        let period_us = u64::from(period_s.get()) * MILLION;
        let left = Duration::from_micros(period_us - timer_us % period_us);
        let (ours, half) = (self.next_at.since(now), self.period / 2);
        let mut hinted = Self { next_at: now + left, ..*self };
        if left > ours + half {
            // The epoch after ours has begun.
            hinted.epoch = epoch.saturating_add(1);
        } else if ours > left + half {
            // Ours has not begun.
            hinted.next_at += self.period;
        }
        self.take(hinted, now);
    }

    /// Corrects it by a frame of the epoch before, if this one can just have begun.
    pub fn hold(&mut self, epoch: u32, now: Time) {
        self.take(Self { epoch, next_at: now + self.period, ..*self }, now);
    }

    /// Corrects it: the other side has shown that this epoch has begun.
    pub fn correct(&mut self, epoch: u32, now: Time) {
        (self.epoch, self.next_at) = (epoch, now + self.period);
        self.confirm(now);
    }

    /// The other side has shown that the epoch is right.
    pub const fn confirm(&mut self, now: Time) {
        (self.sure_at, self.moved_ns) = (now, 0);
    }

    /// Takes a hint, if it is no further off than clocks drift.
    fn take(&mut self, hinted: Self, now: Time) {
        let moved_ns = self.moved_ns.saturating_add(hinted.later_by_ns(self));
        let allowed = SLACK + now.since(self.sure_at) / HINTED;
        if Duration::from_nanos(moved_ns.unsigned_abs()) <= allowed {
            *self = Self { moved_ns, ..hinted };
        }
    }

    /// By how much its boundaries are later than another's.
    fn later_by_ns(&self, other: &Self) -> i64 {
        let epochs = i128::from(self.epoch) - i128::from(other.epoch);
        let period = i128::try_from(self.period.as_nanos()).unwrap_or(i128::MAX);
        let boundaries = i128::from(self.next_at.as_nanos()) - i128::from(other.next_at.as_nanos());
        let later = boundaries.saturating_sub(epochs.saturating_mul(period));
        i64::try_from(later).unwrap_or(if later < 0 { i64::MIN } else { i64::MAX })
    }

    /// The epoch that it showed last.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// When the next epoch begins.
    pub const fn next_at(&self) -> Time {
        self.next_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    const MINUTE: NonZeroU16 = NonZeroU16::new(60).unwrap();

    fn clock(drift_ppm: i32) -> Clock {
        Clock::new(9, at_us(500_007), Duration::from_millis(500), MINUTE, drift_ppm)
    }

    #[test]
    fn epochs_begin_with_the_periods_of_the_timer() {
        let mut clock = clock(0);
        let boundary = 1_000_007;
        assert_eq!(clock.next_at(), at_us(boundary));
        assert_eq!([0, boundary - 1, boundary].map(|at| clock.advance(at_us(at))), [9, 9, 10]);
        assert_eq!(clock.next_at(), at_us(boundary + 60_000_000));
        assert_eq!(clock.advance(at_us(boundary + 3_600_000_000)), 70);
        clock.correct(72, at_us(3_700_000_000));
        assert_eq!((clock.advance(at_us(3_759_999_999)), clock.advance(at_us(3_760_000_000))), (72, 73));
        assert_eq!(clock.advance(Time::MAX), 72 + 307_445_672, "584 years");
    }

    /// A clock of which nobody has shown anything for so long that it may be half a minute off.
    fn unsure() -> Clock {
        Clock { sure_at: Time::ZERO, ..later(clock(0)) }
    }

    /// The same clock, and 16 000 seconds later.
    const LATER: Duration = Duration::from_secs(16_000);

    fn later(clock: Clock) -> Clock {
        Clock { next_at: clock.next_at + LATER, ..clock }
    }

    #[test]
    fn a_clock_follows_the_timer_to_the_nearest_epoch() {
        let start = at_us(500_007) + LATER;
        // Half a second before the boundary.
        for (timer_s, epoch, next_s) in [(59, 9, 1), (58, 9, 2), (31, 9, 29), (2, 10, 58), (29, 10, 31)] {
            let mut clock = unsure();
            clock.follow(timer_s * MILLION, MINUTE, start);
            let next_at = start + Duration::from_secs(next_s);
            assert_eq!((clock.advance(start), clock.next_at()), (epoch, next_at), "{timer_s}");
        }
        // Half a second behind the boundary, which the timer has not come to: the epoch after that waits.
        let (mut clock, now) = (unsure(), at_us(1_500_007) + LATER);
        clock.follow(58 * MILLION, MINUTE, now);
        assert_eq!((clock.advance(now), clock.next_at()), (10, now + Duration::from_secs(62)));
    }

    /// However often somebody says it.
    #[test]
    fn hints_move_a_clock_no_further_than_it_can_have_drifted() {
        let start = at_us(500_007);
        for timer_ms in [59_450, 59_550, 59_000, 30_000, 200, 1_000] {
            let (mut clock, left_ms) = (clock(0), 60_000 - timer_ms);
            (0..10).for_each(|_| clock.follow(timer_ms * 1000, MINUTE, start));
            let is_near = left_ms.abs_diff(500) <= 100;
            let expected = if is_near { left_ms } else { 500 };
            assert_eq!((clock.epoch(), clock.next_at()), (9, start + Duration::from_millis(expected)));
        }
        // In steps of the slack, and over the boundary.
        let mut clock = clock(0);
        for now in (0..300).map(|step| start + Duration::from_millis(step * 10)) {
            let (epoch, left) = (clock.advance(now), clock.next_at().since(now));
            let timer_us = 60_000_000 - u64::try_from(left.as_micros()).unwrap() % 60_000_000;
            clock.follow((timer_us + 59_950_000) % 60_000_000, MINUTE, now);
            clock.hold(epoch, now);
        }
        let late = clock.next_at().since(at_us(61_000_007));
        assert!(late <= Duration::from_millis(110), "{late:?}");
        // What the other side shows is not doubted, and begins the count anew.
        clock.correct(70, start);
        assert_eq!((clock.epoch(), clock.next_at()), (70, start + Duration::from_secs(60)));
    }

    #[test]
    fn a_day_of_a_clock_that_drifts() {
        for (drift_ppm, seconds_off) in [(200, -17), (-200, 17), (0, 0)] {
            let mut clock = clock(drift_ppm);
            (0..1440).for_each(|_| {
                clock.advance(clock.next_at());
            });
            let off_us = clock.next_at().as_nanos() as i64 / 1000 - (1_000_007 + 1440 * 60_000_000);
            assert_eq!(
                (off_us + off_us.signum() * 500_000) / 1_000_000,
                seconds_off,
                "{drift_ppm}: {off_us}"
            );
        }
    }
}
