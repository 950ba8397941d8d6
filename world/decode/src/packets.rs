//! From captured frames to the datagrams that the ends exchanged: links, IP fragments, UDP, TCP streams, SCTP, other IP
//! protocols; and to the PDUs of stations on a LAN. The families decide which of them are of interest.
//!
//! ```text
//!   Frame --link--> IP packet --fragments--> whole packet --UDP, IP protocols, ICMP--> Passed
//!                                                         '--TCP streams, SCTP chunks--> message --> Passed
//!         '-------> PDU of a LAN --> Passed
//!         '-------> frame of a wireless LAN --> IP packet, PDU, or message of its family
//! ```
//!
//! Other packets are counted by kind ([`Skipped`]), and reassembly buffers are limited.

mod air;
mod fragments;
mod lan;
mod link;
mod repeats;
mod sctp;
mod streams;

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Cut, Families, LinkSeal, Passed, Recogniser, Udp};
use keytoll_net::ip::{Piece, Version, protocol};
use keytoll_net::{Addr, Socket, udp};

use crate::passage;
use crate::read::Frame;
use crate::tables::Keys;
use air::Air;
use fragments::Fragments;
use repeats::Repeats;
use sctp::Sctp;
use streams::Streams;

/// Packets of no interest, by kind.
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

/// The position of a frame in the capture.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    at_ns: u64,
    frame: u64,
    comment: Option<String>,
    /// The interface where it was captured, and its direction.
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

/// What a frame is a part of.
enum Part {
    /// Perhaps a whole packet.
    Ip(Option<IpPacket>),
    /// A PDU of a LAN.
    Lan(Passed),
}

/// Converts frames into datagrams and PDUs of LANs.
pub struct Packets {
    families: Families,
    recognisers: Vec<Box<dyn Recogniser>>,
    fragments: Fragments,
    streams: Streams,
    sctp: Sctp,
    repeats: Repeats,
    air: Air,
    skipped: Skipped,
}

impl Packets {
    /// For captures with packets of these families.
    pub fn new(families: Families) -> Self {
        Self::with_keys(&mut Keys::none(families))
    }

    /// For captures with frames of wireless LANs that these keys open.
    pub(crate) fn with_keys(keys: &mut Keys) -> Self {
        let families = keys.families();
        Self {
            families,
            recognisers: families.iter().filter_map(|family| family.recogniser()).collect(),
            fragments: Fragments::default(),
            streams: Streams::new(families),
            sctp: Sctp::new(families),
            repeats: Repeats::default(),
            air: Air::new(keys.take_on_air()),
            skipped: Skipped::default(),
        }
    }

    /// Takes the next frame and returns the packets it completes.
    pub fn take(&mut self, frame: &Frame) -> Vec<Passed> {
        let (mut passed, mut whole) = (Vec::new(), Vec::new());
        for part in self.parts(frame) {
            match part {
                Ok(Part::Lan(pdu)) => passed.push(pdu),
                Ok(Part::Ip(packet)) => whole.extend(packet),
                Err(what) => self.skipped.add(&what, 1),
            }
        }
        let given_up = self.fragments.given_up(frame.at_ns);
        passed.extend(given_up.into_iter().chain(whole).flat_map(|packet| self.transport(packet)));
        passed
    }

    /// Returns incomplete packets after the last frame.
    pub fn finish(&mut self) -> Vec<Passed> {
        let given_up = self.fragments.given_up(u64::MAX);
        given_up.into_iter().flat_map(|packet| self.transport(packet)).collect()
    }

    /// Frames of wireless LANs that were decrypted so far.
    pub(crate) fn opened(&self) -> u64 {
        self.air.opened()
    }

    /// The skipped packets so far.
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The parts of a frame, or their kinds if they are of no interest: what a wireless LAN has encrypted has several.
    fn parts(&mut self, frame: &Frame) -> Vec<Result<Part, String>> {
        let bytes = match link::carried(frame) {
            Ok(link::Carried::Air(bytes)) => bytes,
            carried => return vec![carried.and_then(|carried| self.carried(frame, carried))],
        };
        match self.air.take(bytes) {
            Ok(taken) => taken.into_iter().map(|taken| self.aired(frame, taken)).collect(),
            Err(what) => vec![Err(what)],
        }
    }

    fn aired(&mut self, frame: &Frame, taken: air::Taken) -> Result<Part, String> {
        match taken {
            air::Taken::Message(message) => self.message(frame, message).map(Part::Lan),
            air::Taken::Pdu(pdu) => self.carried(frame, pdu.carried()?),
        }
    }

    fn carried(&mut self, frame: &Frame, carried: link::Carried<'_>) -> Result<Part, String> {
        match carried {
            link::Carried::Ip(network) => {
                let piece = Piece::read(network.version, network.packet)?;
                let origin = self.origin(frame, network.direction, repeats::of_piece(&piece))?;
                Ok(Part::Ip(self.fragments.add(&piece, origin)))
            }
            link::Carried::Lan(lan) => {
                let is_cut = u64::from(frame.original_bytes) > frame.bytes.len() as u64;
                let known = self.families.iter().filter_map(|family| family.on_lan());
                let known = known.into_iter().find(|known| known.ether_type == lan.ether_type);
                let known = known.ok_or_else(|| format!("EtherType {:#06x}", lan.ether_type))?;
                let origin = self.origin(frame, lan.direction, repeats::of_pdu(&lan))?;
                lan.take(&known, origin, is_cut.then_some(Cut::Captured)).map(Part::Lan)
            }
            link::Carried::Air(_) => Err("802.11 in 802.11".to_owned()),
        }
    }

