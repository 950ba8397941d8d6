//! The facts of a population's world, counted and dropped.

use std::time::Duration;

use keytoll_census::Census;
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Node};
use keytoll_rigs::{Cookie, Cookies};
use keytoll_sim::{LinkConfig, NODE_QUEUE_FULL, NodeIndex, Recorder};
use keytoll_trace::Record;

/// Counts the facts of a world once its load has begun.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Of all shares together.
    pub(super) census: Census,
    /// When the last device arrived.
    pub(super) last_arrival: Duration,
    zero: Option<Time>,
    /// The serving nodes, by number; one that is lost has none.
    serving: Vec<Option<String>>,
    cookies: Cookies,
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
    /// A serving node, whose number is the next one, or one of several gateways.
    pub(super) fn add_serving(&mut self, name: &str, cores: u32, is_one_of_several: bool) {
        match is_one_of_several {
            true => self.census.add_gateway(name, cores),
            false => self.census.add_node(name, cores),
        }
        self.serving.push(Some(name.to_owned()));
    }

    /// A serving node is lost, and a device may have its number.
    pub(super) fn lose(&mut self, index: NodeIndex) {
        self.serving[index.number() as usize] = None;
    }

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
    /// What links record; the rest is of one of the nodes.
    fn record(&mut self, Record { at_ns, node, fact, .. }: Record) {
        let (Some(zero), Fact::Carried { link, packets, bytes, transit_ns, fate, .. }) = (self.zero, fact)
        else {
            return;
        };
        let to = if link.0 == node { link.1 } else { link.0 };
        let (at, transit) = (Time::from_nanos(at_ns).since(zero), Duration::from_nanos(transit_ns));
        self.carried([node, to], at, packets.into(), bytes.into(), transit, fate);
    }

    fn record_of(&mut self, index: NodeIndex, Record { at_ns, fact, .. }: Record) {
        let Some(zero) = self.zero else { return };
        let at = Time::from_nanos(at_ns).since(zero);
        match self.cookies.see(&fact) {
            Some(Cookie::Asked) => self.census.cookie_asked(at),
            Some(Cookie::Shown) => self.census.cookie_shown(at),
            None => {}
        }
        let serving = self.serving.get(index.number() as usize).and_then(Option::as_deref);
        match (fact, serving) {
            (Fact::Sent(message), _) if message.fragment == 0 => {
                self.census.sent(at, 1, message.retransmission.into());
            }
            (Fact::Discarded { why, .. }, node) => {
                self.census.discarded(at, node);
                if let Some(node) = node.filter(|_| why == NODE_QUEUE_FULL) {
                    self.census.refused(node, at);
                }
            }
            (Fact::Computed { busy_ns }, Some(node)) => {
                self.census.busy(node, at, Duration::from_nanos(busy_ns));
            }
            _ => {}
        }
    }
}
