//! Identification payloads and identities as text, RFC 7296 §3.5.
//!
//!   ID Type(1) Reserved(3) Identification Data(*)
//!
//! The notation is strongSwan's: `gw.lab`, `ue@lab`, `192.0.2.1`, `2001:db8::1`, `keyid:text`, `asn1dn:C=HU, CN=gw`. A type
//! prefix (`fqdn:`, `email:`, …) forces that type, and `#` before the value makes it hexadecimal, which is also how names that
//! are not DER, or not text, are shown.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::distinguished_name::DistinguishedName;
use crate::number::IdKind;

/// A decoded identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identification<'a> {
    /// What kind of identity.
    pub kind: IdKind,
    /// The identity.
    pub data: &'a [u8],
}

impl<'a> Identification<'a> {
    /// A copy that outlives the message.
    pub fn to_identity(&self) -> Identity {
        Identity { kind: self.kind, data: self.data.to_vec() }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let kind = IdKind(r.u8("ID type")?);
        r.skip(3, "ID reserved")?;
        let at = *r;
        let data = r.rest();
        // RFC 7296 §3.5: addresses are four or sixteen octets.
        match (kind, data.len()) {
            (IdKind::ID_IPV4_ADDR, 4) | (IdKind::ID_IPV6_ADDR, 16) => {}
            (IdKind::ID_IPV4_ADDR | IdKind::ID_IPV6_ADDR, length) => {
                return Err(at.error("identification data", Problem::Length(length as u64)));
            }
            _ => {}
        }
        Ok(Self { kind, data })
    }

    /// Writes the body of the payload, which AUTH covers as well (RFC 7296 §2.15, RestOfInitIDPayload).
    pub fn write(&self, w: &mut Writer) {
        w.bytes(&[self.kind.0, 0, 0, 0]);
        w.bytes(self.data);
    }
}

/// An identity. Distinguished names are equal whatever their string types.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What kind of identity.
    pub kind: IdKind,
    /// The identity.
    pub data: Vec<u8>,
}

/// Why a text is not an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Nothing there.
    #[error("an identity must not be empty")]
    Empty,
    /// Not hexadecimal after `#`.
    #[error("`{0}` is not hexadecimal")]
    Hex(String),
    /// Not an address after `ipv4:` or `ipv6:`.
    #[error("`{0}` is not an address of that family")]
    Address(String),
    /// A distinguished name without its type prefix.
    #[error("a distinguished name begins with its type: `asn1dn:{0}`")]
    Untyped(String),
    /// An invalid distinguished name after `asn1dn:`.
    #[error("`{0}` is no distinguished name like `C=HU, O=lab, CN=gw`")]
    DistinguishedName(String),
    /// A general name as text.
    #[error("general names are given as DER: `asn1gn:#30…`, not `{0}`")]
    GeneralName(String),
}

impl Identity {
    /// An identity from its parts.
    pub fn new(kind: IdKind, data: &[u8]) -> Self {
        Self { kind, data: data.to_vec() }
    }

    /// The same with host names and mail addresses in lower case, because case does not distinguish them (RFC 4945 §3.1).
    #[must_use]
    pub fn in_lower_case(&self) -> Self {
        let mut folded = self.clone();
        if matches!(self.kind, IdKind::ID_FQDN | IdKind::ID_RFC822_ADDR) {
            folded.data.make_ascii_lowercase();
        }
        folded
    }

    /// A DER Name, as in certificates.
    pub fn distinguished_name(der: &[u8]) -> Self {
        Self::new(IdKind::ID_DER_ASN1_DN, der)
    }

