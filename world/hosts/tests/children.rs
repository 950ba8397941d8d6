//! Traffic SAs with limited lifetimes: used-up ones are rekeyed before packets are lost, and a closed one is requested
//! again. A device and a gateway with a pre-shared key, and real cryptography.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_esp::lifetime::{Lifetime, Limit};
use keytoll_hosts::{
    Child, Device, DeviceConfig, Event, Gateway, GatewayConfig, Host, Order, SaLimits, SessionId,
};
use keytoll_ike::config::{Believe, ChildConfig, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::{Config, Mode};
use keytoll_net::Addr;

pub(crate) const ADDRESS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))];
const NAME: [&str; 2] = ["ue@lab", "gw.lab"];
const DEVICE: usize = 0;
const GATEWAY: usize = 1;

pub(crate) fn config(end: usize) -> Config {
    let secret = || Secret::from(&b"two hosts"[..]);
    Config::new(vec![Connection {
        name: String::new(),
        version: Version::V2,
        local_id: NAME[end].parse().expect("an identity"),
        remote_id: Some(NAME[1 - end].parse().expect("an identity")),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").expect("a suite")],
        child: Some(ChildConfig {
            suites: vec![Suite::esp("aes128gcm16").expect("a suite")],
            mode: Mode::Tunnel,
            local: vec![],
            remote: vec![],
            rekey_after: None,
        }),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    }])
}

/// Two hosts, and one datagram after the other between them.
struct Bench {
    hosts: [Box<dyn Host>; 2],
    crypto: Real,
    now: Time,
    wire: VecDeque<Datagram>,
    facts: Vec<Fact>,
    events: [Vec<Event>; 2],
    /// The decapsulated packets at each end.
    inside: [Vec<Vec<u8>>; 2],
    /// The end that is behind a NAT.
    hidden: Option<usize>,
}

/// The public address of the NAT.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));

impl Bench {
    /// A pair with an installed traffic SA of this lifetime.
    fn with(lifetime: Lifetime) -> Self {
        Self::hiding(None, lifetime)
    }

    /// A pair of which one end is behind a NAT.
    fn behind_nat(hidden: usize) -> Self {
        Self::hiding(Some(hidden), Lifetime::NONE)
    }

    fn hiding(hidden: Option<usize>, lifetime: Lifetime) -> Self {
        let mut bench = Self::at_rest(hidden, lifetime);
        // The first packet triggers an SA, and is lost.
        bench.forward(DEVICE, 0);
        bench.settle();
        bench
    }

    /// A pair that has not exchanged anything yet.
    fn at_rest(hidden: Option<usize>, lifetime: Lifetime) -> Self {
        let seed = Seed::from(7);
        let device = DeviceConfig {
            ike: config(DEVICE),
            address: ADDRESS[DEVICE],
            gateway: if hidden == Some(GATEWAY) { OUTSIDE } else { ADDRESS[GATEWAY] },
            inner: None,
            target: ADDRESS[GATEWAY],
            eap: None,
        };
        let gateway =
            GatewayConfig { ike: config(GATEWAY), address: ADDRESS[GATEWAY], inner: vec![], aaa: None };
        let limits = SaLimits { lifetime, ..SaLimits::default() };
        let device = Device::new(device, &seed, "ue").with_limits(limits);
        let gateway = Gateway::new(gateway, &seed, "gw").with_limits(limits);
        let mut hosts: [Box<dyn Host>; 2] = [Box::new(device), Box::new(gateway)];
        hosts.iter_mut().for_each(|host| host.attach_interface());
        Self {
            hosts,
            crypto: Real::default(),
            now: Time::ZERO,
            wire: VecDeque::new(),
            facts: Vec::new(),
            events: Default::default(),
            inside: Default::default(),
            hidden,
        }
    }

    fn step(&mut self, end: usize, act: impl FnOnce(&mut dyn Host, &mut Ctx<'_>)) {
        let host = &mut *self.hosts[end];
        act(host, &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.facts });
        while let Some(output) = host.poll() {
            match output {
                Output::Datagram(datagram) => self.wire.push_back(datagram),
                Output::Inner(packet) => self.inside[end].push(packet),
                Output::Event(event) => self.events[end].push(event),
                Output::Close { .. } => unreachable!("neither speaks over streams"),
            }
        }
    }

    fn forward(&mut self, end: usize, number: u16) {
        let packet = packet(end, number);
        self.step(end, |host, cx| host.handle(Input::Inner(&packet), cx));
    }

    fn order(&mut self, end: usize, order: Order) {
        self.step(end, |host, cx| host.handle(Input::Command(order), cx));
    }

    /// Delivers one datagram, if there is one.
    fn deliver(&mut self) -> bool {
        let Some(Datagram { from, to, bytes, .. }) = self.wire.pop_front() else { return false };
        let (from, to) = self.translated(from, to);
        let end = ADDRESS
            .iter()
            .position(|address| *address == to.ip().expect("users send over IP"))
            .expect("one of the two");
        self.step(end, |host, cx| host.handle(Input::Datagram { from, to, bytes: &bytes }, cx));
        true
    }

