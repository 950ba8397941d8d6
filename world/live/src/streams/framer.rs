//! Cuts a stream of bytes into messages.

use std::ops::Range;

use keytoll_net::wire::DecodeError;

/// How long a message is that begins with these four bytes, themselves included: Diameter (RFC 6733 §3) and RADIUS
/// (RFC 2865 §3) have their lengths there. Must refuse what is too long to be kept.
pub type MessageLength = fn([u8; 4]) -> Result<usize, DecodeError>;

/// Bytes that have come and are not a message yet: never more than one message and what was fed with its end.
#[derive(Debug)]
pub(crate) struct Framer {
    length: MessageLength,
    buffer: Vec<u8>,
    /// Of these the messages were given out.
    given: usize,
}

impl Framer {
    pub(crate) const fn new(length: MessageLength) -> Self {
        Self { length, buffer: Vec::new(), given: 0 }
    }

    /// Takes more bytes of the stream. Everything is to be cut off before more comes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.given);
        self.given = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Cuts off the next message; none until more is fed. After an error nothing can be found any more.
    pub(crate) fn cut(&mut self) -> Result<Option<Range<usize>>, DecodeError> {
        let left = &self.buffer[self.given..];
        let Some(start) = left.first_chunk() else { return Ok(None) };
        // A length of less than what it was read from would never come to an end.
        let length = (self.length)(*start)?.max(start.len());
        if left.len() < length {
            return Ok(None);
        }
        let message = self.given..self.given + length;
        self.given = message.end;
        Ok(Some(message))
    }

    /// A message that was cut off, until more is fed.
    pub(crate) fn message(&self, place: Range<usize>) -> &[u8] {
        &self.buffer[place]
    }

    /// Whether the stream may not end here: there is a part of a message.
    pub(crate) const fn is_amid(&self) -> bool {
        self.given < self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use keytoll_net::wire::{Problem, Reader};
    use proptest::prelude::*;

    use super::*;

    const LENGTH_MAX: usize = 300;

    /// Four bytes of length.
    fn length(start: [u8; 4]) -> Result<usize, DecodeError> {
        let length = u32::from_be_bytes(start) as usize;
        let refuse = || Reader::new(&start).error("length", Problem::Length(length as u64));
        if (4..=LENGTH_MAX).contains(&length) { Ok(length) } else { Err(refuse()) }
    }

    fn message(fill: &[u8]) -> Vec<u8> {
        let length = u32::try_from(fill.len() + 4).expect("short");
        [&length.to_be_bytes()[..], fill].concat()
    }

    /// Everything that can be cut off.
    fn drain(framer: &mut Framer) -> Result<Vec<Vec<u8>>, DecodeError> {
        let mut messages = Vec::new();
        while let Some(place) = framer.cut()? {
            messages.push(framer.message(place).to_vec());
        }
        Ok(messages)
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let mut framer = Framer::new(length);
        framer.feed(&[&message(b"good")[..], &[0xff; 4]].concat());
        assert_eq!(
            framer.cut().map(|place| framer.message(place.expect("one")).to_vec()),
            Ok(message(b"good"))
        );
        let error = framer.cut().expect_err("a length of 4 GiB");
        assert_eq!(error.to_string(), "length at offset 0: length 4294967295 does not fit");
    }

    #[test]
    fn a_length_of_nothing_ends() {
        let mut framer = Framer::new(|_| Ok(0));
        framer.feed(&[0; 9]);
        assert_eq!(drain(&mut framer).expect("no error").len(), 2);
        assert!(framer.is_amid());
    }

    proptest! {
        #[test]
        fn however_a_stream_is_cut_the_messages_are_the_same(
            fills in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..LENGTH_MAX - 4), 0..20),
            cuts in proptest::collection::vec(1..200_usize, 1..40),
        ) {
            let messages: Vec<_> = fills.iter().map(|fill| message(fill)).collect();
            let stream = messages.concat();
            let (mut framer, mut found, mut rest) = (Framer::new(length), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                framer.feed(now);
                prop_assert!(framer.buffer.len() <= LENGTH_MAX + cut);
                found.extend(drain(&mut framer).expect("only good lengths"));
                rest = later;
                if rest.is_empty() {
                    break;
                }
                prop_assert_eq!(framer.is_amid(), found.concat().len() < stream.len() - rest.len());
            }
            prop_assert_eq!(found, messages);
            prop_assert!(!framer.is_amid());
        }

        #[test]
        fn arbitrary_bytes_end_in_messages_or_an_error(stream in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut framer = Framer::new(|start| length([0, 0, start[2] & 1, start[3]]));
            for piece in stream.chunks(100) {
                framer.feed(piece);
                if drain(&mut framer).is_err() {
                    break;
                }
                prop_assert!(framer.buffer.len() <= LENGTH_MAX + 100);
            }
        }
    }
}
