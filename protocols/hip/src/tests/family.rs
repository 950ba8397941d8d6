//! What a reader of a capture sees of exchanges between two endpoints.

use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_engine::trace::{Fact, Message, Node};
use keytoll_family::{
    Book, Conversation, Families, Family, LinkSeal, Outcome, Passed, Recogniser, Tables, Udp,
};
use keytoll_net::Socket;

use super::world::{A, B, Subscription, World, address, base_pair, diet_pair};
use crate::config::{Aka, Config};
use crate::event::Command;
use crate::family::HipFamily;
use crate::identity::DietVariant;
use crate::names::HIP;

static FAMILIES: Families = &[&HipFamily];

/// The conversations in all that was sent.
fn conversations(world: &World) -> Vec<Conversation> {
    let mut book = Book::new(FAMILIES);
    let mut analyser = HipFamily.analyser(&mut Tables::default()).unwrap();
    for (at, datagram) in world.sent.iter().enumerate() {
        let frame = at as u64 + 1;
        let passed = Passed {
            first_ns: frame,
            at_ns: frame,
            frame,
            packets: 1,
            wire_bytes: 100,
            datagram: datagram.clone(),
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: None,
            fate: None,
        };
        let repeats = world.sent[..at].iter().position(|before| before == datagram).map(|at| at as u64 + 1);
        book.open_for(0);
        let dissected = analyser.dissect(&passed, &mut Null);
        analyser.file(&passed, dissected, repeats, &mut book, &mut Null);
    }
    book.finish(|_, number, conversation| analyser.judge(number, conversation))
}

fn up(configs: [Config; 2]) -> World {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run_a_while();
    world
}

fn with_aka() -> [Config; 2] {
    let [device, gateway] = diet_pair(DietVariant::Draft24);
    [Config { aka: Aka::Subscriber(b"ue".to_vec()), ..device }, Config { aka: Aka::Required, ..gateway }]
}

#[test]
fn each_exchange_is_told_by_its_method() {
    for (configs, method, suite, end) in [
        (base_pair(), "hip-bex", "aes128-ecp256", 3),
        (diet_pair(DietVariant::Draft24), "hip-dex", "aes128ctr", 3),
        (with_aka(), "hip-dex-aka", "aes128ctr", 5),
    ] {
        let world = up(configs);
        let all = conversations(&world);
        let [one] = &all[..] else { panic!("{} conversations", all.len()) };
        let judged = &one.judgement;
        let told = judged.method.as_ref().unwrap();
        assert_eq!((&told.name[..], &told.suite[..], told.is_known), (method, suite, true));
        assert_eq!(judged.outcome, Outcome::Established(end));
        assert_eq!(one.about.child_suite.as_deref(), Some("aes128gcm16-esn"));
        let hits = [A, B].map(|host| world.hosts[host].hit.to_string());
        assert_eq!(judged.ids.ids, [("hit_i", hits[0].clone()), ("hit_r", hits[1].clone())]);
        assert!(one.entries.iter().all(|entry| !entry.unanswered && entry.remarks.is_empty()));
        assert_eq!(one.hosts[&Node::Ue], [address(A)]);
    }
}

#[test]
fn records_and_captures_say_the_same_of_a_packet() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24), with_aka()] {
        let mut world = World::new(configs, 1);
        world.subscription = Subscription::OutOfStep;
        world.initiate(A, B);
        world.run_a_while();
        for host in [A, B] {
            let id = world.association(host);
            world.command(host, Command::Rekey(id));
            world.run_a_while();
        }
        let id = world.association(A);
        world.command(A, Command::Close(id));
        world.run_a_while();
        let mut told: Vec<&Message> = Vec::new();
        for host in [A, B] {
            told.extend(world.hosts[host].facts.iter().filter_map(|fact| match fact {
                Fact::Sent(message) => Some(message),
                _ => None,
            }));
        }
        let from = |host| world.sent.iter().filter(move |sent| sent.from == address(host));
        for (datagram, told) in from(A).chain(from(B)).zip(told) {
            let read = HipFamily.message(HIP, &datagram.bytes).unwrap();
            let outside = |message: &Message| (message.name, message.response, message.id, message.bytes);
            assert_eq!(outside(&read), outside(told));
        }
    }
}

