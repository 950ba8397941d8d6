//! What Wireshark 4.0 calls the algorithms of our suites, in its tables of IKE and ESP. It decrypts what it has a name for.

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_trace::revealed::Algorithms;

/// In IKE's table no integrity algorithm of its own, because an AEAD needs none.
const IKE_NONE: &str = "NONE [RFC4306]";
/// Wireshark cannot check AES-XCBC and AES-CMAC; this only tells it where the ciphertext ends.
const IKE_ANY_96: &str = "ANY 96-bits of Authentication [No Checking]";

/// Encryption and integrity in IKE's table.
pub(super) fn of_ike(algorithms: Algorithms) -> Option<(&'static str, &'static str)> {
    let encryption = ike_encryption(Encryption::named(algorithms.encryption)?)?;
    let integrity = match algorithms.integrity {
        None => IKE_NONE,
        Some(name) => ike_integrity(Integrity::named(name)?),
    };
    Some((encryption, integrity))
}

/// Wireshark refuses a line with a key for an algorithm that it does not check.
pub(super) fn checked<'k>(integrity: &str, key: &'k [u8]) -> &'k [u8] {
    if integrity == IKE_ANY_96 { &[] } else { key }
}

/// Encryption and integrity in ESP's table. With an AEAD the integrity algorithm is NULL there.
pub(super) fn of_esp(algorithms: Algorithms) -> Option<(&'static str, &'static str)> {
    let encryption = esp_encryption(Encryption::named(algorithms.encryption)?)?;
    let integrity = match algorithms.integrity {
        None => "NULL",
        Some(name) => esp_integrity(Integrity::named(name)?),
    };
    Some((encryption, integrity))
}

fn ike_encryption(encryption: Encryption) -> Option<&'static str> {
    Some(match encryption {
        Encryption::Null => "NULL [RFC2410]",
        Encryption::TripleDesCbc => "3DES [RFC2451]",
        Encryption::Aes128Cbc => "AES-CBC-128 [RFC3602]",
        Encryption::Aes192Cbc => "AES-CBC-192 [RFC3602]",
        Encryption::Aes256Cbc => "AES-CBC-256 [RFC3602]",
        Encryption::Aes128Ctr => "AES-CTR-128 [RFC5930]",
        Encryption::Aes192Ctr => "AES-CTR-192 [RFC5930]",
        Encryption::Aes256Ctr => "AES-CTR-256 [RFC5930]",
        Encryption::Aes128Gcm16 => "AES-GCM-128 with 16 octet ICV [RFC5282]",
        Encryption::Aes192Gcm16 => "AES-GCM-192 with 16 octet ICV [RFC5282]",
        Encryption::Aes256Gcm16 => "AES-GCM-256 with 16 octet ICV [RFC5282]",
        Encryption::Aes128Gcm12 => "AES-GCM-128 with 12 octet ICV [RFC5282]",
        Encryption::Aes256Gcm12 => "AES-GCM-256 with 12 octet ICV [RFC5282]",
        Encryption::Aes128Gcm8 => "AES-GCM-128 with 8 octet ICV [RFC5282]",
        Encryption::Aes256Gcm8 => "AES-GCM-256 with 8 octet ICV [RFC5282]",
        Encryption::Aes128Ccm16 => "AES-CCM-128 with 16 octet ICV [RFC5282]",
        Encryption::Aes192Ccm16 => "AES-CCM-192 with 16 octet ICV [RFC5282]",
        Encryption::Aes256Ccm16 => "AES-CCM-256 with 16 octet ICV [RFC5282]",
        Encryption::Aes128Ccm12 => "AES-CCM-128 with 12 octet ICV [RFC5282]",
        Encryption::Aes256Ccm12 => "AES-CCM-256 with 12 octet ICV [RFC5282]",
        Encryption::Aes128Ccm8 => "AES-CCM-128 with 8 octet ICV [RFC5282]",
        Encryption::Aes256Ccm8 => "AES-CCM-256 with 8 octet ICV [RFC5282]",
        Encryption::ChaCha20Poly1305
        | Encryption::Aes128Gmac
        | Encryption::Aes192Gmac
        | Encryption::Aes256Gmac => return None,
    })
}

