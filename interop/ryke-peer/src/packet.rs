//! IPv4 packets with ICMP echo requests and replies, sent through a CHILD SA.

use std::net::Ipv4Addr;

const IPV4_HEADER: usize = 20;
const PROTOCOL_ICMP: u8 = 1;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;
/// As many octets as ping sends.
const DATA: usize = 56;

/// An echo request with this sequence number.
pub fn echo_request(source: Ipv4Addr, destination: Ipv4Addr, sequence: u16) -> Vec<u8> {
    let mut icmp = vec![0; 8 + DATA];
    icmp[0] = ECHO_REQUEST;
    icmp[4..6].copy_from_slice(&0x7279_u16.to_be_bytes());
    icmp[6..8].copy_from_slice(&sequence.to_be_bytes());
    packet(source, destination, icmp)
}

/// The sequence number of the echo reply in this packet.
pub fn echo_reply_in(packet: &[u8]) -> Option<u16> {
    let icmp = icmp(packet, ECHO_REPLY)?;
    Some(u16::from_be_bytes([icmp[6], icmp[7]]))
}

/// The reply to the echo request in this packet.
pub fn reply_to(packet: &[u8]) -> Option<Vec<u8>> {
    let mut icmp = icmp(packet, ECHO_REQUEST)?.to_vec();
    icmp[0] = ECHO_REPLY;
    icmp[2..4].fill(0);
    Some(self::packet(address(packet, 16), address(packet, 12), icmp))
}

fn icmp(packet: &[u8], kind: u8) -> Option<&[u8]> {
    let found = packet.get(IPV4_HEADER..)?;
    let is_wanted = packet[0] == 0x45 && packet[9] == PROTOCOL_ICMP && found.len() >= 8 && found[0] == kind;
    is_wanted.then_some(found)
}

fn address(packet: &[u8], offset: usize) -> Ipv4Addr {
    Ipv4Addr::new(packet[offset], packet[offset + 1], packet[offset + 2], packet[offset + 3])
}

fn packet(source: Ipv4Addr, destination: Ipv4Addr, mut icmp: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = vec![0; IPV4_HEADER];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&((IPV4_HEADER + icmp.len()) as u16).to_be_bytes());
    packet[8] = 64;
    packet[9] = PROTOCOL_ICMP;
    packet[12..16].copy_from_slice(&source.octets());
    packet[16..20].copy_from_slice(&destination.octets());
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(icmp);
    packet
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
