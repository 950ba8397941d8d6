//! The codec. Both messages have one layout, in network order:
//!
//! ```text
//!   version (1) | kind (1) | id (2) | nonce (16) | tag (16)
//! ```

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 16;
/// Bytes of a tag: HMAC-SHA-256, cut to its first half.
pub const TAG_LEN: usize = 16;
/// Bytes that a tag covers.
const COVERED_LEN: usize = 4 + NONCE_LEN;

const VERSION: u8 = 1;

/// Which message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The initiator asks.
    Knock,
    /// The responder answers.
    Open,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Knock => 1,
            Self::Open => 2,
        }
    }
}

/// A message as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Which one.
    pub kind: Kind,
    /// The same in question and answer.
    pub id: u16,
    /// Of its sender.
    pub nonce: [u8; NONCE_LEN],
    /// What proves that the sender knows the key.
    pub tag: &'a [u8],
    /// What the tag covers of this message.
    pub covered: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// The field that is missing, wrong or too much, with its offset.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let version = r.error("version", Problem::Value(u64::from(bytes.first().copied().unwrap_or(0))));
        if r.u8("version")? != VERSION {
            return Err(version);
        }
        let kind_at = r;
        let kind = match r.u8("kind")? {
            1 => Kind::Knock,
            2 => Kind::Open,
            other => return Err(kind_at.error("kind", Problem::Value(other.into()))),
        };
        let (id, nonce) = (r.u16("id")?, r.array("nonce")?);
        let tag = r.take(TAG_LEN, "tag")?;
        r.end("message")?;
        let covered = bytes.get(..COVERED_LEN).unwrap_or_default();
        Ok(Self { kind, id, nonce, tag, covered })
    }
}

/// A message up to its tag, which its sender appends.
pub fn covered(kind: Kind, id: u16, nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    let mut w = Writer::with_capacity(COVERED_LEN + TAG_LEN);
    w.u8(VERSION);
    w.u8(kind.number());
    w.u16(id);
    w.bytes(nonce);
    w.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: Kind) -> Vec<u8> {
        let mut message = covered(kind, 7, &[0xaa; NONCE_LEN]);
        message.extend([0xbb; TAG_LEN]);
        message
    }

    #[test]
    fn what_is_written_is_read_again() {
        for kind in [Kind::Knock, Kind::Open] {
            let bytes = message(kind);
            let read = Message::read(&bytes).unwrap();
            assert_eq!((read.kind, read.id, read.nonce), (kind, 7, [0xaa; NONCE_LEN]));
            assert_eq!((read.tag, read.covered), (&[0xbb; TAG_LEN][..], &bytes[..COVERED_LEN]));
        }
    }

    #[test]
    fn an_error_names_the_field_and_its_offset() {
        let error = |change: fn(&mut Vec<u8>)| {
            let mut bytes = message(Kind::Knock);
            change(&mut bytes);
            Message::read(&bytes).unwrap_err().to_string()
        };
        assert_eq!(error(|bytes| bytes[0] = 9), "version at offset 0: value 9 is not allowed");
        assert_eq!(error(|bytes| bytes[1] = 3), "kind at offset 1: value 3 is not allowed");
        assert_eq!(error(|bytes| bytes.truncate(30)), "tag at offset 20: needs 16 bytes, 10 are left");
        assert_eq!(error(|bytes| bytes.push(0)), "message at offset 36: 1 bytes left over");
        assert_eq!(error(Vec::clear), "version at offset 0: needs 1 bytes, 0 are left");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let read = Message::read(&bytes);
            prop_assert!(read.is_err() || bytes.len() == COVERED_LEN + TAG_LEN);
        }
    }
}
