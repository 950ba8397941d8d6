//! The system's OpenSSL against AWS-LC: each accepts what the other makes; deterministic outputs are equal byte for byte.

#![cfg(feature = "ossl")]

use keytoll_crypto::{Exponents, Ossl, Real, Unsupported, keys};
use keytoll_crypto_api::algorithm::{
    BlockCipher, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_native::ossl::agreement::{Montgomery, montgomery_public};
use proptest::prelude::*;

fn bytes(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), len)
}

fn ossl_and_real(run: impl Fn(&mut dyn Crypto, &mut [u8]), theirs: &mut [u8], ours: &mut [u8]) {
    let (mut ossl, mut real) = both();
    run(&mut ossl, theirs);
    run(&mut real, ours);
}

fn both() -> (Ossl, Real) {
    (Ossl::new(Exponents::Short), Real::new(Exponents::Short))
}

proptest! {
    #[test]
    fn digests(key in bytes(1..200), parts in prop::collection::vec(bytes(0..300), 0..4)) {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let (mut ossl, mut real) = both();
        for &hash in Hash::ALL {
            prop_assert_eq!(&*ossl.hash(hash, &parts), &*real.hash(hash, &parts), "{}", hash);
        }
        for &prf in Prf::ALL.iter().filter(|&&prf| prf != Prf::AesXcbc128) {
            prop_assert_eq!(&*ossl.prf(prf, &key, &parts), &*real.prf(prf, &key, &parts), "{}", prf);
        }
        for &integrity in Integrity::ALL.iter().filter(|&&integrity| integrity != Integrity::AesXcbc96) {
            let key = vec![key[0]; integrity.key_len()];
            let tag = real.mac(integrity, &key, &parts);
            prop_assert_eq!(&*ossl.mac(integrity, &key, &parts), &*tag, "{}", integrity);
            prop_assert!(ossl.verify_mac(integrity, &key, &parts, &tag).is_ok());
            prop_assert!(ossl.verify_mac(integrity, &key, &parts, &tag[1..]).is_err());
        }
    }

    #[test]
    fn single_blocks_and_steps(key in bytes(32), plain in bytes(64), state: [u32; 5]) {
        let (mut ossl, mut real) = both();
        for &cipher in BlockCipher::ALL {
            let (mut theirs, mut ours) = (plain[..cipher.block_len()].to_vec(), plain[..cipher.block_len()].to_vec());
            ossl.block(cipher, &key[..cipher.key_len()], &mut theirs);
            real.block(cipher, &key[..cipher.key_len()], &mut ours);
            prop_assert_eq!(theirs, ours, "{}", cipher);
        }
        let (mut theirs, mut ours) = (state, state);
        let block = plain.try_into().unwrap();
        ossl.sha1_compress(&mut theirs, &block);
        real.sha1_compress(&mut ours, &block);
        prop_assert_eq!(theirs, ours);
    }

    #[test]
    fn wrapped_keys(key in bytes(32), units in prop::collection::vec(any::<[u8; 8]>(), 2..9), at: prop::sample::Index) {
        let (mut ossl, mut real) = both();
        for &cipher in KeyWrap::ALL {
            let (key, data) = (&key[..cipher.key_len()], units.concat());
            let mut wrapped = ossl.wrap_key(cipher, key, &data);
            prop_assert_eq!(&real.wrap_key(cipher, key, &data), &wrapped);
            prop_assert_eq!(&ossl.unwrap_key(cipher, key, &wrapped).unwrap()[..], &data[..]);
            *at.get_mut(&mut wrapped) ^= 1;
            prop_assert!(ossl.unwrap_key(cipher, key, &wrapped).is_err());
        }
    }

    #[test]
    fn streams(key in bytes(1..257), plain in bytes(0..400)) {
        let (mut theirs, mut ours) = (plain.clone(), plain);
        ossl_and_real(|crypto, data| crypto.stream(StreamCipher::Rc4, &key, data), &mut theirs, &mut ours);
        prop_assert_eq!(theirs, ours);
    }

    #[test]
    fn ciphers(key in bytes(36), iv in bytes(16), aad in bytes(0..60), data in bytes(0..400)) {
        let (mut ossl, mut real) = both();
        let salted = Encryption::ALL.iter().map(|&it| (it, it.key_len(), it.iv_len()));
        let unsalted = Encryption::ALL.iter().filter_map(|&it| Some((it, it.cipher_key_len(), it.whole_nonce_len()?)));
        for (algorithm, key_len, iv_len) in salted.chain(unsalted) {
            let (key, iv) = (&key[..key_len], &iv[..iv_len]);
            let plain = &data[..data.len() / algorithm.block_len() * algorithm.block_len()];
            let made = |crypto: &mut dyn Crypto| {
                let (mut data, mut tag) = (plain.to_vec(), vec![0; algorithm.tag_len()]);
                crypto.encrypt(algorithm, key, iv, &aad, &mut data, &mut tag);
                (data, tag)
            };
            let (mut cipher, mut tag) = made(&mut real);
            prop_assert_eq!(made(&mut ossl), (cipher.clone(), tag.clone()), "{}", algorithm);
            prop_assert!(ossl.decrypt(algorithm, key, iv, &aad, &mut cipher, &tag).is_ok(), "{}", algorithm);
            prop_assert_eq!(&cipher[..], plain, "{}", algorithm);
            if let Some(first) = tag.first_mut() {
                *first ^= 1;
                prop_assert!(ossl.decrypt(algorithm, key, iv, &aad, &mut cipher, &tag).is_err(), "{}", algorithm);
            }
        }
    }
}

