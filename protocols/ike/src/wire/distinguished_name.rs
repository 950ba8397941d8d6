//! Distinguished names as text and back: RFC 4514 for the text, RFC 5280 §4.1.2.4 and X.690 for the DER.
//!
//!   Name = SEQUENCE OF SET OF SEQUENCE { type OBJECT IDENTIFIER, value string }
//!
//! The attributes are in the order of the DER, separated by `, `, as certificates are shown elsewhere here; RFC 4514 reverses
//! the order. Types without a short name are shown as object identifiers.

use std::fmt::Write as _;

/// Short names of RFC 4514 §3 and others found in certificates, with the contents of the object identifiers.
const TYPES: [(&str, &[u8]); 15] = [
    ("CN", &[0x55, 4, 3]),
    ("SN", &[0x55, 4, 4]),
    ("serialNumber", &[0x55, 4, 5]),
    ("C", &[0x55, 4, 6]),
    ("L", &[0x55, 4, 7]),
    ("ST", &[0x55, 4, 8]),
    ("STREET", &[0x55, 4, 9]),
    ("O", &[0x55, 4, 10]),
    ("OU", &[0x55, 4, 11]),
    ("T", &[0x55, 4, 12]),
    ("GN", &[0x55, 4, 42]),
    ("UID", &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1]),
    ("DC", &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25]),
    ("E", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1]),
    ("emailAddress", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1]),
];

/// Longer names stay octets: they are compared before anything is authenticated.
const BYTES_MAX: usize = 1024;

const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// A type, as the contents of its object identifier, and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attribute {
    kind: Vec<u8>,
    value: String,
}

/// Its RDNs, each of one attribute or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DistinguishedName(Vec<Vec<Attribute>>);

impl DistinguishedName {
    /// `None` if it is not DER, if it is very long, or if a value is not text.
    pub(super) fn read(der: &[u8]) -> Option<Self> {
        if der.len() > BYTES_MAX {
            return None;
        }
        let parts = all(only(der, SEQUENCE)?, SET)?;
        let part = |part: &[u8]| {
            let attributes =
                all(part, SEQUENCE)?.into_iter().map(Attribute::read).collect::<Option<Vec<_>>>()?;
            (!attributes.is_empty()).then_some(attributes)
        };
        parts.into_iter().map(part).collect::<Option<_>>().map(Self)
    }

