//! One IKE SA: what all its states share, and the dispatch of messages to the current state.
//! Read RFC 7296 §2.1–§2.3 (ids, retransmission), §2.21 (errors) first.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::config::Connection;
use super::endpoint::{Env, Route, Shared};
use super::established::{Closing, Established, Task};
use super::event::{Eap, Event, Reason, SaId};
use super::fragment;
use super::inbound::Inbound;
use super::initiator::{AuthSent, EapConversation, EapFinal, SaInitSent};
use super::nat::Nat;
use super::outbound::{self, Incoming, Kind, Plain};
use super::pool::Lease;
use super::protect::Protection;
use super::responder::{AwaitingAuth, FinalAuth, Relay};
use super::window::{Due, Received, Requests, Responses};
use crate::half_open::Place;
use crate::lent::Lent;
use crate::number::{ExchangeType, NotifyType};
use crate::unproved::Unproved;
use crate::wire::{Header, Identity, MessageBuilder, Notify, Payload};

/// The longest message of an unauthenticated initiator, fragmented or not: enough for a chain of certificates.
const UNPROVED_BYTES_MAX: usize = 16_384;

/// An IKE SA, from its first message to its last.
#[derive(Debug)]
pub(super) struct Sa {
    pub(super) core: Core,
    pub(super) state: State,
    /// The time for which the endpoint's timer is set.
    pub(super) armed: Option<Time>,
    /// Its place in the endpoint's table of half-open SAs.
    pub(super) half_open: Option<Box<Place>>,
}

/// What all states share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) local_spi: u64,
    pub(super) remote_spi: u64,
    /// Whether we sent the IKE_SA_INIT, or the request that rekeyed the SA.
    pub(super) initiator: bool,
    pub(super) route: Route,
    /// The peer's address in IKE_SA_INIT, at which it has received our answer; behind a NAT its route may change later.
    pub(super) met_at: IpAddr,
    pub(super) connection: Index,
    pub(super) requests: Requests,
    pub(super) responses: Responses,
    /// Largest IP packet of an encrypted message, if both sides support fragmentation (RFC 7383).
    pub(super) packet_bytes_max: Option<NonZeroU16>,
    /// A message of which fragments are missing.
    pub(super) incoming: Option<Box<Incoming>>,
    pub(super) nat: Nat,
    /// When an authenticated message of the peer last arrived.
    pub(super) heard: Time,
}

/// The index of a connection in the configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index(u32);

impl Index {
    pub(super) fn of(connection: usize) -> Self {
        Self(u32::try_from(connection).expect("no memory holds so many connections"))
    }
}

/// How long an owner may take to answer an EAP packet before the peer counts as silent.
const OWNER_MAX: Duration = Duration::from_secs(10);

/// The state of an SA, named after what was sent or is awaited.
#[derive(Debug)]
pub(super) enum State {
    /// Initiator: the answer to IKE_SA_INIT.
    SaInitSent(Box<SaInitSent>),
    /// Initiator: the answer to IKE_AUTH.
    AuthSent(Box<AuthSent>),
    /// Initiator: the owner's next EAP packet.
    EapAwaitsOwner(Box<EapConversation>),
    /// Initiator: the responder's next EAP packet.
    EapAwaitsPeer(Box<EapConversation>),
    /// Initiator: the responder's AUTH after EAP.
    EapFinalSent(Box<EapFinal>),
    /// Responder: the IKE_AUTH request.
    AwaitingAuth(Box<AwaitingAuth>),
    /// Responder: the owner's next EAP packet.
    RelayAwaitsOwner(Box<Relay>),
    /// Responder: the initiator's next EAP packet.
    RelayAwaitsPeer(Box<Relay>),
    /// Responder: the initiator's AUTH after EAP.
    AwaitingFinalAuth(Box<FinalAuth>),
    /// Both: anything.
    Established(Box<Established>),
    /// Both: the answer to our last request.
    Closing(Box<Closing>),
    /// Closed; a retransmitted last request still gets its response.
    Lingering(Time),
    /// To be forgotten.
    Gone,
}

