//! Replacement of ISAKMP SAs with the same peer. Read RFC 2408 §5.15 (DELETE), RFC 2407 §4.6.3.3 (INITIAL-CONTACT) first;
//! IKEv1 has no rules for the rest.
//!
//! An SA that handles a message knows only itself: what it requires of other SAs is an [`Action`], which the endpoint performs
//! when the SA is back in the tables.

use std::net::IpAddr;

use keytoll_engine::{Ctx, Time};

use super::endpoint::{Endpoint, Env};
use super::established::{Child, Established, Handover, Task};
use super::sa::{Core, Sa, State};
use crate::event::{Event, Reason, SaId};
use crate::peers::Peer;
use crate::role::Role;

/// An action of one SA on others, which are identified by our cookies.
#[derive(Debug)]
pub(super) enum Action {
    /// The new SA replaces the old one: children move over, and the old one is closed.
    TakeOver { old: u64, new: u64, peer: Peer },
    /// The replacement of this SA ended before it took effect.
    KeepOn { old: u64 },
    /// The SA is established; what the peer does next shows whether it replaces another one.
    Announce { new: u64, peer: Peer },
    /// The SA exists beside another one with this peer, and the peer did nothing in time.
    Succeed { new: u64, peer: Peer },
    /// The peer announces that it knows of no other SA between us (RFC 2407 §4.6.3.3).
    InitialContact { new: u64, peer: Peer },
    /// The peer has closed the SA but not its children, which go to another SA with the same peer if one is a candidate.
    Inherit { old: u64, peer: Peer, ip: IpAddr, handover: Handover },
    /// Its peer exceeds the limit, and this is the oldest.
    Remove(u64),
}

/// The rank of an SA as successor of another one: the greatest is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    of_peer: bool,
    since: Time,
}

impl Endpoint {
    pub(super) fn perform(&mut self, action: Action, cx: &mut Ctx<'_>) {
        match action {
            Action::TakeOver { old, new, peer } => self.take_over(old, new, &peer, cx),
            Action::KeepOn { old } => self.keep_on(old, cx),
            Action::Announce { new, peer } => self.announce(new, &peer, cx),
            Action::Succeed { new, peer } => self.succeed(new, &peer, cx),
            Action::InitialContact { new, peer } => self.forget_others(new, &peer, cx),
            Action::Inherit { old, peer, ip, handover } => self.inherit(old, (ip, &peer), handover, cx),
            Action::Remove(oldest) => {
                self.with_sa(oldest, cx, |sa, env| sa.on_task(Task::Delete(Reason::Replaced), env));
            }
        }
    }

    /// Handles an SA with children that the peer has closed.
    fn inherit(&mut self, old: u64, peer: (IpAddr, &Peer), handover: Handover, cx: &mut Ctx<'_>) {
        match self.successor(old, peer, cx.now) {
            Some(new) => self.hand_over(old, new, handover, cx),
            None => handover.close(SaId(old), Reason::Deleted, &mut Env { shared: &mut self.shared, cx }),
        }
    }

    /// The replacement of this SA has failed.
    fn keep_on(&mut self, old: u64, cx: &mut Ctx<'_>) {
        self.with_established(old, cx, |sa, _, env| sa.is_not_replaced(env));
    }

    /// The peer knows that the new SA replaces the old one, which may meanwhile have ended or been replaced by the peer, too.
    fn take_over(&mut self, old: u64, new: u64, peer: &Peer, cx: &mut Ctx<'_>) {
        let Some(Core { route, begun, .. }) = self.sas.get(&new).map(|sa| &sa.core) else {
            // It ended with the message that confirmed it.
            return self.keep_on(old, cx);
        };
        let (ip, begun) = (route.remote.ip, *begun);
        let mut others = self.shared.directory.others((ip, peer), new);
        others.retain(|it| *it != old);
        let rival = others.iter().copied().find(|it| self.is_rival(*it, begun));
        if self.sas.contains_key(&old) {
            let successor = rival.map_or(new, |rival| self.settle_collision(new, rival, cx));
            let handover = self.retire(old, cx);
            self.hand_over(old, successor, handover, cx);
        } else if rival.is_some() || others.into_iter().any(|it| self.has_replaced(it, old)) {
            // The peer's replacement of the old one was faster.
            self.retire(new, cx);
        } else {
            // The old one ended meanwhile, and its children with it.
            self.with_established(new, cx, Established::stand_alone);
        }
    }

