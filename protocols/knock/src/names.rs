//! What traces call the messages, and what a meter calls the phases.

use keytoll_crypto_api::Phase;
use keytoll_engine::trace::{Message, Name, Protocol};

use crate::wire::Kind;

/// Knock.
pub const KNOCK: Protocol = Protocol::new(&"knock");

/// The initiator asks.
pub const ASK: Phase = Phase::new(10, "knock");
/// The responder answers.
pub const ANSWER: Phase = Phase::new(20, "open");

/// A message of this kind and length, sent for the first time.
pub fn message(kind: Kind, id: u16, bytes: usize) -> Message {
    Message {
        response: kind == Kind::Open,
        id: id.into(),
        bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        parts: [NONCE, TAG].into_iter().collect(),
        ..Message::new(KNOCK, name(kind))
    }
}

/// What a message is called.
pub const fn name(kind: Kind) -> Name {
    match kind {
        Kind::Knock => Name::new(&"KNOCK"),
        Kind::Open => Name::new(&"OPEN"),
    }
}

const NONCE: Name = Name::new(&"Nonce");
const TAG: Name = Name::new(&"Tag");
