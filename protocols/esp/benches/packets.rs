//! Packets through both ends of an SA, everything included: `cargo bench -p keytoll-esp`.
//!
//! `packet` is what a gateway does for one of a flow that it knows: its flow found in the cache in front of the policies and
//! SAs, which are not searched, sequence number, header, padding, encryption on one end; SA lookup, replay check,
//! decryption, unpadding and selector check on the other. `raw` is the AEAD alone over as many bytes, key expanded,
//! measured in the same run. `flows` takes the flows of one SA in turn, behind a dozen policies of which the last is for
//! them; `pairs` takes as many SAs in turn.

mod ends;
#[path = "../tests/support/mod.rs"]
mod support;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use ends::{BATCH, Ends};
use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_esp::sad::{Headers, OuterHeader};
use keytoll_esp::selector::{Addresses, Selector, Selectors};
use keytoll_esp::spd::{Action, Policy, Spd};
use keytoll_esp::{Ipsec, Mode, PairConfig};
use keytoll_native::awslc::aead::{Aead, Key};
use support::{HITS, INNER, beet, datagram, ip, key, pair};

fn main() {
    divan::main();
}

/// Bytes of the inner IP packet.
const LENGTHS: [usize; 2] = [64, 1400];

fn run<C: Crypto>(bencher: Bencher<'_, '_>, len: usize, mut ends: Ends<C, false>) {
    let bencher = bencher.counter(BytesCount::new(BATCH * len)).counter(ItemsCount::new(BATCH));
    bencher.bench_local(|| ends.pass());
}

fn run_one<C: Crypto>(bencher: Bencher<'_, '_>, encryption: Encryption, len: usize, crypto: C) {
    let ends = ends::joined(&key(encryption, Some(Integrity::HmacMd5_96)));
    run(bencher, len, Ends::new(ends, &[datagram(INNER[0], INNER[1], len)], crypto));
}

/// Sealed and opened, with cryptography.
#[divan::bench(consts = LENGTHS, args = [
    Encryption::Aes128Gcm16, Encryption::Aes256Gcm16, Encryption::ChaCha20Poly1305, Encryption::Aes128Ccm16,
    Encryption::Aes128Gmac, Encryption::Aes128Cbc, Encryption::Aes128Ctr, Encryption::TripleDesCbc, Encryption::Null,
])]
fn packet<const LENGTH: usize>(bencher: Bencher<'_, '_>, encryption: Encryption) {
    run_one(bencher, encryption, LENGTH, Real::default());
}

/// Sealed and opened as a simulation does it: with a meter that reads no clock.
#[divan::bench(consts = LENGTHS)]
fn counted<const LENGTH: usize>(bencher: Bencher<'_, '_>) {
    run_one(bencher, Encryption::Aes128Gcm16, LENGTH, Metered::count_only(Provider::Real(Real::default())));
}

/// The skeleton: everything but cryptography.
#[divan::bench(consts = LENGTHS)]
fn skeleton<const LENGTH: usize>(bencher: Bencher<'_, '_>) {
    run_one(bencher, Encryption::Aes128Gcm16, LENGTH, Null);
}

/// IPv6 packets in each mode, with the headers in front of ESP written and read here.
#[divan::bench(consts = LENGTHS, args = ["tunnel", "transport", "beet"])]
fn headers<const LENGTH: usize>(bencher: Bencher<'_, '_>, mode: &str) {
    let key = key(Encryption::Aes128Gcm16, None);
    let ends = [0, 1].map(|end| {
        let mut pair = beet(end, &key);
        pair.path.headers = Headers::Here(OuterHeader::default());
        match mode {
            "tunnel" => pair.mode = Mode::Tunnel,
            "transport" => pair.mode = Mode::Transport,
            _ => {}
        }
        let mut ipsec = Ipsec::default();
        ipsec.install(pair);
        ipsec
    });
    let packets = [datagram(HITS[0], HITS[1], LENGTH)];
    let bencher = bencher.counter(BytesCount::new(BATCH * LENGTH)).counter(ItemsCount::new(BATCH));
    let mut ends = Ends::with_headers(ends, &packets, Real::default());
    bencher.bench_local(|| ends.pass());
}

/// Flows of one SA between two networks, in turn; behind policies for other networks.
#[divan::bench(consts = LENGTHS, args = [1, 64, 1024, 16384])]
fn flows<const LENGTH: usize>(bencher: Bencher<'_, '_>, flows: u32) {
    let net = |first: &str, last: &str| Addresses::new(ip(first), ip(last)).expect("one family");
    let networks = [net("10.0.0.0", "10.0.255.255"), net("10.1.0.0", "10.1.255.255")];
    let key = key(Encryption::Aes128Gcm16, None);
    let ends = [0, 1].map(|end| {
        let selectors = Selectors::between(networks[end], networks[1 - end]);
        let others = (1..12).map(|n| {
            let text = format!("198.51.100.{n}");
            Policy {
                selectors: Selectors::between(networks[end], Addresses::one(ip(&text))),
                action: Action::Bypass,
            }
        });
        let ours = Policy { selectors: selectors.clone(), action: Action::Protect };
        let mut ipsec = Ipsec::new(Spd::new(others.chain([ours]).collect(), Action::Discard));
        ipsec.install(PairConfig { selectors, ..pair(end, &key) });
        ipsec
    });
    let address = |network: u8, n: u32| format!("10.{network}.{}.{}", n / 256, n % 256);
    let packets: Vec<_> = (0..flows).map(|n| datagram(&address(0, n), &address(1, n), LENGTH)).collect();
    run(bencher, LENGTH, Ends::new(ends, &packets, Real::default()));
}

/// As many pairs of SAs, each for one peer, in turn.
#[divan::bench(consts = LENGTHS, args = [1, 100, 10_000])]
fn pairs<const LENGTH: usize>(bencher: Bencher<'_, '_>, pairs: u32) {
    let key = key(Encryption::Aes128Gcm16, None);
    let peer = |n: u32| format!("10.1.{}.{}", n / 256, n % 256);
    let mut spis = Rng::named(1, "spis");
    let spis: Vec<_> = (0..pairs).map(|_| spis.bytes::<4>()).map(u32::from_be_bytes).collect();
    let ends = [0, 1].map(|end| {
        let mut ipsec = Ipsec::default();
        for (n, &spi) in (0..).zip(&spis) {
            let sides = [Addresses::one(ip(INNER[0])), Addresses::one(ip(&peer(n)))];
            let selectors = Selectors {
                local: [Selector::of(sides[end])].into(),
                remote: [Selector::of(sides[1 - end])].into(),
            };
            ipsec.install(PairConfig { selectors, inbound_spi: spi, outbound_spi: spi, ..pair(end, &key) });
        }
        ipsec
    });
    let packets: Vec<_> = (0..pairs).map(|n| datagram(INNER[0], &peer(n), LENGTH)).collect();
    run(bencher, LENGTH, Ends::new(ends, &packets, Real::default()));
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
