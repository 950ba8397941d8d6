//! What all states of an IKE SA share: SPIs, addresses, and the message ids of both directions. Read RFC 7296 §2.1–§2.3 first.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use keytoll_engine::Time;

use super::State;
use crate::number::{ExchangeType, NotifyType};
use crate::unproved::Unproved;
use crate::v2::config::Connection;
use crate::v2::endpoint::{Env, Route};
use crate::v2::event::{Event, Reason, SaId};
use crate::v2::nat::Nat;
use crate::v2::outbound::{self, Incoming, Kind};
use crate::v2::protect::Protection;
use crate::v2::window::{Requests, Responses};
use crate::wire::{MessageBuilder, Notify, Payload};

/// What all states share.
#[derive(Debug)]
pub(in crate::v2) struct Core {
    pub(in crate::v2) local_spi: u64,
    pub(in crate::v2) remote_spi: u64,
    /// Whether we sent the IKE_SA_INIT, or the request that rekeyed the SA.
    pub(in crate::v2) initiator: bool,
    pub(in crate::v2) route: Route,
    /// The peer's address in IKE_SA_INIT, at which it has received our answer; behind a NAT its route may change later.
    pub(in crate::v2) met_at: IpAddr,
    pub(in crate::v2) connection: Index,
    /// Its own terms in place of the connection's, until it is established.
    pub(in crate::v2) terms: Option<Arc<Connection>>,
    pub(in crate::v2) requests: Requests,
    pub(in crate::v2) responses: Responses,
    /// Largest IP packet of an encrypted message, if both sides support fragmentation (RFC 7383).
    pub(in crate::v2) packet_bytes_max: Option<NonZeroU16>,
    /// A message of which fragments are missing.
    pub(in crate::v2) incoming: Option<Box<Incoming>>,
    pub(in crate::v2) nat: Nat,
    /// When an authenticated message of the peer last arrived.
    pub(in crate::v2) heard: Time,
}

/// The index of a connection in the configuration.
#[derive(Debug, Clone, Copy)]
pub(in crate::v2) struct Index(u32);

impl Index {
    pub(in crate::v2) fn of(connection: usize) -> Self {
        Self(u32::try_from(connection).expect("no memory holds so many connections"))
    }
}

impl Core {
    pub(in crate::v2) const fn id(&self) -> SaId {
        SaId(self.local_spi)
    }

    /// The peer as long as it is unauthenticated.
    pub(in crate::v2) const fn unproved(&self) -> Unproved {
        Unproved::at(self.route.remote)
    }

    /// Reports the failure to the owner.
    pub(in crate::v2) fn fails(&self, reason: Reason, peer: Unproved, env: &mut Env<'_, '_>) {
        env.emit(Event::Failed(self.id(), reason, Some(Box::new(peer))));
    }

    /// SPIs in the order of the header: the initiator's first.
    pub(in crate::v2) const fn spis(&self) -> (u64, u64) {
        if self.initiator { (self.local_spi, self.remote_spi) } else { (self.remote_spi, self.local_spi) }
    }

    /// The index of its connection.
    pub(in crate::v2) const fn connection_index(&self) -> usize {
        self.connection.0 as usize
    }

    pub(in crate::v2) fn connection(&self, env: &Env<'_, '_>) -> Arc<Connection> {
        self.terms.clone().unwrap_or_else(|| env.shared.connection(self.connection_index()))
    }

    /// Sends a request under the SA's keys.
    pub(in crate::v2) fn request(
        &mut self,
        exchange: ExchangeType,
        payloads: impl FnOnce(&mut MessageBuilder),
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        let id = self.requests.next_id();
        let message =
            outbound::protected(self, Kind { exchange, response: false, id }, payloads, protection, env);
        let message = env.send(self.route, message);
        self.requests.send(message, env.now(), &env.shared.config.retransmission);
    }

    /// Sends and stores the response to the request with this id.
    pub(in crate::v2) fn respond(
        &mut self,
        exchange: ExchangeType,
        payloads: impl FnOnce(&mut MessageBuilder),
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        let id = self.responses.expected();
        let message =
            outbound::protected(self, Kind { exchange, response: true, id }, payloads, protection, env);
        // RFC 7296 §2.11: to the address and port from which the request was received, whether or not the peer's address has changed.
        let message = env.send(env.asked_from.unwrap_or(self.route), message);
        self.responses.answered(message);
    }

    /// Responds with only an error notification.
    pub(in crate::v2) fn refuse(
        &mut self,
        exchange: ExchangeType,
        kind: NotifyType,
        protection: &mut Protection,
        env: &mut Env<'_, '_>,
    ) {
        self.respond(exchange, |m| m.push(&Payload::Notify(Notify::new(kind, &[]))), protection, env);
    }

    /// The state after the last response, which is retransmitted as long as the peer may ask for it; if there is none, nothing is left
    /// to do.
    pub(in crate::v2) fn linger(&mut self, env: &Env<'_, '_>) -> State {
        self.requests.settle();
        if self.responses.last_packet().is_empty() {
            return State::Gone;
        }
        State::Lingering(env.now() + env.shared.setup.patience)
    }

    /// The same for an unauthenticated initiator: no longer than a half-open SA is kept.
    // RFC 8019 §4.1: the shorter strangers' SAs are kept, the fewer there are.
    pub(in crate::v2) fn linger_refused(&mut self, env: &Env<'_, '_>) -> State {
        self.requests.settle();
        State::Lingering(env.now() + env.shared.setup.patience.min(env.shared.config.half_open.lifetime))
    }
}
