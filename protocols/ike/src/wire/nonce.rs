//! Nonce payload, RFC 7296 §3.9.
//!
//!   Nonce Data(16..=256)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// A nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce<'a> {
    /// The nonce.
    pub data: &'a [u8],
}

impl<'a> Nonce<'a> {
    /// RFC 7296 §3.9: between 16 and 256 octets.
    pub const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let data = r.rest();
        if !Self::LENGTHS.contains(&data.len()) {
            return Err(at.error("nonce", Problem::Length(data.len() as u64)));
        }
        Ok(Self { data })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::PayloadType;
    use crate::wire::Payload;
    use crate::wire::payload::read_chain;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn nonces_too_short_or_too_long_are_refused() {
        for length in [0, 15, 257] {
            let bytes = with_generic_header(&Payload::Nonce(Nonce { data: &vec![0; length] }));
            let error = read_chain(PayloadType::NONCE, &mut Reader::new(&bytes)).unwrap_err();
            assert_eq!(error.problem, Problem::Length(length as u64));
        }
    }

    proptest! {
        #[test]
        fn round_trip(data in proptest::collection::vec(any::<u8>(), 16..=256)) {
            check_codec(&Payload::Nonce(Nonce { data: &data }));
        }
    }
}
