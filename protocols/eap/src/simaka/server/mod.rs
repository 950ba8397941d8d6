//! The server of EAP-SIM, EAP-AKA and EAP-AKA′. Read RFC 4186 §3 to §5, RFC 4187 §3 to §5 first.
//!
//! ```text
//!   begin --> Identity (SIM/Start, AKA-Identity) --> Vectors --> Challenged --> [Notified] --> done
//!     '-----------------------------------------------^  ^ '--AUTS--'
//!     '--> Again (fast re-authentication) --counter too small--'  '--> [Notified] --> done
//!   any --error--> Notified --> failed
//! ```
//!
//! Vectors come from outside: the conversation yields a request and continues when it is answered.

mod aka;
mod finish;
mod identify;
mod reauthenticate;
mod sim;

use std::sync::Arc;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;

use super::book::Book;
use super::centre::{NoVectors, VectorRequest, Vectors};
use super::flavour::{Flavour, subtype};
use super::identity::Imsi;
use super::keys::Session;
use super::message::{Fault, Message};
use super::reason;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// GSM challenges of EAP-SIM: two or three.
    pub challenges: usize,
    /// Request the identity inside the method even if the one outside it is known (RFC 4186 §4.2.2.2).
    pub ask_identity: bool,
    /// Assign pseudonyms.
    pub pseudonyms: bool,
    /// Fast re-authentications after a full authentication; 0 for none.
    pub reauthentications_max: u16,
    /// Offer protected result indications (RFC 4186 §6.2).
    pub result_indications: bool,
    /// EAP-AKA′: the access network's name in AT_KDF_INPUT.
    pub network: Vec<u8>,
    /// EAP-AKA′: key derivation functions to offer, best first. Only 1 is implemented; others are for testing peers.
    pub kdfs: Vec<u16>,
    /// EAP-AKA: announce to the peer that this server prefers EAP-AKA′ (RFC 9048 §4).
    pub prefers_prime: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            challenges: 3,
            ask_identity: false,
            pseudonyms: true,
            reauthentications_max: 16,
            result_indications: false,
            network: b"WLAN".to_vec(),
            kdfs: vec![super::KDF_CK_PRIME],
            prefers_prime: false,
        }
    }
}

/// The server's reaction to an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Send this request and wait for its response.
    Request(Vec<u8>),
    /// Get these vectors and call [`Server::on_vectors`].
    Vectors(VectorRequest),
    /// Nothing: the message was not expected now.
    Ignore,
    /// The peer is authenticated.
    Done(Box<Success>),
    /// Authentication failed, or something went wrong.
    Failed(&'static str),
}

/// The result of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    /// The subscriber.
    pub imsi: Imsi,
    /// The keys.
    pub session: Session,
    /// The Session-Id (RFC 5247 Appendix A).
    pub session_id: Vec<u8>,
    /// Whether it was a fast re-authentication.
    pub fast: bool,
}

/// One conversation.
#[derive(Debug)]
pub struct Server {
    shared: Shared,
    state: State,
}

/// What all states share.
#[derive(Debug)]
struct Shared {
    flavour: Flavour,
    settings: Arc<Settings>,
    book: Book,
    rng: Rng,
    /// Of the next request.
    identifier: u8,
}

#[derive(Debug)]
enum State {
    /// Not started, or over.
    Over,
    Identity(identify::AwaitIdentity),
    SimVectors(sim::AwaitVectors),
    SimChallenged(sim::Challenged),
    AkaVectors(aka::AwaitVectors),
    AkaChallenged(Box<aka::Challenged>),
    Again(Box<reauthenticate::Again>),
    Notified(finish::Notified),
}

type Next = Result<(State, Turn), Failure>;

/// How a conversation fails.
#[derive(Debug)]
enum Failure {
    /// Notify the peer, which answers first.
    Notify(&'static str),
    /// At once.
    End(&'static str),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Notify(match fault {
            Fault::Mac => reason::WRONG_RESPONSE,
            Fault::Contradiction("AT_CHECKCODE") => reason::CHECKCODE,
            Fault::Subtype(_) => reason::UNEXPECTED,
            _ => reason::MALFORMED,
        })
    }
}

impl Server {
    /// A conversation to start. Conversations of one server share `settings` and `book`.
    pub fn new(flavour: Flavour, settings: Arc<Settings>, book: Book, rng: Rng) -> Self {
        Self { shared: Shared { flavour, settings, book, rng, identifier: 0 }, state: State::Over }
    }

