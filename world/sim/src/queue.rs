//! Future events, ordered by time and, at the same time, by when they were scheduled.
//!
//! Ticks are kept apart from other events, at most one per node. A node that needs an earlier tick moves the one it has; of one
//! that needs it later, or not any more, that is noted, and looked at when the tick comes: it goes to its new time then, and the
//! node, which may be in no cache, is not asked. So the queue holds no more ticks than there are nodes, however often deadlines
//! change.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::num::NonZeroU64;

use keytoll_engine::Time;

use crate::NodeIndex;

/// A kind of event; the numbers are places in a [`crate::slab::Slab`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A datagram reaches its node.
    Arrive(u32),
    /// A computation ends, but for what it needs after its outputs.
    Done(u32),
    /// A core is free again.
    Free(NodeIndex),
    /// A command of the caller.
    Command(u32),
    /// A node may have a deadline now.
    Tick(NodeIndex),
}

/// Time, and sequence number of scheduling, counted from one, so that an `Option<Armed>` is no larger.
type Turn = (Time, NonZeroU64);

/// The event queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    events: BinaryHeap<Reverse<(Turn, What)>>,
    ticks: BTreeSet<(Turn, NodeIndex)>,
    /// By the number of a node.
    armed: Vec<Option<Armed>>,
    asked: u64,
}

/// The tick of a node.
#[derive(Debug, Clone, Copy)]
struct Armed {
    turn: Turn,
    /// When the node needs it; [`Time::MAX`] if it does not.
    needed: Time,
}

impl Queue {
    /// Plans an event.
    pub(crate) fn push(&mut self, at: Time, what: What) {
        let turn = self.turn(at);
        self.events.push(Reverse((turn, what)));
    }

    /// Ensures that `node` gets a tick at `at`, and none before.
    pub(crate) fn arm(&mut self, node: NodeIndex, at: Time) {
        if self.armed.len() <= node.place() {
            self.armed.resize(node.place() + 1, None);
        }
        if let Some(armed) = &mut self.armed[node.place()] {
            armed.needed = at;
            if armed.turn.0 <= at {
                return;
            }
        }
        self.disarm(node);
        self.insert(node, at);
    }

    fn insert(&mut self, node: NodeIndex, at: Time) {
        let turn = self.turn(at);
        self.armed[node.place()] = Some(Armed { turn, needed: at });
        self.ticks.insert((turn, node));
    }

    /// A node needs no tick any more.
    pub(crate) fn calm(&mut self, node: NodeIndex) {
        if let Some(Some(armed)) = self.armed.get_mut(node.place()) {
            armed.needed = Time::MAX;
        }
    }

    /// Forgets the tick of a node.
    pub(crate) fn disarm(&mut self, node: NodeIndex) {
        if let Some(armed) = self.armed.get_mut(node.place()).and_then(Option::take) {
            self.ticks.remove(&(armed.turn, node));
        }
    }

    /// Removes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, What)> {
        loop {
            let event = self.events.peek().map(|Reverse((turn, _))| *turn);
            let tick = self.ticks.first().map(|(turn, _)| *turn);
            let tick_is_next = tick.is_some_and(|tick| event.is_none_or(|event| tick < event));
            let (at, _) = if tick_is_next { tick } else { event }?;
            if at > until {
                return None;
            }
            if !tick_is_next {
                return self.events.pop().map(|Reverse((_, what))| (at, what));
            }
            if let Some(node) = self.pop_tick(at) {
                return Some((at, What::Tick(node)));
            }
        }
    }

    /// When the next event is.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse(((at, _), _))| *at);
        let tick = self.ticks.first().map(|((at, _), _)| *at);
        [event, tick].into_iter().flatten().min()
    }

    /// Removes the first tick, which is now; the node, if it needs it now.
    fn pop_tick(&mut self, now: Time) -> Option<NodeIndex> {
        let (_, node) = self.ticks.pop_first()?;
        let Armed { needed, .. } = self.armed[node.place()].take()?;
        if needed <= now {
            return Some(node);
        }
        if needed < Time::MAX {
            self.insert(node, needed);
        }
        None
    }

    fn turn(&mut self, at: Time) -> Turn {
        self.asked += 1;
        (at, NonZeroU64::new(self.asked).expect("it counts from one"))
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
    fn a_node_has_one_tick_at_the_time_it_asked_for_last() {
        let (mut queue, node) = (Queue::default(), NodeIndex::new(3));
        [7, 9, 4, 6].iter().for_each(|&nanos| queue.arm(node, at(nanos)));
        queue.push(at(5), What::Done(0));
        assert_eq!(queue.ticks.len(), 1);
        assert_eq!(drain(&mut queue), [(5, What::Done(0)), (6, What::Tick(node))]);
        queue.arm(node, at(9));
        assert_eq!(drain(&mut queue), [(9, What::Tick(node))]);
    }

    #[test]
    fn a_node_that_needs_no_tick_any_more_gets_none() {
        let (mut queue, node) = (Queue::default(), NodeIndex::new(0));
        queue.calm(node);
        queue.arm(node, at(4));
        queue.calm(node);
        assert_eq!(drain(&mut queue), []);
        queue.arm(node, at(4));
        queue.calm(node);
        queue.arm(node, at(7));
        assert_eq!((queue.pop(at(6)), drain(&mut queue)), (None, vec![(7, What::Tick(node))]));
    }
}
