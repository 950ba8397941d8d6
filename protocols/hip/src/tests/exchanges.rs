//! The exchanges as they are meant to be.

use std::collections::BTreeSet;

use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_engine::trace::Fact;

use super::world::{A, B, World, address, agreeing, base_pair, config, diet_pair, pretended_pair, signing};
use crate::config::{Admits, Config};
use crate::event::{Command, Event, Reason};
use crate::identity::DietVariant;
use crate::number::{Cipher, EspSuite, NotifyType};

fn check(configs: [Config; 2]) -> World {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run_a_while();
    assert_eq!(world.ladder(), "a I1, b R1, a I2, b R2");
    world.assert_agreement(A, B);
    assert_eq!(world.discards(A), [""; 0]);
    assert_eq!(world.discards(B), [""; 0]);
    world
}

#[test]
fn every_kind_of_identity_associates() {
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::Ed25519] {
        check(["a", "b"].map(|name| config(signing(kind, name))));
    }
}

#[test]
fn two_kinds_of_identity_associate() {
    check([config(signing(KeyKind::EcdsaP384, "a")), config(signing(KeyKind::Rsa2048, "b"))]);
    check([config(signing(KeyKind::Ed25519, "a")), config(signing(KeyKind::EcdsaP256, "b"))]);
}

#[test]
fn every_group_of_the_base_exchange_agrees() {
    for group in [
        Group::Modp1536,
        Group::Modp2048,
        Group::Modp3072,
        Group::Ecp256,
        Group::Ecp384,
        Group::Ecp521,
        Group::X25519,
    ] {
        check(base_pair().map(|config| Config { groups: vec![group], ..config }));
    }
}

#[test]
fn every_cipher_and_suite_is_negotiated() {
    for cipher in [Cipher::Null, Cipher::Aes128Cbc, Cipher::Aes256Cbc] {
        check(base_pair().map(|config| Config { ciphers: vec![cipher], encrypt_host_id: true, ..config }));
    }
    for suite in EspSuite::ALL {
        let world = check(base_pair().map(|config| Config { esp_suites: vec![suite], ..config }));
        assert_eq!(Some(world.child(A).pair.suite), suite.suite());
    }
}

#[test]
fn diet_exchanges_agree() {
    check(diet_pair(DietVariant::Draft24));
    check(diet_pair(DietVariant::Prototype));
    check(["a", "b"].map(|name| {
        let variant = DietVariant::Prototype;
        Config { variant, ..config(agreeing(Group::Ecp384, variant, name)) }
    }));
}

#[test]
fn without_cryptography_lengths_are_true() {
    let lengths = |world: &World| world.sent.iter().map(|sent| sent.bytes.len()).collect::<Vec<_>>();
    let diet = diet_pair(DietVariant::Draft24);
    for (configs, pretended) in [(base_pair(), pretended_pair()), (diet.clone(), diet)] {
        let real = check(configs);
        let mut pretended = World::new(pretended, 1).pretending();
        pretended.initiate(A, B);
        pretended.run_a_while();
        assert_eq!(lengths(&pretended), lengths(&real));
        assert_eq!((pretended.children(A).len(), pretended.children(B).len()), (1, 1));
    }
}

#[test]
fn whoever_knows_only_an_address_learns_the_hit() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = World::new(configs, 1);
        let (local, remote) = (address(A), address(B));
        world.command(A, Command::Initiate { identity: 0, peer: None, local, remote });
        world.run_a_while();
        world.assert_agreement(A, B);
        assert_eq!(world.child(A).remote, world.hosts[B].hit);
        world.initiate(A, B);
        world.run_a_while();
        world.assert_agreement(A, B);
        assert_eq!((world.children(A).len(), world.children(B).len()), (1, 1));
    }
}

