//! What devices of a population will do, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What is to be done. Devices are named by number and visit: one that has moved or gone meanwhile has no errands any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Errand {
    /// The next device arrives.
    Arrive,
    /// A device authenticates anew.
    Reauthenticate(u32, u16),
    /// A device attaches elsewhere.
    Move(u32, u16),
    /// A device closes its session and goes, wherever it is.
    Leave(u32),
    /// A device is gone.
    Vanish(u32, u16),
    /// A device whose gateway was lost tries to come back.
    Return(u32, u16),
    /// A gateway is lost.
    Lose,
    /// A second has passed.
    Look,
}

/// Errands in the order of their times, and at one time in the order in which they were planned.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// With times in nanoseconds: a million of them have one each.
    heap: BinaryHeap<Reverse<(u64, u64, Errand)>>,
    planned: u64,
}

impl Agenda {
    pub(super) fn plan(&mut self, at: Duration, errand: Errand) {
        self.planned += 1;
        let at_ns = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        self.heap.push(Reverse((at_ns, self.planned, errand)));
    }

    pub(super) fn next_at(&self) -> Option<Duration> {
        self.heap.peek().map(|Reverse((at_ns, ..))| Duration::from_nanos(*at_ns))
    }

    pub(super) fn pop(&mut self) -> Option<(Duration, Errand)> {
        self.heap.pop().map(|Reverse((at_ns, _, errand))| (Duration::from_nanos(at_ns), errand))
    }
}
