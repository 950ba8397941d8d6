//! How a message reaches the current state of an IKE SA: whether it is awaited, repeated or too long is decided before the state
//! sees what it says. Read RFC 7296 §2.1–§2.3 (ids, retransmission), §2.21 (errors) first.

use keytoll_engine::Time;

use super::{Sa, State};
use crate::number::ExchangeType;
use crate::v2::endpoint::{Env, Route};
use crate::v2::event::Reason;
use crate::v2::fragment;
use crate::v2::inbound::Inbound;
use crate::v2::outbound::{self, Plain};
use crate::v2::window::Received;
use crate::wire::Header;

/// The longest message of an unauthenticated initiator, fragmented or not: enough for a chain of certificates. The longest
/// IKE_SA_INIT response, too, which anybody can send who has seen the request, and which is kept until the responder is proved.
const UNPROVED_BYTES_MAX: usize = 16_384;

impl Sa {
    /// Handles a message whose header contains our SPI.
    pub(in crate::v2) fn on_message(
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
            if message.len() > UNPROVED_BYTES_MAX {
                return env.discard("IKE_SA_INIT response is too long");
            }
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
        env.asked_from = Some(route);
        if !self.is_proved() {
            self.core.route = route;
        }
        let (core, exchange) = (&mut self.core, header.exchange);
        let next = match (self.state.take(), parse(&plain)) {
            (State::AwaitingAuth(wait), Ok(inbound)) if exchange == ExchangeType::IKE_AUTH => {
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
    pub(in crate::v2) fn was_begun_by(&self, message: &[u8]) -> bool {
        matches!(&self.state, State::AwaitingAuth(wait) if wait.is_request(message))
    }

    /// Answers a retransmission of the IKE_SA_INIT that created this half-open SA; RFC 7296 §2.1: with the same response.
    pub(in crate::v2) fn repeat_init(&mut self, route: Route, env: &mut Env<'_, '_>) {
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
}

/// Decrypted payloads, checked for the rules of every message.
fn parse<'p>(plain: &'p Plain<'_>) -> Result<Inbound<'p>, Reason> {
    Inbound::new(plain.payloads().map_err(|error| Reason::Syntax(error.field))?)
}

/// The peer's SPI in a header, depending on our role.
const fn header_remote_spi(header: &Header, initiator: bool) -> u64 {
    if initiator { header.responder_spi } else { header.initiator_spi }
}
