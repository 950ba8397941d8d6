//! Packets through both ends of an SA, everything included: `cargo bench -p keytoll-esp`.
//!
//! `packet` is what a gateway does for one: policy and SA lookup, sequence number, header, padding, encryption on one end;
//! SA lookup, replay check, decryption, unpadding and selector check on the other. `raw` is the AEAD alone over as many
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

/// Both ends, and a buffer that a packet goes through again and again.
struct Bench<C> {
    ends: [Ipsec; 2],
    rng: Rng,
    crypto: C,
    packet: Vec<u8>,
    buffer: Vec<u8>,
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
        let buffer = vec![0; HEADROOM + len + TAILROOM];
        let mut bench = Self { ends, rng: Rng::named(1, "bench"), crypto, packet, buffer };
        // The keys are expanded by the second packet.
        (0..3).for_each(|_| bench.pass());
        bench
    }

    /// A packet through both ends. Copying it into the buffer belongs to the figure: it comes from somewhere.
    fn pass(&mut self) {
        let range = HEADROOM..HEADROOM + self.packet.len();
        self.buffer[range.clone()].copy_from_slice(&self.packet);
        let mut frame = Frame::new(&mut self.buffer, range);
        let [sender, receiver] = &mut self.ends;
        sender.outbound(&mut frame, &mut self.rng, &mut self.crypto, &mut ()).expect("there is an SA");
        let [from, to] = [OUTER[0], OUTER[1]].map(|text| Addr::new(ip(text), 0));
        let arrived = receiver.inbound(&mut frame, from, to, &mut self.crypto, &mut ());
        assert_eq!(black_box(arrived).expect("it was just sealed").header_len, 20);
    }
}

fn run<C: Crypto>(bencher: Bencher<'_, '_>, encryption: Encryption, len: usize, crypto: C) {
    let mut bench = Bench::new(encryption, len, crypto);
    bencher.counter(BytesCount::new(len)).counter(ItemsCount::new(1_usize)).bench_local(|| bench.pass());
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
    let (mut data, mut tag) = (vec![7; LENGTH + 4], [0; 16]);
    bencher.counter(BytesCount::new(LENGTH)).counter(ItemsCount::new(1_usize)).bench_local(|| {
        key.seal(&[5; 12], black_box(&[1; 8]), &mut data, &mut tag);
        assert!(key.open(&[5; 12], black_box(&[1; 8]), &mut data, &tag));
    });
}
