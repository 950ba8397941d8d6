//! Blocks of a pcapng file: draft-ietf-opsawg-pcapng §4.1 (section), §4.2 (interface), §4.3 (packet), §3.5 (options).
//!
//! ```text
//!   type(4) length(4)  body, padded to 4 bytes  options  length(4) again        everything little-endian
//! ```

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Shows the byte order of numbers.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// What the packets of an interface begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkType {
    /// LINKTYPE_RAW: an IPv4 or IPv6 header.
    Raw = 101,
    /// LINKTYPE_IEEE802_11: a MAC header of 802.11. There is no frame check sequence at the end.
    Ieee80211 = 105,
}

const OPTION_COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION_TEXT: u16 = 3;
const INTERFACE_TIME_RESOLUTION: u16 = 9;

/// if_tsresol: timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Longest text of an option; longer ones are truncated.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// A block being put together.
pub(super) struct Block(Vec<u8>);

impl Block {
    fn new(kind: u32) -> Self {
        let mut block = Self(Vec::with_capacity(256));
        block.u32(kind);
        // The length, known at the end.
        block.u32(0);
        block
    }

    /// Begins a file.
    pub(super) fn section(application: &str, comment: &str) -> Self {
        let mut block = Self::new(SECTION_HEADER);
        block.u32(BYTE_ORDER_MAGIC);
        // Version 1.0.
        block.u16(1);
        block.u16(0);
        // §4.1: a section of unknown length has −1.
        block.0.extend(u64::MAX.to_le_bytes());
        block.text(OPTION_COMMENT, comment);
        block.text(SECTION_APPLICATION, application);
        block.end_of_options();
        block
    }

    /// Declares an interface; the first one has number 0.
    pub(super) fn interface(link_type: LinkType, name: &str, description: &str) -> Self {
        let mut block = Self::new(INTERFACE_DESCRIPTION);
        block.u16(link_type as u16);
        block.u16(0);
        // §4.2: no limit on the length of packets.
        block.u32(0);
        block.text(INTERFACE_NAME, name);
        block.text(INTERFACE_DESCRIPTION_TEXT, description);
        block.option(INTERFACE_TIME_RESOLUTION, &[NANOSECONDS]);
        block.end_of_options();
        block
    }

    /// A packet of an interface.
    pub(super) fn packet(interface: u32, at_ns: u64, bytes: &[u8], comment: &str) -> Self {
        let mut block = Self::new(ENHANCED_PACKET);
        let length = u32::try_from(bytes.len()).expect("IP packets and frames are shorter");
        block.u32(interface);
        // §4.3: the upper half comes first, whatever the byte order.
        block.u32((at_ns >> 32) as u32);
        block.u32(at_ns as u32);
        block.u32(length);
        block.u32(length);
        block.padded(bytes);
        if !comment.is_empty() {
            block.text(OPTION_COMMENT, comment);
            block.end_of_options();
        }
        block
    }

    /// Closes the block and writes it.
    pub(super) fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        let length = u32::try_from(self.0.len() + 4).expect("packets and texts have limits");
        self.0[4..8].copy_from_slice(&length.to_le_bytes());
        self.u32(length);
        out.write_all(&self.0)
    }

    fn text(&mut self, code: u16, text: &str) {
        let longest = text.len().min(TEXT_BYTES_MAX);
        let end = (0..=longest).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.option(code, &text.as_bytes()[..end]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(u16::try_from(value.len()).expect("texts are cut off before that"));
        self.padded(value);
    }

    fn end_of_options(&mut self) {
        self.u32(0);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(block: Block) -> Vec<u8> {
        let mut out = Vec::new();
        block.write(&mut out).unwrap();
        out
    }

    /// An Enhanced Packet Block encoded by hand according to the draft's §4.3.
    #[test]
    fn a_packet_as_the_draft_draws_it() {
        let bytes = written(Block::packet(2, 0x1_0000_0003, &[0x45, 1, 2, 3, 4], "hi!!!"));
        let expected: &[&[u8]] = &[
            &[6, 0, 0, 0, 56, 0, 0, 0],
            &[2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0],
            &[5, 0, 0, 0, 5, 0, 0, 0],
            &[0x45, 1, 2, 3, 4, 0, 0, 0],
            &[1, 0, 5, 0, b'h', b'i', b'!', b'!', b'!', 0, 0, 0],
            &[0, 0, 0, 0, 56, 0, 0, 0],
        ];
        assert_eq!(bytes, expected.concat());
    }

    #[test]
    fn blocks_are_multiples_of_four_with_their_length_at_both_ends() {
        for length in 0..9 {
            let text = "a".repeat(length);
            for block in [
                Block::section(&text, &text),
                Block::interface(LinkType::Raw, &text, &text),
                Block::packet(0, 0, text.as_bytes(), &text),
            ] {
                let bytes = written(block);
                let says = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                assert_eq!((says(4), says(bytes.len() - 4)), (bytes.len() as u32, bytes.len() as u32));
                assert_eq!(bytes.len() % 4, 0);
            }
        }
    }

    #[test]
    fn a_long_comment_is_truncated_between_characters() {
        let bytes = written(Block::packet(0, 0, &[], &"ä".repeat(40_000)));
        assert!(bytes.len() < TEXT_BYTES_MAX + 64);
        assert!(std::str::from_utf8(&bytes[32..32 + TEXT_BYTES_MAX]).is_ok());
    }
}
