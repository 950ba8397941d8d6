//! The second real provider, with the system's OpenSSL 3.0: `cargo build --features ossl`.
//!
//! It makes the same calls as strongSwan, so that a difference to charon is either the library's or the engine's. OpenSSL
//! has no AES-XCBC (strongSwan has its own): call [`Ossl::check`] before offering it.

use std::borrow::Cow;
use std::sync::Arc;

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf, SignatureScheme,
    StreamCipher,
};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Digest, KeyPair, OnCurve, PrivateKey, Rejected, Rng, Secret, SigningKey};
use keytoll_native::awslc::const_time_eq;
use keytoll_native::awslc::ec;
use keytoll_native::awslc::element::Modulus;
use keytoll_native::ossl::agreement::{self, Montgomery};
use keytoll_native::ossl::cipher::{Cipher, rc4, unwrap_key, wrap_key};
use keytoll_native::ossl::key::{self, PublicKey, Scheme};
use keytoll_native::ossl::{digest, element};

use zeroize::Zeroizing;

use crate::agreement::{Family, draw_scalar, family};
use crate::cipher::{self, Keyed, check_lengths};
use crate::curve::{self, Library, Step};
use crate::keys::{self, KeyError, kind_of_spki};
use crate::signature::name;
use crate::{Exponents, Unsupported};

/// Real cryptography with the system's OpenSSL.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ossl {
    exponents: Exponents,
}

impl Ossl {
    /// A provider that draws private MODP exponents of the given length.
    pub const fn new(exponents: Exponents) -> Self {
        Self { exponents }
    }

    /// Checks that it has everything a suite needs.
    ///
    /// # Errors
    /// The first algorithm that is missing.
    pub fn check(suite: &Suite) -> Result<(), Unsupported> {
        let integrity = suite.integrity.filter(|&integrity| integrity == Integrity::AesXcbc96);
        let prf = suite.prf.filter(|&prf| prf == Prf::AesXcbc128);
        match (integrity, prf) {
            (Some(integrity), _) => Err(Unsupported(integrity.name())),
            (_, Some(prf)) => Err(Unsupported(prf.name())),
            (None, None) => Ok(()),
        }
    }

    /// The library's own description.
    pub fn version() -> &'static str {
        keytoll_native::ossl::version()
    }

    /// Loads a key made by [`crate::keys`] into this library.
    ///
    /// # Errors
    /// It is a dummy key, or the library refuses it.
    pub fn adopt(key: &SigningKey) -> Result<SigningKey, KeyError> {
        let der = keys::to_pkcs8(key).ok_or(KeyError::Malformed)?;
        let private = key::PrivateKey::from_pkcs8(&der).ok_or(KeyError::Malformed)?;
        Ok(SigningKey::new(key.kind, &key.spki, Arc::new(private)))
    }
}

