//! I2, and the R2 that answers it. RFC 7401 §6.9, draft-ietf-hip-dex-24 §6.7.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::{Ctx, Time};

use crate::association::{Association, Core, Fingerprint, Repeat, State};
use crate::config::Aka;
use crate::endpoint::{Endpoint, Env, Key};
use crate::event::Reason;
use crate::hit::Hit;
use crate::identity::PeerIdentity;
use crate::initiator::r1::hit_of;
use crate::number::{HitSuite, NotifyType};
use crate::outgoing::{Outgoing, Route};
use crate::phase;
use crate::protection::{Doubt, Exchange};
use crate::responder::r1::Solved;
use crate::responder::{base, diet};
use crate::wire::{HostId, Packet};

/// An I2 that is the initiator's.
#[derive(Debug)]
pub(crate) enum Verified {
    Base(Box<base::Accepted>),
    Diet(Box<diet::Accepted>),
}

/// What an I2 is looked at with.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) index: usize,
    pub(crate) exchange: Exchange,
    pub(crate) initiator: Hit,
    pub(crate) responder: Hit,
    pub(crate) solved: Solved,
}

/// Why an I2 with the right solution is refused: a table is full, or an address has its share.
const BUSY: Doubt = "RESPONDER_BUSY_PLEASE_RETRY";
/// How long an association has not been heard before it may lose its place in a full table.
const IDLE_MIN: Duration = Duration::from_secs(60);
/// So many associations are examined for one that needs a place.
const EXAMINED_MAX: usize = 16;

/// The identity of an initiator, whose HIT must be that of its HOST_ID.
pub(crate) fn peer_identity(
    host_id: &HostId<'_>,
    initiator: Hit,
    env: &mut Env<'_, '_>,
) -> Result<PeerIdentity, Doubt> {
    let suite = initiator.suite().ok_or("HIT of an unknown suite")?;
    let variant = env.shared.config.variant;
    if hit_of(suite, host_id.identity, variant, env) != initiator {
        return Err("INVALID_HIT");
    }
    PeerIdentity::of(host_id, env.shared.config.p256_hash).map_err(|_| "Host Identity of an unknown kind")
}

/// Until when R2 may be asked for again.
pub(crate) fn repeated_until(env: &Env<'_, '_>) -> Time {
    env.now() + env.shared.config.retransmission.total()
}

/// An R2 for when its I2 comes again.
pub(crate) fn r2_again(to: Fingerprint, answer: Outgoing, env: &Env<'_, '_>) -> (Repeat, Time) {
    (Repeat::new(to, answer), repeated_until(env))
}

/// An I2 that crossed ours is not on its way for longer than this many first waits; a host that has lost its state sends I2 again
/// later than that.
const CROSSING: u32 = 4;

impl Association {
    // RFC 7401 §6.9: of two hosts that both sent I2 the one with the smaller HIT is the initiator. Its peer's I2 may be late,
    // and must not put away what both agree on.
    /// Whether the peer's I2 has nothing to say here.
    fn is_crossed(&self, env: &Env<'_, '_>) -> bool {
        let is_ours = self.core.initiator && self.core.local < self.core.peer;
        let crossing = env.shared.config.retransmission.first * CROSSING;
        match &self.state {
            State::I2Sent(_) => is_ours,
            State::Established(sa) => is_ours && env.now() < sa.since + crossing,
            _ => false,
        }
    }

    /// Whether this is the I2 that it came of, which has been answered again. A puzzle belongs to an address: what comes from another
    /// one is not the initiator's, and nobody has R2 sent to somebody else.
    fn is_repeated_i2(&mut self, packet: &Packet<'_>, route: Route, env: &mut Env<'_, '_>) -> bool {
        if route.remote.ip() != self.core.route.remote.ip() {
            return false;
        }
        match &mut self.state {
            State::Established(sa) => sa.r2.as_mut().is_some_and(|(r2, _)| r2.answers(packet, route, env)),
            State::AwaitsResponse(wait) => wait.repeat.answers(packet, route, env),
            State::AwaitsVector(wait) => wait.came_of(packet),
            _ => false,
        }
    }
}

