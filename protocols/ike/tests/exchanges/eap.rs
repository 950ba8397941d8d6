//! EAP inside IKE_AUTH, RFC 7296 §2.16: the test acts as EAP server at one end and as EAP peer at the other. The contents do
//! not matter here, only that they are carried and what follows from the result.

use std::net::IpAddr;

use keytoll_crypto_api::Secret;
use keytoll_engine::{Datagram, Time};
use keytoll_ike::config::{Believe, Config, Connection, Pool, Prove};
use keytoll_ike::{Command, Eap, Event, Reason, SaId};

use crate::support::bench::Fault;
use crate::support::lab::{Change, DEVICE, Pki, ike, only, psk, seconds, secret};
use crate::support::{Bench, Side, check};

/// EAP codes, RFC 3748 §4.
const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// The exchange type, RFC 7296 §3.1.
const IKE_AUTH: u8 = 35;

/// An EAP packet with only a header and one byte.
fn packet(code: u8, identifier: u8) -> Vec<u8> {
    vec![code, identifier, 0, 5, 42]
}

/// The responder authenticates with the shared key, the initiator with EAP.
fn eap() -> (Config, Config) {
    let (mut i, mut r) = psk();
    only(&mut i).local = Prove::Eap;
    only(&mut r).remote = Believe::Eap;
    (i, r)
}

/// The server's decision after so many requests, and the keys of both ends.
struct Script {
    rounds: u8,
    server: Result<Option<Secret>, ()>,
    peer: Option<Secret>,
    /// After so many packets of the server the peer gives up.
    patience: u8,
    /// The identity that the server reports as authenticated.
    proved: Option<Vec<u8>>,
}

impl Script {
    fn success(msk: Option<&str>) -> Self {
        let msk = msk.map(secret);
        let proved = Some(DEVICE.into());
        Self { rounds: 2, server: Ok(msk.clone()), peer: msk, patience: u8::MAX, proved }
    }
}

/// Plays both ends of the EAP conversation until nothing moves.
fn play(mut bench: Bench, script: &Script) -> Bench {
    bench.initiate();
    let (mut seen, mut asked) = ([0, 0], 0);
    for _ in 0..100 {
        for (index, side) in [Side::I, Side::R].into_iter().enumerate() {
            while let Some(heard) = heard(&mut bench, side, &mut seen[index]) {
                let (sa, answer) = match side {
                    Side::I => peer(heard, script),
                    Side::R => server(heard, script, &mut asked),
                };
                bench.command(side, Command::Eap(sa, answer));
            }
        }
        if !bench.step(Time::from_nanos(20_000_000_000)) {
            break;
        }
    }
    bench
}

/// The next EAP event at a side: the SA, and the packet if there is one.
fn heard(bench: &mut Bench, side: Side, seen: &mut usize) -> Option<(SaId, Option<Vec<u8>>)> {
    while let Some(event) = bench.seat(side).events.get(*seen) {
        *seen += 1;
        match event {
            Event::EapStart { sa, .. } => return Some((*sa, None)),
            Event::EapPacket(sa, packet) => return Some((*sa, Some(packet.clone()))),
            _ => {}
        }
    }
    None
}

fn server((sa, answer): (SaId, Option<Vec<u8>>), script: &Script, asked: &mut u8) -> (SaId, Eap) {
    if let Some(answer) = answer {
        assert_eq!(answer, packet(RESPONSE, *asked), "carried as it was");
    }
    *asked += 1;
    let eap = match &script.server {
        _ if *asked <= script.rounds => Eap::Packet(packet(REQUEST, *asked)),
        Ok(msk) => Eap::Success {
            packet: packet(SUCCESS, *asked),
            msk: msk.clone(),
            identity: script.proved.clone(),
        },
        Err(()) => Eap::Failure { packet: packet(FAILURE, *asked) },
    };
    (sa, eap)
}

