//! The subset of DER that certificates and key files need. Read X.690 §8 and §10 first.

/// SEQUENCE, constructed.
pub(crate) const SEQUENCE: u8 = 0x30;
/// INTEGER.
pub(crate) const INTEGER: u8 = 0x02;
/// OCTET STRING.
pub(crate) const OCTET_STRING: u8 = 0x04;
/// OBJECT IDENTIFIER.
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;

/// BIT STRING.
pub(crate) const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Tag, length in its shortest form, contents.
pub(crate) fn wrap(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(len + 6);
    out.push(tag);
    write_length(&mut out, len);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// A SEQUENCE of what the parts hold.
pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    wrap(SEQUENCE, parts)
}

/// A SET with one member, which needs no sorting.
pub(crate) fn set_of_one(member: &[u8]) -> Vec<u8> {
    wrap(0x31, &[member])
}

/// An INTEGER that is not negative, from its big-endian bytes.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let bytes = without_leading_zeros(bytes);
    // X.690 §8.3.3: two's complement, so a set first bit needs a zero byte before it; zero itself has one byte.
    let padding: &[u8] = if bytes.first().is_none_or(|&first| first >= 0x80) { &[0] } else { &[] };
    wrap(INTEGER, &[padding, bytes])
}

/// A BIT STRING of whole bytes.
pub(crate) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    wrap(BIT_STRING, &[&[0], bytes])
}

/// A BIT STRING of named bits; X.690 §11.2.2: trailing zeros are not encoded.
pub(crate) fn named_bits(bits: u8) -> Vec<u8> {
    wrap(BIT_STRING, &[&[bits.trailing_zeros() as u8, bits]])
}

/// A date in the encoding of certificates.
pub(crate) fn time(unix_seconds: u64) -> Vec<u8> {
    let (year, month, day) = civil(unix_seconds / 86_400);
    let (hour, minute, second) = (unix_seconds / 3600 % 24, unix_seconds / 60 % 60, unix_seconds % 60);
    let rest = format!("{month:02}{day:02}{hour:02}{minute:02}{second:02}Z");
    // RFC 5280 §4.1.2.5: UTCTime through the year 2049, GeneralizedTime from 2050.
    if year < 2050 {
        wrap(UTC_TIME, &[format!("{:02}{rest}", year % 100).as_bytes()])
    } else {
        wrap(GENERALIZED_TIME, &[format!("{year:04}{rest}").as_bytes()])
    }
}

/// One element of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    /// The tag's byte; multi-byte tags do not occur in what is read here.
    pub(crate) tag: u8,
    /// Its contents.
    pub(crate) contents: &'a [u8],
}

impl<'a> Element<'a> {
    /// The whole of `input` as one element.
    pub(crate) fn only(input: &'a [u8]) -> Option<Self> {
        read(input).filter(|(_, rest)| rest.is_empty()).map(|(element, _)| element)
    }

    /// The elements inside, up to the end or the first malformed one.
    pub(crate) fn members(self) -> impl Iterator<Item = Element<'a>> {
        let mut rest = self.contents;
        std::iter::from_fn(move || {
            let (element, after) = read(rest)?;
            rest = after;
            Some(element)
        })
    }
}

/// How many bits a non-negative INTEGER's contents have.
pub(crate) fn bit_length(contents: &[u8]) -> usize {
    let bytes = without_leading_zeros(contents);
    bytes.first().map_or(0, |first| bytes.len() * 8 - first.leading_zeros() as usize)
}

/// The first element of `input` and what follows it.
fn read(input: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, input) = input.split_first()?;
    let (len, input) = read_length(input)?;
    let (contents, rest) = input.split_at_checked(len)?;
    Some((Element { tag, contents }, rest))
}

/// X.690 §8.1.3: one byte below 128, else the number of length bytes with the first bit set, then those.
fn read_length(input: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, input) = input.split_first()?;
    match first {
        0..=0x7f => Some((usize::from(first), input)),
        0x81..=0x84 => {
            let (bytes, input) = input.split_at_checked(usize::from(first & 0x7f))?;
            Some((bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)), input))
        }
        _ => None,
    }
}

fn write_length(out: &mut Vec<u8>, len: usize) {
    if let Ok(short @ 0..=0x7f) = u8::try_from(len) {
        return out.push(short);
    }
    let bytes = len.to_be_bytes();
    let significant = without_leading_zeros(&bytes);
    out.push(0x80 | significant.len() as u8);
    out.extend_from_slice(significant);
}

fn without_leading_zeros(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..]
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 0000-03-01, the leap day is the last of its year, and 400 years always have 146 097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March to July and August to December have 153 days each: 31, 30, 31, 30, 31.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use x509_parser::prelude::{ASN1Time, FromDer};

    use super::*;

    #[test]
    fn numbers_have_their_shortest_form() {
        assert_eq!(unsigned(&[0, 0, 1]), [2, 1, 1]);
        assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
        assert_eq!(named_bits(0x80), [3, 2, 7, 0x80]);
        assert_eq!(named_bits(0x06), [3, 2, 1, 0x06]);
    }

    #[test]
    fn dates_change_their_form_in_2050() {
        assert_eq!(time(1_767_225_600), *b"\x17\x0d260101000000Z");
        assert_eq!(time(2_524_607_999), *b"\x17\x0d491231235959Z");
        assert_eq!(time(2_524_608_000), *b"\x18\x0f20500101000000Z");
        assert_eq!(time(951_782_400), *b"\x17\x0d000229000000Z");
    }

    proptest! {
        #[test]
        fn dates_are_read_as_they_were_written(unix_seconds in 0..253_402_300_800_u64) {
            let der = time(unix_seconds);
            let (rest, read) = ASN1Time::from_der(&der).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(read.timestamp(), i64::try_from(unix_seconds).unwrap());
        }

        #[test]
        fn elements_are_read_as_they_were_written(tag in 0..0x40_u8, len in 0..70_000_usize, bytes in prop::collection::vec(any::<u8>(), 1..300)) {
            let contents: Vec<u8> = bytes.into_iter().cycle().take(len).collect();
            let der = wrap(tag, &[&contents]);
            prop_assert_eq!(Element::only(&der), Some(Element { tag, contents: &contents }));
            prop_assert_eq!(Element::only(&der[..der.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some((element, rest)) = read(&bytes) {
                prop_assert!(element.contents.len() + rest.len() < bytes.len());
                prop_assert!(element.members().count() <= element.contents.len());
            }
        }
    }
}
