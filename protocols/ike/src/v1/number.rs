//! The IANA registries of IKEv1: "Internet Key Exchange (IKE) Attributes" (RFC 2409 appendix A) and "Internet Security
//! Association and Key Management Protocol (ISAKMP) Identifiers" (RFC 2407 §4.4, §4.5, RFC 2408 §3.1).
//!
//! Notifications, identities, certificate encodings, groups and the transforms of ESP have the numbers that IKEv2 adopted:
//! [`crate::number`].

use crate::number::NotifyType;
use keytoll_crypto_api::algorithm::{Encryption, Hash, Integrity, Prf};

use crate::number::{ExchangeType, PayloadType, registry};

/// RFC 2407 §4.2: the domain of interpretation of IPsec.
pub const IPSEC_DOI: u32 = 1;
/// RFC 2407 §4.2.1: SIT_IDENTITY_ONLY, the only situation in use.
pub const IDENTITY_ONLY: u32 = 1;

/// Main mode, RFC 2408 §4.5.
pub const IDENTITY_PROTECTION: ExchangeType = ExchangeType(2);
/// Aggressive mode, RFC 2408 §4.7.
pub const AGGRESSIVE: ExchangeType = ExchangeType(4);
/// Informational exchange, RFC 2408 §4.8.
pub const INFORMATIONAL: ExchangeType = ExchangeType(5);
/// Quick mode, RFC 2409 §5.5.
pub const QUICK_MODE: ExchangeType = ExchangeType(32);

/// Payload types, RFC 2408 §3.1 and RFC 3947 §6.
pub mod payload {
    use super::PayloadType;

    /// Security Association.
    pub const SA: PayloadType = PayloadType(1);
    /// Key Exchange.
    pub const KE: PayloadType = PayloadType(4);
    /// Identification.
    pub const ID: PayloadType = PayloadType(5);
    /// Certificate.
    pub const CERT: PayloadType = PayloadType(6);
    /// Certificate Request.
    pub const CR: PayloadType = PayloadType(7);
    /// Hash.
    pub const HASH: PayloadType = PayloadType(8);
    /// Signature.
    pub const SIG: PayloadType = PayloadType(9);
    /// Payload types, RFC 2408 §3.1 and RFC 3947 §6.
    pub const NONCE: PayloadType = PayloadType(10);
    /// Notification.
    pub const N: PayloadType = PayloadType(11);
    /// Delete.
    pub const D: PayloadType = PayloadType(12);
    /// Vendor ID.
    pub const VID: PayloadType = PayloadType(13);
    /// NAT-D.
    pub const NAT_D: PayloadType = PayloadType(20);
    /// NAT-OA.
    pub const NAT_OA: PayloadType = PayloadType(21);
}

/// RFC 2407 §4.4.2: KEY_IKE, the one transform of the protocol ISAKMP.
pub const KEY_IKE: u8 = 1;

registry! {
    /// Attributes of phase 1, RFC 2409 appendix A.
    Phase1Attribute(u16) {
        ENCRYPTION_ALGORITHM = 1,
        HASH_ALGORITHM = 2,
        AUTHENTICATION_METHOD = 3,
        GROUP_DESCRIPTION = 4,
        LIFE_TYPE = 11,
        LIFE_DURATION = 12,
        PRF = 13,
        KEY_LENGTH = 14,
    }
}

registry! {
    /// Attributes of phase 2, RFC 2407 §4.5.
    Phase2Attribute(u16) {
        SA_LIFE_TYPE = 1,
        SA_LIFE_DURATION = 2,
        GROUP_DESCRIPTION = 3,
        ENCAPSULATION_MODE = 4,
        AUTHENTICATION_ALGORITHM = 5,
        KEY_LENGTH = 6,
    }
}

registry! {
    /// Authentication methods, RFC 2409 appendix A.
    AuthenticationMethod(u16) {
        PRE_SHARED_KEY = 1,
        DSS_SIGNATURES = 2,
        RSA_SIGNATURES = 3,
        RSA_ENCRYPTION = 4,
        REVISED_RSA_ENCRYPTION = 5,
    }
}

