//! One association: what all its states share, and the routing of packets to the state that waits for them.
//! Read RFC 7401 §4.4.2 and §4.4.3 first.

use std::sync::Arc;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Addr;

use crate::aka::{AwaitsCard, AwaitsResponse, AwaitsVector, ResponseSent};
use crate::closing::{self, Closed, Closing};
use crate::endpoint::{Env, Key};
use crate::established::{Established, Keepalive, Standing, Task};
use crate::event::{self, Answer, AssociationId, ChildSa, Event, Reason, Refused, Vector};
use crate::hit::Hit;
use crate::identity::HostIdentity;
use crate::initiator::{I1Sent, I2Sent};
use crate::number::{NotifyType, PacketType, ParameterType};
use crate::outgoing::{Due, Outgoing, Retry, Route};
use crate::phase;
use crate::wire::Packet;
use crate::wire::header::CHECKSUM_AT;
use crate::wire::update::Notification;

/// An association, from its first packet to its last.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) core: Core,
    pub(crate) state: State,
    /// Under which key the endpoint finds it.
    pub(crate) filed: Key,
    /// When the endpoint's timer for it is set.
    pub(crate) armed: Option<Time>,
}

/// What does not change from state to state.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) id: AssociationId,
    /// Who we are.
    pub(crate) own: Arc<HostIdentity>,
    /// Initiator: whose subscription is proved in a diet exchange with AKA.
    pub(crate) subscriber: Option<Arc<[u8]>>,
    pub(crate) local: Hit,
    /// The peer's HIT; in opportunistic mode none until R1 has come.
    pub(crate) peer: Hit,
    /// The owner has not said who the peer is.
    pub(crate) is_opportunistic: bool,
    pub(crate) initiator: bool,
    pub(crate) route: Route,
    /// SPIs that are ours to give back.
    pub(crate) spis: Vec<u32>,
    /// When it came up, or when the peer's traffic was last heard.
    pub(crate) heard: Time,
}

impl Core {
    pub(crate) fn take_spi(&mut self, env: &mut Env<'_, '_>) -> u32 {
        let spi = env.shared.take_spi();
        self.spis.push(spi);
        spi
    }

    pub(crate) fn give_back(&mut self, spi: u32, env: &mut Env<'_, '_>) {
        self.spis.retain(|known| *known != spi);
        env.shared.give_back(spi);
    }

    pub(crate) fn fails(&self, reason: Reason, env: &mut Env<'_, '_>) -> State {
        env.emit(Event::Failed(self.id, reason));
        State::Gone
    }
}

/// What an association waits for.
#[derive(Debug)]
pub(crate) enum State {
    /// Initiator: R1.
    I1Sent(Box<I1Sent>),
    /// Initiator: R2.
    I2Sent(Box<I2Sent>),
    /// Initiator: what the card says.
    AwaitsCard(Box<AwaitsCard>),
    /// Initiator: the result of AKA.
    ResponseSent(Box<ResponseSent>),
    /// Responder: the HSS.
    AwaitsVector(Box<AwaitsVector>),
    /// Responder: what the card says.
    AwaitsResponse(Box<AwaitsResponse>),
    /// Both: anything. R2-SENT of RFC 7401 is part of it, for its only difference is an answer that may be repeated.
    Established(Box<Established>),
    /// CLOSE_ACK.
    Closing(Box<Closing>),
    /// Nothing but a repeated CLOSE.
    Closed(Box<Closed>),
    /// To be forgotten.
    Gone,
}

impl State {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Gone)
    }

    /// The packet that waits for its answer.
    fn wait(&mut self) -> Option<&mut Wait> {
        Some(match self {
            Self::I1Sent(wait) => &mut wait.wait,
            Self::I2Sent(wait) => &mut wait.wait,
            Self::ResponseSent(wait) => &mut wait.wait,
            Self::Closing(wait) => &mut wait.wait,
            _ => return None,
        })
    }

    /// Whether its owner knows it as one that is up.
    pub(crate) const fn is_up(&self) -> bool {
        matches!(self, Self::Established(_))
    }

    /// Whether something is still to come of it.
    pub(crate) const fn is_under_way(&self) -> bool {
        !matches!(self, Self::Established(_) | Self::Closed(_) | Self::Gone)
    }

    /// Whether it is an initiator's whose exchange is not over.
    pub(crate) const fn is_initiating(&self) -> bool {
        matches!(self, Self::I1Sent(_) | Self::I2Sent(_))
    }
}

