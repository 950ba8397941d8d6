//! Certificates: a laboratory authority that issues them, trust anchors that verify them, files that hold them.
//!
//! ```text
//!   authority::Authority --issue--> Credential (our chain and key)       pem: files <--> DER
//!   trust::Anchors <--chain-- the peer; returns PeerCertificate or CertificateError
//!        '-- revocation lists, a purpose, a calendar that advances with the engine's time
//! ```
//!
//! Every signature is made and verified through the [`keytoll_crypto_api::Crypto`] that the caller lends, so it is metered
//! and can be null. Read RFC 5280 (certificates and paths) and RFC 4945 §5 (their use in IKE) first.

pub mod authority;
pub mod pem;
pub mod purpose;
pub mod revocation;
pub mod trust;

mod algorithms;
mod anchor;
mod bridge;
mod certificate;
mod der;
mod distinguished_name;
mod issuers;

pub use authority::{Authority, Request, Validity};
pub use certificate::describe;
pub use purpose::Purpose;
pub use revocation::RevocationList;
pub use trust::Anchors;
