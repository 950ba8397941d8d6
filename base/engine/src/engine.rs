//! The shape of every engine.

use crate::{Addr, Crypto, Datagram, Time};
use keytoll_trace::{Fact, Protocol, Trace};

/// What an engine may know of the outside world, lent for the length of one call.
pub struct Ctx<'a> {
    /// Now.
    pub now: Time,
    /// Every cryptographic primitive.
    pub crypto: &'a mut dyn Crypto,
    /// Where to leave facts.
    pub trace: &'a mut dyn Trace,
}

impl Ctx<'_> {
    /// Notes that something arrived that cannot be used.
    pub fn discard(&mut self, protocol: Protocol, why: &'static str) {
        self.trace.record(Fact::Discarded { protocol, why: why.into() });
    }
}

impl std::fmt::Debug for Ctx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx").field("now", &self.now).finish_non_exhaustive()
    }
}

/// A protocol endpoint with timers and peers: IKE, RADIUS, Diameter, HIP, 802.11 – and a whole host.
pub trait Engine {
    /// What its owner may ask of it.
    type Command;
    /// What it tells its owner.
    type Event;

    /// Takes one input. Bad input is a traced fact, never a panic and never the caller's error.
    fn handle(&mut self, input: Input<'_, Self::Command>, cx: &mut Ctx<'_>);

    /// The stream that carried messages between a peer and a local address is gone, and with it perhaps some of what was
    /// sent. Engines that speak datagrams never hear of it.
    fn disconnected(&mut self, _peer: Addr, _local: Addr, _cx: &mut Ctx<'_>) {}

    /// The stream between a peer and a local address is secured: the peer has proved that these names are its own. Comes before
    /// anything that the peer says. Of streams that nothing secures nobody hears it.
    fn secured(&mut self, _peer: Addr, _local: Addr, _names: &[String], _cx: &mut Ctx<'_>) {}

    /// The last input ended in a panic half-way: lets go of what that input was about, and tells its owner, so that the rest
    /// can go on. Engines that leave nothing half done need not care.
    fn recover(&mut self, _cx: &mut Ctx<'_>) {}

    /// The next stream that the engine wants closed when what it has said on it is sent: between our address and the
    /// peer's, in this order. To be drained after every input; the engine is told that the stream is gone as of any other.
    fn poll_close(&mut self) -> Option<(Addr, Addr)> {
        None
    }

    /// A packet of this machine that is routed to the engine, from its IP header on. Engines that carry none get none.
    fn forward(&mut self, _packet: &[u8], _cx: &mut Ctx<'_>) {}

    /// The next IP packet for this machine; to be drained after every input.
    fn poll_inner(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// One ordered queue of what came of it, to be drained after every input.
    fn poll(&mut self) -> Option<Output<Self::Event>>;

    /// When it wants an [`Input::Tick`], if at all. A late tick is harmless, an early one does nothing.
    fn deadline(&self) -> Option<Deadline>;
}

/// What goes into an engine.
#[derive(Debug)]
pub enum Input<'a, C> {
    /// A datagram arrived.
    Packet {
        /// Its sender.
        from: Addr,
        /// The local address it was sent to.
        to: Addr,
        /// The transport's payload.
        bytes: &'a [u8],
    },
    /// The owner wants something.
    Command(C),
    /// The deadline has come.
    Tick,
}

/// What comes out of an engine.
#[derive(Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// A datagram to send.
    Packet(Datagram),
    /// Something the owner should know.
    Event(E),
}

/// A wake-up an engine asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// When.
    pub at: Time,
    /// Why, for traces and debuggers.
    pub why: &'static str,
}

impl Deadline {
    /// The earlier of two optional deadlines.
    pub fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
