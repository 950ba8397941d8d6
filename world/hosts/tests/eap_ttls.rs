//! EAP-TTLS from Identity to Success: inner methods, both versions, wrong passwords, resumption.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Outcome, Pki, World, converse};
use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, Reason, ServerConfig, ServerOffer};
use keytoll_tls::Version;

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];
const USER: &[u8] = b"bob";

fn password(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

fn real() -> [World; 2] {
    [World::real("peer"), World::real("server")]
}

fn insides(text: &str) -> Vec<(&'static str, TtlsInside)> {
    let password = password(text);
    let mschapv2 = MschapV2Peer { password: password.clone(), name: None };
    vec![
        ("pap", TtlsInside::Pap(password.clone())),
        ("mschapv2", TtlsInside::MschapV2(password.clone())),
        ("eap-md5", TtlsInside::Eap(Arc::new(Md5Peer { password }))),
        ("eap-mschapv2", TtlsInside::Eap(Arc::new(mschapv2))),
    ]
}

fn run(
    (ours, theirs): (Arc<dyn Tunnels>, Arc<dyn Tunnels>),
    user: &[u8],
    inside: TtlsInside,
    worlds: [World; 2],
) -> Outcome {
    let framing = Framing::default();
    let passwords: Arc<dyn Passwords> = Arc::new(BTreeMap::from([(USER.to_vec(), password("opensesame"))]));
    let methods: Vec<Arc<dyn ServerOffer>> = vec![
        Arc::new(Md5Server { passwords: Arc::clone(&passwords), name: b"server".to_vec() }),
        Arc::new(MschapV2Server { passwords: Arc::clone(&passwords), name: b"server".to_vec(), retries: 0 }),
    ];
    let eap = Arc::new(ServerConfig { methods, limits: Limits::default() });
    let peer = TtlsPeer { tunnels: ours, framing, user: user.to_vec(), inside };
    converse(Arc::new(peer), Arc::new(TtlsServer { tunnels: theirs, framing, passwords, eap }), worlds)
}

fn check_success(outcome: &Outcome, case: &str) {
    let keys = outcome.peer.as_ref().unwrap();
    assert_eq!(Ok(keys), outcome.server.as_ref(), "{case}");
    assert_eq!(keys.msk.as_deref().map(<[u8]>::len), Some(64), "{case}");
    assert_eq!((keys.session_id[0], keys.session_id.len()), (21, 65), "{case}");
    assert_eq!(outcome.identity, USER, "{case}: the name inside counts");
}

#[test]
fn everything_inside_works_in_both_versions() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        for (name, inside) in insides("opensesame") {
            let outcome = run(pki.server_only(version), USER, inside, real());
            check_success(&outcome, &format!("{name} {version:?}"));
        }
    }
}

#[test]
fn a_wrong_password_or_user_is_refused() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        for (name, inside) in insides("opensesame?") {
            let outcome = run(pki.server_only(version), USER, inside, real());
            assert_eq!(outcome.server, Err(Reason::WRONG_PASSWORD), "{name} {version:?}");
            assert!(outcome.peer.is_err());
        }
        for (name, inside) in insides("opensesame") {
            let outcome = run(pki.server_only(version), b"eve", inside.clone(), real());
            assert_eq!(outcome.server, Err(Reason::UNKNOWN_USER), "{name} {version:?}");
            assert!(outcome.peer.is_err());
            let outcome = run(pki.server_only(version), &[b'e'; 254], inside, real());
            assert_eq!(outcome.server, Err(Reason::LONG_NAME), "{name} {version:?}");
        }
    }
}

#[test]
fn a_resumed_tunnel_needs_the_password_again() {
    let pki = Pki::new(KeyKind::Rsa2048, 2);
    for version in VERSIONS {
        let tunnels = pki.resuming(false, version);
        let mut runs = 0;
        let mut run = |word| {
            runs += 1;
            let worlds = [World::real(&format!("peer {runs}")), World::real(&format!("server {runs}"))];
            run(tunnels.clone(), USER, TtlsInside::Pap(password(word)), worlds)
        };
        let bytes = |outcome: &Outcome| outcome.lengths.iter().sum::<usize>();
        let [first, second] = [run("?"), run("?")];
        assert_eq!(first.server, Err(Reason::WRONG_PASSWORD));
        // For the peer, PAP proves no more than the tunnel, so it would resume; the server does not agree.
        assert!(bytes(&second) >= bytes(&first), "{version:?}: what failed is not continued");
        let right = run("opensesame");
        check_success(&right, "full");
        let wrong = run("?");
        assert!(2 * bytes(&wrong) < bytes(&right), "{version:?}: resumed");
        assert_eq!(wrong.server, Err(Reason::WRONG_PASSWORD), "{version:?}");
        let again = run("opensesame");
        check_success(&again, "resumed");
        assert_ne!(again.peer.unwrap().msk, right.peer.unwrap().msk);
    }
}

#[test]
fn lengths_are_true_without_cryptography() {
    let pki = Pki::new(KeyKind::Rsa2048, 4);
    let lengths = |pki: &Pki, worlds: fn() -> [World; 2]| {
        let runs = insides("opensesame").into_iter().flat_map(|(_, inside)| {
            VERSIONS.map(|version| run(pki.server_only(version), USER, inside.clone(), worlds()).lengths)
        });
        runs.collect::<Vec<_>>()
    };
    let computed = lengths(&pki, real);
    let pretended = lengths(&pki.without_keys(), || [World::null("peer"), World::null("server")]);
    assert_eq!(computed, pretended);
}
