//! The facts of a population's world, counted and dropped.

use std::time::Duration;

use keytoll_census::Census;
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Node};
use keytoll_sim::Recorder;
use keytoll_trace::Record;

/// Counts the facts of a world once its load has begun.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Of all shares together.
    pub(super) census: Census,
    /// When the last device arrived.
    pub(super) last_arrival: Duration,
    zero: Option<Time>,
}

impl Facts {
    /// The load begins.
    pub(super) const fn begin(&mut self, zero: Time) {
        self.zero = Some(zero);
    }
}

impl Recorder for Facts {
    fn record(&mut self, Record { at_ns, node, fact, .. }: Record) {
        let Some(zero) = self.zero else { return };
        let at = Time::from_nanos(at_ns).since(zero);
        match fact {
            Fact::Sent(message) if message.fragment == 0 => {
                self.census.sent(at, 1, message.retransmission.into());
            }
            Fact::Carried { packets, fate: Fate::Lost | Fate::QueueFull, .. } => {
                self.census.lost(at, packets.into());
            }
            Fact::Carried { packets, fate: Fate::Corrupted, .. } => self.census.lost(at, packets.into()),
            Fact::Discarded { .. } => self.census.discarded(at),
            Fact::Computed { busy_ns } if node != Node::Ue => {
                self.census.busy(node.name(), at, Duration::from_nanos(busy_ns));
            }
            _ => {}
        }
    }
}
