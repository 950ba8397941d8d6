//! The authentication methods keytoll can run today.

use keytoll_engine::algorithm::KeyKind;

use super::Entry;

/// How device and gateway authenticate each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// IKEv2 with a shared key (RFC 7296 §2.15).
    Ikev2Psk,
    /// IKEv2 with certificates and signatures on both sides (RFC 7296 §2.15, RFC 7427).
    Ikev2Signature(KeyKind),
}

impl Method {
    /// Every method, in the order of the catalogue.
    pub const ALL: [Self; 9] = [
        Self::Ikev2Psk,
        Self::Ikev2Signature(KeyKind::Rsa1024),
        Self::Ikev2Signature(KeyKind::Rsa2048),
        Self::Ikev2Signature(KeyKind::Rsa3072),
        Self::Ikev2Signature(KeyKind::Rsa4096),
        Self::Ikev2Signature(KeyKind::EcdsaP256),
        Self::Ikev2Signature(KeyKind::EcdsaP384),
        Self::Ikev2Signature(KeyKind::EcdsaP521),
        Self::Ikev2Signature(KeyKind::Ed25519),
    ];

    /// The name used in scenarios, files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "ikev2-psk",
            Self::Ikev2Signature(KeyKind::Rsa1024) => "ikev2-rsa1024",
            Self::Ikev2Signature(KeyKind::Rsa2048) => "ikev2-rsa2048",
            Self::Ikev2Signature(KeyKind::Rsa3072) => "ikev2-rsa3072",
            Self::Ikev2Signature(KeyKind::Rsa4096) => "ikev2-rsa4096",
            Self::Ikev2Signature(KeyKind::EcdsaP256) => "ikev2-ecdsa-p256",
            Self::Ikev2Signature(KeyKind::EcdsaP384) => "ikev2-ecdsa-p384",
            Self::Ikev2Signature(KeyKind::EcdsaP521) => "ikev2-ecdsa-p521",
            Self::Ikev2Signature(KeyKind::Ed25519) => "ikev2-ed25519",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The kind of the keys in the certificates; none without certificates.
    pub const fn key_kind(self) -> Option<KeyKind> {
        match self {
            Self::Ikev2Psk => None,
            Self::Ikev2Signature(kind) => Some(kind),
        }
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "IKEv2, shared key",
            Self::Ikev2Signature(KeyKind::Rsa1024) => "IKEv2, certificates, RSA 1024 bits",
            Self::Ikev2Signature(KeyKind::Rsa2048) => "IKEv2, certificates, RSA 2048 bits",
            Self::Ikev2Signature(KeyKind::Rsa3072) => "IKEv2, certificates, RSA 3072 bits",
            Self::Ikev2Signature(KeyKind::Rsa4096) => "IKEv2, certificates, RSA 4096 bits",
            Self::Ikev2Signature(KeyKind::EcdsaP256) => "IKEv2, certificates, ECDSA P-256",
            Self::Ikev2Signature(KeyKind::EcdsaP384) => "IKEv2, certificates, ECDSA P-384",
            Self::Ikev2Signature(KeyKind::EcdsaP521) => "IKEv2, certificates, ECDSA P-521",
            Self::Ikev2Signature(KeyKind::Ed25519) => "IKEv2, certificates, Ed25519",
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "RFC 7296 §2.15",
            Self::Ikev2Signature(KeyKind::Ed25519) => "RFC 7296 §2.15, RFC 7427, RFC 8420",
            Self::Ikev2Signature(_) => "RFC 7296 §2.15, RFC 7427",
        }
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: self.summary().to_owned(),
            source: self.source().to_owned(),
            standing: self.key_kind().map_or("", |kind| kind.standing().mark()),
        }
    }
}
