//! What others decide has an end: lengths of our packets, work, waits, and associations of one address.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_engine::Datagram;

use super::hostile::{NoSignatures, contents, read, stopped_before, sum};
use super::world::{A, B, World, address, base_pair, config, diet_pair, signing};
use crate::association::State;
use crate::config::{Admits, Config, Limits, Puzzles};
use crate::event::{Command, Event, Reason};
use crate::hit::Hit;
use crate::identity::DietVariant;
use crate::names::HIP;
use crate::number::{NotifyType, PacketType, ParameterType};
use crate::wire::Builder;
use crate::wire::esp::EspInfo;
use crate::wire::header::PACKET_LEN_MAX;
use crate::wire::parameter::total_len;
use crate::wire::update::Notification;

fn count(world: &World, packet_type: PacketType) -> usize {
    world.sent.iter().filter(|sent| sent.bytes[2] == packet_type.0).count()
}

/// The packet with one more parameter, in its place.
fn with_more(packet: &Datagram, kind: ParameterType, len: usize) -> Datagram {
    let later = read(packet).parameters().iter().find(|other| other.kind > kind).map(|other| other.begins);
    let at = later.unwrap_or(packet.bytes.len());
    let prefix = [kind.0.to_be_bytes(), u16::try_from(len).unwrap().to_be_bytes()].concat();
    let contents = vec![7; total_len(len) - prefix.len()];
    let mut more = packet.clone();
    more.bytes.splice(at..at, [prefix, contents].concat());
    more.bytes[1] = u8::try_from(more.bytes.len() / 8 - 1).unwrap();
    sum(&mut more);
    more
}

/// A packet of a host that has one association, with all that is its to prove, and with as long an echo request as there can be.
fn asking_for_much(
    world: &World,
    host: usize,
    packet_type: PacketType,
    begin: impl Fn(&mut Builder),
) -> Datagram {
    let engine = &world.hosts[host].engine;
    let id = engine.by_hits.values().next().unwrap();
    let association = engine.associations.get(id).unwrap();
    let State::Established(sa) = &association.state else { panic!("it is up") };
    let core = &association.core;
    let packets = (0..PACKET_LEN_MAX).rev().map(|len| {
        let mut builder = Builder::new(packet_type, core.local, core.peer);
        begin(&mut builder);
        builder.parameter(ParameterType::ECHO_REQUEST_SIGNED, |w| w.zeros(len));
        (len % 8 == 4).then(|| {
            let own = &engine.shared.identities[0];
            sa.standing.protection.finish(&mut builder, own, &mut Real::default());
            builder.finish()
        })
    });
    let bytes = packets.flatten().flatten().next().unwrap();
    let mut datagram = Datagram { protocol: HIP, from: core.route.local, to: core.route.remote, bytes };
    sum(&mut datagram);
    datagram
}

#[test]
fn an_unsigned_echo_that_makes_i2_too_long_is_left_out() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let (mut world, r1) = stopped_before(configs, PacketType::R1);
        let short = with_more(&r1, ParameterType::ECHO_REQUEST_UNSIGNED, 20);
        let room = PACKET_LEN_MAX - short.bytes.len() - 4;
        world.inject(&with_more(&short, ParameterType::ECHO_REQUEST_UNSIGNED, room));
        assert_eq!(world.discards(A), ["ECHO_REQUEST_UNSIGNED too long to be answered"]);
        let i2 = world.sent.last().unwrap();
        let packet = read(i2);
        let echoes = packet.parameters().iter();
        let echoes = echoes.filter(|parameter| parameter.kind == ParameterType::ECHO_RESPONSE_UNSIGNED);
        assert_eq!((packet.header.packet_type, echoes.count()), (PacketType::I2, 1));
    }
}

#[test]
fn a_signed_echo_that_makes_i2_too_long_is_refused_before_the_puzzle() {
    let (mut world, r1) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::R1);
    let signed = with_more(&r1, ParameterType::ECHO_REQUEST_SIGNED, PACKET_LEN_MAX - r1.bytes.len() - 4);
    world.inject(&signed);
    assert_eq!(world.discards(A), ["ECHO_REQUEST_SIGNED too long to be answered"]);
    assert_eq!(count(&world, PacketType::I2), 0);
    world.inject(&r1);
    assert_eq!(count(&world, PacketType::I2), 1, "the true R1 still counts");
}

fn up(configs: impl IntoIterator<Item = Config>) -> World {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run_a_while();
    world.sent.clear();
    world
}

