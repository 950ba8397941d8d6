//! Hosts that move, and those that only say so: RFC 8046 §3.2.1, §5.4, §6.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_net::Addr;

use super::hostile::{contents, read, sum};
use super::world::{A, B, DELAY, World, address, base_pair, diet_pair, pretended_pair};
use crate::config::Config;
use crate::event::{Command, Event};
use crate::identity::DietVariant;
use crate::number::{PacketType, ParameterType};

fn up(configs: [Config; 2]) -> World {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run_a_while();
    world.sent.clear();
    world
}

/// Other addresses of the first host, or of somebody else.
fn elsewhere(number: u8) -> Addr {
    Addr::Ip { ip: IpAddr::V4(Ipv4Addr::new(198, 51, 100, number)), protocol: 139 }
}

fn announce(world: &mut World, to: Addr) {
    let id = world.association(A);
    world.command(A, Command::Readdress(id, to));
}

/// Where the second host believes the first one to be, as it has told its owner.
fn believed(world: &World) -> Vec<Addr> {
    let events = world.hosts[B].events.iter();
    events
        .filter_map(|event| match event {
            Event::PeerMoved(_, at) => Some(*at),
            _ => None,
        })
        .collect()
}

fn questions(world: &World) -> Vec<&Datagram> {
    let asks = |sent: &&Datagram| {
        let packet = read(sent);
        let is_update = packet.header.packet_type == PacketType::UPDATE;
        is_update && packet.find(ParameterType::ECHO_REQUEST_SIGNED).is_some()
    };
    world.sent.iter().filter(asks).collect()
}

/// A peer that names an address of somebody else, and has the answer repeated to where it is: it never sees the nonce.
#[test]
fn what_must_come_back_from_an_address_is_sent_there_alone() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = up(configs);
        announce(&mut world, elsewhere(7));
        let update = Datagram { from: address(A), ..world.sent[0].clone() };
        world.run_a_while();
        for from in [address(A), elsewhere(9)] {
            let mut again = Datagram { from, ..update.clone() };
            sum(&mut again);
            world.inject(&again);
        }
        world.run(Duration::from_secs(60));
        let questions = questions(&world);
        let asked: Vec<Addr> = questions.iter().map(|question| question.to).collect();
        assert!(asked.len() > 3 && asked.iter().all(|to| *to == elsewhere(7)), "{asked:?}");
        assert_eq!(believed(&world), []);
    }
}

#[test]
fn a_host_that_moves_twice_in_a_round_trip_is_believed_where_it_is() {
    let mut world = up(base_pair());
    world.moved.insert(elsewhere(8), A);
    announce(&mut world, elsewhere(7));
    world.run(DELAY + DELAY / 2);
    announce(&mut world, elsewhere(8));
    world.run_a_while();
    assert_eq!(believed(&world), [elsewhere(8)]);
    let (id, theirs) = (world.association(A), world.association(B));
    world.command(B, Command::Rekey(theirs));
    world.run_a_while();
    world.command(A, Command::Rekey(id));
    world.run_a_while();
    world.assert_agreement(A, B);
}

#[test]
fn a_rekeying_under_way_goes_on_at_the_new_address() {
    let mut world = up(base_pair());
    world.moved.insert(elsewhere(7), A);
    let id = world.association(A);
    world.fate = Box::new(|datagram, _| if datagram.to == address(A) { vec![] } else { vec![DELAY] });
    world.command(A, Command::Rekey(id));
    world.run(Duration::from_millis(100));
    announce(&mut world, elsewhere(7));
    world.run(Duration::from_secs(3));
    world.assert_agreement(A, B);
    assert_eq!(believed(&world), [elsewhere(7)]);
    let rekeyed = |event: &Event| matches!(event, Event::ChildRekeyed { .. });
    assert!(world.hosts[A].events.iter().any(rekeyed));
}

#[test]
fn an_update_of_before_or_a_forged_one_moves_nobody() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = up(configs);
        (7..=8).for_each(|number| _ = world.moved.insert(elsewhere(number), A));
        announce(&mut world, elsewhere(7));
        world.run_a_while();
        let whole = std::mem::take(&mut world.sent);
        announce(&mut world, elsewhere(8));
        world.run_a_while();
        assert_eq!(believed(&world), [elsewhere(7), elsewhere(8)]);
        world.sent.clear();
        for packet in whole.iter().filter(|packet| packet.to == address(B)) {
            world.inject(packet);
        }
        let mut forged = whole[0].clone();
        let seq = contents(&forged, ParameterType::SEQ);
        forged.bytes[seq.end - 1] = 40;
        let locator = contents(&forged, ParameterType::LOCATOR_SET);
        forged.bytes[locator.end - 1] = 66;
        sum(&mut forged);
        world.inject(&forged);
        world.run_a_while();
        assert_eq!((questions(&world).len(), world.ladder()), (0, String::new()));
        assert_eq!(believed(&world), [elsewhere(7), elsewhere(8)]);
        assert_eq!(world.discards(B), ["UPDATE out of sequence", "HIP_MAC_FAILED"]);
    }
}

/// Packets that are lost, repeated and overtaken: the move comes to its end, or the association does.
#[test]
fn a_move_over_a_bad_network_ends_with_an_address_or_with_a_reason() {
    let (mut moved, mut closed) = (0, 0);
    for seed in 0..2000 {
        let mut world = World::new(pretended_pair(), seed).pretending();
        world.initiate(A, B);
        world.run_a_while();
        world.moved.insert(elsewhere(7), A);
        let lost = seed % 10;
        world.fate = Box::new(move |_, rng| {
            let copies = if rng.below(10) < lost { 0 } else { 1 + rng.below(4) / 3 };
            (0..copies).map(|_| DELAY + Duration::from_millis(rng.below(40))).collect()
        });
        announce(&mut world, elsewhere(7));
        world.run(Duration::from_secs(200));
        let ends = |event: &Event| matches!(event, Event::Closed(..));
        let is_closed = world.hosts.iter().any(|host| host.events.iter().any(ends));
        let is_moved = believed(&world) == [elsewhere(7)];
        assert!(is_moved || is_closed, "seed {seed}: {} {:?}", world.ladder(), believed(&world));
        (moved, closed) = (moved + u32::from(is_moved), closed + u32::from(is_closed));
    }
    assert!(moved > 1300 && closed > 0, "{moved} moved, {closed} closed");
}
