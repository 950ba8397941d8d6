//! Published test vectors, one file per family in `tests/published/`; each file names its source.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use keytoll_crypto::{Exponents, Real};
use keytoll_crypto_api::algorithm::{
    Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{Crypto, PrivateKey, Secret};

/// The lines of a file, cut into fields; at least as many as the file was written with.
fn vectors<const FIELDS: usize>(text: &'static str, lines: usize) -> Vec<[&'static str; FIELDS]> {
    let vectors: Vec<[&str; FIELDS]> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().try_into().unwrap())
        .collect();
    assert_eq!(vectors.len(), lines, "no vector got lost");
    vectors
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex = if hex == "-" { "" } else { hex };
    assert!(hex.len().is_multiple_of(2), "whole bytes in {hex}");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A few ways of cutting a message in two; none may matter.
fn cuts(message: &[u8]) -> impl Iterator<Item = [&[u8]; 2]> {
    [0, 1, 15, 16, 17, 64, message.len()]
        .into_iter()
        .filter(|&at| at <= message.len())
        .map(|at| message.split_at(at).into())
}

fn real() -> Real {
    Real::new(Exponents::Short)
}

#[test]
fn hashes() {
    for [algorithm, message, digest] in vectors(include_str!("published/hash.txt"), 34) {
        let algorithm = Hash::named(algorithm).unwrap();
        for parts in cuts(&bytes(message)) {
            assert_eq!(real().hash(algorithm, &parts)[..], bytes(digest), "{algorithm} {message}");
        }
    }
}

#[test]
fn prfs_and_integrity_checks() {
    for [prf, integrity, key, message, output] in vectors(include_str!("published/mac.txt"), 49) {
        let (key, message, output) = (bytes(key), bytes(message), bytes(output));
        for parts in cuts(&message) {
            check_prf(Prf::named(prf).unwrap(), &key, &parts, &output);
            if let Some(integrity) = Integrity::named(integrity) {
                check_integrity(integrity, &key, &parts, &output);
            }
        }
    }
}

fn check_prf(prf: Prf, key: &[u8], parts: &[&[u8]], output: &[u8]) {
    let computed = real().prf(prf, key, parts);
    // RFC 2202 and RFC 4231 give one output cut to 128 bits.
    assert_eq!(computed[..output.len()], *output, "{prf} of {parts:02x?}");
    assert_eq!(computed.len(), prf.output_len());
}

fn check_integrity(integrity: Integrity, key: &[u8], parts: &[&[u8]], output: &[u8]) {
    let cut = &output[..integrity.tag_len().min(output.len())];
    let tag = real().mac(integrity, key, parts);
    assert_eq!(tag[..cut.len()], *cut, "{integrity} of {parts:02x?}");
    assert_eq!(real().verify_mac(integrity, key, parts, &tag), Ok(()));
    let mut wrong = tag.clone();
    wrong[0] ^= 1;
    assert!(real().verify_mac(integrity, key, parts, &wrong).is_err());
    assert!(real().verify_mac(integrity, key, parts, &tag[1..]).is_err());
}

#[test]
fn ciphers() {
    for [algorithm, key, iv, aad, plain, cipher, tag] in vectors(include_str!("published/cipher.txt"), 50) {
        let algorithm = Encryption::named(algorithm).unwrap();
        let [key, iv, aad, plain, cipher, tag] = [key, iv, aad, plain, cipher, tag].map(bytes);
        let (mut data, mut made) = (plain.clone(), vec![0; tag.len()]);
        real().encrypt(algorithm, &key, &iv, &aad, &mut data, &mut made);
        assert_eq!((&data, &made), (&cipher, &tag), "{algorithm}");
        assert_eq!(real().decrypt(algorithm, &key, &iv, &aad, &mut data, &tag), Ok(()), "{algorithm}");
        assert_eq!(data, plain, "{algorithm}");
        if algorithm.is_aead() {
            made[0] ^= 0x80;
            assert!(real().decrypt(algorithm, &key, &iv, &aad, &mut cipher.clone(), &made).is_err());
        }
    }
}

#[test]
fn agreements() {
    for [group, ours, theirs, our_public, their_public, secret] in
        vectors(include_str!("published/agreement.txt"), 4)
    {
        let group = Group::named(group).unwrap();
        let public = |private, published: &str| {
            let public = public_value(group, &bytes(private));
            assert!(published == "-" || public == bytes(published), "{group}: public value of {private}");
            public
        };
        let (our_public, their_public) = (public(ours, our_public), public(theirs, their_public));
        let agree = |private: &str, peer: &[u8]| {
            let private = PrivateKey { group, secret: Secret::new(bytes(private)) };
            real().agree(&private, peer).unwrap().to_vec()
        };
        assert_eq!(agree(ours, &their_public), bytes(secret), "{group}");
        assert_eq!(agree(theirs, &our_public), bytes(secret), "{group}");
    }
}

fn public_value(group: Group, private: &[u8]) -> Vec<u8> {
    use keytoll_native::awslc::{ec::Curve, x25519};
    let mut public = vec![0; group.public_len()];
    let valid = match group {
        Group::Ecp256 => Curve::P256.public(private, &mut public),
        Group::Ecp384 => Curve::P384.public(private, &mut public),
        Group::Ecp521 => Curve::P521.public(private, &mut public),
        _ => {
            public = x25519::public(private.try_into().unwrap()).to_vec();
            true
        }
    };
    assert!(valid, "{group}: a scalar below the order");
    public
}

/// RFC 7748 §5.2: 1 and 1000 rounds of k, u = X25519(k, u), k.
#[test]
fn x25519_iterated() {
    let base = {
        let mut base = [0; 32];
        base[0] = 9;
        base
    };
    let (mut k, mut u) = (base, base);
    for round in 1..=1000 {
        let mut next = [0; 32];
        assert!(keytoll_native::awslc::x25519::agree(&k, &u, &mut next));
        (u, k) = (k, next);
        if round == 1 {
            assert_eq!(k[..], bytes("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"));
        }
    }
    assert_eq!(k[..], bytes("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

#[test]
fn signatures() {
    for [scheme, hash, spki, message, signature] in vectors(include_str!("published/signature.txt"), 12) {
        let scheme = match (scheme, Hash::named(hash)) {
            ("ecdsa-raw", Some(hash)) => SignatureScheme::EcdsaRaw(hash),
            ("ed25519", None) => SignatureScheme::Ed25519,
            other => panic!("no such scheme: {other:?}"),
        };
        let [spki, message, signature] = [spki, message, signature].map(bytes);
        for parts in cuts(&message) {
            assert_eq!(real().verify(&spki, scheme, &parts, &signature), Ok(()), "{scheme}");
        }
        check_refusals(&spki, scheme, &message, &signature);
    }
}

fn check_refusals(spki: &[u8], scheme: SignatureScheme, message: &[u8], signature: &[u8]) {
    assert!(real().verify(spki, scheme, &[message, b"more"], signature).is_err());
    assert!(real().verify(&spki[1..], scheme, &[message], signature).is_err());
    assert!(real().verify(spki, scheme, &[message], &signature[1..]).is_err());
    for at in 0..signature.len() {
        let mut wrong = signature.to_vec();
        wrong[at] ^= 1;
        assert!(real().verify(spki, scheme, &[message], &wrong).is_err(), "{scheme}: bit 0 of byte {at}");
    }
}

#[test]
fn rc4() {
    for [key, offset, stream] in vectors(include_str!("published/rc4.txt"), 19) {
        let (offset, stream) = (offset.parse::<usize>().unwrap(), bytes(stream));
        let mut data = vec![0; offset + stream.len()];
        real().stream(StreamCipher::Rc4, &bytes(key), &mut data);
        assert_eq!(data[offset..], stream, "{key} at {offset}");
    }
}

#[test]
fn key_wrap() {
    for [cipher, key, data, wrapped] in vectors(include_str!("published/wrap.txt"), 4) {
        let cipher = KeyWrap::named(cipher).unwrap();
        let [key, data, wrapped] = [key, data, wrapped].map(bytes);
        assert_eq!(real().wrap_key(cipher, &key, &data), wrapped);
        assert_eq!(real().unwrap_key(cipher, &key, &wrapped).unwrap()[..], data);
        for at in 0..wrapped.len() {
            let mut wrong = wrapped.clone();
            wrong[at] ^= 1;
            assert!(real().unwrap_key(cipher, &key, &wrong).is_err(), "bit 0 of byte {at}");
        }
    }
}