registry! {
    /// Encapsulation modes, RFC 2407 §4.5 and RFC 3947 §6.
    EncapsulationMode(u16) {
        TUNNEL = 1,
        TRANSPORT = 2,
        UDP_ENCAPSULATED_TUNNEL = 3,
        UDP_ENCAPSULATED_TRANSPORT = 4,
    }
}

/// RFC 2408 §3.14.1: the sender has completed its quick mode, and the SAs may be used.
pub const CONNECTED: NotifyType = NotifyType(16_384);

/// RFC 2409 appendix A and RFC 2407 §4.5: lifetimes in seconds.
pub const SECONDS: u64 = 1;
/// RFC 2407 §4.5: lifetimes in kilobytes.
pub const KILOBYTES: u64 = 2;

/// Encryption algorithm and key length of phase 1 (RFC 2409 appendix A, RFC 3602 §5.3); `None` if IKEv1 does not support it.
pub const fn encryption_number(algorithm: Encryption) -> Option<(u16, Option<u16>)> {
    match algorithm {
        Encryption::TripleDesCbc => Some((5, None)),
        Encryption::Aes128Cbc => Some((7, Some(128))),
        Encryption::Aes192Cbc => Some((7, Some(192))),
        Encryption::Aes256Cbc => Some((7, Some(256))),
        _ => None,
    }
}

/// The hash whose HMAC is the PRF, and its number (RFC 2409 appendix A, RFC 4868 §4).
pub const fn hash_number(prf: Prf) -> Option<(Hash, u16)> {
    match prf {
        Prf::HmacMd5 => Some((Hash::Md5, 1)),
        Prf::HmacSha1 => Some((Hash::Sha1, 2)),
        Prf::HmacSha256 => Some((Hash::Sha256, 4)),
        Prf::HmacSha384 => Some((Hash::Sha384, 5)),
        Prf::HmacSha512 => Some((Hash::Sha512, 6)),
        Prf::AesXcbc128 | Prf::AesCmac128 => None,
    }
}

/// Transform of ESP and its key length, RFC 2407 §4.4.4 and its registry; `None` if IKEv1 has no number for it.
pub fn transform_number(algorithm: Encryption) -> Option<(u8, Option<u16>)> {
    match algorithm {
        // RFC 4543 §9: GMAC is the one whose number IKEv2 did not adopt.
        Encryption::Aes128Gmac => Some((23, Some(128))),
        Encryption::Aes192Gmac => Some((23, Some(192))),
        Encryption::Aes256Gmac => Some((23, Some(256))),
        // RFC 7634 §6: a number in IKEv2 only.
        Encryption::ChaCha20Poly1305 => None,
        shared => {
            let (number, key_length) = crate::number::encryption_number(shared);
            Some((u8::try_from(number).expect("the transforms of ESP have small numbers"), key_length))
        }
    }
}

/// The encryption algorithm of an ESP transform.
pub fn transform(number: u8, key_length_bits: Option<u16>) -> Option<Encryption> {
    let is_meant = |&algorithm: &Encryption| transform_number(algorithm) == Some((number, key_length_bits));
    Encryption::ALL.iter().copied().find(is_meant)
}

/// Authentication algorithm of phase 2, RFC 2407 §4.5, RFC 4868 §4, RFC 3566 §5; `None` if IKEv1 has no number for it.
pub const fn integrity_number(integrity: Integrity) -> Option<u16> {
    match integrity {
        Integrity::HmacMd5_96 => Some(1),
        Integrity::HmacSha1_96 => Some(2),
        Integrity::HmacSha256_128 => Some(5),
        Integrity::HmacSha384_192 => Some(6),
        Integrity::HmacSha512_256 => Some(7),
        Integrity::AesXcbc96 => Some(9),
        Integrity::AesCmac96 => None,
    }
}
