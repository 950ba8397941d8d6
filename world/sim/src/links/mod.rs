//! Links and their impairments. Each impairment has one file, one line in [`IMPAIRMENTS`], and one in [`Effect`].

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

use crate::Air;
use crate::air::Waiting;
use loss::Loss;
use reorder::Reorder;

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// From the first node to the second.
    pub a_to_b: Direction,
    /// The opposite direction.
    pub b_to_a: Direction,
    /// The longest IP packet in bytes; at least 68 (RFC 791 §3.2).
    pub mtu_bytes: u16,
    /// The radio channel that both directions share with other links, if it is one.
    pub air: Option<Air>,
    /// Whether its ends are stations of one LAN: frames to groups go to all whom a station is joined to by such links. Those of a
    /// radio channel always are.
    pub is_lan: bool,
}

impl LinkConfig {
    /// The same in both directions, with an MTU of 1500 bytes.
    pub fn symmetric(direction: Direction) -> Self {
        Self { a_to_b: direction.clone(), b_to_a: direction, mtu_bytes: 1500, air: None, is_lan: false }
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
    /// The bit rate of the sender; `None`: unlimited.
    pub rate_bits_per_s: Option<u64>,
    /// Capacity of the queue at the sender; used only with a rate, or on a radio channel.
    pub queue_bytes_max: u64,
    /// Packets that never arrive.
    pub loss: Loss,
    /// Datagrams that arrive out of order.
    pub reorder: Option<Reorder>,
    /// Probability that a datagram is duplicated.
    pub duplicate: f64,
    /// Probability that a bit is flipped in an IP packet's payload.
    pub corrupt: f64,
    /// Whether the receiver accepts damaged datagrams, as if UDP and TCP checksums were disabled.
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
    /// Adds an impairment, given by a scenario's key and probabilities.
    ///
    /// # Errors
    ///
    /// There is no impairment with that key, or it has another number of probabilities.
    pub fn impaired(mut self, key: &str, chances: &[f64]) -> Result<Self, UnknownImpairment> {
        let by_key = IMPAIRMENTS.iter().filter_map(|kind| kind.by_key).find(|(known, _)| *known == key);
        let set = by_key.is_some_and(|(_, set)| set(&mut self, chances).is_some());
        if set { Ok(self) } else { Err(UnknownImpairment { key: key.to_owned(), chances: chances.len() }) }
    }
}

/// There is no such impairment.
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

/// Sets the probabilities of an impairment in a direction; `None` if there is another number of them.
type SetProbabilities = fn(&mut Direction, &[f64]) -> Option<()>;

/// Makes an impairment if the direction contains it. `stream` returns a random stream by name.
type Make = fn(&Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect>;

/// A kind of impairment.
pub(crate) struct Kind {
    /// The scenario key, and how to set its probabilities; `None` if it is not configured by probabilities.
    by_key: Option<(&'static str, SetProbabilities)>,
    /// The constructor.
    make: Make,
}

/// All impairments, in the order in which they apply to a datagram.
const IMPAIRMENTS: [Kind; 6] =
    [rate::KIND, loss::KIND, delay::KIND, reorder::KIND, duplicate::KIND, corrupt::KIND];

/// An impairment of a link direction.
pub(crate) trait Impairment: Send {
    /// Applies it to a datagram. Not called for a datagram that is already lost.
    fn apply(&mut self, passage: &mut Passage<'_>);

    /// Until when what was sent matters to what will be.
    fn busy_until(&self) -> Time {
        Time::ZERO
    }

    /// The random stream that it draws from.
    fn stream(&mut self) -> Option<&mut Rng> {
        None
    }

    /// What it knows once nothing is on its way, as a number: how much it has drawn. `None` if that is nothing.
    fn knows(&mut self) -> Option<u64> {
        self.stream().map(|stream| stream.drawn())
    }

    /// From now on it is one of another link, of which it knows nothing yet. `stream` returns the random streams of that link by name.
    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng);

    /// A new one of the same stream knows this from now on.
    fn recall(&mut self, known: u64) {
        self.stream().into_iter().for_each(|stream| stream.go_to(known));
    }
}

/// One of the impairments, by value: those of a direction lie side by side in memory.
pub(crate) enum Effect {
    Rate(rate::Sender),
    Loss(loss::Losing),
    Delay(delay::Constant),
    Jitter(delay::Jittery),
    Reorder(reorder::Reordering),
    Duplicate(duplicate::Duplicating),
    Corrupt(corrupt::Corrupting),
}

impl Effect {
    #[inline]
    fn get(&mut self) -> &mut dyn Impairment {
        match self {
            Self::Rate(sender) => sender,
            Self::Loss(losing) => losing,
            Self::Delay(constant) => constant,
            Self::Jitter(jittery) => jittery,
            Self::Reorder(reordering) => reordering,
            Self::Duplicate(duplicating) => duplicating,
            Self::Corrupt(corrupting) => corrupting,
        }
    }
}

/// The transmission of a datagram over one link.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    /// When it was passed to the link.
    pub(crate) handed: Time,
    /// Its number of IP packets and their length with all headers.
    pub(crate) on_wire: OnWire,
    /// The bytes of the datagram.
    pub(crate) payload: &'a mut [u8],
    /// When it will arrive.
    pub(crate) arrives: Time,
    /// Whether it keeps its order with respect to others.
    pub(crate) in_order: bool,
    /// Its fate so far.
    pub(crate) fate: Fate,
    /// A duplicate, if there is one.
    pub(crate) copy: Option<Vec<u8>>,
}

/// The result of transmitting a datagram.
#[derive(Debug)]
pub struct Carriage {
    /// When it arrives or was lost.
    pub arrives: Time,
    /// Its fate.
    pub fate: Fate,
    /// The payload of a second copy.
    pub copy: Option<Vec<u8>>,
    /// Whether the receiver accepts damaged datagrams.
    unchecked: bool,
}

/// The reason with which a receiver drops a damaged datagram.
pub const WRONG_CHECKSUM: &str = "wrong checksum";

impl Carriage {
    /// Whether it arrives at all, perhaps with a flipped bit.
    pub const fn arrives(&self) -> bool {
        matches!(self.fate, Fate::Delivered | Fate::Corrupted)
    }

    /// Whether the receiver drops it with [`WRONG_CHECKSUM`]. ESP directly over IP has no checksum and detects damage itself;
    /// every frame has a check sequence.
    pub fn is_dropped_by_receiver(&self, to: Addr) -> bool {
        self.fate == Fate::Corrupted && !self.unchecked && !matches!(to, Addr::Ip { .. })
    }
}

/// One direction of a link at run time: the same in the simulator and in front of real sockets.
pub struct Channel {
    /// The link, for the records.
    pub link: Link,
    /// Its longest IP packet.
    pub mtu_bytes: u16,
    /// The radio channel that it shares.
    pub(crate) air: Option<Air>,
    /// What waits for it.
    pub(crate) waiting: Waiting,
    effects: Box<[Effect]>,
    unchecked: bool,
    last_arrival: Time,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("link", &self.link).finish_non_exhaustive()
    }
}

impl Channel {
    /// The direction between two ends, whose labels name the random streams of its impairments.
    pub fn new(link: Link, ends: [&str; 2], direction: &Direction, mtu_bytes: u16, seed: &Seed) -> Self {
        let stream = streams(ends, seed);
        let effects = IMPAIRMENTS.iter().filter_map(|kind| (kind.make)(direction, &stream)).collect();
        let (unchecked, last_arrival) = (direction.unchecked, Time::ZERO);
        let waiting = Waiting::new(direction.queue_bytes_max);
        Self { link, mtu_bytes, air: None, waiting, effects, unchecked, last_arrival }
    }

