//! Main mode of the responder. Read RFC 2409 §5.1, §5.4, RFC 3947 §3.2 first; the initiator's file shows the messages.
//!
//! Nothing costly is done for an address that has not proved that it receives: the key pair is generated for message 3, and
//! the key agreement is computed when message 5 arrives.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::PrivateKey;
use keytoll_engine::Time;

use super::super::auth;
use super::super::doubt::{claimed, doubt, fail};
use super::super::endpoint::Env;
use super::super::established::{Begun, Established};
use super::super::inbound::Inbound;
use super::super::number::{AuthenticationMethod, IDENTITY_PROTECTION, Phase1Attribute, payload};
use super::super::phase1::{self, Extensions, Keyed, Root, Step, Terms, Values, notify_of, tell_in_clear};
use super::super::proposal;
use super::super::protect::{self, Iv};
use super::super::sa::{Core, State};
use super::super::wire::message::push;
use super::super::wire::{Identification, Notify, Payload};
use super::{Chosen, choose};
use crate::config::{Connection, Phase1};
use crate::event::Reason;
use crate::number::NotifyType;
use crate::phase;
use crate::wire::Identity;

/// Waits for message 3.
#[derive(Debug)]
pub(in crate::v1) struct AwaitingKeys {
    pub(in crate::v1) expires: Time,
    terms: Terms,
    root: Root,
}

/// Waits for message 5.
#[derive(Debug)]
pub(in crate::v1) struct AwaitingIdentity {
    pub(in crate::v1) expires: Time,
    agreement: Agreement,
    /// Whether a message was received that our keys do not decrypt: the initiator has another shared key, or it was forged.
    pub(in crate::v1) garbled: bool,
    /// The end of the last message with an invalid proof.
    doubted: Option<Iv>,
}

/// The key agreement, computed when the first encrypted message arrives.
#[derive(Debug)]
enum Agreement {
    Pending { terms: Terms, root: Root, values: Values, private: PrivateKey },
    Done(Box<Keyed>),
    Impossible,
}

/// Answers message 1.
pub(super) fn begin(
    inbound: &Inbound<'_>,
    step: &Step<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> Result<State, Reason> {
    let ip = step.route.remote.ip;
    let chosen = choose_for(ip, inbound, env)?;
    core.connection = chosen.index;
    let key = auth::shared_key(&chosen.connection, None, ip);
    let root = Root::of(chosen.terms.method, key.as_ref()).ok_or(Reason::AuthenticationFailed)?;
    let mut m = phase1::begin(core, IDENTITY_PROTECTION, false);
    m.append(payload::SA, false, |w| w.bytes(&chosen.sa_body()));
    Extensions::push(&mut m);
    let packet = phase1::plain(core, IDENTITY_PROTECTION, m);
    core.answer(packet, step.fingerprint, env);
    let expires = env.now() + env.shared.config.half_open.lifetime;
    Ok(State::AwaitingKeys(Box::new(AwaitingKeys { expires, terms: chosen.terms, root })))
}

/// A transform and a connection for this address. Connections for this address precede those for any, whatever their order.
// RFC 2409 §5.4: with shared keys only the address identifies the peer.
fn choose_for<'a>(ip: IpAddr, inbound: &Inbound<'a>, env: &Env<'_, '_>) -> Result<Chosen<'a>, Reason> {
    let is_psk =
        |connection: &Connection| auth::method(connection) == Some(AuthenticationMethod::PRE_SHARED_KEY);
    let has_key = |connection: &Connection| auth::shared_key(connection, None, ip).is_some();
    let is_named = |connection: &Connection| auth::names_address(connection, ip) && has_key(connection);
    let closest = choose(inbound, Phase1::Main, |it| !is_psk(it) || is_named(it), env);
    match closest {
        Ok(chosen) if is_psk(&chosen.connection) => Ok(chosen),
        _ => choose(inbound, Phase1::Main, |it| !is_psk(it) || has_key(it), env),
    }
}

