//! What both key descriptors have in common: their type, and a MIC over the whole PDU in which the MIC itself is zero.
//! 802.11-2020 §12.7.2 (Key MIC), IEEE 802.1X-2004 §7.6.8 (Key Signature).

use std::ops::Range;

use keytoll_net::wire::{DecodeError, Problem};

use super::pdu::{HEADER_LEN, PacketType, Pdu};

/// The type of a key descriptor, the first octet of an EAPOL-Key body. IEEE 802.1X-2020 table 11-5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DescriptorType(pub u8);

impl DescriptorType {
    /// Of dynamic WEP.
    pub const RC4: Self = Self(1);
    /// Of 802.11.
    pub const RSN: Self = Self(2);
    /// Of WPA before 802.11i was finished, with the layout of [`DescriptorType::RSN`].
    pub const WPA: Self = Self(254);

    /// The type of the key descriptor in a PDU.
    ///
    /// # Errors
    /// If the PDU is no EAPOL-Key frame or is empty.
    pub fn of(pdu: &Pdu<'_>) -> Result<Self, DecodeError> {
        if pdu.packet_type != PacketType::KEY {
            let problem = Problem::Value(pdu.packet_type.0.into());
            return Err(DecodeError { field: "EAPOL packet type", offset: 1, problem });
        }
        let problem = Problem::Short { needed: 1, left: 0 };
        let error = DecodeError { field: "EAPOL-Key descriptor type", offset: HEADER_LEN, problem };
        pdu.body.first().copied().map(Self).ok_or(error)
    }
}

/// An EAPOL-Key frame that was received, with the place of its MIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<'a> {
    bytes: &'a [u8],
    mic: Range<usize>,
}

impl<'a> Signed<'a> {
    /// A PDU, without what follows it, whose MIC was read from this place in it.
    pub(super) fn new(bytes: &'a [u8], mic: Range<usize>) -> Self {
        debug_assert!(mic.end <= bytes.len(), "the MIC was read from the PDU");
        Self { bytes, mic }
    }

    /// The MIC.
    pub fn mic(&self) -> &'a [u8] {
        &self.bytes[self.mic.clone()]
    }

    /// What the MIC is computed over: the PDU with zeros in place of the MIC.
    pub fn covered(&self) -> Vec<u8> {
        let mut covered = self.bytes.to_vec();
        covered[self.mic.clone()].fill(0);
        covered
    }
}

/// An EAPOL-Key frame that is to be sent, with zeros in place of its MIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    bytes: Vec<u8>,
    mic: Range<usize>,
}

impl Unsigned {
    pub(super) const fn new(bytes: Vec<u8>, mic: Range<usize>) -> Self {
        Self { bytes, mic }
    }

    /// What the MIC is computed over.
    pub fn covered(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame with its MIC.
    ///
    /// # Panics
    /// If the MIC does not have the length for which the frame was written.
    pub fn signed(mut self, mic: &[u8]) -> Vec<u8> {
        self.bytes[self.mic].copy_from_slice(mic);
        self.bytes
    }

    /// The frame without a MIC, as the first message of the 4-way handshake is sent.
    pub fn unsigned(self) -> Vec<u8> {
        self.bytes
    }
}
