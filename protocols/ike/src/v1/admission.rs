//! Admission of initiators to the table of half-open SAs, and eviction when it is full. Read RFC 2408 §2.5.3 first.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::{Ctx, Time};

use super::endpoint::{Endpoint, Env};
use super::phase1::Step;
use super::responder;
use super::sa::State;
use crate::config::Responds;
use crate::half_open::{CROWD, Place};
use crate::names::IKE;

impl Endpoint {
    /// Processes a first message at the responder: a retransmission, one to refuse, or one to answer.
    pub(super) fn on_first_message(&mut self, step: &Step<'_>, cx: &mut Ctx<'_>) {
        let header = step.header;
        if header.message_id != 0 || header.initiator_spi == 0 || header.flags.is_encrypted() {
            return cx.discard(IKE, "malformed header");
        }
        let key = (step.route.remote, header.initiator_spi);
        let mut candidates = self.half_open.candidates(key).iter().copied();
        // Only the whole message distinguishes a retransmission from another peer behind the same NAT.
        let repeated = candidates
            .find(|cookie| self.sas.get(cookie).is_some_and(|sa| sa.was_begun_by(step.fingerprint)));
        if let Some(cookie) = repeated {
            self.with_sa(cookie, cx, |sa, env| sa.repeat(step, env));
            return;
        }
        if self.draining {
            return cx.discard(IKE, "draining");
        }
        if self.shared.config.responds == Responds::ToPeers && !self.shared.knows(step.route.remote.ip) {
            return cx.discard(IKE, "not a responder");
        }
        if !self.has_room(step.route.remote.ip, cx) {
            return cx.discard(IKE, "too many half-open SAs");
        }
        let limits = self.shared.config.half_open;
        let answered = responder::answer(step, &mut Env { shared: &mut self.shared, cx });
        if let Some(sa) = answered {
            let place = Place::new(key, cx.now + limits.lifetime);
            self.half_open.insert(place, sa.cookie(), sa.yields_from());
            self.keep(sa.half_open(place));
        }
    }

    /// Whether another initiator may start from that address.
    // RFC 2408 §2.5.3: IKEv1 has no stateless cookies. An attacker with forged addresses evicts only SAs that have not proved
    // anything yet, mostly its own, and others only if they have been silent for long.
    fn has_room(&mut self, newcomer: IpAddr, cx: &mut Ctx<'_>) -> bool {
        let limits = self.shared.config.half_open;
        let is_crowded = self.half_open.taken(newcomer, cx.now) >= limits.per_address_max;
        if !is_crowded && self.half_open.count() < limits.max {
            return true;
        }
        let yields =
            if is_crowded { self.of_its_own(newcomer, cx.now) } else { self.of_others(newcomer, cx.now) };
        yields.is_some_and(|cookie| self.push_out(cookie, cx))
    }

    /// The SA to evict if the newcomer's address is at its limit.
    fn of_its_own(&self, newcomer: IpAddr, now: Time) -> Option<u64> {
        self.first_to_yield(self.half_open.of_origin(newcomer), now)
    }

    /// The SA to evict if the table is full.
    fn of_others(&mut self, newcomer: IpAddr, now: Time) -> Option<u64> {
        let from = |cookie| self.sas.get(&cookie).map(|sa| sa.yields_from());
        let crowd = self.half_open.most_crowded(newcomer);
        let (is_crowd, of_crowd) = (crowd.len() >= CROWD, self.first_to_yield(crowd, now));
        let silent = of_crowd.filter(|cookie| is_crowd && from(*cookie).is_some_and(|from| from <= now));
        silent.or_else(|| self.half_open.most_silent((now, Duration::ZERO), from)).or(of_crowd)
    }

    fn first_to_yield(&self, cookies: &[u64], now: Time) -> Option<u64> {
        cookies.iter().copied().find(|it| self.sas.get(it).is_some_and(|sa| sa.yields_to_own(now)))
    }

    /// Evicts a half-open SA.
    fn push_out(&mut self, cookie: u64, cx: &mut Ctx<'_>) -> bool {
        let Some(mut sa) = self.take(cookie) else { return false };
        sa.half_open.take().into_iter().for_each(|place| self.half_open.remove(place, cookie));
        sa.state = State::Gone;
        self.keep(sa);
        cx.discard(IKE, "half-open SA made room");
        true
    }
}
