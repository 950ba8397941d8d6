//! The lifetime of an ISAKMP SA, and its replacement. Read RFC 2407 §4.5.4, §4.6.3.1 (RESPONDER-LIFETIME) first.

use std::time::Duration;

use keytoll_engine::Time;

use super::super::endpoint::Env;
use super::super::inbound::Inbound;
use super::super::initiator;
use super::super::number::Phase1Attribute;
use super::super::proposal;
use super::super::sa::Core;
use super::super::wire::Notify;
use super::Established;
use crate::config::{Connection, Reauthenticate};
use crate::number::{NotifyType, ProtocolId};
use crate::role::Role;

/// A responder closes the SA itself so long after its lifetime, which gives the initiator time to do so.
const LIFETIME_GRACE: Duration = Duration::from_secs(30);

/// A failed replacement is retried after half of the remaining time, if that is at least this long.
const RETRY_MIN: Duration = Duration::from_secs(10);

/// The initiator replaces its SAs after this part of their lifetime, the responder after the other part if they still exist.
pub(super) const REKEY_PERCENT: u32 = 90;
pub(super) const REKEY_PERCENT_OF_RESPONDER: u32 = 95;

/// All message ids of an SA are remembered, so that no exchange can be replayed. After so many the SA ends.
pub(super) const MESSAGE_IDS_MAX: usize = 65_536;

/// The lifetime of the ISAKMP SA in RESPONDER-LIFETIME.
pub(in crate::v1) fn told_lifetime(inbound: &Inbound<'_>) -> Option<Duration> {
    let told = |notify: &Notify<'_>| {
        notify.kind == NotifyType::RESPONDER_LIFETIME && notify.protocol == ProtocolId::IKE
    };
    let notify = inbound.notifies().find(told)?;
    let (life_type, duration) = (Phase1Attribute::LIFE_TYPE.0, Phase1Attribute::LIFE_DURATION.0);
    proposal::read_lifetime(notify.data, life_type, duration)
}

pub(super) fn percent(lifetime: Duration, percent: u32) -> Duration {
    lifetime.saturating_mul(percent) / 100
}

/// When to retry the replacement of an SA that ends at `expires_at`.
pub(super) fn retry_at(now: Time, expires_at: Time) -> Option<Time> {
    let wait = expires_at.since(now) / 2;
    (wait >= RETRY_MIN).then_some(now + wait)
}

/// The age at which an SA is replaced, if its connection requires that.
pub(super) fn rekey_after(connection: &Connection, lifetime: Duration, role: Role) -> Option<Duration> {
    let own = match connection.reauthenticate {
        // The negotiated lifetime may be shorter than the margin: at least half of it is used.
        Reauthenticate::Ahead(margin) if role.is_initiator() => Some(lifetime - margin.min(lifetime / 2)),
        Reauthenticate::Ahead(_) | Reauthenticate::OnDemand => None,
    };
    // The responder waits longer, or both would start at once.
    let share = if role.is_initiator() { REKEY_PERCENT } else { REKEY_PERCENT_OF_RESPONDER };
    let of_keys = connection
        .rekey_after
        .map(|after| percent(after, share * 100 / REKEY_PERCENT).min(percent(lifetime, share)));
    of_keys.or(own)
}

/// After how much time an SA ends.
pub(super) fn expires_after(lifetime: Duration, role: Role) -> Duration {
    lifetime + if role.is_initiator() { Duration::ZERO } else { LIFETIME_GRACE }
}

impl Established {
    /// Remembers an exchange; at the limit the SA must be replaced.
    pub(super) fn remember(&mut self, id: u32, now: Time) {
        self.message_ids.insert(id);
        if self.message_ids.len() == MESSAGE_IDS_MAX / 2 {
            self.rekey_at = self.rekey_at.map(|at| at.min(now));
        }
        if self.message_ids.len() >= MESSAGE_IDS_MAX {
            self.expires_at = self.expires_at.min(now);
        }
    }

    /// The peer's lifetime for the ISAKMP SA applies if it is shorter.
    pub(super) fn shorten(&mut self, lifetime: Duration, env: &Env<'_, '_>) {
        let (now, lifetime) = (env.now(), lifetime.min(self.lifetime));
        self.expires_at = self.expires_at.min(now + lifetime);
        self.rekey_at = self.rekey_at.map(|at| at.min(now + percent(lifetime, REKEY_PERCENT)));
    }

    /// Replaces the SA by a new phase 1, which is the only way to rekey in IKEv1.
    pub(super) fn reauthenticate(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        match initiator::replace(core, &self.peer, env) {
            Ok(new) => env.shared.new_sas.push(new),
            Err(_) => self.is_not_replaced(env),
        }
    }

    /// Replaces it if that is due, unless the peer may not even have it.
    pub(super) fn tick_lifetime(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        if self.rekey_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        if core.is_unconfirmed() {
            self.rekey_at = retry_at(now, self.expires_at);
        } else {
            self.reauthenticate(core, env);
        }
    }

    /// The new phase 1 has failed: retries while there is time.
    pub(in crate::v1) fn is_not_replaced(&mut self, env: &Env<'_, '_>) {
        self.rekey_at = self.rekey_at.or_else(|| retry_at(env.now(), self.expires_at));
    }
}
