//! Packets without effect or with a named failure: wrong identifiers, unexpected ends, loops, noise.

use super::*;
use crate::method::{PeerMethod, ServerMethod};
use crate::mschap::message::{Request, Response};
use crate::packet;
use crate::testing::{World, converse, peer, server};
use crate::{
    Keys, Limits, Message, MethodType, Peer, PeerConfig, PeerOutput, PeerStep, Reason, Server, ServerConfig,
    ServerOutput, ServerStep, Turn,
};
use proptest::prelude::*;

fn ignored(world: &mut World, peer: &mut Peer, bytes: &[u8], why: &str) {
    assert_eq!(world.give_peer(peer, bytes), PeerOutput::Ignored, "{why}");
    assert_eq!(world.last_discard(), why);
}

fn refused(world: &mut World, server: &mut Server, bytes: &[u8], why: &str) {
    assert_eq!(world.give_server(server, bytes), ServerOutput::Ignored, "{why}");
    assert_eq!(world.last_discard(), why);
}

#[test]
fn an_unearned_success_is_not_accepted() {
    let mut world = World::real();
    let mut peer = peer(vec![mschapv2_peer("pässword")], USER);
    ignored(&mut world, &mut peer, &packet::success(0), "EAP end before the beginning");
    world.give_peer(&mut peer, &packet::request(1, MethodType::IDENTITY, b""));
    ignored(&mut world, &mut peer, &packet::success(1), "EAP unsolicited Success");
    let challenge = Request::Challenge { id: 1, challenge: [1; 16], name: b"" }.write();
    world.give_peer(&mut peer, &packet::request(2, MethodType::MSCHAPV2, &challenge));
    ignored(&mut world, &mut peer, &packet::success(2), "EAP unsolicited Success");
    assert!(!peer.is_over());
}

#[test]
fn an_end_with_another_identifier_is_not_accepted() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    world.give_peer(&mut peer, &packet::request(7, MethodType::MD5, &[1, 1]));
    ignored(&mut world, &mut peer, &packet::success(8), "EAP unexpected identifier");
    ignored(&mut world, &mut peer, &packet::failure(6), "EAP unexpected identifier");
    assert_eq!(world.give_peer(&mut peer, &packet::success(7)), PeerOutput::Success(Keys::default()));
    ignored(&mut world, &mut peer, &packet::success(7), "EAP conversation is over");
}

#[test]
fn over_a_reliable_layer_the_identifier_of_an_end_is_ignored() {
    let mut world = World::real();
    let begun = |world: &mut World| {
        let mut peer = peer(vec![md5_peer("x")], USER).over_reliable_layer();
        ignored(world, &mut peer, &packet::success(7), "EAP end before the beginning");
        world.give_peer(&mut peer, &packet::request(6, MethodType::IDENTITY, b""));
        ignored(world, &mut peer, &packet::success(7), "EAP unsolicited Success");
        world.give_peer(&mut peer, &packet::request(7, MethodType::MD5, &[1, 1]));
        peer
    };
    let mut peer = begun(&mut world);
    assert_eq!(world.give_peer(&mut peer, &packet::success(8)), PeerOutput::Success(Keys::default()));
    let mut peer = begun(&mut world);
    assert_eq!(world.give_peer(&mut peer, &packet::failure(8)), PeerOutput::Failed(Reason::REFUSED));
}

#[test]
fn a_retransmitted_request_gets_the_same_response() {
    let mut world = World::real();
    let mut peer = peer(vec![mschapv2_peer("pässword")], USER);
    let challenge = Request::Challenge { id: 1, challenge: [1; 16], name: b"" }.write();
    let request = packet::request(1, MethodType::MSCHAPV2, &challenge);
    let first = world.give_peer(&mut peer, &request);
    assert!(matches!(first, PeerOutput::Send(_)));
    assert_eq!(world.give_peer(&mut peer, &request), first);
    // Even with other contents: the method never sees an identifier twice.
    assert_eq!(world.give_peer(&mut peer, &packet::request(1, MethodType::GTC, b"password?")), first);
}

