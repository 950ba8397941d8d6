//! Vectors of the diet exchange that an independent script computed from the text of draft-ietf-hip-dex-24, with X25519, FOLD
//! and CKDF of its own: no implementation speaks that text, and none publishes vectors.
//!
//! Private keys 01..20 and 65..84, #I 00..0f, #J 10..1f, I_NONCE 20..3f, x a0..af, y c0..cf.

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::{Group, Prf};
use keytoll_crypto_api::{Crypto, KeyPair, PrivateKey, Rng, Secret};

use crate::diet_keys::DietKeys;
use crate::identity::{DietVariant, HostIdentity};
use crate::keymat::HipKeys;
use crate::number::Cipher;
use crate::protection::{Counters, Exchange, Protection};

const VARIANT: DietVariant = DietVariant::Draft24;
const PUBLIC: [&str; 2] = [
    "07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c",
    "5714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36",
];
const HITS: [&str; 2] = ["2001:24:5beb:5938:3007:219b:3729:8646", "2001:24:6619:28ae:ec75:16e1:5f57:3b0f"];
const KIJ: &str = "c9ea6a3f79a000b60b076d4afc990b272f3f0b5aaa3f0b8713c209273e363863";
/// Of the Master Key SA: both keys of the responder, whose HIT is the greater one, then both of the initiator.
const MASTER: &str = "46152c154d058cb4a0ec486ff64287a4ee15337cda5a30edbd3784da8ecc468d\
                      164f3c1c752019118748443a6277f8b1962409603a0ba00c1b18a3d6ce53913a";
/// Of the Pair-wise Key SA.
const PAIRWISE: &str = "5d4b62256bddefb546da0016e06dddeeb515db532509c6dd97e3cb3dfd164c10\
                        9cb22eee170f6d0ea602b6975d36039658fb6b229725bf146b41a26537668fc7\
                        08dd1edff4fb9006";
/// ENCRYPTED_KEY with x under the initiator's key, and with y under the responder's, each the first of its direction.
const ENCRYPTED_KEYS: [&str; 2] = ["e16e78caf9ff1816cfe9695650f29849", "24611d6cb9d72162c58ff1440a5b7edb"];
/// CMAC with the initiator's integrity key over 00..3f.
const MAC: &str = "43712b78cfa803000a1a0b0d307cee24";

fn octets(first: u8, count: u8) -> Vec<u8> {
    (first..first + count).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// The private keys, and the identities of initiator and responder.
fn identities() -> [(PrivateKey, HostIdentity); 2] {
    [(1, PUBLIC[0]), (101, PUBLIC[1])].map(|(first, public)| {
        let private = PrivateKey { group: Group::X25519, secret: Secret::new(octets(first, 32)) };
        let pair = KeyPair { private: private.clone(), public: unhex(public) };
        (private, HostIdentity::agreeing(pair, VARIANT).unwrap())
    })
}

fn keys() -> DietKeys {
    let [(private, _), _] = identities();
    let shared = Real::default().agree(&private, &unhex(PUBLIC[1])).unwrap();
    DietKeys { variant: VARIANT, random: octets(0, 16), shared, nonce: octets(32, 32) }
}

#[test]
fn hits_fold_context_id_and_host_identity() {
    assert_eq!(identities().map(|(_, identity)| identity.hit().to_string()), HITS);
}

#[test]
fn both_keys_agree_on_kij() {
    let [(_, _), (private, _)] = identities();
    let shared = Real::default().agree(&private, &unhex(PUBLIC[0])).unwrap();
    assert_eq!([hex(&shared), hex(&keys().shared)], [KIJ; 2]);
}

#[test]
fn both_sas_have_the_keys_of_the_text() {
    let crypto = &mut Real::default();
    let [initiator, responder] = identities().map(|(_, identity)| identity.hit());
    let master = keys().master([initiator, responder], crypto).draw(64, crypto).unwrap();
    assert_eq!(hex(&master), MASTER);
    let (x, y) = (octets(0xa0, 16), octets(0xc0, 16));
    let mut pairwise = keys().pairwise((initiator, &x), (responder, &y), &[], crypto);
    assert_eq!(hex(&pairwise.draw(72, crypto).unwrap()), PAIRWISE);
}

#[test]
fn encrypted_keys_and_macs_are_those_of_the_text() {
    let crypto = &mut Real::default();
    let hits = identities().map(|(_, identity)| identity.hit());
    let exchange = Exchange::Diet(VARIANT);
    let lengths = HipKeys::lengths(Cipher::Aes128Ctr, exchange.mac());
    let sides = [(hits[0], hits[1], octets(0xa0, 16)), (hits[1], hits[0], octets(0xc0, 16))];
    let sealed = sides.map(|(own, peer, key)| {
        let mut master = keys().master(hits, crypto);
        let keys = HipKeys::draw(&mut master, lengths, own, peer, crypto).unwrap();
        if own == hits[0] {
            let mac = crypto.prf(Prf::AesCmac128, &keys.outbound.integrity, &[&octets(0, 64)]);
            assert_eq!(hex(&mac), MAC);
        }
        let counters = Counters::of(exchange, [&octets(0, 16), &octets(16, 16)]);
        let mut protection = Protection::new(exchange, Cipher::Aes128Ctr, keys, counters);
        let (_, data) = protection.seal(key, &mut Rng::named(1, "iv"), crypto).unwrap();
        hex(&data)
    });
    assert_eq!(sealed, ENCRYPTED_KEYS);
}
