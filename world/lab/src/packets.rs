//! Profiles of IPsec traffic like those of paper 004: an echo request arrives at a server through a tunnel, and the reply leaves
//! through the tunnel; with cryptography, with null cryptography, and without IPsec.
//!
//! ```text
//!   client: request -> Ipsec::outbound --> server: Ipsec::inbound_packet -> echo -> Ipsec::outbound --> client: checked
//!                                                  '------------- measured -------------'
//! ```
//!
//! All ways take turns in one run, in blocks that may be spread over the run of something else. A few unmeasured packets precede every
//! measured one, so that it finds its code and its keys in the caches as on a busy server.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;

use keytoll_crypto::{Null, Provider, Real};
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Rng, Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::sad::{Headers, Mode, OuterHeader, PairConfig, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Frame, HEADROOM, Ipsec, Probe, Sent, Stage, TAILROOM};
use keytoll_hosts::icmp::{self, Echo};
use keytoll_hosts::ip;
use keytoll_native::clock;
use keytoll_net::{Addr, ip::protocol::ESP};
use keytoll_trace::{PacketCost, StageCost};

use crate::row::Stop;
use crate::turns::block_among;

/// The processing of the packets of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Without IPsec.
    Native,
    /// Through a tunnel with null cryptography.
    Skeleton(Suite),
    /// Through a tunnel.
    Full(Suite),
}

/// The measurements of one way.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    /// Each packet.
    pub costs: Vec<PacketCost>,
    /// How many of them were disturbed by preemption.
    pub disturbed: u32,
    /// How many were measured again because of it.
    pub repeated: u32,
}

/// Shortest and longest echo request, IP header included: headers alone, and what a tunnel carries over 65 kB of IP.
pub const PACKET_BYTES: std::ops::RangeInclusive<u16> = 28..=65_000;

/// Unmeasured packets before each measured one.
const REHEARSALS: u32 = 8;
/// A packet with a longer preemption is measured again. Reading the clocks takes less.
const AWAY_NS_MAX: u64 = 5_000;
/// How often at most.
const AGAIN_MAX: u32 = 25;

/// A profile in progress: echo requests each way, in blocks.
pub struct PacketProfiler {
    turns: Vec<(Ends, Packets)>,
    /// Echo requests each way, in all blocks together.
    count: u32,
    blocks: u32,
}

impl PacketProfiler {
    /// A profile of `count` echo requests of `packet_bytes` (IP header included) each way, in so many blocks.
    ///
    /// # Panics
    /// If the length is not in [`PACKET_BYTES`], or AWS-LC lacks an algorithm of a suite: ask [`Real::check`].
    pub fn new(ways: &[Way], packet_bytes: u16, count: u32, blocks: u32) -> Self {
        assert!(PACKET_BYTES.contains(&packet_bytes), "the caller checks the length");
        let request = request(packet_bytes);
        let turns = ways.iter().map(|way| (Ends::new(*way, &request), Packets::default())).collect();
        Self { turns, count, blocks }
    }

    /// Measures a block, the first of which is 0; `progress` is called after each packet.
    pub fn measure(&mut self, block: u32, progress: &dyn Fn(), stop: &Stop) {
        let rounds = (0..self.count).filter(|&round| block_among(round, self.count, self.blocks) == block);
        for round in rounds {
            for place in 0..self.turns.len() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let place = (place + round as usize) % self.turns.len();
                let (ends, packets) = &mut self.turns[place];
                packets.take(ends, block);
                progress();
            }
        }
    }

    /// The measurements of each way.
    pub fn end(self) -> Vec<Packets> {
        self.turns.into_iter().map(|(_, packets)| packets).collect()
    }
}

impl Packets {
    /// Measures one more packet: the first undisturbed one, or the least disturbed one.
    fn take(&mut self, ends: &mut Ends, block: u32) {
        let (mut best, mut best_away_ns) = ends.measured();
        for _ in 0..AGAIN_MAX {
            if best_away_ns <= AWAY_NS_MAX {
                break;
            }
            self.repeated += 1;
            let (cost, away_ns) = ends.measured();
            if away_ns < best_away_ns {
                (best, best_away_ns) = (cost, away_ns);
            }
        }
        self.disturbed += u32::from(best_away_ns > AWAY_NS_MAX);
        self.costs.push(PacketCost { block, ..best });
    }
}

