//! EAP inside IKE_AUTH, RFC 7296 §2.16: the test is the EAP server at one end and the EAP peer at the other. What they
//! say to each other is of no interest here, only that it is carried and what follows from the verdict.

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

/// An EAP packet with nothing but a header and one byte.
fn packet(code: u8, identifier: u8) -> Vec<u8> {
    vec![code, identifier, 0, 5, 42]
}

/// The responder proves itself with the shared key, the initiator with EAP.
fn eap() -> (Config, Config) {
    let (mut i, mut r) = psk();
    only(&mut i).local = Prove::Eap;
    only(&mut r).remote = Believe::Eap;
    (i, r)
}

/// What the server decides after so many requests, and the keys both ends have then.
struct Script {
    rounds: u8,
    server: Result<Option<Secret>, ()>,
    peer: Option<Secret>,
    /// After so many packets of the server's the peer gives up.
    patience: u8,
    /// Whom the server says it has proved.
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

/// The next event of EAP at a side: the SA, and the packet if there is one.
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

/// RFC 7296 §2.16: EAP-MD5 makes no key; SK_pi and SK_pr take its place.
#[test]
fn a_method_without_a_key_is_enough_where_the_responder_has_proved_itself() {
    play(Bench::new(eap()), &Script::success(None)).assert_agreement();
}

#[test]
fn the_responder_may_prove_itself_with_a_certificate() {
    let pki = Pki::new(keytoll_crypto_api::algorithm::KeyKind::EcdsaP256, 2);
    let (mut i, mut r) = pki.configs();
    only(&mut i).local = Prove::Eap;
    only(&mut r).remote = Believe::Eap;
    play(Bench::new((i, r)), &Script::success(Some("msk"))).assert_agreement();
}

/// RFC 5998: the key that EAP made is the responder's only proof; without a key there is none.
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

/// RFC 5998 §3: a responder that has nothing but EAP shows neither certificate nor AUTH before the end.
#[test]
fn a_responder_with_nothing_but_eap_proves_itself_at_the_end() {
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
fn a_responder_with_nothing_but_eap_refuses_who_wants_its_own_proof() {
    let (mut i, r) = nothing_but_eap();
    only(&mut i).remote = only(&mut psk().0).remote.clone();
    let mut bench = play(Bench::new((i, r)), &Script::success(Some("an MSK")));
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_responder_with_nothing_but_eap_refuses_a_method_without_a_key() {
    let script = Script { peer: Some(secret("made up")), ..Script::success(None) };
    let mut bench = play(Bench::new(nothing_but_eap()), &script);
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

/// RFC 5998 §3: of two connections that fit, the one is taken whose proof the initiator can judge.
#[test]
fn who_does_not_ask_for_eap_alone_gets_the_connection_with_a_proof() {
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

/// An AAA server that leaves the keys out of its Access-Accept although the method made some.
#[test]
fn a_key_that_never_came_is_no_proof() {
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

/// RFC 7296 §2.16: the responder's last message proves that it has the key that EAP made, whether it has proved itself before
/// or not. Null cryptography takes any ICV, so that this proof alone is wrong.
#[test]
fn the_responder_s_last_proof_is_judged() {
    for configs in [eap, nothing_but_eap] {
        let script = Script::success(Some("an MSK"));
        let genuine = play(Bench::null(configs(), 1), &script);
        genuine.assert_agreement();
        let n = genuine.sent.iter().rposition(|(side, _)| *side == Side::R).unwrap();
        // Behind the IKE header, that of SK, the IV, and what comes before the data of AUTH.
        let bits_from_end = 8 * (genuine.sent[n].1.bytes.len() - 1 - (28 + 4 + 8 + 8));
        let mut bench = play(Bench::null(configs(), 1).fault(n + 1, Fault::Corrupt(bits_from_end)), &script);
        assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"], "{}", bench.ladder);
        assert_eq!(bench.i.books.sa_count(), 0);
    }
}

/// A peer that does not want the server, whether it is asked for the first time or is to prove itself at the end: the
/// responder is told, agrees, and remembers nothing.
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

/// An AAA server that never answers: the gateway gives the conversation up, the device its requests.
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

/// Lost and repeated datagrams: the conversation is carried by requests that are repeated until answered.
#[test]
fn any_one_datagram_may_be_lost_or_come_twice() {
    for n in 1..=12 {
        play(Bench::new(eap()).lose(n), &Script::success(Some("msk"))).assert_agreement();
        play(Bench::new(eap()).duplicate(n), &Script::success(Some("msk"))).assert_agreement();
    }
}

/// The responder's connections, each for whom it expects and with a pool of its own: 10.n.0.1 for the n-th.
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

/// What becomes of a device that calls itself `claimed` and that EAP finds to be `proved`: the inner address it gets, or why
/// it does not get in.
fn let_in(
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

/// RFC 7296 §2.16: access is decided by whom EAP proved; IDi may say anything.
#[test]
fn connection_and_pool_follow_whom_eap_proved() {
    let (boss, ue) = (Some("boss@lab"), Some("ue@lab"));
    let of = |peer: &str, n| Ok((peer.to_owned(), IpAddr::from([10, n, 0, 1])));
    for claimed in ["boss@lab", "ue@lab", "4pseudonym@lab", "192.0.2.7"] {
        assert_eq!(let_in(&[boss, ue], claimed, boss), of("boss@lab", 0), "{claimed}");
        assert_eq!(let_in(&[boss, ue], claimed, ue), of("ue@lab", 1), "{claimed}");
        assert_eq!(let_in(&[boss, None], claimed, ue), of("ue@lab", 1), "{claimed}");
        assert_eq!(let_in(&[boss], claimed, ue), Err("unexpected identity"), "{claimed}");
        // An AAA server that names nobody has proved nobody's name.
        assert_eq!(let_in(&[boss], claimed, None), Err("unexpected identity"), "{claimed}");
        assert_eq!(let_in(&[boss, None], claimed, None), of("nobody", 1), "{claimed}");
    }
    assert_eq!(let_in(&[boss], "boss@lab", Some("")), Err("unexpected identity"));
    assert_eq!(let_in(&[boss], "boss@lab", Some("boss@lab\0")), Err("unexpected identity"));
}

/// What the initiator has heard of our own proof holds for the connection it gets in the end.
#[test]
fn a_connection_under_which_we_are_somebody_else_is_not_taken() {
    let (i, mut r) = expecting(&[Some("boss@lab"), Some("ue@lab")]);
    r.connections[1].local_id = "other.example.org".parse().unwrap();
    let script = Script { proved: Some(b"ue@lab".to_vec()), ..Script::success(Some("an MSK")) };
    let mut bench = play(Bench::new((i, r)), &script);
    assert_eq!(bench.failures(Side::R), ["unexpected identity"]);
}

/// The connection of whom EAP has proved must be one for EAP, for the responder that was asked for, for what was agreed, and
/// one with the very proof that the initiator has heard.
#[test]
fn a_connection_that_the_initiator_did_not_agree_to_is_not_taken() {
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

/// RFC 8019 §4.1: whoever falls silent in the middle of EAP has its place no longer than who never went on; who repeats
/// itself is not silent.
#[test]
fn an_initiator_that_falls_silent_in_eap_is_forgotten_soon() {
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

/// An AAA server that names nobody (RFC 2865 §5.1 lets it): whoever comes from one place has no more IKE SAs, and addresses of the
/// pool, than one with a name.
#[test]
fn whom_nobody_has_named_is_counted_where_it_is() {
    let (mut i, mut r) = eap();
    only(&mut i).request_address = true;
    only(&mut r).remote_id = None;
    only(&mut r).pool = Some(Pool { first: "10.0.0.1".parse().unwrap(), size: 70 });
    // There may be others behind the same NAT: sixty-four times as many as of one that is named.
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
