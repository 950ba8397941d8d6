//! The public captures that `interop/fetch-captures.sh` downloads: their location, and the IKE messages in them.

use std::path::PathBuf;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

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

fn pcap_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(bytes).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(packet.unwrap().data.into_owned());
    }
    frames
}

fn pcapng_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            frames.push(packet.data.into_owned());
        }
    }
    frames
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
