//! Which devices are meant to begin when: on a schedule, or when others have their outcome.
//!
//! What a schedule wants counts when it is meant, whether the generator manages it then, later or never. Otherwise a generator that is
//! late would hide that more was asked of it.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use keytoll_engine::Time;

/// When devices are meant to begin.
pub enum Starts {
    /// On a schedule, whatever becomes of those before.
    Open {
        /// From the beginning; they never decrease.
        times: Times,
        /// How long the whole schedule is, of which these may be a part.
        span: Duration,
    },
    /// So many at a time, and so many in all: when one has its outcome the next one begins.
    Closed {
        /// At a time.
        at_a_time: u32,
        /// In all.
        total: u64,
    },
}

/// Times that never decrease.
pub type Times = Box<dyn Iterator<Item = Duration> + Send>;

/// Starts that are still to come.
pub(crate) enum Due {
    Open(Planned),
    Closed { at_a_time: usize, left: u64 },
}

/// What is left of a schedule.
pub(crate) struct Planned {
    times: Peekable<Times>,
    /// Meant for a time that is over, and not made.
    waiting: VecDeque<Time>,
    /// Meant, and not counted.
    uncounted: VecDeque<Time>,
    span: Duration,
}

impl Due {
    /// All starts, as far as they are meant before the end.
    pub(crate) fn new(starts: Starts, length: Option<Duration>) -> Self {
        let length = length.unwrap_or(Duration::MAX);
        match starts {
            Starts::Open { times, span } => {
                let times: Times = Box::new(times.take_while(move |at| *at < length));
                let (waiting, uncounted) = (VecDeque::new(), VecDeque::new());
                Self::Open(Planned { times: times.peekable(), waiting, uncounted, span: span.min(length) })
            }
            Starts::Closed { at_a_time, total } => {
                Self::Closed { at_a_time: at_a_time as usize, left: total }
            }
        }
    }

    /// When the next one is meant to begin, while so many are under way; `None`: nobody any more.
    pub(crate) fn next(&mut self, under_way: usize) -> Option<Time> {
        match self {
            Self::Open(planned) => planned.next(),
            Self::Closed { left: 0, .. } => None,
            Self::Closed { at_a_time, .. } if under_way < *at_a_time => Some(Time::ZERO),
            // The next one begins when another has its outcome.
            Self::Closed { .. } => Some(Time::MAX),
        }
    }

    /// Takes the next one, which begins now; gives when it was meant to.
    pub(crate) fn take(&mut self, now: Time) -> Time {
        match self {
            Self::Open(planned) => planned.take().unwrap_or(now),
            Self::Closed { left, .. } => {
                *left = left.saturating_sub(1);
                now
            }
        }
    }

    /// Takes one back that was taken and could not begin, if it can begin later; false on a schedule, which goes on.
    pub(crate) const fn give_back(&mut self) -> bool {
        match self {
            Self::Open(_) => false,
            Self::Closed { left, .. } => {
                *left += 1;
                true
            }
        }
    }

    /// Counts those of a schedule that are meant before a time and were not counted.
    pub(crate) fn count_until(&mut self, until: Time) -> u64 {
        match self {
            Self::Open(planned) => planned.count_until(until),
            Self::Closed { .. } => 0,
        }
    }

    /// Nobody begins any more. How many were meant to by now and have not.
    pub(crate) fn give_up(&mut self, now: Time) -> u64 {
        match self {
            Self::Open(planned) => planned.give_up(now),
            Self::Closed { left, .. } => {
                *left = 0;
                0
            }
        }
    }

    /// How long the schedule is; `None` in a closed loop.
    pub(crate) const fn span(&self) -> Option<Duration> {
        match self {
            Self::Open(planned) => Some(planned.span),
            Self::Closed { .. } => None,
        }
    }
}

impl Planned {
    fn next(&mut self) -> Option<Time> {
        let waiting = self.waiting.front().copied();
        waiting.or_else(|| self.times.peek().map(|at| Time::ZERO + *at))
    }

    fn take(&mut self) -> Option<Time> {
        self.waiting.pop_front().or_else(|| {
            let at = Time::ZERO + self.times.next()?;
            self.uncounted.push_back(at);
            Some(at)
        })
    }

    fn count_until(&mut self, until: Time) -> u64 {
        self.wait_for_those_before(until);
        let count = self.uncounted.partition_point(|at| *at < until);
        self.uncounted.drain(..count);
        count as u64
    }

    fn wait_for_those_before(&mut self, until: Time) {
        while let Some(at) = self.times.next_if(|at| Time::ZERO + *at < until) {
            self.waiting.push_back(Time::ZERO + at);
            self.uncounted.push_back(Time::ZERO + at);
        }
    }

    fn give_up(&mut self, now: Time) -> u64 {
        self.wait_for_those_before(now);
        let nobody: Times = Box::new(std::iter::empty());
        self.times = nobody.peekable();
        std::mem::take(&mut self.waiting).len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn every_10_ms(count: u64, length_ms: u64) -> Due {
        let times = Box::new((0..count).map(|n| Duration::from_millis(10 * n)));
        let starts = Starts::Open { times, span: Duration::from_millis(10 * count) };
        Due::new(starts, Some(Duration::from_millis(length_ms)))
    }

    #[test]
    fn a_start_counts_when_it_is_meant_whenever_it_is_made() {
        let mut due = every_10_ms(10, 1000);
        assert_eq!((due.take(at(0)), due.take(at(25))), (at(0), at(10)));
        // Two are made, four were meant; the two that are late are the next ones.
        assert_eq!(due.count_until(at(40)), 4);
        assert_eq!((due.next(0), due.take(at(41)), due.take(at(41))), (Some(at(20)), at(20), at(30)));
        // One that is made before the time up to which is counted belongs to the next count.
        assert_eq!((due.take(at(41)), due.count_until(at(40)), due.count_until(at(50))), (at(40), 0, 1));
        assert_eq!((due.count_until(Time::MAX), due.count_until(Time::MAX)), (5, 0));
    }

    #[test]
    fn what_is_given_up_was_meant_by_then() {
        let mut due = every_10_ms(10, 1000);
        assert_eq!((due.take(at(0)), due.give_up(at(35)), due.next(0)), (at(0), 3, None));
        assert_eq!(due.count_until(Time::MAX), 4);
    }

    #[test]
    fn a_schedule_ends_with_the_load() {
        let mut due = every_10_ms(10, 35);
        assert_eq!((due.span(), due.count_until(Time::MAX)), (Some(Duration::from_millis(35)), 4));
    }
}
