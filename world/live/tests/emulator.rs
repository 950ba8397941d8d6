//! The sim's links in front of loopback sockets: never sooner than in the sim, and on a machine with time not much later.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::{Fact, Fate, NoTrace, Node, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_hosts::{Device, DeviceConfig, Event, Gateway, GatewayConfig, Host, Order};
use keytoll_ike::Config;
use keytoll_ike::IKE;
use keytoll_ike::config::{Believe, Connection, Prove, Reauthenticate, Version};
use keytoll_live::{Clock, Driver, Emulator, Path, Sockets};
use keytoll_net::Addr;
use keytoll_sim::{Direction, Free, LinkConfig, Loss, NodeConfig, World};

const LIMIT: Duration = Duration::from_secs(10);
/// How much later than in the sim the promptest of several datagrams may be, on a machine with other things to do.
const LATE_MAX: Duration = Duration::from_millis(60);

/// Sends what it is told to, and tells what arrives and when.
#[derive(Debug, Default)]
struct Pipe {
    out: VecDeque<Output<(Time, Vec<u8>)>>,
}

impl Engine for Pipe {
    /// From, to, what.
    type Command = (Addr, Addr, Vec<u8>);
    type Event = (Time, Vec<u8>);

    fn handle(&mut self, input: Input<'_, Self::Command>, cx: &mut Ctx<'_>) {
        self.out.push_back(match input {
            Input::Datagram { bytes, .. } => Output::Event((cx.now, bytes.to_vec())),
            Input::Command((from, to, bytes)) => {
                let protocol = IKE;
                Output::Datagram(Datagram { protocol, from, to, bytes })
            }
            _ => unreachable!("it asks for nothing else"),
        });
    }

    fn poll(&mut self) -> Option<Output<Self::Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}

/// 64 kbit/s and 20 ms.
fn slow() -> Direction {
    Direction { rate_bits_per_s: Some(64_000), delay: Duration::from_millis(20), ..Direction::default() }
}

fn path(outbound: Option<Direction>, inbound: Option<Direction>) -> Path {
    let (own, peer, protocol) = (Node::Ue, Node::Gw, IKE);
    Path { remote: None, own, peer, outbound, inbound, mtu_bytes: 1500, protocol }
}

/// Two pipes with one clock, and their addresses; each with its links.
fn pipes(paths: [Option<Path>; 2]) -> [(Driver<Pipe, Null>, Addr); 2] {
    let clock = Clock::start();
    paths.map(|path| {
        let sockets = Sockets::bind(&[(Ipv4Addr::LOCALHOST, 0).into()]).unwrap();
        let (address, seed) = (sockets.locals()[0], Seed::from(1));
        let emulator = Emulator::new(path.as_slice(), &seed);
        let driver = Driver::new(Pipe::default(), Null, sockets).with_clock(clock).with_emulator(emulator);
        (driver, Addr::Udp(address))
    })
}

/// Five datagrams of 1000 bytes at once. With headers 1028 bytes are 128.5 ms at 64 kbit/s, then come 20 ms.
fn five_take_their_time(paths: [Option<Path>; 2]) {
    let [(mut a, a_address), (mut b, b_address)] = pipes(paths);
    let began = a.now();
    let driving = thread::spawn(move || {
        let mut facts = Vec::new();
        for n in 0..5 {
            a.command((a_address, b_address, vec![n; 1000]), &mut facts);
        }
        a.next_event(Duration::from_millis(900), &mut facts);
        facts
    });
    let mut facts = Vec::new();
    let late = (0..5_u8).map(|n| {
        let (at, bytes) = b.next_event(LIMIT, &mut facts).expect("it arrives");
        assert_eq!(bytes[0], n, "in order");
        let in_the_sim = Duration::from_micros(128_500) * (u32::from(n) + 1) + Duration::from_millis(20);
        at.since(began).checked_sub(in_the_sim).expect("never sooner than the link allows")
    });
    let promptest = late.min().expect("five");
    assert!(promptest < LATE_MAX, "{promptest:?} late");
    facts.extend(driving.join().unwrap());
    let carried = facts.iter().filter(|fact| {
        matches!(fact, Fact::Carried { bytes: 1028, packets: 1, fate: Fate::Delivered, protocol: IKE, .. })
    });
    assert_eq!(carried.count(), 5, "{facts:?}");
}