#[test]
fn an_echo_that_makes_update_too_long_is_left_out() {
    let mut world = up(base_pair());
    let info = EspInfo { keymat_index: 0, old_spi: world.child(A).pair.inbound_spi, new_spi: 0x0001_0000 };
    let update = asking_for_much(&world, A, PacketType::UPDATE, |builder| {
        builder.parameter(ParameterType::ESP_INFO, |w| info.write(w));
        builder.parameter(ParameterType::SEQ, |w| w.u32(0));
    });
    world.inject(&update);
    assert_eq!(world.discards(B), ["ECHO_REQUEST_SIGNED too long to be answered"]);
    let answer = read(&world.sent[0]);
    assert!(answer.find(ParameterType::ACK).is_some());
    assert!(answer.find(ParameterType::ECHO_RESPONSE_SIGNED).is_none());
}

#[test]
fn a_close_whose_echo_is_too_long_is_discarded() {
    let kinds = [(KeyKind::EcdsaP256, "a"), (KeyKind::EcdsaP384, "b")];
    let mut world = up(kinds.map(|(kind, name)| config(signing(kind, name))));
    let close = asking_for_much(&world, A, PacketType::CLOSE, |_| {});
    world.inject(&close);
    assert_eq!(world.discards(B), ["ECHO_REQUEST_SIGNED too long to be answered"]);
    assert_eq!((world.sent.len(), world.children(B).len()), (0, 1));
}

/// An R1 with a generation that is so much later.
fn later(r1: &Datagram, generations: u8) -> Datagram {
    let mut later = r1.clone();
    later.bytes[contents(r1, ParameterType::R1_COUNTER).end - 1] += generations;
    sum(&mut later);
    later
}

#[test]
fn r1s_that_nothing_proves_make_us_start_over_once() {
    let (mut world, r1) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::R1);
    for generations in 0..10 {
        world.inject(&later(&r1, generations));
    }
    assert_eq!(count(&world, PacketType::I2), 2);
    assert_eq!(world.discards(A), ["R1 after starting over"; 8]);
    assert_eq!(world.hosts[A].engine.spi_count(), 1);
}

#[test]
fn starting_over_does_not_put_the_end_off() {
    let (mut world, r1) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::R1);
    world.fate = Box::new(|_, _| vec![]);
    world.inject(&r1);
    world.run(Duration::from_secs(14));
    world.inject(&later(&r1, 1));
    assert_eq!(count(&world, PacketType::I2), 6);
    world.run(Duration::from_secs(2));
    assert_eq!(world.failures(A), [Reason::Timeout]);
    world.assert_nothing_is_kept();
}

#[test]
fn hard_puzzles_are_solved_for_whoever_is_proved_alone() {
    let (mut world, mut r1) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::R1);
    let difficulty_at = contents(&r1, ParameterType::PUZZLE).start;
    r1.bytes[difficulty_at] = Puzzles::default().unproved_difficulty_bits_max + 1;
    sum(&mut r1);
    world.inject(&r1);
    assert_eq!((count(&world, PacketType::I2), world.discards(A).len()), (0, 1));
    for (peer, sent) in [(Some(B), 1), (None, 0)] {
        let [mut a, mut b] = base_pair();
        a.puzzle.unproved_difficulty_bits_max = 3;
        b.puzzle.difficulty_bits = 4;
        let mut world = World::new([a, b], 1);
        let peer = peer.map(|host: usize| world.hosts[host].hit);
        world.command(A, Command::Initiate { identity: 0, peer, local: address(A), remote: address(B) });
        world.run(Duration::from_millis(100));
        assert_eq!(count(&world, PacketType::I2), sent);
    }
}

#[test]
fn no_configuration_makes_puzzles_endless() {
    let puzzles =
        Puzzles { difficulty_bits_max: 255, unproved_difficulty_bits_max: 255, ..Puzzles::default() };
    assert_eq!([true, false].map(|known| puzzles.solved_bits_max(known)), [Puzzles::BITS_MAX; 2]);
}

#[test]
fn notifications_do_not_keep_a_wait_alive() {
    let (mut world, _) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::I2);
    let mut builder = Builder::new(PacketType::NOTIFY, world.hosts[B].hit, world.hosts[A].hit);
    let notification = Notification { kind: NotifyType::I2_ACKNOWLEDGEMENT, data: &[0xff, 0xff] };
    builder.parameter(ParameterType::NOTIFICATION, |w| notification.write(w));
    let bytes = builder.finish().unwrap();
    let mut notify = Datagram { protocol: HIP, from: address(B), to: address(A), bytes };
    sum(&mut notify);
    for _ in 0..20 {
        world.inject(&notify);
        world.run(Duration::from_secs(1));
    }
    assert_eq!(world.failures(A), [Reason::Timeout]);
    assert!(count(&world, PacketType::I2) > 2, "it is still sent again");
    world.assert_nothing_is_kept();
}

