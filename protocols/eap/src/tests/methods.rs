//! The methods between our own peer and our own server.

use super::*;
use crate::mschap::message::{Refusal, Request, Response};
use crate::mschap::{Exchange, PasswordHash};
use crate::packet::{self, Packet};
use crate::testing::{Ended, World, check, converse, peer, server};
use crate::{MethodType, PeerOutput, Reason, ServerOutput};

type Pair = (Arc<dyn PeerOffer>, Arc<dyn ServerOffer>);

fn pairs(password: &str) -> [Pair; 3] {
    [
        (md5_peer(password), md5_server()),
        (gtc_peer(password), gtc_server()),
        (mschapv2_peer(password), mschapv2_server(0)),
    ]
}

fn run(world: &mut World, (ours, theirs): Pair, identity: &str) -> Ended {
    converse(world, &mut peer(vec![ours], identity), &mut server(vec![theirs]))
}

#[test]
fn with_the_right_password_both_succeed_and_have_the_same_keys() {
    for mut world in [World::real(), World::null()] {
        for pair in pairs("pässword") {
            let method = pair.0.method();
            let ended = run(&mut world, pair, USER);
            let PeerOutput::Success(ours) = ended.peer else { panic!("{method}: {:?}", ended.peer) };
            let ServerOutput::Success(accepted) = ended.server else { panic!("{method}") };
            assert_eq!((&ours, accepted.method), (&accepted.keys, method));
            assert_eq!(accepted.identity, USER.as_bytes());
            let msk_len = (method == MethodType::MSCHAPV2).then_some(64);
            assert_eq!(ours.msk.map(|msk| msk.len()), msk_len, "{method}");
            assert!(world.discards.0.is_empty(), "{method}: {:?}", world.discards.0);
        }
    }
}

#[test]
fn a_wrong_password_is_reported_by_the_server() {
    for pair in pairs("passwort") {
        let method = pair.0.method();
        let ended = run(&mut World::real(), pair, USER);
        let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{method}") };
        assert_eq!(reason, Reason::WRONG_PASSWORD, "{method}");
        // Only EAP-MSCHAPv2 tells the peer why.
        let told = if method == MethodType::MSCHAPV2 { Reason::WRONG_PASSWORD } else { Reason::REFUSED };
        assert_eq!(ended.peer, PeerOutput::Failed(told), "{method}");
    }
}

#[test]
fn an_unknown_user_is_reported_at_the_server_only() {
    for pair in pairs("pässword") {
        let method = pair.0.method();
        let ended = run(&mut World::real(), pair, "mallory@lab");
        let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{method}") };
        assert_eq!(reason, Reason::UNKNOWN_USER, "{method}");
        let told = if method == MethodType::MSCHAPV2 { Reason::WRONG_PASSWORD } else { Reason::REFUSED };
        assert_eq!(ended.peer, PeerOutput::Failed(told), "{method}");
    }
}

/// RFC 7542 §2.3: RADIUS carries 253 bytes.
#[test]
fn a_name_of_a_user_has_253_bytes_at_most() {
    for (bytes, expected) in [(253, Reason::UNKNOWN_USER), (254, Reason::LONG_NAME)] {
        for pair in pairs("pässword") {
            let ended = run(&mut World::real(), pair, &"m".repeat(bytes));
            let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{bytes}") };
            assert_eq!(reason, expected, "{bytes}");
        }
    }
}

#[test]
fn conversations_are_those_of_the_standards() {
    let [md5, _, mschapv2] = pairs("pässword");
    check(
        &run(&mut World::real(), md5, USER).packets,
        "
        s -> p  0 Identity
        p -> s  0 Identity
        s -> p  1 MD5-Challenge
        p -> s  1 MD5-Challenge
        s -> p  1 Success
        ",
    );
    check(
        &run(&mut World::real(), mschapv2, USER).packets,
        "
        s -> p  0 Identity
        p -> s  0 Identity
        s -> p  1 MSCHAPv2
        p -> s  1 MSCHAPv2
        s -> p  2 MSCHAPv2
        p -> s  2 MSCHAPv2
        s -> p  2 Success
        ",
    );
    let [_, _, wrong] = pairs("passwort");
    check(
        &run(&mut World::real(), wrong, USER).packets,
        "
        s -> p  0 Identity
        p -> s  0 Identity
        s -> p  1 MSCHAPv2
        p -> s  1 MSCHAPv2
        s -> p  2 MSCHAPv2
        p -> s  2 MSCHAPv2
        s -> p  2 Failure
        ",
    );
}

