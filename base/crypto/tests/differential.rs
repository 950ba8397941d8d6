//! Real against independent implementations in Rust (RustCrypto and dalek), on random keys, messages and cuts.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::array::{
    Array,
    typenum::{U8, U11, U12, U16},
};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::cipher::{
    BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, StreamCipher, block_padding::NoPadding,
};
use hmac::{EagerHash, Hmac, Mac};
use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::algorithm::{
    BlockCipher, Encryption, Group, Hash, Integrity, KeyKind, Prf, SignatureScheme,
};
use keytoll_crypto_api::{Crypto, Digest, PrivateKey, Rng, Secret};
use proptest::prelude::*;

fn bytes(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), len)
}

fn real() -> Real {
    Real::default()
}

/// What the oracle says about an algorithm's digest.
fn oracle_hash(hash: Hash, message: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    match hash {
        Hash::Md4 => md4::Md4::digest(message).to_vec(),
        Hash::Md5 => md5::Md5::digest(message).to_vec(),
        Hash::Sha1 => sha1::Sha1::digest(message).to_vec(),
        Hash::Sha256 => sha2::Sha256::digest(message).to_vec(),
        Hash::Sha384 => sha2::Sha384::digest(message).to_vec(),
        Hash::Sha512 => sha2::Sha512::digest(message).to_vec(),
    }
}

fn oracle_hmac<H: EagerHash>(key: &[u8], message: &[u8]) -> Vec<u8>
where
    Hmac<H>: Mac + KeyInit,
{
    let mut mac = <Hmac<H> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn oracle_cmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = <cmac::Cmac<Aes128> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// RFC 3566 §4 word by word over single blocks, unlike the provider's streaming over long runs.
fn oracle_xcbc(key: &[u8], message: &[u8]) -> Vec<u8> {
    use aes::cipher::BlockCipherEncrypt;
    let encrypt = |key: &[u8], block: [u8; 16]| -> [u8; 16] {
        let mut block = Array::from(block);
        Aes128::new_from_slice(key).unwrap().encrypt_block(&mut block);
        block.into()
    };
    let [k1, k2, k3] = [1, 2, 3].map(|constant| encrypt(key, [constant; 16]));
    let whole = !message.is_empty() && message.len().is_multiple_of(16);
    let mut padded = message.to_vec();
    if !whole {
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(16), 0);
    }
    let last = padded.len() / 16 - 1;
    let mut chain = [0; 16];
    for (at, block) in padded.chunks(16).enumerate() {
        let mask = if at < last {
            [0; 16]
        } else if whole {
            k2
        } else {
            k3
        };
        chain = encrypt(&k1, std::array::from_fn(|i| chain[i] ^ block[i] ^ mask[i]));
    }
    chain.to_vec()
}

fn oracle_prf(prf: Prf, key: &[u8], message: &[u8]) -> Vec<u8> {
    match prf {
        Prf::HmacMd5 => oracle_hmac::<md5::Md5>(key, message),
        Prf::HmacSha1 => oracle_hmac::<sha1::Sha1>(key, message),
        Prf::HmacSha256 => oracle_hmac::<sha2::Sha256>(key, message),
        Prf::HmacSha384 => oracle_hmac::<sha2::Sha384>(key, message),
        Prf::HmacSha512 => oracle_hmac::<sha2::Sha512>(key, message),
        Prf::AesCmac128 if key.len() == 16 => oracle_cmac(key, message),
        Prf::AesCmac128 => oracle_cmac(&oracle_cmac(&[0; 16], key), message),
        Prf::AesXcbc128 if key.len() > 16 => oracle_xcbc(&oracle_xcbc(&[0; 16], key), message),
        Prf::AesXcbc128 => oracle_xcbc(&[key, &vec![0; 16 - key.len()]].concat(), message),
    }
}

const fn prf_of(integrity: Integrity) -> Prf {
    match integrity {
        Integrity::HmacMd5_96 => Prf::HmacMd5,
        Integrity::HmacSha1_96 => Prf::HmacSha1,
        Integrity::HmacSha256_128 => Prf::HmacSha256,
        Integrity::HmacSha384_192 => Prf::HmacSha384,
        Integrity::HmacSha512_256 => Prf::HmacSha512,
        Integrity::AesXcbc96 => Prf::AesXcbc128,
        Integrity::AesCmac96 => Prf::AesCmac128,
    }
}

