//! Main mode of the initiator. Read RFC 2409 §5.1, §5.4, RFC 3947 §3.2 first.
//!
//! ```text
//!   1  SA VID…            -->
//!   2                     <--  SA VID…
//!   3  KE NONCE [CR] NAT-D…  -->
//!   4                     <--  KE NONCE [CR] NAT-D…
//!   5  ID [CERT…] HASH|SIG [N] -->    encrypted from here on
//!   6                     <--  ID [CERT…] HASH|SIG [N]
//! ```

use keytoll_crypto_api::KeyPair;

use super::super::auth;
use super::super::doubt::{claimed, doubt};
use super::super::endpoint::Env;
use super::super::established::{Begun, Established, told_lifetime};
use super::super::inbound::Inbound;
use super::super::number::IDENTITY_PROTECTION;
use super::super::phase1::{self, Extensions, Keyed, Root, Step, Terms, Values};
use super::super::protect;
use super::super::sa::{Core, State};
use super::super::wire::message::push;
use super::super::wire::{Identification, Notify, Payload};
use super::{Offer, generate};
use crate::config::Connection;
use crate::event::Reason;
use crate::number::NotifyType;
use crate::phase;
use crate::unproved::Likely;

/// Waits for message 2.
#[derive(Debug)]
pub(in crate::v1) struct Offered {
    offer: Offer,
}

/// Waits for message 4.
#[derive(Debug)]
pub(in crate::v1) struct KeysSent {
    terms: Terms,
    pair: KeyPair,
    nonce: [u8; 32],
}

/// Waits for message 6.
#[derive(Debug)]
pub(in crate::v1) struct IdentitySent {
    pub(in crate::v1) keyed: Keyed,
}

/// Sends message 1.
pub(super) fn begin(offer: Offer, core: &mut Core, env: &mut Env<'_, '_>) -> State {
    let mut m = phase1::begin(core, IDENTITY_PROTECTION, false);
    m.append(super::super::number::payload::SA, false, |w| w.bytes(&offer.sa_body));
    Extensions::push(&mut m);
    core.send(phase1::plain(core, IDENTITY_PROTECTION, m), None, env);
    State::Offered(Box::new(Offered { offer }))
}

impl Offered {
    pub(in crate::v1) fn on_message(
        self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let connection = core.connection(env);
        let Ok(inbound) = step.read() else { return self.ignore(env) };
        let terms = match self.offer.chosen(&connection, &inbound) {
            Ok(terms) => terms,
            Err(reason) => {
                doubt(core, reason, None, env);
                return State::Offered(self);
            }
        };
        core.peer_cookie = step.header.responder_spi;
        KeysSent::begin(terms, &connection, step, core, env)
    }

    fn ignore(self: Box<Self>, env: &mut Env<'_, '_>) -> State {
        env.discard("malformed");
        State::Offered(self)
    }
}

impl KeysSent {
    /// Sends message 3.
    fn begin(
        terms: Terms,
        connection: &Connection,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let group = terms.suite.group.expect("only suites with a group are offered");
        let (pair, nonce) = (generate(group, env), env.shared.rng.bytes());
        let mut m = phase1::begin(core, IDENTITY_PROTECTION, false);
        push(&mut m, &Payload::KeyExchange(&pair.public));
        push(&mut m, &Payload::Nonce(&nonce));
        phase1::push_request(&mut m, connection);
        phase1::push_nat_detection(&mut m, &terms, core, env);
        let packet = phase1::plain(core, IDENTITY_PROTECTION, m);
        core.send(packet, Some(step.fingerprint), env);
        State::KeysSent(Box::new(Self { terms, pair, nonce }))
    }