#[test]
fn requests_out_of_place_are_discarded() {
    let mut world = World::real();
    let mut peer = peer(vec![mschapv2_peer("pässword"), gtc_peer("pässword")], USER);
    let malformed = packet::request(1, MethodType::MSCHAPV2, &[9]);
    ignored(&mut world, &mut peer, &malformed, "EAP-MSCHAPv2 malformed");
    let early = Request::Success { id: 1, text: b"" }.write();
    let early = packet::request(1, MethodType::MSCHAPV2, &early);
    ignored(&mut world, &mut peer, &early, "EAP-MSCHAPv2 message out of step");
    let challenge = Request::Challenge { id: 1, challenge: [1; 16], name: b"" }.write();
    world.give_peer(&mut peer, &packet::request(1, MethodType::MSCHAPV2, &challenge));

    let other = "EAP request of another type than the method's";
    ignored(&mut world, &mut peer, &packet::request(2, MethodType::GTC, b"password?"), other);
    ignored(&mut world, &mut peer, &packet::request(2, MethodType::IDENTITY, b""), other);
    ignored(&mut world, &mut peer, &packet::request(2, MethodType::NAK, &[4]), "EAP Nak as a request");
    let response = packet::response(2, MethodType::MSCHAPV2, b"");
    ignored(&mut world, &mut peer, &response, "EAP response at the peer");
    let again = packet::request(2, MethodType::MSCHAPV2, &challenge);
    ignored(&mut world, &mut peer, &again, "EAP-MSCHAPv2 message out of step");
}

#[test]
fn an_ignored_request_does_not_choose_the_method() {
    let mut world = World::real();
    let mut peer = peer(vec![mschapv2_peer("pässword"), gtc_peer("pässword")], USER);
    let malformed = packet::request(1, MethodType::MSCHAPV2, &[9]);
    ignored(&mut world, &mut peer, &malformed, "EAP-MSCHAPv2 malformed");
    let other = world.give_peer(&mut peer, &packet::request(1, MethodType::GTC, b"password?"));
    assert_eq!(other, PeerOutput::Send(packet::response(1, MethodType::GTC, "pässword".as_bytes())));
}

#[test]
fn an_md5_challenge_needs_a_value() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    let empty = packet::request(1, MethodType::MD5, &[0]);
    ignored(&mut world, &mut peer, &empty, "EAP-MD5 challenge without a value");
    let short = packet::request(1, MethodType::MD5, &[2, 0]);
    ignored(&mut world, &mut peer, &short, "EAP-MD5 malformed");
}

#[test]
fn responses_with_wrong_identifiers_are_discarded() {
    let mut world = World::real();
    let mut server = server(vec![mschapv2_server(0), md5_server()]);
    let stray = packet::response(0, MethodType::MD5, b"");
    refused(&mut world, &mut server, &stray, "EAP response before a request");
    let ServerOutput::Send(bytes) = world.lend(|rng, cx| server.begin(None, rng, cx)) else { panic!() };
    let id = bytes[1];
    let other = packet::response(id, MethodType::MD5, b"");
    refused(&mut world, &mut server, &other, "EAP response of another type than Identity");
    let late = packet::response(id.wrapping_add(1), MethodType::IDENTITY, b"x");
    refused(&mut world, &mut server, &late, "EAP unexpected identifier");
    let request = packet::request(id, MethodType::IDENTITY, b"");
    refused(&mut world, &mut server, &request, "EAP packet that is no response at the server");
    refused(&mut world, &mut server, &packet::success(id), "EAP packet that is no response at the server");

    let identity = packet::response(id, MethodType::IDENTITY, USER.as_bytes());
    assert!(matches!(world.give_server(&mut server, &identity), ServerOutput::Send(_)));
    refused(&mut world, &mut server, &identity, "EAP unexpected identifier");
    let id = id.wrapping_add(1);
    let other = "EAP response of another type than the method's";
    refused(&mut world, &mut server, &packet::response(id, MethodType::MD5, b""), other);
    let malformed = packet::response(id, MethodType::MSCHAPV2, &[2]);
    refused(&mut world, &mut server, &malformed, "EAP-MSCHAPv2 malformed");
    let early = packet::response(id, MethodType::MSCHAPV2, &Response::Success.write());
    refused(&mut world, &mut server, &early, "EAP-MSCHAPv2 message out of step");
    // An ignored response has not started the method: it may still be refused.
    let nak = packet::response(id, MethodType::NAK, &[MethodType::MD5.0]);
    assert!(matches!(world.give_server(&mut server, &nak), ServerOutput::Send(_)));
}

