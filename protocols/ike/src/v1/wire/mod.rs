//! ISAKMP messages on the wire: RFC 2408 §3, RFC 2407 §4.6, RFC 3947 §3.2, §5.2.
//!
//! The header, the generic payload header and certificates are those of IKEv2: [`crate::wire`]. Reading borrows; lists
//! inside a payload are checked once and iterated on demand.

pub mod delete;
pub mod identification;
pub mod message;
pub mod notify;
pub mod original_address;
pub mod payload;
pub mod request;
pub mod sa;

pub use delete::Delete;
pub use identification::Identification;
pub use message::Message;
pub use notify::Notify;
pub use original_address::OriginalAddress;
pub use payload::Payload;
pub use request::CertificateRequest;
pub use sa::{Attribute, Attributes, Proposal, ProposalRef, SecurityAssociation, Transform, TransformRef};
