//! From captured frames to the datagrams that the ends exchanged: links, IP with its fragments, UDP, TCP streams, SCTP, ESP;
//! and to the EAPOL PDUs of stations on a LAN.
//!
//! ```text
//!   Frame --link--> IP packet --fragments--> whole packet --UDP, ESP, ICMP--------> Passed
//!                                                         '--TCP streams, SCTP chunks--> Diameter message --> Passed
//!         '-------> Eapol
//! ```
//!
//! What is not understood is counted by its name ([`Skipped`]), and what is kept while waiting for the rest of something
//! is bounded.

mod eapol;
mod fragments;
mod link;
mod ports;
mod repeats;
mod sctp;
mod streams;

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_net::ip::{Piece, Version, protocol};
use keytoll_net::{Addr, Socket, udp};

use crate::read::Frame;
pub use eapol::{Eapol, Mac};
use fragments::Fragments;
use ports::Ports;
use repeats::Repeats;
use sctp::Sctp;
use streams::Streams;

/// A datagram as it passed the point of capture; over TCP and SCTP, a Diameter message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// When its first packet was captured, in nanoseconds.
    pub first_ns: u64,
    /// When its last one was.
    pub at_ns: u64,
    /// The frame of the last packet.
    pub frame: u64,
    /// IP packets.
    pub packets: u16,
    /// Their bytes, IP headers included.
    pub wire_bytes: u32,
    /// What was carried from whom to whom.
    pub datagram: Datagram,
    /// Not all of the bytes are there.
    pub cut: Option<Cut>,
    /// What the file says about it.
    pub comment: Option<String>,
}

/// Why bytes are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The capture kept only the beginning of each packet.
    Captured,
    /// A fragment never passed.
    FragmentMissing,
}

/// Packets of no use here, by what they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    /// More kinds are counted together.
    const KINDS_MAX: usize = 64;
    const OTHERS: &'static str = "others";

    /// Counts packets.
    pub fn add(&mut self, what: &str, packets: u64) {
        let known = self.0.len() < Self::KINDS_MAX || self.0.contains_key(what);
        *self.0.entry(if known { what } else { Self::OTHERS }.to_owned()).or_default() += packets;
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The most frequent kinds first.
    pub fn kinds(&self) -> Vec<(&str, u64)> {
        let mut kinds: Vec<_> = self.0.iter().map(|(what, &count)| (what.as_str(), count)).collect();
        kinds.sort_by_key(|&(what, count)| (std::cmp::Reverse(count), what));
        kinds
    }
}

/// A frame's place in the capture, which what is made of it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    at_ns: u64,
    frame: u64,
    comment: Option<String>,
    /// Where it was captured, and whether it was about to leave.
    point: (u32, u32),
}

/// A whole IP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IpPacket {
    origin: Origin,
    first_ns: u64,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    payload: Vec<u8>,
    packets: u16,
    wire_bytes: u32,
    cut: Option<Cut>,
}

/// What a frame completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// None to several datagrams.
    Datagrams(Vec<Passed>),
    /// An EAPOL PDU.
    Eapol(Eapol),
}

impl Taken {
    /// The datagrams alone.
    pub fn datagrams(self) -> Vec<Passed> {
        match self {
            Self::Datagrams(datagrams) => datagrams,
            Self::Eapol(_) => Vec::new(),
        }
    }
}

/// What a frame is part of.
enum Part {
    /// Perhaps a whole packet.
    Ip(Option<IpPacket>),
    Eapol(Eapol),
}

/// Turns frames into datagrams and EAPOL PDUs.
#[derive(Debug, Default)]
pub struct Packets {
    fragments: Fragments,
    streams: Streams,
    sctp: Sctp,
    ports: Ports,
    repeats: Repeats,
    skipped: Skipped,
}

impl Packets {
    /// Takes the next frame and gives what it completes.
    pub fn take(&mut self, frame: &Frame) -> Taken {
        let whole = match self.part(frame) {
            Ok(Part::Eapol(eapol)) => return Taken::Eapol(eapol),
            Ok(Part::Ip(whole)) => whole,
            Err(what) => {
                self.skipped.add(&what, 1);
                None
            }
        };
        let given_up = self.fragments.given_up(frame.at_ns);
        Taken::Datagrams(
            given_up.into_iter().chain(whole).flat_map(|packet| self.transport(packet)).collect(),
        )
    }

    /// Gives what still waits for its other fragments; there will be no more frames.
    pub fn finish(&mut self) -> Vec<Passed> {
        let given_up = self.fragments.given_up(u64::MAX);
        given_up.into_iter().flat_map(|packet| self.transport(packet)).collect()
    }

    /// What could not be used so far.
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn part(&mut self, frame: &Frame) -> Result<Part, String> {
        match link::carried(frame)? {
            link::Carried::Ip(network) => {
                let piece = Piece::read(network.version, network.packet)?;
                let origin = self.origin(frame, network.direction, repeats::of_piece(&piece))?;
                Ok(Part::Ip(self.fragments.add(&piece, origin)))
            }
            link::Carried::Eapol(lan) => {
                let origin = self.origin(frame, lan.direction, repeats::of_eapol(&lan))?;
                let is_cut = u64::from(frame.original_bytes) > frame.bytes.len() as u64;
                lan.take(origin, is_cut.then_some(Cut::Captured)).map(Part::Eapol)
            }
        }
    }

