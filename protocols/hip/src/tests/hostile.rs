//! Bad input: what issue and standards name, from strangers and from peers.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Rng;
use keytoll_engine::{Datagram, Engine, Input};
use keytoll_net::Addr;
use proptest::prelude::*;

use super::world::{A, B, World, base_pair, diet_pair, pretended_pair};
use crate::config::{Config, Limits, Puzzles};
use crate::event::{Event, Reason};
use crate::identity::DietVariant;
use crate::leniency::Leniency;
use crate::number::{PacketType, ParameterType};
use crate::puzzle::{PuzzleFunction, Question};
use crate::wire::Packet;
use crate::wire::builder::put_checksum;

/// A provider that signs nothing and agrees on nothing: what a flood of I1 must not ask for.
#[derive(Debug, Default)]
pub(super) struct NoSignatures(Real);

impl keytoll_crypto_api::Crypto for NoSignatures {
    fn hash(
        &mut self,
        algorithm: keytoll_crypto_api::algorithm::Hash,
        parts: &[&[u8]],
    ) -> keytoll_crypto_api::Digest {
        self.0.hash(algorithm, parts)
    }
    fn sha1_compress(&mut self, _: &mut [u32; 5], _: &[u8; 64]) {
        panic!("no SHA-1")
    }
    fn block(&mut self, _: keytoll_crypto_api::algorithm::BlockCipher, _: &[u8], _: &mut [u8]) {
        panic!("no encryption")
    }
    fn stream(&mut self, _: keytoll_crypto_api::algorithm::StreamCipher, _: &[u8], _: &mut [u8]) {
        panic!("no encryption")
    }
    fn wrap_key(&mut self, _: keytoll_crypto_api::algorithm::KeyWrap, _: &[u8], _: &[u8]) -> Vec<u8> {
        panic!("no encryption")
    }
    fn unwrap_key(
        &mut self,
        _: keytoll_crypto_api::algorithm::KeyWrap,
        _: &[u8],
        _: &[u8],
    ) -> Result<keytoll_crypto_api::Secret, keytoll_crypto_api::Rejected> {
        panic!("no encryption")
    }
    fn prf(
        &mut self,
        algorithm: keytoll_crypto_api::algorithm::Prf,
        key: &[u8],
        parts: &[&[u8]],
    ) -> keytoll_crypto_api::Digest {
        self.0.prf(algorithm, key, parts)
    }
    fn mac(
        &mut self,
        _: keytoll_crypto_api::algorithm::Integrity,
        _: &[u8],
        _: &[&[u8]],
    ) -> keytoll_crypto_api::Digest {
        panic!("no MAC")
    }
    fn verify_mac(
        &mut self,
        _: keytoll_crypto_api::algorithm::Integrity,
        _: &[u8],
        _: &[&[u8]],
        _: &[u8],
    ) -> Result<(), keytoll_crypto_api::Rejected> {
        panic!("no MAC")
    }
    fn encrypt(
        &mut self,
        _: keytoll_crypto_api::algorithm::Encryption,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &mut [u8],
        _: &mut [u8],
    ) {
        panic!("no encryption")
    }
    fn decrypt(
        &mut self,
        _: keytoll_crypto_api::algorithm::Encryption,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &mut [u8],
        _: &[u8],
    ) -> Result<(), keytoll_crypto_api::Rejected> {
        panic!("no encryption")
    }
    fn generate(
        &mut self,
        _: keytoll_crypto_api::algorithm::Group,
        _: &mut Rng,
    ) -> keytoll_crypto_api::KeyPair {
        panic!("no key pair")
    }
    fn agree(
        &mut self,
        _: &keytoll_crypto_api::PrivateKey,
        _: &[u8],
    ) -> Result<keytoll_crypto_api::Secret, keytoll_crypto_api::Rejected> {
        panic!("no key agreement")
    }
    fn sign(
        &mut self,
        _: &keytoll_crypto_api::SigningKey,
        _: keytoll_crypto_api::algorithm::SignatureScheme,
        _: &[&[u8]],
    ) -> Vec<u8> {
        panic!("no signature")
    }
    fn verify(
        &mut self,
        _: &[u8],
        _: keytoll_crypto_api::algorithm::SignatureScheme,
        _: &[&[u8]],
        _: &[u8],
    ) -> Result<(), keytoll_crypto_api::Rejected> {
        panic!("no signature")
    }
    fn on_curve(
        &mut self,
        _: keytoll_crypto_api::algorithm::Curve,
        _: keytoll_crypto_api::OnCurve<'_>,
    ) -> Result<keytoll_crypto_api::Secret, keytoll_crypto_api::Rejected> {
        panic!("no element by itself")
    }
    fn rsa_encrypt(&mut self, _: &[u8], _: &[u8]) -> Result<Vec<u8>, keytoll_crypto_api::Rejected> {
        panic!("no RSA")
    }
    fn rsa_decrypt(
        &mut self,
        _: &keytoll_crypto_api::SigningKey,
        _: &[u8],
    ) -> Result<keytoll_crypto_api::Secret, keytoll_crypto_api::Rejected> {
        panic!("no RSA")
    }
}