impl Crypto for Ossl {
    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest {
        // OpenSSL 3.0 has MD4 in its legacy provider only; strongSwan and FreeRADIUS have their own, and so do we.
        let Some(name) = name(algorithm) else { return crate::hmac::hash(algorithm, parts) };
        let mut digest = Digest::zeroed(algorithm.len());
        digest::hash(name, parts, &mut digest);
        digest
    }

    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]) {
        digest::sha1_compress(state, block);
    }

    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
        self::block(cipher, key, block);
    }

    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]) {
        match cipher {
            StreamCipher::Rc4 => rc4(key, data),
        }
    }

    fn wrap_key(&mut self, cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8> {
        assert!(key.len() == cipher.key_len() && KeyWrap::fits(data.len()), "lengths of {cipher} key wrap");
        let mut wrapped = vec![0; data.len() + KeyWrap::OVERHEAD];
        wrap_key(key, data, &mut wrapped);
        wrapped
    }

    fn unwrap_key(&mut self, cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
        assert_eq!(key.len(), cipher.key_len(), "length of the {cipher} key");
        let len = cipher::unwrapped_len(wrapped)?;
        let mut data = Zeroizing::new(vec![0; len]);
        accept(unwrap_key(key, wrapped, &mut data)).map(|()| Secret::from(&data[..]))
    }

    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest {
        match algorithm {
            Prf::HmacMd5 => hmac(Hash::Md5, key, parts),
            Prf::HmacSha1 => hmac(Hash::Sha1, key, parts),
            Prf::HmacSha256 => hmac(Hash::Sha256, key, parts),
            Prf::HmacSha384 => hmac(Hash::Sha384, key, parts),
            Prf::HmacSha512 => hmac(Hash::Sha512, key, parts),
            Prf::AesCmac128 => cmac_prf(key, parts),
            Prf::AesXcbc128 => {
                panic!("{}; ask Ossl::check before offering it", Unsupported(algorithm.name()))
            }
        }
    }

    fn mac(&mut self, algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest {
        let mut tag = match algorithm {
            Integrity::HmacMd5_96 => hmac(Hash::Md5, key, parts),
            Integrity::HmacSha1_96 => hmac(Hash::Sha1, key, parts),
            Integrity::HmacSha256_128 => hmac(Hash::Sha256, key, parts),
            Integrity::HmacSha384_192 => hmac(Hash::Sha384, key, parts),
            Integrity::HmacSha512_256 => hmac(Hash::Sha512, key, parts),
            Integrity::AesCmac96 => cmac(key, parts),
            Integrity::AesXcbc96 => {
                panic!("{}; ask Ossl::check before offering it", Unsupported(algorithm.name()))
            }
        };
        tag.truncate(algorithm.tag_len());
        tag
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        key: &[u8],
        parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        accept(const_time_eq(&self.mac(algorithm, key, parts), tag))
    }

    fn encrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        let keyed = Keyed::new(algorithm, key, iv);
        let aad = associated(algorithm, if keyed.is_unsalted() { &[] } else { iv }, aad, data);
        if let Some(cipher) = cipher(algorithm) {
            let data = if algorithm.is_gmac() { &mut [] } else { data };
            cipher.encrypt(keyed.key(), &keyed.whole_iv(), &aad, data, tag);
        }
    }

    fn decrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        let keyed = Keyed::new(algorithm, key, iv);
        check_lengths(algorithm, data, tag)?;
        let aad = associated(algorithm, if keyed.is_unsalted() { &[] } else { iv }, aad, data);
        let data = if algorithm.is_gmac() { &mut [] } else { data };
        accept(
            cipher(algorithm)
                .is_none_or(|cipher| cipher.decrypt(keyed.key(), &keyed.whole_iv(), &aad, data, tag)),
        )
    }

    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair {
        let mut public = vec![0; group.public_len()];
        let secret = match family(group) {
            Family::Modp(prime) => {
                let exponent = self.exponents.draw(group, rng);
                agreement::modp_public(prime.constant(), &exponent, &mut public);
                exponent
            }
            Family::Ecp(curve) => {
                draw_scalar(curve, rng, |scalar| agreement::ec_public(curve, scalar, &mut public))
            }
            Family::X25519 => montgomery_secret(Montgomery::X25519, rng, &mut public),
            Family::X448 => montgomery_secret(Montgomery::X448, rng, &mut public),
        };
        // A daemon keeps the key object between the two operations; we keep the public half, so that it is not computed twice.
        let secret = if group.is_modp() { secret } else { Secret::new([&secret[..], &public].concat()) };
        KeyPair { private: PrivateKey { group, secret }, public }
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        let group = private.group;
        accept(peer.len() == group.public_len())?;
        let mut secret = vec![0; group.secret_len()];
        let (own, public) = halves(private);
        let valid = match family(group) {
            Family::Modp(prime) => agreement::modp_agree(prime.constant(), own, peer, &mut secret),
            Family::Ecp(curve) => agreement::ec_agree(curve, own, public, peer, &mut secret),
            Family::X25519 => agreement::montgomery_agree(Montgomery::X25519, own, public, peer, &mut secret),
            Family::X448 => agreement::montgomery_agree(Montgomery::X448, own, public, peer, &mut secret),
        };
        let secret = Secret::new(secret);
        accept(valid).map(|()| secret)
    }

    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        curve::compute(self, curve, operation)
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8> {
        let private: &key::PrivateKey = key.inner().expect("the key was adopted by Ossl::adopt");
        native(key.kind, scheme)
            .and_then(|scheme| private.sign(scheme, &parts.concat()))
            .expect("the scheme fits the key")
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        let key = PublicKey::from_spki(spki).ok_or(Rejected)?;
        // Only the width of raw ECDSA depends on the kind; for it the length of the key says which curve.
        let kind = kind_of_spki(spki).unwrap_or(KeyKind::Rsa2048);
        let scheme = native(kind, scheme).ok_or(Rejected)?;
        accept(key.verify(scheme, &parts.concat(), signature))
    }

    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected> {
        PublicKey::from_spki(spki).and_then(|key| key.encrypt_rsa(message)).ok_or(Rejected)
    }

    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected> {
        let private: &key::PrivateKey = key.inner().expect("the key was adopted by Ossl::adopt");
        private.decrypt_rsa(ciphertext).map(Secret::new).ok_or(Rejected)
    }
}

