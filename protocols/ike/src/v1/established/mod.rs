//! An ISAKMP SA in use: quick modes and informational exchanges, side by side, until one end closes it or it has lived
//! long enough. Read RFC 2409 §5.5, §5.7, RFC 3706 first.

mod child;
mod estate;
mod informational;
mod quick;
mod refused;
mod succession;

use std::collections::BTreeSet;
use std::time::Duration;

use keytoll_engine::crypto::Phase;
use keytoll_engine::{Deadline, Time};

use super::doubt::end_as_told;
use super::endpoint::{Deed, Env};
use super::inbound::Inbound;
use super::initiator;
use super::keys::Keys;
use super::number::{INFORMATIONAL, Phase1Attribute, QUICK_MODE};
use super::phase1::{Extensions, Step};
use super::proposal;
use super::protect::{self, Iv};
use super::sa::{Core, State};
use super::transmission::{Due, Packet, Sent};
use super::wire::message::push;
use super::wire::{Delete, Notify, Payload};
use crate::config::Reauthenticate;
use crate::event::{self, Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::wire::Identity;

pub(super) use child::Child;
pub(super) use estate::Estate;

use quick::{Answer, Offer};

/// A peer may have so many quick modes begun and not finished.
const ANSWERS_MAX: usize = 8;

/// So many refusals of its quick modes are kept, to be said again: the latest.
const REFUSALS_MAX: usize = 8;

/// All message ids of an SA are remembered, that no exchange can be played again: so many may it have, then it ends.
const SEEN_MAX: usize = 65_536;

/// How long IPsec SAs that were replaced still receive when both sides know that they are: time for what is under way to
/// arrive.
const OVERLAP: Duration = Duration::from_secs(5);

/// How long they are kept by who sent the last message of quick mode, if the peer neither uses the new ones nor asks for that
/// message again: by then it would have done so four times.
const UNHEARD: Duration = Duration::from_secs(60);

/// How long a responder waits beyond the lifetime before it closes the SA itself: time for the initiator to do so.
const LIFETIME_GRACE: Duration = Duration::from_secs(30);

/// So long the owner hears nothing of an SA that may have come in another one's place: whoever authenticated again closes
/// the old one as soon as it knows that we have the new one, whoever wants one more SA begins a quick mode.
const ANNOUNCEMENT_WAIT: Duration = Duration::from_secs(5);

/// So long an SA waits before it takes the place of another one: strongSwan moves the children when it is done with the new
/// phase 1, in a thread of its own, and a DELETE of the old SA that is there first takes them with it.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(2);

/// What could not be replaced is tried again after half of the time that it has left, if that is not less than this.
const RETRY_MIN: Duration = Duration::from_secs(10);

/// Who begins replaces its SAs after this part of their lifetime; who answered only if nobody has by the other part.
const REKEY_PERCENT: u32 = 90;
const REKEY_PERCENT_OF_RESPONDER: u32 = 95;

/// An ISAKMP SA in use.
#[derive(Debug)]
pub(super) struct Established {
    keys: Keys,
    /// The last block of phase 1.
    iv: Iv,
    peer: Identity,
    extensions: Extensions,
    /// Ours is shorter than the peer knows (RFC 2407 §4.6.3.1).
    untold_lifetime: Option<Duration>,
    children: Vec<Child>,
    exchanges: Vec<Exchange>,
    /// Message ids of all exchanges there have been, ours and the peer's.
    seen: BTreeSet<u32>,
    /// Our answer to the last R-U-THERE.
    acknowledged: Option<Sent>,
    rekey_at: Option<Time>,
    expires_at: Time,
    since: Time,
    /// When the peer last proved that it lives, and after how much silence it is asked to.
    heard: Time,
    liveness_after: Option<Duration>,
    lifetime: Duration,
    /// The owner does not know of it yet, until then at the latest.
    announced_at: Option<Time>,
    /// It is about to be put in the place of another one, or to be closed.
    is_taking_over: bool,
    /// The last SA whose place it took.
    heir_of: Option<u64>,
    /// RFC 3706 §5.4: of our last R-U-THERE, and of the peer's.
    sequences: (Option<u32>, Option<u32>),
}

/// What phase 1 leaves behind.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) keys: Keys,
    pub(super) iv: Iv,
    pub(super) peer: Identity,
    pub(super) lifetime: Duration,
    pub(super) tells_lifetime: bool,
    pub(super) extensions: Extensions,
}

