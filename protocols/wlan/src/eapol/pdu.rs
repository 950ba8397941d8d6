//! An EAPOL PDU, IEEE 802.1X-2020 §11.3.
//!
//!   Protocol Version(1) Packet Type(1) Packet Body Length(2) Packet Body(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

/// IEEE 802.1X-2020 §11.1.4: the EtherType of EAPOL.
pub const ETHER_TYPE: u16 = 0x888e;

/// Octets before the body.
pub const HEADER_LEN: usize = 4;

/// The protocol version of IEEE 802.1X-2001, which the oldest stations still expect.
pub const VERSION_2001: u8 = 1;
/// The protocol version of IEEE 802.1X-2004.
pub const VERSION_2004: u8 = 2;
/// The protocol version of IEEE 802.1X-2010 and -2020.
pub const VERSION_2010: u8 = 3;

/// A packet type, IEEE 802.1X-2020 table 11-3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketType(pub u8);

impl PacketType {
    /// An EAP packet.
    pub const EAP_PACKET: Self = Self(0);
    /// The supplicant asks the authenticator to begin.
    pub const START: Self = Self(1);
    /// The supplicant leaves.
    pub const LOGOFF: Self = Self(2);
    /// Keys, or what proves and negotiates them.
    pub const KEY: Self = Self(3);
}

/// A PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pdu<'a> {
    /// The protocol version.
    pub version: u8,
    /// What the body is.
    pub packet_type: PacketType,
    /// The body: an EAP packet, a key descriptor, or nothing.
    pub body: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Reads a PDU.
    ///
    /// # Errors
    /// If it is cut short.
    // IEEE 802.1X-2020 §11.4: a version that is not known is read as the highest that is known, and octets behind the body, such
    // as the padding of short Ethernet frames, are ignored.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let version = r.u8("EAPOL protocol version")?;
        let packet_type = PacketType(r.u8("EAPOL packet type")?);
        let len = r.u16("EAPOL packet body length")?;
        Ok(Self { version, packet_type, body: r.take(len.into(), "EAPOL packet body")? })
    }

    /// Octets of the whole PDU, without what follows it.
    pub const fn len(&self) -> usize {
        HEADER_LEN + self.body.len()
    }

    /// Whether the body is empty, as that of EAPOL-Start is.
    pub const fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The PDU as bytes.
    ///
    /// # Panics
    /// If the body has more than 65 535 octets: neither an EAP packet nor a key descriptor can.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(self.len());
        write_header(&mut w, self.version, self.packet_type);
        w.bytes(self.body);
        with_length(w)
    }
}

/// Whether these bytes are a PDU with keys, which has a MIC.
pub(crate) fn is_key(bytes: &[u8]) -> bool {
    Pdu::read(bytes).is_ok_and(|pdu| pdu.packet_type == PacketType::KEY)
}

/// Writes a header whose length [`with_length`] inserts.
pub(super) fn write_header(w: &mut Writer, version: u8, packet_type: PacketType) {
    w.u8(version);
    w.u8(packet_type.0);
    w.u16(0);
}

/// The finished PDU: its length is that of what was written behind the header.
pub(super) fn with_length(mut w: Writer) -> Vec<u8> {
    let len = w.len() - HEADER_LEN;
    w.patch_u16(HEADER_LEN - 2, u16::try_from(len).expect("bodies of EAPOL are shorter than 64 KiB"));
    w.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(version: u8, kind: u8, body in proptest::collection::vec(any::<u8>(), 0..100), padding in 0_usize..50) {
            let pdu = Pdu { version, packet_type: PacketType(kind), body: &body };
            let mut bytes = pdu.to_bytes();
            prop_assert_eq!(bytes.len(), pdu.len());
            for cut in 0..bytes.len() {
                prop_assert!(Pdu::read(&bytes[..cut]).is_err());
            }
            bytes.resize(bytes.len() + padding, 0);
            prop_assert_eq!(Pdu::read(&bytes).unwrap(), pdu);
        }
    }

    #[test]
    fn a_start_is_four_octets() {
        let start = Pdu { version: VERSION_2004, packet_type: PacketType::START, body: &[] };
        assert_eq!(start.to_bytes(), [2, 1, 0, 0]);
        assert!(start.is_empty());
    }

    #[test]
    fn a_body_that_is_cut_short_is_named() {
        let error = Pdu::read(&[1, 0, 0, 5, 2, 1]).unwrap_err();
        assert_eq!(error.to_string(), "EAPOL packet body at offset 4: needs 5 bytes, 2 are left");
    }
}
