//! The times of an authentication, as one list: each is computed when the authentication is concluded, is in
//! [`Sample::times`](super::Sample::times), and has its distribution over the row in [`Tally::times`](super::Tally::times).
//!
//! A further time is a file below this one and a line in `TIMES`; then a member of
//! `SummaryRow` of `keytoll-analysis`, and the columns that show it.

mod waiting_for_repeats;

use keytoll_trace::{Fact, Record};

use super::cover::Cover;
use super::{LinkCount, Outcome, Split};
use crate::stats::{Blocks, Distribution};

pub use waiting_for_repeats::WAITING_FOR_REPEATS;

/// A time of an authentication.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// Its name in the list.
    name: &'static str,
    /// In nanoseconds; `None` if there is no such time.
    of: fn(&Concluded<'_>) -> Option<u64>,
}

/// An authentication with complete records.
pub(super) struct Concluded<'a> {
    /// In chronological order, without those of other authentications and of user traffic.
    pub(super) records: &'a [Record],
    /// When it was triggered.
    pub(super) start_ns: u64,
    /// From the trigger until the device had an outcome; `None` without one.
    pub(super) duration_ns: Option<u64>,
    pub(super) outcome: &'a Outcome,
    /// How the delay divides; `None` unless it succeeded.
    pub(super) split: Option<&'a Split>,
    /// When a datagram was in flight or a node computed, counted from the trigger; empty unless it succeeded.
    pub(super) busy: Cover,
    /// Traffic on all links.
    pub(super) total: LinkCount,
}

/// All times, in no particular order.
const TIMES: [Time; 9] = [
    DELAY,
    DELAY_WITHOUT_REPEATS,
    FAILED_AFTER,
    FIRST_PACKET,
    NETWORK,
    COMPUTATION,
    WAITING,
    WAITED_FOR_LOST,
    WAITING_FOR_REPEATS,
];

/// From the trigger to a usable SA at the initiator, of successful authentications.
pub const DELAY: Time =
    Time { name: "delay", of: |concluded| concluded.duration_ns.filter(|_| concluded.is_established()) };

/// The same, of those that did not wait until a message was sent again.
pub const DELAY_WITHOUT_REPEATS: Time = Time {
    name: "delay without repeats",
    of: |concluded| (DELAY.of)(concluded).filter(|_| (WAITING_FOR_REPEATS.of)(concluded) == Some(0)),
};

/// From the trigger until the device knew that it had failed, of failed authentications.
pub const FAILED_AFTER: Time = Time {
    name: "failed after",
    of: |concluded| concluded.duration_ns.filter(|_| !concluded.is_established()),
};

/// From the trigger until the packet that caused it came back through the SA.
pub const FIRST_PACKET: Time = Time {
    name: "first packet",
    of: |concluded| {
        let first = concluded.records.iter().find(|record| matches!(record.fact, Fact::FirstPacket))?;
        Some(first.at_ns.saturating_sub(concluded.start_ns))
    },
};

/// The part of the delay in which a datagram that arrived was in flight.
pub const NETWORK: Time = Time { name: "network", of: |concluded| Some(concluded.split?.network_ns) };

/// The part in which none was, and a node was computing.
pub const COMPUTATION: Time =
    Time { name: "computation", of: |concluded| Some(concluded.split?.computation_total_ns()) };

/// The part in which neither was.
pub const WAITING: Time = Time { name: "waiting", of: |concluded| Some(concluded.split?.waiting_ns) };

/// The same, of authentications that retransmitted because a packet was lost.
pub const WAITED_FOR_LOST: Time = Time {
    name: "waited for lost",
    of: |concluded| {
        let LinkCount { retransmissions, lost_packets, .. } = concluded.total;
        concluded.split.filter(|_| retransmissions > 0 && lost_packets > 0).map(|split| split.waiting_ns)
    },
};

impl Concluded<'_> {
    fn is_established(&self) -> bool {
        *self.outcome == Outcome::Established
    }

    /// The times of this authentication.
    pub(super) fn times(&self) -> Times {
        Times(TIMES.map(|time| (time.of)(self)))
    }
}

impl Time {
    fn place(&self) -> usize {
        let place = TIMES.iter().position(|time| time.name == self.name);
        place.expect("every time is in the list")
    }
}

/// The times of one authentication, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times([Option<u64>; TIMES.len()]);

impl Times {
    /// One of them; `None` if there is no such time.
    pub fn get(&self, time: &Time) -> Option<u64> {
        self.0[time.place()]
    }
}

/// The times of many authentications, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct TimesTally {
    of_all: [Distribution; TIMES.len()],
    of_blocks: [Blocks; TIMES.len()],
}

impl TimesTally {
    /// The distribution of one of them.
    pub fn get(&self, time: &Time) -> &Distribution {
        &self.of_all[time.place()]
    }

    /// The same by block of the run; empty where rows are not measured in turns.
    pub fn of_blocks(&self, time: &Time) -> &Blocks {
        &self.of_blocks[time.place()]
    }

    /// Adds the times of an authentication, and its block if it has one.
    pub(super) fn add(&mut self, times: &Times, block: Option<u32>) {
        let tallies = self.of_all.iter_mut().zip(&mut self.of_blocks);
        for ((distribution, blocks), ns) in tallies.zip(times.0) {
            let Some(ns) = ns else { continue };
            distribution.add(ns);
            block.into_iter().for_each(|block| blocks.add(block, ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_times_have_one_name() {
        for (place, time) in TIMES.iter().enumerate() {
            assert_eq!(time.place(), place, "{}", time.name);
        }
    }
}
