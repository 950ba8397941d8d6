//! The fuzz target `capture` without a fuzzer: its committed corpus, real captures damaged by chance.
//!
//! The corpus holds captures of genuine conversations, some of them cut in pieces; what the fuzzer finds is added beside them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

mod whole;

use std::path::{Path, PathBuf};

use keytoll_decode::Outcome;
use keytoll_decode::decode::Decoded;
use keytoll_decode::tables::Keys;
use keytoll_diameter::family::Diameter;
use keytoll_rigs::FAMILIES;
use keytoll_trace::{Fact, Node};
use proptest::prelude::*;

fn files(directory: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let files = std::fs::read_dir(&directory).expect("it is part of the repository");
    let paths = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn the_corpus() {
    let files = files("../../fuzz/corpus/capture");
    assert!(files.len() >= 8, "only {} files in the corpus", files.len());
    for (path, bytes) in files {
        println!("{}", path.display());
        whole::check(&bytes);
    }
}

fn decoded(name: &str) -> Decoded {
    decoded_in("../../fuzz/corpus/capture", name)
}

fn decoded_in(directory: &str, name: &str) -> Decoded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory).join(name);
    keytoll_decode::decode::decode(&std::fs::read(path).unwrap()[..], Keys::none(FAMILIES)).unwrap()
}

/// Scapy wrote it; the commands are those that tshark 4.0 finds: bundles, a message in two fragments, a chunk sent again.
#[test]
fn diameter_over_sctp_has_the_messages_that_tshark_finds() {
    let decoded = decoded("sctp-diameter.pcap");
    let messages = decoded.conversations.iter().flat_map(|conversation| &conversation.entries);
    let mut found: Vec<_> = messages
        .map(|entry| {
            let header = entry.content.of::<Diameter>().unwrap().header;
            (entry.frame, header.command, header.is_request())
        })
        .collect();
    found.sort_unstable();
    let wanted = [
        (1, 257, true),
        (2, 257, false),
        (4, 303, true),
        (5, 303, false),
        (6, 280, true),
        (6, 280, true),
        (7, 280, false),
    ];
    assert_eq!(found, wanted);
    assert!(decoded.skipped.kinds().contains(&("Diameter in DTLS over SCTP", 1)), "{:?}", decoded.skipped);
}

/// A veth pair of Debian's `hostapd` (driver `wired`) and `wpa_supplicant` 2.10: EAP-MD5, both sides speaking to the group
/// address, and a supplicant that finds nobody; captured by dumpcap at the supplicant, and on `any` of the machine. The
/// messages are those that tshark 4.0 finds.
#[test]
fn eapol_has_the_messages_that_tshark_finds_at_any_point_of_capture() {
    let wanted = [
        ("EAPOL-Start", "ue"),
        ("EAP-Packet 74", "gw"),
        ("EAP-Packet 74", "ue"),
        ("EAP-Packet 75", "gw"),
        ("EAP-Packet 75", "ue"),
        ("EAP-Packet 75", "gw"),
        ("EAPOL-Logoff", "ue"),
        ("EAP-Packet 103", "gw"),
        ("EAPOL-Start", "ue"),
        ("EAPOL-Start", "ue"),
        ("EAPOL-Start", "ue"),
    ];
    for (name, twice) in
        [("eapol-md5.pcap", 0), ("eapol-md5-cooked.pcap", 11), ("eapol-md5-cooked2.pcap", 11)]
    {
        let decoded = decoded(name);
        let entries = decoded.conversations.iter().flat_map(|it| &it.entries);
        let found: Vec<_> = entries.map(|entry| (&entry.name[..], entry.ends.0.name())).collect();
        assert_eq!(found, wanted, "{name}");
        let outcomes: Vec<_> = decoded.conversations.iter().map(|it| it.judgement.outcome.clone()).collect();
        assert_eq!(outcomes, [Outcome::Established(5), Outcome::Unanswered(3)], "{name}");
        assert_eq!(decoded.skipped.total(), twice, "{name}: {:?}", decoded.skipped);
        let method = decoded.conversations[0].judgement.method.as_ref().unwrap();
        assert_eq!(method.name, "eapol-eap-md5");
    }
}

/// The same with a wrong password, and an authenticator that answers the supplicant alone.
#[test]
fn a_refused_supplicant_is_told_by_the_authenticator() {
    let decoded = decoded_in("tests/captures", "eapol-md5-refused.pcap");
    let [conversation] = &decoded.conversations[..] else { panic!("there is one") };
    let failed = Outcome::Failed { by: Node::Gw, why: "EAP-Failure".to_owned(), at: 5 };
    assert_eq!((conversation.entries.len(), &conversation.judgement.outcome), (6, &failed));
    let facts = keytoll_decode::facts::records(conversation, 0, 0);
    let told =
        facts.iter().filter(|record| matches!(record.fact, Fact::Refused { .. } | Fact::Failed { .. }));
    assert_eq!(told.map(|record| record.node).collect::<Vec<_>>(), [Node::Gw, Node::Ue]);
}

/// A script wrote it, in VLAN 10, for no LAN of ours has 802.11; the messages are those that tshark 4.0 finds.
#[test]
fn the_handshakes_have_the_messages_that_tshark_finds() {
    let [conversation] = &decoded("eapol-key.pcap").conversations[..] else { panic!("there is one") };
    let told = conversation.entries.iter().map(|entry| {
        let handshake = entry.parts.iter().find(|part| part.name.ends_with("handshake")).unwrap();
        (entry.repeats, handshake.to_string())
    });
    let wanted = [
        (None, "4-way handshake(message 1 of 4)"),
        (Some(1), "4-way handshake(message 1 of 4)"),
        (None, "4-way handshake(message 2 of 4)"),
        (None, "4-way handshake(message 3 of 4)"),
        (None, "4-way handshake(message 4 of 4)"),
        (None, "group key handshake(message 1 of 2)"),
        (None, "group key handshake(message 2 of 2)"),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted.map(|(repeats, words)| (repeats, words.to_owned())));
    assert_eq!(conversation.judgement.outcome, Outcome::Established(4));
}

#[test]
fn the_corpus_of_sctp_reaches_messages_in_pieces() {
    let files = files("../../fuzz/corpus/capture_sctp");
    let found: Vec<usize> = files.iter().map(|(_, bytes)| whole::check_sctp(bytes)).collect();
    // The CER and CEA, MAR in two fragments and MAA, two DWR in one packet and DWA of sctp-diameter.pcap.
    assert!(found.contains(&7), "{found:?}");
}

#[test]
fn amqp_is_no_diameter() {
    let decoded = decoded("amqp.pcap");
    assert!(decoded.conversations.is_empty());
    assert_eq!(decoded.skipped.kinds(), [("TCP of other protocols", 29)]);
}

#[test]
fn captures_cut_anywhere_are_read_as_far_as_they_go() {
    for (path, bytes) in files("tests/captures") {
        assert_eq!(whole::check(&bytes), 1, "{}", path.display());
        for cut in (0..bytes.len()).step_by(37) {
            assert!(whole::check(&bytes[..cut]) <= 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_anywhere_in_sctp_does_no_harm(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let files = files("../../fuzz/corpus/capture_sctp");
        let mut bytes = which.get(&files).1.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        whole::check_sctp(&bytes);
    }

    #[test]
    fn damage_anywhere_does_no_harm(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let files = files("tests/captures");
        let mut bytes = which.get(&files).1.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        whole::check(&bytes);
    }
}