    pub(in crate::v1) fn on_message(
        self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let parsed = step.read().and_then(|inbound| {
            let (public, nonce) = (inbound.need_ke()?.to_vec(), inbound.need_nonce()?.to_vec());
            Ok((inbound, public, nonce))
        });
        let Ok((inbound, public, nonce)) = parsed else {
            env.discard("malformed");
            return State::KeysSent(self);
        };
        let connection = core.connection(env);
        let Ok(shared) = env.cx.crypto.agree(&self.pair.private, &public) else {
            doubt(core, Reason::Syntax("public value"), None, env);
            return State::KeysSent(self);
        };
        let key = auth::shared_key(&connection, None, core.route.remote.ip);
        let Some(root) = Root::of(self.terms.method, key.as_ref()) else {
            return core.fails(Reason::AuthenticationFailed, core.unproved().because(Likely::NoKey), env);
        };
        phase1::settle_nat(&self.terms, step.route, &inbound, core, env);
        let values = Values { publics: [self.pair.public, public], nonces: [self.nonce.to_vec(), nonce] };
        let keyed = Keyed::derive(self.terms, values, &shared, root, core.cookies(), env);
        IdentitySent::begin(keyed, &connection, step, core, env)
    }
}

impl IdentitySent {
    /// Sends message 5.
    fn begin(
        mut keyed: Keyed,
        connection: &Connection,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        let proof = keyed.prove(connection, core, env);
        let mut m = phase1::begin(core, IDENTITY_PROTECTION, true);
        push(&mut m, &Payload::Identification(Identification::of(&connection.local_id)));
        proof.push(&mut m, connection);
        push_initial_contact(&mut m, core, env);
        let packet = keyed.seal(IDENTITY_PROTECTION, m, core, env);
        core.send(packet, Some(step.fingerprint), env);
        State::IdentitySent(Box::new(Self { keyed }))
    }

    pub(in crate::v1) fn on_message(
        self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        let opened = protect::open(step.header, step.message, &self.keyed.keys, self.keyed.iv, env.cx.crypto);
        let Ok(opened) = opened else {
            env.discard("not decryptable");
            return State::IdentitySent(self);
        };
        let Ok(inbound) = Inbound::new(opened.payloads()) else {
            env.discard("malformed");
            return State::IdentitySent(self);
        };
        if !phase1::speaks_of(core, &inbound) {
            env.discard("notification of another SA");
            return State::IdentitySent(self);
        }
        let connection = core.connection(env);
        match judge(&self.keyed, &connection, &inbound, core, env) {
            Ok(peer) => {
                let Keyed { terms, keys, .. } = self.keyed;
                let lifetime =
                    told_lifetime(&inbound).map_or(terms.lifetime, |told| told.min(terms.lifetime));
                let begun = Begun {
                    keys,
                    iv: opened.next_iv,
                    peer,
                    lifetime,
                    tells_lifetime: false,
                    extensions: terms.peer,
                };
                Established::begin(begun, core, env)
            }
            Err(reason) => {
                doubt(core, reason, claimed(&inbound), env);
                State::IdentitySent(self)
            }
        }
    }
}

/// Verifies the responder's identity and proof.
pub(super) fn judge(
    keyed: &Keyed,
    connection: &Connection,
    inbound: &Inbound<'_>,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<crate::wire::Identity, Reason> {
    let (id, body) = inbound.need_id()?;
    let identity = id.to_identity();
    if connection.remote_id.as_ref().is_some_and(|expected| *expected != identity) {
        return Err(Reason::WrongIdentity);
    }
    // What the previous peer was allowed does not apply to another one at its address.
    if core.replaces.as_ref().is_some_and(|old| old.peer != identity) {
        return Err(Reason::WrongIdentity);
    }
    if !keyed.is_key_of(&identity, connection, core.route.remote.ip) {
        return Err(Reason::WrongIdentity);
    }
    keyed.verify(connection, (&id, body), inbound, core, env)?;
    Ok(identity)
}

/// RFC 2407 §4.6.3.3: we have no other SA with this peer, so it may drop its old ones.
pub(super) fn push_initial_contact(m: &mut crate::wire::MessageBuilder, core: &Core, env: &Env<'_, '_>) {
    if core.replaces.is_none() && !env.shared.knows(core.route.remote.ip) {
        let cookies = core.cookie_bytes();
        push(m, &Payload::Notify(Notify::isakmp(NotifyType::IPSEC_INITIAL_CONTACT, &cookies, &[])));
    }
}
