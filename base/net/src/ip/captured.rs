//! IP packets as captures hold them: truncated, fragmented, with checksums and lengths that the network card fills in only
//! later. RFC 791 §3.1, RFC 8200 §3 and §4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::extension::{DESTINATION, FRAGMENT, HOP_BY_HOP, ROUTING};
use super::protocol::AH;
use super::{HEADER_V4, HEADER_V6};

/// The IP version, as the link layer header announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

/// One captured IP packet: a whole one, or a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The protocol number of the payload.
    pub protocol: u8,
    /// The identification field; 0 in unfragmented IPv6.
    pub identification: u32,
    /// Offset of this fragment in the whole payload, in bytes.
    pub offset: usize,
    /// Whether more fragments follow.
    pub more: bool,
    /// The payload, as far as it was captured.
    pub payload: &'a [u8],
    /// Bytes of the packet on the wire.
    pub wire_bytes: u32,
    /// Bytes of the payload that were not captured.
    pub missing: usize,
}

/// At most so many IPv6 extension headers are skipped.
const EXTENSIONS_MAX: usize = 8;

impl<'a> Piece<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn read(version: Version, bytes: &'a [u8]) -> Result<Self, String> {
        match version {
            Version::V4 => Self::v4(bytes).ok_or("IPv4 header cut short"),
            Version::V6 => Self::v6(bytes).ok_or("IPv6 header cut short"),
        }
        .and_then(|piece| if piece.wire_bytes == 0 { Err("IP header damaged") } else { Ok(piece) })
        .map_err(str::to_owned)
    }

    /// Whether it is a fragment.
    pub const fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }

    fn v4(bytes: &'a [u8]) -> Option<Self> {
        let header: &[u8; HEADER_V4] = bytes.first_chunk()?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        // Packets that the network card will still segment have length 0.
        let total = if total == 0 { bytes.len() } else { total };
        let flags = u16::from_be_bytes([header[6], header[7]]);
        let damaged = header_len < HEADER_V4 || total < header_len;
        let end = total.min(bytes.len());
        let address =
            |at: usize| Ipv4Addr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        Some(Self {
            source: address(12).into(),
            destination: address(16).into(),
            protocol: header[9],
            identification: u16::from_be_bytes([header[4], header[5]]).into(),
            offset: usize::from(flags & 0x1fff) * 8,
            more: flags & 0x2000 != 0,
            payload: bytes.get(header_len..end).unwrap_or_default(),
            wire_bytes: if damaged { 0 } else { u32::try_from(total).ok()? },
            missing: total - end,
        })
    }

    fn v6(bytes: &'a [u8]) -> Option<Self> {
        let header: &[u8; HEADER_V6] = bytes.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let total = if length == 0 { bytes.len() } else { HEADER_V6 + length };
        let end = total.min(bytes.len());
        let address = |at: usize| -> Option<IpAddr> {
            Some(Ipv6Addr::from(*header.get(at..)?.first_chunk::<16>()?).into())
        };
        let mut piece = Self {
            source: address(8)?,
            destination: address(24)?,
            protocol: header[6],
            identification: 0,
            offset: 0,
            more: false,
            payload: bytes.get(HEADER_V6..end)?,
            wire_bytes: u32::try_from(total).ok()?,
            missing: total - end,
        };
        for _ in 0..EXTENSIONS_MAX {
            if !piece.extension()? {
                break;
            }
        }
        Some(piece)
    }

    /// Skips an extension header, if there is one before the payload of a whole packet or first fragment.
    fn extension(&mut self) -> Option<bool> {
        let length = match (self.protocol, self.offset) {
            (HOP_BY_HOP | ROUTING | DESTINATION, 0) => (usize::from(*self.payload.get(1)?) + 1) * 8,
            // RFC 4302 §2.2: in units of four bytes, minus 2.
            (AH, 0) => (usize::from(*self.payload.get(1)?) + 2) * 4,
            (FRAGMENT, 0) => self.fragment_header()?,
            _ => return Some(false),
        };
        self.protocol = *self.payload.first()?;
        self.payload = self.payload.get(length..)?;
        Some(true)
    }

    /// RFC 8200 §4.5:  Next Header(1) Reserved(1) Offset(13b) Reserved(2b) More(1b) Identification(4)
    fn fragment_header(&mut self) -> Option<usize> {
        let &[_, _, o0, o1, i0, i1, i2, i3] = self.payload.first_chunk()?;
        let offset = u16::from_be_bytes([o0, o1]);
        self.offset = usize::from(offset & !7);
        self.more = offset & 1 != 0;
        self.identification = u32::from_be_bytes([i0, i1, i2, i3]);
        Some(8)
    }
}
