//! An established ISAKMP SA: concurrent quick modes and informational exchanges, until one end closes it or its lifetime
//! ends. Read RFC 2409 §5.5, §5.7, RFC 3706 first.
//!
//! * [`standing`]: whether it replaces another SA, and whether its owner knows of it, with a diagram.
//! * [`exchange`]: what each exchange under it awaits; [`quick`] has the states of quick mode, with a diagram.
//! * [`child`]: the IPsec SAs; [`collision`]: which of them replaces which when quick modes cross.
//! * [`lifetime`], [`liveness`]: replacement, expiry, dead peer detection.
//! * [`handover`]: what it passes to its successor.

mod child;
mod collision;
mod exchange;
mod handover;
mod informational;
mod lifetime;
mod liveness;
mod quick;
mod refused;
mod standing;

use std::collections::BTreeSet;
use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::endpoint::Env;
use super::keys::Keys;
use super::number::QUICK_MODE;
use super::phase1::{Extensions, Step};
use super::protect::{self, Iv};
use super::sa::{Core, State};
use super::transmission::Packet;
use super::wire::message::push;
use super::wire::{Delete, Payload};
use crate::event::{Event, Reason};
use crate::phase;
use crate::wire::Identity;

pub(super) use child::Child;
pub(super) use handover::Handover;
pub(super) use lifetime::told_lifetime;

use exchange::Exchange;
use lifetime::MESSAGE_IDS_MAX;
use liveness::Liveness;
use standing::Standing;

/// An established ISAKMP SA.
#[derive(Debug)]
pub(super) struct Established {
    keys: Keys,
    /// The last block of phase 1.
    iv: Iv,
    peer: Identity,
    extensions: Extensions,
    standing: Standing,
    children: Vec<Child>,
    /// In the order of their start.
    exchanges: Vec<Exchange>,
    /// Message ids of all exchanges so far, ours and the peer's.
    message_ids: BTreeSet<u32>,
    liveness: Liveness,
    since: Time,
    lifetime: Duration,
    /// The lifetime, if the peer was offered a longer one and must be told in the first message 2 of quick mode (RFC 2407 §4.6.3.1).
    untold_lifetime: Option<Duration>,
    /// `None`: it is being replaced, or is not to be.
    rekey_at: Option<Time>,
    expires_at: Time,
}

/// The result of phase 1.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) keys: Keys,
    pub(super) iv: Iv,
    pub(super) peer: Identity,
    pub(super) lifetime: Duration,
    pub(super) tells_lifetime: bool,
    pub(super) extensions: Extensions,
}

/// Something the owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    NewChild,
    RekeyChild(u32),
    RekeyIke,
    DeleteChild(u32),
    ChildHeard(u32),
    Delete(Reason),
    Probe,
}

impl Established {
    /// Starts the SA that both sides have just authenticated.
    pub(super) fn begin(begun: Begun, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let connection = core.connection(env);
        // An initiator of main mode has nothing to retransmit any more.
        core.last.take_if(|last| last.deadline().is_some());
        core.refusal = None;
        let Begun { keys, iv, peer, lifetime, tells_lifetime, extensions } = begun;
        let (now, role) = (env.now(), core.role);
        let replaces = core.replaces.take().map(|old| old.cookie);
        let mut sa = Box::new(Self {
            keys,
            iv,
            peer,
            extensions,
            standing: if role.is_initiator() {
                Standing::Unconfirmed { replaces }
            } else {
                Standing::Undecided { until: now }
            },
            children: Vec::with_capacity(1),
            exchanges: Vec::with_capacity(1),
            message_ids: BTreeSet::new(),
            liveness: Liveness::begin(now, connection.liveness_after.filter(|_| extensions.dpd)),
            since: now,
            lifetime,
            untold_lifetime: tells_lifetime.then_some(lifetime),
            rekey_at: lifetime::rekey_after(&connection, lifetime, role).map(|after| now + after),
            expires_at: now + lifetime::expires_after(lifetime, role),
        });
        sa.settle(core, env);
        State::Established(sa)
    }

    pub(super) const fn peer(&self) -> &Identity {
        &self.peer
    }

    /// The inbound SPIs of its children.
    pub(super) fn children(&self) -> impl Iterator<Item = u32> {
        self.children.iter().map(Child::inbound_spi)
    }

    /// Whether it has no children.
    pub(super) const fn is_childless(&self) -> bool {
        self.children.is_empty()
    }

    /// Since when there is an SA.
    pub(super) const fn since(&self) -> Time {
        self.since
    }

    /// Handles a message under the SA: of a known exchange, or the first of a new one.
    pub(super) fn on_message(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let id = step.header.message_id;
        if let Some(at) = self.exchanges.iter().position(|exchange| exchange.id == id) {
            self.on_known(at, step, core, env);
        } else if self.message_ids.contains(&id) {
            // RFC 2409 §5.5, §5.7: the message id is unique to the exchange; an old one is a replay, our own a reflection.
            self.on_used_id(step, core, env);
        } else if self.message_ids.len() >= MESSAGE_IDS_MAX {
            env.discard("too many exchanges under one SA");
        } else if step.header.exchange == QUICK_MODE {
            self.on_offer(step, core, env);
        } else {
            return self.on_informational(step, core, env);
        }
        State::Established(self)
    }

