//! Knock, an example of a protocol family for developers to read and copy. It is no real protocol: it agrees no keys, carries
//! no traffic, and nobody else speaks it. Its two messages go over IP protocol 253, which RFC 3692 sets aside for experiments.
//!
//! ```text
//!   initiator                                    responder
//!       KNOCK: nonce, HMAC(key, nonce)              -->
//!                                                   <--  OPEN: nonce, HMAC(key, both nonces)
//!       session open                                     session open, for a lifetime that both know
//! ```
//!
//! A family is four things, each in its place:
//!
//! * this crate: the codec ([`wire`]), the engines ([`initiator`], [`responder`]), what traces call messages ([`names`]), and
//!   how captures recognise, read and judge its packets ([`family`]);
//! * `world/rigs/src/knock`: the nodes and links of a row, and hosts around the engines;
//! * `base/scenario/src/families/knock.rs`: its methods in the catalogue;
//! * a line in each list: the workspace, `RIGS` and `FAMILIES` of `world/rigs`, `FAMILIES` of `base/scenario`.

pub mod family;
pub mod initiator;
pub mod names;
pub mod responder;
mod shared;
pub mod wire;

pub use family::Knock;
pub use initiator::Initiator;
pub use names::KNOCK;
pub use responder::Responder;
pub use shared::{Config, NUMBER, Session};
