//! Future events, ordered by time and, at the same time, by when they were scheduled.
//!
//! Ticks are kept apart from other events, at most one per node. A node that needs an earlier tick moves the one it has; a
//! node that needs it later gets it too early and is asked again ([`crate::World`] ignores such stale ticks). So the queue
//! holds no more ticks than there are nodes, however often deadlines change.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use keytoll_engine::Time;

use crate::NodeIndex;

/// A kind of event; the numbers are places in a [`crate::slab::Slab`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A datagram reaches its node.
    Arrive(u32),
    /// A computation ends.
    Done(u32),
    /// A command of the caller.
    Command(u32),
    /// A node may have a deadline now.
    Tick(NodeIndex),
}

/// Time, and sequence number of scheduling.
type Turn = (Time, u64);

/// The event queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    events: BinaryHeap<Reverse<(Turn, What)>>,
    ticks: BTreeSet<(Turn, NodeIndex)>,
    armed: Vec<Option<Turn>>,
    asked: u64,
}

impl Queue {
    /// Plans an event.
    pub(crate) fn push(&mut self, at: Time, what: What) {
        let turn = self.turn(at);
        self.events.push(Reverse((turn, what)));
    }

    /// Ensures that `node` gets a tick at `at` or earlier.
    pub(crate) fn arm(&mut self, node: NodeIndex, at: Time) {
        if self.armed.len() <= node.place() {
            self.armed.resize(node.place() + 1, None);
        }
        let armed = self.armed[node.place()];
        if armed.is_some_and(|(earlier, _)| earlier <= at) {
            return;
        }
        let turn = self.turn(at);
        if let Some(later) = self.armed[node.place()].replace(turn) {
            self.ticks.remove(&(later, node));
        }
        self.ticks.insert((turn, node));
    }

    /// Forgets the tick of a node.
    pub(crate) fn disarm(&mut self, node: NodeIndex) {
        if let Some(turn) = self.armed.get_mut(node.place()).and_then(Option::take) {
            self.ticks.remove(&(turn, node));
        }
    }

    /// Removes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, What)> {
        let event = self.events.peek().map(|Reverse((turn, _))| *turn);
        let tick = self.ticks.first().map(|(turn, _)| *turn);
        let tick_is_next = tick.is_some_and(|tick| event.is_none_or(|event| tick < event));
        let (at, _) = if tick_is_next { tick } else { event }?;
        if at > until {
            return None;
        }
        let what =
            if tick_is_next { self.pop_tick() } else { self.events.pop().map(|Reverse((_, what))| what) };
        what.map(|what| (at, what))
    }

    /// When the next event is.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse(((at, _), _))| *at);
        let tick = self.ticks.first().map(|((at, _), _)| *at);
        [event, tick].into_iter().flatten().min()
    }

    fn pop_tick(&mut self) -> Option<What> {
        let (_, node) = self.ticks.pop_first()?;
        self.armed[node.place()] = None;
        Some(What::Tick(node))
    }

    fn turn(&mut self, at: Time) -> Turn {
        self.asked += 1;
        (at, self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn drain(queue: &mut Queue) -> Vec<(u64, What)> {
        std::iter::from_fn(|| queue.pop(Time::MAX)).map(|(at, what)| (at.as_nanos(), what)).collect()
    }

    #[test]
    fn earlier_first_and_at_one_moment_in_the_order_asked() {
        let mut queue = Queue::default();
        queue.push(at(5), What::Done(0));
        queue.arm(NodeIndex::new(0), at(5));
        queue.push(at(5), What::Arrive(1));
        queue.push(at(3), What::Command(2));
        let tick = What::Tick(NodeIndex::new(0));
        assert_eq!(
            drain(&mut queue),
            [(3, What::Command(2)), (5, What::Done(0)), (5, tick), (5, What::Arrive(1))]
        );
    }

    #[test]
    fn nothing_later_than_asked_for_is_popped() {
        let mut queue = Queue::default();
        queue.push(at(5), What::Done(0));
        assert_eq!((queue.pop(at(4)), queue.next_at()), (None, Some(at(5))));
        assert_eq!(queue.pop(at(5)), Some((at(5), What::Done(0))));
        assert_eq!((queue.pop(Time::MAX), queue.next_at()), (None, None));
    }

    #[test]
    fn a_node_has_one_tick_the_earliest_it_asked_for() {
        let (mut queue, node) = (Queue::default(), NodeIndex::new(3));
        [7, 9, 4, 6].iter().for_each(|&nanos| queue.arm(node, at(nanos)));
        assert_eq!(drain(&mut queue), [(4, What::Tick(node))]);
        queue.arm(node, at(9));
        assert_eq!(drain(&mut queue), [(9, What::Tick(node))]);
    }
}
