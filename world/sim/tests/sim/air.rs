//! Radio channels: one frame at a time, groups, basic and other rates.

use std::time::Duration;

use keytoll_engine::trace::{Fact, Fate, Node};
use keytoll_engine::{Datagram, Time};
use keytoll_net::{Addr, Host};
use keytoll_sim::{Air, Direction, Free, LinkConfig, Loss, NodeConfig, NodeIndex, World};

use crate::no_crypto::NoCrypto;
use crate::toy::{News, Order, TOY, Toy, ms};

const AP: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const EVERYBODY: [u8; 6] = [0xff; 6];
/// 100 bytes and the 4 of the check sequence at 1 Mbit/s.
const SLOW_NS: u64 = 832_000;
/// The same at 8 Mbit/s.
const FAST_NS: u64 = 104_000;
const PREAMBLE_NS: u64 = 20_000;
const BEFORE_NS: u64 = 50_000;
const ACK_NS: u64 = 30_000;

const fn air(slots_max: u32, basic: keytoll_engine::trace::Protocol) -> Air {
    Air {
        channel: 6,
        basic,
        basic_rate_bits_per_s: 1_000_000,
        rate_bits_per_s: 8_000_000,
        idle_before: Duration::from_nanos(BEFORE_NS),
        slot: Duration::from_micros(10),
        slots_max,
        preamble: Duration::from_nanos(PREAMBLE_NS),
        acknowledgement: Duration::from_nanos(ACK_NS),
        frame_bytes: 4,
        packet_bytes: 36,
    }
}

const fn station(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, number]
}

/// An access point and two stations, the second of which hears nothing if `deaf`.
struct Cell {
    world: World<Toy, NoCrypto, Free>,
    ap: NodeIndex,
    stations: [NodeIndex; 2],
}

impl Cell {
    fn new(air: Air, deaf: bool) -> Self {
        let mut world = World::new(1, Free);
        let mut add = |name, mac: [u8; 6]| {
            let node = world.add_node(NodeConfig::new(name), Toy::default(), NoCrypto);
            world.add_address(node, Host::Mac(mac));
            node
        };
        let ap = add(Node::Ap, AP);
        let stations = [0, 1].map(|number| add(Node::Ue, station(number)));
        for (node, deaf) in stations.into_iter().zip([false, deaf]) {
            let b_to_a = Direction { loss: Loss::Uniform(f64::from(u8::from(deaf))), ..Direction::default() };
            let link = LinkConfig { b_to_a, air: Some(air), ..LinkConfig::default() };
            world.add_link(node, ap, &link);
        }
        Self { world, ap, stations }
    }

    fn send(&mut self, node: NodeIndex, from: [u8; 6], to: [u8; 6]) {
        let datagram =
            Datagram { protocol: TOY, from: Addr::Mac(from), to: Addr::Mac(to), bytes: vec![0; 100] };
        self.world.command(node, Order::Send(datagram));
    }

    /// When which node received something, and the fates of what was sent.
    fn run(&mut self) -> (Vec<(u64, NodeIndex)>, Vec<Fate>) {
        let mut records = Vec::new();
        let mut arrivals = Vec::new();
        while let Some((at, node, News::Got(_))) = self.world.run_until(Time::MAX, &mut records) {
            arrivals.push((at.as_nanos(), node));
        }
        let fates = records.into_iter().filter_map(|record| match record.fact {
            Fact::Carried { fate, .. } => Some(fate),
            _ => None,
        });
        (arrivals, fates.collect())
    }
}

#[test]
fn one_frame_at_a_time_whoever_sends_it() {
    let other = keytoll_engine::trace::Protocol::new(&"other");
    let mut cell = Cell::new(air(0, other), false);
    let [a, b] = cell.stations;
    cell.send(a, station(0), AP);
    cell.send(cell.ap, AP, station(1));
    let first = BEFORE_NS + PREAMBLE_NS + FAST_NS;
    let (arrivals, _) = cell.run();
    assert_eq!(arrivals, [(first, cell.ap), (2 * first + ACK_NS, b)]);
}

