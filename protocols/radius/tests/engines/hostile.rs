//! Forged, truncated, altered, replayed and too many packets: RFC 2865 §3 and §8, RFC 3579 §4.3, RFC 5080 §2.2.2, and
//! Blast-RADIUS (CVE-2024-3596).

use std::time::Duration;

use super::support::*;
use keytoll_crypto_api::Secret;
use keytoll_engine::{Datagram, Input};
use keytoll_net::{Addr, Socket};
use keytoll_radius::client::{self, ConversationId, Event, Reason};
use keytoll_radius::number::{AttributeType, Code};
use keytoll_radius::server;
use keytoll_radius::wire::{Attribute, Packet, PacketBuilder, Sealed};

/// The client's first request, in transit.
fn request() -> (Bench, Datagram) {
    let mut bench = Bench::usual();
    bench.authenticate(identity(1));
    let datagram = bench.datagrams[0].clone();
    (bench, datagram)
}

/// The request, and the response that answers it.
fn response() -> (Bench, Datagram) {
    let (mut bench, request) = request();
    bench.deliver(&request);
    let datagram = bench.datagrams[1].clone();
    (bench, datagram)
}

/// Every truncation and every flipped bit of a datagram.
fn damaged(datagram: &Datagram) -> impl Iterator<Item = Datagram> {
    let with = |bytes| Datagram { bytes, ..datagram.clone() };
    let length = datagram.bytes.len();
    let cuts = (0..length).map(move |cut| with(datagram.bytes[..cut].to_vec()));
    let flips = (0..length * 8).map(move |bit| {
        let mut bytes = datagram.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        with(bytes)
    });
    cuts.chain(flips)
}

#[test]
fn no_damaged_request_reaches_the_owner_or_the_cache() {
    let (mut bench, request) = request();
    let mut count = 0;
    for datagram in damaged(&request) {
        bench.deliver(&datagram);
        count += 1;
        assert_eq!(
            (bench.asked.len(), bench.server.remembered(), bench.datagrams.len()),
            (0, 0, 1),
            "{datagram:?}"
        );
        assert_eq!(bench.discards().len(), count);
    }
    bench.deliver(&request);
    assert_eq!(bench.asked.len(), 1, "the request itself is still welcome");
}

#[test]
fn no_damaged_response_reaches_the_owner() {
    let (mut bench, response) = response();
    let mut count = 0;
    for datagram in damaged(&response) {
        bench.deliver(&datagram);
        count += 1;
        assert_eq!((bench.told.len(), bench.client.outstanding()), (0, 1), "{datagram:?}");
        assert_eq!(bench.discards().len(), count);
    }
    bench.deliver(&response);
    assert_eq!(bench.told.len(), 1, "the response itself is still welcome");
}

#[test]
fn a_damaged_accounting_request_is_not_recorded() {
    let mut bench = Bench::usual();
    bench.want(client::Command::Account(start(1)));
    let request = bench.datagrams[0].clone();
    for datagram in damaged(&request) {
        bench.deliver(&datagram);
        assert_eq!((bench.asked.len(), bench.datagrams.len()), (0, 1), "{datagram:?}");
    }
}

#[test]
fn a_damaged_accounting_response_confirms_nothing() {
    let mut bench = Bench::usual();
    bench.want(client::Command::Account(start(1)));
    let request = bench.datagrams[0].clone();
    bench.deliver(&request);
    let response = bench.datagrams[1].clone();
    for datagram in damaged(&response) {
        bench.deliver(&datagram);
        assert_eq!((bench.told.len(), bench.client.outstanding()), (0, 1), "{datagram:?}");
    }
    bench.deliver(&response);
    assert_eq!(bench.told, [Event::Accounted(ConversationId(1))]);
}

#[test]
fn a_wrong_secret_looks_like_silence_on_either_side() {
    let mut config = client_config();
    config.server.secret = Secret::from(b"wrong".as_slice());
    let mut bench = Bench::new(config, server_config());
    bench.authenticate(identity(1));
    bench.run();
    assert_eq!(bench.told, [Event::Failed(ConversationId(1), Reason::Timeout)]);
    assert_eq!(bench.discards(), ["wrong Message-Authenticator"; 5]);
    bench.facts.clear();
    bench.want(client::Command::Account(start(2)));
    bench.run();
    let count = bench.discards().len();
    assert_eq!(bench.discards(), vec!["wrong authenticator"; count]);
    assert!(count >= 4, "sent {count} times in 30 s");
}

/// The same host at another port.
fn at_port(addr: Addr, port: u16) -> Addr {
    Addr::udp(addr.ip().unwrap(), port)
}

