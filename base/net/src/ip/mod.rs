//! IP headers, read and written: RFC 791 §3.1, RFC 8200 §3 and §4.

mod captured;
mod write;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use captured::{Piece, Version};
pub use write::{Fields, Part, set_ecn, set_length};

use crate::wire::{DecodeError, Problem, Reader};

/// Protocol numbers (IANA, Assigned Internet Protocol Numbers).
pub mod protocol {
    use std::net::IpAddr;

    /// ICMP.
    pub const ICMP: u8 = 1;
    /// An IPv4 packet.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// An IPv6 packet.
    pub const IPV6: u8 = 41;
    /// ESP.
    pub const ESP: u8 = 50;
    /// AH.
    pub const AH: u8 = 51;
    /// ICMP of IPv6.
    pub const ICMPV6: u8 = 58;
    /// RFC 8200 §4.7: nothing.
    pub const NO_NEXT_HEADER: u8 = 59;
    /// SCTP.
    pub const SCTP: u8 = 132;

    /// The protocol number of ICMP between addresses of this family.
    pub const fn icmp(ip: IpAddr) -> u8 {
        if ip.is_ipv4() { ICMP } else { ICMPV6 }
    }
}

/// RFC 8200 §4: numbers of IPv6 extension headers.
pub mod extension {
    /// Hop-by-Hop Options.
    pub const HOP_BY_HOP: u8 = 0;
    /// Routing.
    pub const ROUTING: u8 = 43;
    /// Fragment.
    pub const FRAGMENT: u8 = 44;
    /// Destination Options.
    pub const DESTINATION: u8 = 60;
}

use protocol::{AH, ESP, IPV4, IPV6};

/// Length of an IPv4 header without options.
pub const HEADER_V4: usize = 20;
/// Length of an IPv6 header without extensions.
pub const HEADER_V6: usize = 40;
/// RFC 8200 §4.5: length of IPv6's Fragment header.
pub const FRAGMENT_HEADER: usize = 8;

/// The next header number that announces a packet between addresses of this family.
pub const fn next_header(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { IPV4 } else { IPV6 }
}

/// Length of a header without options or extension headers.
pub const fn header_bytes(ip: IpAddr) -> usize {
    match ip {
        IpAddr::V4(_) => HEADER_V4,
        IpAddr::V6(_) => HEADER_V6,
    }
}

/// Which fragment of a packet this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragment {
    /// The packet is whole.
    Whole,
    /// The first of several.
    First,
    /// A later one, which has no ports.
    Later,
}

impl Fragment {
    /// Combines what two nested fragment headers say: a fragment of a fragment is never whole.
    const fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Whole, next) => next,
            (part, Self::Whole) => part,
            (Self::First, next) => next,
            (Self::Later, _) => Self::Later,
        }
    }
}

/// An address as a number. `IpAddr` is an enum, whose values are copied and compared through memory; numbers stay in
/// registers.
#[inline]
pub fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address of a number.
#[inline]
pub fn address(is_v4: bool, bits: u128) -> IpAddr {
    if is_v4 { Ipv4Addr::from_bits(bits as u32).into() } else { Ipv6Addr::from_bits(bits).into() }
}

/// The header fields that forwarding and IPsec need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The sender's address as a number: see [`bits`].
    pub source: u128,
    /// The receiver's address as a number.
    pub destination: u128,
    /// Whether it is IPv4, else IPv6.
    pub is_v4: bool,
    /// The protocol number of the payload.
    pub protocol: u8,
    /// Bytes of header, extension headers included.
    pub header_len: usize,
    /// Bytes of the whole packet.
    pub total_len: usize,
    /// Which fragment of a packet it is.
    pub fragment: Fragment,
    /// DSCP and ECN: type of service or traffic class.
    pub class: u8,
    /// IPv4: whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Offset of the last Next Header (or Protocol) field.
    pub next_header_at: usize,
}

impl Header {
    /// The sender.
    pub fn source(&self) -> IpAddr {
        address(self.is_v4, self.source)
    }

    /// The receiver.
    pub fn destination(&self) -> IpAddr {
        address(self.is_v4, self.destination)
    }

