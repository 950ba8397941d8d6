//! ESP as captures know it: RFC 4303 §2. With keys, what travels inside.

mod keys;

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::{Node, Protocol, Revealed};
use keytoll_family::{
    Analyser, Book, Content, Dissected, Entry, Family, KeyLine, KeyTable, Kind, Part, Passed, Tables,
};
use keytoll_net::ip::protocol;

use crate::{Dropped, Frame, Inbound};

/// ESP, whoever has set it up.
#[derive(Debug)]
pub struct EspFamily;

impl Family for EspFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::ESP]
    }

    fn ip_protocols(&self) -> &'static [(u8, Protocol)] {
        &[(protocol::ESP, Protocol::ESP)]
    }

    fn analyser(&self, tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(EspAnalyser { keys: keys::Keys::read(tables), inbound: BTreeMap::new() }))
    }

    fn key_tables(&self) -> &'static [KeyTable] {
        const { &[KeyTable::new(keys::TABLE)] }
    }

    fn preferences(&self) -> &'static [&'static str] {
        &["esp.enable_encryption_decode: TRUE", "esp.enable_authentication_check: TRUE"]
    }

    fn key_line(&self, revealed: &Revealed) -> Option<KeyLine> {
        keys::line(revealed)
    }

    fn wireshark(&self, _: Protocol, _: &[u8]) -> Option<(&'static str, &'static [u16])> {
        Some(("UDPENCAP", &[4500]))
    }
}

/// An ESP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Esp {
    /// The receiver's SPI.
    pub spi: u32,
    /// Sequence Number.
    pub sequence: u32,
    /// Whether a key has opened it.
    pub is_opened: bool,
}

impl Content for Esp {
    fn is_opened(&self) -> bool {
        self.is_opened
    }

    fn sets_up(&self) -> bool {
        false
    }

    fn spi(&self) -> Option<u32> {
        Some(self.spi)
    }
}

/// More SAs at once than this are not kept.
const OPEN_MAX: usize = 4096;

/// Follows ESP: its keys, and of each SA the replay window.
struct EspAnalyser {
    keys: keys::Keys,
    inbound: BTreeMap<(IpAddr, u32), Inbound>,
}

impl Analyser for EspAnalyser {
    fn keys(&self) -> usize {
        self.keys.count()
    }

    fn dissect(&mut self, passed: &Passed, crypto: &mut dyn Crypto) -> Dissected {
        let bytes = &passed.datagram.bytes[..];
        let number = |at: usize| {
            bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
        };
        let (spi, sequence) = (number(0), number(4));
        let (inner, remark) = self.open(passed, spi, crypto);
        let content = Esp { spi, sequence, is_opened: inner.is_some() };
        Dissected {
            parts: inner.into_iter().map(Part::bare).collect(),
            remarks: remark.into_iter().collect(),
            ..Dissected::bare(format!("ESP {spi:#010x} #{sequence}"), content)
        }
    }

    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        _: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        let Some(spi) = dissected.content.spi() else { return };
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let set_up = book.traffic_of(to.host(), spi);
        let known = set_up.or_else(|| book.between(from.host(), to.host()));
        let kind = || Kind::of("esp", "ESP").without_end();
        let Some(conversation) = known.or_else(|| book.begin(kind())) else { return };
        // Without keys nobody says whose an SPI is; the SA that is there when it is first seen is there before its successors.
        if set_up.is_none() {
            book.expect_traffic(to.host(), spi, conversation);
        }
        if known.is_none() {
            book.meet_hosts(conversation, from.host(), to.host());
        }
        let by_gateway = book.is_from_gateway(conversation, from, to);
        let ends = if by_gateway { (Node::Gw, Node::Ue) } else { (Node::Ue, Node::Gw) };
        book.push_traffic(conversation, Entry::new(passed, dissected, ends), "ESP");
    }
}

impl EspAnalyser {
    /// What is inside a packet, or why it cannot be opened although there are keys for it.
    fn open(
        &mut self,
        passed: &Passed,
        spi: u32,
        crypto: &mut dyn Crypto,
    ) -> (Option<String>, Option<String>) {
        let Some(to) = passed.datagram.to.ip() else { return (None, None) };
        let Some(sa) = self.inbound(to, spi) else { return (None, None) };
        if passed.cut.is_some() {
            return (None, None);
        }
        let mut bytes = passed.datagram.bytes.clone();
        let mut frame = Frame::whole(&mut bytes);
        match sa.open(&mut frame, crypto, &mut ()) {
            Ok(next_header) => (Some(inner(next_header, frame.bytes())), None),
            Err(Dropped::Dummy) => (Some("dummy".to_owned()), None),
            Err(why) => (None, Some(format!("NOT OPENED: {why}"))),
        }
    }

    /// The SA of this SPI towards this host, if there are keys for it.
    fn inbound(&mut self, to: IpAddr, spi: u32) -> Option<&mut Inbound> {
        if !self.inbound.contains_key(&(to, spi)) {
            let key = self.keys.of(to, spi)?.clone();
            if self.inbound.len() >= OPEN_MAX {
                self.inbound.pop_first();
            }
            self.inbound.insert((to, spi), Inbound::new(spi, key));
        }
        self.inbound.get_mut(&(to, spi))
    }
}

/// RFC 4303 §2.6: Next Header is an IP protocol number; 4 and 41 are tunnels.
fn inner(next_header: u8, payload: &[u8]) -> String {
    match next_header {
        4 => payload
            .get(9)
            .map_or_else(|| "IPv4".to_owned(), |protocol| protocol_of(*protocol, tail_v4(payload))),
        41 => payload.get(6).map_or_else(
            || "IPv6".to_owned(),
            |protocol| protocol_of(*protocol, payload.get(40..).unwrap_or_default()),
        ),
        other => protocol_of(other, payload),
    }
}

fn tail_v4(packet: &[u8]) -> &[u8] {
    let header_len = packet.first().map_or(0, |byte| usize::from(byte & 0x0f) * 4);
    packet.get(header_len..).unwrap_or_default()
}

fn protocol_of(protocol: u8, payload: &[u8]) -> String {
    match (protocol, payload.first()) {
        (1, Some(8)) | (58, Some(128)) => "ICMP echo request".to_owned(),
        (1, Some(0)) | (58, Some(129)) => "ICMP echo reply".to_owned(),
        (1 | 58, _) => "ICMP".to_owned(),
        (6, _) => "TCP".to_owned(),
        (17, _) => "UDP".to_owned(),
        (other, _) => format!("IP protocol {other}"),
    }
}
