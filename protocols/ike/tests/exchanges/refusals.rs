//! Authentications that end without an SA: each gives its reason at the right side, and nothing remains.

use keytoll_engine::algorithm::KeyKind;
use keytoll_ike::v2::Config;
use keytoll_ike::v2::config::{Believe, Prove};

use crate::support::lab::{self, DECADE, Pki, esp, id, ike, net, only, only_child, psk, secret};
use crate::support::{Bench, Side, check};

/// Asserts why it failed at either side, and that nothing remains.
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

/// The initiator finds out when the responder thinks that all is well: it has to say so.
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
fn an_initiator_nobody_knows() {
    let (i, mut r) = psk();
    only(&mut r).remote_id = Some(id("somebody.example.org"));
    fails((i, r), &["AUTHENTICATION_FAILED"], &["unexpected identity"]);
}

#[test]
fn a_responder_that_is_not_whom_the_initiator_asked_for() {
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
        r -> i  IKE_SA_INIT response  N
        i  failed: NO_PROPOSAL_CHOSEN
    ",
    );
}

/// Nobody has signed the refusal, so it must not be the last word: a better answer may still come.
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

#[test]
fn no_common_group_is_no_common_suite() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-ecp256");
    fails((i, r), &["NO_PROPOSAL_CHOSEN"], &[]);
}

/// The IKE SA comes up, the child does not: both owners are told, and may go on without.
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

#[test]
fn no_common_suite_for_the_child() {
    let (mut i, mut r) = psk();
    only_child(&mut i).suites = esp("aes128gcm16");
    only_child(&mut r).suites = esp("aes256gcm16");
    refuses_child((i, r), "NO_PROPOSAL_CHOSEN", "NO_PROPOSAL_CHOSEN");
}

#[test]
fn certificates_that_are_not_believed() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    let other = Pki::seeded(KeyKind::EcdsaP256, 3, 2);
    let after = DECADE.until_unix_seconds + 1;
    let before = DECADE.from_unix_seconds - 1;
    let cases = [
        // An authority that calls itself the same has other keys.
        (other.trust(&other.gateway, lab::NOW), "certificate with bad signature"),
        (pki.trust(&pki.gateway, after), "certificate expired"),
        (pki.trust(&pki.gateway, before), "certificate not yet valid"),
    ];
    for (trust, why) in cases {
        // The responder judges the initiator.
        let (i, mut r) = pki.configs();
        only(&mut r).remote = Believe::Certificate(trust.clone());
        fails((i, r), &["AUTHENTICATION_FAILED"], &[why]);
        // The initiator judges the responder.
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
    // A name the certificate does not speak for.
    only(&mut i).local = Prove::Certificate(pki.gateway.clone());
    fails((i, r), &["AUTHENTICATION_FAILED"], &["unexpected identity"]);
    // A certificate without its key.
    let (mut i, r) = pki.configs();
    let stolen = keytoll_engine::credentials::Credential {
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
    let credential = keytoll_engine::credentials::Credential {
        chain: pki.device.chain.iter().take(1).cloned().collect(),
        key: pki.device.key.clone(),
    };
    only(&mut i).local = Prove::Certificate(credential);
    fails((i, r), &["AUTHENTICATION_FAILED"], &["certificate of unknown issuer"]);
}

/// Who should show a certificate does not get in with a shared key, nor the other way round.
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
