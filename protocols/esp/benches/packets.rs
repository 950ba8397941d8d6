//! Packets through both ends of an SA, everything included: `cargo bench -p keytoll-esp`.
//!
//! `packet` is what a gateway does for one of a flow that it knows: its flow found in the cache in front of the policies and
//! SAs, which are not searched, sequence number, header, padding, encryption on one end; SA lookup, replay check, decryption, unpadding and selector check on the other. `raw` is the AEAD alone over as many
//! bytes, key expanded, measured in the same run.

#[path = "../tests/support/mod.rs"]
mod support;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_engine::algorithm::{Encryption, Integrity};
use keytoll_engine::{Addr, Crypto, Rng};
use keytoll_esp::{Frame, HEADROOM, Ipsec, TAILROOM};
use keytoll_native::awslc::aead::{Aead, Key};
use support::{INNER, OUTER, datagram, ip, key, pair};

fn main() {
    divan::main();
}

/// Bytes of the inner IP packet.
const LENGTHS: [usize; 2] = [64, 1400];

/// Packets that go together, as sockets and devices give them.
const BATCH: usize = 32;

/// Both ends, and packets that go through them again and again.
struct Bench<C> {
    ends: [Ipsec; 2],
    rng: Rng,
    crypto: C,
    buffers: Vec<Vec<u8>>,
    outer: [Addr; 2],
}

impl<C: Crypto> Bench<C> {
    fn new(encryption: Encryption, len: usize, crypto: C) -> Self {
        let key = key(encryption, Some(Integrity::HmacMd5_96));
        let ends = [0, 1].map(|end| {
            let mut ipsec = Ipsec::default();
            ipsec.install(pair(end, &key));
            ipsec
        });
        let packet = datagram(INNER[0], INNER[1], len);
        let buffer = [&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat();
        let outer = OUTER.map(|text| Addr::new(ip(text), 0));
        let mut bench =
            Self { ends, rng: Rng::named(1, "bench"), crypto, buffers: vec![buffer; BATCH], outer };
        bench.pass();
        assert!(bench.buffers.iter().all(|buffer| buffer[HEADROOM..][..len] == packet));
        bench
    }

    /// A batch of packets through both ends, which leaves each where it was and as it was.
    fn pass(&mut self) {
        let [sender, receiver] = &mut self.ends;
        let ([from, to], rng, crypto) = (self.outer, &mut self.rng, &mut self.crypto);
        let mut frames: [_; BATCH] = std::array::from_fn(|_| None);
        for (frame, buffer) in frames.iter_mut().zip(&mut self.buffers) {
            let range = HEADROOM..buffer.len() - TAILROOM;
            let frame = frame.insert(Frame::new(buffer, range));
            black_box(sender.outbound(frame, rng, crypto, &mut ())).expect("there is an SA");
        }
        for frame in frames.iter_mut().flatten() {
            let arrived = receiver.inbound(frame, from, to, crypto, &mut ());
            assert_eq!(black_box(arrived).expect("it was just sealed").header_len, 20);
        }
    }
}

fn run<C: Crypto>(bencher: Bencher<'_, '_>, encryption: Encryption, len: usize, crypto: C) {
    let mut bench = Bench::new(encryption, len, crypto);
    let bencher = bencher.counter(BytesCount::new(BATCH * len)).counter(ItemsCount::new(BATCH));
    bencher.bench_local(|| bench.pass());
}

/// Sealed and opened, with cryptography.
#[divan::bench(consts = LENGTHS, args = [
    Encryption::Aes128Gcm16, Encryption::Aes256Gcm16, Encryption::ChaCha20Poly1305, Encryption::Aes128Ccm16,
    Encryption::Aes128Gmac, Encryption::Aes128Cbc, Encryption::Aes128Ctr, Encryption::TripleDesCbc, Encryption::Null,
])]
fn packet<const LENGTH: usize>(bencher: Bencher<'_, '_>, encryption: Encryption) {
    run(bencher, encryption, LENGTH, Real::default());
}

/// Sealed and opened as a simulation does it: with a meter that reads no clock.
#[divan::bench(consts = LENGTHS)]
fn counted<const LENGTH: usize>(bencher: Bencher<'_, '_>) {
    run(bencher, Encryption::Aes128Gcm16, LENGTH, Metered::count_only(Provider::Real(Real::default())));
}

/// The skeleton: everything but cryptography.
#[divan::bench(consts = LENGTHS)]
fn skeleton<const LENGTH: usize>(bencher: Bencher<'_, '_>) {
    run(bencher, Encryption::Aes128Gcm16, LENGTH, Null);
}

/// The AEAD alone, sealing and opening as many bytes as a packet has.
#[divan::bench(consts = LENGTHS, args = [Encryption::Aes128Gcm16, Encryption::ChaCha20Poly1305])]
fn raw<const LENGTH: usize>(bencher: Bencher<'_, '_>, encryption: Encryption) {
    let (aead, len) = match encryption {
        Encryption::ChaCha20Poly1305 => (Aead::ChaCha20Poly1305, 32),
        _ => (Aead::AesGcm, 16),
    };
    let key = Key::new(aead, &vec![0x11; len], 16);
    // RFC 4303 §2.4: what is encrypted is the packet, and a trailer that ends on a multiple of 4.
    let mut packets = vec![(vec![7; LENGTH + 4], [0; 16]); BATCH];
    let bencher = bencher.counter(BytesCount::new(BATCH * LENGTH)).counter(ItemsCount::new(BATCH));
    bencher.bench_local(|| {
        for (data, tag) in &mut packets {
            key.seal(&[5; 12], black_box(&[1; 8]), data, tag);
        }
        for (data, tag) in &mut packets {
            assert!(key.open(&[5; 12], black_box(&[1; 8]), data, tag));
        }
    });
}
