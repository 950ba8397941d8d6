//! Diameter, as far as a subscriber database is asked for authentication vectors: RFC 6733 (base), 3GPP TS 29.273 (SWx)
//! and TS 29.272 (S6a).
//!
//! * [`number`]: command, application, AVP and result codes; [`names`]: what traces call messages.
//! * [`wire`]: messages and AVPs, read into borrowed views and written into one buffer.
//! * [`vectors`]: what is asked for and answered, and how MAR/MAA and AIR/AIA say it.
//! * [`client`]: in the AAA server or the gateway.
//! * [`server`]: in the HSS, in front of whoever holds the keys.
//!
//! One message is one datagram here; the stream that TCP makes of them is the driver's concern.

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

/// What a meter books Diameter under: it shares the phase with every protocol behind the gateway.
pub const PHASE: Phase = Phase::new(60, "aaa");

/// Who speaks: the names in Origin-Host and Origin-Realm (RFC 6733 §6.3, §6.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Origin-Host.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
}
