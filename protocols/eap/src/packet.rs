//! EAP packets on the wire: RFC 3748 §4 (format), §5 (types), §5.7 (expanded types).

use std::fmt;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::{methods, registry};

/// Bytes of Code, Identifier and Length.
pub const HEADER_LEN: usize = 4;

/// A packet, borrowing from the received bytes. RFC 3748 §4:  Code(1) Identifier(1) Length(2) Data(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Code 1.
    Request(Message<'a>),
    /// Code 2.
    Response(Message<'a>),
    /// Code 3, with its identifier.
    Success(u8),
    /// Code 4, with its identifier.
    Failure(u8),
}

/// A request or response. RFC 3748 §4.1:  Code(1) Identifier(1) Length(2) Type(1) Type-Data(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Matches responses with requests.
    pub identifier: u8,
    /// The type.
    pub kind: MethodType,
    /// What follows the type.
    pub data: &'a [u8],
    /// The whole packet including its header, without padding: the input of EAP-SIM's AT_MAC.
    pub packet: &'a [u8],
}

/// A type of requests and responses; those from 4 on are methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodType(pub u8);

/// Types that are not methods themselves.
impl MethodType {
    /// RFC 3748 §5.1.
    pub const IDENTITY: Self = Self(1);
    /// RFC 3748 §5.2.
    pub const NOTIFICATION: Self = Self(2);
    /// RFC 3748 §5.3.1.
    pub const NAK: Self = Self(3);
    /// Microsoft's extensions inside PEAPv0.
    pub const EXTENSIONS: Self = Self(33);
    /// RFC 3748 §5.7.
    pub const EXPANDED: Self = Self(254);

    /// The name used in traces; `unknown` for numbers without one.
    pub fn name(self) -> &'static str {
        match self {
            Self::IDENTITY => "Identity",
            Self::NOTIFICATION => "Notification",
            Self::NAK => "Nak",
            Self::EXTENSIONS => "Extensions",
            Self::EXPANDED => "Expanded",
            method => {
                let ours = methods::of_type(method).next().map(|method| method.title);
                ours.or_else(|| registry::name_of(method)).unwrap_or("unknown")
            }
        }
    }
}

impl MethodType {
    /// RFC 3748 §5: types below 4 are not methods, and expanded ones are not identified by this number alone.
    pub const fn is_method(self) -> bool {
        self.0 > Self::NAK.0 && self.0 != Self::EXPANDED.0
    }
}

impl fmt::Display for MethodType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "unknown" => write!(f, "type {}", self.0),
            name => f.pad(name),
        }
    }
}

impl<'a> Packet<'a> {
    /// Reads a packet from a whole datagram of the lower layer.
    ///
    /// # Errors
    /// A field is truncated, or has a value that RFC 3748 §4 does not allow.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let start = r;
        let code = r.u8("EAP code")?;
        let identifier = r.u8("EAP identifier")?;
        let packet = bounded(&mut r, bytes)?;
        let mut body = Reader::new(packet);
        body.skip(HEADER_LEN, "EAP header")?;
        match code {
            1 => Message::read(identifier, packet, body).map(Self::Request),
            2 => Message::read(identifier, packet, body).map(Self::Response),
            // RFC 3748 §4.2: Success and Failure have no data.
            3 => body.end("EAP Success").map(|()| Self::Success(identifier)),
            4 => body.end("EAP Failure").map(|()| Self::Failure(identifier)),
            // RFC 3748 §4: packets with other codes are silently discarded.
            other => Err(start.error("EAP code", Problem::Value(other.into()))),
        }
    }

    /// Its identifier.
    pub const fn identifier(&self) -> u8 {
        match self {
            Self::Request(message) | Self::Response(message) => message.identifier,
            Self::Success(identifier) | Self::Failure(identifier) => *identifier,
        }
    }
}

/// The packet, cut to its Length.
fn bounded<'a>(r: &mut Reader<'a>, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let at = *r;
    let length = r.u16("EAP length")?;
    // RFC 3748 §4.1: bytes beyond Length are padding of the lower layer; a Length beyond the bytes is discarded.
    let packet = bytes.get(..usize::from(length)).filter(|packet| packet.len() >= HEADER_LEN);
    packet.ok_or(at.error("EAP length", Problem::Length(length.into())))
}

impl<'a> Message<'a> {
    fn read(identifier: u8, packet: &'a [u8], mut body: Reader<'a>) -> Result<Self, DecodeError> {
        let kind = MethodType(body.u8("EAP type")?);
        Ok(Self { identifier, kind, data: body.rest(), packet })
    }
}

/// Writes a request.
pub fn request(identifier: u8, kind: MethodType, data: &[u8]) -> Vec<u8> {
    message(1, identifier, kind, data)
}

/// Writes a response.
pub fn response(identifier: u8, kind: MethodType, data: &[u8]) -> Vec<u8> {
    message(2, identifier, kind, data)
}

/// Writes a Success.
pub fn success(identifier: u8) -> Vec<u8> {
    vec![3, identifier, 0, 4]
}

/// Writes a Failure.
pub fn failure(identifier: u8) -> Vec<u8> {
    vec![4, identifier, 0, 4]
}

/// # Panics
/// If the data exceed 16 bits of length; methods fragment long before.
fn message(code: u8, identifier: u8, kind: MethodType, data: &[u8]) -> Vec<u8> {
    let len = HEADER_LEN + 1 + data.len();
    let mut w = Writer::with_capacity(len);
    w.u8(code);
    w.u8(identifier);
    w.u16(u16::try_from(len).expect("methods fragment what is longer"));
    w.u8(kind.0);
    w.bytes(data);
    w.finish()
}