    /// Both sides have replaced the same SA at once: closes the replacement that both sides give up, and returns the other.
    // IKEv1 has no rule; this one needs no message, because both sides know the cookies of both initiators.
    fn settle_collision(&mut self, ours: u64, theirs: u64, cx: &mut Ctx<'_>) -> u64 {
        let begun_as = |cookie: u64| self.sas.get(&cookie).map(|sa| sa.core.cookies().0);
        let (stays, goes) = if begun_as(ours) > begun_as(theirs) { (ours, theirs) } else { (theirs, ours) };
        if self.sas.get(&goes).is_some_and(|sa| sa.is_unannounced()) {
            self.retire(goes, cx);
        } else {
            self.with_sa(goes, cx, |sa, env| sa.on_task(Task::Delete(Reason::Replaced), env));
        }
        stays
    }

    /// Whether the peer may have started this SA to replace one that we have been replacing since `begun`.
    fn is_rival(&self, cookie: u64, begun: Time) -> bool {
        self.sas.get(&cookie).is_some_and(|sa| sa.is_rival(self.wants_children(sa), begun))
    }

    /// The SA that inherits the children of one that the peer has closed.
    fn successor(&self, old: u64, peer: (IpAddr, &Peer), now: Time) -> Option<u64> {
        let claim = |cookie: u64| {
            let sa = self.sas.get(&cookie)?;
            Some((sa.claim(old, self.wants_children(sa), now)?, cookie))
        };
        let theirs = self.shared.directory.others(peer, old).into_iter();
        theirs.filter_map(claim).max().map(|(_, cookie)| cookie)
    }

    /// Whether it is useless without children.
    fn wants_children(&self, sa: &Sa) -> bool {
        self.shared.connections[sa.core.connection].child.is_some()
    }

    fn has_replaced(&self, cookie: u64, old: u64) -> bool {
        self.sas.get(&cookie).and_then(|sa| sa.established()).is_some_and(|sa| sa.has_replaced(old))
    }

    /// The other SAs with a peer at its current address.
    fn others(&self, new: u64, peer: &Peer) -> Vec<u64> {
        let sa = self.sas.get(&new);
        sa.map_or_else(Vec::new, |sa| self.shared.directory.others((sa.core.route.remote.ip, peer), new))
    }

    /// Whether both belong to one connection: SAs of two connections between the same peers may coexist.
    fn are_alike(&self, one: u64, other: u64) -> bool {
        let connection = |cookie: u64| self.sas.get(&cookie).map(|sa| sa.core.connection);
        connection(one) == connection(other)
    }

    /// Reports a new SA. If the peer has no other SA with us, it cannot replace one.
    fn announce(&mut self, new: u64, peer: &Peer, cx: &mut Ctx<'_>) {
        let alone = self.others(new, peer).is_empty();
        self.with_established(
            new,
            cx,
            |sa, core, env| {
                if alone { sa.announce(core, env) } else { sa.may_replace(env) }
            },
        );
    }

    /// Nothing has arrived under the new SA: it replaces all SAs of the same kind.
    fn succeed(&mut self, new: u64, peer: &Peer, cx: &mut Ctx<'_>) {
        for old in self.others(new, peer) {
            let is_known = self.sas.get(&old).is_some_and(|sa| !sa.is_unannounced());
            if is_known && self.are_alike(old, new) {
                let handover = self.retire(old, cx);
                self.hand_over(old, new, handover, cx);
            }
        }
        self.with_established(new, cx, |sa, core, env| sa.announce(core, env));
    }

