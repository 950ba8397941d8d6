//! Public captures of IKEv1 with their keys: every message decodes, every encrypted one decrypts under the chain of IVs, and
//! contains what Wireshark shows. RFC 2409 appendix B.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

use crate::capture_files;

use capture_files::{captures, hex, messages};
use keytoll_crypto::Real;
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::v1::overheard::Overheard;
use keytoll_ike::v1::wire::Message;
use keytoll_ike::wire::Header;
use keytoll_net::wire::Reader;

/// The encryption key of an initiator cookie, from Wireshark's `ikev1_decryption_table`.
fn table_key(table: &str, cookie: u64) -> Vec<u8> {
    let wanted = format!("{cookie:016x},");
    hex(table.lines().find_map(|line| line.strip_prefix(&wanted)).expect("the table has a key"))
}

/// Decrypts a capture whose exchanges follow one phase 1; returns the suite and the plaintexts.
fn open(file: &str) -> Option<(Suite, Vec<Vec<u8>>)> {
    let directory = captures()?;
    let bytes = std::fs::read(directory.join("test/captures").join(file)).unwrap();
    let table = std::fs::read_to_string(directory.join("test/config/ikev1_decryption_table.tmpl")).unwrap();
    let (mut overheard, mut insides) = (Overheard::default(), Vec::new());
    let mut real = Real::default();
    for message in &messages(&bytes) {
        let header = Header::read(&mut Reader::new(message)).unwrap();
        if !header.flags.is_encrypted() {
            let read = Message::read(message).unwrap();
            let again = read.write();
            let body = message.len().min(again.len());
            assert_eq!(again[Header::LEN..body], message[Header::LEN..], "what was read is written again");
            assert_eq!(again.len(), message.len().next_multiple_of(4), "aligned");
            overheard.note(&read);
            continue;
        }
        let key = table_key(&table, header.initiator_spi);
        let opened = overheard.open((&header, message), &key, true, &mut real);
        let opened =
            opened.unwrap_or_else(|error| panic!("{file}, message id {}: {error}", header.message_id));
        insides.push(opened.plaintext().to_vec());
    }
    assert!(insides.len() >= 2, "{file}: {} opened", insides.len());
    Some((overheard.chosen().unwrap().0, insides))
}

/// `shown` is what Wireshark's own test finds in this capture; of long hashes it prints only the beginning.
fn check(file: &str, suite: &str, shown: &[u8]) {
    let Some((negotiated, insides)) = open(file) else { return };
    assert_eq!(negotiated.to_string(), suite);
    let has = |inside: &Vec<u8>| inside.windows(shown.len()).any(|window| window == shown);
    assert!(insides.iter().any(has), "what Wireshark shows is in none of {} messages", insides.len());
}

#[test]
fn main_mode_with_exchanges_side_by_side() {
    let hash = hex("b52521f774967402c9f6cee95fd17e5b");
    check("ikev1-bug-12610.pcapng", "aes256-prfsha256-modp1024", &hash);
}

#[test]
fn aggressive_mode() {
    let hash = hex("40043b640f4373250d5ac3a1fb63153c");
    check("ikev1-bug-12620.pcapng", "aes256-prfsha256-modp1024", &hash);
}

#[test]
fn main_mode_with_certificates() {
    check("ikev1-certs.pcap", "3des-prfmd5-modp1024", b"OpenSwan");
}
