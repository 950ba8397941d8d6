//! Frames of wireless LANs: what the capture puts around them, and what a family takes out of them.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_crypto::Real;
use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Aired, LinkSeal, OnAir, Passed};
use keytoll_net::Addr;

use super::Origin;
use super::link::{Carried, Way, of_ether_type};
use crate::passage;
use crate::read::Frame;

/// Takes frames apart, by the first family that does.
pub(super) struct Air {
    on_air: Vec<Box<dyn OnAir>>,
    crypto: Real,
}

impl fmt::Debug for Air {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Air({} families)", self.on_air.len())
    }
}

/// What was in a frame.
pub(super) enum Taken {
    Message(Message),
    Pdu(Pdu),
}

/// A message of a wireless LAN's family.
pub(super) struct Message {
    protocol: Protocol,
    ends: [[u8; 6]; 2],
    bytes: Vec<u8>,
    seal: LinkSeal,
    /// Of the frame as it was on the air.
    wire_bytes: u32,
}

/// What any LAN carries.
pub(super) struct Pdu {
    ether_type: u16,
    ends: [[u8; 6]; 2],
    bytes: Vec<u8>,
    seal: LinkSeal,
}

impl Air {
    pub(super) fn new(on_air: Vec<Box<dyn OnAir>>) -> Self {
        Self { on_air, crypto: Real::default() }
    }

    /// Frames that were decrypted so far.
    pub(super) fn opened(&self) -> u64 {
        self.on_air.iter().map(|on_air| on_air.opened()).sum()
    }

    /// What is in a frame, or its kind if it is of no interest.
    pub(super) fn take(&mut self, frame: &[u8]) -> Result<Vec<Taken>, String> {
        let on_air = self.on_air.first_mut().ok_or("802.11")?;
        let wire_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let taken = |aired| match aired {
            Aired::Message { protocol, from, to, bytes, seal } => {
                Taken::Message(Message { protocol, ends: [from, to], bytes, seal, wire_bytes })
            }
            Aired::Pdu { ether_type, from, to, pdu, seal } => {
                Taken::Pdu(Pdu { ether_type, ends: [from, to], bytes: pdu, seal })
            }
        };
        Ok(on_air.take(frame, &mut self.crypto)?.into_iter().map(taken).collect())
    }
}

impl Pdu {
    /// The same as if a wire had carried it.
    pub(super) fn carried(&self) -> Result<Carried<'_>, String> {
        let [from, to] = self.ends.map(Some);
        of_ether_type(self.ether_type, &self.bytes, Way { direction: 0, from, to, seal: self.seal })
    }
}

impl Message {
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.ends, &self.bytes).hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn passed(self, frame: &Frame, origin: &Origin) -> Passed {
        let [from, to] = self.ends.map(Addr::Mac);
        Passed {
            first_ns: frame.at_ns,
            at_ns: frame.at_ns,
            frame: frame.number,
            packets: 1,
            wire_bytes: self.wire_bytes,
            datagram: Datagram { protocol: self.protocol, from, to, bytes: self.bytes },
            is_receiver_known: true,
            seal: self.seal,
            cut: None,
            fate: origin.comment.as_deref().and_then(passage::fate),
        }
    }
}

/// Bits of radiotap's first word of fields, and of its Flags.
mod radiotap {
    pub(super) const TSFT: u32 = 1 << 0;
    pub(super) const FLAGS: u32 = 1 << 1;
    pub(super) const MORE: u32 = 1 << 31;
    pub(super) const HAS_FCS: u8 = 0x10;
    pub(super) const IS_PADDED: u8 = 0x20;
}

/// The octets of a frame check sequence.
const FCS_LEN: usize = 4;

/// The frame behind a radiotap header (radiotap.org), without its frame check sequence; or its kind if it was damaged on the air.
///
///   Version(1) = 0  Pad(1) Length(2) Present(4, more while bit 31 is set) fields aligned to their sizes
pub(super) fn behind_radiotap(bytes: &[u8], original_bytes: u32) -> Result<&[u8], String> {
    let short = || "radiotap header cut short".to_owned();
    let &[version, _, l0, l1] = bytes.first_chunk().ok_or_else(short)?;
    if version != 0 {
        return Err(format!("radiotap version {version}"));
    }
    let (header, frame) = bytes.split_at_checked(u16::from_le_bytes([l0, l1]).into()).ok_or_else(short)?;
    let flags = flags(header).ok_or_else(short)?;
    if flags & radiotap::IS_PADDED != 0 {
        return Err("802.11 frame with padding".to_owned());
    }
    if flags & radiotap::HAS_FCS == 0 {
        return Ok(frame);
    }
    if u64::from(original_bytes) > bytes.len() as u64 {
        return Err("802.11 frame cut short by the capture's snap length".to_owned());
    }
    let (frame, fcs) = frame.split_last_chunk::<FCS_LEN>().ok_or("802.11 frame cut short")?;
    // 802.11-2020 §9.2.4.8: the frame check sequence is CRC-32, its least significant octet first.
    if crc32fast::hash(frame) != u32::from_le_bytes(*fcs) {
        return Err("802.11 frame damaged on the air".to_owned());
    }
    Ok(frame)
}

/// The Flags field of a radiotap header; zero if it has none, nothing if the header is cut short.
fn flags(header: &[u8]) -> Option<u8> {
    let word = |at: usize| header.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let first = word(4)?;
    let (mut present, mut at) = (first, 8);
    while present & radiotap::MORE != 0 {
        present = word(at)?;
        at += 4;
    }
    if first & radiotap::TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if first & radiotap::FLAGS == 0 { Some(0) } else { header.get(at).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(present: u32, fields: &[u8], frame: &[u8]) -> Vec<u8> {
        let len = u16::try_from(8 + fields.len()).unwrap().to_le_bytes();
        [&[0, 0], &len[..], &present.to_le_bytes(), fields, frame].concat()
    }

    fn behind(bytes: &[u8]) -> Result<&[u8], String> {
        behind_radiotap(bytes, u32::try_from(bytes.len()).unwrap())
    }

    #[test]
    fn the_frame_check_sequence_is_checked_and_cut_off() {
        let fcs = crc32fast::hash(b"frame").to_le_bytes();
        let whole = [&b"frame"[..], &fcs].concat();
        assert_eq!(behind(&framed(2, &[0x10], &whole)), Ok(&b"frame"[..]));
        assert_eq!(behind(&framed(3, &[[7; 8].as_slice(), &[0x10]].concat(), &whole)), Ok(&b"frame"[..]));
        assert_eq!(behind(&framed(2, &[0], &whole)), Ok(&whole[..]));
        assert_eq!(behind(&framed(0, &[], &whole)), Ok(&whole[..]));
        let damaged = [&b"frome"[..], &fcs].concat();
        assert_eq!(behind(&framed(2, &[0x10], &damaged)), Err("802.11 frame damaged on the air".to_owned()));
        assert!(behind_radiotap(&framed(2, &[0x10], &whole), 999).is_err());
    }

    #[test]
    fn a_header_that_is_cut_short_is_refused_wherever() {
        let whole = framed(0x8000_0003, &[[3, 0, 0, 0].as_slice(), &[7; 12], &[0]].concat(), b"");
        for len in 0..whole.len() {
            assert!(behind(&whole[..len]).is_err(), "{len}");
        }
        assert!(behind(&framed(3, &[7; 8], b"frame")).is_err());
        assert_eq!(behind(&[1, 0, 8, 0, 0, 0, 0, 0]), Err("radiotap version 1".to_owned()));
    }
}