#[test]
fn a_name_that_is_not_the_identity_fails() {
    let impostor = MschapV2Peer { password: secret("pässword"), name: Some(b"bob@lab".to_vec()) };
    let ended = run(&mut World::real(), (Arc::new(impostor), mschapv2_server(0)), USER);
    let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{:?}", ended.server) };
    assert_eq!(reason, Reason::WRONG_IDENTITY);
}

#[test]
fn a_windows_domain_is_ignored_and_not_authenticated() {
    let ended = run(&mut World::real(), (mschapv2_peer("pässword"), mschapv2_server(0)), "LAB\\alice@lab");
    let ServerOutput::Success(accepted) = ended.server else { panic!("{:?}", ended.server) };
    assert_eq!(accepted.identity, b"alice@lab");
    assert!(matches!(ended.peer, PeerOutput::Success(_)), "{:?}", ended.peer);
}

/// A server's request of EAP-MSCHAPv2, and its identifier.
fn sent(output: &ServerOutput) -> (u8, Request<'_>) {
    let ServerOutput::Send(bytes) = output else { panic!("{output:?}") };
    let Ok(Packet::Request(message)) = Packet::read(bytes) else { panic!("a request") };
    (message.identifier, Request::read(message.data).unwrap())
}

fn proof(world: &mut World, challenge: &[u8; 16], id: u8, password: &str) -> Vec<u8> {
    let exchange =
        Exchange { authenticator_challenge: challenge, peer_challenge: &[9; 16], user: USER.as_bytes() };
    let nt_response = world
        .lend(|_, cx| PasswordHash::new(password.as_bytes(), cx.crypto).nt_response(&exchange, cx.crypto));
    Response::Proof { id, peer_challenge: [9; 16], nt_response, name: USER.as_bytes() }.write()
}

#[test]
fn a_peer_may_retry_as_often_as_allowed() {
    let mut world = World::real();
    let mut server = server(vec![mschapv2_server(2)]);
    let mut output = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx));
    let (mut identifier, Request::Challenge { id, mut challenge, .. }) = sent(&output) else { panic!() };
    for tries_left in [true, true, false] {
        let data = proof(&mut world, &challenge, id, "passwort");
        output = world.give_server(&mut server, &packet::response(identifier, MethodType::MSCHAPV2, &data));
        let (next, Request::Failure { text, .. }) = sent(&output) else { panic!("{output:?}") };
        let refusal = Refusal::read(text).unwrap();
        assert_eq!((refusal.error, refusal.retry.is_some()), (691, tries_left));
        assert_ne!(refusal.retry, Some(challenge), "a fresh challenge");
        (identifier, challenge) = (next, refusal.retry.unwrap_or_default());
    }
    let again = proof(&mut world, &challenge, id, "pässword");
    let again = packet::response(identifier, MethodType::MSCHAPV2, &again);
    assert_eq!(world.give_server(&mut server, &again), ServerOutput::Ignored, "no try is left");
    let end = packet::response(identifier, MethodType::MSCHAPV2, &Response::Failure.write());
    let expected =
        ServerOutput::Failure { packet: packet::failure(identifier), reason: Reason::WRONG_PASSWORD };
    assert_eq!(world.give_server(&mut server, &end), expected);
}

#[test]
fn a_retry_may_succeed_and_the_old_challenge_is_invalid() {
    let mut world = World::real();
    let mut server = server(vec![mschapv2_server(2)]);
    let output = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx));
    let (identifier, Request::Challenge { id, challenge: old, .. }) = sent(&output) else { panic!() };
    let wrong = proof(&mut world, &old, id, "passwort");
    let output = world.give_server(&mut server, &packet::response(identifier, MethodType::MSCHAPV2, &wrong));
    let (identifier, Request::Failure { .. }) = sent(&output) else { panic!("{output:?}") };

    let replayed = proof(&mut world, &old, id, "pässword");
    let output =
        world.give_server(&mut server, &packet::response(identifier, MethodType::MSCHAPV2, &replayed));
    let (identifier, Request::Failure { text, .. }) = sent(&output) else { panic!("{output:?}") };
    let challenge = Refusal::read(text).unwrap().retry.unwrap();

    let right = proof(&mut world, &challenge, id, "pässword");
    let output = world.give_server(&mut server, &packet::response(identifier, MethodType::MSCHAPV2, &right));
    let (identifier, Request::Success { .. }) = sent(&output) else { panic!("{output:?}") };
    let accept = packet::response(identifier, MethodType::MSCHAPV2, &Response::Success.write());
    assert!(matches!(world.give_server(&mut server, &accept), ServerOutput::Success(_)));
}