impl Endpoint {
    /// I2: sets up an association, if all is right.
    pub(crate) fn on_i2(&mut self, packet: &Packet<'_>, route: Route, cx: &mut Ctx<'_>) {
        cx.crypto.enter(phase::I2);
        let (initiator, responder) = (packet.header.sender, packet.header.receiver);
        let old = self.by_hits.get(&Key::new(responder, initiator)).copied();
        let mut env = Env { shared: &mut self.shared, cx };
        if let Some(ours) = old.and_then(|id| self.associations.get_mut(&id)) {
            if ours.is_repeated_i2(packet, route, &mut env) {
                return;
            }
            if ours.is_crossed(&env) {
                return env.discard("I2 crossed ours");
            }
        }
        let asked = match self.ask(packet, route, cx) {
            Ok(asked) => asked,
            Err(doubt) => {
                cx.discard(crate::names::HIP, doubt);
                if doubt == BUSY {
                    self.refuse((responder, initiator), NotifyType::RESPONDER_BUSY_PLEASE_RETRY, route, cx);
                }
                return;
            }
        };
        let mut env = Env { shared: &mut self.shared, cx };
        let verified = match asked.exchange {
            Exchange::Base(rhash) => {
                base::verify(&asked, rhash, &self.responder, packet, &mut env).map(Verified::Base)
            }
            Exchange::Diet(variant) => diet::verify(&asked, variant, packet, &mut env).map(Verified::Diet),
        };
        match verified {
            Ok(verified) => self.accept(verified, &asked, (packet, route), cx),
            Err(doubt) => self.on_broken(doubt, &asked, route, cx),
        }
    }

    // RFC 7401 §6.9.1: once the puzzle is solved, the error is reported.
    /// The puzzle is solved, and the rest is not believed.
    fn on_broken(&mut self, doubt: Doubt, asked: &Asked, route: Route, cx: &mut Ctx<'_>) {
        cx.discard(crate::names::HIP, doubt);
        self.responder.count_broken(&asked.solved, route.remote.ip(), cx.now);
        let kind = NotifyType::named(doubt).unwrap_or(NotifyType::INVALID_SYNTAX);
        self.refuse((asked.responder, asked.initiator), kind, route, cx);
    }

    /// Everything that can be looked at without a key agreement.
    fn ask(&mut self, packet: &Packet<'_>, route: Route, cx: &mut Ctx<'_>) -> Result<Asked, Doubt> {
        let (initiator, responder) = (packet.header.sender, packet.header.receiver);
        let mut env = Env { shared: &mut self.shared, cx };
        let index = env.shared.index_of(responder).ok_or("I2 for another host")?;
        let suite = env.identity(index).suite();
        let theirs = initiator.suite().ok_or("HIT of an unknown suite")?;
        if (suite == HitSuite::EcdhFold) != (theirs == HitSuite::EcdhFold) {
            return Err("UNSUPPORTED_HIT_SUITE");
        }
        if !env.shared.config.admits.has(initiator) {
            return Err("BLOCKED_BY_POLICY");
        }
        let exchange = Exchange::of(suite, env.shared.config.variant);
        let solved = self.responder.check(packet, (exchange, route.remote), &mut env)?;
        let (now, at) = (env.now(), route.remote.ip());
        let limits = &env.shared.config.limits;
        let asks = exchange.is_diet() && env.shared.config.aka == Aka::Required;
        let (broken_max, questions_max) = (limits.broken_per_address_max, limits.questions_per_second_max);
        let may_ask = !asks || self.responder.can_ask(at, questions_max, now);
        if !self.has_room(Key::new(responder, initiator), (exchange, at), now)
            || !self.responder.can_spend(at, broken_max, now)
            || !may_ask
        {
            return Err(BUSY);
        }
        Ok(Asked { index, exchange, initiator, responder, solved })
    }

