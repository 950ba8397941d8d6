//! An established IKE SA: children are created and closed, keys are replaced, until either side closes it.
//! Read RFC 7296 §1.3–§1.5, §2.4 (liveness), §2.8 (rekeying), §2.25 (collisions) first.
//!
//! At most one request of ours is outstanding ([`Pending`]); further ones wait as [`Task`]s.

mod child_request;
mod closing;
mod collision;
mod create_child;
mod ike_request;
mod informational;
mod not_replaced;
mod tasks;

use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use keytoll_engine::{Deadline, Few, Time};

use super::child::Addresses;
use super::config::{ChildConfig, Reauthenticate};
use super::endpoint::{Env, Move, Shared};
use super::event::{ChildSa, Event, Reason, SaId};
use super::inbound::Inbound;
use super::pool::Lease;
use super::protect::Protection;
use super::sa::{Core, Sa, State};
use crate::number::{ExchangeType, NotifyType};
use crate::peers;
use crate::phase;
use crate::wire::{Identity, Notify, Payload};

pub(super) use closing::Closing;
pub(super) use informational::end_of_sa;
pub(super) use tasks::Tasks;

use child_request::ChildRequest;
use ike_request::IkeRequest;

/// A responder closes the SA itself so long after the lifetime it set: time for the initiator to do so, or to
/// reauthenticate, over a slow and lossy link.
const LIFETIME_GRACE: Duration = Duration::from_secs(30);

/// RFC 7296 §2.25: after TEMPORARY_FAILURE the request may be retried, but not at once; at least this much later.
const TEMPORARY_FAILURE_WAIT: Duration = Duration::from_secs(5);

/// How long a replaced SA waits for its peer to delete it, beyond the time the peer may need to learn of the replacement.
const REPLACED_WAIT: Duration = Duration::from_secs(60);

/// An IKE SA in use.
#[derive(Debug)]
pub(in crate::v2) struct Established {
    pub(in crate::v2) protection: Protection,
    peer: Peer,
    children: Few<Child>,
    tasks: Tasks,
    pending: Option<Pending>,
    /// When the authentication ends, or we must start the next one.
    reauthenticate_at: Option<Time>,
    rekey_at: Option<Time>,
    turn: Turn,
    /// The SA that it has replaced, while that may still exist.
    predecessor: Option<NonZeroU64>,
}

/// The state of an SA in a chain of replacements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It may replace another one; a collision is undecided.
    ToCome,
    /// It has the children, and the owner knows its id.
    Now,
    /// Another SA has taken over; this one waits to be closed.
    Over,
}

/// The identity of the peer.
#[derive(Debug)]
pub(in crate::v2) struct Who {
    /// The authenticated identity.
    pub(in crate::v2) proved: Option<Identity>,
    /// The claimed identity.
    pub(in crate::v2) claimed: Identity,
    /// How long that is believed.
    pub(in crate::v2) auth_lifetime: Option<Duration>,
}

/// State of the peer, and what was assigned to it.
#[derive(Debug, Clone)]
pub(in crate::v2) struct Peer {
    /// The peer for which it is counted, if that is known and we are the original responder.
    pub(in crate::v2) counted: Option<Arc<peers::Peer>>,
    /// Whether we were the original initiator, whoever rekeyed since: then we must reauthenticate.
    pub(in crate::v2) initiated: bool,
    /// The authentication lifetime in seconds, if there is one.
    pub(in crate::v2) lifetime_s: Option<NonZeroU32>,
    /// The initiator's inner address.
    pub(in crate::v2) address: Option<IpAddr>,
    /// The same, to be returned.
    pub(in crate::v2) lease: Option<Lease>,
}

/// A pair of child SAs, as far as IKE needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::v2) struct Child {
    inbound_spi: u32,
    outbound_spi: u32,
    rekey_at: Option<Time>,
    /// Another child has taken over.
    replaced: bool,
}

/// A request to send as soon as no other one is outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::v2) enum Task {
    NewChild,
    RekeyChild(u32),
    RekeyIke,
    DeleteChild(u32),
    Delete(Reason),
    Probe,
}

/// What the outstanding request asks for.
#[derive(Debug)]
enum Pending {
    Child(Box<ChildRequest>),
    RekeyIke(Box<IkeRequest>),
    DeleteChild(u32),
    Probe,
}

impl Child {
    /// The SPI that we receive on.
    pub(in crate::v2) const fn inbound_spi(&self) -> u32 {
        self.inbound_spi
    }

