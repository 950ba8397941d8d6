//! What the records say of an IKE message, as far as its outside tells it: RFC 7296 §3.1.

use keytoll_engine::trace::{Message, Parts};
use keytoll_net::wire::{DecodeError, Reader};

use crate::names;
use crate::wire::{Header, Message as Payloads, Payload};

/// Reads a message without marker.
pub(super) fn read(bytes: &[u8]) -> Result<Message, DecodeError> {
    let header = Header::read(&mut Reader::new(bytes))?;
    let mut parts = Parts::default();
    let mut fragment = 0;
    // A payload that cannot be read makes no message unsent.
    for payload in Payloads::read(bytes).map(|message| message.payloads).unwrap_or_default() {
        parts.push(names::payload(payload.kind()));
        if let Payload::EncryptedFragment(part) = payload {
            fragment = part.number;
        }
    }
    Ok(Message {
        id: header.message_id,
        bytes: header.length,
        fragment,
        parts,
        ..names::message(header.exchange, header.flags.is_response())
    })
}
