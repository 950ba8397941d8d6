//! The responder's side of the initial exchanges.
//!
//! ```text
//!   (nothing) --IKE_SA_INIT request--> AwaitingAuth --IKE_AUTH request--> Established
//!       '-- COOKIE, INVALID_KE_PAYLOAD, NO_PROPOSAL_CHOSEN: answered, nothing remembered
//! ```

mod auth;
mod sa_init;

pub(super) use auth::AwaitingAuth;
pub(super) use sa_init::{SaInitRequest, answer};
