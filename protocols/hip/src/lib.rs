//! The Host Identity Protocol, version 2: RFC 7401, with ESP of RFC 7402, mobility of RFC 8046, and the diet exchange of
//! draft-ietf-hip-dex-24.
//!
//! * [`wire`] reads and writes packets; [`number`] has the numbers that IANA registers.
//! * [`identity`] and [`hit`] are who a host is; [`puzzle`] and [`keymat`] compute what both sides must agree on.
//! * [`config`] and [`event`] are what an [`Endpoint`] is told, and what it tells; [`names`] is what traces call it, [`family`] what
//!   captures make of it.
//! * [`aka`] is the diet exchange in which a subscription is proved, too; [`encapsulation`] is all of it in UDP.
//!
//! ```text
//!   initiator   I1Sent --R1--> I2Sent --R2--> Established
//!                                      '-----> AwaitsCard --> ResponseSent --UPDATE--> Established          with AKA
//!   responder   I1: R1, and nothing is kept
//!               I2: R2 --> Established
//!               I2 --> AwaitsVector --> AwaitsResponse --UPDATE--> Established                              with AKA
//!   both        Established --our CLOSE--> Closing --CLOSE_ACK--> gone
//!                           '-peer's CLOSE--> Closed --------------> gone
//! ```
//!
//! An I1 and an I2 from two hosts that begin at once are told apart by their HITs; an association between the same two HITs
//! takes the place of the one before.

pub mod aka;
mod association;
mod closing;
pub mod config;
mod cshake;
mod diet_keys;
pub mod encapsulation;
mod endpoint;
mod esp;
mod established;
pub mod event;
pub mod family;
pub mod hit;
pub mod identity;
mod initiator;
pub mod keymat;
pub mod leniency;
pub mod names;
pub mod number;
mod offers;
mod outgoing;
mod phase;
mod protection;
pub mod puzzle;
mod responder;
mod reveal;
mod spki;
#[cfg(test)]
mod tests;
pub mod wire;

pub use endpoint::Endpoint;
pub use hit::Hit;
pub use identity::HostIdentity;
pub use leniency::Leniency;