/// A packet by which it is known when it comes again; strangers can make one that looks like it, and get the answer that
/// its sender got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

/// Where the checksum stands in the first eight octets of a packet; it depends on the addresses.
const CHECKSUM: u64 = 0xffff << (8 * (6 - CHECKSUM_AT));

impl Fingerprint {
    pub(crate) fn of(packet: &Packet<'_>) -> Self {
        // FNV-1a, 64 bit, with eight octets at a time: packets have whole ones.
        let mut words = packet.bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word));
        let first = words.next().map(|word| word & !CHECKSUM);
        Self(first.into_iter().chain(words).fold(0xcbf2_9ce4_8422_2325, |hash, word| {
            (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
        }))
    }
}

/// An answer is repeated so often at the most. A peer that lost each of them would have given up; and whoever kept the packet cannot
/// have more of them sent to somebody else.
const REPEATS_MAX: u32 = 16;

/// The answer to a packet, for when it comes again.
#[derive(Debug)]
pub(crate) struct Repeat {
    to: Fingerprint,
    answer: Outgoing,
    repeated: u32,
}

impl Repeat {
    pub(crate) const fn new(to: Fingerprint, answer: Outgoing) -> Self {
        Self { to, answer, repeated: 0 }
    }

    /// Whether that was a repeated packet, which has got its answer again.
    pub(crate) fn answers(&mut self, packet: &Packet<'_>, route: Route, env: &mut Env<'_, '_>) -> bool {
        let is_repeated = self.to == Fingerprint::of(packet);
        if is_repeated && self.repeated == REPEATS_MAX {
            env.discard("answered too often");
        } else if is_repeated {
            self.repeated += 1;
            env.transmit(route, &self.answer, true);
        }
        is_repeated
    }
}

/// A packet that waits for its answer.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) packet: Outgoing,
    pub(crate) retry: Retry,
    /// What somebody told in the peer's name meanwhile.
    hint: Option<NotifyType>,
    /// What stood in the way of the last answer, which may not have been the peer's.
    pub(crate) doubt: Option<Reason>,
}

impl Wait {
    /// Sends a packet for which there will be an answer.
    pub(crate) fn send(packet: Outgoing, route: Route, env: &mut Env<'_, '_>) -> Self {
        env.transmit(route, &packet, false);
        let retry = Retry::begin(env.now(), &env.shared.config.retransmission);
        Self { packet, retry, hint: None, doubt: None }
    }

    /// The timer: whether it is given up.
    pub(crate) fn is_over(&mut self, route: Route, env: &mut Env<'_, '_>) -> bool {
        match self.retry.due(env.now(), &env.shared.config.retransmission) {
            Due::NotYet => false,
            Due::Again => {
                env.transmit(route, &self.packet, true);
                false
            }
            Due::GiveUp => true,
        }
    }

    /// Why it was given up.
    pub(crate) fn reason(&self) -> Reason {
        self.doubt.or(self.hint.map(Reason::Refused)).unwrap_or(Reason::Timeout)
    }

    fn on_notify(&mut self, notification: &Notification<'_>, env: &Env<'_, '_>) {
        // draft-ietf-hip-dex-24 §4.1.2.1: I2_ACKNOWLEDGEMENT says in milliseconds how long R2 will take; never later than our
        // own last wait, for nothing has proved it.
        if let (NotifyType::I2_ACKNOWLEDGEMENT, &[high, low]) = (notification.kind, notification.data) {
            let timers = &env.shared.config.retransmission;
            let wait = Duration::from_millis(u16::from_be_bytes([high, low]).into()) + timers.first / 2;
            self.retry.postpone(env.now(), wait.min(timers.wait(timers.tries)));
        } else if notification.kind.0 < NotifyType::I2_ACKNOWLEDGEMENT.0 {
            self.hint = Some(notification.kind);
        }
    }
}

impl Association {
    pub(crate) fn new(core: Core, state: State) -> Box<Self> {
        let mut association =
            Box::new(Self { filed: Key::new(core.local, core.peer), core, state, armed: None });
        association.filed = association.key();
        association
    }

    /// By what packets find it.
    pub(crate) fn key(&self) -> Key {
        let at = (self.core.peer == Hit::NULL).then_some(self.core.route.remote);
        Key { local: self.core.local, peer: self.core.peer, at }
    }

