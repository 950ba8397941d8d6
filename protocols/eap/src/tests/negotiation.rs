//! Negotiation: Identity, Nak in both directions, questions to the subscriber database.

use super::*;
use crate::method::{PeerMethod, ServerMethod};
use crate::packet::{self, Packet};
use crate::question::{Answer, Question, Wanted};
use crate::testing::{World, check, converse, peer, server};
use crate::{
    Keys, Limits, Message, MethodType, Peer, PeerConfig, PeerOutput, PeerStep, Reason, Server, ServerConfig,
    ServerOutput, ServerStep, Turn,
};

#[test]
fn a_peer_refuses_and_the_server_proposes_its_next_preference() {
    let mut server = server(vec![mschapv2_server(0), gtc_server(), md5_server()]);
    let mut peer = peer(vec![md5_peer("pässword"), gtc_peer("pässword")], USER);
    let ended = converse(&mut World::real(), &mut peer, &mut server);
    check(
        &ended.packets,
        "
        s -> p  0 Identity
        p -> s  0 Identity
        s -> p  1 MSCHAPv2
        p -> s  1 Nak
        s -> p  2 GTC
        p -> s  2 GTC
        s -> p  2 Success
        ",
    );
    assert!(matches!(ended.peer, PeerOutput::Success(_)));
}

#[test]
fn without_a_common_method_it_fails_with_a_reason() {
    let ended = converse(
        &mut World::real(),
        &mut peer(vec![md5_peer("pässword")], USER),
        &mut server(vec![gtc_server(), mschapv2_server(0)]),
    );
    let ServerOutput::Failure { reason, .. } = ended.server else { panic!("{:?}", ended.server) };
    assert_eq!(reason, Reason::NO_ACCEPTABLE_METHOD);
    assert_eq!(ended.peer, PeerOutput::Failed(Reason::NO_ACCEPTABLE_METHOD));
}

#[test]
fn a_peer_without_methods_proposes_nothing() {
    let mut world = World::real();
    let request = packet::request(5, MethodType::MD5, &[1, 1]);
    let nak = packet::response(5, MethodType::NAK, &[0]);
    assert_eq!(world.give_peer(&mut peer(vec![], USER), &request), PeerOutput::Send(nak));
}

#[test]
fn nak_to_every_method_ends() {
    let mut world = World::real();
    let mut server = server(vec![mschapv2_server(0), gtc_server(), md5_server()]);
    let mut output = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx));
    let everything: Vec<u8> = (4..=253).collect();
    let mut proposed = Vec::new();
    while let ServerOutput::Send(bytes) = &output {
        let Ok(Packet::Request(request)) = Packet::read(bytes) else { panic!("a request") };
        proposed.push(request.kind);
        output = world
            .give_server(&mut server, &packet::response(request.identifier, MethodType::NAK, &everything));
    }
    assert_eq!(proposed, [MethodType::MSCHAPV2, MethodType::GTC, MethodType::MD5]);
    assert!(matches!(output, ServerOutput::Failure { reason: Reason::NO_ACCEPTABLE_METHOD, .. }));
}

#[test]
fn an_expanded_type_gets_an_expanded_nak() {
    let mut world = World::real();
    let request = packet::request(5, MethodType::EXPANDED, &[0, 0, 9, 0, 0, 0, 1]);
    let PeerOutput::Send(bytes) = world.give_peer(&mut peer(vec![md5_peer("x")], USER), &request) else {
        panic!("a response");
    };
    let Ok(Packet::Response(response)) = Packet::read(&bytes) else { panic!("a response") };
    assert_eq!(response.kind, MethodType::EXPANDED);
    assert_eq!(response.data, [0, 0, 0, 0, 0, 0, 3, 254, 0, 0, 0, 0, 0, 0, 4]);
}

