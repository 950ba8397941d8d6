//! Signatures of the handshake: RFC 8446 §4.2.3 and §4.4.3, RFC 5246 §7.4.1.4.1.

use keytoll_crypto_api::SigningKey;
use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme as Engine};
use rustls::pki_types::alg_id;
use rustls::sign::{Signer, SigningKey as TlsKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme as Tls};

use crate::lent::lent;

/// The accepted schemes in order of preference. SHA-1 is not among them (RFC 9155).
pub(crate) const CHECKED: [(Tls, Engine); 10] = [
    (Tls::ECDSA_NISTP256_SHA256, Engine::EcdsaDer(Hash::Sha256)),
    (Tls::ECDSA_NISTP384_SHA384, Engine::EcdsaDer(Hash::Sha384)),
    (Tls::ECDSA_NISTP521_SHA512, Engine::EcdsaDer(Hash::Sha512)),
    (Tls::ED25519, Engine::Ed25519),
    (Tls::RSA_PSS_SHA256, Engine::RsaPss(Hash::Sha256)),
    (Tls::RSA_PSS_SHA384, Engine::RsaPss(Hash::Sha384)),
    (Tls::RSA_PSS_SHA512, Engine::RsaPss(Hash::Sha512)),
    (Tls::RSA_PKCS1_SHA256, Engine::RsaPkcs1(Hash::Sha256)),
    (Tls::RSA_PKCS1_SHA384, Engine::RsaPkcs1(Hash::Sha384)),
    (Tls::RSA_PKCS1_SHA512, Engine::RsaPkcs1(Hash::Sha512)),
];

/// The corresponding scheme of the crypto trait; `None` if it is not accepted.
pub(crate) fn checked(scheme: Tls) -> Option<Engine> {
    CHECKED.into_iter().find(|(tls, _)| *tls == scheme).map(|(_, engine)| engine)
}

/// Whether TLS 1.3 allows this key to sign a handshake with this scheme.
pub(crate) fn fits_tls13(scheme: Tls, spki: &[u8]) -> bool {
    // RFC 8446 §4.2.3: PKCS #1 v1.5 is for certificates only; ECDSA names the curve together with the hash.
    match scheme {
        Tls::ECDSA_NISTP256_SHA256 => algorithm_of(spki).starts_with(&alg_id::ECDSA_P256),
        Tls::ECDSA_NISTP384_SHA384 => algorithm_of(spki).starts_with(&alg_id::ECDSA_P384),
        Tls::ECDSA_NISTP521_SHA512 => algorithm_of(spki).starts_with(&alg_id::ECDSA_P521),
        Tls::ED25519 => algorithm_of(spki).starts_with(&alg_id::ED25519),
        Tls::RSA_PSS_SHA256 | Tls::RSA_PSS_SHA384 | Tls::RSA_PSS_SHA512 => {
            algorithm_of(spki).starts_with(&alg_id::RSA_ENCRYPTION)
        }
        _ => false,
    }
}

/// RFC 5280 §4.1: SubjectPublicKeyInfo ::= SEQUENCE { algorithm SEQUENCE { … }, … }; from the inner contents on.
fn algorithm_of(spki: &[u8]) -> &[u8] {
    contents(spki).and_then(contents).unwrap_or_default()
}

/// The contents of a DER SEQUENCE, and everything after it.
fn contents(element: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = element.strip_prefix(&[0x30])?.split_first()?;
    match length {
        0..0x80 => Some(rest),
        _ => rest.get(usize::from(length & 0x7f)..),
    }
}

/// Our key as rustls needs it.
#[derive(Debug)]
pub(crate) struct Key(pub(crate) SigningKey);

