//! The subset of TCP segments in use: writing and reading a header without options, with data. RFC 9293 §3.1.

use std::net::IpAddr;

use keytoll_net::tcp::{self, Header, flag};
use keytoll_net::transport_checksum;
use keytoll_net::wire::{DecodeError, Problem};

pub(super) use keytoll_net::ip::protocol::TCP;
pub(super) use keytoll_net::tcp::HEADER as HEADER_BYTES;

/// A segment of an established connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Of the first byte of data.
    pub(super) sequence: u32,
    /// The next byte that the sender expects.
    pub(super) acknowledgement: u32,
    /// Data.
    pub(super) data: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The window does not change; both stations know it.
    pub(super) fn write(&self, ends: (IpAddr, IpAddr), port: u16) -> Vec<u8> {
        let mut segment = vec![0; HEADER_BYTES + self.data.len()];
        segment[HEADER_BYTES..].copy_from_slice(self.data);
        let header = Header::new((port, port), self.sequence, self.acknowledgement, flag::ACK);
        header.write(ends, &mut segment).expect("there is room for it");
        segment
    }

    pub(super) fn read(ends: (IpAddr, IpAddr), port: u16, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let header = Header::read(bytes)?;
        let wrong = |field, offset, value| Err(DecodeError { field, offset, problem: Problem::Value(value) });
        if header.destination != port {
            return wrong("TCP destination port", 2, header.destination.into());
        }
        if (header.header_len, header.flags) != (tcp::HEADER, flag::ACK) {
            return wrong("TCP data offset and flags", 12, header.flags.into());
        }
        if transport_checksum(ends, TCP, bytes) != 0 {
            return wrong("TCP checksum", 16, header.checksum.into());
        }
        let Header { sequence, acknowledgement, .. } = header;
        Ok(Self { sequence, acknowledgement, data: &bytes[HEADER_BYTES..] })
    }
}