/// The peer's answer to the last message of the server decides the server's result: each answer in its place, and nowhere
/// else.
#[test]
fn the_peer_s_last_answer_decides_the_server_s_result() {
    let answer = |identifier, response: Response<'_>| {
        packet::response(identifier, MethodType::MSCHAPV2, &response.write())
    };
    let failure = |identifier, reason| ServerOutput::Failure { packet: packet::failure(identifier), reason };
    for (password, retries, expected) in [
        ("pässword", 0, Reason::SERVER_NOT_AUTHENTIC),
        ("passwort", 0, Reason::WRONG_PASSWORD),
        ("passwort", 1, Reason::WRONG_PASSWORD),
    ] {
        let mut world = World::real();
        let mut server = server(vec![mschapv2_server(retries)]);
        let output = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx));
        let (identifier, Request::Challenge { id, challenge, .. }) = sent(&output) else { panic!() };
        let early = world.give_server(&mut server, &answer(identifier, Response::Failure));
        assert_eq!(early, ServerOutput::Ignored, "nothing has failed yet");
        let data = proof(&mut world, &challenge, id, password);
        let output =
            world.give_server(&mut server, &packet::response(identifier, MethodType::MSCHAPV2, &data));
        let (identifier, request) = sent(&output);
        assert_eq!(matches!(request, Request::Success { .. }), password == "pässword");
        if password != "pässword" {
            let accepted = world.give_server(&mut server, &answer(identifier, Response::Success));
            assert_eq!(accepted, ServerOutput::Ignored, "there is nothing to accept");
        }
        let end = world.give_server(&mut server, &answer(identifier, Response::Failure));
        assert_eq!(end, failure(identifier, expected), "{password}, {retries} retries");
    }
}

#[test]
fn a_peer_ends_the_session_with_a_server_that_does_not_know_the_password() {
    for text in [&b"S=0000000000000000000000000000000000000000 M=OK"[..], b"M=OK", b""] {
        let mut world = World::real();
        let mut peer = peer(vec![mschapv2_peer("pässword")], USER);
        let challenge = Request::Challenge { id: 1, challenge: [1; 16], name: b"fake" }.write();
        let output = world.give_peer(&mut peer, &packet::request(1, MethodType::MSCHAPV2, &challenge));
        assert!(matches!(output, PeerOutput::Send(_)), "{output:?}");
        let claim = packet::request(2, MethodType::MSCHAPV2, &Request::Success { id: 1, text }.write());
        let output = world.give_peer(&mut peer, &claim);
        assert_eq!(output, PeerOutput::Failed(Reason::SERVER_NOT_AUTHENTIC));
        assert!(peer.is_over());
    }
}

#[test]
fn a_refusal_of_the_account_is_not_a_wrong_password() {
    for (error, expected) in
        [(648, Reason::ACCOUNT_RESTRICTED), (691, Reason::WRONG_PASSWORD), (999, Reason::REFUSED)]
    {
        let mut world = World::real();
        let mut peer = peer(vec![mschapv2_peer("pässword")], USER);
        let challenge = Request::Challenge { id: 1, challenge: [1; 16], name: b"aaa" }.write();
        world.give_peer(&mut peer, &packet::request(1, MethodType::MSCHAPV2, &challenge));
        let text = Refusal { error, retry: None }.write();
        let refusal =
            packet::request(2, MethodType::MSCHAPV2, &Request::Failure { id: 1, text: &text }.write());
        let acknowledged = packet::response(2, MethodType::MSCHAPV2, &Response::Failure.write());
        assert_eq!(world.give_peer(&mut peer, &refusal), PeerOutput::Send(acknowledged));
        assert_eq!(world.give_peer(&mut peer, &packet::failure(2)), PeerOutput::Failed(expected));
    }
}

#[test]
fn no_password_is_printed() {
    let printed = format!(
        "{:?} {:?} {:?}",
        Md5Peer { password: secret("hush") },
        GtcPeer { password: secret("hush") },
        MschapV2Peer { password: secret("hush"), name: None },
    );
    assert!(!printed.contains("hush") && !printed.contains("104"), "{printed}");
}
