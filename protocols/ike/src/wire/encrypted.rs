//! Encrypted payload, RFC 7296 §3.14, RFC 5282 §3.
//!
//!   IV(*) Encrypted payloads, Padding, Pad Length(*) Integrity Check Value(*)
//!
//! The division depends on the suite: `v2::protect` decrypts it.

use keytoll_net::wire::{Reader, Writer};

use crate::number::PayloadType;

/// The encrypted rest of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encrypted<'a> {
    /// The type of the first payload inside.
    pub first: PayloadType,
    /// IV, ciphertext and integrity check value.
    pub body: &'a [u8],
}

impl<'a> Encrypted<'a> {
    pub(super) fn read(first: PayloadType, r: &mut Reader<'a>) -> Self {
        Self { first, body: r.rest() }
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(self.body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::check_codec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(first: u8, body: Vec<u8>) {
            check_codec(&Payload::Encrypted(Encrypted { first: PayloadType(first), body: &body }));
        }
    }
}
