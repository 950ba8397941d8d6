//! The HIP header, RFC 7401 §5.1.
//!
//!   Next Header(1) Header Length(1) 0(1 bit) Packet Type(7 bits) Version(4 bits) Reserved(3 bits) 1(1 bit)
//!   Checksum(2) Controls(2) Sender's HIT(16) Receiver's HIT(16)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::hit::Hit;
use crate::number::PacketType;

/// Octets of the header.
pub const HEADER_LEN: usize = 40;
/// Where the header says how long the packet is.
pub(crate) const LENGTH_AT: usize = 1;
/// Where its checksum stands.
pub(crate) const CHECKSUM_AT: usize = 4;
/// Where the receiver's HIT stands.
pub(crate) const RECEIVER_AT: usize = 24;
/// RFC 7401 §5.1: nothing follows, "IPPROTO_NONE".
const NO_NEXT_HEADER: u8 = 59;
/// RFC 7401 §5.1: version 2, reserved bits 0, and the bit that tells it from SHIM6.
const VERSION: u8 = 0x21;
/// RFC 7401 §5.1: at most 2008 octets follow the first 8, for the length has 8 bits.
pub const PACKET_LEN_MAX: usize = 8 * (1 + u8::MAX as usize);

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The packet type.
    pub packet_type: PacketType,
    /// The checksum over pseudo-header and packet (RFC 7401 §5.1.1); zero where UDP protects the packet (RFC 9028 §5.1).
    pub checksum: u16,
    /// The controls, of which only [`Header::ANONYMOUS`] is defined.
    pub controls: u16,
    /// The sender's HIT.
    pub sender: Hit,
    /// The receiver's HIT.
    pub receiver: Hit,
}

impl Header {
    /// RFC 7401 §5.1.2: the sender's Host Identity is anonymous.
    pub const ANONYMOUS: u16 = 1;

    /// The header, and a reader of the parameters that follow it.
    ///
    /// # Errors
    /// If it is cut short, is of another version, or its length is not that of what was received.
    pub(super) fn read<'a>(r: &mut Reader<'a>) -> Result<(Self, Reader<'a>), DecodeError> {
        let whole = r.len();
        r.skip(1, "HIP next header")?;
        let length_field = *r;
        let length = r.u8("HIP header length")?;
        // RFC 7401 §5.1: in units of 8 octets, without the first 8.
        let expected = 8 * (usize::from(length) + 1);
        if expected < HEADER_LEN || expected != whole {
            return Err(length_field.error("HIP header length", Problem::Length(length.into())));
        }
        let type_field = *r;
        let packet_type = r.u8("HIP packet type")?;
        if packet_type & 0x80 != 0 {
            return Err(type_field.error("HIP packet type", Problem::Value(packet_type.into())));
        }
        let version_field = *r;
        let version = r.u8("HIP version")?;
        // RFC 7401 §5.1: reserved bits are ignored.
        if version & 0xf1 != VERSION {
            return Err(version_field.error("HIP version", Problem::Value(version.into())));
        }
        let header = Self {
            packet_type: PacketType(packet_type),
            checksum: r.u16("HIP checksum")?,
            controls: r.u16("HIP controls")?,
            sender: Hit(r.array("HIP sender's HIT")?),
            receiver: Hit(r.array("HIP receiver's HIT")?),
        };
        Ok((header, *r))
    }

    /// Writes it with the length and the checksum still zero.
    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(NO_NEXT_HEADER);
        w.u8(0);
        w.u8(self.packet_type.0);
        w.u8(VERSION);
        w.u16(0);
        w.u16(self.controls);
        w.bytes(&self.sender.0);
        w.bytes(&self.receiver.0);
    }
}
