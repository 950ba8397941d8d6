//! IKE, the Internet Key Exchange: RFC 7296 (IKEv2) with RFC 7383 (fragmentation) and RFC 7427 (signatures).
//!
//! * [`number`]: the IANA registries, and which of our algorithms a number means.
//! * [`wire`]: messages and payloads, read into borrowed views and written into one buffer.
//! * [`v2`]: what IKEv2 does with them.

pub mod number;
pub mod v2;
pub mod wire;
