//! What strangers cost a host of HIP: a responder its R1s, and an initiator the trials of a puzzle.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use keytoll_crypto::Real;
use keytoll_crypto_api::Rng;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_hip::config::Limits;
use keytoll_hip::event::Command;
use keytoll_hip::number::{GroupId, PacketType, ParameterType, Rhash};
use keytoll_hip::puzzle::{PuzzleFunction, Question};
use keytoll_hip::wire::Builder;
use keytoll_hip::wire::builder::put_checksum;
use keytoll_hip::{Endpoint, Hit};
use keytoll_net::Addr;

use crate::figures::{Spread, repetitions};
use crate::hip::Case;
use crate::raw;
use crate::timed;

const RESPONDER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const ROUNDS: u32 = 31;

/// Measures and prints everything.
pub(crate) fn measure_all() {
    for case in [Case::Base(KeyKind::EcdsaP256), Case::Base(KeyKind::Rsa2048), Case::Diet] {
        flood(case);
    }
    println!();
    for function in
        [PuzzleFunction::Rhash(Rhash::Sha256), PuzzleFunction::Rhash(Rhash::Sha384), PuzzleFunction::Cmac]
    {
        trials(function);
    }
    println!();
}

/// I1s of so many hosts, each from an address of its own.
fn flood(case: Case) {
    let strangers: u16 = repetitions(4096, 16).try_into().expect("few enough for two octets");
    let mut config = case.config("responder", false);
    config.limits = Limits { r1_per_second_max: None, ..config.limits };
    let suite = config.identities[0].suite();
    let (hit, group) = (config.identities[0].hit(), if matches!(case, Case::Diet) { 12 } else { 7 });
    let mut endpoint = Endpoint::new(config, Rng::named(1, "responder"));
    let crypto = &mut Real::default();
    let cx = &mut Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace };
    endpoint.handle(Input::Command(Command::Prepare), cx);
    let packets: Vec<_> =
        (0..strangers).map(|number| i1(number, suite.number(), hit, GroupId(group))).collect();
    let round = |_| {
        let us = timed(|| {
            for (ip, bytes) in &packets {
                let (from, to) = (at(*ip), at(RESPONDER));
                endpoint.handle(Input::Datagram { from, to, bytes }, cx);
                assert!(matches!(black_box(endpoint.poll()), Some(Output::Datagram(r1)) if r1.to == from));
            }
        });
        f64::from(strangers) / us * 1e6
    };
    let rates = Spread::of((0..repetitions(ROUNDS, 1)).map(round).collect());
    let kept = endpoint.association_count() + endpoint.unproved_count() + endpoint.spi_count();
    assert!(kept == 0 && endpoint.deadline().is_none(), "strangers leave nothing behind");
    println!("{:42}{rates:.0} a second and core, {kept} kept", format!("I1s answered, {}", case.name()));
}

const fn at(ip: IpAddr) -> Addr {
    Addr::Ip { ip, protocol: 139 }
}

/// The I1 of a host that nobody knows.
fn i1(number: u16, suite: u8, receiver: Hit, group: GroupId) -> (IpAddr, Vec<u8>) {
    let [high, low] = number.to_be_bytes();
    let ip = IpAddr::V4(Ipv4Addr::new(10, 0, high, low));
    let mut sender = [0; 16];
    sender[..4].copy_from_slice(&[0x20, 0x01, 0x00, 0x20 | suite]);
    sender[14..].copy_from_slice(&[high, low]);
    let mut builder = Builder::new(PacketType::I1, Hit(sender), receiver);
    builder.parameter(ParameterType::DH_GROUP_LIST, |w| w.u8(group.0));
    let mut bytes = builder.finish().expect("an I1 is short");
    put_checksum(&mut bytes, (ip, RESPONDER));
    (ip, bytes)
}

/// Trials of a puzzle that none of them solves, beside their primitive.
fn trials(function: PuzzleFunction) {
    let count = repetitions(1024, 4);
    let random = vec![7; function.len()];
    let question = Question {
        function,
        difficulty_bits: u8::MAX,
        random: &random,
        initiator: Hit([1; 16]),
        responder: Hit([2; 16]),
    };
    let message = [&[1; 16], &[2; 16], &random[..]].concat();
    let (crypto, rng) = (&mut Real::default(), &mut Rng::named(1, "puzzle"));
    let rounds: Vec<_> = (0..repetitions(ROUNDS, 1))
        .map(|_| {
            let whole = timed(|| assert!(question.solve(count.into(), rng, crypto).is_none()));
            let raw = timed(|| (0..count).for_each(|_| raw::trial(function, &random, &message)));
            (whole / f64::from(count), raw / f64::from(count))
        })
        .collect();
    let column = |of: fn(&(f64, f64)) -> f64| Spread::of(rounds.iter().map(of).collect());
    println!("{:42}{:.3}", format!("trial of a puzzle, {}", name(function)), column(|round| round.0));
    println!("{:42}{:.2}", "  beside its primitive", column(|round| round.0 / round.1));
}

const fn name(function: PuzzleFunction) -> &'static str {
    match function {
        PuzzleFunction::Rhash(rhash) => rhash.hash().name(),
        PuzzleFunction::Cmac => "AES-CMAC",
    }
}
