//! The server layer: requests the identity, proposes methods until one is accepted, reports the result. Read RFC 3748 §2, §4
//! and §5.1–5.3 first, and RFC 4137 §6 for the state machine (the backend's, which can continue after an Identity response
//! that somebody else requested).
//!
//! ```text
//!   Fresh --begin--> AskedIdentity --response--.      .--Nak: the next method--.
//!     '--Identity response, or one is known----+--> Running ------------------'
//!                                                    |  '--question--> paused --answer--> Running
//!                                                    |--the method is done--> Accepted --admit--> over
//!                                                    '--it failed--> over
//! ```
//!
//! The lower layer retransmits requests; a duplicate response has an identifier that is no longer expected.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_engine::Ctx;

use crate::discard;
use crate::method::{Keys, Limits, NAME_BYTES_MAX, Reason, ServerMethod, ServerOffer, ServerStep, Turn};
use crate::packet::{self, Message, MethodType, Packet};
use crate::question::{Answer, Question};

/// What all conversations of a server share.
#[derive(Clone)]
pub struct ServerConfig {
    /// The methods it proposes, in this order.
    pub methods: Vec<Arc<dyn ServerOffer>>,
    /// Limits of a conversation.
    pub limits: Limits,
}

/// One conversation on the server's side.
pub struct Server {
    config: Arc<ServerConfig>,
    identity: Vec<u8>,
    tried: Option<Tried>,
    /// Of the request that is out.
    identifier: u8,
    state: State,
    rounds: u16,
}

/// A password attempt of a peer, right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The user name.
    pub user: Vec<u8>,
    /// Whether inside a tunnel.
    pub is_inside: bool,
}

/// The result of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerOutput {
    /// Send this.
    Send(Vec<u8>),
    /// Find the answer and pass it to [`Server::answer`].
    Ask(Question),
    /// Nothing; a fact records the reason.
    Ignored,
    /// The peer is accepted.
    Success(Accepted),
    /// The peer is rejected.
    Failure {
        /// The Failure to send.
        packet: Vec<u8>,
        /// Why.
        reason: Reason,
    },
}

/// A conversation that succeeded.
#[derive(Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The Success to send.
    pub packet: Vec<u8>,
    /// The keys of the method.
    pub keys: Keys,
    /// The authenticated identity.
    pub identity: Vec<u8>,
    /// How.
    pub method: MethodType,
}

enum State {
    /// Nothing is out.
    Fresh,
    /// The Identity request is out.
    AskedIdentity,
    /// A method runs.
    Running(Running),
    /// The method has authenticated the peer.
    Accepted(Box<dyn ServerMethod>),
    /// Success or Failure was sent.
    Over,
}

struct Running {
    /// Its place among the offers.
    offer: usize,
    method: Box<dyn ServerMethod>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its first request is outstanding and may still be refused.
    Proposed,
    /// The peer has answered with its type.
    Accepted,
    /// It waits for an answer to a question; `refusable` if it asked before its first request.
    Asking { refusable: bool },
}

/// The result, or why the packet was discarded.
type Taken = Result<ServerOutput, Cow<'static, str>>;