    /// The same between two other ends, which has carried nothing yet.
    pub(crate) fn renew(&mut self, link: Link, ends: [&str; 2], queue_bytes_max: u64, seed: &Seed) {
        let stream = streams(ends, seed);
        self.impairments().for_each(|impairment| impairment.renew(&stream));
        (self.link, self.last_arrival, self.waiting) = (link, Time::ZERO, Waiting::new(queue_bytes_max));
    }

    /// Whether nothing that was sent matters any more to what will be.
    pub(crate) fn is_idle(&mut self, now: Time) -> bool {
        self.last_arrival <= now
            && self.waiting.is_idle(now)
            && self.impairments().all(|impairment| impairment.busy_until() <= now)
    }

    fn impairments(&mut self) -> impl Iterator<Item = &mut dyn Impairment> {
        self.effects.iter_mut().map(Effect::get)
    }

    /// What it knows while it is idle: with its configuration and its ends that is all.
    pub(crate) fn knows(&mut self) -> impl Iterator<Item = u64> {
        self.impairments().filter_map(Impairment::knows)
    }

    /// A new channel between the same ends goes on with what another one knew.
    pub(crate) fn recall(&mut self, known: &mut impl Iterator<Item = u64>) {
        for impairment in self.impairments() {
            if impairment.knows().is_some()
                && let Some(known) = known.next()
            {
                impairment.recall(known);
            }
        }
    }

    /// The same on a radio channel.
    pub(crate) fn on(self, air: Option<Air>) -> Self {
        Self { air, ..self }
    }

    /// The fact about a datagram that this link carried.
    pub fn carried(&self, protocol: Protocol, on_wire: OnWire, transit: Duration, fate: Fate) -> Fact {
        carried(self.link, protocol, on_wire, transit, fate)
    }

    /// The datagram's size on this link; `None` if it is too long.
    pub fn on_wire(&self, datagram: &Datagram) -> Option<OnWire> {
        OnWire::of(datagram.to, datagram.bytes.len(), self.mtu_bytes)
    }

    /// Carries a payload.
    pub fn carry(&mut self, handed: Time, on_wire: OnWire, payload: &mut [u8]) -> Carriage {
        let (fate, copy) = (Fate::Delivered, None);
        let mut passage = Passage { handed, on_wire, payload, arrives: handed, in_order: true, fate, copy };
        for impairment in self.effects.iter_mut().map(Effect::get) {
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

/// The random streams of the direction between two ends, by name.
fn streams<'a>([from, to]: [&'a str; 2], seed: &'a Seed) -> impl Fn(&str) -> Rng + 'a {
    move |name| seed.stream_of(format_args!("link/{from}-{to}/{name}"))
}

/// The fact about a datagram that this link carried.
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