    fn settle(&mut self) {
        while self.deliver() {}
    }

    /// Translates a datagram's addresses at the NAT. A gateway's ports stay, as with port forwarding.
    fn translated(&self, mut from: Addr, mut to: Addr) -> (Addr, Addr) {
        let Some(hidden) = self.hidden else { return (from, to) };
        let shift = if hidden == DEVICE { 10_000 } else { 0 };
        if from.ip().expect("users send over IP") == ADDRESS[hidden] {
            from = Addr::udp(OUTSIDE, from.port().expect("IKE has ports") + shift);
        }
        if to.ip().expect("users send over IP") == OUTSIDE {
            to = Addr::udp(ADDRESS[hidden], to.port().expect("IKE has ports") - shift);
        }
        (from, to)
    }

    /// Delivers a keepalive to one end.
    fn hear_keepalive(&mut self, end: usize) {
        let [from, to] = [1 - end, end].map(|end| Addr::udp(ADDRESS[end], 4500));
        self.step(end, |host, cx| host.handle(Input::Datagram { from, to, bytes: &[0xff] }, cx));
    }

    /// Advances both ends without delivering anything; returns the time, sender and length of what they sent.
    fn idle(&mut self, time: Duration) -> Vec<(Duration, usize, usize)> {
        let (begin, end) = (self.now, self.now + time);
        let mut sent = Vec::new();
        while let Some(at) = self.hosts.iter().filter_map(|host| Some(host.deadline()?.at)).min() {
            if at > end {
                break;
            }
            self.now = at.max(self.now);
            [DEVICE, GATEWAY]
                .into_iter()
                .for_each(|end| self.step(end, |host, cx| host.handle(Input::Tick, cx)));
            for datagram in self.wire.drain(..) {
                let by = ADDRESS
                    .iter()
                    .position(|address| *address == datagram.from.ip().expect("users send over IP"))
                    .expect("one of the two");
                sent.push((at.since(begin), by, datagram.bytes.len()));
            }
        }
        self.now = end;
        sent
    }

    fn discards(&self) -> Vec<&Fact> {
        self.facts.iter().filter(|fact| matches!(fact, Fact::Discarded { .. })).collect()
    }

    fn rekeyings(&self, end: usize) -> usize {
        self.events[end].iter().filter(|event| matches!(event, Event::ChildRekeyed { .. })).count()
    }

    fn child(&self) -> Child {
        let up = self.events[DEVICE].iter().rev().find_map(|event| match event {
            Event::ChildUp(child) => Some(*child),
            _ => None,
        });
        up.expect("an SA came up")
    }
}

/// A numbered packet of a protocol that no host handles itself (RFC 3692 §2.1).
fn packet(end: usize, number: u16) -> Vec<u8> {
    let (IpAddr::V4(from), IpAddr::V4(to)) = (ADDRESS[end], ADDRESS[1 - end]) else { panic!("IPv4") };
    let [high, low] = number.to_be_bytes();
    let head = [0x45, 0, 0, 60, high, low, 0, 0, 64, 253, 0, 0];
    [&head[..], &from.octets(), &to.octets(), &[low; 40]].concat()
}

/// RFC 4301 §4.4.2.1, RFC 7296 §2.8: at the soft limit an SA is rekeyed, in both directions and repeatedly.
#[test]
fn used_up_pairs_are_rekeyed_and_no_packet_is_lost() {
    let packets = |packets| Limit { packets, ..Limit::NONE };
    let mut bench = Bench::with(Lifetime { soft: packets(20), hard: packets(200) });
    const PACKETS: u16 = 1000;
    for number in 1..=PACKETS {
        // Packets in flight during rekeying arrive before, between and after its messages.
        bench.forward(DEVICE, number);
        bench.deliver();
        bench.forward(GATEWAY, number);
        bench.deliver();
        if number % 5 == 0 {
            bench.settle();
        }
    }
    bench.settle();
    for end in [DEVICE, GATEWAY] {
        let expected: Vec<_> = (1..=PACKETS).map(|number| packet(1 - end, number)).collect();
        assert!(bench.inside[end] == expected, "{} of {PACKETS} at {}", bench.inside[end].len(), NAME[end]);
    }
    assert!(bench.rekeyings(DEVICE) >= 30, "{}", bench.rekeyings(DEVICE));
    assert_eq!(bench.discards(), Vec::<&Fact>::new());
}

/// RFC 4301 §4.4.2.1: at the hard limit a pair is deleted, and the next packet triggers another.
#[test]
fn an_expired_pair_is_deleted_and_another_one_requested() {
    let hard = Limit { packets: 10, ..Limit::NONE };
    let mut bench = Bench::with(Lifetime { soft: Limit::NONE, hard });
    for number in 1..=30 {
        bench.forward(DEVICE, number);
        bench.settle();
    }
    let ups = bench.events[DEVICE].iter().filter(|event| matches!(event, Event::ChildUp(_))).count();
    // Of every twelve packets one finds the pair expired, and one finds none.
    assert_eq!((ups, bench.inside[GATEWAY].len()), (3, 26));
}

