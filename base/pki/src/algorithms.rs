//! The signature algorithms that certificates may carry, and their X.509 identifiers. Read RFC 4055, RFC 5758, RFC 8410 first.

use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};
use rustls_pki_types::{AlgorithmIdentifier, alg_id};

/// A signature algorithm together with a kind of public key that can check it.
#[derive(Debug)]
pub(crate) struct Algorithm {
    /// As in the SubjectPublicKeyInfo, without the outer SEQUENCE.
    pub(crate) public_key: AlgorithmIdentifier,
    /// As in the certificate's signatureAlgorithm, without the outer SEQUENCE.
    pub(crate) signature: AlgorithmIdentifier,
    /// The corresponding scheme of the crypto provider.
    pub(crate) scheme: SignatureScheme,
}

/// All accepted algorithms. SHA-1 and MD5 are not among them: RFC 8247 §3.2 bans SHA-1 from IKE's own signatures, and a
/// chain is no stronger than its weakest signature.
pub(crate) static ACCEPTED: [Algorithm; 16] = [
    rsa(alg_id::RSA_PKCS1_SHA256, SignatureScheme::RsaPkcs1(Hash::Sha256)),
    rsa(alg_id::RSA_PKCS1_SHA384, SignatureScheme::RsaPkcs1(Hash::Sha384)),
    rsa(alg_id::RSA_PKCS1_SHA512, SignatureScheme::RsaPkcs1(Hash::Sha512)),
    rsa(alg_id::RSA_PSS_SHA256, SignatureScheme::RsaPss(Hash::Sha256)),
    rsa(alg_id::RSA_PSS_SHA384, SignatureScheme::RsaPss(Hash::Sha384)),
    rsa(alg_id::RSA_PSS_SHA512, SignatureScheme::RsaPss(Hash::Sha512)),
    ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA256, Hash::Sha256),
    ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA384, Hash::Sha384),
    ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA512, Hash::Sha512),
    ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA256, Hash::Sha256),
    ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA384, Hash::Sha384),
    ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA512, Hash::Sha512),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA256, Hash::Sha256),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA384, Hash::Sha384),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA512, Hash::Sha512),
    Algorithm { public_key: alg_id::ED25519, signature: alg_id::ED25519, scheme: SignatureScheme::Ed25519 },
];

/// The signature algorithm that an authority with this kind of key uses, without the outer SEQUENCE, and the
/// corresponding scheme of the crypto provider: the hash fits the key's strength.
pub(crate) fn usual(kind: KeyKind) -> (AlgorithmIdentifier, SignatureScheme) {
    match kind {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            (alg_id::RSA_PKCS1_SHA256, SignatureScheme::RsaPkcs1(Hash::Sha256))
        }
        KeyKind::EcdsaP256 => (alg_id::ECDSA_SHA256, SignatureScheme::EcdsaDer(Hash::Sha256)),
        KeyKind::EcdsaP384 => (alg_id::ECDSA_SHA384, SignatureScheme::EcdsaDer(Hash::Sha384)),
        KeyKind::EcdsaP521 => (alg_id::ECDSA_SHA512, SignatureScheme::EcdsaDer(Hash::Sha512)),
        KeyKind::Ed25519 => (alg_id::ED25519, SignatureScheme::Ed25519),
    }
}

/// The likeliest length in bytes of a signature whose length is random: an Ecdsa-Sig-Value, SEQUENCE { r, s }.
pub(crate) const fn likeliest_signature_len(kind: KeyKind) -> Option<usize> {
    match kind {
        // Half of all r and of all s have their first bit set and need a zero byte, so one of the two likely does:
        // 2 + (2 + 32) + (2 + 33).
        KeyKind::EcdsaP256 => Some(71),
        // 2 + (2 + 48) + (2 + 49).
        KeyKind::EcdsaP384 => Some(103),
        // 521 bits fill one bit of the 66th byte; three in four numbers need all 66: 3 + (2 + 66) + (2 + 66).
        KeyKind::EcdsaP521 => Some(139),
        _ => None,
    }
}

const fn rsa(signature: AlgorithmIdentifier, scheme: SignatureScheme) -> Algorithm {
    Algorithm { public_key: alg_id::RSA_ENCRYPTION, signature, scheme }
}

const fn ecdsa(public_key: AlgorithmIdentifier, signature: AlgorithmIdentifier, hash: Hash) -> Algorithm {
    Algorithm { public_key, signature, scheme: SignatureScheme::EcdsaDer(hash) }
}
