//! Delete payload, RFC 7296 §3.11.
//!
//!   Protocol ID(1) SPI Size(1) Num of SPIs(2) SPIs(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::ProtocolId;

/// SAs that are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delete<'a> {
    /// Which kind of SA.
    pub protocol: ProtocolId,
    spis: &'a [u8],
}

impl<'a> Delete<'a> {
    /// Deletes the IKE SA that carries it.
    pub const IKE_SA: Self = Self { protocol: ProtocolId::IKE, spis: &[] };

    /// Deletes child SAs; `spis` are the four-byte SPIs one after the other.
    pub const fn children(protocol: ProtocolId, spis: &'a [[u8; 4]]) -> Self {
        Self { protocol, spis: spis.as_flattened() }
    }

    /// The sender's inbound SPIs of child SAs; none for the IKE SA.
    pub fn spis(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.spis.as_chunks().0.iter().copied().map(u32::from_be_bytes)
    }

    // RFC 7296 §3.11: the SPI size is 0 for IKE and 4 for AH and ESP.
    const fn spi_size(protocol: ProtocolId) -> Option<u8> {
        match protocol {
            ProtocolId::IKE => Some(0),
            ProtocolId::AH | ProtocolId::ESP => Some(4),
            _ => None,
        }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let protocol = ProtocolId(r.u8("delete protocol ID")?);
        let expected = Self::spi_size(protocol)
            .ok_or(at.error("delete protocol ID", Problem::Value(protocol.0.into())))?;
        let at = *r;
        let size = r.u8("delete SPI size")?;
        if size != expected {
            return Err(at.error("delete SPI size", Problem::Value(size.into())));
        }
        let count = r.u16("number of SPIs")?;
        Ok(Self { protocol, spis: r.take(usize::from(count) * usize::from(size), "deleted SPIs")? })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(self.protocol.0);
        w.u8(Self::spi_size(self.protocol).unwrap_or(4));
        w.u16(u16::try_from(self.spis.len() / 4).expect("a payload has room for fewer than 16384 SPIs"));
        w.bytes(self.spis);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::PayloadType;
    use crate::wire::Payload;
    use crate::wire::payload::read_chain;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let delete = Delete::children(ProtocolId::ESP, &[[0, 0, 1, 0]]);
        assert_eq!(with_generic_header(&Payload::Delete(delete)), [0, 0, 0, 12, 3, 4, 0, 1, 0, 0, 1, 0]);
        assert_eq!(with_generic_header(&Payload::Delete(Delete::IKE_SA)), [0, 0, 0, 8, 1, 0, 0, 0]);
    }

    #[test]
    fn an_spi_of_the_wrong_size_is_refused() {
        let error = read_chain(PayloadType::DELETE, &mut Reader::new(&[0, 0, 0, 8, 3, 8, 0, 0])).unwrap_err();
        assert_eq!(error.to_string(), "delete SPI size at offset 5: value 8 is not allowed");
    }

    proptest! {
        #[test]
        fn round_trip(spis: Vec<[u8; 4]>) {
            let delete = Delete::children(ProtocolId::ESP, &spis);
            prop_assert!(delete.spis().eq(spis.iter().copied().map(u32::from_be_bytes)));
            check_codec(&Payload::Delete(delete));
        }
    }
}
