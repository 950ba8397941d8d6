//! One ISAKMP SA: what all its states share, and the dispatch of messages to the current state.
//! Read RFC 2408 §4 (exchanges), §5 (processing) first.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_engine::{Deadline, Time};

use super::directory::Entry;
use super::doubt::{self, Refusal};
use super::endpoint::Env;
use super::established::{Established, Task};
use super::inbound::Inbound;
use super::initiator::{IdentitySent, Introduced, KeysSent, Offered};
use super::keys::{self, Keys};
use super::number::{AGGRESSIVE, IDENTITY_PROTECTION, INFORMATIONAL, QUICK_MODE};
use super::phase1::{Step, notify_of, tell_in_clear};
use super::protect::{self, Iv};
use super::responder::{AwaitingIdentity, AwaitingKeys, AwaitingProof};
use super::transmission::{Due, Fingerprint, Reflection, Sent};
use crate::config::Connection;
use crate::event::{Reason, SaId};
use crate::half_open::Place;
use crate::lent::Lent;
use crate::nat::Nat;
use crate::peers::Peer;
use crate::role::Role;
use crate::route::Route;
use crate::wire::{Header, Identity};

/// A responder retransmits unprompted at most so often to an address that has not proved that it receives.
const UNASKED_MAX: u32 = 2;

/// An ISAKMP SA, from its first message to its last.
#[derive(Debug)]
pub(super) struct Sa {
    pub(super) core: Core,
    pub(super) state: State,
    /// The time for which the endpoint's timer is set.
    pub(super) armed: Option<Time>,
    /// Its place in the endpoint's table of half-open SAs.
    pub(super) half_open: Option<Place>,
    /// Its entry in the endpoint's index of peers.
    pub(super) listed: Option<Box<Entry>>,
}

/// The peer for which an SA is counted, and in which count.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) peer: Arc<Peer>,
    pub(super) is_unannounced: bool,
}

/// An SA that is to be replaced.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) cookie: u64,
    /// The new SA must have the same peer.
    pub(super) peer: Identity,
}

/// What all states share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) cookie: u64,
    /// 0 until the responder has chosen it.
    pub(super) peer_cookie: u64,
    pub(super) role: Role,
    pub(super) route: Route,
    /// The peer's address at the start of phase 1; behind a NAT its route may change later.
    pub(super) met_at: IpAddr,
    pub(super) connection: usize,
    /// Its own terms in place of the connection's; they are those of its replacement, too.
    pub(super) terms: Option<Arc<Connection>>,
    /// The peer initiated it, or the first in the chain of SAs that it replaces.
    pub(super) is_of_peer: bool,
    pub(super) counted: Option<Counted>,
    pub(super) nat: Nat,
    /// Our last message of phase 1.
    pub(super) last: Option<Sent>,
    /// An unauthenticated refusal was received: until when we wait for a better answer.
    pub(super) refusal: Option<Box<Refusal>>,
    /// Phase 1: the SA that the new one is to replace.
    pub(super) replaces: Option<Replaced>,
    pub(super) begun: Time,
    /// When a message arrived that proves that the initiator receives at its address.
    pub(super) receives_since: Option<Time>,
    /// The traffic as long as nothing proves that the initiator receives at its address.
    pub(super) reflection: Reflection,
}

/// The state of an SA, named after what was sent or is awaited.
#[derive(Debug)]
pub(super) enum State {
    /// Initiator, main mode: the chosen proposal.
    Offered(Box<Offered>),
    /// Initiator, main mode: the responder's public value.
    KeysSent(Box<KeysSent>),
    /// Initiator, main mode: the responder's identity and proof.
    IdentitySent(Box<IdentitySent>),
    /// Initiator, aggressive mode: everything of the responder.
    Introduced(Box<Introduced>),
    /// Responder, main mode: the initiator's public value.
    AwaitingKeys(Box<AwaitingKeys>),
    /// Responder, main mode: the initiator's identity and proof.
    AwaitingIdentity(Box<AwaitingIdentity>),
    /// Responder, aggressive mode: the initiator's proof.
    AwaitingProof(Box<AwaitingProof>),
    /// Responder, aggressive mode: waits until then without further processing; the initiator's public value was invalid, which cost a
    /// key pair to detect.
    Unusable(Time),
    /// Both: anything.
    Established(Box<Established>),
    /// To be forgotten.
    Gone,
}