pub(super) fn read(datagram: &Datagram) -> Packet<'_> {
    Packet::read(&datagram.bytes, Leniency::default()).unwrap()
}

pub(super) fn sum(datagram: &mut Datagram) {
    put_checksum(&mut datagram.bytes, (datagram.from.ip().unwrap(), datagram.to.ip().unwrap()));
}

/// Where a parameter's contents are in a packet.
pub(super) fn contents(datagram: &Datagram, kind: ParameterType) -> std::ops::Range<usize> {
    let packet = read(datagram);
    let parameter = packet.find(kind).unwrap();
    let begin = parameter.begins + 4;
    begin..begin + parameter.bytes().len()
}

/// The exchange stops before a packet of this type arrives, which is given.
pub(super) fn stopped_before(configs: [Config; 2], packet_type: PacketType) -> (World, Datagram) {
    let mut world = World::new(configs, 1);
    world.fate =
        Box::new(
            move |datagram, _| {
                if datagram.bytes[2] == packet_type.0 { vec![] } else { vec![Duration::from_millis(10)] }
            },
        );
    world.initiate(A, B);
    world.run(Duration::from_millis(100));
    let packet = world.sent.iter().find(|sent| sent.bytes[2] == packet_type.0).unwrap().clone();
    (world, packet)
}

fn all() -> [[Config; 2]; 3] {
    [base_pair(), diet_pair(DietVariant::Draft24), diet_pair(DietVariant::Prototype)]
}

#[test]
fn a_wrong_solution_costs_one_hash_and_gets_no_answer() {
    for configs in all() {
        let (mut world, mut i2) = stopped_before(configs, PacketType::I2);
        let solution = contents(&i2, ParameterType::SOLUTION);
        let (random, solved) = (solution.start + 4, solution.start + 4 + (solution.len() - 4) / 2);
        let function = if solution.len() == 36 {
            PuzzleFunction::Cmac
        } else {
            PuzzleFunction::Rhash(crate::number::Rhash::Sha384)
        };
        loop {
            i2.bytes[solved] = i2.bytes[solved].wrapping_add(1);
            let question = Question {
                function,
                difficulty_bits: 4,
                random: &i2.bytes[random..solved],
                initiator: world.hosts[A].hit,
                responder: world.hosts[B].hit,
            };
            if !question.is_solved_by(&i2.bytes[solved..solution.end], &mut Real::default()) {
                break;
            }
        }
        sum(&mut i2);
        world.crypto = Box::new(NoSignatures::default());
        let sent = world.sent.len();
        world.inject(&i2);
        assert_eq!(world.discards(B), ["puzzle not solved"]);
        assert_eq!((world.sent.len(), world.hosts[B].engine.association_count()), (sent, 0));
    }
}