    /// The payload's body.
    pub fn as_payload(&self) -> Identification<'_> {
        Identification { kind: self.kind, data: &self.data }
    }

    /// The identity for a name of an AAA server: a name that is no other kind of identity is a Network Access Identifier
    /// (RFC 7542).
    pub fn of_name(name: &[u8]) -> Self {
        let parsed = std::str::from_utf8(name).ok().and_then(|text| text.parse().ok());
        parsed.unwrap_or_else(|| Self::new(IdKind::ID_RFC822_ADDR, name))
    }

    /// Whether an AAA server's `name` denotes this identity. A name has no kind, so the kind of a textual identity is ignored.
    pub fn is_named(&self, name: &[u8]) -> bool {
        match self.kind {
            IdKind::ID_FQDN | IdKind::ID_RFC822_ADDR | IdKind::ID_KEY_ID => self.data == name,
            _ => *self == Self::of_name(name),
        }
    }

    fn from_prefixed(text: &str) -> Option<Result<Self, IdentityError>> {
        let (prefix, value) = text.split_once(':')?;
        let (_, kind) = PREFIXES.into_iter().find(|&(known, _)| known == prefix)?;
        Some(Self::of_kind(kind, value))
    }

    fn of_kind(kind: IdKind, value: &str) -> Result<Self, IdentityError> {
        let not_an_address = || IdentityError::Address(value.to_owned());
        let data = match (kind, value.strip_prefix('#')) {
            (_, Some(hex)) => from_hex(hex)?,
            (IdKind::ID_IPV4_ADDR, None) => {
                value.parse::<Ipv4Addr>().map_err(|_| not_an_address())?.octets().to_vec()
            }
            (IdKind::ID_IPV6_ADDR, None) => {
                value.parse::<Ipv6Addr>().map_err(|_| not_an_address())?.octets().to_vec()
            }
            (IdKind::ID_DER_ASN1_DN, None) => {
                let name = DistinguishedName::parse(value);
                name.ok_or_else(|| IdentityError::DistinguishedName(value.to_owned()))?.write()
            }
            (IdKind::ID_DER_ASN1_GN, None) => return Err(IdentityError::GeneralName(value.to_owned())),
            (_, None) => value.as_bytes().to_vec(),
        };
        let length_fits = match kind {
            IdKind::ID_IPV4_ADDR => data.len() == 4,
            IdKind::ID_IPV6_ADDR => data.len() == 16,
            _ => !data.is_empty(),
        };
        if length_fits { Ok(Self { kind, data }) } else { Err(not_an_address()) }
    }

    /// The identity as plain text, if it has one.
    fn plain(&self) -> Option<String> {
        match (self.kind, self.data.as_slice()) {
            (IdKind::ID_IPV4_ADDR | IdKind::ID_IPV6_ADDR, _) => self.address().map(|ip| ip.to_string()),
            (IdKind::ID_DER_ASN1_DN, data) => DistinguishedName::read(data).map(|name| name.text()),
            (IdKind::ID_DER_ASN1_GN, _) => None,
            (_, data) => {
                let text = std::str::from_utf8(data).ok()?;
                let printable = !text.starts_with('#') && text.chars().all(|c| !c.is_control());
                printable.then(|| text.to_owned())
            }
        }
    }
}

/// Types by the prefix that forces them; the first prefix of a type is used for output.
const PREFIXES: [(&str, IdKind); 11] = [
    ("ipv4", IdKind::ID_IPV4_ADDR),
    ("ipv6", IdKind::ID_IPV6_ADDR),
    ("fqdn", IdKind::ID_FQDN),
    ("dns", IdKind::ID_FQDN),
    ("email", IdKind::ID_RFC822_ADDR),
    ("rfc822", IdKind::ID_RFC822_ADDR),
    ("userfqdn", IdKind::ID_RFC822_ADDR),
    ("asn1dn", IdKind::ID_DER_ASN1_DN),
    ("asn1gn", IdKind::ID_DER_ASN1_GN),
    ("keyid", IdKind::ID_KEY_ID),
    ("null", IdKind::ID_NULL),
];

