//! Failures of phase 1: invalid messages, unauthenticated refusals, and the most likely cause. Read RFC 2409 §5 (SKEYID) and
//! §5.4 first.

use std::net::IpAddr;

use keytoll_engine::Time;

use super::auth;
use super::endpoint::Env;
use super::inbound::Inbound;
use super::phase1::{IDENTITY_BYTES_MAX, Keyed};
use super::sa::{Core, State};
use crate::config::{Connection, Prove};
use crate::event::{Event, Reason};
use crate::number::NotifyType;
use crate::unproved::{Likely, Unproved};
use crate::wire::Identity;

/// Why the SA will fail, unless a better message arrives.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) until: Time,
    pub(super) reason: Reason,
    /// The identity that the sender of the failing message claims.
    claimed: Option<Identity>,
}

impl Core {
    /// The peer as long as it is unauthenticated.
    pub(super) const fn unproved(&self) -> Unproved {
        Unproved::at(self.route.remote)
    }

    /// Reports the failure to the owner and ends the SA.
    pub(super) fn fails(&self, reason: Reason, peer: Unproved, env: &mut Env<'_, '_>) -> State {
        env.emit(Event::Failed(self.id(), reason, Some(Box::new(peer))));
        State::Gone
    }

    /// Ends the wait soon, unless a better message arrives.
    pub(super) fn refuse_later(&mut self, reason: Reason, claimed: Option<Identity>, env: &Env<'_, '_>) {
        let until = env.now() + env.shared.config.retransmission.first;
        let claimed = claimed.filter(|identity| identity.data.len() <= IDENTITY_BYTES_MAX);
        self.refusal.get_or_insert_with(|| Box::new(Refusal { until, reason, claimed }));
    }
}

/// An invalid message may be forged: the genuine one has a while to arrive, then the SA fails.
pub(super) fn doubt(core: &mut Core, reason: Reason, claimed: Option<Identity>, env: &mut Env<'_, '_>) {
    env.discard(reason.name());
    core.refuse_later(reason, claimed, env);
}

/// The identity that the sender of a message claims.
pub(super) fn claimed(inbound: &Inbound<'_>) -> Option<Identity> {
    inbound.need_id().ok().map(|(id, _)| id.to_identity())
}

/// Ends an SA whose peer is unknown.
pub(super) fn fail(core: &Core, reason: Reason, env: &mut Env<'_, '_>) -> State {
    core.fails(reason, core.unproved(), env)
}

/// Ends a phase 1 in this state, for a reason found or reported before.
pub(super) fn end(state: &State, core: &Core, reason: Reason, env: &mut Env<'_, '_>) -> State {
    let refused = core.refusal.as_ref().and_then(|refusal| refusal.claimed.clone());
    let claimed = refused.or_else(|| state.claimed().cloned());
    let connection = core.connection(env);
    let asked =
        Asked { reason, claimed: claimed.as_ref(), connection: &connection, ip: core.route.remote.ip };
    let likely = asked.likely(state);
    core.fails(reason, core.unproved().claiming(claimed).because(likely), env)
}

// RFC 2409 §5.7: its hash uses SKEYID, so the peer has our pre-shared key.
/// Ends a phase 1 because of a notification under the negotiated keys.
pub(super) fn end_as_told(
    core: &Core,
    reason: Reason,
    claimed: Option<Identity>,
    env: &mut Env<'_, '_>,
) -> State {
    let likely = Likely::of_refusal(reason, &core.connection(env).local);
    let likely = likely.filter(|it| *it == Likely::OurProof);
    core.fails(reason, core.unproved().claiming(claimed).because(likely), env)
}

/// The evidence for a guess, besides the state.
struct Asked<'a> {
    reason: Reason,
    claimed: Option<&'a Identity>,
    connection: &'a Connection,
    ip: IpAddr,
}

impl Asked<'_> {
    fn likely(&self, state: &State) -> Option<Likely> {
        match state {
            State::IdentitySent(wait) => self.of_main_mode(&wait.keyed),
            State::AwaitingIdentity(wait) if wait.garbled => {
                wait.agreed().filter(|keyed| is_by_key(keyed)).map(|_| Likely::KeysDiffer)
            }
            State::AwaitingIdentity(wait) => self.of_main_mode(wait.agreed()?),
            State::Introduced(_) => self.of_message_2(),
            State::AwaitingProof(wait) if wait.stranger => Some(Likely::UnknownIdentity),
            State::AwaitingProof(wait) => self.of_message_3(&wait.keyed),
            _ => None,
        }
    }

    // RFC 2409 §5: SKEYID depends on the pre-shared key, so with a wrong key message 5 decrypts to garbage. Most implementations do
    // not report that, because the message could be anybody's.
    fn of_main_mode(&self, keyed: &Keyed) -> Option<Likely> {
        match self.reason {
            _ if !is_by_key(keyed) => self.of_signatures(),
            Reason::Timeout | Reason::Syntax(_) => Some(Likely::KeysDiffer),
            Reason::Refused(error) if is_of_nonsense(NotifyType(error)) => Some(Likely::KeysDiffer),
            told => Likely::of_refusal(told, &self.connection.local),
        }
    }

    // A responder that does not know us answers as if it had another key.
    fn of_message_2(&self) -> Option<Likely> {
        if !matches!(self.connection.local, Prove::Psk(_)) {
            return self.of_signatures();
        }
        let has_key = auth::shared_key(self.connection, self.claimed, self.ip).is_some();
        let of_proof = if has_key { Likely::KeysDifferOrUnknown } else { Likely::NoKey };
        (self.reason == Reason::AuthenticationFailed).then_some(of_proof)
    }

    // RFC 2409 §5.4: the initiator has received our proof before; if that was wrong it reports so, or something undecryptable.
    fn of_message_3(&self, keyed: &Keyed) -> Option<Likely> {
        if !is_by_key(keyed) {
            return self.of_signatures();
        }
        let is_told = Likely::of_refusal(self.reason, &self.connection.local).is_some();
        (is_told || self.reason == Reason::AuthenticationFailed).then_some(Likely::KeysDiffer)
    }

    fn of_signatures(&self) -> Option<Likely> {
        match self.reason {
            Reason::AuthenticationFailed => Some(Likely::OtherKey),
            told => Likely::of_refusal(told, &self.connection.local),
        }
    }
}

/// Whether SKEYID depends on a pre-shared key.
const fn is_by_key(keyed: &Keyed) -> bool {
    keyed.root.shared_key().is_some()
}

// RFC 2408 §3.14.1: three numbers; the registry of IKEv2 omits one and reuses another.
/// Whether a notification reports a malformed message.
const fn is_of_nonsense(error: NotifyType) -> bool {
    const INVALID_PAYLOAD_TYPE: u16 = 1;
    const UNEQUAL_PAYLOAD_LENGTHS: u16 = 30;
    matches!(error.0, INVALID_PAYLOAD_TYPE | UNEQUAL_PAYLOAD_LENGTHS)
        || error.0 == NotifyType::PAYLOAD_MALFORMED.0
}
