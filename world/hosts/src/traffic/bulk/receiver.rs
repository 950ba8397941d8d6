//! The receiver of bulk data: what arrived, what is missing, when to acknowledge. RFC 5681 §4.2.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::unwrapped;

/// Delay of an acknowledgement that waits for a second segment: Linux's; RFC 5681 §4.2 allows 500 ms.
const DELAY: Duration = Duration::from_millis(40);

#[derive(Debug)]
pub(super) struct Receiver {
    /// The first byte that is missing.
    next: u64,
    /// Starts and ends of disjoint ranges received beyond it.
    beyond: BTreeMap<u64, u64>,
    window_bytes: u64,
    /// Segments received in order and not yet acknowledged.
    unacknowledged: u32,
    /// Whether to acknowledge at once.
    urgent: bool,
    due: Option<Time>,
}

impl Receiver {
    pub(super) const fn new(window_bytes: u64) -> Self {
        let beyond = BTreeMap::new();
        Self { next: 0, beyond, window_bytes, unacknowledged: 0, urgent: false, due: None }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, why: "delayed acknowledgement" })
    }

    /// Processes a segment; returns how many of its bytes are new.
    pub(super) fn take(&mut self, sequence: u32, length: u64, now: Time) -> u64 {
        let Some(start) = unwrapped(sequence, self.next) else { return 0 };
        let (start, end) = (start.max(self.next), start + length);
        if end <= self.next || end > self.next + self.window_bytes {
            // RFC 9293 §3.10.7.4: a segment outside the window is answered with an acknowledgement.
            self.urgent = true;
            return 0;
        }
        // RFC 5681 §4.2: segments out of order or filling a gap are acknowledged at once.
        self.urgent |= start > self.next || !self.beyond.is_empty();
        let new = self.insert(start, end);
        self.unacknowledged += 1;
        self.due = Some(self.due.unwrap_or(now + DELAY));
        self.advance();
        new
    }

    /// RFC 5681 §4.2: an acknowledgement for at least every second full segment.
    pub(super) const fn must_acknowledge(&self) -> bool {
        self.urgent || self.unacknowledged >= 2
    }

    /// The number to acknowledge with.
    pub(super) fn acknowledge(&mut self) -> u32 {
        (self.unacknowledged, self.urgent, self.due) = (0, false, None);
        self.next as u32
    }

    /// Merges a range with those it touches; returns how many of its bytes are new.
    fn insert(&mut self, mut start: u64, mut end: u64) -> u64 {
        let mut new = end - start;
        while let Some((&from, &until)) = self.beyond.range(..=end).next_back() {
            if until < start {
                break;
            }
            new -= until.min(end) - from.max(start).min(until.min(end));
            (start, end) = (start.min(from), end.max(until));
            self.beyond.remove(&from);
        }
        self.beyond.insert(start, end);
        new
    }

    fn advance(&mut self) {
        if let Some(end) = self.beyond.remove(&self.next) {
            self.next = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_second_segment_is_acknowledged_and_a_single_one_later() {
        let mut receiver = Receiver::new(10_000);
        assert_eq!((receiver.take(0, 100, Time::ZERO), receiver.must_acknowledge()), (100, false));
        assert_eq!(receiver.deadline().map(|deadline| deadline.at), Some(Time::ZERO + DELAY));
        assert_eq!((receiver.take(100, 100, Time::ZERO), receiver.must_acknowledge()), (100, true));
        assert_eq!((receiver.acknowledge(), receiver.deadline()), (200, None));
    }

    #[test]
    fn a_gap_is_acknowledged_at_once_until_it_is_filled() {
        let mut receiver = Receiver::new(10_000);
        receiver.take(100, 100, Time::ZERO);
        assert!(receiver.must_acknowledge());
        assert_eq!(receiver.acknowledge(), 0);
        assert_eq!(receiver.take(0, 100, Time::ZERO), 100);
        assert!(receiver.must_acknowledge());
        assert_eq!(receiver.acknowledge(), 200);
        assert_eq!(receiver.take(0, 100, Time::ZERO), 0, "a copy");
        assert!(receiver.must_acknowledge());
    }

    proptest! {
        /// Against a set of bytes.
        #[test]
        fn new_bytes_are_counted_once(spans in prop::collection::vec((0u32..300, 1u64..60), 0..40)) {
            let (mut receiver, mut set) = (Receiver::new(10_000), BTreeSet::new());
            for (start, length) in spans {
                let before = set.len();
                set.extend(u64::from(start)..u64::from(start) + length);
                prop_assert_eq!(receiver.take(start, length, Time::ZERO), (set.len() - before) as u64);
                let first_missing = (0..).find(|byte| !set.contains(byte)).unwrap();
                prop_assert_eq!(u64::from(receiver.acknowledge()), first_missing);
            }
        }
    }
}
