//! Encrypted and Authenticated Fragment payload, RFC 7383 §2.5.
//!
//!   Fragment Number(2) Total Fragments(2) IV(*) Encrypted content, Padding, Pad Length(*) Integrity Check Value(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::PayloadType;

/// One fragment of the encrypted rest of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncryptedFragment<'a> {
    /// The type of the first payload inside in fragment 1, 0 in the others.
    pub first: PayloadType,
    /// Which fragment, from 1.
    pub number: u16,
    /// Of how many.
    pub total: u16,
    /// IV, ciphertext and integrity check value.
    pub body: &'a [u8],
}

impl<'a> EncryptedFragment<'a> {
    /// Fragment Number and Total Fragments.
    pub(crate) const NUMBERS_LEN: usize = 4;

    pub(super) fn read(first: PayloadType, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (number, total) = Self::read_numbers(r)?;
        Ok(Self { first, number, total, body: r.rest() })
    }

    /// RFC 7383 §2.5: both start at 1, and the number is not above the total.
    pub(crate) fn read_numbers(r: &mut Reader<'a>) -> Result<(u16, u16), DecodeError> {
        let at = *r;
        let number = r.u16("fragment number")?;
        let total = r.u16("total fragments")?;
        if number == 0 || number > total {
            return Err(at.error("fragment number", Problem::Value(number.into())));
        }
        Ok((number, total))
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16(self.number);
        w.u16(self.total);
        w.bytes(self.body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::payload::read_chain;
    use crate::wire::testing::check_codec;
    use proptest::prelude::*;

    #[test]
    fn a_fragment_outside_the_total_is_refused() {
        for numbers in [[0, 0, 0, 1], [0, 2, 0, 1], [0, 0, 0, 0]] {
            let bytes = [[0, 0, 0, 8], numbers].concat();
            let error = read_chain(PayloadType::SKF, &mut Reader::new(&bytes)).unwrap_err();
            assert_eq!((error.field, error.offset), ("fragment number", 4));
        }
    }

    proptest! {
        #[test]
        fn round_trip(first: u8, number in 1_u16.., more: u16, body: Vec<u8>) {
            let (first, total) = (PayloadType(first), number.saturating_add(more));
            check_codec(&Payload::EncryptedFragment(EncryptedFragment { first, number, total, body: &body }));
        }
    }
}
