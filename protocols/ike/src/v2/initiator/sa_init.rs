//! IKE_SA_INIT of the initiator. Read RFC 7296 §1.2, §2.6 (cookies), §2.7 (negotiation), §2.10 (nonces), §2.23 (NAT)
//! first.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::KeyPair;
use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::{Deadline, Time};
use keytoll_net::Socket;

use super::super::config::Connection;
use super::super::endpoint::{Env, Route};
use super::super::event::Reason;
use super::super::exchange::{self, FirstPayloads};
use super::super::inbound::Inbound;
use super::super::keys::{IkeKeys, Nonces, Role};
use super::super::nat::Nat;
use super::super::outbound;
use super::super::proposal;
use super::super::protect::Protection;
use super::super::sa::{Core, Index, Sa, State};
use super::super::schemes::PeerHashes;
use super::super::window::{Requests, Responses};
use super::auth::{AuthSent, Settled};
use crate::number::{ExchangeType, NotifyType, Numbered, ProtocolId};
use crate::phase;
use crate::wire::{Flags, Header, Message, Spi};

/// How often a responder may make us repeat IKE_SA_INIT with cookies and other groups.
const DETOURS_MAX: u8 = 5;
/// RFC 7296 §2.6.
const COOKIE_BYTES_MAX: usize = 64;

/// Waits for the answer to IKE_SA_INIT.
#[derive(Debug)]
pub(in crate::v2) struct SaInitSent {
    pair: KeyPair,
    nonce: [u8; 32],
    cookie: Option<Vec<u8>>,
    detours: u8,
    /// An unauthenticated refusal was received: until when we wait for a better answer.
    refusal: Option<(Time, Reason)>,
}

/// Starts an IKE SA, with terms of its own if there are any; `None` if there is no such connection.
pub(in crate::v2) fn start(
    connection: usize,
    terms: Option<Arc<Connection>>,
    local: IpAddr,
    remote: IpAddr,
    env: &mut Env<'_, '_>,
) -> Option<Box<Sa>> {
    let config = &env.shared.config;
    let spoken = config.connections.get(connection).filter(|config| config.version.is_v2());
    let wanted = spoken.map(|spoken| terms.as_deref().unwrap_or(spoken));
    let Some(group) = wanted.and_then(|wanted| wanted.suites.first()?.group) else {
        env.discard("no such connection");
        return None;
    };
    let (local, remote) = (Socket::new(local, config.port), Socket::new(remote, config.responder_ports().0));
    let route = Route { local, remote, marked: false };
    let mut core = Core { terms, ..new_core(connection, route, env) };
    let (pair, nonce) = (generate(group, env), env.shared.rng.bytes());
    let wait = SaInitSent { pair, nonce, cookie: None, detours: 0, refusal: None };
    wait.send(&mut core, env);
    Some(Sa::new(core, State::SaInitSent(Box::new(wait))))
}

fn new_core(connection: usize, route: Route, env: &mut Env<'_, '_>) -> Core {
    Core {
        local_spi: env.shared.fresh_spi(),
        remote_spi: 0,
        initiator: true,
        route,
        met_at: route.remote.ip,
        connection: Index::of(connection),
        terms: None,
        requests: Requests::default(),
        responses: Responses::default(),
        packet_bytes_max: None,
        incoming: None,
        nat: Nat::default(),
        heard: env.now(),
    }
}

fn generate(group: Group, env: &mut Env<'_, '_>) -> KeyPair {
    env.cx.crypto.enter(phase::SA_INIT);
    env.cx.crypto.generate(group, &mut env.shared.rng)
}

/// The regular answer: RFC 7296 §1.2.
struct SaInitResponse {
    suite: Suite,
    peer_public: Vec<u8>,
    nonce: Vec<u8>,
    nat: Nat,
    fragmentation: bool,
    hashes: PeerHashes,
}

