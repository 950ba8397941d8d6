//! Key Exchange payload, RFC 7296 §3.4.
//!
//!   Group(2) Reserved(2) Key Exchange Data(*)

use keytoll_crypto_api::algorithm::Group;
use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::Numbered;

/// A public value and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyExchange<'a> {
    /// The group's transform id, known or not.
    pub group: u16,
    /// The public value.
    pub data: &'a [u8],
}

impl<'a> KeyExchange<'a> {
    /// A public value of a group.
    pub fn new(group: Group, data: &'a [u8]) -> Self {
        Self { group: group.number(), data }
    }

    /// The group, if it is supported.
    pub fn group(&self) -> Option<Group> {
        Group::from_number(self.group)
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let group = r.u16("KE group")?;
        r.skip(2, "KE reserved")?;
        Ok(Self { group, data: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16(self.group);
        w.u16(0);
        w.bytes(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let ke = KeyExchange::new(Group::X25519, &[0xaa; 3]);
        let bytes = with_generic_header(&Payload::KeyExchange(ke));
        assert_eq!(bytes, [0, 0, 0, 11, 0, 31, 0, 0, 0xaa, 0xaa, 0xaa]);
        assert_eq!(ke.group(), Some(Group::X25519));
    }

    proptest! {
        #[test]
        fn round_trip(group: u16, data: Vec<u8>) {
            check_codec(&Payload::KeyExchange(KeyExchange { group, data: &data }));
        }
    }
}
