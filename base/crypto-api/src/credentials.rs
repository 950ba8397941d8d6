//! The interface to certificates, so that an engine needs no X.509 library itself.

use std::fmt;
use std::sync::Arc;

use keytoll_trace::Time;

use crate::{Crypto, SigningKey};

/// Verifies certificate chains for an engine; `keytoll-pki` has the implementation.
pub trait Trust: Send + Sync {
    /// Builds a path from `chain[0]` (the end entity; the rest in any order) to a trust anchor and checks it as of `now`
    /// with primitives from `crypto`.
    fn verify(
        &self,
        chain: &[&[u8]],
        now: Time,
        crypto: &mut dyn Crypto,
    ) -> Result<PeerCertificate, CertificateError>;

    /// SHA-1 hashes of the trust anchors' SubjectPublicKeyInfo, as CERTREQ lists them (RFC 7296 §3.7).
    fn authorities(&self) -> &[[u8; 20]];
}

/// A certificate whose path was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// DER SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// DER Name of the subject.
    pub subject: Vec<u8>,
    /// The subject as unambiguous text; empty if there is no subject, or if an attribute is not text.
    pub subject_text: String,
    /// Subject alternative names.
    pub alternatives: Vec<AlternativeName>,
}

impl PeerCertificate {
    // RFC 5216 §5.2: the identity is the subjectAltName's; without one, the subject's.
    /// The name of the holder: an email address, else a host name, else the subject, if there is one.
    pub fn holder(&self) -> Option<&str> {
        let find = |text: fn(&AlternativeName) -> Option<&str>| self.alternatives.iter().find_map(text);
        let alternative = find(AlternativeName::email).or_else(|| find(AlternativeName::dns));
        alternative.or(Some(&self.subject_text)).filter(|name| !name.is_empty())
    }
}

/// A subject alternative name that can serve as an identity (RFC 4945 §5.1.3.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlternativeName {
    /// dNSName.
    Dns(String),
    /// rfc822Name.
    Email(String),
    /// iPAddress, 4 or 16 bytes.
    Ip(Vec<u8>),
}

impl AlternativeName {
    fn email(&self) -> Option<&str> {
        if let Self::Email(name) = self { Some(name) } else { None }
    }

    fn dns(&self) -> Option<&str> {
        if let Self::Dns(name) = self { Some(name) } else { None }
    }
}

/// Why a chain was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not a certificate.
    #[error("not a certificate")]
    Malformed,
    /// No path to a trust anchor.
    #[error("unknown issuer")]
    UnknownIssuer,
    /// Past its notAfter date.
    #[error("expired")]
    Expired,
    /// Before its notBefore date.
    #[error("not yet valid")]
    NotYetValid,
    /// A signature in the chain is invalid.
    #[error("bad signature")]
    BadSignature,
    /// On its issuer's revocation list.
    #[error("revoked")]
    Revoked,
    /// Revocation lists are required, and there is no valid one of its issuer.
    #[error("no revocation list of its issuer")]
    NoRevocationList,
    /// Its issuer's revocation list is past its nextUpdate date.
    #[error("revocation list expired")]
    RevocationListExpired,
    /// Not allowed for this use, a violated constraint, or an algorithm that is not accepted.
    #[error("not acceptable")]
    NotAcceptable,
}

/// Our own certificate with its key.
#[derive(Clone)]
pub struct Credential {
    /// DER certificates, end entity first, without the trust anchor.
    pub chain: Arc<[Vec<u8>]>,
    /// The private key of `chain[0]`.
    pub key: SigningKey,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({} certificates, {:?})", self.chain.len(), self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_its_holder_by_the_best_name_it_has() {
        let holder = |alternatives: &[AlternativeName], subject: &str| {
            let (alternatives, subject_text) = (alternatives.to_vec(), subject.to_owned());
            let peer = PeerCertificate { spki: vec![], subject: vec![], subject_text, alternatives };
            peer.holder().map(str::to_owned)
        };
        let [email, dns] = ["ue@lab", "ue.lab"].map(str::to_owned);
        let names =
            [AlternativeName::Ip(vec![0; 4]), AlternativeName::Dns(dns), AlternativeName::Email(email)];
        assert_eq!(holder(&names, "CN=ue").as_deref(), Some("ue@lab"));
        assert_eq!(holder(&names[..2], "CN=ue").as_deref(), Some("ue.lab"));
        assert_eq!(holder(&names[..1], "CN=ue").as_deref(), Some("CN=ue"));
        assert_eq!(holder(&names[..1], ""), None);
    }
}
