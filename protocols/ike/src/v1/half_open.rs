//! ISAKMP SAs with unauthenticated initiators: their cost, their timeout, and when they are evicted. Read RFC 2408 §2.5.3,
//! RFC 2409 §5.4 first.

use std::time::Duration;

use keytoll_engine::Time;

use super::doubt;
use super::endpoint::Env;
use super::sa::{Sa, State};
use super::transmission::Sent;
use crate::event::Reason;
use crate::half_open::SILENCE;

/// Protection from eviction for a half-open SA that has cost us a key exchange, or whose initiator has continued.
const KEPT: Duration = Duration::from_secs(4);

impl State {
    /// Whether no message has come yet that requires the receipt of our answer.
    pub(super) const fn is_unproved(&self) -> bool {
        matches!(self, Self::AwaitingKeys(_) | Self::AwaitingProof(_) | Self::Unusable(_))
    }

    /// Whether our answer needed a key exchange though nothing was proved.
    // RFC 2409 §5.4: in aggressive mode every initiator can cause that; the lifetime of such an SA limits how often.
    const fn is_costly(&self) -> bool {
        matches!(self, Self::AwaitingProof(_) | Self::Unusable(_))
    }

    /// When a responder gives up the initiator.
    pub(super) fn expires(&self) -> Option<Time> {
        match self {
            Self::AwaitingKeys(wait) => Some(wait.expires),
            Self::AwaitingIdentity(wait) => Some(wait.expires),
            Self::AwaitingProof(wait) => Some(wait.expires),
            Self::Unusable(expires) => Some(*expires),
            _ => None,
        }
    }
}

impl Sa {
    /// Whether its initiator is unauthenticated.
    pub(super) const fn is_half_open(&self) -> bool {
        self.state.is_unproved() || matches!(self.state, State::AwaitingIdentity(_))
    }

    /// When it last accepted a message of its peer, or sent a new request.
    pub(super) fn went_on(&self) -> Time {
        let asked = self.core.last.as_ref().and_then(Sent::since);
        [asked, self.core.receives_since, self.state.heard()]
            .into_iter()
            .flatten()
            .fold(self.core.begun, Time::max)
    }

    /// From when on it may be evicted, unless it makes progress.
    pub(super) fn yields_from(&self) -> Time {
        let is_kept = self.state.is_costly() || !self.state.is_unproved();
        self.went_on() + if is_kept { KEPT } else { SILENCE }
    }

    /// Whether it may be evicted in favour of its own address, or of an address with fewer SAs.
    pub(super) fn yields_to_own(&self, now: Time) -> bool {
        self.state.is_unproved() && (!self.state.is_costly() || self.yields_from() <= now)
    }

    /// Ends an SA whose initiator has not continued in time, or not in an intelligible way.
    pub(super) fn expire(&mut self, env: &mut Env<'_, '_>) {
        let is_garbled = match &self.state {
            State::AwaitingIdentity(wait) => wait.garbled,
            State::AwaitingProof(wait) => wait.garbled,
            _ => false,
        };
        self.state = if is_garbled {
            doubt::end(&self.state, &self.core, Reason::AuthenticationFailed, env)
        } else {
            env.discard("half-open SA expired");
            State::Gone
        };
    }
}