    /// Where a frame stands, unless what it carries was seen elsewhere before.
    fn origin(&mut self, frame: &Frame, direction: u32, digest: u64) -> Result<Origin, String> {
        let point = (frame.interface, direction);
        if self.repeats.is_repeat(digest, frame.at_ns, point) {
            return Err("seen at another point of capture before".to_owned());
        }
        Ok(Origin { at_ns: frame.at_ns, frame: frame.number, comment: frame.comment.clone(), point })
    }

    fn transport(&mut self, packet: IpPacket) -> Vec<Passed> {
        let result = match packet.protocol {
            protocol::UDP => self.udp(packet),
            protocol::TCP => {
                let messages = self.streams.add(&packet);
                return self.messages(messages);
            }
            protocol::SCTP => {
                let messages = self.sctp.add(&packet);
                return self.messages(messages);
            }
            protocol::ESP => Ok(packet.on_ip(Protocol::ESP)),
            protocol::ICMP | protocol::ICMPV6 => Ok(packet.on_ip(Protocol::ICMP)),
            other => Err((protocol_name(other), packet.packets)),
        };
        result.map_or_else(
            |(what, packets)| {
                self.skipped.add(&what, packets.into());
                Vec::new()
            },
            |passed| vec![passed],
        )
    }

    fn udp(&mut self, packet: IpPacket) -> Result<Passed, (String, u16)> {
        let Some(udp) = Udp::read(&packet) else { return Err(("UDP cut short".into(), packet.packets)) };
        let from = Socket::new(packet.source, udp.ports.0);
        let to = Socket::new(packet.destination, udp.ports.1);
        let payload = &packet.payload[udp::HEADER..udp.end];
        match self.ports.udp(from, to, payload, packet.cut.is_some()) {
            Ok(protocol) => {
                let mut packet = packet;
                packet.payload.truncate(udp.end);
                packet.payload.drain(..udp::HEADER.min(packet.payload.len()));
                Ok(packet.passed(protocol, Addr::Udp(from), Addr::Udp(to)))
            }
            Err(what) => Err((what, packet.packets)),
        }
    }

    fn messages(&mut self, found: Result<Vec<Passed>, &'static str>) -> Vec<Passed> {
        found.unwrap_or_else(|what| {
            self.skipped.add(what, 1);
            Vec::new()
        })
    }
}

/// The ends of the UDP datagram or ESP packet that an ICMP error quotes, perhaps cut short behind its first eight bytes.
pub(crate) fn quoted(v4: bool, bytes: &[u8]) -> Option<(Addr, Addr)> {
    let version = if v4 { Version::V4 } else { Version::V6 };
    let piece = Piece::read(version, bytes).ok()?;
    let (source, destination) = (piece.source, piece.destination);
    match piece.protocol {
        protocol::UDP => {
            let &[s0, s1, d0, d1] = piece.payload.first_chunk()?;
            let [from, to] = [[s0, s1], [d0, d1]].map(u16::from_be_bytes);
            Some((Addr::udp(source, from), Addr::udp(destination, to)))
        }
        protocol::ESP => {
            let at = |ip| Addr::Ip { ip, protocol: protocol::ESP };
            Some((at(source), at(destination)))
        }
        _ => None,
    }
}

/// A UDP datagram, perhaps one that was cut short.
struct Udp {
    ports: (u16, u16),
    /// Where the payload ends.
    end: usize,
}

impl Udp {
    fn read(packet: &IpPacket) -> Option<Self> {
        let header = udp::Header::read(&packet.payload).ok()?;
        let length = usize::from(header.length);
        // RFC 2675 §4: 0 stands for what IP says.
        let length = if length == 0 { packet.payload.len() } else { length };
        let whole = (udp::HEADER..=packet.payload.len()).contains(&length);
        let end = if packet.cut.is_some() { length.min(packet.payload.len()) } else { length };
        let ports = (header.source, header.destination);
        (whole || packet.cut.is_some()).then_some(Self { ports, end: end.max(udp::HEADER) })
    }
}

impl IpPacket {
    /// What it carries, where nothing stands between it and IP.
    fn on_ip(self, protocol: Protocol) -> Passed {
        let number = self.protocol;
        let [from, to] = [self.source, self.destination].map(|ip| Addr::Ip { ip, protocol: number });
        self.passed(protocol, from, to)
    }

    /// What it carries, now that the headers of transport are off.
    fn passed(self, protocol: Protocol, from: Addr, to: Addr) -> Passed {
        Passed {
            first_ns: self.first_ns,
            at_ns: self.origin.at_ns,
            frame: self.origin.frame,
            packets: self.packets,
            wire_bytes: self.wire_bytes,
            datagram: Datagram { protocol, from, to, bytes: self.payload },
            cut: self.cut,
            comment: self.origin.comment,
        }
    }
}

/// What an IP protocol that is not looked into is called.
fn protocol_name(protocol: u8) -> String {
    match protocol {
        2 => "IGMP".to_owned(),
        47 => "GRE".to_owned(),
        protocol::AH => "AH".to_owned(),
        89 => "OSPF".to_owned(),
        other => format!("IP protocol {other}"),
    }
}

#[cfg(test)]
mod tests;
