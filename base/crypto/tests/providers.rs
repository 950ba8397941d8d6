//! What every provider must fulfil: Real and Null agree on all lengths, invalid input is rejected and never panics, keys
//! survive export and import, and the meter counts correctly.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use keytoll_crypto::keys::{self, KeyError};
use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::algorithm::{
    BlockCipher, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{Crypto, Part, Phase, Rejected, Rng, Secret, SigningKey, TrafficKey};
use proptest::prelude::*;

const SA_INIT: Phase = Phase::new(10, "sa-init");
const AUTH: Phase = Phase::new(20, "auth");
const EAP: Phase = Phase::new(30, "eap");

fn providers() -> [Provider; 2] {
    [Provider::Real(Real::default()), Provider::Null(Null)]
}

fn rng() -> Rng {
    Rng::named(1, "test")
}

/// Every hash a signature may be made over: all but MD4.
const SIGNED: [Hash; 5] = [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512];

/// Every scheme a kind of key can sign with.
fn schemes(kind: KeyKind) -> Vec<SignatureScheme> {
    let over = |scheme: fn(Hash) -> SignatureScheme| SIGNED.into_iter().map(scheme);
    match kind {
        KeyKind::Ed25519 => vec![SignatureScheme::Ed25519],
        KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521 => {
            over(SignatureScheme::EcdsaDer).chain(over(SignatureScheme::EcdsaRaw)).collect()
        }
        // RFC 8017 §9.1.1: hash, salt of the same length and two bytes must fit; SHA-512 does not fit 1024 bits.
        KeyKind::Rsa1024 => over(SignatureScheme::RsaPkcs1)
            .chain(
                over(SignatureScheme::RsaPss)
                    .filter(|&scheme| scheme != SignatureScheme::RsaPss(Hash::Sha512)),
            )
            .collect(),
        _ => over(SignatureScheme::RsaPkcs1)
            .chain(over(SignatureScheme::RsaPss))
            .chain([SignatureScheme::RsaPkcs1Bare])
            .collect(),
    }
}

/// Kinds that are quick to make.
const QUICK: [KeyKind; 5] =
    [KeyKind::Rsa1024, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519];

#[test]
fn md4_goes_under_no_signature() {
    let mut real = Real::default();
    for (kind, signed, asked) in [
        (KeyKind::Rsa1024, SignatureScheme::RsaPkcs1(Hash::Md5), SignatureScheme::RsaPkcs1(Hash::Md4)),
        (KeyKind::EcdsaP256, SignatureScheme::EcdsaDer(Hash::Md5), SignatureScheme::EcdsaDer(Hash::Md4)),
    ] {
        let key = keys::generate(kind, &mut rng());
        let signature = real.sign(&key, signed, &[b"message"]);
        assert_eq!(real.verify(&key.spki, signed, &[b"message"], &signature), Ok(()));
        assert_eq!(real.verify(&key.spki, asked, &[b"message"], &signature), Err(Rejected), "{kind}");
    }
}

#[test]
fn single_blocks_and_steps_are_counted() {
    let mut metered = Metered::count_only(Real::default());
    metered.enter(EAP);
    metered.block(BlockCipher::Aes128, &[1; 16], &mut [0; 16]);
    metered.block(BlockCipher::Des, &[1; 8], &mut [0; 8]);
    metered.block(BlockCipher::Des, &[1; 8], &mut [0; 8]);
    metered.sha1_compress(&mut [0; 5], &[0; 64]);
    let rows = metered.snapshot();
    let booked: Vec<_> =
        rows.iter().map(|row| (row.operation, &*row.algorithm, row.count, row.bytes)).collect();
    assert_eq!(booked, [("block", "aes128", 1, 16), ("block", "des", 2, 16), ("compress", "sha1", 1, 64)]);
}

#[test]
fn digests_have_the_lengths_their_algorithms_say() {
    for mut provider in providers() {
        for &hash in Hash::ALL {
            assert_eq!(provider.hash(hash, &[b"a", b"b"]).len(), hash.len(), "{hash}");
        }
        for &prf in Prf::ALL {
            assert_eq!(provider.prf(prf, b"key of any length", &[b"a"]).len(), prf.output_len(), "{prf}");
        }
        for &integrity in Integrity::ALL {
            let key = vec![7; integrity.key_len()];
            let tag = provider.mac(integrity, &key, &[b"a", b"b"]);
            assert_eq!(tag.len(), integrity.tag_len(), "{integrity}");
            assert_eq!(provider.verify_mac(integrity, &key, &[b"ab"], &tag), Ok(()), "{integrity}");
            assert!(provider.verify_mac(integrity, &key, &[b"ab"], &tag[1..]).is_err(), "{integrity}");
            assert!(provider.verify_mac(integrity, &key, &[b"ab"], &[1; 12]).is_err(), "{integrity}");
        }
    }
}

#[test]
fn decryption_undoes_encryption_and_refuses_forgeries() {
    for mut provider in providers() {
        for &algorithm in Encryption::ALL {
            let key = vec![7; algorithm.key_len()];
            let iv = vec![9; algorithm.iv_len()];
            let plain: Vec<u8> = (0..48).collect();
            let (mut data, mut tag) = (plain.clone(), vec![0xaa; algorithm.tag_len()]);
            provider.encrypt(algorithm, &key, &iv, b"aad", &mut data, &mut tag);
            let mut again = data.clone();
            assert_eq!(
                provider.decrypt(algorithm, &key, &iv, b"aad", &mut again, &tag),
                Ok(()),
                "{algorithm}"
            );
            assert_eq!(again, plain, "{algorithm}");
            check_refusals(&mut provider, algorithm, [&key, &iv], &data, &tag);
        }
    }
}

#[test]
fn traffic_keys_give_the_same_as_keys_of_single_messages() {
    for mut provider in providers() {
        for &encryption in Encryption::ALL {
            for &integrity in Integrity::ALL {
                let mut fresh = [encryption, encryption].map(|_| traffic_key(encryption, integrity));
                // The third packet is the first that finds an expanded key.
                (0..4).for_each(|packet| check_packet(&mut provider, &mut fresh, packet));
            }
        }
    }
}

fn traffic_key(encryption: Encryption, integrity: Integrity) -> TrafficKey {
    let key = |len| Secret::new((1..).take(len).collect());
    TrafficKey::new(encryption, Some(integrity), key(encryption.key_len()), key(integrity.key_len()))
}

fn check_packet(provider: &mut Provider, [sender, receiver]: &mut [TrafficKey; 2], packet: u8) {
    let (encryption, integrity) = (sender.encryption, sender.authentication());
    let (iv, plain) = (vec![packet; encryption.iv_len()], [packet; 48]);
    let mut expected = (plain, vec![0; encryption.tag_len()]);
    let key = sender.encryption_key.clone();
    provider.encrypt(encryption, &key, &iv, b"aad", &mut expected.0, &mut expected.1);
    let mut made = (plain, vec![1; encryption.tag_len()]);
    provider.encrypt_traffic(sender, &iv, b"aad", &mut made.0, &mut made.1);
    assert_eq!(made, expected, "{encryption}, packet {packet}");
    let mut tag = vec![1; integrity.tag_len()];
    provider.mac_traffic(sender, &[&made.0, b"more"], &mut tag);
    assert_eq!(
        tag[..],
        provider.mac(integrity, &sender.integrity_key, &[&made.0, b"more"])[..],
        "{integrity}"
    );
    assert_eq!(provider.verify_traffic(receiver, &[&made.0, b"more"], &tag), Ok(()), "{integrity}");
    tag[0] ^= 1;
    assert!(provider.verify_traffic(receiver, &[&made.0, b"more"], &tag).is_err(), "{integrity}");
    assert_eq!(provider.decrypt_traffic(receiver, &iv, b"aad", &mut made.0, &made.1), Ok(()), "{encryption}");
    assert_eq!(made.0, plain, "{encryption}, packet {packet}");
    if encryption.is_aead() {
        made.1[0] ^= 1;
        assert!(provider.decrypt_traffic(receiver, &iv, b"aad", &mut made.0, &made.1).is_err());
    }
}

fn check_refusals(provider: &mut Provider, algorithm: Encryption, keys: [&[u8]; 2], data: &[u8], tag: &[u8]) {
    let mut refused = |data: &[u8], tag: &[u8]| {
        provider.decrypt(algorithm, keys[0], keys[1], b"aad", &mut data.to_vec(), tag).is_err()
    };
    assert!(refused(data, &[tag, &[0]].concat()), "{algorithm}: longer tag");
    if algorithm.block_len() > 1 {
        assert!(refused(&data[1..], tag), "{algorithm}: broken block");
    }
    if algorithm.is_aead() {
        assert!(refused(data, &tag[1..]), "{algorithm}: shorter tag");
        assert!(
            refused(data, &tag.iter().map(|byte| byte ^ 0x55).collect::<Vec<_>>()),
            "{algorithm}: other tag"
        );
    }
}

#[test]
fn both_sides_agree_in_every_group() {
    for mut provider in providers() {
        for &group in Group::ALL.iter().filter(|&&group| Real::supports(group)) {
            let [ours, theirs] =
                ["ours", "theirs"].map(|name| provider.generate(group, &mut Rng::named(1, name)));
            assert_eq!(ours.public.len(), group.public_len(), "{group}");
            let secret = provider.agree(&ours.private, &theirs.public).unwrap();
            assert_eq!(secret.len(), group.secret_len(), "{group}");
            assert_eq!(secret, provider.agree(&theirs.private, &ours.public).unwrap(), "{group}");
            for wrong in [&theirs.public[1..], &[theirs.public.as_slice(), &[0]].concat(), &[]] {
                assert!(provider.agree(&ours.private, wrong).is_err(), "{group}: {} bytes", wrong.len());
            }
        }
    }
}

#[test]
fn one_stream_gives_one_key_pair() {
    let mut real = Real::default();
    for &group in Group::ALL.iter().filter(|&&group| Real::supports(group)) {
        let mut make = |seed| real.generate(group, &mut Rng::named(seed, "pair")).public;
        assert_eq!(make(1), make(1), "{group}");
        assert_ne!(make(1), make(2), "{group}");
    }
}

#[test]
fn points_off_the_curve_and_zero_secrets_are_refused() {
    let mut real = Real::default();
    for group in [Group::Ecp256, Group::Ecp384, Group::Ecp521] {
        let pair = real.generate(group, &mut rng());
        let mut off = pair.public.clone();
        *off.last_mut().unwrap() ^= 1;
        assert!(real.agree(&pair.private, &off).is_err(), "{group}");
        assert!(
            real.agree(&pair.private, &vec![0; group.public_len()]).is_err(),
            "{group}: the point at infinity"
        );
    }
    let pair = real.generate(Group::X25519, &mut rng());
    assert!(real.agree(&pair.private, &[0; 32]).is_err(), "RFC 7748 §6.1: all-zero output");
}

#[test]
fn signatures_verify_and_both_providers_make_them_equally_long() {
    for kind in QUICK {
        let key = keys::generate(kind, &mut rng());
        for scheme in schemes(kind) {
            let [real, null] = providers().map(|mut provider| {
                let signature = provider.sign(&key, scheme, &[b"mess", b"age"]);
                assert_eq!(
                    provider.verify(&key.spki, scheme, &[b"message"], &signature),
                    Ok(()),
                    "{kind} {scheme}"
                );
                assert!(
                    provider.verify(&key.spki, scheme, &[b"message"], &signature[5..]).is_err(),
                    "{kind}"
                );
                assert!(provider.verify(b"no key", scheme, &[b"message"], &signature).is_err(), "{kind}");
                signature.len()
            });
            let tolerance = if matches!(scheme, SignatureScheme::EcdsaDer(_)) { 3 } else { 0 };
            assert!(real.abs_diff(null) <= tolerance, "{kind} {scheme}: {real} and {null} bytes");
            assert_eq!(null, keys::signature_len(kind, scheme));
        }
    }
}

#[test]
fn a_key_does_not_verify_what_another_signed() {
    let mut real = Real::default();
    for kind in QUICK {
        let [ours, theirs] = ["ours", "theirs"].map(|name| keys::generate(kind, &mut Rng::named(1, name)));
        let scheme = keys::usual_scheme(kind);
        let signature = real.sign(&ours, scheme, &[b"message"]);
        assert!(real.verify(&theirs.spki, scheme, &[b"message"], &signature).is_err(), "{kind}");
        assert!(real.verify(&ours.spki, scheme, &[b"other"], &signature).is_err(), "{kind}");
    }
}

/// RFC 8017 §8.2: what PKCS #1 v1.5 signs, opened with plain big numbers.
#[test]
fn rsa_signatures_open_to_the_padded_digest() {
    let key = keys::generate(KeyKind::Rsa1024, &mut rng());
    let mut real = Real::default();
    let signature = real.sign(&key, SignatureScheme::RsaPkcs1(Hash::Sha1), &[b"message"]);
    // The modulus stands between its header of 29 bytes and the exponent of 5.
    let modulus = num_bigint::BigUint::from_bytes_be(&key.spki[29..29 + 128]);
    let opened = num_bigint::BigUint::from_bytes_be(&signature).modpow(&65_537_u32.into(), &modulus);
    let digest_info = b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14";
    let digest = real.hash(Hash::Sha1, &[b"message"]);
    let padding = vec![0xff; 128 - 3 - digest_info.len() - digest.len()];
    assert_eq!(opened.to_bytes_be(), [&[1], &padding[..], &[0], digest_info, &digest].concat());
}

/// RFC 2409 §5.1: in IKEv1 the signed HASH stands alone in the padding.
#[test]
fn a_bare_rsa_signature_opens_to_the_message_alone() {
    let key = keys::generate(KeyKind::Rsa1024, &mut rng());
    let mut real = Real::default();
    let signature = real.sign(&key, SignatureScheme::RsaPkcs1Bare, &[b"HASH", b"_I"]);
    let modulus = num_bigint::BigUint::from_bytes_be(&key.spki[29..29 + 128]);
    let opened = num_bigint::BigUint::from_bytes_be(&signature).modpow(&65_537_u32.into(), &modulus);
    let padding = [0xff; 128 - 3 - 6];
    assert_eq!(opened.to_bytes_be(), [&[1], &padding[..], &[0], b"HASH_I"].concat());
    assert_eq!(real.verify(&key.spki, SignatureScheme::RsaPkcs1Bare, &[b"HASH_I"], &signature), Ok(()));
    assert!(real.verify(&key.spki, SignatureScheme::RsaPkcs1Bare, &[b"HASH_R"], &signature).is_err());
    assert!(real.verify(&key.spki, SignatureScheme::RsaPkcs1Bare, &[b"HASH"], &signature).is_err());
    let with_digest_info = real.sign(&key, SignatureScheme::RsaPkcs1(Hash::Sha1), &[b"HASH_I"]);
    let digest = real.hash(Hash::Sha1, &[b"HASH_I"]);
    assert!(real.verify(&key.spki, SignatureScheme::RsaPkcs1Bare, &[&digest], &with_digest_info).is_err());
}

#[test]
fn keys_come_back_from_pkcs8() {
    for kind in QUICK {
        let key = keys::generate(kind, &mut rng());
        let der = keys::to_pkcs8(&key).unwrap();
        let again = keys::from_pkcs8(&der).unwrap();
        assert_eq!((again.kind, &again.spki), (kind, &key.spki));
        let scheme = keys::usual_scheme(kind);
        let signature = Real::default().sign(&again, scheme, &[b"message"]);
        assert_eq!(Real::default().verify(&key.spki, scheme, &[b"message"], &signature), Ok(()), "{kind}");
        for cut in 0..der.len() {
            assert_eq!(
                keys::from_pkcs8(&der[..cut]).unwrap_err(),
                KeyError::Malformed,
                "{kind} cut at {cut}"
            );
        }
    }
}

#[test]
fn one_stream_gives_one_signature_key() {
    for kind in QUICK {
        let make = |seed| keys::generate(kind, &mut Rng::named(seed, "key")).spki;
        assert_eq!(make(1), make(1), "{kind}");
        assert_ne!(make(1), make(2), "{kind}");
    }
}

/// Fixed for ever: a key that changed with a version would change every recorded run.
#[test]
fn the_key_of_a_stream_does_not_change_with_the_version() {
    let spki = keys::generate(KeyKind::Rsa1024, &mut Rng::named(1, "pinned")).spki;
    let digest = Real::default().hash(Hash::Sha256, &[&spki]);
    assert_eq!(format!("{:02x?}", &digest[..4]), "[a0, 7b, e7, 7d]");
}

#[test]
fn dummy_keys_look_like_real_ones() {
    for &kind in KeyKind::ALL {
        let key = keys::generate_null(kind, &mut rng());
        assert_eq!((key.kind, key.spki.len()), (kind, keys::spki_len(kind)));
        assert_eq!(keys::kind_of_spki(&key.spki), Some(kind));
        assert!(
            keytoll_native::awslc::key::PublicKey::from_spki(&key.spki).is_some(),
            "{kind}: the library parses it"
        );
        assert!(keys::to_pkcs8(&key).is_none());
        let scheme = keys::usual_scheme(kind);
        let signature = Null.sign(&key, scheme, &[b"message"]);
        assert_eq!(Null.verify(&key.spki, scheme, &[b"message"], &signature), Ok(()), "{kind}");
    }
}

#[test]
#[should_panic(expected = "made or loaded by keytoll_crypto::keys")]
fn a_dummy_key_cannot_really_sign() {
    let key = keys::generate_null(KeyKind::Ed25519, &mut rng());
    Real::default().sign(&key, SignatureScheme::Ed25519, &[]);
}

#[test]
fn a_journal_has_every_operation_in_its_order_and_is_kept_on_demand() {
    let mut metered = Metered::new(Real::default());
    metered.hash(Hash::Sha256, &[b"before"]);
    assert_eq!((metered.journal_len(), metered.journal().len()), (0, 0), "nobody wanted one");
    metered.keep_journal();
    metered.enter(SA_INIT);
    let pair = metered.generate(Group::X25519, &mut rng());
    metered.prf(Prf::HmacSha256, b"key", &[b"ab", b"c"]);
    metered.agree(&pair.private, &pair.public).unwrap();
    metered.enter(AUTH);
    metered.prf(Prf::HmacSha256, b"key", &[b"abcd"]);
    let rows = metered.journal();
    let told: Vec<_> =
        rows.iter().map(|row| (row.phase, row.operation, &*row.algorithm, row.bytes)).collect();
    assert_eq!(
        told,
        [
            (SA_INIT, "generate", "x25519", 32),
            (SA_INIT, "prf", "prfsha256", 3),
            (SA_INIT, "agree", "x25519", 32),
            (AUTH, "prf", "prfsha256", 4),
        ]
    );
    assert!(rows.iter().all(|row| row.count == 1 && row.ticks > 0));
    let journal_total: u64 = rows.iter().map(|row| row.ticks).sum();
    assert!(journal_total < metered.crypto_ticks_total(), "the books have the hash before it, too");
    metered.clear_journal();
    assert_eq!(metered.journal_len(), 0);
}

#[test]
fn the_meter_counts_every_operation_under_its_phase() {
    let mut metered = Metered::new(Real::default());
    let key = keys::generate(KeyKind::EcdsaP256, &mut rng());
    metered.enter(SA_INIT);
    let pair = metered.generate(Group::X25519, &mut rng());
    metered.agree(&pair.private, &pair.public).unwrap();
    metered.enter(AUTH);
    let scheme = SignatureScheme::EcdsaDer(Hash::Sha256);
    for _ in 0..2 {
        let signature = metered.sign(&key, scheme, &[b"ab", b"c"]);
        metered.verify(&key.spki, scheme, &[b"abc"], &signature).unwrap();
    }
    let booked: Vec<_> = metered
        .snapshot()
        .into_iter()
        .map(|row| (row.phase, row.operation, row.algorithm.into_owned(), row.count, row.bytes))
        .collect();
    assert_eq!(
        booked,
        [
            (SA_INIT, "generate", "x25519".to_owned(), 1, 32),
            (SA_INIT, "agree", "x25519".to_owned(), 1, 32),
            (AUTH, "sign", "ecdsa-p256-sha256".to_owned(), 2, 6),
            (AUTH, "verify", "ecdsa-p256-sha256".to_owned(), 2, 6),
        ]
    );
    let total: u64 = metered.snapshot().iter().map(|row| row.ticks).sum();
    assert!(total > 0 && total == metered.crypto_ticks_total());
    metered.reset();
    assert!(metered.snapshot().is_empty() && metered.crypto_ticks_total() == 0);
}

#[test]
fn a_step_is_charged_so_that_each_operation_gets_its_usual_share() {
    let mut metered = Metered::new(Real::default());
    metered.keep_step();
    let work = |metered: &mut Metered<Real>| {
        metered.begin_step();
        metered.hash(Hash::Sha256, &[b"short"]);
        metered.generate(Group::Modp2048, &mut rng());
    };
    let ticks = |metered: &Metered<Real>| metered.snapshot().iter().map(|row| row.ticks).collect::<Vec<_>>();
    work(&mut metered);
    metered.charge_step(101_000);
    let usual = ticks(&metered);
    assert_eq!((usual.iter().sum::<u64>(), metered.crypto_ticks_total()), (101_000, 101_000));
    work(&mut metered);
    metered.charge_step(202_000);
    let both = ticks(&metered);
    assert_eq!((both.iter().sum::<u64>(), metered.crypto_ticks_total()), (303_000, 303_000));
    let thrice = |place: usize| both[place].abs_diff(3 * usual[place]) <= 2;
    assert!(thrice(0) && thrice(1), "{usual:?}, {both:?}");
    assert!(metered.snapshot().iter().all(|row| row.count == 2));
}

#[test]
fn operations_after_an_authentication_are_sums_of_their_own() {
    let mut metered = Metered::new(Real::default());
    metered.enter(SA_INIT);
    metered.hash(Hash::Sha256, &[b"one"]);
    metered.set_part(Part::After);
    metered.hash(Hash::Sha256, &[b"two"]);
    metered.enter(AUTH);
    metered.hash(Hash::Sha256, &[b"three"]);
    metered.set_part(Part::Authentication);
    metered.hash(Hash::Sha256, &[b"four"]);
    let sums: Vec<_> = metered.snapshot().iter().map(|row| (row.part, row.phase, row.bytes)).collect();
    assert_eq!(
        sums,
        [
            (Part::Authentication, SA_INIT, 3),
            (Part::Authentication, AUTH, 4),
            (Part::After, SA_INIT, 3),
            (Part::After, AUTH, 5),
        ]
    );
}

#[test]
fn rsa_decryption_undoes_encryption_with_every_provider_and_is_counted() {
    for provider in providers() {
        let mut metered = Metered::count_only(provider);
        for kind in [KeyKind::Rsa1024, KeyKind::Rsa2048] {
            let (key, len) = (keys::generate(kind, &mut rng()), kind.rsa_bits().unwrap() / 8);
            for message in [vec![], vec![0; 48], vec![7; len - 11]] {
                let ciphertext = metered.rsa_encrypt(&key.spki, &message).unwrap();
                assert_eq!(ciphertext.len(), len);
                assert_eq!(metered.rsa_decrypt(&key, &ciphertext).unwrap()[..], message[..], "{kind}");
                assert!(metered.rsa_decrypt(&key, &ciphertext[1..]).is_err(), "{kind}");
            }
            assert_eq!(metered.rsa_encrypt(&key.spki, &vec![7; len - 10]), Err(Rejected), "{kind}");
            assert!(metered.rsa_decrypt(&key, &vec![0; len]).is_err(), "{kind}: no padding");
        }
        let books = metered.snapshot();
        let books: Vec<_> = books.iter().map(|row| (row.operation, &*row.algorithm, row.count)).collect();
        let expected = [("rsa-encrypt", 4), ("rsa-decrypt", 7)]
            .map(|(name, count)| [(name, "rsa1024", count), (name, "rsa2048", count)]);
        assert_eq!(books, expected.concat());
    }
}

#[test]
fn rsa_encryption_needs_an_rsa_key() {
    let key = keys::generate(KeyKind::EcdsaP256, &mut rng());
    for mut provider in providers() {
        assert_eq!(provider.rsa_encrypt(&key.spki, b"message"), Err(Rejected));
        assert_eq!(provider.rsa_encrypt(b"no key", b"message"), Err(Rejected));
        assert!(provider.rsa_decrypt(&key, &[0; 128]).is_err());
    }
}

/// With a key without salt, GCM's nonce is what salt and IV are otherwise, and GMAC is GCM of nothing.
#[test]
fn nonces_can_be_given_whole() {
    let (mut real, nonce, aad, data) = (Real::default(), [5; 12], [1; 20], [7; 33]);
    let whole = |encryption: &&Encryption| encryption.whole_nonce_len().is_some();
    for &encryption in Encryption::ALL.iter().filter(whole) {
        let key = vec![3; encryption.cipher_key_len()];
        let nonce = &[5; 13][..encryption.whole_nonce_len().unwrap()];
        let mut traffic = TrafficKey::new(encryption, None, key.as_slice().into(), Secret::default());
        for _ in 0..4 {
            let (mut one, mut other) = ((data, [0; 16]), (data, [0; 16]));
            let len = encryption.tag_len();
            real.encrypt(encryption, &key, nonce, &aad, &mut one.0, &mut one.1[..len]);
            real.encrypt_traffic(&mut traffic, nonce, &aad, &mut other.0, &mut other.1[..len]);
            assert_eq!(one, other, "{encryption}");
            let opened = real.decrypt(encryption, &key, nonce, &aad, &mut one.0, &one.1[..len]);
            assert_eq!((opened, one.0), (Ok(()), data), "{encryption}");
        }
        let mut opening = traffic.clone();
        for tag_of in [1_u8, 2, 3] {
            let (mut sealed, mut tag) = (data, vec![0; encryption.tag_len()]);
            real.encrypt_traffic(&mut traffic, nonce, &[tag_of], &mut sealed, &mut tag);
            let opened = real.decrypt_traffic(&mut opening, nonce, &[tag_of], &mut sealed, &tag);
            assert_eq!((opened, sealed), (Ok(()), data), "{encryption}");
        }
    }
    let (mut salted, mut unsalted) = ((data, [0; 16]), (data, [0; 16]));
    let key = [&[3; 16][..], &nonce[..4]].concat();
    real.encrypt(Encryption::Aes128Gcm16, &key, &nonce[4..], &aad, &mut salted.0, &mut salted.1);
    real.encrypt(Encryption::Aes128Gcm16, &[3; 16], &nonce, &aad, &mut unsalted.0, &mut unsalted.1);
    assert_eq!(salted, unsalted);
    let (mut mac, mut of_nothing) = ([0; 16], [0; 16]);
    real.encrypt(Encryption::Aes128Gmac, &[3; 16], &nonce, &aad, &mut data.clone(), &mut mac);
    let all = [&aad[..], &data].concat();
    real.encrypt(Encryption::Aes128Gcm16, &[3; 16], &nonce, &all, &mut [], &mut of_nothing);
    assert_eq!(mac, of_nothing);
}

#[test]
fn a_stream_cipher_undoes_itself_and_is_counted() {
    for provider in providers() {
        let (mut metered, mut data) = (Metered::count_only(provider), *b"message");
        metered.stream(StreamCipher::Rc4, b"12345678", &mut data);
        metered.stream(StreamCipher::Rc4, b"12345678", &mut data);
        assert_eq!(data, *b"message");
        let books = metered.snapshot();
        assert_eq!((books[0].operation, &*books[0].algorithm, books[0].bytes), ("stream", "rc4", 14));
    }
}

#[test]
fn wrapped_keys_are_unwrapped_if_their_length_is_right_and_counted() {
    for provider in providers() {
        let mut metered = Metered::count_only(provider);
        for &cipher in KeyWrap::ALL {
            let (key, data) = (vec![3; cipher.key_len()], [7; 40]);
            let wrapped = metered.wrap_key(cipher, &key, &data);
            assert_eq!(wrapped.len(), data.len() + KeyWrap::OVERHEAD);
            assert_eq!(metered.unwrap_key(cipher, &key, &wrapped).unwrap()[..], data);
            for len in (0..24).chain([47, 41]) {
                assert!(metered.unwrap_key(cipher, &key, &wrapped[..len]).is_err(), "{len} bytes");
            }
        }
        let books = metered.snapshot();
        let booked: Vec<_> = books.iter().map(|row| (row.operation, &*row.algorithm, row.count)).collect();
        assert_eq!(
            booked,
            [
                ("wrap", "aes128", 1),
                ("wrap", "aes256", 1),
                ("unwrap", "aes128", 27),
                ("unwrap", "aes256", 27)
            ]
        );
    }
}

#[test]
fn counting_only_reads_no_clock() {
    let mut metered = Metered::count_only(Null);
    metered.hash(Hash::Sha1, &[b"abc"]);
    let rows = metered.snapshot();
    assert_eq!((rows.len(), rows[0].count, rows[0].bytes, rows[0].ticks), (1, 1, 3, 0));
}

proptest! {
    #[test]
    fn nonsense_is_rejected_and_never_panics(
        noise in prop::collection::vec(any::<u8>(), 0..300),
        tag in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        for mut provider in providers() {
            for &kind in KeyKind::ALL {
                let scheme = keys::usual_scheme(kind);
                prop_assert!(provider.verify(&noise, scheme, &[b"message"], &tag).is_err());
            }
            prop_assert_eq!(keys::from_pkcs8(&noise).unwrap_err(), KeyError::Malformed);
            let pair = provider.generate(Group::Ecp256, &mut rng());
            prop_assert!(noise.len() == 64 || provider.agree(&pair.private, &noise).is_err());
        }
        for &algorithm in Encryption::ALL.iter().filter(|algorithm| algorithm.is_aead()) {
            let (key, iv) = (vec![1; algorithm.key_len()], vec![2; algorithm.iv_len()]);
            let mut data = noise.clone();
            prop_assert!(Real::default().decrypt(algorithm, &key, &iv, &[], &mut data, &tag).is_err());
        }
    }

    #[test]
    fn a_flipped_bit_of_a_key_or_signature_is_rejected(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let key = flip_key();
        let signature = Real::default().sign(&key, SignatureScheme::Ed25519, &[b"message"]);
        let mut flipped = [&key.spki[..], &signature].concat();
        flipped[at.index(44 + 64)] ^= 1 << bit;
        let (spki, signature) = flipped.split_at(44);
        prop_assert!(Real::default().verify(spki, SignatureScheme::Ed25519, &[b"message"], signature).is_err());
    }
}

fn flip_key() -> SigningKey {
    keys::generate(KeyKind::Ed25519, &mut rng())
}
