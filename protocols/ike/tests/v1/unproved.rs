//! The peer of a failed phase 1, the most likely cause, and refused proposals.

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_ike::Likely;
use keytoll_ike::config::{Believe, Config, Phase1, Prove};

use super::configs::{certificates, psk, raw_keys};
use crate::support::lab::{self, Pki, esp, id, ike, keys_by_identity, only, only_child, seconds, secret};
use crate::support::{Bench, Side};

/// The reason of failure at a side, the peer's claimed identity, and the most likely cause.
type Known<'a> = Option<(&'static str, Option<&'a str>, Option<Likely>)>;

#[track_caller]
fn check_bench(mut bench: Bench, at_i: Known<'_>, at_r: Known<'_>) {
    bench.initiate();
    bench.run_for(seconds(300));
    for (side, address, known) in [(Side::I, "192.0.2.1:500", at_i), (Side::R, "192.0.2.10:500", at_r)] {
        let told = bench.failures(side).into_iter().zip(bench.unproved(side)).collect::<Vec<_>>();
        let expected = known
            .map(|(why, claimed, likely)| (why, (address.to_owned(), claimed.map(str::to_owned), likely)));
        assert_eq!(told, Vec::from_iter(expected), "{}\n{}", side.name(), bench.ladder);
    }
}

#[track_caller]
fn check(configs: (Config, Config), at_i: Known<'_>, at_r: Known<'_>) {
    check_bench(Bench::new(configs), at_i, at_r);
}

fn with_another_key(phase1: Phase1) -> (Config, Config) {
    let (mut i, r) = psk(phase1);
    only(&mut i).local = Prove::Psk(secret("another"));
    only(&mut i).remote = Believe::psk(secret("another"));
    (i, r)
}

// RFC 2409 §5.4: with another key message 5 decrypts to garbage, so the identity is unknown.
#[test]
fn garbage_in_main_mode_means_another_shared_key() {
    check(
        with_another_key(Phase1::Main),
        Some(("PAYLOAD_MALFORMED", None, Some(Likely::KeysDiffer))),
        Some(("AUTHENTICATION_FAILED", None, Some(Likely::KeysDiffer))),
    );
}

/// Most responders drop what they cannot decrypt.
#[test]
fn silence_after_message_5_means_another_shared_key() {
    let bench = (5..40).fold(Bench::new(psk(Phase1::Main)), Bench::lose);
    check_bench(bench, Some(("timeout", None, Some(Likely::KeysDiffer))), None);
    let bench = (6..40).step_by(2).fold(Bench::new(with_another_key(Phase1::Main)), Bench::lose);
    check_bench(
        bench,
        Some(("timeout", None, Some(Likely::KeysDiffer))),
        Some(("AUTHENTICATION_FAILED", None, Some(Likely::KeysDiffer))),
    );
}

#[test]
fn silence_before_message_5_says_nothing_of_keys() {
    for n in [1, 3] {
        let bench = (n..40).fold(Bench::new(psk(Phase1::Main)), Bench::lose);
        check_bench(bench, Some(("timeout", None, None)), None);
    }
    let bench = (5..40).fold(Bench::new(certificates(Phase1::Main)), Bench::lose);
    check_bench(bench, Some(("timeout", None, None)), None);
}

#[test]
fn another_shared_key_in_aggressive_mode_is_reported_as_such() {
    check(
        with_another_key(Phase1::Aggressive),
        Some(("AUTHENTICATION_FAILED", Some(lab::GATEWAY), Some(Likely::KeysDifferOrUnknown))),
        Some(("AUTHENTICATION_FAILED", Some(lab::DEVICE), Some(Likely::KeysDiffer))),
    );
}

/// An initiator that does not verify our proof continues with a message that our keys do not decrypt.
#[test]
fn an_undecryptable_message_3_means_another_shared_key() {
    let mut bench = (4..100).fold(Bench::new(psk(Phase1::Aggressive)), Bench::lose);
    bench.initiate();
    for n in 1..=3 {
        let (to, mut datagram) = bench.intercept().unwrap();
        if n == 3 {
            datagram.bytes[28..].reverse();
        }
        bench.deliver(to, &datagram);
    }
    bench.run_for(seconds(300));
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"], "{}", bench.ladder);
    let device = ("192.0.2.10:500".to_owned(), Some(lab::DEVICE.to_owned()), Some(Likely::KeysDiffer));
    assert_eq!(bench.unproved(Side::R), [device]);
}

