//! Public captures of wireless LANs: every frame is read, with their keys decrypted, and conversations come to what Wireshark
//! shows.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use keytoll_decode::decode::{Decoded, decode};
use keytoll_decode::tables::Keys;
use keytoll_decode::{Outcome, Sealed};
use keytoll_rigs::FAMILIES;

/// Where `interop/fetch-captures.sh` puts them; `None`, with a notice, if it has not been run.
fn captures() -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/captures");
    let directory = std::env::var_os("KEYTOLL_CAPTURES").map_or_else(default, PathBuf::from);
    if directory.join(".complete").exists() && directory.join("test/config/80211_keys.tmpl").exists() {
        return Some(directory);
    }
    let instruction = "run interop/fetch-captures.sh to fetch the public captures (47 MB, as root)";
    assert!(std::env::var_os("CI").is_none(), "{instruction}");
    println!("SKIPPED: {instruction}");
    None
}

fn decoded(file: &str, keys: Keys) -> Option<Decoded> {
    let path = captures()?.join("test/captures").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let decoded = decode(&bytes[..], keys).unwrap();
    assert!(decoded.error.is_none(), "{file}: {:?}", decoded.error);
    for (kind, count) in decoded.skipped.kinds() {
        assert!(!kind.contains("cannot be read"), "{file}: {count} times {kind}");
    }
    Some(decoded)
}

/// What a capture comes to, a line for each conversation: its method, its outcome, the names of its messages.
fn told(decoded: &Decoded) -> String {
    let mut told = String::new();
    for conversation in &decoded.conversations {
        let method = conversation.judgement.method.as_ref().map_or("-", |method| &method.name);
        let outcome = match &conversation.judgement.outcome {
            Outcome::Established(_) => "established".to_owned(),
            Outcome::Failed { why, .. } => format!("failed: {why}"),
            Outcome::Unanswered(_) => "unanswered".to_owned(),
            Outcome::Unknown => "unknown".to_owned(),
        };
        let names: Vec<&str> = conversation.entries.iter().map(|entry| &*entry.name).collect();
        writeln!(told, "{method} {outcome}: {}", names.join(", ")).unwrap();
        for entry in &conversation.entries {
            assert!(!entry.name.contains("unreadable"), "{told}frame {}: {:?}", entry.frame, entry.remarks);
        }
    }
    told
}

const ALL: &[&str] = &[
    "owe.pcapng",
    "wep.pcapng",
    "wpa-Induction.pcap",
    "wpa-ccmp-256.pcapng",
    "wpa-eap-tls.pcap",
    "wpa-gcmp-256.pcapng",
    "wpa-gcmp.pcapng",
    "wpa1-gtk-rekey.pcapng",
    "wpa2-ft-eap.pcapng",
    "wpa2-ft-psk.pcapng",
    "wpa2-psk-mfp.pcapng",
    "wpa3-sae.pcapng",
    "wpa3-suiteb-192.pcapng",
    "wpa_ptk_extended_key_id.pcap",
];

#[test]
fn every_frame_is_read() {
    for file in ALL {
        let Some(decoded) = decoded(file, Keys::none(FAMILIES)) else { return };
        println!(
            "{file}: {} frames, skipped {:?}\n{}",
            decoded.frames,
            decoded.skipped.kinds(),
            told(&decoded)
        );
        assert!(!decoded.conversations.is_empty(), "{file}");
    }
}

/// The keys that Wireshark's tests give it.
fn keys(directory: &Path) -> Keys {
    let table = std::fs::read_to_string(directory.join("test/config/80211_keys.tmpl")).unwrap();
    keys_of(&table)
}

/// A capture, decrypted: what Wireshark's tests (test/suite_decryption.py of its source) count is told beside each.
struct Opened {
    file: &'static str,
    /// Frames that are decrypted, and those that cannot be.
    frames: [u64; 2],
    arp: u64,
    dhcp: u64,
}

const fn opened(file: &'static str, frames: [u64; 2], arp: u64, dhcp: u64) -> Opened {
    Opened { file, frames, arp, dhcp }
}

