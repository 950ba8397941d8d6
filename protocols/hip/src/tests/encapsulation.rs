//! HIP in UDP: through a NAT, kept awake, from hosts that move, and among datagrams that are none of it.

use std::net::Ipv4Addr;
use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_net::Addr;
use proptest::prelude::*;

use super::hostile::read;
use super::world::{A, B, World, address, base_pair, diet_pair};
use crate::config::{Aka, Config};
use crate::encapsulation::{PORT, encapsulated, hip_in_udp};
use crate::event::{Command, Event};
use crate::identity::DietVariant;
use crate::names::HIP;
use crate::number::{NotifyType, PacketType, ParameterType};
use crate::wire::parameter;
use crate::wire::update::Notification;

/// Where a host is in UDP.
fn in_udp(host: usize) -> Addr {
    Addr::udp(address(host).ip().unwrap(), PORT)
}

fn world(configs: [Config; 2]) -> World {
    let mut world = World::new(configs, 1);
    for host in [A, B] {
        world.moved.insert(in_udp(host), host);
    }
    world
}

fn initiate(world: &mut World) {
    let peer = Some(world.hosts[B].hit);
    world.command(A, Command::Initiate { identity: 0, peer, local: in_udp(A), remote: in_udp(B) });
}

fn up(configs: [Config; 2]) -> World {
    let mut world = world(configs);
    initiate(&mut world);
    world.run_a_while();
    world.sent.clear();
    world
}

fn with_aka() -> [Config; 2] {
    let [device, gateway] = diet_pair(DietVariant::Draft24);
    [Config { aka: Aka::Subscriber(b"ue".to_vec()), ..device }, Config { aka: Aka::Required, ..gateway }]
}

/// A NAT: the device is seen here.
fn outside() -> Addr {
    Addr::udp(Ipv4Addr::new(198, 51, 100, 1).into(), 61_234)
}

/// Lets a NAT carry what is sent until nothing is sent any more.
fn run_behind_nat(world: &mut World, outside: Addr) {
    while !world.sent.is_empty() {
        let sent = world.sent.remove(0);
        world.inject(&translated(sent, outside));
    }
}

fn translated(sent: Datagram, outside: Addr) -> Datagram {
    if world_of(sent.from) == A {
        Datagram { from: outside, ..sent }
    } else {
        assert_eq!(sent.to, outside, "the peer answers where it was asked from");
        Datagram { to: in_udp(A), ..sent }
    }
}

fn world_of(from: Addr) -> usize {
    if from.ip() == in_udp(B).ip() { B } else { A }
}

#[test]
fn a_packet_follows_zeros_and_has_no_checksum() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24), with_aka()] {
        let mut world = world(configs);
        initiate(&mut world);
        world.run_a_while();
        world.assert_agreement(A, B);
        for sent in &world.sent {
            let packet = hip_in_udp(&sent.bytes).expect("a marker");
            assert_eq!(packet[4..6], [0; 2]);
        }
        let (ours, theirs) = (world.child(A), world.child(B));
        assert_eq!((ours.local_at, ours.remote_at), (in_udp(A), in_udp(B)));
        assert_eq!((theirs.local_at, theirs.remote_at), (in_udp(B), in_udp(A)));
    }
}

#[test]
fn a_nat_that_knows_no_hip_carries_it() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24), with_aka()] {
        let mut world = world(configs);
        world.fate = Box::new(|_, _| vec![]);
        initiate(&mut world);
        run_behind_nat(&mut world, outside());
        world.assert_agreement(A, B);
        let id = world.association(B);
        assert_eq!(world.child(B).remote_at, outside());
        world.command(B, Command::Rekey(id));
        run_behind_nat(&mut world, outside());
        world.assert_agreement(A, B);
        world.command(B, Command::Close(id));
        run_behind_nat(&mut world, outside());
        assert_eq!((world.children(A).len(), world.children(B).len()), (0, 0));
    }
}

/// RFC 8046 §3.2.1 with a NAT: the address in LOCATOR_SET is one that the peer cannot reach.
#[test]
fn whoever_moves_behind_a_nat_is_where_its_update_comes_from() {
    let mut world = world(base_pair());
    world.fate = Box::new(|_, _| vec![]);
    initiate(&mut world);
    run_behind_nat(&mut world, outside());
    let inner = Addr::udp(Ipv4Addr::new(192, 168, 1, 7).into(), PORT);
    let other = Addr::udp(Ipv4Addr::new(198, 51, 100, 99).into(), 2_000);
    let (ours, theirs) = (world.association(A), world.association(B));
    world.command(A, Command::Readdress(ours, inner));
    assert_eq!(world.sent[0].from, inner);
    run_behind_nat(&mut world, other);
    assert!(world.hosts[B].events.contains(&Event::PeerMoved(theirs, other)));
    world.command(B, Command::Close(theirs));
    assert_eq!(world.sent[0].to, other);
}

#[test]
fn a_silent_association_keeps_nats_awake() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let keepalive_after = Some(Duration::from_secs(15));
        let mut world = up(configs.map(|config| Config { keepalive_after, ..config }));
        let before = world.hosts[A].events.len();
        world.run(Duration::from_secs(14));
        assert_eq!(world.ladder(), "");
        world.run(Duration::from_secs(2));
        assert_eq!(world.ladder(), "b NOTIFY, a NOTIFY");
        let datagram = Datagram { bytes: world.sent[0].bytes[4..].to_vec(), ..world.sent[0].clone() };
        let packet = read(&datagram);
        let contents = packet.one(ParameterType::NOTIFICATION, "NOTIFICATION").unwrap().contents;
        let keepalive = Notification { kind: NotifyType::NAT_KEEPALIVE, data: &[] };
        assert_eq!((Notification::read(contents), packet.parameters().len()), (Ok(keepalive), 1));
        assert_eq!((world.hosts[A].events.len(), world.discards(A).len()), (before, 0));
        world.sent.clear();
        for host in [A, B] {
            let id = world.association(host);
            world.command(host, Command::Heard(id));
        }
        world.run(Duration::from_secs(14));
        assert_eq!(world.ladder(), "", "there was traffic");
        world.run(Duration::from_secs(50));
        assert_eq!(world.sent.len(), 8, "four each");
        let id = world.association(A);
        world.command(A, Command::Close(id));
        world.run_a_while();
        world.sent.clear();
        world.run(Duration::from_secs(100));
        assert_eq!(world.ladder(), "");
        world.assert_nothing_is_kept();
    }
}

