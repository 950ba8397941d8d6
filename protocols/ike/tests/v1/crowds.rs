//! Many at once: floods against the table of half-open SAs, and peers with several names, SAs, children or connections.
//! What each may cost us, and that only the requester pays for it. Read RFC 8019 §4 and §5 first.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::AlternativeName;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Datagram, Input, Output};
use keytoll_ike::config::{Believe, Config, Phase1, Prove, V1, Version};
use keytoll_ike::event::{Command, Event};
use keytoll_ike::wire::Identity;
use keytoll_net::{Addr, Socket};
use keytoll_pki::Request;

use super::configs::{psk, v1};
use crate::support::bench::Rewriter;
use crate::support::lab::{self, only, seconds, secret};
use crate::support::{Bench, Side};

const TENTH: Duration = Duration::from_millis(100);

/// A gateway with both modes, a hundred places, and ten for each address.
fn both_modes() -> (Config, Config) {
    let (i, mut r) = psk(Phase1::Aggressive);
    let mut main = only(&mut r).clone();
    main.version = Version::V1(V1::new(Phase1::Main));
    r.connections.push(main);
    (r.half_open.max, r.half_open.per_address_max) = (100, 10);
    (i, r)
}

fn first_message(phase1: Phase1) -> Datagram {
    let mut bench = Bench::new(psk(phase1));
    bench.initiate();
    bench.sent[0].1.clone()
}

/// Passes R the first message of initiator number `n` from this address: whether it answers, and why it did not.
fn knock(bench: &mut Bench, first: &Datagram, n: u32, from: u32) -> (bool, Vec<String>) {
    let from = Socket::new(Ipv4Addr::from(from).into(), 500);
    let bytes = [&n.to_be_bytes()[..], &first.bytes[4..]].concat();
    let (facts, outputs) =
        bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
    let why = facts.iter().filter_map(|fact| match fact {
        Fact::Discarded { why, .. } => Some(why.to_string()),
        _ => None,
    });
    (outputs.iter().any(|output| matches!(output, Output::Datagram(_))), why.collect())
}

fn quiet((i, r): (Config, Config)) -> Bench {
    let mut bench = Bench::null((i, r), 1);
    bench.ladder.silent = true;
    bench
}

fn address_of_i() -> u32 {
    match Side::I.ip() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(_) => unreachable!("the bench has IPv4"),
    }
}

/// RFC 2409 §5.4: detecting an invalid public value takes a key pair, so its sender occupies a place, too.
#[test]
fn unusable_public_values_cost_places_like_others() {
    let mut first = first_message(Phase1::Aggressive);
    // KE of 2048 bits: next payload, zero, length 260, the value.
    let value = first.bytes.windows(2).position(|length| length == [1, 4]).unwrap() + 2;
    first.bytes[value..value + 256].fill(0);
    let mut bench = Bench::new(both_modes());
    let refused =
        |bench: &mut Bench, n| knock(bench, &first, n, 0xcb00_7101).1.contains(&"INVALID_SYNTAX".to_owned());
    assert_eq!((0..200).filter(|n| refused(&mut bench, *n)).count(), 10);
    bench.run_for(seconds(5));
    assert_eq!((200..400).filter(|n| refused(&mut bench, *n)).count(), 10, "after a while others may");
    bench.run_for(seconds(60));
    assert_eq!((bench.r.endpoint.half_open_count(), bench.r.endpoint.sa_count()), (0, 0));
}

/// In aggressive mode an unauthenticated identity is stored, for thousands of places.
#[test]
fn a_very_long_identity_is_not_stored() {
    for (len, is_answered) in [(4000, true), (5000, false), (60_000, false)] {
        let (mut i, mut r) = psk(Phase1::Aggressive);
        only(&mut r).remote_id = None;
        only(&mut i).local_id = Identity::new(keytoll_ike::number::IdKind::ID_KEY_ID, &vec![7; len]);
        let mut bench = Bench::null((i, r), 1);
        bench.ladder.silent = true;
        bench.initiate();
        let (side, first) = bench.intercept().unwrap();
        bench.deliver(side, &first);
        assert_eq!(bench.r.endpoint.half_open_count(), usize::from(is_answered), "{len} octets");
    }
}

