//! Aggressive mode of the responder. Read RFC 2409 §5.1, §5.4, RFC 3947 §3.2 first; the initiator's file shows the
//! messages.
//!
//! Every initiator gets our identity and, with a shared key, material to guess the key offline: that is a weakness of the mode.
//! Known identities are not revealed: an unknown one is answered with a random key.

use keytoll_engine::Time;

use super::super::auth;
use super::super::doubt::doubt;
use super::super::endpoint::Env;
use super::super::established::{Begun, Established};
use super::super::inbound::Inbound;
use super::super::number::{AGGRESSIVE, AuthenticationMethod, payload};
use super::super::phase1::{self, Extensions, IDENTITY_BYTES_MAX, Keyed, Root, Step, Values, notify_of};
use super::super::protect::{self, Iv, Opened};
use super::super::sa::{Core, State};
use super::super::wire::message::push;
use super::super::wire::{Identification, Payload};
use super::{Chosen, choose};
use crate::config::{Connection, Phase1};
use crate::event::Reason;
use crate::phase;
use crate::wire::Identity;

/// Waits for message 3.
#[derive(Debug)]
pub(in crate::v1) struct AwaitingProof {
    pub(in crate::v1) expires: Time,
    pub(in crate::v1) keyed: Keyed,
    pub(in crate::v1) identity: Identity,
    /// IDii_b as received.
    id_body: Vec<u8>,
    /// Whether the identity is unknown here.
    pub(in crate::v1) stranger: bool,
    /// Whether a message was received that our keys do not decrypt: the initiator has another shared key, or it was forged.
    pub(in crate::v1) garbled: bool,
    /// The end of the last message with an invalid proof.
    doubted: Option<Iv>,
}

/// Answers message 1.
pub(super) fn begin(
    inbound: &Inbound<'_>,
    step: &Step<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> Result<State, Reason> {
    let (public, nonce) = (inbound.need_ke()?, inbound.need_nonce()?);
    let (id, id_body) = inbound.need_id()?;
    // It is kept for unauthenticated initiators.
    if id_body.len() > IDENTITY_BYTES_MAX {
        return Err(Reason::Syntax("identity"));
    }
    let identity = id.to_identity();
    let (chosen, stranger) = choose_for(&identity, step, inbound, env)?;
    let group = chosen.terms.suite.group.expect("only suites with a group are chosen");
    if public.len() != group.public_len() {
        return Err(Reason::Syntax("public value"));
    }
    core.connection = chosen.index;
    env.cx.crypto.enter(phase::SA_INIT);
    let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
    let own_nonce: [u8; 32] = env.shared.rng.bytes();
    let expires = env.now() + env.shared.config.half_open.lifetime;
    let Ok(shared) = env.cx.crypto.agree(&pair.private, public) else {
        env.discard(Reason::Syntax("public value").name());
        return Ok(State::Unusable(expires));
    };
    let sa_body = chosen.sa_body();
    let Chosen { terms, connection, .. } = chosen;
    let key = match stranger {
        true => Some(env.shared.decoy.clone()),
        false => auth::shared_key(&connection, Some(&identity), step.route.remote.ip),
    };
    let root = Root::of(terms.method, key.as_ref()).ok_or(Reason::AuthenticationFailed)?;
    let values = Values {
        publics: [public.to_vec(), pair.public.clone()],
        nonces: [nonce.to_vec(), own_nonce.to_vec()],
    };
    let keyed = Keyed::derive(terms, values, &shared, root, core.cookies(), env);
    let answer = Answer { sa_body, public: pair.public, nonce: own_nonce };
    answer.send(&keyed, &connection, step, core, env);
    Ok(State::AwaitingProof(Box::new(AwaitingProof {
        expires,
        keyed,
        identity,
        id_body: id_body.to_vec(),
        stranger,
        garbled: false,
        doubted: None,
    })))
}

/// A transform and a connection for this identity; for one that no connection accepts, any connection, and true.
fn choose_for<'a>(
    identity: &Identity,
    step: &Step<'_>,
    inbound: &Inbound<'a>,
    env: &Env<'_, '_>,
) -> Result<(Chosen<'a>, bool), Reason> {
    let ip = step.route.remote.ip;
    let knows = |connection: &Connection| {
        let expected = connection.remote_id.as_ref().is_none_or(|expected| expected == identity);
        let has_key = auth::method(connection) != Some(AuthenticationMethod::PRE_SHARED_KEY)
            || auth::shared_key(connection, Some(identity), ip).is_some();
        expected && has_key
    };
    match choose(inbound, Phase1::Aggressive, knows, env) {
        Ok(chosen) => Ok((chosen, false)),
        Err(_) => choose(inbound, Phase1::Aggressive, |_| true, env).map(|chosen| (chosen, true)),
    }
}

