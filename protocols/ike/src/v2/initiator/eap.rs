//! EAP inside IKE_AUTH, initiator: the owner implements EAP, this carries it. Read RFC 7296 §2.16 and RFC 5998 (EAP-only)
//! first.

use keytoll_crypto_api::Secret;
use keytoll_engine::Time;

use super::super::auth::{self, Proof};
use super::super::config::Believe;
use super::super::config::CONVERSATION_MAX;
use super::super::endpoint::Env;
use super::super::event::{Eap, Event, Reason};
use super::super::inbound::Inbound;
use super::super::keys::SignedOctets;
use super::super::protect::Protection;
use super::super::sa::{Core, State};
use super::auth::{AuthSent, refused};
use crate::number::ExchangeType;
use crate::phase;
use crate::wire::{self, Identity, Payload};

/// RFC 3748 §4: the code of EAP-Failure.
const CODE_FAILURE: u8 = 4;

/// Carries EAP packets between the owner and the responder in turns.
#[derive(Debug)]
pub(in crate::v2) struct EapConversation {
    wait: AuthSent,
    responder: Identity,
    /// Whether the responder has sent EAP-Failure, after which we send nothing.
    failed: bool,
    /// Time limit in case the owner never answers.
    pub(in crate::v2) expires: Time,
}

/// Waits for the responder's last AUTH.
#[derive(Debug)]
pub(in crate::v2) struct EapFinal {
    conversation: EapConversation,
    msk: Option<Secret>,
}

impl AuthSent {
    /// The responder is authenticated, or will be at the end; its first EAP request goes to the owner.
    pub(super) fn begin_eap(
        self,
        responder: Identity,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let conversation = Box::new(EapConversation {
            wait: self,
            responder,
            failed: false,
            expires: env.now() + CONVERSATION_MAX,
        });
        conversation.on_response(inbound, core, env)
    }
}

impl EapConversation {
    pub(in crate::v2) const fn protection(&self) -> &Protection {
        &self.wait.protection
    }

    /// The identity that the responder claims.
    pub(in crate::v2) const fn responder(&self) -> &Identity {
        &self.responder
    }

    pub(in crate::v2) fn on_response(
        mut self: Box<Self>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        match (inbound.need_eap(), inbound.error()) {
            (Ok(eap), _) => {
                self.failed = eap.message.first() == Some(&CODE_FAILURE);
                env.emit(Event::EapPacket(core.id(), eap.message.to_vec()));
                State::EapAwaitsOwner(self)
            }
            (Err(_), Some(error)) => refused(error, Some(self.responder), core, env),
            (Err(reason), None) => self.give_up(reason, core, env),
        }
    }

    pub(in crate::v2) fn give_up(self, reason: Reason, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let peer = core.unproved().claiming(self.responder);
        self.wait.give_up(reason, peer, core, env)
    }

    /// The owner's answer.
    pub(in crate::v2) fn on_owner(
        mut self: Box<Self>,
        eap: Eap,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        match eap {
            Eap::Packet(message) => {
                let payload = Payload::Eap(wire::Eap { message: &message });
                core.request(ExchangeType::IKE_AUTH, |m| m.push(&payload), &mut self.wait.protection, env);
                State::EapAwaitsPeer(self)
            }
            Eap::Success { msk, .. } => self.prove(msk, core, env),
            Eap::Failure { .. } if self.failed => {
                core.fails(Reason::Eap, core.unproved().claiming(self.responder), env);
                State::Gone
            }
            Eap::Failure { .. } => self.give_up(Reason::Eap, core, env),
        }
    }

    /// RFC 7296 §2.16: sends AUTH over the usual octets, with the key from EAP.
    fn prove(mut self, msk: Option<Secret>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let connection = core.connection(env);
        // RFC 5998 §4: a method without a key proves nothing about the responder.
        if msk.is_none() && matches!(connection.remote, Believe::Eap) {
            return self.give_up(Reason::AuthenticationFailed, core, env);
        }
        let AuthSent { protection, settled, .. } = &self.wait;
        let (keys, us) = (protection.keys(), protection.role());
        let id = connection.local_id.as_payload();
        let octets =
            SignedOctets::new(env.cx.crypto, keys, us, &settled.first_message, settled.nonces(us), id);
        let proof = Proof::by_eap(&octets, keys, us, msk.as_ref(), env.cx);
        let payload = Payload::Authentication(proof.payload());
        core.request(ExchangeType::IKE_AUTH, |m| m.push(&payload), &mut self.wait.protection, env);
        State::EapFinalSent(Box::new(EapFinal { conversation: self, msk }))
    }
}

impl EapFinal {
    /// The identity that the responder claims.
    pub(in crate::v2) const fn responder(&self) -> &Identity {
        self.conversation.responder()
    }

    pub(in crate::v2) const fn protection(&self) -> &Protection {
        self.conversation.protection()
    }

    pub(in crate::v2) fn on_response(
        self: Box<Self>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        if inbound.auth().is_none()
            && let Some(error) = inbound.error()
        {
            return refused(error, Some(self.conversation.responder), core, env);
        }
        if let Err(reason) = self.verify(inbound, env) {
            return self.give_up(reason, core, env);
        }
        let connection = core.connection(env);
        let EapConversation { wait, responder, .. } = self.conversation;
        wait.establish(&connection, responder, inbound, core, env)
    }

    pub(in crate::v2) fn give_up(
        self: Box<Self>,
        reason: Reason,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        self.conversation.give_up(reason, core, env)
    }

    fn verify(&self, inbound: &Inbound<'_>, env: &mut Env<'_, '_>) -> Result<(), Reason> {
        let EapConversation { wait, responder, .. } = &self.conversation;
        let AuthSent { protection, settled, .. } = wait;
        let (keys, them) = (protection.keys(), protection.role().peer());
        let (message, nonces) = (&settled.other_first_message, settled.nonces(protection.role()));
        let octets = SignedOctets::new(env.cx.crypto, keys, them, message, nonces, responder.as_payload());
        auth::verify_eap(&octets, keys, them, self.msk.as_ref(), inbound.need_auth()?, env.cx)
    }
}
