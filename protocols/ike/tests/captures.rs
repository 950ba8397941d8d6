//! Public IKEv2 captures with their keys: every message decodes, every protected one decrypts, AUTH is what Wireshark shows,
//! and every message is encoded again byte for byte. RFC 7296 §3.14, RFC 5282, RFC 5930.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

use crate::capture_files;

use capture_files::{captures, hex, messages};
use keytoll_crypto::Real;
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::number::ExchangeType;
use keytoll_ike::v2::keys::{IkeKeys, Role};
use keytoll_ike::v2::proposal;
use keytoll_ike::v2::protect::Protection;
use keytoll_ike::wire::{Header, Message, Payload};

/// SK_ei, SK_er, SK_ai, SK_ar of a pair of SPIs, from Wireshark's `ikev2_decryption_table`.
fn table_keys(table: &str, spis: (u64, u64)) -> [Vec<u8>; 4] {
    let wanted = format!("{:016x},{:016x},", spis.0, spis.1);
    let line =
        table.lines().find(|line| line.starts_with(&wanted)).expect("the table has keys for this capture");
    let fields: Vec<&str> = line.split(',').collect();
    [fields[2], fields[3], fields[5], fields[6]].map(hex)
}

/// Keys for decryption; those that the table lacks (SK_d, SK_p) are zero.
fn ike_keys(suite: &Suite, [ei, er, ai, ar]: [Vec<u8>; 4]) -> IkeKeys {
    let unknown = vec![0; suite.prf.unwrap().output_len()];
    let material = [&unknown, &ai, &ar, &ei, &er, &unknown, &unknown].map(Vec::as_slice).concat();
    IkeKeys::from_material(suite, &material).expect("the keys are as long as the suite wants them")
}

/// The suite that the IKE_SA_INIT response chose.
fn suite_of(response: &Message<'_>) -> Suite {
    let sa = response.payloads.iter().find_map(|payload| match payload {
        Payload::SecurityAssociation(sa) => Some(sa),
        _ => None,
    });
    let sa = sa.expect("the response has an SA payload");
    let offered: Vec<_> = sa.proposals().map(|proposal| proposal.to_owned()).collect();
    proposal::accept(sa, &offered).unwrap().suite
}

/// AUTH data in the messages of both ends, decrypted with the keys of the table.
fn auth_data(messages: &[Vec<u8>], suite: &Suite, keys: &IkeKeys) -> Vec<Vec<u8>> {
    let ends = [Role::Initiator, Role::Responder].map(|role| Protection::new(keys.clone(), role));
    let mut auth = Vec::new();
    for bytes in messages {
        let message = Message::read(bytes).unwrap();
        assert_eq!(message.write(), *bytes, "what was read is written again");
        if message.header.exchange == ExchangeType::IKE_SA_INIT {
            continue;
        }
        let receiver = &ends[usize::from(message.header.flags.is_from_initiator())];
        let mut buffer = bytes.clone();
        let opened = receiver.open(&mut buffer, &mut Real::default());
        let opened = opened.unwrap_or_else(|error| panic!("{suite}: {error}"));
        for payload in opened.payloads().unwrap() {
            if let Payload::Authentication(payload) = payload {
                auth.push(payload.data.to_vec());
            }
        }
    }
    auth
}

/// Decrypts a capture and compares one AUTH with the value in Wireshark's own test. `suite` is the negotiated one: its
/// encryption and integrity are those in the table, PRF and group are only in the SA payload.
fn check(file: &str, suite: &str, expected_auth: &str) {
    let Some(directory) = captures() else { return };
    let messages = messages(&std::fs::read(directory.join("test/captures").join(file)).unwrap());
    let table = std::fs::read_to_string(directory.join("test/config/ikev2_decryption_table.tmpl")).unwrap();
    let wireshark = std::fs::read_to_string(directory.join("test/suite_decryption.py")).unwrap();
    assert!(messages.len() >= 4, "IKE_SA_INIT and IKE_AUTH, requests and responses");
    let response = messages.iter().find(|bytes| Message::read(bytes).unwrap().header.flags.is_response());
    let response = Message::read(response.expect("somebody answers")).unwrap();
    assert_eq!(suite_of(&response).to_string(), suite);
    let Header { initiator_spi, responder_spi, .. } = response.header;
    let keys = ike_keys(&suite_of(&response), table_keys(&table, (initiator_spi, responder_spi)));
    let auth = auth_data(&messages, keys.suite(), &keys);
    assert!(wireshark.contains(expected_auth), "Wireshark expects the same");
    assert!(auth.contains(&hex(expected_auth)), "{auth:02x?}");
    assert_eq!(auth.len(), 2, "both ends prove themselves");
}

#[test]
fn aes_256_gcm_16() {
    let auth = "9ab71f14ab553cad873a1aa70b99df155dee77cdcf3694b3b7527acbb9712ded";
    check("ikev2-decrypt-aes256gcm16.pcap", "aes256gcm16-prfsha256-ecp256", auth);
}

#[test]
fn aes_256_gcm_8() {
    let auth = "4a66d822d0afbc22ad9a92a2cf4287c920ad8ac3b069a4a7e75fe0a5d499f914";
    check("ikev2-decrypt-aes256gcm8.pcap", "aes256gcm8-prfsha256-ecp256", auth);
}

#[test]
fn aes_256_ccm_16() {
    let auth = "fa2e74bdc01e30fb0b3ddc9723c9449095969da51f69e560209d2c2b7940210a";
    check("ikev2-decrypt-aes256ccm16.pcapng", "aes256ccm16-prfsha256-ecp256", auth);
}

#[test]
fn aes_128_ccm_12() {
    let auth = "c2104394299e1ffe7908ea720ad5d13717a0d454e4fa0a2128ea689411f479c4";
    check("ikev2-decrypt-aes128ccm12.pcap", "aes128ccm12-prfsha256-ecp256", auth);
}

#[test]
fn aes_192_ctr_with_hmac_sha_512() {
    let auth = "3ec23dcf9348485638407c754547aeb3085290082c49f583fdbae59263a20b4a";
    check("ikev2-decrypt-aes192ctr.pcap", "aes192ctr-sha512-prfsha256-ecp256", auth);
}

#[test]
fn aes_256_cbc_with_hmac_sha_256() {
    let auth = "e1a8d550064201a7ec024a85758d0673c61c5c510ac13bcd225d6327f50da3d3";
    check("ikev2-decrypt-aes256cbc.pcapng", "aes256-sha256-prfsha256-ecp256", auth);
}

/// Wireshark's two other captures use an unsupported integrity algorithm (HMAC-SHA1-160) or come without integrity keys:
/// their unencrypted parts must decode all the same.
#[test]
fn captures_that_cannot_be_decrypted_decode() {
    let Some(directory) = captures() else { return };
    for file in ["ikev2-decrypt-3des-sha1_160.pcap", "ikev2-decrypt-aes128ccm12-2.pcap"] {
        let messages = messages(&std::fs::read(directory.join("test/captures").join(file)).unwrap());
        assert!(messages.len() >= 4, "{file}");
        for bytes in messages {
            assert_eq!(Message::read(&bytes).unwrap().write(), bytes, "{file}");
        }
    }
}