impl State {
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Gone)
    }

    /// The EAP conversation that a responder relays.
    fn relay(&self) -> Option<&Relay> {
        match self {
            Self::RelayAwaitsOwner(wait) | Self::RelayAwaitsPeer(wait) => Some(wait),
            Self::AwaitingFinalAuth(wait) => Some(&wait.relay),
            _ => None,
        }
    }

    /// The identity that the peer claims, as long as it is unauthenticated.
    pub(super) fn claimed(&self) -> Option<&Identity> {
        match self {
            Self::EapAwaitsOwner(wait) | Self::EapAwaitsPeer(wait) => Some(wait.responder()),
            Self::EapFinalSent(wait) => Some(wait.responder()),
            _ => self.relay().map(Relay::claimed),
        }
    }

    /// The current keys; a responder computes them when the first protected message arrives.
    fn protection(&mut self, core: &Core, env: &mut Env<'_, '_>) -> Option<&Protection> {
        match self {
            Self::AuthSent(wait) => Some(&wait.protection),
            Self::EapAwaitsOwner(wait) | Self::EapAwaitsPeer(wait) => Some(wait.protection()),
            Self::EapFinalSent(wait) => Some(wait.protection()),
            Self::AwaitingAuth(wait) => wait.protection(core, env),
            Self::RelayAwaitsOwner(wait) | Self::RelayAwaitsPeer(wait) => Some(&wait.protection),
            Self::AwaitingFinalAuth(wait) => Some(&wait.relay.protection),
            Self::Established(sa) => Some(&sa.protection),
            Self::Closing(wait) => Some(&wait.protection),
            Self::SaInitSent(_) | Self::Lingering(_) | Self::Gone => None,
        }
    }
}

impl Core {
    pub(super) const fn id(&self) -> SaId {
        SaId(self.local_spi)
    }

    /// The peer as long as it is unauthenticated.
    pub(super) const fn unproved(&self) -> Unproved {
        Unproved::at(self.route.remote)
    }

    /// Reports the failure to the owner.
    pub(super) fn fails(&self, reason: Reason, peer: Unproved, env: &mut Env<'_, '_>) {
        env.emit(Event::Failed(self.id(), reason, Some(Box::new(peer))));
    }

    /// SPIs in the order of the header: the initiator's first.
    pub(super) const fn spis(&self) -> (u64, u64) {
        if self.initiator { (self.local_spi, self.remote_spi) } else { (self.remote_spi, self.local_spi) }
    }

    /// The index of its connection.
    pub(super) const fn connection_index(&self) -> usize {
        self.connection.0 as usize
    }

    pub(super) fn connection(&self, env: &Env<'_, '_>) -> Arc<Connection> {
        env.shared.connection(self.connection_index())
    }

    /// Sends a request under the SA's keys.
    pub(super) fn request(
        &mut self,
        exchange: ExchangeType,
        payloads: impl FnOnce(&mut MessageBuilder),
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        let id = self.requests.next_id();
        let message =
            outbound::protected(self, Kind { exchange, response: false, id }, payloads, protection, env);
        env.transmit(self.route, &message, false);
        self.requests.send(message, env.now(), &env.shared.config.retransmission);
    }

    /// Sends and stores the response to the request with this id.
    pub(super) fn respond(
        &mut self,
        exchange: ExchangeType,
        payloads: impl FnOnce(&mut MessageBuilder),
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        let id = self.responses.expected();
        let message =
            outbound::protected(self, Kind { exchange, response: true, id }, payloads, protection, env);
        env.transmit(self.route, &message, false);
        self.responses.answered(message);
    }

    /// Responds with only an error notification.
    pub(super) fn refuse(
        &mut self,
        exchange: ExchangeType,
        kind: NotifyType,
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        self.respond(exchange, |m| m.push(&Payload::Notify(Notify::new(kind, &[]))), protection, env);
    }

    /// The state after the last response, which is retransmitted as long as the peer may ask for it.
    pub(super) fn linger(&mut self, env: &Env<'_, '_>) -> State {
        self.requests.settle();
        State::Lingering(env.now() + env.shared.patience)
    }

    /// The same for an unauthenticated initiator: no longer than a half-open SA is kept.
    // RFC 8019 §4.1: the shorter strangers' SAs are kept, the fewer there are.
    pub(super) fn linger_refused(&mut self, env: &Env<'_, '_>) -> State {
        self.requests.settle();
        State::Lingering(env.now() + env.shared.patience.min(env.shared.config.half_open.lifetime))
    }
}