impl SaInitSent {
    /// HDR, [N(COOKIE)], SAi1, KEi, Ni, N(NAT_DETECTION_*), …
    fn send(&self, core: &mut Core, env: &mut Env<'_, '_>) {
        let connection = core.connection(env);
        let header = Header::new(core.spis(), ExchangeType::IKE_SA_INIT, Flags::new(true, false), 0);
        let first = FirstPayloads {
            cookie: self.cookie.as_deref(),
            proposals: proposal::propose(ProtocolId::IKE, Spi::None, &connection.suites),
            group: self.pair.private.group,
            public: &self.pair.public,
            nonce: &self.nonce,
            route: core.route,
            spis: core.spis(),
            authorities: &[],
            signature_hashes: env.shared.config.signature_hashes,
            childless: false,
        };
        let hashes = first.nat_hashes(env);
        let fragmentation = env.shared.config.fragmentation.is_some();
        let message = outbound::plain(&header, |m| first.write(m, &hashes, fragmentation));
        let message = env.send(core.route, message);
        core.requests.send(message, env.now(), &env.shared.config.retransmission);
    }

    /// The next state, or none: wait on.
    pub(in crate::v2) fn on_response(
        &mut self,
        header: &Header,
        message: &[u8],
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Option<State> {
        env.cx.crypto.enter(phase::SA_INIT);
        let Ok(parsed) = Message::read(message) else {
            env.discard("malformed IKE_SA_INIT response");
            return None;
        };
        let inbound = match Inbound::new(parsed.payloads) {
            Ok(inbound) => inbound,
            Err(reason) => {
                env.discard(reason.name());
                return None;
            }
        };
        if inbound.sa().is_none() {
            return self.on_refusal(&inbound, core, env);
        }
        match self.accept(header, &inbound, core, env) {
            Ok(response) => Some(self.go_on(header, message, response, core, env)),
            Err(reason) => {
                self.refuse_later(reason, env);
                None
            }
        }
    }

    /// Ends the wait soon, unless a better answer arrives.
    fn refuse_later(&mut self, reason: Reason, env: &Env<'_, '_>) {
        // RFC 7296 §2.21.1: this answer is not authenticated, so it must not end the exchange at once.
        let until = env.now() + env.shared.config.retransmission.first;
        self.refusal.get_or_insert((until, reason));
    }

    /// Why it only waits for a better answer, if it does.
    pub(in crate::v2) fn refusal(&self) -> Option<Reason> {
        self.refusal.map(|(_, reason)| reason)
    }

    /// When a refusal becomes final.
    pub(in crate::v2) fn deadline(&self) -> Option<Deadline> {
        self.refusal.map(|(at, _)| Deadline { at, why: "IKE_SA_INIT was refused" })
    }

    /// No better answer has arrived.
    pub(in crate::v2) fn on_tick(self: Box<Self>, core: &Core, env: &mut Env<'_, '_>) -> State {
        match self.refusal {
            Some((until, reason)) if until <= env.now() => fail(core, reason, env),
            _ => State::SaInitSent(self),
        }
    }

    /// RFC 7296 §2.6 and §1.2: the responder requests a cookie or another group, or refuses.
    fn on_refusal(&mut self, inbound: &Inbound<'_>, core: &mut Core, env: &mut Env<'_, '_>) -> Option<State> {
        if self.has_done_as_told(inbound) {
            env.discard("repeated refusal");
            return None;
        }
        if let Some(notify) = inbound.notify(NotifyType::COOKIE) {
            if !(1..=COOKIE_BYTES_MAX).contains(&notify.data.len()) {
                env.discard("a cookie has 1 to 64 octets");
                return None;
            }
            self.cookie = Some(notify.data.to_vec());
            return self.again(core, env);
        }
        let error = inbound.error()?;
        if let Some(group) = self.wanted_group(inbound, core, env) {
            self.pair = generate(group, env);
            return self.again(core, env);
        }
        self.refuse_later(Reason::Refused(error.0), env);
        None
    }

    /// Whether a refusal requests exactly the cookie or group that we have sent: it is a duplicate made by the network or our
    /// own retransmission.
    fn has_done_as_told(&self, inbound: &Inbound<'_>) -> bool {
        let group = self.pair.private.group.number().to_be_bytes();
        let told =
            |kind, data: Option<&[u8]>| inbound.notify(kind).is_some_and(|notify| Some(notify.data) == data);
        told(NotifyType::COOKIE, self.cookie.as_deref())
            || self.detours > 0 && told(NotifyType::INVALID_KE_PAYLOAD, Some(&group))
    }

    /// The group that INVALID_KE_PAYLOAD requests, if we offered it and did not just send it.
    fn wanted_group(&self, inbound: &Inbound<'_>, core: &Core, env: &Env<'_, '_>) -> Option<Group> {
        let notify = inbound.notify(NotifyType::INVALID_KE_PAYLOAD)?;
        let connection = core.connection(env);
        proposal::corrected_group(&notify, &connection.suites, self.pair.private.group)
    }

    fn again(&mut self, core: &mut Core, env: &mut Env<'_, '_>) -> Option<State> {
        self.detours += 1;
        if self.detours > DETOURS_MAX {
            return Some(fail(core, Reason::Syntax("too many detours"), env));
        }
        core.requests = Requests::default();
        self.refusal = None;
        self.send(core, env);
        None
    }

    fn accept(
        &self,
        header: &Header,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<SaInitResponse, Reason> {
        let connection = core.connection(env);
        let offered = proposal::propose(ProtocolId::IKE, Spi::None, &connection.suites);
        let chosen = proposal::accept(&inbound.need_sa()?, &offered);
        let suite = chosen.map_err(|_| Reason::NoProposalChosen)?.suite;
        let ke = inbound.need_ke()?;
        if header.responder_spi == 0 {
            return Err(Reason::Syntax("responder SPI is missing"));
        }
        // RFC 7296 §1.2: the group of KEr is the chosen one, and the one we sent.
        if suite.group != ke.group() || suite.group != Some(self.pair.private.group) {
            return Err(Reason::Syntax("KE group"));
        }
        // RFC 6023 §3: without a child only if the responder announces support.
        if connection.child.is_none() && !inbound.says(NotifyType::CHILDLESS_IKEV2_SUPPORTED) {
            return Err(Reason::Syntax("CHILDLESS_IKEV2_SUPPORTED is missing"));
        }
        let spis = (core.local_spi, header.responder_spi);
        Ok(SaInitResponse {
            suite,
            peer_public: ke.data.to_vec(),
            nonce: inbound.need_nonce()?.to_vec(),
            nat: exchange::detect_nat(inbound, core.route, spis, env.cx),
            fragmentation: inbound.says(NotifyType::IKEV2_FRAGMENTATION_SUPPORTED),
            hashes: PeerHashes::read(
                inbound.notify(NotifyType::SIGNATURE_HASH_ALGORITHMS).map(|notify| notify.data),
            ),
        })
    }

    fn go_on(
        &self,
        header: &Header,
        message: &[u8],
        response: SaInitResponse,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let Ok(shared_secret) = env.cx.crypto.agree(&self.pair.private, &response.peer_public) else {
            return fail(core, Reason::Syntax("KE value"), env);
        };
        core.remote_spi = header.responder_spi;
        core.heard = env.now();
        let nonces = Nonces { initiator: &self.nonce, responder: &response.nonce };
        let keys = IkeKeys::first(env.cx.crypto, &response.suite, &shared_secret, nonces, core.spis());
        keys.reveal(core.spis(), env.cx.trace);
        exchange::settle(core, response.nat, response.fragmentation, env);
        let request = core.requests.outstanding().expect("the request this answers is outstanding");
        let settled = Settled {
            first_message: request.packets()[0].clone(),
            other_first_message: message.to_vec(),
            nonce: self.nonce.to_vec(),
            other_nonce: response.nonce,
            hashes: response.hashes,
        };
        core.requests.settle();
        AuthSent::begin(settled, Protection::new(keys, Role::Initiator), core, env)
    }
}

/// Ends an SA that could not be set up.
pub(in crate::v2) fn fail(core: &Core, reason: Reason, env: &mut Env<'_, '_>) -> State {
    core.fails(reason, core.unproved(), env);
    State::Gone
}
