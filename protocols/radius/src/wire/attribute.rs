//! An attribute, RFC 2865 §5. The smallest codec of the project, and the model for the others.
//!
//!   Type(1) Length(1) Value(Length - 2)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::AttributeType;

/// A type and a value of up to 253 bytes, borrowing from its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    kind: AttributeType,
    value: &'a [u8],
}

/// The value does not fit in an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} has a value of {length} bytes, {max} are the limit", max = Attribute::VALUE_MAX)]
pub struct ValueTooLong {
    /// The attribute.
    pub kind: AttributeType,
    /// Length of the value in bytes.
    pub length: usize,
}

impl<'a> Attribute<'a> {
    /// Length of type and length, in bytes.
    pub const HEADER_LEN: usize = 2;
    /// RFC 2865 §5: the length is one octet and includes itself and the type.
    pub const VALUE_MAX: usize = 255 - Self::HEADER_LEN;

    /// An attribute, if the value fits.
    ///
    /// # Errors
    /// The value is longer than an attribute can be.
    pub const fn new(kind: AttributeType, value: &'a [u8]) -> Result<Self, ValueTooLong> {
        if value.len() > Self::VALUE_MAX {
            return Err(ValueTooLong { kind, length: value.len() });
        }
        Ok(Self { kind, value })
    }

    /// An attribute whose value has a fixed length that fits: integers, addresses, authenticators.
    pub const fn fixed<const N: usize>(kind: AttributeType, value: &'a [u8; N]) -> Self {
        const { assert!(N <= Self::VALUE_MAX, "fits an attribute") };
        Self { kind, value }
    }

    /// Its type.
    pub const fn kind(&self) -> AttributeType {
        self.kind
    }

    /// Its value.
    pub const fn value(&self) -> &'a [u8] {
        self.value
    }

    /// Length on the wire, in bytes.
    pub const fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.value.len()
    }

    /// Reads one attribute.
    ///
    /// # Errors
    /// The attribute is truncated, or its length does not fit.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (kind, mut value) = Self::split(r)?;
        Ok(Self { kind, value: value.rest() })
    }

    /// Reads one attribute; its value is a reader that keeps counting offsets from the start of the packet.
    ///
    /// # Errors
    /// The attribute is truncated, or its length does not fit.
    pub fn split(r: &mut Reader<'a>) -> Result<(AttributeType, Reader<'a>), DecodeError> {
        let kind = AttributeType(r.u8("attribute type")?);
        let at = *r;
        let length = usize::from(r.u8("attribute length")?);
        let Some(value_len) = length.checked_sub(Self::HEADER_LEN) else {
            return Err(at.error("attribute length", Problem::Length(length as u64)));
        };
        Ok((kind, r.sub(value_len, kind.name())?))
    }

    /// Writes it.
    pub fn write(&self, w: &mut Writer) {
        w.u8(self.kind.0);
        w.u8(u8::try_from(self.wire_len()).expect("new and read bound the value"));
        w.bytes(self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(attribute: &Attribute<'_>) -> Vec<u8> {
        let mut w = Writer::default();
        attribute.write(&mut w);
        w.finish()
    }

    fn read(bytes: &[u8]) -> Result<Attribute<'_>, DecodeError> {
        Attribute::read(&mut Reader::new(bytes))
    }

    /// FreeRADIUS, src/tests/unit/protocols/radius/rfc.txt: User-Name = "bob".
    #[test]
    fn the_layout_is_that_of_the_standard() {
        let bob = Attribute::new(AttributeType::USER_NAME, b"bob").unwrap();
        assert_eq!(written(&bob), [1, 5, b'b', b'o', b'b']);
        assert_eq!(read(&[1, 5, b'b', b'o', b'b']), Ok(bob));
    }

    #[test]
    fn a_length_that_excludes_its_header_is_refused() {
        for length in [0, 1] {
            let error = read(&[1, length, 7]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("attribute length at offset 1: length {length} does not fit")
            );
        }
    }

    /// FreeRADIUS, src/tests/unit/protocols/radius/errors.txt.
    #[test]
    fn a_length_beyond_the_packet_names_the_attribute() {
        let error = read(&[1, 10, 1, 2]).unwrap_err();
        assert_eq!(error.to_string(), "User-Name at offset 2: needs 8 bytes, 2 are left");
    }

    #[test]
    fn a_value_is_at_most_253_bytes_long() {
        assert_eq!(Attribute::new(AttributeType::CLASS, &[0; 253]).unwrap().wire_len(), 255);
        let error = Attribute::new(AttributeType::CLASS, &[0; 254]).unwrap_err();
        assert_eq!(error.to_string(), "Class (25) has a value of 254 bytes, 253 are the limit");
    }

    proptest! {
        #[test]
        fn round_trip_and_every_cut(kind: u8, value in proptest::collection::vec(any::<u8>(), 0..=253)) {
            let attribute = Attribute::new(AttributeType(kind), &value).unwrap();
            let bytes = written(&attribute);
            prop_assert_eq!(read(&bytes), Ok(attribute));
            for cut in 0..bytes.len() {
                prop_assert!(read(&bytes[..cut]).is_err(), "cut at {}", cut);
            }
        }
    }
}
