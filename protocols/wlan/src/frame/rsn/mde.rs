//! The MDE, 802.11-2020 §9.4.2.46.
//!
//!   MDID(2) FT Capability and Policy(1)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::frame::element::{ElementId, write_element};

/// Within which mobility domain fast transition is possible, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mde {
    /// The mobility domain.
    pub mdid: [u8; 2],
    /// Whether a station may ask by way of its present access point, bit 0.
    pub over_ds: bool,
    /// Whether resources can be requested, bit 1.
    pub resource_request: bool,
}

impl Mde {
    /// Reads the information of the element.
    ///
    /// # Errors
    /// If it does not have three octets.
    pub fn read(information: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(information);
        let mdid = r.array("MDID")?;
        let policy = r.u8("FT capability and policy")?;
        r.end("MDE")?;
        Ok(Self { mdid, over_ds: policy & 1 != 0, resource_request: policy & 2 != 0 })
    }

    /// Writes the element with its id and length.
    pub fn write(&self, w: &mut Writer) {
        write_element(w, ElementId::MOBILITY_DOMAIN, |w| {
            w.bytes(&self.mdid);
            w.u8(u8::from(self.over_ds) | u8::from(self.resource_request) << 1);
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
        fn round_trip(mdid: [u8; 2], over_ds: bool, resource_request: bool) {
            let mde = Mde { mdid, over_ds, resource_request };
            let bytes = mde.to_bytes();
            prop_assert_eq!(&bytes[..2], &[54, 3]);
            prop_assert_eq!(Mde::read(&bytes[2..]).unwrap(), mde);
            for cut in 0..3 {
                prop_assert!(Mde::read(&bytes[2..2 + cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Mde::read(&bytes);
        }
    }
}
