//! Parameters, RFC 7401 §5.2.1.
//!
//!   Type(2, its lowest bit: critical) Length(2) Contents(*) Padding(0-7)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::ParameterType;

/// Octets before the contents.
pub const PREFIX_LEN: usize = 4;

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter<'a> {
    /// Its type.
    pub kind: ParameterType,
    /// Its contents, with their place in the packet.
    pub contents: Reader<'a>,
    /// Where it begins in the packet.
    pub begins: usize,
    /// Where the next one begins.
    pub ends: usize,
}

impl<'a> Parameter<'a> {
    /// The next parameter.
    ///
    /// # Errors
    /// If it is cut short.
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let begins = r.offset();
        let kind = ParameterType(r.u16("HIP parameter type")?);
        let len = usize::from(r.u16("HIP parameter length")?);
        let contents = r.sub(len, "HIP parameter contents")?;
        // RFC 7401 §5.2.1: what the padding holds is not checked.
        r.skip(padding(len), "HIP parameter padding")?;
        Ok(Self { kind, contents, begins, ends: r.offset() })
    }

    /// What it contains.
    pub fn bytes(&self) -> &'a [u8] {
        let mut contents = self.contents;
        contents.rest()
    }
}

/// Octets of padding behind so many octets of contents.
// RFC 7401 §5.2.1: Total Length = 11 + Length - (Length + 3) % 8.
pub const fn padding(len: usize) -> usize {
    7 - (len + 3) % 8
}

/// Octets of a whole parameter with so many octets of contents.
pub const fn total_len(len: usize) -> usize {
    PREFIX_LEN + len + padding(len)
}

/// Writes a parameter whose contents `write` writes.
///
/// # Panics
/// If the contents have more than 65 535 octets: no parameter of ours has.
pub(crate) fn write_parameter(w: &mut Writer, kind: ParameterType, write: impl FnOnce(&mut Writer)) {
    w.u16(kind.0);
    let length_at = w.len();
    w.u16(0);
    write(w);
    let len = w.len() - length_at - 2;
    w.patch_u16(length_at, u16::try_from(len).expect("parameters of ours are shorter than a packet"));
    w.zeros(padding(len));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parameters_are_multiples_of_eight_octets(contents in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut w = Writer::default();
            write_parameter(&mut w, ParameterType::HOST_ID, |w| w.bytes(&contents));
            let bytes = w.finish();
            prop_assert_eq!(bytes.len(), 11 + contents.len() - (contents.len() + 3) % 8);
            prop_assert_eq!(bytes.len(), total_len(contents.len()));
            let parameter = Parameter::read(&mut Reader::new(&bytes)).unwrap();
            prop_assert_eq!((parameter.kind, parameter.bytes()), (ParameterType::HOST_ID, &contents[..]));
            prop_assert_eq!((parameter.begins, parameter.ends), (0, bytes.len()));
            for cut in 0..bytes.len() {
                prop_assert!(Parameter::read(&mut Reader::new(&bytes[..cut])).is_err());
            }
        }
    }
}
