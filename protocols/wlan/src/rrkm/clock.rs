//! When epochs begin, by the clock of one side. The access point's clock is the timer (TSF) that its beacons and probe responses
//! carry, and an epoch begins with each of its periods; a station sets its own clock by it. 802.11-2020 §11.1.3.

use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_engine::Time;

/// How much faster or slower a clock may be: a tenth. Crystals are a thousand times better.
const DRIFT_MAX_PPM: i32 = 100_000;
const MILLION: u64 = 1_000_000;

/// A clock that counts epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    epoch: u32,
    /// When the epoch after it begins.
    next_at: Time,
    /// How long an epoch is by this clock.
    period: Duration,
}

/// The access point's timer, as a station has heard it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tsf {
    /// What it showed, in microseconds.
    pub timer_us: u64,
    /// When it was heard.
    pub heard_at: Time,
}

impl Clock {
    /// A clock that shows an epoch at a time, which the timer says is so far in it. It is faster than the timer by so many
    /// millionths.
    pub fn set_by(tsf: Tsf, epoch: u32, now: Time, period_s: NonZeroU16, drift_ppm: i32) -> Self {
        let period_us = u64::from(period_s.get()) * MILLION;
        let since_us = u64::try_from(now.since(tsf.heard_at).as_micros()).unwrap_or(u64::MAX);
        let left_us = period_us - tsf.timer_us.saturating_add(since_us) % period_us;
        let rate = MILLION.saturating_add_signed(drift_ppm.clamp(-DRIFT_MAX_PPM, DRIFT_MAX_PPM).into());
        let period = Duration::from_nanos(
            period_us * 1000 / rate * MILLION + period_us * 1000 % rate * MILLION / rate,
        );
        Self { epoch, next_at: now + Duration::from_micros(left_us), period }
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

    /// Corrects it by the timer, if that is less than half an epoch away.
    pub fn follow(&mut self, timer_us: u64, period_s: NonZeroU16, now: Time) {
        let epoch = self.advance(now);
        let period_us = u64::from(period_s.get()) * MILLION;
        let left = Duration::from_micros(period_us - timer_us % period_us);
        let (ours, half) = (self.next_at.since(now), self.period / 2);
        self.next_at = now + left;
        if left > ours + half {
            // The epoch after ours has begun.
            self.epoch = epoch.saturating_add(1);
        } else if ours > left + half {
            // Ours has not begun.
            self.next_at += self.period;
        }
    }

    /// Corrects it: this epoch has just begun, as far as the other side shows.
    pub fn correct(&mut self, epoch: u32, now: Time) {
        (self.epoch, self.next_at) = (epoch, now + self.period);
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

    fn clock(drift_ppm: i32) -> Clock {
        let (tsf, minute) = (Tsf { timer_us: 59_000_000, heard_at: at_us(7) }, NonZeroU16::new(60).unwrap());
        Clock::set_by(tsf, 9, at_us(500_007), minute, drift_ppm)
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

    #[test]
    fn a_clock_follows_the_timer_to_the_nearest_epoch() {
        let (minute, start) = (NonZeroU16::new(60).unwrap(), at_us(500_007));
        // Half a second before the boundary.
        for (timer_s, epoch, next_s) in [(59, 9, 1), (58, 9, 2), (31, 9, 29), (2, 10, 58), (29, 10, 31)] {
            let mut clock = clock(0);
            clock.follow(timer_s * MILLION, minute, start);
            let next_at = start + Duration::from_secs(next_s);
            assert_eq!((clock.advance(start), clock.next_at()), (epoch, next_at), "{timer_s}");
        }
        // Half a second behind the boundary, which the timer has not come to: the epoch after that waits.
        let (mut clock, now) = (clock(0), at_us(1_500_007));
        clock.follow(58 * MILLION, minute, now);
        assert_eq!((clock.advance(now), clock.next_at()), (10, now + Duration::from_secs(62)));
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
