//! How a datagram looks on the wire: IP packets and their bytes. Read RFC 791 §3.2 and RFC 8200 §4.5 first.

use std::net::IpAddr;

use keytoll_engine::{Datagram, Transport};

/// A datagram in IP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnWire {
    /// How many.
    pub(crate) packets: u16,
    /// All their bytes, IP headers included.
    pub(crate) bytes: u32,
}

/// RFC 791 §3.2: every link carries 68 bytes unfragmented.
const MTU_BYTES_MIN: usize = 68;

/// The largest length that the length fields of both IP versions can say.
const IP_BYTES_MAX: usize = 65_535;

/// None if it is too long for IP.
pub(crate) fn on_wire(datagram: &Datagram, mtu_bytes: u16) -> Option<OnWire> {
    let mtu = usize::from(mtu_bytes).max(MTU_BYTES_MIN);
    match datagram.transport {
        Transport::Tcp => segmented(datagram, mtu),
        Transport::Udp | Transport::Ip => fragmented(datagram, mtu),
    }
}

fn header_bytes(ip: IpAddr) -> usize {
    if ip.is_ipv4() { 20 } else { 40 }
}

/// TCP cuts its stream so that no packet needs fragmenting; every segment has both headers.
fn segmented(datagram: &Datagram, mtu: usize) -> Option<OnWire> {
    let headers = header_bytes(datagram.to.ip) + datagram.transport.header_bytes();
    // The smallest MTU leaves 8 bytes of payload even with the longest headers, RFC 791 §3.2.
    let segments = datagram.bytes.len().div_ceil(mtu.saturating_sub(headers).max(8)).max(1);
    counted(segments, datagram.bytes.len() + segments * headers)
}

/// The transport header is in the first fragment only, the IP header in all.
fn fragmented(datagram: &Datagram, mtu: usize) -> Option<OnWire> {
    let ip = header_bytes(datagram.to.ip);
    let payload = datagram.transport.header_bytes() + datagram.bytes.len();
    if payload + if ip == 20 { ip } else { 0 } > IP_BYTES_MAX {
        return None;
    }
    if ip + payload <= mtu {
        return counted(1, ip + payload);
    }
    // RFC 8200 §4.5: a fragment has a Fragment header of 8 bytes; the IPv4 header has room for the offset.
    let headers = if ip == 20 { ip } else { ip + 8 };
    let last = mtu - headers;
    // RFC 791 §3.2, RFC 8200 §4.5: offsets count in units of 8 bytes, so all fragments but the last are multiples of it.
    let other = last / 8 * 8;
    let packets = 1 + payload.saturating_sub(last).div_ceil(other);
    counted(packets, payload + packets * headers)
}

fn counted(packets: usize, bytes: usize) -> Option<OnWire> {
    Some(OnWire { packets: u16::try_from(packets).ok()?, bytes: u32::try_from(bytes).ok()? })
}