impl AwaitingKeys {
    pub(in crate::v1) fn on_message(
        self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        // The shared key was found by this address.
        if step.route.remote.ip != core.route.remote.ip {
            env.discard("message 3 from another address");
            return State::AwaitingKeys(self);
        }
        let group = self.terms.suite.group.expect("only suites with a group are chosen");
        let parsed = step.read().and_then(|inbound| {
            let (public, nonce) = (inbound.need_ke()?.to_vec(), inbound.need_nonce()?.to_vec());
            Ok((inbound, public, nonce))
        });
        let (inbound, public, nonce) = match parsed {
            Ok(parsed) if parsed.1.len() == group.public_len() => parsed,
            _ => {
                env.discard("malformed");
                return State::AwaitingKeys(self);
            }
        };
        env.cx.crypto.enter(phase::SA_INIT);
        let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
        let own_nonce: [u8; 32] = env.shared.rng.bytes();
        core.route = step.route;
        core.receives_since = Some(env.now());
        phase1::settle_nat(&self.terms, step.route, &inbound, core, env);
        let connection = core.connection(env);
        let mut m = phase1::begin(core, IDENTITY_PROTECTION, false);
        push(&mut m, &Payload::KeyExchange(&pair.public));
        push(&mut m, &Payload::Nonce(&own_nonce));
        phase1::push_request(&mut m, &connection);
        phase1::push_nat_detection(&mut m, &self.terms, core, env);
        core.answer(phase1::plain(core, IDENTITY_PROTECTION, m), step.fingerprint, env);
        let values = Values { publics: [public, pair.public], nonces: [nonce, own_nonce.to_vec()] };
        let Self { terms, root, .. } = *self;
        let agreement = Agreement::Pending { terms, root, values, private: pair.private };
        let expires = env.now() + env.shared.config.half_open.lifetime;
        State::AwaitingIdentity(Box::new(AwaitingIdentity {
            expires,
            agreement,
            garbled: false,
            doubted: None,
        }))
    }
}

impl AwaitingIdentity {
    /// The keys; computed at the first call.
    fn keyed(&mut self, core: &Core, env: &mut Env<'_, '_>) -> Option<&mut Keyed> {
        let agreement = std::mem::replace(&mut self.agreement, Agreement::Impossible);
        self.agreement = match agreement {
            Agreement::Pending { terms, root, values, private } => {
                agree(terms, root, values, &private, core, env)
            }
            other => other,
        };
        match &mut self.agreement {
            Agreement::Done(keyed) => Some(keyed),
            Agreement::Pending { .. } | Agreement::Impossible => None,
        }
    }

    /// The keys, once something encrypted has arrived.
    pub(in crate::v1) const fn agreed(&self) -> Option<&Keyed> {
        match &self.agreement {
            Agreement::Done(keyed) => Some(keyed),
            Agreement::Pending { .. } | Agreement::Impossible => None,
        }
    }

    pub(in crate::v1) fn on_message(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        // RFC 3947 §4: the port may change, but not the address, which may be forged.
        if step.route.remote.ip != core.met_at {
            env.discard("message 5 from another address");
            return State::AwaitingIdentity(self);
        }
        let Some(keyed) = self.keyed(core, env) else {
            return fail(core, Reason::Syntax("public value"), env);
        };
        env.cx.crypto.enter(phase::AUTH);
        let Ok(opened) = protect::open(step.header, step.message, &keyed.keys, keyed.iv, env.cx.crypto)
        else {
            // With another shared key every message looks like this. The initiator is notified, though without authentication, and
            // may try again.
            env.discard("not decryptable");
            tell_in_clear(core, NotifyType::PAYLOAD_MALFORMED, env);
            self.garbled = true;
            return State::AwaitingIdentity(self);
        };
        let Ok(inbound) = Inbound::new(opened.payloads()) else {
            env.discard("malformed");
            self.garbled = true;
            return State::AwaitingIdentity(self);
        };
        if !phase1::speaks_of(core, &inbound) {
            env.discard("notification of another SA");
            return State::AwaitingIdentity(self);
        }
        let (peer, connection) = match judge(keyed, &inbound, core, env) {
            Ok(found) => found,
            // The peer holds the shared key and has said so itself: no better message will come.
            Err(reason) if keyed.is_proved(&inbound, core, env) => {
                keyed.notify_peer(core, opened.next_iv, notify_of(reason), env);
                return core.fails(reason, core.unproved().claiming(claimed(&inbound)), env);
            }
            Err(reason) => {
                self.doubted = Some(opened.next_iv);
                doubt(core, reason, claimed(&inbound), env);
                return State::AwaitingIdentity(self);
            }
        };
        keyed.iv = opened.next_iv;
        // RFC 3947 §4: the initiator may have moved to port 4500.
        core.route = step.route;
        let Agreement::Done(keyed) = self.agreement else { unreachable!("a message was decrypted with it") };
        finish(*keyed, peer, &connection, &inbound, step, core, env)
    }