// RFC 5280 §7.1: names are compared by the values of their attributes.
impl Identity {
    /// The same octets for equal identities.
    fn key(&self) -> Cow<'_, [u8]> {
        let name =
            (self.kind == IdKind::ID_DER_ASN1_DN).then(|| DistinguishedName::read(&self.data)).flatten();
        name.map_or(Cow::Borrowed(&self.data), |name| Cow::Owned(name.canonical()))
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.data == other.data || self.key() == other.key())
    }
}

impl Eq for Identity {}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || if self.data == other.data { Ordering::Equal } else { self.key().cmp(&other.key()) };
        self.kind.cmp(&other.kind).then_with(by_name)
    }
}

impl Hash for Identity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.key().hash(state);
    }
}

impl From<IpAddr> for Identity {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => Self::new(IdKind::ID_IPV4_ADDR, &ip.octets()),
            IpAddr::V6(ip) => Self::new(IdKind::ID_IPV6_ADDR, &ip.octets()),
        }
    }
}

impl Identity {
    /// The address that it is, if it is one.
    pub fn address(&self) -> Option<IpAddr> {
        match self.kind {
            IdKind::ID_IPV4_ADDR => <[u8; 4]>::try_from(&*self.data).ok().map(IpAddr::from),
            IdKind::ID_IPV6_ADDR => <[u8; 16]>::try_from(&*self.data).ok().map(IpAddr::from),
            _ => None,
        }
    }
}

impl FromStr for Identity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        if text.is_empty() {
            return Err(IdentityError::Empty);
        }
        if let Some(result) = Self::from_prefixed(text) {
            return result;
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(ip.into());
        }
        match text.split_once('@') {
            Some(("", name)) => Self::of_kind(IdKind::ID_FQDN, name),
            Some(_) => Self::of_kind(IdKind::ID_RFC822_ADDR, text),
            None if text.contains('=') => Err(IdentityError::Untyped(text.to_owned())),
            None => Self::of_kind(IdKind::ID_FQDN, text),
        }
    }
}