/// A server of EAP-5G has no other method: 3GPP TS 24.502 §9.3.2. One of EAP-FAST may have, and is answered.
#[test]
fn a_method_that_is_not_supported_is_the_reason_by_name() {
    let mut world = World::real();
    let start = packet::request(5, MethodType::EXPANDED, &[0, 0x28, 0xaf, 0, 0, 0, 3, 1, 0]);
    let mut phone = peer(vec![md5_peer("x")], USER);
    let why = "EAP method not supported: EAP-5G (type 254, vendor 10415, method 3)";
    assert_eq!(world.give_peer(&mut phone, &start), PeerOutput::Failed(Reason(why)));
    let mut phone = peer(vec![md5_peer("x")], USER);
    let fast = packet::request(5, MethodType(43), &[0x21]);
    let nak = packet::response(5, MethodType::NAK, &[MethodType::MD5.0]);
    assert_eq!(world.give_peer(&mut phone, &fast), PeerOutput::Send(nak));
    let why = Reason("EAP method not supported: EAP-FAST (type 43)");
    assert_eq!(phone.unsupported(), Some(why));
    assert_eq!(world.give_peer(&mut phone, &packet::failure(5)), PeerOutput::Failed(why));
}

/// Once a method runs, an earlier proposal is not the reason of a failure.
#[test]
fn a_refused_proposal_is_forgotten_when_a_method_runs() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    world.give_peer(&mut peer, &packet::request(5, MethodType(43), &[0x21]));
    let challenge = packet::request(6, MethodType::MD5, &[1, 1]);
    assert!(matches!(world.give_peer(&mut peer, &challenge), PeerOutput::Send(_)));
    assert_eq!(peer.unsupported(), None);
    assert_eq!(world.give_peer(&mut peer, &packet::failure(6)), PeerOutput::Failed(Reason::REFUSED));
}

#[test]
fn a_notification_is_answered_in_between() {
    let mut world = World::real();
    let mut peer = peer(vec![md5_peer("x")], USER);
    let text = packet::request(1, MethodType::NOTIFICATION, b"your password expires");
    let seen = packet::response(1, MethodType::NOTIFICATION, b"");
    assert_eq!(world.give_peer(&mut peer, &text), PeerOutput::Send(seen));
    let challenge = packet::request(2, MethodType::MD5, &[1, 1]);
    assert!(matches!(world.give_peer(&mut peer, &challenge), PeerOutput::Send(_)));
}

#[test]
fn an_identity_requested_by_another_is_used() {
    let mut world = World::real();
    let mut server = server(vec![md5_server()]);
    let identity = packet::response(200, MethodType::IDENTITY, USER.as_bytes());
    let ServerOutput::Send(bytes) = world.give_server(&mut server, &identity) else { panic!("a request") };
    let Ok(Packet::Request(request)) = Packet::read(&bytes) else { panic!("a request") };
    assert_eq!((request.identifier, request.kind), (201, MethodType::MD5));
    assert_eq!(server.identity(), USER.as_bytes());
}

#[test]
fn an_identity_known_beforehand_saves_a_round() {
    let mut world = World::real();
    let mut server = server(vec![md5_server()]);
    let ServerOutput::Send(bytes) = world.lend(|rng, cx| server.begin(Some(b"bob"), rng, cx)) else {
        panic!("a request");
    };
    assert!(matches!(Packet::read(&bytes), Ok(Packet::Request(Message { kind: MethodType::MD5, .. }))));
}

/// Asks for triplets of identities that start with 1, before its first request and once more later.
struct Asking {
    asked: u8,
}

impl ServerOffer for Asking {
    fn method(&self) -> MethodType {
        MethodType::SIM
    }

    fn suits(&self, identity: &[u8]) -> bool {
        identity.starts_with(b"1")
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Self { asked: 0 })
    }
}

impl Asking {
    fn ask(&mut self, turn: &Turn<'_, '_>) -> ServerStep {
        self.asked += 1;
        ServerStep::Ask(Question { identity: turn.identity.to_vec(), wanted: Wanted::Triplets(self.asked) })
    }
}

impl ServerMethod for Asking {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        self.ask(turn)
    }

    fn on_response(&mut self, _: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        self.ask(turn)
    }

    fn on_answer(&mut self, answer: Answer, _: &mut Turn<'_, '_>) -> ServerStep {
        match (answer, self.asked) {
            (Answer::UnknownSubscriber, _) => ServerStep::Failed(Reason::UNKNOWN_USER),
            (_, 1) => ServerStep::Request(vec![1]),
            _ => ServerStep::Done(Keys::default()),
        }
    }

    fn identity(&self) -> Option<&[u8]> {
        Some(b"the permanent one")
    }
}