#[test]
fn an_unknown_client_gets_no_answer() {
    let (mut bench, mut request) = request();
    request.from = Addr::udp("203.0.113.9".parse().unwrap(), request.from.port().unwrap());
    bench.deliver(&request);
    assert_eq!(bench.discards(), ["unknown client"]);
    assert_eq!((bench.asked.len(), bench.datagrams.len()), (0, 1));
    let from = Socket::new(request.from.ip().unwrap(), request.from.port().unwrap());
    assert_eq!(bench.strangers, [(from, "unknown client")]);
}

#[test]
fn responses_with_wrong_addresses_or_without_request_are_discarded() {
    let (mut bench, response) = response();
    let other = Socket::new("203.0.113.9".parse().unwrap(), 1812);
    let mut try_one = |change: &dyn Fn(&mut Datagram)| {
        let mut datagram = response.clone();
        change(&mut datagram);
        bench.client_input(Input::Datagram { from: datagram.from, to: datagram.to, bytes: &datagram.bytes });
    };
    try_one(&|datagram| datagram.from = Addr::Udp(other));
    try_one(&|datagram| datagram.from = at_port(datagram.from, 1645));
    try_one(&|datagram| datagram.to = at_port(datagram.to, 40_001));
    try_one(&|datagram| datagram.bytes[1] ^= 1);
    try_one(&|datagram| datagram.from = at_port(datagram.from, 1813));
    let unknown = "unknown identifier";
    assert_eq!(bench.discards(), ["unknown server", "unknown server", unknown, unknown, unknown]);
    assert_eq!(bench.told.len(), 0);
}

#[test]
fn a_response_counts_once() {
    let (mut bench, response) = response();
    bench.deliver(&response);
    bench.deliver(&response);
    assert_eq!((bench.told.len(), bench.discards()), (1, vec!["unknown identifier"]));
}

/// A response to the bench's request with a valid Response Authenticator, as Blast-RADIUS makes one.
fn sealed(bench: &Bench, code: Code, write: impl FnOnce(&mut PacketBuilder)) -> Sealed {
    let request = Packet::read(&bench.datagrams[0].bytes).unwrap();
    let mut packet = PacketBuilder::new(code, request.identifier);
    write(&mut packet);
    let secret = Secret::from(SECRET);
    packet.seal_response(&request.authenticator, &secret, &mut keytoll_crypto::Real::default()).unwrap()
}

fn from_server(bench: &mut Bench, bytes: &[u8]) {
    let to = bench.datagrams[0].from;
    bench.client_input(Input::Datagram { from: Addr::Udp(authentication()), to, bytes });
}

#[test]
fn a_response_without_message_authenticator_is_refused() {
    let (mut bench, _) = request();
    let forged = sealed(&bench, Code::ACCESS_ACCEPT, |packet| packet.eap_message(&SUCCESS));
    from_server(&mut bench, &forged.bytes);
    assert_eq!((bench.discards(), bench.told.len()), (vec!["no Message-Authenticator"], 0));
}

/// RFC 3579 §3.2: with EAP it is never optional, whatever the owner allows.
#[test]
fn an_owner_may_take_responses_without_message_authenticator_if_they_have_no_eap() {
    for (has_eap, told) in [(false, 1), (true, 0)] {
        let (mut bench, _) = request();
        bench.client = bench.client.taking_bare_answers();
        let bare = sealed(&bench, Code::ACCESS_ACCEPT, |packet| {
            if has_eap {
                packet.eap_message(&SUCCESS);
            }
        });
        from_server(&mut bench, &bare.bytes);
        assert_eq!(bench.told.len(), told);
    }
}

#[test]
fn a_request_without_message_authenticator_is_refused() {
    let (mut bench, datagram) = request();
    let packet = PacketBuilder::new(Code::ACCESS_REQUEST, 9);
    let secret = Secret::from(SECRET);
    let bytes = packet.seal_request(&[7; 16], &secret, &mut keytoll_crypto::Real::default()).unwrap().bytes;
    bench.deliver(&Datagram { bytes, ..datagram });
    assert_eq!(bench.discards(), ["no Message-Authenticator"]);
}

#[test]
fn the_message_authenticator_comes_first_in_every_access_packet() {
    let mut bench = Bench::usual();
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    bench.round_trip();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Reject { conversation, eap: None })
    };
    bench.authenticate(identity(2));
    bench.round_trip();
    let codes: Vec<u8> = bench.datagrams.iter().map(|datagram| datagram.bytes[0]).collect();
    assert_eq!(codes, [1, 11, 1, 2, 1, 3]);
    for datagram in &bench.datagrams {
        assert_eq!(datagram.bytes[20..22], [80, 18], "{datagram:?}");
    }
}

