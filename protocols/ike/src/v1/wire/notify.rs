//! Notification payload, RFC 2408 §3.14.
//!
//!   DOI(4) Protocol ID(1) SPI Size(1) Notify Message Type(2) SPI(*) Notification Data(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::{NotifyType, ProtocolId};
use crate::v1::number::IPSEC_DOI;

/// An error or status notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notify<'a> {
    /// The protocol of the SA that it concerns.
    pub protocol: ProtocolId,
    /// The SA that it concerns: the cookies, or its sender's inbound SPI.
    pub spi: &'a [u8],
    /// Its type.
    pub kind: NotifyType,
    /// Its data.
    pub data: &'a [u8],
}

impl<'a> Notify<'a> {
    /// Concerning the ISAKMP SA with these cookies.
    pub const fn isakmp(kind: NotifyType, cookies: &'a [u8; 16], data: &'a [u8]) -> Self {
        Self { protocol: ProtocolId::IKE, spi: cookies, kind, data }
    }

    /// Concerning the ESP SA with this SPI, or one that was never set up.
    pub const fn of_child(kind: NotifyType, spi: &'a [u8], data: &'a [u8]) -> Self {
        Self { protocol: ProtocolId::ESP, spi, kind, data }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.skip(4, "notify DOI")?;
        let protocol = ProtocolId(r.u8("notify protocol ID")?);
        let spi_size = usize::from(r.u8("notify SPI size")?);
        let kind = NotifyType(r.u16("notify message type")?);
        let spi = r.take(spi_size, "notify SPI")?;
        Ok(Self { protocol, spi, kind, data: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u32(IPSEC_DOI);
        w.u8(self.protocol.0);
        w.u8(u8::try_from(self.spi.len())
            .expect("SPIs have at most 16 bytes; a read one came with a one-byte size"));
        w.u16(self.kind.0);
        w.bytes(self.spi);
        w.bytes(self.data);
    }
}