#[test]
fn a_frame_to_everybody_is_sent_once_at_the_basic_rate_and_without_acknowledgement() {
    let other = keytoll_engine::trace::Protocol::new(&"other");
    let mut cell = Cell::new(air(0, other), false);
    let [a, b] = cell.stations;
    cell.send(cell.ap, AP, EVERYBODY);
    cell.send(a, station(0), AP);
    let first = BEFORE_NS + PREAMBLE_NS + SLOW_NS;
    let second = first + BEFORE_NS + PREAMBLE_NS + FAST_NS;
    assert_eq!(cell.run(), (vec![(first, a), (first, b), (second, cell.ap)], vec![Fate::Delivered; 2]));
}

/// A LAN whose links are no radio channel: a frame to everybody takes every link by itself.
#[test]
fn on_a_lan_a_frame_to_everybody_reaches_all_who_are_joined() {
    let mut world = World::new(1, Free);
    let mut add = |name, mac: [u8; 6]| {
        let node = world.add_node(NodeConfig::new(name), Toy::default(), NoCrypto);
        world.add_address(node, Host::Mac(mac));
        node
    };
    let (ap, far) = (add(Node::Ap, AP), add(Node::Aaa, [2; 6]));
    let stations = [0, 1].map(|number| add(Node::Ue, station(number)));
    for node in stations {
        world.add_link(node, ap, &LinkConfig { is_lan: true, ..LinkConfig::default() });
    }
    world.add_link(ap, far, &LinkConfig::default());
    let mut cell = Cell { world, ap, stations };
    cell.send(ap, AP, EVERYBODY);
    let (arrivals, fates) = cell.run();
    assert_eq!((arrivals, fates), (stations.map(|node| (0, node)).to_vec(), vec![Fate::Delivered]));
}

#[test]
fn frames_of_the_basic_protocol_are_slow() {
    let mut cell = Cell::new(air(0, TOY), false);
    let [a, _] = cell.stations;
    cell.send(a, station(0), AP);
    assert_eq!(cell.run().0, [(BEFORE_NS + PREAMBLE_NS + SLOW_NS, cell.ap)]);
}

#[test]
fn what_one_loses_others_receive() {
    let mut cell = Cell::new(air(0, TOY), true);
    let [a, _] = cell.stations;
    cell.send(cell.ap, AP, EVERYBODY);
    let (arrivals, fates) = cell.run();
    assert_eq!((arrivals.len(), arrivals[0].1, fates), (1, a, vec![Fate::Delivered]));
}

#[test]
fn stations_do_not_reach_each_other_and_a_group_without_members_is_told() {
    let mut cell = Cell::new(air(0, TOY), false);
    let [a, _] = cell.stations;
    cell.send(a, station(0), station(1));
    assert_eq!(cell.run(), (Vec::new(), Vec::new()));
}

#[test]
fn contention_waits_between_no_slot_and_the_most() {
    let mut cell = Cell::new(air(15, TOY), false);
    let [a, _] = cell.stations;
    for k in 0..100 {
        let datagram =
            Datagram { protocol: TOY, from: Addr::Mac(station(0)), to: Addr::Mac(AP), bytes: vec![0; 100] };
        cell.world.command_at(ms(10 * k), a, Order::Send(datagram));
    }
    let waits =
        cell.run().0.into_iter().zip(0..).map(|((at, _), k): ((u64, _), u64)| {
            at - ms(10 * k).as_nanos() - BEFORE_NS - PREAMBLE_NS - SLOW_NS
        });
    let slots: std::collections::BTreeSet<u64> = waits.map(|wait| wait / 10_000).collect();
    assert!(slots.len() > 12 && slots.last() <= Some(&15), "{slots:?}");
}