#[test]
fn an_address_begins_so_many_associations_and_no_more() {
    let [a, b] = base_pair();
    let identities = (0..5).map(|name: u8| signing(KeyKind::EcdsaP256, &name.to_string())).collect();
    let limits = Limits { per_address_max: 3, ..Limits::default() };
    let mut world = World::new([Config { identities, ..a }, Config { limits, ..b }], 1);
    let begin = |world: &mut World, identity| {
        let peer = Some(world.hosts[B].hit);
        world.command(A, Command::Initiate { identity, peer, local: address(A), remote: address(B) });
        world.run_a_while();
    };
    for identity in 0..5 {
        begin(&mut world, identity);
    }
    assert_eq!((world.hosts[B].engine.association_count(), world.children(B).len()), (3, 3));
    assert_eq!(world.discards(B)[0], "RESPONDER_BUSY_PLEASE_RETRY");
    begin(&mut world, 0);
    assert_eq!(world.children(B).len(), 3, "one takes the place of the one before");
    let id = world.association(A);
    world.command(A, Command::Close(id));
    world.run(Duration::from_secs(60));
    begin(&mut world, 4);
    assert_eq!(world.children(B).len(), 3, "there is a place again");
}

/// A full table does not stay full: the next initiator gets a NOTIFY to try again, and later the place of an unused association.
#[test]
fn a_full_table_has_a_place_after_a_while() {
    let [a, b] = base_pair();
    let identities = (0..5).map(|name: u8| signing(KeyKind::EcdsaP256, &name.to_string())).collect();
    let limits = Limits { associations_max: 3, ..Limits::default() };
    let mut world = World::new([Config { identities, ..a }, Config { limits, ..b }], 1);
    let begin = |world: &mut World, identity| {
        let peer = Some(world.hosts[B].hit);
        world.command(A, Command::Initiate { identity, peer, local: address(A), remote: address(B) });
        world.run_a_while();
    };
    (0..4).for_each(|identity| begin(&mut world, identity));
    assert_eq!((world.hosts[B].engine.association_count(), world.children(B).len()), (3, 3));
    assert_eq!(world.discards(B)[0], "RESPONDER_BUSY_PLEASE_RETRY");
    assert!(count(&world, PacketType::NOTIFY) > 0, "RESPONDER_BUSY_PLEASE_RETRY");
    world.run(Duration::from_secs(61));
    let refused = world.discards(B).len();
    begin(&mut world, 4);
    assert_eq!((world.hosts[B].engine.association_count(), world.children(B).len()), (3, 3));
    assert_eq!(world.discards(B).len(), refused, "it is not refused");
    let unused = |event: &&Event| matches!(event, Event::Closed(_, Reason::Unused));
    assert!(world.hosts[B].events.iter().any(|event| unused(&event)));
}

/// 100 I1s in the name of an address without associations make 64 R1s; those of one that has an association are answered.
#[test]
fn strangers_get_few_r1s() {
    let (mut world, i1) = stopped_before(base_pair(), PacketType::I1);
    (0..100).for_each(|_| world.inject(&i1));
    assert_eq!(count(&world, PacketType::R1), 64);
    let mut world = up(base_pair());
    let before = count(&world, PacketType::R1);
    (0..100).for_each(|_| world.inject(&i1));
    assert_eq!(count(&world, PacketType::R1) - before, 100);
}

#[test]
fn an_association_without_traffic_has_an_end_by_default() {
    let mut world = up(base_pair());
    world.run(Duration::from_secs(20 * 60));
    assert!(world.hosts[B].events.iter().any(|event| matches!(event, Event::Closed(..))));
    world.assert_nothing_is_kept();
}

/// Whoever keeps an I2, an UPDATE or a CLOSE has its answer repeated so often, and no more; one that is new is answered as before.
#[test]
fn an_answer_is_repeated_sixteen_times() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = World::new(configs, 1);
        world.initiate(A, B);
        world.run_a_while();
        let flood = |world: &mut World, packet_type: PacketType| {
            let is_asking = |sent: &&Datagram| {
                let wants_answer =
                    packet_type != PacketType::UPDATE || read(sent).find(ParameterType::SEQ).is_some();
                sent.to == address(B) && sent.bytes[2] == packet_type.0 && wants_answer
            };
            let packet = world.sent.iter().rev().find(is_asking).unwrap().clone();
            let before = world.sent.len();
            let fate = std::mem::replace(&mut world.fate, Box::new(|_, _| vec![]));
            (0..100).for_each(|_| world.inject(&packet));
            world.fate = fate;
            world.sent.len() - before
        };
        assert_eq!(flood(&mut world, PacketType::I2), 16);
        let id = world.association(A);
        for _ in 0..2 {
            world.command(A, Command::Readdress(id, address(A)));
            world.run_a_while();
            assert_eq!(flood(&mut world, PacketType::UPDATE), 16);
        }
        world.command(A, Command::Close(id));
        world.run_a_while();
        assert_eq!(flood(&mut world, PacketType::CLOSE), 16);
        assert_eq!(world.discards(B), ["answered too often"; 4 * 84]);
    }
}

