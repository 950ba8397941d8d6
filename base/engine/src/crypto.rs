//! The one door to every primitive. Providers stand behind it (`keytoll-crypto`): real, null, table, metered.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::Rng;
use crate::algorithm::{
    BlockCipher, Encryption, Group, Hash, Integrity, KeyKind, Prf, SignatureScheme, StreamCipher,
};

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

/// What the protocol is doing, for the books of the meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Before the first message: keys, certificates, tables.
    Setup,
    /// IKE_SA_INIT, or IKEv1's key exchange.
    SaInit,
    /// IKE_AUTH, or IKEv1's authentication.
    Auth,
    /// EAP inside the authentication.
    Eap,
    /// CREATE_CHILD_SA, or quick mode.
    CreateChild,
    /// INFORMATIONAL.
    Informational,
    /// RADIUS and Diameter.
    Aaa,
    /// IPsec traffic.
    Traffic,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 8] = [
        Self::Setup,
        Self::SaInit,
        Self::Auth,
        Self::Eap,
        Self::CreateChild,
        Self::Informational,
        Self::Aaa,
        Self::Traffic,
    ];

    /// The name used in `operations.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::SaInit => "sa-init",
            Self::Auth => "auth",
            Self::Eap => "eap",
            Self::CreateChild => "create-child",
            Self::Informational => "informational",
            Self::Aaa => "aaa",
            Self::Traffic => "traffic",
        }
    }
}

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

/// The output of a hash, PRF or MAC: up to 64 bytes, on the stack, wiped when dropped.
#[derive(Clone)]
pub struct Digest {
    bytes: Zeroizing<[u8; 64]>,
    len: u8,
}

impl Digest {
    /// A digest of `len` zero bytes, to be filled.
    ///
    /// # Panics
    /// If `len` is over 64: no algorithm makes more.
    pub fn zeroed(len: usize) -> Self {
        assert!(len <= 64, "digests have at most 64 bytes");
        Self { bytes: Zeroizing::new([0; 64]), len: len as u8 }
    }

    /// Whether it is these bytes; compared in constant time, but for the length.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        use subtle::ConstantTimeEq;
        (**self).ct_eq(bytes).into()
    }

    /// Cuts it to its first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(u8::try_from(len).unwrap_or(u8::MAX));
    }
}

impl std::ops::Deref for Digest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl std::ops::DerefMut for Digest {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({} bytes)", self.len)
    }
}

/// Secret bytes: wiped when dropped, never printed, compared in constant time.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl Secret {
    /// Takes bytes over.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes.into_boxed_slice()))
    }
}

impl From<&[u8]> for Secret {
    fn from(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }
}

impl std::ops::Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        use subtle::ConstantTimeEq;
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// The keys of one direction of an SA that carries traffic.
///
/// A provider that computes keeps its expanded form inside, from the second packet on: an SA that carries one ping costs
/// no memory for it, and one that carries many pays for the expansion once.
pub struct TrafficKey {
    /// Encryption.
    pub encryption: Encryption,
    /// Integrity; none with an AEAD.
    pub integrity: Option<Integrity>,
    /// [`Encryption::key_len`] bytes, salt last.
    pub encryption_key: Secret,
    /// [`Integrity::key_len`] bytes, or none.
    pub integrity_key: Secret,
    /// A packet has seen it.
    pub is_used: bool,
    /// What a provider keeps for itself: its own representation of the keys.
    pub expanded: Option<Box<dyn Any + Send + Sync>>,
}

impl TrafficKey {
    /// Keys that no packet has seen.
    pub const fn new(
        encryption: Encryption,
        integrity: Option<Integrity>,
        encryption_key: Secret,
        integrity_key: Secret,
    ) -> Self {
        Self { encryption, integrity, encryption_key, integrity_key, is_used: false, expanded: None }
    }

    /// Length of the integrity check value that the two algorithms make together.
    pub fn icv_len(&self) -> usize {
        self.integrity.map_or(self.encryption.tag_len(), Integrity::tag_len)
    }

    /// The integrity algorithm.
    ///
    /// # Panics
    /// If there is none: with an AEAD nobody may ask.
    pub fn authentication(&self) -> Integrity {
        self.integrity.expect("only keys with an integrity algorithm make check values of their own")
    }
}

/// The same keys, and nothing that a provider kept.
impl Clone for TrafficKey {
    fn clone(&self) -> Self {
        Self::new(self.encryption, self.integrity, self.encryption_key.clone(), self.integrity_key.clone())
    }
}

impl PartialEq for TrafficKey {
    fn eq(&self, other: &Self) -> bool {
        (self.encryption, self.integrity) == (other.encryption, other.integrity)
            && self.encryption_key == other.encryption_key
            && self.integrity_key == other.integrity_key
    }
}

impl Eq for TrafficKey {}

impl fmt::Debug for TrafficKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let integrity = self.integrity.map_or("aead", Integrity::name);
        write!(f, "TrafficKey({}, {integrity})", self.encryption)
    }
}

/// The private half of a key agreement.
#[derive(Debug, Clone)]
pub struct PrivateKey {
    /// The group it belongs to.
    pub group: Group,
    /// Exponent, scalar or private string, as the provider that made it likes it.
    pub secret: Secret,
}

/// Both halves of a key agreement.
#[derive(Debug, Clone)]
pub struct KeyPair {
    /// The private half.
    pub private: PrivateKey,
    /// The public value as IKE sends it, [`Group::public_len`] bytes.
    pub public: Vec<u8>,
}

/// A private signature key, loaded once by the provider that will use it.
#[derive(Clone)]
pub struct SigningKey {
    /// What kind of key.
    pub kind: KeyKind,
    /// The public half, a DER SubjectPublicKeyInfo.
    pub spki: Arc<[u8]>,
    inner: Arc<dyn Any + Send + Sync>,
}

impl SigningKey {
    /// A key with the provider's own representation inside.
    pub fn new(kind: KeyKind, spki: &[u8], inner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { kind, spki: spki.into(), inner }
    }

    /// The provider's own representation, if it is of type `T`.
    pub fn inner<T: Any>(&self) -> Option<&T> {
        self.inner.downcast_ref()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.kind)
    }
}