#[test]
fn a_nak_after_the_first_answer_is_discarded() {
    let mut world = World::real();
    let mut server = server(vec![mschapv2_server(0), md5_server()]);
    let ServerOutput::Send(bytes) = world.lend(|rng, cx| server.begin(Some(b"bob"), rng, cx)) else {
        panic!("a request");
    };
    let wrong =
        Response::Proof { id: 0, peer_challenge: [0; 16], nt_response: [0; 24], name: b"bob" }.write();
    let ServerOutput::Send(bytes) =
        world.give_server(&mut server, &packet::response(bytes[1], MethodType::MSCHAPV2, &wrong))
    else {
        panic!("a request");
    };
    let nak = packet::response(bytes[1], MethodType::NAK, &[MethodType::MD5.0]);
    refused(&mut world, &mut server, &nak, "EAP response of another type than the method's");
}

#[test]
fn packets_over_the_limit_are_not_processed() {
    let mut world = World::real();
    let long = packet::request(1, MethodType::GTC, &[b'?'; 4092]);
    ignored(&mut world, &mut peer(vec![gtc_peer("x")], USER), &long, "EAP packet over the size limit");
    let long = packet::response(1, MethodType::IDENTITY, &[b'a'; 4092]);
    refused(&mut world, &mut server(vec![md5_server()]), &long, "EAP packet over the size limit");
}

#[test]
fn truncated_packets_change_nothing() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    let whole = packet::request(1, MethodType::MD5, &[2, 1, 2]);
    for len in 0..whole.len() {
        assert_eq!(world.give_peer(&mut peer, &whole[..len]), PeerOutput::Ignored, "{len} bytes");
    }
    assert!(matches!(world.give_peer(&mut peer, &whole), PeerOutput::Send(_)));
}

/// A method that never ends, in both roles.
struct Endless;

impl PeerOffer for Endless {
    fn method(&self) -> MethodType {
        MethodType(200)
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(Self)
    }
}

impl ServerOffer for Endless {
    fn method(&self) -> MethodType {
        MethodType(200)
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Self)
    }
}

impl PeerMethod for Endless {
    fn on_request(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Continue(Vec::new())
    }
}

impl ServerMethod for Endless {
    fn begin(&mut self, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(Vec::new())
    }

    fn on_response(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(Vec::new())
    }
}

#[test]
fn a_loop_ends_at_the_server() {
    let mut peer = peer(vec![Arc::new(Endless)], USER);
    let ended = converse(&mut World::real(), &mut peer, &mut server(vec![Arc::new(Endless)]));
    let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{:?}", ended.server) };
    assert_eq!(reason, Reason::TOO_MANY_ROUNDS);
    assert_eq!(ended.packets.len(), 2 * 64 + 1);
}

#[test]
fn a_loop_ends_at_the_peer() {
    let limits = Limits { rounds_max: 10, ..Limits::default() };
    let mut peer = Peer::new(Arc::new(PeerConfig { methods: vec![Arc::new(Endless)], limits }), USER.into());
    let mut server = Server::new(Arc::new(ServerConfig {
        methods: vec![Arc::new(Endless)],
        limits: Limits { rounds_max: 1000, ..limits },
    }));
    let ended = converse(&mut World::real(), &mut peer, &mut server);
    assert_eq!(ended.peer, PeerOutput::Failed(Reason::TOO_MANY_ROUNDS));
    assert_eq!(ended.packets.len(), 2 * 10 + 1);
}

#[test]
fn a_started_server_cannot_be_restarted() {
    let (mut world, mut server) = (World::real(), server(vec![Arc::new(Endless)]));
    let begin = |world: &mut World, server: &mut Server| world.lend(|rng, cx| server.begin(None, rng, cx));
    assert!(matches!(begin(&mut world, &mut server), ServerOutput::Send(_)));
    let identity = packet::response(server.identifier(), MethodType::IDENTITY, USER.as_bytes());
    for answer in [identity, packet::response(server.identifier().wrapping_add(1), MethodType(200), b"")] {
        assert_eq!(begin(&mut world, &mut server), ServerOutput::Ignored);
        assert_eq!(world.last_discard(), "EAP begins twice");
        let output = world.give_server(&mut server, &answer);
        assert!(matches!(output, ServerOutput::Send(_)), "{output:?}: the conversation goes on");
    }
}

