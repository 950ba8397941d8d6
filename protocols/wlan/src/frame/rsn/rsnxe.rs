//! The RSNXE, 802.11-2020 §9.4.2.241.
//!
//!   Extended RSN Capabilities(*): the low four bits of the first octet are the number of octets less one

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::frame::element::{ElementId, write_element};

/// What else a network or station can protect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rsnxe {
    /// SAE derives its password element with hash-to-element, bit 5.
    pub sae_hash_to_element: bool,
    /// SAE with a public key in its password, bit 6.
    pub sae_public_key: bool,
}

const HASH_TO_ELEMENT: u8 = 1 << 5;
const PUBLIC_KEY: u8 = 1 << 6;

impl Rsnxe {
    /// Reads the information of the element.
    ///
    /// # Errors
    /// If it does not have the length that it says.
    pub fn read(information: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(information);
        let at = r;
        let bits = r.u8("RSNXE capabilities")?;
        let more = bits & 0x0f;
        if r.len() < usize::from(more) {
            return Err(at.error("RSNXE length", Problem::Length(more.into())));
        }
        Ok(Self { sae_hash_to_element: bits & HASH_TO_ELEMENT != 0, sae_public_key: bits & PUBLIC_KEY != 0 })
    }

    /// Writes the element with its id and length.
    pub fn write(&self, w: &mut Writer) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        write_element(w, ElementId::RSNX, |w| {
            w.u8(bit(self.sae_hash_to_element, HASH_TO_ELEMENT) | bit(self.sae_public_key, PUBLIC_KEY));
        });
    }

    /// The element as bytes, with its id and length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.write(&mut w);
        w.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(sae_hash_to_element: bool, sae_public_key: bool) {
            let rsnxe = Rsnxe { sae_hash_to_element, sae_public_key };
            prop_assert_eq!(Rsnxe::read(&rsnxe.to_bytes()[2..]).unwrap(), rsnxe);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Rsnxe::read(&bytes);
        }
    }

    #[test]
    fn hash_to_element_is_20() {
        let rsnxe = Rsnxe { sae_hash_to_element: true, sae_public_key: false };
        assert_eq!(rsnxe.to_bytes(), [244, 1, 0x20]);
        assert_eq!(
            Rsnxe::read(&[0x21]).unwrap_err().to_string(),
            "RSNXE length at offset 0: length 1 does not fit"
        );
    }
}
