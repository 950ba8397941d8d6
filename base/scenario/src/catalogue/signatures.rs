//! The signatures by which AUTH of IKEv2 can be made, with the documents that define them.

use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};

use super::Entry;

/// Schemes that a key cannot make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Which scheme, and which key.
    pub message: String,
    /// What the key can make.
    pub hint: String,
}

/// Refuses schemes of which a key of this kind cannot make every one.
pub fn fit(schemes: &[SignatureScheme], kind: KeyKind) -> Result<(), Unfit> {
    let Some(unfit) = schemes.iter().find(|scheme| !scheme.fits(kind)) else { return Ok(()) };
    let fitting = SignatureScheme::NEGOTIABLE.into_iter().filter(|scheme| scheme.fits(kind));
    let names: Vec<_> = fitting.map(|scheme| format!("`{scheme}`")).collect();
    Err(Unfit {
        message: format!("a key of kind `{kind}` makes no signature `{unfit}`"),
        hint: format!("it makes {}", names.join(", ")),
    })
}

/// How the list shows a scheme.
pub(super) fn entry(scheme: SignatureScheme) -> Entry {
    Entry {
        name: scheme.to_string(),
        summary: summary(scheme).to_owned(),
        source: source(scheme).to_owned(),
        standing: scheme.standing().mark(),
    }
}

const fn summary(scheme: SignatureScheme) -> &'static str {
    match scheme {
        SignatureScheme::RsaPss(_) => "RSASSA-PSS, for peers that announce the hash",
        SignatureScheme::RsaPkcs1(_) if old_rsa(scheme) => {
            "RSASSA-PKCS1-v1_5, for peers that announce no hash; only where it is named"
        }
        SignatureScheme::RsaPkcs1(_) | SignatureScheme::RsaPkcs1Bare => {
            "RSASSA-PKCS1-v1_5, for peers that announce the hash"
        }
        SignatureScheme::EcdsaDer(_) => "ECDSA on any curve, for peers that announce the hash",
        SignatureScheme::EcdsaRaw(_) => {
            "ECDSA on the curve of the hash's length, for peers that announce no hash"
        }
        SignatureScheme::Ed25519 => "EdDSA, for peers that announce it",
    }
}

const fn source(scheme: SignatureScheme) -> &'static str {
    match scheme {
        SignatureScheme::RsaPss(_) => "RFC 7427 A.4",
        SignatureScheme::RsaPkcs1(_) if old_rsa(scheme) => "RFC 7296 §3.8",
        SignatureScheme::RsaPkcs1(_) | SignatureScheme::RsaPkcs1Bare => "RFC 7427 A.1",
        SignatureScheme::EcdsaDer(_) => "RFC 7427 A.3",
        SignatureScheme::EcdsaRaw(_) => "RFC 4754",
        SignatureScheme::Ed25519 => "RFC 8420",
    }
}

const fn old_rsa(scheme: SignatureScheme) -> bool {
    matches!(scheme, SignatureScheme::RsaPkcs1(Hash::Sha1))
}
