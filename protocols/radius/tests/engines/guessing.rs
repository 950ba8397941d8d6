//! Limits for an attacker that tries passwords or keeps conversations open; other users are served. RFC 5997: Status-Server.

use std::time::Duration;

use keytoll_engine::{Input, Time};
use keytoll_net::{Addr, Socket};
use keytoll_radius::client::Event;
use keytoll_radius::number::{AttributeType, Code};
use keytoll_radius::server::{Command, Request};
use keytoll_radius::wire::{Attribute, Packet, PacketBuilder};

use super::support::{
    Bench, CHALLENGE, FAILURE, SECRET, answer, authentication, challenge_then_accept, client_config, gateway,
    identity, server_config,
};
use keytoll_crypto_api::Secret;

/// Every password is wrong.
fn challenge_then_reject(request: &Request) -> Option<Command> {
    let conversation = request.conversation;
    Some(if request.first {
        Command::Challenge { conversation, eap: CHALLENGE.to_vec() }
    } else {
        Command::Reject { conversation, eap: Some(FAILURE.to_vec()) }
    })
}

/// Refuses after a second, and serves three conversations of a user or a device at a time.
fn careful() -> Bench {
    let mut config = server_config();
    (config.conversations_per_user_max, config.reject_delay) = (3, Duration::from_secs(1));
    config.conversations_per_station_max = 3;
    let mut bench = Bench::new(client_config(), config);
    bench.owner = challenge_then_reject;
    bench
}

fn rejects(bench: &Bench) -> usize {
    bench.told.iter().filter(|event| matches!(event, Event::Reject { .. })).count()
}

#[test]
fn a_refusal_leaves_after_its_delay_and_once() {
    let mut bench = careful();
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    bench.round_trip();
    assert_eq!((rejects(&bench), bench.server.conversations()), (0, 1));
    let again = bench.datagrams.last().unwrap().clone();
    bench.deliver(&again);
    assert_eq!(bench.discards(), ["repeated while unanswered"]);
    let decided = bench.now;
    bench.wait_until(decided + Duration::from_millis(950));
    assert_eq!(rejects(&bench), 0);
    bench.wait_until(decided + Duration::from_millis(1050));
    assert_eq!((rejects(&bench), bench.server.conversations()), (1, 0));
    bench.deliver(&again);
    assert_eq!(bench.datagrams.len(), 5, "a retransmission gets the same answer");
}

/// As fast as they come, over as many conversations as there can be.
#[test]
fn few_passwords_of_a_user_are_tried_in_a_second() {
    let mut bench = careful();
    for guess in 0..400 {
        bench.authenticate(identity(guess));
        bench.round_trip();
        if let Some(Event::Challenge { conversation, state, .. }) = bench.told.last()
            && conversation.0 == guess
        {
            bench.authenticate(answer(guess, state.clone()));
        }
        bench.wait_until(Time::ZERO + Duration::from_millis(20 * (guess + 1)));
    }
    let seconds = bench.now.as_nanos() as f64 / 1e9;
    // A challenge answers no password: the device has not tried one yet.
    let answers = rejects(&bench);
    assert!(seconds > 7.0 && answers > 20 && bench.judged > 20, "{answers}, {} in {seconds} s", bench.judged);
    assert!(answers as f64 / seconds <= 10.0, "{answers} in {seconds} s");
    assert!(bench.judged as f64 / seconds <= 3.5, "{} in {seconds} s", bench.judged);
    assert!(bench.discards().contains(&"too many password attempts for this user"));
}

/// Opens a conversation of a device, and answers its challenge.
fn attempt(bench: &mut Bench, number: u64, user_name: &str, number_of_station: u8) {
    let station = format!("02-00-00-00-00-{number_of_station:02X}");
    let named = |authenticate: keytoll_radius::client::Authenticate| {
        let mut authenticate =
            keytoll_radius::client::Authenticate { user_name: user_name.into(), ..authenticate };
        authenticate
            .attributes
            .push(Attribute::new(AttributeType::CALLING_STATION_ID, station.as_bytes()).unwrap());
        authenticate
    };
    bench.authenticate(named(identity(number)));
    bench.round_trip();
    if let Some(Event::Challenge { conversation, state, .. }) = bench.told.last()
        && conversation.0 == number
    {
        bench.authenticate(named(answer(number, state.clone())));
        bench.round_trip();
    }
}