    /// A packet other than I1 and I2 that names both its ends.
    pub(crate) fn on_packet(&mut self, packet: &Packet<'_>, route: Route, env: &mut Env<'_, '_>) {
        // RFC 9028 §4.7.1: what begins in UDP stays in UDP.
        if route.remote.ip_protocol() != self.core.route.remote.ip_protocol() {
            return env.discard("association of another transport");
        }
        if packet.header.packet_type == PacketType::NOTIFY {
            return self.on_notify(packet, env);
        }
        let core = &mut self.core;
        self.state = match (self.state.take(), packet.header.packet_type) {
            (State::I1Sent(wait), PacketType::R1) => wait.on_r1(core, packet, env),
            (State::I2Sent(wait), PacketType::R1) => wait.on_r1(core, packet, env),
            (State::I2Sent(wait), PacketType::R2) => wait.on_r2(core, packet, env),
            (State::ResponseSent(wait), PacketType::UPDATE) => wait.on_update(core, packet, env),
            (State::AwaitsResponse(wait), PacketType::UPDATE) => wait.on_update(core, (packet, route), env),
            (State::Established(sa), PacketType::UPDATE) => sa.on_update(core, packet, route, env),
            (State::Established(sa), PacketType::CLOSE) => sa.on_close_packet(core, packet, env),
            (State::Closing(wait), PacketType::CLOSE) => wait.on_close(core, packet, env),
            (State::Closing(wait), PacketType::CLOSE_ACK) => wait.on_close_ack(core, packet, env),
            (State::Closed(mut over), PacketType::CLOSE) => {
                if !over.repeat.answers(packet, core.route, env) {
                    env.discard("CLOSE of another association");
                }
                State::Closed(over)
            }
            (state, _) => {
                env.discard("unexpected packet type");
                state
            }
        };
    }

    // RFC 7401 §6.13: what NOTIFY says is informational, and changes no state.
    fn on_notify(&mut self, packet: &Packet<'_>, env: &mut Env<'_, '_>) {
        let parameter = packet.one(ParameterType::NOTIFICATION, "NOTIFICATION");
        let Ok(notification) = parameter.and_then(|parameter| Notification::read(parameter.contents)) else {
            return env.discard("malformed NOTIFICATION");
        };
        // RFC 9028 §4.10: that one is for the NATs on its way.
        if notification.kind == NotifyType::NAT_KEEPALIVE {
            return;
        }
        env.emit(Event::Notified(self.core.id, notification.kind));
        if self.is_refused(packet, &notification, env) {
            self.state = self.core.fails(Reason::Refused(notification.kind), env);
            return;
        }
        if let Some(wait) = self.state.wait() {
            wait.on_notify(&notification, env);
        }
    }

    /// Whether a responder refuses us, under the keys of the exchange. RFC 7401 knows no such NOTIFY before R2; the diet exchange
    /// with AKA ends with one.
    fn is_refused(
        &self,
        packet: &Packet<'_>,
        notification: &Notification<'_>,
        env: &mut Env<'_, '_>,
    ) -> bool {
        let (protection, peer) = match &self.state {
            State::I2Sent(wait) => (&wait.protection, &wait.peer),
            State::ResponseSent(wait) => (&wait.proved.protection, &wait.proved.peer),
            _ => return false,
        };
        let has_mac = packet.find(protection.exchange.mac_parameter()).is_some();
        let is_error = notification.kind.0 < NotifyType::I2_ACKNOWLEDGEMENT.0;
        has_mac && is_error && protection.check(packet, peer, env.cx.crypto).is_ok()
    }

    pub(crate) fn on_tick(&mut self, env: &mut Env<'_, '_>) {
        let route = self.core.route;
        if let Some(wait) = self.state.wait() {
            if wait.is_over(route, env) {
                let reason = wait.reason();
                self.end_of_wait(reason, env);
            }
            return;
        }
        let core = &mut self.core;
        self.state = match self.state.take() {
            State::AwaitsCard(wait) if wait.until <= env.now() => core.fails(Reason::AkaFailed, env),
            State::AwaitsVector(wait) if wait.until <= env.now() => wait.give_up(core, Reason::NoVector, env),
            State::AwaitsResponse(wait) if wait.until <= env.now() => core.fails(Reason::Timeout, env),
            State::Established(sa) => sa.on_tick(core, env),
            State::Closed(over) if over.until <= env.now() => State::Gone,
            state => state,
        };
    }

