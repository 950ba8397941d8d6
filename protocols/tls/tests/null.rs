//! Without cryptography a handshake has flights of the same lengths, and the meter counts the same operations.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use common::{End, World, null, real, shake};
use keytoll_crypto::{Metered, Null, Real, Row};
use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_tls::Version;

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];

fn flights<C: Crypto>(world: &World, version: Version, crypto: impl Fn() -> C) -> Vec<usize> {
    let mut client = End::new(crypto(), "client", 1).client(&world.client(version));
    let mut server = End::new(crypto(), "server", 1).server(&world.server(version));
    let outcome = shake(&mut client, &mut server);
    assert_eq!((outcome.client, outcome.server), (Ok(()), Ok(())));
    outcome.flights
}

#[test]
fn lengths_are_true_without_cryptography() {
    for (kind, chain_length) in [(KeyKind::Rsa2048, 2), (KeyKind::Rsa2048, 4), (KeyKind::Ed25519, 2)] {
        for version in VERSIONS {
            let world = World::new(kind, chain_length);
            let computed = flights(&world, version, real);
            let pretended = flights(&world.without_keys(), version, null);
            assert_eq!(computed, pretended, "{kind} {chain_length} {version:?}");
            assert_eq!(computed.len(), if version == Version::Tls12 { 4 } else { 3 });
        }
    }
}

#[test]
fn lengths_with_ecdsa_differ_by_the_random_signature_length() {
    for version in VERSIONS {
        let world = World::new(KeyKind::EcdsaP256, 2);
        let computed = flights(&world, version, real);
        let pretended = flights(&world.without_keys(), version, null);
        assert_eq!(computed.len(), pretended.len());
        for (a, b) in computed.iter().zip(&pretended) {
            assert!(a.abs_diff(*b) <= 3, "{computed:?} {pretended:?}");
        }
    }
}

/// How often a role performed an operation in one handshake.
fn count(rows: &[Row], operation: &str) -> u64 {
    rows.iter().filter(|row| row.operation == operation).map(|row| row.count).sum()
}

fn books<C: Crypto>(world: &World, version: Version, crypto: impl Fn() -> C) -> [Vec<Row>; 2] {
    let metered = || Metered::count_only(crypto());
    let mut client = End::new(metered(), "client", 1).client(&world.client(version));
    let mut server = End::new(metered(), "server", 1).server(&world.server(version));
    shake(&mut client, &mut server);
    [client.crypto.snapshot(), server.crypto.snapshot()]
}

#[test]
fn each_side_signs_once_agrees_once_and_verifies_the_chain_and_the_handshake() {
    for chain_length in [2, 4] {
        let world = World::new(KeyKind::Rsa2048, chain_length);
        for version in VERSIONS {
            for rows in books(&world, version, Real::default) {
                assert_eq!(count(&rows, "sign"), 1);
                assert_eq!(count(&rows, "generate"), 1);
                assert_eq!(count(&rows, "agree"), 1);
                // Every certificate below the root, and the handshake's signature.
                assert_eq!(count(&rows, "verify"), chain_length as u64 - 1 + 1);
                assert!(count(&rows, "encrypt") >= 1 && count(&rows, "decrypt") >= 1);
                assert!((2..=20).contains(&count(&rows, "hash")), "{rows:?}");
                assert!((5..=60).contains(&count(&rows, "prf")), "{rows:?}");
            }
        }
    }
}

#[test]
fn the_counts_are_the_same_without_cryptography() {
    for version in VERSIONS {
        let world = World::new(KeyKind::Rsa2048, 4);
        let computed = books(&world, version, Real::default);
        let pretended = books(&world.without_keys(), version, || Null);
        assert_eq!(computed, pretended);
    }
}
