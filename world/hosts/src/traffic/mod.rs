//! User traffic between the two ends of an SA, inside it or outside: who sends, who answers, and what arrived.
//!
//! ```text
//!   Order::Traffic --> Station --poll--> IP payload --> SaTable::seal, or plain --> the other Station
//!                          ^ deadline, tick        arrived <-- SaTable::open, or plain <--'
//!   Order::TrafficEnd --> Fact::Traffic: what was sent, what arrived, how long it took
//! ```
//!
//! `echo` pings, `constant` sends datagrams at a rate, `bulk` sends as much as a window allows. A station is both
//! source and sink: without `sends` it only answers.

mod bulk;
mod constant;
mod echo;
mod segment;
mod udp;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::{Fact, Protocol, Traffic};
use keytoll_engine::{Ctx, Datagram, Deadline, Output, Time};
use keytoll_net::Addr;
use keytoll_net::ip::header_bytes;
use keytoll_net::ip::protocol::ESP;

use crate::user_plane::Path;
use crate::{Event, icmp, ip};

/// The configuration of a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The kind of traffic.
    pub kind: Kind,
    /// Whether it is a source, or only a sink.
    pub sends: bool,
    /// How long the source sends.
    pub duration: Duration,
    /// Length of its IP packets in bytes; `None`: the longest that need no fragmentation, for echoes `ping`'s 56 bytes of data.
    pub packet_bytes: Option<usize>,
    /// Whether it goes through the SA to `remote`, or outside it.
    pub protected: bool,
    /// Our address.
    pub local: IpAddr,
    /// The other station's.
    pub remote: IpAddr,
    /// MTU of the path between the outer addresses, in bytes.
    pub mtu_bytes: usize,
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// ICMP echo requests, so far apart.
    Echo {
        /// Time from one request to the next.
        interval: Duration,
    },
    /// UDP datagrams at a constant rate.
    Constant {
        /// Bits of IP packets a second.
        bits_per_s: u64,
    },
    /// A stream of segments under a window.
    Bulk {
        /// Maximum number of bytes in flight.
        window_bytes: u64,
    },
}

/// One end of the traffic.
#[derive(Debug)]
pub struct Station {
    flow: Flow,
    common: Common,
}

/// The state of a kind.
#[derive(Debug)]
enum Flow {
    Echo(echo::Flow),
    Constant(constant::Flow),
    Bulk(Box<bulk::Flow>),
}

/// What all kinds share: the addresses, the counters, the packets to send.
#[derive(Debug)]
struct Common {
    local: IpAddr,
    remote: IpAddr,
    protected: bool,
    began: Time,
    until: Time,
    last_arrival: Option<Time>,
    account: Traffic,
    out: VecDeque<Payload>,
}

/// An IP packet without its header.
#[derive(Debug)]
struct Payload {
    protocol: u8,
    bytes: Vec<u8>,
}

impl Station {
    /// Begins now.
    pub fn begin(config: &Config, sas: &dyn Path, cx: &mut Ctx<'_>) -> Self {
        cx.trace.record(Fact::TrafficBegan);
        let through_sa = config.protected.then(|| sas.room_bytes(config.remote, config.mtu_bytes)).flatten();
        let room_bytes = through_sa.unwrap_or(config.mtu_bytes);
        let header_bytes = header_bytes(config.local);
        let payload_bytes = config.packet_bytes.unwrap_or(room_bytes).saturating_sub(header_bytes);
        let source = config.sends.then_some(Source { at: cx.now, payload_bytes });
        let flow = match config.kind {
            Kind::Echo { interval } => {
                let payload_bytes = config.packet_bytes.map(|bytes| bytes.saturating_sub(header_bytes));
                Flow::Echo(echo::Flow::new(source, payload_bytes, interval))
            }
            Kind::Constant { bits_per_s } => {
                Flow::Constant(constant::Flow::new(source, header_bytes, bits_per_s))
            }
            Kind::Bulk { window_bytes } => {
                // Data fits the path even if the packets of the source are configured longer.
                let payload_bytes = payload_bytes.min(room_bytes.saturating_sub(header_bytes));
                Flow::Bulk(Box::new(bulk::Flow::new(source, payload_bytes, window_bytes)))
            }
        };
        Self { flow, common: Common::open(config, cx.now) }
    }

    /// Whether a datagram to this address is one of its packets outside the SAs.
    pub const fn takes_plain(&self, to: Addr) -> bool {
        !self.common.protected && matches!(to, Addr::Ip { protocol, .. } if protocol != ESP)
    }

