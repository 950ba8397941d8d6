//! Uses of the shared secret: authentication of packets, and hiding of passwords and keys.
//! RFC 2865 §3, §5.2 and §5.3, RFC 2866 §3, RFC 3579 §3.2, RFC 2548 §2.4.2.
//!
//! All of it is based on MD5, as in 1997, and computed through the trait `Crypto`.

pub mod authenticator;
mod chain;
pub mod chap;
pub mod mppe;
pub mod password;

pub use authenticator::Forged;
pub use mppe::MppeKeys;
