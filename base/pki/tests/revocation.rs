//! Revocation lists: ours read by OpenSSL, OpenSSL's read by us, and all ways in which a list is not usable.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::common;

use std::path::Path;

use common::*;
use keytoll_crypto::{Metered, Null, Real};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{CertificateError, Credential, Trust};
use keytoll_engine::Time;
use keytoll_pki::pem::{self, FileProblem};
use keytoll_pki::revocation::ListProblem;
use keytoll_pki::{Anchors, Authority, RevocationList, Validity};
use proptest::prelude::*;

const HOUR: u64 = 3600;
/// A list of this hour.
const CURRENT: Validity = Validity { from_unix_seconds: NOW, until_unix_seconds: NOW + HOUR };

fn read(lists: &[Vec<u8>]) -> Vec<RevocationList> {
    lists.iter().map(|der| RevocationList::read(der).unwrap()).collect()
}

fn lists(authority: &Authority, revoked: &[&[u8]], dates: Validity) -> Vec<Vec<u8>> {
    authority.revocation_lists(revoked, dates, &mut Real::default())
}

/// Root, two intermediates and an end entity.
fn four() -> (Authority, Credential) {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let credential = issue(&mut authority, KeyKind::EcdsaP256, 4);
    (authority, credential)
}

fn anchors(authority: &Authority, lists: &[Vec<u8>]) -> Anchors {
    let anchors = Anchors::new([&authority.anchor()[..]], NOW, &mut Real::default()).unwrap();
    anchors.renew_lists(read(lists));
    anchors
}

