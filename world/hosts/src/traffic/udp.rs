//! UDP datagrams, RFC 768 and RFC 8200 §8.1.

use std::net::IpAddr;

use keytoll_engine::transport_checksum;
use keytoll_engine::wire::{DecodeError, Problem, Reader, Writer};

/// IP protocol number of UDP.
pub(super) const UDP: u8 = 17;
/// Its header.
pub(super) const HEADER_BYTES: usize = 8;

/// A datagram between these ports.
pub(super) fn write((from, to): (IpAddr, IpAddr), port: u16, data: &[u8]) -> Vec<u8> {
    let length = HEADER_BYTES + data.len();
    let mut w = Writer::with_capacity(length);
    w.u16(port);
    w.u16(port);
    w.u16(u16::try_from(length).expect("a packet's length was checked"));
    w.u16(0);
    w.bytes(data);
    // RFC 768: a sum of zero is sent as all ones; zero means that there is none.
    let sum = transport_checksum((from, to), UDP, w.as_slice());
    w.patch_u16(6, if sum == 0 { 0xffff } else { sum });
    w.finish()
}

/// The data of a datagram to this port.
pub(super) fn read(ends: (IpAddr, IpAddr), port: u16, datagram: &[u8]) -> Result<&[u8], DecodeError> {
    let mut r = Reader::new(datagram);
    r.skip(2, "UDP source port")?;
    let bad_port = r.error("UDP destination port", Problem::Value(port.into()));
    if r.u16("UDP destination port")? != port {
        return Err(bad_port);
    }
    let bad_length = r.error("UDP length", Problem::Length(datagram.len() as u64));
    if usize::from(r.u16("UDP length")?) != datagram.len() {
        return Err(bad_length);
    }
    let bad_sum = r.error("UDP checksum", Problem::Value(0));
    r.skip(2, "UDP checksum")?;
    if transport_checksum(ends, UDP, datagram) != 0 {
        return Err(bad_sum);
    }
    Ok(r.rest())
}
