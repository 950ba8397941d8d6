//! Valid chains verify, whatever the keys; each kind of damage has its own error.

use crate::common;

use common::*;
use keytoll_crypto::{Metered, Null, Real, keys};
use keytoll_crypto_api::Seed;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, CertificateError, Trust};
use keytoll_engine::Time;
use keytoll_pki::{Anchors, Authority, Request, Validity, describe, pem};
use proptest::prelude::*;

const OFTEN: [KeyKind; 2] = [KeyKind::Rsa2048, KeyKind::EcdsaP256];

#[test]
fn chains_of_every_length_verify_and_name_the_peer() {
    for kind in OFTEN {
        let mut authority = authority(kind, 1);
        for length in 1..=4 {
            let credential = issue(&mut authority, kind, length);
            assert_eq!(credential.chain.len(), (length - 1).max(1), "the root is not sent");
            let peer = verify(&authority.anchor_for(&credential), &credential.chain).unwrap();
            assert_eq!(peer.spki, *credential.key.spki);
            assert_eq!(peer.alternatives, names());
            assert!(peer.subject.windows(GATEWAY.len()).any(|name| name == GATEWAY.as_bytes()));
        }
    }
}

#[test]
fn every_kind_of_key_can_be_authority_and_end_entity() {
    for &kind in KeyKind::ALL.iter().filter(|&&kind| kind != KeyKind::Rsa4096) {
        let mut authority = authority(kind, 2);
        let credential = issue(&mut authority, kind, 3);
        verify(&authority.anchor(), &credential.chain).unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
}

#[test]
fn openssl_accepts_every_chain() {
    let directory = directory("openssl");
    for kind in
        [KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519]
    {
        let mut authority = authority(kind, 1);
        for length in 1..=4 {
            let credential = issue(&mut authority, kind, length);
            let file = |name| directory.join(name).to_str().unwrap().to_owned();
            let (root, leaf, rest) = (file("root.pem"), file("leaf.pem"), file("rest.pem"));
            pem::write_certificates(root.as_ref(), &[authority.anchor_for(&credential)]).unwrap();
            pem::write_certificates(leaf.as_ref(), &credential.chain[..1]).unwrap();
            pem::write_certificates(rest.as_ref(), &credential.chain[1..]).unwrap();
            let now = NOW.to_string();
            let mut arguments = vec!["verify", "-x509_strict", "-attime", &now, "-CAfile", &root];
            arguments.extend(if length > 2 { vec!["-untrusted", &rest] } else { vec![] });
            // A self-signed certificate is no authority, so OpenSSL needs an option to let it end the path.
            arguments.extend(if length == 1 { vec!["-partial_chain"] } else { vec![] });
            arguments.push(&leaf);
            assert!(openssl(&arguments).contains(": OK"), "{kind}, {length} certificates");
        }
    }
}

#[test]
fn a_chain_costs_one_verification_per_certificate_below_the_root() {
    for length in 1..=4 {
        let mut authority = authority(KeyKind::EcdsaP256, 1);
        let credential = issue(&mut authority, KeyKind::EcdsaP256, length);
        let mut meter = Metered::count_only(Real::default());
        let anchor = authority.anchor_for(&credential);
        let anchors = Anchors::new([&anchor[..]], NOW, &mut meter).unwrap();
        let chain: Vec<&[u8]> = credential.chain.iter().map(Vec::as_slice).collect();
        anchors.verify(&chain, Time::ZERO, &mut meter).unwrap();
        let verifications: u64 =
            meter.snapshot().iter().filter(|row| row.operation == "verify").map(|row| row.count).sum();
        assert_eq!(verifications, length as u64 - 1);
    }
}

#[test]
fn null_cryptography_accepts_chains_of_both_worlds() {
    for kind in OFTEN {
        let (null_authority, pretended) = null_authority_and_credential(kind, 4);
        let mut authority = authority(kind, 1);
        let real = issue(&mut authority, kind, 4);
        for (anchor, credential) in [(null_authority.anchor(), pretended), (authority.anchor(), real)] {
            let anchors = Anchors::new([&anchor[..]], NOW, &mut Null).unwrap();
            let chain: Vec<&[u8]> = credential.chain.iter().map(Vec::as_slice).collect();
            assert_eq!(anchors.verify(&chain, Time::ZERO, &mut Null).unwrap().alternatives, names());
        }
    }
}

#[test]
fn lengths_depend_on_neither_seed_nor_chance_and_null_has_the_same() {
    let lengths = |chain: &[Vec<u8>]| chain.iter().map(Vec::len).collect::<Vec<_>>();
    for kind in [KeyKind::Rsa1024, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521] {
        let (_, pretended) = null_authority_and_credential(kind, 4);
        for seed in 0..10 {
            let credential = issue(&mut authority(kind, seed), kind, 4);
            assert_eq!(lengths(&credential.chain), lengths(&pretended.chain), "{kind}, seed {seed}");
        }
    }
}

#[test]
fn one_seed_gives_one_chain_and_another_seed_another() {
    // RSA with PKCS #1 padding is deterministic, so the bytes are the same, signatures included.
    let chain = |seed| issue(&mut authority(KeyKind::Rsa1024, seed), KeyKind::Rsa1024, 4).chain;
    assert_eq!(chain(1), chain(1));
    assert_ne!(chain(1)[0], chain(2)[0]);
}

#[test]
fn intermediates_are_shared_between_end_entities() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let (first, second) =
        (issue(&mut authority, KeyKind::EcdsaP256, 4), issue(&mut authority, KeyKind::Rsa1024, 4));
    assert_eq!(first.chain[1..], second.chain[1..]);
    assert_eq!(issue(&mut authority, KeyKind::Ed25519, 3).chain[1], first.chain[2]);
}