#[test]
fn an_authentic_malformed_response_is_a_failure() {
    let nonsense: [fn(&mut PacketBuilder); 3] = [
        |_| {},
        |packet| packet.attribute(&Attribute::fixed(AttributeType::STATE, &[])),
        |packet| {
            packet.eap_message(&CHALLENGE);
            packet.attribute(&Attribute::fixed(AttributeType::CLASS, b"x"));
            packet.eap_message(&CHALLENGE);
        },
    ];
    for write in nonsense {
        let (mut bench, _) = request();
        let bytes = sealed(&bench, Code::ACCESS_CHALLENGE, |packet| {
            packet.message_authenticator();
            write(packet);
        });
        from_server(&mut bench, &bytes.bytes);
        assert_eq!(bench.told, [Event::Failed(ConversationId(1), Reason::Malformed)]);
        assert_eq!(bench.client.outstanding(), 0);
    }
}

#[test]
fn an_unexpected_code_is_discarded() {
    let (mut bench, datagram) = request();
    for code in 0..=u8::MAX {
        let mut bytes = datagram.bytes.clone();
        bytes[0] = code;
        // Of a Status-Server the authenticator covers the code, too.
        let why = if code == 12 { "wrong Message-Authenticator" } else { "unexpected code" };
        if code != 1 {
            bench.deliver(&Datagram { bytes, ..datagram.clone() });
            assert_eq!(bench.discards().last(), Some(&why), "{code}");
        }
    }
    let mut misdirected = datagram;
    misdirected.to = at_port(misdirected.to, 1813);
    bench.facts.clear();
    bench.deliver(&misdirected);
    assert_eq!(bench.discards(), ["unexpected code"]);
    let accounting = sealed(&bench, Code::ACCOUNTING_RESPONSE, |_| {});
    bench.facts.clear();
    from_server(&mut bench, &accounting.bytes);
    assert_eq!(bench.discards(), ["unexpected code"]);
}

#[test]
fn a_replayed_state_is_rejected_and_the_conversation_continues() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Challenge { conversation, eap: CHALLENGE.to_vec() })
    };
    bench.authenticate(identity(1));
    bench.round_trip();
    let old = bench.state();
    bench.authenticate(answer(1, old.clone()));
    bench.round_trip();
    let new = bench.state();
    assert_ne!(old, new);
    bench.authenticate(answer(2, old));
    bench.round_trip();
    assert_eq!(bench.told.last(), Some(&Event::Reject { conversation: ConversationId(2), eap: None }));
    assert_eq!(bench.discards(), ["unknown State"]);
    bench.authenticate(answer(1, new));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Challenge { .. })));
    let named: Vec<bool> = bench
        .asked
        .iter()
        .map(|event| matches!(event, server::Event::Request(request) if request.first))
        .collect();
    assert_eq!(named, [true, false, false]);
}

#[test]
fn a_state_is_valid_for_its_client_only() {
    let mut config = server_config();
    let other = "192.0.2.7".parse().unwrap();
    config.clients.insert(other, server::Client { secret: Secret::from(SECRET) });
    let mut bench = Bench::new(client_config(), config);
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    let mut stolen = bench.datagrams[2].clone();
    stolen.from = Addr::udp(other, stolen.from.port().unwrap());
    bench.deliver(&stolen);
    assert_eq!(bench.discards(), ["unknown State"]);
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "the thief disturbed nothing");
}

/// The bench's client sends an arbitrary request.
fn says(bench: &mut Bench, identifier: u8, write: impl FnOnce(&mut PacketBuilder)) {
    let mut packet = PacketBuilder::authentic(Code::ACCESS_REQUEST, identifier);
    write(&mut packet);
    let secret = Secret::from(SECRET);
    let bytes =
        packet.seal_request(&[identifier; 16], &secret, &mut keytoll_crypto::Real::default()).unwrap().bytes;
    let from = Socket::new(gateway(), 5000);
    bench.server_input(Input::Datagram {
        from: Addr::Udp(from),
        to: Addr::Udp(authentication()),
        bytes: &bytes,
    });
}

#[test]
fn roles_are_not_reversed() {
    let mut bench = Bench::usual();
    says(&mut bench, 1, |packet| packet.eap_message(&[1, 77, 0, 5, 1]));
    assert_eq!(bench.discards(), ["EAP request from a peer"]);
    let response = Packet::read(&bench.datagrams[0].bytes).unwrap();
    assert_eq!(response.code, Code::ACCESS_REJECT);
    let nak = keytoll_radius::wire::eap_message::join(&response.attributes);
    assert_eq!(nak, Ok(Some(vec![2, 77, 0, 6, 3, 0])));
}

