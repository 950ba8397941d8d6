//! The peer of a failed authentication, the most likely cause, and refused proposals.

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::Credential;
use keytoll_ike::Config;
use keytoll_ike::Likely;
use keytoll_ike::config::{Believe, Prove};

use crate::support::lab::{self, Pki, esp, id, ike, keys_by_identity, only, only_child, psk, secret};
use crate::support::{Bench, Side};

/// What a side knows of the peer that it refused, or that refused it.
type Known<'a> = Option<(Option<&'a str>, Option<Likely>)>;

#[track_caller]
fn check(configs: (Config, Config), at_i: Known<'_>, at_r: Known<'_>) {
    let mut bench = Bench::new(configs);
    bench.initiate();
    bench.run_for(lab::seconds(60));
    for (side, address, known) in [(Side::I, "192.0.2.1:500", at_i), (Side::R, "192.0.2.10:500", at_r)] {
        let expected =
            known.map(|(claimed, likely)| (address.to_owned(), claimed.map(str::to_owned), likely));
        assert_eq!(bench.unproved(side), Vec::from_iter(expected), "{}\n{}", side.name(), bench.ladder);
    }
}

#[test]
fn a_wrong_shared_key_is_reported_as_such() {
    let (mut i, r) = psk();
    only(&mut i).local = Prove::Psk(secret("wrong"));
    check(
        (i, r),
        Some((None, Some(Likely::KeysDifferOrUnknown))),
        Some((Some(lab::DEVICE), Some(Likely::KeysDiffer))),
    );
    let (i, mut r) = psk();
    only(&mut r).local = Prove::Psk(secret("wrong"));
    check((i, r), Some((Some(lab::GATEWAY), Some(Likely::KeysDiffer))), None);
}

#[test]
fn an_identity_without_a_key_is_no_wrong_key() {
    let (i, mut r) = psk();
    only(&mut r).remote = keys_by_identity(&[("somebody.example.org", "correct horse battery staple")]);
    check(
        (i, r),
        Some((None, Some(Likely::KeysDifferOrUnknown))),
        Some((Some(lab::DEVICE), Some(Likely::NoKey))),
    );
}

#[test]
fn a_stranger_is_reported_by_its_claimed_identity() {
    let (i, mut r) = psk();
    only(&mut r).remote_id = Some(id("somebody.example.org"));
    check((i, r), Some((None, Some(Likely::KeysDifferOrUnknown))), Some((Some(lab::DEVICE), None)));
    let (mut i, r) = psk();
    (only(&mut i).remote_id, only(&mut i).local_id) = (None, id("keyid:#0a1b"));
    check((i, r), Some((None, Some(Likely::KeysDifferOrUnknown))), Some((Some("keyid:#0a1b"), None)));
}

#[test]
fn another_kind_of_proof_and_another_key_are_distinguished() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let ((keyed, _), (_, r)) = (psk(), pki.configs());
    let ours = Some((None, Some(Likely::KeysDifferOrUnknown)));
    check((keyed, r), ours, Some((Some(lab::DEVICE), Some(Likely::OtherMethod))));
    let ((i, _), (_, keyed)) = (pki.configs(), psk());
    let ours = Some((None, Some(Likely::OurProof)));
    check((i, keyed), ours, Some((Some(lab::DEVICE), Some(Likely::OtherMethod))));
    let (mut i, r) = pki.configs();
    let (chain, key) = (pki.device.chain.clone(), pki.gateway.key.clone());
    only(&mut i).local = Prove::Certificate(Credential { chain, key });
    check((i, r), ours, Some((Some(lab::DEVICE), Some(Likely::OtherKey))));
}

/// The reason concerning a certificate is complete.
#[test]
fn a_refused_certificate_needs_no_guess() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let (i, mut r) = pki.configs();
    only(&mut r).remote = Believe::Certificate(pki.trust(&pki.gateway, lab::DECADE.until_unix_seconds + 1));
    check((i, r), Some((None, Some(Likely::OurProof))), Some((Some(lab::DEVICE), None)));
}

#[test]
fn an_absent_responder_has_no_name() {
    let bench = (1..20).fold(Bench::new(psk()), Bench::lose);
    let mut bench = bench;
    bench.initiate();
    bench.run_for(lab::seconds(400));
    assert_eq!(bench.failures(Side::I), ["timeout"]);
    assert_eq!(bench.unproved(Side::I), [("192.0.2.1:500".to_owned(), None, None)]);
}

#[test]
fn refused_proposals_are_reported_with_the_acceptable_ones() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes256gcm16-prfsha256-x25519 aes256-sha384-ecp384");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-x25519 3des-md5-modp1024");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(lab::seconds(10));
    assert_eq!(
        bench.refused_proposals(Side::R),
        [[
            "192.0.2.10:500",
            "aes256gcm16-prfsha256-x25519 or aes256-sha384-prfsha384-ecp384",
            "aes128gcm16-prfsha256-x25519 or 3des-md5-prfmd5-modp1024"
        ]],
        "{}",
        bench.ladder
    );
}

#[test]
fn refused_proposals_for_a_child_are_reported_as_well() {
    let (mut i, r) = psk();
    only_child(&mut i).suites = esp("aes256-sha512");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(lab::seconds(10));
    let [remote, offered, acceptable] = &bench.refused_proposals(Side::R)[0];
    assert_eq!((remote.as_str(), acceptable.as_str()), ("192.0.2.10:500", "aes128gcm16"));
    assert!(offered.starts_with("ESP aes256-sha512 SPI 0x"), "{offered}");
}