const OPENED: &[Opened] = &[
    opened("owe.pcapng", [10, 0], 3, 7),
    // A challenge, an ARP request and an echo request among them.
    opened("wep.pcapng", [11, 0], 2, 4),
    // Before the 4-way handshake there are three frames to a group.
    opened("wpa-Induction.pcap", [276, 3], 26, 3),
    opened("wpa-ccmp-256.pcapng", [14, 0], 4, 7),
    opened("wpa-eap-tls.pcap", [61, 0], 0, 0),
    opened("wpa-gcmp-256.pcapng", [13, 0], 4, 7),
    opened("wpa-gcmp.pcapng", [15, 0], 4, 9),
    // Eight echoes, six messages of three group key handshakes, eight of DHCP.
    opened("wpa1-gtk-rekey.pcapng", [22, 0], 0, 8),
    opened("wpa2-ft-eap.pcapng", [4, 0], 2, 0),
    // DHCP 2 + 1 + 2 + 1, ARP 5 + 2, four echoes; in both mobility steps.
    opened("wpa2-ft-psk.pcapng", [17, 0], 7, 6),
    opened("wpa2-psk-mfp.pcapng", [9, 0], 2, 4),
    opened("wpa3-sae.pcapng", [10, 0], 2, 8),
    opened("wpa3-suiteb-192.pcapng", [3, 0], 0, 0),
    opened("wpa_ptk_extended_key_id.pcap", [31, 0], 0, 0),
    // Without messages 3 no group key, and without the fourth ones two pairwise keys.
    opened("wpa-test-decode.pcap", [756, 180], 48, 7),
    opened("wpa-test-decode-mgmt.pcap", [3, 0], 0, 0),
];

fn total(decoded: &Decoded) -> [u64; 2] {
    let sealed = decoded.conversations.iter().filter_map(|it| it.judgement.sealed.as_ref());
    sealed.fold([0, 0], |[opened, closed], sealed| [opened + sealed.opened, closed + sealed.closed])
}

#[test]
fn every_capture_is_decrypted_with_its_keys() {
    let Some(directory) = captures() else { return };
    let mut wrong = String::new();
    for Opened { file, frames, arp, dhcp } in OPENED {
        let decoded = decoded(file, keys(&directory)).unwrap();
        let skipped = |kind| decoded.skipped.kinds().iter().find(|(it, _)| *it == kind).map_or(0, |it| it.1);
        let found = ([decoded.opened, total(&decoded)[1]], skipped("ARP"), skipped("UDP port 67"));
        if found != (*frames, *arp, *dhcp) {
            writeln!(wrong, "{file}: {found:?}").unwrap();
        }
        assert_eq!(skipped("802.11 data, encrypted"), 0, "{file}");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// TK and GTK as Wireshark's tests have them.
#[test]
fn keys_of_data_need_no_handshake() {
    for (file, tk, gtk, frames) in [
        (
            "wpa2-psk-mfp.pcapng",
            "4e30e8c019bea43ea5262b10853b818d",
            "70cdbf2e5bc0ca22e53930818a5d80e4",
            [9, 0],
        ),
        ("wpa-gcmp.pcapng", "755a9c1c9e605d5ff62849e4a17a935c", "7ff30f7a8dd67950eaaf2f20a869a62d", [15, 0]),
        (
            "wpa-ccmp-256.pcapng",
            "4e6abbcf9dc0943936700b6825952218f58a47dfdf51dbb8ce9b02fd7d2d9e40",
            "502085ca205e668f7e7c61cdf4f731336bb31e4f5b28ec91860174192e9b2190",
            [14, 0],
        ),
    ] {
        let keys = keys_of(&format!("\"tk\",\"{tk}\"\n\"tk\",\"{gtk}\"\n"));
        let Some(decoded) = decoded(file, keys) else { return };
        assert_eq!(total(&decoded), frames, "{file}");
    }
}

fn why(file: &str, keys: Keys) -> Option<String> {
    let decoded = decoded(file, keys)?;
    let sealed = decoded.conversations.iter().filter_map(|it| it.judgement.sealed.as_ref());
    Some(sealed.map(Sealed::told).collect::<Vec<_>>().join("; "))
}

#[test]
fn why_nothing_is_decrypted_is_one_sentence() {
    let wrong = || keys_of("\"wpa-pwd\",\"Inductiom\"\n");
    for (file, keys, expected) in [
        (
            "wpa-Induction.pcap",
            wrong(),
            "decrypted 0 of 279 frames: no key of 80211_keys is the one of their 4-way handshake",
        ),
        ("wpa-Induction.pcap", Keys::none(FAMILIES), "decrypted 0 of 279 frames: no 80211_keys was given"),
        (
            "wep.pcapng",
            wrong(),
            "decrypted 0 of 11 frames: no key of 80211_keys opens them; of WPA, their 4-way handshake is not in the capture",
        ),
    ] {
        let Some(why) = why(file, keys) else { return };
        assert_eq!(why, expected, "{file}");
    }
}

/// The keys of a table, by way of a directory as `--keys` names it.
fn keys_of(table: &str) -> Keys {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("keytoll-80211-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("80211_keys"), table).unwrap();
    let keys = Keys::read(FAMILIES, &directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    keys
}
