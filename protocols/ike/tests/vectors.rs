//! Published vectors of IKEv2's key derivation, RFC 7296 §2.13, §2.14, §2.17, §2.18: NIST's CAVP set as contained in
//! libreswan (programs/cavp/test.acvp.ikev2.run and .json).

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::v2::keys::{self, ChildKeys, IkeKeys, Nonces, Role};

const NI: &str = "32b50d5f4a3763f3";
const NR: &str = "9206a04b26564cb1";
const SHARED: &str = "4b2c1f971981a8ad8d0abeafabf38cf75fc8349c148142465ed9c8b516b8be52";
const SHARED_NEW: &str = "863f3c9d06efd39d2b907b97f8699e5dd5251ef64a2a176f36ee40c87d4f9330";
const SPIS: (u64, u64) = (0x34c9_e7c1_8886_8785, 0x3ff7_7d76_0d2b_2199);
const SKEYSEED: &str = "a9a7b222b59f8f48645f28a1db5b5f5d7479cba7";
const DKM: &str = "a14293677cc80ff8f9cc0eee30d895da9d8f405666e30ef0dfcb63c634a46002a2a63080e514a062768b76606f9fa5e992204f\
                   c5a670bde3f10d6b027113936a5c55b648a194ae587b0088d52204b702c979fa280870d2ed41efa9c549fd11198af1670b143d\
                   384bd275c5f594cf266b05ebadca855e4249520a441a81157435a7a56cc4";
const DKM_CHILD: &str = "8059e3ee8810e6c3a91bc8bcd2a7a41151b8d0e6ae239c7b38093ad85ef4c5811a8e7b5d1cdabd9560b2d5e092d1f24\
                         e2d4b85eccdf0ad0dc9abd94b51ee71814ca6dbc8bb51b6309f5b9545c7eb35cf5580b1e521a8fe20754a2d883ba0c2\
                         cf285f524aea6545b33106bc03e614296d319d41d4b50b3f510b1c0a22f3e664994d234cb4";
const DKM_CHILD_DH: &str = "bb43244c1860ad65ee1e211ffe8bb3661750c8f89cb9f547df7f4fa61d37301628190e38c66232eab4b3ab14c400\
                            a5197dd3730ed4820a8a10394d51e1c0400052f63ebd36b0e7ef53aaed31eba4a5080d7d4b5666023a8bbb5ffb78\
                            57240f9a05884d1b7d2f933708450b7b3288f1fc863ab49fa901227cffc06e27899c7054d56fd74c";
const SKEYSEED_REKEYED: &str = "63e81194946ebd05df7df5ebf5d8750056bf1f1d";

fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "two digits a byte");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Runs a check with the vector's nonces.
fn with_nonces(check: impl FnOnce(&mut Real, Nonces<'_>)) {
    let (initiator, responder) = (hex(NI), hex(NR));
    check(&mut Real::default(), Nonces { initiator: &initiator, responder: &responder });
}

/// HMAC-SHA1 as PRF with 36 bytes of encryption and integrity keys a direction: exactly the vector's 132 bytes.
fn ike_keys(crypto: &mut Real, nonces: Nonces<'_>) -> IkeKeys {
    let suite = Suite::ike("aes128-sha1-modp2048").unwrap();
    IkeKeys::first(crypto, &suite, &hex(SHARED), nonces, SPIS)
}

#[test]
fn skeyseed() {
    with_nonces(|crypto, nonces| {
        assert_eq!(*keys::skeyseed(crypto, Prf::HmacSha1, &hex(SHARED), nonces), hex(SKEYSEED));
    });
}

#[test]
fn keys_of_an_ike_sa() {
    with_nonces(|crypto, nonces| {
        let keys = ike_keys(crypto, nonces);
        let (i, r) = (Role::Initiator, Role::Responder);
        let integrity = [keys.integrity(i), keys.integrity(r)].concat();
        let encryption = [keys.encryption(i), keys.encryption(r)].concat();
        let auth = [keys.auth(i), keys.auth(r)].concat();
        assert_eq!([keys.d(), &integrity, &encryption, &auth].concat(), hex(DKM));
    });
}

#[test]
fn keys_of_a_child_sa() {
    with_nonces(|crypto, nonces| {
        let (ike, suite) = (ike_keys(crypto, nonces), Suite::esp("aes128-sha1").unwrap());
        for (shared, expected) in [(None, DKM_CHILD), (Some(hex(SHARED_NEW)), DKM_CHILD_DH)] {
            let child = ChildKeys::derive(crypto, &ike, &suite, shared.as_deref(), nonces);
            let (i, r) = (Role::Initiator, Role::Responder);
            let material =
                [child.encryption(i), child.integrity(i), child.encryption(r), child.integrity(r)].concat();
            assert_eq!(material, hex(expected)[..72], "KEYMAT of the suite is the beginning of the vector's");
        }
    });
}

#[test]
fn prf_plus_over_seven_blocks() {
    with_nonces(|crypto, nonces| {
        let ike = ike_keys(crypto, nonces);
        let mut material = [0; 132];
        keys::prf_plus(crypto, Prf::HmacSha1, ike.d(), &[nonces.initiator, nonces.responder], &mut material);
        assert_eq!(material.to_vec(), hex(DKM_CHILD));
    });
}

#[test]
fn skeyseed_of_a_rekeyed_ike_sa() {
    with_nonces(|crypto, nonces| {
        let old = ike_keys(crypto, nonces);
        let skeyseed = keys::skeyseed_of_rekeyed(crypto, &old, &hex(SHARED_NEW), nonces);
        assert_eq!(*skeyseed, hex(SKEYSEED_REKEYED));
    });
}