#[test]
fn the_order_of_the_intermediates_and_strangers_among_them_do_not_matter() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let chain = issue(&mut authority, KeyKind::EcdsaP256, 4).chain;
    let stranger = common::authority(KeyKind::EcdsaP256, 9).anchor();
    let shuffled = [chain[0].clone(), chain[2].clone(), stranger, authority.anchor(), chain[1].clone()];
    verify(&authority.anchor(), &shuffled).unwrap();
}

#[test]
fn dates_are_kept_to_the_second() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    for length in [1, 2, 3] {
        let credential = issue(&mut authority, KeyKind::EcdsaP256, length);
        let anchor = authority.anchor_for(&credential);
        let at = |time| verify_at(&anchor, &credential.chain, time).map(|_| ());
        assert_eq!(at(DECADE.from_unix_seconds - 1), Err(CertificateError::NotYetValid));
        assert_eq!(at(DECADE.from_unix_seconds), Ok(()));
        assert_eq!(at(DECADE.until_unix_seconds), Ok(()));
        assert_eq!(at(DECADE.until_unix_seconds + 1), Err(CertificateError::Expired));
    }
}

#[test]
fn an_issuer_that_nobody_trusts_is_unknown() {
    let mut authority =
        Authority::new(KeyKind::EcdsaP256, DECADE, &Seed::from(1), &mut keys::generate, &mut Real::default());
    let chain = issue(&mut authority, KeyKind::EcdsaP256, 2).chain;
    let other = issue(&mut common::authority(KeyKind::EcdsaP256, 2), KeyKind::EcdsaP256, 1).chain;
    assert_eq!(verify(&other[0], &chain), Err(CertificateError::UnknownIssuer));
    assert_eq!(
        Anchors::new([], NOW, &mut Null).unwrap().verify(&[&chain[0]], Time::ZERO, &mut Null),
        Err(CertificateError::UnknownIssuer)
    );
}

#[test]
fn an_impostor_with_the_issuers_name_has_signed_badly() {
    let chain = issue(&mut authority(KeyKind::EcdsaP256, 1), KeyKind::EcdsaP256, 2).chain;
    let namesake = authority(KeyKind::EcdsaP256, 2).anchor();
    assert_eq!(verify(&namesake, &chain), Err(CertificateError::BadSignature));
}

#[test]
fn a_flipped_signature_bit_is_a_bad_signature_anywhere_in_the_chain() {
    for kind in OFTEN {
        let mut authority = authority(kind, 1);
        let chain = issue(&mut authority, kind, 4).chain;
        for at in 0..3 {
            let mut damaged = chain.to_vec();
            *damaged[at].last_mut().unwrap() ^= 1;
            assert_eq!(
                verify(&authority.anchor(), &damaged),
                Err(CertificateError::BadSignature),
                "{kind} {at}"
            );
        }
    }
}

#[test]
fn a_missing_intermediate_leaves_the_issuer_unknown() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let chain = issue(&mut authority, KeyKind::EcdsaP256, 4).chain;
    for missing in [1, 2] {
        let mut short = chain.to_vec();
        short.remove(missing);
        assert_eq!(verify(&authority.anchor(), &short), Err(CertificateError::UnknownIssuer), "{missing}");
    }
}

