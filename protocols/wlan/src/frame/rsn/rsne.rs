//! The RSNE, 802.11-2020 §9.4.2.24. Everything behind the version may be left out from some place on.
//!
//!   Version(2) Group Data Cipher Suite(4) Pairwise Count(2) Pairwise Suites(4 each) AKM Count(2) AKM Suites(4 each)
//!   RSN Capabilities(2) PMKID Count(2) PMKIDs(16 each) Group Management Cipher Suite(4)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::capabilities::RsnCapabilities;
use super::selector::{Selector, read_list, write_list};
use crate::frame::element::{ElementId, write_element};
use crate::suite::{Akm, Cipher};

/// The version of the standard.
const VERSION: u16 = 1;

/// What a network offers, or what a station has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rsne {
    /// The cipher of group-addressed frames.
    pub group: Selector,
    /// Ciphers of frames to one station.
    pub pairwise: Vec<Selector>,
    /// How stations authenticate.
    pub akms: Vec<Selector>,
    /// What else there is.
    pub capabilities: RsnCapabilities,
    /// PMKs that a station and the network share already.
    pub pmkids: Vec<[u8; 16]>,
    /// The cipher of group-addressed management frames.
    pub group_management: Option<Selector>,
}

impl Rsne {
    /// One cipher and one AKM, without protection of management frames.
    pub fn new(group: Cipher, pairwise: Cipher, akm: Akm) -> Self {
        Self {
            group: Selector::of_cipher(group),
            pairwise: vec![Selector::of_cipher(pairwise)],
            akms: vec![Selector::of_akm(akm)],
            ..Self::default()
        }
    }

    /// Reads the information of the element.
    ///
    /// # Errors
    /// If it is cut short within a field, or its version is unknown.
    pub fn read(information: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(information);
        read_version(&mut r, "RSNE version")?;
        let mut rsne = Self::default();
        rsne.read_suites(&mut r)?;
        rsne.read_options(&mut r)?;
        // 802.11-2020 §9.4.2.24.1: what follows belongs to a later revision, and is ignored.
        Ok(rsne)
    }

    fn read_suites(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        if !r.is_empty() {
            self.group = Selector::read(r, "RSNE group data cipher suite")?;
        }
        if !r.is_empty() {
            self.pairwise = read_list(r, "RSNE pairwise cipher suite count", "RSNE pairwise cipher suite")?;
        }
        if !r.is_empty() {
            self.akms = read_list(r, "RSNE AKM suite count", "RSNE AKM suite")?;
        }
        Ok(())
    }

    fn read_options(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        if !r.is_empty() {
            self.capabilities = RsnCapabilities(r.u16_le("RSN capabilities")?);
        }
        if !r.is_empty() {
            let count = r.u16_le("RSNE PMKID count")?;
            self.pmkids = (0..count).map(|_| r.array("RSNE PMKID")).collect::<Result<_, _>>()?;
        }
        if !r.is_empty() {
            self.group_management = Some(Selector::read(r, "RSNE group management cipher suite")?);
        }
        Ok(())
    }

    /// Writes the element with its id and length.
    ///
    /// # Panics
    /// If it has more than 255 octets.
    pub fn write(&self, w: &mut Writer) {
        write_element(w, ElementId::RSN, |w| self.write_information(w));
    }

    /// The element as bytes, with its id and length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.write(&mut w);
        w.finish()
    }

    fn write_information(&self, w: &mut Writer) {
        w.u16_le(VERSION);
        self.group.write(w);
        write_list(w, &self.pairwise);
        write_list(w, &self.akms);
        w.u16_le(self.capabilities.0);
        if self.pmkids.is_empty() && self.group_management.is_none() {
            return;
        }
        w.u16_le(u16::try_from(self.pmkids.len()).expect("PMKIDs fit into an element"));
        self.pmkids.iter().for_each(|pmkid| w.bytes(pmkid));
        if let Some(cipher) = self.group_management {
            cipher.write(w);
        }
    }

    /// The pairwise ciphers that we know.
    pub fn ciphers(&self) -> impl Iterator<Item = Cipher> + '_ {
        self.pairwise.iter().filter_map(|selector| selector.cipher())
    }

    /// The AKMs that we know.
    pub fn known_akms(&self) -> impl Iterator<Item = Akm> + '_ {
        self.akms.iter().filter_map(|selector| selector.akm())
    }

    /// The cipher of group-addressed management frames.
    // 802.11-2020 §9.4.2.24.2: it is BIP-CMAC-128 where management frames are protected and none is named.
    pub fn group_management_cipher(&self) -> Option<Cipher> {
        if !self.capabilities.has(RsnCapabilities::PROTECTION_CAPABLE) {
            return None;
        }
        self.group_management.map_or(Some(Cipher::BipCmac128), Selector::cipher)
    }
}

