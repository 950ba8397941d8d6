//! What a method must do, in both roles, and what the layers give it. Read RFC 3748 §2 and §5, and RFC 4137 §4 and §5
//! for the interface between layer and method that this one follows.
//!
//! An *offer* ([`PeerOffer`], [`ServerOffer`]) is a configured method, shared by all conversations of a host; it begins
//! a *method* ([`PeerMethod`], [`ServerMethod`]) for each conversation that chooses it.

use std::fmt;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;

use crate::packet::{Message, MethodType};
use crate::question::{Answer, Question};
use crate::simaka::reason::NOTIFIED;

/// What a method may use while it takes its turn.
pub struct Turn<'a, 'c> {
    /// The identifier of the packet it will answer with: of the response for a peer, of the next request for a server.
    pub identifier: u8,
    /// The peer's identity: what it says in its Identity response, or what the lower layer knew of it.
    pub identity: &'a [u8],
    /// Challenges and nonces.
    pub rng: &'a mut Rng,
    /// Time, crypto and trace.
    pub cx: &'a mut Ctx<'c>,
}

/// A method as the peer runs it, for one conversation.
pub trait PeerMethod: Send {
    /// Takes a request of this method's type. The layer has checked type and identifier, and never hands over a
    /// repeated one.
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep;

    /// What it lacks, while a Success that comes is not believed.
    fn lacks(&self) -> Reason {
        Reason::EARLY_SUCCESS
    }
}

/// What a peer's method wants after a request. Data follow the type byte; the layer adds what comes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerStep {
    /// Answer with these data. A Success that comes next is not believed.
    Continue(Vec<u8>),
    /// Answer with these data. All that this side demands has been shown: a Success that comes next is believed, with
    /// these keys, and so is another request.
    Satisfied(Vec<u8>, Keys),
    /// The request is not valid; wait on as if it had never come. The text says why, for the trace.
    Ignore(&'static str),
    /// It has failed. Without data at once, with data after they were sent and whatever comes then has come.
    Failed(Option<Vec<u8>>, Reason),
}

/// A method as the server runs it, for one conversation.
pub trait ServerMethod: Send {
    /// Makes the first request.
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep;

    /// Takes a response of this method's type. The layer has checked type and identifier.
    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep;

    /// Takes the answer to the question it asked. Methods that ask nothing are never called.
    fn on_answer(&mut self, _answer: Answer, _turn: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Ignore("EAP answer without a question")
    }

    /// Whom it authenticated, if not the one whose identity it was given (pseudonyms, identities inside a tunnel).
    fn identity(&self) -> Option<&[u8]> {
        None
    }
}

/// What a server's method wants after a response. Data follow the type byte; the layer adds what comes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStep {
    /// Send a request with these data.
    Request(Vec<u8>),
    /// Wait until somebody answers; [`ServerMethod::on_answer`] goes on.
    Ask(Question),
    /// The response is not valid; wait on as if it had never come. The text says why, for the trace.
    Ignore(&'static str),
    /// The peer is who it says.
    Done(Keys),
    /// It is not, or something else ended the method.
    Failed(Reason),
}

/// A method the peer is configured for.
pub trait PeerOffer: Send + Sync {
    /// Its type.
    fn method(&self) -> MethodType;

    // RFC 5998 §4: mutual authentication, keys, and nothing to guess a password by.
    /// Whether the method is safe where nothing but itself proves who the server is.
    fn proves_server(&self) -> bool {
        false
    }

    /// A fresh conversation.
    fn begin(&self) -> Box<dyn PeerMethod>;
}

/// A method the server is configured for.
pub trait ServerOffer: Send + Sync {
    /// Its type.
    fn method(&self) -> MethodType;

    /// Whether this identity may use it; EAP-SIM and EAP-AKA tell their subscribers by the first digit.
    fn suits(&self, _identity: &[u8]) -> bool {
        true
    }

    /// A fresh conversation.
    fn begin(&self) -> Box<dyn ServerMethod>;
}

/// What a method leaves behind when it succeeds (RFC 3748 §7.10, RFC 5247 §1.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The master session key, 64 bytes; none from methods that make no key.
    pub msk: Option<Secret>,
    /// The extended master session key, 64 bytes; none from methods that make none.
    pub emsk: Option<Secret>,
    /// Names the conversation (RFC 5247 Appendix A); empty from methods that name none.
    pub session_id: Vec<u8>,
}

/// Why a conversation ended without success, by the name that analysis groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(pub &'static str);

impl Reason {
    /// The password, or what was computed from it, is not the user's.
    pub const WRONG_PASSWORD: Self = Self("EAP wrong password");
    /// The server knows the password, but not for now: expired, disabled, or outside its hours.
    pub const ACCOUNT_RESTRICTED: Self = Self("EAP account restricted");
    /// The server has no such user.
    pub const UNKNOWN_USER: Self = Self("EAP unknown user");
    /// The name inside the method is not the identity.
    pub const WRONG_IDENTITY: Self = Self("EAP unexpected identity");
    /// The two sides have no method in common.
    pub const NO_ACCEPTABLE_METHOD: Self = Self("EAP no acceptable method");
    /// The server could not prove that it knows the peer's secret.
    pub const SERVER_NOT_AUTHENTIC: Self = Self("EAP server not authentic");
    /// More requests than [`Limits::rounds_max`].
    pub const TOO_MANY_ROUNDS: Self = Self("EAP too many rounds");
    /// The other side said Success before the method had shown all that this side demands.
    pub const EARLY_SUCCESS: Self = Self("EAP Success too early");
    /// Over a lower layer that repeats nothing, something came that has no answer.
    pub const UNANSWERABLE: Self = Self("EAP packet without an answer");
    /// The other side said Failure and nothing more.
    pub const REFUSED: Self = Self("EAP Failure");
}

impl Reason {
    /// Whether a peer that ends with it was told so by the server, which then knows better why.
    pub fn is_hearsay(self) -> bool {
        let told = [Self::REFUSED, Self::WRONG_PASSWORD, Self::ACCOUNT_RESTRICTED, Self(NOTIFIED)];
        told.contains(&self) || self.0.starts_with("TLS alert ")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// What one conversation may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests until either side gives up.
    pub rounds_max: u16,
    /// The longest packet that is looked at, in bytes.
    pub packet_bytes_max: usize,
}

impl Default for Limits {
    /// 64 rounds are enough for TLS with long chains in fragments of 1024 bytes and end every loop. A RADIUS packet has 4096 bytes (RFC 2865 §3), so no EAP packet behind one is longer.
    fn default() -> Self {
        Self { rounds_max: 64, packet_bytes_max: 4096 }
    }
}