    /// Starts with the identity of the EAP-Response/Identity; `identifier` is for the resulting request.
    pub fn begin(&mut self, identity: &[u8], identifier: u8, cx: &mut Ctx<'_>) -> Turn {
        self.shared.identifier = identifier;
        let next = identify::begin(identity, &mut self.shared, cx);
        self.settle(next)
    }

    /// Handles the response to the last request, a whole EAP packet.
    pub fn on_response(&mut self, packet: &[u8], identifier: u8, cx: &mut Ctx<'_>) -> Turn {
        self.shared.identifier = identifier;
        let next = match (std::mem::replace(&mut self.state, State::Over), &mut self.shared) {
            (State::Notified(wait), _) => wait.on_response(),
            (state @ (State::Over | State::SimVectors(_) | State::AkaVectors(_)), _) => {
                Ok((state, Turn::Ignore))
            }
            (state, shared) => route(state, packet, shared, cx),
        };
        self.settle(next)
    }

    /// Continues with the answer to [`Turn::Vectors`]; `identifier` is for the resulting request.
    pub fn on_vectors(
        &mut self,
        vectors: Result<Vectors, NoVectors>,
        identifier: u8,
        cx: &mut Ctx<'_>,
    ) -> Turn {
        self.shared.identifier = identifier;
        let next = match std::mem::replace(&mut self.state, State::Over) {
            State::SimVectors(wait) => wait.on_vectors(vectors, &mut self.shared, cx),
            State::AkaVectors(wait) => wait.on_vectors(vectors, &mut self.shared, cx),
            state => Ok((state, Turn::Ignore)),
        };
        self.settle(next)
    }

    fn settle(&mut self, next: Next) -> Turn {
        let (state, turn) = match next {
            Ok(next) => next,
            Err(Failure::Notify(why)) => finish::refuse(why, &self.shared),
            Err(Failure::End(why)) => (State::Over, Turn::Failed(why)),
        };
        self.state = state;
        turn
    }
}

fn route(state: State, packet: &[u8], shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
    let message = Message::read_response(shared.flavour, packet).map_err(Fault::from)?;
    if message.subtype == subtype::CLIENT_ERROR {
        // RFC 4186 §6.3.3: the answer to a Client-Error is EAP-Failure.
        return Err(Failure::End(client_error(message.attributes.client_error())));
    }
    match state {
        State::Identity(wait) => wait.on_response(&message, shared, cx),
        State::SimChallenged(wait) => wait.on_response(&message, shared, cx),
        State::AkaChallenged(wait) => wait.on_response(&message, shared, cx),
        State::Again(wait) => wait.on_response(&message, shared, cx),
        State::Over | State::SimVectors(_) | State::AkaVectors(_) | State::Notified(_) => {
            Err(Failure::End(reason::UNEXPECTED))
        }
    }
}

/// RFC 4186 §10.19.
fn client_error(code: Option<u16>) -> &'static str {
    match code {
        Some(1) => reason::UNSUPPORTED_VERSION,
        Some(2) => reason::TOO_FEW_CHALLENGES,
        Some(3) => reason::STALE_CHALLENGES,
        _ => reason::CLIENT_ERROR,
    }
}

fn expect_subtype(message: &Message<'_>, subtype: u8) -> Result<(), Fault> {
    if message.subtype == subtype { Ok(()) } else { Err(Fault::Subtype(message.subtype)) }
}

/// The failure for missing vectors, by their reason.
fn no_vectors(why: NoVectors) -> Failure {
    Failure::Notify(match why {
        NoVectors::UnknownSubscriber => reason::UNKNOWN_SUBSCRIBER,
        NoVectors::Resynchronisation => reason::RESYNCHRONISATION,
        NoVectors::NotUmts | NoVectors::Unavailable => reason::NO_VECTORS,
    })
}

/// Type ‖ the parts.
fn session_id(flavour: Flavour, parts: &[&[u8]]) -> Vec<u8> {
    let mut id = vec![flavour.method_type()];
    parts.iter().for_each(|part| id.extend_from_slice(part));
    id
}

/// The value of AT_MAC, the last attribute of a sealed packet.
fn mac_of(packet: &[u8]) -> &[u8] {
    &packet[packet.len() - 16..]
}

/// Whether two values are equal, in constant time.
fn same(a: &Secret, b: &[u8]) -> bool {
    *a == Secret::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_error_has_the_name_of_its_code() {
        let names = [None, Some(0), Some(1), Some(2), Some(3)].map(client_error);
        assert_eq!(
            names,
            [
                reason::CLIENT_ERROR,
                reason::CLIENT_ERROR,
                reason::UNSUPPORTED_VERSION,
                reason::TOO_FEW_CHALLENGES,
                reason::STALE_CHALLENGES
            ]
        );
    }
}