/// The same with so many more proposals, with an unknown transform.
fn with_proposals(first: &Datagram, count: u16) -> Datagram {
    let mut bytes = first.bytes.clone();
    let sa_len = usize::from(u16::from_be_bytes([bytes[30], bytes[31]]));
    // RFC 2408 §3.5, §3.6: next payload, length 220, number 2, ISAKMP, no SPI, one transform; its length 212, KEY_IKE, and an
    // attribute of 200 octets that nobody knows.
    let head = [2, 0, 0, 220, 2, 1, 0, 1, 0, 0, 0, 212, 1, 1, 0, 0, 0, 99, 0, 200];
    let proposal = [&head[..], &[7; 200]].concat();
    let mut more = proposal.repeat(count.into());
    let last = more.len() - proposal.len();
    more[last] = 0;
    bytes[28 + 12] = 2;
    bytes.splice(28 + sa_len..28 + sa_len, more.iter().copied());
    bytes[30..32].copy_from_slice(&u16::try_from(sa_len + more.len()).unwrap().to_be_bytes());
    let total = u32::try_from(bytes.len()).unwrap();
    bytes[24..28].copy_from_slice(&total.to_be_bytes());
    Datagram { bytes, ..first.clone() }
}

/// Nor are endless proposals, in either mode.
#[test]
fn a_very_long_offer_is_not_stored() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for (proposals, half_open) in [(50, 1), (100, 0)] {
            let mut bench = quiet(psk(phase1));
            let first = with_proposals(&first_message(phase1), proposals);
            bench.deliver(Side::R, &first);
            assert_eq!(bench.r.endpoint.half_open_count(), half_open, "{} octets", first.bytes.len());
        }
    }
}

/// An attacker behind the same NAT, or with its forged address: 3 small messages a second against 10 places.
#[test]
fn a_device_in_aggressive_mode_is_admitted_during_a_flood_from_its_own_address() {
    for flood in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = quiet(both_modes());
        let first = first_message(flood);
        let mut numbers = 0xff00_0000_u32..;
        let mut blow = |bench: &mut Bench, times| {
            for n in numbers.by_ref().take(times) {
                knock(bench, &first, n, address_of_i());
            }
        };
        blow(&mut bench, 10);
        for tenth in 0..600 {
            if tenth % 200 == 0 {
                bench.initiate();
            }
            blow(&mut bench, usize::from(tenth % 3 == 0));
            bench.run_for(TENTH);
        }
        assert!(bench.r.books.sa_count() > 0, "{flood:?}");
    }
}

/// Forged messages of main mode that would fill the table four times before an answer of aggressive mode may be evicted.
#[test]
fn a_device_in_aggressive_mode_is_admitted_during_a_flood_from_everywhere() {
    let mut bench = quiet(both_modes());
    let first = first_message(Phase1::Main);
    let mut numbers = 0x0a00_0000_u32..;
    let mut blow = |bench: &mut Bench, times| {
        for n in numbers.by_ref().take(times) {
            knock(bench, &first, n, n);
        }
    };
    blow(&mut bench, 100);
    bench.initiate();
    for _ in 0..100 {
        blow(&mut bench, 4);
        bench.run_for(TENTH);
    }
    assert_eq!(bench.r.books.sa_count(), 1);
}

/// Cheap half-open SAs are evicted for costly ones once, not again and again.
#[test]
fn answers_of_aggressive_mode_do_not_exceed_the_places_despite_eviction() {
    let (i, mut r) = both_modes();
    (r.half_open.max, r.half_open.per_address_max) = (1000, 50);
    let mut bench = quiet((i, r));
    let (cheap, dear) = (first_message(Phase1::Main), first_message(Phase1::Aggressive));
    let mut answers = 0;
    for round in 0..8_u32 {
        for n in 0..1000 {
            knock(&mut bench, &cheap, round << 16 | n, 0x0b00_0000 + (round << 8) + n / 50);
        }
        for n in 0..2000 {
            let number = round << 16 | n | 0x8000;
            answers += u32::from(knock(&mut bench, &dear, number, 0x0c00_0000 + number).0);
        }
        bench.run_for(Duration::from_millis(500));
    }
    assert!(answers <= 1000, "{answers} answers in four seconds");
}

/// An initiator that has proved that it receives at its address does not lose its place to a forged message.
#[test]
fn an_initiator_that_has_continued_is_not_evicted() {
    let (i, mut r) = psk(Phase1::Main);
    (r.half_open.max, r.half_open.per_address_max) = (100, 10);
    let mut bench = Bench::new((i, r));
    bench.initiate();
    let first = bench.sent[0].1.clone();
    let next = |bench: &mut Bench| {
        let (side, message) = bench.intercept().unwrap();
        bench.deliver(side, &message);
    };
    next(&mut bench);
    let begun = bench.now + Duration::from_millis(1);
    bench.now = begun;
    (1..100).for_each(|n| drop(knock(&mut bench, &first, n, 0x0a00_0000 + n)));
    next(&mut bench);
    bench.now = begun + Duration::from_millis(950);
    next(&mut bench);
    bench.now = begun + seconds(1);
    let (_, why) = knock(&mut bench, &first, 100, 0x0a00_0064);
    assert_eq!(why, ["half-open SA made room"], "of somebody");
    bench.run_for(seconds(1));
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1), "{}", bench.ladder);
}