#[test]
fn a_puzzle_of_somebody_else_or_of_long_ago_is_refused() {
    for configs in all() {
        let (mut world, i2) = stopped_before(configs, PacketType::I2);
        let mut other = i2.clone();
        other.bytes[contents(&i2, ParameterType::SOLUTION).start + 4] ^= 1;
        sum(&mut other);
        world.inject(&other);
        let mut elsewhere = i2.clone();
        elsewhere.from = Addr::Ip { ip: std::net::Ipv4Addr::new(192, 0, 2, 99).into(), protocol: 139 };
        sum(&mut elsewhere);
        world.inject(&elsewhere);
        assert_eq!(world.discards(B), ["puzzle of another responder"; 2]);
        world.now += Duration::from_secs(300);
        world.inject(&i2);
        assert_eq!(world.discards(B)[2], "puzzle expired");
        assert_eq!(world.hosts[B].engine.association_count(), 0);
    }
}

/// A host that looks at each I2, however often it has not believed one.
fn patient(config: Config) -> Config {
    let puzzle = Puzzles { broken_max: u8::MAX, ..config.puzzle };
    let limits = Limits { broken_per_address_max: u32::MAX, ..config.limits };
    Config { puzzle, limits, ..config }
}

#[test]
fn any_octet_that_is_changed_is_noticed() {
    for configs in all() {
        for packet_type in [PacketType::R1, PacketType::I2, PacketType::R2] {
            let (mut world, packet) = stopped_before(configs.clone().map(patient), packet_type);
            let host = if packet_type == PacketType::I2 { B } else { A };
            let diet_r1 =
                packet_type == PacketType::R1 && read(&packet).find(ParameterType::HIP_SIGNATURE_2).is_none();
            if diet_r1 {
                continue;
            }
            // RFC 7401 §5.2.1: what the padding holds is not looked at, and nothing covers that of the last parameter.
            let last = read(&packet).parameters().last().unwrap().contents;
            let end = last.offset() + last.len();
            for at in (0..end).step_by(3).filter(|at| !(4..6).contains(at)) {
                let mut changed = packet.clone();
                changed.bytes[at] ^= 0x10;
                sum(&mut changed);
                let before = world.children(host).len();
                world.inject(&changed);
                if packet_type != PacketType::R1 {
                    assert_eq!(world.children(host).len(), before, "{packet_type:?} {at}");
                }
            }
        }
    }
}

#[test]
fn a_changed_i2_does_not_keep_the_true_one_out() {
    for configs in all() {
        let (mut world, i2) = stopped_before(configs, PacketType::I2);
        let mut changed = i2.clone();
        let mac = changed.bytes.len() - 1;
        changed.bytes[mac.min(contents(&i2, ParameterType::ESP_INFO).end - 1)] ^= 1;
        sum(&mut changed);
        world.inject(&changed);
        assert_eq!(world.hosts[B].engine.association_count(), 0);
        world.fate = Box::new(|_, _| vec![Duration::from_millis(10)]);
        world.inject(&i2);
        world.run(Duration::from_millis(100));
        world.assert_agreement(A, B);
    }
}

#[test]
fn a_packet_for_another_hit_is_nobodys() {
    for configs in all() {
        let (mut world, i1) = stopped_before(configs, PacketType::I1);
        let mut other = i1.clone();
        other.bytes[39] ^= 1;
        sum(&mut other);
        world.inject(&other);
        assert_eq!(world.discards(B), ["I1 for another host"]);
        let mut no_hit = i1;
        no_hit.bytes[8..24].fill(7);
        sum(&mut no_hit);
        world.inject(&no_hit);
        assert_eq!(world.discards(B)[1], "I1 for another host");
    }
}

