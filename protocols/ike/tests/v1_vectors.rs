//! Published key derivations of IKEv1: the samples of NIST's ACVP for RFC 2409 §5, as contained in libreswan
//! (`programs/cavp/test.acvp.ikev1_{psk,dsa}`); all signature methods derive alike.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use keytoll_crypto::Real;
use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::v1::keys::{Keys, Seeds, skeyid_of_shared_key, skeyid_of_signatures};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// SKEYID_d, SKEYID_a, SKEYID_e.
struct Published([&'static str; 3]);

impl Published {
    fn check(&self, skeyid: &[u8], shared: &[u8], seeds: Seeds<'_>) {
        let suite = Suite::ike("aes128-sha1-modp1024").unwrap();
        let keys = Keys::derive(&mut Real::default(), &suite, skeyid, shared, seeds);
        let [d, a, e] = self.0.map(hex);
        assert_eq!((keys.d(), keys.a()), (&d[..], &a[..]));
        // RFC 2409 appendix B: a key shorter than SKEYID_e is its beginning.
        assert_eq!(keys.encryption(), &e[..16]);
        let suite = Suite::ike("aes256-sha1-modp1024").unwrap();
        let keys = Keys::derive(&mut Real::default(), &suite, skeyid, shared, seeds);
        // A longer one is K1 | K2 | …, K1 = prf(SKEYID_e, 0), K2 = prf(SKEYID_e, K1).
        let mut real = Real::default();
        let first = real.prf(Prf::HmacSha1, &e, &[&[0]]);
        let second = real.prf(Prf::HmacSha1, &e, &[&first]);
        assert_eq!(keys.encryption(), &[&first[..], &second].concat()[..32]);
    }
}

#[test]
fn keys_of_a_shared_key() {
    let (nonce_i, nonce_r) = (hex("b9a2d0e922dc66dd"), hex("2130166863b5ddef"));
    let seeds = Seeds {
        cookie_i: 0x83d3_74c3_0b3b_5082,
        cookie_r: 0x5afc_0da0_6c72_8029,
        nonce_i: &nonce_i,
        nonce_r: &nonce_r,
    };
    let shared = hex("739003ba2c11c982946c65e26acf661fbf8ebb78011a9fead79efa12fe3e71cc");
    let skeyid = skeyid_of_shared_key(&mut Real::default(), Prf::HmacSha1, &[0x75], seeds);
    assert_eq!(skeyid[..], hex("62b04d112877e442fc3282fc37c076997718a0b9")[..]);
    Published([
        "369e5aad1bdb5faf6a3d929d500cdc236710a9ab",
        "588e957d8d790d093b3a39f121473473af78e9bb",
        "cd74b0c048219db81384d3fda8f6cda51e398a2b",
    ])
    .check(&skeyid, &shared, seeds);
}

#[test]
fn keys_of_signatures() {
    let (nonce_i, nonce_r) = (hex("69a62284195f1680"), hex("80c94ba25c8abda5"));
    let seeds = Seeds {
        cookie_i: 0x8c3b_cd3a_6983_1d7f,
        cookie_r: 0xd2d9_a7ff_4fbe_95a7,
        nonce_i: &nonce_i,
        nonce_r: &nonce_r,
    };
    let shared = hex("8ba4cbc73c0187301dc19a975823854dbd641c597f637f8d053a83b9514673eb");
    let skeyid = skeyid_of_signatures(&mut Real::default(), Prf::HmacSha1, &shared, seeds);
    assert_eq!(skeyid[..], hex("707197817fb2d90cf54d1842606bdea59b9f4823")[..]);
    Published([
        "384be709a8a5e63c3ed160cfe3921c4b37d5b32d",
        "48b327575abe3adba0f279849e289022a13e2b47",
        "a4a415c8e0c38c0da847c356cc61c24df8025560",
    ])
    .check(&skeyid, &shared, seeds);
}
