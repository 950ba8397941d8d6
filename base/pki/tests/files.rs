//! Files made by OpenSSL can be read; errors name the file and the problem.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::*;
use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};
use keytoll_pki::pem::{self, FileProblem};
use proptest::prelude::*;

fn text(path: &Path) -> &str {
    path.to_str().expect("paths in the target directory are UTF-8")
}

/// A key in OpenSSL's default form (PKCS #8) and one of the older ones, made from each other.
fn make_key(directory: &Path, algorithm: &[&str], older: &str) -> (PathBuf, PathBuf) {
    let (new, old) = (directory.join("key.pem"), directory.join("old.pem"));
    openssl(&[&["genpkey", "-out", text(&new)], algorithm].concat());
    openssl(&[older, "-in", text(&new), "-traditional", "-out", text(&old)]);
    (new, old)
}

#[test]
fn keys_of_every_form_load_as_the_same_key() {
    let directory = directory("forms");
    let rsa: &[&str] = &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    let ec: &[&str] = &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    for (algorithm, older, kind) in [(rsa, "rsa", KeyKind::Rsa2048), (ec, "pkey", KeyKind::EcdsaP256)] {
        let (new, old) = make_key(&directory, algorithm, older);
        assert!(fs::read_to_string(&old).unwrap().contains(if older == "rsa" {
            "RSA PRIVATE"
        } else {
            "EC PRIVATE"
        }));
        let load = |path: &Path| keys::from_pkcs8(&pem::load_private_key(path).unwrap()).unwrap();
        let (new_key, old_key) = (load(&new), load(&old));
        assert_eq!((new_key.kind, old_key.kind), (kind, kind));
        assert_eq!(new_key.spki, old_key.spki);
        for path in [&new, &old] {
            let der = directory.join("key.der");
            openssl(&["pkey", "-in", text(path), "-outform", "DER", "-out", text(&der)]);
            assert_eq!(load(&der).spki, new_key.spki);
        }
    }
}

#[test]
fn a_key_and_certificate_of_openssl_belong_together() {
    let directory = directory("pair");
    let (key, certificate) = (directory.join("key.pem"), directory.join("cert.pem"));
    openssl(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        text(&key),
        "-out",
        text(&certificate),
    ]);
    let key = keys::from_pkcs8(&pem::load_private_key(&key).unwrap()).unwrap();
    let certificate = pem::load_certificates(&certificate).unwrap().remove(0);
    let (mut crypto, scheme) = (Real::default(), SignatureScheme::EcdsaDer(Hash::Sha256));
    let signature = crypto.sign(&key, scheme, &[b"hello"]);
    let spki = keytoll_pki::describe(&certificate).unwrap().spki;
    crypto.verify(&spki, scheme, &[b"hello"], &signature).unwrap();
}

#[test]
fn public_keys_come_from_openssl_and_out_of_certificates() {
    let directory = directory("public");
    let [key, public, der] = ["key.pem", "public.pem", "public.der"].map(|name| directory.join(name));
    openssl(&["genrsa", "-out", text(&key), "1024"]);
    openssl(&["rsa", "-in", text(&key), "-pubout", "-out", text(&public)]);
    openssl(&["rsa", "-in", text(&key), "-pubout", "-outform", "DER", "-out", text(&der)]);
    let spki = pem::load_public_key(&public).unwrap();
    assert_eq!(pem::load_public_key(&der).unwrap(), spki);
    assert_eq!(*keys::from_pkcs8(&pem::load_private_key(&key).unwrap()).unwrap().spki, spki);
    let credential = issue(&mut authority(KeyKind::Rsa2048, 1), KeyKind::Rsa2048, 2);
    assert_eq!(pem::parse_public_key(&credential.chain[0]).unwrap(), *credential.key.spki);
    assert!(
        matches!(pem::load_public_key(&key), Err(error) if error.to_string().ends_with("holds no public key"))
    );
    assert!(matches!(pem::parse_public_key(&spki[..spki.len() - 1]), Err(FileProblem::Missing(_))));
    assert!(matches!(pem::parse_public_key(&[0x30, 0]), Err(FileProblem::PublicKey)));
}

#[test]
fn parameters_before_an_ec_key_are_passed_over() {
    let directory = directory("parameters");
    let path = directory.join("key.pem");
    openssl(&["ecparam", "-name", "secp384r1", "-genkey", "-out", text(&path)]);
    assert!(fs::read_to_string(&path).unwrap().contains("EC PARAMETERS"));
    let key = keys::from_pkcs8(&pem::load_private_key(&path).unwrap()).unwrap();
    assert_eq!(key.kind, KeyKind::EcdsaP384);
}

