//! Signature keys: made from a random stream, imported from and exported to PKCS #8 (RFC 5208), or dummies for null crypto; and keys
//! for agreement from PKCS #8.

use std::sync::Arc;

use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};
use keytoll_crypto_api::{KeyPair, Rng, SigningKey};
use keytoll_native::awslc::ec::Curve;
use keytoll_native::awslc::key::{Kind, PrivateKey};
use zeroize::Zeroizing;

use crate::agreement;

/// Why bytes are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a PKCS #8 PrivateKeyInfo, or one with contradictory numbers.
    #[error("not an unencrypted PKCS #8 private key")]
    Malformed,
    /// A valid key that no [`KeyKind`] describes, e.g. RSA with 1536 bits.
    #[error("a kind of key that keytoll does not know")]
    Unknown,
}

/// Makes a key; the same seed gives the same key on every machine.
pub fn generate(kind: KeyKind, rng: &mut Rng) -> SigningKey {
    wrap(kind, PrivateKey::generate(native(kind), &mut |bytes| rng.fill(bytes)))
}

/// Loads a key from PKCS #8 DER.
///
/// # Errors
/// [`KeyError::Malformed`] or [`KeyError::Unknown`].
pub fn from_pkcs8(der: &[u8]) -> Result<SigningKey, KeyError> {
    let key = PrivateKey::from_pkcs8(der).ok_or(KeyError::Malformed)?;
    let kind = KeyKind::ALL.iter().copied().find(|&kind| native(kind) == key.kind());
    Ok(wrap(kind.ok_or(KeyError::Unknown)?, key))
}

// RFC 8410 §7: an OCTET STRING in an OCTET STRING; RFC 5958 §2: version 1 may have the public key behind it.
/// Loads a key that agrees, one of X25519, from PKCS #8 DER.
///
/// # Errors
/// [`KeyError::Malformed`], or [`KeyError::Unknown`] of every other key.
pub fn agreement_from_pkcs8(der: &[u8]) -> Result<KeyPair, KeyError> {
    const INTEGER: [u8; 2] = [0x02, 1];
    const X25519: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x6e";
    const KEY: &[u8] = b"\x04\x22\x04\x20";
    let [0x30, len, fields @ ..] = der else { return Err(KeyError::Malformed) };
    let Some([version, rest @ ..]) = fields.strip_prefix(&INTEGER) else { return Err(KeyError::Malformed) };
    let key = rest.strip_prefix(X25519).ok_or(KeyError::Unknown)?.strip_prefix(KEY);
    let (private, more) = key.and_then(<[u8]>::split_first_chunk::<32>).ok_or(KeyError::Malformed)?;
    if usize::from(*len) != fields.len() || *version > 1 || (*version == 0 && !more.is_empty()) {
        return Err(KeyError::Malformed);
    }
    Ok(agreement::x25519(private))
}

/// Writes a key as PKCS #8 DER; `None` for a dummy key.
pub fn to_pkcs8(key: &SigningKey) -> Option<Zeroizing<Vec<u8>>> {
    key.inner().map(|private: &PrivateKey| Zeroizing::new(private.to_pkcs8()))
}

/// A dummy key for [`crate::Null`], with the public half of a real one.
pub fn null(kind: KeyKind, spki: &[u8]) -> SigningKey {
    SigningKey::new(kind, spki, Arc::new(()))
}

/// A dummy key with a public half of its own that parses and is as long as a real one; RSA costs no prime search.
pub fn generate_null(kind: KeyKind, rng: &mut Rng) -> SigningKey {
    match kind.rsa_bits() {
        Some(bits) => null(kind, &rsa_spki(&random_modulus(bits, rng))),
        None => null(kind, &generate(kind, rng).spki),
    }
}

/// The kind of key in a SubjectPublicKeyInfo, derived from its length alone: enough to count operations and for null crypto.
/// All RSA keys made here have the exponent 65537, and so have nearly all others.
pub fn kind_of_spki(spki: &[u8]) -> Option<KeyKind> {
    KeyKind::ALL.iter().copied().find(|&kind| spki_len(kind) == spki.len())
}

/// Length of the SubjectPublicKeyInfo of a kind of key.
pub const fn spki_len(kind: KeyKind) -> usize {
    match kind {
        KeyKind::Rsa1024 => 162,
        KeyKind::Rsa2048 => 294,
        KeyKind::Rsa3072 => 422,
        KeyKind::Rsa4096 => 550,
        KeyKind::EcdsaP256 => 91,
        KeyKind::EcdsaP384 => 120,
        KeyKind::EcdsaP521 => 158,
        KeyKind::Ed25519 => 44,
    }
}

/// Length of a signature in bytes. An ECDSA signature in DER has no fixed length; this is the likeliest (71, 103, 139 bytes).
pub const fn signature_len(kind: KeyKind, scheme: SignatureScheme) -> usize {
    let raw = matches!(scheme, SignatureScheme::EcdsaRaw(_));
    match kind {
        KeyKind::Rsa1024 => 128,
        KeyKind::Rsa2048 => 256,
        KeyKind::Rsa3072 => 384,
        KeyKind::Rsa4096 => 512,
        KeyKind::EcdsaP256 => {
            if raw {
                64
            } else {
                71
            }
        }
        KeyKind::EcdsaP384 => {
            if raw {
                96
            } else {
                103
            }
        }
        KeyKind::EcdsaP521 => {
            if raw {
                132
            } else {
                139
            }
        }
        KeyKind::Ed25519 => 64,
    }
}

