//! A client and a server over good and bad networks: RFC 2865 §2, RFC 2866 §2, RFC 3579 §2, RFC 5080 §2.2.

use std::time::Duration;

use super::support::*;
use keytoll_crypto_api::Secret;
use keytoll_engine::Time;
use keytoll_net::Host;
use keytoll_radius::client::{self, Accept, Command, ConversationId, Credential, Event, Reason};
use keytoll_radius::number::{AcctStatus, AttributeType, Code};
use keytoll_radius::server;
use keytoll_radius::wire::{Attribute, Attributes, Packet};
use proptest::prelude::*;

const ONE: ConversationId = ConversationId(1);

/// A successful authentication on the bench with its defaults.
fn authenticated(bench: &mut Bench) {
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    bench.round_trip();
}

#[test]
fn a_challenge_and_an_accept_with_an_msk() {
    let mut bench = Bench::usual();
    authenticated(&mut bench);
    check(
        &bench.ladder(),
        "   0 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP
           10 ms  s -> c  Access-Challenge 0  MA EAP State
           20 ms  c -> s  Access-Request 1  MA User-Name NAS-Identifier EAP State
           30 ms  s -> c  Access-Accept 1  MA EAP VSA VSA User-Name",
    );
    let Some(Event::Accept(Accept { conversation, eap, keys, attributes })) = bench.told.last() else {
        panic!("{:?}", bench.told);
    };
    assert_eq!((*conversation, eap.as_deref()), (ONE, Some(&SUCCESS[..])));
    assert_eq!(keys.as_ref().unwrap().msk(), Secret::from(&MSK[..]));
    assert_eq!(attributes.get(AttributeType::USER_NAME), Some(&b"nemo"[..]));
    assert_eq!((bench.client.outstanding(), bench.server.conversations()), (0, 0));
}

fn accepted(request: &server::Request) -> Option<server::Command> {
    let (conversation, eap) = (request.conversation, Some(SUCCESS.to_vec()));
    Some(server::Command::Accept { conversation, eap, msk: None, attributes: Attributes::new() })
}

fn accepted_as_odysseus(request: &server::Request) -> Option<server::Command> {
    let (conversation, eap) = (request.conversation, Some(SUCCESS.to_vec()));
    let name = Attribute::new(AttributeType::USER_NAME, b"odysseus").unwrap();
    let attributes = [name].into_iter().collect();
    Some(server::Command::Accept { conversation, eap, msk: None, attributes })
}

/// RFC 2865 §5.1: the server's owner may supply a better name than the requested one; then it is the only one.
#[test]
fn an_accept_has_one_user_name_at_most() {
    let accept = |user_name: &[u8], owner: Owner| {
        let mut bench = Bench::usual();
        bench.owner = owner;
        bench.authenticate(client::Authenticate { user_name: user_name.to_vec(), ..identity(1) });
        bench.round_trip();
        let packet = Packet::read(&bench.datagrams[1].bytes).unwrap();
        assert_eq!(packet.code, Code::ACCESS_ACCEPT);
        let names = packet.attributes.iter().filter(|attribute| attribute.kind() == AttributeType::USER_NAME);
        names.map(|name| name.value().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(accept(b"nemo", accepted), [b"nemo"]);
    assert_eq!(accept(b"nemo", accepted_as_odysseus), [b"odysseus"]);
    assert!(accept(b"", accepted).is_empty());
    assert_eq!(accept(b"", accepted_as_odysseus), [b"odysseus"]);
}

#[test]
fn null_crypto_carries_the_same_exchange_and_the_msk() {
    let (mut real, mut null) = (Bench::usual(), Bench::usual().null());
    authenticated(&mut real);
    authenticated(&mut null);
    assert_eq!(real.ladder(), null.ladder());
    let lengths =
        |bench: &Bench| bench.datagrams.iter().map(|datagram| datagram.bytes.len()).collect::<Vec<_>>();
    assert_eq!(lengths(&real), lengths(&null));
    assert_eq!(real.told.last(), null.told.last());
}

#[test]
fn a_reject_carries_the_eap_failure() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Reject { conversation, eap: Some(FAILURE.to_vec()) })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    check(
        &bench.ladder(),
        "   0 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP
           10 ms  s -> c  Access-Reject 0  MA EAP",
    );
    assert_eq!(bench.told, [Event::Reject { conversation: ONE, eap: Some(FAILURE.to_vec()) }]);
}

