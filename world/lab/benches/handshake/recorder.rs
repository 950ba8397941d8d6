//! A provider that computes, and keeps every operation with its arguments so that the library can do it again.

use std::sync::{Arc, Mutex, PoisonError};

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{
    Crypto, Digest, KeyPair, OnCurve, Phase, PrivateKey, Rejected, Rng, Secret, SigningKey,
};
use keytoll_native::awslc::key::PublicKey;

use super::raw::{Primitive, Sealing};

/// What two recorders wrote, in the order it happened.
pub(crate) type Tape = Arc<Mutex<Vec<Primitive>>>;

/// The provider.
pub(crate) struct Recorder {
    real: Real,
    tape: Tape,
}

impl Recorder {
    pub(crate) fn onto(tape: &Tape) -> Self {
        Self { real: Real::default(), tape: Arc::clone(tape) }
    }

    fn keep(&self, primitive: Primitive) {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).push(primitive);
    }
}

impl Crypto for Recorder {
    fn enter(&mut self, phase: Phase) {
        self.real.enter(phase);
    }

    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest {
        self.keep(Primitive::Hash(algorithm, parts.concat()));
        self.real.hash(algorithm, parts)
    }

    fn sha1_compress(&mut self, _state: &mut [u32; 5], _block: &[u8; 64]) {
        unreachable!("no handshake of the benchmark steps through SHA-1")
    }

    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
        let input = <[u8; 16]>::try_from(&*block).expect("AES is the only one of the benchmark");
        self.keep(Primitive::Block { key: key.to_vec(), block: input });
        self.real.block(cipher, key, block);
    }

    fn stream(&mut self, cipher: StreamCipher, _key: &[u8], _data: &mut [u8]) {
        unreachable!("no suite of the benchmark uses {cipher}")
    }

    fn wrap_key(&mut self, _cipher: KeyWrap, _key: &[u8], _data: &[u8]) -> Vec<u8> {
        unreachable!("no handshake of the benchmark wraps keys")
    }

    fn unwrap_key(&mut self, _cipher: KeyWrap, _key: &[u8], _wrapped: &[u8]) -> Result<Secret, Rejected> {
        unreachable!("no handshake of the benchmark wraps keys")
    }

    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest {
        self.keep(Primitive::Prf { algorithm, key: key.to_vec(), message: parts.concat() });
        self.real.prf(algorithm, key, parts)
    }

    fn mac(&mut self, algorithm: Integrity, _key: &[u8], _parts: &[&[u8]]) -> Digest {
        unreachable!("suites with an AEAD need no {algorithm}")
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        _key: &[u8],
        _parts: &[&[u8]],
        _tag: &[u8],
    ) -> Result<(), Rejected> {
        unreachable!("suites with an AEAD need no {algorithm}")
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
        self.keep(Primitive::Seal(Sealing::new(algorithm, key, iv, aad, data)));
        self.real.encrypt(algorithm, key, iv, aad, data, tag);
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
        let sealing = Sealing::new(algorithm, key, iv, aad, data);
        self.keep(Primitive::Open(sealing, tag.try_into().expect("whole tags")));
        self.real.decrypt(algorithm, key, iv, aad, data, tag)
    }

    fn rsa_encrypt(&mut self, _spki: &[u8], _message: &[u8]) -> Result<Vec<u8>, Rejected> {
        unreachable!("no handshake of the benchmark encrypts with RSA")
    }

    fn rsa_decrypt(&mut self, _key: &SigningKey, _ciphertext: &[u8]) -> Result<Secret, Rejected> {
        unreachable!("no handshake of the benchmark encrypts with RSA")
    }

    fn on_curve(&mut self, _curve: Curve, _operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        unreachable!("no handshake of the benchmark computes with elements")
    }

    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair {
        let pair = self.real.generate(group, rng);
        self.keep(Primitive::generate(group, &pair.private.secret));
        pair
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        self.keep(Primitive::agree(private.group, &private.secret, peer));
        self.real.agree(private, peer)
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8> {
        self.keep(Primitive::Sign { key: key.clone(), scheme, message: parts.concat() });
        self.real.sign(key, scheme, parts)
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        let key = PublicKey::from_spki(spki).ok_or(Rejected)?;
        self.keep(Primitive::Verify { key, scheme, message: parts.concat(), signature: signature.to_vec() });
        self.real.verify(spki, scheme, parts, signature)
    }
}
