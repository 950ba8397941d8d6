//! The facts of a population's world, counted and dropped.

use std::time::Duration;

use keytoll_census::Census;
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Node};
use keytoll_sim::{LinkConfig, NODE_QUEUE_FULL, Recorder};
use keytoll_trace::Record;

/// Counts the facts of a world once its load has begun.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Of all shares together.
    pub(super) census: Census,
    /// When the last device arrived.
    pub(super) last_arrival: Duration,
    zero: Option<Time>,
    /// Sender and receiver of each direction that the census knows, in its order.
    ways: Vec<[Node; 2]>,
}

impl Facts {
    /// The load begins.
    pub(super) const fn begin(&mut self, zero: Time) {
        self.zero = Some(zero);
    }
}

impl Facts {
    /// So many links between two nodes, unless they are known.
    pub(super) fn add_links(&mut self, [a, b]: [Node; 2], count: u64, config: &LinkConfig) {
        if self.ways.contains(&[a, b]) {
            return;
        }
        for ([from, to], direction) in [([a, b], &config.a_to_b), ([b, a], &config.b_to_a)] {
            self.census.add_link(&format!("{}-{}", from.name(), to.name()), count, direction.rate_bits_per_s);
            self.ways.push([from, to]);
        }
    }

    fn carried(
        &mut self,
        way: [Node; 2],
        at: Duration,
        packets: u64,
        bytes: u64,
        transit: Duration,
        fate: Fate,
    ) {
        let is_refused = fate == Fate::QueueFull;
        if matches!(fate, Fate::Lost | Fate::QueueFull | Fate::Corrupted) {
            self.census.lost(at, packets);
        }
        if let Some(place) = self.ways.iter().position(|known| *known == way) {
            let (bytes, refused) = if is_refused { (0, packets) } else { (bytes, 0) };
            self.census.carried(place, at, bytes, transit, refused);
        }
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
            Fact::Carried { link, packets, bytes, transit_ns, fate, .. } => {
                let to = if link.0 == node { link.1 } else { link.0 };
                let transit = Duration::from_nanos(transit_ns);
                self.carried([node, to], at, packets.into(), bytes.into(), transit, fate);
            }
            Fact::Discarded { why, .. } => {
                self.census.discarded(at);
                if why == NODE_QUEUE_FULL && node != Node::Ue {
                    self.census.refused(node.name(), at);
                }
            }
            Fact::Computed { busy_ns } if node != Node::Ue => {
                self.census.busy(node.name(), at, Duration::from_nanos(busy_ns));
            }
            _ => {}
        }
    }
}
