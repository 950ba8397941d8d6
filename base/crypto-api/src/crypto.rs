//! The one door to every primitive. Providers stand behind it (`keytoll-crypto`): real, null, table, metered.

use crate::algorithm::{BlockCipher, Encryption, Group, Hash, Integrity, Prf, SignatureScheme, StreamCipher};
use crate::{Digest, KeyPair, Phase, PrivateKey, Rng, Secret, SigningKey, TrafficKey};

/// Every cryptographic primitive that any protocol uses.
///
/// Messages are given in parts so that callers need not copy them together. All comparisons of secrets happen behind
/// this door, in constant time.
pub trait Crypto: Send {
    /// Says which phase of the protocol the following operations belong to; only meters care.
    fn enter(&mut self, _phase: Phase) {}

    /// Says what the following operations are for, in the words of the protocol; nothing if it is empty. Only meters care,
    /// and callers use [`about`].
    fn tell(&mut self, _purpose: &'static str) {}

    /// A digest of the parts.
    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest;

    /// One step of SHA-1 (FIPS 180-4 §6.1.2) on a chaining state of the caller's, without padding: FIPS 186-2's G
    /// function, on which EAP-SIM and EAP-AKA derive their keys.
    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]);

    /// Encrypts one block in place. `key` has [`BlockCipher::key_len`] bytes, `block` [`BlockCipher::block_len`].
    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]);

    /// Encrypts or decrypts in place from the beginning of the key stream. `key` has 1 to 256 bytes.
    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]);

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
    /// multiple of [`Encryption::block_len`], `tag` [`Encryption::tag_len`]; `aad` is ignored unless AEAD.
    fn encrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    );

    /// Decrypts in place; on rejection `data` holds nothing of use.
    fn decrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected>;

    /// As [`Crypto::encrypt`], with the key of an SA that carries traffic.
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

    /// As [`Crypto::decrypt`], with the key of an SA that carries traffic.
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

    /// As [`Crypto::mac`], with the key of an SA that carries traffic, which must have an integrity algorithm. `tag` has
    /// [`Integrity::tag_len`] bytes.
    fn mac_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
        tag.copy_from_slice(&self.mac(key.authentication(), &key.integrity_key, parts));
    }

    /// As [`Crypto::verify_mac`], with the key of an SA that carries traffic, which must have an integrity algorithm.
    fn verify_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
        self.verify_mac(key.authentication(), &key.integrity_key, parts, tag)
    }

    /// A fresh key pair for a group, its private part drawn from `rng`.
    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair;

    /// The shared secret, of [`Group::secret_len`] bytes; checks the peer's public value as its group demands
    /// (RFC 6989, RFC 8031 §2.3).
    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected>;

    /// Signs. The key must be of this provider and fit the scheme. PSS salts and ECDSA nonces may come from the
    /// library's own generator.
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
    /// from the library's own generator. Rejected are other keys and messages within 11 bytes of the modulus.
    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected>;

    /// Decrypts what [`Crypto::rsa_encrypt`] made.
    ///
    /// RFC 8017 §7.2.2: a peer that learns whether it was the padding that was wrong can decrypt anything (Bleichenbacher).
    /// So a caller goes on with a random secret of the length it expects, drawn before the call, whenever this is
    /// rejected or has another length (RFC 5246 §7.4.7.1); some libraries do so themselves and reject nothing.
    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected>;
}

/// The other side's bytes failed a check: a bad tag, signature or public value. Which one, the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rejected")]
pub struct Rejected;

/// Computes what belongs to `purpose`: a key, a payload, a proof.
pub fn about<R>(
    crypto: &mut dyn Crypto,
    purpose: &'static str,
    compute: impl FnOnce(&mut dyn Crypto) -> R,
) -> R {
    crypto.tell(purpose);
    let computed = compute(crypto);
    crypto.tell("");
    computed
}
