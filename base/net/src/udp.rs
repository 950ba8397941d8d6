//! UDP headers, RFC 768 and RFC 8200 §8.1: Source Port(2) Destination Port(2) Length(2) Checksum(2).

use std::net::IpAddr;

use crate::ip::protocol::UDP;
use crate::transport_checksum;
use crate::wire::{DecodeError, Problem, Reader};

/// Bytes of a UDP header.
pub const HEADER: usize = 8;

/// Writes the header in front of the data already in `datagram`, without a checksum; `None` if it is too long.
pub fn write_unchecked((from, to): (u16, u16), datagram: &mut [u8]) -> Option<()> {
    let length = u16::try_from(datagram.len()).ok()?;
    let header = datagram.first_chunk_mut::<HEADER>()?;
    header[..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&to.to_be_bytes());
    header[4..6].copy_from_slice(&length.to_be_bytes());
    header[6..].fill(0);
    Some(())
}

/// Writes the header in front of the data already in `datagram`; `None` if it is too long.
pub fn write(between: (IpAddr, IpAddr), ports: (u16, u16), datagram: &mut [u8]) -> Option<()> {
    write_unchecked(ports, datagram)?;
    let sum = transport_checksum(between, UDP, datagram);
    datagram[6..8].copy_from_slice(&sent(sum).to_be_bytes());
    Some(())
}

/// The value of the checksum field for this sum.
// RFC 768: a sum of zero is sent as all ones; zero means that there is none.
pub const fn sent(sum: u16) -> u16 {
    if sum == 0 { u16::MAX } else { sum }
}

/// A UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Bytes of header and data; 0 means as many as the IP header says (RFC 2675 §4).
    pub length: u16,
}

impl Header {
    /// Reads a header without looking at the data.
    ///
    /// # Errors
    /// There are fewer bytes than a header has.
    pub fn read(datagram: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(datagram);
        let header = Self {
            source: r.u16("UDP source port")?,
            destination: r.u16("UDP destination port")?,
            length: r.u16("UDP length")?,
        };
        r.skip(2, "UDP checksum")?;
        Ok(header)
    }
}

/// Reads a whole datagram with a checksum: its header and its data.
///
/// # Errors
/// Its length or checksum is wrong.
pub fn read(between: (IpAddr, IpAddr), datagram: &[u8]) -> Result<(Header, &[u8]), DecodeError> {
    let header = Header::read(datagram)?;
    let wrong = |offset, field, problem| Err(DecodeError { field, offset, problem });
    if usize::from(header.length) != datagram.len() {
        return wrong(4, "UDP length", Problem::Length(datagram.len() as u64));
    }
    if transport_checksum(between, UDP, datagram) != 0 {
        return wrong(6, "UDP checksum", Problem::Value(0));
    }
    Ok((header, &datagram[HEADER..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let between = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut datagram = *b"........four";
        write(between, (7, 9), &mut datagram).unwrap();
        let header = Header { source: 7, destination: 9, length: 12 };
        assert_eq!(read(between, &datagram), Ok((header, &b"four"[..])));
        for at in 0..datagram.len() {
            let mut wrong = datagram;
            wrong[at] ^= 1;
            assert!(read(between, &wrong).is_err(), "byte {at}");
        }
        assert!((0..12).all(|len| read(between, &datagram[..len]).is_err()));
        assert_eq!(write(between, (7, 9), &mut vec![0; 65_536]), None);
    }
}