/// A message and three places to cut it.
fn message_in_parts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(bytes(0..700), 0..4)
}

fn slices(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

proptest! {
    #[test]
    fn hashes(parts in message_in_parts()) {
        for &hash in Hash::ALL {
            let digest = real().hash(hash, &slices(&parts));
            prop_assert_eq!(&digest[..], &oracle_hash(hash, &parts.concat())[..], "{}", hash);
        }
    }

    #[test]
    fn single_steps_of_sha1(message in bytes(0..56)) {
        // FIPS 180-4 §5.1.1: the padding of a message that fits one block.
        let mut block = [0; 64];
        block[..message.len()].copy_from_slice(&message);
        block[message.len()] = 0x80;
        block[62..].copy_from_slice(&(message.len() as u16 * 8).to_be_bytes());
        let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        real().sha1_compress(&mut state, &block);
        let digest: Vec<u8> = state.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
        prop_assert_eq!(digest, oracle_hash(Hash::Sha1, &message));
    }

    #[test]
    fn single_blocks(key in any::<[u8; 32]>(), plain in any::<[u8; 16]>()) {
        use aes::cipher::BlockCipherEncrypt;
        let mut oracle = Array::from(plain);
        <Aes128 as KeyInit>::new_from_slice(&key[..16]).unwrap().encrypt_block(&mut oracle);
        let mut block = plain;
        real().block(BlockCipher::Aes128, &key[..16], &mut block);
        prop_assert_eq!(&block[..], &oracle[..]);

        let mut oracle = Array::from(plain);
        <Aes256 as KeyInit>::new_from_slice(&key).unwrap().encrypt_block(&mut oracle);
        let mut block = plain;
        real().block(BlockCipher::Aes256, &key, &mut block);
        prop_assert_eq!(&block[..], &oracle[..]);

        let mut oracle = Array::from(<[u8; 8]>::try_from(&plain[..8]).unwrap());
        <des::Des as KeyInit>::new_from_slice(&key[..8]).unwrap().encrypt_block(&mut oracle);
        let mut block = plain;
        real().block(BlockCipher::Des, &key[..8], &mut block[..8]);
        prop_assert_eq!(&block[..8], &oracle[..]);
    }

    #[test]
    fn prfs(key in bytes(0..200), parts in message_in_parts()) {
        for &prf in Prf::ALL {
            let output: Digest = real().prf(prf, &key, &slices(&parts));
            prop_assert_eq!(&output[..], &oracle_prf(prf, &key, &parts.concat())[..], "{}", prf);
        }
    }

    #[test]
    fn integrity_checks(key in bytes(64), parts in message_in_parts()) {
        for &integrity in Integrity::ALL {
            let key = &key[..integrity.key_len()];
            let tag = real().mac(integrity, key, &slices(&parts));
            let whole = oracle_prf(prf_of(integrity), key, &parts.concat());
            prop_assert_eq!(&tag[..], &whole[..integrity.tag_len()], "{}", integrity);
        }
    }

    #[test]
    fn ciphers(key in bytes(36), iv in bytes(16), aad in bytes(0..100), data in bytes(0..1600)) {
        for &algorithm in Encryption::ALL {
            let (key, iv) = (&key[..algorithm.key_len()], &iv[..algorithm.iv_len()]);
            let plain = &data[..data.len() / algorithm.block_len() * algorithm.block_len()];
            let (expected, expected_tag) = oracle_encrypt(algorithm, key, iv, &aad, plain);
            let (mut ours, mut tag) = (plain.to_vec(), vec![0; algorithm.tag_len()]);
            real().encrypt(algorithm, key, iv, &aad, &mut ours, &mut tag);
            prop_assert_eq!((&ours, &tag), (&expected, &expected_tag), "{}", algorithm);
            prop_assert!(real().decrypt(algorithm, key, iv, &aad, &mut ours, &tag).is_ok());
            prop_assert_eq!(&ours[..], plain, "{}", algorithm);
        }
    }

    #[test]
    fn a_changed_bit_of_an_aead_message_is_rejected(
        key in bytes(36), iv in bytes(8), aad in bytes(1..40), data in bytes(1..200),
        at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        for &algorithm in Encryption::ALL.iter().filter(|algorithm| algorithm.is_aead()) {
            let key = &key[..algorithm.key_len()];
            let (mut cipher, mut tag) = (data.clone(), vec![0; algorithm.tag_len()]);
            real().encrypt(algorithm, key, &iv, &aad, &mut cipher, &mut tag);
            let mut message = [&aad[..], &cipher, &tag].concat();
            let at = at.index(message.len());
            message[at] ^= 1 << bit;
            let (aad, rest) = message.split_at_mut(aad.len());
            let (cipher, tag) = rest.split_at_mut(data.len());
            prop_assert!(real().decrypt(algorithm, key, &iv, aad, cipher, tag).is_err(), "{}", algorithm);
        }
    }
}

fn oracle_encrypt(
    algorithm: Encryption,
    key: &[u8],
    iv: &[u8],
    aad: &[u8],
    plain: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let (key, salt) = key.split_at(algorithm.cipher_key_len());
    let nonce = [salt, iv].concat();
    match algorithm.name() {
        "null" => (plain.to_vec(), vec![]),
        "3des" => (oracle_cbc::<cbc::Encryptor<des::TdesEde3>>(key, iv, plain), vec![]),
        "aes128" => (oracle_cbc::<cbc::Encryptor<Aes128>>(key, iv, plain), vec![]),
        "aes192" => (oracle_cbc::<cbc::Encryptor<Aes192>>(key, iv, plain), vec![]),
        "aes256" => (oracle_cbc::<cbc::Encryptor<Aes256>>(key, iv, plain), vec![]),
        "aes128ctr" => (oracle_ctr::<ctr::Ctr32BE<Aes128>>(key, &nonce, plain), vec![]),
        "aes192ctr" => (oracle_ctr::<ctr::Ctr32BE<Aes192>>(key, &nonce, plain), vec![]),
        "aes256ctr" => (oracle_ctr::<ctr::Ctr32BE<Aes256>>(key, &nonce, plain), vec![]),
        "chacha20poly1305" => oracle_aead::<chacha20poly1305::ChaCha20Poly1305>(key, &nonce, aad, plain),
        // RFC 4543 §3.3: all of it is associated data.
        name if algorithm.is_gmac() => {
            let (all, name) = ([aad, iv, plain].concat(), name.replace("gmac", "gcm16"));
            (plain.to_vec(), oracle_aes_aead(&name, key, &nonce, &all, &[], algorithm.tag_len()).1)
        }
        name => oracle_aes_aead(name, key, &nonce, aad, plain, algorithm.tag_len()),
    }
}

fn oracle_cbc<C: KeyIvInit + BlockModeEncrypt>(key: &[u8], iv: &[u8], plain: &[u8]) -> Vec<u8> {
    C::new_from_slices(key, iv).unwrap().encrypt_padded_vec::<NoPadding>(plain)
}

fn oracle_ctr<C: KeyIvInit + StreamCipher>(key: &[u8], nonce: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut data = plain.to_vec();
    C::new_from_slices(key, &[nonce, &[0, 0, 0, 1]].concat()).unwrap().apply_keystream(&mut data);
    data
}

fn oracle_aead<A: AeadInOut + KeyInit>(
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    plain: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let mut data = plain.to_vec();
    let nonce = Array::try_from(nonce).unwrap();
    let tag = A::new_from_slice(key)
        .unwrap()
        .encrypt_inout_detached(&nonce, aad, data.as_mut_slice().into())
        .unwrap();
    (data, tag.to_vec())
}

fn oracle_aes_aead(
    name: &str,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    plain: &[u8],
    tag_len: usize,
) -> (Vec<u8>, Vec<u8>) {
    type Gcm<A> = aes_gcm::AesGcm<A, U12>;
    type Ccm<A, T> = ccm::Ccm<A, T, U11>;
    let oracle = match (&name[..9], tag_len) {
        // SP 800-38D §7.1: a short GCM tag is a long one cut.
        ("aes128gcm", _) => oracle_aead::<Gcm<Aes128>>,
        ("aes192gcm", _) => oracle_aead::<Gcm<Aes192>>,
        ("aes256gcm", _) => oracle_aead::<Gcm<Aes256>>,
        ("aes128ccm", 8) => oracle_aead::<Ccm<Aes128, U8>>,
        ("aes128ccm", 12) => oracle_aead::<Ccm<Aes128, U12>>,
        ("aes128ccm", 16) => oracle_aead::<Ccm<Aes128, U16>>,
        ("aes192ccm", 16) => oracle_aead::<Ccm<Aes192, U16>>,
        ("aes256ccm", 8) => oracle_aead::<Ccm<Aes256, U8>>,
        ("aes256ccm", 12) => oracle_aead::<Ccm<Aes256, U12>>,
        ("aes256ccm", 16) => oracle_aead::<Ccm<Aes256, U16>>,
        other => panic!("no oracle for {other:?}"),
    };
    let (data, mut tag) = oracle(key, nonce, aad, plain);
    tag.truncate(tag_len);
    (data, tag)
}

/// The oracle's public value and shared secret for two private keys.
fn oracle_agree(group: Group, private: &[u8], peer: &[u8]) -> Vec<u8> {
    macro_rules! ecp {
        ($curve:ident) => {{
            let private = $curve::SecretKey::from_slice(private).unwrap();
            let peer = $curve::PublicKey::from_sec1_bytes(&[&[4], peer].concat()).unwrap();
            $curve::ecdh::diffie_hellman(private.to_nonzero_scalar(), peer.as_affine())
                .raw_secret_bytes()
                .to_vec()
        }};
    }
    match group {
        Group::Ecp256 => ecp!(p256),
        Group::Ecp384 => ecp!(p384),
        Group::Ecp521 => ecp!(p521),
        _ => {
            let private = x25519_dalek::StaticSecret::from(<[u8; 32]>::try_from(private).unwrap());
            private.diffie_hellman(&<[u8; 32]>::try_from(peer).unwrap().into()).as_bytes().to_vec()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agreements(seed in any::<u64>()) {
        for group in [Group::Ecp256, Group::Ecp384, Group::Ecp521, Group::X25519] {
            let [ours, theirs] = ["ours", "theirs"].map(|name| real().generate(group, &mut Rng::named(seed, name)));
            let secret = real().agree(&ours.private, &theirs.public).unwrap();
            prop_assert_eq!(&secret[..], &oracle_agree(group, &ours.private.secret, &theirs.public)[..]);
            prop_assert_eq!(&secret[..], &oracle_agree(group, &theirs.private.secret, &ours.public)[..]);
        }
    }

    #[test]
    fn the_oracle_accepts_our_signatures_and_we_its(seed in any::<u64>(), message in bytes(0..300)) {
        check_p256(seed, &message);
        check_p384(seed, &message);
        check_ed25519(seed, &message);
    }

    #[test]
    fn any_x25519_peer(private in bytes(32), peer in bytes(32)) {
        let key = PrivateKey { group: Group::X25519, secret: Secret::from(&private[..]) };
        let secret = real().agree(&key, &peer).unwrap();
        prop_assert_eq!(&secret[..], &oracle_agree(Group::X25519, &private, &peer)[..]);
    }
}

/// The public point at the end of a SubjectPublicKeyInfo.
fn point(spki: &[u8], len: usize) -> &[u8] {
    &spki[spki.len() - len..]
}

fn check_p256(seed: u64, message: &[u8]) {
    use p256::ecdsa::signature::{Signer, Verifier};
    use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
    let scheme = SignatureScheme::EcdsaRaw(Hash::Sha256);
    let key = keys::generate(KeyKind::EcdsaP256, &mut Rng::named(seed, "p256"));
    let signature = real().sign(&key, scheme, &[message]);
    let theirs = VerifyingKey::from_sec1_bytes(point(&key.spki, 65)).unwrap();
    theirs.verify(message, &Signature::from_slice(&signature).unwrap()).unwrap();
    let their_key = SigningKey::from_slice(&[&[1; 24], &seed.to_be_bytes()[..]].concat()).unwrap();
    let spki = [&key.spki[..26], their_key.verifying_key().to_sec1_point(false).as_bytes()].concat();
    let their_signature: Signature = their_key.sign(message);
    assert_eq!(real().verify(&spki, scheme, &[message], &their_signature.to_bytes()), Ok(()));
    let der = their_signature.to_der();
    assert_eq!(
        real().verify(&spki, SignatureScheme::EcdsaDer(Hash::Sha256), &[message], der.as_bytes()),
        Ok(())
    );
}

fn check_p384(seed: u64, message: &[u8]) {
    use p384::ecdsa::signature::Verifier;
    use p384::ecdsa::{DerSignature, VerifyingKey};
    let key = keys::generate(KeyKind::EcdsaP384, &mut Rng::named(seed, "p384"));
    let signature = real().sign(&key, SignatureScheme::EcdsaDer(Hash::Sha384), &[message]);
    let theirs = VerifyingKey::from_sec1_bytes(point(&key.spki, 97)).unwrap();
    theirs.verify(message, &DerSignature::from_bytes(&signature).unwrap()).unwrap();
}

fn check_ed25519(seed: u64, message: &[u8]) {
    use ed25519_dalek::ed25519::signature::Signer;
    let key = keys::generate(KeyKind::Ed25519, &mut Rng::named(seed, "ed25519"));
    let signature = real().sign(&key, SignatureScheme::Ed25519, &[message]);
    // RFC 8410 §7: the seed is the last 32 bytes of the PKCS #8 structure; Ed25519 has no randomness.
    let der = keys::to_pkcs8(&key).unwrap();
    let theirs = ed25519_dalek::SigningKey::from_bytes(der[der.len() - 32..].try_into().unwrap());
    assert_eq!(theirs.verifying_key().as_bytes()[..], *point(&key.spki, 32));
    assert_eq!(theirs.sign(message).to_bytes()[..], signature);
}

/// The bytes in front of an IKE message's Encrypted payload may be as long as a datagram, and CCM encodes lengths of 65 280
/// bytes and more differently. Tests lengths around that limit, around 64 KiB, and beyond any datagram.
#[test]
fn associated_data_of_any_length() {
    let (key, iv, plain) = ([0x5a; 36], [7; 16], [9; 48]);
    for aad_len in [0, 1, 65_279, 65_280, 65_281, 65_535, 65_536, 200_000] {
        let aad: Vec<u8> = (0..=u8::MAX).cycle().take(aad_len).collect();
        for &algorithm in Encryption::ALL {
            let (key, iv) = (&key[..algorithm.key_len()], &iv[..algorithm.iv_len()]);
            let (expected, expected_tag) = oracle_encrypt(algorithm, key, iv, &aad, &plain);
            let (mut data, mut tag) = (plain.to_vec(), vec![0; algorithm.tag_len()]);
            real().encrypt(algorithm, key, iv, &aad, &mut data, &mut tag);
            assert_eq!((&data, &tag), (&expected, &expected_tag), "{algorithm}, {aad_len}");
            assert_eq!(real().decrypt(algorithm, key, iv, &aad, &mut data, &tag), Ok(()), "{algorithm}");
            assert_eq!(data, plain, "{algorithm}, {aad_len}");
        }
    }
}

/// Round trips test decryption together with encryption; this tests it alone, on what the oracle encrypted.
#[test]
fn cbc_decryption_alone() {
    let (key, iv) = ([3; 16], [4; 16]);
    let mut data: Vec<u8> = (0..160).collect();
    let expected = cbc::Decryptor::<Aes128>::new_from_slices(&key, &iv)
        .unwrap()
        .decrypt_padded_vec::<NoPadding>(&data)
        .unwrap();
    real().decrypt(Encryption::Aes128Cbc, &key, &iv, &[], &mut data, &[]).unwrap();
    assert_eq!(data, expected);
}
