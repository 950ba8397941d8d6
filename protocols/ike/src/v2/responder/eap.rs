//! EAP inside IKE_AUTH, responder: relays packets between the initiator and the EAP server, and trusts its result. Read
//! RFC 7296 §2.16 first.

use std::sync::Arc;

use keytoll_crypto_api::Secret;
use keytoll_engine::Time;

use super::super::auth::{self, Proof};
use super::super::config::{CONVERSATION_MAX, Connection, Prove};
use super::super::endpoint::Env;
use super::super::established::end_of_sa;
use super::super::event::{Eap, Event, Reason};
use super::super::inbound::Inbound;
use super::super::initiator::{Settled, push_certificates};
use super::super::keys::{Role, SignedOctets};
use super::super::outbound::Kept;
use super::super::protect::Protection;
use super::super::sa::{Core, Index, State};
use super::auth::{Proven, Wish, proved_by_eap, refuse_in};
use crate::number::ExchangeType;
use crate::phase;
use crate::unproved::Unproved;
use crate::wire::{self, Identity, Payload};

/// Relays EAP packets between the initiator and the owner in turns.
#[derive(Debug)]
pub(in crate::v2) struct Relay {
    pub(in crate::v2) protection: Protection,
    /// Time limit of the current wait.
    pub(in crate::v2) expires: Time,
    /// Time limit of the whole conversation.
    ends_at: Time,
    settled: Settled,
    connection: Arc<Connection>,
    /// The identity that the initiator claims.
    claimed: Identity,
    wish: Wish,
    /// The first IKE_AUTH request: what the initiator requests once it is authenticated.
    first: Kept,
    /// Whether we have authenticated ourselves in the first answer.
    proved: bool,
}

/// Waits for the initiator's AUTH after EAP.
#[derive(Debug)]
pub(in crate::v2) struct FinalAuth {
    pub(in crate::v2) relay: Relay,
    verdict: Verdict,
}

/// The result of EAP.
#[derive(Debug)]
struct Verdict {
    msk: Option<Secret>,
    /// The authenticated identity, if the EAP server names it.
    identity: Option<Vec<u8>>,
}

/// An initiator that left AUTH out.
pub(super) struct Applicant {
    pub(super) protection: Protection,
    pub(super) settled: Settled,
    pub(super) connection: Arc<Connection>,
    pub(super) identity: Identity,
    pub(super) wish: Wish,
    pub(super) first: Kept,
}

impl Relay {
    /// Asks the owner for the first EAP request.
    pub(super) fn begin(applicant: Applicant, core: &Core, env: &mut Env<'_, '_>) -> State {
        let Applicant { protection, settled, connection, identity: claimed, wish, first } = applicant;
        env.emit(Event::EapStart {
            sa: core.id(),
            connection: core.connection_index(),
            identity: claimed.clone(),
            remote: core.route.remote,
        });
        let ends_at = env.now() + CONVERSATION_MAX;
        let expires = ends_at;
        let relay =
            Self { protection, expires, ends_at, settled, connection, claimed, wish, first, proved: false };
        State::RelayAwaitsOwner(Box::new(relay))
    }

    pub(in crate::v2) fn on_request(
        mut self: Box<Self>,
        exchange: ExchangeType,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        if exchange != ExchangeType::IKE_AUTH {
            return match end(exchange, inbound) {
                Some(reason) => self.given_up(reason, core, env),
                None => unexpected(State::RelayAwaitsPeer(self), env),
            };
        }
        match inbound.need_eap() {
            Ok(eap) => {
                env.emit(Event::EapPacket(core.id(), eap.message.to_vec()));
                self.expires = self.ends_at;
                State::RelayAwaitsOwner(self)
            }
            Err(reason) => self.refuse(reason, core, env),
        }
    }

    /// The identity that the initiator claims.
    pub(in crate::v2) const fn claimed(&self) -> &Identity {
        &self.claimed
    }

    /// The initiator, unauthenticated.
    fn peer(&self, core: &Core) -> Unproved {
        core.unproved().claiming(self.claimed.clone())
    }

    /// The end, with an error.
    fn refuse(self, reason: Reason, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        self.refuse_in(ExchangeType::IKE_AUTH, reason, core, env)
    }

    /// The same in another exchange.
    pub(in crate::v2) fn refuse_in(
        self,
        exchange: ExchangeType,
        reason: Reason,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let peer = self.peer(core);
        refuse_in(exchange, self.protection, (reason, peer), core, env)
    }

    // RFC 7296 §2.21.2: an initiator that finds an error may report it in an INFORMATIONAL exchange, whose answer is the end.
    fn given_up(mut self, reason: Reason, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        core.fails(reason, self.peer(core), env);
        core.respond(ExchangeType::INFORMATIONAL, |_| {}, &mut self.protection, env);
        core.linger_refused(env)
    }

    // RFC 8019 §4.1: an initiator that falls silent is dropped as soon as one that never continued.
    /// Restarts the wait for the initiator.
    pub(in crate::v2) fn awaits_peer(&mut self, env: &Env<'_, '_>) {
        self.expires = self.ends_at.min(env.now() + env.shared.config.half_open.lifetime);
    }