#[test]
fn a_password_arrives_in_the_clear_at_the_owner_only() {
    let mut bench = Bench::usual();
    let word = Secret::from(b"arctangent".as_slice());
    bench
        .authenticate(client::Authenticate { credential: Credential::Password(word.clone()), ..identity(1) });
    bench.round_trip();
    let [server::Event::Request(request)] = &bench.asked[..] else { panic!("{:?}", bench.asked) };
    assert_eq!(request.credential, server::Credential::Password(word));
    assert!(request.attributes.get(AttributeType::USER_PASSWORD).is_none());
    assert!(!bench.datagrams[0].bytes.windows(10).any(|window| window == b"arctangent"));
}

/// RFC 2865 §5.3: the server can check the proof, with the Request Authenticator as its challenge.
#[test]
fn a_password_is_proved_without_being_sent() {
    let mut bench = Bench::usual();
    let word = Secret::from(&b"mellon"[..]);
    bench.authenticate(client::Authenticate { credential: Credential::Chap(word.clone()), ..identity(1) });
    bench.round_trip();
    let server::Event::Request(request) = &bench.asked[0] else { panic!("{:?}", bench.asked) };
    let server::Credential::Chap(answer) = &request.credential else { panic!("{request:?}") };
    assert!(answer.proves(&word, &mut keytoll_crypto::Real::default()));
    assert!(!answer.proves(&Secret::from(&b"melon"[..]), &mut keytoll_crypto::Real::default()));
    assert!(bench.datagrams.iter().all(|one| !one.bytes.windows(6).any(|part| part == b"mellon")));
}

#[test]
fn an_eap_packet_of_many_attributes_arrives_whole() {
    let mut bench = Bench::usual();
    let eap: Vec<u8> = [2, 0].into_iter().chain((0..1500).map(|n| (n % 251) as u8)).collect();
    bench.authenticate(client::Authenticate { credential: Credential::Eap(eap.clone()), ..identity(1) });
    bench.round_trip();
    let [server::Event::Request(request)] = &bench.asked[..] else { panic!("{:?}", bench.asked) };
    assert_eq!(request.credential, server::Credential::Eap(eap));
}

#[test]
fn a_lost_response_is_retransmitted_from_the_cache() {
    let mut bench = Bench::usual();
    bench.faults.insert(1, Fault::Lost);
    bench.authenticate(identity(1));
    bench.run_until(Time::ZERO + Duration::from_secs(5));
    assert_eq!(bench.asked.len(), 1);
    assert_eq!(bench.datagrams[1], bench.datagrams[3]);
    check(
        &bench.ladder(),
        "     0 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP
             10 ms  s -> c  Access-Challenge 0  MA EAP State
           2109 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP  again
           2119 ms  s -> c  Access-Challenge 0  MA EAP State  again",
    );
}

#[test]
fn a_request_that_arrives_twice_is_processed_once() {
    let mut bench = Bench::usual();
    bench.faults.insert(0, Fault::Twice);
    bench.owner = |_| None;
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.asked.len(), 1);
    assert_eq!(bench.discards(), ["repeated while unanswered"]);
}

#[test]
fn a_server_that_never_answers_is_given_up_after_30_seconds() {
    let mut bench = Bench::usual();
    bench.faults = (0..100).map(|n| (n, Fault::Lost)).collect();
    bench.authenticate(identity(1));
    bench.run();
    check(
        &bench.ladder(),
        "     0 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP
           2109 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP  again
           6263 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP  again
          14224 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP  again
          29853 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier EAP  again",
    );
    assert_eq!(bench.told, [Event::Failed(ONE, Reason::Timeout)]);
    assert_eq!(bench.now, Time::ZERO + Duration::from_secs(30));
    assert_eq!(bench.client.outstanding(), 0);
}