#[test]
fn a_stranger_in_aggressive_mode_is_no_wrong_key() {
    let (i, mut r) = psk(Phase1::Aggressive);
    only(&mut r).remote_id = Some(id("somebody.example.org"));
    check(
        (i, r),
        Some(("AUTHENTICATION_FAILED", Some(lab::GATEWAY), Some(Likely::KeysDifferOrUnknown))),
        Some(("AUTHENTICATION_FAILED", Some(lab::DEVICE), Some(Likely::UnknownIdentity))),
    );
}

/// A holder of the key names itself, and is told at once.
#[test]
fn a_stranger_in_main_mode_is_reported_by_its_claimed_identity() {
    let (i, mut r) = psk(Phase1::Main);
    only(&mut r).remote_id = Some(id("somebody.example.org"));
    check(
        (i, r),
        Some(("INVALID_ID_INFORMATION", None, None)),
        Some(("unexpected identity", Some(lab::DEVICE), None)),
    );
}

#[test]
fn another_signature_key_is_reported_as_such() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (mut i, r) = raw_keys(phase1);
        only(&mut i).local = Prove::RawKey(Pki::seeded(KeyKind::Rsa2048, 1, 9).device.key);
        // In aggressive mode the gateway has sent its identity before.
        let gateway = (phase1 == Phase1::Aggressive).then_some(lab::GATEWAY);
        check(
            (i, r),
            Some(("AUTHENTICATION_FAILED", gateway, Some(Likely::OurProof))),
            Some(("AUTHENTICATION_FAILED", Some(lab::DEVICE), Some(Likely::OtherKey))),
        );
    }
}

#[test]
fn refused_proposals_are_reported_with_the_acceptable_ones() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let (mut i, r) = psk(phase1);
        only(&mut i).suites = ike("3des-md5-modp1024 aes256-sha1-modp1024");
        let mut bench = Bench::new((i, r));
        bench.initiate();
        bench.run_for(seconds(10));
        let offered = "3des-prfmd5-modp1024 or aes256-prfsha1-modp1024 by PRE_SHARED_KEY";
        let acceptable = "aes128-prfsha256-modp2048 by PRE_SHARED_KEY";
        assert_eq!(bench.refused_proposals(Side::R), [["192.0.2.10:500", offered, acceptable]], "{phase1:?}");
    }
}

/// The suite is acceptable, but not in this mode, or not for a peer without a shared key.
#[test]
fn suites_acceptable_to_others_are_not_listed() {
    let ((i, _), (_, r)) = (psk(Phase1::Aggressive), psk(Phase1::Main));
    let elsewhere = keys_by_identity(&[("203.0.113.9", "correct horse battery staple")]);
    let (nearby, mut far) = psk(Phase1::Main);
    (only(&mut far).remote_id, only(&mut far).remote) = (None, elsewhere);
    for configs in [(i, r), (nearby, far)] {
        let mut bench = Bench::new(configs);
        bench.initiate();
        bench.run_for(seconds(10));
        let [_, offered, acceptable] = &bench.refused_proposals(Side::R)[0];
        assert_eq!(offered, "aes128-prfsha256-modp2048 by PRE_SHARED_KEY");
        assert_eq!(acceptable, "nothing from this address in this mode");
    }
}

#[test]
fn refused_proposals_for_a_child_are_reported_as_well() {
    let (mut i, r) = psk(Phase1::Main);
    only_child(&mut i).suites = esp("aes256-sha512");
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.run_for(seconds(10));
    let [remote, offered, acceptable] = &bench.refused_proposals(Side::R)[0];
    assert_eq!((remote.as_str(), acceptable.as_str()), ("192.0.2.10:500", "aes128-sha256"));
    assert!(offered.starts_with("ESP aes256-sha512 SPI 0x"), "{offered}");
}