impl State {
    pub(super) const fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Gone)
    }

    /// Whether we are about to set it up, and have not authenticated the responder.
    pub(super) const fn is_attempt(&self) -> bool {
        matches!(self, Self::Offered(_) | Self::KeysSent(_) | Self::IdentitySent(_) | Self::Introduced(_))
    }

    /// The keys of an unfinished phase 1, and the IV from which its exchanges start.
    fn keyed(&self) -> Option<(&Keys, Iv)> {
        match self {
            Self::IdentitySent(wait) => Some((&wait.keyed.keys, wait.keyed.iv)),
            Self::AwaitingProof(wait) => Some((&wait.keyed.keys, wait.keyed.iv)),
            _ => None,
        }
    }

    /// When an established SA last received from its peer.
    pub(super) fn heard(&self) -> Option<Time> {
        match self {
            Self::Established(sa) => Some(sa.heard()),
            _ => None,
        }
    }

    /// The identity that the peer claims, as long as it is unauthenticated.
    pub(super) fn claimed(&self) -> Option<&Identity> {
        match self {
            Self::AwaitingProof(wait) => Some(&wait.identity),
            _ => None,
        }
    }
}

impl Core {
    pub(super) const fn id(&self) -> SaId {
        SaId(self.cookie)
    }

    /// CKY-I and CKY-R.
    pub(super) const fn cookies(&self) -> (u64, u64) {
        match self.role {
            Role::Initiator => (self.cookie, self.peer_cookie),
            Role::Responder => (self.peer_cookie, self.cookie),
        }
    }

    /// Both cookies as in the SPI of notifications.
    pub(super) fn cookie_bytes(&self) -> [u8; 16] {
        let (initiator, responder) = self.cookies();
        (u128::from(initiator) << 64 | u128::from(responder)).to_be_bytes()
    }

    pub(super) fn connection(&self, env: &Env<'_, '_>) -> Arc<Connection> {
        self.terms.clone().unwrap_or_else(|| env.shared.connection(self.connection))
    }

    /// The last message of aggressive mode has no answer: until the peer sends something else, it may not have accepted it.
    pub(super) const fn is_unconfirmed(&self) -> bool {
        self.role.is_initiator() && self.last.is_some()
    }

    /// Whether both cookies of a header match; an initiator learns the responder's from its first answer.
    fn fits(&self, header: &Header) -> bool {
        let (ours, theirs) = match self.role {
            Role::Initiator => (header.initiator_spi, header.responder_spi),
            Role::Responder => (header.responder_spi, header.initiator_spi),
        };
        ours == self.cookie && (self.peer_cookie == theirs || self.peer_cookie == 0)
    }
}

impl Sa {
    pub(super) fn new(core: Core, state: State) -> Box<Self> {
        Box::new(Self { core, state, armed: None, half_open: None, listed: None })
    }

    pub(super) const fn cookie(&self) -> u64 {
        self.core.cookie
    }

    /// Marks it as half open with this place in the table.
    pub(super) fn half_open(mut self: Box<Self>, place: Place) -> Box<Self> {
        self.half_open = Some(place);
        self
    }

    /// Records what must be cleaned up if it does not come back into the tables.
    pub(super) fn lend(&self, lent: &mut Lent) {
        match &self.state {
            State::Established(sa) => {
                lent.leaves(self.core.id(), self.half_open, !sa.is_unannounced(), sa.children());
            }
            _ => lent.leaves(self.core.id(), self.half_open, false, std::iter::empty()),
        }
    }

    /// The SA that it is to replace, but has not replaced yet.
    pub(super) fn replaces(&self) -> Option<u64> {
        match &self.state {
            State::Established(sa) => sa.replaces(),
            _ => self.core.replaces.as_ref().map(|old| old.cookie),
        }
    }