#[test]
fn a_method_that_asks_elsewhere_is_resumed() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Asking { asked: 0 })]);
    let output = world.lend(|rng, cx| server.begin(Some(b"1234"), rng, cx));
    let question =
        |n| ServerOutput::Ask(Question { identity: b"1234".to_vec(), wanted: Wanted::Triplets(n) });
    assert_eq!(output, question(1));

    let early = packet::response(0, MethodType::SIM, &[]);
    assert_eq!(world.give_server(&mut server, &early), ServerOutput::Ignored);

    let output = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx));
    let ServerOutput::Send(bytes) = output else { panic!("{output:?}") };
    assert_eq!(world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx)), ServerOutput::Ignored);

    let response = packet::response(bytes[1], MethodType::SIM, &[]);
    assert_eq!(world.give_server(&mut server, &response), question(2));
    let ServerOutput::Success(accepted) = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx))
    else {
        panic!("the second answer ends it");
    };
    assert_eq!(
        (accepted.packet, accepted.identity),
        (packet::success(bytes[1]), b"the permanent one".to_vec())
    );
}

#[test]
fn a_method_that_asked_before_its_first_request_can_still_be_refused() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Asking { asked: 0 }), md5_server()]);
    world.lend(|rng, cx| server.begin(Some(b"1234"), rng, cx));
    let ServerOutput::Send(bytes) = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx)) else {
        panic!("a request");
    };
    let nak = packet::response(bytes[1], MethodType::NAK, &[MethodType::MD5.0]);
    let ServerOutput::Send(bytes) = world.give_server(&mut server, &nak) else { panic!("a request") };
    assert_eq!(bytes[4], MethodType::MD5.0);
}

#[test]
fn an_unknown_subscriber_fails_with_a_reason() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Asking { asked: 0 })]);
    world.lend(|rng, cx| server.begin(Some(b"1234"), rng, cx));
    let output = world.lend(|rng, cx| server.answer(Answer::UnknownSubscriber, rng, cx));
    assert!(matches!(output, ServerOutput::Failure { reason: Reason::UNKNOWN_USER, .. }), "{output:?}");
}

#[test]
fn methods_that_do_not_suit_the_identity_are_not_proposed() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Asking { asked: 0 }), md5_server()]);
    let ServerOutput::Send(bytes) = world.lend(|rng, cx| server.begin(Some(b"bob"), rng, cx)) else {
        panic!("a request");
    };
    assert_eq!(bytes[4], MethodType::MD5.0);
}

/// RFC 3748 §5.3.1: the peer accepts only the methods that it lists.
#[test]
fn a_nak_without_a_configured_method_ends_it() {
    for wanted in [&[0][..], &[13, 21]] {
        let mut world = World::real();
        let mut server = server(vec![mschapv2_server(0), gtc_server(), md5_server()]);
        let ServerOutput::Send(request) = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx))
        else {
            panic!("a request");
        };
        let nak = packet::response(request[1], MethodType::NAK, wanted);
        let output = world.give_server(&mut server, &nak);
        assert!(
            matches!(output, ServerOutput::Failure { reason: Reason::NO_ACCEPTABLE_METHOD, .. }),
            "{output:?}"
        );
    }
}

/// A method that does not suit the identity is not proposed even if a Nak lists it.
#[test]
fn a_nak_does_not_choose_an_unsuitable_method() {
    let mut world = World::real();
    let mut server = server(vec![md5_server(), Arc::new(Asking { asked: 0 }), gtc_server()]);
    let ServerOutput::Send(request) = world.lend(|rng, cx| server.begin(Some(b"bob"), rng, cx)) else {
        panic!("a request");
    };
    let everything: Vec<u8> = (5..=253).collect();
    let nak = packet::response(request[1], MethodType::NAK, &everything);
    let ServerOutput::Send(request) = world.give_server(&mut server, &nak) else { panic!("a request") };
    assert_eq!(request[4], MethodType::GTC.0);
}

/// Fails with an answer, as TLS does with an alert.
struct Alerting;

impl PeerOffer for Alerting {
    fn method(&self) -> MethodType {
        MethodType::TLS
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(Self)
    }
}

impl PeerMethod for Alerting {
    fn on_request(&mut self, _: &Message<'_>, _: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Failed(Some(b"alert".to_vec()), Reason("TLS unknown CA"))
    }
}

