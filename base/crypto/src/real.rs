//! The provider that computes, with AWS-LC.

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{
    Crypto, Digest, KeyPair, OnCurve, PrivateKey, Rejected, Rng, Secret, SigningKey, TrafficKey,
};
use keytoll_native::awslc::{const_time_eq, hash, key, rc4};
use keytoll_native::clock;

use crate::agreement::{self, Exponents};
use crate::cipher::Keyed;
use crate::{cbc_mac, cipher, curve, hmac, mac, signature, traffic};

/// An algorithm that the chosen library does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not in this crypto library")]
pub struct Unsupported(pub &'static str);

/// Real cryptography.
#[derive(Debug, Default)]
pub struct Real {
    exponents: Exponents,
    /// How much longer a signature takes, in percent of its own time; see [`Real::with_slower_signatures`].
    signatures_slower_percent: u64,
}

impl Real {
    /// A provider that draws private MODP exponents of the given length.
    pub const fn new(exponents: Exponents) -> Self {
        Self { exponents, signatures_slower_percent: 0 }
    }

    /// The same provider, but after each signature it computes on for so many percent of the time that the signature took: by this,
    /// tests show that comparisons of runs find such a difference.
    #[must_use]
    pub const fn with_slower_signatures(self, percent: u64) -> Self {
        Self { signatures_slower_percent: percent, ..self }
    }

    /// Whether the library has the group: all but X448.
    pub const fn supports(group: Group) -> bool {
        agreement::supports(group)
    }

    /// Checks that the library has everything a suite needs.
    ///
    /// # Errors
    /// The first algorithm that is missing.
    pub fn check(suite: &Suite) -> Result<(), Unsupported> {
        match suite.group {
            Some(group) if !Self::supports(group) => Err(Unsupported(group.name())),
            _ => Ok(()),
        }
    }

    /// The length of private MODP exponents.
    pub const fn exponents(&self) -> Exponents {
        self.exponents
    }
}

/// Computes for so many percent of the time since `begun`.
fn compute_on(begun: u64, percent: u64) {
    let now = clock::ticks();
    let until = now + now.saturating_sub(begun) * percent / 100;
    while clock::ticks() < until {
        std::hint::black_box(until);
    }
}

impl Crypto for Real {
    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest {
        hmac::hash(algorithm, parts)
    }

    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]) {
        hash::sha1_compress(state, block);
    }

    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
        cipher::block(cipher, key, block);
    }

    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]) {
        match cipher {
            StreamCipher::Rc4 => rc4::apply(key, data),
        }
    }

    fn wrap_key(&mut self, cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8> {
        cipher::wrap(cipher, key, data)
    }

    fn unwrap_key(&mut self, cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
        cipher::unwrap(cipher, key, wrapped)
    }

    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest {
        match algorithm {
            Prf::HmacMd5 => hmac::hmac(Hash::Md5, key, parts),
            Prf::HmacSha1 => hmac::hmac(Hash::Sha1, key, parts),
            Prf::HmacSha256 => hmac::hmac(Hash::Sha256, key, parts),
            Prf::HmacSha384 => hmac::hmac(Hash::Sha384, key, parts),
            Prf::HmacSha512 => hmac::hmac(Hash::Sha512, key, parts),
            Prf::AesXcbc128 => cbc_mac::xcbc_prf(key, parts),
            Prf::AesCmac128 => cbc_mac::cmac_prf(key, parts),
        }
    }

    fn mac(&mut self, algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest {
        mac::mac(algorithm, key, parts)
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        key: &[u8],
        parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        const_time_eq(&self.mac(algorithm, key, parts), tag).then_some(()).ok_or(Rejected)
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
        Keyed::new(algorithm, key, iv).encrypt(aad, data, tag);
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
        Keyed::new(algorithm, key, iv).decrypt(aad, data, tag)
    }

    fn encrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        traffic::encrypt(key, iv, aad, data, tag);
    }

    fn decrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        traffic::decrypt(key, iv, aad, data, tag)
    }

    fn mac_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
        traffic::mac(key, parts, tag);
    }

    fn verify_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
        traffic::verify(key, parts, tag)
    }

    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair {
        agreement::generate(group, self.exponents, rng)
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        agreement::agree(private, peer)
    }

    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        curve::compute(&curve::AwsLc, curve, operation)
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8> {
        let private: &key::PrivateKey =
            key.inner().expect("the key was made or loaded by keytoll_crypto::keys");
        let begun = clock::ticks();
        let signature = signature::sign(private, scheme, parts).expect("the scheme fits the key");
        if self.signatures_slower_percent > 0 {
            compute_on(begun, self.signatures_slower_percent);
        }
        signature
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        signature::verify(spki, scheme, parts, signature)
    }

    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected> {
        key::PublicKey::from_spki(spki).and_then(|key| key.encrypt_rsa(message)).ok_or(Rejected)
    }

    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected> {
        let private: &key::PrivateKey = key.inner().expect("the key was made by keytoll_crypto::keys");
        private.decrypt_rsa(ciphertext).map(Secret::new).ok_or(Rejected)
    }
}