/// The inner addresses of client and server, and the ends of the tunnel.
const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
/// The SPIs that client and server receive on.
const SPIS: [u32; 2] = [0x1001, 0x2002];

/// RFC 791 §3.1 and RFC 792: headers without options.
const HEADERS: usize = 20 + 8;

/// The echo request as an IP packet.
fn request(packet_bytes: u16) -> Vec<u8> {
    let [source, destination] = INNER.map(IpAddr::V4);
    let data = vec![0x5a; usize::from(packet_bytes) - HEADERS];
    let payload = Echo { reply: false, identifier: 1, sequence: 1, data }.write(source, destination);
    let packet = ip::Packet { source, destination, protocol: icmp::ICMP, payload: &payload };
    packet.write().expect("both addresses are IPv4 and the length was checked")
}

/// The server's own work: reads the request and writes the reply into a buffer with headroom.
fn answer<'a>(request: &[u8], room: &'a mut [u8]) -> Frame<'a> {
    let ip::Packet { source, destination, protocol, payload } =
        ip::Packet::read(request).expect("the request is an IP packet");
    let echo = Echo::read(source, destination, payload).ok().flatten().expect("the request is an echo");
    let payload = Echo { reply: true, ..echo }.write(destination, source);
    let reply = ip::Packet { source: destination, destination: source, protocol, payload: &payload };
    let bytes = reply.write().expect("the answer is as long as the request");
    let range = HEADROOM..HEADROOM + bytes.len();
    room[range.clone()].copy_from_slice(&bytes);
    Frame::new(room, range)
}

/// Client and server, and what they exchange.
struct Ends {
    tunnel: Option<[End; 2]>,
    request: Vec<u8>,
    /// The reply that the client expects.
    reply: Vec<u8>,
    /// Packet buffers.
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    empty_ticks: u64,
}

/// One end of a tunnel.
struct End {
    ipsec: Ipsec,
    crypto: Provider,
    rng: Rng,
}

impl Ends {
    fn new(way: Way, request: &[u8]) -> Self {
        let tunnel = match way {
            Way::Native => None,
            Way::Skeleton(suite) => Some([0, 1].map(|end| End::new(end, suite, Provider::Null(Null)))),
            Way::Full(suite) => Some([0, 1].map(|end| End::new(end, suite, Provider::Real(Real::default())))),
        };
        let room = vec![0; HEADROOM + request.len() + TAILROOM];
        let mut scratch = room.clone();
        let reply = answer(request, &mut scratch).bytes().to_vec();
        Self {
            tunnel,
            request: request.to_vec(),
            reply,
            inbound: room.clone(),
            outbound: room,
            empty_ticks: clock::empty_span_ticks(),
        }
    }

    /// Measures one packet as a whole and one stage by stage, after unmeasured ones; also the duration of preemptions.
    fn measured(&mut self) -> (PacketCost, u64) {
        (0..REHEARSALS).for_each(|_| _ = self.exchange(&mut ()));
        let (ticks, cpu_ns) = (clock::ticks(), clock::thread_cpu_ns());
        let [inbound_ticks, echo_ticks, outbound_ticks] = self.exchange(&mut ());
        let mut watch = Watch::new(self.empty_ticks);
        self.exchange(&mut watch);
        let cpu_ns = clock::thread_cpu_ns() - cpu_ns;
        let away_ns = (clock::ticks_to_ns(clock::ticks() - ticks) as u64).saturating_sub(cpu_ns);
        let (inbound, outbound) = watch.stages();
        (PacketCost { block: 0, inbound_ticks, echo_ticks, outbound_ticks, inbound, outbound }, away_ns)
    }

