//! The responder's side of the initial exchanges.
//!
//! ```text
//!   (nothing) --IKE_SA_INIT request--> AwaitingAuth --IKE_AUTH request--> Established
//!                                           '--no AUTH--> RelayAwaitsOwner <--> RelayAwaitsPeer --> AwaitingFinalAuth --> Established
//!       '-- COOKIE, INVALID_KE_PAYLOAD, NO_PROPOSAL_CHOSEN: answered without state
//! ```

mod auth;
mod eap;
mod sa_init;

pub(super) use auth::AwaitingAuth;
pub(super) use eap::{FinalAuth, Relay};
pub(super) use sa_init::{SaInitRequest, answer};
