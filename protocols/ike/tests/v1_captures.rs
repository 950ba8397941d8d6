//! Public captures of IKEv1 with their keys: every message decodes, every encrypted one opens under the chain of IVs, and
//! what Wireshark shows is there. RFC 2409 appendix B.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod capture_files;

use std::collections::{BTreeMap, BTreeSet};

use capture_files::{captures, hex, messages};
use keytoll_crypto::Real;
use keytoll_engine::algorithm::{Encryption, Group, Prf};
use keytoll_engine::suite::Suite;
use keytoll_engine::wire::Reader;
use keytoll_ike::v1::keys::Keys;
use keytoll_ike::v1::proposal::Phase1Transform;
use keytoll_ike::v1::protect::{self, Iv};
use keytoll_ike::v1::wire::{Message, Payload};
use keytoll_ike::wire::Header;

/// Every suite that IKEv1 can name.
fn suites() -> Vec<Suite> {
    let of = |encryption, prf, group| Suite {
        encryption,
        integrity: None,
        prf: Some(prf),
        group: Some(group),
        esn: false,
    };
    let ciphers =
        [Encryption::TripleDesCbc, Encryption::Aes128Cbc, Encryption::Aes192Cbc, Encryption::Aes256Cbc];
    let prfs = [Prf::HmacMd5, Prf::HmacSha1, Prf::HmacSha256, Prf::HmacSha384, Prf::HmacSha512];
    let pairs = ciphers.into_iter().flat_map(|cipher| prfs.map(|prf| (cipher, prf)));
    pairs.flat_map(|(cipher, prf)| Group::ALL.iter().map(move |&group| of(cipher, prf, group))).collect()
}

/// The encryption key of an initiator cookie, from Wireshark's `ikev1_decryption_table`.
fn table_key(table: &str, cookie: u64) -> Vec<u8> {
    let wanted = format!("{cookie:016x},");
    hex(table.lines().find_map(|line| line.strip_prefix(&wanted)).expect("the table has a key"))
}

/// What phase 1 shows in the clear: the suite, and both public values.
#[derive(Default)]
struct Clear {
    suite: Option<Suite>,
    publics: Vec<Vec<u8>>,
}

impl Clear {
    fn note(&mut self, message: &Message<'_>) {
        for payload in &message.payloads {
            match payload {
                Payload::SecurityAssociation(sa) => {
                    let transforms: Vec<_> =
                        sa.proposals().flat_map(|proposal| proposal.transforms()).collect();
                    if let [chosen] = transforms[..] {
                        self.suite = Phase1Transform::read(&chosen).unwrap().suite(&suites());
                    }
                }
                Payload::KeyExchange(public) => self.publics.push(public.to_vec()),
                _ => {}
            }
        }
    }
}

/// Opens a capture whose exchanges follow one phase 1; gives the suite and what encrypted messages hide.
fn open(file: &str) -> Option<(Suite, Vec<Vec<u8>>)> {
    let directory = captures()?;
    let bytes = std::fs::read(directory.join("test/captures").join(file)).unwrap();
    let table = std::fs::read_to_string(directory.join("test/config/ikev1_decryption_table.tmpl")).unwrap();
    let (mut clear, mut insides) = (Clear::default(), Vec::new());
    let (mut phase1, mut chains) = (None, BTreeMap::new());
    let mut real = Real::default();
    let (all, mut seen) = (messages(&bytes), BTreeSet::new());
    // A repeated message does not move the chain.
    for message in all.iter().filter(|message| seen.insert(*message)) {
        let header = Header::read(&mut Reader::new(message)).unwrap();
        if !header.flags.is_encrypted() {
            let read = Message::read(message).unwrap();
            assert_eq!(read.write(), *message, "what was read is written again");
            clear.note(&read);
            continue;
        }
        let keys = Keys::only_encryption(&clear.suite.unwrap(), &table_key(&table, header.initiator_spi));
        let keys = keys.expect("the key is as long as the suite wants it");
        let last =
            *phase1.get_or_insert_with(|| Iv::first(&mut real, &keys, &clear.publics[0], &clear.publics[1]));
        let iv = match header.message_id {
            0 => last,
            id => *chains.entry(id).or_insert_with(|| last.of_exchange(&mut real, &keys, id)),
        };
        let opened = protect::open(&header, message, &keys, iv, &mut real);
        let opened =
            opened.unwrap_or_else(|error| panic!("{file}, message id {}: {error}", header.message_id));
        insides.push(opened.plaintext().to_vec());
        match header.message_id {
            0 => phase1 = Some(opened.next_iv),
            id => drop(chains.insert(id, opened.next_iv)),
        }
    }
    assert!(insides.len() >= 2, "{file}: {} opened", insides.len());
    Some((clear.suite.unwrap(), insides))
}

/// `shown` is what Wireshark's own test finds in this capture; of the longer hashes here it prints the beginning.
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