#[test]
fn the_first_request_counts_as_a_round() {
    let limits = Limits { rounds_max: 0, ..Limits::default() };
    let config = ServerConfig { methods: vec![Arc::new(Endless)], limits };
    for identity in [None, Some(USER.as_bytes())] {
        let mut server = Server::new(Arc::new(config.clone()));
        let output = World::real().lend(|rng, cx| server.begin(identity, rng, cx));
        let ServerOutput::Failure { reason, .. } = output else { panic!("{output:?}") };
        assert_eq!(reason, Reason::TOO_MANY_ROUNDS);
    }
}

#[test]
fn notifications_and_identities_count_as_rounds() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    for identifier in 0..64 {
        let kind = if identifier % 2 == 0 { MethodType::IDENTITY } else { MethodType::NOTIFICATION };
        assert!(matches!(
            world.give_peer(&mut peer, &packet::request(identifier, kind, b"")),
            PeerOutput::Send(_)
        ));
    }
    let last = world.give_peer(&mut peer, &packet::request(64, MethodType::IDENTITY, b""));
    assert_eq!(last, PeerOutput::Failed(Reason::TOO_MANY_ROUNDS));
}

/// Noise with a header that is often valid.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(6), Just(26), Just(254), any::<u8>()];
    let data = prop::collection::vec(any::<u8>(), 0..70);
    let message = (1..=2_u8, 0..4_u8, kinds, data).prop_map(|(code, identifier, kind, data)| {
        let write = if code == 1 { packet::request } else { packet::response };
        write(identifier, MethodType(kind), &data)
    });
    let end = (3..=4_u8, 0..4_u8).prop_map(|(code, identifier)| vec![code, identifier, 0, 4]);
    prop_oneof![message, end, prop::collection::vec(any::<u8>(), 0..20)]
}

proptest! {
    #[test]
    fn noise_never_panics_and_never_authenticates_a_server(
        packets in prop::collection::vec(noise(), 0..20),
    ) {
        let mut world = World::real();
        let mut peer = peer(vec![mschapv2_peer("pässword")], USER);
        for bytes in packets {
            let output = world.give_peer(&mut peer, &bytes);
            prop_assert!(!matches!(output, PeerOutput::Success(_)), "{:?}", output);
        }
    }

    #[test]
    fn noise_never_panics_and_never_authenticates_a_peer(
        packets in prop::collection::vec(noise(), 0..20), known: bool,
    ) {
        let mut world = World::real();
        let mut server = server(vec![mschapv2_server(1), gtc_server(), md5_server()]);
        let identity = known.then_some(USER.as_bytes());
        world.lend(|rng, cx| server.begin(identity, rng, cx));
        for mut bytes in packets {
            // Give it the outstanding identifier, so that it reaches the method.
            if let Some(identifier) = bytes.get_mut(1) {
                *identifier = server.identifier();
            }
            let output = world.give_server(&mut server, &bytes);
            prop_assert!(!matches!(output, ServerOutput::Success(_)), "{:?}", output);
        }
    }

    #[test]
    fn one_flipped_bit_never_leaves_the_two_with_different_keys(turn in 0..7_usize, bit in 0..600_usize) {
        let mut world = World::real();
        let (mut peer, mut server) =
            (peer(vec![mschapv2_peer("pässword")], USER), server(vec![mschapv2_server(0)]));
        let (mut ours, mut theirs) = (None, None);
        let mut said = world.lend(|rng, cx| server.begin(None, rng, cx));
        for round in 0.. {
            let mut packet = match said {
                ServerOutput::Send(packet) | ServerOutput::Failure { packet, .. } => packet,
                ServerOutput::Success(accepted) => {
                    theirs = Some(accepted.keys);
                    accepted.packet
                }
                _ => break,
            };
            flip(&mut packet, 2 * round == turn, bit);
            let mut response = match world.give_peer(&mut peer, &packet) {
                PeerOutput::Send(response) => response,
                PeerOutput::Success(keys) => {
                    ours = Some(keys);
                    break;
                }
                _ => break,
            };
            flip(&mut response, 2 * round + 1 == turn, bit);
            said = world.give_server(&mut server, &response);
        }
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            prop_assert_eq!(ours, theirs);
        }
    }
}

fn flip(packet: &mut [u8], now: bool, bit: usize) {
    if now && let Some(byte) = packet.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}