/// What an RSNE says that has nothing but its version: 802.11-2020 §9.4.2.24.1 and §9.4.2.24.3.
impl Default for Rsne {
    fn default() -> Self {
        Self {
            group: Selector::of_cipher(Cipher::Ccmp128),
            pairwise: vec![Selector::of_cipher(Cipher::Ccmp128)],
            akms: vec![Selector::of_akm(Akm::Dot1x)],
            capabilities: RsnCapabilities::default(),
            pmkids: Vec::new(),
            group_management: None,
        }
    }
}

/// Reads the version of an RSNE or of WPA's element.
pub(super) fn read_version(r: &mut Reader<'_>, field: &'static str) -> Result<(), DecodeError> {
    let at = *r;
    match r.u16_le(field)? {
        VERSION => Ok(()),
        other => Err(at.error(field, Problem::Value(other.into()))),
    }
}

/// Writes it.
pub(super) fn write_version(w: &mut Writer) {
    w.u16_le(VERSION);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::selector::testing::selector;
    use super::*;

    proptest! {
        #[test]
        fn round_trip(group in selector(), pairwise in proptest::collection::vec(selector(), 1..5), akms in proptest::collection::vec(selector(), 1..5), capabilities: u16, pmkids in proptest::collection::vec(any::<[u8; 16]>(), 0..4), group_management in proptest::option::of(selector())) {
            let rsne = Rsne { group, pairwise, akms, capabilities: RsnCapabilities(capabilities), pmkids, group_management };
            let bytes = rsne.to_bytes();
            prop_assert_eq!((bytes[0], usize::from(bytes[1])), (48, bytes.len() - 2));
            prop_assert_eq!(Rsne::read(&bytes[2..]).unwrap(), rsne);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Rsne::read(&bytes);
            let _ = Rsne::read(&[&[1, 0], &bytes[..]].concat());
        }
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        // 802.11-2020 §9.4.2.24.1, the first example: CCMP-128 and 802.1X.
        let bytes =
            [0x30, 0x14, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 1, 0, 0];
        let rsne = Rsne::new(Cipher::Ccmp128, Cipher::Ccmp128, Akm::Dot1x);
        assert_eq!(rsne.to_bytes(), bytes);
        assert_eq!(rsne, Rsne::default());
        assert_eq!(rsne.group_management_cipher(), None);
    }

    #[test]
    fn it_may_end_behind_any_field_but_not_within_one() {
        let rsne = Rsne {
            pmkids: vec![[7; 16]],
            capabilities: RsnCapabilities::PROTECTION_CAPABLE,
            group_management: Some(Selector::of_cipher(Cipher::BipGmac256)),
            ..Rsne::new(Cipher::Gcmp256, Cipher::Gcmp256, Akm::SuiteB192)
        };
        assert_eq!(rsne.group_management_cipher(), Some(Cipher::BipGmac256));
        let bytes = rsne.to_bytes();
        let information = &bytes[2..];
        // Version, group, pairwise and AKM (count and one suite each), capabilities, PMKIDs (count and one), group management.
        let ends = [2, 6, 12, 18, 20, 38, 42];
        for cut in 0..=information.len() {
            assert_eq!(Rsne::read(&information[..cut]).is_ok(), ends.contains(&cut), "{cut}");
        }
        assert_eq!(
            Rsne::read(&information[..20]).unwrap().group_management_cipher(),
            Some(Cipher::BipCmac128)
        );
    }

    #[test]
    fn another_version_and_an_empty_list_are_refused() {
        let error = Rsne::read(&[2, 0]).unwrap_err();
        assert_eq!(error.to_string(), "RSNE version at offset 0: value 2 is not allowed");
        let error = Rsne::read(&[1, 0, 0, 0x0f, 0xac, 4, 0, 0]).unwrap_err();
        assert_eq!((error.field, error.offset), ("RSNE pairwise cipher suite count", 6));
    }
}
