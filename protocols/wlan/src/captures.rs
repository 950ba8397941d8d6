//! Captures that others recorded, for tests: the frames in them, and the keys of Wireshark's table.
//!
//! They are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

use std::path::PathBuf;

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;

use crate::keys::psk;
use crate::keys::tests::hex;

/// Where `interop/fetch-captures.sh` puts them; `None` if it has not been run.
pub(crate) fn captures() -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/captures");
    let directory = std::env::var_os("KEYTOLL_CAPTURES").map_or_else(default, PathBuf::from).join("test");
    let is_there = directory.join("captures/wpa-Induction.pcap").exists();
    assert!(
        is_there || std::env::var_os("CI").is_none(),
        "run interop/fetch-captures.sh to fetch the public captures (47 MB, as root)"
    );
    is_there.then_some(directory)
}

/// The 802.11 frames of a capture.
pub(crate) fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let is_pcapng = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    if is_pcapng { pcapng_frames(bytes) } else { pcap_frames(bytes) }
}

/// The records of a little-endian capture file (draft-ietf-opsawg-pcap §5): time, length here, length then, bytes.
fn pcap_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    assert_eq!(bytes[..4], [0xd4, 0xc3, 0xb2, 0xa1], "a little-endian capture");
    let (link, mut rest, mut frames) = (length(bytes, 20), &bytes[24..], Vec::new());
    while !rest.is_empty() {
        let (frame, after) = rest[16..].split_at(length(rest, 8));
        frames.push(bare(frame, link));
        rest = after;
    }
    frames
}

/// The Enhanced Packet Blocks of a little-endian file of one interface (draft-ietf-opsawg-pcapng §4.2, §4.3).
fn pcapng_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    assert_eq!(bytes[8..12], [0x4d, 0x3c, 0x2b, 0x1a], "a little-endian section");
    let (mut rest, mut frames, mut link) = (bytes, Vec::new(), 0);
    while !rest.is_empty() {
        let (block, after) = rest.split_at(length(rest, 4));
        match length(block, 0) {
            1 => link = usize::from(u16::from_le_bytes([block[8], block[9]])),
            6 => frames.push(bare(&block[28..][..length(block, 20)], link)),
            _ => {}
        }
        rest = after;
    }
    frames
}

fn length(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Without a radiotap header.
fn bare(packet: &[u8], link: usize) -> Vec<u8> {
    const RADIOTAP: usize = 127;
    let header = if link == RADIOTAP { usize::from(u16::from_le_bytes([packet[2], packet[3]])) } else { 0 };
    packet[header..].to_vec()
}

/// Every key of the table that may be a PMK.
pub(crate) fn pmks(table: &str, ssid: &[u8]) -> Vec<Secret> {
    let key = |line: &str| match line.split('"').collect::<Vec<_>>()[..] {
        [_, "wpa-pwd", _, passphrase, _] => {
            Some(psk(passphrase, ssid, &mut Real::default()).expect("passphrases of the table are good"))
        }
        [_, "wpa-psk", _, key, _] => Some(Secret::new(hex(key))),
        _ => None,
    };
    table.lines().filter_map(key).collect()
}