    /// Its authenticated peer.
    pub(super) fn peer(&self) -> Option<&Identity> {
        match &self.state {
            State::Established(sa) => Some(sa.peer()),
            _ => None,
        }
    }

    /// Whether the first message with this fingerprint started it, and nothing has arrived since.
    pub(super) fn was_begun_by(&self, fingerprint: Fingerprint) -> bool {
        self.core.last.as_ref().is_some_and(|last| last.answers(fingerprint))
    }

    /// A message that we have answered was retransmitted.
    pub(super) fn repeat(&mut self, step: &Step<'_>, env: &mut Env<'_, '_>) {
        if let Some(last) = &mut self.core.last {
            self.core.reflection.received(step.message.len());
            let is_unproved = self.state.is_unproved();
            if !last.demand() || is_unproved && !self.core.reflection.repeats(last.packet.bytes.len()) {
                return env.discard("answered often enough");
            }
            env.transmit(Route { remote: step.route.remote, ..self.core.route }, &last.packet, true);
        }
    }

    /// Handles a message whose header contains our cookie.
    pub(super) fn on_message(&mut self, step: &Step<'_>, env: &mut Env<'_, '_>) {
        let header = step.header;
        if !self.core.fits(header) {
            return env.discard("unknown cookies");
        }
        match (header.exchange, header.flags.is_encrypted()) {
            (IDENTITY_PROTECTION | AGGRESSIVE, _) if header.message_id == 0 => self.on_phase1(step, env),
            (INFORMATIONAL, false) => self.on_clear_informational(step, env),
            // RFC 2409 §5.5, §5.7: everything under an ISAKMP SA is encrypted.
            (QUICK_MODE, false) => env.discard("not encrypted"),
            (QUICK_MODE | INFORMATIONAL, true) if header.message_id != 0 => self.on_protected(step, env),
            _ => env.discard("unexpected exchange"),
        }
    }

    fn on_phase1(&mut self, step: &Step<'_>, env: &mut Env<'_, '_>) {
        if self.core.last.as_ref().is_some_and(|last| last.answers(step.fingerprint)) {
            return self.repeat(step, env);
        }
        let main = step.header.exchange == IDENTITY_PROTECTION;
        let encrypted = step.header.flags.is_encrypted();
        let core = &mut self.core;
        self.state = match self.state.take() {
            State::Offered(wait) if main && !encrypted => wait.on_message(step, core, env),
            State::KeysSent(wait) if main && !encrypted => wait.on_message(step, core, env),
            State::IdentitySent(wait) if main && encrypted => wait.on_message(step, core, env),
            State::Introduced(wait) if !main && !encrypted => wait.on_message(step, core, env),
            State::AwaitingKeys(wait) if main && !encrypted => wait.on_message(step, core, env),
            State::AwaitingIdentity(wait) if main && encrypted => wait.on_message(step, core, env),
            State::AwaitingProof(wait) if !main => wait.on_message(step, core, env),
            state => {
                env.discard("unexpected message");
                state
            }
        };
    }

    /// RFC 2408 §5.14: an unauthenticated notification is only a hint as long as there are no keys.
    fn on_clear_informational(&mut self, step: &Step<'_>, env: &mut Env<'_, '_>) {
        let error = step.read().ok().and_then(|inbound| inbound.error());
        match error {
            Some(error) if !matches!(self.state, State::Established(_)) => {
                self.core.refuse_later(Reason::Refused(error.0), None, env);
            }
            _ => env.discard("not encrypted"),
        }
    }

    fn on_protected(&mut self, step: &Step<'_>, env: &mut Env<'_, '_>) {
        let core = &mut self.core;
        self.state = match self.state.take() {
            State::Established(sa) => sa.on_message(step, core, env),
            state => match refusal(&state, step, env) {
                Some(reason) => doubt::end_as_told(core, reason, state.claimed().cloned(), env),
                None => {
                    env.discard("no keys");
                    state
                }
            },
        };
    }