#[test]
fn packets_are_told_with_what_they_carry() {
    let world = check(base_pair());
    let told: Vec<String> = [A, B]
        .iter()
        .flat_map(|host| &world.hosts[*host].facts)
        .filter_map(|fact| match fact {
            Fact::Sent(message) => Some(format!("{} {}", message.name, message.parts)),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "I1 DH_GROUP_LIST",
            "I2 ESP_INFO R1_COUNTER SOLUTION DIFFIE_HELLMAN HIP_CIPHER HOST_ID TRANSPORT_FORMAT_LIST \
             ESP_TRANSFORM HIP_MAC HIP_SIGNATURE",
            "R1 R1_COUNTER PUZZLE DH_GROUP_LIST DIFFIE_HELLMAN HIP_CIPHER HOST_ID HIT_SUITE_LIST \
             TRANSPORT_FORMAT_LIST ESP_TRANSFORM HIP_SIGNATURE_2",
            "R2 ESP_INFO HIP_MAC_2 HIP_SIGNATURE",
        ]
    );
}

#[test]
fn of_two_hosts_that_begin_at_once_one_is_the_initiator() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = World::new(configs, 1);
        world.initiate(A, B);
        world.initiate(B, A);
        world.run_a_while();
        world.assert_agreement(A, B);
        for host in [A, B] {
            let up = world.hosts[host].events.iter().filter(|event| matches!(event, Event::Established(_)));
            assert_eq!((up.count(), world.failures(host)), (1, vec![]));
            assert_eq!(world.hosts[host].engine.association_count(), 1);
        }
        let smaller = if world.hosts[A].hit < world.hosts[B].hit { A } else { B };
        let is_initiator = |host: usize| {
            world.hosts[host]
                .events
                .iter()
                .any(|event| matches!(event, Event::Established(up) if up.initiator))
        };
        assert!(is_initiator(smaller) && !is_initiator(1 - smaller));
    }
}

#[test]
fn a_second_exchange_takes_the_place_of_the_first() {
    let mut world = check(base_pair());
    let first = world.association(B);
    world.initiate(A, B);
    world.run_a_while();
    world.assert_agreement(A, B);
    assert!(world.hosts[B].events.contains(&Event::Closed(first, Reason::Replaced)));
    assert_eq!(world.hosts[B].engine.association_count(), 1);
    assert_eq!(world.hosts[B].engine.spi_count(), 1);
}

fn fails(configs: [Config; 2], reason: Reason) {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run(std::time::Duration::from_secs(600));
    assert_eq!(world.failures(A), [reason]);
    world.assert_nothing_is_kept();
}

#[test]
fn what_cannot_be_agreed_on_has_a_name() {
    let [a, b] = base_pair();
    let no_cipher = Config { ciphers: vec![Cipher::Aes256Cbc], ..a.clone() };
    fails([no_cipher, Config { ciphers: vec![Cipher::Aes128Cbc], ..b.clone() }], Reason::NoProposalChosen);
    let no_suite = Config { esp_suites: vec![EspSuite::AES_GMAC], ..a.clone() };
    fails([no_suite, b.clone()], Reason::NoProposalChosen);
    let no_group = Config { groups: vec![Group::Ecp521], ..a.clone() };
    fails([no_group, b.clone()], Reason::NoProposalChosen);
    let [diet, _] = diet_pair(DietVariant::Draft24);
    fails([diet, b.clone()], Reason::UnsupportedHitSuite);
    let nobody = Config { admits: Admits::Hits(BTreeSet::new()), ..b.clone() };
    fails([a.clone(), nobody], Reason::Refused(NotifyType::BLOCKED_BY_POLICY));
    let only = Config { admits: Admits::Hits(BTreeSet::new()), ..a.clone() };
    fails([only, b.clone()], Reason::BlockedByPolicy);
    let mut hard = b;
    hard.puzzle.difficulty_bits = 12;
    let mut lazy = a;
    lazy.puzzle.difficulty_bits_max = 11;
    fails([lazy, hard], Reason::PuzzleTooHard);
}

#[test]
fn prepared_r1s_are_only_filled_in() {
    let mut world = World::new(base_pair(), 1);
    world.command(B, Command::Prepare);
    world.crypto = Box::new(super::hostile::NoSignatures::default());
    let peer = Some(world.hosts[B].hit);
    world.command(A, Command::Initiate { identity: 0, peer, local: address(A), remote: address(B) });
    world.fate = Box::new(|_, _| vec![]);
    let i1 = world.sent[0].clone();
    world.inject(&i1);
    assert_eq!(world.ladder(), "a I1, b R1");
    assert_eq!(world.hosts[B].engine.association_count(), 0);
}