fn ike_integrity(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::HmacMd5_96 => "HMAC_MD5_96 [RFC2403]",
        Integrity::HmacSha1_96 => "HMAC_SHA1_96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC_SHA2_256_128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC_SHA2_384_192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC_SHA2_512_256 [RFC4868]",
        Integrity::AesXcbc96 | Integrity::AesCmac96 => IKE_ANY_96,
    }
}

fn esp_encryption(encryption: Encryption) -> Option<&'static str> {
    Some(match encryption {
        Encryption::Null => "NULL",
        Encryption::TripleDesCbc => "TripleDES-CBC [RFC2451]",
        Encryption::Aes128Cbc | Encryption::Aes192Cbc | Encryption::Aes256Cbc => "AES-CBC [RFC3602]",
        Encryption::Aes128Ctr | Encryption::Aes192Ctr | Encryption::Aes256Ctr => "AES-CTR [RFC3686]",
        Encryption::Aes128Gcm16 | Encryption::Aes192Gcm16 | Encryption::Aes256Gcm16 => {
            "AES-GCM with 16 octet ICV [RFC4106]"
        }
        Encryption::Aes128Gcm12 | Encryption::Aes256Gcm12 => "AES-GCM with 12 octet ICV [RFC4106]",
        Encryption::Aes128Gcm8 | Encryption::Aes256Gcm8 => "AES-GCM with 8 octet ICV [RFC4106]",
        Encryption::Aes128Ccm16
        | Encryption::Aes192Ccm16
        | Encryption::Aes256Ccm16
        | Encryption::Aes128Ccm12
        | Encryption::Aes256Ccm12
        | Encryption::Aes128Ccm8
        | Encryption::Aes256Ccm8
        | Encryption::ChaCha20Poly1305
        | Encryption::Aes128Gmac
        | Encryption::Aes192Gmac
        | Encryption::Aes256Gmac => return None,
    })
}

fn esp_integrity(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::HmacMd5_96 => "HMAC-MD5-96 [RFC2403]",
        Integrity::HmacSha1_96 => "HMAC-SHA-1-96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC-SHA-256-128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC-SHA-384-192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC-SHA-512-256 [RFC4868]",
        // Neither is known there.
        Integrity::AesXcbc96 | Integrity::AesCmac96 => "ANY 96 bit authentication [no checking]",
    }
}

/// The algorithms that a line of IKE's table names: what [`of_ike`] writes. AES-XCBC and AES-CMAC share a name that says
/// only how long their tags are; such a line is of no use without the keys that it leaves out.
pub(crate) fn ike_named(encryption: &str, integrity: &str) -> Option<(Encryption, Option<Integrity>)> {
    let named = |algorithm: &&Encryption| ike_encryption(**algorithm) == Some(encryption);
    let encryption = *Encryption::ALL.iter().find(named)?;
    if integrity == IKE_NONE {
        return encryption.is_aead().then_some((encryption, None));
    }
    let checked = integrity != IKE_ANY_96;
    let integrity =
        Integrity::ALL.iter().find(|algorithm| checked && ike_integrity(**algorithm) == integrity);
    Some((encryption, Some(*integrity?)))
}

/// The algorithms that a line of ESP's table names, where the length of the key tells what the name leaves open.
pub(crate) fn esp_named(
    encryption: &str,
    key_len: usize,
    integrity: &str,
) -> Option<(Encryption, Option<Integrity>)> {
    // Wireshark before 3.3 knew only the longest tag, and did not say so.
    let encryption =
        if encryption == "AES-GCM [RFC4106]" { "AES-GCM with 16 octet ICV [RFC4106]" } else { encryption };
    let fits = |algorithm: &&Encryption| {
        esp_encryption(**algorithm) == Some(encryption) && algorithm.key_len() == key_len
    };
    let encryption = *Encryption::ALL.iter().find(fits)?;
    if encryption.is_aead() {
        return Some((encryption, None));
    }
    Some((
        encryption,
        Some(*Integrity::ALL.iter().find(|algorithm| esp_integrity(**algorithm) == integrity)?),
    ))
}
