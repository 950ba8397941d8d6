//! IKEv1: RFC 2407 (domain of interpretation), RFC 2408 (ISAKMP), RFC 2409 (the exchanges), RFC 3706 (dead peers),
//! RFC 3947 (NAT traversal).
//!
//! * [`wire`] and [`number`]: messages and registries, as far as they differ from those of IKEv2.
//! * [`proposal`]: negotiation; a transform is a whole suite.
//! * [`keys`] and [`protect`]: SKEYID and the keys derived from it, encryption under a chain of IVs.
//! * `endpoint` owns the ISAKMP SAs; `sa` is one of them; `initiator`, `responder` and `established` are its states;
//!   `replacement` defines how SAs with the same peer replace each other.
//!
//! ```text
//!   main mode        initiator   Offered --2--> KeysSent --4--> IdentitySent --6--> Established
//!                    responder   1 --> AwaitingKeys --3--> AwaitingIdentity --5--> Established
//!   aggressive mode  initiator   Introduced --2--> Established
//!                    responder   1 --> AwaitingProof --3--> Established
//!   quick mode       initiator   AwaitingAnswer --2--> Confirmed (retransmits its last message)
//!                    responder   1 --> AwaitingConfirmation --3--> done
//! ```

mod admission;
mod auth;
mod directory;
mod doubt;
mod endpoint;
mod established;
mod half_open;
mod inbound;
mod initiator;
pub mod keys;
mod nat;
pub mod number;
pub mod overheard;
mod phase1;
pub mod proposal;
pub mod protect;
mod replacement;
mod responder;
mod sa;
mod selectors;
mod transmission;
pub mod wire;
pub mod words;

pub use endpoint::Endpoint;
