//! What both engines have in common.

use std::time::Duration;

use keytoll_crypto_api::algorithm::Integrity;
use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::trace::{Fact, Trace};
use keytoll_engine::{Addr, Datagram};

use crate::KNOCK;
use crate::names;
use crate::wire::Kind;

/// The IP protocol: RFC 3692 sets 253 aside for experiments.
pub const NUMBER: u8 = 253;

/// What an engine knows before its first message.
#[derive(Debug, Clone)]
pub struct Config {
    /// Shared by initiator and responder.
    pub key: Secret,
    /// How long a session is open.
    pub lifetime: Duration,
}

/// Names a session at one end: the nonces of its two messages begin with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session(pub u64);

impl Session {
    /// The session that an initiator's nonce began.
    pub(crate) fn of(nonce: &[u8; 16]) -> Self {
        Self(u64::from_be_bytes(*nonce.first_chunk().expect("a nonce has 16 bytes")))
    }
}

/// A message with its tag over these parts, the message itself first.
pub(crate) fn sealed(mut message: Vec<u8>, more: &[u8], key: &Secret, crypto: &mut dyn Crypto) -> Vec<u8> {
    let tag = crypto.mac(Integrity::HmacSha256_128, key, &[&message, more]);
    message.extend_from_slice(&tag);
    message
}

/// Whether a tag is right.
pub(crate) fn is_authentic(tag: &[u8], parts: &[&[u8]], key: &Secret, crypto: &mut dyn Crypto) -> bool {
    crypto.verify_mac(Integrity::HmacSha256_128, key, parts, tag).is_ok()
}

/// A message about to leave, which the trace is told of.
pub(crate) fn outgoing(
    (kind, id): (Kind, u16),
    (from, to): (Addr, Addr),
    bytes: &[u8],
    retransmission: bool,
    trace: &mut dyn Trace,
) -> Datagram {
    trace.record(Fact::Sent(keytoll_engine::trace::Message {
        retransmission,
        ..names::message(kind, id, bytes.len())
    }));
    Datagram { protocol: KNOCK, from, to, bytes: bytes.to_vec() }
}
