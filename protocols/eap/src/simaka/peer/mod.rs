//! The peer of EAP-SIM, EAP-AKA and EAP-AKA′. Read RFC 4186 §3 to §6, RFC 4187 §3 to §6, RFC 9048 §3 first.
//!
//! ```text
//!   Waiting --identity request--> Waiting --challenge--> Answered --[notification]--> satisfied
//!      |                            '--AUTS--> Waiting      ^
//!      '--fast re-authentication----------------------------'
//! ```
//!
//! An invalid request is answered with Client-Error, and the conversation has failed.

mod answered;
mod challenge;
mod identity;
mod reauthenticate;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::Ctx;

use super::attribute::Attribute;
use super::card::{Answer, Card, Refused};
use super::flavour::{Flavour, subtype};
use super::keys::Session;
use super::message::{Builder, Fault, Message};
use super::reason;

/// The settings of a peer.
#[derive(Debug, Clone)]
pub struct Settings {
    /// EAP-SIM: the minimum number of challenges, two or three (RFC 4186 §2, under "Security").
    pub challenges_min: usize,
    /// Request protected result indications if the server offers them.
    pub result_indications: bool,
    /// EAP-AKA: this peer also supports EAP-AKA′, so it detects bidding down from a server that prefers it.
    pub can_prime: bool,
    /// EAP-AKA′: the access network's name as the device knows it; `None` if it does not.
    pub network: Option<Vec<u8>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { challenges_min: 2, result_indications: true, can_prime: false, network: None }
    }
}

/// A card that conversations share, one after the other.
#[derive(Debug, Clone)]
pub struct SharedCard(Arc<Mutex<Card>>);

impl SharedCard {
    /// Puts a card into the reader.
    pub fn new(card: Card) -> Self {
        Self(Arc::new(Mutex::new(card)))
    }

    /// The identity to start a conversation with.
    pub fn identity(&self, flavour: Flavour) -> Vec<u8> {
        self.lock().identity(flavour)
    }

    /// Resets the card as if it had never been used: no pseudonym, no fast re-authentication; its sequence numbers stay.
    pub fn forget(&self) {
        self.lock().forget();
    }

    /// Simulates that the card was used for so many authentications in another network: its sequence numbers are ahead.
    pub fn used_elsewhere(&self, authentications: u64) {
        self.lock().advance(authentications);
    }

    /// Verifies AUTN and answers, for a protocol that asks the card without EAP.
    ///
    /// # Errors
    /// The [`Refused`] reason.
    pub fn umts(&self, rand: &[u8; 16], autn: &[u8; 16], crypto: &mut dyn Crypto) -> Result<Answer, Refused> {
        self.lock().umts(rand, autn, crypto)
    }

    /// Simulates that the card has seen more fast re-authentications than the server.
    #[cfg(test)]
    pub(super) fn raise_counter(&self, flavour: Flavour) {
        let mut card = self.lock();
        let known = card.reauthentication(flavour).cloned().unwrap();
        card.keep(flavour, None, Some(super::card::Reauthentication { counter: known.counter + 5, ..known }));
    }

    fn lock(&self) -> MutexGuard<'_, Card> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reaction of the peer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this response; more messages follow.
    Continue(Vec<u8>),
    /// Send this response; the server is authenticated, EAP-Success may follow.
    Satisfied(Vec<u8>, Box<Keys>),
    /// Send this response; the conversation has failed.
    Failed(Vec<u8>, &'static str),
}

/// The result of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The keys.
    pub session: Session,
    /// The Session-Id (RFC 5247 Appendix A).
    pub session_id: Vec<u8>,
    /// Whether it was a fast re-authentication.
    pub fast: bool,
}

/// One conversation.
#[derive(Debug)]
pub struct Peer {
    shared: Shared,
    state: State,
}

/// What all states share.
#[derive(Debug)]
struct Shared {
    flavour: Flavour,
    settings: Arc<Settings>,
    card: SharedCard,
    rng: Rng,
    /// The identity as last sent, for key derivation.
    identity: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Waiting(Box<identity::Waiting>),
    Answered(Box<answered::Answered>),
    Over,
}

type Next = Result<(State, Step), Refusal>;

/// Why and how a request is refused.
#[derive(Debug)]
struct Refusal {
    subtype: u8,
    /// AT_CLIENT_ERROR_CODE, if the message has one.
    code: Option<u16>,
    why: &'static str,
}

impl Refusal {
    /// Client-Error with this code (RFC 4186 §10.19).
    const fn client_error(code: u16, why: &'static str) -> Self {
        Self { subtype: subtype::CLIENT_ERROR, code: Some(code), why }
    }

    /// AKA-Authentication-Reject.
    const fn reject(why: &'static str) -> Self {
        Self { subtype: subtype::AKA_AUTHENTICATION_REJECT, code: None, why }
    }

    fn packet(&self, flavour: Flavour, identifier: u8) -> Vec<u8> {
        let response = Builder::response(flavour, identifier, self.subtype);
        match self.code {
            Some(code) => response.with(&Attribute::ClientErrorCode(code)).finish(),
            None => response.finish(),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::client_error(
            UNABLE_TO_PROCESS,
            match fault {
                Fault::Mac => reason::NETWORK_REJECTED,
                Fault::Contradiction("AT_CHECKCODE") => reason::CHECKCODE,
                Fault::Subtype(_) => reason::UNEXPECTED,
                _ => reason::MALFORMED,
            },
        )
    }
}

/// AT_CLIENT_ERROR_CODE "unable to process packet".
const UNABLE_TO_PROCESS: u16 = 0;

impl Peer {
    /// A conversation to start; `identity` is that of the peer's EAP-Response/Identity.
    pub fn new(
        flavour: Flavour,
        settings: Arc<Settings>,
        card: SharedCard,
        identity: Vec<u8>,
        rng: Rng,
    ) -> Self {
        let shared = Shared { flavour, settings, card, rng, identity };
        Self { shared, state: State::Waiting(Box::default()) }
    }

    /// Handles a request, a whole EAP packet with this identifier.
    pub fn on_request(&mut self, packet: &[u8], identifier: u8, cx: &mut Ctx<'_>) -> Step {
        let state = std::mem::replace(&mut self.state, State::Over);
        match route(state, packet, &mut self.shared, cx) {
            Ok((state, step)) => {
                self.state = state;
                step
            }
            Err(refusal) => Step::Failed(refusal.packet(self.shared.flavour, identifier), refusal.why),
        }
    }
}

fn route(state: State, packet: &[u8], shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
    let message = Message::read_request(shared.flavour, packet).map_err(Fault::from)?;
    let flavour = shared.flavour;
    match (state, message.subtype) {
        (State::Waiting(_), subtype::NOTIFICATION) => answered::notified_early(&message, shared),
        (State::Answered(wait), subtype::NOTIFICATION) => wait.on_notification(&message, shared, cx),
        (State::Waiting(wait), kind) if kind == flavour.identity_subtype() => {
            wait.on_identity_request(&message, shared)
        }
        (State::Waiting(wait), kind) if kind == flavour.challenge_subtype() => match flavour {
            Flavour::Sim => challenge::sim(&wait, &message, shared, cx),
            Flavour::Aka | Flavour::AkaPrime => challenge::aka(wait, &message, shared, cx),
        },
        (State::Waiting(wait), subtype::REAUTHENTICATION) => {
            reauthenticate::on_request(wait, &message, shared, cx)
        }
        (_, other) => Err(Fault::Subtype(other).into()),
    }
}
