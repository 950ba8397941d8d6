//! RADIUS: RFC 2865 (authentication), RFC 2866 (accounting), RFC 2869 and RFC 3579 (EAP), RFC 2548 (keys), RFC 5080
//! (retransmission, duplicates).
//!
//! * [`number`]: codes and attribute types; [`names`]: names of packets in traces.
//! * [`wire`]: packets and attributes, read into borrowed views and written into one buffer.
//! * [`protect`]: uses of the shared secret: authenticators, hidden passwords and keys.
//! * [`client`]: the NAS, inside the gateway.
//! * [`server`]: inside the AAA server, in front of an EAP server.
//!
//! Every Access message carries a Message-Authenticator as its first attribute, and messages without one are refused: a
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

/// The phase that a meter counts RADIUS under: all protocols behind the gateway share it.
pub const PHASE: Phase = Phase::new(60, "aaa");
