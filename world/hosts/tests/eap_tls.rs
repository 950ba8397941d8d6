//! EAP-TLS from Identity to Success: both versions, fragments, keys on both sides, and refusals.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use std::sync::Arc;

use common::{Outcome, Pki, World, converse, converse_with_a_change};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_eap::Reason;
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_tls::{Config, Version};

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];

fn real() -> [World; 2] {
    [World::real("peer"), World::real("server")]
}

fn run(tunnels: (Arc<dyn Tunnels>, Arc<dyn Tunnels>), framing: Framing, worlds: [World; 2]) -> Outcome {
    let peer = TlsPeer { tunnels: tunnels.0, framing };
    let server = TlsServer { tunnels: tunnels.1, framing };
    converse(Arc::new(peer), Arc::new(server), worlds)
}

fn check_success(outcome: &Outcome) {
    let (peer, server) = (outcome.peer.as_ref().unwrap(), outcome.server.as_ref().unwrap());
    assert_eq!(peer, server);
    let (msk, emsk) = (peer.msk.as_deref().unwrap(), peer.emsk.as_deref().unwrap());
    assert_eq!((msk.len(), emsk.len()), (64, 64));
    assert_ne!(msk, emsk);
    // RFC 5216 §2.3: the type and both random numbers.
    // RFC 9190 §2.3: the type and 64 bytes.
    assert_eq!((peer.session_id[0], peer.session_id.len()), (13, 65));
    // RFC 5216 §5.2: the certificate's name; outside the tunnel it claimed to be alice.
    assert_eq!(outcome.identity, b"O=keytoll laboratory, CN=peer");
}

#[test]
fn both_sides_have_the_same_keys_with_every_chain_and_framing() {
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256] {
        for chain_length in [2, 4] {
            let pki = Pki::new(kind, chain_length);
            for version in VERSIONS {
                for packet_bytes_max in [200, 1024, 1400, 4096] {
                    check_success(&run(pki.mutual(version), Framing { packet_bytes_max }, real()));
                }
            }
        }
    }
}

fn client(config: &Config) -> Arc<dyn Tunnels> {
    tls_client(config).unwrap()
}

fn server(config: &Config) -> Arc<dyn Tunnels> {
    tls_server(config).unwrap()
}

/// Number of packets: Identity twice, Start, ClientHello, the server's flight and its acknowledgements, the peer's flight
/// and its acknowledgements, the server's last and its acknowledgement, Success.
fn packets(server_fragments: usize, peer_fragments: usize) -> usize {
    2 + 2 + 2 * (server_fragments - 1) + 2 * peer_fragments + 2 + 1
}

#[test]
fn the_count_of_packets_is_that_of_the_fragments() {
    // With RSA-2048 and chains of four both flights carry three certificates and a signature.
    let pki = Pki::new(KeyKind::Rsa2048, 4);
    // The flights are a little under 3050 bytes, the server's of TLS 1.3 a little over.
    for (version, server_fragments) in [(Version::Tls12, 3), (Version::Tls13, 4)] {
        let lengths = run(pki.mutual(version), Framing::default(), real()).lengths;
        assert_eq!(
            lengths.iter().filter(|len| **len == 1024).count(),
            server_fragments - 1 + 2,
            "{lengths:?}"
        );
        assert!(lengths.iter().all(|len| *len <= 1024), "{lengths:?}");
        assert_eq!(lengths.len(), packets(server_fragments, 3), "{lengths:?}");
    }
    let whole = run(pki.mutual(Version::Tls12), Framing { packet_bytes_max: 4096 }, real());
    assert_eq!(whole.lengths.len(), packets(1, 1));
}

#[test]
fn lengths_are_true_without_cryptography() {
    let pki = Pki::new(KeyKind::Rsa2048, 4);
    let computed = VERSIONS.map(|version| run(pki.mutual(version), Framing::default(), real()).lengths);
    let pki = pki.without_keys();
    let pretended = VERSIONS.map(|version| {
        let worlds = [World::null("peer"), World::null("server")];
        run(pki.mutual(version), Framing::default(), worlds).lengths
    });
    assert_eq!(computed, pretended);
}

#[test]
fn a_resumed_session_is_shorter_and_makes_keys_of_its_own() {
    let pki = Pki::new(KeyKind::Rsa2048, 2);
    for version in VERSIONS {
        let tunnels = pki.resuming(true, version);
        let worlds = |n: u8| [World::real(&format!("peer {n}")), World::real(&format!("server {n}"))];
        let full = run(tunnels.clone(), Framing::default(), worlds(1));
        let resumed = run(tunnels, Framing::default(), worlds(2));
        check_success(&full);
        check_success(&resumed);
        assert!(resumed.lengths.len() < full.lengths.len(), "{version:?}");
        assert!(resumed.lengths.iter().sum::<usize>() * 3 < full.lengths.iter().sum(), "{version:?}");
        assert_ne!(full.peer.unwrap().msk, resumed.peer.unwrap().msk);
    }
}

fn check_refused(tunnels: (Arc<dyn Tunnels>, Arc<dyn Tunnels>), peer: &'static str, server: &'static str) {
    let outcome = run(tunnels, Framing::default(), real());
    assert_eq!((outcome.peer, outcome.server), (Err(Reason(peer)), Err(Reason(server))));
    // The last packet is Failure.
    assert_eq!(outcome.lengths.last(), Some(&4));
}

#[test]
fn the_refusing_side_names_the_reason_and_both_end() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    let mut strange = Pki::new(KeyKind::EcdsaP256, 3);
    for side in [&mut strange.peer, &mut strange.server] {
        // The issuer is missing.
        side.chain = side.chain[..1].into();
    }
    for version in VERSIONS {
        let good = |credential| pki.config(Some(credential), true, version);
        let tunnels = (client(&good(&pki.peer)), server(&good(&strange.server)));
        check_refused(tunnels, "TLS unknown authority", "TLS alert unknown_ca");
        let tunnels = (client(&good(&strange.peer)), server(&good(&pki.server)));
        check_refused(tunnels, "TLS alert unknown_ca", "TLS unknown authority");
        let tunnels = (client(&pki.config(None, true, version)), server(&good(&pki.server)));
        check_refused(tunnels, "TLS alert certificate_required", "TLS no certificate");
    }
    let (old, _) = pki.mutual(Version::Tls12);
    let (_, new) = pki.mutual(Version::Tls13);
    check_refused((old, new), "TLS alert protocol_version", "TLS no common version");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    #[test]
    fn a_changed_byte_is_noticed_or_harmless(packet in 0_usize..30, at: usize, is_new: bool) {
        let pki = Pki::new(KeyKind::Ed25519, 2);
        let framing = Framing { packet_bytes_max: 300 };
        let (ours, theirs) = pki.mutual(if is_new { Version::Tls13 } else { Version::Tls12 });
        let peer = Arc::new(TlsPeer { tunnels: ours, framing });
        let server = Arc::new(TlsServer { tunnels: theirs, framing });
        // Never two sides with success and different keys, never a panic or an endless conversation.
        if let [Some(ours), Some(theirs)] = converse_with_a_change(peer, server, packet, at) {
            proptest::prop_assert_eq!(ours, theirs);
        }
    }
}