/// RFC 2865 §4.3: an Access-Reject is the end, also of a conversation that could go on.
#[test]
fn a_reject_ends_its_conversation() {
    let mut bench = Bench::usual();
    bench.owner = challenge_for_ever;
    bench.authenticate(identity(1));
    bench.round_trip();
    let state = bench.state();
    says(&mut bench, 99, |packet| packet.attribute(&state.as_ref().unwrap().attribute()));
    assert_eq!(Packet::read(&bench.datagrams.last().unwrap().bytes).unwrap().code, Code::ACCESS_REJECT);
    assert_eq!(bench.server.conversations(), 0);
    assert!(matches!(bench.asked.last(), Some(server::Event::Expired(_))), "its owner may forget it");
    bench.authenticate(answer(1, state));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Reject { .. })), "{:?}", bench.told.last());
}

#[test]
fn requests_without_credentials_are_rejected_and_with_two_discarded() {
    let mut bench = Bench::usual();
    says(&mut bench, 1, |_| {});
    assert_eq!((bench.discards().last(), bench.datagrams.len()), (Some(&"no credential of a known kind"), 1));
    let hidden = Attribute::fixed(AttributeType::USER_PASSWORD, &[0; 16]);
    says(&mut bench, 2, |packet| {
        packet.eap_message(&CHALLENGE);
        packet.attribute(&hidden);
    });
    let state = Attribute::fixed(AttributeType::STATE, b"x");
    says(&mut bench, 3, |packet| packet.attributes([hidden, state, state]));
    says(&mut bench, 4, |packet| packet.attributes([hidden, hidden]));
    assert_eq!(bench.discards()[1..], ["malformed"; 3]);
    assert_eq!((bench.asked.len(), bench.datagrams.len(), bench.server.conversations()), (0, 1, 0));
}

#[test]
fn a_new_request_with_an_old_identifier_is_a_new_request() {
    let mut bench = Bench::usual();
    says(&mut bench, 1, |packet| packet.eap_message(&[2, 0, 0, 5, 1]));
    says(&mut bench, 1, |packet| packet.eap_message(&[2, 0, 0, 6, 1, b'x']));
    assert_eq!((bench.asked.len(), bench.server.remembered()), (2, 1));
}

fn challenge_for_ever(request: &server::Request) -> Option<server::Command> {
    Some(server::Command::Challenge { conversation: request.conversation, eap: CHALLENGE.to_vec() })
}

/// Starts a conversation and answers its first challenge.
fn gone_on(bench: &mut Bench, conversation: u64) {
    bench.owner = challenge_for_ever;
    bench.authenticate(identity(conversation));
    bench.round_trip();
    bench.authenticate(answer(conversation, bench.state()));
    bench.round_trip();
}

#[test]
fn a_flood_of_conversations_is_bounded_and_spares_those_under_way() {
    let mut config = server_config();
    config.conversations_max = 5;
    let mut bench = Bench::new(client_config(), config);
    gone_on(&mut bench, 0);
    let state = bench.state();
    (1..100).for_each(|n| bench.authenticate(identity(n)));
    bench.round_trip();
    assert_eq!(bench.server.conversations(), 5);
    assert_eq!(bench.discards(), ["conversation given up for a newer one"; 95]);
    bench.owner = challenge_then_accept;
    let newest = bench.state();
    for answer in [answer(0, state), answer(99, newest)] {
        bench.authenticate(answer);
        bench.round_trip();
        assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "{:?}", bench.told.last());
    }
    bench.run();
    assert_eq!(bench.server.conversations(), 0);
    let expired = bench.asked.iter().filter(|event| matches!(event, server::Event::Expired(_)));
    assert_eq!(expired.count(), 98, "the owner may forget all others");
}

