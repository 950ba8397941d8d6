//! The Vendor-Specific attribute, RFC 2865 §5.26: attributes of a vendor inside an attribute.
//!
//!   Vendor-Id(4)  { Vendor-Type(1) Vendor-Length(1) Value(Vendor-Length - 2) }*

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::{Attribute, AttributeList};
use crate::number::AttributeType;

/// A vendor's attributes. The inner format is a recommendation that Microsoft (RFC 2548 §2) follows, so it is applied only to
/// vendors known to do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VendorSpecific<'a> {
    /// The vendor's SMI Network Management Private Enterprise Code.
    pub vendor: u32,
    /// Its attributes.
    pub attributes: AttributeList<'a>,
}

impl<'a> VendorSpecific<'a> {
    /// RFC 2865 §5.26: maximum length of the inner attribute's value, in bytes.
    pub const VALUE_MAX: usize = Attribute::VALUE_MAX - 4 - Attribute::HEADER_LEN;

    /// Reads the value of a Vendor-Specific attribute if it is of `vendor`.
    ///
    /// # Errors
    /// The value, or an attribute inside, is truncated.
    pub fn read(r: &mut Reader<'a>, vendor: u32) -> Result<Option<Self>, DecodeError> {
        if r.u32("vendor id")? != vendor {
            return Ok(None);
        }
        let at = *r;
        let attributes = AttributeList::read(r)?;
        if at.is_empty() {
            return Err(at.error("vendor type", Problem::Missing));
        }
        Ok(Some(Self { vendor, attributes }))
    }

    /// The value of a Vendor-Specific attribute with one attribute inside.
    ///
    /// # Panics
    /// If the inner value is longer than [`Self::VALUE_MAX`], which is a bug in the caller.
    pub fn value(vendor: u32, inner: &Attribute<'_>) -> Vec<u8> {
        assert!(inner.value().len() <= Self::VALUE_MAX, "the caller chose a value that fits");
        let mut w = Writer::with_capacity(4 + inner.wire_len());
        w.u32(vendor);
        inner.write(&mut w);
        w.finish()
    }

    /// The values of all attributes `kind` of `vendor` in a packet.
    ///
    /// # Errors
    /// There is more than one, or an attribute inside is truncated.
    pub fn find(
        packet: &AttributeList<'a>,
        vendor: u32,
        kind: AttributeType,
    ) -> Result<Option<Reader<'a>>, DecodeError> {
        let mut found = None;
        for mut value in packet.values(AttributeType::VENDOR_SPECIFIC) {
            let Some(specific) = Self::read(&mut value, vendor)? else { continue };
            for inner in specific.attributes.values(kind) {
                if found.replace(inner).is_some() {
                    return Err(inner.error("vendor type", Problem::Repeated));
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{MICROSOFT, MS_MPPE_SEND_KEY};
    use crate::wire::Attributes;
    use proptest::prelude::*;

    fn packet(values: &[Vec<u8>]) -> Attributes {
        values.iter().map(|value| Attribute::new(AttributeType::VENDOR_SPECIFIC, value).unwrap()).collect()
    }

    /// FreeRADIUS, src/tests/unit/protocols/radius/eapol_msg.txt: vendor 1234, type 56.
    #[test]
    fn the_layout_is_that_of_the_standard() {
        let inner = Attribute::fixed(AttributeType(56), &[0xde, 0xad, 0xbe, 0xef]);
        let value = VendorSpecific::value(1234, &inner);
        assert_eq!(value, [0x00, 0x00, 0x04, 0xd2, 0x38, 0x06, 0xde, 0xad, 0xbe, 0xef]);
    }

    #[test]
    fn other_vendors_need_not_follow_the_recommendation() {
        let attributes = packet(&[vec![0, 0, 0, 9, 0xff], vec![0, 0, 0, 9]]);
        assert_eq!(
            VendorSpecific::find(&attributes.list(), MICROSOFT, MS_MPPE_SEND_KEY).unwrap().map(|r| r.len()),
            None
        );
        let attributes = packet(&[vec![0, 0, 1, 0x37]]);
        let error = VendorSpecific::find(&attributes.list(), MICROSOFT, MS_MPPE_SEND_KEY).unwrap_err();
        assert_eq!(error.to_string(), "vendor type at offset 6: is missing");
    }

    #[test]
    fn a_key_sent_twice_is_refused() {
        let value = VendorSpecific::value(MICROSOFT, &Attribute::fixed(MS_MPPE_SEND_KEY, &[7]));
        let error =
            VendorSpecific::find(&packet(&[value.clone(), value]).list(), MICROSOFT, MS_MPPE_SEND_KEY)
                .unwrap_err();
        assert_eq!(error.problem, Problem::Repeated);
    }

    proptest! {
        #[test]
        fn round_trip_and_every_cut(vendor: u32, kind: u8, value in proptest::collection::vec(any::<u8>(), 0..=VendorSpecific::VALUE_MAX)) {
            let inner = Attribute::new(AttributeType(kind), &value).unwrap();
            let bytes = VendorSpecific::value(vendor, &inner);
            let read = VendorSpecific::read(&mut Reader::new(&bytes), vendor).unwrap().unwrap();
            prop_assert!(read.attributes.iter().eq([inner]));
            for cut in 0..bytes.len() {
                prop_assert!(VendorSpecific::read(&mut Reader::new(&bytes[..cut]), vendor).is_err(), "cut at {}", cut);
            }
        }
    }
}
