//! Just enough of TCP's segments: a header without options in front of data, and back. RFC 9293 §3.1.

use std::net::IpAddr;

use keytoll_net::transport_checksum;
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// IP protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// Its header without options.
pub(super) const HEADER_BYTES: usize = 20;

/// Data offset 5 (no options) and the flag ACK.
const OFFSET_AND_ACK: u16 = 0x5010;

/// A segment of an established connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Of the first byte of data.
    pub(super) sequence: u32,
    /// The next byte that the sender waits for.
    pub(super) acknowledgement: u32,
    /// Data.
    pub(super) data: &'a [u8],
}

impl<'a> Segment<'a> {
    pub(super) fn write(&self, (from, to): (IpAddr, IpAddr), port: u16) -> Vec<u8> {
        let mut w = Writer::with_capacity(HEADER_BYTES + self.data.len());
        w.u16(port);
        w.u16(port);
        w.u32(self.sequence);
        w.u32(self.acknowledgement);
        w.u16(OFFSET_AND_ACK);
        // The window does not change; both stations know it.
        w.u16(u16::MAX);
        w.u16(0);
        w.u16(0);
        w.bytes(self.data);
        let sum = transport_checksum((from, to), TCP, w.as_slice());
        w.patch_u16(16, sum);
        w.finish()
    }

    pub(super) fn read(ends: (IpAddr, IpAddr), port: u16, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        r.skip(2, "TCP source port")?;
        let bad_port = r.error("TCP destination port", Problem::Value(port.into()));
        if r.u16("TCP destination port")? != port {
            return Err(bad_port);
        }
        let (sequence, acknowledgement) =
            (r.u32("TCP sequence number")?, r.u32("TCP acknowledgement number")?);
        let bad_flags = r.error("TCP data offset and flags", Problem::Value(OFFSET_AND_ACK.into()));
        if r.u16("TCP data offset and flags")? != OFFSET_AND_ACK {
            return Err(bad_flags);
        }
        r.skip(2, "TCP window")?;
        let bad_sum = r.error("TCP checksum", Problem::Value(0));
        r.skip(4, "TCP checksum and urgent pointer")?;
        if transport_checksum(ends, TCP, bytes) != 0 {
            return Err(bad_sum);
        }
        Ok(Self { sequence, acknowledgement, data: r.rest() })
    }
}
