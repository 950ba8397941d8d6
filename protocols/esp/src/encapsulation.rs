//! The headers in front of ESP: RFC 4301 §5.1.2 and RFC 6040 (tunnels), RFC 4303 §3.1.1 (transport), RFC 3948 (UDP).

use std::net::IpAddr;

use keytoll_engine::wire::{Problem, Reader};
use keytoll_engine::{Transport, internet_checksum, transport_checksum};

use crate::ip::{self, Fragment, HEADER_V4, HEADER_V6, Header};
use crate::sad::{DontFragment, OuterHeader, Path};
use crate::{Dropped, Frame};

/// RFC 768.
const UDP_LEN: usize = 8;

/// RFC 3168 §5: the codepoint of a packet whose ends do not speak ECN.
const NOT_ECT: u8 = 0;
/// RFC 3168 §5: congestion was experienced.
const CE: u8 = 3;

/// Bytes of the headers in front of ESP in tunnel mode.
pub(crate) const fn tunnel_len(path: &Path) -> usize {
    let header = if path.local.ip.is_ipv4() { HEADER_V4 } else { HEADER_V6 };
    header + udp_len(path.transport)
}

const fn udp_len(transport: Transport) -> usize {
    match transport {
        Transport::Udp => UDP_LEN,
        Transport::Ip | Transport::Tcp => 0,
    }
}

/// What the outer header takes over from the inner packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner {
    /// DSCP and ECN.
    class: u8,
    dont_fragment: bool,
}

impl From<&Header> for Inner {
    fn from(header: &Header) -> Self {
        Self { class: header.class, dont_fragment: header.dont_fragment }
    }
}

/// Puts the tunnel's headers in front of the ESP packet in the frame; `number` tells its fragments from other packets'.
pub(crate) fn tunnel(
    frame: &mut Frame<'_>,
    path: &Path,
    outer: OuterHeader,
    inner: Inner,
    number: u16,
) -> Result<(), Dropped> {
    let esp_len = frame.len();
    let length = u16::try_from(tunnel_len(path) + esp_len).map_err(|_| Dropped::TooLong)?;
    frame.grow(tunnel_len(path), 0);
    let packet = frame.bytes_mut();
    match (path.local.ip, path.remote.ip) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => {
            let head = packet.first_chunk_mut().expect("the frame grew by it");
            *head = header_v4(length, protocol(path.transport), outer, inner, number);
            head[12..16].copy_from_slice(&local.octets());
            head[16..20].copy_from_slice(&remote.octets());
            let sum = internet_checksum(head);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(local), IpAddr::V6(remote)) => {
            // RFC 6040 §4.1: normal mode copies both bits of ECN, RFC 4301 §5.1.2.2 the DSCP.
            packet[..4].copy_from_slice(&(6 << 28 | u32::from(inner.class) << 20).to_be_bytes());
            packet[4..6].copy_from_slice(&(length - HEADER_V6 as u16).to_be_bytes());
            packet[6] = protocol(path.transport);
            packet[7] = outer.hop_limit;
            packet[8..24].copy_from_slice(&local.octets());
            packet[24..40].copy_from_slice(&remote.octets());
        }
        _ => return Err(Dropped::NoSa),
    }
    if path.transport == Transport::Udp {
        udp(packet, tunnel_len(path) - UDP_LEN, path);
    }
    Ok(())
}

/// An IPv4 header without addresses and checksum.
fn header_v4(length: u16, protocol: u8, outer: OuterHeader, inner: Inner, number: u16) -> [u8; HEADER_V4] {
    let dont_fragment = match outer.dont_fragment {
        DontFragment::Copy => inner.dont_fragment,
        DontFragment::Set => true,
        DontFragment::Clear => false,
    };
    let mut head = [0; HEADER_V4];
    head[0] = 0x45;
    // RFC 6040 §4.1: normal mode copies both bits of ECN, RFC 4301 §5.1.2.1 the DSCP.
    head[1] = inner.class;
    head[2..4].copy_from_slice(&length.to_be_bytes());
    // RFC 6864 §4.1: of a packet that is never fragmented the identification means nothing.
    if !dont_fragment {
        head[4..6].copy_from_slice(&number.to_be_bytes());
    }
    head[6] = u8::from(dont_fragment) << 6;
    head[8] = outer.hop_limit;
    head[9] = protocol;
    head
}

const fn protocol(transport: Transport) -> u8 {
    match transport {
        Transport::Udp => ip::UDP,
        Transport::Ip | Transport::Tcp => ip::ESP,
    }
}

