//! PEAP from Identity to Success: both versions of TLS, Cryptobinding, wrong passwords, resumption, altered packets.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Outcome, Pki, World, converse, converse_with_a_change};
use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{Binding, PeapPeer, PeapServer};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, Reason, ServerConfig};
use keytoll_tls::Version;

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];
const BINDINGS: [Binding; 3] = [Binding::Off, Binding::Optional, Binding::Required];
const USER: &[u8] = b"bob";

fn password(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

/// Both sides with one password.
fn offers(
    (ours, theirs): (Arc<dyn Tunnels>, Arc<dyn Tunnels>),
    (user, word): (&[u8], &str),
    binding: Binding,
    framing: Framing,
) -> (Arc<PeapPeer>, Arc<PeapServer>) {
    let inside = Arc::new(MschapV2Peer { password: password(word), name: None });
    let peer = PeapPeer { tunnels: ours, framing, user: user.to_vec(), inside, binding };
    let passwords: Arc<dyn Passwords> = Arc::new(BTreeMap::from([(USER.to_vec(), password("opensesame"))]));
    let mschapv2 = MschapV2Server { passwords, name: b"server".to_vec(), retries: 0 };
    let inside = Arc::new(ServerConfig { methods: vec![Arc::new(mschapv2)], limits: Limits::default() });
    (Arc::new(peer), Arc::new(PeapServer { tunnels: theirs, framing, inside, binding }))
}

fn run(
    tunnels: (Arc<dyn Tunnels>, Arc<dyn Tunnels>),
    user: (&[u8], &str),
    binding: Binding,
    worlds: [World; 2],
) -> Outcome {
    let (peer, server) = offers(tunnels, user, binding, Framing::default());
    converse(peer, server, worlds)
}

fn real() -> [World; 2] {
    [World::real("peer"), World::real("server")]
}

const GOOD: (&[u8], &str) = (USER, "opensesame");

fn check_success(outcome: &Outcome, binding: Binding) {
    let keys = outcome.peer.as_ref().unwrap();
    assert_eq!(Ok(keys), outcome.server.as_ref());
    assert_eq!(keys.msk.as_deref().map(<[u8]>::len), Some(64));
    assert_eq!(keys.emsk.is_some(), binding == Binding::Off);
    assert_eq!((keys.session_id[0], keys.session_id.len()), (25, 65));
    assert_eq!(outcome.identity, USER, "the name inside counts");
}

#[test]
fn both_sides_agree_with_every_version_and_binding() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        for binding in BINDINGS {
            check_success(&run(pki.server_only(version), GOOD, binding, real()), binding);
        }
    }
}

/// reference/protocols.md §2.2: f + 6 round trips with TLS 1.2 for f fragments in the server's flight; with TLS 1.3 the
/// server sends no separate Finished, so one less. Two more packets for Identity, and Success.
#[test]
fn the_count_of_packets_is_that_of_the_fragments() {
    for (chain_length, fragments) in [(2, 2), (4, 3)] {
        let pki = Pki::new(KeyKind::Rsa2048, chain_length);
        for (version, round_trips) in [(Version::Tls12, fragments + 6), (Version::Tls13, fragments + 5)] {
            let lengths = run(pki.server_only(version), GOOD, Binding::Optional, real()).lengths;
            assert_eq!(lengths.len(), 2 + 2 * round_trips + 1, "{version:?} {lengths:?}");
        }
    }
}

#[test]
fn a_wrong_password_or_user_is_refused() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let outcome = run(pki.server_only(version), (USER, "?"), Binding::Optional, real());
        assert_eq!(outcome.server, Err(Reason::WRONG_PASSWORD));
        assert_eq!(outcome.peer, Err(Reason::WRONG_PASSWORD));
        let outcome = run(pki.server_only(version), (b"eve", "opensesame"), Binding::Optional, real());
        assert_eq!(outcome.server, Err(Reason::UNKNOWN_USER));
        assert!(outcome.peer.is_err());
    }
}

#[test]
fn a_resumed_tunnel_stands_for_the_password_if_it_was_given_in_the_first() {
    let pki = Pki::new(KeyKind::Rsa2048, 2);
    for version in VERSIONS {
        let tunnels = pki.resuming(false, version);
        let mut runs = 0;
        let mut run = |word, binding| {
            runs += 1;
            let worlds = [World::real(&format!("peer {runs}")), World::real(&format!("server {runs}"))];
            run(tunnels.clone(), (USER, word), binding, worlds)
        };
        for _ in 0..2 {
            assert_eq!(
                run("?", Binding::Off).server,
                Err(Reason::WRONG_PASSWORD),
                "{version:?}: nothing to resume"
            );
        }
        let full = run("opensesame", Binding::Off);
        check_success(&full, Binding::Off);
        let resumed = run("?", Binding::Off);
        check_success(&resumed, Binding::Off);
        assert!(resumed.lengths.len() <= 9, "{version:?} {:?}", resumed.lengths);
        assert_ne!(full.peer.unwrap().msk, resumed.peer.unwrap().msk);
    }
    // With TLS 1.2 Cryptobinding continues; with TLS 1.3 a side that requires it must ask for the password.
    let tunnels = pki.resuming(false, Version::Tls12);
    run(tunnels.clone(), GOOD, Binding::Required, real());
    let worlds = [World::real("peer 2"), World::real("server 2")];
    check_success(&run(tunnels, (USER, "?"), Binding::Required, worlds), Binding::Required);
}

#[test]
fn lengths_are_true_without_cryptography() {
    let pki = Pki::new(KeyKind::Rsa2048, 4);
    let lengths = |pki: &Pki, worlds: fn() -> [World; 2]| {
        VERSIONS.map(|version| run(pki.server_only(version), GOOD, Binding::Optional, worlds()).lengths)
    };
    let computed = lengths(&pki, real);
    let pretended = lengths(&pki.without_keys(), || [World::null("peer"), World::null("server")]);
    assert_eq!(computed, pretended);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    #[test]
    fn a_changed_byte_is_noticed_or_harmless(packet in 0_usize..40, at: usize, is_new: bool) {
        let pki = Pki::new(KeyKind::Ed25519, 2);
        let version = if is_new { Version::Tls13 } else { Version::Tls12 };
        let framing = Framing { packet_bytes_max: 300 };
        let (peer, server) = offers(pki.server_only(version), GOOD, Binding::Optional, framing);
        // Never two sides with success and different keys, never a panic or an endless conversation.
        if let [Some(ours), Some(theirs)] = converse_with_a_change(peer, server, packet, at) {
            proptest::prop_assert_eq!(ours, theirs);
        }
    }
}
