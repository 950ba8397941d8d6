//! WPA's element of before 802.11i, a vendor-specific one with the layout of an early draft of the RSNE. (WPA Version 3.1, §2.1; every
//! access point that still offers TKIP sends it.)
//!
//!   OUI(3) = 00-50-f2  Type(1) = 1  Version(2) Multicast Suite(4) Unicast Count(2) Unicast Suites(4 each) AKM Count(2)
//!   AKM Suites(4 each)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::rsne::{read_version, write_version};
use super::selector::{Selector, read_list, write_list};
use crate::frame::element::{ElementId, write_element};
use crate::suite::{Akm, Cipher, WPA_OUI};

/// The type of the element under [`WPA_OUI`].
const TYPE: u8 = 1;

/// What a network of WPA offers, or what a station has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wpa {
    /// The cipher of group-addressed frames.
    pub group: Selector,
    /// Ciphers of frames to one station.
    pub pairwise: Vec<Selector>,
    /// How stations authenticate.
    pub akms: Vec<Selector>,
}

impl Wpa {
    /// One cipher and one AKM.
    pub fn new(group: Cipher, pairwise: Cipher, akm: Akm) -> Self {
        Self {
            group: Selector::of_cipher(group).of_wpa(),
            pairwise: vec![Selector::of_cipher(pairwise).of_wpa()],
            akms: vec![Selector::of_akm(akm).of_wpa()],
        }
    }

    /// Whether the information of a vendor-specific element is WPA's.
    pub fn is_in(information: &[u8]) -> bool {
        matches!(information, [a, b, c, TYPE, ..] if [*a, *b, *c] == WPA_OUI)
    }

    /// Reads the information of the element, its OUI and type included.
    ///
    /// # Errors
    /// If it is cut short within a field, is another vendor's, or its version is unknown.
    pub fn read(information: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(information);
        if !Self::is_in(information) {
            return Err(r.error("WPA element", Problem::Missing));
        }
        r.skip(4, "WPA OUI and type")?;
        read_version(&mut r, "WPA version")?;
        let mut wpa = Self::new(Cipher::Tkip, Cipher::Tkip, Akm::Dot1x);
        if !r.is_empty() {
            wpa.group = Selector::read(&mut r, "WPA multicast cipher suite")?;
        }
        if !r.is_empty() {
            wpa.pairwise = read_list(&mut r, "WPA unicast cipher suite count", "WPA unicast cipher suite")?;
        }
        if !r.is_empty() {
            wpa.akms = read_list(&mut r, "WPA AKM suite count", "WPA AKM suite")?;
        }
        // Capabilities may follow, whose meaning WPA left to others.
        Ok(wpa)
    }

    /// Writes the element with its id and length.
    ///
    /// # Panics
    /// If it has more than 255 octets.
    pub fn write(&self, w: &mut Writer) {
        write_element(w, ElementId::VENDOR, |w| {
            w.bytes(&WPA_OUI);
            w.u8(TYPE);
            write_version(w);
            self.group.write(w);
            write_list(w, &self.pairwise);
            write_list(w, &self.akms);
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

    use super::super::selector::testing::selector;
    use super::*;

    proptest! {
        #[test]
        fn round_trip(group in selector(), pairwise in proptest::collection::vec(selector(), 1..5), akms in proptest::collection::vec(selector(), 1..5)) {
            let wpa = Wpa { group, pairwise, akms };
            let bytes = wpa.to_bytes();
            prop_assert_eq!((bytes[0], usize::from(bytes[1])), (0xdd, bytes.len() - 2));
            prop_assert_eq!(Wpa::read(&bytes[2..]).unwrap(), wpa);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Wpa::read(&bytes);
            let _ = Wpa::read(&[&[0, 0x50, 0xf2, 1, 1, 0], &bytes[..]].concat());
        }
    }

    #[test]
    fn the_layout_is_that_of_tkip_networks() {
        let bytes = [
            0xdd, 0x16, 0, 0x50, 0xf2, 1, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50,
            0xf2, 2,
        ];
        assert_eq!(Wpa::new(Cipher::Tkip, Cipher::Tkip, Akm::Psk).to_bytes(), bytes);
    }

    #[test]
    fn an_element_of_another_vendor_is_refused() {
        let error = Wpa::read(&[0, 0x50, 0xf2, 2, 1, 0]).unwrap_err();
        assert_eq!(error.to_string(), "WPA element at offset 0: is missing");
    }
}