/// An exchange that is not over, or may have to be repeated.
#[derive(Debug)]
struct Exchange {
    id: u32,
    /// Of its next message.
    iv: Iv,
    sent: Sent,
    wait: Wait,
}

/// What an exchange waits for.
#[derive(Debug)]
enum Wait {
    /// Message 2 of quick mode.
    Offer(Box<Offer>),
    /// The same, until then: the peer's offer came first, and ours is not repeated.
    Withdrawn(Time, Box<Offer>),
    /// Message 3 of quick mode.
    Answer(Box<Answer>),
    /// Nothing: message 3, about the child that receives on this SPI, is repeated until then, if message 2 is.
    Confirmed(Time, u32),
    /// CONNECTED, for which the peer has asked us to wait; until then at the longest, for nobody repeats it.
    Connected(Time, Box<Answer>),
    /// Nothing: the offer was refused, and is again until then, if it is repeated.
    Refused(Time),
    /// R-U-THERE-ACK.
    Probe,
}

/// Something the owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    NewChild,
    RekeyChild(u32),
    RekeyIke,
    DeleteChild(u32),
    ChildHeard(u32),
    Delete(Reason),
    Probe,
}

/// What RESPONDER-LIFETIME says about the ISAKMP SA.
pub(super) fn told_lifetime(inbound: &Inbound<'_>) -> Option<Duration> {
    let told = |notify: &Notify<'_>| {
        notify.kind == NotifyType::RESPONDER_LIFETIME && notify.protocol == ProtocolId::IKE
    };
    let notify = inbound.notifies().find(told)?;
    let (life_type, duration) = (Phase1Attribute::LIFE_TYPE.0, Phase1Attribute::LIFE_DURATION.0);
    proposal::read_lifetime(notify.data, life_type, duration)
}

fn percent(lifetime: Duration, percent: u32) -> Duration {
    lifetime.saturating_mul(percent) / 100
}

/// How long the owner hears nothing of an SA that the peer may not know: the exchange that confirms it is given up before.
fn patience(env: &Env<'_, '_>) -> Duration {
    env.shared.config.retransmission.total() + ANNOUNCEMENT_WAIT
}

/// When to try again to replace what ends then.
fn retry_at(now: Time, expires_at: Time) -> Option<Time> {
    let wait = expires_at.since(now) / 2;
    (wait >= RETRY_MIN).then_some(now + wait)
}

impl Established {
    /// The SA both sides have just authenticated; tells the owner.
    pub(super) fn begin(begun: Begun, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let connection = core.connection(env);
        // An initiator of main mode has nothing to repeat any more.
        core.last.take_if(|last| last.deadline().is_some());
        core.refusal = None;
        let (now, initiator) = (env.now(), core.role.is_initiator());
        let Begun { keys, iv, peer, lifetime, tells_lifetime, extensions } = begun;
        let own = match connection.reauthenticate {
            // The lifetime agreed on may be shorter than the margin: half of it is always lived.
            Reauthenticate::Ahead(margin) if initiator => Some(lifetime - margin.min(lifetime / 2)),
            Reauthenticate::Ahead(_) | Reauthenticate::OnDemand => None,
        };
        // Who answered waits longer, or both would begin at once.
        let share = if initiator { REKEY_PERCENT } else { REKEY_PERCENT_OF_RESPONDER };
        let rekey_after = connection
            .rekey_after
            .map(|after| percent(after, share * 100 / REKEY_PERCENT).min(percent(lifetime, share)));
        let doubt = if core.is_unconfirmed() { patience(env) } else { Duration::ZERO };
        let mut sa = Box::new(Self {
            keys,
            iv,
            peer,
            extensions,
            untold_lifetime: tells_lifetime.then_some(lifetime),
            children: Vec::with_capacity(1),
            exchanges: Vec::with_capacity(1),
            seen: BTreeSet::new(),
            acknowledged: None,
            rekey_at: rekey_after.or(own).map(|after| now + after),
            expires_at: now + lifetime + if initiator { Duration::ZERO } else { LIFETIME_GRACE },
            since: now,
            heard: now,
            liveness_after: connection.liveness_after.filter(|_| extensions.dpd),
            lifetime,
            announced_at: Some(now + doubt),
            is_taking_over: false,
            heir_of: None,
            sequences: (None, None),
        });
        match core.replaces {
            // The answer confirms that the peer knows it, too.
            Some(_) if core.is_unconfirmed() && extensions.dpd => sa.probe(core, env),
            Some(_) => sa.is_agreed(core, env),
            None if initiator => sa.stand_alone(core, env),
            None => {
                let peer = env.shared.peer(core, &sa.peer);
                env.shared.deeds.push_back(Deed::Announce { new: core.cookie, peer });
            }
        }
        State::Established(sa)
    }

