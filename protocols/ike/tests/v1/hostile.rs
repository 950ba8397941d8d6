//! Invalid messages, and peers that must not be trusted.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto, KeyPair, Rng};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Datagram, Input, Output};
use keytoll_ike::config::{Believe, Config, Phase1, Prove, V1, Version};
use keytoll_ike::event::{Command, Event};
use keytoll_ike::v1::keys::{Keys, Seeds, skeyid_of_shared_key, skeyid_of_signatures};
use keytoll_ike::wire::Identity;
use keytoll_net::{Addr, Socket};

use super::configs::{IKE_SUITE, certificates, psk, raw_keys, v1};
use crate::support::bench::{Fault, Rewriter};
use crate::support::conversation::{delete_all, of_sa, survived};
use crate::support::lab::{self, Pki, both, ike, keys_by_identity, net, only, only_child, seconds, secret};
use crate::support::mistaken::Mistaken;
use crate::support::mutants::{bytewise, giants, headers};
use crate::support::{Bench, Side};

#[test]
fn the_wrong_shared_key_fails_on_both_sides() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (mut i, r) = psk(phase1);
        only(&mut i).remote = Believe::psk(secret("wrong"));
        let mut bench = Bench::new((i, r));
        bench.initiate();
        bench.run_for(seconds(300));
        let (told, found) = match phase1 {
            // In main mode the key encrypts, and unencrypted messages cannot show what is wrong.
            Phase1::Main => ("PAYLOAD_MALFORMED", "AUTHENTICATION_FAILED"),
            Phase1::Aggressive => ("AUTHENTICATION_FAILED", "AUTHENTICATION_FAILED"),
        };
        assert_eq!(bench.failures(Side::I), [told], "{phase1:?}\n{}", bench.ladder);
        assert_eq!(bench.failures(Side::R), [found], "{phase1:?}\n{}", bench.ladder);
        assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (0, 0));
        bench.assert_nothing_remains();
    }
}

#[test]
fn an_identity_uses_its_own_key() {
    let (i, mut r) = psk(Phase1::Aggressive);
    only(&mut r).remote_id = None;
    only(&mut r).remote = keys_by_identity(&[(lab::DEVICE, "correct horse battery staple")]);
    Bench::new((i, r)).established().assert_agreement();
}

/// A gateway that identifies devices only by their addresses.
fn keys_by_address(keys: &[(&str, &str)]) -> Believe {
    let by_identity =
        keys.iter().map(|(ip, key)| (Identity::from(ip.parse::<IpAddr>().unwrap()), secret(key)));
    Believe::Psk { any: None, by_identity: by_identity.collect() }
}

/// Delivers all datagrams; from its `n`th on, those of `I` come from this address.
fn moved(bench: &mut Bench, n: usize, ip: &str) {
    let mut count = 0;
    while let Some((to, mut datagram)) = bench.intercept() {
        if to == Side::R {
            count += 1;
            if count >= n {
                datagram.from = Addr::udp(ip.parse().unwrap(), datagram.from.port().unwrap());
            }
        } else {
            datagram.to = Addr::udp(Side::I.ip(), datagram.to.port().unwrap());
        }
        bench.deliver(to, &datagram);
    }
}

/// Message 1 determines the input of SKEYID: an address without a key does not turn it into a secret that anybody can
/// compute.
#[test]
fn another_address_later_does_not_change_the_shared_key() {
    for from in [2, 3] {
        let (i, mut r) = psk(Phase1::Main);
        only(&mut r).remote = keys_by_address(&[("192.0.2.10", "correct horse battery staple")]);
        let mut bench = Bench::new((i, r));
        bench.initiate();
        moved(&mut bench, from, "203.0.113.9");
        assert_eq!((bench.failures(Side::R).len(), bench.r.books.sa_count()), (0, 0), "{}", bench.ladder);
        let answers = bench.sent.iter().filter(|(side, _)| *side == Side::R).count();
        assert_eq!(answers, from - 1, "what comes from elsewhere has no answer");
    }
}

#[test]
fn an_insider_does_not_become_another_peer_by_its_address() {
    let insider = "correct horse battery staple";
    let (mut i, mut r) = psk(Phase1::Main);
    only(&mut i).local_id = Identity::from("203.0.113.9".parse::<IpAddr>().unwrap());
    only(&mut r).remote_id = None;
    only(&mut r).remote = keys_by_address(&[("192.0.2.10", insider), ("203.0.113.9", "the victim's")]);
    let mut bench = Bench::new((i, r));
    bench.initiate();
    moved(&mut bench, 3, "203.0.113.9");
    bench.run_for(seconds(10));
    assert_eq!(bench.failures(Side::R), ["unexpected identity"], "{}", bench.ladder);
    assert_eq!(bench.r.books.sa_count(), 0);
}

/// The key of an address takes precedence over the key for all, whatever the order of the connections, and whatever its
/// suite.
#[test]
fn an_address_with_a_key_of_its_own_uses_that() {
    let own = "correct horse battery staple";
    for suites in [IKE_SUITE, "aes256-sha1-modp1024"] {
        for named_by_connection in [false, true] {
            let (mut i, mut r) = psk(Phase1::Main);
            let address = Identity::from(Side::I.ip());
            only(&mut i).suites = ike(&format!("{IKE_SUITE} aes256-sha1-modp1024"));
            only(&mut i).local_id = address.clone();
            let mut anybody = only(&mut r).clone();
            (anybody.remote_id, anybody.remote) = (None, Believe::psk(secret("the common key")));
            only(&mut r).suites = ike(suites);
            only(&mut r).remote_id = None;
            if named_by_connection {
                (only(&mut r).remote_id, only(&mut r).remote) = (Some(address), Believe::psk(secret(own)));
            } else {
                only(&mut r).remote = keys_by_address(&[("192.0.2.10", own)]);
            }
            r.connections.insert(0, anybody);
            let bench = Bench::new((i, r)).established();
            bench.assert_agreement();
            assert!(
                bench
                    .r
                    .events
                    .iter()
                    .any(|event| matches!(event, Event::Established(up) if up.connection == 1))
            );
        }
    }
}