#[test]
fn an_end_entity_is_no_authority() {
    let (mut ours, mut crypto) = (authority(KeyKind::EcdsaP256, 1), Real::default());
    let mut end_entity = |authority: &mut Authority, name| {
        let request = Request { name, alternatives: &[], kind: KeyKind::EcdsaP256, chain_length: 2 };
        authority.issue(&request, &mut keys::generate, &mut crypto).chain[0].clone()
    };
    // A stranger's authority is called root. We issue an end entity of that name, which then poses as the issuer.
    let victim = end_entity(&mut authority(KeyKind::EcdsaP256, 7), "victim");
    let posing = end_entity(&mut ours, "root");
    // The anchor must not be called root itself, or the path would end there.
    let anchor = issue(&mut ours, KeyKind::EcdsaP256, 1).chain[0].clone();
    assert_eq!(verify(&anchor, &[victim, posing]), Err(CertificateError::NotAcceptable));
}

#[test]
fn an_authority_is_no_end_entity() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let intermediate = issue(&mut authority, KeyKind::EcdsaP256, 3).chain[1].clone();
    assert_eq!(verify(&authority.anchor(), &[intermediate]), Err(CertificateError::NotAcceptable));
}

#[test]
fn sha1_signatures_and_small_keys_are_refused() {
    let directory = directory("weak");
    let file = |name| directory.join(name).to_str().unwrap().to_owned();
    let (key, certificate) = (file("key.pem"), file("cert.pem"));
    let make = |bits: &str, hash: &str, name: &str, extra: &[&str]| {
        let subject = format!("/CN={name}");
        let kind = format!("rsa:{bits}");
        let mut arguments =
            vec!["req", "-x509", "-newkey", &kind, "-nodes", "-keyout", &key, "-out", &certificate];
        arguments.extend(["-days", "36500", "-subj", &subject, hash]);
        arguments.extend(extra);
        openssl(&arguments);
        pem::load_certificates(certificate.as_ref()).unwrap().remove(0)
    };
    let anchor = make("2048", "-sha256", "root", &[]);
    let (root_key, root) = (file("root-key.pem"), file("root.pem"));
    std::fs::rename(&key, &root_key).unwrap();
    std::fs::rename(&certificate, &root).unwrap();
    let signed = ["-CA", &root, "-CAkey", &root_key, "-addext", "basicConstraints=critical,CA:FALSE"];
    let now = 2_000_000_000;
    let outcome = |leaf| verify_at(&anchor, &[leaf], now).map(|_| ());
    assert_eq!(outcome(make("2048", "-sha256", "leaf", &signed)), Ok(()));
    assert_eq!(outcome(make("2048", "-sha1", "leaf", &signed)), Err(CertificateError::NotAcceptable));
    assert_eq!(outcome(make("768", "-sha256", "leaf", &signed)), Err(CertificateError::NotAcceptable));
    let usage = [&signed[..], &["-addext", "keyUsage=critical,keyEncipherment"]].concat();
    assert_eq!(outcome(make("2048", "-sha256", "leaf", &usage)), Err(CertificateError::NotAcceptable));
}

#[test]
fn authorities_are_named_as_openssl_names_them() {
    let directory = directory("authorities");
    let root = authority(KeyKind::EcdsaP256, 1).anchor();
    let (pem_file, spki) = (directory.join("root.pem"), directory.join("spki.pem"));
    pem::write_certificates(&pem_file, std::slice::from_ref(&root)).unwrap();
    let public = openssl(&["x509", "-in", pem_file.to_str().unwrap(), "-pubkey", "-noout"]);
    std::fs::write(&spki, public).unwrap();
    let der = directory.join("spki.der");
    openssl(&[
        "pkey",
        "-pubin",
        "-in",
        spki.to_str().unwrap(),
        "-outform",
        "DER",
        "-out",
        der.to_str().unwrap(),
    ]);
    let expected = openssl(&["dgst", "-sha1", "-r", der.to_str().unwrap()]);
    let anchors = Anchors::new([&root[..]], NOW, &mut Real::default()).unwrap();
    let ours: String = anchors.authorities()[0].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(expected.starts_with(&ours), "{expected} is not {ours}");
}

/// RFC 7296 §3.7: CERTREQ lists all trusted authorities and none below them.
#[test]
fn every_anchor_is_listed_and_nothing_that_a_peer_sends() {
    let roots = [1, 2, 3].map(|seed| authority(KeyKind::EcdsaP256, seed));
    let named = |roots: &[Vec<u8>]| {
        let anchors = Anchors::new(roots.iter().map(Vec::as_slice), NOW, &mut Real::default())
            .expect("they are certificates");
        anchors.authorities().to_vec()
    };
    let alone: Vec<_> = roots.iter().flat_map(|root| named(&[root.anchor()])).collect();
    let together: Vec<_> = roots.iter().map(Authority::anchor).collect();
    assert_eq!(named(&together), alone, "in the order in which they were given");
    assert_eq!(
        alone.iter().collect::<std::collections::BTreeSet<_>>().len(),
        3,
        "each has a name of its own"
    );
    assert!(named(&[]).is_empty());

    let mut root = authority(KeyKind::EcdsaP256, 1);
    let chain = issue(&mut root, KeyKind::EcdsaP256, 4).chain;
    let anchors = Anchors::new([&root.anchor()[..]], NOW, &mut Real::default()).expect("it is a certificate");
    judged(&anchors, &chain, Time::ZERO).expect("the chain is right");
    assert_eq!(anchors.authorities(), &alone[..1], "an intermediate that somebody sent is not asked for");
}

