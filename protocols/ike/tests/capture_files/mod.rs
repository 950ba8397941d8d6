//! The public captures that `interop/fetch-captures.sh` downloads: their location, and the IKE messages in them.

use std::path::PathBuf;

/// Where `interop/fetch-captures.sh` puts them; `None`, with a notice, if it has not been run.
pub(crate) fn captures() -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/captures");
    let directory = std::env::var_os("KEYTOLL_CAPTURES").map_or_else(default, PathBuf::from);
    if directory.join(".complete").exists() {
        return Some(directory);
    }
    let instruction = "run interop/fetch-captures.sh to fetch the public captures (47 MB, as root)";
    assert!(std::env::var_os("CI").is_none(), "{instruction}");
    println!("SKIPPED: {instruction}");
    None
}

/// The IKE messages of a capture, in order.
pub(crate) fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
    let frames = if bytes.starts_with(&PCAPNG_MAGIC) { pcapng_frames(bytes) } else { pcap_frames(bytes) };
    frames.iter().filter_map(|frame| udp_payload(frame)).map(<[u8]>::to_vec).collect()
}

/// The records of a little-endian capture file (draft-ietf-opsawg-pcap §5): time, length here, length then, bytes.
fn pcap_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    const FILE_HEADER: usize = 24;
    assert_eq!(bytes[..4], [0xd4, 0xc3, 0xb2, 0xa1], "a little-endian capture");
    let (mut rest, mut frames) = (&bytes[FILE_HEADER..], Vec::new());
    while !rest.is_empty() {
        let (frame, after) = rest[16..].split_at(length(rest, 8));
        frames.push(frame.to_vec());
        rest = after;
    }
    frames
}

/// The Enhanced Packet Blocks of a little-endian file (draft-ietf-opsawg-pcapng §4.3): type, length of the block, interface,
/// time, length here, length then, bytes.
fn pcapng_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    const ENHANCED_PACKET: usize = 6;
    assert_eq!(bytes[8..12], [0x4d, 0x3c, 0x2b, 0x1a], "a little-endian section");
    let (mut rest, mut frames) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (block, after) = rest.split_at(length(rest, 4));
        if length(block, 0) == ENHANCED_PACKET {
            frames.push(block[28..][..length(block, 20)].to_vec());
        }
        rest = after;
    }
    frames
}

fn length(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The UDP payload of an Ethernet frame with IPv4, if it is IKE to or from port 500.
fn udp_payload(frame: &[u8]) -> Option<&[u8]> {
    const ETHERNET: usize = 14;
    const UDP: u8 = 17;
    let ip = frame.get(ETHERNET..)?;
    let header = usize::from(ip.first()? & 0x0f) * 4;
    let udp = ip.get(header..usize::from(u16::from_be_bytes([ip[2], ip[3]])))?;
    let ike = 500_u16.to_be_bytes();
    let is_ike = frame[12..14] == [0x08, 0x00] && ip[9] == UDP && (udp[2..4] == ike || udp[0..2] == ike);
    is_ike.then_some(&udp[8..])
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