    /// It takes nobody's place: the owner hears of it, if need be when the peer has confirmed it, and there will be a child.
    pub(super) fn stand_alone(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        self.is_taking_over = false;
        if !core.is_unconfirmed() {
            self.announce_now(core, env);
        }
        if core.connection(env).child.is_some() {
            self.offer(None, core, env);
        } else if core.is_unconfirmed() {
            self.probe(core, env);
        }
        // Nothing was asked that the peer could answer.
        if self.exchanges.is_empty() {
            self.announce_now(core, env);
        }
    }

    /// Both sides know that they have it.
    fn is_agreed(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        match core.replaces {
            Some(_) => (self.is_taking_over, self.announced_at) = (true, Some(env.now() + TAKE_OVER_WAIT)),
            None => self.announce_now(core, env),
        }
    }

    /// Tells the owner of it, now or later.
    pub(super) fn announce(&mut self, now: bool, core: &Core, env: &mut Env<'_, '_>) {
        if now {
            self.announce_now(core, env);
        } else {
            self.announced_at = Some(env.now() + ANNOUNCEMENT_WAIT);
        }
    }

    /// Nobody has said what it is for. An SA that we answered takes the place of whatever there was: strongSwan 5.9.8 moves
    /// children to a new SA and never closes the old one.
    fn nothing_came(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if core.role.is_initiator() || self.is_taking_over || !self.is_childless() {
            return self.announce_now(core, env);
        }
        let peer = env.shared.peer(core, &self.peer);
        env.shared.deeds.push_back(Deed::Succeed { new: core.cookie, peer });
    }

    /// Tells the owner of it, if nobody has: if it takes the place of another one, by doing so.
    fn announce_now(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if self.is_taking_over {
            let (new, peer) = (core.cookie, env.shared.peer(core, &self.peer));
            return env.shared.deeds.extend(core.replaces.map(|old| Deed::TakeOver { old, new, peer }));
        }
        if self.announced_at.take().is_none() {
            return;
        }
        env.emit(Event::Established(Box::new(event::Established {
            sa: core.id(),
            peer_spi: core.peer_cookie,
            connection: core.connection,
            initiator: core.role.is_initiator(),
            peer: Some(self.peer.clone()),
            claimed: self.peer.clone(),
            remote: core.route.remote,
            suite: *self.keys.suite(),
            auth_lifetime: Some(self.lifetime),
            address: None,
        })));
    }

    pub(super) const fn peer(&self) -> &Identity {
        &self.peer
    }

    /// Its children, by the SPIs that we receive on.
    pub(super) fn children(&self) -> impl Iterator<Item = u32> {
        self.children.iter().map(Child::inbound_spi)
    }

    /// Whether it has no children.
    pub(super) const fn is_childless(&self) -> bool {
        self.children.is_empty()
    }

    /// Whether the owner does not know of it.
    pub(super) const fn is_unannounced(&self) -> bool {
        self.announced_at.is_some()
    }

    /// Since when there is an SA.
    pub(super) const fn since(&self) -> Time {
        self.since
    }

    /// Whether we have only just begun it, and it has no children yet.
    pub(super) fn is_spare(&self, now: Time) -> bool {
        self.is_childless() && !self.is_unannounced() && now.since(self.since) < ANNOUNCEMENT_WAIT
    }

    /// Whether it has taken the place of this SA, as the last of those that it took.
    pub(super) fn is_heir_of(&self, old: u64) -> bool {
        self.heir_of == Some(old)
    }

    /// It takes the place of another SA, as the owner was told, with its children; what that one had asked for and not
    /// got is asked for again.
    pub(super) fn adopt(&mut self, old: u64, estate: Estate, core: &mut Core, env: &mut Env<'_, '_>) {
        (self.announced_at, self.is_taking_over, self.heir_of) = (None, false, Some(old));
        self.children.extend(estate.children);
        for rekeys in estate.offers {
            match rekeys {
                Some(spi) => self.rekey_child(spi, core, env),
                None => self.offer(None, core, env),
            }
        }
    }