    /// `None` if it does not follow RFC 4514 §3, or has a type without a name here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts = split(text, ',').into_iter();
        let part =
            |part: &str| split(part, '+').into_iter().map(Attribute::parse).collect::<Option<Vec<_>>>();
        parts.map(part).collect::<Option<_>>().map(Self)
    }

    /// The DER encoding.
    pub(super) fn write(&self) -> Vec<u8> {
        self.write_with(Attribute::string_type)
    }

    // RFC 5280 §7.1: the string type does not distinguish names. Nor does case, which is not handled here.
    /// An encoding that is the same for equal names.
    pub(super) fn canonical(&self) -> Vec<u8> {
        self.write_with(|_| UTF8_STRING)
    }

    fn write_with(&self, tag: impl Fn(&Attribute) -> u8) -> Vec<u8> {
        let part = |attributes: &Vec<Attribute>| {
            let mut written: Vec<_> = attributes.iter().map(|one| one.write(tag(one))).collect();
            // X.690 §11.6: the elements of a SET OF are in ascending order.
            written.sort_unstable();
            element(SET, &written.concat())
        };
        element(SEQUENCE, &self.0.iter().map(part).collect::<Vec<_>>().concat())
    }

    pub(super) fn text(&self) -> String {
        let part = |part: &Vec<Attribute>| part.iter().map(Attribute::text).collect::<Vec<_>>().join(" + ");
        self.0.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

impl Attribute {
    fn read(der: &[u8]) -> Option<Self> {
        let (tag, kind, rest) = first(der)?;
        let (string, value, end) = first(rest)?;
        // X.690 §8.19.2: the last octet of a number has its first bit zero. Longer identifiers would not fit in output.
        let is_named =
            tag == OBJECT_IDENTIFIER && kind.len() <= 18 && kind.last().is_some_and(|it| it & 0x80 == 0);
        let is_whole = is_named && end.is_empty();
        Some(Self { kind: kind.to_vec(), value: decoded(string, value).filter(|_| is_whole)? })
    }

    fn parse(text: &str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let is_named = |known: &&(&str, &[u8])| known.0.eq_ignore_ascii_case(name.trim());
        let (_, kind) = TYPES.iter().find(is_named)?;
        Some(Self { kind: kind.to_vec(), value: unescaped(value)? })
    }

    // RFC 5280 §4.1.2.4: UTF8String or PrintableString; appendix A prescribes some types.
    const fn string_type(&self) -> u8 {
        match self.kind.as_slice() {
            [0x55, 4, 5 | 6] => PRINTABLE_STRING,
            [0x2a, .., 1, 9, 1] | [0x09, .., 1, 25] => IA5_STRING,
            _ => UTF8_STRING,
        }
    }

    fn write(&self, tag: u8) -> Vec<u8> {
        let pair = [element(OBJECT_IDENTIFIER, &self.kind), element(tag, self.value.as_bytes())];
        element(SEQUENCE, &pair.concat())
    }

    fn text(&self) -> String {
        let named = TYPES.iter().find(|(_, kind)| *kind == self.kind).map(|(name, _)| (*name).to_owned());
        format!("{}={}", named.unwrap_or_else(|| dotted(&self.kind)), escaped(&self.value))
    }
}

/// Tag and contents of the first element, and the rest. X.690 §8.1, §10.1: the length has its shortest form.
fn first(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = der.split_first_chunk()?;
    let (length, rest) = match (length, rest) {
        (short @ 0..=0x7f, rest) => (usize::from(short), rest),
        (0x81, [length, rest @ ..]) if *length > 0x7f => (usize::from(*length), rest),
        (0x82, [high, low, rest @ ..]) if *high > 0 => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

/// The contents of the only element.
fn only(der: &[u8], wanted: u8) -> Option<&[u8]> {
    first(der).filter(|(tag, _, rest)| *tag == wanted && rest.is_empty()).map(|(_, contents, _)| contents)
}

/// The contents of every element.
fn all(mut der: &[u8], wanted: u8) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !der.is_empty() {
        let (_, contents, rest) = first(der).filter(|(tag, ..)| *tag == wanted)?;
        found.push(contents);
        der = rest;
    }
    Some(found)
}

fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len().to_be_bytes();
    let zeros = length.iter().take_while(|octet| **octet == 0).count().min(length.len() - 1);
    let (octets, mut der) = (&length[zeros..], vec![tag]);
    if contents.len() > 0x7f {
        der.push(0x80 | u8::try_from(octets.len()).expect("a length has few octets"));
    }
    der.extend_from_slice(octets);
    der.extend_from_slice(contents);
    der
}

/// The text of a string. Non-ASCII characters in a TeletexString are ambiguous.
fn decoded(tag: u8, bytes: &[u8]) -> Option<String> {
    const ASCII_STRINGS: [u8; 5] = [0x12, PRINTABLE_STRING, 0x14, IA5_STRING, 0x1a];
    const BMP_STRING: u8 = 0x1e;
    match tag {
        UTF8_STRING => String::from_utf8(bytes.to_vec()).ok(),
        BMP_STRING if bytes.len().is_multiple_of(2) => {
            let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        tag if ASCII_STRINGS.contains(&tag) && bytes.is_ascii() => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}

/// X.690 §8.19: seven bits an octet, the first two numbers in one.
fn dotted(kind: &[u8]) -> String {
    let (mut text, mut number) = (String::new(), 0_u128);
    for octet in kind {
        number = number << 7 | u128::from(octet & 0x7f);
        if octet & 0x80 != 0 {
            continue;
        }
        let _ = if text.is_empty() {
            let root = (number / 40).min(2);
            write!(text, "{root}.{}", number - root * 40)
        } else {
            write!(text, ".{number}")
        };
        number = 0;
    }
    text
}

// RFC 4514 §2.4: separators of attributes and values, a leading number sign and blanks at either end are escaped; any other
// character's octets may be given in hexadecimal.
fn escaped(value: &str) -> String {
    let last = value.len().saturating_sub(1);
    let mut text = String::with_capacity(value.len());
    for (at, char) in value.char_indices() {
        match char {
            '"' | '+' | ',' | ';' | '<' | '=' | '>' | '\\' => text.extend(['\\', char]),
            '#' if at == 0 => text.push_str("\\#"),
            ' ' if at == 0 || at == last => text.push_str("\\ "),
            char if char.is_control() => {
                let _ =
                    char.encode_utf8(&mut [0; 4]).bytes().try_for_each(|octet| write!(text, "\\{octet:02x}"));
            }
            char => text.push(char),
        }
    }
    text
}

/// `None` if a backslash precedes something that may not be escaped, or the result is not text.
fn unescaped(value: &str) -> Option<String> {
    let value = trimmed(value);
    if value.starts_with(['#', '"']) {
        return None;
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(value.len()), value.bytes());
    while let Some(byte) = rest.next() {
        let escape = if byte == b'\\' { rest.next()? } else { b' ' };
        match (byte, escape) {
            (b'\\', high) if high.is_ascii_hexdigit() => {
                let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
                bytes.push(digit(high)? << 4 | digit(rest.next()?)?);
            }
            (b'\\', b'"' | b'+' | b',' | b';' | b'<' | b'=' | b'>' | b'\\' | b'#' | b' ') => {
                bytes.push(escape);
            }
            (b'\\', _) => return None,
            (plain, _) => bytes.push(plain),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Removes blanks at either end, except escaped ones.
fn trimmed(value: &str) -> &str {
    let value = value.trim_start_matches(' ');
    let shorter = value.trim_end_matches(' ');
    let is_escaped = shorter.len() < value.len() && trailing_backslashes(shorter) % 2 == 1;
    &value[..shorter.len() + usize::from(is_escaped)]
}

fn trailing_backslashes(text: &str) -> usize {
    text.len() - text.trim_end_matches('\\').len()
}

/// Splits at separators that are not escaped.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (at, _) in text.match_indices(separator) {
        if trailing_backslashes(&text[..at]).is_multiple_of(2) {
            parts.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From one of strongSwan's certificates: `C=CH, O=strongSwan, CN=moon`.
    const MOON: &[u8] = b"\x30\x31\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02CH\x31\x13\x30\x11\x06\x03\x55\x04\x0a\x13\x0astrongSwan\x31\x0d\x30\x0b\x06\x03\x55\x04\x03\x0c\x04moon";

    fn shown(der: &[u8]) -> Option<String> {
        DistinguishedName::read(der).map(|name| name.text())
    }

    #[test]
    fn a_name_of_a_certificate_is_shown_in_its_order() {
        assert_eq!(shown(MOON).as_deref(), Some("C=CH, O=strongSwan, CN=moon"));
        assert_eq!(shown(&[SEQUENCE, 0]).as_deref(), Some(""));
        let read = DistinguishedName::parse("C=CH, O=strongSwan, CN=moon").unwrap();
        assert_ne!(read.write(), MOON, "O is a UTF8String here");
        assert_eq!(read.canonical(), DistinguishedName::read(MOON).unwrap().canonical());
    }

    #[test]
    fn several_attributes_in_a_part_and_types_without_a_name() {
        let name = DistinguishedName::parse("cn=gw+UID=7,DC=example, emailAddress=a@b").unwrap();
        assert_eq!(shown(&name.write()).as_deref(), Some("CN=gw + UID=7, DC=example, E=a@b"));
        let odd = element(
            SEQUENCE,
            &element(SET, &Attribute { kind: vec![0x2a, 0x86, 0x48], value: "x".into() }.write(0x1a)),
        );
        assert_eq!(shown(&odd).as_deref(), Some("1.2.840=x"));
        assert_eq!((dotted(&[0x88, 0x37]), dotted(&[])), ("2.999".to_owned(), String::new()));
    }

    #[test]
    fn values_cannot_be_taken_for_attributes() {
        for (value, expected) in [
            ("a, CN=boss", r"a\, CN\=boss"),
            ("a + CN=boss", r"a \+ CN\=boss"),
            (" #a# ", r"\ #a#\ "),
            ("#a", r"\#a"),
            (r#""<>;\"#, r#"\"\<\>\;\\"#),
            ("a\0\nb\u{9b}", r"a\00\0ab\c2\9b"),
            ("Müller & Söhne ", "Müller & Söhne\\ "),
            ("", ""),
        ] {
            assert_eq!(escaped(value), expected, "{value:?}");
            assert_eq!(unescaped(expected).as_deref(), Some(value), "{expected}");
        }
    }

    #[test]
    fn invalid_names_are_refused() {
        for text in
            ["", "gw", "CN=a,", "CN=a, XY=b", "CN=#0401", r"CN=a\", r"CN=a\zb", r"CN=\ff", "CN=\"a\"", "=a"]
        {
            assert_eq!(DistinguishedName::parse(text), None, "{text}");
        }
        assert_eq!(
            unescaped(r"a\\  ").as_deref(),
            Some(r"a\"),
            "the backslash is escaped, the blanks are not"
        );
        for (tag, value) in
            [(0x0c, &[0xff][..]), (0x14, &[0xe4]), (0x1e, &[0]), (0x1e, &[0xd8, 0]), (0x04, b"a")]
        {
            assert_eq!(decoded(tag, value), None, "{tag:#x}");
        }
        assert_eq!(decoded(0x1e, &[0, 0x67, 0, 0x77]).as_deref(), Some("gw"));
        for cut in 0..MOON.len() {
            assert_eq!(shown(&MOON[..cut]), None, "cut at {cut}");
        }
        assert_eq!(shown(&[MOON, &[0]].concat()), None, "something follows");
        assert_eq!(shown(&[SEQUENCE, 0x81, 0]), None, "the length is longer than it need be");
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(der in proptest::collection::vec(any::<u8>(), 0..80), text in "\\PC*") {
            let _ = DistinguishedName::parse(&text);
            if let Some(name) = DistinguishedName::read(&der) {
                prop_assert!(!name.text().chars().any(char::is_control));
            }
        }

        #[test]
        fn damaged_names_are_read_or_refused(at in 0..MOON.len(), octet in any::<u8>()) {
            let mut der = MOON.to_vec();
            der[at] = octet;
            if let Some(name) = DistinguishedName::read(&der) {
                prop_assert!(!name.text().chars().any(char::is_control));
            }
        }

        #[test]
        fn names_read_back(values in proptest::collection::vec(any::<String>(), 1..5)) {
            let attribute = |(value, (_, kind)): (String, &(&str, &[u8]))| vec![Attribute { kind: kind.to_vec(), value }];
            let name = DistinguishedName(values.into_iter().zip(TYPES.iter().cycle()).map(attribute).collect());
            prop_assert_eq!(DistinguishedName::parse(&name.text()), Some(name.clone()));
            prop_assert_eq!(DistinguishedName::read(&name.canonical()), Some(name));
        }
    }

    /// Comparing a stranger's name takes no more work than comparing a certificate's.
    #[test]
    fn a_very_long_name_stays_octets() {
        let name = |count: usize| {
            let part =
                element(SET, &Attribute { kind: vec![0x55, 4, 3], value: "a".to_owned() }.write(UTF8_STRING));
            element(SEQUENCE, &part.repeat(count))
        };
        let longest = (1..).take_while(|count| name(*count).len() <= BYTES_MAX).last().unwrap();
        assert!(DistinguishedName::read(&name(longest)).is_some());
        assert_eq!(DistinguishedName::read(&name(longest + 1)), None);
    }
}