    /// A child that was just set up.
    pub(in crate::v2) fn up(sa: &ChildSa, config: &ChildConfig, now: Time) -> Self {
        Self {
            inbound_spi: sa.pair.inbound_spi,
            outbound_spi: sa.pair.outbound_spi,
            rekey_at: config.rekey_after.map(|after| now + after),
            replaced: false,
        }
    }
}

impl Established {
    /// The SA that both sides have just authenticated; reports it to the owner.
    pub(in crate::v2) fn new(
        mut protection: Protection,
        who: Who,
        peer: Peer,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Self {
        let connection = core.connection(env);
        protection.forget_auth_keys();
        env.emit(Event::Established(Box::new(super::event::Established {
            sa: core.id(),
            peer_spi: core.remote_spi,
            connection: core.connection_index(),
            initiator: core.initiator,
            peer: who.proved,
            claimed: who.claimed,
            remote: core.route.remote,
            suite: *protection.keys().suite(),
            auth_lifetime: who.auth_lifetime,
            address: peer.address,
        })));
        let now = env.now();
        // RFC 4478 §3: the initiator must complete the next authentication before this one ends.
        let ahead = match connection.reauthenticate {
            _ if !peer.initiated => None,
            Reauthenticate::OnDemand => Some(Duration::ZERO),
            Reauthenticate::Ahead(margin) => Some(margin),
        };
        let act_after = |lifetime: Duration| match ahead {
            Some(ahead) => lifetime.saturating_sub(ahead),
            None => lifetime + LIFETIME_GRACE,
        };
        Self {
            protection,
            reauthenticate_at: who.auth_lifetime.map(|lifetime| now + act_after(lifetime)),
            rekey_at: connection.rekey_after.map(|after| now + after),
            peer,
            children: Few::default(),
            tasks: Tasks::default(),
            pending: None,
            turn: Turn::Now,
            predecessor: None,
        }
    }

    /// Adds a child and passes its keys to the owner.
    pub(in crate::v2) fn add_child(&mut self, child: Child, sa: ChildSa, core: &Core, env: &mut Env<'_, '_>) {
        self.children.push(child);
        env.emit(Event::ChildUp(core.id(), Box::new(sa)));
    }

    /// Whether the owner knows it by its current id.
    pub(in crate::v2) fn is_known(&self) -> bool {
        self.turn == Turn::Now
    }

    /// Whether it has requested nothing and wants to request nothing.
    pub(in crate::v2) fn is_idle(&self) -> bool {
        self.is_known() && self.pending.is_none() && self.tasks.iter().next().is_none()
    }

    /// The inbound SPIs of its children.
    pub(in crate::v2) fn children(&self) -> impl Iterator<Item = u32> {
        self.children.iter().map(Child::inbound_spi)
    }

    /// The peer's inner address.
    pub(in crate::v2) const fn lease(&self) -> Option<Lease> {
        self.peer.lease
    }

    /// The addresses that "dynamic" selectors stand for in this SA.
    fn addresses(&self, core: &Core, env: &Env<'_, '_>) -> Addresses {
        let outer = Addresses::outer(core, env);
        if self.peer.lease.is_some() {
            outer.with_theirs(self.peer.address)
        } else {
            outer.with_ours(self.peer.address)
        }
    }

    pub(in crate::v2) fn on_task(
        mut self: Box<Self>,
        task: Task,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        if self.turn == Turn::Over {
            env.discard("the SA was replaced");
            report_unrequested([&task], Reason::Replaced, core.id(), env);
        } else {
            self.tasks.push_back(task);
        }
        self.next(core, env)
    }

    /// Starts the next task if no request is outstanding.
    fn next(mut self: Box<Self>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        while !core.requests.is_busy() {
            let Some(task) = self.tasks.pop_front() else { break };
            match task {
                Task::Delete(reason) => return self.delete(reason, core, env),
                // RFC 7296 §2.25.2: no new requests under an SA that was replaced.
                _ if self.turn == Turn::Over => {}
                Task::NewChild => self.request_child(None, core, env),
                Task::RekeyChild(spi) => self.rekey_child(spi, core, env),
                Task::RekeyIke => self.request_rekey(core, env),
                Task::DeleteChild(spi) => self.delete_child(spi, core, env),
                Task::Probe => self.probe(core, env),
            }
        }
        State::Established(self)
    }

    fn probe(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(phase::INFORMATIONAL);
        core.request(ExchangeType::INFORMATIONAL, |_| {}, &mut self.protection, env);
        self.pending = Some(Pending::Probe);
    }

    pub(in crate::v2) fn on_response(
        mut self: Box<Self>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        match self.pending.take() {
            Some(Pending::Child(request)) => self.on_child_response(&request, inbound, core, env),
            Some(Pending::RekeyIke(request)) => return self.on_rekey_response(&request, inbound, core, env),
            Some(Pending::DeleteChild(spi)) => self.forget_child(spi, core, env),
            Some(Pending::Probe) | None => {}
        }
        self.next(core, env)
    }

    pub(in crate::v2) fn on_request(
        mut self: Box<Self>,
        exchange: ExchangeType,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        match exchange {
            // The peer knows already which side wins, and we will: until then it has to retry.
            _ if self.turn == Turn::ToCome && end_of_sa(inbound).is_none() => {
                env.discard("the SA is not in charge yet");
                State::Established(self)
            }
            ExchangeType::INFORMATIONAL => self.on_informational(inbound, core, env),
            ExchangeType::CREATE_CHILD_SA => self.on_create_child(inbound, core, env),
            _ => {
                core.refuse(exchange, NotifyType::INVALID_SYNTAX, &mut self.protection, env);
                State::Established(self)
            }
        }
    }

    /// Handles an authentic but malformed request. RFC 7296 §2.21.3: INVALID_SYNTAX ends the SA on both sides without further
    /// messages; an unknown critical payload fails only this exchange (§2.5).
    pub(in crate::v2) fn broken(
        mut self: Box<Self>,
        exchange: ExchangeType,
        reason: Reason,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        if let Reason::UnsupportedCritical(kind) = reason {
            let data = [kind];
            let notify = Payload::Notify(Notify::new(NotifyType::UNSUPPORTED_CRITICAL_PAYLOAD, &data));
            core.respond(exchange, |m| m.push(&notify), &mut self.protection, env);
            return State::Established(self);
        }
        core.refuse(exchange, NotifyType::INVALID_SYNTAX, &mut self.protection, env);
        let linger = core.linger(env);
        self.end(reason, core, env);
        linger
    }

    /// Ends the SA without a message: the peer is dead or violates the protocol.
    pub(in crate::v2) fn lost(self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) -> State {
        self.end(reason, core, env);
        State::Gone
    }

    /// Reports the end of the SA and its children, and releases what it held.
    fn end(mut self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        // RFC 7296 §2.8.2: if the peer has rekeyed this SA too, its successor stands.
        if let Some(rival) = self.rival() {
            self.hand_over(rival, core, env);
        }
        if matches!(&self.pending, Some(Pending::Child(request)) if request.replaces.is_none()) {
            env.emit(Event::ChildFailed(core.id(), reason));
        }
        report_unrequested(self.tasks.iter(), reason, core.id(), env);
        for child in self.children.iter() {
            env.emit(Event::ChildDown(core.id(), child.inbound_spi));
        }
        if let Some(lease) = self.peer.lease {
            env.shared.pools.give_back(lease);
        }
        if self.turn == Turn::Now {
            self.peer.leaves(core.id(), env);
            env.emit(Event::Closed(core.id(), reason));
        }
    }

    pub(in crate::v2) fn deadline(&self, core: &Core, shared: &Shared) -> Option<Deadline> {
        let at = |at: Option<Time>, why| at.map(|at| Deadline { at, why });
        let children = self.children.iter().filter_map(|child| child.rekey_at).min();
        let liveness = core.liveness_at(shared).filter(|_| self.turn == Turn::Now);
        [
            at(self.reauthenticate_at, "authentication lifetime"),
            at(self.rekey_at, "ike rekey"),
            at(children, "child rekey"),
            at(liveness, "liveness"),
        ]
        .into_iter()
        .fold(None, Deadline::earlier)
    }

    /// Turns every timer that is due into a task.
    pub(in crate::v2) fn on_tick(mut self: Box<Self>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let now = env.now();
        let due = |at: &mut Option<Time>| at.take_if(|at| *at <= now).is_some();
        if due(&mut self.reauthenticate_at) {
            if self.turn == Turn::ToCome {
                // It lost a collision, or its predecessor ended before deciding it: it is not needed.
                return State::Gone;
            }
            self.authentication_ends(core, env);
        }
        if due(&mut self.rekey_at) {
            self.tasks.push_back(Task::RekeyIke);
        }
        for child in self.children.as_mut_slice() {
            if due(&mut child.rekey_at) {
                self.tasks.push_back(Task::RekeyChild(child.inbound_spi));
            }
        }
        if self.turn == Turn::Now && core.liveness_at(env.shared).is_some_and(|at| at <= now) {
            core.heard = now;
            self.tasks.push_back(Task::Probe);
        }
        self.next(core, env)
    }

    fn authentication_ends(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if self.turn != Turn::Now {
            return self.tasks.push_back(Task::Delete(Reason::Replaced));
        }
        match (core.connection(env).reauthenticate, self.peer.lifetime_s.take()) {
            (Reauthenticate::Ahead(margin), Some(lifetime_s)) if self.peer.initiated && !margin.is_zero() => {
                env.emit(Event::ReauthenticationDue(core.id()));
                // The remaining lifetime: the new SA must be up by then.
                self.reauthenticate_at = Some(env.now() + margin.min(seconds(lifetime_s)));
            }
            _ => self.tasks.push_back(Task::Delete(Reason::Lifetime)),
        }
    }
}

/// A number of seconds as in RFC 4478 §3.
pub(in crate::v2) fn seconds(seconds: NonZeroU32) -> Duration {
    Duration::from_secs(seconds.get().into())
}

/// Reports the failure of children that the owner wanted and that were not requested before the SA ended.
fn report_unrequested<'t>(
    tasks: impl IntoIterator<Item = &'t Task>,
    reason: Reason,
    sa: SaId,
    env: &mut Env<'_, '_>,
) {
    let wanted = tasks.into_iter().filter(|task| **task == Task::NewChild).count();
    (0..wanted).for_each(|_| env.emit(Event::ChildFailed(sa, reason)));
}