/// The proposals of a Nak. RFC 3748 §5.3.1:  Type(1)…, a single 0 for none
pub fn nak_data(acceptable: impl Iterator<Item = MethodType>) -> Vec<u8> {
    let types: Vec<u8> = acceptable.map(|method| method.0).collect();
    if types.is_empty() { vec![0] } else { types }
}

/// The proposals of an expanded Nak. RFC 3748 §5.3.2:  Vendor-Id(3) Vendor-Type(4), then per proposal
/// Type(1) Vendor-Id(3) Vendor-Type(4)
pub fn expanded_nak_data(acceptable: impl Iterator<Item = MethodType>) -> Vec<u8> {
    let mut w = Writer::default();
    ietf_type(&mut w, MethodType::NAK.0);
    for kind in nak_data(acceptable) {
        w.u8(MethodType::EXPANDED.0);
        ietf_type(&mut w, kind);
    }
    w.finish()
}

/// RFC 3748 §5.7: under vendor 0, the IETF, vendor types are the ordinary types.
fn ietf_type(w: &mut Writer, kind: u8) {
    w.zeros(3);
    w.u32(kind.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The identity response of RFC 4186 Appendix A.2.
    const IDENTITY: &[u8] = b"\x02\x00\x00\x20\x011244070100000001@eapsim.foo";

    #[test]
    fn a_published_packet_is_read() {
        let Ok(Packet::Response(message)) = Packet::read(IDENTITY) else { panic!("a response") };
        assert_eq!((message.identifier, message.kind), (0, MethodType::IDENTITY));
        assert_eq!(message.data, b"1244070100000001@eapsim.foo");
        assert_eq!(response(0, message.kind, message.data), IDENTITY);
    }

    #[test]
    fn truncated_packets_are_refused() {
        for len in 0..IDENTITY.len() {
            let error = Packet::read(&IDENTITY[..len]).unwrap_err();
            let field = ["EAP code", "EAP identifier", "EAP length"][len.min(2)];
            assert_eq!(error.field, field, "{len} bytes");
        }
        assert_eq!(Packet::read(&[1, 7, 0, 4]).unwrap_err().field, "EAP type");
    }

    #[test]
    fn bad_fields_are_named() {
        let check = |bytes: &[u8], text| assert_eq!(Packet::read(bytes).unwrap_err().to_string(), text);
        check(&[5, 0, 0, 4], "EAP code at offset 0: value 5 is not allowed");
        check(&[3, 0, 0, 3], "EAP length at offset 2: length 3 does not fit");
        check(&[3, 0, 0, 5, 0], "EAP Success at offset 4: 1 bytes left over");
        check(&[4, 0, 0, 5, 0], "EAP Failure at offset 4: 1 bytes left over");
        check(&[1, 0, 0, 9, 1], "EAP length at offset 2: length 9 does not fit");
    }

    #[test]
    fn padding_of_the_lower_layer_is_left_out() {
        assert_eq!(Packet::read(&[3, 9, 0, 4, 0, 0]), Ok(Packet::Success(9)));
        let Ok(Packet::Request(message)) = Packet::read(&[1, 9, 0, 5, 4, 0xff]) else { panic!("a request") };
        assert_eq!((message.data, message.packet), (&[][..], &[1, 9, 0, 5, 4][..]));
    }

    /// RFC 3748 §5: Identity, Notification and Nak are not methods, and expanded types are not identified by this number.
    #[test]
    fn methods_are_numbers_above_three() {
        let methods: Vec<u8> = (0..=255).filter(|kind| MethodType(*kind).is_method()).collect();
        assert_eq!(methods, (4..=253).chain([255]).collect::<Vec<_>>());
    }

    #[test]
    fn every_packet_has_its_identifier() {
        for bytes in
            [request(9, MethodType::MD5, &[]), response(9, MethodType::MD5, &[]), success(9), failure(9)]
        {
            assert_eq!(Packet::read(&bytes).unwrap().identifier(), 9);
        }
    }

    #[test]
    fn naks_are_laid_out_as_rfc_3748_draws_them() {
        let types = || [MethodType::MD5, MethodType::AKA].into_iter();
        assert_eq!(nak_data(types()), [4, 23]);
        assert_eq!(nak_data(std::iter::empty()), [0]);
        let expanded = [0, 0, 0, 0, 0, 0, 3, 254, 0, 0, 0, 0, 0, 0, 4, 254, 0, 0, 0, 0, 0, 0, 23];
        assert_eq!(expanded_nak_data(types()), expanded);
        assert_eq!(expanded_nak_data(std::iter::empty())[7..], [254, 0, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            identifier: u8, kind: u8, data in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let kind = MethodType(kind);
            for (bytes, is_request) in
                [(request(identifier, kind, &data), true), (response(identifier, kind, &data), false)]
            {
                let packet = Packet::read(&bytes).unwrap();
                let expected = Message { identifier, kind, data: &data, packet: &bytes };
                let expected = if is_request { Packet::Request(expected) } else { Packet::Response(expected) };
                prop_assert_eq!(packet, expected);
            }
            let (good, bad) = (success(identifier), failure(identifier));
            prop_assert_eq!(Packet::read(&good), Ok(Packet::Success(identifier)));
            prop_assert_eq!(Packet::read(&bad), Ok(Packet::Failure(identifier)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Packet::Request(message) | Packet::Response(message)) = Packet::read(&bytes) {
                prop_assert!(bytes.starts_with(message.packet));
                prop_assert_eq!(message.packet.len(), message.data.len() + 5);
            }
        }
    }
}
