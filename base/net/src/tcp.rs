//! TCP headers, RFC 9293 §3.1: Source Port(2) Destination Port(2) Sequence(4) Acknowledgment(4) Data Offset(4b) Reserved(4b)
//! Flags(1) Window(2) Checksum(2) Urgent Pointer(2) Options(*).

use std::net::IpAddr;

use crate::ip::protocol::TCP;
use crate::transport_checksum;
use crate::wire::{DecodeError, Problem, Reader};

/// Bytes of a TCP header without options.
pub const HEADER: usize = 20;

/// Control bits.
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronize sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Push function.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is significant.
    pub const ACK: u8 = 0x10;
    /// RFC 3168 §6.1: the congestion window was reduced.
    pub const CWR: u8 = 0x80;
}

/// What a header says, without its urgent pointer and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Number of the first byte of data.
    pub sequence: u32,
    /// The next byte that the sender waits for.
    pub acknowledgement: u32,
    /// Bytes of the header, options included.
    pub header_len: usize,
    /// Control bits: see [`flag`].
    pub flags: u8,
    /// Bytes that the sender is willing to take.
    pub window: u16,
    /// The checksum, of which a kernel may have left all but the sum of the pseudo-header to a network card.
    pub checksum: u16,
}

impl Header {
    /// A header without options, with the largest window that it can tell; writing it makes the checksum.
    pub const fn new(
        (source, destination): (u16, u16),
        sequence: u32,
        acknowledgement: u32,
        flags: u8,
    ) -> Self {
        let (header_len, window, checksum) = (HEADER, u16::MAX, 0);
        Self { source, destination, sequence, acknowledgement, header_len, flags, window, checksum }
    }

    /// Reads a header, whatever follows it.
    ///
    /// # Errors
    /// The bytes are fewer than a header's, or the header is said to be longer than they are, or too short.
    pub fn read(segment: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(segment);
        let (source, destination) = (r.u16("TCP source port")?, r.u16("TCP destination port")?);
        let (sequence, acknowledgement) =
            (r.u32("TCP sequence number")?, r.u32("TCP acknowledgement number")?);
        let at = r;
        let header_len = usize::from(r.u8("TCP data offset")? >> 4) * 4;
        let (flags, window) = (r.u8("TCP flags")?, r.u16("TCP window")?);
        let checksum = r.u16("TCP checksum")?;
        r.skip(2, "TCP urgent pointer")?;
        if !(HEADER..=segment.len()).contains(&header_len) {
            return Err(at.error("TCP data offset", Problem::Length(header_len as u64)));
        }
        Ok(Self { source, destination, sequence, acknowledgement, header_len, flags, window, checksum })
    }

    /// Writes the header, without options, at the front of a segment whose data stand behind it, and its checksum; none if there is
    /// no room for it.
    pub fn write(&self, between: (IpAddr, IpAddr), segment: &mut [u8]) -> Option<()> {
        let header = segment.first_chunk_mut::<HEADER>()?;
        header[..2].copy_from_slice(&self.source.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination.to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        header[12] = (HEADER as u8 / 4) << 4;
        header[13] = self.flags;
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..].fill(0);
        let sum = transport_checksum(between, TCP, segment);
        set_checksum(segment, sum);
        Some(())
    }
}

/// Writes a checksum into a segment.
pub fn set_checksum(segment: &mut [u8], sum: u16) {
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
}

/// Writes another sequence number into a segment, whose checksum then is another one.
pub fn set_sequence(segment: &mut [u8], sequence: u32) {
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
}

/// The control bits of a segment, to be changed.
pub fn flags_mut(segment: &mut [u8]) -> &mut u8 {
    &mut segment[13]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let between = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let header = Header::new((7, 9), 0x0102_0304, 0xfffe_fdfc, flag::ACK | flag::PSH);
        let mut segment = [b"....................", &b"four"[..]].concat();
        header.write(between, &mut segment).unwrap();
        let checksum = u16::from_be_bytes([segment[16], segment[17]]);
        assert_eq!(Header::read(&segment), Ok(Header { checksum, ..header }));
        assert_eq!(transport_checksum(between, TCP, &segment), 0);
        assert_eq!(segment[..16], [0, 7, 0, 9, 1, 2, 3, 4, 255, 254, 253, 252, 0x50, 0x18, 255, 255]);
        assert_eq!(header.write(between, &mut [0; 19]), None);
    }

    #[test]
    fn a_header_has_the_length_that_it_says() {
        let mut segment = [0; 24];
        for (words, is_read) in [(0, false), (4, false), (5, true), (6, true), (7, false)] {
            segment[12] = words << 4;
            assert_eq!(Header::read(&segment).is_ok(), is_read, "{words}");
        }
        assert!((0..20).all(|len| Header::read(&segment[..len]).is_err()));
        set_sequence(&mut segment, 5);
        *flags_mut(&mut segment) |= flag::SYN;
        segment[12] = 0x60;
        let header = Header::read(&segment).unwrap();
        assert_eq!((header.sequence, header.flags, header.header_len), (5, flag::SYN, 24));
    }
}