    /// Reads the headers. The buffer may be longer than the packet, but not shorter.
    ///
    /// # Errors
    /// The bytes are not an IP packet, or not a whole one.
    #[inline(always)]
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.first().map_or(0, |first| first >> 4) {
            4 => Self::read_v4(bytes),
            6 => Self::read_v6(bytes),
            other => Err(Reader::new(bytes).error("IP version", Problem::Value(u64::from(other)))),
        }
    }

    #[inline(always)]
    fn read_v4(bytes: &[u8]) -> Result<Self, DecodeError> {
        let Some(head) = bytes.first_chunk::<HEADER_V4>() else {
            return Err(too_short(bytes));
        };
        let header_len = usize::from(head[0] & 15) * 4;
        let total_len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if header_len < HEADER_V4 || total_len < header_len || total_len > bytes.len() {
            return Err(Reader::new(bytes).error("IPv4 lengths", Problem::Length(total_len as u64)));
        }
        let flags = u16::from_be_bytes([head[6], head[7]]);
        Ok(Self {
            source: u32::from_be_bytes([head[12], head[13], head[14], head[15]]).into(),
            destination: u32::from_be_bytes([head[16], head[17], head[18], head[19]]).into(),
            is_v4: true,
            protocol: head[9],
            header_len,
            total_len,
            fragment: fragment(flags & 0x1fff, flags & 0x2000 != 0),
            class: head[1],
            dont_fragment: flags & 0x4000 != 0,
            next_header_at: 9,
        })
    }

    #[inline(never)]
    fn read_v6(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let first = r.u32("version, class, flow label")?;
        let total_len = HEADER_V6 + usize::from(r.u16("payload length")?);
        let protocol = r.u8("next header")?;
        r.skip(1, "hop limit")?;
        let (source, destination) = (r.array::<16>("source")?, r.array::<16>("destination")?);
        let payload = bytes.get(HEADER_V6..total_len);
        let too_long = r.error("payload length", Problem::Length(total_len as u64));
        let mut header = Self {
            source: u128::from_be_bytes(source),
            destination: u128::from_be_bytes(destination),
            is_v4: false,
            protocol,
            header_len: HEADER_V6,
            total_len,
            fragment: Fragment::Whole,
            class: (first >> 20) as u8,
            dont_fragment: true,
            next_header_at: 6,
        };
        header.skip_extensions(payload.ok_or(too_long)?)?;
        Ok(header)
    }

    // RFC 4303 §3.1.1: extension headers that are needed on the path precede ESP. Destination options may stand on either
    // side: those before a routing header, ESP or AH stay outside, all others are for the receiver alone and protected.
    // RFC 8200 §4.5: what follows the header of a later fragment is from the middle of the packet, not headers.
    fn skip_extensions(&mut self, payload: &[u8]) -> Result<(), DecodeError> {
        let (mut r, mut ahead) = (Reader::new(payload), *self);
        while ahead.fragment != Fragment::Later {
            match ahead.protocol {
                extension::HOP_BY_HOP | extension::ROUTING | extension::FRAGMENT => {
                    ahead.skip_extension(&mut r)?;
                    *self = ahead;
                }
                // The host that processes them will find out what is wrong with them.
                extension::DESTINATION => {
                    if ahead.skip_extension(&mut r).is_err() {
                        break;
                    }
                }
                ESP | AH => {
                    *self = ahead;
                    break;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// RFC 8200 §4: Next Header(1) Hdr Ext Len(1), then 6 + 8 × length bytes; a fragment header has no length.
    fn skip_extension(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let at = self.header_len;
        let next = r.u8("extension header")?;
        let len = r.u8("extension header length")?;
        if self.protocol == extension::FRAGMENT {
            let offset = r.u16("fragment offset")?;
            r.skip(4, "fragment identification")?;
            self.fragment = self.fragment.and(fragment(offset >> 3, offset & 1 != 0));
            self.header_len += 8;
        } else {
            r.skip(6 + usize::from(len) * 8, "extension header")?;
            self.header_len += 8 + usize::from(len) * 8;
        }
        self.next_header_at = at;
        self.protocol = next;
        Ok(())
    }
}

#[cold]
fn too_short(bytes: &[u8]) -> DecodeError {
    Reader::new(bytes).error("IPv4 header", Problem::Short { needed: HEADER_V4, left: bytes.len() })
}

/// The kind of fragment with this offset.
const fn fragment(offset: u16, more: bool) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_packet_or_an_error(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120), version in 4_u8..=6,
        ) {
            bytes.iter_mut().take(1).for_each(|first| *first = version << 4 | *first & 15);
            if let Ok(header) = Header::read(&bytes) {
                prop_assert!(header.header_len <= header.total_len && header.total_len <= bytes.len());
                prop_assert!(header.next_header_at < header.header_len);
                prop_assert_eq!(header.protocol, bytes[header.next_header_at]);
            }
        }
    }
}