    /// The owner wants something.
    pub(super) fn on_task(&mut self, task: Task, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.on_task(task, &mut self.core, env),
            state => {
                env.discard("the SA is not established");
                state
            }
        };
    }

    /// Whether the owner does not know of it.
    pub(super) fn is_unannounced(&self) -> bool {
        matches!(&self.state, State::Established(sa) if sa.is_unannounced())
    }

    /// What it waits for next, and until when.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let at = |at: Option<Time>, why| at.map(|at| Deadline { at, why });
        if let State::Established(sa) = &self.state {
            return sa.deadline();
        }
        let refused = at(self.core.refusal.as_ref().map(|refusal| refusal.until), "phase 1 was refused");
        let again = self.core.last.as_ref().and_then(Sent::deadline).filter(|_| refused.is_none());
        let own = at(self.state.expires(), "half-open SA expires");
        [refused, at(again, "ike retransmission"), own].into_iter().fold(None, Deadline::earlier)
    }

    /// Handles a deadline.
    pub(super) fn on_tick(&mut self, env: &mut Env<'_, '_>) {
        let now = env.now();
        if let State::Established(_) = &self.state {
            let State::Established(sa) = self.state.take() else { return };
            self.state = sa.on_tick(&mut self.core, env);
            return;
        }
        let refusal = self.core.refusal.as_ref().filter(|refusal| refusal.until <= now);
        if let Some(reason) = refusal.map(|refusal| refusal.reason) {
            self.notify_peer(reason, env);
            self.state = doubt::end(&self.state, &self.core, reason, env);
        } else if self.state.expires().is_some_and(|at| at <= now) {
            self.expire(env);
        } else if self.core.refusal.is_none() {
            self.retransmit(env);
        }
    }

    /// Tells the peer why the SA fails, unless the peer said so itself.
    fn notify_peer(&mut self, reason: Reason, env: &mut Env<'_, '_>) {
        let core = &mut self.core;
        match &self.state {
            _ if matches!(reason, Reason::Refused(_)) => {}
            State::AwaitingIdentity(wait) => wait.refuse(reason, core, env),
            State::AwaitingProof(wait) => wait.refuse(reason, core, env),
            State::Introduced(wait) => wait.refuse(reason, core, env),
            State::IdentitySent(_) => tell_in_clear(core, notify_of(reason), env),
            _ => {}
        }
    }

    fn retransmit(&mut self, env: &mut Env<'_, '_>) {
        let half_open = self.is_half_open();
        let Some(last) = &mut self.core.last else { return };
        let mut timers = env.shared.config.retransmission;
        // The initiator's address may be forged.
        timers.tries = if half_open { timers.tries.min(UNASKED_MAX) } else { timers.tries };
        let reflection = &mut self.core.reflection;
        match last.tick(env.now(), &timers) {
            Due::NotYet => {}
            Due::Again if self.state.is_unproved() && !reflection.repeats(last.packet.bytes.len()) => {
                last.settle();
            }
            Due::Again => env.transmit(self.core.route, &last.packet, true),
            // A responder waits for the lifetime of half-open SAs.
            Due::GiveUp if half_open => last.settle(),
            Due::GiveUp => self.state = doubt::end(&self.state, &self.core, Reason::Timeout, env),
        }
    }
}

/// RFC 2409 §5.7: an authenticated error notification in phase 1.
fn refusal(state: &State, step: &Step<'_>, env: &mut Env<'_, '_>) -> Option<Reason> {
    let (keys, iv) = state.keyed()?;
    let iv = iv.of_exchange(env.cx.crypto, keys, step.header.message_id);
    let opened = protect::open(step.header, step.message, keys, iv, env.cx.crypto).ok()?;
    let inbound = Inbound::new(opened.payloads()).ok()?;
    let (hash, covered) = inbound.leading_hash()?;
    let rest = opened.plaintext().get(covered)?;
    let expected = keys::hash_1(env.cx.crypto, keys, step.header.message_id, rest);
    let error = inbound.error().filter(|_| expected.matches(hash))?;
    Some(Reason::Refused(error.0))
}
