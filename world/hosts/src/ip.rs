//! Just enough of IP for tunnel mode: a header in front of a payload, and back. RFC 791, RFC 8200 §3.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_engine::internet_checksum;
use keytoll_engine::wire::{DecodeError, Problem, Reader, Writer};

/// Next header number of an IPv4 packet inside ESP (RFC 4303 §2.6).
pub const IPV4: u8 = 4;
/// Next header number of an IPv6 packet inside ESP.
pub const IPV6: u8 = 41;

/// A packet without options or extension headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The payload's protocol.
    pub protocol: u8,
    /// What the packet carries.
    pub payload: &'a [u8],
}

/// The next header number that announces a packet between addresses of this family.
pub const fn next_header(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    }
}

impl<'a> Packet<'a> {
    /// The packet's bytes; none if the addresses are of different families or it is too long.
    pub fn write(&self) -> Option<Vec<u8>> {
        let mut w = Writer::with_capacity(40 + self.payload.len());
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => self.header_v4(&mut w, source, destination)?,
            (IpAddr::V6(source), IpAddr::V6(destination)) => self.header_v6(&mut w, source, destination)?,
            _ => return None,
        }
        w.bytes(self.payload);
        Some(w.finish())
    }

    fn header_v4(&self, w: &mut Writer, source: Ipv4Addr, destination: Ipv4Addr) -> Option<()> {
        w.u16(0x4500);
        w.u16(u16::try_from(20 + self.payload.len()).ok()?);
        // No identification, "don't fragment", 64 hops.
        w.u32(0x0000_4000);
        w.u8(64);
        w.u8(self.protocol);
        w.u16(0);
        w.bytes(&source.octets());
        w.bytes(&destination.octets());
        // RFC 791 §3.1.
        let sum = internet_checksum(w.as_slice());
        w.patch_u16(10, sum);
        Some(())
    }

    fn header_v6(&self, w: &mut Writer, source: Ipv6Addr, destination: Ipv6Addr) -> Option<()> {
        w.u32(0x6000_0000);
        w.u16(u16::try_from(self.payload.len()).ok()?);
        w.u8(self.protocol);
        w.u8(64);
        w.bytes(&source.octets());
        w.bytes(&destination.octets());
        Some(())
    }

    /// Reads a packet; bytes after its end are ignored (RFC 4303 §2.7: traffic flow confidentiality padding).
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let version = bytes.first().map_or(0, |first| first >> 4);
        let mut r = Reader::new(bytes);
        match version {
            4 => Self::read_v4(&mut r),
            6 => Self::read_v6(&mut r),
            other => Err(r.error("IP version", Problem::Value(u64::from(other)))),
        }
    }

    fn read_v4(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header_len = usize::from(r.u8("version and IHL")? & 15) * 4;
        r.skip(1, "type of service")?;
        let total = usize::from(r.u16("total length")?);
        r.skip(5, "identification, fragment offset, time to live")?;
        let protocol = r.u8("protocol")?;
        r.skip(2, "header checksum")?;
        let source = Ipv4Addr::from(r.array::<4>("source")?);
        let destination = Ipv4Addr::from(r.array::<4>("destination")?);
        let bad = r.error("IHL", Problem::Length(header_len as u64));
        r.skip(header_len.checked_sub(20).ok_or(bad)?, "options")?;
        let payload = r.take(total.checked_sub(header_len).ok_or(bad)?, "payload")?;
        Ok(Self { source: source.into(), destination: destination.into(), protocol, payload })
    }

    fn read_v6(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.skip(4, "version, class, flow label")?;
        let length = usize::from(r.u16("payload length")?);
        let protocol = r.u8("next header")?;
        r.skip(1, "hop limit")?;
        let source = Ipv6Addr::from(r.array::<16>("source")?);
        let destination = Ipv6Addr::from(r.array::<16>("destination")?);
        let payload = r.take(length, "payload")?;
        Ok(Self { source: source.into(), destination: destination.into(), protocol, payload })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(v6 in any::<bool>(), protocol in any::<u8>(), payload in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (source, destination) = if v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
            let packet = Packet { source: source.parse().unwrap(), destination: destination.parse().unwrap(), protocol, payload: &payload };
            let mut bytes = packet.write().unwrap();
            prop_assert_eq!(Packet::read(&bytes).unwrap(), packet.clone());
            for cut in 0..bytes.len() {
                prop_assert!(Packet::read(&bytes[..cut]).is_err());
            }
            bytes.extend([0; 7]);
            prop_assert_eq!(Packet::read(&bytes).unwrap(), packet);
        }

        #[test]
        fn any_bytes_are_a_packet_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Packet::read(&bytes);
        }
    }
}
