//! Public captures of wireless LANs: every frame is read, and conversations come to what Wireshark shows.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

use std::fmt::Write as _;
use std::path::PathBuf;

use keytoll_decode::Outcome;
use keytoll_decode::decode::{Decoded, decode};
use keytoll_decode::tables::Keys;
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