/// The holder of a raw key could claim any identity, unless the connection names it.
#[test]
fn a_raw_key_needs_an_owner() {
    for side in Side::BOTH {
        let (mut i, mut r) = raw_keys(Phase1::Main);
        let config = if side == Side::I { &mut i } else { &mut r };
        only(config).remote_id = None;
        let mut bench = Bench::new((i, r));
        bench.initiate();
        bench.run_for(seconds(10));
        assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"], "{}", bench.ladder);
        assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (0, 0));
    }
}

/// A holder of the key for all cannot be a peer with a key of its own.
#[test]
fn an_initiator_does_not_accept_the_common_key_for_another_peer() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (mut i, r) = psk(phase1);
        let Believe::Psk { by_identity, .. } = &mut only(&mut i).remote else { unreachable!("it is one") };
        *by_identity = [(lab::id(lab::GATEWAY), secret("the gateway's own"))].into();
        only(&mut i).remote_id = None;
        let mut bench = Bench::new((i, r));
        bench.initiate();
        bench.run_for(seconds(10));
        assert_eq!((bench.failures(Side::I).len(), bench.i.books.sa_count()), (1, 0), "{}", bench.ladder);
    }
}

/// A peer that has the key but claims an unexpected identity is told at once: no better message can come.
#[test]
fn an_authentic_stranger_is_told_at_once() {
    let (mut i, r) = psk(Phase1::Main);
    only(&mut i).local_id = lab::id("nobody.example.org");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(1));
    assert_eq!(bench.failures(Side::R), ["unexpected identity"], "{}", bench.ladder);
    assert_eq!(bench.failures(Side::I), ["INVALID_ID_INFORMATION"], "{}", bench.ladder);
    bench.assert_nothing_remains();
}

/// Only a holder of the key ends the attempt by an unexpected identity. Damaged or forged messages end nothing, and the
/// genuine message after them is still accepted.
#[test]
fn a_strange_identity_without_the_key_ends_nothing() {
    let mut bench = Bench::null(psk(Phase1::Main), 1);
    bench.initiate();
    let mut from_i = 0;
    while let Some((to, datagram)) = bench.intercept() {
        from_i += usize::from(to == Side::R);
        if to == Side::R && from_i == 3 {
            let mut forged = datagram.clone();
            let name = lab::DEVICE.as_bytes();
            let at = forged.bytes.windows(name.len()).position(|window| window == name).unwrap();
            forged.bytes[at] ^= 1;
            // The generic header of the HASH payload is between the two.
            forged.bytes[at + name.len() + 4] ^= 1;
            bench.deliver(to, &forged);
            assert!(bench.failures(Side::R).is_empty(), "{}", bench.ladder);
        }
        bench.deliver(to, &datagram);
    }
    bench.settle();
    bench.assert_agreement();
    bench.i.books.only_child();
}

#[test]
fn strangers_in_aggressive_mode_are_answered_like_known_peers() {
    let (mut i, r) = psk(Phase1::Aggressive);
    only(&mut i).local_id = lab::id("nobody.example.org");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    let answer = |bench: &Bench| bench.sent[1].1.bytes.len();
    let friend = Bench::new(psk(Phase1::Aggressive)).established();
    assert_eq!(answer(&bench), answer(&friend), "the answer tells nothing");
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"], "for the key is nobody's");
    bench.assert_nothing_remains();
}

#[test]
fn another_authoritys_certificate_is_refused() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (mut i, r) = certificates(phase1);
        only(&mut i).local = Prove::Certificate(Pki::seeded(KeyKind::Rsa2048, 1, 9).device);
        let mut bench = Bench::new((i, r));
        bench.initiate();
        bench.run_for(seconds(10));
        assert_eq!(bench.failures(Side::R), ["certificate of unknown issuer"], "{}", bench.ladder);
        let told: Vec<_> = [bench.failures(Side::I), bench.closures(Side::I)].concat();
        assert_eq!(told, ["INVALID_CERTIFICATE"], "{phase1:?}\n{}", bench.ladder);
        assert_eq!(bench.i.books.sa_count(), 0, "{}", bench.ladder);
    }
}

#[test]
fn a_stolen_certificate_does_not_sign() {
    let (mut i, r) = certificates(Phase1::Main);
    let Prove::Certificate(stolen) = &mut only(&mut i).local else { unreachable!("it has one") };
    stolen.key = Pki::seeded(KeyKind::Rsa2048, 1, 9).device.key;
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"], "it was told so, authentically");
}

#[test]
fn another_raw_key_is_refused() {
    let (mut i, r) = raw_keys(Phase1::Main);
    let other = Pki::seeded(KeyKind::Rsa2048, 1, 9).gateway.key;
    only(&mut i).remote = Believe::RawKey(Arc::clone(&other.spki));
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"]);
}

#[test]
fn nothing_in_common() {
    let (mut i, r) = psk(Phase1::Main);
    only(&mut i).suites = ike("3des-md5-modp1024");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"], "believed after a while");
    bench.assert_nothing_remains();
}

#[test]
fn the_other_phase_1_is_not_offered() {
    let (i, _) = psk(Phase1::Aggressive);
    let (_, r) = psk(Phase1::Main);
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"]);
}

#[test]
fn what_ikev1_cannot_name_is_not_begun() {
    let (mut i, r) = psk(Phase1::Main);
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"]);
    assert_eq!(bench.sent.len(), 0);
    let (i, r) = v1(Pki::new(KeyKind::EcdsaP256, 1).configs(), Phase1::Main);
    let mut bench = Bench::new((i, r));
    bench.initiate();
    assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"], "signatures are RSA");
}

/// The steps of the conversation.
const STEPS: [fn(&mut Bench); 6] = [
    |bench| bench.initiate(),
    |bench| of_sa(bench, Side::R, Command::Probe),
    |bench| of_sa(bench, Side::I, Command::CreateChild),
    |bench| of_sa(bench, Side::I, Command::RekeyIke),
    |bench| of_sa(bench, Side::R, Command::CreateChild),
    |bench| of_sa(bench, Side::R, Command::Delete),
];