    /// A message under the SA: of an exchange we know, or the first of a new one.
    pub(super) fn on_message(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let id = step.header.message_id;
        if let Some(at) = self.exchanges.iter().position(|exchange| exchange.id == id) {
            let Exchange { sent, wait, .. } = &mut self.exchanges[at];
            if sent.answers(step.fingerprint) {
                let is_repeated = repeat(sent, core, env);
                if let Wait::Confirmed(_, spi) = *wait
                    && is_repeated
                {
                    self.predecessors(spi).for_each(|child| child.is_in_use(env.now()));
                }
                return State::Established(self);
            }
            self.on_next(at, step, core, env);
            return State::Established(self);
        }
        // RFC 2409 §5.5, §5.7: the message id is unique to the exchange; an old one is a replay, our own a reflection.
        if self.seen.contains(&id) {
            self.on_used_id(step, core, env);
            return State::Established(self);
        }
        if self.seen.len() >= SEEN_MAX {
            env.discard("too many exchanges under one SA");
            return State::Established(self);
        }
        if step.header.exchange == QUICK_MODE {
            self.on_offer(step, core, env);
            return State::Established(self);
        }
        self.on_informational(step, core, env)
    }

    /// A message of an exchange that is over: only R-U-THERE is answered again, and nothing else comes of it.
    fn on_used_id(&mut self, step: &Step<'_>, core: &Core, env: &mut Env<'_, '_>) {
        match &mut self.acknowledged {
            Some(sent) if sent.answers(step.fingerprint) => drop(repeat(sent, core, env)),
            _ => env.discard("message id used before"),
        }
    }

    /// An exchange has begun; one too many is the last, and a new SA must come before.
    fn remember(&mut self, id: u32, now: Time) {
        self.seen.insert(id);
        if self.seen.len() == SEEN_MAX / 2 {
            self.rekey_at = self.rekey_at.map(|at| at.min(now));
        }
        if self.seen.len() >= SEEN_MAX {
            self.expires_at = self.expires_at.min(now);
        }
    }

    /// The next message of a quick mode.
    fn on_next(&mut self, at: usize, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        let wait = &self.exchanges[at].wait;
        // RFC 2408 §3.1: the notification has the message id of its quick mode.
        if step.header.exchange == INFORMATIONAL && matches!(wait, Wait::Connected(..)) {
            return self.on_connected(at, step, core, env);
        }
        if step.header.exchange != QUICK_MODE {
            return env.discard("unexpected exchange");
        }
        match wait {
            Wait::Offer(_) | Wait::Withdrawn(..) => self.on_answer(at, step, core, env),
            Wait::Answer(_) => self.on_confirmation(at, step, core, env),
            Wait::Confirmed(..) | Wait::Connected(..) | Wait::Refused(_) | Wait::Probe => {
                env.discard("unexpected message");
            }
        }
    }

    /// An authentic message came.
    fn heard_from(&mut self, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        self.heard = env.now();
        if core.is_unconfirmed() {
            self.is_agreed(core, env);
        }
        // The peer is done with phase 1.
        core.last = None;
        // RFC 3947 §7: behind a NAT the peer's address may have changed.
        if core.nat.there {
            core.route.remote = step.route.remote;
        }
    }

    /// The owner wants something.
    pub(super) fn on_task(mut self: Box<Self>, task: Task, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        match task {
            Task::NewChild => self.offer(None, core, env),
            Task::RekeyChild(spi) => self.rekey_child(spi, core, env),
            Task::RekeyIke => self.reauthenticate(core, env),
            Task::DeleteChild(spi) => self.delete_child(spi, core, env),
            Task::ChildHeard(spi) => self.predecessors(spi).for_each(|child| child.is_out_of_use(env.now())),
            Task::Delete(reason) => return self.delete(reason, core, env),
            Task::Probe => self.probe(core, env),
        }
        State::Established(self)
    }

    /// When the peer last said something under it.
    pub(super) const fn heard(&self) -> Time {
        self.heard
    }