fn keys_by_address(keys: &[(&str, &str)]) -> Believe {
    let by_identity =
        keys.iter().map(|(ip, key)| (Identity::from(ip.parse::<IpAddr>().unwrap()), secret(key)));
    Believe::Psk { any: None, by_identity: by_identity.collect() }
}

/// RFC 2409 §5.4: in main mode a shared key is found by address; the name of a peer whose key was found so proves nothing.
#[test]
fn a_peer_with_an_address_key_does_not_count_for_another_name() {
    let (mut i, mut r) = psk(Phase1::Main);
    only(&mut r).remote_id = None;
    only(&mut r).remote = keys_by_address(&[("192.0.2.10", "key of one"), ("203.0.113.9", "key of two")]);
    only(&mut i).remote = Believe::psk(secret("key of one"));
    let mut two = only(&mut i).clone();
    two.remote = Believe::psk(secret("key of two"));
    i.connections.push(two);
    let mut bench = Bench::new((i, r)).established();
    let genuine = bench.r.books.only_sa();
    bench.nat = Some(Rewriter { outside: "203.0.113.9".parse().unwrap(), port_offset: 0 });
    for _ in 0..5 {
        bench.initiate_from(Side::I, 1);
        bench.settle();
    }
    assert!(bench.r.books.sas().contains(&genuine));
}

/// With a key of its own or a common one, a peer is counted by its name, not by its address.
#[test]
fn the_isakmp_sas_of_a_device_are_limited() {
    let own =
        lab::keys_by_identity(&[(lab::DEVICE, "correct horse battery staple"), ("192.0.2.10", "another")]);
    for (believed, phase1) in [(None, Phase1::Main), (Some(own), Phase1::Aggressive)] {
        let (i, mut r) = psk(phase1);
        believed.into_iter().for_each(|believed| only(&mut r).remote = believed);
        let mut bench = quiet((i, r));
        for _ in 0..6 {
            bench.initiate();
            bench.run_for(seconds(1));
        }
        assert_eq!(bench.r.books.sa_count(), 4, "{phase1:?}");
    }
}

/// RFC 4945 §3.1: a certificate matches its name in any spelling, and all spellings are one peer.
#[test]
fn a_name_in_another_spelling_is_the_same_peer() {
    let (mut i, mut r) = lab::Pki::new(KeyKind::EcdsaP256, 2).configs();
    only(&mut r).remote_id = None;
    let template = only(&mut i).clone();
    i.connections = (0..8_usize)
        .map(|upper| {
            let letter = |(at, letter): (usize, char)| match upper >> at & 1 {
                1 if at < 3 => letter.to_ascii_uppercase(),
                _ => letter,
            };
            let name: String = lab::DEVICE.chars().enumerate().map(letter).collect();
            keytoll_ike::config::Connection { local_id: lab::id(&name), ..template.clone() }
        })
        .collect();
    let mut bench = Bench::new((i, r));
    bench.ladder.silent = true;
    for connection in 0..8 {
        bench.initiate_from(Side::I, connection);
        bench.settle();
    }
    assert_eq!(bench.r.books.sa_count(), 4);
}

/// Phase 1 again and again without a following exchange: the limit of established SAs applies to waiting ones, too.
#[test]
fn sas_that_wait_for_their_first_exchange_are_limited_too() {
    let mut bench = quiet(psk(Phase1::Main)).established();
    for _ in 0..50 {
        bench.initiate();
        let now = bench.now;
        while let Some((side, datagram)) = bench.intercept() {
            // INFORMATIONAL and quick mode are lost.
            if ![5, 32].contains(&datagram.bytes[18]) {
                bench.deliver(side, &datagram);
            }
        }
        bench.now = now + Duration::from_millis(10);
    }
    assert_eq!((bench.r.endpoint.sa_count(), bench.r.books.sa_count()), (1 + 4, 1));
}

fn newest_child(bench: &Bench) -> u32 {
    let newest = bench.r.events.iter().rev().find_map(|event| match event {
        Event::ChildUp(_, new) | Event::ChildRekeyed { new, .. } => Some(new.pair.inbound_spi),
        _ => None,
    });
    newest.unwrap()
}

/// A peer that makes us rekey again and again has no more children than by its own requests.
#[test]
fn children_that_we_request_are_limited_too() {
    let (mut i, mut r) = psk(Phase1::Main);
    (i.children_max, r.children_max) = (1000, 8);
    let mut bench = quiet((i, r)).established();
    let sa = bench.r.books.only_sa();
    for _ in 0..40 {
        let child = newest_child(&bench);
        bench.command(Side::R, Command::RekeyChild(sa, child));
        bench.settle();
    }
    assert_eq!(bench.r.books.all_children().len(), 16);
    bench.run_for(seconds(600));
    assert_eq!(bench.disagreement_of_books(), None);
    assert_eq!(bench.r.books.all_children().len(), 1, "and the last one lives on");
}