    /// A request and its reply; the ticks of inbound processing, echo and outbound processing at the server.
    fn exchange(&mut self, probe: &mut impl Clocked) -> [u64; 3] {
        let spans = match &mut self.tunnel {
            None => {
                let started = clock::ticks();
                let _ = answer(&self.request, &mut self.outbound);
                [0, clock::ticks() - started, 0]
            }
            Some(ends) => {
                through(ends, &self.request, &self.reply, [&mut self.inbound, &mut self.outbound], probe)
            }
        };
        spans.map(|ticks| ticks.saturating_sub(self.empty_ticks))
    }
}

/// The same through a tunnel.
fn through(
    [client, server]: &mut [End; 2],
    request: &[u8],
    reply: &[u8],
    [inbound, outbound]: [&mut Vec<u8>; 2],
    probe: &mut impl Clocked,
) -> [u64; 3] {
    let range = HEADROOM..HEADROOM + request.len();
    inbound[range.clone()].copy_from_slice(request);
    let mut sealed = Frame::new(inbound, range);
    client.send(&mut sealed, &mut ());
    let arrived = sealed.range();
    let mut frame = Frame::new(inbound, arrived);

    probe.begin();
    let started = clock::ticks();
    let opened = server.ipsec.inbound_packet(&mut frame, &mut server.crypto, probe);
    let opened_at = clock::ticks();
    let mut answered = answer(frame.bytes(), outbound);
    let answered_at = clock::ticks();
    probe.turn();
    server.send(&mut answered, probe);
    let sent_at = clock::ticks();

    opened.expect("a packet of our own client opens");
    let received = client.ipsec.inbound_packet(&mut answered, &mut client.crypto, &mut ());
    received.expect("a packet of our own server opens");
    assert!(answered.bytes() == reply, "the answer arrives as it was sent");
    [opened_at - started, answered_at - opened_at, sent_at - answered_at]
}

impl End {
    fn new(end: usize, suite: Suite, crypto: Provider) -> Self {
        let mut ipsec = Ipsec::default();
        let other = 1 - end;
        let [local, remote] = [end, other].map(|end| Addresses::one(IpAddr::V4(INNER[end])));
        let [here, there] = [end, other].map(|end| Addr::Ip { ip: IpAddr::V4(OUTER[end]), protocol: ESP });
        ipsec.install(PairConfig {
            inbound_spi: SPIS[end],
            outbound_spi: SPIS[other],
            inbound_key: key(suite, end),
            outbound_key: key(suite, other),
            esn: suite.esn,
            mode: Mode::Tunnel,
            selectors: Selectors::between(local, remote),
            path: Path { local: here, remote: there, headers: Headers::Here(OuterHeader::default()) },
            follows_peer: false,
            original: None,
            replay_window: Window::SIZE_DEFAULT,
            lifetime: Lifetime::NONE,
            start: Start::Now,
        });
        Self { ipsec, crypto, rng: Rng::named(1, &format!("profile/esp/{end}")) }
    }

    fn send(&mut self, frame: &mut Frame<'_>, probe: &mut impl Probe) {
        let sent = self.ipsec.outbound(frame, &mut self.rng, &mut self.crypto, probe);
        assert!(matches!(sent, Ok(Sent::Protected(_))), "there is an SA for the packet: {sent:?}");
    }
}

/// The key of the packets that one end receives.
fn key(suite: Suite, end: usize) -> TrafficKey {
    let mut rng = Rng::named(1, &format!("profile/esp/key/{end}"));
    let mut secret = |len: usize| {
        let mut bytes = vec![0; len];
        rng.fill(&mut bytes);
        Secret::new(bytes)
    };
    let Suite { encryption, integrity, .. } = suite;
    let encryption_key = secret(Encryption::key_len(encryption));
    TrafficKey::new(encryption, integrity, encryption_key, secret(integrity.map_or(0, Integrity::key_len)))
}

/// A probe that is notified when inbound and outbound processing start.
trait Clocked: Probe {
    /// A packet arrives.
    fn begin(&mut self) {}
    /// The answer leaves.
    fn turn(&mut self) {}
}

