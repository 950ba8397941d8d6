//! Configuration payload, RFC 7296 §3.15, §3.15.1.
//!
//!   CFG Type(1) Reserved(3) attributes   attribute: Reserved(1b) Type(15b) Length(2) Value(*)

use std::net::{Ipv4Addr, Ipv6Addr};

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::{AttributeType, ConfigurationType};

/// Addresses and other parameters, requested or assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration<'a> {
    /// Request, reply, set or acknowledgement.
    pub kind: ConfigurationType,
    attributes: &'a [u8],
}

/// One requested (without value) or assigned parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigurationAttribute<'a> {
    /// Its type.
    pub kind: AttributeType,
    /// Its value; empty in a request.
    pub value: &'a [u8],
}

/// More attributes in one payload are refused.
pub const ATTRIBUTES_MAX: usize = 128;

impl<'a> Configuration<'a> {
    /// The attributes, in order.
    pub fn attributes(&self) -> impl Iterator<Item = ConfigurationAttribute<'a>> + use<'a> {
        let mut r = Reader::new(self.attributes);
        std::iter::from_fn(
            move || if r.is_empty() { None } else { ConfigurationAttribute::read(&mut r).ok() },
        )
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let kind = ConfigurationType(r.u8("CFG type")?);
        r.skip(3, "CFG reserved")?;
        let mut check = *r;
        let mut count = 0;
        while !check.is_empty() {
            count += 1;
            if count > ATTRIBUTES_MAX {
                return Err(check.error("configuration attribute count", Problem::Length(count as u64)));
            }
            ConfigurationAttribute::read(&mut check)?;
        }
        Ok(Self { kind, attributes: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(&[self.kind.0, 0, 0, 0]);
        w.bytes(self.attributes);
    }

    /// Writes the body of a Configuration payload.
    pub fn write_attributes(
        kind: ConfigurationType,
        attributes: &[ConfigurationAttribute<'_>],
        w: &mut Writer,
    ) {
        w.bytes(&[kind.0, 0, 0, 0]);
        attributes.iter().for_each(|attribute| attribute.write(w));
    }
}

impl<'a> ConfigurationAttribute<'a> {
    /// Asks for something.
    pub const fn request(kind: AttributeType) -> Self {
        Self { kind, value: &[] }
    }

    /// An attribute with a value.
    pub const fn new(kind: AttributeType, value: &'a [u8]) -> Self {
        Self { kind, value }
    }

    /// The value as an IPv4 address.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        <[u8; 4]>::try_from(self.value).ok().map(Ipv4Addr::from)
    }

    /// The value as an IPv6 address and the prefix length that INTERNAL_IP6_ADDRESS appends.
    pub fn ipv6(&self) -> Option<(Ipv6Addr, u8)> {
        match self.value.split_at_checked(16)? {
            (address, []) => Some((<[u8; 16]>::try_from(address).ok()?.into(), 128)),
            (address, &[prefix]) => Some((<[u8; 16]>::try_from(address).ok()?.into(), prefix)),
            _ => None,
        }
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // RFC 7296 §3.15.1: the top bit is reserved and ignored.
        let kind = AttributeType(r.u16("configuration attribute type")? & 0x7fff);
        let length = r.u16("configuration attribute length")?;
        Ok(Self { kind, value: r.take(usize::from(length), "configuration attribute value")? })
    }

    fn write(&self, w: &mut Writer) {
        w.u16(self.kind.0 & 0x7fff);
        w.u16(u16::try_from(self.value.len()).expect("an attribute's value fits its payload"));
        w.bytes(self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    fn body(attributes: &[ConfigurationAttribute<'_>]) -> Vec<u8> {
        let mut w = Writer::default();
        Configuration::write_attributes(ConfigurationType::CFG_REPLY, attributes, &mut w);
        w.finish()
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let address = ConfigurationAttribute::new(AttributeType::INTERNAL_IP4_ADDRESS, &[10, 0, 0, 1]);
        let body = body(&[address, ConfigurationAttribute::request(AttributeType::INTERNAL_IP4_DNS)]);
        assert_eq!(body, [2, 0, 0, 0, 0, 1, 0, 4, 10, 0, 0, 1, 0, 3, 0, 0]);
        let configuration = Configuration::read(&mut Reader::new(&body)).unwrap();
        let read: Vec<_> = configuration.attributes().collect();
        assert_eq!((read.len(), read[0].ipv4()), (2, Some(Ipv4Addr::new(10, 0, 0, 1))));
        assert_eq!(&with_generic_header(&Payload::Configuration(configuration))[4..], body);
    }

    #[test]
    fn ipv6_addresses_come_with_a_prefix() {
        let value = [&Ipv6Addr::LOCALHOST.octets()[..], &[64]].concat();
        let attribute = ConfigurationAttribute::new(AttributeType::INTERNAL_IP6_ADDRESS, &value);
        assert_eq!(attribute.ipv6(), Some((Ipv6Addr::LOCALHOST, 64)));
        assert_eq!(ConfigurationAttribute { value: &value[..15], ..attribute }.ipv6(), None);
    }

    #[test]
    fn the_number_of_attributes_is_limited() {
        let request = ConfigurationAttribute::request(AttributeType::INTERNAL_IP4_DNS);
        assert!(Configuration::read(&mut Reader::new(&body(&[request; 128]))).is_ok());
        let error = Configuration::read(&mut Reader::new(&body(&[request; 129]))).unwrap_err();
        assert_eq!(error.field, "configuration attribute count");
    }

    proptest! {
        #[test]
        fn round_trip(attributes in proptest::collection::vec((0_u16..0x8000, any::<Vec<u8>>()), 0..5)) {
            let attributes: Vec<_> =
                attributes.iter().map(|(kind, value)| ConfigurationAttribute::new(AttributeType(*kind), value)).collect();
            let body = body(&attributes);
            let configuration = Configuration::read(&mut Reader::new(&body)).unwrap();
            prop_assert!(configuration.attributes().eq(attributes));
            check_codec(&Payload::Configuration(configuration));
        }
    }
}
