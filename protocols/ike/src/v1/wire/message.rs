//! Whole messages in the clear: RFC 2408 §3.1. What encrypted ones hide, [`crate::v1::protect`] opens.

use keytoll_engine::wire::{DecodeError, Problem, Reader};

use super::Payload;
use super::payload::read_chain;
use crate::wire::{Header, MessageBuilder};

/// A message as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    /// The payloads, in order.
    pub payloads: Vec<Payload<'a>>,
}

impl<'a> Message<'a> {
    /// Reads a whole datagram (without non-ESP marker) that is not encrypted.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let header = Header::read(&mut r)?;
        if header.major() != 1 {
            let (field, problem) = ("major version", Problem::Value(header.major().into()));
            return Err(DecodeError { field, offset: 17, problem });
        }
        if header.flags.is_encrypted() {
            let (field, problem) = ("flags", Problem::Value(header.flags.0.into()));
            return Err(DecodeError { field, offset: 19, problem });
        }
        let payloads = read_chain(header.next_payload, &mut r)?;
        r.end("message")?;
        Ok(Self { header, payloads: payloads.iter().map(|located| located.payload).collect() })
    }

    /// Writes it again.
    pub fn write(&self) -> Vec<u8> {
        let mut builder = MessageBuilder::plain(&self.header);
        self.payloads.iter().for_each(|payload| push(&mut builder, payload));
        builder.finish()
    }
}

/// Appends a payload to a message.
pub fn push(m: &mut MessageBuilder, payload: &Payload<'_>) {
    m.append(payload.kind(), false, |w| payload.write_body(w));
}