    /// The peer has not answered. Of an association that is being closed its owner knows the end already.
    fn end_of_wait(&mut self, reason: Reason, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Closing(_) => {
                env.emit(Event::CloseEnded(self.core.id, Some(reason)));
                State::Gone
            }
            _ => self.core.fails(reason, env),
        };
    }

    /// What it waits for until when.
    pub(crate) fn deadline(&self) -> Option<(Time, &'static str)> {
        Some(match &self.state {
            State::I1Sent(wait) => (wait.wait.retry.at(), "I1 again"),
            State::I2Sent(wait) => (wait.wait.retry.at(), "I2 again"),
            State::ResponseSent(wait) => (wait.wait.retry.at(), "UPDATE again"),
            State::AwaitsCard(wait) => (wait.until, "card"),
            State::AwaitsVector(wait) => (wait.until, "vector"),
            State::AwaitsResponse(wait) => (wait.until, "AKA response"),
            State::Established(sa) => return sa.deadline(&self.core),
            State::Closing(wait) => (wait.wait.retry.at(), "CLOSE again"),
            State::Closed(over) => (over.until, "closed"),
            State::Gone => return None,
        })
    }

    /// It ends at once, without a word to the peer.
    pub(crate) fn give_up(&mut self, reason: Reason, env: &mut Env<'_, '_>) {
        match self.state.take() {
            State::Established(sa) => {
                sa.standing.down(&mut self.core, env);
                env.emit(Event::Closed(self.core.id, reason));
            }
            State::Closing(_) => env.emit(Event::CloseEnded(self.core.id, Some(reason))),
            State::Closed(_) | State::Gone => {}
            _ => env.emit(Event::Failed(self.core.id, reason)),
        }
    }

    fn with_established(
        &mut self,
        env: &mut Env<'_, '_>,
        handle: impl FnOnce(Box<Established>, &mut Core, &mut Env<'_, '_>) -> State,
    ) {
        self.state = match self.state.take() {
            State::Established(sa) => handle(sa, &mut self.core, env),
            state => state,
        };
    }

    pub(crate) fn on_rekey(&mut self, env: &mut Env<'_, '_>) {
        self.with_established(env, |sa, core, env| sa.on_task(Task::Rekey, core, env));
    }

    pub(crate) fn on_readdress(&mut self, local: Addr, env: &mut Env<'_, '_>) {
        self.core.route.local = local;
        self.with_established(env, |mut sa, core, env| {
            env.cx.crypto.enter(phase::UPDATE);
            sa.standing.leave(local, env);
            sa.on_task(Task::Readdress(local), core, env)
        });
    }

    pub(crate) fn on_heard(&mut self, env: &mut Env<'_, '_>) {
        let now = env.now();
        self.core.heard = now;
        // RFC 7401 §4.4.3: data that comes ends R2-SENT.
        self.with_established(env, |mut sa, core, env| {
            sa.r2 = None;
            sa.prove_subscriber(core, env);
            State::Established(sa)
        });
    }

    pub(crate) fn on_close(&mut self, reason: Reason, env: &mut Env<'_, '_>) {
        match self.state.take() {
            State::Established(sa) => self.state = closing::close(sa, &mut self.core, reason, env),
            State::Closing(wait) => self.state = State::Closing(wait),
            State::Closed(over) => self.state = State::Closed(over),
            State::Gone => {}
            _ => env.emit(Event::Failed(self.core.id, reason)),
        }
    }

    pub(crate) fn on_vector(&mut self, vector: Result<Box<Vector>, Refused>, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::AwaitsVector(wait) => wait.on_vector(&mut self.core, vector, env),
            state => state,
        };
    }

    pub(crate) fn on_answer(&mut self, answer: Answer, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::AwaitsCard(wait) => wait.on_answer(&mut self.core, answer, env),
            state => state,
        };
    }
}

/// The association is up: tells the owner, and gives its state.
pub(crate) fn up(
    core: &mut Core,
    (standing, child): (Standing, ChildSa),
    (r2, claimed): (Option<(Repeat, Time)>, Option<Vec<u8>>),
    env: &mut Env<'_, '_>,
) -> State {
    core.heard = env.now();
    let established = event::Established {
        association: core.id,
        initiator: core.initiator,
        local: core.local,
        peer: core.peer,
        remote: core.route.remote,
    };
    env.emit(Event::Established(Box::new(established)));
    child.reveal(env.cx.trace);
    env.emit(Event::ChildUp(core.id, Box::new(child)));
    let unused_after = env.shared.config.unused_after;
    let keepalive = Keepalive::of(core, env);
    State::Established(Box::new(Established {
        standing,
        r2,
        since: env.now(),
        unused_after,
        keepalive,
        claimed,
    }))
}