/// The contents of message 2.
struct Answer {
    sa_body: Vec<u8>,
    public: Vec<u8>,
    nonce: [u8; 32],
}

impl Answer {
    fn send(
        &self,
        keyed: &Keyed,
        connection: &Connection,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        env.cx.crypto.enter(phase::AUTH);
        let proof = keyed.prove(connection, core, env);
        let mut m = phase1::begin(core, AGGRESSIVE, false);
        m.append(payload::SA, false, |w| w.bytes(&self.sa_body));
        push(&mut m, &Payload::KeyExchange(&self.public));
        push(&mut m, &Payload::Nonce(&self.nonce));
        push(&mut m, &Payload::Identification(Identification::of(&connection.local_id)));
        proof.push(&mut m, connection);
        phase1::push_request(&mut m, connection);
        Extensions::push(&mut m);
        phase1::push_nat_detection(&mut m, &keyed.terms, core, env);
        // RFC 2408 §5.1: the initiator sends nothing more if its last message is lost, so we must retransmit.
        core.send(phase1::plain(core, AGGRESSIVE, m), Some(step.fingerprint), env);
    }
}

impl AwaitingProof {
    pub(in crate::v1) fn on_message(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        // RFC 3947 §4: the port may change, but not the address, which may be forged.
        if step.route.remote.ip != core.met_at {
            env.discard("message 3 from another address");
            return State::AwaitingProof(self);
        }
        env.cx.crypto.enter(phase::AUTH);
        let mut next_iv = self.keyed.iv;
        let opened: Opened;
        // RFC 2409 §5.4: the last message may be encrypted or not.
        let inbound = if step.header.flags.is_encrypted() {
            match protect::open(step.header, step.message, &self.keyed.keys, self.keyed.iv, env.cx.crypto) {
                Ok(message) => opened = message,
                Err(_) => {
                    env.discard("not decryptable");
                    self.garbled = true;
                    return State::AwaitingProof(self);
                }
            }
            next_iv = opened.next_iv;
            Inbound::new(opened.payloads())
        } else {
            step.read()
        };
        let Ok(inbound) = inbound else {
            env.discard("malformed");
            self.garbled |= step.header.flags.is_encrypted();
            return State::AwaitingProof(self);
        };
        if !phase1::speaks_of(core, &inbound) {
            env.discard("notification of another SA");
            return State::AwaitingProof(self);
        }
        self.finish(next_iv, &inbound, step, core, env)
    }

    fn finish(
        mut self: Box<Self>,
        next_iv: Iv,
        inbound: &Inbound<'_>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let connection = core.connection(env);
        if let Err(reason) = self.judge(&connection, inbound, core, env) {
            self.doubted = Some(next_iv);
            doubt(core, reason, Some(self.identity.clone()), env);
            return State::AwaitingProof(self);
        }
        self.keyed.iv = next_iv;
        core.route = step.route;
        phase1::settle_nat(&self.keyed.terms, step.route, inbound, core, env);
        if let Some(last) = &mut core.last {
            last.settle();
        }
        // RFC 2407 §4.6.3.3: not if it is unprotected, or anybody could have SAs closed by adding it.
        if step.header.flags.is_encrypted() {
            super::initial_contact(&self.identity, inbound, core, env);
        }
        let Self { keyed: Keyed { terms, keys, iv, .. }, identity: peer, .. } = *self;
        let tells_lifetime = terms.tells_lifetime;
        let begun =
            Begun { keys, iv, peer, lifetime: terms.lifetime, tells_lifetime, extensions: terms.peer };
        Established::begin(begun, core, env)
    }

    /// Tells the initiator that its authentication failed.
    pub(in crate::v1) fn refuse(&self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        if let Some(last) = self.doubted {
            self.keyed.notify_peer(core, last, notify_of(reason), env);
        }
    }

    fn judge(
        &self,
        connection: &Connection,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Reason> {
        let id = Identification::of(&self.identity);
        let verdict = self.keyed.verify(connection, (&id, &self.id_body), inbound, core, env);
        if self.stranger { Err(Reason::AuthenticationFailed) } else { verdict }
    }
}