/// RFC 2759 §4: the password of a user is found without the domain before the name, so that all domains have one limit.
#[test]
fn domains_before_a_name_do_not_multiply_its_passwords() {
    let mut bench = careful();
    for guess in 0..20 {
        let names = [format!("D{guess}\\odysseus"), "@\\odysseus".into(), "anonymous@x\\odysseus".into()];
        attempt(&mut bench, guess, &names[guess as usize % 3], guess as u8);
    }
    assert_eq!((bench.judged, bench.server.conversations()), (3, 20), "the others are queued");
}

/// A name costs a stranger nothing, so that it takes no place until a password is tried.
#[test]
fn conversations_that_only_claim_a_name_keep_its_user_out_of_nothing() {
    let mut bench = careful();
    (0..20).for_each(|conversation| bench.authenticate(identity(conversation)));
    bench.round_trip();
    assert_eq!(bench.server.conversations(), 20);
    bench.owner = challenge_then_accept;
    attempt(&mut bench, 30, "odysseus", 0);
    assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "{:?}", bench.told.last());
}

/// All have begun before the first password is tried.
#[test]
fn conversations_that_were_prepared_try_no_more_passwords() {
    let mut bench = careful();
    let prepared = (0..20).map(|number| {
        bench.authenticate(identity(number));
        bench.round_trip();
        answer(number, bench.state())
    });
    let prepared: Vec<_> = prepared.collect();
    prepared.into_iter().for_each(|answer| bench.authenticate(answer));
    bench.round_trip();
    assert_eq!((bench.judged, bench.server.conversations(), rejects(&bench)), (3, 20, 0));
    bench.wait_until(bench.now + Duration::from_millis(1100));
    assert_eq!((bench.judged, rejects(&bench)), (6, 3));
    bench.wait_until(bench.now + Duration::from_secs(8));
    assert_eq!((rejects(&bench), bench.server.conversations()), (15, 0), "the others get no answer");
    let late =
        bench.discards().iter().filter(|why| **why == "too many password attempts for this user").count();
    assert_eq!(late, 5);
}

/// RFC 3579 §2.6.2: a request of EAP from a peer ends its conversation, after the delay of a refusal.
#[test]
fn a_useless_packet_gives_no_place_away() {
    let mut bench = careful();
    bench.authenticate(identity(1));
    bench.round_trip();
    let mut useless = answer(1, bench.state());
    useless.credential = keytoll_radius::client::Credential::Eap(vec![1, 9, 0, 5, 1]);
    bench.authenticate(useless);
    bench.round_trip();
    assert_eq!((rejects(&bench), bench.server.conversations()), (0, 1));
    let decided = bench.now;
    bench.wait_until(decided + Duration::from_millis(1050));
    assert_eq!((rejects(&bench), bench.server.conversations()), (1, 0));
}

#[test]
fn another_user_and_one_without_a_name_are_served_meanwhile() {
    let mut bench = careful();
    (0..20).for_each(|guess| attempt(&mut bench, guess, "nemo", guess as u8));
    assert_eq!(bench.server.conversations(), 20);
    bench.owner = challenge_then_accept;
    for (conversation, name) in [(30, "odysseus"), (31, "anonymous@example.org"), (32, "@example.org")] {
        let named =
            |authenticate| keytoll_radius::client::Authenticate { user_name: name.into(), ..authenticate };
        bench.authenticate(named(identity(conversation)));
        bench.round_trip();
        bench.authenticate(named(answer(conversation, bench.state())));
        bench.round_trip();
        assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "{name}: {:?}", bench.told.last());
    }
    (40..60).for_each(|conversation| {
        let user_name = b"anonymous@example.org".to_vec();
        bench.authenticate(keytoll_radius::client::Authenticate { user_name, ..identity(conversation) });
    });
    bench.round_trip();
    assert_eq!(bench.server.conversations(), 40, "a name alone is not counted");
}

/// A device that has no name but an address of its own.
#[test]
fn a_station_has_as_few_conversations_as_a_user() {
    let mut bench = careful();
    for conversation in 0..20 {
        let mut request = identity(conversation);
        request.user_name = b"anonymous".to_vec();
        request.attributes.push(Attribute::fixed(AttributeType::CALLING_STATION_ID, b"02-00-00-00-00-01"));
        bench.authenticate(request);
    }
    bench.round_trip();
    assert_eq!(bench.server.conversations(), 3);
}