#[test]
fn checksums_order_and_critical_parameters_are_looked_at_first() {
    let (mut world, i1) = stopped_before(base_pair(), PacketType::I1);
    let mut wrong = i1.clone();
    wrong.bytes[4] ^= 1;
    world.inject(&wrong);
    let with = |kind: u16| {
        let mut more = i1.clone();
        more.bytes.extend_from_slice(&kind.to_be_bytes());
        more.bytes.extend_from_slice(&[0, 4, 0, 0, 0, 0]);
        more.bytes[1] += 1;
        sum(&mut more);
        more
    };
    world.inject(&with(257));
    world.inject(&with(1001));
    assert_eq!(
        world.discards(B),
        ["CHECKSUM_FAILED", "HIP parameter type", "UNSUPPORTED_CRITICAL_PARAMETER_TYPE"]
    );
    world.inject(&with(1002));
    assert_eq!(world.discards(B).len(), 3, "one that is not critical is passed over");
}

#[test]
fn a_replayed_i2_gets_its_r2_again_and_nothing_else() {
    for configs in all() {
        let mut world = World::new(configs, 1);
        world.initiate(A, B);
        world.run_a_while();
        let i2 = world.sent[2].clone();
        let keys = world.child(B).clone();
        world.inject(&i2);
        assert_eq!(world.ladder(), "a I1, b R1, a I2, b R2, b R2");
        assert_eq!(world.sent[3].bytes, world.sent[4].bytes);
        let mut elsewhere = i2.clone();
        elsewhere.from = Addr::Ip { ip: std::net::Ipv4Addr::new(192, 0, 2, 99).into(), protocol: 139 };
        sum(&mut elsewhere);
        world.inject(&elsewhere);
        assert_eq!((world.sent.len(), world.discards(B)), (5, vec!["puzzle of another responder"]));
        world.run(Duration::from_secs(60));
        world.inject(&i2);
        assert_eq!(world.discards(B)[1..], ["solution used before"]);
        assert_eq!(world.child(B), &keys);
        assert_eq!(world.hosts[B].engine.association_count(), 1);
    }
}

/// The weakness of the diet exchange before I_NONCE: whoever has kept R1 and R2 of one exchange can answer the next one, for
/// #I decides the keys, and is the attacker's to choose. With I_NONCE the keys are new, and R2 does not fit.
#[test]
fn a_replayed_r1_and_r2_deceive_the_prototype_and_not_draft_24() {
    let replayed = |variant| {
        let mut world = World::new(diet_pair(variant), 1);
        world.initiate(A, B);
        world.run_a_while();
        let [r1, r2] = [world.sent[1].clone(), world.sent[3].clone()];
        let id = world.association(A);
        world.command(A, crate::event::Command::Close(id));
        world.run(Duration::from_secs(60));
        world.fate = Box::new(|_, _| vec![]);
        world.initiate(A, B);
        world.inject(&r1);
        world.inject(&r2);
        world
    };
    let deceived = replayed(DietVariant::Prototype);
    assert_eq!(deceived.children(A).len(), 1, "nobody is there, and the initiator is up");
    let mut world = replayed(DietVariant::Draft24);
    assert_eq!((world.children(A).len(), world.discards(A).last().copied()), (0, Some("HIP_MAC_FAILED")));
    world.run(Duration::from_secs(60));
    assert_eq!(world.failures(A), [Reason::Timeout]);
}

#[test]
fn a_replayed_r1_of_a_base_exchange_leads_nowhere() {
    let mut world = World::new(base_pair(), 1);
    world.initiate(A, B);
    world.run_a_while();
    let [r1, r2] = [world.sent[1].clone(), world.sent[3].clone()];
    world.fate = Box::new(|_, _| vec![]);
    world.initiate(A, B);
    world.inject(&r1);
    world.inject(&r2);
    assert_eq!(world.discards(A).last().copied(), Some("HIP_MAC_FAILED"));
}