    /// Tells the initiator that its authentication failed.
    pub(in crate::v1) fn refuse(&self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        if let (Agreement::Done(keyed), Some(last)) = (&self.agreement, self.doubted) {
            keyed.notify_peer(core, last, notify_of(reason), env);
        }
    }
}

fn agree(
    terms: Terms,
    root: Root,
    values: Values,
    private: &PrivateKey,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Agreement {
    env.cx.crypto.enter(phase::SA_INIT);
    let Ok(shared) = env.cx.crypto.agree(private, &values.publics[0]) else { return Agreement::Impossible };
    Agreement::Done(Box::new(Keyed::derive(terms, values, &shared, root, core.cookies(), env)))
}

/// Finds the connection for the initiator's identity, and verifies its proof.
fn judge(
    keyed: &Keyed,
    inbound: &Inbound<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> Result<(Identity, Arc<Connection>), Reason> {
    let (id, body) = inbound.need_id()?;
    let identity = id.to_identity();
    let (index, connection) = connection_for(keyed, &identity, core, env).ok_or(Reason::WrongIdentity)?;
    keyed.verify(&connection, (&id, body), inbound, core, env)?;
    core.connection = index;
    Ok((identity, connection))
}

/// The first connection that accepts this identity with what was negotiated before it was known.
fn connection_for(
    keyed: &Keyed,
    identity: &Identity,
    core: &Core,
    env: &Env<'_, '_>,
) -> Option<(usize, Arc<Connection>)> {
    let ip = core.route.remote.ip;
    let fits = |connection: &Connection| {
        phase1::wishes(connection).phase1 == Phase1::Main
            && auth::method(connection) == Some(keyed.terms.method)
            && connection.suites.contains(&keyed.terms.suite)
            && connection.remote_id.as_ref().is_none_or(|expected| expected == identity)
            && keyed.is_key_of(identity, connection, ip)
    };
    let found = env.shared.connections().find(|(_, connection)| fits(connection));
    found.map(|(index, connection)| (index, Arc::clone(connection)))
}

/// Sends message 6, the last one.
fn finish(
    mut keyed: Keyed,
    peer: Identity,
    connection: &Connection,
    inbound: &Inbound<'_>,
    step: &Step<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> State {
    let proof = keyed.prove(connection, core, env);
    let mut m = phase1::begin(core, IDENTITY_PROTECTION, true);
    push(&mut m, &Payload::Identification(Identification::of(&connection.local_id)));
    proof.push(&mut m, connection);
    if keyed.terms.tells_lifetime {
        let kinds = (Phase1Attribute::LIFE_TYPE.0, Phase1Attribute::LIFE_DURATION.0);
        let data = proposal::lifetime_attributes(kinds.0, kinds.1, keyed.terms.lifetime);
        let cookies = core.cookie_bytes();
        push(&mut m, &Payload::Notify(Notify::isakmp(NotifyType::RESPONDER_LIFETIME, &cookies, &data)));
    }
    let packet = keyed.seal(IDENTITY_PROTECTION, m, core, env);
    core.answer(packet, step.fingerprint, env);
    super::initial_contact(&peer, inbound, core, env);
    let Keyed { terms, keys, iv, .. } = keyed;
    let begun =
        Begun { keys, iv, peer, lifetime: terms.lifetime, tells_lifetime: false, extensions: terms.peer };
    Established::begin(begun, core, env)
}
