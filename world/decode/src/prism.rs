//! Older headers of frames of a wireless LAN: Prism and AVS (Linux's wlan-ng), and PPI (CACE, "Per-Packet Information Header
//! Specification" 1.0.10).
//!
//!   Prism  Code(4) Length(4), in the byte order of the capturing machine, then values of fixed lengths
//!   AVS    Version(4) = 0x8021100x Length(4), big-endian
//!   PPI    Version(1) = 0 Flags(1) Length(2) LinkType(4), then fields of Type(2) Length(2) Value, little-endian

use crate::radiotap::without_check;

/// AVS begins with this, and a version.
const AVS: u32 = 0x8021_1000;
/// PPI's field about a frame of 802.11: a time stamp of 8 bytes, then flags; the first bit: a frame check sequence follows the frame.
const PPI_COMMON: u16 = 2;
/// The link type of frames behind PPI: 802.11 without any other header.
const IEEE802_11: u32 = 105;

/// The frame behind a header of Prism or AVS.
///
/// # Errors
/// That it is cut short.
pub(crate) fn prism(bytes: &[u8]) -> Result<&[u8], String> {
    let short = || "Prism header cut short".to_owned();
    let [code, len] = [0, 4].map(|at| bytes.get(at..)?.first_chunk::<4>().copied());
    let (code, len) = (code.ok_or_else(short)?, len.ok_or_else(short)?);
    let is_avs = u32::from_be_bytes(code) & !0xf == AVS;
    // A length is below 64 KiB in the byte order that it is in.
    let little = u32::from_le_bytes(len);
    let len = if is_avs || little > 0xffff { u32::from_be_bytes(len) } else { little };
    let frame = usize::try_from(len).ok().filter(|len| *len >= 8).and_then(|len| bytes.get(len..));
    frame.ok_or_else(short)
}

/// The frame behind a PPI header, without its frame check sequence.
///
/// # Errors
/// Its kind, if it was damaged on the air, is cut short or is no frame of 802.11.
pub(crate) fn ppi(bytes: &[u8], original_bytes: u32) -> Result<&[u8], String> {
    let short = || "PPI header cut short".to_owned();
    let &[version, _, l0, l1, ref link_type @ ..] = bytes.first_chunk::<8>().ok_or_else(short)?;
    let link_type = u32::from_le_bytes(*link_type);
    if version != 0 || link_type != IEEE802_11 {
        return Err(format!("PPI version {version}, link type {link_type}"));
    }
    let (header, frame) = bytes.split_at_checked(u16::from_le_bytes([l0, l1]).into()).ok_or_else(short)?;
    match has_check(header.get(8..).ok_or_else(short)?) {
        true => without_check(frame, u64::from(original_bytes) > bytes.len() as u64),
        false => Ok(frame),
    }
}

/// Whether one of the fields says that a frame check sequence follows the frame.
fn has_check(mut fields: &[u8]) -> bool {
    while let Some((&[t0, t1, l0, l1], rest)) = fields.split_first_chunk() {
        let Some((value, behind)) = rest.split_at_checked(u16::from_le_bytes([l0, l1]).into()) else { break };
        if u16::from_le_bytes([t0, t1]) == PPI_COMMON {
            return value.get(8).is_some_and(|flags| flags & 1 != 0);
        }
        fields = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prism_and_avs_say_how_long_they_are() {
        let with = |code: [u8; 4], len: [u8; 4]| [&code[..], &len, &[7; 4], b"frame"].concat();
        let little = with([0x44, 0, 0, 0], 12_u32.to_le_bytes());
        let big = with([0, 0, 0, 0x44], 12_u32.to_be_bytes());
        let avs = with(0x8021_1001_u32.to_be_bytes(), 12_u32.to_be_bytes());
        for bytes in [little, big, avs] {
            assert_eq!(prism(&bytes), Ok(&b"frame"[..]));
            (0..12).for_each(|len| assert!(prism(&bytes[..len]).is_err(), "{len} bytes"));
        }
        assert!(prism(&with([0x44, 0, 0, 0], 7_u32.to_le_bytes())).is_err(), "shorter than itself");
        assert!(prism(&with([0x44, 0, 0, 0], [0xff; 4])).is_err(), "longer than the packet");
    }

    #[test]
    fn ppi_says_whether_there_is_a_frame_check_sequence() {
        let check = crc32fast::hash(b"frame").to_le_bytes();
        let with = |link_type: u32, flags: u8| {
            let common = [&[2, 0, 20, 0][..], &[0; 8], &[flags], &[0; 11]].concat();
            let other = [3, 0, 2, 0, 9, 9];
            let len = u16::try_from(8 + other.len() + common.len()).unwrap().to_le_bytes();
            [&[0, 0][..], &len, &link_type.to_le_bytes(), &other, &common, b"frame", &check].concat()
        };
        let read = |bytes: &[u8]| ppi(bytes, u32::try_from(bytes.len()).unwrap()).map(<[u8]>::to_vec);
        let (checked, plain) = (with(105, 1), with(105, 0));
        assert_eq!(read(&checked), Ok(b"frame".to_vec()));
        assert_eq!(read(&plain), Ok([&b"frame"[..], &check].concat()));
        assert!(read(&with(1, 1)).is_err(), "Ethernet");
        assert!(ppi(&checked, 9999).is_err(), "cut by the snap length");
        (0..plain.len() - 9).for_each(|len| assert!(read(&plain[..len]).is_err(), "{len} bytes"));
    }
}
