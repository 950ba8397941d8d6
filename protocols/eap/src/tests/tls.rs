//! The end of EAP-TLS, in a tunnel without encryption: what counts as success and what does not. `keytoll-hosts` tests it
//! with TLS. Read RFC 5216 §2.1.3, RFC 9190 §2.5.

use std::sync::Arc;

use super::USER;
use super::peap::Seat;
use super::plain::Plain;
use crate::methods::peap::{Binding, PeapPeer};
use crate::methods::tls::{TlsPeer, TlsServer};
use crate::methods::ttls::{TtlsInside, TtlsPeer};
use crate::packet::{self, MethodType};
use crate::testing::{self, World};
use crate::tunnel::Framing;
use crate::{PeerMethod, PeerOffer, PeerOutput, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep};

const TLS13: Plain = Plain { is_tls13: true, vouched: Some("alice@lab"), secret: 0 };
const UNEXPECTED: Reason = Reason("EAP-TLS unexpected application data");

/// A peer of TLS 1.3 that waits for the server's promise.
fn peer() -> Seat<dyn PeerMethod> {
    let offer = TlsPeer { tunnels: TLS13.client(), framing: Framing::default() };
    let mut peer = Seat { method: offer.begin(), world: World::real() };
    assert_eq!(peer.take(&[0x20]), PeerStep::Continue(b"\0H".to_vec()));
    assert_eq!(peer.hear(b"S"), PeerStep::Continue(b"\0C".to_vec()));
    peer
}

/// A server of TLS 1.3 that has given its promise.
fn server() -> Seat<dyn ServerMethod> {
    let offer = TlsServer { tunnels: TLS13.server(), framing: Framing::default() };
    let mut server = Seat { method: offer.begin(), world: World::real() };
    let start = server.turn(&[], |method, _, turn| method.begin(turn));
    assert_eq!(start, ServerStep::Request(vec![0x20]));
    assert_eq!(server.hear(b"H"), ServerStep::Request(b"\0S".to_vec()));
    assert_eq!(server.hear(b"C"), ServerStep::Request(vec![0, 0]));
    server
}

#[test]
fn only_the_byte_of_zero_promises_success() {
    assert!(matches!(peer().hear(&[0]), PeerStep::Satisfied(..)));
    for wrong in [&[1][..], &[0, 0]] {
        let step = peer().hear(wrong);
        assert!(matches!(step, PeerStep::Failed(_, UNEXPECTED)), "{step:?}");
    }
}

/// Any answer to the promise but an empty packet, e.g. an alert, means disagreement.
#[test]
fn only_an_empty_answer_agrees() {
    assert!(matches!(server().hear(&[]), ServerStep::Done(_)));
    for wrong in [&[0][..], &[2, 40]] {
        let step = server().hear(wrong);
        assert!(!matches!(step, ServerStep::Done(_)), "{step:?}");
    }
}

/// The peer after its last handshake message, at its identifier 2, and its reaction to a Success.
fn early_success(is_tls13: bool, reliable: bool) -> PeerOutput {
    let tunnel = Plain { is_tls13, ..Plain::default() };
    let offer = TlsPeer { tunnels: tunnel.client(), framing: Framing::default() };
    let (mut world, mut peer) = (World::null(), testing::peer(vec![Arc::new(offer)], USER));
    if reliable {
        peer = peer.over_reliable_layer();
    }
    for (identifier, data) in [(1, &b"\x20"[..]), (2, b"\0S")] {
        let request = packet::request(identifier, MethodType::TLS, data);
        assert!(matches!(world.give_peer(&mut peer, &request), PeerOutput::Send(_)));
    }
    world.give_peer(&mut peer, &packet::success(2))
}

/// RFC 9190 §2.5: a peer that waited for the indication after a Success would wait for ever.
#[test]
fn a_success_without_the_indication_of_tls_13_fails_at_once_with_a_reason() {
    let missing = PeerOutput::Failed(Reason("EAP-TLS success indication missing"));
    assert_eq!(early_success(true, true), missing);
    // RFC 3748 §4.2: over an unprotected layer it may be forged.
    assert_eq!(early_success(true, false), PeerOutput::Ignored);
}

#[test]
fn a_success_in_the_middle_of_the_handshake_fails_at_once() {
    assert_eq!(early_success(false, true), PeerOutput::Failed(Reason::EARLY_SUCCESS));
}

/// The identity is that of the certificate or of the resumed tunnel; nothing inside contains one.
#[test]
fn the_server_has_the_identity_of_the_tunnel() {
    let mut server = server();
    assert!(matches!(server.hear(&[]), ServerStep::Done(_)));
    assert_eq!(server.method.identity(), Some(&b"alice@lab"[..]));
}

/// RFC 5998 §4: in each of them the tunnel authenticates the server.
#[test]
fn methods_with_a_tunnel_prove_the_server() {
    let (tunnels, framing, user) = (TLS13.client(), Framing::default(), USER.as_bytes().to_vec());
    let inside = super::mschapv2_peer("x");
    let peap = PeapPeer {
        tunnels: tunnels.clone(),
        framing,
        user: user.clone(),
        inside,
        binding: Binding::Optional,
    };
    let pap = TtlsInside::Pap(super::secret("x"));
    let ttls = TtlsPeer { tunnels: tunnels.clone(), framing, user, inside: pap };
    assert!(peap.proves_server() && ttls.proves_server() && TlsPeer { tunnels, framing }.proves_server());
}
