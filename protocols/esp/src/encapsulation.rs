//! The headers in front of ESP: RFC 4301 §5.1.2 and RFC 6040 (tunnels), RFC 4303 §3.1.1 (transport), RFC 7402 §B.1.4 (BEET),
//! RFC 3948 (UDP).

use std::net::IpAddr;

use keytoll_net::ip::{self, Fragment, HEADER_V6, Header, protocol};
use keytoll_net::wire::{Problem, Reader};
use keytoll_net::{Addr, udp};

use crate::sad::{DontFragment, Ends, OuterHeader, Path};
use crate::{Dropped, Frame};

/// RFC 3168 §5: the codepoint of a packet whose ends do not speak ECN.
const NOT_ECT: u8 = 0;
/// RFC 3168 §5: congestion was experienced.
const CE: u8 = 3;

/// What the outer header takes over from the inner packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner {
    copied: Copied,
    dont_fragment: bool,
}

/// Fields that one header takes over from another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied {
    /// DSCP and ECN.
    class: u8,
    /// TTL or hop limit.
    hops: u8,
    /// Of IPv6.
    flow_label: u32,
}

impl Inner {
    /// Of a packet in a tunnel.
    // RFC 6040 §4.1: normal mode copies both bits of ECN, RFC 4301 §5.1.2 the DSCP.
    pub(crate) const fn tunnelled(header: &Header, outer: OuterHeader) -> Self {
        let copied = Copied { class: header.class, hops: outer.hop_limit, flow_label: 0 };
        Self { copied, dont_fragment: header.dont_fragment }
    }

    /// Of a packet whose IPv6 header is replaced.
    // RFC 7402 §B.1.5: it is recommended to copy all fields but the addresses. A packet of IPv6 must not be fragmented.
    pub(crate) fn replaced(packet: &[u8]) -> Self {
        Self { copied: Copied::of(packet), dont_fragment: true }
    }
}

impl Copied {
    /// Of a packet of either family.
    pub(crate) fn of(packet: &[u8]) -> Self {
        let first = packet.first_chunk().copied().map_or(0, u32::from_be_bytes);
        let byte = |at: usize| packet.get(at).copied().unwrap_or_default();
        if first >> 28 == 4 {
            Self { class: byte(1), hops: byte(8), flow_label: 0 }
        } else {
            Self { class: (first >> 20) as u8, hops: byte(7), flow_label: first & 0xf_ffff }
        }
    }
}

/// RFC 7402 §B.1.7: the number of the pseudo-header in front of a payload whose inner IPv4 header has options.
pub(crate) const BEET_OPTIONS: u8 = 94;

/// Puts the inner header in front of a payload that arrived in a bound end-to-end tunnel.
// RFC 7402 §B.1.6: it is recommended to copy all fields but the addresses from the outer header. ECN is among them, so
// marks of congestion pass.
pub(crate) fn bind(
    frame: &mut Frame<'_>,
    ends: Ends,
    protocol: u8,
    Copied { class, hops, flow_label }: Copied,
) -> Result<(), Dropped> {
    let addresses = (ends.remote.into(), ends.local.into());
    let fields = ip::Fields { class, hops, flow_label, ..ip::Fields::new(addresses, protocol) };
    frame.grow_front(HEADER_V6).ok_or(Dropped::TooLong)?;
    fields.write(frame.bytes_mut()).ok_or(Dropped::TooLong)
}

/// Puts the outer headers in front of the ESP packet in the frame; `number` tells its fragments from other packets'.
pub(crate) fn enclose(
    frame: &mut Frame<'_>,
    path: &Path,
    outer: OuterHeader,
    inner: Inner,
    number: u16,
) -> Result<(), Dropped> {
    let (Some(source), Some(destination)) = (path.local.ip(), path.remote.ip()) else {
        return Err(Dropped::NoSa);
    };
    let dont_fragment = match outer.dont_fragment {
        DontFragment::Copy => inner.dont_fragment,
        DontFragment::Set => true,
        DontFragment::Clear => false,
    };
    let Copied { class, hops, flow_label } = inner.copied;
    let fields = ip::Fields {
        class,
        hops,
        flow_label,
        // RFC 6864 §4.1: of a packet that is never fragmented the identification means nothing.
        identification: if dont_fragment { 0 } else { number.into() },
        dont_fragment,
        ..ip::Fields::new((source, destination), protocol(path))
    };
    let headers = path.remote.header_bytes();
    u16::try_from(headers + frame.len()).map_err(|_| Dropped::TooLong)?;
    frame.grow(headers, 0);
    let packet = frame.bytes_mut();
    fields.write(packet).ok_or(Dropped::NoSa)?;
    udp(&mut packet[fields.header_bytes()..], path);
    Ok(())
}

/// The number of what is behind the IP header of ESP packets on this path.
pub(crate) const fn protocol(path: &Path) -> u8 {
    if path.is_in_udp() { protocol::UDP } else { protocol::ESP }
}

const fn udp_len(path: &Path) -> usize {
    if path.is_in_udp() { udp::HEADER } else { 0 }
}

/// Writes the UDP header at the front of what an IP packet carries, if there is UDP on the path.
// RFC 3948 §2.1: over IPv4 the checksum SHOULD be zero; RFC 8200 §8.1: over IPv6 it must be there.
fn udp(datagram: &mut [u8], path: &Path) {
    let (Addr::Udp(local), Addr::Udp(remote)) = (path.local, path.remote) else { return };
    let ports = (local.port, remote.port);
    let written = match (local.ip, remote.ip) {
        (IpAddr::V6(_), IpAddr::V6(_)) => udp::write((local.ip, remote.ip), ports, datagram),
        _ => udp::write_unchecked(ports, datagram),
    };
    written.expect("the IP header says a length of 16 bits already");
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
        path: Option<&Path>,
    ) -> Result<(), Dropped> {
        let between = path.map_or(0, udp_len);
        let total = self.len + between + frame.len();
        u16::try_from(total).map_err(|_| Dropped::TooLong)?;
        self.bytes[self.next_header_at] = protocol;
        ip::set_length(&mut self.bytes[..self.len], total);
        frame.grow(self.len + between, 0);
        frame.bytes_mut()[..self.len].copy_from_slice(&self.bytes[..self.len]);
        if let Some(path) = path {
            udp(&mut frame.bytes_mut()[self.len..], path);
        }
        Ok(())
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
        protocol::ESP => Ok((header, header.header_len)),
        protocol::UDP if header.total_len >= header.header_len + udp::HEADER => {
            Ok((header, header.header_len + udp::HEADER))
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
