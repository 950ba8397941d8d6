//! IKEv2, RFC 7296: the semantics of the messages in [`crate::wire`].
//!
//! * [`proposal`]: negotiation of suites.
//! * [`keys`]: key derivation, and the octets covered by AUTH.
//! * [`protect`] and [`fragment`]: the Encrypted payload, whole or in fragments.
//! * [`crate::config`] and [`crate::event`]: configuration, commands and events of an [`Endpoint`].
//! * `endpoint` owns the IKE SAs; `sa` is one of them; `initiator`, `responder` and `established` are its states.
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
mod standing;
mod window;
pub mod words;

use crate::{config, event};

pub use endpoint::Endpoint;
pub(crate) use endpoint::Setup;
pub(crate) use standing::Standing;
