//! Links: what can happen to a datagram between two nodes. One file an impairment, one line in [`IMPAIRMENTS`] each.

pub(crate) mod corrupt;
pub(crate) mod delay;
pub(crate) mod duplicate;
pub(crate) mod loss;
mod normal;
pub(crate) mod rate;
pub(crate) mod reorder;

use std::time::Duration;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::trace::{Fact, Fate, Link, Protocol};
use keytoll_engine::{Datagram, Time};
use keytoll_net::{Addr, OnWire};

use loss::Loss;
use reorder::Reorder;

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// From the node named first to the other.
    pub a_to_b: Direction,
    /// The way back.
    pub b_to_a: Direction,
    /// The longest IP packet, in bytes; taken as 68 if less (RFC 791 §3.2).
    pub mtu_bytes: u16,
}

impl LinkConfig {
    /// The same both ways, with an MTU of 1500 bytes.
    pub fn symmetric(direction: Direction) -> Self {
        Self { a_to_b: direction.clone(), b_to_a: direction, mtu_bytes: 1500 }
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self::symmetric(Direction::default())
    }
}

/// One direction of a link. The default is perfect: no delay, no limit, no loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Propagation delay.
    pub delay: Duration,
    /// Standard deviation of the delay: normally distributed, truncated at 0, as `netem delay D J distribution normal`.
    /// Unlike netem's it does not reorder: a packet waits for those sent before it.
    pub jitter: Duration,
    /// How fast bits leave the sender; None: at once.
    pub rate_bits_per_s: Option<u64>,
    /// How many bytes may wait for the sender; used only with a rate.
    pub queue_bytes_max: u64,
    /// Packets that never arrive.
    pub loss: Loss,
    /// Datagrams that arrive out of order.
    pub reorder: Option<Reorder>,
    /// Probability that a datagram arrives twice.
    pub duplicate: f64,
    /// Probability that an IP packet has a bit of its payload flipped.
    pub corrupt: f64,
    /// Whether the receiver takes what was damaged, as if nobody looked at the checksums of UDP and TCP.
    pub unchecked: bool,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            rate_bits_per_s: None,
            // 1000 full packets, as many as netem's default limit.
            queue_bytes_max: 1000 * 1500,
            loss: Loss::None,
            reorder: None,
            duplicate: 0.0,
            corrupt: 0.0,
            unchecked: false,
        }
    }
}

impl Direction {
    /// With an impairment, told by the key and the probabilities of a scenario.
    ///
    /// # Errors
    ///
    /// Fails if no impairment has that key, or it has not so many probabilities.
    pub fn impaired(mut self, key: &str, chances: &[f64]) -> Result<Self, UnknownImpairment> {
        let told = IMPAIRMENTS.iter().filter_map(|kind| kind.told).find(|(known, _)| *known == key);
        let set = told.is_some_and(|(_, set)| set(&mut self, chances).is_some());
        if set { Ok(self) } else { Err(UnknownImpairment { key: key.to_owned(), chances: chances.len() }) }
    }
}

/// Nothing that can happen on a link is told so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownImpairment {
    key: String,
    chances: usize,
}

impl std::fmt::Display for UnknownImpairment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no impairment `{}` with {} probabilities", self.key, self.chances)
    }
}

impl std::error::Error for UnknownImpairment {}

/// Puts the probabilities of an impairment into a direction; none if there are not so many.
type Tell = fn(&mut Direction, &[f64]) -> Option<()>;