    /// Processes a packet if it is its own.
    pub fn arrived(&mut self, packet: &ip::Packet<'_>, cx: &mut Ctx<'_>) -> bool {
        if packet.source != self.common.remote || packet.destination != self.common.local {
            return false;
        }
        match &mut self.flow {
            Flow::Echo(flow) => flow.arrived(packet, cx, &mut self.common),
            Flow::Constant(flow) => flow.arrived(packet, cx, &mut self.common),
            Flow::Bulk(flow) => flow.arrived(packet, cx, &mut self.common),
        }
    }

    /// Processes a packet that came outside the SAs.
    pub(crate) fn arrived_plain(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        let (Some(source), Some(destination), Some(protocol)) = (from.ip(), to.ip(), to.ip_protocol()) else {
            return cx.discard(Protocol::IP, "ip: no such traffic");
        };
        let packet = ip::Packet { source, destination, protocol, payload: bytes };
        if !self.arrived(&packet, cx) {
            cx.discard(Protocol::IP, "ip: no such traffic");
        }
    }

    /// Something may be due.
    pub fn tick(&mut self, now: Time) {
        match &mut self.flow {
            Flow::Echo(flow) => flow.tick(now, &mut self.common),
            Flow::Constant(flow) => flow.tick(now, &mut self.common),
            Flow::Bulk(flow) => flow.tick(now, &mut self.common),
        }
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Deadline> {
        match &self.flow {
            Flow::Echo(flow) => flow.deadline(),
            Flow::Constant(flow) => flow.deadline(),
            Flow::Bulk(flow) => flow.deadline(),
        }
    }

    /// Sends the queued packets.
    pub fn flush(
        &mut self,
        (sas, rng): (&mut dyn Path, &mut Rng),
        out: &mut VecDeque<Output<Event>>,
        cx: &mut Ctx<'_>,
    ) {
        let (source, destination) = (self.common.local, self.common.remote);
        for Payload { protocol, bytes } in self.common.out.drain(..) {
            let packet = ip::Packet { source, destination, protocol, payload: &bytes };
            let datagram =
                if self.common.protected { sas.seal(&packet, rng, cx) } else { Some(plain(&packet)) };
            out.extend(datagram.map(Output::Datagram));
        }
    }

    /// Ends the traffic and records its counters.
    pub fn end(self, cx: &mut Ctx<'_>) {
        cx.trace.record(Fact::Traffic(Box::new(self.common.account)));
    }
}

/// A packet outside the SAs, as a datagram.
fn plain(packet: &ip::Packet<'_>) -> Datagram {
    let of_icmp = packet.protocol == icmp::protocol(packet.source);
    let protocol = if of_icmp { Protocol::ICMP } else { Protocol::IP };
    let at = |ip| Addr::Ip { ip, protocol: packet.protocol };
    let (from, to) = (at(packet.source), at(packet.destination));
    Datagram { protocol, from, to, bytes: packet.payload.to_vec() }
}

/// The parameters of a source.
#[derive(Debug, Clone, Copy)]
struct Source {
    at: Time,
    payload_bytes: usize,
}

impl Common {
    fn open(config: &Config, now: Time) -> Self {
        let duration_ns = u64::try_from(config.duration.as_nanos()).unwrap_or(u64::MAX);
        Self {
            local: config.local,
            remote: config.remote,
            protected: config.protected,
            began: now,
            until: now + config.duration,
            last_arrival: None,
            account: Traffic { duration_ns, ..Traffic::default() },
            out: VecDeque::new(),
        }
    }

    /// A packet leaves.
    fn send(&mut self, protocol: u8, bytes: Vec<u8>) {
        self.account.out_packets += 1;
        self.account.out_bytes += (header_bytes(self.local) + bytes.len()) as u64;
        self.out.push_back(Payload { protocol, bytes });
    }

    /// Counts new bytes of data.
    fn got(&mut self, payload_bytes: u64, now: Time) {
        if payload_bytes == 0 {
            return;
        }
        self.account.payload_bytes += payload_bytes;
        let gap = self.last_arrival.map_or(0, |last| nanos(now.since(last)));
        self.account.longest_gap_ns = self.account.longest_gap_ns.max(gap);
        self.account.last_arrival_ns = nanos(now.since(self.began));
        self.last_arrival = Some(now);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
