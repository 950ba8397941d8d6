//! The fixed header of every IKE message, RFC 7296 §3.1.
//!
//!   Initiator SPI(8) Responder SPI(8) Next(1) Major(4b) Minor(4b) ExchangeType(1) Flags(1) Message ID(4) Length(4)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::{ExchangeType, PayloadType};

/// The fixed header of an IKE message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the IKE SA's initiator; never 0.
    pub initiator_spi: u64,
    /// Chosen by the responder; 0 in the first message.
    pub responder_spi: u64,
    /// The type of the first payload. Writers set it themselves.
    pub next_payload: PayloadType,
    /// Major and minor version, four bits each.
    pub version: u8,
    /// The exchange this message belongs to.
    pub exchange: ExchangeType,
    /// The sender's role, and whether it is a response.
    pub flags: Flags,
    /// The number of the exchange in its direction.
    pub message_id: u32,
    /// Length of the whole message in bytes. Writers set it themselves.
    pub length: u32,
}

/// The flags of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Sent by the original initiator of the IKE SA.
    pub const INITIATOR: Self = Self(0x08);
    /// IKEv1: everything behind the header is encrypted (RFC 2408 §3.1).
    pub const ENCRYPTION: Self = Self(0x01);
    /// IKEv1: the sender waits for a CONNECTED notification (RFC 2408 §3.1).
    pub const COMMIT: Self = Self(0x02);
    /// IKEv1: authentic but not encrypted (RFC 2408 §3.1).
    pub const AUTHENTICATION_ONLY: Self = Self(0x04);
    /// The sender supports a higher major version.
    pub const VERSION: Self = Self(0x10);
    /// A response.
    pub const RESPONSE: Self = Self(0x20);

    /// The flags of an IKEv2 message.
    pub const fn new(from_initiator: bool, response: bool) -> Self {
        let initiator = if from_initiator { Self::INITIATOR.0 } else { 0 };
        Self(initiator | if response { Self::RESPONSE.0 } else { 0 })
    }

    /// Whether the commit bit is set: the sender wants the other side to wait for a CONNECTED notification.
    pub const fn is_committing(self) -> bool {
        self.0 & Self::COMMIT.0 != 0
    }

    /// Whether the original initiator sent it.
    pub const fn is_from_initiator(self) -> bool {
        self.0 & Self::INITIATOR.0 != 0
    }

    /// Whether an IKEv1 message is encrypted.
    pub const fn is_encrypted(self) -> bool {
        self.0 & Self::ENCRYPTION.0 != 0
    }

    /// Whether it is a response.
    pub const fn is_response(self) -> bool {
        self.0 & Self::RESPONSE.0 != 0
    }
}

impl Header {
    /// Bytes of the header.
    pub const LEN: usize = 28;
    /// RFC 2408 §3.1: major version 1, minor version 0.
    pub const VERSION_1: u8 = 0x10;
    /// RFC 7296 §3.1: major version 2, minor version 0.
    pub const VERSION_2: u8 = 0x20;

    /// The header of an IKEv2 message to be built.
    pub const fn new(spis: (u64, u64), exchange: ExchangeType, flags: Flags, message_id: u32) -> Self {
        Self {
            initiator_spi: spis.0,
            responder_spi: spis.1,
            next_payload: PayloadType::NONE,
            version: Self::VERSION_2,
            exchange,
            flags,
            message_id,
            length: 0,
        }
    }

    /// The major version.
    pub const fn major(&self) -> u8 {
        self.version >> 4
    }

    /// Reads the header of a datagram, whose length it must state; the caller checks the version.
    ///
    /// # Errors
    /// It is truncated, or states another length than the datagram's.
    pub fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = r.len();
        let header = Self {
            initiator_spi: r.u64("initiator SPI")?,
            responder_spi: r.u64("responder SPI")?,
            next_payload: PayloadType(r.u8("next payload")?),
            version: r.u8("version")?,
            exchange: ExchangeType(r.u8("exchange type")?),
            flags: Flags(r.u8("flags")?),
            message_id: r.u32("message ID")?,
            length: Self::read_length(r, bytes)?,
        };
        Ok(header)
    }

    fn read_length(r: &mut Reader<'_>, bytes: usize) -> Result<u32, DecodeError> {
        let at = *r;
        let length = r.u32("message length")?;
        if usize::try_from(length) != Ok(bytes) {
            return Err(at.error("message length", Problem::Length(length.into())));
        }
        Ok(length)
    }

    /// Writes the header; next payload and length are filled in when the message is complete.
    pub fn write(&self, w: &mut Writer) {
        w.u64(self.initiator_spi);
        w.u64(self.responder_spi);
        let [id0, id1, id2, id3] = self.message_id.to_be_bytes();
        let [len0, len1, len2, len3] = self.length.to_be_bytes();
        let (next, exchange, flags) = (self.next_payload.0, self.exchange.0, self.flags.0);
        w.bytes(&[next, self.version, exchange, flags, id0, id1, id2, id3, len0, len1, len2, len3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Header {
        let flags = Flags::new(true, false);
        Header { length: 28, ..Header::new((0x0158_b8fb_90b7_623d, 0), ExchangeType::IKE_SA_INIT, flags, 7) }
    }

    fn written(header: &Header) -> Vec<u8> {
        let mut w = Writer::default();
        header.write(&mut w);
        w.finish()
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let expected = [
            0x01, 0x58, 0xb8, 0xfb, 0x90, 0xb7, 0x62, 0x3d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 34, 0x08, 0, 0,
            0, 7, 0, 0, 0, 28,
        ];
        assert_eq!(written(&sample()), expected);
    }

    #[test]
    fn a_truncated_header_names_the_field() {
        let bytes = written(&sample());
        for cut in 0..Header::LEN {
            assert!(Header::read(&mut Reader::new(&bytes[..cut])).is_err(), "cut at {cut}");
        }
        let error = Header::read(&mut Reader::new(&bytes[..22])).unwrap_err();
        assert_eq!(error.to_string(), "message ID at offset 20: needs 4 bytes, 2 are left");
    }

    #[test]
    fn a_length_other_than_the_datagrams_is_refused() {
        let mut bytes = written(&sample());
        bytes.push(0);
        let error = Header::read(&mut Reader::new(&bytes)).unwrap_err();
        assert_eq!((error.offset, error.problem), (24, Problem::Length(28)));
    }

    proptest! {
        #[test]
        fn headers_round_trip(spis: (u64, u64), next: u8, version: u8, exchange: u8, flags: u8, message_id: u32) {
            let header = Header {
                next_payload: PayloadType(next),
                version,
                length: 28,
                ..Header::new(spis, ExchangeType(exchange), Flags(flags), message_id)
            };
            prop_assert_eq!(Header::read(&mut Reader::new(&written(&header))), Ok(header));
        }
    }
}