    /// Whether the limits leave a place for an association that is begun from there.
    fn has_room(&mut self, key: Key, (exchange, at): (Exchange, Option<IpAddr>), now: Time) -> bool {
        let is_full = self.is_full(key) && self.idle(now).is_none();
        let limits = &self.shared.config.limits;
        let old = self.by_hits.get(&key);
        // One that takes the place of another one from there is no more than that.
        let replaces = old.is_some_and(|old| self.begun_by_peers.is_of(*old, at));
        let has_share = self.begun_by_peers.count_of(at) < limits.per_address_max || replaces;
        let can_prove = self.unproved.count() < limits.unproved_max
            && self.unproved.count_of(at) < limits.unproved_per_address_max;
        !is_full && has_share && (can_prove || !exchange.is_diet())
    }

    /// Whether one more association is one too many.
    fn is_full(&self, key: Key) -> bool {
        self.associations.len() >= self.shared.config.limits.associations_max
            && self.by_hits.get(&key).is_none()
    }

    /// An association of a peer that has not been heard for a while, among the next few: a full table is examined in turns.
    fn idle(&mut self, now: Time) -> Option<u64> {
        for _ in 0..EXAMINED_MAX {
            let next = self.examined.as_ref().and_then(|key| self.by_hits.first_after(key));
            let key = *next.or_else(|| self.by_hits.first().map(|(key, _)| key))?;
            let id = self.by_hits.get(&key).copied()?;
            let idle = |its: &Association| !its.core.initiator && its.core.heard + IDLE_MIN <= now;
            if self.associations.get(&id).is_some_and(|its| idle(its)) {
                return Some(id);
            }
            self.examined = Some(key);
        }
        None
    }

    /// Sends R2; an association between the same two ends ends, or becomes this one if it was on its way.
    fn accept(
        &mut self,
        verified: Verified,
        asked: &Asked,
        (packet, route): (&Packet<'_>, Route),
        cx: &mut Ctx<'_>,
    ) {
        let key = Key::new(asked.responder, asked.initiator);
        self.responder.spend(&asked.solved);
        if let Some(idle) = self.is_full(key).then(|| self.idle(cx.now)).flatten() {
            self.with(idle, cx, |association, env| association.give_up(Reason::Unused, env));
        }
        let id = self.make_room(key, cx);
        let core = Core {
            id,
            own: self.shared.identity(asked.index),
            subscriber: None,
            local: asked.responder,
            peer: asked.initiator,
            is_opportunistic: false,
            initiator: false,
            route,
            spis: Vec::new(),
            heard: cx.now,
        };
        let fingerprint = Fingerprint::of(packet);
        self.file(Association::new(core, State::Gone), cx, |association, env| {
            env.cx.crypto.enter(phase::R2);
            let core = &mut association.core;
            association.state = match verified {
                Verified::Base(accepted) => accepted.answer(fingerprint, core, env),
                Verified::Diet(accepted) => accepted.answer(fingerprint, core, env),
            };
        });
    }

    /// The name of an association that begins here: that of the one that was on its way, or a fresh one.
    fn make_room(&mut self, key: Key, cx: &mut Ctx<'_>) -> crate::event::AssociationId {
        let Some(&old) = self.by_hits.get(&key) else { return self.shared.fresh_id() };
        let is_on_its_way = self.associations.get(&old).is_some_and(|old| old.state.is_initiating());
        self.with(old, cx, |association, env| {
            if is_on_its_way {
                association.state = State::Gone;
            } else {
                association.give_up(Reason::Replaced, env);
            }
        });
        if is_on_its_way { crate::event::AssociationId(old) } else { self.shared.fresh_id() }
    }
}