impl Clocked for () {}

/// Reads the clock at the end of each stage.
struct Watch {
    empty_ticks: u64,
    last: u64,
    stages: Vec<(Stage, u64)>,
    /// How many of them are inbound.
    inbound: usize,
}

impl Watch {
    fn new(empty_ticks: u64) -> Self {
        Self { empty_ticks, last: 0, stages: Vec::with_capacity(32), inbound: 0 }
    }

    fn stages(&self) -> (Vec<StageCost>, Vec<StageCost>) {
        let cost = |&(stage, ticks): &(Stage, u64)| StageCost { stage: Cow::Borrowed(stage.name()), ticks };
        let (inbound, outbound) = self.stages.split_at(self.inbound);
        (inbound.iter().map(cost).collect(), outbound.iter().map(cost).collect())
    }
}

impl Clocked for Watch {
    fn begin(&mut self) {
        self.last = clock::ticks();
    }

    fn turn(&mut self) {
        self.inbound = self.stages.len();
        self.last = clock::ticks();
    }
}

impl Probe for Watch {
    fn ended(&mut self, stage: Stage) {
        let now = clock::ticks();
        self.stages.push((stage, (now - self.last).saturating_sub(self.empty_ticks)));
        // Storing the value belongs to no stage.
        self.last = clock::ticks();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(text: &str) -> Suite {
        Suite::esp(text).unwrap()
    }

    fn names(stages: &[StageCost]) -> Vec<&str> {
        stages.iter().map(|stage| &*stage.stage).collect()
    }

    fn profiled(ways: &[Way], packet_bytes: u16, count: u32) -> Vec<Packets> {
        let mut profiler = PacketProfiler::new(ways, packet_bytes, count, 1);
        profiler.measure(0, &|| {}, &Stop::new(false));
        profiler.end()
    }

    #[test]
    fn packets_have_the_block_in_which_they_were_measured() {
        let mut profiler = PacketProfiler::new(&[Way::Native], 736, 7, 3);
        (0..3).for_each(|block| profiler.measure(block, &|| {}, &Stop::new(false)));
        let blocks: Vec<u32> = profiler.end()[0].costs.iter().map(|cost| cost.block).collect();
        assert_eq!(blocks, [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn every_way_replies_and_has_stages() {
        let suites = ["3des-md5", "aes256-md5", "aes128gcm16", "chacha20poly1305"].map(suite);
        let ways: Vec<Way> = std::iter::once(Way::Native)
            .chain(suites.iter().flat_map(|&suite| [Way::Skeleton(suite), Way::Full(suite)]))
            .collect();
        let packets = profiled(&ways, 736, 2);
        let [native, tunnels @ ..] = &packets[..] else { panic!("nothing measured") };
        assert_eq!(native.costs.len(), 2);
        assert!(native.costs.iter().all(|cost| cost.inbound_ticks == 0 && cost.echo_ticks > 0));
        assert!(native.costs.iter().all(|cost| cost.inbound.is_empty() && cost.outbound.is_empty()));
        for cost in tunnels.iter().flat_map(|packets| &packets.costs) {
            assert!(cost.inbound_ticks > 0 && cost.echo_ticks > 0 && cost.outbound_ticks > 0, "{cost:?}");
            let inbound = names(&cost.inbound);
            assert_eq!((inbound[0], inbound[inbound.len() - 1]), ("SA lookup", "selector check"));
            assert!(inbound.contains(&"decrypt") && inbound.contains(&"verify"), "{inbound:?}");
            let outbound = names(&cost.outbound);
            assert_eq!((outbound[0], outbound[outbound.len() - 1]), ("policy lookup", "encapsulate"));
        }
    }

    #[test]
    fn the_shortest_and_the_longest_packet_go_through() {
        let way = [Way::Full(suite("aes128-md5"))];
        for bytes in [*PACKET_BYTES.start(), *PACKET_BYTES.end()] {
            assert_eq!(profiled(&way, bytes, 1)[0].costs.len(), 1);
        }
    }
}