    /// The owner's answer.
    pub(in crate::v2) fn on_owner(
        mut self: Box<Self>,
        eap: Eap,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        // RFC 5998 §4: a method without a key proves nothing about us.
        if matches!((&eap, &self.connection.local), (Eap::Success { msk: None, .. }, Prove::Eap)) {
            return self.refuse(Reason::AuthenticationFailed, core, env);
        }
        let (message, verdict) = match eap {
            Eap::Packet(message) => (message, None),
            Eap::Success { packet, msk, identity } => (packet, Some(Ok(Verdict { msk, identity }))),
            Eap::Failure { packet } => (packet, Some(Err(Reason::Eap))),
        };
        if let Err(reason) = self.carry(&message, core, env) {
            return self.refuse(reason, core, env);
        }
        self.awaits_peer(env);
        match verdict {
            None => State::RelayAwaitsPeer(self),
            Some(Ok(verdict)) => State::AwaitingFinalAuth(Box::new(FinalAuth { relay: *self, verdict })),
            Some(Err(reason)) => {
                core.fails(reason, self.peer(core), env);
                core.linger_refused(env)
            }
        }
    }

    /// Sends IDr, [[CERT, …], AUTH] before the first EAP request, every other request alone.
    fn carry(&mut self, message: &[u8], core: &mut Core, env: &mut Env<'_, '_>) -> Result<(), Reason> {
        let eap = Payload::Eap(wire::Eap { message });
        if std::mem::replace(&mut self.proved, true) {
            core.respond(ExchangeType::IKE_AUTH, |m| m.push(&eap), &mut self.protection, env);
            return Ok(());
        }
        let connection = Arc::clone(&self.connection);
        // RFC 5998 §3: with EAP-only the proof comes at the end, with the key from EAP.
        let proof = match connection.local {
            Prove::Eap => None,
            Prove::Psk(_) | Prove::Certificate(_) | Prove::RawKey(_) => {
                Some(self.settled.prove(&connection, &self.protection, env)?)
            }
        };
        core.respond(
            ExchangeType::IKE_AUTH,
            |m| {
                m.push(&Payload::IdResponder(connection.local_id.as_payload()));
                if let Some(proof) = &proof {
                    push_certificates(m, &connection);
                    m.push(&Payload::Authentication(proof.payload()));
                }
                m.push(&eap);
            },
            &mut self.protection,
            env,
        );
        Ok(())
    }
}

impl FinalAuth {
    /// RFC 7296 §2.16: both sides prove that they are the ones between which EAP ran.
    pub(in crate::v2) fn on_request(
        self: Box<Self>,
        exchange: ExchangeType,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        if exchange != ExchangeType::IKE_AUTH {
            return match end(exchange, inbound) {
                Some(reason) => self.relay.given_up(reason, core, env),
                None => unexpected(State::AwaitingFinalAuth(self), env),
            };
        }
        env.cx.crypto.enter(phase::AUTH);
        if let Err(reason) = self.verify(inbound, env) {
            return self.relay.refuse(reason, core, env);
        }
        let Self { relay: Relay { ref connection, ref wish, .. }, ref verdict } = *self;
        let Some((index, connection)) = proved_by_eap(verdict.identity.as_deref(), connection, wish, env)
        else {
            return self.relay.refuse(Reason::WrongIdentity, core, env);
        };
        core.connection = Index::of(index);
        let proof = self.prove(env);
        let Self { relay: Relay { protection, settled, claimed, first, .. }, verdict } = *self;
        let identity = verdict.identity.as_deref().map(Identity::of_name);
        let payloads = first.payloads().map_err(|error| Reason::Syntax(error.field));
        match payloads.and_then(Inbound::new) {
            Ok(first) => {
                let proven =
                    Proven { protection, settled, connection, identity, claimed, proof, named: true };
                proven.establish(&first, core, env)
            }
            Err(reason) => {
                let peer = core.unproved().claiming(claimed);
                refuse_in(ExchangeType::IKE_AUTH, protection, (reason, peer), core, env)
            }
        }
    }

    fn verify(&self, inbound: &Inbound<'_>, env: &mut Env<'_, '_>) -> Result<(), Reason> {
        let Relay { protection, settled, claimed, .. } = &self.relay;
        let (keys, nonces) = (protection.keys(), settled.nonces(Role::Responder));
        let (message, id) = (&settled.other_first_message, claimed.as_payload());
        let octets = SignedOctets::new(env.cx.crypto, keys, Role::Initiator, message, nonces, id);
        let auth = inbound.need_auth()?;
        auth::verify_eap(&octets, keys, Role::Initiator, self.verdict.msk.as_ref(), auth, env.cx)
    }

    fn prove(&self, env: &mut Env<'_, '_>) -> Proof {
        let Relay { protection, settled, connection, .. } = &self.relay;
        let (keys, nonces) = (protection.keys(), settled.nonces(Role::Responder));
        let (message, id) = (&settled.first_message, connection.local_id.as_payload());
        let octets = SignedOctets::new(env.cx.crypto, keys, Role::Responder, message, nonces, id);
        Proof::by_eap(&octets, keys, Role::Responder, self.verdict.msk.as_ref(), env.cx)
    }
}

/// Why the initiator ends the SA in an exchange of its own, if it does.
fn end(exchange: ExchangeType, inbound: &Inbound<'_>) -> Option<Reason> {
    end_of_sa(inbound).filter(|_| exchange == ExchangeType::INFORMATIONAL)
}

fn unexpected(state: State, env: &mut Env<'_, '_>) -> State {
    env.discard("unexpected exchange");
    state
}