impl fmt::Display for Identity {
    /// The shortest text that reads back as this identity; identities of unknown type as `type:#hex`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.plain();
        if let Some(plain) = plain.as_deref().filter(|plain| plain.parse().as_ref() == Ok(self)) {
            return f.pad(plain);
        }
        match PREFIXES.into_iter().find(|&(_, kind)| kind == self.kind) {
            Some((prefix, _)) => write!(f, "{prefix}:")?,
            None => write!(f, "{}:", self.kind)?,
        }
        match plain {
            Some(plain) if !plain.is_empty() => f.write_str(&plain),
            _ => write_hex(&self.data, f),
        }
    }
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('#')?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn from_hex(text: &str) -> Result<Vec<u8>, IdentityError> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => Err(IdentityError::Hex(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    fn check(text: &str, kind: IdKind, data: &[u8]) {
        let identity: Identity = text.parse().unwrap();
        assert_eq!(identity, Identity::new(kind, data), "{text}");
        assert_eq!(identity.to_string().parse(), Ok(identity));
    }

    #[test]
    fn identities_read_as_in_strongswan() {
        check("gw.lab", IdKind::ID_FQDN, b"gw.lab");
        check("@gw.lab", IdKind::ID_FQDN, b"gw.lab");
        check("fqdn:192.0.2.1", IdKind::ID_FQDN, b"192.0.2.1");
        check("ue@lab", IdKind::ID_RFC822_ADDR, b"ue@lab");
        check("email:ue", IdKind::ID_RFC822_ADDR, b"ue");
        check("192.0.2.1", IdKind::ID_IPV4_ADDR, &[192, 0, 2, 1]);
        check("2001:db8::1", IdKind::ID_IPV6_ADDR, &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        check("keyid:group", IdKind::ID_KEY_ID, b"group");
        check("keyid:#00ff", IdKind::ID_KEY_ID, &[0, 0xff]);
        check("asn1dn:#3000", IdKind::ID_DER_ASN1_DN, &[0x30, 0]);
    }

    #[test]
    fn invalid_identities_are_refused_with_a_reason() {
        let error = |text: &str| text.parse::<Identity>().unwrap_err().to_string();
        assert_eq!(error(""), "an identity must not be empty");
        assert_eq!(error("keyid:#0"), "`0` is not hexadecimal");
        assert_eq!(error("ipv4:gw"), "`gw` is not an address of that family");
        assert_eq!(error("C=HU, CN=gw"), "a distinguished name begins with its type: `asn1dn:C=HU, CN=gw`");
        assert_eq!(error("asn1dn:gw"), "`gw` is no distinguished name like `C=HU, O=lab, CN=gw`");
        assert_eq!(error("asn1gn:gw"), "general names are given as DER: `asn1gn:#30…`, not `gw`");
    }

    #[test]
    fn a_distinguished_name_is_text_and_the_same_in_every_type_of_string() {
        let name: Identity = "asn1dn:C=HU,O=lab\\, Inc, CN=gw".parse().unwrap();
        assert_eq!(name.to_string(), "asn1dn:C=HU, O=lab\\, Inc, CN=gw");
        assert_eq!(name.data[..13], *b"\x30\x2d\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02");
        let mut printable = name.clone();
        printable.data.iter_mut().filter(|octet| **octet == 0x0c).for_each(|tag| *tag = 0x13);
        assert_ne!(printable.data, name.data);
        let set = std::collections::BTreeSet::from([name.clone(), printable.clone()]);
        assert!(printable == name && set.len() == 1 && printable.cmp(&name) == Ordering::Equal);
        assert_ne!(name, "asn1dn:C=HU, O=lab\\, Inc, CN=GW".parse().unwrap());
        assert_ne!(name, Identity::new(IdKind::ID_KEY_ID, &name.data), "the kind counts");
    }

    #[test]
    fn an_invalid_distinguished_name_is_shown_in_hexadecimal() {
        let shown = |der: &[u8]| Identity::distinguished_name(der).to_string();
        assert_eq!(shown(&[0x30, 5, 0]), "asn1dn:#300500");
        assert_eq!(shown(b"CN=gw"), "asn1dn:#434e3d6777");
        assert_eq!(
            shown(b"\x30\x0d\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02\x0a\x1b"),
            r"asn1dn:CN=\0a\1b"
        );
        assert_ne!(Identity::distinguished_name(&[0x30]), Identity::distinguished_name(&[0x31]));
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let identity: Identity = "a.b".parse().unwrap();
        let bytes = with_generic_header(&Payload::IdInitiator(identity.as_payload()));
        assert_eq!(bytes, [0, 0, 0, 11, 2, 0, 0, 0, b'a', b'.', b'b']);
        assert_eq!(identity.as_payload().to_identity(), identity);
    }

    #[test]
    fn an_address_of_the_wrong_length_is_refused() {
        let error = Identification::read(&mut Reader::new(&[1, 0, 0, 0, 10, 0, 0])).unwrap_err();
        assert_eq!(error.to_string(), "identification data at offset 4: length 3 does not fit");
    }

    proptest! {
        #[test]
        fn round_trip(kind in 6_u8.., data: Vec<u8>) {
            let identification = Identification { kind: IdKind(kind), data: &data };
            check_codec(&Payload::IdInitiator(identification));
            check_codec(&Payload::IdResponder(identification));
        }

        #[test]
        fn what_is_printed_reads_back(kind in prop_oneof![Just(2_u8), Just(3), Just(9), Just(11)], data in "[ -~é]{1,12}") {
            let identity = Identity::new(IdKind(kind), data.as_bytes());
            prop_assert_eq!(identity.to_string().parse(), Ok(identity));
        }

        #[test]
        fn bytes_printed_read_back(kind in prop_oneof![Just(2_u8), Just(3), Just(9), Just(11)], data in proptest::collection::vec(any::<u8>(), 1..9)) {
            let identity = Identity::new(IdKind(kind), &data);
            prop_assert_eq!(identity.to_string().parse(), Ok(identity));
        }
    }
}
