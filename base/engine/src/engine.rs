//! The shape of every engine: all that goes in and all that comes out has one way, so that who wraps an engine forgets none of it.

use crate::Datagram;
use keytoll_crypto_api::Crypto;
use keytoll_net::Addr;
use keytoll_trace::{Fact, Protocol, Time, Trace};

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

    /// One ordered queue of what came of it, to be drained after every input.
    fn poll(&mut self) -> Option<Output<Self::Event>>;

    /// When it wants an [`Input::Tick`], if at all. A late tick is harmless, an early one does nothing.
    fn deadline(&self) -> Option<Deadline>;
}

/// What goes into an engine. Every engine says of each what it does with it, so that none is forgotten.
#[derive(Debug)]
pub enum Input<'a, C> {
    /// A datagram arrived.
    Datagram {
        /// Its sender.
        from: Addr,
        /// The local address it was sent to.
        to: Addr,
        /// What is behind the headers that the addresses stand for.
        bytes: &'a [u8],
    },
    /// A packet of this machine that is routed to the engine, from its IP header on.
    Inner(&'a [u8]),
    /// The stream between a peer and a local address is secured. Comes before anything that the peer says; nothing comes of a
    /// stream that nothing secures.
    Secured {
        /// The peer.
        peer: Addr,
        /// Our address.
        local: Addr,
        /// The names that the peer has proved to be its own.
        names: &'a [String],
    },
    /// The stream that carried messages between a peer and a local address is gone, and with it perhaps some of what was sent.
    Lost {
        /// The peer.
        peer: Addr,
        /// Our address.
        local: Addr,
    },
    /// The last input ended in a panic half-way: the engine lets go of what that input was about and tells its owner, so that the
    /// rest can go on.
    Recover,
    /// The owner wants something.
    Command(C),
    /// The deadline has come.
    Tick,
}

impl<'a, C> Input<'a, C> {
    /// The command, or any other input as an engine with other commands takes it.
    ///
    /// # Errors
    /// Everything but a command.
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
    /// A stream to be closed when what was said on it before is sent. The engine is told that it is gone as of any other.
    Close {
        /// Our address.
        local: Addr,
        /// The peer.
        peer: Addr,
    },
    /// Something the owner should know.
    Event(E),
}

impl<E> Output<E> {
    /// The event, or any other output as an engine with other events passes it on.
    ///
    /// # Errors
    /// Everything but an event.
    pub fn event<F>(self) -> Result<E, Output<F>> {
        Err(match self {
            Self::Event(event) => return Ok(event),
            Self::Datagram(datagram) => Output::Datagram(datagram),
            Self::Inner(packet) => Output::Inner(packet),
            Self::Close { local, peer } => Output::Close { local, peer },
        })
    }
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