    /// Closes an SA that was replaced, and returns what its successor takes over.
    fn retire(&mut self, cookie: u64, cx: &mut Ctx<'_>) -> Handover {
        let Some(mut sa) = self.take(cookie) else { return Handover::default() };
        let handover = sa.retire(&mut Env { shared: &mut self.shared, cx });
        self.keep(sa);
        handover
    }

    /// Reports that the new SA has replaced the old one, and moves children and pending exchanges.
    fn hand_over(&mut self, old: u64, new: u64, handover: Handover, cx: &mut Ctx<'_>) {
        let mut env = Env { shared: &mut self.shared, cx };
        env.emit(Event::Rekeyed { old: SaId(old), new: SaId(new) });
        let Some(mut successor) = self.take(new) else { return };
        self.lent.0.receives(handover.children.iter().map(Child::inbound_spi));
        successor.adopt(old, handover, &mut Env { shared: &mut self.shared, cx });
        self.keep(successor);
    }

    /// RFC 2407 §4.6.3.3: the peer knows of no SA but this one.
    fn forget_others(&mut self, new: u64, peer: &Peer, cx: &mut Ctx<'_>) {
        for old in self.others(new, peer) {
            if self.are_alike(old, new) {
                self.with_sa(old, cx, Sa::forget);
            }
        }
    }

    /// Lends an established SA to `act`, as [`Self::with_sa`] does.
    fn with_established(
        &mut self,
        cookie: u64,
        cx: &mut Ctx<'_>,
        act: impl FnOnce(&mut Established, &mut Core, &mut Env<'_, '_>),
    ) {
        self.with_sa(cookie, cx, |sa, env| {
            if let State::Established(established) = &mut sa.state {
                act(established, &mut sa.core, env);
            }
        });
    }
}

impl Sa {
    /// Its established state, once phase 1 is complete.
    const fn established(&self) -> Option<&Established> {
        match &self.state {
            State::Established(sa) => Some(sa),
            _ => None,
        }
    }

    /// Whether its peer may have started it to replace another SA between us, which we have been replacing since `begun`. With
    /// `childless`, an SA without children can serve no other purpose, unless it is older.
    fn is_rival(&self, childless: bool, begun: Time) -> bool {
        let Some(sa) = self.established() else { return false };
        let is_idle = sa.is_unannounced() || childless && sa.is_childless() && sa.since() >= begun;
        !self.core.role.is_initiator() && is_idle
    }

    /// Its rank as the heir of the children of an `old` SA that the peer has closed: best is the peer's newest. With `childless`,
    /// an SA without children can serve no other purpose.
    fn claim(&self, old: u64, childless: bool, now: Time) -> Option<Claim> {
        let sa = self.established()?;
        let may = match self.core.role {
            Role::Responder => sa.is_unannounced() || childless && sa.is_childless(),
            // The peer may regard an SA of ours as a replacement, and may know of a replacement before we do.
            Role::Initiator => childless && sa.is_spare(now) || sa.is_replacing(old, &self.core),
        };
        let claim = Claim { of_peer: !self.core.role.is_initiator(), since: sa.since() };
        may.then_some(claim)
    }

    /// Closes it because another SA replaces it, and returns what that one takes over.
    fn retire(&mut self, env: &mut Env<'_, '_>) -> Handover {
        match self.state.take() {
            State::Established(sa) => sa.retire(&self.core, env),
            _ => Handover::default(),
        }
    }

    /// Drops it because the peer has forgotten it.
    fn forget(&mut self, env: &mut Env<'_, '_>) {
        if let State::Established(sa) = self.state.take() {
            sa.lost(Reason::Replaced, &self.core, env);
        }
    }

    /// Takes over what another SA leaves.
    fn adopt(&mut self, old: u64, handover: Handover, env: &mut Env<'_, '_>) {
        match &mut self.state {
            State::Established(sa) => sa.adopt(old, handover, &mut self.core, env),
            _ => handover.close(self.core.id(), Reason::Deleted, env),
        }
    }
}