/// Makes an impairment if the direction asks for it. `stream` gives the impairment its own random stream by name.
type Make = fn(&Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Box<dyn Impairment>>;

/// A kind of impairment.
pub(crate) struct Kind {
    /// The key of scenarios, and how its probabilities get into a direction; none if no scenario asks for it by probabilities.
    told: Option<(&'static str, Tell)>,
    /// How it is made.
    make: Make,
}

/// Every impairment, in the order a datagram meets them.
const IMPAIRMENTS: [Kind; 6] =
    [rate::KIND, loss::KIND, delay::KIND, reorder::KIND, duplicate::KIND, corrupt::KIND];

/// Something that can happen to a datagram on a link.
pub(crate) trait Impairment: Send {
    /// Lets it happen, or not. Called only while the datagram is still on its way.
    fn apply(&mut self, passage: &mut Passage<'_>);
}

/// A datagram's way over one link.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    /// When it was handed to the link.
    pub(crate) handed: Time,
    /// How many IP packets it is, how long with all headers.
    pub(crate) on_wire: OnWire,
    /// What is carried.
    pub(crate) payload: &'a mut [u8],
    /// When it will arrive.
    pub(crate) arrives: Time,
    /// It neither overtakes nor is overtaken.
    pub(crate) in_order: bool,
    /// What becomes of it.
    pub(crate) fate: Fate,
    /// A second copy, if there is one.
    pub(crate) copy: Option<Vec<u8>>,
}

/// What a link made of a datagram.
#[derive(Debug)]
pub struct Carriage {
    /// When it arrives; if it does not, when it was lost.
    pub arrives: Time,
    /// What became of it.
    pub fate: Fate,
    /// The payload of a second copy.
    pub copy: Option<Vec<u8>>,
    /// The receiver takes what was damaged.
    unchecked: bool,
}

/// Why a receiver drops what was damaged on the way.
pub const WRONG_CHECKSUM: &str = "wrong checksum";

impl Carriage {
    /// Whether it arrives at all, perhaps with a flipped bit.
    pub const fn arrives(&self) -> bool {
        matches!(self.fate, Fate::Delivered | Fate::Corrupted)
    }

    /// Whether the receiver drops it, for [`WRONG_CHECKSUM`]. ESP directly on IP has no checksum: it finds out by itself.
    pub fn is_dropped_by_receiver(&self, to: Addr) -> bool {
        self.fate == Fate::Corrupted && !self.unchecked && !matches!(to, Addr::Ip { .. })
    }
}

/// One direction of a link at work: the same in the simulator and in front of real sockets.
pub struct Channel {
    /// The link, for the records.
    pub link: Link,
    /// Its longest IP packet.
    pub mtu_bytes: u16,
    impairments: Vec<Box<dyn Impairment>>,
    unchecked: bool,
    last_arrival: Time,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("link", &self.link).finish_non_exhaustive()
    }
}

impl Channel {
    /// The way between two ends, whose labels name the random streams of its impairments.
    pub fn new(link: Link, ends: [&str; 2], direction: &Direction, mtu_bytes: u16, seed: &Seed) -> Self {
        let [from, to] = ends;
        let stream = |name: &str| seed.stream(&format!("link/{from}-{to}/{name}"));
        let impairments = IMPAIRMENTS.iter().filter_map(|kind| (kind.make)(direction, &stream)).collect();
        Self { link, mtu_bytes, impairments, unchecked: direction.unchecked, last_arrival: Time::ZERO }
    }

    /// What the records say of a datagram that this link carried.
    pub fn carried(&self, protocol: Protocol, on_wire: OnWire, transit: Duration, fate: Fate) -> Fact {
        carried(self.link, protocol, on_wire, transit, fate)
    }

    /// How a datagram looks on this link; None if what carries it cannot.
    pub fn on_wire(&self, datagram: &Datagram) -> Option<OnWire> {
        OnWire::of(datagram.to, datagram.bytes.len(), self.mtu_bytes)
    }

    /// Carries a payload.
    pub fn carry(&mut self, handed: Time, on_wire: OnWire, payload: &mut [u8]) -> Carriage {
        let (fate, copy) = (Fate::Delivered, None);
        let mut passage = Passage { handed, on_wire, payload, arrives: handed, in_order: true, fate, copy };
        for impairment in &mut self.impairments {
            impairment.apply(&mut passage);
            if matches!(passage.fate, Fate::Lost | Fate::QueueFull) {
                let (arrives, fate) = (passage.arrives, passage.fate);
                return Carriage { arrives, fate, copy: None, unchecked: self.unchecked };
            }
        }
        let arrives = self.keep_order(passage.arrives, passage.in_order);
        Carriage { arrives, fate: passage.fate, copy: passage.copy, unchecked: self.unchecked }
    }

    fn keep_order(&mut self, arrives: Time, in_order: bool) -> Time {
        if !in_order {
            return arrives;
        }
        self.last_arrival = self.last_arrival.max(arrives);
        self.last_arrival
    }
}

/// What the records say of a datagram that a link carried.
pub(crate) fn carried(
    link: Link,
    protocol: Protocol,
    on_wire: OnWire,
    transit: Duration,
    fate: Fate,
) -> Fact {
    let OnWire { packets, bytes } = on_wire;
    let transit_ns = u64::try_from(transit.as_nanos()).unwrap_or(u64::MAX);
    Fact::Carried { link, protocol, packets, bytes, transit_ns, fate }
}