impl Core {
    /// When a silent peer is to be probed; not while it owes us an answer anyway.
    fn liveness_at(&self, shared: &Shared) -> Option<Time> {
        let after = shared.liveness_after(self.connection_index()).filter(|_| !self.requests.is_busy());
        after.map(|after| self.heard + after)
    }
}

impl Sa {
    /// Takes over the children of the SA that this one replaced.
    pub(in crate::v2) fn adopt(&mut self, moved: Move, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.take_over(moved, &mut self.core, env),
            state => {
                moved.abandon(env);
                state
            }
        };
    }
}

impl Peer {
    /// Its IKE SA is no longer in use.
    fn leaves(&self, sa: SaId, env: &mut Env<'_, '_>) {
        let removal = self.counted.as_ref().and_then(|peer| env.shared.peers.leaves(peer, sa.0));
        env.shared.removals.extend(removal);
    }
}

impl Established {
    fn take_over(mut self: Box<Self>, moved: Move, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        self.turn = Turn::Now;
        self.children = moved.children;
        self.predecessor = NonZeroU64::new(moved.from);
        self.peer = moved.peer;
        self.reauthenticate_at = moved.reauthenticate_at;
        self.rekey_at = core.connection(env).rekey_after.map(|after| env.now() + after);
        self.tasks.append(moved.tasks);
        self.next(core, env)
    }
}

