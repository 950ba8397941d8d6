//! Two hosts with SAs between them, and packets that go through both again and again.

#![allow(dead_code, reason = "each benchmark uses what it needs")]

use std::hint::black_box;

use keytoll_crypto_api::{Crypto, Rng, TrafficKey};
use keytoll_esp::{Frame, HEADROOM, Ipsec, TAILROOM};
use keytoll_net::Addr;

use crate::support::{OUTER, ip, pair};

/// Packets that go together, as sockets and devices give them.
pub(crate) const BATCH: usize = 32;

/// Both ends, and packets that go through them again and again, with the headers in front of ESP or without. It is said by the type,
/// so that a program with one kind only has one caller of what processes a packet, as hosts have, and the compiler makes both one
/// function; with two callers a packet takes a twentieth more instructions.
pub(crate) struct Ends<C, const HEADERS: bool> {
    ends: [Ipsec; 2],
    rng: Rng,
    crypto: C,
    /// As many as there are flows, and whole batches.
    buffers: Vec<Vec<u8>>,
    next: usize,
    outer: [Addr; 2],
    /// Of the inner packets.
    header_len: usize,
}

impl<C: Crypto> Ends<C, false> {
    /// With headers that stay with the sockets.
    pub(crate) fn new(ends: [Ipsec; 2], packets: &[Vec<u8>], crypto: C) -> Self {
        Self::warm(ends, packets, crypto)
    }
}

impl<C: Crypto> Ends<C, true> {
    /// With SAs that write and read the headers in front of ESP.
    pub(crate) fn with_headers(ends: [Ipsec; 2], packets: &[Vec<u8>], crypto: C) -> Self {
        Self::warm(ends, packets, crypto)
    }
}

impl<C: Crypto, const HEADERS: bool> Ends<C, HEADERS> {
    fn warm(ends: [Ipsec; 2], packets: &[Vec<u8>], crypto: C) -> Self {
        let room = |packet: &Vec<u8>| [&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat();
        let buffers = packets.iter().cycle().take(packets.len().next_multiple_of(BATCH)).map(room);
        let outer = OUTER.map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
        let rng = Rng::named(1, "bench");
        let header_len = if packets[0][0] >> 4 == 4 { 20 } else { 40 };
        let mut ends = Self { ends, rng, crypto, buffers: buffers.collect(), next: 0, outer, header_len };
        ends.warm_up(packets);
        ends
    }

    /// Each flow several times: every key is expanded, every cache as it will be.
    fn warm_up(&mut self, packets: &[Vec<u8>]) {
        (0..8 * self.buffers.len() / BATCH).for_each(|_| self.pass());
        let len = packets[0].len();
        let intact = |(buffer, packet): (&Vec<u8>, &Vec<u8>)| buffer[HEADROOM..][..len] == packet[..];
        assert!(self.buffers.iter().zip(packets).all(intact));
    }

    /// A batch of packets through both ends, which leaves each where it was and as it was.
    pub(crate) fn pass(&mut self) {
        let [sender, receiver] = &mut self.ends;
        let ([from, to], rng, crypto) = (self.outer, &mut self.rng, &mut self.crypto);
        let batch = &mut self.buffers[self.next..self.next + BATCH];
        let mut frames: [_; BATCH] = std::array::from_fn(|_| None);
        for (frame, buffer) in frames.iter_mut().zip(batch) {
            let range = HEADROOM..buffer.len() - TAILROOM;
            let frame = frame.insert(Frame::new(buffer, range));
            black_box(sender.outbound(frame, rng, crypto, &mut ())).expect("there is an SA");
        }
        for frame in frames.iter_mut().flatten() {
            let arrived = if HEADERS {
                receiver.inbound_packet(frame, crypto, &mut ())
            } else {
                receiver.inbound(frame, from, to, crypto, &mut ())
            };
            assert_eq!(black_box(arrived).expect("it was just sealed").header_len, self.header_len);
        }
        self.next = (self.next + BATCH) % self.buffers.len();
    }
}

/// Two ends with one pair of SAs between them.
pub(crate) fn joined(key: &TrafficKey) -> [Ipsec; 2] {
    [0, 1].map(|end| {
        let mut ipsec = Ipsec::default();
        ipsec.install(pair(end, key));
        ipsec
    })
}
