//! Each leniency: two hosts that both have it agree, and one that keeps the rule does not agree with one that departs from it.

use std::time::Duration;

use keytoll_engine::Datagram;

use super::hostile::{stopped_before, sum};
use super::world::*;
use crate::config::{Config, Puzzles};
use crate::event::{Command, Reason};
use crate::identity::{DietVariant, P256Hash};
use crate::leniency::Leniency;
use crate::number::{PacketType, ParameterType};
use crate::wire::Packet;

/// Long enough that every host has given up.
const ALL_TRIES: Duration = Duration::from_secs(60);

/// Two hosts of which the first and the second are lenient in these things.
fn world(leniencies: [Leniency; 2], seed: u64) -> World {
    let [a, b] = base_pair();
    let harder = |config: Config, leniency| {
        let puzzle = Puzzles { difficulty_bits: 12, ..config.puzzle };
        Config { leniency, puzzle, ..config }
    };
    World::new([harder(a, leniencies[0]), harder(b, leniencies[1])], seed)
}

/// What the two say of each other's packets: first those of the initiator, then of the responder.
fn said(leniencies: [Leniency; 2]) -> [Vec<String>; 2] {
    let mut world = world(leniencies, 1);
    world.initiate(A, B);
    world.run(ALL_TRIES);
    if world.failures(A).is_empty() {
        world.assert_agreement(A, B);
        world.command(A, Command::Rekey(world.association(A)));
        world.run(ALL_TRIES);
        world.assert_agreement(A, B);
    }
    [A, B].map(|host| {
        let mut words: Vec<String> = world.discards(host).into_iter().map(str::to_owned).collect();
        words.dedup();
        words
    })
}

/// Both lenient; the initiator alone; the responder alone, with what the strict one says.
fn check(leniency: Leniency, strict_responder: &str, strict_initiator: &str) {
    assert_eq!(Leniency::default(), Leniency::NONE);
    let nothing: [Vec<String>; 2] = Default::default();
    assert_eq!(said([leniency; 2]), nothing, "{leniency:?}");
    let [_, responder] = said([leniency, Leniency::NONE]);
    let [initiator, _] = said([Leniency::NONE, leniency]);
    let complaints = [responder.join(", "), initiator.join(", ")];
    assert_eq!(complaints, [strict_responder, strict_initiator], "{leniency:?}");
}

/// The hash of signatures with P-256 must be the same on both sides.
#[test]
fn signatures_of_p256_with_another_hash_are_wrong() {
    const SHA256: P256Hash = P256Hash::Sha256;
    const SHA384: P256Hash = P256Hash::Sha384;
    let hashing = |config: Config, hash| {
        let identities = config.identities.iter().cloned().map(|identity| identity.with_p256_hash(hash));
        Config { identities: identities.collect(), p256_hash: hash, ..config }
    };
    for (hashes, is_agreed) in [
        ([SHA256, SHA256], true),
        ([SHA384, SHA384], true),
        ([SHA256, SHA384], false),
        ([SHA384, SHA256], false),
    ] {
        let [a, b] = base_pair();
        let mut world = World::new([hashing(a, hashes[0]), hashing(b, hashes[1])], 1);
        world.initiate(A, B);
        world.run(ALL_TRIES);
        if is_agreed {
            world.assert_agreement(A, B);
        } else {
            assert!(!world.failures(A).is_empty(), "{hashes:?}");
            assert!(world.discards(A).contains(&"AUTHENTICATION_FAILED"), "{:?}", world.discards(A));
        }
    }
}

#[test]
fn a_puzzle_over_swapped_hits() {
    let leniency = Leniency { swapped_puzzle: true, ..Leniency::NONE };
    check(leniency, "puzzle not solved", "");
}

#[test]
fn integrity_keys_the_other_way_round() {
    let leniency = Leniency { swapped_integrity_keys: true, ..Leniency::NONE };
    check(leniency, "HIP_MAC_FAILED, solution of too many broken I2s", "");
}

#[test]
fn r2_with_the_signature_of_r1() {
    let leniency = Leniency { r2_with_signature_2: true, ..Leniency::NONE };
    check(leniency, "", "no HIP_SIGNATURE");
}

