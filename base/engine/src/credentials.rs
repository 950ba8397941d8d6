//! What an engine must be told about certificates, so that it needs no X.509 library itself.

use std::fmt;
use std::sync::Arc;

use crate::Crypto;
use crate::crypto::SigningKey;

/// Judges certificate chains for an engine; `keytoll-pki` has the implementation.
pub trait Trust: Send + Sync {
    /// Builds a path from `chain[0]` (the end entity; the rest in any order) to a trust anchor and checks it with
    /// primitives from `crypto`.
    fn verify(&self, chain: &[&[u8]], crypto: &mut dyn Crypto) -> Result<PeerCertificate, CertificateError>;

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
    /// Subject alternative names.
    pub alternatives: Vec<AlternativeName>,
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
    /// A signature in the chain is wrong.
    #[error("bad signature")]
    BadSignature,
    /// Revoked, not allowed for this use, constraints violated or an algorithm that is not accepted.
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
