//! Link layers: find the IP packet or the PDU of a LAN in a frame. The LINKTYPE_ values are those of tcpdump.org's registry.

use keytoll_family::LinkSeal;
use keytoll_net::ip::Version;

use super::lan::Lan;
use crate::read::Frame;
use crate::{prism, radiotap};

/// The contents of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried<'a> {
    Ip(Network<'a>),
    Lan(Lan<'a>),
    /// A frame of a wireless LAN, without its frame check sequence.
    Air(&'a [u8]),
}

/// An IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network<'a> {
    pub(super) version: Version,
    pub(super) packet: &'a [u8],
    /// The direction according to the link layer; part of the point of capture.
    pub(super) direction: u32,
}

const LINKTYPE_NULL: u16 = 0;
const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_IEEE802_11: u16 = 105;
const LINKTYPE_LOOP: u16 = 108;
const LINKTYPE_LINUX_SLL: u16 = 113;
const LINKTYPE_PRISM: u16 = 119;
const LINKTYPE_IEEE802_11_RADIOTAP: u16 = 127;
const LINKTYPE_AVS: u16 = 163;
const LINKTYPE_PPI: u16 = 192;
const LINKTYPE_IPV4: u16 = 228;
const LINKTYPE_IPV6: u16 = 229;
const LINKTYPE_LINUX_SLL2: u16 = 276;

/// The limit on VLAN tags.
const VLAN_TAGS_MAX: usize = 4;

/// The direction of a frame according to the link layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Way {
    pub(super) direction: u32,
    pub(super) from: Option<[u8; 6]>,
    pub(super) to: Option<[u8; 6]>,
    pub(super) seal: LinkSeal,
}

impl Way {
    const fn lan(self, ether_type: u16, pdu: &[u8]) -> Lan<'_> {
        let Self { direction, from, to, seal } = self;
        Lan { ether_type, from, to, pdu, direction, seal }
    }
}

/// The contents of a frame, or its kind if it has none.
pub(super) fn carried(frame: &Frame) -> Result<Carried<'_>, String> {
    let bytes = &frame.bytes[..];
    let short = || "link header cut short".to_owned();
    match frame.link_type {
        LINKTYPE_ETHERNET => ethernet(bytes).ok_or_else(short)?,
        // RAW has three numbers: the common one, and those of BSDs.
        12 | 14 | 101 => raw(bytes),
        LINKTYPE_IPV4 => Ok(ip(Version::V4, bytes)),
        LINKTYPE_IPV6 => Ok(ip(Version::V6, bytes)),
        LINKTYPE_NULL | LINKTYPE_LOOP => bytes.split_first_chunk().ok_or_else(short).and_then(family),
        LINKTYPE_IEEE802_11 => Ok(Carried::Air(bytes)),
        LINKTYPE_PRISM | LINKTYPE_AVS => prism::prism(bytes).map(Carried::Air),
        LINKTYPE_PPI => prism::ppi(bytes, frame.original_bytes).map(Carried::Air),
        LINKTYPE_IEEE802_11_RADIOTAP => radiotap::frame(bytes, frame.original_bytes).map(Carried::Air),
        LINKTYPE_LINUX_SLL => cooked(bytes).ok_or_else(short)?,
        LINKTYPE_LINUX_SLL2 => cooked2(bytes).ok_or_else(short)?,
        other => Err(format!("link type {other}")),
    }
}

const fn ip(version: Version, packet: &[u8]) -> Carried<'_> {
    Carried::Ip(Network { version, packet, direction: 0 })
}

/// IEEE 802.3 §3.1.1:  Destination(6) Source(6) [VLAN Tags(4)…] EtherType(2)
fn ethernet(bytes: &[u8]) -> Option<Result<Carried<'_>, String>> {
    const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    let (to, rest) = bytes.split_first_chunk()?;
    let (from, mut rest) = rest.split_first_chunk()?;
    let way = Way { from: Some(*from), to: Some(*to), ..Way::default() };
    for _ in 0..=VLAN_TAGS_MAX {
        let (ether_type, behind) = rest.split_first_chunk()?;
        let ether_type = u16::from_be_bytes(*ether_type);
        if !TAGS.contains(&ether_type) {
            return Some(of_ether_type(ether_type, behind, way));
        }
        rest = behind.get(2..)?;
    }
    Some(Err("too many VLAN tags".to_owned()))
}

pub(super) fn of_ether_type(ether_type: u16, packet: &[u8], way: Way) -> Result<Carried<'_>, String> {
    let version = match ether_type {
        0x0800 => Version::V4,
        0x86dd => Version::V6,
        0x0806 => return Err("ARP".to_owned()),
        0x88cc => return Err("LLDP".to_owned()),
        // IEEE 802.3 §3.2.6: values up to 1500 are a length.
        0..=1500 => return Err("802.2 LLC".to_owned()),
        other => return Ok(Carried::Lan(way.lan(other, packet))),
    };
    Ok(Carried::Ip(Network { version, packet, direction: way.direction }))
}

fn raw(packet: &[u8]) -> Result<Carried<'_>, String> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => Ok(ip(Version::V4, packet)),
        Some(6) => Ok(ip(Version::V6, packet)),
        _ => Err("neither IPv4 nor IPv6".to_owned()),
    }
}

/// The address family in the byte order of the capturing machine (LOOP: in network order); no family needs two bytes, so
/// the order need not be known.
fn family<'a>((family, packet): (&[u8; 4], &'a [u8])) -> Result<Carried<'a>, String> {
    let value = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    match value {
        2 => Ok(ip(Version::V4, packet)),
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
        10 | 24 | 28 | 30 => Ok(ip(Version::V6, packet)),
        other => Err(format!("address family {other}")),
    }
}

/// LINUX_SLL:  Packet Type(2) ARPHRD(2) Address Length(2) Address(8) EtherType(2)
fn cooked(bytes: &[u8]) -> Option<Result<Carried<'_>, String>> {
    let header: &[u8; 16] = bytes.first_chunk()?;
    let u16_at = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let from = sender(u16_at(4), &header[6..14]);
    let way = Way { direction: u16_at(0).into(), from, ..Way::default() };
    Some(of_ether_type(u16_at(14), &bytes[16..], way))
}

/// LINUX_SLL2:  EtherType(2) Reserved(2) Interface(4) ARPHRD(2) Packet Type(1) Address Length(1) Address(8)
fn cooked2(bytes: &[u8]) -> Option<Result<Carried<'_>, String>> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let ether_type = u16::from_be_bytes([header[0], header[1]]);
    let interface = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let direction = interface.wrapping_mul(256).wrapping_add(header[10].into());
    let from = sender(header[11].into(), &header[12..20]);
    let way = Way { direction, from, ..Way::default() };
    Some(of_ether_type(ether_type, &bytes[20..], way))
}

/// The sender's address, all that cooked captures keep, if it is one of Ethernet's length.
fn sender(length: u16, address: &[u8]) -> Option<[u8; 6]> {
    address.first_chunk().filter(|_| length == 6).copied()
}