#[test]
fn what_we_write_openssl_reads_and_nobody_else_may_read_the_key() {
    let directory = directory("write");
    let mut authority = authority(KeyKind::Rsa2048, 1);
    let credential = issue(&mut authority, KeyKind::Rsa2048, 4);
    let (key, chain) = (directory.join("key.pem"), directory.join("chain.pem"));
    fs::write(&key, "an older file that anybody may read").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let pkcs8 = keys::to_pkcs8(&credential.key).unwrap();
    pem::write_private_key(&key, &pkcs8).unwrap();
    pem::write_certificates(&chain, &credential.chain).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(openssl(&["pkey", "-in", text(&key), "-check", "-noout"]).contains("valid"));
    assert_eq!(pem::load_private_key(&key).unwrap(), pkcs8);
    assert_eq!(pem::load_certificates(&chain).unwrap(), *credential.chain);
    let ours = openssl(&["x509", "-in", text(&chain), "-noout", "-ext", "subjectAltName,keyUsage"]);
    for part in [GATEWAY, "email:gw@example.org", "IP Address:192.0.2.1", "2001:DB8", "Digital Signature"] {
        assert!(ours.contains(part), "{part} is missing in {ours}");
    }
}

#[test]
fn problems_name_the_file_and_what_is_wrong() {
    let directory = directory("problems");
    let path = directory.join("f.pem");
    let certificate = issue(&mut authority(KeyKind::Ed25519, 1), KeyKind::Ed25519, 1).chain[0].clone();
    pem::write_certificates(&path, &[certificate]).unwrap();
    let sound = fs::read_to_string(&path).unwrap();
    let certificates = |content: &str| {
        fs::write(&path, content).unwrap();
        pem::load_certificates(&path).unwrap_err().to_string()
    };
    let says = |message: String, parts: &[&str]| {
        assert!(message.contains("f.pem"), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "{part:?} is missing in {message:?}"));
    };
    says(certificates("hello"), &["read certificates from", "no certificate"]);
    says(certificates(""), &["no certificate"]);
    says(certificates(&sound[..sound.len() - 30]), &["damaged PEM", "-----END CERTIFICATE-----"]);
    says(certificates(&sound.replace("MII", "M!I")), &["damaged PEM", "base64"]);
    let second = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    says(certificates(&format!("{sound}{second}")), &["certificate 2 is malformed"]);
    fs::write(&path, &sound).unwrap();
    says(pem::load_private_key(&path).unwrap_err().to_string(), &["a private key from", "no private key"]);
    let absent = directory.join("absent").join("f.pem");
    says(pem::load_certificates(&absent).unwrap_err().to_string(), &["No such file"]);
    says(
        pem::write_private_key(&absent, &[]).unwrap_err().to_string(),
        &["write a private key to", "No such file"],
    );
}

#[test]
fn encrypted_keys_are_recognised_in_each_form() {
    let directory = directory("encrypted");
    let (plain, secret) = (directory.join("plain.pem"), directory.join("secret.pem"));
    openssl(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", text(&plain)]);
    let forms = [
        &["pkey", "-aes128"][..],
        &["pkey", "-traditional", "-aes128"],
        &["pkcs8", "-topk8", "-v2", "aes128"],
        &["pkcs8", "-topk8", "-v2", "aes128", "-outform", "DER"],
    ];
    for arguments in forms {
        openssl(&[arguments, &["-in", text(&plain), "-out", text(&secret), "-passout", "pass:x"]].concat());
        let problem = pem::load_private_key(&secret).unwrap_err().why;
        assert!(matches!(problem, FileProblem::Encrypted), "{arguments:?}: {problem}");
    }
}

#[test]
fn an_ec_key_without_its_curve_says_so() {
    let bare = [&[0x30, 0x25, 2, 1, 1, 4, 0x20][..], &[7; 32]].concat();
    assert!(matches!(pem::parse_private_key(&bare), Err(FileProblem::CurveMissing)));
}

proptest! {
    #[test]
    fn keys_of_any_bytes_come_back_from_pem(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let directory = directory("any");
        let path = directory.join("key.pem");
        // A PKCS #8 wrapper around anything: the provider decides what the key means.
        let len = u16::try_from(body.len() + 5 + 4).unwrap().to_be_bytes();
        let inner = u16::try_from(body.len()).unwrap().to_be_bytes();
        let shell = [&[0x30, 0x82, len[0], len[1], 2, 1, 0, 0x30, 0, 4, 0x82, inner[0], inner[1]][..], &body].concat();
        pem::write_private_key(&path, &shell).unwrap();
        prop_assert_eq!(&*pem::load_private_key(&path).unwrap(), &shell);
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(pem::parse_certificates(&bytes).is_err());
        let _ = pem::parse_private_key(&bytes);
    }

    #[test]
    fn truncated_pem_is_refused(len in 0..2000_usize) {
        let certificate = issue(&mut authority(KeyKind::Ed25519, 1), KeyKind::Ed25519, 1).chain[0].clone();
        let path = directory("cut").join("cert.pem");
        pem::write_certificates(&path, &[certificate]).unwrap();
        let text = fs::read(&path).unwrap();
        // The last byte is the newline after the end marker, which may be missing.
        prop_assume!(len < text.len() - 1);
        prop_assert!(pem::parse_certificates(&text[..len]).is_err());
    }
}
