//! Link layers: where in a frame the IP packet is. The LINKTYPE_ values are tcpdump.org's registry.

use crate::read::Frame;

/// What a link layer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network<'a> {
    pub(super) version: Version,
    pub(super) packet: &'a [u8],
    /// What the link layer says of where the packet was going; part of the point of capture.
    pub(super) direction: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V4,
    V6,
}

const LINKTYPE_NULL: u16 = 0;
const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_LOOP: u16 = 108;
const LINKTYPE_LINUX_SLL: u16 = 113;
const LINKTYPE_IPV4: u16 = 228;
const LINKTYPE_IPV6: u16 = 229;
const LINKTYPE_LINUX_SLL2: u16 = 276;

/// More VLAN tags than this are not looked behind.
const VLAN_TAGS_MAX: usize = 4;

/// The IP packet of a frame, or what there is instead.
pub(super) fn network(frame: &Frame) -> Result<Network<'_>, String> {
    let bytes = &frame.bytes[..];
    let short = || "link header cut short".to_owned();
    match frame.link_type {
        LINKTYPE_ETHERNET => ethernet(bytes, 12).unwrap_or_else(|| Err(short())),
        // RAW has three numbers: everybody's, and what BSDs call it.
        12 | 14 | 101 => raw(bytes),
        LINKTYPE_IPV4 => Ok(Network { version: Version::V4, packet: bytes, direction: 0 }),
        LINKTYPE_IPV6 => Ok(Network { version: Version::V6, packet: bytes, direction: 0 }),
        LINKTYPE_NULL | LINKTYPE_LOOP => bytes.split_first_chunk().ok_or_else(short).and_then(family),
        LINKTYPE_LINUX_SLL => cooked(bytes).ok_or_else(short)?,
        LINKTYPE_LINUX_SLL2 => cooked2(bytes).ok_or_else(short)?,
        other => Err(format!("link type {other}")),
    }
}

/// Ethernet from its EtherType on, VLAN tags in between.
fn ethernet(bytes: &[u8], mut at: usize) -> Option<Result<Network<'_>, String>> {
    const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    for _ in 0..=VLAN_TAGS_MAX {
        let ether_type = u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        at += 2;
        if !TAGS.contains(&ether_type) {
            return Some(of_ether_type(ether_type, bytes.get(at..)?, 0));
        }
        at += 2;
    }
    Some(Err("too many VLAN tags".to_owned()))
}

fn of_ether_type(ether_type: u16, packet: &[u8], direction: u32) -> Result<Network<'_>, String> {
    let version = match ether_type {
        0x0800 => Version::V4,
        0x86dd => Version::V6,
        0x0806 => return Err("ARP".to_owned()),
        0x888e => return Err("EAPOL".to_owned()),
        0x88cc => return Err("LLDP".to_owned()),
        // IEEE 802.3 §3.2.6: up to 1500 it is a length.
        0..=1500 => return Err("802.2 LLC".to_owned()),
        other => return Err(format!("EtherType {other:#06x}")),
    };
    Ok(Network { version, packet, direction })
}

fn raw(packet: &[u8]) -> Result<Network<'_>, String> {
    let version = match packet.first().map(|byte| byte >> 4) {
        Some(4) => Version::V4,
        Some(6) => Version::V6,
        _ => return Err("neither IPv4 nor IPv6".to_owned()),
    };
    Ok(Network { version, packet, direction: 0 })
}

/// The address family in the byte order of the machine that captured (LOOP: in network order); no family needs two bytes,
/// so the order need not be known.
fn family<'a>((family, packet): (&[u8; 4], &'a [u8])) -> Result<Network<'a>, String> {
    let value = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    let version = match value {
        2 => Version::V4,
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
        10 | 24 | 28 | 30 => Version::V6,
        other => return Err(format!("address family {other}")),
    };
    Ok(Network { version, packet, direction: 0 })
}

/// LINUX_SLL:  Packet Type(2) ARPHRD(2) Address Length(2) Address(8) EtherType(2)
fn cooked(bytes: &[u8]) -> Option<Result<Network<'_>, String>> {
    let direction = u16::from_be_bytes(*bytes.first_chunk()?);
    let ether_type = u16::from_be_bytes(*bytes.get(14..)?.first_chunk()?);
    Some(of_ether_type(ether_type, bytes.get(16..)?, direction.into()))
}

/// LINUX_SLL2:  EtherType(2) Reserved(2) Interface(4) ARPHRD(2) Packet Type(1) Address Length(1) Address(8)
fn cooked2(bytes: &[u8]) -> Option<Result<Network<'_>, String>> {
    let ether_type = u16::from_be_bytes(*bytes.first_chunk()?);
    let interface = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
    let packet_type = u32::from(*bytes.get(10)?);
    Some(of_ether_type(ether_type, bytes.get(20..)?, interface.wrapping_mul(256).wrapping_add(packet_type)))
}
