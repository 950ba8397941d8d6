//! HOST_ID, RFC 7401 §5.2.9.
//!
//!   HI Length(2) DI-Type(4 bits) DI Length(12 bits) Algorithm(2) Host Identity(*) Domain Identifier(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// Which algorithm a Host Identity is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIdAlgorithm(pub u16);

impl HostIdAlgorithm {
    /// RFC 7401 §5.2.9.
    pub const DSA: Self = Self(3);
    /// RFC 7401 §5.2.9, the key as RFC 3110 has it.
    pub const RSA: Self = Self(5);
    /// RFC 7401 §5.2.9, a curve and a point.
    pub const ECDSA: Self = Self(7);
    /// RFC 7401 §5.2.9, short curves.
    pub const ECDSA_LOW: Self = Self(9);
    /// draft-ietf-hip-dex-24 §5.2.3.
    pub const ECDH: Self = Self(11);
    /// RFC 9374 §3.4.
    pub const EDDSA: Self = Self(13);
}

/// Of which kind a Domain Identifier is, RFC 7401 §5.2.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainType(pub u8);

impl DomainType {
    /// There is none.
    pub const NONE: Self = Self(0);
    /// A fully qualified domain name in the form of RFC 1035.
    pub const FQDN: Self = Self(1);
    /// A network access identifier.
    pub const NAI: Self = Self(2);
}

/// A Host Identity, with the name of its host if it says one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostId<'a> {
    /// The algorithm of the key.
    pub algorithm: HostIdAlgorithm,
    /// The key, in the form of its algorithm.
    pub identity: &'a [u8],
    /// The kind of the Domain Identifier.
    pub domain_type: DomainType,
    /// The Domain Identifier.
    pub domain: &'a [u8],
}

impl<'a> HostId<'a> {
    /// A Host Identity without a Domain Identifier.
    pub const fn new(algorithm: HostIdAlgorithm, identity: &'a [u8]) -> Self {
        Self { algorithm, identity, domain_type: DomainType::NONE, domain: &[] }
    }

    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short, or the lengths in it are not those of its parts.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        let identity_len = usize::from(r.u16("HI length")?);
        let domain_field = r;
        let domain = r.u16("DI type and length")?;
        let (domain_type, domain_len) = (DomainType((domain >> 12) as u8), usize::from(domain & 0x0fff));
        // RFC 7401 §5.2.9: without a Domain Identifier its length is zero.
        if domain_type == DomainType::NONE && domain_len > 0 {
            return Err(domain_field.error("DI length", Problem::Length(domain_len as u64)));
        }
        let host_id = Self {
            algorithm: HostIdAlgorithm(r.u16("HI algorithm")?),
            identity: r.take(identity_len, "Host Identity")?,
            domain_type,
            domain: r.take(domain_len, "Domain Identifier")?,
        };
        r.end("HOST_ID")?;
        Ok(host_id)
    }

    /// Writes the contents.
    ///
    /// # Panics
    /// If the key has more than 65 535 octets or the name more than 4095: neither has room in a packet.
    pub fn write(&self, w: &mut Writer) {
        let domain_len = u16::try_from(self.domain.len()).ok().filter(|len| *len <= 0x0fff);
        w.u16(u16::try_from(self.identity.len()).expect("a Host Identity has room in a packet"));
        w.u16(
            u16::from(self.domain_type.0) << 12
                | domain_len.expect("a Domain Identifier has room in a packet"),
        );
        w.u16(self.algorithm.0);
        w.bytes(self.identity);
        w.bytes(self.domain);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(algorithm: u16, identity in proptest::collection::vec(any::<u8>(), 0..300), kind in 1_u8..16, domain in proptest::collection::vec(any::<u8>(), 0..60)) {
            let host_id = HostId { algorithm: HostIdAlgorithm(algorithm), identity: &identity, domain_type: DomainType(kind), domain: &domain };
            let mut w = Writer::default();
            host_id.write(&mut w);
            let bytes = w.finish();
            prop_assert_eq!(HostId::read(Reader::new(&bytes)).unwrap(), host_id);
            for cut in 0..bytes.len() {
                prop_assert!(HostId::read(Reader::new(&bytes[..cut])).is_err());
            }
        }
    }

    #[test]
    fn a_length_without_a_kind_is_refused() {
        let error = HostId::read(Reader::new(&[0, 0, 0, 1, 0, 5, 9])).unwrap_err();
        assert_eq!((error.field, error.offset), ("DI length", 2));
    }
}
