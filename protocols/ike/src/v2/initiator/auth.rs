//! IKE_AUTH of the initiator. Read RFC 7296 §1.2, §2.15 (AUTH), §2.19 (addresses), §2.21.2 (errors) first.

use std::net::IpAddr;
use std::num::NonZeroU32;

use super::super::auth;
use super::super::child::{self, Addresses, Offer};
use super::super::config::{Believe, Connection, Prove};
use super::super::endpoint::Env;
use super::super::established::{Child, Closing, Established, Peer, Who, seconds};
use super::super::event::{Event, Reason};
use super::super::inbound::Inbound;
use super::super::keys::{Nonces, Role, SignedOctets};
use super::super::protect::Protection;
use super::super::sa::{Core, State};
use super::super::schemes::PeerHashes;
use super::sa_init::fail;
use crate::number::{AttributeType, ConfigurationType, ExchangeType, NotifyType};
use crate::phase;
use crate::unproved::{Likely, Unproved};
use crate::wire::{
    Certificate, CertificateRequest, ConfigurationAttribute, Identification, Identity, MessageBuilder,
    Notify, Payload,
};

/// Waits for the answer to IKE_AUTH.
#[derive(Debug)]
pub(in crate::v2) struct AuthSent {
    pub(in crate::v2) protection: Protection,
    pub(super) settled: Settled,
    pub(super) offer: Option<Offer>,
}

/// The results of IKE_SA_INIT that both AUTH payloads cover.
#[derive(Debug)]
pub(in crate::v2) struct Settled {
    pub(in crate::v2) first_message: Vec<u8>,
    pub(in crate::v2) other_first_message: Vec<u8>,
    pub(in crate::v2) nonce: Vec<u8>,
    pub(in crate::v2) other_nonce: Vec<u8>,
    pub(in crate::v2) hashes: PeerHashes,
}

impl Settled {
    /// Ni and Nr, seen from our role.
    pub(in crate::v2) fn nonces(&self, us: Role) -> Nonces<'_> {
        match us {
            Role::Initiator => Nonces { initiator: &self.nonce, responder: &self.other_nonce },
            Role::Responder => Nonces { initiator: &self.other_nonce, responder: &self.nonce },
        }
    }

    /// Our own AUTH.
    pub(in crate::v2) fn prove(
        &self,
        connection: &Connection,
        protection: &Protection,
        env: &mut Env<'_, '_>,
    ) -> Result<auth::Proof, Reason> {
        let (keys, us) = (protection.keys(), protection.role());
        let id = connection.local_id.as_payload();
        let octets = SignedOctets::new(env.cx.crypto, keys, us, &self.first_message, self.nonces(us), id);
        auth::prove(connection, &octets, keys.prf(), self.hashes, env.cx)
    }

    /// Verifies the peer's AUTH under the identity it claims.
    pub(in crate::v2) fn verify(
        &self,
        connection: &Connection,
        protection: &Protection,
        id: Identification<'_>,
        inbound: &Inbound<'_>,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Reason> {
        if connection.believes_anybody() {
            return Err(Reason::AuthenticationFailed);
        }
        let (keys, us) = (protection.keys(), protection.role());
        let octets =
            SignedOctets::new(env.cx.crypto, keys, us.peer(), &self.other_first_message, self.nonces(us), id);
        // RFC 7427 §4: a peer that has read no hash of ours has only the old methods.
        let announced = if env.shared.config.signature_hashes { self.hashes } else { PeerHashes::default() };
        auth::verify(connection, announced, &octets, keys.prf(), &id, inbound, env.cx)
    }
}

/// Adds our certificates, as CERT payloads before AUTH.
pub(in crate::v2) fn push_certificates(m: &mut MessageBuilder, connection: &Connection) {
    if let Prove::Certificate(credential) = &connection.local {
        for der in credential.chain.iter() {
            m.push(&Payload::Certificate(Certificate::x509(der)));
        }
    }
}

impl AuthSent {
    /// Sends IKE_AUTH.
    pub(in crate::v2) fn begin(
        settled: Settled,
        mut protection: Protection,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        let connection = core.connection(env);
        // RFC 7296 §2.16: an initiator that omits AUTH requests EAP.
        let proof = match &connection.local {
            Prove::Eap => None,
            _ => match settled.prove(&connection, &protection, env) {
                Ok(proof) => Some(proof),
                Err(reason) => return fail(core, reason, env),
            },
        };
        let addresses = Addresses::outer(core, env);
        let offer = connection.child.as_ref().map(|config| Offer::new(config, env.shared.fresh_child_spi()));
        core.request(
            ExchangeType::IKE_AUTH,
            |m| {
                push_identity(m, &connection, proof.as_ref());
                if let (Some(config), Some(offer)) = (&connection.child, &offer) {
                    offer.push(m, config, addresses, connection.request_address);
                }
            },
            &mut protection,
            env,
        );
        State::AuthSent(Box::new(Self { protection, settled, offer }))
    }

    pub(in crate::v2) fn on_response(
        self,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        // RFC 7296 §2.21.2: an error without the responder's AUTH means that there is no IKE SA.
        if inbound.auth().is_none()
            && let Some(error) = inbound.error()
        {
            return refused(error, None, core, env);
        }
        let connection = core.connection(env);
        match self.verify(&connection, inbound, env) {
            Ok(peer) if matches!(connection.local, Prove::Eap) => self.begin_eap(peer, inbound, core, env),
            Ok(peer) => self.establish(&connection, peer, inbound, core, env),
            Err(reason) => {
                let id = inbound.need_id_responder().ok();
                let likely = id.and_then(|id| auth::likely(reason, &connection.remote, &id, inbound));
                let peer = core.unproved().claiming(id.map(|id| id.to_identity())).because(likely);
                self.give_up(reason, peer, core, env)
            }
        }
    }

