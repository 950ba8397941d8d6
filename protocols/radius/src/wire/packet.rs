//! A packet, RFC 2865 §3.
//!
//!   Code(1) Identifier(1) Length(2) Authenticator(16)  attributes(Length - 20)
//!
//! In a stream the Length tells where the next packet begins, RFC 6613 §2.6.4.

use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::AttributeList;
use crate::number::{AttributeType, Code};

/// Request Authenticator or Response Authenticator.
pub type Authenticator = [u8; 16];

/// A well-formed packet, borrowing from its datagram. Its sender is not authenticated yet: see [`crate::protect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The kind of packet.
    pub code: Code,
    /// Matches requests and responses.
    pub identifier: u8,
    /// Request or Response Authenticator.
    pub authenticator: Authenticator,
    /// Its attributes.
    pub attributes: AttributeList<'a>,
    bytes: &'a [u8],
    message_authenticator: Option<usize>,
}

impl<'a> Packet<'a> {
    /// Length of the header, in bytes.
    pub const HEADER_LEN: usize = 20;
    /// RFC 2865 §3: the maximum length is 4096 octets.
    pub const LEN_MAX: usize = 4096;

    /// Reads a datagram.
    ///
    /// # Errors
    /// A field is truncated, or has a value that RFC 2865 §3 does not allow.
    pub fn read(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        let bytes = Self::without_padding(datagram)?;
        let mut r = Reader::new(bytes);
        let (code, identifier) = (Code(r.u8("code")?), r.u8("identifier")?);
        r.skip(2, "length")?;
        let authenticator = r.array("authenticator")?;
        let attributes = AttributeList::read(&mut r)?;
        let message_authenticator = find_message_authenticator(&attributes)?;
        Ok(Self { code, identifier, authenticator, attributes, bytes, message_authenticator })
    }

    // RFC 2865 §3: octets beyond the length are padding; a datagram shorter than that is to be discarded.
    fn without_padding(datagram: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        let (length, at) = read_length(datagram)?;
        let left = datagram.len();
        datagram.get(..length).ok_or_else(|| at.error("length", Problem::Short { needed: length, left }))
    }

    /// The packet on the wire, without padding.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Offset of the value of its Message-Authenticator, if it has one.
    pub(crate) const fn message_authenticator(&self) -> Option<usize> {
        self.message_authenticator
    }
}

// RFC 6613 §2.6.4: a Length that no packet can have ends the stream.
/// The length of a packet with this beginning, for splitting a stream into packets.
///
/// # Errors
/// It is less than the header or more than [`Packet::LEN_MAX`].
pub fn length(start: [u8; 4]) -> Result<usize, DecodeError> {
    read_length(&start).map(|(length, _)| length)
}

/// The Length field, which must be possible, and a reader at its place.
fn read_length(start: &[u8]) -> Result<(usize, Reader<'_>), DecodeError> {
    let mut r = Reader::new(start);
    r.skip(2, "code and identifier")?;
    let at = r;
    let length = usize::from(r.u16("length")?);
    if (Packet::HEADER_LEN..=Packet::LEN_MAX).contains(&length) {
        Ok((length, at))
    } else {
        Err(at.error("length", Problem::Length(length as u64)))
    }
}

// RFC 3579 §3.2: 16 octets, and at most one (§3.3).
fn find_message_authenticator(attributes: &AttributeList<'_>) -> Result<Option<usize>, DecodeError> {
    let Some(value) = attributes.at_most_one(AttributeType::MESSAGE_AUTHENTICATOR)? else { return Ok(None) };
    if value.len() != 16 {
        return Err(value.error("Message-Authenticator", Problem::Length(value.len() as u64)));
    }
    Ok(Some(value.offset()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Attribute;

    /// RFC 2865 §7.3: the Access-Challenge.
    const CHALLENGE: &[u8] =
        b"\x0b\x02\x00\x4e\x36\xf3\xc8\x76\x4a\xe8\xc7\x11\x57\x40\x3c\x0c\x71\xff\x9c\x45\
\x12\x30Challenge 32769430.  Enter response at prompt.\x18\x0a32769430";

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let packet = Packet::read(CHALLENGE).unwrap();
        assert_eq!((packet.code, packet.identifier), (Code::ACCESS_CHALLENGE, 2));
        assert_eq!(packet.authenticator[..2], [0x36, 0xf3]);
        let text = b"Challenge 32769430.  Enter response at prompt.";
        let reply = Attribute::fixed(AttributeType::REPLY_MESSAGE, text);
        let state = Attribute::fixed(AttributeType::STATE, b"32769430");
        assert!(packet.attributes.iter().eq([reply, state]));
    }

    #[test]
    fn padding_is_not_part_of_the_packet() {
        let padded = [CHALLENGE, &[1, 2, 3]].concat();
        assert_eq!(Packet::read(&padded), Packet::read(CHALLENGE));
        assert_eq!(Packet::read(&padded).unwrap().bytes(), CHALLENGE);
    }

    #[test]
    fn every_cut_is_an_error() {
        for cut in 0..CHALLENGE.len() {
            assert!(Packet::read(&CHALLENGE[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn lengths_below_20_and_above_4096_are_refused() {
        for (length, field) in [(0_u16, "length"), (19, "length"), (4097, "length"), (u16::MAX, "length")] {
            let mut bytes = vec![0; usize::from(u16::MAX)];
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
            let error = Packet::read(&bytes).unwrap_err();
            assert_eq!(
                (error.field, error.offset, error.problem),
                (field, 2, Problem::Length(length.into()))
            );
        }
    }

    /// RFC 6613 §2.6.4.
    #[test]
    fn a_stream_is_split_by_lengths_that_are_possible() {
        let start = |[a, b]: [u8; 2]| [2, 7, a, b];
        let split = |bytes: u16| length(start(bytes.to_be_bytes()));
        assert_eq!([20, 78, 4096].map(split), [Ok(20), Ok(78), Ok(4096)]);
        for bytes in [0, 19, 4097, u16::MAX] {
            assert_eq!(split(bytes).unwrap_err().problem, Problem::Length(bytes.into()));
        }
    }

    #[test]
    fn a_message_authenticator_of_another_length_or_a_second_one_is_refused() {
        let with = |attributes: &[u8]| {
            let mut bytes = vec![1, 0, 0, 20 + u8::try_from(attributes.len()).unwrap()];
            bytes.extend([0; 16]);
            bytes.extend(attributes);
            Packet::read(&bytes).map(|packet| packet.message_authenticator())
        };
        let good = [&[80, 18][..], &[0; 16]].concat();
        assert_eq!(with(&good), Ok(Some(22)));
        assert_eq!(
            with(&[80, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err().problem,
            Problem::Length(15)
        );
        assert_eq!(with(&good.repeat(2)).unwrap_err().problem, Problem::Repeated);
    }
}
