//! TLS 1.2 and 1.3 for EAP methods, on rustls without any cryptography of its own: bytes in, bytes out, no socket, no
//! clock. Read RFC 8446 §4 and §7, RFC 5246 §7, RFC 5216 §2 and RFC 9190 §2 first.
//!
//! ```text
//!   feed(bytes, cx, rng) --> rustls --> take_output() --> the EAP method, which cuts it into fragments
//!                              |   '--> take_received()  (application data: TTLS, PEAP, 0x00 of RFC 9190)
//!                              '--> primitives --> [`lent`] --> cx.crypto, rng
//! ```
//!
//! * [`Config`] says who we are and whom we trust; [`Client`] and [`Server`] are made from it once and shared.
//! * [`Session`] is one conversation. Everything it draws comes from the generator lent to it.
//! * A session may continue an earlier one that somebody vouched for; a finished handshake alone is not enough.
//! * [`Failure`] names why a conversation ended.
//!
//! What rustls cannot do, this cannot: static RSA, DHE, CBC suites, SHA-1 signatures, TLS 1.1.

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
