//! Whole unencrypted messages: RFC 2408 §3.1. [`crate::v1::protect`] decrypts the others.

use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::Payload;
use super::payload::{Located, read_chain};
use crate::wire::message::patch_length;
use crate::wire::{Header, MessageBuilder};

/// A decoded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    /// The payloads, in order.
    pub payloads: Vec<Payload<'a>>,
}

impl<'a> Message<'a> {
    /// Reads a whole unencrypted datagram (without non-ESP marker).
    ///
    /// # Errors
    /// The header or a payload is truncated or malformed.
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
        let payloads = read_plain(&header, &mut r)?;
        Ok(Self { header, payloads: payloads.iter().map(|located| located.payload).collect() })
    }

    /// Writes it again.
    pub fn write(&self) -> Vec<u8> {
        let mut builder = MessageBuilder::plain(&self.header);
        self.payloads.iter().for_each(|payload| push(&mut builder, payload));
        finish(builder)
    }
}

/// Octets that messages are aligned to.
const ALIGNMENT: usize = 4;

/// The payloads of an unencrypted message, after its header.
// RFC 2408 §3: messages are aligned to four octets; libreswan counts this padding in the header's length.
pub(in crate::v1) fn read_plain<'a>(
    header: &Header,
    r: &mut Reader<'a>,
) -> Result<Vec<Located<'a>>, DecodeError> {
    let payloads = read_chain(header.next_payload, r)?;
    let is_padding = r.len() < ALIGNMENT && (r.offset() + r.len()).is_multiple_of(ALIGNMENT);
    if !is_padding {
        r.end("message")?;
    }
    Ok(payloads)
}

/// Finishes an unencrypted message.
// RFC 2408 §3: messages are aligned to four octets.
pub(in crate::v1) fn finish(m: MessageBuilder) -> Vec<u8> {
    let mut w = m.into_writer();
    w.zeros(w.len().next_multiple_of(ALIGNMENT) - w.len());
    patch_length(&mut w);
    w.finish()
}

/// Appends a payload to a message.
pub fn push(m: &mut MessageBuilder, payload: &Payload<'_>) {
    m.append(payload.kind(), false, |w| payload.write_body(w));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::number::{INFORMATIONAL, payload};
    use crate::wire::Flags;

    fn with_vendor_id(octets: usize) -> Vec<u8> {
        let header =
            Header { version: Header::VERSION_1, ..Header::new((1, 2), INFORMATIONAL, Flags::NONE, 7) };
        let id = vec![9; octets];
        Message { header, payloads: vec![Payload::VendorId(&id)] }.write()
    }

    #[test]
    fn messages_are_aligned_to_four_octets() {
        for octets in 0..9 {
            let bytes = with_vendor_id(octets);
            assert_eq!(bytes.len(), (Header::LEN + 4 + octets).next_multiple_of(4));
            assert_eq!(bytes[24..28], u32::try_from(bytes.len()).unwrap().to_be_bytes());
            let read = Message::read(&bytes).unwrap();
            assert_eq!(read.payloads, [Payload::VendorId(&vec![9; octets])], "the padding is in no payload");
        }
    }

    /// As strongSwan sends it, and earlier versions of this program.
    #[test]
    fn an_unaligned_message_is_accepted() {
        let mut bytes = with_vendor_id(6);
        bytes.truncate(bytes.len() - 2);
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[24..28].copy_from_slice(&length.to_be_bytes());
        assert_eq!(Message::read(&bytes).unwrap().payloads[0].kind(), payload::VID);
    }

    #[test]
    fn invalid_padding_is_refused_with_field_and_offset() {
        // A whole word too much, and a rest that does not lead to alignment.
        for (octets, rest) in [(4, 4), (4, 1), (6, 1)] {
            let mut bytes = with_vendor_id(octets);
            bytes.truncate(Header::LEN + 4 + octets);
            bytes.resize(bytes.len() + rest, 0);
            let length = u32::try_from(bytes.len()).unwrap();
            bytes[24..28].copy_from_slice(&length.to_be_bytes());
            let error = Message::read(&bytes).unwrap_err();
            assert_eq!((error.field, error.offset), ("message", Header::LEN + 4 + octets), "{octets} {rest}");
        }
    }
}