impl Move {
    /// The successor ended before it took over: the peer has closed it.
    pub(in crate::v2) fn abandon(self, env: &mut Env<'_, '_>) {
        report_unrequested(self.tasks.iter(), Reason::Deleted, SaId(self.to), env);
        for child in self.children.iter() {
            env.emit(Event::ChildDown(SaId(self.to), child.inbound_spi));
        }
        if let Some(lease) = self.peer.lease {
            env.shared.pools.give_back(lease);
        }
        self.peer.leaves(SaId(self.to), env);
        env.emit(Event::Closed(SaId(self.to), Reason::Deleted));
    }
}

/// When the other side of a collision has decided, or has given up: its requests are retransmitted no longer than ours.
fn decided_at(env: &Env<'_, '_>) -> Time {
    env.now() + env.shared.config.retransmission.total() + REPLACED_WAIT
}

/// When to retry after TEMPORARY_FAILURE: randomised, so that it does not collide again with a peer refused at the same time.
fn ask_again_at(env: &mut Env<'_, '_>) -> Time {
    let spread = u64::try_from(TEMPORARY_FAILURE_WAIT.as_nanos()).unwrap_or(u64::MAX);
    env.now() + TEMPORARY_FAILURE_WAIT + Duration::from_nanos(env.shared.rng.below(spread))
}
