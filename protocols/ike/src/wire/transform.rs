//! Transform substructure and its attributes, RFC 7296 §3.3.2, §3.3.5.
//!
//!   Last(1) Reserved(1) Length(2) Type(1) Reserved(1) ID(2) Attributes(*)
//!   attribute: AF(1b) Type(15b)  AF=1: Value(2)   AF=0: Length(2) Value(*)

use keytoll_crypto_api::algorithm::Encryption;
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::{self, Numbered, TransformType};

/// An offered or chosen algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transform {
    /// What it is for.
    pub kind: TransformType,
    /// Which algorithm.
    pub id: u16,
    /// Its attribute.
    pub attribute: Attribute,
}

/// The attributes of a transform, as far as they are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attribute {
    /// None.
    None,
    /// Key length in bits.
    KeyLength(u16),
    /// RFC 7296 §3.3.6: a transform with attributes that are not understood must not be chosen.
    NotUnderstood,
}

impl Transform {
    /// Last, Reserved, Length, Type, Reserved, ID.
    const FIXED_LEN: usize = 8;
    /// Value of the Last field if another transform follows.
    const MORE: u8 = 3;

    /// The transform of an algorithm.
    pub fn of<N: Numbered>(algorithm: N) -> Self {
        Self { kind: N::KIND, id: algorithm.number(), attribute: Attribute::None }
    }

    /// The transform of an encryption algorithm.
    pub fn encryption(algorithm: Encryption) -> Self {
        let (id, key_length) = number::encryption_number(algorithm);
        let attribute = key_length.map_or(Attribute::None, Attribute::KeyLength);
        Self { kind: TransformType::ENCR, id, attribute }
    }

    /// RFC 7296 §3.3.2: with or without extended sequence numbers.
    pub const fn esn(extended: bool) -> Self {
        Self { kind: TransformType::ESN, id: extended as u16, attribute: Attribute::None }
    }

    /// The algorithm, if it is supported and of type `N`.
    pub fn algorithm<N: Numbered>(&self) -> Option<N> {
        if self.kind == N::KIND && self.attribute == Attribute::None { N::from_number(self.id) } else { None }
    }

    /// The encryption algorithm, if it is supported.
    pub fn as_encryption(&self) -> Option<Encryption> {
        let key_length = match self.attribute {
            Attribute::None => None,
            Attribute::KeyLength(bits) => Some(bits),
            Attribute::NotUnderstood => return None,
        };
        if self.kind == TransformType::ENCR { number::encryption(self.id, key_length) } else { None }
    }

    /// Reads one of several transforms; `last` tells that it must be the last.
    pub(super) fn read(r: &mut Reader<'_>, last: bool) -> Result<Self, DecodeError> {
        let mut fixed = r.sub(Self::FIXED_LEN, "transform")?;
        super::sa::read_more(&mut fixed, Self::MORE, last, "last transform")?;
        let attributes_len = super::sa::read_length(&mut fixed, Self::FIXED_LEN, "transform length")?;
        let kind = TransformType(fixed.u8("transform type")?);
        fixed.skip(1, "transform reserved")?;
        let id = fixed.u16("transform ID")?;
        let attribute = Attribute::read_all(&mut r.sub(attributes_len, "transform attributes")?)?;
        Ok(Self { kind, id, attribute })
    }

    /// Writes it; `last` tells that none follows.
    ///
    /// # Panics
    /// If its attributes were not understood; such transforms are never sent.
    pub(super) fn write(&self, last: bool, w: &mut Writer) {
        let [id_high, id_low] = self.id.to_be_bytes();
        let more = if last { 0 } else { Self::MORE };
        match self.attribute {
            Attribute::None => w.bytes(&[more, 0, 0, 8, self.kind.0, 0, id_high, id_low]),
            Attribute::KeyLength(bits) => {
                let [high, low] = bits.to_be_bytes();
                w.bytes(&[
                    more,
                    0,
                    0,
                    12,
                    self.kind.0,
                    0,
                    id_high,
                    id_low,
                    0x80,
                    Attribute::KEY_LENGTH,
                    high,
                    low,
                ]);
            }
            Attribute::NotUnderstood => {
                panic!("transforms with attributes that are not understood are never sent")
            }
        }
    }
}

impl Attribute {
    /// RFC 7296 §3.3.5: the only attribute type defined.
    const KEY_LENGTH: u8 = 14;
    /// Attribute Format: set if the value is two bytes in place of the length.
    const SHORT: u16 = 0x8000;

    fn read_all(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut found = Self::None;
        while !r.is_empty() {
            let at = *r;
            found = match (found, Self::read(r)?) {
                (Self::None, attribute) => attribute,
                (Self::KeyLength(_), Self::KeyLength(_)) => {
                    return Err(at.error("key length", Problem::Repeated));
                }
                _ => Self::NotUnderstood,
            };
        }
        Ok(found)
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let format_and_type = r.u16("attribute type")?;
        let value = r.u16("attribute value")?;
        if format_and_type & Self::SHORT == 0 {
            r.skip(usize::from(value), "attribute value")?;
        }
        let is_key_length = format_and_type == Self::SHORT | u16::from(Self::KEY_LENGTH);
        Ok(if is_key_length { Self::KeyLength(value) } else { Self::NotUnderstood })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Transform, DecodeError> {
        Transform::read(&mut Reader::new(bytes), true)
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let mut w = Writer::default();
        Transform::encryption(Encryption::Aes256Gcm16).write(true, &mut w);
        assert_eq!(w.as_slice(), [0, 0, 0, 12, 1, 0, 0, 20, 0x80, 14, 1, 0]);
        assert_eq!(read(w.as_slice()), Ok(Transform::encryption(Encryption::Aes256Gcm16)));
        assert_eq!(read(w.as_slice()).unwrap().as_encryption(), Some(Encryption::Aes256Gcm16));
    }

    #[test]
    fn unknown_attributes_make_a_transform_unusable_not_the_message() {
        let long_attribute = [0, 0, 0, 14, 1, 0, 0, 12, 0, 99, 0, 2, 7, 7];
        let transform = read(&long_attribute).unwrap();
        assert_eq!((transform.attribute, transform.as_encryption()), (Attribute::NotUnderstood, None));
    }

    #[test]
    fn a_key_length_given_twice_is_refused() {
        let bytes = [0, 0, 0, 16, 1, 0, 0, 12, 0x80, 14, 0, 128, 0x80, 14, 1, 0];
        assert_eq!(read(&bytes).unwrap_err().to_string(), "key length at offset 12: occurs twice");
    }

    #[test]
    fn a_truncated_attribute_is_refused() {
        for length in 9..12 {
            let bytes = [0, 0, 0, length, 1, 0, 0, 12, 0x80, 14, 0];
            assert!(read(&bytes[..usize::from(length)]).is_err(), "{length}");
        }
    }
}
