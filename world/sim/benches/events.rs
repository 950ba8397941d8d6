//! Events a second of the bare simulator: two hosts that send each other the same datagram over a link without
//! impairments, with impairments, and with records kept.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use keytoll_engine::trace::{NoTrace, Node, Protocol};
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output, Time, Transport};
use keytoll_sim::{Direction, Free, LinkConfig, Loss, NodeConfig, NodeIndex, Recorder, World};

#[path = "../tests/no_crypto/mod.rs"]
mod no_crypto;
use no_crypto::NoCrypto;

const DATAGRAMS: u32 = 100_000;
const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

fn main() {
    divan::main();
}

/// Answers every datagram with its like, a given number of times, and keeps a deadline it never reaches.
struct Echo {
    left: u32,
    out: Option<Output<()>>,
    deadline: Time,
}

impl Engine for Echo {
    type Command = Datagram;
    type Event = ();

    fn handle(&mut self, input: Input<'_, Datagram>, cx: &mut Ctx<'_>) {
        self.deadline = cx.now + Duration::from_secs(1);
        self.out = match input {
            Input::Command(datagram) => Some(Output::Packet(datagram)),
            Input::Packet { from, to, bytes } if self.left > 0 => {
                self.left -= 1;
                Some(Output::Packet(datagram(to, from, bytes.to_vec())))
            }
            Input::Packet { .. } | Input::Tick => Some(Output::Event(())),
        };
    }

    fn poll(&mut self) -> Option<Output<()>> {
        self.out.take()
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline { at: self.deadline, why: "bench" })
    }
}

fn datagram(from: Addr, to: Addr, bytes: Vec<u8>) -> Datagram {
    Datagram { protocol: Protocol::Ike, transport: Transport::Udp, from, to, bytes }
}

fn world(direction: Direction, in_flight: u32) -> World<Echo, NoCrypto> {
    let mut world = World::new(1, Free);
    let nodes = [Node::Ue, Node::Gw].map(|name| {
        let echo = Echo { left: DATAGRAMS / 2, out: None, deadline: Time::MAX };
        world.add_node(NodeConfig::new(name), echo, NoCrypto)
    });
    (0..2).for_each(|i| world.add_address(nodes[i], ADDRESSES[i]));
    world.add_link(nodes[0], nodes[1], &LinkConfig::symmetric(direction));
    let [ue, gw] = ADDRESSES.map(|ip| Addr::new(ip, 500));
    (0..in_flight).for_each(|_| world.command(nodes[0], datagram(ue, gw, vec![7; 300])));
    world
}

fn run(mut world: World<Echo, NoCrypto>, recorder: &mut dyn Recorder) -> Option<(Time, NodeIndex, ())> {
    world.run_until(Time::MAX, recorder)
}

fn bench(bencher: Bencher<'_, '_>, direction: &Direction, in_flight: u32) {
    bencher
        .counter(ItemsCount::new(DATAGRAMS))
        .with_inputs(|| world(direction.clone(), in_flight))
        .bench_values(|world| run(world, &mut NoTrace));
}

#[divan::bench]
fn plain(bencher: Bencher<'_, '_>) {
    bench(bencher, &Direction { delay: Duration::from_micros(5), ..Direction::default() }, 1);
}

/// As many datagrams under way as in a storm of a thousand devices: the event queue is deep.
#[divan::bench]
fn thousand_in_flight(bencher: Bencher<'_, '_>) {
    let delay = Duration::from_millis(20);
    bench(bencher, &Direction { delay, jitter: delay / 10, ..Direction::default() }, 1000);
}

#[divan::bench]
fn rate_jitter_loss(bencher: Bencher<'_, '_>) {
    bench(
        bencher,
        &Direction {
            delay: Duration::from_millis(90),
            jitter: Duration::from_millis(15),
            rate_bits_per_s: Some(384_000),
            loss: Loss::Uniform(1e-9),
            ..Direction::default()
        },
        1,
    );
}

#[divan::bench]
fn plain_recorded(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(DATAGRAMS))
        .with_inputs(|| (world(Direction::default(), 1), Vec::with_capacity(DATAGRAMS as usize)))
        .bench_values(|(world, mut records)| run(world, &mut records));
}
