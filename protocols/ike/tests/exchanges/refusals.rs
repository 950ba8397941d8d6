//! Authentications that end without an SA: each has a reason at the right side, and no state is left.

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_engine::Datagram;
use keytoll_ike::Config;
use keytoll_ike::config::{Believe, Prove};

use crate::support::lab::{self, DECADE, Pki, esp, id, ike, net, only, only_child, psk, secret};
use crate::support::{Bench, Side, check};

/// Asserts the reasons of failure at either side, and that no state is left.
#[track_caller]
fn fails(configs: (Config, Config), at_i: &[&str], at_r: &[&str]) -> Bench {
    let mut bench = Bench::new(configs);
    bench.initiate();
    bench.assert_nothing_remains();
    let drawn = bench.ladder.to_string();
    assert_eq!(
        (bench.failures(Side::I), bench.failures(Side::R)),
        (at_i.to_vec(), at_r.to_vec()),
        "\n{drawn}"
    );
    bench
}

#[test]
fn the_wrong_key_at_the_initiator() {
    let (mut i, r) = psk();
    only(&mut i).local = Prove::Psk(secret("wrong"));
    let bench = fails((i, r), &["AUTHENTICATION_FAILED"], &["AUTHENTICATION_FAILED"]);
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r  failed: AUTHENTICATION_FAILED
        r -> i  IKE_AUTH response  SK N
        i  failed: AUTHENTICATION_FAILED
    ",
    );
}

/// The initiator detects it when the responder regards the SA as established: it must report it.
#[test]
fn the_wrong_key_at_the_responder() {
    let (i, mut r) = psk();
    only(&mut r).local = Prove::Psk(secret("wrong"));
    let mut bench = fails((i, r), &["AUTHENTICATION_FAILED"], &[]);
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  failed: AUTHENTICATION_FAILED
        i -> r  INFORMATIONAL request  SK N
        r -> i  INFORMATIONAL response  SK
        r  child down
        r  closed: AUTHENTICATION_FAILED
    ",
    );
    assert_eq!(bench.closures(Side::R), ["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_key_for_somebody_else() {
    let (i, mut r) = psk();
    only(&mut r).remote = lab::keys_by_identity(&[("somebody.example.org", "correct horse battery staple")]);
    fails((i, r), &["AUTHENTICATION_FAILED"], &["AUTHENTICATION_FAILED"]);
}

#[test]
fn an_unknown_initiator() {
    let (i, mut r) = psk();
    only(&mut r).remote_id = Some(id("somebody.example.org"));
    fails((i, r), &["AUTHENTICATION_FAILED"], &["unexpected identity"]);
}

#[test]
fn a_responder_other_than_the_requested_one() {
    let (mut i, r) = psk();
    only(&mut i).remote_id = Some(id("somebody.example.org"));
    fails((i, r), &["AUTHENTICATION_FAILED"], &["unexpected identity"]);
}

#[test]
fn no_common_suite() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes256gcm16-prfsha256-x25519");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-x25519");
    let bench = fails((i, r), &["NO_PROPOSAL_CHOSEN"], &[]);
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r  discards: NO_PROPOSAL_CHOSEN
        r  proposal refused
        r -> i  IKE_SA_INIT response  N
        i  failed: NO_PROPOSAL_CHOSEN
    ",
    );
}

/// The refusal is not authenticated, so it must not be final: a better answer may still arrive.
#[test]
fn a_forged_refusal_ends_nothing() {
    let mut bench = Bench::new(psk());
    let (mut other, r) = psk();
    only(&mut other).suites = ike("aes256gcm16-prfsha256-x25519");
    let mut forger = Bench::new((other, r));
    forger.initiate();
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    let (_, wrong) = forger.intercept().unwrap();
    forger.deliver(Side::R, &wrong);
    let (_, mut refusal) = forger.intercept().unwrap();
    refusal.bytes[..8].copy_from_slice(&request.bytes[..8]);
    bench.deliver(Side::I, &refusal);
    bench.deliver(Side::R, &request);
    bench.run_for(lab::seconds(20));
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

/// RFC 7296 §2.6: the answer to an IKE_SA_INIT request that asks for a cookie.
fn cookie(request: &Datagram, octets: usize) -> Datagram {
    let notify =
        [&[0, 0], &u16::try_from(8 + octets).unwrap().to_be_bytes()[..], &[0, 0, 0x40, 0x06]].concat();
    let length = u32::try_from(28 + 8 + octets).unwrap().to_be_bytes();
    let header = [&request.bytes[..8], &[0; 8], &[41, 0x20, 34, 0x20, 0, 0, 0, 0], &length[..]].concat();
    let bytes = [header, notify, vec![7; octets]].concat();
    Datagram { from: request.to, to: request.from, bytes, ..request.clone() }
}

#[test]
fn a_cookie_that_is_too_long_is_not_kept() {
    let longer_by = |octets: usize| {
        let mut bench = Bench::new(psk());
        bench.initiate();
        let (_, request) = bench.intercept().unwrap();
        bench.deliver(Side::I, &cookie(&request, octets));
        bench.intercept().map(|(_, again)| again.bytes.len() - request.bytes.len())
    };
    assert_eq!([1, 64].map(longer_by), [Some(8 + 1), Some(8 + 64)]);
    assert_eq!([0, 65, 20_000].map(longer_by), [None; 3]);
}

/// Whoever has seen the request can answer it: what is kept of that until it is proved is limited.
#[test]
fn a_response_that_is_too_long_is_not_kept() {
    let mut bench = Bench::new(psk());
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    bench.deliver(Side::R, &request);
    let (_, response) = bench.intercept().unwrap();
    let mut padded = response.clone();
    // An unknown payload that is not critical, of 17 kB, before all others.
    let payload = [&[response.bytes[16], 0], &17_000_u16.to_be_bytes()[..], &[0; 16_996]].concat();
    padded.bytes.splice(28..28, payload);
    padded.bytes[16] = 200;
    let length = u32::try_from(padded.bytes.len()).unwrap().to_be_bytes();
    padded.bytes[24..28].copy_from_slice(&length);
    bench.deliver(Side::I, &padded);
    assert!(bench.intercept().is_none(), "{}", bench.ladder);
    bench.deliver(Side::I, &response);
    assert!(bench.intercept().is_some(), "the right one is awaited still");
}

#[test]
fn no_common_group_is_no_common_suite() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-ecp256");
    fails((i, r), &["NO_PROPOSAL_CHOSEN"], &[]);
}

