//! The peer layer: answers requests, chooses the method, accepts the result. Read RFC 3748 §2, §4 and §5.1–5.3 first,
//! and RFC 4137 §4 for the state machine.
//!
//! ```text
//!   Open --request of a configured method--> Running --Success that the method accepts--> over
//!    |  ^                                      |  '--Failure, or the method fails--------> over
//!    '--'  Identity, Nak                       '--'  the method's messages
//! ```
//!
//! The peer does not retransmit: a retransmitted request gets its earlier response (RFC 3748 §4.1).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_engine::Ctx;

use crate::discard;
use crate::method::{Keys, Limits, PeerMethod, PeerOffer, PeerStep, Reason, Turn};
use crate::packet::{self, Message, MethodType, Packet};
use crate::registry;

/// What all conversations of a peer share.
#[derive(Clone)]
pub struct PeerConfig {
    /// The methods that it accepts, best first.
    pub methods: Vec<Arc<dyn PeerOffer>>,
    /// Limits of a conversation.
    pub limits: Limits,
}

/// One conversation on the peer's side.
pub struct Peer {
    config: Arc<PeerConfig>,
    /// Its answer to an Identity request.
    identity: Vec<u8>,
    /// The identity that the server has from the lower layer, until it requests one.
    known_as: Option<Vec<u8>>,
    /// Why it refused the server's last proposal, until a method runs.
    unsupported: Option<Reason>,
    state: State,
    answered: Option<Answered>,
    rounds: u16,
    /// Whether the lower layer is reliable and keeps the order.
    reliable: bool,
    /// Whether the server is not authenticated by something else.
    unproved: bool,
}

/// The result of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum PeerOutput {
    /// Send this.
    Send(Vec<u8>),
    /// Nothing; a fact records the reason.
    Ignored,
    /// Both sides have accepted each other.
    Success(Keys),
    /// It ended without success.
    Failed(Reason),
}

/// Identifier of the last answered request, and the answer.
struct Answered {
    identifier: u8,
    response: Vec<u8>,
}

enum State {
    Open,
    Running(Running),
    Over,
}

struct Running {
    kind: MethodType,
    method: Box<dyn PeerMethod>,
    standing: Standing,
}

/// The method's opinion of the conversation so far.
enum Standing {
    Unfinished,
    Satisfied(Keys),
    Failed(Reason),
}

/// The result, or why the packet was discarded.
type Taken = Result<PeerOutput, Cow<'static, str>>;

impl Peer {
    /// A conversation as `identity`.
    pub fn new(config: Arc<PeerConfig>, identity: Vec<u8>) -> Self {
        Self {
            config,
            identity,
            known_as: None,
            unsupported: None,
            state: State::Open,
            answered: None,
            rounds: 0,
            reliable: false,
            unproved: false,
        }
    }

    /// For a lower layer that is reliable and authenticated, as IKE: there Success and Failure need no identifier.
    pub fn over_reliable_layer(mut self) -> Self {
        self.reliable = true;
        self
    }

    // RFC 4187 §7: keys are derived from the identity that the server has, not from the next one.
    /// The lower layer has sent the server another identity, as IKE does with IDi: it applies until the server requests one.
    pub fn known_as(mut self, identity: Vec<u8>) -> Self {
        self.known_as = Some(identity);
        self
    }

    /// For a server that nothing has authenticated, as with EAP-only authentication in IKEv2: methods that do not authenticate
    /// it are refused, so that no password is exposed to it.
    pub fn to_unproved_server(mut self) -> Self {
        self.unproved = true;
        self
    }

    /// The methods that may be used with this server.
    fn offers(&self) -> impl Iterator<Item = &Arc<dyn PeerOffer>> {
        self.config.methods.iter().filter(|offer| !self.unproved || offer.proves_server())
    }