/// Datagrams of maximum size, at every moment, under every cipher.
#[test]
fn the_largest_datagrams_change_nothing_under_every_cipher() {
    let suites =
        ["3des-sha1-modp1024", "aes128-sha256-modp1024", "aes192-sha1-modp1024", "aes256-sha512-modp1024"];
    for (suite, phase1) in
        suites.iter().flat_map(|suite| [(suite, Phase1::Main), (suite, Phase1::Aggressive)])
    {
        let (i, mut r) = both(psk(phase1), |connection| connection.suites = ike(suite));
        (r.half_open.max, r.half_open.per_address_max) = (usize::MAX, usize::MAX);
        let mut bench = Bench::new((i, r));
        bench.ladder.silent = true;
        for step in STEPS {
            step(&mut bench);
            while let Some((side, datagram)) = bench.intercept() {
                for (what, bytes) in giants(&datagram.bytes) {
                    let (from, to) = (datagram.from, datagram.to);
                    let (_, outputs) = bench.handle(side, Input::Datagram { from, to, bytes: &bytes });
                    let told = outputs.iter().any(|output| matches!(output, Output::Event(_)));
                    assert!(!told, "{suite}, {phase1:?}, {what}: {outputs:?}");
                }
                bench.deliver(side, &datagram);
            }
            bench.run_for(seconds(3));
        }
        assert!(bench.closures(Side::R).contains(&"deleted"), "{suite}, {phase1:?}");
        delete_all(&mut bench);
    }
}

/// Handling the `n`th message of the conversation panics at the `nth` call of cryptography: whether there are so many calls;
/// `None` if there are not so many messages.
fn survives(phase1: Phase1, n: usize, nth: u32) -> Option<bool> {
    let (i, r) = psk(phase1);
    let mut bench = Bench::with(i, r, || Box::new(Mistaken), 1);
    let (seen, is_hit) = survived(&mut bench, &STEPS, n, nth);
    (seen > n).then_some(is_hit)
}

/// Wherever the handling of a message panics, at most one SA is lost, its owner is told, and no state is left.
#[test]
fn a_panic_costs_at_most_the_sa_concerned() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let hits = |n| (0..).take_while(|nth| survives(phase1, n, *nth) == Some(true)).count();
        let messages = (0..).take_while(|n| survives(phase1, *n, u32::MAX).is_some()).count();
        let hits: Vec<usize> = (0..messages).map(hits).collect();
        assert!(hits.len() > 12 && hits.iter().sum::<usize>() > 60, "{phase1:?}: {hits:?}");
    }
}

/// RFC 2408 §5.14: unauthenticated notifications end nothing.
#[test]
fn unencrypted_informational_messages_end_nothing() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let (_, any) = bench.sent[0].clone();
    let sa = bench.sa(Side::I).0.to_be_bytes();
    let responder = bench.sa(Side::R).0.to_be_bytes();
    for (payload, body) in [(11_u8, [0, 0, 0, 1, 1, 0, 0, 24]), (12, [0, 0, 0, 1, 1, 16, 0, 1])] {
        let mut body = body.to_vec();
        if payload == 12 {
            body.extend_from_slice(&[sa, responder].concat());
        }
        let mut bytes = [sa, responder].concat();
        bytes.extend_from_slice(&[payload, 0x10, 5, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&body);
        let inner = u8::try_from(body.len() + 4).unwrap();
        bytes[31] = inner;
        bytes[27] = inner + 28;
        bench.feed(Side::R, Input::Datagram { from: any.from, to: any.to, bytes: &bytes });
    }
    bench.run_for(seconds(100));
    bench.assert_agreement();
}

/// An unencrypted message uses no message id of the SA, whatever its header says.
#[test]
fn unencrypted_informational_messages_use_up_no_message_id() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let sa = bench.sa(Side::I);
    for command in [Command::Probe(sa), Command::CreateChild(sa)] {
        bench.command(Side::I, command);
        let (to, genuine) = bench.intercept().unwrap();
        let mut forged = genuine.clone();
        forged.bytes.truncate(28);
        forged.bytes[16..20].copy_from_slice(&[11, 0x10, 5, 0]);
        forged.bytes.extend([0, 0, 0, 12, 0, 0, 0, 1, 1, 0, 0, 24]);
        forged.bytes[24..28].copy_from_slice(&40_u32.to_be_bytes());
        let before = bench.sent.len();
        bench.deliver(to, &forged);
        assert_eq!(bench.sent.len(), before, "nothing is said to it");
        bench.deliver(to, &genuine);
        assert!(bench.sent.len() > before, "the genuine one is answered\n{}", bench.ladder);
        bench.settle();
    }
}

#[test]
fn a_message_id_is_used_once() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    bench.run_for(seconds(400));
    let first_of_quick_mode = bench.sent[6].1.clone();
    let before = bench.sent.len();
    bench.deliver(Side::R, &first_of_quick_mode);
    assert_eq!(bench.sent.len(), before, "{}", bench.ladder);
}

/// A changed NAT mapping is followed for the peer, but not for replayed messages.
#[test]
fn a_replayed_informational_exchange_does_nothing() {
    let configs = both(psk(Phase1::Main), |connection| connection.liveness_after = Some(seconds(30)));
    let mut bench = Bench::new(configs);
    let outside = "198.51.100.1".parse().unwrap();
    bench.nat = Some(Rewriter { outside, port_offset: 1000 });
    let mut bench = bench.established();
    let (i, r) = (bench.sa(Side::I), bench.sa(Side::R));
    bench.command(Side::I, Command::Probe(i));
    let (to, mut probe) = bench.intercept().unwrap();
    bench.deliver(to, &probe);
    bench.settle();
    let before = bench.sent.len();
    probe.from = Addr::udp("203.0.113.9".parse().unwrap(), 4500);
    bench.deliver(to, &probe);
    assert_eq!(bench.sent.len(), before + 1, "the answer may have been lost");
    assert_eq!(bench.sent[before].1.to.ip().unwrap(), outside, "but goes where it went");
    bench.settle();
    bench.command(Side::R, Command::Probe(r));
    assert_eq!(bench.sent.last().unwrap().1.to.ip().unwrap(), outside, "the SA has not moved");
    bench.settle();
    // Two more, so that the first is not the last one answered.
    (0..2).for_each(|_| {
        bench.command(Side::I, Command::Probe(i));
        bench.settle();
    });
    let before = bench.sent.len();
    bench.deliver(to, &probe);
    assert_eq!(bench.sent.len(), before, "{}", bench.ladder);
}