/// An ISAKMP SA that takes over those of several others has no more children than one that has requested them itself.
#[test]
fn children_that_are_taken_over_are_limited_too() {
    let (mut i, mut r) = psk(Phase1::Main);
    (i.children_max, r.children_max) = (1000, 4);
    let mut bench = quiet((i, r)).established();
    for _ in 0..2 {
        let sa = *bench.r.books.sas().last().unwrap();
        for _ in 0..10 {
            let child = newest_child(&bench);
            bench.command(Side::R, Command::RekeyChild(sa, child));
            bench.settle();
        }
        bench.initiate();
        bench.settle();
    }
    let before = bench.r.books.all_children().len();
    assert!(before > 8, "{before} children under several SAs");
    // Phase 1 of one more, under which the initiator says nothing.
    bench.initiate();
    while let Some((side, datagram)) = bench.intercept() {
        if datagram.bytes[18] != 32 {
            bench.deliver(side, &datagram);
        }
    }
    bench.cut.insert(Side::I, true);
    bench.run_for(seconds(8));
    assert_eq!(bench.r.books.sa_count(), 1);
    assert_eq!(bench.r.books.all_children().len(), 8);
}

/// A retransmitted message 2 means that the peer lacks message 3, but not after it was heard on the new child.
#[test]
fn old_children_end_however_often_message_2_is_retransmitted() {
    let mut bench = quiet(psk(Phase1::Main)).established();
    let sa = bench.r.books.only_sa();
    for _ in 0..30 {
        let child = newest_child(&bench);
        bench.command(Side::R, Command::RekeyChild(sa, child));
        let mut second = None;
        while let Some((side, datagram)) = bench.intercept() {
            if datagram.bytes[18] == 32 {
                second = if side == Side::R { Some(datagram.clone()) } else { second };
                bench.deliver(side, &datagram);
            }
        }
        let child = newest_child(&bench);
        bench.command(Side::R, Command::ChildHeard(sa, child));
        for _ in 0..10 {
            bench.now += seconds(1);
            bench.feed(Side::R, Input::Tick);
            while bench.intercept().is_some() {}
            bench.deliver(Side::R, second.as_ref().unwrap());
        }
    }
    let children = bench.r.books.all_children().len();
    assert!(children <= 2, "{children}");
}

/// Two connections with one gateway, as for two networks behind it, have the same authentication: the gateway may
/// reauthenticate with either.
#[test]
fn a_gateway_that_reauthenticates_is_the_same_under_either_connection() {
    for used in [0, 1] {
        let (mut i, r) = psk(Phase1::Main);
        let second = only(&mut i).clone();
        i.connections.push(second);
        let mut bench = Bench::new((i, r));
        bench.initiate_from(Side::I, used);
        bench.run_for(seconds(1));
        let sa = bench.r.books.only_sa();
        bench.command(Side::R, Command::RekeyIke(sa));
        bench.run_for(seconds(20));
        assert_eq!(bench.disagreement(), None, "connection {used}\n{}", bench.ladder);
        assert_eq!(bench.r.books.all_children().len(), 1);
    }
}

/// The gateway reauthenticates Alice, and Bob answers at her address, which may be his by now, with a certificate of his own
/// under the same connection.
#[test]
fn a_peer_at_another_s_address_does_not_inherit_from_it() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut pki = lab::Pki::new(KeyKind::Rsa2048, 2);
        let name = "bob.example.org";
        let alternatives = [AlternativeName::Dns(name.to_owned())];
        let request = Request { name, alternatives: &alternatives, kind: KeyKind::Rsa2048, chain_length: 2 };
        let crypto = &mut keytoll_crypto::Real::default();
        let bob = pki.authority.issue(&request, &mut keytoll_crypto::keys::generate, crypto);
        let (i, mut r) = v1(pki.configs(), phase1);
        only(&mut r).remote_id = None;
        let mut of_bob = i.clone();
        only(&mut of_bob).local_id = lab::id(name);
        only(&mut of_bob).local = Prove::Certificate(bob);
        let mut bench = Bench::new((i, r)).established();
        bench.run_for(seconds(10));
        let alice = bench.r.books.only_sa();
        bench.r.events.clear();
        bench.restart(Side::I, of_bob, 5);
        bench.command(Side::R, Command::RekeyIke(alice));
        bench.run_for(seconds(20));
        assert_eq!(bench.failures(Side::R), ["unexpected identity"], "{phase1:?}\n{}", bench.ladder);
        let is_moved = |event: &Event| matches!(event, Event::Rekeyed { .. } | Event::ChildRekeyed { .. });
        assert!(!bench.r.events.iter().any(is_moved), "{phase1:?}");
        assert!(bench.r.books.sas().contains(&alice));
    }
}