impl Server {
    /// A conversation that has not started.
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self { config, identity: Vec::new(), tried: None, identifier: 0, state: State::Fresh, rounds: 0 }
    }

    /// Starts with an Identity request, or with a method if the lower layer knows the identity (IKE's IDi). A started
    /// conversation cannot be restarted, so that its limit of rounds holds.
    pub fn begin(&mut self, identity: Option<&[u8]>, rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        if !matches!(self.state, State::Fresh) {
            return Self::settle(Err("EAP begins twice".into()), cx);
        }
        let [first] = rng.bytes();
        self.identifier = first;
        match identity {
            Some(identity) => self.propose_to(identity, rng, cx),
            None => {
                self.state = State::AskedIdentity;
                self.request(first, MethodType::IDENTITY, &[])
            }
        }
    }

    /// Handles a packet of the peer. Invalid ones are traced and otherwise ignored. The first may be an Identity response to
    /// somebody else's request (RFC 3579 §2.1).
    pub fn step(&mut self, bytes: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        let taken = self.take(bytes, rng, cx);
        Self::settle(taken, cx)
    }

    /// Handles the answer to its question.
    pub fn answer(&mut self, answer: Answer, rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        let taken = self.resume(answer, rng, cx);
        Self::settle(taken, cx)
    }

    /// The owner lets the peer in that was authenticated, and sends it [`Accepted::packet`]. Without this call a TLS session cannot be
    /// resumed: otherwise a peer that was refused for another reason would learn from it that the password was right.
    pub fn admit(&mut self) {
        if let State::Accepted(method) = &mut self.state {
            method.admit(&self.identity);
            self.state = State::Over;
        }
    }

    /// Whether it has ended; nothing more is answered.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Accepted(_) | State::Over)
    }

    /// The claimed identity; empty before it is known.
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// The password attempt of the peer; `None` before it, and for methods without passwords.
    pub const fn tried(&self) -> Option<&Tried> {
        self.tried.as_ref()
    }

    /// Of the request that is out.
    pub const fn identifier(&self) -> u8 {
        self.identifier
    }

    fn settle(taken: Taken, cx: &mut Ctx<'_>) -> ServerOutput {
        taken.unwrap_or_else(|why| {
            discard(cx, why);
            ServerOutput::Ignored
        })
    }

    fn take(&mut self, bytes: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        if self.is_over() {
            return Err("EAP conversation is over".into());
        }
        if bytes.len() > self.config.limits.packet_bytes_max {
            return Err("EAP packet over the size limit".into());
        }
        match Packet::read(bytes).map_err(|error| error.field)? {
            Packet::Response(response) => self.on_response(&response, rng, cx),
            // RFC 3748 §4: the server accepts only responses.
            _ => Err("EAP packet that is no response at the server".into()),
        }
    }

    fn on_response(&mut self, response: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        if matches!(self.state, State::Fresh) {
            return self.pick_up(response, rng, cx);
        }
        // RFC 3748 §4.1: a response to another request than the outstanding one is silently discarded.
        if response.identifier != self.identifier {
            return Err("EAP unexpected identifier".into());
        }
        match (&self.state, response.kind) {
            (State::AskedIdentity, MethodType::IDENTITY) => Ok(self.propose_to(response.data, rng, cx)),
            (State::Running(running), kind) => match running.stage {
                Stage::Asking { .. } => Err("EAP response while the server asks elsewhere".into()),
                Stage::Proposed if kind == MethodType::NAK => Ok(self.on_nak(response, rng, cx)),
                _ if kind == self.config.methods[running.offer].method() => self.run(response, rng, cx),
                // RFC 3748 §2.1: nor may a Nak follow the first response of the method's type.
                _ => Err("EAP response of another type than the method's".into()),
            },
            _ => Err("EAP response of another type than Identity".into()),
        }
    }

    fn pick_up(&mut self, response: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        if response.kind != MethodType::IDENTITY {
            return Err("EAP response before a request".into());
        }
        self.identifier = response.identifier;
        Ok(self.propose_to(response.data, rng, cx))
    }

    fn propose_to(&mut self, identity: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        if identity.len() > NAME_BYTES_MAX {
            return self.fail(Reason::LONG_NAME);
        }
        self.identity = identity.to_vec();
        let first = self.config.methods.iter().position(|offer| offer.suits(identity));
        self.propose(first, rng, cx)
    }

    // RFC 3748 §5.3.1: of the methods that the peer would accept, the server uses the first in its own order; earlier ones have
    // been refused, so no method is proposed twice and the refusals end.
    fn on_nak(&mut self, nak: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        let refused = match &self.state {
            State::Running(running) => running.offer,
            _ => return self.fail(Reason::NO_ACCEPTABLE_METHOD),
        };
        let next = self.config.methods.iter().enumerate().skip(refused + 1).find(|(_, offer)| {
            offer.method().is_method() && nak.data.contains(&offer.method().0) && offer.suits(&self.identity)
        });
        self.propose(next.map(|(place, _)| place), rng, cx)
    }

    fn propose(&mut self, offer: Option<usize>, rng: &mut Rng, cx: &mut Ctx<'_>) -> ServerOutput {
        let Some(offer) = offer else { return self.fail(Reason::NO_ACCEPTABLE_METHOD) };
        let mut running =
            Running { offer, method: self.config.methods[offer].begin(), stage: Stage::Proposed };
        let step = running.method.begin(&mut self.turn(rng, cx));
        Self::settle(self.go_on(running, step), cx)
    }

    fn run(&mut self, response: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let (mut running, before) = self.lift()?;
        let step = running.method.on_response(response, &mut self.turn(rng, cx));
        running.stage = if matches!(step, ServerStep::Ignore(_)) { before } else { Stage::Accepted };
        self.go_on(running, step)
    }

    fn resume(&mut self, answer: Answer, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let State::Running(Running { stage: Stage::Asking { refusable }, .. }) = self.state else {
            return Err("EAP answer without a question".into());
        };
        let (mut running, before) = self.lift()?;
        let step = running.method.on_answer(answer, &mut self.turn(rng, cx));
        running.stage = match step {
            ServerStep::Ignore(_) => before,
            _ if refusable => Stage::Proposed,
            _ => Stage::Accepted,
        };
        self.go_on(running, step)
    }

    /// The method, taken out while it handles a message, and its stage until then.
    fn lift(&mut self) -> Result<(Running, Stage), Cow<'static, str>> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Running(running) => {
                let stage = running.stage;
                Ok((running, stage))
            }
            state => {
                self.state = state;
                Err("EAP method has not begun".into())
            }
        }
    }

    /// Puts the method back and performs its step.
    fn go_on(&mut self, mut running: Running, step: ServerStep) -> Taken {
        self.tried = self.tried_by(&running);
        match step {
            ServerStep::Request(data) => {
                let kind = self.config.methods[running.offer].method();
                self.state = State::Running(running);
                Ok(self.next(kind, &data))
            }
            ServerStep::Ask(question) => {
                running.stage = Stage::Asking { refusable: running.stage == Stage::Proposed };
                self.state = State::Running(running);
                Ok(ServerOutput::Ask(question))
            }
            ServerStep::Ignore(why) => {
                self.state = State::Running(running);
                Err(why.into())
            }
            ServerStep::Done(keys) => Ok(self.accept(running, keys)),
            ServerStep::Failed(reason) => Ok(self.fail(reason)),
        }
    }

    fn tried_by(&self, running: &Running) -> Option<Tried> {
        if let Some(user) = running.method.tried_inside() {
            return Some(Tried { user: user.to_vec(), is_inside: true });
        }
        let has_answered = running.stage == Stage::Accepted;
        let tries = has_answered && self.config.methods[running.offer].tries_password();
        tries.then(|| Tried { user: self.identity.clone(), is_inside: false })
    }

    fn turn<'a, 'c>(&'a self, rng: &'a mut Rng, cx: &'a mut Ctx<'c>) -> Turn<'a, 'c> {
        Turn { identifier: self.identifier.wrapping_add(1), identity: &self.identity, rng, cx }
    }

    // RFC 3748 §4.1: a new request changes the identifier.
    fn next(&mut self, kind: MethodType, data: &[u8]) -> ServerOutput {
        self.request(self.identifier.wrapping_add(1), kind, data)
    }

    /// A request, unless there were too many.
    fn request(&mut self, identifier: u8, kind: MethodType, data: &[u8]) -> ServerOutput {
        if self.rounds >= self.config.limits.rounds_max {
            return self.fail(Reason::TOO_MANY_ROUNDS);
        }
        self.rounds += 1;
        self.identifier = identifier;
        ServerOutput::Send(packet::request(identifier, kind, data))
    }

    fn accept(&mut self, running: Running, keys: Keys) -> ServerOutput {
        let identity = running.method.identity().unwrap_or(&self.identity).to_vec();
        self.state = State::Accepted(running.method);
        let (packet, method) =
            (packet::success(self.identifier), self.config.methods[running.offer].method());
        ServerOutput::Success(Accepted { packet, keys, identity, method })
    }

    fn fail(&mut self, reason: Reason) -> ServerOutput {
        self.state = State::Over;
        ServerOutput::Failure { packet: packet::failure(self.identifier), reason }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Fresh => "fresh",
            State::AskedIdentity => MethodType::IDENTITY.name(),
            State::Running(running) => self.config.methods[running.offer].method().name(),
            State::Accepted(_) | State::Over => "over",
        };
        f.debug_struct("Server").field("state", &state).field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

impl Default for ServerConfig {
    /// No method yet.
    fn default() -> Self {
        Self { methods: Vec::new(), limits: Limits::default() }
    }
}