/// The scheme a kind of key usually signs with (RFC 7427, RFC 8420): the hash that fits its strength.
pub const fn usual_scheme(kind: KeyKind) -> SignatureScheme {
    match kind {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            SignatureScheme::RsaPkcs1(Hash::Sha256)
        }
        KeyKind::EcdsaP256 => SignatureScheme::EcdsaDer(Hash::Sha256),
        KeyKind::EcdsaP384 => SignatureScheme::EcdsaDer(Hash::Sha384),
        KeyKind::EcdsaP521 => SignatureScheme::EcdsaDer(Hash::Sha512),
        KeyKind::Ed25519 => SignatureScheme::Ed25519,
    }
}

fn wrap(kind: KeyKind, key: PrivateKey) -> SigningKey {
    let spki = key.spki();
    SigningKey::new(kind, &spki, Arc::new(key))
}

const fn native(kind: KeyKind) -> Kind {
    match kind {
        KeyKind::Rsa1024 => Kind::Rsa(1024),
        KeyKind::Rsa2048 => Kind::Rsa(2048),
        KeyKind::Rsa3072 => Kind::Rsa(3072),
        KeyKind::Rsa4096 => Kind::Rsa(4096),
        KeyKind::EcdsaP256 => Kind::Ecdsa(Curve::P256),
        KeyKind::EcdsaP384 => Kind::Ecdsa(Curve::P384),
        KeyKind::EcdsaP521 => Kind::Ecdsa(Curve::P521),
        KeyKind::Ed25519 => Kind::Ed25519,
    }
}

/// An odd number of exactly `bits` bits, which is what a modulus looks like from outside.
fn random_modulus(bits: usize, rng: &mut Rng) -> Vec<u8> {
    let mut modulus = vec![0; bits / 8];
    rng.fill(&mut modulus);
    modulus[0] |= 0x80;
    modulus[bits / 8 - 1] |= 1;
    modulus
}

/// RFC 3279 §2.3.1: SEQUENCE { SEQUENCE { rsaEncryption, NULL }, BIT STRING { SEQUENCE { modulus, 65537 } } }.
fn rsa_spki(modulus: &[u8]) -> Vec<u8> {
    const RSA_ENCRYPTION: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    const EXPONENT: &[u8] = b"\x02\x03\x01\x00\x01";
    let modulus = der(0x02, &[&[0], modulus]);
    let key = der(0x30, &[&modulus, EXPONENT]);
    der(0x30, &[RSA_ENCRYPTION, &der(0x03, &[&[0], &key])])
}

/// X.690 §8.1.3: tag, length of contents in the shortest form, contents.
fn der(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let contents = contents.concat();
    let length = contents.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|&&byte| byte == 0).count()..];
    let mut out = vec![tag];
    if contents.len() >= 0x80 {
        out.push(0x80 | significant.len() as u8);
    }
    out.extend_from_slice(significant);
    out.extend_from_slice(&contents);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by OpenSSL 3.0; its public half follows in the second form.
    const PKCS8: [u8; 48] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x6e\x04\x22\x04\x20\x48\x9e\x41\xe0\x08\xb7\x43\x6e\xac\x10\x31\x8e\x44\xa4\xcc\xce\xd4\xe0\x38\x8d\x71\x34\x26\x4d\x07\x22\xd1\xe6\xd3\x05\x82\x4c";
    const PUBLIC: [u8; 32] = *b"\x62\xe7\x7d\x38\x2f\xc7\xe3\xdf\x37\xf4\xef\xce\xdf\x2b\xb8\xd0\xbc\x5d\xa8\x03\x48\x4d\x54\xb1\x02\x3f\xd3\x9d\xd0\xbc\xcc\x41";

    #[test]
    fn a_key_of_openssl_agrees() {
        assert_eq!(agreement_from_pkcs8(&PKCS8).unwrap().public, PUBLIC);
        let mut second = [&PKCS8[..], &[0x81, 33, 0], &PUBLIC].concat();
        (second[1], second[4]) = (0x51, 1);
        assert_eq!(agreement_from_pkcs8(&second).unwrap().public, PUBLIC);
    }

    #[test]
    fn what_is_no_key_that_agrees_is_refused() {
        let refused = |der: &[u8]| agreement_from_pkcs8(der).err();
        for cut in 0..PKCS8.len() {
            assert!(refused(&PKCS8[..cut]).is_some(), "{cut}");
        }
        assert_eq!(refused(&[&PKCS8[..], &[0]].concat()), Some(KeyError::Malformed));
        let signing = generate(KeyKind::Ed25519, &mut Rng::named(1, "key"));
        assert_eq!(refused(&to_pkcs8(&signing).unwrap()), Some(KeyError::Unknown));
        assert!(from_pkcs8(&PKCS8).is_err(), "it signs nothing");
    }
}
