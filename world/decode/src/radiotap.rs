//! Radiotap (radiotap.org): what is told of a frame of a wireless LAN in front of it.
//!
//!   Version(1) = 0  Pad(1) Length(2) Present(4, more while bit 31 is set) fields aligned to their sizes

/// Bits of radiotap's first word of fields, and of its Flags.
mod bits {
    pub(super) const TSFT: u32 = 1 << 0;
    pub(super) const FLAGS: u32 = 1 << 1;
    pub(super) const MORE: u32 = 1 << 31;
    pub(super) const HAS_FCS: u8 = 0x10;
    pub(super) const IS_PADDED: u8 = 0x20;
}

/// The octets of a frame check sequence.
const FCS_LEN: usize = 4;

/// The frame behind a radiotap header, without its frame check sequence; `original_bytes` is how many bytes there were
/// before a capture cut them.
///
/// # Errors
/// Its kind, if it was damaged on the air, is cut short or has no such header.
pub fn frame(bytes: &[u8], original_bytes: u32) -> Result<&[u8], String> {
    let short = || "radiotap header cut short".to_owned();
    let &[version, _, l0, l1] = bytes.first_chunk().ok_or_else(short)?;
    if version != 0 {
        return Err(format!("radiotap version {version}"));
    }
    let (header, frame) = bytes.split_at_checked(u16::from_le_bytes([l0, l1]).into()).ok_or_else(short)?;
    let flags = flags(header).ok_or_else(short)?;
    if flags & bits::IS_PADDED != 0 {
        return Err("802.11 frame with padding".to_owned());
    }
    match flags & bits::HAS_FCS {
        0 => Ok(frame),
        _ => without_check(frame, u64::from(original_bytes) > bytes.len() as u64),
    }
}

/// A frame without its frame check sequence, which must be right.
pub(crate) fn without_check(frame: &[u8], is_cut: bool) -> Result<&[u8], String> {
    if is_cut {
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
    while present & bits::MORE != 0 {
        present = word(at)?;
        at += 4;
    }
    if first & bits::TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if first & bits::FLAGS == 0 { Some(0) } else { header.get(at).copied() }
}

#[cfg(test)]
mod tests {

    fn framed(present: u32, fields: &[u8], frame: &[u8]) -> Vec<u8> {
        let len = u16::try_from(8 + fields.len()).unwrap().to_le_bytes();
        [&[0, 0], &len[..], &present.to_le_bytes(), fields, frame].concat()
    }

    fn behind(bytes: &[u8]) -> Result<&[u8], String> {
        super::frame(bytes, u32::try_from(bytes.len()).unwrap())
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
        assert!(super::frame(&framed(2, &[0x10], &whole), 999).is_err());
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
