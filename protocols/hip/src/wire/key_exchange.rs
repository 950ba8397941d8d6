//! DIFFIE_HELLMAN, RFC 7401 §5.2.7.
//!
//!   Group ID(1) Public Value Length(2) Public Value(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::GroupId;

/// A public value and the group it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffieHellman<'a> {
    /// The group, known or not.
    pub group: GroupId,
    /// The public value.
    pub public: &'a [u8],
}

impl<'a> DiffieHellman<'a> {
    /// Reads the contents.
    ///
    /// # Errors
    /// If the length in it is not that of the value.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        let group = GroupId(r.u8("DIFFIE_HELLMAN group ID")?);
        let len = usize::from(r.u16("DIFFIE_HELLMAN public value length")?);
        let public = r.take(len, "DIFFIE_HELLMAN public value")?;
        r.end("DIFFIE_HELLMAN")?;
        Ok(Self { group, public })
    }

    /// Writes the contents.
    ///
    /// # Panics
    /// If the value has more than 65 535 octets: no group has such.
    pub fn write(&self, w: &mut Writer) {
        w.u8(self.group.0);
        w.u16(u16::try_from(self.public.len()).expect("public values have room in a packet"));
        w.bytes(self.public);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_cuts() {
        let exchange = DiffieHellman { group: GroupId(12), public: &[7; 32] };
        let mut w = Writer::default();
        exchange.write(&mut w);
        let bytes = w.finish();
        assert_eq!(DiffieHellman::read(Reader::new(&bytes)).unwrap(), exchange);
        assert!((0..bytes.len()).all(|cut| DiffieHellman::read(Reader::new(&bytes[..cut])).is_err()));
    }
}
