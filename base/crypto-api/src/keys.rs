//! Keys, in the representation of the provider that made or loaded them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::Secret;
use crate::algorithm::{Encryption, Group, Integrity, KeyKind};

/// The traffic keys of one direction of an SA.
///
/// A provider may keep the expanded key inside from the second packet on: an SA that carries a single ping costs no memory
/// for it, one that carries many packets pays for the expansion once.
pub struct TrafficKey {
    /// Encryption.
    pub encryption: Encryption,
    /// Integrity; none with an AEAD.
    pub integrity: Option<Integrity>,
    /// [`Encryption::key_len`] bytes, salt last; without the salt for whole nonces ([`Encryption::whole_nonce_len`]).
    pub encryption_key: Secret,
    /// [`Integrity::key_len`] bytes, or none.
    pub integrity_key: Secret,
    /// Whether a packet was processed with it.
    pub is_used: bool,
    /// The provider's own representation of the keys.
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

    /// Length in bytes of the integrity check value that the two algorithms together produce.
    pub fn icv_len(&self) -> usize {
        self.integrity.map_or(self.encryption.tag_len(), Integrity::tag_len)
    }

    /// The integrity algorithm.
    ///
    /// # Panics
    /// If there is none, which is the case with an AEAD.
    pub fn authentication(&self) -> Integrity {
        self.integrity.expect("only keys with an integrity algorithm make check values of their own")
    }
}

/// The same keys without the provider's own representation.
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
    /// Exponent, scalar or private string, in the provider's own encoding.
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