#[test]
fn a_reader_of_any_order_writes_in_the_right_one() {
    let leniency = Leniency { any_order: true, ..Leniency::NONE };
    check(leniency, "", "");
}

/// The packet with a parameter at its end, where whoever is on the way can put one.
fn with_appended(packet: &Datagram, kind: ParameterType) -> Datagram {
    let mut more = packet.clone();
    more.bytes.extend_from_slice(&kind.0.to_be_bytes());
    more.bytes.extend_from_slice(&[0, 4, 1, 2, 3, 4]);
    more.bytes[1] += 1;
    sum(&mut more);
    more
}

/// What is behind HIP_MAC or a signature is nobody's, whatever its type: it is not taken for something that they cover.
#[test]
fn a_reader_of_any_order_believes_nothing_behind_a_mac() {
    let any_order = |config| Config { leniency: Leniency { any_order: true, ..Leniency::NONE }, ..config };
    let (mac, signature) = ("parameter behind HIP_MAC", "parameter behind a signature");
    for (configs, of_r1) in [
        (base_pair(), Some(signature)),
        (diet_pair(DietVariant::Draft24), None),
        (diet_pair(DietVariant::Prototype), None),
    ] {
        for (packet_type, reader, why) in
            [(PacketType::R1, A, of_r1), (PacketType::I2, B, Some(mac)), (PacketType::R2, A, Some(mac))]
        {
            let Some(why) = why else { continue };
            let (mut world, packet) = stopped_before(configs.clone().map(any_order), packet_type);
            world.fate = Box::new(|_, _| vec![DELAY]);
            world.inject(&with_appended(&packet, ParameterType::ECHO_REQUEST_SIGNED));
            assert_eq!(world.discards(reader), [why], "{packet_type:?}");
            world.inject(&packet);
            world.run_a_while();
            world.assert_agreement(A, B);
        }
        let mut world = World::new(configs.map(any_order), 1);
        world.initiate(A, B);
        world.run_a_while();
        world.fate = Box::new(|_, _| vec![]);
        world.command(A, Command::Rekey(world.association(A)));
        let update = world.sent.last().unwrap().clone();
        let sent = world.sent.len();
        world.inject(&with_appended(&update, ParameterType::ECHO_REQUEST_SIGNED));
        assert_eq!((world.discards(B), world.sent.len()), (vec![mac], sent));
    }
}

#[test]
fn an_r1_without_its_counter() {
    let leniency = Leniency { no_r1_counter: true, ..Leniency::NONE };
    check(leniency, "", "");
    let mut world = world([Leniency::NONE, leniency], 1);
    world.initiate(A, B);
    world.run_a_while();
    let r1 = Packet::read(&world.sent[1].bytes, Leniency::NONE).unwrap();
    assert!(r1.find(ParameterType::R1_COUNTER).is_none());
}

/// One exchange in 256 has a Kij that begins with a zero: until then nobody notices.
#[test]
fn a_kij_without_its_zeros() {
    let leniency = Leniency { short_kij: true, ..Leniency::NONE };
    let fails = |leniencies, seed| {
        let mut world = world(leniencies, seed);
        world.initiate(A, B);
        world.run_a_while();
        world.discards(B) == ["HIP_MAC_FAILED"]
    };
    let seed = (0..4000).find(|seed| fails([leniency, Leniency::NONE], *seed)).expect("one in 256");
    assert!(fails([Leniency::NONE, leniency], seed));
    assert!(!fails([leniency; 2], seed) && !fails([Leniency::NONE; 2], seed));
}

/// Whom nobody answers as it expects gives up.
#[test]
fn a_lenient_initiator_gives_up_on_a_strict_responder() {
    let mut world = world([Leniency { swapped_integrity_keys: true, ..Leniency::NONE }, Leniency::NONE], 1);
    world.initiate(A, B);
    world.run(ALL_TRIES);
    assert!(matches!(world.failures(A)[..], [Reason::Refused(_)]));
    world.assert_nothing_is_kept();
}
