//! IKEv2 messages on the wire: RFC 7296 §3, RFC 7383 §2.5.
//!
//! Reading borrows: a [`Message`] is the header and a list of [`Payload`]s that point into the received bytes.
//! Payloads that are lists themselves (SA, TS, CP, …) are checked once when they are read and iterated on demand, so no list
//! inside a payload is ever copied. Writing goes through a [`MessageBuilder`] into one buffer.
pub mod authentication;
pub mod certificate;
pub mod certreq;
pub mod configuration;
pub mod delete;
mod distinguished_name;
pub mod eap;
pub mod encrypted;
pub mod encrypted_fragment;
pub mod header;
pub mod identification;
pub mod key_exchange;
pub mod message;
pub mod nonce;
pub mod notify;
pub mod payload;
pub mod sa;
#[cfg(test)]
mod testing;
pub mod traffic_selector;
pub mod transform;
pub mod vendor_id;

pub use authentication::Authentication;
pub use certificate::Certificate;
pub use certreq::CertificateRequest;
pub use configuration::{Configuration, ConfigurationAttribute};
pub use delete::Delete;
pub use eap::Eap;
pub use encrypted::Encrypted;
pub use encrypted_fragment::EncryptedFragment;
pub use header::{Flags, Header};
pub use identification::{Identification, Identity, IdentityError};
pub use key_exchange::KeyExchange;
pub use keytoll_net::wire::{DecodeError, Problem};
pub use message::{Message, MessageBuilder};
pub use nonce::Nonce;
pub use notify::Notify;
pub use payload::{Payload, Unknown};
pub use sa::{Proposal, ProposalRef, SecurityAssociation, Spi};
pub use traffic_selector::{Ports, TrafficSelector, TrafficSelectors};
pub use transform::{Attribute, Transform};
pub use vendor_id::VendorId;
