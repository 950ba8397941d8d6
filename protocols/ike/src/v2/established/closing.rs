//! An IKE SA after its last request: only the answer is awaited. RFC 7296 §1.4.1, §2.25.2.

use super::super::endpoint::Env;
use super::super::protect::Protection;
use super::super::sa::{Core, State};
use crate::number::{ExchangeType, NotifyType};

/// Waits for the answer to a DELETE or a last error notification.
#[derive(Debug)]
pub(in crate::v2) struct Closing {
    pub(in crate::v2) protection: Protection,
}

impl Closing {
    pub(in crate::v2) fn state(protection: Protection) -> State {
        State::Closing(Box::new(Self { protection }))
    }

    /// Handles a request of the peer: a DELETE that crossed ours is answered, new SAs are refused.
    pub(in crate::v2) fn on_request(
        mut self: Box<Self>,
        exchange: ExchangeType,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        // RFC 7296 §2.25.2: requests that cross the deletion get TEMPORARY_FAILURE.
        if exchange == ExchangeType::INFORMATIONAL {
            core.respond(exchange, |_| {}, &mut self.protection, env);
        } else {
            core.refuse(exchange, NotifyType::TEMPORARY_FAILURE, &mut self.protection, env);
        }
        State::Closing(self)
    }
}