#[test]
fn an_r1_whose_lists_were_changed_is_noticed_in_r2() {
    let (mut world, mut r1) = stopped_before(diet_pair(DietVariant::Draft24), PacketType::R1);
    let list = contents(&r1, ParameterType::HIT_SUITE_LIST);
    // A second suite in the padding's place: nothing else protects R1 of a diet exchange.
    r1.bytes[list.start - 1] = 2;
    r1.bytes[list.end] = 0x20;
    sum(&mut r1);
    world.fate = Box::new(|_, _| vec![Duration::from_millis(10)]);
    world.inject(&r1);
    world.run(Duration::from_secs(60));
    assert!(world.discards(A).contains(&"R2 repeats other lists than R1"));
    assert_eq!(world.children(A).len(), 0);
}

#[test]
fn a_flood_of_i1_is_answered_without_keys_and_without_memory() {
    let mut world = World::new(base_pair(), 1);
    world.command(B, crate::event::Command::Prepare);
    world.initiate(A, B);
    let i1 = world.sent[0].clone();
    world.crypto = Box::new(NoSignatures::default());
    world.fate = Box::new(|_, _| vec![]);
    for number in 0..2000_u32 {
        let mut other = i1.clone();
        other.bytes[20..24].copy_from_slice(&number.to_be_bytes());
        sum(&mut other);
        world.inject(&other);
    }
    assert_eq!(world.sent.len(), 1 + 64, "an address without associations gets 64 in a second");
    assert_eq!(world.hosts[B].engine.association_count(), 0);
    assert_eq!(world.hosts[B].engine.spi_count(), 0);
}

#[test]
fn updates_and_closes_of_strangers_change_nothing() {
    let mut world = World::new(base_pair(), 1);
    world.initiate(A, B);
    world.run_a_while();
    let id = world.association(A);
    world.fate = Box::new(|_, _| vec![]);
    world.command(A, crate::event::Command::Rekey(id));
    let mut update = world.sent.last().unwrap().clone();
    let info = contents(&update, ParameterType::ESP_INFO);
    update.bytes[info.end - 1] ^= 1;
    sum(&mut update);
    world.inject(&update);
    world.command(A, crate::event::Command::Close(id));
    let mut close = world.sent.last().unwrap().clone();
    let echo = contents(&close, ParameterType::ECHO_REQUEST_SIGNED);
    close.bytes[echo.start] ^= 1;
    sum(&mut close);
    world.inject(&close);
    assert_eq!(world.discards(B), ["HIP_MAC_FAILED"; 2]);
    assert_eq!(world.children(B).len(), 1);
}

#[test]
fn a_panic_costs_one_association_and_its_owner_knows() {
    let mut world = World::new(base_pair(), 1);
    world.initiate(A, B);
    world.run_a_while();
    world.handle(A, Input::Recover);
    world.assert_agreement(A, B);
    let id = world.association(A);
    world.crypto = Box::new(NoSignatures::default());
    let rekey = |world: &mut World| world.command(A, crate::event::Command::Rekey(id));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rekey(&mut world)));
    assert!(panicked.is_err(), "an UPDATE is signed");
    world.handle(A, Input::Recover);
    assert_eq!(world.hosts[A].events.last(), Some(&Event::Closed(id, Reason::Internal)));
    let kept = &world.hosts[A].engine;
    assert_eq!((kept.association_count(), kept.spi_count(), kept.deadline()), (0, 0, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever arrives, in whatever state, is read or refused.
    #[test]
    fn changed_packets_are_survived(which in 0_usize..3, changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..20)) {
        let mut pairs = all();
        pairs[0] = pretended_pair();
        let mut world = World::new(pairs[which].clone(), 1).pretending();
        world.initiate(A, B);
        world.run_a_while();
        let packets = world.sent.clone();
        for (at, value) in changes {
            for packet in &packets {
                let mut changed = packet.clone();
                let at = usize::from(at) % changed.bytes.len();
                changed.bytes[at] = value;
                sum(&mut changed);
                world.inject(&changed);
            }
        }
        world.run(Duration::from_secs(1));
    }
}