#[test]
fn our_own_messages_sent_back_do_nothing() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::Probe(sa));
    let (_, probe) = bench.sent.last().unwrap().clone();
    bench.settle();
    let before = bench.sent.len();
    let back = Datagram { from: probe.to, to: probe.from, ..probe };
    bench.deliver(Side::I, &back);
    assert_eq!(bench.sent.len(), before, "no R-U-THERE-ACK to ourselves\n{}", bench.ladder);
}

#[test]
fn message_ids_are_remembered_for_ever() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let (sa, first) = (bench.sa(Side::I), bench.sent[6].1.clone());
    for _ in 0..100 {
        bench.command(Side::I, Command::CreateChild(sa));
        bench.settle();
        bench.run_for(seconds(1));
    }
    bench.run_for(seconds(400));
    let before = bench.sent.len();
    bench.deliver(Side::R, &first);
    assert_eq!(bench.sent.len(), before, "message 1 of the first quick mode");
}

#[test]
fn half_open_sas_are_few_and_short_lived() {
    let (i, mut r) = psk(Phase1::Main);
    r.half_open.max = 100;
    r.half_open.per_address_max = 10;
    let mut bench = Bench::new((i, r));
    bench.initiate();
    let (_, first) = bench.sent[0].clone();
    for n in 0..1000_u16 {
        let mut bytes = first.bytes.clone();
        bytes[0..2].copy_from_slice(&n.to_be_bytes());
        let ip = std::net::Ipv4Addr::new(203, 0, (n / 20 % 256) as u8, 1);
        let from = Socket::new(ip.into(), 500);
        bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
    }
    assert_eq!(bench.r.endpoint.half_open_count(), 100);
    bench.run_for(seconds(60));
    assert_eq!(bench.r.endpoint.half_open_count(), 0);
}

/// One address cannot take all places: others succeed while it has its own.
#[test]
fn half_open_sas_of_one_address_leave_room_for_others() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (i, mut r) = psk(phase1);
        r.half_open.max = 100;
        r.half_open.per_address_max = 10;
        let mut bench = Bench::new((i, r));
        bench.initiate();
        let (_, first) = bench.sent[0].clone();
        let from = Socket::new("203.0.113.1".parse().unwrap(), 500);
        for n in 0..30_u16 {
            let mut bytes = first.bytes.clone();
            bytes[0..2].copy_from_slice(&n.to_be_bytes());
            bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
        }
        assert_eq!(bench.r.endpoint.half_open_count(), 10);
        bench.settle();
        assert_eq!(bench.disagreement_of_books(), None, "{}", bench.ladder);
        assert_eq!(bench.r.books.sa_count(), 1);
        assert_eq!(bench.r.endpoint.half_open_count(), 10, "nobody else's");
    }
}

/// First messages of as many origins, starting with this one.
fn flood(bench: &mut Bench, first: &Datagram, origins: std::ops::Range<u32>) {
    for n in origins {
        let from = Socket::new(std::net::Ipv4Addr::from(0x0a00_0000 + n).into(), 500);
        let bytes = [&n.to_be_bytes()[..], &first.bytes[4..]].concat();
        bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
    }
}

/// If no origin is crowded, the longest silent initiator is evicted.
#[test]
fn a_flood_from_everywhere_locks_nobody_out() {
    for (phase1, each_second) in [(Phase1::Main, 30), (Phase1::Aggressive, 10)] {
        let (i, mut r) = psk(phase1);
        (r.half_open.max, r.half_open.per_address_max) = (100, 10);
        let mut bench = Bench::new((i, r));
        bench.initiate();
        let (_, first) = bench.sent[0].clone();
        flood(&mut bench, &first, 0..100);
        assert_eq!(bench.r.endpoint.half_open_count(), 100);
        for n in 1..=10 {
            bench.run_for(seconds(1));
            flood(&mut bench, &first, 100 * n..100 * n + each_second);
        }
        assert_eq!(bench.disagreement_of_books(), None, "{phase1:?}\n{}", bench.ladder);
        assert_eq!((bench.r.books.sa_count(), bench.r.endpoint.half_open_count()), (1, 100), "{phase1:?}");
    }
}

/// RFC 2409 §5.4: an answer in aggressive mode costs a key exchange, and the requester need not receive it.
#[test]
fn aggressive_mode_is_answered_no_more_often_than_there_are_places() {
    let (i, mut r) = psk(Phase1::Aggressive);
    (r.half_open.max, r.half_open.per_address_max) = (100, 10);
    let mut bench = Bench::new((i, r));
    bench.initiate();
    let (_, first) = bench.sent[0].clone();
    bench.run_for(seconds(1));
    let mut answered = |from: &dyn Fn(u32) -> u32| {
        let begins = 0..1000_u32;
        let answers = begins.map(|n| {
            let from = Socket::new(std::net::Ipv4Addr::from(from(n)).into(), 500);
            let bytes = [&n.to_be_bytes()[..], &first.bytes[4..]].concat();
            let (_, outputs) =
                bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
            outputs.iter().filter(|output| matches!(output, Output::Datagram(_))).count()
        });
        answers.sum::<usize>()
    };
    assert_eq!(answered(&|_| 0xcb00_7101), 10, "one address");
    assert_eq!(answered(&|n| 0x0a00_0000 + n), 90, "any: those ten stay");
    assert_eq!(answered(&|n| 0x0b00_0000 + n), 0);
}

/// A refused initiator keeps its place until it times out, though its SA is dropped.
#[test]
fn refused_initiators_keep_their_places_and_no_more() {
    let (mut i, mut r) = psk(Phase1::Main);
    only(&mut i).local_id = lab::id("nobody.example.org");
    r.half_open.per_address_max = 10;
    let mut bench = Bench::new((i, r));
    for _ in 0..40 {
        bench.initiate();
        bench.settle();
    }
    let endpoint = &bench.r.endpoint;
    assert_eq!((endpoint.half_open_count(), endpoint.sa_count()), (0, 0), "{}", bench.ladder);
    assert_eq!(bench.failures(Side::R).len(), 10, "{}", bench.ladder);
    // Some of the others still retransmit, and get the places when they are free.
    bench.run_for(seconds(60));
    assert_eq!(bench.failures(Side::R).len(), 20, "{}", bench.ladder);
}

