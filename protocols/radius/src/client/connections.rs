//! Connections of a client over streams: which of them may be used. Read RFC 6613 §2.6 first.
//!
//! ```text
//!   usable --closed by us--> closing --Lost--> out of use --its wait is over--> usable: the next request connects
//!     '-----------------Lost---------------------^
//! ```
//!
//! A connection that was lost after an answer is connected again at once, and every further loss doubles the wait.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::Time;

use super::config::Retransmission;
use super::identifiers::Service;

/// Requests over streams, RADIUS/TCP or RADIUS/TLS, in place of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// How long a request waits for its answer.
    pub answer_within: Duration,
    /// The wait before the second attempt to connect; each failure doubles it.
    pub reconnect_after: Duration,
    /// The longest wait between two attempts to connect.
    pub reconnect_every: Duration,
}

impl Default for Streams {
    /// As long as the MRD of RFC 5080 §2.2.1 for an answer; attempts to connect after 100 ms and then up to 5 s.
    fn default() -> Self {
        Self {
            answer_within: Duration::from_secs(30),
            reconnect_after: Duration::from_millis(100),
            reconnect_every: Duration::from_secs(5),
        }
    }
}

impl Streams {
    // RFC 6613 §2.6.1: nothing is retransmitted on the connection that has carried it, because TCP does.
    /// The timers of requests that are sent once.
    pub(super) fn timers(&self) -> Retransmission {
        // Jitter must not make the wait shorter than the time for the answer.
        let wait = self.answer_within * 2;
        Retransmission { initial: wait, interval_max: wait, count_max: 1, duration_max: self.answer_within }
    }

    fn wait(&self, losses: u32) -> Duration {
        let doublings = losses.saturating_sub(2).min(20);
        let wait = self.reconnect_after.saturating_mul(1 << doublings).min(self.reconnect_every);
        if losses < 2 { Duration::ZERO } else { wait }
    }
}

/// A connection: a service of the server, and the port that stands for our end.
pub(super) type End = (Service, u16);

/// What is known of one connection.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    /// How often it was lost since the last answer.
    losses: u32,
    /// When the last authentic answer came.
    heard: Option<Time>,
    /// It is not used before; [`Time::MAX`] as long as it is closing.
    usable_at: Time,
}

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    streams: Streams,
    table: BTreeMap<End, Connection>,
}

impl Connections {
    pub(super) const fn new(streams: Streams) -> Self {
        Self { streams, table: BTreeMap::new() }
    }

    pub(super) fn is_usable(&self, end: End, now: Time) -> bool {
        self.table.get(&end).is_none_or(|connection| connection.usable_at <= now)
    }

    /// When the first of these connections may be used.
    pub(super) fn usable_at(&self, ends: impl Iterator<Item = End>) -> Option<Time> {
        ends.map(|end| self.table.get(&end).map_or(Time::ZERO, |connection| connection.usable_at)).min()
    }

    /// Whether all of these connections have been lost so often without an answer between that the wait grows no more.
    pub(super) fn are_given_up(&self, mut ends: impl Iterator<Item = End>) -> bool {
        let losses = |end: End| self.table.get(&end).map_or(0, |connection| connection.losses);
        ends.all(|end| self.streams.wait(losses(end)) >= self.streams.reconnect_every)
    }

    /// Whether an authentic answer came at or after this time.
    pub(super) fn has_answered_since(&self, end: End, since: Time) -> bool {
        self.table.get(&end).and_then(|connection| connection.heard).is_some_and(|heard| heard >= since)
    }

    /// An authentic answer came.
    pub(super) fn answered(&mut self, end: End, now: Time) {
        let connection = self.table.entry(end).or_default();
        (connection.heard, connection.losses) = (Some(now), 0);
    }

    /// We close it: it is not used until it is gone.
    pub(super) fn closing(&mut self, end: End) {
        self.table.entry(end).or_default().usable_at = Time::MAX;
    }

    /// It is gone, or was never there.
    pub(super) fn lost(&mut self, end: End, now: Time) {
        let connection = self.table.entry(end).or_default();
        connection.losses = connection.losses.saturating_add(1);
        connection.usable_at = now + self.streams.wait(connection.losses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: End = (Service::Authentication, 1);

    #[test]
    fn every_loss_without_an_answer_between_doubles_the_wait() {
        let mut connections = Connections::new(Streams::default());
        let mut wait_ms = |now| {
            connections.lost(END, now);
            let step = |ms: &u64| connections.is_usable(END, now + Duration::from_millis(*ms));
            (0..=6000).find(step).unwrap()
        };
        let waits: Vec<u64> = (0..9).map(|n| wait_ms(Time::ZERO + Duration::from_secs(n * 10))).collect();
        assert_eq!(waits, [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        connections.answered(END, Time::ZERO);
        connections.lost(END, Time::ZERO);
        assert!(connections.is_usable(END, Time::ZERO));
    }

    #[test]
    fn one_that_closes_is_usable_only_once_it_is_gone() {
        let mut connections = Connections::new(Streams::default());
        let later = Time::ZERO + Duration::from_secs(3600);
        connections.closing(END);
        assert!(!connections.is_usable(END, later));
        connections.lost(END, later);
        assert!(connections.is_usable(END, later));
    }

    #[test]
    fn a_server_that_is_never_there_is_given_up_when_the_wait_grows_no_more() {
        let mut connections = Connections::new(Streams::default());
        let ends = || [END].into_iter();
        assert_eq!(connections.usable_at(ends()), Some(Time::ZERO));
        let mut losses = 0;
        while !connections.are_given_up(ends()) {
            connections.lost(END, Time::ZERO);
            losses += 1;
        }
        assert_eq!((losses, connections.usable_at(ends())), (8, Some(Time::ZERO + Duration::from_secs(5))));
        connections.answered(END, Time::ZERO);
        assert!(!connections.are_given_up(ends()));
    }
}
