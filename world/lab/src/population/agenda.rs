//! What devices of a population will do, and when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
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

/// Errands in the order of their times, and at one time in the order in which they were planned. Only those of the second under way
/// are sorted: in a heap of a million errands each step to take one out would wait for memory.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Those of the second under way, and of seconds that are over.
    due: BinaryHeap<Reverse<Planned>>,
    /// The second under way.
    second: u64,
    /// By second, those of later ones. None of them is due as long as others are.
    later: BTreeMap<u64, Vec<Reverse<Planned>>>,
    planned: u64,
}

/// An errand with its time in nanoseconds and its number: a million of them have one each.
type Planned = (u64, u64, Errand);

impl Agenda {
    pub(super) fn plan(&mut self, at: Duration, errand: Errand) {
        self.planned += 1;
        let planned = Reverse((u64::try_from(at.as_nanos()).unwrap_or(u64::MAX), self.planned, errand));
        if at.as_secs() <= self.second {
            return self.due.push(planned);
        }
        self.later.entry(at.as_secs()).or_default().push(planned);
        self.go_on();
    }

    pub(super) fn next_at(&self) -> Option<Duration> {
        self.due.peek().map(|Reverse((at_ns, ..))| Duration::from_nanos(*at_ns))
    }

    pub(super) fn pop(&mut self) -> Option<(Duration, Errand)> {
        let Reverse((at_ns, _, errand)) = self.due.pop()?;
        self.go_on();
        Some((Duration::from_nanos(at_ns), errand))
    }

    /// The next second is under way if nothing of this one is left.
    fn go_on(&mut self) {
        if self.due.is_empty()
            && let Some((second, errands)) = self.later.pop_first()
        {
            (self.second, self.due) = (second, errands.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errands_come_in_the_order_of_their_times_and_then_of_their_planning() {
        let mut agenda = Agenda::default();
        for (at_ms, device) in [(9000, 0), (1500, 1), (1200, 2), (1500, 3), (9000, 4), (0, 5)] {
            agenda.plan(Duration::from_millis(at_ms), Errand::Leave(device));
        }
        let mut next = || {
            let at = agenda.next_at()?;
            let (popped_at, errand) = agenda.pop()?;
            assert_eq!(at, popped_at);
            // What is planned meanwhile, for now or for later, has its turn.
            if errand == Errand::Leave(2) {
                agenda.plan(at, Errand::Leave(6));
                agenda.plan(Duration::from_secs(5), Errand::Leave(7));
            }
            Some((at.as_millis(), errand))
        };
        let all: Vec<_> = std::iter::from_fn(&mut next).collect();
        let expected = [(0, 5), (1200, 2), (1200, 6), (1500, 1), (1500, 3), (5000, 7), (9000, 0), (9000, 4)];
        assert_eq!(all, expected.map(|(at_ms, device)| (at_ms, Errand::Leave(device))));
        assert_eq!(agenda.next_at(), None);
        agenda.plan(Duration::from_secs(7), Errand::Look);
        assert_eq!(agenda.pop(), Some((Duration::from_secs(7), Errand::Look)), "even if that is past");
    }
}
