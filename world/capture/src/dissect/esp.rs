//! ESP: RFC 4303 §2. With keys, what travels inside.

use std::net::IpAddr;

use keytoll_esp::{Dropped, Frame, Inbound};

use super::{Content, Dissected, Dissector, OPEN_MAX, Part};
use crate::packets::Passed;

/// An ESP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Esp {
    /// The receiver's SPI.
    pub spi: u32,
    /// Sequence Number.
    pub sequence: u32,
    /// What is inside, if there are keys.
    pub inner: Option<String>,
}

impl Dissector {
    pub(super) fn esp(&mut self, passed: &Passed) -> Dissected {
        let bytes = &passed.datagram.bytes[..];
        let number = |at: usize| {
            bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
        };
        let (spi, sequence) = (number(0), number(4));
        let to = passed.datagram.to.ip();
        let (inner, remark) = match to.zip(to.and_then(|to| self.inbound(to, spi))) {
            None => (None, None),
            Some(_) if passed.cut.is_some() => (None, None),
            Some((to, mut sa)) => {
                let mut bytes = bytes.to_vec();
                let mut frame = Frame::whole(&mut bytes);
                let opened = sa.open(&mut frame, &mut self.crypto, &mut ());
                self.inbound.insert((to, spi), sa);
                match opened {
                    Ok(next_header) => (Some(inner(next_header, frame.bytes())), None),
                    Err(Dropped::Dummy) => (Some("dummy".to_owned()), None),
                    Err(why) => (None, Some(format!("NOT OPENED: {why}"))),
                }
            }
        };
        let parts = inner.iter().map(|inner| Part::bare(inner.clone())).collect();
        Dissected {
            name: format!("ESP {spi:#010x} #{sequence}"),
            parts,
            failure: None,
            remarks: remark.into_iter().collect(),
            sent: None,
            content: Content::Esp(Esp { spi, sequence, inner }),
        }
    }

    /// The SA of this SPI towards this host, if there are keys for it.
    fn inbound(&mut self, to: IpAddr, spi: u32) -> Option<Inbound> {
        if let Some(sa) = self.inbound.remove(&(to, spi)) {
            return Some(sa);
        }
        if self.inbound.len() >= OPEN_MAX {
            self.inbound.pop_first();
        }
        let entries = self.keys.esp(spi);
        let exact = entries.iter().rev().find(|entry| entry.destination == Some(to));
        // Behind NAT the addresses of the table are not those of the capture.
        let entry = exact.or_else(|| entries.last())?;
        Some(Inbound::new(spi, entry.key.clone()))
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