#[test]
fn agreements() {
    let (mut ossl, mut real) = both();
    for &group in Group::ALL {
        let ours = ossl.generate(group, &mut Rng::named(1, "ours"));
        let theirs = ossl.generate(group, &mut Rng::named(1, "theirs"));
        let secret = ossl.agree(&ours.private, &theirs.public).unwrap();
        assert_eq!(secret, ossl.agree(&theirs.private, &ours.public).unwrap(), "{group}");
        if Real::supports(group) {
            let same = real.generate(group, &mut Rng::named(1, "ours"));
            assert_eq!(same.public, ours.public, "{group}");
            assert_eq!(real.agree(&same.private, &theirs.public).unwrap(), secret, "{group}");
        }
        let mut wrong = vec![0; group.public_len()];
        assert!(ossl.agree(&ours.private, &wrong).is_err(), "{group}: zero");
        assert!(ossl.agree(&ours.private, &theirs.public[1..]).is_err(), "{group}: short");
        if group.is_modp() {
            *wrong.last_mut().unwrap() = 1;
            assert!(ossl.agree(&ours.private, &wrong).is_err(), "{group}: one");
            assert!(ossl.agree(&ours.private, &vec![0xff; wrong.len()]).is_err(), "{group}: above the prime");
        }
    }
}

/// RFC 7748 §6.2.
#[test]
fn x448_as_published() {
    use keytoll_crypto_api::{PrivateKey, Secret};
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let ours = hex(
        "9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a9419744897391006382a6f127ab1d9ac2d8c0a598726b",
    );
    let theirs = hex(
        "1c306a7ac2a0e2e0990b294470cba339e6453772b075811d8fad0d1d6927c120bb5ee8972b0d3e21374c9c921b09d1b0366f10b65173992d",
    );
    let our_public = hex(
        "9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bbc836647241d953d40c5b12da88120d53177f80e532c41fa0",
    );
    let their_public = hex(
        "3eb7a829b0cd20f5bcfc0b599b6feccf6da4627107bdb0d4f345b43027d8b972fc3e34fb4232a13ca706dcb57aec3dae07bdc1c67bf33609",
    );
    let secret = hex(
        "07fff4181ac6cc95ec1c16a94a0f74d12da232ce40a77552281d282bb60c0b56fd2464c335543936521c24403085d59a449a5037514a879d",
    );
    let pair = |private: &[u8], public: &[u8]| PrivateKey {
        group: Group::X448,
        secret: Secret::new([private, public].concat()),
    };
    let mut computed = vec![0; 56];
    montgomery_public(Montgomery::X448, &ours, &mut computed);
    assert_eq!(computed, our_public);
    assert_eq!(both().0.agree(&pair(&ours, &our_public), &their_public).unwrap()[..], secret);
    assert_eq!(both().0.agree(&pair(&theirs, &their_public), &our_public).unwrap()[..], secret);
}