/// Bytes received from an address that proves nothing, and bytes sent there during the lifetime of a half-open SA; the first
/// message is repeated so often.
fn reflected(configs: (Config, Config), times: usize) -> (usize, usize) {
    let mut bench = Bench::new(configs);
    bench.cut.insert(Side::R, true);
    bench.initiate();
    let (_, first) = bench.intercept().unwrap();
    bench.cut.insert(Side::I, true);
    for _ in 0..times {
        bench.deliver(Side::R, &first);
    }
    bench.run_for(seconds(40));
    let sent = bench.sent.iter().filter(|(side, _)| *side == Side::R);
    (first.bytes.len() * times, sent.map(|(_, datagram)| datagram.bytes.len()).sum())
}

/// A first message with a forged source address sends its owner the answer: limits how much.
#[test]
fn little_more_is_reflected_than_was_sent() {
    type Configs = fn(Phase1) -> (Config, Config);
    let configs: [(&str, Configs); 3] =
        [("shared key", psk), ("raw key", raw_keys), ("certificates", certificates)];
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for (proof, configs) in configs {
            let (received, answer) = reflected(configs(phase1), 1);
            println!("{phase1:?} mode, {proof}: {received} bytes make {answer}");
            let (of_certificates, factor) = (proof == "certificates" && phase1 == Phase1::Aggressive, 3);
            // An answer with certificates is longer, and is sent once.
            assert!(answer <= factor * received || of_certificates && answer <= 4 * received);
            for times in [2, 10, 100] {
                let (received, sent) = reflected(configs(phase1), times);
                assert!(
                    sent <= (factor * received).max(answer),
                    "{phase1:?}, {proof}, {times}: {received} make {sent}"
                );
            }
        }
    }
}

/// RFC 2407 §4.5.4 gives zero no meaning. charon sends it for an SA without a limit; an SA that ends at once would be replaced endlessly.
#[test]
fn a_lifetime_of_zero_sets_no_limit() {
    let with = |(mut i, r): (Config, Config), lifetime: u64, child_lifetime: u64| {
        let Version::V1(wishes) = only(&mut i).version else { unreachable!("both speak IKEv1") };
        let wishes = V1 { lifetime: seconds(lifetime), child_lifetime: seconds(child_lifetime), ..wishes };
        only(&mut i).version = Version::V1(wishes);
        (i, r)
    };
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for (lifetime, child_lifetime) in [(0, 1000), (1000, 0), (0, 0)] {
            let mut bench = Bench::new(with(psk(phase1), lifetime, child_lifetime));
            bench.initiate();
            bench.settle();
            assert!(bench.refusals(Side::R).is_empty(), "{phase1:?}");
            let counts = (bench.r.books.sa_count(), bench.r.books.all_children().len());
            assert_eq!(counts, (1, 1), "{phase1:?} {lifetime} {child_lifetime}");
        }
    }
}

/// A peer that creates children without limit is refused, until the replaced ones are gone.
#[test]
fn children_beyond_the_limit_are_refused() {
    let (i, mut r) = psk(Phase1::Main);
    r.children_max = 2;
    let mut bench = Bench::new((i, r)).established();
    for _ in 0..20 {
        let sa = bench.sa(Side::I);
        bench.command(Side::I, Command::CreateChild(sa));
        bench.settle();
        assert!(bench.r.books.all_children().len() <= 2);
    }
    assert_eq!(bench.refusals(Side::I), ["NO_PROPOSAL_CHOSEN"; 19]);
    bench.run_for(seconds(20));
    bench.assert_agreement();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::CreateChild(sa));
    bench.settle();
    assert_eq!(bench.refusals(Side::I).len(), 19);
}

/// RFC 2407 §4.6.3.3: INITIAL-CONTACT must be protected, which in aggressive mode it is only if encrypted.
#[test]
fn unencrypted_initial_contact_closes_nothing() {
    for encrypted in [true, false] {
        let mut bench = Bench::null(psk(Phase1::Aggressive), 1).established();
        bench.i = Bench::null(psk(Phase1::Aggressive), 2).i;
        bench.initiate();
        for _ in 0..2 {
            let (to, datagram) = bench.intercept().unwrap();
            bench.deliver(to, &datagram);
        }
        let (to, mut third) = bench.intercept().unwrap();
        if !encrypted {
            let mut end = 28;
            let mut next = third.bytes[16];
            while next != 0 {
                next = third.bytes[end];
                end += usize::from(third.bytes[end + 3]);
            }
            third.bytes.truncate(end);
            third.bytes[19] = 0;
            third.bytes[24..28].copy_from_slice(&u32::try_from(end).unwrap().to_be_bytes());
        }
        bench.deliver(to, &third);
        let closed: &[&str] = if encrypted { &["replaced"] } else { &[] };
        assert_eq!(bench.closures(Side::R), closed, "{}", bench.ladder);
        bench.settle();
        assert_eq!(bench.r.books.sa_count(), if encrypted { 1 } else { 2 }, "{}", bench.ladder);
    }
}

#[test]
fn the_unfinished_quick_modes_of_a_peer_are_limited() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let sa = bench.sa(Side::I);
    bench.cut.insert(Side::R, true);
    (0..50).for_each(|_| bench.command(Side::I, Command::CreateChild(sa)));
    bench.settle();
    let answers = bench.sent.iter().filter(|(side, datagram)| *side == Side::R && datagram.bytes[18] == 32);
    assert_eq!(answers.count(), 1 + 8);
}

/// An attacker without a key, who knows all unencrypted values and its own half of the key agreement.
struct Attacker {
    cookies: (u64, u64),
    sa_body: Vec<u8>,
    pair: KeyPair,
    nonce: [u8; 32],
}