#[test]
fn what_is_sent_takes_as_long_as_in_the_sim() {
    five_take_their_time([Some(path(Some(slow()), None)), None]);
}

#[test]
fn what_is_received_takes_as_long_as_in_the_sim() {
    five_take_their_time([None, Some(path(None, Some(slow())))]);
}

/// What arrives of a datagram of 100 zeroes, and the fates that were recorded.
fn after(direction: Direction) -> (Vec<Vec<u8>>, Vec<Fate>) {
    let [(mut a, a_address), (mut b, b_address)] = pipes([Some(path(Some(direction), None)), None]);
    let mut facts = Vec::new();
    a.command((a_address, b_address, vec![0; 100]), &mut facts);
    a.next_event(Duration::from_millis(1), &mut facts);
    let arrived = std::iter::from_fn(|| b.next_event(Duration::from_millis(20), &mut NoTrace));
    let fate = |fact| if let Fact::Carried { fate, .. } = fact { Some(fate) } else { None };
    (arrived.map(|(_, bytes)| bytes).collect(), facts.into_iter().filter_map(fate).collect())
}

#[test]
fn other_things_happen_as_in_the_sim() {
    let whole = vec![0; 100];
    assert_eq!(after(Direction::default()), (vec![whole.clone()], vec![Fate::Delivered]));
    let lossy = Direction { loss: Loss::Uniform(1.0), ..Direction::default() };
    assert_eq!(after(lossy), (vec![], vec![Fate::Lost]));
    let (arrived, fates) = after(Direction { duplicate: 1.0, ..Direction::default() });
    assert_eq!((arrived, fates), (vec![whole.clone(), whole], vec![Fate::Delivered, Fate::Duplicate]));
    assert_eq!(after(Direction { corrupt: 1.0, ..Direction::default() }), (vec![], vec![Fate::Corrupted]));
    let (arrived, fates) = after(Direction { corrupt: 1.0, unchecked: true, ..Direction::default() });
    assert_eq!(arrived[0].iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    assert_eq!(fates, [Fate::Corrupted]);
}

#[test]
fn too_much_on_the_way_is_dropped_not_kept() {
    let forever = Direction { delay: Duration::from_secs(3600), ..Direction::default() };
    let [(mut a, a_address), (_b, b_address)] = pipes([Some(path(Some(forever), None)), None]);
    let mut facts = Vec::new();
    for _ in 0..1200 {
        a.command((a_address, b_address, vec![0; 60_000]), &mut facts);
    }
    let full = |fact: &&Fact| matches!(fact, Fact::Carried { fate: Fate::QueueFull, .. });
    assert_eq!(1200 - facts.iter().filter(full).count(), (64 << 20) / 60_128);
}

#[test]
fn only_the_peer_that_was_named_is_far_away() {
    let far = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));
    let path = Path { remote: Some(far.into()), ..path(Some(slow()), Some(slow())) };
    let [(mut a, a_address), (mut b, b_address)] = pipes([Some(path), None]);
    let mut facts = Vec::new();
    a.command((a_address, b_address, vec![0; 100]), &mut facts);
    assert!(b.next_event(LIMIT, &mut NoTrace).is_some());
    assert_eq!(facts, []);
}

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 15));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 16));

/// IKE with a shared key, both ends the same but for their names; no CHILD SA.
fn ike(own: &str, peer: &str, port: u16) -> Config {
    let secret = || Secret::from(&b"far away"[..]);
    let connection = Connection {
        name: "far".into(),
        version: Version::V2,
        local_id: own.parse().unwrap(),
        remote_id: Some(peer.parse().unwrap()),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").unwrap()],
        child: None,
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    };
    Config { port, ..Config::new(vec![connection]) }
}