    fn verify(
        &self,
        connection: &Connection,
        inbound: &Inbound<'_>,
        env: &mut Env<'_, '_>,
    ) -> Result<Identity, Reason> {
        let id = inbound.need_id_responder()?;
        let identity = id.to_identity();
        if connection.remote_id.as_ref().is_some_and(|expected| *expected != identity) {
            return Err(Reason::WrongIdentity);
        }
        // RFC 5998 §3: with EAP-only the responder authenticates at the end, with the key from EAP.
        if !matches!(connection.remote, Believe::Eap) {
            self.settled.verify(connection, &self.protection, id, inbound, env)?;
        }
        Ok(identity)
    }

    /// RFC 7296 §2.21.2: an initiator that finds an error reports it in an exchange of its own.
    pub(in crate::v2) fn give_up(
        mut self,
        reason: Reason,
        peer: Unproved,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        core.fails(reason, peer, env);
        let kind = match reason {
            Reason::UnsupportedCritical(_) | Reason::Syntax(_) => NotifyType::INVALID_SYNTAX,
            _ => NotifyType::AUTHENTICATION_FAILED,
        };
        let notify = Payload::Notify(Notify::new(kind, &[]));
        core.request(ExchangeType::INFORMATIONAL, |m| m.push(&notify), &mut self.protection, env);
        Closing::state(self.protection)
    }

    pub(super) fn establish(
        self,
        connection: &Connection,
        claimed: Identity,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let address = assigned(connection, inbound);
        let lifetime_s = auth_lifetime_s(inbound);
        // RFC 5998 §5: EAP alone proves that it is a gateway of the AAA server, not which one.
        let proved = (!matches!(connection.remote, Believe::Eap)).then(|| claimed.clone());
        let who = Who { proved, claimed, auth_lifetime: lifetime_s.map(seconds) };
        let peer = Peer { counted: None, initiated: true, lifetime_s, address, lease: None };
        let Self { protection, settled, offer } = self;
        let mut sa = Established::new(protection, who, peer, core, env);
        if let (Some(config), Some(offer)) = (&connection.child, offer) {
            let addresses = Addresses::outer(core, env).with_ours(address);
            match offer.accept(config, addresses, inbound) {
                Ok(child) => {
                    let nonces = settled.nonces(Role::Initiator);
                    let child = child.keyed(sa.protection.keys(), nonces, None, core, env);
                    sa.add_child(Child::up(&child, config, env.now()), child, core, env);
                }
                Err(reason) => env.emit(Event::ChildFailed(core.id(), reason)),
            }
        }
        // What it proved itself with is needed no more; keys are replaced without it.
        core.terms = None;
        State::Established(Box::new(sa))
    }
}

/// Ends the SA because of this error of the responder.
pub(super) fn refused(
    error: NotifyType,
    claimed: Option<Identity>,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> State {
    let reason = Reason::Refused(error.0);
    let likely = Likely::of_refusal(reason, &core.connection(env).local);
    core.fails(reason, core.unproved().claiming(claimed).because(likely), env);
    State::Gone
}

/// IDi, [CERT, …], [CERTREQ], [IDr], [AUTH], [CP(CFG_REQUEST)].
fn push_identity(m: &mut MessageBuilder, connection: &Connection, proof: Option<&auth::Proof>) {
    m.push(&Payload::IdInitiator(connection.local_id.as_payload()));
    push_certificates(m, connection);
    if let Believe::Certificate(trust) = &connection.remote {
        m.push(&Payload::CertificateRequest(CertificateRequest::x509(trust.authorities())));
    }
    if let Some(id) = &connection.remote_id {
        m.push(&Payload::IdResponder(id.as_payload()));
    }
    if let Some(proof) = proof {
        m.push(&Payload::Authentication(proof.payload()));
    }
    if matches!((&connection.local, &connection.remote), (Prove::Eap, Believe::Eap)) {
        m.push(&Payload::Notify(Notify::new(NotifyType::EAP_ONLY_AUTHENTICATION, &[])));
    }
    if connection.request_address {
        let attributes = [AttributeType::INTERNAL_IP4_ADDRESS, AttributeType::INTERNAL_IP6_ADDRESS]
            .map(ConfigurationAttribute::request);
        m.configuration(ConfigurationType::CFG_REQUEST, &attributes);
    }
}

/// The assigned inner address.
// RFC 7296 §2.19: a responder sends CFG_REPLY only in reply to CFG_REQUEST; an unrequested one is ignored.
fn assigned(connection: &Connection, inbound: &Inbound<'_>) -> Option<IpAddr> {
    let reply = inbound.configuration().filter(|cp| cp.kind == ConfigurationType::CFG_REPLY)?;
    connection.request_address.then(|| child::assigned_address(&reply)).flatten()
}

/// RFC 4478 §3: AUTH_LIFETIME carries seconds; zero is ignored.
fn auth_lifetime_s(inbound: &Inbound<'_>) -> Option<NonZeroU32> {
    let data = inbound.notify(NotifyType::AUTH_LIFETIME)?.data;
    NonZeroU32::new(u32::from_be_bytes(data.try_into().ok()?))
}
