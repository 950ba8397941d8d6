//! A crypto provider for hosts that use none: every call is a bug in the test.

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{Crypto, Digest, KeyPair, OnCurve, PrivateKey, Rejected, Rng, Secret, SigningKey};

/// Provides nothing.
pub(crate) struct NoCrypto;

impl Crypto for NoCrypto {
    fn hash(&mut self, _: Hash, _: &[&[u8]]) -> Digest {
        unreachable!("toy hosts hash nothing")
    }

    fn sha1_compress(&mut self, _: &mut [u32; 5], _: &[u8; 64]) {
        unreachable!("toy hosts compress nothing")
    }

    fn block(&mut self, _: BlockCipher, _: &[u8], _: &mut [u8]) {
        unreachable!("toy hosts encipher nothing")
    }

    fn stream(&mut self, _: StreamCipher, _: &[u8], _: &mut [u8]) {
        unreachable!("toy hosts encipher nothing")
    }

    fn wrap_key(&mut self, _: KeyWrap, _: &[u8], _: &[u8]) -> Vec<u8> {
        unreachable!("toy hosts wrap nothing")
    }

    fn unwrap_key(&mut self, _: KeyWrap, _: &[u8], _: &[u8]) -> Result<Secret, Rejected> {
        unreachable!("toy hosts unwrap nothing")
    }

    fn prf(&mut self, _: Prf, _: &[u8], _: &[&[u8]]) -> Digest {
        unreachable!("toy hosts derive nothing")
    }

    fn mac(&mut self, _: Integrity, _: &[u8], _: &[&[u8]]) -> Digest {
        unreachable!("toy hosts protect nothing")
    }

    fn verify_mac(&mut self, _: Integrity, _: &[u8], _: &[&[u8]], _: &[u8]) -> Result<(), Rejected> {
        unreachable!("toy hosts check nothing")
    }

    fn encrypt(&mut self, _: Encryption, _: &[u8], _: &[u8], _: &[u8], _: &mut [u8], _: &mut [u8]) {
        unreachable!("toy hosts encrypt nothing")
    }

    fn decrypt(
        &mut self,
        _: Encryption,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &mut [u8],
        _: &[u8],
    ) -> Result<(), Rejected> {
        unreachable!("toy hosts decrypt nothing")
    }

    fn rsa_encrypt(&mut self, _: &[u8], _: &[u8]) -> Result<Vec<u8>, Rejected> {
        unreachable!("toy hosts encrypt nothing")
    }

    fn rsa_decrypt(&mut self, _: &SigningKey, _: &[u8]) -> Result<Secret, Rejected> {
        unreachable!("toy hosts decrypt nothing")
    }

    fn generate(&mut self, _: Group, _: &mut Rng) -> KeyPair {
        unreachable!("toy hosts have no keys")
    }

    fn agree(&mut self, _: &PrivateKey, _: &[u8]) -> Result<Secret, Rejected> {
        unreachable!("toy hosts agree on nothing")
    }

    fn on_curve(&mut self, _: Curve, _: OnCurve<'_>) -> Result<Secret, Rejected> {
        unreachable!("toy hosts know no curve")
    }

    fn sign(&mut self, _: &SigningKey, _: SignatureScheme, _: &[&[u8]]) -> Vec<u8> {
        unreachable!("toy hosts sign nothing")
    }

    fn verify(&mut self, _: &[u8], _: SignatureScheme, _: &[&[u8]], _: &[u8]) -> Result<(), Rejected> {
        unreachable!("toy hosts verify nothing")
    }
}
