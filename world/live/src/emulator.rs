//! The sim's links in front of real sockets: what is sent is held back, lost, reordered or spoilt before it leaves, what
//! is received before the engine sees it. In user space, because not every kernel has netem and none needs root for this.
//!
//! Two ends that both emulate do so for what they send ([`Path::outbound`]); an end whose peer does not, for both ways.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Fact, Fate, Link, Node, Protocol, Trace};
use keytoll_engine::{Datagram, Time};
use keytoll_net::{Addr, Host};
use keytoll_sim::{Channel, Direction, WRONG_CHECKSUM};

/// Bytes that may be on the way, on all links together; what comes beyond is dropped with `Fate::QueueFull`.
const BYTES_MAX: usize = 64 << 20;
/// What a datagram takes besides its bytes, roughly.
const PARCEL_BYTES: usize = 128;

/// A link to emulate.
#[derive(Debug, Clone)]
pub struct Path {
    /// The peer's address; none for all peers that no other path names.
    pub remote: Option<Host>,
    /// Which node we are on the link, for its name in the records.
    pub own: Node,
    /// Which node the peer is.
    pub peer: Node,
    /// What happens to what is sent; none: nothing, and nothing is recorded.
    pub outbound: Option<Direction>,
    /// What happens to what is received.
    pub inbound: Option<Direction>,
    /// The longest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// What received datagrams belong to, where they do not tell.
    pub protocol: Protocol,
}

/// Links at work. [`Emulator::default`] has none.
#[derive(Default)]
pub struct Emulator {
    lanes: Vec<Lane>,
    in_flight: BinaryHeap<Reverse<Parcel>>,
    bytes: usize,
    handed: u64,
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("in_flight", &self.in_flight.len()).finish_non_exhaustive()
    }
}

/// One path in one way.
#[derive(Debug)]
struct Lane {
    way: Way,
    remote: Option<Host>,
    protocol: Protocol,
    channel: Channel,
}

/// Which way a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To a peer.
    Out,
    /// From a peer.
    In,
}

/// A datagram on its way.
#[derive(Debug)]
struct Parcel {
    arrives: Time,
    /// Who arrives at the same moment arrives in the order of sending.
    number: u64,
    way: Way,
    datagram: Datagram,
}

impl Emulator {
    /// These links; the seed decides everything they draw, as in the sim.
    pub fn new(paths: &[Path], seed: &Seed) -> Self {
        let lanes = paths.iter().flat_map(|path| lanes(path, seed)).collect();
        Self { lanes, ..Self::default() }
    }

    /// Lets a datagram begin its way; gives it back if it need not go over any link.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        way: Way,
        mut datagram: Datagram,
        trace: &mut dyn Trace,
    ) -> Option<Datagram> {
        let Some(place) = self.lane(way, &datagram) else { return Some(datagram) };
        let has_room = self.bytes + PARCEL_BYTES + datagram.bytes.len() <= BYTES_MAX;
        let (channel, protocol) = (&mut self.lanes[place].channel, datagram.protocol);
        let Some(on_wire) = channel.on_wire(&datagram) else {
            trace.record(Fact::Discarded { protocol, why: "message too long".into() });
            return None;
        };
        let mut tell = |channel: &Channel, arrives: Time, fate| {
            trace.record(channel.carried(protocol, on_wire, arrives.since(now), fate));
        };
        if !has_room {
            tell(channel, now, Fate::QueueFull);
            return None;
        }
        let carriage = channel.carry(now, on_wire, &mut datagram.bytes);
        let (arrives, does_arrive) = (carriage.arrives, carriage.arrives());
        let is_damaged = carriage.is_dropped_by_receiver(datagram.to);
        tell(channel, arrives, carriage.fate);
        let copy = carriage.copy.map(|bytes| Datagram { bytes, ..datagram });
        if copy.is_some() {
            tell(channel, arrives, Fate::Duplicate);
        }
        if is_damaged {
            trace.record(Fact::Discarded { protocol, why: WRONG_CHECKSUM.into() });
        }
        let arriving = (does_arrive && !is_damaged).then_some(datagram).into_iter().chain(copy);
        arriving.for_each(|datagram| self.dispatch(arrives, way, datagram));
        None
    }

    /// Whether what comes from a peer goes over a link before it is seen, and what it belongs to if it does not tell.
    pub(crate) fn inbound(&self, from: Addr) -> Option<Protocol> {
        self.find(Way::In, from).map(|place| self.lanes[place].protocol)
    }

    fn lane(&self, way: Way, datagram: &Datagram) -> Option<usize> {
        self.find(way, if way == Way::Out { datagram.to } else { datagram.from })
    }

    fn find(&self, way: Way, peer: Addr) -> Option<usize> {
        let of = |remote| self.lanes.iter().position(|lane| (lane.way, lane.remote) == (way, remote));
        of(Some(peer.host())).or_else(|| of(None))
    }

    fn dispatch(&mut self, arrives: Time, way: Way, datagram: Datagram) {
        self.handed += 1;
        self.bytes += PARCEL_BYTES + datagram.bytes.len();
        self.in_flight.push(Reverse(Parcel { arrives, number: self.handed, way, datagram }));
    }

    /// When the next datagram is at the end of its way.
    pub(crate) fn deadline(&self) -> Time {
        self.in_flight.peek().map_or(Time::MAX, |Reverse(parcel)| parcel.arrives)
    }

    /// The next datagram that is at the end of its way.
    pub(crate) fn arrive(&mut self, now: Time) -> Option<(Way, Datagram)> {
        if self.deadline() > now {
            return None;
        }
        let Reverse(Parcel { way, datagram, .. }) = self.in_flight.pop()?;
        self.bytes -= PARCEL_BYTES + datagram.bytes.len();
        Some((way, datagram))
    }
}

/// What a path emulates; the random streams are named as the sim names them.
fn lanes(path: &Path, seed: &Seed) -> impl Iterator<Item = Lane> {
    let Path { remote, own, peer, mtu_bytes, protocol, .. } = *path;
    let lane = move |way, ends: [Node; 2], direction: &Direction| Lane {
        way,
        remote,
        protocol,
        channel: Channel::new(Link::between(own, peer), ends.map(Node::name), direction, mtu_bytes, seed),
    };
    let outbound = path.outbound.as_ref().map(|direction| lane(Way::Out, [own, peer], direction));
    let inbound = path.inbound.as_ref().map(|direction| lane(Way::In, [peer, own], direction));
    outbound.into_iter().chain(inbound)
}

impl Parcel {
    const fn order(&self) -> (Time, u64) {
        (self.arrives, self.number)
    }
}

impl Ord for Parcel {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Parcel {}