#[test]
fn a_failure_is_sent_before_it_is_reported() {
    for end in [packet::failure(1), packet::success(1), packet::request(2, MethodType::TLS, &[])] {
        let mut world = World::real();
        let mut peer = peer(vec![Arc::new(Alerting)], USER);
        let alert = packet::response(1, MethodType::TLS, b"alert");
        let request = packet::request(1, MethodType::TLS, &[]);
        assert_eq!(world.give_peer(&mut peer, &request), PeerOutput::Send(alert));
        assert_eq!(world.give_peer(&mut peer, &end), PeerOutput::Failed(Reason("TLS unknown CA")));
    }
}

/// RFC 5998 §4: an unauthenticated server gets no password, whichever method it requests.
#[test]
fn an_unauthenticated_server_gets_no_password() {
    let mut world = World::real();
    let ours =
        || vec![md5_peer("pässword"), gtc_peer("pässword"), mschapv2_peer("pässword"), Arc::new(Mutual)];
    for kind in [MethodType::MD5, MethodType::GTC, MethodType::MSCHAPV2] {
        let request = packet::request(5, kind, &[1, 1]);
        let nak = packet::response(5, MethodType::NAK, &[MethodType::AKA.0]);
        let mut peer = peer(ours(), USER).to_unproved_server();
        assert_eq!(world.give_peer(&mut peer, &request), PeerOutput::Send(nak), "{kind}");
    }
    let mut peer = peer(ours(), USER).to_unproved_server();
    let answer = world.give_peer(&mut peer, &packet::request(5, MethodType::AKA, &[]));
    assert_eq!(answer, PeerOutput::Send(packet::response(5, MethodType::AKA, USER.as_bytes())));
}

/// RFC 7296 §2.16: IKE has sent the server our identity, until the server requests it itself.
#[test]
fn methods_have_the_identity_that_the_server_has() {
    let mut world = World::real();
    let began = |world: &mut World, asks: bool| {
        let mut peer = peer(vec![Arc::new(Mutual)], USER).known_as(b"idi@lab".to_vec());
        if asks {
            world.give_peer(&mut peer, &packet::request(4, MethodType::IDENTITY, &[]));
        }
        world.give_peer(&mut peer, &packet::request(5, MethodType::AKA, &[]))
    };
    let said = |name: &[u8]| PeerOutput::Send(packet::response(5, MethodType::AKA, name));
    assert_eq!(began(&mut world, false), said(b"idi@lab"));
    assert_eq!(began(&mut world, true), said(USER.as_bytes()));
}

/// A method that authenticates the server, and reports the identity it was started with.
struct Mutual;

impl PeerOffer for Mutual {
    fn method(&self) -> MethodType {
        MethodType::AKA
    }

    fn proves_server(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(Self)
    }
}

impl PeerMethod for Mutual {
    fn on_request(&mut self, _: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Continue(turn.identity.to_vec())
    }
}

#[test]
fn the_longest_packet_is_accepted_and_no_longer_one() {
    let question = packet::request(1, MethodType::IDENTITY, b"who are you?");
    let identity = packet::response(1, MethodType::IDENTITY, USER.as_bytes());
    for (less, taken) in [(0, true), (1, false)] {
        let mut world = World::real();
        let limits = |packet: &[u8]| Limits { packet_bytes_max: packet.len() - less, ..Limits::default() };
        let config = PeerConfig { methods: vec![md5_peer("x")], limits: limits(&question) };
        let output = world.give_peer(&mut Peer::new(Arc::new(config), USER.into()), &question);
        assert_eq!(output, if taken { PeerOutput::Send(identity.clone()) } else { PeerOutput::Ignored });
        let config = ServerConfig { methods: vec![md5_server()], limits: limits(&identity) };
        let output = world.give_server(&mut Server::new(Arc::new(config)), &identity);
        assert_eq!(matches!(output, ServerOutput::Send(_)), taken, "{output:?}");
    }
}

