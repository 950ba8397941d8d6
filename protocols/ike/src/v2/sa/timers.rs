//! What an IKE SA does when time has passed: retransmit, give up, expire. Read RFC 7296 §2.1 and §2.4 first.

use keytoll_engine::{Deadline, Time};

use super::{Sa, State};
use crate::v2::endpoint::{Env, Shared};
use crate::v2::event::Reason;
use crate::v2::window::Due;

/// The deadline of an SA that lingers.
pub(in crate::v2) const fn lingers_until(until: Time) -> Deadline {
    Deadline { at: until, why: "closed SA is forgotten" }
}

impl Sa {
    /// What it waits for next, and until when.
    pub(in crate::v2) fn deadline(&self, shared: &Shared) -> Option<Deadline> {
        let again = self.core.requests.deadline().map(|at| Deadline { at, why: "ike retransmission" });
        let own = match &self.state {
            State::AwaitingAuth(wait) => Some(Deadline { at: wait.expires, why: "half-open SA expires" }),
            State::EapAwaitsOwner(wait) => {
                Some(Deadline { at: wait.expires, why: "EAP conversation expires" })
            }
            State::Established(sa) => sa.deadline(&self.core, shared),
            State::Lingering(until) => Some(lingers_until(*until)),
            State::SaInitSent(wait) => wait.deadline(),
            State::AuthSent(_)
            | State::EapAwaitsPeer(_)
            | State::EapFinalSent(_)
            | State::Closing(_)
            | State::Gone => None,
            State::RelayAwaitsOwner(_) | State::RelayAwaitsPeer(_) | State::AwaitingFinalAuth(_) => {
                let relay = self.state.relay();
                relay.map(|relay| Deadline { at: relay.expires, why: "EAP conversation expires" })
            }
        };
        Deadline::earlier(again, own)
    }

    /// Handles a deadline.
    pub(in crate::v2) fn on_tick(&mut self, env: &mut Env<'_, '_>) {
        match self.core.requests.tick(env.now(), &env.shared.config.retransmission) {
            Due::NotYet => self.on_own_deadline(env),
            Due::Again => {
                let refused = matches!(&self.state, State::SaInitSent(wait) if wait.refusal().is_some());
                if let Some(message) = self.core.requests.outstanding().filter(|_| !refused) {
                    env.transmit(self.core.route, message, true);
                }
            }
            Due::GiveUp => self.give_up(env),
        }
    }

    /// RFC 7296 §2.4: a peer that never answers is dead.
    fn give_up(&mut self, env: &mut Env<'_, '_>) {
        self.core.requests.settle();
        if matches!(
            self.state,
            State::SaInitSent(_) | State::AuthSent(_) | State::EapAwaitsPeer(_) | State::EapFinalSent(_)
        ) {
            return self.times_out(env);
        }
        self.state = match self.state.take() {
            State::Established(sa) => sa.lost(Reason::Timeout, &self.core, env),
            _ => State::Gone,
        };
    }

    /// The peer, or the owner, has been silent for too long.
    pub(super) fn times_out(&mut self, env: &mut Env<'_, '_>) {
        let peer = self.core.unproved().claiming(self.state.claimed().cloned());
        self.core.fails(Reason::Timeout, peer, env);
        self.state = State::Gone;
    }

    fn on_own_deadline(&mut self, env: &mut Env<'_, '_>) {
        if self.state.relay().is_some_and(|relay| relay.expires <= env.now()) {
            return self.times_out(env);
        }
        self.state = match self.state.take() {
            State::AwaitingAuth(wait) if wait.expires <= env.now() => {
                env.discard("half-open SA expired");
                State::Gone
            }
            State::EapAwaitsOwner(wait) if wait.expires <= env.now() => {
                wait.give_up(Reason::Timeout, &mut self.core, env)
            }
            State::Established(sa) => sa.on_tick(&mut self.core, env),
            State::Lingering(until) if until <= env.now() => State::Gone,
            State::SaInitSent(wait) => wait.on_tick(&self.core, env),
            state => state,
        };
    }
}
