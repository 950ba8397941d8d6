//! Any of the providers as one type, without a box.

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{
    Crypto, Digest, KeyPair, OnCurve, Phase, PrivateKey, Rejected, Rng, Secret, SigningKey, TrafficKey,
};

use crate::{Null, Real};

/// A provider.
#[derive(Debug)]
pub enum Provider {
    /// Computes.
    Real(Real),
    /// Pretends.
    Null(Null),
    /// Computes with the system's OpenSSL.
    #[cfg(feature = "ossl")]
    Ossl(crate::Ossl),
}

impl Provider {
    /// The name a run is labelled with.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Real(_) => "real",
            Self::Null(_) => "null",
            #[cfg(feature = "ossl")]
            Self::Ossl(_) => "ossl",
        }
    }
}

/// Forwards a call to the provider in use.
macro_rules! each {
    ($self:ident.$operation:ident($($argument:expr),*)) => {
        match $self {
            Self::Real(real) => real.$operation($($argument),*),
            Self::Null(null) => null.$operation($($argument),*),
            #[cfg(feature = "ossl")]
            Self::Ossl(ossl) => ossl.$operation($($argument),*),
        }
    };
}

impl Crypto for Provider {
    fn enter(&mut self, phase: Phase) {
        each!(self.enter(phase));
    }

    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest {
        each!(self.hash(algorithm, parts))
    }

    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]) {
        each!(self.sha1_compress(state, block));
    }

    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
        each!(self.block(cipher, key, block));
    }

    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]) {
        each!(self.stream(cipher, key, data));
    }

    fn wrap_key(&mut self, cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8> {
        each!(self.wrap_key(cipher, key, data))
    }

    fn unwrap_key(&mut self, cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
        each!(self.unwrap_key(cipher, key, wrapped))
    }

    #[inline]
    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest {
        each!(self.prf(algorithm, key, parts))
    }

    fn mac(&mut self, algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest {
        each!(self.mac(algorithm, key, parts))
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        key: &[u8],
        parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        each!(self.verify_mac(algorithm, key, parts, tag))
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
        each!(self.encrypt(algorithm, key, iv, aad, data, tag));
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
        each!(self.decrypt(algorithm, key, iv, aad, data, tag))
    }

    fn encrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        each!(self.encrypt_traffic(key, iv, aad, data, tag));
    }

    fn decrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        each!(self.decrypt_traffic(key, iv, aad, data, tag))
    }

    fn mac_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
        each!(self.mac_traffic(key, parts, tag));
    }

    fn verify_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
        each!(self.verify_traffic(key, parts, tag))
    }

    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair {
        each!(self.generate(group, rng))
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        each!(self.agree(private, peer))
    }

    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        each!(self.on_curve(curve, operation))
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8> {
        each!(self.sign(key, scheme, parts))
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        each!(self.verify(spki, scheme, parts, signature))
    }

    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected> {
        each!(self.rsa_encrypt(spki, message))
    }

    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected> {
        each!(self.rsa_decrypt(key, ciphertext))
    }
}
