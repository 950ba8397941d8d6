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

use crate::selector::behind_extensions;
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
    inbound: BTreeMap<(IpAddr, u32), Sa>,
}

/// One direction of an SA.
struct Sa {
    inbound: Inbound,
    /// Whether a packet has shown that it is opened rightly.
    is_proved: bool,
}

impl Sa {
    // RFC 4303 §2.2.1: no packet says whether its sequence number has a half that is not sent; HIP always has it (RFC 7402
    // §3.3.6), and the table of keys does not tell. A capture that has the first packet of an SA has zero there.
    fn open(&mut self, bytes: &[u8], crypto: &mut dyn Crypto) -> Result<String, Dropped> {
        let opened = open(&mut self.inbound, bytes, crypto);
        if self.is_proved || opened != Err(Dropped::Integrity) {
            self.is_proved |= opened.is_ok();
            return opened;
        }
        let mut extended = self.inbound.extended();
        let opened = open(&mut extended, bytes, crypto);
        if opened.is_ok() {
            *self = Self { inbound: extended, is_proved: true };
        }
        opened
    }
}

/// What is inside a packet.
fn open(inbound: &mut Inbound, bytes: &[u8], crypto: &mut dyn Crypto) -> Result<String, Dropped> {
    let mut bytes = bytes.to_vec();
    let mut frame = Frame::whole(&mut bytes);
    inbound.open(&mut frame, crypto, &mut ()).map(|next_header| inner(next_header, frame.bytes()))
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
        match sa.open(&passed.datagram.bytes, crypto) {
            Ok(inner) => (Some(inner), None),
            Err(Dropped::Dummy) => (Some("dummy".to_owned()), None),
            Err(why) => (None, Some(format!("NOT OPENED: {why}"))),
        }
    }

    /// The SA of this SPI towards this host, if there are keys for it.
    fn inbound(&mut self, to: IpAddr, spi: u32) -> Option<&mut Sa> {
        if !self.inbound.contains_key(&(to, spi)) {
            let key = self.keys.of(to, spi)?.clone();
            if self.inbound.len() >= OPEN_MAX {
                self.inbound.pop_first();
            }
            self.inbound.insert((to, spi), Sa { inbound: Inbound::new(spi, key), is_proved: false });
        }
        self.inbound.get_mut(&(to, spi))
    }
}

/// RFC 4303 §2.6: Next Header is an IP protocol number; 4 and 41 are tunnels, all others transport mode or BEET mode, which
/// look the same.
fn inner(next_header: u8, payload: &[u8]) -> String {
    match next_header {
        4 => payload
            .get(9)
            .map_or_else(|| "IPv4".to_owned(), |protocol| protocol_of(*protocol, tail_v4(payload))),
        41 => payload.get(6).map_or_else(
            || "IPv6".to_owned(),
            |protocol| of_ipv6(*protocol, payload.get(40..).unwrap_or_default()),
        ),
        other => of_ipv6(other, payload),
    }
}

fn of_ipv6(protocol: u8, payload: &[u8]) -> String {
    let (protocol, payload) = behind_extensions(protocol, payload);
    protocol_of(protocol, payload)
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

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;
    use keytoll_crypto_api::algorithm::{Encryption, Integrity};
    use keytoll_crypto_api::{Rng, Secret, TrafficKey};

    use super::*;
    use crate::{HEADROOM, Outbound, TAILROOM};

    /// With extended sequence numbers and without, with an AEAD and without.
    #[test]
    fn packets_are_opened_whatever_of_their_numbers_is_not_sent() {
        for (encryption, integrity) in
            [(Encryption::Aes128Gcm16, None), (Encryption::Aes128Cbc, Some(Integrity::HmacSha256_128))]
        {
            let secret = |len| Secret::new(vec![7; len]);
            let integrity_key = secret(integrity.map_or(0, Integrity::key_len));
            let key = TrafficKey::new(encryption, integrity, secret(encryption.key_len()), integrity_key);
            for esn in [false, true] {
                let mut out = Outbound::with(9, key.clone(), esn, crate::lifetime::Lifetime::NONE);
                let mut sa = Sa { inbound: Inbound::new(9, key.clone()), is_proved: false };
                let (mut rng, mut crypto) = (Rng::named(1, "esp"), Real::default());
                let mut seal = || {
                    let mut buffer = [0; HEADROOM + 8 + TAILROOM];
                    buffer[HEADROOM] = 128;
                    let mut frame = Frame::new(&mut buffer, HEADROOM..HEADROOM + 8);
                    out.seal(&mut frame, 58, &mut rng, &mut Real::default(), &mut ()).expect("it is new");
                    frame.bytes().to_vec()
                };
                let mut damaged = seal();
                damaged[20] ^= 1;
                assert_eq!(sa.open(&damaged, &mut crypto), Err(Dropped::Integrity));
                for _ in 0..3 {
                    assert_eq!(sa.open(&seal(), &mut crypto).as_deref(), Ok("ICMP echo request"));
                }
                assert_eq!(sa.open(&damaged, &mut crypto), Err(Dropped::Integrity), "{encryption} {esn}");
            }
        }
    }

    /// RFC 7402 §B.1.2: extension headers of a packet in BEET mode are behind ESP.
    #[test]
    fn what_is_inside_is_found_behind_extension_headers() {
        let options = [58, 0, 1, 4, 0, 0, 0, 0, 129, 0];
        assert_eq!(inner(60, &options), "ICMP echo reply");
        let tunnelled = [&[0x60, 0, 0, 0, 0, 10, 60, 64][..], &[0; 32], &options].concat();
        assert_eq!(inner(41, &tunnelled), "ICMP echo reply");
        assert_eq!([inner(17, &[]), inner(60, &[]), inner(41, &[])], ["UDP", "IP protocol 60", "IPv6"]);
    }
}