#[test]
fn what_came_to_nothing_says_why() {
    let mut world = World::new(base_pair(), 1);
    world.fate = Box::new(|_, _| vec![]);
    world.initiate(A, B);
    world.run(Duration::from_secs(3));
    let all = conversations(&world);
    assert_eq!(all.len(), 1);
    assert!(matches!(all[0].judgement.outcome, Outcome::Unanswered(_)));
    assert!(!all[0].judgement.method.as_ref().unwrap().is_known);
    let mut world = World::new(with_aka(), 1);
    world.subscription = Subscription::WrongRes;
    world.initiate(A, B);
    world.run_a_while();
    let all = conversations(&world);
    let Outcome::Failed { by, why, .. } = &all[0].judgement.outcome else { panic!("it failed") };
    assert_eq!((*by, &why[..]), (Node::Gw, "AUTHENTICATION_FAILED"));
}

#[test]
fn an_opportunistic_exchange_is_one_conversation_and_the_next_one_another() {
    let mut world = World::new(base_pair(), 1);
    let (local, remote) = (address(A), address(B));
    for _ in 0..2 {
        world.command(A, Command::Initiate { identity: 0, peer: None, local, remote });
        world.run_a_while();
    }
    world.assert_agreement(A, B);
    assert_eq!((world.children(A).len(), world.hosts[A].engine.association_count()), (1, 1));
    let all = conversations(&world);
    assert_eq!(all.len(), 2);
    for one in &all {
        assert_eq!(one.judgement.outcome, Outcome::Established(3));
        assert!(one.entries.iter().all(|entry| entry.repeats.is_none()));
    }
}

#[test]
fn what_a_packet_carries_is_put_into_words() {
    let world = up(base_pair());
    let all = conversations(&world);
    let words = |at: usize| {
        let parts = all[0].entries[at].parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        parts.join(", ")
    };
    assert_eq!(words(0), "DH_GROUP_LIST(ecp256 modp2048 ecp384)");
    let r1 = words(1);
    assert!(r1.starts_with("R1_COUNTER(1), PUZZLE(K=4, 128s), DH_GROUP_LIST"), "{r1}");
    assert!(r1.contains("HIP_CIPHER(aes128 aes256), HOST_ID(ECDSA 0001"), "{r1}");
    assert!(r1.contains("ESP_TRANSFORM(aes128gcm16-esn aes128-sha256-esn)"), "{r1}");
    let damaged = {
        let mut world = up(base_pair());
        world.sent[0].bytes[5] ^= 1;
        conversations(&world)
    };
    assert_eq!(damaged[0].entries[0].remarks, ["WRONG CHECKSUM"]);
}

#[test]
fn in_udp_zeros_tell_hip_from_esp() {
    let mut ports: Box<dyn Recogniser> = HipFamily.recogniser().unwrap();
    let world = up(base_pair());
    let at = |port| Socket::new(address(A).ip().unwrap(), port);
    let i1 = [&[0; 4], &world.sent[0].bytes[..]].concat();
    let udp = |port, payload| Udp { from: at(port), to: at(port), payload };
    assert_eq!(ports.by_port(&udp(10_500, &i1)), Some(Ok(HIP)));
    assert_eq!(ports.by_port(&udp(10_500, &[1; 40])), Some(Ok(keytoll_engine::trace::Protocol::ESP)));
    assert_eq!(ports.by_looks(&udp(500, &i1[..44])), None);
    assert_eq!((ports.by_port(&udp(500, &i1)), ports.by_looks(&udp(500, &i1))), (None, Some(HIP)));
    assert_eq!(
        ports.by_port(&udp(500, &[1; 40])),
        Some(Ok(keytoll_engine::trace::Protocol::ESP)),
        "it is learnt"
    );
    assert!(matches!(ports.by_port(&udp(500, &[0xff])), Some(Err(_))));
}
