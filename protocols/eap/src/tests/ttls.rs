//! TTLS in a tunnel without encryption: a proof is bound to its tunnel. `keytoll-hosts` tests it with TLS. Read RFC 5281 §11.1,
//! §11.2.4, §14.1.11.

use std::sync::Arc;

use super::peap::Seat;
use super::plain::Plain;
use super::{USER, mschapv2_peer, secret, users};
use crate::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use crate::packet::{self, MethodType};
use crate::testing::World;
use crate::tunnel::Framing;
use crate::tunnel::avp::{Avp, AvpCode, read_avps, write_avps};
use crate::{PeerMethod, PeerOffer, PeerStep, Reason, ServerConfig, ServerOffer, ServerStep};

/// The server's result if its tunnel and the peer's have these secrets.
fn mschapv2(of_the_peer: u8, of_the_server: u8) -> ServerStep {
    mschapv2_through([of_the_peer, of_the_server], |_, _| ())
}

/// The same if the peer's AVPs are altered.
fn mschapv2_through(secrets: [u8; 2], meddle: impl Fn(AvpCode, &mut Vec<u8>)) -> ServerStep {
    let [peer, server] = secrets.map(|secret| Plain { secret, ..Plain::default() });
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
        said = server.take(&rewritten(&answer, &meddle));
    }
    said
}

fn rewritten(answer: &[u8], meddle: impl Fn(AvpCode, &mut Vec<u8>)) -> Vec<u8> {
    let Ok(avps) = read_avps(&answer[1..]) else { return answer.to_vec() };
    let mut data: Vec<Vec<u8>> = avps.iter().map(|avp| avp.data.to_vec()).collect();
    avps.iter().zip(&mut data).for_each(|(avp, data)| meddle(avp.code, data));
    let avps: Vec<_> = avps.iter().zip(&data).map(|(avp, data)| Avp { data, ..*avp }).collect();
    [&answer[..1], &write_avps(&avps)].concat()
}

#[test]
fn a_proof_is_accepted_in_the_tunnel_it_was_made_for() {
    let ended = mschapv2(1, 1);
    assert!(matches!(ended, ServerStep::Done(_)), "{ended:?}");
}

/// A man in the middle of two tunnels cannot forward a proof from one to the other.
#[test]
fn a_proof_from_another_tunnel_is_refused() {
    let ended = mschapv2(1, 2);
    assert_eq!(ended, ServerStep::Failed(Reason("EAP-TTLS challenge of another tunnel")));
}

/// A peer with an established tunnel whose EAP method has started with its identity.
fn peer_with_eap() -> Seat<dyn PeerMethod> {
    let offer = TtlsPeer {
        tunnels: Plain::default().client(),
        framing: Framing::default(),
        user: USER.into(),
        inside: TtlsInside::Eap(mschapv2_peer("pässword")),
    };
    let mut peer = Seat { method: offer.begin(), world: World::real() };
    assert_eq!(peer.take(&[0x20]), PeerStep::Continue(b"\0H".to_vec()));
    assert_eq!(peer.hear(b"S"), PeerStep::Continue(b"\0C".to_vec()));
    let PeerStep::Continue(first) = peer.hear(b"F") else { panic!("its identity") };
    let identity = packet::response(0, MethodType::IDENTITY, USER.as_bytes());
    assert_eq!(first[1..], write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, &identity)]));
    peer
}

fn eap(packet: &[u8]) -> Vec<u8> {
    write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, packet)])
}

#[test]
fn a_notification_inside_is_answered() {
    let asked = packet::request(3, MethodType::NOTIFICATION, b"your password expires");
    let seen = [&[0][..], &eap(&packet::response(3, MethodType::NOTIFICATION, &[]))].concat();
    assert_eq!(peer_with_eap().hear(&eap(&asked)), PeerStep::Continue(seen));
}

/// A refusal has no answer, and its reason is reported.
#[test]
fn a_refusal_inside_ends_it_without_an_answer() {
    let refused = peer_with_eap().hear(&eap(&packet::failure(3)));
    assert_eq!(refused, PeerStep::Failed(Some(vec![0]), Reason::REFUSED));
    let success = peer_with_eap().hear(&eap(&packet::success(3)));
    assert_eq!(success, PeerStep::Failed(Some(vec![0]), Reason("EAP malformed inside the tunnel")));
}

/// RFC 5281 §11.2.4: both the challenge and the identifier must be the tunnel's.
#[test]
fn half_of_another_tunnel_s_challenge_is_refused_too() {
    let through = |wrong: Option<AvpCode>| {
        mschapv2_through([1, 1], |code, data| {
            if Some(code) == wrong {
                data[0] ^= 1;
            }
        })
    };
    assert!(matches!(through(None), ServerStep::Done(_)));
    for wrong in [AvpCode::MS_CHAP_CHALLENGE, AvpCode::MS_CHAP2_RESPONSE] {
        let refused = ServerStep::Failed(Reason("EAP-TTLS challenge of another tunnel"));
        assert_eq!(through(Some(wrong)), refused, "{wrong:?}");
    }
}
