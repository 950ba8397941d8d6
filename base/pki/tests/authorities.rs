//! Authorities: chains whose issuers are no authorities, may not sign, or may sign for something else. The certificates are
//! made by OpenSSL, which makes any.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::common;

use common::*;
use keytoll_crypto::Real;
use keytoll_crypto_api::credentials::{CertificateError, Trust};
use keytoll_engine::Time;
use keytoll_pki::{Anchors, Purpose, pem};
use std::path::{Path, PathBuf};

/// 2033-05-18, within the validity period of all certificates made here.
const THEN: u64 = 2_000_000_000;

/// Certificates in a directory, each with its key beside it.
struct Certificates(PathBuf);

impl Certificates {
    fn new(name: &str) -> Self {
        Self(directory(name))
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A certificate with these extensions, self-signed or issued by another that was made before.
    fn make(&self, name: &str, issuer: Option<&str>, extensions: &[&str]) -> Vec<u8> {
        self.make_with_key("ec", "prime256v1", name, issuer, extensions)
    }

    fn make_with_key(
        &self,
        algorithm: &str,
        size: &str,
        name: &str,
        issuer: Option<&str>,
        extensions: &[&str],
    ) -> Vec<u8> {
        let (key, certificate) = (self.file(&format!("{name}.key")), self.file(&format!("{name}.pem")));
        let settings = self.file("settings");
        std::fs::write(&settings, "[req]\ndistinguished_name=dn\n[dn]\n").unwrap();
        let subject = format!("/CN={name}");
        let kind = if algorithm == "ec" { "ec".to_owned() } else { format!("{algorithm}:{size}") };
        let mut arguments = vec!["req", "-x509", "-config", &settings, "-newkey", &kind, "-nodes", "-sha256"];
        let curve = format!("ec_paramgen_curve:{size}");
        if algorithm == "ec" {
            arguments.extend(["-pkeyopt", &curve]);
        }
        arguments.extend(["-keyout", &key, "-out", &certificate, "-days", "36500", "-subj", &subject]);
        let by =
            issuer.map(|issuer| [self.file(&format!("{issuer}.pem")), self.file(&format!("{issuer}.key"))]);
        if let Some([certificate, key]) = &by {
            arguments.extend(["-CA", certificate, "-CAkey", key]);
        }
        extensions.iter().for_each(|extension| arguments.extend(["-addext", extension]));
        openssl(&arguments);
        pem::load_certificates(Path::new(&certificate)).unwrap().remove(0)
    }

    /// A cross-certificate for an authority that was made before, issued by another authority.
    fn cross(&self, name: &str, issuer: &str) -> Vec<u8> {
        let [settings, certificate] = ["settings", "cross.pem"].map(|file| self.file(file));
        let [key, by, by_key] = [format!("{name}.key"), format!("{issuer}.pem"), format!("{issuer}.key")]
            .map(|file| self.file(&file));
        let subject = format!("/CN={name}");
        let made = ["req", "-x509", "-config", &settings, "-key", &key, "-subj", &subject, "-days", "36500"];
        let signed = ["-CA", &by, "-CAkey", &by_key, "-addext", CA, "-addext", SIGNS, "-out", &certificate];
        openssl(&[&made[..], &signed].concat());
        pem::load_certificates(Path::new(&certificate)).unwrap().remove(0)
    }
}

const CA: &str = "basicConstraints=critical,CA:TRUE";
const END_ENTITY: &str = "basicConstraints=critical,CA:FALSE";
const SIGNS: &str = "keyUsage=critical,keyCertSign,cRLSign";

fn anchors(roots: &[&[u8]]) -> Anchors {
    Anchors::new(roots.iter().copied(), THEN, &mut Real::default()).unwrap()
}

fn verdict(root: &[u8], chain: &[&Vec<u8>]) -> Result<(), CertificateError> {
    let chain: Vec<Vec<u8>> = chain.iter().map(|&der| der.clone()).collect();
    judged(&anchors(&[root]), &chain, Time::ZERO)
}

#[test]
fn a_pinned_certificate_that_is_no_authority_is_trusted_as_itself_only() {
    let shop = Certificates::new("pinned");
    for (name, extensions) in [
        ("said", &[END_ENTITY][..]),
        ("unsaid", &["subjectKeyIdentifier=hash"]),
        ("may-not-sign", &[CA, "keyUsage=critical,digitalSignature"]),
    ] {
        let pinned = shop.make(name, None, extensions);
        let forged = shop.make(&format!("forged-by-{name}"), Some(name), &[END_ENTITY]);
        assert_eq!(verdict(&pinned, &[&pinned]), Ok(()), "{name} is itself");
        assert_eq!(verdict(&pinned, &[&forged]), Err(CertificateError::UnknownIssuer), "{name} signs");
        let chain = [&forged, &pinned];
        let sent_along = verdict(&pinned, &chain);
        assert!(sent_along.is_err(), "{name} signs and is sent along: {sent_along:?}");
    }
    let authority = shop.make("authority", None, &[CA, SIGNS]);
    let genuine = shop.make("genuine", Some("authority"), &[END_ENTITY]);
    assert_eq!(verdict(&authority, &[&genuine]), Ok(()));
    // Pinned beside an authority, the certificate still signs for nobody.
    let pinned = shop.make("pinned", Some("authority"), &[END_ENTITY]);
    let forged = shop.make("forged", Some("pinned"), &[END_ENTITY]);
    let both = anchors(&[&authority, &pinned]);
    assert_eq!(judged(&both, &[forged], Time::ZERO), Err(CertificateError::UnknownIssuer));
    assert_eq!(judged(&both, &[pinned], Time::ZERO), Ok(()));
}

#[test]
fn a_certificate_of_version_1_is_no_authority() {
    let shop = Certificates::new("version-1");
    let (key, request, root) = (shop.file("old.key"), shop.file("old.csr"), shop.file("old.pem"));
    let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", &key];
    openssl(&[&["req", "-new", "-subj", "/CN=old", "-out", &request][..], &new_key].concat());
    openssl(&["x509", "-req", "-in", &request, "-signkey", &key, "-days", "36500", "-out", &root]);
    let old = pem::load_certificates(Path::new(&root)).unwrap().remove(0);
    let signed = shop.make("signed", Some("old"), &[END_ENTITY]);
    assert_eq!(verdict(&old, &[&signed]), Err(CertificateError::UnknownIssuer));
    assert_eq!(verdict(&old, &[&old]), Ok(()), "it is itself");
}

#[test]
fn an_intermediate_must_be_allowed_to_sign_certificates() {
    let shop = Certificates::new("key-usage");
    let root = shop.make("root", None, &[CA, SIGNS]);
    for (name, extensions, expected) in [
        ("signs", &[CA, SIGNS][..], Ok(())),
        ("unsaid", &[CA], Ok(())),
        ("signs-lists-only", &[CA, "keyUsage=critical,cRLSign,digitalSignature"], Err(NOT_ACCEPTABLE)),
        ("no-authority", &[END_ENTITY, "keyUsage=critical,keyCertSign"], Err(NOT_ACCEPTABLE)),
    ] {
        let intermediate = shop.make(name, Some("root"), extensions);
        let leaf = shop.make(&format!("below-{name}"), Some(name), &[END_ENTITY]);
        assert_eq!(verdict(&root, &[&leaf, &intermediate]), expected, "{name}");
    }
}

const NOT_ACCEPTABLE: CertificateError = CertificateError::NotAcceptable;

#[test]
fn no_more_intermediates_than_an_authority_allows() {
    let shop = Certificates::new("path-length");
    for (root_extension, intermediate_extension, expected) in [
        (CA, CA, Ok(())),
        ("basicConstraints=critical,CA:TRUE,pathlen:2", CA, Ok(())),
        ("basicConstraints=critical,CA:TRUE,pathlen:1", CA, Err(NOT_ACCEPTABLE)),
        ("basicConstraints=critical,CA:TRUE,pathlen:0", CA, Err(NOT_ACCEPTABLE)),
        (CA, "basicConstraints=critical,CA:TRUE,pathlen:1", Ok(())),
        (CA, "basicConstraints=critical,CA:TRUE,pathlen:0", Err(NOT_ACCEPTABLE)),
    ] {
        let root = shop.make("root", None, &[root_extension, SIGNS]);
        let first = shop.make("first", Some("root"), &[intermediate_extension, SIGNS]);
        let second = shop.make("second", Some("first"), &[CA, SIGNS]);
        let leaf = shop.make("leaf", Some("second"), &[END_ENTITY]);
        let found = verdict(&root, &[&leaf, &second, &first]);
        assert_eq!(found, expected, "{root_extension}, then {intermediate_extension}");
    }
    let root = shop.make("root", None, &["basicConstraints=critical,CA:TRUE,pathlen:0", SIGNS]);
    let leaf = shop.make("leaf", Some("root"), &[END_ENTITY]);
    assert_eq!(verdict(&root, &[&leaf]), Ok(()), "without an intermediate there is none too many");
    // RFC 5280 §6.1.4: (l) the root's own certificate under another key is no further authority.
    let older = shop.make("root", None, &["basicConstraints=critical,CA:TRUE,pathlen:0", SIGNS]);
    for suffix in ["pem", "key"] {
        std::fs::rename(shop.file(&format!("root.{suffix}")), shop.file(&format!("older.{suffix}"))).unwrap();
    }
    let renewed = shop.make("root", Some("older"), &[CA, SIGNS]);
    let leaf = shop.make("leaf", Some("root"), &[END_ENTITY]);
    assert_eq!(verdict(&older, &[&leaf, &renewed]), Ok(()));
}

/// A cross-certified authority: a peer that sends all its certificates is accepted by those who trust one of them.
#[test]
fn the_trusted_path_through_a_cross_signed_authority_is_found() {
    let shop = Certificates::new("cross-signed");
    let roots = ["first", "second"].map(|name| shop.make(name, None, &[CA, SIGNS]));
    let alone = shop.make("middle", None, &[CA, SIGNS]);
    let leaf = shop.make("leaf", Some("middle"), &[END_ENTITY]);
    let [by_first, by_second] = ["first", "second"].map(|root| shop.cross("middle", root));
    let impostor = Certificates::new("impostor").make("middle", None, &[CA, SIGNS]);
    for trusted in [&roots[0], &roots[1], &alone] {
        for order in [[&alone, &by_first, &by_second], [&by_second, &by_first, &alone]] {
            let chain: Vec<&Vec<u8>> = [&leaf].into_iter().chain(order).chain(order).chain(&roots).collect();
            assert_eq!(verdict(trusted, &chain), Ok(()));
            // An authority of the same name, which the key identifier distinguishes.
            let chain: Vec<&Vec<u8>> = [&leaf, &impostor].into_iter().chain(order).collect();
            assert_eq!(verdict(trusted, &chain), Ok(()));
        }
    }
    assert_eq!(verdict(&impostor, &[&leaf, &alone, &by_first]), Err(CertificateError::BadSignature));
}

#[test]
fn names_stay_within_what_an_authority_may_name() {
    let shop = Certificates::new("names");
    let constraint = "nameConstraints=critical,permitted;DNS:lab,permitted;IP:192.0.2.0/255.255.255.0";
    let root = shop.make("root", None, &[CA, SIGNS]);
    let middle = shop.make("middle", Some("root"), &[CA, SIGNS, constraint]);
    let mail = shop.make("mail", Some("root"), &[CA, SIGNS, "nameConstraints=critical,permitted;email:lab"]);
    let outcome = |issuer: &str, middle: &Vec<u8>, names: &str| {
        let leaf = shop.make("leaf", Some(issuer), &[END_ENTITY, &format!("subjectAltName={names}")]);
        verdict(&root, &[&leaf, middle])
    };
    assert_eq!(outcome("middle", &middle, "DNS:gw.lab,IP:192.0.2.7"), Ok(()));
    assert_eq!(outcome("middle", &middle, "DNS:gw.example.org"), Err(NOT_ACCEPTABLE));
    assert_eq!(outcome("middle", &middle, "IP:198.51.100.7"), Err(NOT_ACCEPTABLE));
    // Constraints that are not understood refuse: mail names are not compared.
    assert_eq!(outcome("mail", &mail, "email:ue@lab"), Err(NOT_ACCEPTABLE));
    assert_eq!(outcome("mail", &mail, "DNS:gw.lab"), Ok(()), "a name of another kind");
}

#[test]
fn a_listed_purpose_must_be_the_one_that_the_certificate_is_shown_for() {
    use Purpose::{Ike, TlsClient, TlsServer};
    let shop = Certificates::new("purposes");
    let root = shop.make("root", None, &[CA, SIGNS]);
    let all = [Ike, TlsServer, TlsClient];
    for (listed, good_for) in [
        (None, &all[..]),
        (Some("anyExtendedKeyUsage"), &all),
        (Some("serverAuth"), &[Ike, TlsServer]),
        (Some("clientAuth"), &[Ike, TlsClient]),
        (Some("codeSigning,serverAuth,clientAuth"), &all),
        (Some("ipsecIKE"), &[Ike]),
        (Some("ipsecEndSystem"), &[Ike]),
        (Some("ipsecTunnel"), &[Ike]),
        (Some("ipsecUser"), &[Ike]),
        (Some("1.3.6.1.5.5.8.2.2"), &[Ike]),
        (Some("codeSigning"), &[]),
        (Some("emailProtection,timeStamping,OCSPSigning"), &[]),
    ] {
        let purposes = listed.map(|listed| format!("extendedKeyUsage={listed}"));
        let extensions: Vec<&str> = [END_ENTITY].into_iter().chain(purposes.as_deref()).collect();
        let leaf = shop.make("leaf", Some("root"), &extensions);
        let constrained: Vec<&str> = [CA, SIGNS].into_iter().chain(purposes.as_deref()).collect();
        let middle = shop.make("middle", Some("root"), &constrained);
        let below = shop.make("below", Some("middle"), &[END_ENTITY]);
        for purpose in all {
            let expected = if good_for.contains(&purpose) { Ok(()) } else { Err(NOT_ACCEPTABLE) };
            let anchors = anchors(&[&root]).for_purpose(purpose);
            let found = judged(&anchors, std::slice::from_ref(&leaf), Time::ZERO);
            assert_eq!(found, expected, "{listed:?} for {purpose:?}");
            let found = judged(&anchors, &[below.clone(), middle.clone()], Time::ZERO);
            assert_eq!(found, expected, "an authority with {listed:?} for {purpose:?}");
        }
    }
}

#[test]
fn an_authority_with_a_weak_key_vouches_for_nobody() {
    let shop = Certificates::new("weak-authority");
    for (bits, expected) in [("768", Err(CertificateError::BadSignature)), ("1024", Ok(())), ("2048", Ok(()))]
    {
        let root = shop.make_with_key("rsa", bits, "root", None, &[CA, SIGNS]);
        let leaf = shop.make("leaf", Some("root"), &[END_ENTITY]);
        assert_eq!(verdict(&root, &[&leaf]), expected, "{bits} bits");
    }
}

#[test]
fn time_moves_on_while_engines_judge() {
    let shop = Certificates::new("time");
    let root = shop.make("root", None, &[CA, SIGNS]);
    let leaf = shop.make("leaf", Some("root"), &[END_ENTITY]);
    let dates =
        openssl(&["x509", "-in", &shop.file("leaf.pem"), "-noout", "-startdate", "-dateopt", "iso_8601"]);
    assert!(dates.starts_with("notBefore="), "{dates}");
    let (begins, ends) = validity(&leaf);
    let at = |zero: u64, seconds: u64, chain: &Vec<u8>, root: &[u8]| {
        let anchors = Anchors::new([root], zero, &mut Real::default()).unwrap();
        judged(&anchors, std::slice::from_ref(chain), Time::from_nanos(seconds * 1_000_000_000))
    };
    // The same anchors, minutes later: a path, and a certificate that is trusted as itself.
    let pinned = shop.make("pinned", None, &[END_ENTITY]);
    let (pinned_begins, pinned_ends) = validity(&pinned);
    for (chain, root, (begins, ends)) in
        [(&leaf, &root, (begins, ends)), (&pinned, &pinned, (pinned_begins, pinned_ends))]
    {
        assert_eq!(at(begins - 60, 59, chain, root), Err(CertificateError::NotYetValid));
        assert_eq!(at(begins - 60, 60, chain, root), Ok(()));
        assert_eq!(at(ends - 60, 0, chain, root), Ok(()));
        assert_eq!(at(ends - 60, 60, chain, root), Ok(()));
        assert_eq!(at(ends - 60, 61, chain, root), Err(CertificateError::Expired));
    }
    // A corrected clock takes effect at once.
    let anchors = Anchors::new([&root[..]], 0, &mut Real::default()).unwrap();
    let now = Time::from_nanos(5_000_000_000);
    let chain = [leaf];
    assert_eq!(judged(&anchors, &chain, now), Err(CertificateError::NotYetValid));
    anchors.renew_calendar(THEN);
    assert_eq!(judged(&anchors, &chain, now), Ok(()));
    assert!(format!("{anchors:?}").starts_with("Anchors(1 certificates, for Ike"), "{anchors:?}");
}

/// The beginning and end of a certificate's validity, by bisection over verdicts of anchors that trust it directly.
fn validity(certificate: &[u8]) -> (u64, u64) {
    let at = |unix_seconds| {
        let anchors = Anchors::new([certificate], unix_seconds, &mut Real::default()).unwrap();
        anchors.verify(&[certificate], Time::ZERO, &mut Real::default()).map(|_| ())
    };
    let first = |is_past: &dyn Fn(Result<(), CertificateError>) -> bool| {
        let (mut below, mut above) = (0, 1 << 34);
        while above - below > 1 {
            let middle = u64::midpoint(below, above);
            if is_past(at(middle)) { above = middle } else { below = middle }
        }
        above
    };
    let begins = first(&|verdict| verdict != Err(CertificateError::NotYetValid));
    let ends = first(&|verdict| verdict == Err(CertificateError::Expired)) - 1;
    (begins, ends)
}