impl Library for Ossl {
    fn multiply(&self, curve: ec::Curve, point: &[u8], scalar: &[u8], out: &mut [u8]) -> bool {
        element::multiply(curve, point, scalar, out)
    }

    fn add(&self, curve: ec::Curve, a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
        element::add(curve, a, b, out)
    }

    fn contains(&self, curve: ec::Curve, point: &[u8]) -> bool {
        element::is_on_curve(curve, point)
    }

    fn modular(&self, step: Step, modulus: &'static Modulus, a: &[u8], b: &[u8], out: &mut [u8]) {
        match step {
            Step::Add => element::modular_sum(a, b, modulus.bytes(), out),
            Step::Subtract => element::modular_difference(a, b, modulus.bytes(), out),
            Step::Multiply => element::modular_product(a, b, modulus.bytes(), out),
            Step::Power => element::modular_power(a, b, modulus.bytes(), out),
        }
    }

    fn remainder(&self, number: &[u8], modulus: &[u8], out: &mut [u8]) {
        element::remainder(number, modulus, out);
    }
}

/// The private half of what `generate` made and, except for MODP, the public half.
fn halves(private: &PrivateKey) -> (&[u8], &[u8]) {
    let public_len = if private.group.is_modp() { 0 } else { private.group.public_len() };
    private.secret.split_at(private.secret.len().saturating_sub(public_len))
}

/// One block of CBC with a zero IV is the block cipher itself, and EDE with three equal keys is single DES, which OpenSSL
/// 3.0 has in its legacy provider only.
fn block(cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
    assert_eq!((key.len(), block.len()), (cipher.key_len(), cipher.block_len()), "lengths of {cipher}");
    match cipher {
        BlockCipher::Aes128 => Cipher::Aes128Cbc.encrypt(key, &[0; 16], &[], block, &mut []),
        BlockCipher::Aes256 => Cipher::Aes256Cbc.encrypt(key, &[0; 16], &[], block, &mut []),
        BlockCipher::Des => {
            let key = Zeroizing::new([key, key, key].concat());
            Cipher::TripleDesCbc.encrypt(&key, &[0; 8], &[], block, &mut []);
        }
    }
}

fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Digest {
    let mut output = Digest::zeroed(hash.len());
    digest::hmac(name(hash).expect("no PRF is built on MD4"), key, parts, &mut output);
    output
}

