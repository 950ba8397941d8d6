//! Datagrams that have arrived and not been handled: one batch of one socket, in memory that is taken once. A message of
//! the kernel may be a train of several.

use std::os::fd::AsFd;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Time};
use keytoll_native::datagrams::{self, BATCH, Received};
use keytoll_net::{Addr, Socket};

use crate::Seen;

/// No UDP datagram is longer, and no train. Pages of the arena that no datagram has reached are never touched.
const SLOT_BYTES: usize = 65_535;

/// A datagram, or a message of a stream, that came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) from: Addr,
    pub(crate) to: Addr,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) bytes: &'a [u8],
    /// Whether taps have seen it pass, sealed.
    pub(crate) is_shown: bool,
}

impl<'a> Arrival<'a> {
    /// The same, to be kept; of this protocol if it does not tell.
    pub(crate) fn datagram(&self, protocol: Protocol) -> Datagram {
        let Self { from, to, bytes, .. } = *self;
        Datagram { protocol: self.protocol.unwrap_or(protocol), from, to, bytes: bytes.to_vec() }
    }

    /// As a tap sees it.
    pub(crate) const fn seen(&self, at: Time) -> Seen<'a> {
        let Self { from, to, protocol, bytes, .. } = *self;
        Seen { at, from, to, protocol, bytes }
    }
}

/// The batch in hand.
#[derive(Debug)]
pub(crate) struct Inbox {
    arena: Vec<u8>,
    /// What is in the slots of the arena.
    received: Vec<Received>,
    /// Slots that are done with, and bytes of the one that is not.
    taken: usize,
    taken_bytes: usize,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            arena: vec![0; BATCH * SLOT_BYTES],
            received: Vec::with_capacity(BATCH),
            taken: 0,
            taken_bytes: 0,
        }
    }

    /// Fills it anew from a socket. An error is news of something sent earlier (ICMP), or nothing to take: neither ends
    /// the socket.
    pub(crate) fn fill(&mut self, socket: &impl AsFd) {
        (self.taken, self.taken_bytes) = (0, 0);
        self.received.clear();
        if let Ok(received) = datagrams::receive(socket.as_fd(), &mut self.arena, SLOT_BYTES) {
            self.received.extend(received);
        }
    }

    /// Whether nothing is in hand.
    pub(crate) const fn is_empty(&self) -> bool {
        self.taken >= self.received.len()
    }

    /// The next datagram: who sent it, and its bytes.
    pub(crate) fn take(&mut self) -> Option<(Socket, &[u8])> {
        let Received { from, len, datagram_len } = *self.received.get(self.taken)?;
        let slot = self.taken * SLOT_BYTES;
        let start = self.taken_bytes;
        let end = len.min(start + datagram_len);
        self.taken_bytes = end;
        if end == len {
            (self.taken, self.taken_bytes) = (self.taken + 1, 0);
        }
        Some((from.into(), &self.arena[slot + start..slot + end]))
    }
}
