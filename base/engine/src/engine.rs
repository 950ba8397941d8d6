//! The contract of every engine. All inputs and all outputs go through one type each, so that a wrapper cannot forget any.

use crate::Datagram;
use keytoll_crypto_api::Crypto;
use keytoll_net::Addr;
use keytoll_trace::{Fact, Protocol, Time, Trace};

/// The outside world as an engine sees it, lent for the length of one call.
pub struct Ctx<'a> {
    /// Now.
    pub now: Time,
    /// Every cryptographic primitive.
    pub crypto: &'a mut dyn Crypto,
    /// Receives facts.
    pub trace: &'a mut dyn Trace,
}

impl Ctx<'_> {
    /// Records that something unusable arrived.
    pub fn discard(&mut self, protocol: Protocol, why: &'static str) {
        self.trace.record(Fact::Discarded { protocol, why: why.into() });
    }
}

impl std::fmt::Debug for Ctx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx").field("now", &self.now).finish_non_exhaustive()
    }
}

/// A protocol endpoint with timers and peers (IKE, RADIUS, Diameter, HIP, 802.11), or a whole host.
pub trait Engine {
    /// What its owner may ask of it.
    type Command;
    /// What it reports to its owner.
    type Event;

    /// Takes one input. Bad input is a traced fact, never a panic and never the caller's error.
    fn handle(&mut self, input: Input<'_, Self::Command>, cx: &mut Ctx<'_>);

    /// The next output; the owner drains the queue after every input.
    fn poll(&mut self) -> Option<Output<Self::Event>>;

    /// When it wants an [`Input::Tick`], if at all. A late tick is harmless, an early one does nothing.
    fn deadline(&self) -> Option<Deadline>;

    /// Nothing is expected to happen for a while: what can be had again is given away. Changes nothing of what it does.
    fn rest(&mut self) {}
}

/// An input of an engine. Every engine matches all of them, so that none is forgotten.
#[derive(Debug)]
pub enum Input<'a, C> {
    /// A datagram arrived.
    Datagram {
        /// Its sender.
        from: Addr,
        /// The local address it was sent to.
        to: Addr,
        /// The payload behind the headers that the addresses imply.
        bytes: &'a [u8],
    },
    /// An IP packet of this machine that is routed to the engine, from its IP header on.
    Inner(&'a [u8]),
    /// The stream between a peer and a local address is now secured. Precedes all data of the peer; not given for streams in
    /// the clear.
    Secured {
        /// The peer.
        peer: Addr,
        /// Our address.
        local: Addr,
        /// The names that the peer has proved.
        names: &'a [String],
    },
    /// The stream between a peer and a local address is gone, perhaps with some of the messages last sent on it.
    Lost {
        /// The peer.
        peer: Addr,
        /// Our address.
        local: Addr,
    },
    /// The last input ended in a panic: the engine drops the SA or conversation which that input concerned and reports it to
    /// its owner, so that the rest can go on.
    Recover,
    /// A request of the owner.
    Command(C),
    /// The deadline has passed.
    Tick,
}

impl<'a, C> Input<'a, C> {
    /// The command, or any other input retyped for an engine with other commands.
    ///
    /// # Errors
    /// Any input but a command.
    pub fn command<D>(self) -> Result<C, Input<'a, D>> {
        Err(match self {
            Self::Command(command) => return Ok(command),
            Self::Datagram { from, to, bytes } => Input::Datagram { from, to, bytes },
            Self::Inner(packet) => Input::Inner(packet),
            Self::Secured { peer, local, names } => Input::Secured { peer, local, names },
            Self::Lost { peer, local } => Input::Lost { peer, local },
            Self::Recover => Input::Recover,
            Self::Tick => Input::Tick,
        })
    }
}

/// What comes out of an engine.
#[derive(Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// A datagram to send.
    Datagram(Datagram),
    /// An IP packet for this machine.
    Inner(Vec<u8>),
    /// Close this stream once everything sent on it before is out. The engine gets [`Input::Lost`] for it as for any other.
    Close {
        /// Our address.
        local: Addr,
        /// The peer.
        peer: Addr,
    },
    /// A report to the owner.
    Event(E),
}

impl<E> Output<E> {
    /// The event, or any other output retyped for an engine with other events.
    ///
    /// # Errors
    /// Any output but an event.
    pub fn event<F>(self) -> Result<E, Output<F>> {
        Err(match self {
            Self::Event(event) => return Ok(event),
            Self::Datagram(datagram) => Output::Datagram(datagram),
            Self::Inner(packet) => Output::Inner(packet),
            Self::Close { local, peer } => Output::Close { local, peer },
        })
    }
}

/// A wake-up that an engine asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// When.
    pub at: Time,
    /// Why, for traces and debuggers.
    pub why: &'static str,
}

impl Deadline {
    /// The earlier of two optional deadlines.
    #[inline]
    pub fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
