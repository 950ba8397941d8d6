//! What is counted, and the delays: of a worker, of a second, of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_census::Delays;

use crate::discards::Discards;

/// A start that is later than this is the generator's fault, not the target's.
pub const LATE_MAX: Duration = Duration::from_millis(1);

/// Numbers of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Starts that the schedule wanted.
    pub offered: u64,
    /// Those that were made.
    pub begun: u64,
    /// Calls that were authenticated.
    pub usable: u64,
    /// Calls that failed, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// Starts that the generator itself could not make, by reason: nothing was sent, and the target had no part in it. On a schedule
    /// they have failed; in a closed loop they are made later.
    pub refused: BTreeMap<&'static str, u64>,
    /// Sessions that the target closed or lost, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// Messages sent again.
    pub retransmissions: u64,
    /// Messages sent, those sent again included.
    pub messages: u64,
    /// Datagrams that could not be used, by reason.
    pub discarded: Discards,
}

impl Counts {
    /// The number of calls that failed.
    pub fn failed_sum(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The share of calls with an outcome that failed; none if no call has one.
    pub fn failed_share(&self) -> Option<f64> {
        let (failed, all) = (self.failed_sum(), self.failed_sum() + self.usable);
        (all > 0).then(|| failed as f64 / all as f64)
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.begun += other.begun;
        self.usable += other.usable;
        self.retransmissions += other.retransmissions;
        self.messages += other.messages;
        other.failed.iter().for_each(|(why, count)| *self.failed.entry(why).or_default() += count);
        other.refused.iter().for_each(|(why, count)| *self.refused.entry(why).or_default() += count);
        other.lost.iter().for_each(|(why, count)| *self.lost.entry(why).or_default() += count);
        self.discarded.add(&other.discarded);
    }
}

/// Everything that is counted over some time.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Numbers of calls.
    pub counts: Counts,
    /// From the intended start until the device is authenticated.
    pub delays: Delays,
    /// How late starts were.
    pub lateness: Delays,
    /// How long the schedule is up to now, from the start of the load; in a closed loop until the last outcome.
    pub asked_span: Duration,
    /// Until the last device was authenticated, from the start of the load.
    pub usable_span: Duration,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.delays.merge(&other.delays);
        self.lateness.merge(&other.lateness);
        self.asked_span = self.asked_span.max(other.asked_span);
        self.usable_span = self.usable_span.max(other.usable_span);
    }

    /// Starts in a second that the schedule wanted, over its length; none if it has no length.
    pub fn asked_per_s(&self) -> Option<f64> {
        per_s(self.counts.offered, self.asked_span)
    }

    /// Authenticated devices in a second, over the length of the schedule, or until the last of them was if that is longer.
    pub fn reached_per_s(&self) -> Option<f64> {
        per_s(self.counts.usable, self.asked_span.max(self.usable_span))
    }
}

fn per_s(count: u64, span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| count as f64 / span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_schedule_or_until_the_last_one_is_in() {
        let mut tally = Tally { asked_span: Duration::from_millis(2050), ..Tally::default() };
        assert_eq!((tally.asked_per_s(), Tally::default().reached_per_s()), (Some(0.0), None));
        tally.counts = Counts { offered: 205, usable: 205, ..Counts::default() };
        tally.usable_span = Duration::from_millis(2041);
        let round = |rate: Option<f64>| (rate.unwrap() * 1000.0).round();
        assert_eq!([tally.asked_per_s(), tally.reached_per_s()].map(round), [100_000.0, 100_000.0]);
        tally.usable_span = Duration::from_millis(4100);
        assert_eq!([tally.asked_per_s(), tally.reached_per_s()].map(round), [100_000.0, 50_000.0]);
    }

    #[test]
    fn tallies_add_up() {
        let mut one = Tally::default();
        one.counts.failed.insert("timeout", 2);
        one.counts.usable = 6;
        (1..=6).for_each(|ms| one.delays.record(Duration::from_millis(ms)));
        let mut all = one.clone();
        all.add(&one);
        assert_eq!((all.counts.failed_sum(), all.counts.failed_share()), (4, Some(0.25)));
        let delays = all.delays.percentiles().unwrap();
        assert_eq!((delays.n, delays.min), (12, 1.0));
        assert!((delays.max - 6.0).abs() <= 0.006, "{delays:?}");
    }

    #[test]
    fn nothing_has_no_percentiles() {
        let none = Tally::default();
        assert_eq!((none.delays.quantile(0.99), none.counts.failed_share()), (None, None));
    }
}
