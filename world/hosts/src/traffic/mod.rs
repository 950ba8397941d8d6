//! Traffic of users between the two ends of an SA, or past it: who sends what, who answers, and what arrived.
//!
//! ```text
//!   Command::Traffic --> Station --poll--> IP payload --> SaTable::seal, or plain --> the other Station
//!                          ^ deadline, tick        arrived <-- SaTable::open, or plain <--'
//!   Command::TrafficEnd --> Fact::Traffic: what was sent, what came, how long it took
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

use crate::ipsec::SaTable;
use crate::{Event, icmp, ip};

/// What a station does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What kind of traffic.
    pub kind: Kind,
    /// Whether the source is here, or only the sink.
    pub sends: bool,
    /// How long the source sends.
    pub duration: Duration,
    /// Length of its IP packets in bytes; none: the longest that go unfragmented, for echoes `ping`'s 56 bytes of data.
    pub packet_bytes: Option<usize>,
    /// Through the SA to `remote`; otherwise past it.
    pub protected: bool,
    /// Our address.
    pub local: IpAddr,
    /// The other station's.
    pub remote: IpAddr,
    /// The longest IP packet on the way between the outer addresses.
    pub mtu_bytes: usize,
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// ICMP echo requests, so far apart.
    Echo {
        /// From one request to the next.
        interval: Duration,
    },
    /// UDP datagrams at a constant rate.
    Constant {
        /// Bits of IP packets a second.
        bits_per_s: u64,
    },
    /// A stream of segments under a window.
    Bulk {
        /// The most bytes that may be on their way.
        window_bytes: u64,
    },
}

/// One end of the traffic.
#[derive(Debug)]
pub struct Station {
    flow: Flow,
    desk: Desk,
}

/// The state of a kind.
#[derive(Debug)]
enum Flow {
    Echo(echo::Flow),
    Constant(constant::Flow),
    Bulk(Box<bulk::Flow>),
}

/// What all kinds share: the ends, the accounts, what is to be sent.
#[derive(Debug)]
struct Desk {
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
    pub fn begin(config: &Config, sas: &SaTable, cx: &mut Ctx<'_>) -> Self {
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
                // Data fits the path even where the packets of the source are given longer.
                let payload_bytes = payload_bytes.min(room_bytes.saturating_sub(header_bytes));
                Flow::Bulk(Box::new(bulk::Flow::new(source, payload_bytes, window_bytes)))
            }
        };
        Self { flow, desk: Desk::open(config, cx.now) }
    }

    /// Whether a datagram to this address is a packet of its own that came past the SAs.
    pub const fn takes_plain(&self, to: Addr) -> bool {
        !self.desk.protected && matches!(to, Addr::Ip { protocol, .. } if protocol != ESP)
    }

    /// Takes a packet if it is its own.
    pub fn arrived(&mut self, packet: &ip::Packet<'_>, cx: &mut Ctx<'_>) -> bool {
        if packet.source != self.desk.remote || packet.destination != self.desk.local {
            return false;
        }
        match &mut self.flow {
            Flow::Echo(flow) => flow.arrived(packet, cx, &mut self.desk),
            Flow::Constant(flow) => flow.arrived(packet, cx, &mut self.desk),
            Flow::Bulk(flow) => flow.arrived(packet, cx, &mut self.desk),
        }
    }

    /// Takes a packet that came past the SAs.
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
            Flow::Echo(flow) => flow.tick(now, &mut self.desk),
            Flow::Constant(flow) => flow.tick(now, &mut self.desk),
            Flow::Bulk(flow) => flow.tick(now, &mut self.desk),
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

    /// Sends what is to be sent.
    pub fn flush(
        &mut self,
        (sas, rng): (&mut SaTable, &mut Rng),
        out: &mut VecDeque<Output<Event>>,
        cx: &mut Ctx<'_>,
    ) {
        let (source, destination) = (self.desk.local, self.desk.remote);
        for Payload { protocol, bytes } in self.desk.out.drain(..) {
            let packet = ip::Packet { source, destination, protocol, payload: &bytes };
            let datagram =
                if self.desk.protected { sas.seal(&packet, rng, cx) } else { Some(plain(&packet)) };
            out.extend(datagram.map(Output::Datagram));
        }
    }

    /// It is over: tells what was.
    pub fn end(self, cx: &mut Ctx<'_>) {
        cx.trace.record(Fact::Traffic(Box::new(self.desk.account)));
    }
}

/// A packet that goes past the SAs, as a datagram.
fn plain(packet: &ip::Packet<'_>) -> Datagram {
    let of_icmp = packet.protocol == icmp::protocol(packet.source);
    let protocol = if of_icmp { Protocol::ICMP } else { Protocol::IP };
    let at = |ip| Addr::Ip { ip, protocol: packet.protocol };
    let (from, to) = (at(packet.source), at(packet.destination));
    Datagram { protocol, from, to, bytes: packet.payload.to_vec() }
}

/// What a source begins with.
#[derive(Debug, Clone, Copy)]
struct Source {
    at: Time,
    payload_bytes: usize,
}

impl Desk {
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

    /// So many new bytes of data have come.
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