/// RFC 3748 §2.1: after the first response of its type a method cannot be refused any more, whatever the server asked
/// elsewhere meanwhile, and nothing is accepted while it asks.
#[test]
fn a_method_is_not_refused_after_its_first_response() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Hesitant), md5_server()]);
    let began = world.lend(|rng, cx| server.begin(Some(b"1234"), rng, cx));
    assert!(matches!(began, ServerOutput::Ask(_)), "{began:?}");
    let ServerOutput::Send(request) = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx))
    else {
        panic!("a request");
    };
    let response = packet::response(request[1], MethodType::SIM, &[]);
    assert!(matches!(world.give_server(&mut server, &response), ServerOutput::Ask(_)));
    assert_eq!(world.give_server(&mut server, &response), ServerOutput::Ignored);
    assert_eq!(world.last_discard(), "EAP response while the server asks elsewhere");
    let ServerOutput::Send(request) = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx))
    else {
        panic!("a request");
    };
    let nak = packet::response(request[1], MethodType::NAK, &[MethodType::MD5.0]);
    assert_eq!(world.give_server(&mut server, &nak), ServerOutput::Ignored);
}

/// An answer that a method cannot use changes nothing: a method that could be refused before still can.
#[test]
fn an_unusable_answer_changes_nothing() {
    let mut world = World::real();
    let mut server = server(vec![Arc::new(Hesitant), md5_server()]);
    world.lend(|rng, cx| server.begin(Some(b"1234"), rng, cx));
    for _ in 0..3 {
        let output = world.lend(|rng, cx| server.answer(Answer::UnknownSubscriber, rng, cx));
        assert_eq!(output, ServerOutput::Ignored);
    }
    let early = packet::response(0, MethodType::SIM, &[]);
    assert_eq!(world.give_server(&mut server, &early), ServerOutput::Ignored, "it still asks");
    let output = world.lend(|rng, cx| server.answer(Answer::Unavailable, rng, cx));
    assert!(matches!(output, ServerOutput::Send(_)), "{output:?}");
}

/// Asks elsewhere before every request.
struct Hesitant;

impl ServerOffer for Hesitant {
    fn method(&self) -> MethodType {
        MethodType::SIM
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Self)
    }
}

impl ServerMethod for Hesitant {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Ask(Question { identity: turn.identity.to_vec(), wanted: Wanted::Triplets(2) })
    }

    fn on_response(&mut self, _: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        self.begin(turn)
    }

    fn on_answer(&mut self, answer: Answer, _: &mut Turn<'_, '_>) -> ServerStep {
        match answer {
            Answer::UnknownSubscriber => ServerStep::Ignore("no use"),
            _ => ServerStep::Request(vec![1]),
        }
    }
}

/// RFC 5998 §4: these authenticate the server, so a device may use them with an unauthenticated gateway.
#[test]
fn mutual_methods_are_distinguished_from_the_others() {
    use crate::methods::{aka, aka_prime, sim};
    use crate::simaka::{card, milenage, peer, sqn};
    let key = milenage::Milenage::with_opc(&[1; 16], &[2; 16]);
    let imsi = crate::simaka::identity::Imsi::parse("001010000000001").unwrap();
    let card = card::Card::new(imsi, "", card::Algorithm::Milenage(key), sqn::Sqn::new(0));
    let (card, settings) = (peer::SharedCard::new(card), peer::Settings::default);
    let mutual = [
        sim::peer(card.clone(), settings()),
        aka::peer(card.clone(), settings()),
        aka_prime::peer(card, settings()),
    ];
    assert!(mutual.iter().all(|offer| offer.proves_server()));
    let others = [md5_peer("x"), gtc_peer("x"), mschapv2_peer("x")];
    assert!(!others.iter().any(|offer| offer.proves_server()));
}

#[test]
fn a_conversation_shows_where_it_is_and_nothing_else() {
    let mut world = World::real();
    let (mut peer, mut server) = (peer(vec![md5_peer("hush")], USER), server(vec![md5_server()]));
    assert_eq!(format!("{peer:?}"), "Peer { state: \"open\", rounds: 0, .. }");
    assert_eq!(format!("{server:?}"), "Server { state: \"fresh\", rounds: 0, .. }");
    let ServerOutput::Send(request) = world.lend(|rng, cx| server.begin(Some(USER.as_bytes()), rng, cx))
    else {
        panic!("a request");
    };
    world.give_peer(&mut peer, &request);
    assert_eq!(format!("{peer:?}"), "Peer { state: \"MD5-Challenge\", rounds: 1, .. }");
    assert!(format!("{server:?}").contains("MD5-Challenge"));
    assert_eq!(format!("{:>12}", Reason::REFUSED), " EAP Failure");
}
