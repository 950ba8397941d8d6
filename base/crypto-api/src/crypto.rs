//! The trait through which all cryptography goes. `keytoll-crypto` implements it: real, null, metered.

use crate::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use crate::{Digest, KeyPair, OnCurve, Phase, PrivateKey, Rng, Secret, SigningKey, TrafficKey};

/// Every cryptographic primitive that any protocol uses.
///
/// Messages are given in parts so that callers need not copy them together. Implementations compare secrets in constant
/// time.
pub trait Crypto: Send {
    /// Sets the phase of the protocol that the following operations belong to; used by meters only.
    fn enter(&mut self, _phase: Phase) {}

    /// Sets what the following operations are for, in the protocol's terms; empty for nothing. Used by meters only;
    /// callers use [`about`].
    fn set_purpose(&mut self, _purpose: &'static str) {}

    /// A digest of the parts.
    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest;

    /// One step of SHA-1 (FIPS 180-4 §6.1.2) on the caller's chaining state, without padding: the G function of FIPS 186-2,
    /// from which EAP-SIM and EAP-AKA derive their keys.
    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]);

    /// Encrypts one block in place. `key` has [`BlockCipher::key_len`] bytes, `block` [`BlockCipher::block_len`].
    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]);

    /// Encrypts or decrypts in place from the beginning of the key stream. `key` has 1 to 256 bytes.
    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]);

    /// Wraps keys, RFC 3394 §2.2.1. `key` has [`KeyWrap::key_len`] bytes, and [`KeyWrap::fits`] the length of `data`.
    fn wrap_key(&mut self, cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8>;

    /// Unwraps what [`Crypto::wrap_key`] made (RFC 3394 §2.2.2); rejected if its length or its integrity check is wrong.
    fn unwrap_key(&mut self, cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected>;

    /// A pseudo-random function; any key length.
    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest;

    /// An integrity check value, truncated to [`Integrity::tag_len`].
    fn mac(&mut self, algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest;

    /// Checks an integrity check value in constant time.
    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        key: &[u8],
        parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected>;

    /// Encrypts in place. `key` is [`Encryption::key_len`] bytes (salt last), `iv` [`Encryption::iv_len`], `data` a
    /// multiple of [`Encryption::block_len`], `tag` [`Encryption::tag_len`]; `aad` is ignored unless AEAD. A key without its salt
    /// takes an `iv` of [`Encryption::whole_nonce_len`] bytes.
    fn encrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    );

    /// Decrypts in place; if rejected, the contents of `data` are undefined.
    fn decrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected>;

    /// As [`Crypto::encrypt`], with the traffic key of an SA.
    fn encrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        self.encrypt(key.encryption, &key.encryption_key, iv, aad, data, tag);
    }

    /// As [`Crypto::decrypt`], with the traffic key of an SA.
    fn decrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.decrypt(key.encryption, &key.encryption_key, iv, aad, data, tag)
    }

    /// As [`Crypto::mac`], with the traffic key of an SA, which must have an integrity algorithm. `tag` has
    /// [`Integrity::tag_len`] bytes.
    fn mac_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
        tag.copy_from_slice(&self.mac(key.authentication(), &key.integrity_key, parts));
    }

    /// As [`Crypto::verify_mac`], with the traffic key of an SA, which must have an integrity algorithm.
    fn verify_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
        self.verify_mac(key.authentication(), &key.integrity_key, parts, tag)
    }

    /// A fresh key pair for a group, its private part drawn from `rng`.
    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair;

    /// The shared secret, of [`Group::secret_len`] bytes. Checks the peer's public value as its group requires
    /// (RFC 6989, RFC 8031 §2.3).
    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected>;

    /// Computes in the group of a curve; the result of an operation that only checks is empty. Operands that an operation
    /// does not take are rejected, those of a wrong length among them.
    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected>;

    /// Signs. The key must have been loaded by this provider and fit the scheme. PSS salts and ECDSA nonces may come from
    /// the library's own generator.
    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8>;

    /// Checks a signature against a DER SubjectPublicKeyInfo.
    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected>;

    /// Encrypts for the RSA key of a DER SubjectPublicKeyInfo, RSAES-PKCS1-v1_5 (RFC 8017 §7.2.1). The padding may come
    /// from the library's own generator. Keys of other kinds and messages longer than the modulus minus 11 bytes are rejected.
    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected>;

    /// Decrypts the output of [`Crypto::rsa_encrypt`].
    ///
    /// RFC 8017 §7.2.2: a peer that learns whether the padding was wrong can decrypt anything (Bleichenbacher). So if this
    /// is rejected, or the result has another length than expected, the caller continues with a random secret of the expected
    /// length, drawn before the call (RFC 5246 §7.4.7.1). Some libraries do so themselves and reject nothing.
    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected>;
}

/// The peer's bytes failed a check: an invalid tag, signature or public value. The caller knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rejected")]
pub struct Rejected;

/// Runs `compute` with its operations labelled `purpose`: a key, a payload, a proof.
pub fn about<R>(
    crypto: &mut dyn Crypto,
    purpose: &'static str,
    compute: impl FnOnce(&mut dyn Crypto) -> R,
) -> R {
    crypto.set_purpose(purpose);
    let computed = compute(crypto);
    crypto.set_purpose("");
    computed
}
