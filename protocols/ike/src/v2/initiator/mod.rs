//! The initiator's states.
//!
//! ```text
//!   start --IKE_SA_INIT--> SaInitSent --response--> AuthSent --response--> Established
//!                                                        '--EAP--> EapAwaitsOwner <--> EapAwaitsPeer --> EapFinalSent --> Established
//!                             '--COOKIE / INVALID_KE_PAYLOAD--> SaInitSent (again, as requested)
//! ```

mod auth;
mod eap;
mod sa_init;

pub(super) use auth::{AuthSent, Settled, push_certificates};
pub(super) use eap::{EapConversation, EapFinal};
pub(super) use sa_init::{SaInitSent, start};
