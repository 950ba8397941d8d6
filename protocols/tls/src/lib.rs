//! TLS 1.2 and 1.3 for EAP methods, on rustls without any cryptography of its own: bytes in, bytes out, no socket, no
//! clock. Read RFC 8446 §4 and §7, RFC 5246 §7, RFC 5216 §2 and RFC 9190 §2 first.
//!
//! ```text
//!   feed(bytes, cx, rng) --> rustls --> take_output() --> the EAP method, which fragments it
//!                              |   '--> take_received()  (application data: TTLS, PEAP, 0x00 of RFC 9190)
//!                              '--> primitives --> [`lent`] --> cx.crypto, rng
//! ```
//!
//! * [`Config`] has credentials and trust; [`Client`] and [`Server`] are made from it once and shared.
//! * [`Session`] is one conversation. All its randomness comes from the generator lent to it.
//! * A session may resume an earlier one that was marked as authenticated; a finished handshake alone is not enough.
//! * [`Failure`] is why a conversation failed.
//!
//! rustls's restrictions apply: no static RSA, DHE, CBC suites, SHA-1 signatures, or TLS 1.1.

mod aead;
mod agreement;
mod config;
mod failure;
pub mod family;
mod hash;
mod hellos;
mod key_log;
mod lent;
mod memory;
mod provider;
mod session;
mod signature;
mod suites;
mod verifier;

pub use config::{Client, Config, ConfigError, NameCheck, Server, Version};
pub use failure::{Alert, Failure};
pub use hellos::Hellos;
pub use session::Session;
