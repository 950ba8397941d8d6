//! Notify payload, RFC 7296 §3.10.
//!
//!   Protocol ID(1) SPI Size(1) Notify Message Type(2) SPI(*) Notification Data(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::{NotifyType, ProtocolId};

/// An error or status notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notify<'a> {
    /// The protocol of the SA that it concerns; 0 without an SPI.
    pub protocol: ProtocolId,
    /// The SA that it concerns: the sender's inbound SPI.
    pub spi: &'a [u8],
    /// Its type.
    pub kind: NotifyType,
    /// Its data.
    pub data: &'a [u8],
}

impl<'a> Notify<'a> {
    /// Concerning the exchange or the IKE SA itself.
    pub const fn new(kind: NotifyType, data: &'a [u8]) -> Self {
        Self { protocol: ProtocolId::NONE, spi: &[], kind, data }
    }

    /// About a child SA.
    pub const fn about(kind: NotifyType, protocol: ProtocolId, spi: &'a [u8]) -> Self {
        Self { protocol, spi, kind, data: &[] }
    }

    /// The SPI of the child SA that it concerns.
    pub fn child_spi(&self) -> Option<u32> {
        self.spi.try_into().ok().map(u32::from_be_bytes)
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let protocol = ProtocolId(r.u8("notify protocol ID")?);
        let spi_size = usize::from(r.u8("notify SPI size")?);
        let kind = NotifyType(r.u16("notify message type")?);
        let spi = r.take(spi_size, "notify SPI")?;
        Ok(Self { protocol, spi, kind, data: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(self.protocol.0);
        w.u8(u8::try_from(self.spi.len())
            .expect("SPIs have at most 8 bytes; a read one came with a one-byte size"));
        w.u16(self.kind.0);
        w.bytes(self.spi);
        w.bytes(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let notify = Notify::about(NotifyType::REKEY_SA, ProtocolId::ESP, &[1, 2, 3, 4]);
        let bytes = with_generic_header(&Payload::Notify(notify));
        assert_eq!(bytes, [0, 0, 0, 12, 3, 4, 0x40, 0x09, 1, 2, 3, 4]);
        assert_eq!(notify.child_spi(), Some(0x0102_0304));
    }

    proptest! {
        #[test]
        fn round_trip(protocol: u8, spi in proptest::collection::vec(any::<u8>(), 0..9), kind: u16, data: Vec<u8>) {
            let (protocol, kind) = (ProtocolId(protocol), NotifyType(kind));
            check_codec(&Payload::Notify(Notify { protocol, spi: &spi, kind, data: &data }));
        }
    }
}
