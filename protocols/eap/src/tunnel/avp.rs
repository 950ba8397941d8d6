//! AVPs inside EAP-TTLS: RFC 5281 §10.1 (format), §10.2 (sequences).

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// RFC 5281 §10.1: V, a vendor follows.
const VENDOR: u8 = 0x80;
/// RFC 5281 §10.1: M, a receiver that does not know the AVP must give up.
const MANDATORY: u8 = 0x40;
/// Bytes in front of vendor or data.
const HEADER_LEN: usize = 8;

/// Maximum number of AVPs in one message.
const AVPS_MAX: usize = 64;

/// The code of an AVP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AvpCode {
    /// The vendor; 0 for attributes of RADIUS and Diameter.
    pub vendor: u32,
    /// The number.
    pub code: u32,
}

impl AvpCode {
    /// RFC 2865 §5.1.
    pub const USER_NAME: Self = Self::radius(1);
    /// RFC 2865 §5.2.
    pub const USER_PASSWORD: Self = Self::radius(2);
    /// RFC 3579 §3.1.
    pub const EAP_MESSAGE: Self = Self::radius(79);
    /// RFC 2548 §2.1.2.
    pub const MS_CHAP_CHALLENGE: Self = Self::microsoft(11);
    /// RFC 2548 §2.3.2.
    pub const MS_CHAP2_RESPONSE: Self = Self::microsoft(25);
    /// RFC 2548 §2.3.3.
    pub const MS_CHAP2_SUCCESS: Self = Self::microsoft(26);

    const fn radius(code: u32) -> Self {
        Self { vendor: 0, code }
    }

    const fn microsoft(code: u32) -> Self {
        Self { vendor: 311, code }
    }
}

/// An AVP. RFC 5281 §10.1:  Code(4) Flags(1) Length(3) [Vendor-ID(4)] Data(*), zeros up to a multiple of 4
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avp<'a> {
    /// Its code.
    pub code: AvpCode,
    /// Whether a receiver that does not know it must give up.
    pub mandatory: bool,
    /// Its value.
    pub data: &'a [u8],
}

impl<'a> Avp<'a> {
    /// A mandatory AVP, as all that we send are.
    pub const fn new(code: AvpCode, data: &'a [u8]) -> Self {
        Self { code, mandatory: true, data }
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let code = r.u32("AVP code")?;
        let flags = r.u8("AVP flags")?;
        let at = *r;
        let length = read_length(r)?;
        let body_len = length.checked_sub(HEADER_LEN);
        let body_len = body_len.ok_or(at.error("AVP length", Problem::Length(length as u64)))?;
        let mut body = r.sub(body_len, "AVP data")?;
        // The last one may lack its padding: like FreeRADIUS we accept that.
        let padding = body_len.next_multiple_of(4) - body_len;
        r.skip(padding.min(r.len()), "AVP padding")?;
        let vendor = if flags & VENDOR != 0 { body.u32("AVP vendor")? } else { 0 };
        Ok(Self { code: AvpCode { vendor, code }, mandatory: flags & MANDATORY != 0, data: body.rest() })
    }

    fn write(&self, w: &mut Writer) {
        let has_vendor = self.code.vendor != 0;
        let length = HEADER_LEN + if has_vendor { 4 } else { 0 } + self.data.len();
        let flags = if has_vendor { VENDOR } else { 0 } | if self.mandatory { MANDATORY } else { 0 };
        w.u32(self.code.code);
        // Flags and length share a word: the length has 24 bits.
        w.u32(
            u32::from(flags) << 24 | u32::try_from(length).expect("a message of TTLS has less than 16 MiB"),
        );
        if has_vendor {
            w.u32(self.code.vendor);
        }
        w.bytes(self.data);
        w.zeros(length.next_multiple_of(4) - length);
    }
}

fn read_length(r: &mut Reader<'_>) -> Result<usize, DecodeError> {
    let [a, b, c] = r.array("AVP length")?;
    Ok(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c))
}

/// Reads a message.
///
/// # Errors
/// An AVP is truncated, or its length does not fit.
pub fn read_avps(bytes: &[u8]) -> Result<Vec<Avp<'_>>, DecodeError> {
    let mut r = Reader::new(bytes);
    let mut avps = Vec::new();
    while !r.is_empty() {
        if avps.len() == AVPS_MAX {
            return Err(r.error("AVP count", Problem::Value(AVPS_MAX as u64 + 1)));
        }
        avps.push(Avp::read(&mut r)?);
    }
    Ok(avps)
}

/// Writes a message.
pub fn write_avps(avps: &[Avp<'_>]) -> Vec<u8> {
    let mut w = Writer::default();
    avps.iter().for_each(|avp| avp.write(&mut w));
    w.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// User-Name "alice" and MS-CHAP-Challenge 0x01, encoded by hand after the figure in RFC 5281 §10.1.
    const TWO: &[u8] = b"\0\0\0\x01\x40\0\0\x0dalice\0\0\0\0\0\0\x0b\xc0\0\0\x0d\0\0\x01\x37\x01\0\0\0";

    fn two() -> [Avp<'static>; 2] {
        [Avp::new(AvpCode::USER_NAME, b"alice"), Avp::new(AvpCode::MS_CHAP_CHALLENGE, &[1])]
    }

    #[test]
    fn the_layout_is_that_of_the_rfc() {
        assert_eq!(write_avps(&two()), TWO);
        assert_eq!(read_avps(TWO).unwrap(), two());
        assert_eq!(read_avps(&TWO[..TWO.len() - 3]).unwrap(), two(), "without the last padding");
        assert_eq!(read_avps(&[]), Ok(vec![]));
    }

    #[test]
    fn a_length_has_three_bytes() {
        for len in [0x100, 0x1_0203] {
            let data = vec![7; len];
            let avps = [Avp::new(AvpCode::USER_NAME, &data), Avp::new(AvpCode::EAP_MESSAGE, &[1])];
            assert_eq!(read_avps(&write_avps(&avps)).unwrap(), avps);
        }
    }

    #[test]
    fn a_truncated_field_is_named() {
        // Within the last attribute: code, flags, length, then vendor and data together.
        for (len, field) in
            [(1, "AVP code"), (4, "AVP flags"), (5, "AVP length"), (7, "AVP length"), (8, "AVP data")]
        {
            assert_eq!(read_avps(&TWO[..16 + len]).unwrap_err().field, field, "{len}");
        }
        let check = |bytes: &[u8], text| assert_eq!(read_avps(bytes).unwrap_err().to_string(), text);
        check(b"\0\0\0\x01\0\0\0\x07", "AVP length at offset 5: length 7 does not fit");
        check(b"\0\0\0\x01\x80\0\0\x0aab", "AVP vendor at offset 8: needs 4 bytes, 2 are left");
        let many = [&b"\0\0\0\x01\0\0\0\x08"[..]; 65].concat();
        check(&many, "AVP count at offset 512: value 65 is not allowed");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            avps in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        ) {
            let avps: Vec<Avp<'_>> = avps
                .iter()
                .map(|(vendor, code, mandatory, data)| {
                    Avp { code: AvpCode { vendor: *vendor, code: *code }, mandatory: *mandatory, data }
                })
                .collect();
            let written = write_avps(&avps);
            prop_assert!(written.len().is_multiple_of(4));
            prop_assert_eq!(read_avps(&written), Ok(avps));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(avps) = read_avps(&bytes) {
                prop_assert!(avps.iter().map(|avp| avp.data.len()).sum::<usize>() <= bytes.len());
            }
        }
    }
}