impl Attacker {
    /// A message of main mode.
    fn message(&self, first: u8, flags: u8, chain: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = [self.cookies.0.to_be_bytes(), self.cookies.1.to_be_bytes()].concat();
        bytes.extend([first, 0x10, 2, flags, 0, 0, 0, 0, 0, 0, 0, 0]);
        for (next, body) in chain {
            bytes.extend([*next, 0]);
            bytes.extend(u16::try_from(body.len() + 4).unwrap().to_be_bytes());
            bytes.extend(*body);
        }
        if flags == 1 {
            bytes.resize(28 + (bytes.len() - 28).next_multiple_of(16), 0);
        }
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[24..28].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// Message 5, with SKEYID derived from known values.
    fn proof(&self, answer: &[u8], key: Option<&[u8]>) -> Vec<u8> {
        let (suite, mut real) = (ike(IKE_SUITE)[0], Real::default());
        let prf = suite.prf.unwrap();
        let public = &answer[32..32 + 256];
        let length = usize::from(u16::from_be_bytes([answer[32 + 258], answer[32 + 259]])) - 4;
        let nonce_r = &answer[32 + 260..32 + 260 + length];
        let shared = real.agree(&self.pair.private, public).unwrap();
        let (cookie_i, cookie_r) = self.cookies;
        let seeds = Seeds { cookie_i, cookie_r, nonce_i: &self.nonce, nonce_r };
        let skeyid = match key {
            Some(key) => skeyid_of_shared_key(&mut real, prf, key, seeds),
            None => skeyid_of_signatures(&mut real, prf, &shared, seeds),
        };
        let keys = Keys::derive(&mut real, &suite, &skeyid, &shared, seeds);
        let id_body = [&[2, 0, 0, 0], lab::DEVICE.as_bytes()].concat();
        let cookies = [cookie_i.to_be_bytes(), cookie_r.to_be_bytes()].concat();
        let hash = real.prf(prf, &skeyid, &[&self.pair.public, public, &cookies, &self.sa_body, &id_body]);
        let mut message = self.message(5, 1, &[(8, &id_body), (0, &hash)]);
        let iv = real.hash(keys.hash(), &[&self.pair.public, public]);
        let (encryption, key) = (suite.encryption, keys.encryption());
        real.encrypt(encryption, key, &iv[..16], &[], &mut message[28..], &mut []);
        message
    }
}

/// SKEYID cannot be computed from the nonces, as with signatures, wherever the messages come from; the same messages made with
/// the shared key succeed.
#[test]
fn skeyid_of_signatures_is_not_for_a_shared_key() {
    let secret: &[u8] = b"correct horse battery staple";
    for (key, from, sas) in [
        (Some(secret), "192.0.2.10", 1),
        (None, "192.0.2.10", 0),
        (None, "203.0.113.9", 0),
        (Some(&b""[..]), "203.0.113.9", 0),
    ] {
        let (i, mut r) = psk(Phase1::Main);
        only(&mut r).remote = keys_by_address(&[("192.0.2.10", "correct horse battery staple")]);
        let mut bench = Bench::new((i, r));
        bench.initiate();
        let (_, first) = bench.intercept().unwrap();
        bench.deliver(Side::R, &first);
        let (_, second) = bench.intercept().unwrap();
        let cookie = |at: usize| u64::from_be_bytes(second.bytes[at..at + 8].try_into().unwrap());
        let length = usize::from(u16::from_be_bytes([first.bytes[30], first.bytes[31]]));
        let mut real = Real::default();
        let attacker = Attacker {
            cookies: (cookie(0), cookie(8)),
            sa_body: first.bytes[32..28 + length].to_vec(),
            pair: real.generate(Group::Modp2048, &mut Rng::named(1, "attacker")),
            nonce: [7; 32],
        };
        let third = attacker.message(4, 0, &[(10, &attacker.pair.public), (0, &attacker.nonce)]);
        let mut datagram = Datagram { bytes: third, ..first };
        bench.deliver(Side::R, &datagram);
        let (_, fourth) = bench.intercept().expect("an answer to message 3");
        datagram.from = Addr::udp(from.parse().unwrap(), datagram.from.port().unwrap());
        datagram.bytes = attacker.proof(&fourth.bytes, key);
        bench.deliver(Side::R, &datagram);
        let established = bench.ladder.to_string().contains("established with");
        assert_eq!(established, sas == 1, "{key:?} {from}\n{}", bench.ladder);
    }
}

/// RFC 3706: a retransmitted R-U-THERE has the same number, but RFC 2409 §5.7 a message id of its own.
#[test]
fn a_probe_is_retransmitted_as_an_exchange_of_its_own() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let sa = bench.sa(Side::I);
    let before = bench.sent.len();
    bench.next_fault(Fault::Lost);
    bench.command(Side::I, Command::Probe(sa));
    bench.run_for(seconds(30));
    let id = |n: usize| bench.sent[before + n].1.bytes[20..24].to_vec();
    assert_eq!(bench.sent.len(), before + 3, "two questions, one answer\n{}", bench.ladder);
    assert_ne!(id(0), id(1));
    bench.assert_agreement();
}

#[test]
fn the_children_of_a_peer_are_limited() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let sa = bench.sa(Side::I);
    // No deadline passes, so the replaced ones stay.
    for _ in 0..70 {
        bench.command(Side::I, Command::CreateChild(sa));
        bench.settle();
    }
    let answers = bench.sent.iter().filter(|(side, sent)| *side == Side::R && sent.bytes[18] == 32);
    assert_eq!(answers.count(), 64);
}

/// A first message of aggressive mode with a forged source causes little more than one answer to its owner.
#[test]
fn retransmissions_of_an_answer_are_limited() {
    let mut bench = Bench::new(psk(Phase1::Aggressive));
    bench.initiate();
    let (_, first) = bench.intercept().unwrap();
    bench.cut.insert(Side::R, true);
    bench.cut.insert(Side::I, true);
    bench.deliver(Side::R, &first);
    let answers = |bench: &Bench| bench.sent.iter().filter(|(side, _)| *side == Side::R).count();
    (0..100).for_each(|_| bench.deliver(Side::R, &first));
    assert_eq!(answers(&bench), 1 + 16, "once for each, up to a point");
    bench.run_for(seconds(25));
    assert_eq!(answers(&bench), 1 + 16 + 2, "twice unasked\n{}", bench.ladder);
}

