//! EAP (RFC 3748): the peer and server layers, and one file per method with both roles.
//!
//! ```text
//!   lower layer (IKE, RADIUS, 802.1X) --packet--> Peer / Server --message of its type--> PeerMethod / ServerMethod
//!                                     <--packet--               <--step-----------------
//! ```
//!
//! [`Peer`] and [`Server`] handle identities, negotiation, identifiers, limits and the result; methods handle the data of their
//! type. The lower layer retransmits: nothing here has a timer. To add a method, write one file in [`methods`] and add its line
//! there; [`method`] defines what it must implement.

pub mod family;
pub mod fips186;
pub mod method;
pub mod methods;
pub mod mschap;
pub mod packet;
pub mod passwords;
pub mod peer;
pub mod question;
mod registry;
pub mod server;
pub mod simaka;
pub mod tunnel;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use method::{
    Keys, Limits, PeerMethod, PeerOffer, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep, Turn,
};
pub use packet::{Message, MethodType, Packet};
pub use passwords::Passwords;
pub use peer::{Peer, PeerConfig, PeerOutput};
pub use question::{Answer, Question};
pub use server::{Accepted, Server, ServerConfig, ServerOutput, Tried};

use keytoll_engine::Ctx;
use keytoll_engine::trace::{Fact, Protocol};
use std::borrow::Cow;

/// EAP over any lower layer.
pub const EAP: Protocol = Protocol::new(&"eap");

/// Records that something unusable arrived.
fn discard(cx: &mut Ctx<'_>, why: Cow<'static, str>) {
    cx.trace.record(Fact::Discarded { protocol: EAP, why });
}
