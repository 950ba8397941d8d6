//! One payload of a message and the generic header in front of it: RFC 7296 §2.5 (critical bit), §3.2.
//!
//!   Next Payload(1) Critical(1b) Reserved(7b) Length(2)  body(Length - 4)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::{
    Authentication, Certificate, CertificateRequest, Configuration, Delete, Eap, Encrypted,
    EncryptedFragment, Identification, KeyExchange, Nonce, Notify, SecurityAssociation, TrafficSelectors,
    VendorId,
};
use crate::number::PayloadType;

/// A message with more payloads is refused: certificate chains and notifies need a fraction of it.
pub const PAYLOADS_MAX: usize = 64;

/// A payload, borrowing from its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// SA: proposals, or the chosen one.
    SecurityAssociation(SecurityAssociation<'a>),
    /// KE: a public value.
    KeyExchange(KeyExchange<'a>),
    /// IDi: the initiator's identity.
    IdInitiator(Identification<'a>),
    /// IDr: the responder's identity, or the expected one.
    IdResponder(Identification<'a>),
    /// CERT: a certificate of the chain.
    Certificate(Certificate<'a>),
    /// CERTREQ: a request for certificates.
    CertificateRequest(CertificateRequest<'a>),
    /// AUTH: the proof.
    Authentication(Authentication<'a>),
    /// Ni, Nr.
    Nonce(Nonce<'a>),
    /// N: an error or a status.
    Notify(Notify<'a>),
    /// D: SAs that are gone.
    Delete(Delete<'a>),
    /// V: identifies the implementation or an extension.
    VendorId(VendorId<'a>),
    /// TSi: traffic selectors of the initiator's side.
    SelectorsInitiator(TrafficSelectors<'a>),
    /// TSr: traffic selectors of the responder's side.
    SelectorsResponder(TrafficSelectors<'a>),
    /// SK: the encrypted rest of the message.
    Encrypted(Encrypted<'a>),
    /// SKF: a fragment of it.
    EncryptedFragment(EncryptedFragment<'a>),
    /// CP: addresses and the like.
    Configuration(Configuration<'a>),
    /// EAP: a message of the inner method.
    Eap(Eap<'a>),
    /// A type not known here.
    Unknown(Unknown<'a>),
}

/// A payload of unknown type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown<'a> {
    /// Its type.
    pub kind: PayloadType,
    /// The critical bit: the message must be refused if the type is unknown.
    pub critical: bool,
    /// Its body.
    pub body: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Its payload type.
    pub const fn kind(&self) -> PayloadType {
        match self {
            Self::SecurityAssociation(_) => PayloadType::SA,
            Self::KeyExchange(_) => PayloadType::KE,
            Self::IdInitiator(_) => PayloadType::ID_I,
            Self::IdResponder(_) => PayloadType::ID_R,
            Self::Certificate(_) => PayloadType::CERT,
            Self::CertificateRequest(_) => PayloadType::CERTREQ,
            Self::Authentication(_) => PayloadType::AUTH,
            Self::Nonce(_) => PayloadType::NONCE,
            Self::Notify(_) => PayloadType::NOTIFY,
            Self::Delete(_) => PayloadType::DELETE,
            Self::VendorId(_) => PayloadType::VENDOR_ID,
            Self::SelectorsInitiator(_) => PayloadType::TS_I,
            Self::SelectorsResponder(_) => PayloadType::TS_R,
            Self::Encrypted(_) => PayloadType::SK,
            Self::EncryptedFragment(_) => PayloadType::SKF,
            Self::Configuration(_) => PayloadType::CP,
            Self::Eap(_) => PayloadType::EAP,
            Self::Unknown(unknown) => unknown.kind,
        }
    }

    /// The next-payload field of this payload, if it is not the type of the following payload.
    /// RFC 7296 §3.14: in SK and SKF it is the type of the first payload inside.
    pub(crate) const fn first_inside(&self) -> Option<PayloadType> {
        match self {
            Self::Encrypted(sk) => Some(sk.first),
            Self::EncryptedFragment(skf) => Some(skf.first),
            _ => None,
        }
    }

    fn read_body(generic: Generic, kind: PayloadType, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match kind {
            PayloadType::SA => Self::SecurityAssociation(SecurityAssociation::read(r)?),
            PayloadType::KE => Self::KeyExchange(KeyExchange::read(r)?),
            PayloadType::ID_I => Self::IdInitiator(Identification::read(r)?),
            PayloadType::ID_R => Self::IdResponder(Identification::read(r)?),
            PayloadType::CERT => Self::Certificate(Certificate::read(r)?),
            PayloadType::CERTREQ => Self::CertificateRequest(CertificateRequest::read(r)?),
            PayloadType::AUTH => Self::Authentication(Authentication::read(r)?),
            PayloadType::NONCE => Self::Nonce(Nonce::read(r)?),
            PayloadType::NOTIFY => Self::Notify(Notify::read(r)?),
            PayloadType::DELETE => Self::Delete(Delete::read(r)?),
            PayloadType::VENDOR_ID => Self::VendorId(VendorId::read(r)),
            PayloadType::TS_I => Self::SelectorsInitiator(TrafficSelectors::read(r)?),
            PayloadType::TS_R => Self::SelectorsResponder(TrafficSelectors::read(r)?),
            PayloadType::SK => Self::Encrypted(Encrypted::read(generic.next, r)),
            PayloadType::SKF => Self::EncryptedFragment(EncryptedFragment::read(generic.next, r)?),
            PayloadType::CP => Self::Configuration(Configuration::read(r)?),
            PayloadType::EAP => Self::Eap(Eap::read(r)?),
            _ => Self::Unknown(Unknown { kind, critical: generic.critical, body: r.rest() }),
        })
    }

    /// Writes the body, without the generic header.
    pub fn write_body(&self, w: &mut Writer) {
        match self {
            Self::SecurityAssociation(payload) => payload.write(w),
            Self::KeyExchange(payload) => payload.write(w),
            Self::IdInitiator(payload) | Self::IdResponder(payload) => payload.write(w),
            Self::Certificate(payload) => payload.write(w),
            Self::CertificateRequest(payload) => payload.write(w),
            Self::Authentication(payload) => payload.write(w),
            Self::Nonce(payload) => payload.write(w),
            Self::Notify(payload) => payload.write(w),
            Self::Delete(payload) => payload.write(w),
            Self::VendorId(payload) => payload.write(w),
            Self::SelectorsInitiator(payload) | Self::SelectorsResponder(payload) => payload.write(w),
            Self::Encrypted(payload) => payload.write(w),
            Self::EncryptedFragment(payload) => payload.write(w),
            Self::Configuration(payload) => payload.write(w),
            Self::Eap(payload) => payload.write(w),
            Self::Unknown(payload) => w.bytes(payload.body),
        }
    }
}

/// The generic payload header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generic {
    pub(crate) next: PayloadType,
    pub(crate) critical: bool,
    pub(crate) body_len: usize,
}

impl Generic {
    /// Bytes of the generic payload header.
    pub(crate) const LEN: usize = 4;
    /// The critical bit, in the byte after the next payload type.
    pub(crate) const CRITICAL: u8 = 0x80;

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let next = PayloadType(r.u8("next payload")?);
        let critical = r.u8("critical bit")? & Self::CRITICAL != 0;
        let at = *r;
        let length = usize::from(r.u16("payload length")?);
        let body_len = length
            .checked_sub(Self::LEN)
            .ok_or(at.error("payload length", Problem::Length(length as u64)))?;
        Ok(Self { next, critical, body_len })
    }
}

/// Reads a chain of payloads up to the end of `r`; the first one is of type `first`.
///
/// # Errors
/// A payload is truncated or malformed, or the chain does not end where `r` does.
pub fn read_chain<'a>(first: PayloadType, r: &mut Reader<'a>) -> Result<Vec<Payload<'a>>, DecodeError> {
    let mut payloads = Vec::with_capacity(8);
    let mut kind = first;
    while kind != PayloadType::NONE {
        if payloads.len() == PAYLOADS_MAX {
            return Err(r.error("payload count", Problem::Length(PAYLOADS_MAX as u64 + 1)));
        }
        let generic = Generic::read(r)?;
        let mut body = r.sub(generic.body_len, "payload body")?;
        let payload = Payload::read_body(generic, kind, &mut body)?;
        body.end("payload body")?;
        payloads.push(payload);
        // RFC 7296 §3.14: SK is the last payload of a message; its next-payload field concerns its contents.
        kind = if payload.first_inside().is_some() { PayloadType::NONE } else { generic.next };
    }
    r.end("message")?;
    Ok(payloads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn an_unknown_payload_keeps_its_critical_bit() {
        check_codec(&Payload::Unknown(Unknown { kind: PayloadType(200), critical: true, body: &[1, 2, 3] }));
    }

    #[test]
    fn a_length_below_the_generic_header_is_refused() {
        let error = read_chain(PayloadType::NONCE, &mut Reader::new(&[0, 0, 0, 3])).unwrap_err();
        assert_eq!(error.to_string(), "payload length at offset 2: length 3 does not fit");
    }

    #[test]
    fn bytes_after_the_last_payload_are_refused() {
        let mut bytes = with_generic_header(&Payload::VendorId(VendorId { data: b"x" }));
        bytes.push(0);
        let error = read_chain(PayloadType::VENDOR_ID, &mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.problem, Problem::Trailing { left: 1 });
    }

    #[test]
    fn the_number_of_payloads_is_limited() {
        let chain =
            |n: usize| [43, 0, 0, 4].repeat(n - 1).into_iter().chain([0, 0, 0, 4]).collect::<Vec<u8>>();
        assert_eq!(read_chain(PayloadType::VENDOR_ID, &mut Reader::new(&chain(64))).unwrap().len(), 64);
        let error = read_chain(PayloadType::VENDOR_ID, &mut Reader::new(&chain(65))).unwrap_err();
        assert_eq!(error.field, "payload count");
    }

    proptest! {
        #[test]
        fn unknown_payloads_round_trip(kind in 128_u8.., critical: bool, body: Vec<u8>) {
            check_codec(&Payload::Unknown(Unknown { kind: PayloadType(kind), critical, body: &body }));
        }

        #[test]
        fn no_bytes_make_it_panic(first: u8, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_chain(PayloadType(first), &mut Reader::new(&bytes));
        }

        #[test]
        fn no_body_makes_a_known_payload_panic(kind in 33_u8..54, body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let length = u8::try_from(body.len() + 4).unwrap();
            let bytes = [&[0, 0, 0, length], &body[..]].concat();
            if let Ok(payloads) = read_chain(PayloadType(kind), &mut Reader::new(&bytes)) {
                let mut again = Writer::default();
                payloads[0].write_body(&mut again);
                let bytes = [&[0, 0, 0, length], again.as_slice()].concat();
                prop_assert_eq!(read_chain(PayloadType(kind), &mut Reader::new(&bytes)), Ok(payloads.clone()));
            }
        }
    }
}
