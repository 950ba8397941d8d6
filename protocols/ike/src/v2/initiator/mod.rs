//! The initiator's waits.
//!
//! ```text
//!   start --IKE_SA_INIT--> SaInitSent --response--> AuthSent --response--> Established
//!                             '--COOKIE / INVALID_KE_PAYLOAD--> SaInitSent (again, with what was asked)
//! ```

mod auth;
mod sa_init;

pub(super) use auth::{AuthSent, Settled, push_certificates};
pub(super) use sa_init::{SaInitSent, start};
