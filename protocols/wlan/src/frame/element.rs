//! Elements, 802.11-2020 §9.4.2.1.
//!
//!   Element ID(1) Length(1) Element ID Extension(0 or 1) Information(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

/// The kind of an element, 802.11-2020 table 9-92.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId(pub u8);

impl ElementId {
    /// The name of the network.
    pub const SSID: Self = Self(0);
    /// Up to eight rates.
    pub const SUPPORTED_RATES: Self = Self(1);
    /// The channel.
    pub const DS_PARAMETER_SET: Self = Self(3);
    /// For which stations the access point keeps frames.
    pub const TIM: Self = Self(5);
    /// What a station has to encrypt.
    pub const CHALLENGE_TEXT: Self = Self(16);
    /// What a network or station can protect ([`super::rsn::Rsne`]).
    pub const RSN: Self = Self(48);
    /// More rates.
    pub const EXTENDED_SUPPORTED_RATES: Self = Self(50);
    /// Where fast transition is possible ([`super::rsn::Mde`]).
    pub const MOBILITY_DOMAIN: Self = Self(54);
    /// What proves a fast transition ([`super::rsn::Fte`]).
    pub const FAST_TRANSITION: Self = Self(55);
    /// A deadline, such as that of a reassociation or an SA Query.
    pub const TIMEOUT_INTERVAL: Self = Self(56);
    /// The MIC of group-addressed management frames.
    pub const MANAGEMENT_MIC: Self = Self(76);
    /// What else a network or station can protect ([`super::rsn::Rsnxe`]).
    pub const RSNX: Self = Self(244);
    /// A vendor's, WPA's among them ([`super::rsn::Wpa`]).
    pub const VENDOR: Self = Self(221);
    /// One whose first octet of information is an extension of its id.
    pub const EXTENSION: Self = Self(255);
}

/// An element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its kind.
    pub id: ElementId,
    /// Its information.
    pub body: &'a [u8],
}

impl<'a> Element<'a> {
    /// Reads the next element.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = ElementId(r.u8("element ID")?);
        let len = r.u8("element length")?;
        Ok(Self { id, body: r.take(len.into(), "element information")? })
    }

    /// Writes the element.
    ///
    /// # Panics
    /// If it has more than 255 octets.
    pub fn write(&self, w: &mut Writer) {
        write_element(w, self.id, |w| w.bytes(self.body));
    }

    /// The element as bytes: this is what handshakes repeat and compare.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(2 + self.body.len());
        self.write(&mut w);
        w.finish()
    }
}

/// Writes an element whose information `body` writes.
///
/// # Panics
/// If that has more than 255 octets: none of ours has.
pub fn write_element(w: &mut Writer, id: ElementId, body: impl FnOnce(&mut Writer)) {
    w.u8(id.0);
    w.u8(0);
    let begins = w.len();
    body(w);
    let len = w.len() - begins;
    w.patch_u8(begins - 1, u8::try_from(len).expect("elements of ours have at most 255 octets"));
}

/// The elements at the end of a frame, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Elements<'a>(pub Vec<Element<'a>>);

impl<'a> Elements<'a> {
    /// Reads all that is left.
    ///
    /// # Errors
    /// If an element is cut short.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut elements = Vec::new();
        while !r.is_empty() {
            elements.push(Element::read(r)?);
        }
        Ok(Self(elements))
    }

    /// Writes them.
    pub fn write(&self, w: &mut Writer) {
        self.0.iter().for_each(|element| element.write(w));
    }

    /// The information of the first element of this kind.
    pub fn find(&self, id: ElementId) -> Option<&'a [u8]> {
        self.0.iter().find(|element| element.id == id).map(|element| element.body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(all in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..256)), 0..6)) {
            let elements = Elements(all.iter().map(|(id, body)| Element { id: ElementId(*id), body }).collect());
            let mut w = Writer::default();
            elements.write(&mut w);
            let bytes = w.finish();
            prop_assert_eq!(Elements::read(&mut Reader::new(&bytes)).unwrap(), elements.clone());
            for element in &elements.0 {
                prop_assert!(elements.find(element.id).is_some());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Elements::read(&mut Reader::new(&bytes));
        }
    }

    #[test]
    fn an_element_that_is_cut_short_is_named() {
        let error = Elements::read(&mut Reader::new(&[0, 1, 65, 48, 2, 1])).unwrap_err();
        assert_eq!(error.to_string(), "element information at offset 5: needs 2 bytes, 1 are left");
    }
}
