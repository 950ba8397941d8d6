//! TTLS in a tunnel that is transparent: a proof is of its tunnel. `keytoll-hosts` tests it with TLS. Read RFC 5281 §11.1,
//! §11.2.4, §14.1.11.

use std::sync::Arc;

use super::peap::Seat;
use super::plain::Plain;
use super::{USER, secret, users};
use crate::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use crate::testing::World;
use crate::tunnel::Framing;
use crate::{PeerOffer, PeerStep, Reason, ServerConfig, ServerOffer, ServerStep};

/// How it ends at the server when its tunnel and the peer's have these secrets.
fn mschapv2(of_the_peer: u8, of_the_server: u8) -> ServerStep {
    let [peer, server] = [of_the_peer, of_the_server].map(|secret| Plain { secret, ..Plain::default() });
    let peer = TtlsPeer {
        tunnels: peer.client(),
        framing: Framing::default(),
        user: USER.into(),
        inside: TtlsInside::MschapV2(secret("pässword")),
    };
    let server = TtlsServer {
        tunnels: server.server(),
        framing: Framing::default(),
        passwords: users(),
        eap: Arc::new(ServerConfig::default()),
    };
    let mut peer = Seat { method: peer.begin(), world: World::real() };
    let mut server = Seat { method: server.begin(), world: World::real() };
    let mut said = server.turn(&[], |method, _, turn| method.begin(turn));
    while let ServerStep::Request(request) = &said {
        let (PeerStep::Continue(answer) | PeerStep::Satisfied(answer, _)) = peer.take(request) else {
            panic!("the peer gives up")
        };
        said = server.take(&answer);
    }
    said
}

#[test]
fn a_proof_is_taken_in_the_tunnel_it_was_made_for() {
    let ended = mschapv2(1, 1);
    assert!(matches!(ended, ServerStep::Done(_)), "{ended:?}");
}

/// Whoever stands between two tunnels cannot hand a proof from the one to the other.
#[test]
fn a_proof_from_another_tunnel_is_refused() {
    let ended = mschapv2(1, 2);
    assert_eq!(ended, ServerStep::Failed(Reason("EAP-TTLS challenge of another tunnel")));
}
