//! HIP as captures and observers know it: RFC 7401, on IP and in UDP (RFC 9028).

mod associations;
mod words;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::{Message, Node, Protocol};
use keytoll_family::{
    Analyser, Book, Conversation, Dissected, Family, Judgement, LearntPorts, Passed, Recogniser, Tables, Udp,
};
use keytoll_net::wire::DecodeError;

use crate::encapsulation::{PORT, hip_in_udp};
use crate::leniency::Leniency;
use crate::names::{self, HIP};
use crate::number::{PacketType, ParameterType};
use crate::wire::Packet;
use crate::wire::packet::IP_PROTOCOL;

pub use words::Hip;

/// HIP, all of its exchanges.
#[derive(Debug)]
pub struct HipFamily;

/// What others send is shown as it is.
const LENIENCY: Leniency = Leniency { any_order: true, ..Leniency::NONE };

impl Family for HipFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[HIP]
    }

    fn recogniser(&self) -> Option<Box<dyn Recogniser>> {
        Some(Box::new(Ports::default()))
    }

    fn ip_protocols(&self) -> &'static [(u8, Protocol)] {
        &[(IP_PROTOCOL, HIP)]
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        Packet::read(without_marker(bytes), LENIENCY).map(|packet| message(&packet))
    }

    fn wireshark(&self, _: Protocol, _: &[u8]) -> Option<(&'static str, &'static [u16])> {
        Some(("HIP", &[PORT]))
    }

    fn analyser(&self, _: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(HipAnalyser::default()))
    }
}

/// The packet behind the zeros that stand before it in UDP.
fn without_marker(bytes: &[u8]) -> &[u8] {
    hip_in_udp(bytes).unwrap_or(bytes)
}

/// What the records say of a packet.
fn message(packet: &Packet<'_>) -> Message {
    let number = |kind| {
        let contents = packet.find(kind)?.bytes();
        contents.first_chunk().map(|id| u32::from_be_bytes(*id))
    };
    let (seq, ack) = (number(ParameterType::SEQ), number(ParameterType::ACK));
    let response = match packet.header.packet_type {
        PacketType::UPDATE => seq.is_none(),
        packet_type => matches!(
            packet_type,
            PacketType::R1 | PacketType::R2 | PacketType::CLOSE_ACK | PacketType::NOTIFY
        ),
    };
    Message {
        id: seq.or(ack).unwrap_or(0),
        bytes: u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX),
        parts: packet.parameters().iter().map(|parameter| names::parameter(parameter.kind)).collect(),
        ..names::message(packet.header.packet_type, response)
    }
}

/// Tells HIP in UDP from the ESP that goes through the same ports.
#[derive(Debug, Default)]
struct Ports(LearntPorts);

impl Recogniser for Ports {
    fn by_port(&mut self, udp: &Udp<'_>) -> Option<Result<Protocol, String>> {
        if !udp.is_at(PORT) && !self.0.has(udp) {
            return None;
        }
        // RFC 9028 §5.1: where HIP has its zeros, ESP has an SPI.
        Some(match udp.payload {
            payload if hip_in_udp(payload).is_some() => Ok(HIP),
            payload if payload.len() >= 8 => Ok(Protocol::ESP),
            _ => Err("UDP port of HIP, too short".to_owned()),
        })
    }

    fn by_looks(&mut self, udp: &Udp<'_>) -> Option<Protocol> {
        let packet = Packet::read(hip_in_udp(udp.payload)?, Leniency::default()).ok()?;
        let is_known = PacketType::ALL.contains(&packet.header.packet_type);
        let is_hip = is_known && packet.header.sender.is_orchid();
        is_hip.then(|| {
            self.0.learn(udp);
            HIP
        })
    }
}

/// Follows HIP.
#[derive(Default)]
struct HipAnalyser(associations::Associations);

impl Analyser for HipAnalyser {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        words::dissect(&passed.datagram)
    }

    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        match dissected.content.of::<Hip>().cloned() {
            Some(hip) => self.0.file(passed, dissected, &hip, repeats, book),
            None => book.push_unreadable(passed, dissected, (Node::Ue, Node::Gw), None),
        }
    }

    fn judge(&self, _: usize, conversation: &Conversation) -> Judgement {
        associations::judge(conversation)
    }
}