fn cmac(key: &[u8], parts: &[&[u8]]) -> Digest {
    let (mut tag, mut output) = ([0; 16], Digest::zeroed(16));
    digest::aes_cmac(key.try_into().expect("an AES-CMAC key has 16 bytes"), parts, &mut tag);
    output.copy_from_slice(&tag);
    output
}

fn cmac_prf(key: &[u8], parts: &[&[u8]]) -> Digest {
    // RFC 4615 §3: a key of any other length is itself authenticated under the zero key.
    if key.len() == 16 { cmac(key, parts) } else { cmac(&cmac(&[0; 16], &[key]), parts) }
}

fn montgomery_secret(curve: Montgomery, rng: &mut Rng, public: &mut [u8]) -> Secret {
    let mut private = vec![0; public.len()];
    rng.fill(&mut private);
    agreement::montgomery_public(curve, &private, public);
    Secret::new(private)
}

/// The data that the cipher authenticates without encrypting it. RFC 4543 §3.3: with GMAC, everything; there
/// is no IV if the nonce is given whole.
fn associated<'a>(algorithm: Encryption, iv: &[u8], aad: &'a [u8], data: &[u8]) -> Cow<'a, [u8]> {
    match algorithm {
        gmac if gmac.is_gmac() => [aad, iv, data].concat().into(),
        aead if aead.is_aead() => aad.into(),
        _ => (&[]).into(),
    }
}

/// None for no encryption.
const fn cipher(algorithm: Encryption) -> Option<Cipher> {
    use Encryption as E;
    Some(match algorithm {
        E::Null => return None,
        E::TripleDesCbc => Cipher::TripleDesCbc,
        E::Aes128Cbc => Cipher::Aes128Cbc,
        E::Aes192Cbc => Cipher::Aes192Cbc,
        E::Aes256Cbc => Cipher::Aes256Cbc,
        E::Aes128Ctr => Cipher::Aes128Ctr,
        E::Aes192Ctr => Cipher::Aes192Ctr,
        E::Aes256Ctr => Cipher::Aes256Ctr,
        E::Aes128Gcm16 | E::Aes128Gcm12 | E::Aes128Gcm8 | E::Aes128Gmac => Cipher::Aes128Gcm,
        E::Aes192Gcm16 | E::Aes192Gmac => Cipher::Aes192Gcm,
        E::Aes256Gcm16 | E::Aes256Gcm12 | E::Aes256Gcm8 | E::Aes256Gmac => Cipher::Aes256Gcm,
        E::Aes128Ccm16 | E::Aes128Ccm12 | E::Aes128Ccm8 => Cipher::Aes128Ccm,
        E::Aes192Ccm16 => Cipher::Aes192Ccm,
        E::Aes256Ccm16 | E::Aes256Ccm12 | E::Aes256Ccm8 => Cipher::Aes256Ccm,
        E::ChaCha20Poly1305 => Cipher::ChaCha20Poly1305,
    })
}

fn native(kind: KeyKind, scheme: SignatureScheme) -> Option<Scheme> {
    use keytoll_native::awslc::key::Padding;
    Some(match scheme {
        SignatureScheme::RsaPkcs1(hash) => Scheme::Rsa(Padding::Pkcs1, name(hash)?),
        SignatureScheme::RsaPkcs1Bare => Scheme::RsaBare,
        SignatureScheme::RsaPss(hash) => Scheme::Rsa(Padding::Pss, name(hash)?),
        SignatureScheme::EcdsaDer(hash) => Scheme::EcdsaDer(name(hash)?),
        SignatureScheme::EcdsaRaw(hash) => {
            Scheme::EcdsaRaw(name(hash)?, keys::signature_len(kind, scheme) / 2)
        }
        SignatureScheme::Ed25519 => Scheme::Ed25519,
    })
}

fn accept(condition: bool) -> Result<(), Rejected> {
    condition.then_some(()).ok_or(Rejected)
}
