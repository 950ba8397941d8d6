//! IKEv2, RFC 7296: what the messages of [`crate::wire`] mean.
//!
//! * [`proposal`]: negotiation of suites.
//! * [`keys`]: every key, and the octets that AUTH covers.
//! * [`protect`] and [`fragment`]: the Encrypted payload, whole or in fragments.
//! * [`crate::config`] and [`crate::event`]: what an [`Endpoint`] is told, and what it tells.
//! * `endpoint` owns the IKE SAs; `sa` is one of them; `initiator`, `responder` and `established` are its waits.
//!
//! ```text
//!   initiator   SaInitSent --response--> AuthSent --response--> Established
//!   responder   IKE_SA_INIT request --> AwaitingAuth --IKE_AUTH request--> Established
//!   both        Established --our DELETE--> Closing --> Lingering        (peer's DELETE --> Lingering)
//! ```

mod admission;
mod auth;
mod child;
mod cookie;
mod endpoint;
mod established;
mod exchange;
pub mod fragment;
mod inbound;
mod initiator;
pub mod keys;
mod nat;
mod outbound;
mod pool;
pub mod proposal;
pub mod protect;
mod responder;
mod sa;
pub mod schemes;
pub mod signature;
mod window;
pub mod words;

use crate::{config, event};

pub use endpoint::Endpoint;