    /// Handles a packet of the server. Invalid ones are traced and otherwise ignored.
    pub fn step(&mut self, bytes: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> PeerOutput {
        self.take(bytes, rng, cx).unwrap_or_else(|why| {
            discard(cx, why);
            PeerOutput::Ignored
        })
    }

    /// That no proposal of the server was acceptable so far, if that is so: the reason of a failure that the server does not explain.
    pub const fn unsupported(&self) -> Option<Reason> {
        self.unsupported
    }

    /// Whether it has ended; nothing more is answered.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn take(&mut self, bytes: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        if self.is_over() {
            return Err("EAP conversation is over".into());
        }
        if bytes.len() > self.config.limits.packet_bytes_max {
            return Err("EAP packet over the size limit".into());
        }
        match Packet::read(bytes).map_err(|error| error.field)? {
            Packet::Request(request) => self.on_request(&request, rng, cx),
            Packet::Success(identifier) => self.on_success(identifier),
            Packet::Failure(identifier) => self.on_failure(identifier),
            Packet::Response(_) => Err("EAP response at the peer".into()),
        }
    }

    fn on_request(&mut self, request: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        // RFC 3748 §4.1: a retransmitted request gets its response again, whatever the state of the method.
        if let Some(answered) = self.answered.as_ref().filter(|last| last.identifier == request.identifier) {
            return Ok(PeerOutput::Send(answered.response.clone()));
        }
        if self.rounds >= self.config.limits.rounds_max {
            return Ok(self.fail(Reason::TOO_MANY_ROUNDS));
        }
        let output = self.answer(request, rng, cx)?;
        self.rounds += 1;
        Ok(output)
    }

    fn answer(&mut self, request: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        match (&self.state, request.kind) {
            (State::Open, MethodType::IDENTITY) => {
                self.known_as = None;
                let identity = std::mem::take(&mut self.identity);
                let output = self.respond(request, MethodType::IDENTITY, &identity);
                self.identity = identity;
                Ok(output)
            }
            // RFC 3748 §5.2: a notification may come at any time and is answered with an empty one.
            (_, MethodType::NOTIFICATION) => Ok(self.respond(request, MethodType::NOTIFICATION, &[])),
            (_, MethodType::NAK) => Err("EAP Nak as a request".into()),
            (State::Open, _) => self.choose(request, rng, cx),
            (State::Running(running), kind) if running.kind == kind => self.run(request, rng, cx),
            // RFC 3748 §2.1: once a method runs, no other may start, and there is no second Identity request.
            _ => Err("EAP request of another type than the method's".into()),
        }
    }

    fn choose(&mut self, request: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let kind = request.kind;
        let Some(offer) = self.offers().find(|offer| offer.method() == kind) else {
            return Ok(self.refuse(request));
        };
        let method = offer.begin();
        self.state = State::Running(Running { kind, method, standing: Standing::Unfinished });
        self.unsupported = None;
        let output = self.run(request, rng, cx);
        // RFC 3748 §2.1: a method starts with the first response of its type, not with an ignored request.
        if output.is_err() {
            self.state = State::Open;
        }
        output
    }

    fn refuse(&mut self, request: &Message<'_>) -> PeerOutput {
        let proposed = registry::unsupported(request);
        if proposed.is_the_only_one {
            return self.fail(proposed.reason);
        }
        self.unsupported = Some(proposed.reason);
        let ours: Vec<MethodType> = self.offers().map(|offer| offer.method()).collect();
        // RFC 3748 §5.3.2: an expanded Nak answers an expanded type, and nothing else.
        if request.kind == MethodType::EXPANDED {
            let data = packet::expanded_nak_data(ours.into_iter());
            return self.respond(request, MethodType::EXPANDED, &data);
        }
        self.respond(request, MethodType::NAK, &packet::nak_data(ours.into_iter()))
    }

    fn run(&mut self, request: &Message<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let State::Running(running) = &mut self.state else { return Err("EAP method has not begun".into()) };
        if let Standing::Failed(reason) = running.standing {
            return Ok(self.fail(reason));
        }
        let identity = self.known_as.as_ref().unwrap_or(&self.identity);
        let mut turn = Turn { identifier: request.identifier, identity, rng, cx };
        let (data, standing) = match running.method.on_request(request, &mut turn) {
            PeerStep::Continue(data) => (data, Standing::Unfinished),
            PeerStep::Satisfied(data, keys) => (data, Standing::Satisfied(keys)),
            PeerStep::Failed(Some(data), reason) => (data, Standing::Failed(reason)),
            PeerStep::Failed(None, reason) => return Ok(self.fail(reason)),
            PeerStep::Ignore(why) => return Err(why.into()),
        };
        running.standing = standing;
        Ok(self.respond(request, request.kind, &data))
    }

    fn respond(&mut self, request: &Message<'_>, kind: MethodType, data: &[u8]) -> PeerOutput {
        let response = packet::response(request.identifier, kind, data);
        self.answered = Some(Answered { identifier: request.identifier, response: response.clone() });
        PeerOutput::Send(response)
    }

    fn on_success(&mut self, identifier: u8) -> Taken {
        self.check_end(identifier)?;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Running(Running { standing: Standing::Satisfied(keys), .. }) => {
                Ok(PeerOutput::Success(keys))
            }
            State::Running(Running { standing: Standing::Failed(reason), .. }) => Ok(self.fail(reason)),
            // RFC 3748 §4.2: a Success before the method has succeeded is not accepted. In IKE it is the gateway's own, which
            // then sends nothing more.
            State::Running(running) if self.reliable => Ok(self.fail(running.method.lacks())),
            state => {
                self.state = state;
                Err("EAP unsolicited Success".into())
            }
        }
    }

    // RFC 4137 §4.2: a method that is sure of its success may ignore a Failure. Without a signal of the lower layer both
    // sides would then wait for ever, so here a Failure always ends the conversation.
    fn on_failure(&mut self, identifier: u8) -> Taken {
        self.check_end(identifier)?;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Running(Running { standing: Standing::Failed(reason), .. }) => Ok(self.fail(reason)),
            _ => Ok(self.fail(self.unsupported.unwrap_or(Reason::REFUSED))),
        }
    }

    // RFC 3748 §4.2: Success and Failure carry the identifier of the response that they answer.
    fn check_end(&self, identifier: u8) -> Result<(), Cow<'static, str>> {
        match &self.answered {
            Some(last) if last.identifier == identifier => Ok(()),
            // RFC 7296 §3.16: in IKE the identifier has no function. FreeRADIUS 3 increments it for the Success of EAP-SIM.
            Some(_) if self.reliable => Ok(()),
            Some(_) => Err("EAP unexpected identifier".into()),
            None => Err("EAP end before the beginning".into()),
        }
    }

    fn fail(&mut self, reason: Reason) -> PeerOutput {
        self.state = State::Over;
        PeerOutput::Failed(reason)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Open => "open",
            State::Running(running) => running.kind.name(),
            State::Over => "over",
        };
        f.debug_struct("Peer").field("state", &state).field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

impl Default for PeerConfig {
    /// No method yet.
    fn default() -> Self {
        Self { methods: Vec::new(), limits: Limits::default() }
    }
}
