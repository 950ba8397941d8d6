//! What the shared secret does: proving who sent a packet, hiding passwords and keys inside.
//! RFC 2865 §3 and §5.2, RFC 2866 §3, RFC 3579 §3.2, RFC 2548 §2.4.2.
//!
//! All of it is MD5 as it was in 1997, through the door of `engine::Crypto`.

pub mod authenticator;
mod chain;
pub mod mppe;
pub mod password;

pub use authenticator::Forged;
pub use mppe::MppeKeys;
