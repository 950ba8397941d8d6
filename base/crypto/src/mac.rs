//! Integrity check values, truncated as in IPsec: RFC 2403, RFC 2404, RFC 4868 (HMAC), RFC 3566 (XCBC), RFC 4494 (CMAC).

use keytoll_crypto_api::Digest;
use keytoll_crypto_api::algorithm::{Hash, Integrity};
use keytoll_native::awslc::hash::{Md5, Sha1, Sha256, Sha384, Sha512};

use crate::cbc_mac::{self, MaskedKey};
use crate::hmac::{self, Pads};

/// The longest integrity check value: RFC 4868 §2.6, half of SHA-512.
pub(crate) const TAG_LEN_MAX: usize = 32;

/// The integrity check value of one message.
pub(crate) fn mac(algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest {
    let mut tag = match algorithm {
        Integrity::HmacMd5_96 => hmac::hmac(Hash::Md5, key, parts),
        Integrity::HmacSha1_96 => hmac::hmac(Hash::Sha1, key, parts),
        Integrity::HmacSha256_128 => hmac::hmac(Hash::Sha256, key, parts),
        Integrity::HmacSha384_192 => hmac::hmac(Hash::Sha384, key, parts),
        Integrity::HmacSha512_256 => hmac::hmac(Hash::Sha512, key, parts),
        Integrity::AesXcbc96 => cbc_mac::xcbc(key, parts),
        Integrity::AesCmac96 => cbc_mac::cmac(key, parts),
    };
    tag.truncate(algorithm.tag_len());
    tag
}

/// A key with everything precomputed that does not depend on the message.
pub(crate) enum MacKey {
    Md5(Pads<Md5>),
    Sha1(Pads<Sha1>),
    Sha256(Pads<Sha256>),
    Sha384(Pads<Sha384>),
    Sha512(Pads<Sha512>),
    Cbc(MaskedKey),
}

impl MacKey {
    /// Expands a key.
    pub(crate) fn new(algorithm: Integrity, key: &[u8]) -> Self {
        match algorithm {
            Integrity::HmacMd5_96 => Self::Md5(Pads::new(key)),
            Integrity::HmacSha1_96 => Self::Sha1(Pads::new(key)),
            Integrity::HmacSha256_128 => Self::Sha256(Pads::new(key)),
            Integrity::HmacSha384_192 => Self::Sha384(Pads::new(key)),
            Integrity::HmacSha512_256 => Self::Sha512(Pads::new(key)),
            Integrity::AesXcbc96 => Self::Cbc(MaskedKey::xcbc(key)),
            Integrity::AesCmac96 => Self::Cbc(MaskedKey::cmac(key)),
        }
    }

    /// Writes the check value of a message, of the length of `tag`.
    pub(crate) fn tag(&self, parts: &[&[u8]], tag: &mut [u8]) {
        let whole = match self {
            Self::Md5(pads) => pads.clone().finish(parts),
            Self::Sha1(pads) => pads.clone().finish(parts),
            Self::Sha256(pads) => pads.clone().finish(parts),
            Self::Sha384(pads) => pads.clone().finish(parts),
            Self::Sha512(pads) => pads.clone().finish(parts),
            Self::Cbc(key) => key.mac(parts),
        };
        tag.copy_from_slice(&whole[..tag.len()]);
    }
}