/// A device and its gateway.
fn ends(port: u16) -> [Box<dyn Host>; 2] {
    let (ike_ue, ike_gw) = (ike("ue@lab", "gw.lab", port), ike("gw.lab", "ue@lab", port));
    let device = DeviceConfig {
        ike: ike_ue,
        address: DEVICE,
        gateway: GATEWAY,
        inner: None,
        target: GATEWAY,
        eap: None,
    };
    let gateway = GatewayConfig { ike: ike_gw, address: GATEWAY, inner: vec![], aaa: None };
    let seed = Seed::from(1);
    [Box::new(Device::new(device, &seed, "ue")), Box::new(Gateway::new(gateway, &seed, "gw"))]
}

fn is_up(event: &Event) -> bool {
    matches!(event, Event::Established(_))
}

fn carried(facts: impl Iterator<Item = Fact>) -> Vec<(Protocol, u32)> {
    facts
        .filter_map(|fact| match fact {
            Fact::Carried { protocol, bytes, .. } => Some((protocol, bytes)),
            _ => None,
        })
        .collect()
}

/// How long the device takes in the sim, and what its link carried.
fn in_the_sim(port: u16) -> (Duration, Vec<(Protocol, u32)>) {
    let mut world = World::new(1, Free);
    let names = [(Node::Ue, DEVICE), (Node::Gw, GATEWAY)];
    let mut nodes = Vec::new();
    for ((name, address), host) in names.into_iter().zip(ends(port)) {
        let node = world.add_node(NodeConfig::new(name), host, Real::default());
        world.add_address(node, address);
        nodes.push(node);
    }
    world.add_link(nodes[0], nodes[1], &LinkConfig::symmetric(slow()));
    world.command(nodes[0], Order::Echo { payload_bytes: 56 });
    let mut records = Vec::new();
    loop {
        let (at, node, event) = world.run_until(Time::MAX, &mut records).expect("it comes up");
        if node == nodes[0] && is_up(&event) {
            let facts = records.into_iter().map(|record| record.fact);
            return (at.since(Time::ZERO), carried(facts));
        }
    }
}

/// The same on loopback, each end with a link for what it sends.
fn on_sockets() -> (u16, Duration, Vec<(Protocol, u32)>) {
    let (device_sockets, gateway_sockets, port) = (0..20)
        .find_map(|_| {
            let device = Sockets::bind(&[(DEVICE, 0).into()]).unwrap();
            let port = device.locals()[0].port;
            Some((device, Sockets::bind(&[SocketAddr::new(GATEWAY, port)]).ok()?, port))
        })
        .expect("some port is free at both addresses");
    let [device, gateway] = ends(port);
    let there = Emulator::new(&[path(Some(slow()), None)], &Seed::from(1));
    let back = Path { own: Node::Gw, peer: Node::Ue, ..path(Some(slow()), None) };
    let back = Emulator::new(&[back], &Seed::from(1));
    let mut gateway = Driver::new(gateway, Real::default(), gateway_sockets).with_emulator(back);
    let waker = gateway.waker();
    let serving = thread::spawn(move || {
        let mut facts = Vec::new();
        while gateway.next_event(LIMIT, &mut facts).is_some() {}
        facts
    });
    let mut device = Driver::new(device, Real::default(), device_sockets).with_emulator(there);
    let (began, mut facts) = (device.now(), Vec::new());
    device.command(Order::Echo { payload_bytes: 56 }, &mut facts);
    while !is_up(&device.next_event(LIMIT, &mut facts).expect("it comes up")) {}
    let took = device.now().since(began);
    waker.wake();
    facts.extend(serving.join().unwrap());
    (port, took, carried(facts.into_iter()))
}

#[test]
fn a_handshake_over_a_slow_link_takes_as_long_as_in_the_sim() {
    let late = (0..3).map(|_| {
        let (port, took, mut on_sockets) = on_sockets();
        let (expected, mut in_the_sim) = in_the_sim(port);
        for carried in [&mut on_sockets, &mut in_the_sim] {
            carried.sort_unstable();
            // A machine that stands still for half a second makes the device repeat itself.
            carried.dedup();
        }
        assert_eq!(on_sockets, in_the_sim, "the same datagrams, with the same bytes on the wire");
        took.checked_sub(expected).expect("never sooner than in the sim")
    });
    let promptest = late.min().expect("three");
    assert!(promptest < 2 * LATE_MAX, "{promptest:?} late");
}