/// An I2 that its MAC does not fit.
fn broken(i2: &Datagram) -> Datagram {
    let mut broken = i2.clone();
    broken.bytes[contents(i2, ParameterType::ESP_INFO).end - 1] ^= 1;
    sum(&mut broken);
    broken
}

/// What the responder says to this, without any key agreement or signature.
fn said_without_work(world: &mut World, packet: &Datagram) -> String {
    let crypto = std::mem::replace(&mut world.crypto, Box::new(NoSignatures::default()));
    world.inject(packet);
    world.crypto = crypto;
    (*world.discards(B).last().unwrap()).to_owned()
}

#[test]
fn a_solution_pays_for_two_broken_i2s() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24), diet_pair(DietVariant::Prototype)] {
        let (mut world, i2) = stopped_before(configs, PacketType::I2);
        for _ in 0..2 {
            world.inject(&broken(&i2));
        }
        assert_eq!(world.discards(B), ["HIP_MAC_FAILED"; 2]);
        for packet in [&broken(&i2), &i2] {
            assert_eq!(said_without_work(&mut world, packet), "solution of too many broken I2s");
        }
        assert_eq!(count(&world, PacketType::NOTIFY), 2, "what costs nothing gets no answer");
        world.fate = Box::new(|_, _| vec![Duration::from_millis(10)]);
        world.initiate(A, B);
        world.run_a_while();
        world.assert_agreement(A, B);
    }
}

#[test]
fn a_broken_i2_in_its_way_does_not_cost_an_initiator_its_solution() {
    let (mut world, i2) = stopped_before(base_pair(), PacketType::I2);
    world.inject(&broken(&i2));
    world.fate = Box::new(|_, _| vec![Duration::from_millis(10)]);
    world.inject(&i2);
    world.inject(&i2);
    world.run_a_while();
    world.assert_agreement(A, B);
    assert_eq!(count(&world, PacketType::R2), 2, "what comes again is answered again");
    world.inject(&broken(&i2));
    assert_eq!(world.discards(B).last().copied(), Some("solution used before"));
}

#[test]
fn an_address_has_so_many_broken_i2s_for_all_its_solutions() {
    let [a, mut b] = base_pair();
    b.limits.broken_per_address_max = 3;
    let (mut world, _) = stopped_before([a, b], PacketType::I2);
    let fresh = |world: &mut World| {
        world.initiate(A, B);
        world.run(Duration::from_millis(100));
        let i2 = world.sent.iter().rev().find(|sent| sent.bytes[2] == PacketType::I2.0);
        i2.unwrap().clone()
    };
    for _ in 0..3 {
        let i2 = fresh(&mut world);
        world.inject(&broken(&i2));
        assert_eq!(world.discards(B).last().copied(), Some("HIP_MAC_FAILED"));
    }
    let i2 = fresh(&mut world);
    assert_eq!(said_without_work(&mut world, &i2), "RESPONDER_BUSY_PLEASE_RETRY");
    world.run(Duration::from_secs(128));
    let i2 = fresh(&mut world);
    world.inject(&i2);
    assert_eq!(world.children(B).len(), 1, "the lifetime of the puzzle is over");
}

#[test]
fn whoever_is_refused_is_told_so_a_few_times_in_a_second() {
    let [a, b] = base_pair();
    let admits = Admits::Hits([Hit([9; 16])].into());
    let (mut world, i1) = stopped_before([a, Config { admits, ..b }], PacketType::I1);
    let elsewhere = {
        let ip = std::net::Ipv4Addr::new(198, 51, 100, 1).into();
        let mut other = Datagram { from: keytoll_net::Addr::Ip { ip, protocol: 139 }, ..i1.clone() };
        sum(&mut other);
        other
    };
    let flood = |world: &mut World, packet: &Datagram| {
        let before = count(world, PacketType::NOTIFY);
        (0..500).for_each(|_| world.inject(packet));
        count(world, PacketType::NOTIFY) - before
    };
    assert_eq!([flood(&mut world, &i1), flood(&mut world, &elsewhere)], [16, 16]);
    world.now += Duration::from_secs(1);
    assert_eq!(flood(&mut world, &i1), 16);
    assert_eq!(world.discards(B), ["BLOCKED_BY_POLICY"; 1500]);
}

#[test]
fn a_broken_i2_is_answered_under_the_same_limit() {
    let [a, mut b] = base_pair();
    b.limits.refusals_per_second_max = Some(1);
    let (mut world, i2) = stopped_before([a, b], PacketType::I2);
    for _ in 0..2 {
        world.inject(&broken(&i2));
    }
    assert_eq!((world.discards(B).len(), count(&world, PacketType::NOTIFY)), (2, 1));
}