#[test]
fn an_unanswered_accounting_report_is_lost_but_no_failure() {
    let mut bench = Bench::usual();
    bench.faults = (0..100).map(|n| (n, Fault::Lost)).collect();
    bench.want(Command::Account(start(1)));
    bench.run();
    assert_eq!(bench.told, [Event::Unaccounted(ONE, Reason::Timeout)]);
    assert_eq!(bench.client.outstanding(), 0);
}

#[test]
fn a_request_is_sent_no_more_often_than_configured() {
    let mut config = client_config();
    config.retransmission.count_max = 2;
    let mut bench = Bench::new(config, server_config());
    bench.faults = (0..100).map(|n| (n, Fault::Lost)).collect();
    bench.authenticate(identity(1));
    bench.run();
    assert_eq!(bench.datagrams.len(), 2);
    assert_eq!(bench.told, [Event::Failed(ONE, Reason::Timeout)]);
}

#[test]
fn an_abandoned_request_is_not_retransmitted_and_its_answer_is_ignored() {
    let mut bench = Bench::usual();
    bench.faults.insert(0, Fault::Lost);
    bench.authenticate(identity(1));
    bench.want(Command::Abandon(ONE));
    assert_eq!(bench.client.outstanding(), 1, "the identifier rests");
    bench.authenticate(identity(2));
    bench.want(Command::Abandon(ConversationId(2)));
    bench.run();
    assert_eq!(bench.datagrams.len(), 3, "two requests, one answer");
    assert_eq!((bench.told.len(), bench.client.outstanding()), (0, 0));
}

#[test]
fn a_conversation_waits_for_its_newest_request_only() {
    let mut bench = Bench::usual();
    bench.authenticate(identity(1));
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.told.len(), 1);
    assert_eq!((bench.client.outstanding(), bench.datagrams.len()), (0, 4));
}

#[test]
fn more_than_256_outstanding_requests_use_more_ports() {
    let mut bench = Bench::usual();
    bench.owner = |_| None;
    (0..1025).for_each(|n| bench.authenticate(identity(n)));
    assert_eq!(bench.told, [Event::Failed(ConversationId(1024), Reason::Busy)]);
    let ports: Vec<u16> = bench.datagrams.iter().map(|datagram| datagram.from.port().unwrap()).collect();
    let expected = (40_000..=40_003).flat_map(|port| std::iter::repeat_n(port, 256));
    assert!(ports.into_iter().eq(expected));
    bench.round_trip();
    assert_eq!(bench.server.conversations(), 1024);
    bench.run();
    assert_eq!((bench.client.outstanding(), bench.server.conversations()), (0, 0));
}

#[test]
fn a_session_is_accounted() {
    let mut bench = Bench::usual();
    let mut attributes = Attributes::new();
    attributes.push_u32(AttributeType::ACCT_SESSION_TIME, 42);
    bench.want(Command::Account(start(1)));
    bench.want(Command::Account(client::Account { status: AcctStatus::Stop, attributes, ..start(1) }));
    bench.round_trip();
    check(
        &bench.ladder(),
        "   0 ms  c -> s  Accounting-Request 0  Acct-Status-Type Acct-Session-Id User-Name NAS-Identifier
            0 ms  c -> s  Accounting-Request 1  Acct-Status-Type Acct-Session-Id User-Name NAS-Identifier Acct-Session-Time
           10 ms  s -> c  Accounting-Response 0
           10 ms  s -> c  Accounting-Response 1",
    );
    assert_eq!(bench.told, [Event::Accounted(ONE), Event::Accounted(ONE)]);
    let [server::Event::Accounting(begin), server::Event::Accounting(end)] = &bench.asked[..] else {
        panic!("{:?}", bench.asked);
    };
    assert_eq!((begin.status, end.status), (AcctStatus::Start, AcctStatus::Stop));
    assert_eq!((begin.session_id.as_slice(), begin.user_name.as_slice()), (&b"00000001"[..], &b"nemo"[..]));
    assert_eq!(end.attributes.get_u32(AttributeType::ACCT_SESSION_TIME), Some(42));
    assert!(bench.datagrams[..2].iter().all(|datagram| datagram.to.port().unwrap() == 1813));
}

