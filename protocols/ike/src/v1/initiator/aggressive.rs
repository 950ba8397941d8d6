//! Aggressive mode of the initiator. Read RFC 2409 §5.1, §5.4, RFC 3947 §3.2 first.
//!
//! ```text
//!   1  SA KE NONCE ID VID…   -->
//!   2                        <--  SA KE NONCE ID [CERT…] HASH|SIG VID… NAT-D…
//!   3  [CERT…] HASH|SIG NAT-D… [N]  -->   encrypted
//! ```

use keytoll_crypto_api::KeyPair;

use super::super::auth;
use super::super::doubt::{claimed, doubt};
use super::super::endpoint::Env;
use super::super::established::{Begun, Established};
use super::super::inbound::Inbound;
use super::super::number::{AGGRESSIVE, payload};
use super::super::phase1::{self, Extensions, Keyed, Root, Step, Values, notify_of, tell_in_clear};
use super::super::sa::{Core, State};
use super::super::transmission::Packet;
use super::super::wire::message::push;
use super::super::wire::{Identification, Payload};
use super::main::{judge, push_initial_contact};
use super::{Offer, generate};
use crate::config::Connection;
use crate::event::Reason;
use crate::phase;
use crate::wire::Identity;

/// Waits for message 2.
#[derive(Debug)]
pub(in crate::v1) struct Introduced {
    offer: Offer,
    pair: KeyPair,
    nonce: [u8; 32],
    /// The cookie of the last responder whose authentication failed.
    doubted: u64,
}

/// Sends message 1.
pub(super) fn begin(offer: Offer, connection: &Connection, core: &mut Core, env: &mut Env<'_, '_>) -> State {
    let (pair, nonce) = (generate(offer.group(), env), env.shared.rng.bytes());
    let mut m = phase1::begin(core, AGGRESSIVE, false);
    m.append(payload::SA, false, |w| w.bytes(&offer.sa_body));
    push(&mut m, &Payload::KeyExchange(&pair.public));
    push(&mut m, &Payload::Nonce(&nonce));
    push(&mut m, &Payload::Identification(Identification::of(&connection.local_id)));
    phase1::push_request(&mut m, connection);
    Extensions::push(&mut m);
    core.send(phase1::plain(core, AGGRESSIVE, m), None, env);
    State::Introduced(Box::new(Introduced { offer, pair, nonce, doubted: 0 }))
}

impl Introduced {
    pub(in crate::v1) fn on_message(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let Ok(inbound) = step.read() else {
            env.discard("malformed");
            return State::Introduced(self);
        };
        let connection = core.connection(env);
        let before = (core.peer_cookie, core.route, core.nat);
        core.peer_cookie = step.header.responder_spi;
        match self.settle(&connection, &inbound, step, core, env) {
            Ok((keyed, peer)) => finish(keyed, peer, &connection, step, core, env),
            Err(reason) => {
                (core.peer_cookie, core.route, core.nat) = before;
                self.doubted = step.header.responder_spi;
                doubt(core, reason, claimed(&inbound), env);
                State::Introduced(self)
            }
        }
    }

    /// RFC 2408 §5.1: tells the responder, which otherwise waits for us.
    pub(in crate::v1) fn refuse(&self, reason: Reason, core: &mut Core, env: &mut Env<'_, '_>) {
        core.peer_cookie = self.doubted;
        tell_in_clear(core, notify_of(reason), env);
    }

    fn settle(
        &self,
        connection: &Connection,
        inbound: &Inbound<'_>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(Keyed, Identity), Reason> {
        let (public, nonce) = (inbound.need_ke()?, inbound.need_nonce()?);
        let identity = inbound.need_id()?.0.to_identity();
        let terms = self.offer.chosen(connection, inbound)?;
        let shared = env.cx.crypto.agree(&self.pair.private, public);
        let shared = shared.map_err(|_| Reason::Syntax("public value"))?;
        let key = auth::shared_key(connection, Some(&identity), core.route.remote.ip);
        let root = Root::of(terms.method, key.as_ref()).ok_or(Reason::AuthenticationFailed)?;
        phase1::settle_nat(&terms, step.route, inbound, core, env);
        let publics = [self.pair.public.clone(), public.to_vec()];
        let values = Values { publics, nonces: [self.nonce.to_vec(), nonce.to_vec()] };
        let keyed = Keyed::derive(terms, values, &shared, root, core.cookies(), env);
        env.cx.crypto.enter(phase::AUTH);
        let peer = judge(&keyed, connection, inbound, core, env)?;
        Ok((keyed, peer))
    }
}

/// Sends message 3, the last one.
fn finish(
    mut keyed: Keyed,
    peer: Identity,
    connection: &Connection,
    step: &Step<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> State {
    let packet = last_message(&mut keyed, connection, core, env);
    core.answer(packet, step.fingerprint, env);
    let Keyed { terms, keys, iv, .. } = keyed;
    let begun =
        Begun { keys, iv, peer, lifetime: terms.lifetime, tells_lifetime: false, extensions: terms.peer };
    Established::begin(begun, core, env)
}

// RFC 3947 §3.2: it is encrypted, which RFC 2409 §5.4 leaves open.
fn last_message(keyed: &mut Keyed, connection: &Connection, core: &Core, env: &mut Env<'_, '_>) -> Packet {
    let proof = keyed.prove(connection, core, env);
    let mut m = phase1::begin(core, AGGRESSIVE, true);
    proof.push(&mut m, connection);
    phase1::push_nat_detection(&mut m, &keyed.terms, core, env);
    // RFC 2407 §4.6.3.3: not in aggressive mode, which does not protect it. But this message is encrypted, though only our
    // proof is bound to it, and the worst an attacker gains is that old SAs of ours are closed.
    push_initial_contact(&mut m, core, env);
    keyed.seal(AGGRESSIVE, m, core, env)
}