#[test]
fn directly_on_ip_nothing_is_kept_awake() {
    let keepalive_after = Some(Duration::from_secs(15));
    let mut world = World::new(base_pair().map(|config| Config { keepalive_after, ..config }), 1);
    world.initiate(A, B);
    world.run_a_while();
    world.sent.clear();
    world.run(Duration::from_secs(100));
    assert_eq!(world.ladder(), "");
}

/// RFC 9028 §4.7.1: for the entire lifetime of the association.
#[test]
fn an_association_stays_in_udp() {
    let mut world = up(base_pair());
    let id = world.association(A);
    world.fate = Box::new(|_, _| vec![]);
    world.command(A, Command::Close(id));
    let mut on_ip = world.sent[0].clone();
    on_ip.bytes.drain(..4);
    (on_ip.from, on_ip.to) = (address(A), address(B));
    super::hostile::sum(&mut on_ip);
    world.inject(&on_ip);
    assert_eq!(world.discards(B), ["association of another transport"]);
    assert_eq!(world.children(B).len(), 1);
    let close = world.sent[0].clone();
    world.inject(&close);
    assert_eq!(world.children(B).len(), 0);
}

/// A host in opportunistic mode believes whoever answers where it has asked, and nobody at another port there.
#[test]
fn an_answer_from_another_port_opens_nothing() {
    let mut world = world(base_pair());
    world.fate = Box::new(|_, _| vec![]);
    let (local, remote) = (in_udp(A), in_udp(B));
    world.command(A, Command::Initiate { identity: 0, peer: None, local, remote });
    let i1 = world.sent[0].clone();
    world.inject(&i1);
    let r1 = world.sent[1].clone();
    world.inject(&Datagram { from: Addr::udp(remote.ip().unwrap(), 4_000), ..r1.clone() });
    assert_eq!((world.sent.len(), world.discards(A)), (2, vec!["no such association"]));
    world.inject(&r1);
    assert_eq!(world.ladder(), "a I1, b R1, a I2");
}

#[test]
fn what_is_no_hip_is_discarded() {
    let mut world = world(base_pair());
    initiate(&mut world);
    let i1 = world.sent[0].clone();
    let bare = i1.bytes[4..].to_vec();
    for (bytes, why) in [
        (bare.clone(), "no zero SPI before the packet"),
        (Vec::new(), "no zero SPI before the packet"),
        (vec![0xff], "no zero SPI before the packet"),
        (vec![0; 3], "no zero SPI before the packet"),
        (vec![1; 100], "no zero SPI before the packet"),
        (vec![0; 4], "HIP next header"),
        (encapsulated(&encapsulated(&bare)), "HIP header length"),
    ] {
        let before = world.discards(B).len();
        world.inject(&Datagram { bytes, ..i1.clone() });
        assert_eq!(world.discards(B)[before..], [why]);
    }
    world.sent.clear();
    let mut summed = i1;
    summed.bytes[8..10].copy_from_slice(&[0x12, 0x34]);
    world.inject(&summed);
    assert_eq!(world.ladder(), "b R1", "RFC 9028 has no word for it; UDP's checksum was right");
}

proptest! {
    #[test]
    fn any_datagram_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), is_marked in any::<bool>()) {
        let mut world = up(base_pair());
        let bytes = if is_marked { encapsulated(&bytes) } else { bytes };
        for to in [in_udp(B), address(B)] {
            world.inject(&Datagram { protocol: HIP, from: in_udp(A), to, bytes: bytes.clone() });
        }
        prop_assert_eq!(world.children(B).len(), 1);
    }

    /// A whole packet of the peer with any octet changed, anywhere in an association's life.
    #[test]
    fn a_damaged_packet_is_survived(at in any::<prop::sample::Index>(), change in 1_u8.., which in 0..3_usize) {
        let mut world = up(base_pair());
        let id = world.association(A);
        world.fate = Box::new(|_, _| vec![]);
        let command = [Command::Rekey(id), Command::Close(id), Command::Readdress(id, in_udp(A))];
        world.command(A, command[which].clone());
        let mut damaged = world.sent[0].clone();
        let at = at.index(damaged.bytes.len());
        damaged.bytes[at] ^= change;
        world.inject(&damaged);
        let is_checksum = (8..10).contains(&at);
        // RFC 7401 §5.2.1: what the padding holds is not checked; that of the signature comes last, and nothing covers it.
        let is_padding = at >= damaged.bytes.len() - parameter::padding(1 + 64);
        prop_assert!(is_checksum || is_padding || world.children(B).len() == 1);
    }
}

#[test]
fn packets_of_all_types_are_read_without_their_zeros() {
    let mut world = world(base_pair());
    initiate(&mut world);
    world.run_a_while();
    let types: Vec<u8> = world.sent.iter().map(|sent| hip_in_udp(&sent.bytes).unwrap()[2]).collect();
    let wanted =
        [PacketType::I1, PacketType::R1, PacketType::I2, PacketType::R2].map(|packet_type| packet_type.0);
    assert_eq!(types, wanted);
}