#[test]
fn accounting_under_null_crypto_is_not_mistaken_for_retransmission() {
    let mut bench = Bench::usual().null();
    for n in 0..600 {
        bench.want(Command::Account(start(n)));
        bench.round_trip();
    }
    assert_eq!((bench.told.len(), bench.asked.len()), (600, 600));
}

#[test]
fn proxy_states_come_back_in_their_order() {
    let mut bench = Bench::usual();
    let states = [b"first", b"other"].map(|value| Attribute::fixed(AttributeType::PROXY_STATE, value));
    bench.authenticate(client::Authenticate { attributes: states.into_iter().collect(), ..identity(1) });
    bench.round_trip();
    check(
        &bench.ladder(),
        "   0 ms  c -> s  Access-Request 0  MA User-Name NAS-Identifier Proxy-State Proxy-State EAP
           10 ms  s -> c  Access-Challenge 0  MA EAP State Proxy-State Proxy-State",
    );
    let response = Packet::read(&bench.datagrams[1].bytes).unwrap();
    let echoed =
        response.attributes.iter().filter(|attribute| attribute.kind() == AttributeType::PROXY_STATE);
    assert!(echoed.eq(states));
}

#[test]
fn a_request_that_does_not_fit_is_reported_and_leaves_no_state() {
    let mut bench = Bench::usual();
    let eap = Credential::Eap(vec![2; 4096]);
    bench.authenticate(client::Authenticate { credential: eap, ..identity(1) });
    bench.authenticate(client::Authenticate { user_name: vec![b'x'; 254], ..identity(2) });
    let word = Credential::Password(Secret::new(vec![7; 129]));
    bench.authenticate(client::Authenticate { credential: word, ..identity(3) });
    bench.want(Command::Account(client::Account { session_id: "x".repeat(254), ..start(4) }));
    let failed = |n| Event::Failed(ConversationId(n), Reason::TooLong);
    let unaccounted = Event::Unaccounted(ConversationId(4), Reason::TooLong);
    assert_eq!(bench.told, [failed(1), failed(2), failed(3), unaccounted]);
    assert_eq!((bench.client.outstanding(), bench.datagrams.len()), (0, 0));
}

#[test]
fn an_answer_that_does_not_fit_becomes_a_reject() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Challenge { conversation, eap: vec![1; 4096] })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.told, [Event::Reject { conversation: ONE, eap: None }]);
    assert!(matches!(bench.asked[1], server::Event::Refused(_, "RADIUS answer too long")));
    assert_eq!(bench.server.conversations(), 0);
}

/// A client learns that it was refused, even if its Proxy-States leave no room for the EAP packet that says so.
#[test]
fn a_reject_that_does_not_fit_is_sent_without_its_eap_packet() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Reject { conversation, eap: Some(vec![4; 4096]) })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.told, [Event::Reject { conversation: ONE, eap: None }]);
    assert_eq!((bench.asked.len(), bench.server.conversations()), (1, 0));
}

/// RFC 2865 §5: 256 identifiers per port. A peer with many outstanding requests, because answers are slow or missing, leaves
/// identifiers to others, and gets its own back when the answers arrive.
#[test]
fn no_peer_holds_every_identifier() {
    let mut bench = Bench::usual();
    let ask =
        |n: u64, peer: &str| client::Authenticate { peer: Host::Ip(peer.parse().unwrap()), ..identity(n) };
    let most = 4 * 256 / 8;
    for n in 0..=most {
        bench.authenticate(ask(n, &format!("2001:db8::{n:x}")));
    }
    let refused = |n| Event::Failed(ConversationId(n), Reason::PeerBusy);
    assert_eq!(bench.told, [refused(most)], "all of one /64");
    bench.authenticate(ask(1_000, "2001:db8:0:1::1"));
    assert_eq!((bench.told.len(), bench.client.outstanding()), (1, most as usize + 1));
    // An abandoned request counts until its identifier is free.
    bench.want(Command::Abandon(ConversationId(0)));
    bench.authenticate(ask(2_000, "2001:db8::1"));
    assert_eq!(bench.told[1..], [refused(2_000)]);
    bench.round_trip();
    bench.authenticate(ask(3_000, "2001:db8::1"));
    assert_eq!(bench.client.outstanding(), 1);
}