    /// Once: either half of a pair may ask for it, and so may its lifetime and the peer.
    fn rekey_child(&mut self, spi: u32, core: &mut Core, env: &mut Env<'_, '_>) {
        let named = |child: &&Child| child.inbound_spi() == spi;
        let Some(child) = self.children.iter().find(named) else { return env.discard("no such child SA") };
        if child.is_replaced() || self.is_being_replaced(child.traffic()) {
            env.discard("the child is being replaced");
        } else {
            self.offer(Some(spi), core, env);
        }
    }

    /// IKEv1 has no other way to new keys for an ISAKMP SA than a new phase 1.
    fn reauthenticate(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        match initiator::replace(core, &self.peer, env) {
            Ok(born) => env.shared.born.push(born),
            Err(_) => self.is_not_replaced(env),
        }
    }

    /// The new phase 1 has failed: once more, while there is time.
    pub(super) fn is_not_replaced(&mut self, env: &Env<'_, '_>) {
        self.rekey_at = self.rekey_at.or_else(|| retry_at(env.now(), self.expires_at));
    }

    /// Tells the peer that we do not receive on this SPI any more.
    fn delete_child(&mut self, spi: u32, core: &Core, env: &mut Env<'_, '_>) {
        let Some(at) = self.children.iter().position(|child| child.inbound_spi() == spi) else {
            return env.discard("no such child SA");
        };
        self.children.remove(at);
        self.inform(&Payload::Delete(Delete::child(&spi.to_be_bytes())), core, env);
        env.emit(Event::ChildDown(core.id(), spi));
    }

    /// RFC 2408 §5.15: nobody confirms a DELETE, so that the SA ends with it.
    fn delete(mut self: Box<Self>, reason: Reason, core: &Core, env: &mut Env<'_, '_>) -> State {
        self.announce_now(core, env);
        let spis: Vec<u32> = self.children.iter().map(Child::inbound_spi).collect();
        for spi in spis {
            self.inform(&Payload::Delete(Delete::child(&spi.to_be_bytes())), core, env);
        }
        self.inform(&Payload::Delete(Delete::isakmp(&core.cookie_bytes())), core, env);
        // The owner has not heard of it.
        if !self.is_taking_over {
            Estate::of(*self).close(core.id(), reason, env);
        }
        State::Gone
    }

    /// Another SA takes its place: it is closed, and leaves what it had.
    pub(super) fn retire(mut self: Box<Self>, core: &Core, env: &mut Env<'_, '_>) -> Estate {
        self.inform(&Payload::Delete(Delete::isakmp(&core.cookie_bytes())), core, env);
        Estate::of(*self)
    }

    /// Sends an informational exchange.
    fn inform(&mut self, payload: &Payload<'_>, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        env.cx.crypto.enter(Phase::Informational);
        let packet = protect::informational(core, &self.keys, self.iv, |m| push(m, payload), env);
        self.remember(packet.id, env.now());
        env.transmit(core.route, &packet, false);
        packet
    }

    /// The peer is dead or closed it: nothing more is said.
    pub(super) fn lost(mut self: Box<Self>, reason: Reason, core: &Core, env: &mut Env<'_, '_>) -> State {
        if core.is_unconfirmed() && self.is_unannounced() {
            return end_as_told(core, reason, Some(self.peer), env);
        }
        if self.is_taking_over {
            env.discard("closed before it took a place");
            return State::Gone;
        }
        self.announce_now(core, env);
        Estate::of(*self).close(core.id(), reason, env);
        State::Gone
    }

    /// When a silent peer is to be asked whether it lives; not while it owes us an answer anyway.
    fn liveness_at(&self) -> Option<Time> {
        let busy = self.exchanges.iter().any(|exchange| exchange.sent.deadline().is_some());
        self.liveness_after.filter(|_| !busy).map(|after| self.heard + after)
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let at = |at: Option<Time>, why| at.map(|at| Deadline { at, why });
        let exchanges = self.exchanges.iter().filter_map(Exchange::deadline);
        let children = self.children.iter().filter_map(Child::deadline);
        [
            at(self.announced_at, "a new SA"),
            at(self.rekey_at, "ike rekey"),
            at(Some(self.expires_at), "ISAKMP SA lifetime"),
            at(self.liveness_at(), "liveness"),
        ]
        .into_iter()
        .chain(exchanges.map(Some))
        .chain(children.map(Some))
        .fold(None, Deadline::earlier)
    }

