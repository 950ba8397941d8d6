//! IKEv2, RFC 7296: what the messages of [`crate::wire`] mean.
//!
//! * [`proposal`]: negotiation of suites.
//! * [`keys`]: every key, and the octets that AUTH covers.
//! * [`protect`] and [`fragment`]: the Encrypted payload, whole or in fragments.

pub mod fragment;
pub mod keys;
pub mod proposal;
pub mod protect;
pub mod signature;
