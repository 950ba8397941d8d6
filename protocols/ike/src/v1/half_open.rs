//! ISAKMP SAs whose initiator has not proved who it is: what they have cost, how long they are kept, and when another gets their
//! place. Read RFC 2408 §2.5.3, RFC 2409 §5.4 first.

use std::time::Duration;

use keytoll_engine::Time;

use super::doubt;
use super::endpoint::Env;
use super::sa::{Sa, State};
use super::transmission::Sent;
use crate::event::Reason;
use crate::half_open::SILENCE;

/// How long the place of a half-open SA is kept that has cost us an exchange of keys, or whose initiator has gone on.
const KEPT: Duration = Duration::from_secs(4);

impl State {
    /// Whether nothing has come that only somebody can say who has received our answer.
    pub(super) const fn is_unproved(&self) -> bool {
        matches!(self, Self::AwaitingKeys(_) | Self::AwaitingProof(_) | Self::Unusable(_))
    }

    /// Whether our answer took an exchange of keys, though nothing was proved.
    // RFC 2409 §5.4: in aggressive mode whoever asks gets that; how long such an SA stays limits how often.
    const fn is_dear(&self) -> bool {
        matches!(self, Self::AwaitingProof(_) | Self::Unusable(_))
    }

    /// When a responder gives an initiator up.
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
    /// Whether its initiator has not proved who it is.
    pub(super) const fn is_half_open(&self) -> bool {
        self.state.is_unproved() || matches!(self.state, State::AwaitingIdentity(_))
    }

    /// When its peer last said something that it takes, or was asked something new.
    pub(super) fn went_on(&self) -> Time {
        let asked = self.core.last.as_ref().and_then(Sent::since);
        [asked, self.core.receives_since, self.state.heard()]
            .into_iter()
            .flatten()
            .fold(self.core.begun, Time::max)
    }

    /// From when on somebody else may have its place, unless it goes on.
    pub(super) fn yields_from(&self) -> Time {
        let is_kept = self.state.is_dear() || !self.state.is_unproved();
        self.went_on() + if is_kept { KEPT } else { SILENCE }
    }

    /// Whether another of its own address may have its place, or one of an address that has fewer.
    pub(super) fn yields_to_own(&self, now: Time) -> bool {
        self.state.is_unproved() && (!self.state.is_dear() || self.yields_from() <= now)
    }

    /// The initiator has not gone on in time, or not in a way that we understand.
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