impl TlsKey for Key {
    fn choose_scheme(&self, offered: &[Tls]) -> Option<Box<dyn Signer>> {
        let tls = *schemes(self.0.kind).iter().find(|scheme| offered.contains(scheme))?;
        Some(Box::new(Chosen { key: self.0.clone(), tls, engine: checked(tls)? }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        match self.0.kind {
            KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521 => SignatureAlgorithm::ECDSA,
            KeyKind::Ed25519 => SignatureAlgorithm::ED25519,
            _ => SignatureAlgorithm::RSA,
        }
    }
}

/// The schemes of a key in order of preference.
const fn schemes(kind: KeyKind) -> &'static [Tls] {
    match kind {
        KeyKind::EcdsaP256 => &[Tls::ECDSA_NISTP256_SHA256],
        KeyKind::EcdsaP384 => &[Tls::ECDSA_NISTP384_SHA384],
        KeyKind::EcdsaP521 => &[Tls::ECDSA_NISTP521_SHA512],
        KeyKind::Ed25519 => &[Tls::ED25519],
        // RFC 8446 §4.2.3: hash and salt of SHA-512 need 130 bytes, more than this modulus has.
        KeyKind::Rsa1024 => &[Tls::RSA_PSS_SHA256, Tls::RSA_PSS_SHA384, Tls::RSA_PKCS1_SHA256],
        _ => &[
            Tls::RSA_PSS_SHA256,
            Tls::RSA_PSS_SHA384,
            Tls::RSA_PSS_SHA512,
            Tls::RSA_PKCS1_SHA256,
            Tls::RSA_PKCS1_SHA384,
            Tls::RSA_PKCS1_SHA512,
        ],
    }
}

/// A key with the negotiated scheme.
#[derive(Debug)]
struct Chosen {
    key: SigningKey,
    tls: Tls,
    engine: Engine,
}

impl Signer for Chosen {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(lent(|lent| lent.crypto.sign(&self.key, self.engine, &[message])))
    }

    fn scheme(&self) -> Tls {
        self.tls
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::keys;
    use keytoll_crypto_api::Rng;

    use super::*;

    #[test]
    fn each_kind_of_key_fits_its_own_schemes_of_tls_13_and_no_other() {
        let kinds =
            [KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519];
        for kind in kinds {
            let key = keys::generate(kind, &mut Rng::named(1, "fits"));
            for (scheme, _) in CHECKED {
                let own = schemes(kind).contains(&scheme) && !format!("{scheme:?}").contains("PKCS1");
                assert_eq!(fits_tls13(scheme, &key.spki), own, "{kind} {scheme:?}");
            }
        }
    }

    /// RFC 5246 §7.4.2: in TLS 1.2 the cipher suite depends on this.
    #[test]
    fn each_kind_of_key_has_its_signature_algorithm() {
        for (kind, algorithm) in [
            (KeyKind::Rsa2048, SignatureAlgorithm::RSA),
            (KeyKind::EcdsaP256, SignatureAlgorithm::ECDSA),
            (KeyKind::EcdsaP521, SignatureAlgorithm::ECDSA),
            (KeyKind::Ed25519, SignatureAlgorithm::ED25519),
        ] {
            let key = Key(keys::generate(kind, &mut Rng::named(1, "says")));
            assert_eq!(key.algorithm(), algorithm, "{kind}");
        }
    }

    /// RFC 8446 §4.2.3: hash and salt must fit the modulus, and without a supported scheme among those offered nothing is signed.
    #[test]
    fn a_key_signs_with_a_supported_offered_scheme() {
        let short = Key(keys::generate(KeyKind::Rsa1024, &mut Rng::named(1, "short")));
        let chosen = |offered: &[Tls]| short.choose_scheme(offered).map(|signer| signer.scheme());
        assert_eq!(chosen(&[Tls::RSA_PSS_SHA512, Tls::RSA_PSS_SHA384]), Some(Tls::RSA_PSS_SHA384));
        assert_eq!(chosen(&[Tls::RSA_PKCS1_SHA256, Tls::RSA_PSS_SHA256]), Some(Tls::RSA_PSS_SHA256));
        assert_eq!(chosen(&[Tls::RSA_PSS_SHA512, Tls::ECDSA_NISTP256_SHA256]), None);
        let schemes = [KeyKind::EcdsaP384, KeyKind::EcdsaP521].map(schemes);
        assert_eq!(schemes, [&[Tls::ECDSA_NISTP384_SHA384], &[Tls::ECDSA_NISTP521_SHA512]]);
    }

    #[test]
    fn a_key_that_is_no_der_fits_nothing() {
        let key = keys::generate(KeyKind::EcdsaP256, &mut Rng::named(1, "fits"));
        for cut in 0..12 {
            assert!(!fits_tls13(Tls::ECDSA_NISTP256_SHA256, &key.spki[..cut]), "{cut}");
        }
        assert!(!fits_tls13(Tls::ED25519, b"\x30\xff\x30\x05"));
    }
}
