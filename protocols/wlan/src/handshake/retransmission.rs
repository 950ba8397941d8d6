//! When an authenticator sends a message again.

use std::time::Duration;

use keytoll_engine::Time;

/// How an authenticator repeats messages 1 and 3 and those of the group key handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// So often a message is sent in all.
    pub tries: u32,
    /// How long the first waits for its answer.
    pub first: Duration,
    /// How long the second does.
    pub second: Duration,
    /// How long all further ones do.
    pub later: Duration,
}

impl Retransmission {
    // 802.11-2020 §12.7.6.6: 100 ms for the first timeout, half the listen interval for the second, and the listen interval for
    // all further ones; without a listen interval always 100 ms.
    /// For a station that listens so often.
    pub fn of_listen_interval(interval: Duration) -> Self {
        let first = Duration::from_millis(100);
        let (second, later) = if interval.is_zero() { (first, first) } else { (interval / 2, interval) };
        Self { tries: 4, first, second, later }
    }

    /// How long to wait once a message has been sent so often.
    const fn wait(&self, sent: u32) -> Duration {
        match sent {
            0 | 1 => self.first,
            2 => self.second,
            _ => self.later,
        }
    }
}

// dot11RSNAConfigPairwiseUpdateCount and dot11RSNAConfigGroupUpdateCount are 3 retries, so four transmissions. Stations commonly
// have a listen interval of 10 beacon intervals of 102.4 ms; hostapd waits 100 ms once and then 1 s, which is nearly the same.
impl Default for Retransmission {
    fn default() -> Self {
        Self::of_listen_interval(Duration::from_millis(1024))
    }
}

/// A message that waits for its answer: when it was sent, and under which replay counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    first_counter: u64,
    sent: u32,
    again_at: Time,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    NotYet,
    Again,
    GiveUp,
}

impl Attempt {
    /// A message that is sent now for the first time.
    pub(super) fn begin(counter: u64, now: Time, timers: &Retransmission) -> Self {
        Self { first_counter: counter, sent: 1, again_at: now + timers.wait(1) }
    }

    pub(super) const fn at(&self) -> Time {
        self.again_at
    }

    /// Whether an answer with this counter is one to any of its transmissions.
    pub(super) fn is_answered_by(&self, counter: u64) -> bool {
        counter.checked_sub(self.first_counter).is_some_and(|since| since < u64::from(self.sent))
    }

    /// What is due now; a message that is to be sent again counts as sent.
    pub(super) fn due(&mut self, now: Time, timers: &Retransmission) -> Due {
        if now < self.again_at {
            return Due::NotYet;
        }
        if self.sent >= timers.tries {
            return Due::GiveUp;
        }
        self.sent += 1;
        self.again_at = now + timers.wait(self.sent);
        Due::Again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_follow_the_listen_interval() {
        let waits = |timers: Retransmission| [1, 2, 3, 4].map(|sent| timers.wait(sent).as_millis());
        assert_eq!(waits(Retransmission::default()), [100, 512, 1024, 1024]);
        assert_eq!(waits(Retransmission::of_listen_interval(Duration::ZERO)), [100; 4]);
    }

    #[test]
    fn an_answer_to_any_transmission_counts() {
        let timers = Retransmission::default();
        let mut attempt = Attempt::begin(7, Time::ZERO, &timers);
        assert_eq!(attempt.due(Time::ZERO, &timers), Due::NotYet);
        assert!(!attempt.is_answered_by(8));
        assert_eq!(attempt.due(attempt.at(), &timers), Due::Again);
        assert_eq!([6, 7, 8, 9].map(|counter| attempt.is_answered_by(counter)), [false, true, true, false]);
        assert_eq!(attempt.due(attempt.at(), &timers), Due::Again);
        assert_eq!(attempt.due(attempt.at(), &timers), Due::Again);
        assert_eq!(attempt.due(attempt.at(), &timers), Due::GiveUp);
    }
}