/// Decrypted payloads, checked for the rules of every message.
fn parse<'p>(plain: &'p Plain<'_>) -> Result<Inbound<'p>, Reason> {
    Inbound::new(plain.payloads().map_err(|error| Reason::Syntax(error.field))?)
}

impl Sa {
    pub(super) fn new(core: Core, state: State) -> Box<Self> {
        Box::new(Self { core, state, armed: None, half_open: None })
    }

    pub(super) const fn spi(&self) -> u64 {
        self.core.local_spi
    }

    /// Marks it as half open with this place in the table.
    pub(super) fn half_open(mut self: Box<Self>, place: Place) -> Box<Self> {
        self.half_open = Some(Box::new(place));
        self
    }

    /// Whether it still counts as half open, which includes refused SAs that retransmit the refusal.
    pub(super) const fn keeps_its_place(&self) -> bool {
        self.is_half_open() || matches!(self.state, State::Lingering(_))
    }

    /// Until when it retransmits its last response, if it does nothing else.
    pub(super) const fn lingers_until(&self) -> Option<Time> {
        match self.state {
            State::Lingering(until) => Some(until),
            _ => None,
        }
    }

    /// Whether it waits for the answer to its DELETE.
    pub(super) const fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing(_))
    }

    pub(super) const fn is_half_open(&self) -> bool {
        matches!(
            self.state,
            State::AwaitingAuth(_)
                | State::RelayAwaitsOwner(_)
                | State::RelayAwaitsPeer(_)
                | State::AwaitingFinalAuth(_)
        )
    }

    /// Records what must be cleaned up if it does not come back into the tables; returns its inner address.
    pub(super) fn lend(&self, lent: &mut Lent) -> Option<Lease> {
        let State::Established(sa) = &self.state else {
            lent.leaves(self.core.id(), self.half_open.as_deref().copied(), false, std::iter::empty());
            return None;
        };
        lent.leaves(self.core.id(), self.half_open.as_deref().copied(), sa.is_known(), sa.children());
        if !sa.is_known() {
            lent.is_nameless();
        }
        sa.lease()
    }

    /// Handles a message whose header contains our SPI.
    pub(super) fn on_message(
        &mut self,
        header: &Header,
        route: Route,
        message: &[u8],
        env: &mut Env<'_, '_>,
    ) {
        if header.flags.is_from_initiator() == self.core.initiator {
            return env.discard("reflected message");
        }
        if self.core.remote_spi != 0 && header_remote_spi(header, self.core.initiator) != self.core.remote_spi
        {
            return env.discard("unknown SPI");
        }
        if header.flags.is_response() {
            self.on_response(header, route, message, env);
        } else {
            self.on_request(header, route, message, env);
        }
    }

    fn on_response(&mut self, header: &Header, route: Route, message: &[u8], env: &mut Env<'_, '_>) {
        let awaited = self.core.requests.awaits(header.message_id);
        if awaited.is_none_or(|request| request.exchange != header.exchange) {
            return env.discard("response to nothing");
        }
        if let State::SaInitSent(wait) = &mut self.state {
            let next = wait.on_response(header, message, &mut self.core, env);
            return self.go(next);
        }
        let mut buffer = message.to_vec();
        let Some(plain) = self.unprotect(&mut buffer, env) else { return };
        self.heard_from(route, env.now());
        self.core.requests.settle();
        let core = &mut self.core;
        let next = match (self.state.take(), parse(&plain)) {
            (State::AuthSent(wait), Ok(inbound)) => wait.on_response(&inbound, core, env),
            (State::AuthSent(wait), Err(reason)) => {
                let peer = core.unproved();
                wait.give_up(reason, peer, core, env)
            }
            (State::EapAwaitsPeer(wait), Ok(inbound)) => wait.on_response(&inbound, core, env),
            (State::EapAwaitsPeer(wait), Err(reason)) => wait.give_up(reason, core, env),
            (State::EapFinalSent(wait), Ok(inbound)) => wait.on_response(&inbound, core, env),
            (State::EapFinalSent(wait), Err(reason)) => wait.give_up(reason, core, env),
            (State::Established(sa), Ok(inbound)) => sa.on_response(&inbound, core, env),
            (State::Established(sa), Err(reason)) => sa.lost(reason, core, env),
            (State::Closing(_), _) => core.linger(env),
            (state, _) => state,
        };
        self.state = next;
    }

    fn go(&mut self, next: Option<State>) {
        if let Some(next) = next {
            self.state = next;
        }
    }

    fn on_request(&mut self, header: &Header, route: Route, message: &[u8], env: &mut Env<'_, '_>) {
        // RFC 7296 §2.23: behind a NAT the port may change before there is an SA. Another address may belong to somebody who
        // has not asked for anything.
        if !self.is_proved() && route.remote.ip != self.core.route.remote.ip {
            return env.discard("not from where IKE_SA_INIT came from");
        }
        if !self.is_proved() && message.len() > UNPROVED_BYTES_MAX {
            return env.discard("too long for an initiator that is not let in");
        }
        match self.core.responses.classify(header.message_id) {
            Received::Expected => {}
            Received::Repeated(response) if response.exchange == header.exchange => {
                return self.on_repeated_request(header, route, message, env);
            }
            Received::Repeated(_) | Received::OutOfWindow => return env.discard("message id out of window"),
        }
        let mut buffer = message.to_vec();
        let Some(plain) = self.unprotect(&mut buffer, env) else { return };
        self.heard_from(route, env.now());
        let (core, exchange) = (&mut self.core, header.exchange);
        let next = match (self.state.take(), parse(&plain)) {
            (State::AwaitingAuth(wait), Ok(inbound)) if exchange == ExchangeType::IKE_AUTH => {
                core.route = route;
                wait.on_request(&inbound, &plain, core, env)
            }
            (State::AwaitingAuth(wait), Err(reason)) => wait.refuse_in(exchange, reason, core, env),
            (State::RelayAwaitsPeer(wait), Ok(inbound)) => wait.on_request(exchange, &inbound, core, env),
            (State::RelayAwaitsPeer(wait), Err(reason)) => wait.refuse_in(exchange, reason, core, env),
            (State::AwaitingFinalAuth(wait), Ok(inbound)) => wait.on_request(exchange, &inbound, core, env),
            (State::AwaitingFinalAuth(wait), Err(reason)) => {
                wait.relay.refuse_in(exchange, reason, core, env)
            }
            (State::Established(sa), Ok(inbound)) => sa.on_request(exchange, &inbound, core, env),
            (State::Established(sa), Err(reason)) => sa.broken(exchange, reason, core, env),
            (State::Closing(wait), _) => wait.on_request(exchange, core, env),
            // RFC 7296 §2.1: it is retransmitted until it is answered, and the owner has not answered yet.
            (state @ State::RelayAwaitsOwner(_), _) if exchange == ExchangeType::IKE_AUTH => {
                env.discard("request not answered yet");
                state
            }
            (state, _) => {
                env.discard("unexpected exchange");
                state
            }
        };
        self.state = next;
    }

    /// RFC 7296 §2.1: a retransmission of the last request gets the same response.
    fn on_repeated_request(&mut self, header: &Header, route: Route, message: &[u8], env: &mut Env<'_, '_>) {
        // RFC 7383 §2.6.1: of a retransmitted request in fragments only the first triggers the response again.
        if !outbound::asks_again(header, message) {
            return;
        }
        let protection = self.state.protection(&self.core, env);
        if protection.is_some_and(|protection| !outbound::is_authentic(message, protection, env.cx)) {
            return env.discard("not authentic");
        }
        match &mut self.state {
            State::RelayAwaitsPeer(wait) => wait.awaits_peer(env),
            State::AwaitingFinalAuth(wait) => wait.relay.awaits_peer(env),
            _ => {}
        }
        // RFC 7296 §2.11: to the source of the request, in case a NAT mapping has changed meanwhile.
        self.repeat(route, env);
    }

    /// Retransmits the last response, a limited number of times, because an eavesdropper may replay the request.
    fn repeat(&mut self, route: Route, env: &mut Env<'_, '_>) {
        match self.core.responses.repeat() {
            Some(response) => env.transmit(route, response, true),
            None => env.discard("answered often enough"),
        }
    }

    /// Whether both sides are authenticated and the SA is not closed.
    const fn is_proved(&self) -> bool {
        matches!(self.state, State::Established(_) | State::Closing(_))
    }

    /// Whether these are the bytes of the IKE_SA_INIT that created this half-open SA.
    pub(super) fn was_begun_by(&self, message: &[u8]) -> bool {
        matches!(&self.state, State::AwaitingAuth(wait) if wait.is_request(message))
    }

    /// Answers a retransmission of the IKE_SA_INIT that created this half-open SA; RFC 7296 §2.1: with the same response.
    pub(super) fn repeat_init(&mut self, route: Route, env: &mut Env<'_, '_>) {
        self.repeat(route, env);
    }

    /// Decrypts and reassembles; `None`: not authentic, not complete, or no keys.
    fn unprotect<'m>(&mut self, message: &'m mut [u8], env: &mut Env<'_, '_>) -> Option<Plain<'m>> {
        let bytes_max = if self.is_half_open() { UNPROVED_BYTES_MAX } else { fragment::BYTES_MAX };
        let Some(protection) = self.state.protection(&self.core, env) else {
            env.discard("no keys");
            return None;
        };
        match outbound::open(message, protection, &mut self.core.incoming, bytes_max, env.cx) {
            Ok(plain) => plain,
            Err(why) => {
                env.discard(why);
                None
            }
        }
    }

    /// Notes an authenticated message; RFC 7296 §2.23: behind a NAT the peer's address may have changed.
    fn heard_from(&mut self, route: Route, now: Time) {
        self.core.heard = now;
        if self.core.nat.there && matches!(self.state, State::Established(_)) {
            self.core.route.remote = route.remote;
        }
    }

    /// Handles an EAP output of the owner.
    pub(super) fn on_eap(&mut self, eap: Eap, env: &mut Env<'_, '_>) {
        let core = &mut self.core;
        self.state = match self.state.take() {
            State::EapAwaitsOwner(wait) => wait.on_owner(eap, core, env),
            State::RelayAwaitsOwner(wait) => wait.on_owner(eap, core, env),
            state => {
                env.discard("no SA waits for EAP");
                state
            }
        };
    }

    /// The owner wants something.
    pub(super) fn on_task(&mut self, task: Task, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.on_task(task, &mut self.core, env),
            state => {
                env.discard("the SA is not established");
                state
            }
        };
    }

    /// When it last made progress, at most `now`.
    pub(super) fn went_on(&self, now: Time) -> Time {
        match self.state {
            // The owner, who asks others, must answer next.
            State::RelayAwaitsOwner(_) => now.min(self.core.heard + OWNER_MAX),
            _ => self.core.heard,
        }
    }

    /// It is half open and is evicted.
    pub(super) fn make_room(&mut self, env: &mut Env<'_, '_>) {
        env.discard("half-open SA made room");
        // The owner knows of it if it was asked for EAP.
        if self.state.relay().is_some() {
            self.times_out(env);
        }
        self.state = State::Gone;
    }

    /// Drops it in favour of another one; the peer need not be told.
    pub(super) fn forget(&mut self, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.lost(Reason::Replaced, &self.core, env),
            _ => State::Gone,
        };
    }

    /// What it waits for next, and until when.
    pub(super) fn deadline(&self, shared: &Shared) -> Option<Deadline> {
        let again = self.core.requests.deadline().map(|at| Deadline { at, why: "ike retransmission" });
        let own = match &self.state {
            State::AwaitingAuth(wait) => Some(Deadline { at: wait.expires, why: "half-open SA expires" }),
            State::EapAwaitsOwner(wait) => {
                Some(Deadline { at: wait.expires, why: "EAP conversation expires" })
            }
            State::Established(sa) => sa.deadline(&self.core, shared),
            State::Lingering(until) => Some(Deadline { at: *until, why: "closed SA is forgotten" }),
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
    pub(super) fn on_tick(&mut self, env: &mut Env<'_, '_>) {
        match self.core.requests.tick(env.now(), &env.shared.config.retransmission) {
            Due::NotYet => self.on_own_deadline(env),
            Due::Again => {
                let refused = matches!(&self.state, State::SaInitSent(wait) if wait.is_refused());
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
    fn times_out(&mut self, env: &mut Env<'_, '_>) {
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

/// The peer's SPI in a header, depending on our role.
const fn header_remote_spi(header: &Header, initiator: bool) -> u64 {
    if initiator { header.responder_spi } else { header.initiator_spi }
}