/// A conversation whose owner is still looking for an answer is evicted, or grows too old: a retransmitted request is then
/// processed.
#[test]
fn a_request_dropped_before_its_answer_may_be_retransmitted() {
    type GiveUp = fn(&mut Bench);
    let makes_room: GiveUp = |bench| {
        bench.authenticate(identity(2));
        bench.deliver(&bench.datagrams[1].clone());
    };
    let waits: GiveUp = |bench| {
        bench.now += Duration::from_secs(5);
        bench.server_input(Input::Tick);
    };
    for give_up in [makes_room, waits] {
        let mut config = server_config();
        (config.conversations_max, config.conversation_idle_max) = (1, Duration::from_secs(5));
        let mut bench = Bench::new(client_config(), config);
        bench.owner = |_| None;
        bench.authenticate(identity(1));
        bench.round_trip();
        give_up(&mut bench);
        assert!(bench.asked.iter().any(|event| matches!(event, server::Event::Expired(_))));
        bench.owner = challenge_then_accept;
        bench.deliver(&bench.datagrams[0].clone());
        bench.round_trip();
        let Some(Event::Challenge { conversation, .. }) = bench.told.first() else {
            panic!("{:?}", bench.told)
        };
        assert_eq!(*conversation, ConversationId(1));
    }
}

#[test]
fn if_all_conversations_are_under_way_no_new_one_starts() {
    let mut config = server_config();
    config.conversations_max = 2;
    let mut bench = Bench::new(client_config(), config);
    (0..2).for_each(|n| gone_on(&mut bench, n));
    bench.authenticate(identity(2));
    bench.round_trip();
    assert_eq!((bench.server.conversations(), bench.discards()), (2, vec!["too many conversations"]));
}

#[test]
fn stored_responses_are_limited_in_number_and_time() {
    let mut config = server_config();
    config.responses_max = 3;
    let mut bench = Bench::new(client_config(), config);
    (0..10).for_each(|n| bench.want(client::Command::Account(start(n))));
    bench.round_trip();
    assert_eq!((bench.told.len(), bench.server.remembered()), (10, 3));
    let [first, .., last] = &bench.datagrams[..10] else { panic!("{:?}", bench.datagrams) };
    let (first, last) = (first.clone(), last.clone());
    bench.deliver(&last);
    assert_eq!(bench.asked.len(), 10, "the last one is remembered");
    bench.deliver(&first);
    assert_eq!(bench.asked.len(), 11, "the first one is not");
    bench.now += Duration::from_secs(30);
    bench.server_input(Input::Tick);
    assert_eq!(bench.server.remembered(), 0);
}

#[test]
fn an_idle_conversation_expires_and_its_state_with_it() {
    let mut bench = Bench::usual();
    bench.authenticate(identity(1));
    bench.round_trip();
    let state = bench.state();
    bench.run();
    assert!(matches!(bench.asked[..], [server::Event::Request(_), server::Event::Expired(_)]));
    assert_eq!(bench.now.as_nanos(), 30_010_000_000);
    bench.authenticate(answer(1, state));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Reject { .. })));
}

#[test]
fn a_conversation_cannot_be_kept_alive_for_ever() {
    let mut bench = Bench::usual();
    bench.owner = |request| {
        let conversation = request.conversation;
        Some(server::Command::Challenge { conversation, eap: CHALLENGE.to_vec() })
    };
    bench.authenticate(identity(1));
    let mut rounds = 0;
    loop {
        bench.run_until(bench.now + Duration::from_secs(10));
        let Some(Event::Challenge { state, .. }) = bench.told.last() else { break };
        bench.now += Duration::from_secs(10);
        bench.authenticate(answer(1, state.clone()));
        rounds += 1;
        assert!(rounds < 20, "still alive after {}", bench.now);
    }
    assert!(matches!(bench.told.last(), Some(Event::Reject { .. })));
    assert_eq!(bench.server.conversations(), 0);
}

#[test]
fn a_late_or_repeated_result_is_ignored() {
    let mut bench = Bench::usual();
    bench.owner = |_| None;
    bench.authenticate(identity(1));
    bench.round_trip();
    let conversation = server::ConversationId(0);
    let reject = || server::Command::Reject { conversation, eap: None };
    bench.server_input(Input::Command(reject()));
    bench.server_input(Input::Command(reject()));
    assert_eq!(bench.datagrams.len(), 2);
    bench.authenticate(identity(2));
    bench.round_trip();
    bench.run();
    let sent = bench.datagrams.len();
    bench.server_input(Input::Command(server::Command::Reject {
        conversation: server::ConversationId(1),
        eap: None,
    }));
    assert_eq!(bench.datagrams.len(), sent);
}

#[test]
fn no_secret_is_printed() {
    let mut bench = Bench::usual();
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    bench.round_trip();
    let everything =
        format!("{:?} {:?} {:?} {:?} {:?}", bench.client, bench.server, bench.told, bench.asked, bench.facts);
    assert!(!everything.contains("90, 90, 90"), "the MSK is printed");
    let secret = format!("{SECRET:?}");
    assert!(!everything.contains(secret.trim_matches(['[', ']'])) && !everything.contains("horse"));
}