fn later(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn a_certificate_on_no_list_of_its_issuer_is_accepted() {
    let (authority, credential) = four();
    let lists = lists(&authority, &[], CURRENT);
    assert_eq!(lists.len(), 3);
    assert_eq!(judged(&anchors(&authority, &lists), &credential.chain, Time::ZERO), Ok(()));
    assert_eq!(judged(&anchors(&authority, &[]), &credential.chain, Time::ZERO), Ok(()), "nothing demanded");
}

#[test]
fn a_revoked_certificate_is_refused_anywhere_in_the_path() {
    let (authority, credential) = four();
    for (at, certificate) in credential.chain.iter().enumerate() {
        let lists = lists(&authority, &[certificate], CURRENT);
        let found = judged(&anchors(&authority, &lists), &credential.chain, Time::ZERO);
        assert_eq!(found, Err(CertificateError::Revoked), "certificate {at}");
    }
}

#[test]
fn a_serial_number_is_revoked_by_its_own_issuer_only() {
    let (mut authority, credential) = four();
    let another = issue(&mut authority, KeyKind::EcdsaP256, 2);
    let lists = lists(&authority, &[&another.chain[0]], CURRENT);
    let anchors = anchors(&authority, &lists);
    assert_eq!(judged(&anchors, &credential.chain, Time::ZERO), Ok(()));
    assert_eq!(judged(&anchors, &another.chain, Time::ZERO), Err(CertificateError::Revoked));
}

#[test]
fn a_path_that_the_lists_do_not_cover_is_refused() {
    let (authority, credential) = four();
    let all = lists(&authority, &[], CURRENT);
    for missing in 0..all.len() {
        let mut some = all.clone();
        some.remove(missing);
        let found = judged(&anchors(&authority, &some), &credential.chain, Time::ZERO);
        assert_eq!(found, Err(CertificateError::NoRevocationList), "without list {missing}");
    }
}

#[test]
fn a_list_that_somebody_else_signed_does_not_count() {
    let (authority, credential) = four();
    // The same names with other keys.
    let mut namesake = common::authority(KeyKind::EcdsaP256, 2);
    issue(&mut namesake, KeyKind::EcdsaP256, 4);
    let forged = lists(&namesake, &[], CURRENT);
    let found = judged(&anchors(&authority, &forged), &credential.chain, Time::ZERO);
    assert_eq!(found, Err(CertificateError::NoRevocationList));
    let mut damaged = lists(&authority, &[], CURRENT);
    *damaged[2].last_mut().unwrap() ^= 1;
    let found = judged(&anchors(&authority, &damaged), &credential.chain, Time::ZERO);
    assert_eq!(found, Err(CertificateError::NoRevocationList));
}

#[test]
fn a_list_is_valid_from_its_date_until_the_next_is_due() {
    let (authority, credential) = four();
    let ahead = Validity { from_unix_seconds: NOW + 10, until_unix_seconds: NOW + 20 };
    let anchors = anchors(&authority, &lists(&authority, &[], ahead));
    let at = |seconds| judged(&anchors, &credential.chain, later(seconds));
    assert_eq!(at(9), Err(CertificateError::NoRevocationList));
    assert_eq!(at(10), Ok(()));
    assert_eq!(at(19), Ok(()));
    assert_eq!(at(20), Err(CertificateError::RevocationListExpired));
}

#[test]
fn the_newer_of_two_lists_counts_as_soon_as_it_is_issued() {
    let (authority, credential) = four();
    let next = Validity { from_unix_seconds: NOW + 10, until_unix_seconds: NOW + HOUR };
    let (older, newer) = (lists(&authority, &[], CURRENT), lists(&authority, &[&credential.chain[0]], next));
    for both in [[&older[..], &newer].concat(), [&newer[..], &older].concat()] {
        let anchors = anchors(&authority, &both);
        assert_eq!(judged(&anchors, &credential.chain, later(9)), Ok(()));
        assert_eq!(judged(&anchors, &credential.chain, later(10)), Err(CertificateError::Revoked));
    }
}

#[test]
fn lists_are_renewed_while_engines_judge() {
    let (authority, credential) = four();
    let anchors = anchors(&authority, &lists(&authority, &[], CURRENT));
    assert_eq!(judged(&anchors, &credential.chain, later(1)), Ok(()));
    anchors.renew_lists(read(&lists(&authority, &[&credential.chain[0]], CURRENT)));
    assert_eq!(judged(&anchors, &credential.chain, later(1)), Err(CertificateError::Revoked));
    anchors.renew_lists(vec![]);
    assert_eq!(judged(&anchors, &credential.chain, later(1)), Ok(()));
}

#[test]
fn a_list_costs_one_verification_per_certificate_and_nothing_under_null() {
    let (authority, credential) = four();
    let anchors = anchors(&authority, &lists(&authority, &[], CURRENT));
    let mut meter = Metered::count_only(Real::default());
    let chain: Vec<&[u8]> = credential.chain.iter().map(Vec::as_slice).collect();
    anchors.verify(&chain, Time::ZERO, &mut meter).unwrap();
    let verifications: u64 =
        meter.snapshot().iter().filter(|row| row.operation == "verify").map(|row| row.count).sum();
    assert_eq!(verifications, 2 * 3);
    assert!(anchors.verify(&chain, Time::ZERO, &mut Null).is_ok());
}

/// An authority of OpenSSL with a database of the certificates that it issued.
fn openssl_authority(name: &str, key_usage: &str) -> impl Fn(&[&str]) -> String + use<> {
    let home = directory(name);
    let at = |file: &str| home.join(file).to_str().unwrap().to_owned();
    let settings = format!(
        "[ca]\ndefault_ca=a\n[a]\ndir={home}\ndatabase={home}/index\ncrlnumber={home}/number\n\
         certificate={home}/root.pem\nprivate_key={home}/root.key\ndefault_md=sha256\ndefault_crl_days=30\n\
         [req]\ndistinguished_name=dn\n[dn]\n[delta]\n2.5.29.27=critical,DER:02:01:01\n[reasons]\n\
         issuingDistributionPoint=critical,@point\n[point]\nonlysomereasons=keyCompromise\n[part-a]\n\
         issuingDistributionPoint=critical,@point-a\n[point-a]\nfullname=URI:http://crl.lab/a\n[part-b]\n\
         issuingDistributionPoint=critical,@point-b\n[point-b]\nfullname=URI:http://crl.lab/b\n",
        home = home.display()
    );
    std::fs::write(at("settings"), settings).unwrap();
    std::fs::write(at("index"), "").unwrap();
    std::fs::write(at("number"), "01\n").unwrap();
    let usage = format!("keyUsage=critical,{key_usage}");
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650"];
    let (root, root_key, leaf, leaf_key) = (at("root.pem"), at("root.key"), at("leaf.pem"), at("leaf.key"));
    let config = at("settings");
    let root_arguments = ["req", "-x509", "-config", &config, "-subj", "/CN=root", "-out", &root, "-keyout"];
    let root_rest = [&root_key, "-addext", "basicConstraints=critical,CA:TRUE", "-addext", &usage];
    openssl(&[&root_arguments[..], &root_rest, &key].concat());
    let leaf_arguments = ["req", "-x509", "-config", &config, "-subj", "/CN=leaf", "-out", &leaf, "-keyout"];
    let leaf_rest =
        [&leaf_key[..], "-CA", &root, "-CAkey", &root_key, "-addext", "basicConstraints=CA:FALSE"];
    openssl(&[&leaf_arguments[..], &leaf_rest, &key].concat());
    let home = home.to_str().unwrap().to_owned();
    move |arguments| {
        let config = format!("{home}/settings");
        openssl(&[&["ca", "-config", &config][..], arguments].concat());
        home.clone()
    }
}

#[expect(clippy::disallowed_methods, reason = "OpenSSL dates its lists by the machine's clock")]
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn judged_by_openssls_list(home: &str, list: &str) -> Result<(), CertificateError> {
    judged_by_openssls_lists(home, "leaf.pem", &[list])
}

fn judged_by_openssls_lists(home: &str, leaf: &str, lists: &[&str]) -> Result<(), CertificateError> {
    let home = Path::new(home);
    let root = pem::load_certificates(&home.join("root.pem")).unwrap().remove(0);
    let leaf = pem::load_certificates(&home.join(leaf)).unwrap();
    let anchors = Anchors::new([&root[..]], now(), &mut Real::default()).unwrap();
    let load = |list: &&str| pem::load_revocation_lists(&home.join(list)).unwrap();
    anchors.renew_lists(lists.iter().flat_map(load).collect());
    judged(&anchors, &leaf, later(5))
}

/// RFC 5280 §6.3.3: a partial list does not cover other certificates, and a certificate on any list is revoked.
#[test]
fn a_partial_list_covers_its_part_only() {
    let test = "parts";
    let ca = openssl_authority(test, "keyCertSign,cRLSign");
    let [home, root, key, of_a, of_a_key] =
        ["", "root.pem", "root.key", "of-a.pem", "of-a.key"].map(|file| path(test, file));
    let settings = path(test, "settings");
    let made =
        ["req", "-x509", "-config", &settings, "-subj", "/CN=of-a", "-out", &of_a, "-keyout", &of_a_key];
    let new_key =
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-CA", &root, "-CAkey", &key];
    let point =
        ["-addext", "basicConstraints=CA:FALSE", "-addext", "crlDistributionPoints=URI:http://crl.lab/a"];
    openssl(&[&made[..], &new_key, &point].concat());
    let make = |name: &str, more: &[&str]| {
        let file = path(test, name);
        ca(&[&["-gencrl", "-out", &file][..], more].concat());
    };
    make("whole", &[]);
    make("a", &["-crlexts", "part-a"]);
    make("b", &["-crlexts", "part-b"]);
    let verdict = |leaf: &str, lists: &[&str]| judged_by_openssls_lists(&home, leaf, lists);
    assert_eq!(verdict("of-a.pem", &["a"]), Ok(()));
    assert_eq!(verdict("of-a.pem", &["b"]), Err(CertificateError::NoRevocationList));
    assert_eq!(verdict("leaf.pem", &["a"]), Err(CertificateError::NoRevocationList), "it belongs to no part");
    assert_eq!(verdict("leaf.pem", &["a", "whole"]), Ok(()));
    for leaf in ["leaf.pem", "of-a.pem"] {
        ca(&["-revoke", &path(test, leaf)]);
    }
    make("revoking", &[]);
    make("revoking-b", &["-crlexts", "part-b"]);
    for lists in [&["revoking", "a", "b"][..], &["b", "a", "revoking"], &["whole", "a", "revoking-b"]] {
        for leaf in ["leaf.pem", "of-a.pem"] {
            assert_eq!(verdict(leaf, lists), Err(CertificateError::Revoked), "{leaf} by {lists:?}");
        }
    }
}

#[test]
fn lists_that_openssl_makes_are_read_in_pem_and_der() {
    let ca = openssl_authority("openssl-lists", "keyCertSign,cRLSign");
    let home = ca(&["-gencrl", "-out", &path("openssl-lists", "before.pem")]);
    assert_eq!(judged_by_openssls_list(&home, "before.pem"), Ok(()));
    ca(&["-revoke", &path("openssl-lists", "leaf.pem")]);
    ca(&["-gencrl", "-out", &path("openssl-lists", "after.pem")]);
    assert_eq!(judged_by_openssls_list(&home, "after.pem"), Err(CertificateError::Revoked));
    let (pem_file, der_file) = (path("openssl-lists", "after.pem"), path("openssl-lists", "after.der"));
    openssl(&["crl", "-in", &pem_file, "-outform", "DER", "-out", &der_file]);
    assert_eq!(judged_by_openssls_list(&home, "after.der"), Err(CertificateError::Revoked));
}

#[test]
fn an_authority_that_may_not_sign_lists_has_none() {
    let ca = openssl_authority("no-crl-sign", "keyCertSign");
    let home = ca(&["-gencrl", "-out", &path("no-crl-sign", "list.pem")]);
    assert_eq!(judged_by_openssls_list(&home, "list.pem"), Err(CertificateError::NoRevocationList));
}

#[test]
fn unsupported_partial_lists_are_refused_when_they_are_read() {
    let ca = openssl_authority("partial-lists", "keyCertSign,cRLSign");
    for (extensions, problem) in [("delta", ListProblem::Delta), ("reasons", ListProblem::Unsupported)] {
        let file = path("partial-lists", extensions);
        ca(&["-gencrl", "-crlexts", extensions, "-out", &file]);
        let found = pem::load_revocation_lists(Path::new(&file)).unwrap_err();
        assert!(matches!(found.why, FileProblem::RevocationList(1, found) if found == problem), "{found}");
    }
}

#[test]
fn a_list_of_version_1_is_refused_when_it_is_read() {
    let ca = openssl_authority("old-lists", "keyCertSign,cRLSign");
    let settings = path("old-lists", "settings");
    let text = std::fs::read_to_string(&settings).unwrap();
    let without_number: String = text
        .lines()
        .filter(|line| !line.starts_with("crlnumber"))
        .fold(String::new(), |text, line| text + line + "\n");
    std::fs::write(&settings, without_number).unwrap();
    let file = path("old-lists", "list.pem");
    ca(&["-gencrl", "-out", &file]);
    let found = pem::load_revocation_lists(Path::new(&file)).unwrap_err().to_string();
    assert!(found.ends_with("revocation list 1 is of version 1; make it with a CRL number"), "{found}");
}

#[test]
fn a_list_shows_its_date() {
    let (authority, _) = four();
    let list = read(&lists(&authority, &[], CURRENT)[..1]);
    assert_eq!(format!("{list:?}"), format!("[RevocationList(of {NOW} s)]"));
}

fn path(test: &str, file: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pki-{test}")).join(file).to_str().unwrap().to_owned()
}

#[test]
fn openssl_accepts_our_lists() {
    let home = directory("our-lists");
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP384, KeyKind::Ed25519] {
        let mut authority = authority(kind, 1);
        let (good, bad) = (issue(&mut authority, kind, 2), issue(&mut authority, KeyKind::EcdsaP521, 2));
        let file = |name| home.join(name).to_str().unwrap().to_owned();
        let (root, list, leaf) = (file("root.pem"), file("list.pem"), file("leaf.pem"));
        pem::write_certificates(root.as_ref(), &[authority.anchor()]).unwrap();
        pem::write_revocation_lists(list.as_ref(), &lists(&authority, &[&bad.chain[0]], CURRENT)).unwrap();
        let now = NOW.to_string();
        let verify = |credential: &Credential| {
            pem::write_certificates(leaf.as_ref(), &credential.chain[..1]).unwrap();
            let arguments =
                ["verify", "-crl_check", "-x509_strict", "-attime", &now, "-CRLfile", &list, "-CAfile"];
            let run = std::process::Command::new("openssl").args(arguments).args([&root, &leaf]).output();
            let run = run.unwrap();
            String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned()
        };
        assert!(verify(&good).contains(": OK"), "{kind}: {}", verify(&good));
        assert!(verify(&bad).contains("certificate revoked"), "{kind}: {}", verify(&bad));
    }
}

