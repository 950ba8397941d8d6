//! Fixtures of the tests: authorities, requests and a moment within all validity periods.

use std::path::{Path, PathBuf};
use std::process::Command;

use keytoll_crypto::{Null, Real, keys};
use keytoll_crypto_api::Seed;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{
    AlternativeName, CertificateError, Credential, PeerCertificate, Trust,
};
use keytoll_engine::Time;
use keytoll_pki::{Anchors, Authority, Request, Validity};

/// 2026-01-01 to 2036-01-01.
pub(crate) const DECADE: Validity =
    Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
/// 2026-11-21.
pub(crate) const NOW: u64 = 1_795_219_200;

pub(crate) const GATEWAY: &str = "gw.example.org";

pub(crate) fn authority(kind: KeyKind, seed: u64) -> Authority {
    Authority::new(kind, DECADE, &Seed::from(seed), &mut keys::generate, &mut Real::default())
}

pub(crate) fn names() -> Vec<AlternativeName> {
    vec![
        AlternativeName::Dns(GATEWAY.into()),
        AlternativeName::Email("gw@example.org".into()),
        AlternativeName::Ip(vec![192, 0, 2, 1]),
        AlternativeName::Ip([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1].into()),
    ]
}

pub(crate) fn issue(authority: &mut Authority, kind: KeyKind, chain_length: usize) -> Credential {
    let request = Request { name: GATEWAY, alternatives: &names(), kind, chain_length };
    authority.issue(&request, &mut keys::generate, &mut Real::default())
}

/// The same with signatures of zeros.
pub(crate) fn null_authority_and_credential(kind: KeyKind, chain_length: usize) -> (Authority, Credential) {
    let mut make = keys::generate_null;
    let mut authority = Authority::new(kind, DECADE, &Seed::from(3), &mut make, &mut Null);
    let request = Request { name: GATEWAY, alternatives: &names(), kind, chain_length };
    let credential = authority.issue(&request, &mut make, &mut Null);
    (authority, credential)
}

pub(crate) fn verify_at(
    anchor: &[u8],
    chain: &[Vec<u8>],
    unix_seconds: u64,
) -> Result<PeerCertificate, CertificateError> {
    let mut crypto = Real::default();
    let anchors = Anchors::new([anchor], unix_seconds, &mut crypto).expect("the anchor is a certificate");
    let chain: Vec<&[u8]> = chain.iter().map(Vec::as_slice).collect();
    anchors.verify(&chain, Time::ZERO, &mut crypto)
}

pub(crate) fn verify(anchor: &[u8], chain: &[Vec<u8>]) -> Result<PeerCertificate, CertificateError> {
    verify_at(anchor, chain, NOW)
}

/// The verdict of prepared anchors on a chain.
pub(crate) fn judged(anchors: &Anchors, chain: &[Vec<u8>], now: Time) -> Result<(), CertificateError> {
    let chain: Vec<&[u8]> = chain.iter().map(Vec::as_slice).collect();
    anchors.verify(&chain, now, &mut Real::default()).map(|_| ())
}

/// An empty directory of this test's own.
pub(crate) fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pki-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

/// Runs openssl and returns its output; fails the test if openssl failed.
pub(crate) fn openssl(arguments: &[&str]) -> String {
    let run = Command::new("openssl").args(arguments).output().expect("openssl is in PATH");
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "openssl {arguments:?}\n{said}");
    said
}