/// Writes the UDP header at `at` of an IP packet.
// RFC 3948 §2.1: over IPv4 the checksum SHOULD be zero; RFC 8200 §8.1: over IPv6 it must be there.
fn udp(packet: &mut [u8], at: usize, path: &Path) {
    let length = packet.len() - at;
    let datagram = &mut packet[at..];
    datagram[..2].copy_from_slice(&path.local.port.to_be_bytes());
    datagram[2..4].copy_from_slice(&path.remote.port.to_be_bytes());
    datagram[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    datagram[6..8].fill(0);
    if let (local @ IpAddr::V6(_), remote @ IpAddr::V6(_)) = (path.local.ip, path.remote.ip) {
        let sum = transport_checksum((local, remote), ip::UDP, datagram);
        // RFC 768: a checksum of zero is sent as its complement.
        datagram[6..8].copy_from_slice(&(if sum == 0 { u16::MAX } else { sum }).to_be_bytes());
    }
}

/// A packet's own headers, taken off so that they can be put in front of ESP again.
pub(crate) struct Saved {
    bytes: [u8; Saved::MAX],
    len: usize,
    next_header_at: usize,
}

impl Saved {
    /// The longest headers that transport mode carries over: IPv4 with all options, or IPv6 with a few extensions.
    const MAX: usize = 128;

    /// Takes the headers off the packet in the frame.
    pub(crate) fn take(frame: &mut Frame<'_>, header: &Header) -> Result<Self, Dropped> {
        let mut saved =
            Self { bytes: [0; Self::MAX], len: header.header_len, next_header_at: header.next_header_at };
        let head = saved.bytes.get_mut(..header.header_len).ok_or(Dropped::TooLong)?;
        head.copy_from_slice(&frame.bytes()[..header.header_len]);
        frame.skip(header.header_len);
        Ok(saved)
    }

    /// Puts them back, in front of something else.
    pub(crate) fn put(
        mut self,
        frame: &mut Frame<'_>,
        protocol: u8,
        udp_path: Option<&Path>,
    ) -> Result<(), Dropped> {
        let between = udp_path.map_or(0, |_| UDP_LEN);
        let total = self.len + between + frame.len();
        let total = u16::try_from(total).map_err(|_| Dropped::TooLong)?;
        self.bytes[self.next_header_at] = protocol;
        let head = &mut self.bytes[..self.len];
        if head[0] >> 4 == 4 {
            head[2..4].copy_from_slice(&total.to_be_bytes());
            head[10..12].fill(0);
            let sum = internet_checksum(head);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            head[4..6].copy_from_slice(&(total - HEADER_V6 as u16).to_be_bytes());
        }
        frame.grow(self.len + between, 0);
        frame.bytes_mut()[..self.len].copy_from_slice(&self.bytes[..self.len]);
        if let Some(path) = udp_path {
            udp(frame.bytes_mut(), self.len, path);
        }
        Ok(())
    }
}

/// The path, if there is UDP on it.
pub(crate) const fn udp_path(path: &Path) -> Option<&Path> {
    match path.transport {
        Transport::Udp => Some(path),
        Transport::Ip | Transport::Tcp => None,
    }
}

/// Where ESP begins in an IP packet that carries it, and the packet's header.
// RFC 3948 §2.2, §2.3: in UDP, four zero bytes announce IKE and a single 0xff keeps a NAT awake; the first is an SPI that
// nobody has, the second too short for one.
pub(crate) fn locate(packet: &[u8]) -> Result<(Header, usize), Dropped> {
    let header = Header::read(packet).map_err(Dropped::Malformed)?;
    if header.fragment != Fragment::Whole {
        return Err(Dropped::Fragment);
    }
    let wrong = |field, offset| {
        let mut r = Reader::new(packet);
        r.skip(offset, field).map_or_else(|error| error, |()| r.error(field, Problem::Missing))
    };
    match header.protocol {
        ip::ESP => Ok((header, header.header_len)),
        ip::UDP if header.total_len >= header.header_len + UDP_LEN => {
            Ok((header, header.header_len + UDP_LEN))
        }
        _ => Err(Dropped::Malformed(wrong("ESP", header.next_header_at))),
    }
}

/// The ECN field of a packet after the tunnel, from the one inside and the one outside: RFC 6040 §4.2, figure 4.
pub(crate) const fn decapsulated_ecn(inner: u8, outer: u8) -> Result<u8, Dropped> {
    match (inner, outer) {
        (NOT_ECT, CE) => Err(Dropped::Congestion),
        (NOT_ECT, _) => Ok(NOT_ECT),
        (_, CE) => Ok(CE),
        // ECT(0) inside, ECT(1) outside: a mark of lesser congestion, kept.
        (2, 1) => Ok(1),
        (inner, _) => Ok(inner),
    }
}

/// Writes another ECN field into a packet.
pub(crate) fn set_ecn(packet: &mut [u8], ecn: u8) {
    if packet[0] >> 4 == 4 {
        packet[1] = packet[1] & !3 | ecn;
        let header_len = usize::from(packet[0] & 15) * 4;
        packet[10..12].fill(0);
        let sum = internet_checksum(&packet[..header_len]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet[1] = packet[1] & !0x30 | ecn << 4;
    }
}