#[test]
fn a_certificate_without_names_has_none() {
    let (mut authority, mut crypto) = (authority(KeyKind::Ed25519, 1), Real::default());
    let request = Request { name: "alice", alternatives: &[], kind: KeyKind::Ed25519, chain_length: 2 };
    let credential = authority.issue(&request, &mut keys::generate, &mut crypto);
    assert_eq!(describe(&credential.chain[0]).unwrap().alternatives, Vec::<AlternativeName>::new());
}

/// A comma in an organisation's name must not turn one holder into another.
#[test]
fn names_that_differ_differ_as_text_and_what_cannot_be_shown_is_no_name() {
    let file = directory("names").join("name.pem");
    let made = |subject: &str, more: &[&str]| {
        let out = file.to_str().unwrap();
        let key = ["req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "/dev/null", "-out", out];
        openssl(&[&key[..], &["-subj", subject], more].concat());
        describe(&pem::load_certificates(&file).unwrap()[0]).unwrap()
    };
    let text = |subject: &str| made(subject, &["-utf8"]).subject_text;
    assert_eq!(text("/O=a/CN=boss"), "O=a, CN=boss");
    assert_eq!(text("/O=a, CN=boss"), r"O=a\, CN\=boss");
    assert_eq!(text("/O=a+CN=boss"), "O=a + CN=boss");
    assert_eq!(text("/O=a \\+ CN=boss"), r"O=a \+ CN\=boss");
    assert_eq!(text("/2.5.4.41=Müller"), "name=Müller");
    let settings = directory("names-shown").join("settings");
    std::fs::write(&settings, "[req]\nstring_mask=MASK:0x800\ndistinguished_name=dn\n[dn]\n").unwrap();
    let hidden = |subject| made(subject, &["-config", settings.to_str().unwrap()]);
    for subject in ["/CN=one", "/CN=another"] {
        let peer = hidden(subject);
        assert_eq!((peer.subject_text.as_str(), peer.holder()), ("", None), "{subject} is a BMPString");
    }
}

#[test]
fn dates_beyond_2050_work_too() {
    let century = Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 4_922_899_200 };
    let mut crypto = Real::default();
    let mut authority =
        Authority::new(KeyKind::Ed25519, century, &Seed::from(1), &mut keys::generate, &mut crypto);
    let chain = issue(&mut authority, KeyKind::Ed25519, 2).chain;
    assert!(verify_at(&authority.anchor(), &chain, 4_922_899_200).is_ok());
    assert_eq!(verify_at(&authority.anchor(), &chain, 4_922_899_201), Err(CertificateError::Expired));
}

#[test]
fn every_truncation_is_an_error() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let chain = issue(&mut authority, KeyKind::EcdsaP256, 3).chain;
    for at in 0..2 {
        for len in 0..chain[at].len() {
            let mut damaged = chain.to_vec();
            damaged[at].truncate(len);
            let found = verify(&authority.anchor(), &damaged);
            // A damaged intermediate is unknown, even as the issuer.
            let expected =
                if at == 0 { CertificateError::Malformed } else { CertificateError::UnknownIssuer };
            assert!(
                found == Err(expected) || found == Err(CertificateError::Malformed),
                "{at}, {len}: {found:?}"
            );
            assert!(Anchors::new([&damaged[at][..]], NOW, &mut Null).is_err());
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    let mut authority = authority(KeyKind::EcdsaP256, 1);
    let chain = issue(&mut authority, KeyKind::EcdsaP256, 2).chain;
    for bit in 0..chain[0].len() * 8 {
        let mut damaged = chain[0].clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&authority.anchor(), &[damaged]).is_err(), "bit {bit} protects nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_make_a_certificate_by_chance_or_panic(
        prefix in 0..700_usize,
        tail in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        use std::sync::OnceLock;
        static SOUND: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
        let (anchor, sound) = SOUND.get_or_init(|| {
            let mut authority = authority(KeyKind::EcdsaP256, 1);
            let leaf = issue(&mut authority, KeyKind::EcdsaP256, 2).chain[0].clone();
            (authority.anchor(), leaf)
        });
        let mut damaged = sound[..prefix.min(sound.len())].to_vec();
        damaged.extend(tail);
        prop_assume!(damaged != *sound);
        prop_assert!(verify(anchor, &[damaged]).is_err());
    }
}