    /// Notes an authenticated message.
    fn heard_from(&mut self, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        self.liveness.heard = env.now();
        if core.is_unconfirmed() {
            self.is_confirmed(core, env);
        }
        // The peer has completed phase 1.
        core.last = None;
        // RFC 3947 §7: behind a NAT the peer's address may have changed.
        if core.nat.there {
            core.route.remote = step.route.remote;
        }
    }

    /// The owner wants something.
    pub(super) fn on_task(mut self: Box<Self>, task: Task, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        match task {
            Task::NewChild => self.offer(None, core, env),
            Task::RekeyChild(spi) => self.rekey_child(spi, core, env),
            Task::RekeyIke => self.reauthenticate(core, env),
            Task::DeleteChild(spi) => self.delete_child(spi, core, env),
            Task::ChildHeard(spi) => self.predecessors(spi).for_each(|child| child.is_out_of_use(env.now())),
            Task::Delete(reason) => return self.delete(reason, core, env),
            Task::Probe => self.probe(core, env),
        }
        State::Established(self)
    }

    /// Rekeys a child, once: both SAs of a pair, its lifetime and the peer may ask for it.
    fn rekey_child(&mut self, spi: u32, core: &mut Core, env: &mut Env<'_, '_>) {
        let named = |child: &&Child| child.inbound_spi() == spi;
        let Some(child) = self.children.iter().find(named) else { return env.discard("no such child SA") };
        if child.is_replaced() || self.is_being_replaced(child.traffic()) {
            env.discard("the child is being replaced");
        } else {
            self.offer(Some(spi), core, env);
        }
    }

    /// Tells the peer that the SA with this inbound SPI is closed.
    fn delete_child(&mut self, spi: u32, core: &Core, env: &mut Env<'_, '_>) {
        let Some(at) = self.children.iter().position(|child| child.inbound_spi() == spi) else {
            return env.discard("no such child SA");
        };
        self.children.remove(at);
        self.inform(&Payload::Delete(Delete::child(&spi.to_be_bytes())), core, env);
        env.emit(Event::ChildDown(core.id(), spi));
    }

    /// RFC 2408 §5.15: a DELETE is not confirmed, so the SA ends with it.
    fn delete(mut self: Box<Self>, reason: Reason, core: &Core, env: &mut Env<'_, '_>) -> State {
        self.announce(core, env);
        let spis: Vec<u32> = self.children().collect();
        for spi in spis {
            self.inform(&Payload::Delete(Delete::child(&spi.to_be_bytes())), core, env);
        }
        self.inform(&Payload::Delete(Delete::isakmp(&core.cookie_bytes())), core, env);
        self.end(reason, core, env);
        State::Gone
    }

    /// Closes it because another SA replaces it, and returns what that one takes over.
    pub(super) fn retire(mut self: Box<Self>, core: &Core, env: &mut Env<'_, '_>) -> Handover {
        self.inform(&Payload::Delete(Delete::isakmp(&core.cookie_bytes())), core, env);
        Handover::of(*self)
    }

    /// Sends an informational exchange.
    fn inform(&mut self, payload: &Payload<'_>, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        env.cx.crypto.enter(phase::INFORMATIONAL);
        let packet = protect::informational(core, &self.keys, self.iv, |m| push(m, payload), env);
        self.remember(packet.id, env.now());
        env.transmit(core.route, &packet, false);
        packet
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let at = |at: Option<Time>, why| at.map(|at| Deadline { at, why });
        let exchanges = self.exchanges.iter().filter_map(Exchange::deadline);
        let children = self.children.iter().filter_map(Child::deadline);
        [
            at(self.standing.decided_at(), "a new SA"),
            at(self.rekey_at, "ike rekey"),
            at(Some(self.expires_at), "ISAKMP SA lifetime"),
            at(self.liveness_at(), "liveness"),
        ]
        .into_iter()
        .chain(exchanges.map(Some))
        .chain(children.map(Some))
        .fold(None, Deadline::earlier)
    }

    pub(super) fn on_tick(mut self: Box<Self>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let now = env.now();
        if self.expires_at <= now {
            return self.delete(Reason::Lifetime, core, env);
        }
        if self.standing.decided_at().is_some_and(|at| at <= now) {
            self.decide(core, env);
        }
        self.tick_commitments(core, env);
        if self.tick_exchanges(core, env) {
            return self.lost(Reason::Timeout, core, env);
        }
        self.tick_lifetime(core, env);
        self.tick_children(core, env);
        self.tick_liveness(core, env);
        State::Established(self)
    }

    fn tick_children(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        let over: Vec<u32> =
            self.children.iter().filter(|child| child.is_over(now)).map(Child::inbound_spi).collect();
        over.into_iter().for_each(|spi| self.delete_child(spi, core, env));
        let due: Vec<u32> = self.children.iter_mut().filter_map(|child| child.take_due(now)).collect();
        due.into_iter().for_each(|spi| self.rekey_child(spi, core, env));
    }
}
