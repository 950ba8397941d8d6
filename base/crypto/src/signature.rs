//! Signatures over messages in parts: RFC 8017 (RSA), RFC 4754 and RFC 3279 (ECDSA), RFC 8032 (Ed25519).

use keytoll_crypto_api::algorithm::{Hash, SignatureScheme};
use keytoll_crypto_api::{Digest, Rejected};
use keytoll_native::awslc::hash::Name;
use keytoll_native::awslc::key::{Padding, PrivateKey, PublicKey};

use crate::hmac::hash;

/// Signs; `None` if the scheme does not fit the key.
pub(crate) fn sign(key: &PrivateKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Option<Vec<u8>> {
    match scheme {
        SignatureScheme::RsaPkcs1(h) => key.sign_rsa(Padding::Pkcs1, name(h)?, &hash(h, parts)),
        SignatureScheme::RsaPkcs1Bare => key.sign_rsa_bare(&parts.concat()),
        SignatureScheme::RsaPss(h) => key.sign_rsa(Padding::Pss, name(h)?, &hash(h, parts)),
        SignatureScheme::EcdsaDer(h) => key.sign_ecdsa_der(&signable(h, parts)?),
        SignatureScheme::EcdsaRaw(h) => key.sign_ecdsa_raw(&signable(h, parts)?),
        SignatureScheme::Ed25519 => key.sign_ed25519(&parts.concat()),
    }
}

/// Checks a signature under a DER SubjectPublicKeyInfo.
pub(crate) fn verify(
    spki: &[u8],
    scheme: SignatureScheme,
    parts: &[&[u8]],
    signature: &[u8],
) -> Result<(), Rejected> {
    check(spki, scheme, parts, signature).filter(|&good| good).map(drop).ok_or(Rejected)
}

/// Whether the signature is valid; `None` if the scheme does not fit the key.
fn check(spki: &[u8], scheme: SignatureScheme, parts: &[&[u8]], signature: &[u8]) -> Option<bool> {
    let key = PublicKey::from_spki(spki)?;
    Some(match scheme {
        SignatureScheme::RsaPkcs1(h) => key.verify_rsa(Padding::Pkcs1, name(h)?, &hash(h, parts), signature),
        SignatureScheme::RsaPkcs1Bare => key.verify_rsa_bare(&parts.concat(), signature),
        SignatureScheme::RsaPss(h) => key.verify_rsa(Padding::Pss, name(h)?, &hash(h, parts), signature),
        SignatureScheme::EcdsaDer(h) => key.verify_ecdsa_der(&signable(h, parts)?, signature),
        SignatureScheme::EcdsaRaw(h) => key.verify_ecdsa_raw(&signable(h, parts)?, signature),
        SignatureScheme::Ed25519 => key.verify_ed25519(&parts.concat(), signature),
    })
}

fn signable(algorithm: Hash, parts: &[&[u8]]) -> Option<Digest> {
    name(algorithm).map(|_| hash(algorithm, parts))
}

/// The library's identifier of a hash; `None` for MD4, which signs nothing.
pub(crate) const fn name(hash: Hash) -> Option<Name> {
    Some(match hash {
        Hash::Md5 => Name::Md5,
        Hash::Sha1 => Name::Sha1,
        Hash::Sha256 => Name::Sha256,
        Hash::Sha384 => Name::Sha384,
        Hash::Sha512 => Name::Sha512,
        Hash::Md4 => return None,
    })
}