/// The gateway closes only the child: a device with traffic requests another under the existing IKE SA.
#[test]
fn a_child_that_the_gateway_closed_comes_back_when_there_is_traffic() {
    let mut bench = Bench::with(Lifetime::NONE);
    let first = bench.child();
    let gateways = Order::CloseChild(session_of_gateway(&bench), first.outbound_spi);
    bench.order(GATEWAY, gateways);
    bench.settle();
    assert!(bench.events[DEVICE].contains(&Event::ChildDown(first.inbound_spi)));
    (1..=3).for_each(|number| bench.forward(DEVICE, number));
    bench.settle();
    bench.forward(DEVICE, 4);
    bench.settle();
    assert_eq!(bench.inside[GATEWAY], [packet(DEVICE, 4)]);
    let second = bench.child();
    assert_eq!((second.session, second.inbound_spi == first.inbound_spi), (first.session, false));
}

/// A gateway that does not answer is not asked again for every packet.
#[test]
fn an_unanswered_request_for_a_child_is_repeated_now_and_then() {
    let mut bench = Bench::with(Lifetime::NONE);
    let gateways = Order::CloseChild(session_of_gateway(&bench), bench.child().outbound_spi);
    bench.order(GATEWAY, gateways);
    bench.settle();
    let mut asked = 0;
    for _ in 0..40 {
        bench.forward(DEVICE, 1);
        // The request is lost.
        asked += bench.wire.drain(..).count();
        bench.now += Duration::from_millis(10);
    }
    assert_eq!(asked, 1);
}

/// The IKE SA as the gateway names it.
fn session_of_gateway(bench: &Bench) -> SessionId {
    let established = bench.events[GATEWAY].iter().find_map(|event| match event {
        Event::Established(established) => Some(established.session),
        _ => None,
    });
    established.expect("an IKE SA came up")
}

/// RFC 3948 §4: only the end behind a NAT sends one octet after 20 seconds of silence.
#[test]
fn the_end_behind_a_nat_sends_keepalives() {
    for hidden in [DEVICE, GATEWAY] {
        let mut bench = Bench::behind_nat(hidden);
        let sent = bench.idle(Duration::from_secs(65));
        let due = [20, 40, 60].map(|seconds| (Duration::from_secs(seconds), hidden, 1));
        assert_eq!(sent, due);
    }
    assert_eq!(Bench::with(Lifetime::NONE).idle(Duration::from_secs(65)), []);
}

/// RFC 3948 §4: other packets replace keepalives; received packets do not.
#[test]
fn sent_packets_replace_keepalives() {
    let mut bench = Bench::behind_nat(DEVICE);
    for number in 1..=5 {
        assert_eq!(bench.idle(Duration::from_secs(15)), []);
        bench.forward(DEVICE, number);
        bench.settle();
    }
    assert_eq!(bench.idle(Duration::from_secs(15)), []);
    bench.hear_keepalive(DEVICE);
    assert_eq!(bench.idle(Duration::from_secs(15)), [(Duration::from_secs(5), DEVICE, 1)]);
}

/// RFC 3948 §2.3: a keepalive is ignored silently.
#[test]
fn a_keepalive_is_ignored() {
    let mut bench = Bench::behind_nat(DEVICE);
    let before = bench.discards().len();
    [DEVICE, GATEWAY].into_iter().for_each(|end| bench.hear_keepalive(end));
    assert_eq!((bench.discards().len(), bench.wire.len()), (before, 0));
}

/// The attempt of an initiator without the key fails, and the device's own attempt continues.
#[test]
fn a_stranger_does_not_end_the_attempt_of_a_device() {
    let mut bench = Bench::at_rest(None, Lifetime::NONE);
    bench.forward(DEVICE, 0);
    let mut connection = config(GATEWAY).connections.remove(0);
    connection.local = Prove::Psk(Secret::from(&b"a guess"[..]));
    let mut stranger = keytoll_ike::Endpoint::new(Config::new(vec![connection]), &Seed::from(9), "stranger");
    let here = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));
    let mut cx = Ctx { now: bench.now, crypto: &mut Real::default(), trace: &mut Vec::<Fact>::new() };
    stranger.initiate(0, (here, ADDRESS[DEVICE]), &mut cx);
    while let Some(output) = stranger.poll() {
        let Output::Datagram(Datagram { from, to, bytes, .. }) = output else { continue };
        bench.step(DEVICE, |host, cx| host.handle(Input::Datagram { from, to, bytes: &bytes }, cx));
        let (answers, others): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut bench.wire)
            .into_iter()
            .partition(|sent| sent.to.ip().expect("users send over IP") == here);
        bench.wire = others;
        for Datagram { from, to, bytes, .. } in answers {
            stranger.handle(Input::Datagram { from, to, bytes: &bytes }, &mut cx);
        }
    }
    bench.settle();
    assert!(bench.events[DEVICE].contains(&Event::Usable), "{:?}", bench.events[DEVICE]);
    assert!(!bench.events[DEVICE].iter().any(Event::is_failure), "{:?}", bench.events[DEVICE]);
}
