//! How messages are signed.

use std::fmt;

use super::{Hash, KeyKind, Standing};

/// How a message is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureScheme {
    /// RSASSA-PKCS1-v1_5, RFC 8017 §8.2.
    RsaPkcs1(Hash),
    /// The same padding around the message itself, without hash and DigestInfo: IKEv1 signs HASH_I and HASH_R so, RFC 2409 §5.1.
    RsaPkcs1Bare,
    /// RSASSA-PSS with MGF1 of the same hash and a salt of the hash's length, RFC 8017 §8.1.
    RsaPss(Hash),
    /// ECDSA; the signature is an ASN.1 `Ecdsa-Sig-Value` (RFC 3279), as in certificates and RFC 7427.
    EcdsaDer(Hash),
    /// ECDSA; the signature is r ‖ s, each as long as the curve's order (RFC 4754).
    EcdsaRaw(Hash),
    /// Ed25519 over the message itself.
    Ed25519,
}

impl SignatureScheme {
    /// All schemes that AUTH of IKEv2 can carry: RFC 7427, RFC 8420, and the older methods of RFC 7296 §3.8 and RFC 4754.
    /// SHA-1 occurs only among the older ones: RFC 8247 §3.2 forbids it with RFC 7427.
    pub const NEGOTIABLE: [Self; 14] = [
        Self::RsaPss(Hash::Sha256),
        Self::RsaPss(Hash::Sha384),
        Self::RsaPss(Hash::Sha512),
        Self::RsaPkcs1(Hash::Sha256),
        Self::RsaPkcs1(Hash::Sha384),
        Self::RsaPkcs1(Hash::Sha512),
        Self::EcdsaDer(Hash::Sha256),
        Self::EcdsaDer(Hash::Sha384),
        Self::EcdsaDer(Hash::Sha512),
        Self::Ed25519,
        Self::EcdsaRaw(Hash::Sha256),
        Self::EcdsaRaw(Hash::Sha384),
        Self::EcdsaRaw(Hash::Sha512),
        Self::RsaPkcs1(Hash::Sha1),
    ];

    /// The hash of the message; `None` if it is signed as it is.
    pub const fn hash(self) -> Option<Hash> {
        match self {
            Self::RsaPkcs1(hash) | Self::RsaPss(hash) | Self::EcdsaDer(hash) | Self::EcdsaRaw(hash) => {
                Some(hash)
            }
            Self::RsaPkcs1Bare | Self::Ed25519 => None,
        }
    }

    /// Whether a key of this kind can make such a signature.
    pub const fn fits(self, kind: KeyKind) -> bool {
        match self {
            Self::RsaPkcs1(_) | Self::RsaPkcs1Bare => kind.rsa_bits().is_some(),
            // RFC 8017 §9.1.1: hash, salt and two more bytes fit into the modulus.
            Self::RsaPss(hash) => match kind.rsa_bits() {
                Some(bits) => 2 * hash.len() + 2 <= bits / 8,
                None => false,
            },
            Self::EcdsaDer(_) => {
                matches!(kind, KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521)
            }
            // RFC 4754 §1: each curve has its hash.
            Self::EcdsaRaw(hash) => matches!(
                (kind, hash),
                (KeyKind::EcdsaP256, Hash::Sha256)
                    | (KeyKind::EcdsaP384, Hash::Sha384)
                    | (KeyKind::EcdsaP521, Hash::Sha512)
            ),
            Self::Ed25519 => matches!(kind, KeyKind::Ed25519),
        }
    }

    /// SHA-1 is broken for signatures.
    pub const fn standing(self) -> Standing {
        match self.hash() {
            Some(Hash::Sha1 | Hash::Md5 | Hash::Md4) => Standing::Broken,
            _ => Standing::Good,
        }
    }
}

impl fmt::Display for SignatureScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RsaPkcs1(hash) => write!(f, "rsa-pkcs1-{hash}"),
            Self::RsaPkcs1Bare => f.write_str("rsa-pkcs1-bare"),
            Self::RsaPss(hash) => write!(f, "rsa-pss-{hash}"),
            Self::EcdsaDer(hash) => write!(f, "ecdsa-{hash}"),
            Self::EcdsaRaw(hash) => write!(f, "ecdsa-raw-{hash}"),
            Self::Ed25519 => f.write_str("ed25519"),
        }
    }
}