/// No hash covers a notification at the end of message 5, and in CBC the last block may be altered without affecting those
/// before; the next IV is made from it. Such a message is not accepted, so that the genuine one succeeds afterwards.
#[test]
fn an_altered_last_block_is_not_accepted() {
    let configs = [psk(Phase1::Main), certificates(Phase1::Main), psk(Phase1::Aggressive)];
    for (which, n) in [(0, 4), (0, 5), (1, 4), (1, 5), (2, 2)] {
        for at in 1..=16 {
            let mut bench = Bench::new(configs[which].clone());
            bench.initiate();
            for _ in 0..n {
                let (side, datagram) = bench.intercept().unwrap();
                bench.deliver(side, &datagram);
            }
            let (side, genuine) = bench.intercept().unwrap();
            let mut changed = genuine.clone();
            *changed.bytes.iter_mut().nth_back(at - 1).unwrap() ^= 0x55;
            bench.deliver(side, &changed);
            bench.deliver(side, &genuine);
            bench.run_for(seconds(10));
            let children = [&bench.i, &bench.r].map(|seat| seat.books.all_children().len());
            assert_eq!(children, [1, 1], "{which}, message {}, byte {at}\n{}", n + 1, bench.ladder);
        }
    }
}

/// Every message of both modes, damaged in every way: refused messages have no effect, so that the genuine message succeeds
/// afterwards.
#[test]
fn damaged_messages_do_no_harm() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let configs = || both(psk(phase1), |connection| connection.suites = ike("aes128-sha256-ecp256"));
        let at = |n: usize| {
            let mut bench = Bench::new(configs());
            bench.initiate();
            for _ in 0..n {
                let (side, datagram) = bench.intercept().expect("another message");
                bench.deliver(side, &datagram);
            }
            bench
        };
        let (mut refused, mut taken) = (0, 0);
        for n in 0..Bench::new(configs()).established().sent.len() {
            let (_, genuine) = at(n).intercept().expect("the message to damage");
            let mut mutants: Vec<_> = headers(&genuine.bytes).into_iter().step_by(11).collect();
            mutants.extend(bytewise(&genuine.bytes).into_iter().step_by(13));
            let mut alone = genuine.bytes.clone();
            alone[16] = 0;
            mutants.push(("no payloads".to_owned(), alone));
            for (what, bytes) in mutants {
                let mut bench = at(n);
                let (side, datagram) = bench.intercept().expect("the message to damage");
                let input = Input::Datagram { from: datagram.from, to: datagram.to, bytes: &bytes };
                let (facts, _) = bench.handle(side, input);
                if !facts.iter().any(|fact| matches!(fact, Fact::Discarded { .. })) {
                    // Unencrypted messages are not bound to anything: the first valid one is accepted.
                    taken += 1;
                    continue;
                }
                refused += 1;
                bench.deliver(side, &datagram);
                bench.settle();
                let children = [&bench.i, &bench.r].map(|seat| seat.books.all_children().len());
                assert_eq!(children, [1, 1], "{phase1:?}, message {}, {what}\n{}", n + 1, bench.ladder);
            }
        }
        assert!(refused > 4 * taken, "{phase1:?}: {refused} refused, {taken} taken");
    }
}

/// A handshake whose `n`th message is altered.
fn with_changed(mut bench: Bench, n: usize, change: impl Fn(&mut Vec<u8>)) -> Bench {
    bench.initiate();
    let mut count = 0;
    while let Some((to, mut datagram)) = bench.intercept() {
        count += 1;
        if count == n {
            change(&mut datagram.bytes);
        }
        bench.deliver(to, &datagram);
    }
    bench
}