/// A telephone that went away three times in the midst is let in after a second.
#[test]
fn a_try_counts_for_a_second() {
    let mut bench = careful();
    bench.owner =
        |request| Some(Command::Challenge { conversation: request.conversation, eap: CHALLENGE.to_vec() });
    (0..3).for_each(|number| attempt(&mut bench, number, "nemo", number as u8));
    bench.owner = challenge_then_accept;
    bench.wait_until(bench.now + Duration::from_millis(1100));
    bench.authenticate(identity(3));
    bench.round_trip();
    bench.authenticate(answer(3, bench.state()));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "{:?}", bench.told.last());
    assert_eq!(bench.discards(), [""; 0]);
}

/// One client holds all places with conversations that have gone on and are silent now: its next user waits a second, not 30.
#[test]
fn a_table_full_of_silent_conversations_lets_a_new_one_in_after_a_second() {
    let mut config = server_config();
    config.conversations_max = 4;
    let mut bench = Bench::new(client_config(), config);
    bench.owner =
        |request| Some(Command::Challenge { conversation: request.conversation, eap: CHALLENGE.to_vec() });
    for conversation in 0..4 {
        bench.authenticate(identity(conversation));
        bench.round_trip();
        bench.authenticate(answer(conversation, bench.state()));
        bench.round_trip();
    }
    bench.authenticate(identity(4));
    bench.round_trip();
    assert_eq!(bench.discards(), ["too many conversations"]);
    bench.wait_until(bench.now + Duration::from_secs(1));
    bench.owner = challenge_then_accept;
    bench.authenticate(identity(5));
    bench.round_trip();
    bench.authenticate(answer(5, bench.state()));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Accept(_))), "{:?}", bench.told.last());
}

/// Asks whether the server is alive; returns the code of its answer.
fn status(bench: &mut Bench, port: u16, secret: &[u8], is_authentic: bool) -> Option<Code> {
    let sent = bench.datagrams.len();
    let of_kind = if is_authentic { PacketBuilder::authentic } else { PacketBuilder::new };
    let sealed = of_kind(Code::STATUS_SERVER, 7)
        .seal_request(&[7; 16], &Secret::from(secret), &mut keytoll_crypto::Real::default())
        .unwrap();
    let [from, to] =
        [(gateway(), 5000), (authentication().ip, port)].map(|(ip, port)| Addr::Udp(Socket::new(ip, port)));
    bench.server_input(Input::Datagram { from, to, bytes: &sealed.bytes });
    let answer = bench.datagrams.get(sent)?;
    let packet = Packet::read(&answer.bytes).unwrap();
    let verified = match packet.code {
        Code::ACCOUNTING_RESPONSE => packet.verify_accounting_response(
            &[7; 16],
            &Secret::from(secret),
            &mut keytoll_crypto::Real::default(),
        ),
        _ => packet.verify_response(&[7; 16], &Secret::from(secret), &mut keytoll_crypto::Real::default()),
    };
    assert_eq!(verified, Ok(()));
    Some(packet.code)
}

/// RFC 5997 §4.2: an Access-Accept of the port for authentication, an Accounting-Response of that for accounting, of both as often as asked.
#[test]
fn a_client_with_the_secret_learns_that_the_server_is_alive() {
    let mut bench = Bench::usual();
    let ports = [1812, 1812, 1813, 1812];
    let codes = ports.map(|port| status(&mut bench, port, SECRET, true));
    let accept = Some(Code::ACCESS_ACCEPT);
    assert_eq!(codes, [accept, accept, Some(Code::ACCOUNTING_RESPONSE), accept]);
    assert_eq!((bench.asked.len(), bench.server.remembered(), bench.server.conversations()), (0, 0, 0));
    assert_eq!(status(&mut bench, 1812, b"another secret", true), None);
    assert_eq!(status(&mut bench, 1813, SECRET, false), None, "RFC 5997 §3: with a Message-Authenticator");
    assert_eq!(bench.discards(), ["wrong Message-Authenticator", "no Message-Authenticator"]);
    assert_eq!(bench.strangers.len(), 2, "its owner learns who is refused");
}
