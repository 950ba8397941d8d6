//! Diameter for requesting authentication vectors from a subscriber database: RFC 6733 (base), 3GPP TS 29.273 (SWx) and
//! TS 29.272 (S6a).
//!
//! * [`number`]: command, application, AVP and result codes; [`names`]: names of messages in traces.
//! * [`wire`]: messages and AVPs, read into borrowed views and written into one buffer.
//! * [`vectors`]: requests and answers for vectors, and their encoding in MAR/MAA and AIR/AIA.
//! * [`client`]: in the AAA server or the gateway.
//! * [`server`]: in the HSS, in front of the authentication centre.
//!
//! One message is one datagram here; the driver handles the TCP stream.

mod answers;
pub mod client;
pub mod family;
pub mod names;
pub mod number;
mod say;
pub mod server;
#[cfg(test)]
mod tests;
pub mod vectors;
pub mod wire;

use keytoll_crypto_api::Phase;

pub use client::Client;
pub use names::DIAMETER;
pub use say::result_of;
pub use server::Server;
pub use vectors::{Refusal, Request, Vector, Wanted};

/// The phase that a meter counts Diameter under: all protocols behind the gateway share it.
pub const PHASE: Phase = Phase::new(60, "aaa");

/// A node's Origin-Host and Origin-Realm (RFC 6733 §6.3, §6.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Origin-Host.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
}