fn peer((sa, request): (SaId, Option<Vec<u8>>), script: &Script) -> (SaId, Eap) {
    let request = request.expect("the peer hears packets only");
    let eap = match request[0] {
        _ if request[1] > script.patience => Eap::Failure { packet: Vec::new() },
        REQUEST => Eap::Packet(packet(RESPONSE, request[1])),
        SUCCESS => Eap::Success { packet: Vec::new(), msk: script.peer.clone(), identity: None },
        _ => Eap::Failure { packet: Vec::new() },
    };
    (sa, eap)
}

#[test]
fn eap_adds_two_messages_a_round_and_two_for_the_proof() {
    let bench = play(Bench::new(eap()), &Script::success(Some("an MSK of sixty-four bytes, or so")));
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr SA TSi TSr
        r  EAP begins with device.example.org
        r -> i  IKE_AUTH response  SK IDr AUTH EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK EAP
        r  EAP packet
        r -> i  IKE_AUTH response  SK EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK EAP
        r  EAP packet
        r -> i  IKE_AUTH response  SK EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK AUTH
        r -> i  IKE_AUTH response  SK AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

/// RFC 7296 §2.16: EAP-MD5 derives no key; SK_pi and SK_pr take its place.
#[test]
fn a_method_without_a_key_suffices_if_the_responder_is_authenticated() {
    play(Bench::new(eap()), &Script::success(None)).assert_agreement();
}

#[test]
fn the_responder_may_authenticate_with_a_certificate() {
    let pki = Pki::new(keytoll_crypto_api::algorithm::KeyKind::EcdsaP256, 2);
    let (mut i, mut r) = pki.configs();
    only(&mut i).local = Prove::Eap;
    only(&mut r).remote = Believe::Eap;
    play(Bench::new((i, r)), &Script::success(Some("msk"))).assert_agreement();
}

/// RFC 5998: the key from EAP is the responder's only proof; without a key there is none.
#[test]
fn eap_only_needs_a_method_with_a_key() {
    let only_eap = || {
        let (mut i, r) = eap();
        only(&mut i).remote = Believe::Eap;
        (i, r)
    };
    play(Bench::new(only_eap()), &Script::success(Some("msk"))).assert_agreement();
    let mut bench = play(Bench::new(only_eap()), &Script::success(None));
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

/// RFC 5998 §3: a responder with EAP only sends neither certificate nor AUTH before the end.
#[test]
fn a_responder_with_eap_only_authenticates_at_the_end() {
    let bench = play(Bench::new(nothing_but_eap()), &Script::success(Some("an MSK")));
    bench.assert_agreement();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr N SA TSi TSr
        r  EAP begins with device.example.org
        r -> i  IKE_AUTH response  SK IDr EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK EAP
        r  EAP packet
        r -> i  IKE_AUTH response  SK EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK EAP
        r  EAP packet
        r -> i  IKE_AUTH response  SK EAP
        i  EAP packet
        i -> r  IKE_AUTH request  SK AUTH
        r -> i  IKE_AUTH response  SK AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with nobody named
        i  child up: aes128gcm16
        ",
    );
}

#[test]
fn a_responder_with_eap_only_refuses_initiators_that_require_its_auth() {
    let (mut i, r) = nothing_but_eap();
    only(&mut i).remote = only(&mut psk().0).remote.clone();
    let mut bench = play(Bench::new((i, r)), &Script::success(Some("an MSK")));
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_responder_with_eap_only_refuses_a_method_without_a_key() {
    let script = Script { peer: Some(secret("made up")), ..Script::success(None) };
    let mut bench = play(Bench::new(nothing_but_eap()), &script);
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

/// RFC 5998 §3: of two matching connections, the one with a proof that the initiator can verify is used.
#[test]
fn an_initiator_without_eap_only_gets_the_connection_with_auth() {
    let (i, mut r) = eap();
    let mut nothing_but_eap = only(&mut r).clone();
    nothing_but_eap.local = Prove::Eap;
    r.connections.insert(0, nothing_but_eap);
    play(Bench::new((i, r)), &Script::success(Some("an MSK"))).assert_agreement();
}

/// Both sides with EAP alone.
fn nothing_but_eap() -> (Config, Config) {
    let (mut i, mut r) = eap();
    only(&mut i).remote = Believe::Eap;
    only(&mut r).local = Prove::Eap;
    (i, r)
}

#[test]
fn different_keys_are_no_proof() {
    let script = Script { peer: Some(secret("mine")), ..Script::success(Some("theirs")) };
    let mut bench = play(Bench::new(eap()), &script);
    bench.settle();
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
    bench.run_out(std::time::Duration::from_secs(400));
    bench.assert_nothing_remains();
}

/// An AAA server that omits the keys from its Access-Accept although the method derived some.
#[test]
fn a_missing_key_is_no_proof() {
    let script = Script { peer: Some(secret("an MSK")), ..Script::success(None) };
    let mut bench = play(Bench::new(eap()), &script);
    bench.settle();
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_failure_ends_it_on_both_sides() {
    let script = Script { rounds: 1, server: Err(()), peer: None, ..Script::success(None) };
    let mut bench = play(Bench::new(eap()), &script);
    assert_eq!(bench.failures(Side::R), ["EAP failure"]);
    assert_eq!(bench.failures(Side::I), ["EAP failure"]);
    let is_last = |(side, datagram): &(Side, Datagram)| *side == Side::R && datagram.bytes[18] == IKE_AUTH;
    assert!(bench.sent.last().is_some_and(is_last), "who was refused has nothing to add\n{}", bench.ladder);
    bench.run_out(std::time::Duration::from_secs(400));
    bench.assert_nothing_remains();
}

/// RFC 7296 §2.16: the responder's last message proves that it has the key from EAP, whether it is authenticated before or
/// not. Null cryptography accepts any ICV, so only this proof is wrong.
#[test]
fn the_responder_s_last_auth_is_verified() {
    for configs in [eap, nothing_but_eap] {
        let script = Script::success(Some("an MSK"));
        let genuine = play(Bench::null(configs(), 1), &script);
        genuine.assert_agreement();
        let n = genuine.sent.iter().rposition(|(side, _)| *side == Side::R).unwrap();
        // After the IKE header, that of SK, the IV, and what precedes the data of AUTH.
        let bits_from_end = 8 * (genuine.sent[n].1.bytes.len() - 1 - (28 + 4 + 8 + 8));
        let mut bench = play(Bench::null(configs(), 1).fault(n + 1, Fault::Corrupt(bits_from_end)), &script);
        assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"], "{}", bench.ladder);
        assert_eq!(bench.i.books.sa_count(), 0);
    }
}

/// A peer that refuses the server, whether at its first request or at its final AUTH: the responder is told, confirms, and
/// keeps no state.
#[test]
fn a_peer_that_gives_up_ends_it_on_both_sides() {
    for answered in 0..3 {
        let mut bench =
            play(Bench::new(eap()), &Script { patience: answered, ..Script::success(Some("msk")) });
        bench.settle();
        assert_eq!(bench.failures(Side::I), ["EAP failure"], "after {answered}");
        assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"], "after {answered}");
        bench.run_out(std::time::Duration::from_secs(400));
        bench.assert_nothing_remains();
    }
}

/// An AAA server that never answers: the gateway gives up the conversation, the device its requests.
#[test]
fn a_server_that_never_answers_costs_two_minutes_and_no_memory() {
    let mut bench = Bench::new(eap());
    bench.initiate();
    bench.run_out(std::time::Duration::from_secs(400));
    assert_eq!(bench.failures(Side::R), ["timeout"]);
    assert_eq!(bench.failures(Side::I), ["timeout"]);
    bench.assert_nothing_remains();
}

#[test]
fn a_gateway_without_eap_refuses_a_device_without_proof() {
    let (mut i, r) = psk();
    only(&mut i).local = Prove::Eap;
    let mut bench = Bench::new((i, r)).established();
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::R), ["unexpected identity"]);
}

/// Lost and duplicated datagrams: the conversation is carried by requests that are retransmitted until answered.
#[test]
fn any_one_datagram_may_be_lost_or_come_twice() {
    for n in 1..=12 {
        play(Bench::new(eap()).lose(n), &Script::success(Some("msk"))).assert_agreement();
        play(Bench::new(eap()).duplicate(n), &Script::success(Some("msk"))).assert_agreement();
    }
}

/// The responder's connections, each with its expected identity and a pool of its own: 10.n.0.1 for the n-th.
fn expecting(peers: &[Option<&str>]) -> (Config, Config) {
    let (mut i, mut r) = eap();
    only(&mut i).request_address = true;
    let any = only(&mut r).clone();
    let connections = peers.iter().zip(0..).map(|(peer, n)| Connection {
        remote_id: peer.map(|peer| peer.parse().unwrap()),
        pool: Some(Pool { first: [10, n, 0, 1].into(), size: 9 }),
        ..any.clone()
    });
    r.connections = connections.collect();
    (i, r)
}

/// The result for a device that claims `claimed` and that EAP authenticates as `proved`: its inner address, or why it is
/// refused.
fn admitted(
    peers: &[Option<&str>],
    claimed: &str,
    proved: Option<&str>,
) -> Result<(String, IpAddr), &'static str> {
    let (mut i, r) = expecting(peers);
    only(&mut i).local_id = claimed.parse().unwrap();
    let proved = proved.map(|name| name.as_bytes().to_vec());
    let mut bench = play(Bench::new((i, r)), &Script { proved, ..Script::success(Some("an MSK")) });
    bench.settle();
    let up = bench.seat(Side::R).events.iter().find_map(|event| match event {
        Event::Established(up) => Some(up.clone()),
        _ => None,
    });
    match up {
        Some(up) => {
            assert_eq!(up.claimed, claimed.parse().unwrap());
            let peer = up.peer.map_or_else(|| "nobody".to_owned(), |peer| peer.to_string());
            Ok((peer, up.address.expect("its connection has a pool")))
        }
        None => Err(bench.failures(Side::R)[0]),
    }
}

/// RFC 7296 §2.16: access depends on the identity that EAP authenticated, whatever IDi says.
#[test]
fn connection_and_pool_follow_the_identity_of_eap() {
    let (boss, ue) = (Some("boss@lab"), Some("ue@lab"));
    let of = |peer: &str, n| Ok((peer.to_owned(), IpAddr::from([10, n, 0, 1])));
    for claimed in ["boss@lab", "ue@lab", "4pseudonym@lab", "192.0.2.7"] {
        assert_eq!(admitted(&[boss, ue], claimed, boss), of("boss@lab", 0), "{claimed}");
        assert_eq!(admitted(&[boss, ue], claimed, ue), of("ue@lab", 1), "{claimed}");
        assert_eq!(admitted(&[boss, None], claimed, ue), of("ue@lab", 1), "{claimed}");
        assert_eq!(admitted(&[boss], claimed, ue), Err("unexpected identity"), "{claimed}");
        // An AAA server that names nobody has authenticated no name.
        assert_eq!(admitted(&[boss], claimed, None), Err("unexpected identity"), "{claimed}");
        assert_eq!(admitted(&[boss, None], claimed, None), of("nobody", 1), "{claimed}");
    }
    assert_eq!(admitted(&[boss], "boss@lab", Some("")), Err("unexpected identity"));
    assert_eq!(admitted(&[boss], "boss@lab", Some("boss@lab\0")), Err("unexpected identity"));
}

/// Our AUTH, which the initiator has verified, must apply to its final connection.
#[test]
fn a_connection_with_another_local_identity_is_not_used() {
    let (i, mut r) = expecting(&[Some("boss@lab"), Some("ue@lab")]);
    r.connections[1].local_id = "other.example.org".parse().unwrap();
    let script = Script { proved: Some(b"ue@lab".to_vec()), ..Script::success(Some("an MSK")) };
    let mut bench = play(Bench::new((i, r)), &script);
    assert_eq!(bench.failures(Side::R), ["unexpected identity"]);
}

/// The connection of the authenticated identity must use EAP, the requested responder, the negotiated suite, and exactly the
/// AUTH that the initiator has verified.
#[test]
fn a_connection_that_does_not_match_the_negotiation_is_not_used() {
    let changes: [(&str, Change); 4] = [
        ("another responder", |it| it.local_id = "other.example.org".parse().unwrap()),
        ("another proof", |it| it.local = Prove::Psk(secret("another"))),
        ("another suite", |it| it.suites = ike("aes256gcm16-prfsha256-x25519")),
        ("without EAP", |it| it.remote = Believe::psk(secret("a key"))),
    ];
    for asks in [false, true] {
        for (what, change) in changes {
            let (mut i, mut r) = expecting(&[Some("boss@lab"), Some("ue@lab")]);
            if !asks {
                only(&mut i).remote_id = None;
            }
            change(&mut r.connections[1]);
            let script = Script { proved: Some(b"ue@lab".to_vec()), ..Script::success(Some("an MSK")) };
            let mut bench = play(Bench::new((i, r)), &script);
            assert_eq!(bench.failures(Side::R), ["unexpected identity"], "{what}, asked for: {asks}");
        }
    }
}

/// RFC 8019 §4.1: an initiator that falls silent during EAP keeps its place no longer than one that never continued;
/// retransmissions do not count as silence.
#[test]
fn an_initiator_that_falls_silent_in_eap_is_dropped_soon() {
    let begun = || {
        let mut bench = Bench::null(eap(), 1);
        bench.initiate();
        bench.settle();
        let Some(Event::EapStart { sa, .. }) = bench.r.events.last() else { panic!("{}", bench.ladder) };
        let sa = *sa;
        // The initiator never hears it.
        bench.cut.insert(Side::R, true);
        bench.command(Side::R, Command::Eap(sa, Eap::Packet(packet(REQUEST, 1))));
        bench
    };
    let mut silent = begun();
    silent.cut.insert(Side::I, true);
    silent.run_for(seconds(29));
    assert_eq!(silent.r.endpoint.half_open_count(), 1);
    silent.run_for(seconds(2));
    assert_eq!(silent.r.endpoint.half_open_count(), 0);
    assert!(
        matches!(silent.r.events.last(), Some(Event::Failed(_, Reason::Timeout, _))),
        "{}",
        silent.ladder
    );

    let mut patient = begun();
    patient.run_for(seconds(45));
    assert_eq!(patient.r.endpoint.half_open_count(), 1, "{}", patient.ladder);
    patient.run_for(seconds(80));
    assert_eq!(patient.r.endpoint.half_open_count(), 0, "not for ever");
}

/// An AAA server that names nobody (permitted by RFC 2865 §5.1): initiators of one origin get no more IKE SAs and addresses of
/// the pool than a named one.
#[test]
fn unnamed_initiators_are_counted_by_origin() {
    let (mut i, mut r) = eap();
    only(&mut i).request_address = true;
    only(&mut r).remote_id = None;
    only(&mut r).pool = Some(Pool { first: "10.0.0.1".parse().unwrap(), size: 70 });
    // There may be others behind the same NAT: sixty-four times the limit of a named one.
    r.ike_sas_max = 1;
    let script = Script { proved: None, ..Script::success(Some("an MSK")) };
    let mut bench = Bench::new((i, r));
    bench.ladder.silent = true;
    for n in 1..=80 {
        bench.i.events.clear();
        bench.r.events.clear();
        bench = play(bench, &script);
        let failed = |event: &Event| matches!(event, Event::ChildFailed(..));
        assert!(!bench.r.events.iter().any(failed), "log-in {n} has an address");
        assert_eq!(bench.r.books.sa_count(), n.min(64), "log-in {n}");
    }
}