/// Peers without an IP address have a limit each as well.
#[test]
fn no_station_holds_every_identifier() {
    let mut bench = Bench::usual();
    let station = |last| Host::Mac([2, 0, 0, 0, 0, last]);
    let most = 4 * 256 / 8;
    for n in 0..=most {
        bench.authenticate(client::Authenticate { peer: station(1), ..identity(n) });
    }
    assert_eq!(bench.told, [Event::Failed(ConversationId(most), Reason::PeerBusy)]);
    bench.authenticate(client::Authenticate { peer: station(2), ..identity(1_000) });
    assert_eq!((bench.told.len(), bench.client.outstanding()), (1, most as usize + 1));
}

/// Many peers with few requests each can use all identifiers on all ports.
#[test]
fn many_peers_use_every_port() {
    let mut bench = Bench::usual();
    for n in 0..4 * 256 {
        let peer = std::net::Ipv4Addr::from_bits(0x0a00_0000 + n);
        bench.authenticate(client::Authenticate { peer: Host::Ip(peer.into()), ..identity(n.into()) });
    }
    assert_eq!((bench.told.len(), bench.client.outstanding()), (0, 1024));
    bench.authenticate(identity(5_000));
    assert_eq!(bench.told, [Event::Failed(ConversationId(5_000), Reason::Busy)]);
}

/// RFC 3579 §2.2: the server reports that it ignored the packet, with the request that is still outstanding.
#[test]
fn an_ignored_packet_is_answered_with_the_previous_challenge() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Ignored { conversation, eap: CHALLENGE.to_vec() })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    let Event::Challenge { eap, state: Some(_), .. } = &bench.told[0] else { panic!("{:?}", bench.told) };
    assert_eq!(*eap, CHALLENGE);
    let response = Packet::read(&bench.datagrams[1].bytes).unwrap();
    let mut cause = response.attributes.exactly_one(AttributeType::ERROR_CAUSE).unwrap();
    assert_eq!(cause.u32("Error-Cause"), Ok(202));
}

#[test]
fn an_msk_that_is_too_short_is_refused() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let (conversation, msk) = (request.conversation, Some(Secret::new(vec![7; 63])));
        Some(server::Command::Accept { conversation, eap: None, msk, attributes: Attributes::new() })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.told, [Event::Reject { conversation: ONE, eap: None }]);
}

#[test]
fn an_accept_with_two_names_is_refused() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let names = [b"nemo!", b"boss!"].map(|name| Attribute::fixed(AttributeType::USER_NAME, name));
        let (conversation, attributes) = (request.conversation, names.into_iter().collect());
        Some(server::Command::Accept { conversation, eap: None, msk: None, attributes })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    assert_eq!(bench.told, [Event::Failed(ONE, Reason::Malformed)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is lost or duplicated: no request is processed twice, both sides agree, and no state is left.
    #[test]
    fn bad_weather(faults in proptest::collection::btree_map(0_usize..40, prop_oneof![Just(Fault::Lost), Just(Fault::Twice)], 0..30)) {
        let mut bench = Bench::usual();
        bench.faults = faults;
        bench.authenticate(identity(1));
        bench.run_until(bench.now + Duration::from_secs(29));
        if let Some(Event::Challenge { state, .. }) = bench.told.last() {
            bench.authenticate(answer(1, state.clone()));
        }
        bench.run();
        let firsts = bench.asked.iter().filter(|event| matches!(event, server::Event::Request(request) if request.first));
        prop_assert!(firsts.count() <= 1);
        let accepted = bench.told.iter().filter(|event| matches!(event, Event::Accept(_))).count();
        prop_assert!(accepted <= 1 && bench.told.len() <= 2, "{:?}", bench.told);
        prop_assert!(!bench.told.is_empty());
        prop_assert_eq!((bench.client.outstanding(), bench.server.conversations()), (0, 0));
    }
}