/// The IKE SA is established, the child is refused: both owners are told, and may continue without.
fn refuses_child((i, r): (Config, Config), at_i: &str, at_r: &str) -> Bench {
    let mut bench = Bench::new((i, r)).established();
    assert_eq!((bench.refusals(Side::I), bench.refusals(Side::R)), (vec![at_i], vec![at_r]));
    assert_eq!((bench.i.endpoint.sa_count(), bench.r.endpoint.sa_count()), (1, 1), "{}", bench.ladder);
    bench
}

#[test]
fn no_common_traffic() {
    let (mut i, mut r) = psk();
    only_child(&mut i).local = vec![net("10.1.0.0/16")];
    only_child(&mut r).remote = vec![net("10.2.0.0/16")];
    let bench = refuses_child((i, r), "TS_UNACCEPTABLE", "TS_UNACCEPTABLE");
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH N
        r  established with device.example.org
        r  child failed: TS_UNACCEPTABLE
        i  established with gw.example.org
        i  child failed: TS_UNACCEPTABLE
    ",
    );
}

/// RFC 7296 §3.10.1: a device without an address of the pool has no traffic to select.
#[test]
fn no_address_was_asked_for() {
    let (mut i, mut r) = psk();
    only(&mut r).pool = Some(lab::pool());
    refuses_child((i.clone(), r.clone()), "FAILED_CP_REQUIRED", "FAILED_CP_REQUIRED");
    only(&mut i).request_address = true;
    let mut bench = Bench::new((i, r)).established();
    assert_eq!((bench.refusals(Side::I), bench.refusals(Side::R)), (vec![], vec![]));
}

#[test]
fn no_common_suite_for_the_child() {
    let (mut i, mut r) = psk();
    only_child(&mut i).suites = esp("aes128gcm16");
    only_child(&mut r).suites = esp("aes256gcm16");
    refuses_child((i, r), "NO_PROPOSAL_CHOSEN", "NO_PROPOSAL_CHOSEN");
}

#[test]
fn certificates_that_are_not_trusted() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    let other = Pki::seeded(KeyKind::EcdsaP256, 3, 2);
    let after = DECADE.until_unix_seconds + 1;
    let before = DECADE.from_unix_seconds - 1;
    let cases = [
        // Another authority of the same name has other keys.
        (other.trust(&other.gateway, lab::NOW), "certificate with bad signature"),
        (pki.trust(&pki.gateway, after), "certificate expired"),
        (pki.trust(&pki.gateway, before), "certificate not yet valid"),
    ];
    for (trust, why) in cases {
        // The responder verifies the initiator.
        let (i, mut r) = pki.configs();
        only(&mut r).remote = Believe::Certificate(trust.clone());
        fails((i, r), &["AUTHENTICATION_FAILED"], &[why]);
        // The initiator verifies the responder.
        let (mut i, r) = pki.configs();
        only(&mut i).remote = Believe::Certificate(trust);
        let mut bench = fails((i, r), &[why], &[]);
        assert_eq!(bench.closures(Side::R), ["AUTHENTICATION_FAILED"]);
    }
}