    pub(super) fn on_tick(mut self: Box<Self>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let now = env.now();
        if self.expires_at <= now {
            return self.delete(Reason::Lifetime, core, env);
        }
        if self.announced_at.is_some_and(|at| at <= now) {
            self.nothing_came(core, env);
        }
        self.tick_commitments(core, env);
        if self.tick_exchanges(core, env) {
            return self.lost(Reason::Timeout, core, env);
        }
        if self.rekey_at.take_if(|at| *at <= now).is_some() {
            // What the peer may not know of is not replaced.
            match core.is_unconfirmed() {
                true => self.rekey_at = retry_at(now, self.expires_at),
                false => self.reauthenticate(core, env),
            }
        }
        self.tick_children(core, env);
        if self.liveness_at().is_some_and(|at| at <= now) {
            self.heard = now;
            self.probe(core, env);
        }
        State::Established(self)
    }

    /// Repeats and forgets; true if the peer is dead.
    fn tick_exchanges(&mut self, core: &Core, env: &mut Env<'_, '_>) -> bool {
        let (now, timers) = (env.now(), env.shared.config.retransmission);
        let (mut dead, mut unheard, mut given_up) = (false, false, Vec::new());
        let unconfirmed = core.role.is_initiator() && self.children.is_empty();
        self.exchanges.retain_mut(|exchange| {
            if exchange.wait.is_over(now) {
                return false;
            }
            match exchange.sent.tick(now, &timers) {
                Due::NotYet => return true,
                Due::Again => {
                    // The last message of aggressive mode is ours, and nobody confirms it: it may be what was lost.
                    if let Some(last) = core.last.as_ref().filter(|_| unconfirmed) {
                        env.transmit(core.route, &last.packet, true);
                    }
                    match exchange.wait {
                        Wait::Probe => unheard = true,
                        _ => env.transmit(core.route, &exchange.sent.packet, true),
                    }
                    return true;
                }
                Due::GiveUp => {}
            }
            // RFC 2409 §5.5: an initiator that never confirms has no SA, and may be alive.
            match &exchange.wait {
                Wait::Answer(answer) if answer.is_outdated => {}
                Wait::Answer(_) => env.emit(Event::ChildFailed(core.id(), Reason::Timeout)),
                Wait::Offer(offer) => given_up.push(offer.rekeys()),
                _ => dead = true,
            }
            false
        });
        if !given_up.is_empty() && !dead {
            given_up.into_iter().for_each(|rekeys| self.offer_failed(rekeys, Reason::Timeout, core, env));
            dead = !self.may_live(core);
            if !dead {
                self.probe(core, env);
            }
        }
        if unheard && !dead {
            self.probe_again(core, env);
        }
        if self.exchanges.is_empty() {
            self.exchanges.shrink_to_fit();
        }
        dead
    }

    /// A peer that leaves an offer unanswered may live, if it can be asked. Whoever has never said anything under this SA
    /// does not know of it.
    const fn may_live(&self, core: &Core) -> bool {
        self.extensions.dpd && core.last.is_none()
    }

    fn tick_children(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        let over: Vec<u32> =
            self.children.iter().filter(|child| child.is_over(now)).map(Child::inbound_spi).collect();
        over.into_iter().for_each(|spi| self.delete_child(spi, core, env));
        let due: Vec<u32> = self.children.iter_mut().filter_map(|child| child.take_due(now)).collect();
        due.into_iter().for_each(|spi| self.rekey_child(spi, core, env));
    }
}

/// What it answers came again: whether it goes out again.
fn repeat(sent: &mut Sent, core: &Core, env: &mut Env<'_, '_>) -> bool {
    let is_due = sent.demand();
    if is_due {
        env.transmit(core.route, &sent.packet, true);
    } else {
        env.discard("answered often enough");
    }
    is_due
}

impl Wait {
    /// Whether nothing more can come of it.
    fn is_over(&self, now: Time) -> bool {
        match *self {
            Self::Confirmed(until, _) | Self::Refused(until) | Self::Withdrawn(until, _) => until <= now,
            _ => false,
        }
    }
}

impl Exchange {
    fn deadline(&self) -> Option<Deadline> {
        match self.wait {
            Wait::Connected(at, _) => Some(Deadline { at, why: "CONNECTED" }),
            Wait::Confirmed(at, _) | Wait::Refused(at) | Wait::Withdrawn(at, _) => {
                Some(Deadline { at, why: "quick mode is forgotten" })
            }
            _ => self.sent.deadline().map(|at| Deadline { at, why: "ike retransmission" }),
        }
    }
}
