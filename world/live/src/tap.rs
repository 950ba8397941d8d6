//! Looking at what passes the sockets: captures and counters attach here.

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Time};
use keytoll_net::Addr;

/// A datagram as it passes a socket, or a message as it passes a stream.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// When.
    pub at: Time,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// What it belongs to; unknown if it came to a port that is neither well known nor has sent anything yet.
    pub protocol: Option<Protocol>,
    /// What is behind the headers that the addresses stand for.
    pub bytes: &'a [u8],
}

impl<'a> Seen<'a> {
    /// A datagram about to be sent.
    pub(crate) fn sent(at: Time, datagram: &'a Datagram) -> Self {
        let Datagram { protocol, from, to, ref bytes } = *datagram;
        Self { at, from, to, protocol: Some(protocol), bytes }
    }
}

/// Told of everything that passes; by default it does not care.
pub trait Tap: Send {
    /// The system has taken this to send.
    fn sent(&mut self, _seen: &Seen<'_>) {}

    /// This came in; the engine has not seen it yet.
    fn received(&mut self, _seen: &Seen<'_>) {}
}

/// Both look.
impl<A: Tap, B: Tap> Tap for (A, B) {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.0.sent(seen);
        self.1.sent(seen);
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.0.received(seen);
        self.1.received(seen);
    }
}

/// Somebody looks, or nobody.
impl<T: Tap> Tap for Option<T> {
    fn sent(&mut self, seen: &Seen<'_>) {
        if let Some(tap) = self {
            tap.sent(seen);
        }
    }

    fn received(&mut self, seen: &Seen<'_>) {
        if let Some(tap) = self {
            tap.received(seen);
        }
    }
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTap;

impl Tap for NoTap {}