fn position(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

/// RFC 3947 §3.1: without the peer's vendor id there is no NAT detection.
#[test]
fn only_known_vendor_ids_count() {
    let bench = with_changed(Bench::new(psk(Phase1::Main)), 1, |bytes| {
        let at = position(bytes, &[0x4a, 0x13, 0x1c, 0x81]);
        bytes[at] ^= 1;
    });
    let drawn = bench.ladder.to_string();
    assert!(drawn.contains("r -> i  IDENTITY_PROTECTION response  KE NONCE\n"), "{drawn}");
    bench.assert_agreement();
}

#[test]
fn a_public_value_of_another_length_is_no_message_3() {
    let bench = with_changed(Bench::new(psk(Phase1::Main)), 3, |bytes| {
        // KE comes first: its last byte is removed.
        bytes.remove(28 + 4 + 255);
        bytes[30..32].copy_from_slice(&259_u16.to_be_bytes());
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[24..28].copy_from_slice(&length.to_be_bytes());
    });
    let answers = bench.sent.iter().filter(|(side, _)| *side == Side::R).count();
    assert_eq!(answers, 1, "message 3 has no answer\n{}", bench.ladder);
}

/// A peer with another encryption key: nothing decrypts, an empty message included.
#[test]
fn an_encrypted_message_without_a_body_is_discarded() {
    let bench = with_changed(Bench::new(psk(Phase1::Main)), 5, |bytes| {
        bytes.truncate(28);
        bytes[24..28].copy_from_slice(&28_u32.to_be_bytes());
    });
    assert!(bench.ladder.to_string().contains("r  discards: not decryptable"), "{}", bench.ladder);
    assert_eq!(bench.r.books.sa_count(), 0);
}

/// RFC 2408 §5.1: malformed messages of authenticated peers are answered with an error.
#[test]
fn an_authentic_incomplete_message_is_answered_with_the_error() {
    // Without the HASH payload after the identity.
    let mut bench = with_changed(Bench::null(psk(Phase1::Main), 1), 5, |bytes| bytes[28] = 200);
    bench.cut.insert(Side::I, true);
    bench.run_for(seconds(30));
    let told: Vec<_> = [bench.failures(Side::I), bench.closures(Side::I)].concat();
    assert_eq!(told, ["PAYLOAD_MALFORMED"], "{}", bench.ladder);
    assert_eq!(bench.r.books.sa_count(), 0);
}

/// A responder that chooses a proposal that was not offered is told so.
#[test]
fn a_choice_that_was_not_offered_is_answered_with_the_error() {
    let mut bench = with_changed(Bench::new(psk(Phase1::Aggressive)), 2, |bytes| {
        // ENCRYPTION_ALGORITHM, from AES to CAST.
        let at = position(bytes, &[0x80, 1, 0, 7]);
        bytes[at + 3] = 6;
    });
    bench.cut.insert(Side::R, true);
    bench.run_for(seconds(30));
    assert_eq!(bench.failures(Side::I), ["NO_PROPOSAL_CHOSEN"], "{}", bench.ladder);
    let (_, last) = bench.sent.iter().rfind(|(side, _)| *side == Side::I).unwrap();
    assert_eq!((last.bytes[18], &last.bytes[38..40]), (5, &14_u16.to_be_bytes()[..]), "{}", bench.ladder);
}

/// The connection for an identity must have the same phase 1, authentication method and suite as negotiated.
#[test]
fn a_connection_that_does_not_match_is_not_used() {
    let changes: [(&str, lab::Change); 3] = [
        ("aggressive mode", |it| it.version = Version::V1(V1::new(Phase1::Aggressive))),
        ("another suite", |it| it.suites = ike("aes256-sha1-modp1024")),
        ("another identity", |it| it.remote_id = Some(lab::id("nobody.example.org"))),
    ];
    for (what, change) in changes {
        let (i, mut r) = psk(Phase1::Main);
        let mut other = only(&mut r).clone();
        change(&mut other);
        r.connections.insert(0, other);
        let bench = Bench::new((i, r)).established();
        bench.assert_agreement();
        let taken = bench.r.events.iter().find_map(|event| match event {
            Event::Established(up) => Some(up.connection),
            _ => None,
        });
        assert_eq!(taken, Some(1), "{what}");
    }
}

/// A gateway with a connection for one device with a certificate, and one for all with a shared key; and an initiator that is
/// the device by its first connection, and by its second a holder of the key who claims the device's name.
fn shared_key_and_certificate(phase1: Phase1) -> (Config, Config) {
    let (mut i, mut r) = certificates(phase1);
    only_child(&mut i).local = vec![net("10.9.0.0/16")];
    only_child(&mut r).remote = vec![net("10.9.0.0/16")];
    let on_the_wall = || (Prove::Psk(secret("on the wall")), Believe::psk(secret("on the wall")));
    let (mut guests, mut guest) = (only(&mut r).clone(), only(&mut i).clone());
    guests.remote_id = None;
    guests.child.as_mut().unwrap().remote = vec![];
    (guests.local, guests.remote) = on_the_wall();
    (guest.local, guest.remote) = on_the_wall();
    r.connections.push(guests);
    i.connections.push(guest);
    (i, r)
}

/// RFC 2409 §5.4: a holder of a common key can claim any identity. It may not replace, drop or inherit SAs of a peer that
/// authenticated in another way, at whatever address.
#[test]
fn a_name_under_another_connection_is_another_peer() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = Bench::new(shared_key_and_certificate(phase1)).established();
        let boss = bench.r.books.only_sa();
        let child = bench.r.books.only_child().pair.inbound_spi;
        bench.initiate_from(Side::I, 1);
        // It sends nothing more, which makes an SA replace the earlier ones.
        while let Some((side, datagram)) = bench.intercept() {
            if ![QUICK_MODE, INFORMATIONAL].contains(&datagram.bytes[18]) {
                bench.deliver(side, &datagram);
            }
        }
        bench.cut.insert(Side::I, true);
        bench.run_for(seconds(8));
        assert!(bench.r.books.sas().contains(&boss), "{phase1:?}\n{}", bench.ladder);
        let of_boss =
            |(sa, it): &(_, &keytoll_ike::event::ChildSa)| *sa == boss && it.pair.inbound_spi == child;
        assert!(bench.r.books.all_children().iter().any(of_boss), "{phase1:?}\n{}", bench.ladder);
        assert!(!bench.r.events.iter().any(|event| matches!(event, Event::Rekeyed { .. })));
    }
}

/// RFC 2408 §3.1: exchange types.
const INFORMATIONAL: u8 = 5;
const QUICK_MODE: u8 = 32;

/// RFC 8019 §5: beyond the limit the oldest is closed, and a replacement does not count twice.
#[test]
fn the_sas_of_a_peer_are_limited() {
    let mut bench = Bench::null(psk(Phase1::Main), 1);
    bench.ladder.silent = true;
    for n in 1..=10 {
        bench.initiate();
        bench.settle();
        assert_eq!(bench.r.books.sa_count(), n.min(4), "after {n}");
        assert_eq!((bench.i.books.sa_count(), bench.r.books.all_children().len()), (n.min(4), n.min(4)));
    }
    for side in [Side::R, Side::I, Side::R] {
        let sa = bench.seat(side).books.sas()[0];
        bench.command(side, Command::RekeyIke(sa));
        bench.run_for(seconds(10));
        assert_eq!(bench.r.books.sa_count(), 4, "{side:?}");
    }
    bench.initiate();
    bench.settle();
    assert_eq!(bench.r.books.sa_count(), 4);
    delete_all(&mut bench);
}

/// RFC 2408 §3.1: the commit bit is not authenticated, and setting it allows no more unfinished children than without.
#[test]
fn children_that_wait_for_connected_are_limited() {
    let mut bench = Bench::null(psk(Phase1::Main), 1).established();
    bench.ladder.silent = true;
    let sa = bench.i.books.only_sa();
    let mut child = bench.i.books.only_child().pair.inbound_spi;
    for _ in 0..100 {
        bench.command(Side::I, Command::RekeyChild(sa, child));
        let mut quick = 0;
        while let Some((side, mut datagram)) = bench.intercept() {
            quick += usize::from(side == Side::R && datagram.bytes[18] == QUICK_MODE);
            if side == Side::R && quick == 2 {
                datagram.bytes[19] |= 2;
            }
            bench.deliver(side, &datagram);
        }
        if let Some(Event::ChildRekeyed { new, .. }) = bench.i.events.last() {
            child = new.pair.inbound_spi;
        }
    }
    // The time at which CONNECTED is overdue.
    bench.run_for(seconds(5));
    let children = bench.r.books.all_children().len();
    assert!(children <= 10, "{children} children");
}
