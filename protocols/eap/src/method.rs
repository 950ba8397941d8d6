//! The interface between the EAP layers and methods, for both roles. Read RFC 3748 §2 and §5, and RFC 4137 §4 and §5, whose
//! interface this one follows.
//!
//! An *offer* ([`PeerOffer`], [`ServerOffer`]) is a configured method, shared by all conversations of a host; it starts
//! a *method* ([`PeerMethod`], [`ServerMethod`]) for each conversation that uses it.

use std::fmt;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;

use crate::packet::{Message, MethodType};
use crate::question::{Answer, Question};
use crate::simaka::reason::NOTIFIED;

/// The environment of a method while it handles a message.
pub struct Turn<'a, 'c> {
    /// The identifier of the packet it will produce: of the response for a peer, of the next request for a server.
    pub identifier: u8,
    /// The peer's identity: from its Identity response, or from the lower layer.
    pub identity: &'a [u8],
    /// Challenges and nonces.
    pub rng: &'a mut Rng,
    /// Time, crypto and trace.
    pub cx: &'a mut Ctx<'c>,
}

/// A method of the peer, for one conversation.
pub trait PeerMethod: Send {
    /// Handles a request of this method's type. The layer has checked type and identifier, and never passes a
    /// retransmitted one.
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep;

    /// The reason for failure if a Success arrives before the method is satisfied.
    fn lacks(&self) -> Reason {
        Reason::EARLY_SUCCESS
    }
}

/// The reaction of a peer's method to a request. Data follow the type byte; the layer adds what precedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerStep {
    /// Answer with these data. A following Success is not accepted.
    Continue(Vec<u8>),
    /// Answer with these data. All that this side requires has been proved: a following Success is accepted, with these
    /// keys, and so is another request.
    Satisfied(Vec<u8>, Keys),
    /// The request is invalid and ignored; the text is the reason for the trace.
    Ignore(&'static str),
    /// The method failed. Without data at once; with data after they were sent and the next packet arrived.
    Failed(Option<Vec<u8>>, Reason),
}

/// A method of the server, for one conversation.
pub trait ServerMethod: Send {
    /// Makes the first request.
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep;

    /// Handles a response of this method's type. The layer has checked type and identifier.
    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep;

    /// Handles the answer to its question. Methods without questions are never called.
    fn on_answer(&mut self, _answer: Answer, _turn: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Ignore("EAP answer without a question")
    }

    /// The authenticated identity, if it differs from the given one (pseudonyms, identities inside a tunnel).
    fn identity(&self) -> Option<&[u8]> {
        None
    }

    /// The user name of the peer's password attempt inside a tunnel, right or wrong; `None` before it.
    fn tried_inside(&self) -> Option<&[u8]> {
        None
    }

    /// The peer that was authenticated is let in, too; `identity` is the one outside. Sessions are resumable from now on.
    fn admit(&mut self, _identity: &[u8]) {}
}

/// The reaction of a server's method to a response. Data follow the type byte; the layer adds what precedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStep {
    /// Send a request with these data.
    Request(Vec<u8>),
    /// Wait for an answer; [`ServerMethod::on_answer`] continues.
    Ask(Question),
    /// The response is invalid and ignored; the text is the reason for the trace.
    Ignore(&'static str),
    /// The peer is authenticated.
    Done(Keys),
    /// Authentication failed, or something else ended the method.
    Failed(Reason),
}

/// A method the peer is configured for.
pub trait PeerOffer: Send + Sync {
    /// Its type.
    fn method(&self) -> MethodType;

    // RFC 5998 §4: mutual authentication, keys, and resistance to dictionary attacks.
    /// Whether the method is safe if only EAP authenticates the server.
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

    /// Whether this identity may use it; EAP-SIM and EAP-AKA distinguish their subscribers by the first digit.
    fn suits(&self, _identity: &[u8]) -> bool {
        true
    }

    /// Whether a response is a password attempt for the identity.
    fn tries_password(&self) -> bool {
        false
    }

    /// A fresh conversation.
    fn begin(&self) -> Box<dyn ServerMethod>;
}

/// The keys of a successful method (RFC 3748 §7.10, RFC 5247 §1.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The master session key, 64 bytes; `None` for methods that derive no key.
    pub msk: Option<Secret>,
    /// The extended master session key, 64 bytes; `None` for methods that derive none.
    pub emsk: Option<Secret>,
    /// Identifies the conversation (RFC 5247 Appendix A); empty for methods that define none.
    pub session_id: Vec<u8>,
}

/// Maximum length of the name of a peer, outside and inside a tunnel.
// RFC 7542 §2.3: 253 octets is the longest that RADIUS can carry.
pub(crate) const NAME_BYTES_MAX: usize = 253;

/// Why a conversation failed, by the name that analysis groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(pub &'static str);

impl Reason {
    /// The password, or what was computed from it, is wrong.
    pub const WRONG_PASSWORD: Self = Self("EAP wrong password");
    /// The account may not be used now: expired, disabled, or outside its hours.
    pub const ACCOUNT_RESTRICTED: Self = Self("EAP account restricted");
    /// The server has no such user.
    pub const UNKNOWN_USER: Self = Self("EAP unknown user");
    /// The name is longer than 253 bytes.
    pub const LONG_NAME: Self = Self("EAP identity too long");
    /// The name inside the method differs from the identity.
    pub const WRONG_IDENTITY: Self = Self("EAP unexpected identity");
    /// The two sides have no method in common.
    pub const NO_ACCEPTABLE_METHOD: Self = Self("EAP no acceptable method");
    /// The server failed to prove that it knows the peer's secret.
    pub const SERVER_NOT_AUTHENTIC: Self = Self("EAP server not authentic");
    /// More requests than [`Limits::rounds_max`].
    pub const TOO_MANY_ROUNDS: Self = Self("EAP too many rounds");
    /// The other side sent Success before the method had proved all that this side requires.
    pub const EARLY_SUCCESS: Self = Self("EAP Success too early");
    /// Over a reliable lower layer, a packet arrived that has no answer.
    pub const UNANSWERABLE: Self = Self("EAP packet without an answer");
    /// The other side sent Failure without a reason.
    pub const REFUSED: Self = Self("EAP Failure");
}

impl Reason {
    /// Whether a peer that ends with it was told so by the server, which knows the reason better.
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

/// Limits of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of requests after which either side gives up.
    pub rounds_max: u16,
    /// The longest packet that is processed, in bytes.
    pub packet_bytes_max: usize,
}

impl Default for Limits {
    /// 64 rounds are enough for TLS with long chains in fragments of 1024 bytes, and end every loop. A RADIUS packet has 4096 bytes (RFC 2865 §3), so no EAP packet behind one is longer.
    fn default() -> Self {
        Self { rounds_max: 64, packet_bytes_max: 4096 }
    }
}
