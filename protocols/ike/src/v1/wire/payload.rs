//! One payload of an ISAKMP message: RFC 2408 §3.2, §3.4–§3.16.

use keytoll_engine::wire::{DecodeError, Problem, Reader, Writer};

use super::{CertificateRequest, Delete, Identification, Notify, OriginalAddress, SecurityAssociation};
use crate::number::PayloadType;
use crate::v1::number::payload;
use crate::wire::Certificate;
use crate::wire::payload::{Generic, PAYLOADS_MAX};

/// A payload, borrowing from the message it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// SA: proposals, or the one chosen.
    SecurityAssociation(SecurityAssociation<'a>),
    /// KE: a public value.
    KeyExchange(&'a [u8]),
    /// ID: who somebody is, or which traffic is meant.
    Identification(Identification<'a>),
    /// CERT: a certificate of the chain.
    Certificate(Certificate<'a>),
    /// CR: whose certificates are wanted.
    CertificateRequest(CertificateRequest<'a>),
    /// HASH: the proof of a shared key, or that a message is authentic.
    Hash(&'a [u8]),
    /// SIG: the proof of a private key.
    Signature(&'a [u8]),
    /// NONCE.
    Nonce(&'a [u8]),
    /// N: an error or a status.
    Notify(Notify<'a>),
    /// D: SAs that are gone.
    Delete(Delete<'a>),
    /// VID: what else the peer can do.
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

/// A payload and where in the message it stands: what a HASH covers is told by offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<'a> {
    /// The payload.
    pub payload: Payload<'a>,
    /// Its body, without the generic header.
    pub body: &'a [u8],
    /// Where it ends, counted from where the reader began to count.
    pub end: usize,
}

/// Reads a chain of payloads; the first one is of type `first`. What follows the last one stays in `r`: in an encrypted
/// message it is padding.
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