    /// A message of a wireless LAN's family.
    fn message(&mut self, frame: &Frame, message: air::Message) -> Result<Passed, String> {
        let origin = self.origin(frame, 0, message.digest())?;
        Ok(message.passed(frame, &origin))
    }

    /// The position of a frame, unless its contents were captured on another interface before.
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
            protocol::ICMP | protocol::ICMPV6 => Ok(packet.on_ip(Protocol::ICMP)),
            other => {
                let known = self.families.iter().flat_map(|family| family.ip_protocols());
                match known.into_iter().find(|(number, _)| *number == other) {
                    Some(&(_, protocol)) => Ok(packet.on_ip(protocol)),
                    None => Err((protocol_name(other), packet.packets)),
                }
            }
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
        let Some(udp) = UdpDatagram::read(&packet) else {
            return Err(("UDP cut short".into(), packet.packets));
        };
        let from = Socket::new(packet.source, udp.ports.0);
        let to = Socket::new(packet.destination, udp.ports.1);
        let payload = &packet.payload[udp::HEADER..udp.end];
        match self.recognise(&Udp { from, to, payload }, packet.cut.is_some()) {
            Ok(protocol) => {
                let mut packet = packet;
                packet.payload.truncate(udp.end);
                packet.payload.drain(..udp::HEADER.min(packet.payload.len()));
                Ok(packet.passed(protocol, Addr::Udp(from), Addr::Udp(to)))
            }
            Err(what) => Err((what, packet.packets)),
        }
    }

    /// The protocol of a datagram, or its kind if it is of no interest.
    fn recognise(&mut self, udp: &Udp<'_>, is_cut: bool) -> Result<Protocol, String> {
        let by_port = self.recognisers.iter_mut().find_map(|known| known.by_port(udp));
        by_port.unwrap_or_else(|| {
            let mut others = self.recognisers.iter_mut().filter(|_| !is_cut);
            let guess = others.find_map(|known| known.by_looks(udp));
            guess.ok_or_else(|| format!("UDP port {}", udp.from.port.min(udp.to.port)))
        })
    }

    fn messages(&mut self, found: Result<Vec<Passed>, &'static str>) -> Vec<Passed> {
        found.unwrap_or_else(|what| {
            self.skipped.add(what, 1);
            Vec::new()
        })
    }
}

/// The ends of the UDP datagram, or of the packet of a family's IP protocol, that an ICMP error quotes, possibly only its first
/// eight bytes.
pub(crate) fn quoted(families: Families, v4: bool, bytes: &[u8]) -> Option<(Addr, Addr)> {
    let version = if v4 { Version::V4 } else { Version::V6 };
    let piece = Piece::read(version, bytes).ok()?;
    let (source, destination) = (piece.source, piece.destination);
    match piece.protocol {
        protocol::UDP => {
            let &[s0, s1, d0, d1] = piece.payload.first_chunk()?;
            let [from, to] = [[s0, s1], [d0, d1]].map(u16::from_be_bytes);
            Some((Addr::udp(source, from), Addr::udp(destination, to)))
        }
        other => {
            let at = |ip| Addr::Ip { ip, protocol: other };
            let mut known = families.iter().flat_map(|family| family.ip_protocols());
            known.any(|(number, _)| *number == other).then(|| (at(source), at(destination)))
        }
    }
}

/// A UDP datagram, possibly truncated.
struct UdpDatagram {
    ports: (u16, u16),
    /// The end of the payload.
    end: usize,
}

impl UdpDatagram {
    fn read(packet: &IpPacket) -> Option<Self> {
        let header = udp::Header::read(&packet.payload).ok()?;
        let length = usize::from(header.length);
        // RFC 2675 §4: 0 means the length according to IP.
        let length = if length == 0 { packet.payload.len() } else { length };
        let whole = (udp::HEADER..=packet.payload.len()).contains(&length);
        let end = if packet.cut.is_some() { length.min(packet.payload.len()) } else { length };
        let ports = (header.source, header.destination);
        (whole || packet.cut.is_some()).then_some(Self { ports, end: end.max(udp::HEADER) })
    }
}

impl IpPacket {
    /// Its payload, directly on IP.
    fn on_ip(self, protocol: Protocol) -> Passed {
        let number = self.protocol;
        let [from, to] = [self.source, self.destination].map(|ip| Addr::Ip { ip, protocol: number });
        self.passed(protocol, from, to)
    }

    /// Its payload, after the transport headers.
    fn passed(self, protocol: Protocol, from: Addr, to: Addr) -> Passed {
        Passed {
            first_ns: self.first_ns,
            at_ns: self.origin.at_ns,
            frame: self.origin.frame,
            packets: self.packets,
            wire_bytes: self.wire_bytes,
            datagram: Datagram { protocol, from, to, bytes: self.payload },
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: self.cut,
            fate: self.origin.comment.as_deref().and_then(passage::fate),
        }
    }
}

/// The name of an IP protocol that is not decoded.
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
