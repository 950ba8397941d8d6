//! One payload of an ISAKMP message: RFC 2408 §3.2, §3.4–§3.16.

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::{CertificateRequest, Delete, Identification, Notify, OriginalAddress, SecurityAssociation};
use crate::number::PayloadType;
use crate::v1::number::payload;
use crate::wire::Certificate;
use crate::wire::payload::{Generic, PAYLOADS_MAX};

/// A payload, borrowing from its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// SA: proposals, or the chosen one.
    SecurityAssociation(SecurityAssociation<'a>),
    /// KE: a public value.
    KeyExchange(&'a [u8]),
    /// ID: the identity of a peer, or a traffic selector.
    Identification(Identification<'a>),
    /// CERT: a certificate of the chain.
    Certificate(Certificate<'a>),
    /// CR: a request for certificates.
    CertificateRequest(CertificateRequest<'a>),
    /// HASH: the proof of a shared key, or the authentication of a message.
    Hash(&'a [u8]),
    /// SIG: the proof of a private key.
    Signature(&'a [u8]),
    /// NONCE.
    Nonce(&'a [u8]),
    /// N: an error or a status.
    Notify(Notify<'a>),
    /// D: SAs that are gone.
    Delete(Delete<'a>),
    /// VID: an extension that the peer supports.
    VendorId(&'a [u8]),
    /// NAT-D: the hash of an address and a port.
    NatDetection(&'a [u8]),
    /// NAT-OA: an address behind a NAT.
    OriginalAddress(OriginalAddress),
    /// A type not known here.
    Unknown(PayloadType, &'a [u8]),
}

impl<'a> Payload<'a> {
    /// Its payload type.
    pub const fn kind(&self) -> PayloadType {
        match self {
            Self::SecurityAssociation(_) => payload::SA,
            Self::KeyExchange(_) => payload::KE,
            Self::Identification(_) => payload::ID,
            Self::Certificate(_) => payload::CERT,
            Self::CertificateRequest(_) => payload::CR,
            Self::Hash(_) => payload::HASH,
            Self::Signature(_) => payload::SIG,
            Self::Nonce(_) => payload::NONCE,
            Self::Notify(_) => payload::N,
            Self::Delete(_) => payload::D,
            Self::VendorId(_) => payload::VID,
            Self::NatDetection(_) => payload::NAT_D,
            Self::OriginalAddress(_) => payload::NAT_OA,
            Self::Unknown(kind, _) => *kind,
        }
    }

    fn read_body(kind: PayloadType, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match kind {
            payload::SA => Self::SecurityAssociation(SecurityAssociation::read(r)?),
            payload::KE => Self::KeyExchange(r.rest()),
            payload::ID => Self::Identification(Identification::read(r)?),
            payload::CERT => Self::Certificate(Certificate::read(r)?),
            payload::CR => Self::CertificateRequest(CertificateRequest::read(r)?),
            payload::HASH => Self::Hash(r.rest()),
            payload::SIG => Self::Signature(r.rest()),
            payload::NONCE => Self::Nonce(read_nonce(r)?),
            payload::N => Self::Notify(Notify::read(r)?),
            payload::D => Self::Delete(Delete::read(r)?),
            payload::VID => Self::VendorId(r.rest()),
            payload::NAT_D => Self::NatDetection(r.rest()),
            payload::NAT_OA => Self::OriginalAddress(OriginalAddress::read(r)?),
            _ => Self::Unknown(kind, r.rest()),
        })
    }

    /// Writes the body, without the generic header.
    pub fn write_body(&self, w: &mut Writer) {
        match self {
            Self::SecurityAssociation(payload) => payload.write(w),
            Self::Identification(payload) => payload.write(w),
            Self::Certificate(payload) => payload.write(w),
            Self::CertificateRequest(payload) => payload.write(w),
            Self::Notify(payload) => payload.write(w),
            Self::Delete(payload) => payload.write(w),
            Self::OriginalAddress(payload) => payload.write(w),
            Self::KeyExchange(bytes)
            | Self::Hash(bytes)
            | Self::Signature(bytes)
            | Self::Nonce(bytes)
            | Self::VendorId(bytes)
            | Self::NatDetection(bytes)
            | Self::Unknown(_, bytes) => w.bytes(bytes),
        }
    }
}

// RFC 2409 §5: nonces have between 8 and 256 bytes.
fn read_nonce<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let at = *r;
    let nonce = r.rest();
    let fits = (8..=256).contains(&nonce.len());
    fits.then_some(nonce).ok_or(at.error("nonce", Problem::Length(nonce.len() as u64)))
}

/// A payload and its position in the message: the input of a HASH is given by offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<'a> {
    /// The payload.
    pub payload: Payload<'a>,
    /// Its body, without the generic header.
    pub body: &'a [u8],
    /// Offset of its end, counted as the reader counts.
    pub end: usize,
}

/// Reads a chain of payloads; the first one is of type `first`. Anything after the last one stays in `r`: in an encrypted
/// message it is padding.
///
/// # Errors
/// A payload is truncated or malformed; the error names the field and the offset.
pub fn read_chain<'a>(first: PayloadType, r: &mut Reader<'a>) -> Result<Vec<Located<'a>>, DecodeError> {
    let mut payloads = Vec::with_capacity(8);
    let mut kind = first;
    while kind != PayloadType::NONE {
        if payloads.len() == PAYLOADS_MAX {
            return Err(r.error("payload count", Problem::Length(PAYLOADS_MAX as u64 + 1)));
        }
        let generic = Generic::read(r)?;
        let mut body = r.sub(generic.body_len, "payload body")?;
        let whole = body.clone().rest();
        let payload = Payload::read_body(kind, &mut body)?;
        body.end("payload body")?;
        payloads.push(Located { payload, body: whole, end: r.offset() });
        kind = generic.next;
    }
    Ok(payloads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{CertEncoding, IdKind, NotifyType, ProtocolId};
    use crate::v1::wire::message::push;
    use crate::v1::wire::{Attribute, Proposal, Transform};
    use crate::wire::{Flags, Header, MessageBuilder};
    use proptest::prelude::*;

    /// A message with only this payload.
    fn message(payload: &Payload<'_>) -> Vec<u8> {
        let header = Header::new((1, 2), crate::v1::number::IDENTITY_PROTECTION, Flags::NONE, 0);
        let mut builder = MessageBuilder::plain(&Header { version: Header::VERSION_1, ..header });
        push(&mut builder, payload);
        builder.finish()
    }

    fn read<'a>(kind: PayloadType, chain: &'a [u8]) -> Result<Vec<Payload<'a>>, DecodeError> {
        let mut r = Reader::new(chain);
        let located = read_chain(kind, &mut r)?;
        r.end("chain")?;
        Ok(located.iter().map(|one| one.payload).collect())
    }

    /// Tests the round trip, an error for every truncation, and that a truncated body with corrected length is never equal.
    fn check(payload: &Payload<'_>) {
        let bytes = message(payload);
        let chain = &bytes[Header::LEN..];
        assert_eq!(read(payload.kind(), chain), Ok(vec![*payload]));
        for cut in 0..chain.len() {
            assert!(read(payload.kind(), &chain[..cut]).is_err(), "cut at {cut}");
            if cut >= Generic::LEN {
                let mut shortened = chain[..cut].to_vec();
                shortened[2..4].copy_from_slice(&u16::try_from(cut).unwrap().to_be_bytes());
                assert_ne!(read(payload.kind(), &shortened), Ok(vec![*payload]), "cut at {cut}");
            }
        }
    }

    fn error(kind: PayloadType, body: &[u8]) -> String {
        let length = u16::try_from(body.len() + 4).unwrap().to_be_bytes();
        read(kind, &[&[0, 0], &length[..], body].concat()).unwrap_err().to_string()
    }

    #[test]
    fn layouts_are_those_of_the_standards() {
        let body = |payload: &Payload<'_>| message(payload)[Header::LEN + Generic::LEN..].to_vec();
        let id = Identification { kind: IdKind::ID_FQDN, protocol: 17, port: 500, data: b"gw" };
        assert_eq!(body(&Payload::Identification(id)), [2, 17, 1, 0xf4, b'g', b'w']);
        let delete = Delete::child(&[0, 0, 1, 0]);
        assert_eq!(body(&Payload::Delete(delete)), [0, 0, 0, 1, 3, 4, 0, 1, 0, 0, 1, 0]);
        let notify = Notify::isakmp(NotifyType::R_U_THERE, &[9; 16], &[0, 0, 0, 5]);
        let expected = [&[0, 0, 0, 1, 1, 16, 0x8d, 0x28], &[9; 16][..], &[0, 0, 0, 5]].concat();
        assert_eq!(body(&Payload::Notify(notify)), expected);
        let original = OriginalAddress("192.0.2.1".parse().unwrap());
        assert_eq!(body(&Payload::OriginalAddress(original)), [1, 0, 0, 0, 192, 0, 2, 1]);
    }

    /// RFC 2409 appendix A, RFC 2408 §3.3: two-byte numbers in the short form, longer durations in the long one.
    #[test]
    fn the_layout_of_a_proposal_is_that_of_the_standard() {
        let attributes = [
            Attribute::new(1, 7),
            Attribute::new(14, 128),
            Attribute::new(11, 1),
            Attribute::new(12, 86_400),
        ];
        let transforms = vec![Transform::new(1, 1, &attributes)];
        let proposal = Proposal { number: 1, protocol: ProtocolId::IKE, spi: None, transforms };
        let expected = [
            0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 36, 1, 1, 0, 1, 0, 0, 0, 28, 1, 1, 0, 0, 0x80, 1, 0, 7, 0x80,
            14, 0, 128, 0x80, 11, 0, 1, 0, 12, 0, 4, 0, 1, 0x51, 0x80,
        ];
        let mut w = Writer::default();
        proposal.write_sa(&mut w);
        assert_eq!(w.as_slice(), expected);
        let sa = SecurityAssociation::read(&mut Reader::new(&expected)).unwrap();
        check(&Payload::SecurityAssociation(sa));
        let read: Vec<_> = sa.proposals().flat_map(|one| one.transforms()).collect();
        assert_eq!(read[0].attributes.iter().collect::<Vec<_>>(), attributes);
    }

    #[test]
    fn invalid_fields_are_refused_with_field_and_offset() {
        assert_eq!(error(payload::SA, &[0, 0, 0, 2, 0, 0, 0, 1]), "DOI at offset 4: value 2 is not allowed");
        assert_eq!(
            error(payload::SA, &[0, 0, 0, 1, 0, 0, 0, 2]),
            "situation at offset 8: value 2 is not allowed"
        );
        assert_eq!(error(payload::SA, &[0, 0, 0, 1, 0, 0, 0, 1]), "proposal at offset 12: is missing");
        let sa = |proposal: &[u8]| error(payload::SA, &[&[0, 0, 0, 1, 0, 0, 0, 1], proposal].concat());
        assert_eq!(sa(&[0, 0, 0, 7, 1, 1, 0, 0]), "proposal length at offset 14: length 7 does not fit");
        assert_eq!(sa(&[2, 0, 0, 8, 1, 1, 0, 0]), "last proposal at offset 12: value 2 is not allowed");
        assert_eq!(sa(&[0, 0, 0, 8, 1, 3, 0, 0]), "proposal SPI size at offset 18: length 0 does not fit");
        assert_eq!(sa(&[0, 0, 0, 8, 1, 1, 17, 0]), "proposal SPI size at offset 18: length 17 does not fit");
        assert_eq!(sa(&[0, 0, 0, 8, 1, 1, 0, 1]), "transform at offset 20: needs 8 bytes, 0 are left");
        let transform = [0, 0, 0, 18, 1, 1, 0, 1, 0, 0, 0, 10, 1, 1, 0, 0, 0x80, 1];
        assert_eq!(sa(&transform), "attribute value at offset 30: needs 2 bytes, 0 are left");
        assert_eq!(error(payload::NONCE, &[7; 7]), "nonce at offset 4: length 7 does not fit");
        assert_eq!(
            error(payload::ID, &[1, 0, 0, 0, 10, 0, 0]),
            "identification data at offset 8: length 3 does not fit"
        );
        assert_eq!(
            error(payload::ID, &[4, 0, 0, 0, 10, 0, 0, 0]),
            "identification data at offset 8: length 4 does not fit"
        );
        let delete = [0, 0, 0, 1, 1, 4, 0, 0];
        assert_eq!(error(payload::D, &delete), "delete SPI size at offset 9: value 4 is not allowed");
        assert_eq!(
            error(payload::NAT_OA, &[2, 0, 0, 0]),
            "original address type at offset 4: value 2 is not allowed"
        );
    }

    #[test]
    fn a_chain_without_end_is_refused() {
        let chain = [13, 0, 0, 4].repeat(PAYLOADS_MAX + 1);
        assert_eq!(read(payload::VID, &chain).unwrap_err().field, "payload count");
    }

    #[test]
    fn payloads_know_their_end_and_padding_stays() {
        let chain = [10, 0, 0, 6, 1, 2, 0, 0, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0];
        let mut r = Reader::new(&chain);
        let located = read_chain(payload::HASH, &mut r).unwrap();
        assert_eq!(located.iter().map(|one| one.end).collect::<Vec<_>>(), [6, 18]);
        assert_eq!(r.rest(), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn round_trips(data: Vec<u8>, nonce in proptest::collection::vec(any::<u8>(), 8..64), spi: [u8; 4], kind: u16) {
            check(&Payload::KeyExchange(&data));
            check(&Payload::Hash(&data));
            check(&Payload::Signature(&data));
            check(&Payload::VendorId(&data));
            check(&Payload::NatDetection(&data));
            check(&Payload::Nonce(&nonce));
            check(&Payload::Unknown(PayloadType(200), &data));
            check(&Payload::Certificate(Certificate { encoding: CertEncoding(4), data: &data }));
            check(&Payload::CertificateRequest(CertificateRequest { encoding: CertEncoding(4), authority: &data }));
            check(&Payload::Identification(Identification { kind: IdKind::ID_KEY_ID, protocol: 0, port: 0, data: &data }));
            let protocol = ProtocolId::ESP;
            check(&Payload::Notify(Notify { protocol, spi: &spi, kind: NotifyType(kind), data: &data }));
            check(&Payload::Delete(Delete::child(&spi)));
        }
    }
}
