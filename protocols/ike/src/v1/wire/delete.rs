//! Delete payload, RFC 2408 §3.15.
//!
//!   DOI(4) Protocol ID(1) SPI Size(1) Num of SPIs(2) SPIs(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::ProtocolId;
use crate::v1::number::IPSEC_DOI;

/// SAs that are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delete<'a> {
    /// Which kind of SA.
    pub protocol: ProtocolId,
    spis: &'a [u8],
}

impl<'a> Delete<'a> {
    /// Deletes the ISAKMP SA with these cookies, one after the other.
    pub const fn isakmp(cookies: &'a [u8; 16]) -> Self {
        Self { protocol: ProtocolId::IKE, spis: cookies }
    }

    /// Deletes an IPsec SA by its sender's inbound SPI.
    pub const fn child(spi: &'a [u8; 4]) -> Self {
        Self { protocol: ProtocolId::ESP, spis: spi }
    }

    /// The sender's inbound SPIs of IPsec SAs; none for ISAKMP SAs.
    pub fn child_spis(&self) -> impl Iterator<Item = u32> + use<'a> {
        let spis = if self.protocol == ProtocolId::IKE { &[] } else { self.spis };
        spis.as_chunks().0.iter().copied().map(u32::from_be_bytes)
    }

    /// The cookies of ISAKMP SAs, the initiator's first.
    pub fn cookies(&self) -> impl Iterator<Item = [u8; 16]> + use<'a> {
        let spis = if self.protocol == ProtocolId::IKE { self.spis } else { &[] };
        spis.as_chunks().0.iter().copied()
    }

    // RFC 2408 §3.15: the SPI of an ISAKMP SA is the pair of cookies.
    const fn spi_size(protocol: ProtocolId) -> Option<u8> {
        match protocol {
            ProtocolId::IKE => Some(16),
            ProtocolId::AH | ProtocolId::ESP => Some(4),
            _ => None,
        }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.skip(4, "delete DOI")?;
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
        let size = Self::spi_size(self.protocol).unwrap_or(4);
        w.u32(IPSEC_DOI);
        w.bytes(&[self.protocol.0, size]);
        let count = self.spis.len() / usize::from(size);
        w.u16(u16::try_from(count).expect("a payload has room for fewer than 16384 SPIs"));
        w.bytes(self.spis);
    }
}