#[test]
fn files_hold_one_list_or_several_and_nothing_else() {
    let (authority, credential) = four();
    let three = lists(&authority, &[&credential.chain[1]], CURRENT);
    let file = directory("list-files").join("lists.pem");
    pem::write_revocation_lists(&file, &three).unwrap();
    assert_eq!(pem::load_revocation_lists(&file).unwrap().len(), 3);
    // A daemon that is reading the older file meanwhile reads all of it.
    let mut older = std::fs::File::open(&file).unwrap();
    pem::write_revocation_lists(&file, &three[..1]).unwrap();
    let older = std::io::read_to_string(&mut older).unwrap();
    assert_eq!(older.matches("BEGIN X509 CRL").count(), 3);
    std::fs::write(&file, &three[0]).unwrap();
    assert_eq!(pem::load_revocation_lists(&file).unwrap().len(), 1);
    pem::write_certificates(&file, &credential.chain).unwrap();
    let said = pem::load_revocation_lists(&file).unwrap_err().to_string();
    assert!(said.ends_with("holds no revocation list"), "{said}");
    pem::write_revocation_lists(&file, &[three[0].clone(), authority.anchor()]).unwrap();
    let said = pem::load_revocation_lists(&file).unwrap_err().to_string();
    assert!(said.ends_with("revocation list 2 is malformed"), "{said}");
    let said = pem::load_revocation_lists(Path::new("/nowhere")).unwrap_err().to_string();
    assert!(said.starts_with("read revocation lists from /nowhere: "), "{said}");
}

#[test]
fn every_truncation_is_malformed_and_every_flipped_bit_revokes_or_counts_for_nothing() {
    let (authority, credential) = four();
    let all = lists(&authority, &[&credential.chain[0]], CURRENT);
    let list = &all[2];
    for len in 0..list.len() {
        assert_eq!(RevocationList::read(&list[..len]).unwrap_err(), ListProblem::Malformed, "{len} bytes");
    }
    for bit in 0..list.len() * 8 {
        let mut damaged = list.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let Ok(read_list) = RevocationList::read(&damaged) else { continue };
        let anchors = anchors(&authority, &all[..2]);
        anchors.renew_lists([read(&all[..2]), vec![read_list]].concat_lists());
        assert!(judged(&anchors, &credential.chain, Time::ZERO).is_err(), "bit {bit} protects nothing");
    }
}

/// Lists cannot be cloned, so they are moved together.
trait ConcatLists {
    fn concat_lists(self) -> Vec<RevocationList>;
}

impl ConcatLists for [Vec<RevocationList>; 2] {
    fn concat_lists(self) -> Vec<RevocationList> {
        self.into_iter().flatten().collect()
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_list_by_chance_or_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(RevocationList::read(&bytes).is_err());
    }
}
