//! RADIUS: RFC 2865 (authentication), RFC 2866 (accounting), RFC 2869 and RFC 3579 (EAP), RFC 2548 (keys), RFC 5080
//! (retransmission, duplicates).
//!
//! * [`number`]: codes and attribute types; [`names`]: what traces call packets.
//! * [`wire`]: packets and attributes, read into borrowed views and written into one buffer.
//! * [`protect`]: what the shared secret does to them: authenticators, hidden passwords and keys.
//! * [`client`]: the NAS's side, inside the gateway.
//! * [`server`]: the other side, inside the AAA server, in front of an EAP server.
//!
//! Every Access message carries a Message-Authenticator as its first attribute, and none is believed without: a
//! Response Authenticator alone can be forged by a chosen-prefix collision of MD5 (Blast-RADIUS, CVE-2024-3596).

pub mod client;
pub mod family;
pub mod names;
pub mod number;
pub mod protect;
pub mod server;
pub mod wire;

pub use names::RADIUS;

use keytoll_crypto_api::Phase;

/// What a meter books RADIUS under: it shares the phase with every protocol behind the gateway.
pub const PHASE: Phase = Phase::new(60, "aaa");