#[test]
fn signatures_cross_over() {
    let (mut ossl, mut real) = both();
    for kind in [
        KeyKind::Rsa1024,
        KeyKind::Rsa2048,
        KeyKind::EcdsaP256,
        KeyKind::EcdsaP384,
        KeyKind::EcdsaP521,
        KeyKind::Ed25519,
    ] {
        let key = keys::generate(kind, &mut Rng::named(1, "key"));
        let adopted = Ossl::adopt(&key).unwrap();
        for scheme in schemes(kind) {
            let parts: [&[u8]; 2] = [b"mess", b"age"];
            let (theirs, ours) = (ossl.sign(&adopted, scheme, &parts), real.sign(&key, scheme, &parts));
            for signature in [&theirs, &ours] {
                assert_eq!(
                    ossl.verify(&key.spki, scheme, &[b"message"], signature),
                    Ok(()),
                    "{kind} {scheme}"
                );
                assert_eq!(
                    real.verify(&key.spki, scheme, &[b"message"], signature),
                    Ok(()),
                    "{kind} {scheme}"
                );
                assert!(ossl.verify(&key.spki, scheme, &[b"other"], signature).is_err(), "{kind} {scheme}");
                assert!(
                    ossl.verify(&key.spki, scheme, &[b"message"], &signature[1..]).is_err(),
                    "{kind} {scheme}"
                );
            }
        }
    }
}

fn schemes(kind: KeyKind) -> Vec<SignatureScheme> {
    match kind {
        KeyKind::Ed25519 => vec![SignatureScheme::Ed25519],
        _ if kind.rsa_bits().is_some() => {
            vec![
                SignatureScheme::RsaPkcs1(Hash::Sha1),
                SignatureScheme::RsaPkcs1(Hash::Sha256),
                SignatureScheme::RsaPss(Hash::Sha256),
                SignatureScheme::RsaPkcs1Bare,
            ]
        }
        _ => vec![SignatureScheme::EcdsaDer(Hash::Sha256), SignatureScheme::EcdsaRaw(Hash::Sha512)],
    }
}

#[test]
fn what_is_missing_is_said_beforehand() {
    let suite = |text| Suite::ike(text).unwrap();
    assert_eq!(Ossl::check(&suite("aes128-aesxcbc-modp2048")), Err(Unsupported("aesxcbc")));
    assert_eq!(Ossl::check(&suite("aes128gcm16-prfaesxcbc-x448")), Err(Unsupported("prfaesxcbc")));
    assert_eq!(Ossl::check(&suite("aes128gcm16-prfsha256-x448")), Ok(()));
    assert_eq!(Real::check(&suite("aes128gcm16-prfsha256-x448")), Err(Unsupported("x448")));
    assert_eq!(Real::check(&suite("aes128-aesxcbc-modp2048")), Ok(()));
}

#[test]
fn rsa_encryption() {
    let (mut ossl, mut real) = both();
    for kind in [KeyKind::Rsa1024, KeyKind::Rsa2048] {
        let ours = keys::generate(kind, &mut Rng::named(1, "rsa"));
        let theirs = Ossl::adopt(&ours).unwrap();
        for len in [0, 1, 48, kind.rsa_bits().unwrap() / 8 - 11] {
            let message = vec![7; len];
            let by_ossl = ossl.rsa_encrypt(&ours.spki, &message).unwrap();
            let by_real = real.rsa_encrypt(&ours.spki, &message).unwrap();
            assert_eq!(real.rsa_decrypt(&ours, &by_ossl).unwrap()[..], message[..], "{kind} {len}");
            assert_eq!(ossl.rsa_decrypt(&theirs, &by_real).unwrap()[..], message[..], "{kind} {len}");
        }
        assert!(ossl.rsa_encrypt(&ours.spki, &vec![7; kind.rsa_bits().unwrap() / 8 - 10]).is_err());
    }
    let ec = keys::generate(KeyKind::EcdsaP256, &mut Rng::named(1, "ec"));
    assert!(ossl.rsa_encrypt(&ec.spki, b"message").is_err());
    assert!(ossl.rsa_decrypt(&Ossl::adopt(&ec).unwrap(), &[0; 128]).is_err());
}