#[test]
fn somebody_else_s_certificate() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let (mut i, r) = pki.configs();
    // A name that the certificate does not contain.
    only(&mut i).local = Prove::Certificate(pki.gateway.clone());
    fails((i, r), &["AUTHENTICATION_FAILED"], &["unexpected identity"]);
    // A certificate without its key.
    let (mut i, r) = pki.configs();
    let stolen = keytoll_crypto_api::credentials::Credential {
        chain: pki.device.chain.clone(),
        key: pki.gateway.key.clone(),
    };
    only(&mut i).local = Prove::Certificate(stolen);
    fails((i, r), &["AUTHENTICATION_FAILED"], &["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_chain_that_lacks_its_middle() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    let (mut i, r) = pki.configs();
    let credential = keytoll_crypto_api::credentials::Credential {
        chain: pki.device.chain.iter().take(1).cloned().collect(),
        key: pki.device.key.clone(),
    };
    only(&mut i).local = Prove::Certificate(credential);
    fails((i, r), &["AUTHENTICATION_FAILED"], &["certificate of unknown issuer"]);
}

/// A peer that must use a certificate is not admitted with a shared key, nor the other way round.
#[test]
fn the_wrong_kind_of_proof() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let ((keyed, _), (_, r)) = (psk(), pki.configs());
    fails((keyed, r), &["AUTHENTICATION_FAILED"], &["AUTHENTICATION_FAILED"]);
    let ((i, _), (_, keyed)) = (pki.configs(), psk());
    fails((i, keyed), &["AUTHENTICATION_FAILED"], &["AUTHENTICATION_FAILED"]);
}

#[test]
fn a_connection_that_does_not_exist() {
    let mut bench = Bench::new(psk());
    bench.initiate_from(Side::I, 7);
    check(
        &bench,
        "
        i  discards: no such connection
    ",
    );
    bench.assert_nothing_remains();
}

/// One side does not support the child: the IKE SA is established without.
#[test]
fn a_responder_without_a_child_says_so() {
    let (i, mut r) = psk();
    only(&mut r).child = None;
    let mut bench = Bench::new((i, r)).established();
    assert_eq!(bench.refusals(Side::I), ["NO_PROPOSAL_CHOSEN"], "{}", bench.ladder);
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1));
}

/// An authentication whose `n`th message is altered. Null cryptography: whoever alters it has the keys.
fn with_changed(n: usize, change: fn(&mut Vec<u8>)) -> Bench {
    let mut bench = Bench::null(psk(), 1);
    bench.initiate();
    let mut count = 0;
    while let Some((to, mut datagram)) = bench.intercept() {
        count += 1;
        if count == n {
            change(&mut datagram.bytes);
        }
        bench.deliver(to, &datagram);
    }
    bench
}

/// Offset of the first payload inside SK: after the IKE header, that of SK, and the IV.
const INNER: usize = 28 + 4 + 8;

/// RFC 7296 §2.21.2: an authentic but malformed message is answered with an error notification.
#[test]
fn an_authentic_malformed_message_is_answered_with_the_error() {
    // A length beyond the message.
    let mut syntax = with_changed(3, |bytes| bytes[INNER + 2] = 0x7f);
    assert_eq!(syntax.failures(Side::I), ["INVALID_SYNTAX"], "{}", syntax.ladder);
    // A critical payload of unknown type.
    let mut critical = with_changed(3, |bytes| {
        bytes[28] = 200;
        bytes[INNER + 1] = 0x80;
    });
    assert_eq!(critical.failures(Side::I), ["UNSUPPORTED_CRITICAL_PAYLOAD"], "{}", critical.ladder);
    // The initiator reports it in an exchange of its own.
    let mut at_initiator = with_changed(4, |bytes| bytes[INNER + 2] = 0x7f);
    assert_eq!(at_initiator.closures(Side::R), ["INVALID_SYNTAX"], "{}", at_initiator.ladder);
    assert_eq!(at_initiator.i.books.sa_count(), 0);
}

/// RFC 7296 §1.2: another group, or an invalid public value, is answered with the required group.
#[test]
fn an_unsuitable_public_value_is_answered_with_the_group() {
    let changes: [fn(&mut Vec<u8>); 2] = [
        // The other one of two groups whose public values have the same length.
        |bytes| replace(bytes, &KE_OF_X25519, &[0, 40, 0, 32]),
        |bytes| {
            let at = position(bytes, &KE_OF_X25519);
            bytes.remove(at + 8);
            bytes[at..at + 2].copy_from_slice(&39_u16.to_be_bytes());
            let length = u32::try_from(bytes.len()).unwrap();
            bytes[24..28].copy_from_slice(&length.to_be_bytes());
        },
    ];
    for change in changes {
        let mut bench = Bench::new(psk());
        bench.initiate();
        let (_, mut request) = bench.intercept().unwrap();
        change(&mut request.bytes);
        bench.deliver(Side::R, &request);
        let (_, answer) = bench.intercept().unwrap();
        let notify = [0, 0, 0, 10, 0, 0, 0, 17, 0, 31];
        assert!(answer.bytes.ends_with(&notify), "INVALID_KE_PAYLOAD: {:02x?}", answer.bytes);
        assert_eq!(bench.r.endpoint.half_open_count(), 0);
    }
}

/// Length and group of a KE payload with 32 bytes.
const KE_OF_X25519: [u8; 4] = [0, 40, 0, 31];

fn position(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

fn replace(bytes: &mut [u8], what: &[u8], by: &[u8]) {
    let at = position(bytes, what);
    bytes[at..at + by.len()].copy_from_slice(by);
}
