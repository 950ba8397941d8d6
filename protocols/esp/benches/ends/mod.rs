//! Two hosts with SAs between them, and packets that go through both again and again.

use std::hint::black_box;

use keytoll_crypto_api::{Crypto, Rng, TrafficKey};
use keytoll_esp::{Frame, HEADROOM, Ipsec, TAILROOM};
use keytoll_net::Addr;

use crate::support::{OUTER, ip, pair};

/// Packets that go together, as sockets and devices give them.
pub(crate) const BATCH: usize = 32;

/// Both ends, and packets that go through them again and again.
pub(crate) struct Ends<C> {
    ends: [Ipsec; 2],
    rng: Rng,
    crypto: C,
    /// As many as there are flows, and whole batches.
    buffers: Vec<Vec<u8>>,
    next: usize,
    outer: [Addr; 2],
}

impl<C: Crypto> Ends<C> {
    pub(crate) fn new(ends: [Ipsec; 2], packets: &[Vec<u8>], crypto: C) -> Self {
        let len = packets[0].len();
        let room = |packet: &Vec<u8>| [&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat();
        let buffers = packets.iter().cycle().take(packets.len().next_multiple_of(BATCH)).map(room);
        let outer = OUTER.map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
        let rng = Rng::named(1, "bench");
        let mut ends = Self { ends, rng, crypto, buffers: buffers.collect(), next: 0, outer };
        // Each flow several times: every key is expanded, every cache as it will be.
        (0..8 * ends.buffers.len() / BATCH).for_each(|_| ends.pass());
        let intact = |(buffer, packet): (&Vec<u8>, &Vec<u8>)| buffer[HEADROOM..][..len] == packet[..];
        assert!(ends.buffers.iter().zip(packets).all(intact));
        ends
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
            let arrived = receiver.inbound(frame, from, to, crypto, &mut ());
            assert_eq!(black_box(arrived).expect("it was just sealed").header_len, 20);
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
