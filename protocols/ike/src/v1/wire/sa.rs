//! Security Association payload with its proposals and transforms, RFC 2408 §3.3–§3.6, RFC 2407 §4.6.1.
//!
//!   DOI(4) Situation(4) proposals
//!   proposal:  Next(1) Reserved(1) Length(2) Number(1) Protocol ID(1) SPI Size(1) Num Transforms(1) SPI(*) Transforms(*)
//!   transform: Next(1) Reserved(1) Length(2) Number(1) ID(1) Reserved(2) Attributes(*)
//!   attribute: AF(1b) Type(15b)  AF=1: Value(2)   AF=0: Length(2) Value(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::ProtocolId;
use crate::v1::number::{IDENTITY_ONLY, IPSEC_DOI};
use crate::wire::sa::{Framing, check_proposals, is_last, read_length, read_more};

/// A decoded SA payload: checked once, and iterated on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityAssociation<'a> {
    doi: u32,
    proposals: &'a [u8],
}

impl<'a> SecurityAssociation<'a> {
    /// The proposals, in their sender's order of preference; those with the same number belong together.
    pub fn proposals(&self) -> impl Iterator<Item = ProposalRef<'a>> + Clone + use<'a> {
        let mut r = Reader::new(self.proposals);
        std::iter::from_fn(move || if r.is_empty() { None } else { ProposalRef::read(&mut r).ok() })
    }

    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let doi = r.u32("DOI")?;
        // RFC 2407 §4.2: 0 is ISAKMP's own, under which phase 1 may be negotiated.
        if doi > IPSEC_DOI {
            return Err(at.error("DOI", Problem::Value(doi.into())));
        }
        let at = *r;
        let situation = r.u32("situation")?;
        if situation != IDENTITY_ONLY {
            return Err(at.error("situation", Problem::Value(situation.into())));
        }
        check_proposals(*r, |r| ProposalRef::read(r).map(drop))?;
        Ok(Self { doi, proposals: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u32(self.doi);
        w.u32(IDENTITY_ONLY);
        w.bytes(self.proposals);
    }
}

/// A decoded proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalRef<'a> {
    /// Its number, which the answer repeats.
    pub number: u8,
    /// Its protocol.
    pub protocol: ProtocolId,
    /// Its sender's inbound SPI; for ISAKMP empty or the cookie, which is redundant.
    pub spi: &'a [u8],
    transforms: &'a [u8],
}

impl<'a> ProposalRef<'a> {
    /// The transforms, in their sender's order of preference.
    pub fn transforms(&self) -> impl Iterator<Item = TransformRef<'a>> + Clone + use<'a> {
        let mut r = Reader::new(self.transforms);
        std::iter::from_fn(move || {
            let last = is_last(&r);
            if r.is_empty() { None } else { TransformRef::read(&mut r, last).ok() }
        })
    }

    /// The SPI of a proposal for ESP or AH.
    pub fn child_spi(&self) -> Option<u32> {
        self.spi.try_into().ok().map(u32::from_be_bytes)
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut framing = Framing::read(r)?;
        let Framing { number, protocol, spi_size, bad_spi, .. } = framing;
        if !fits(protocol, spi_size) {
            return Err(bad_spi);
        }
        let spi = framing.spi()?;
        let transforms = framing.transforms(|r, last| TransformRef::read(r, last).map(drop))?;
        Ok(Self { number, protocol, spi, transforms })
    }
}

// RFC 2408 §3.5: 0 to 16 octets for ISAKMP; RFC 2407 §4.6.1: 4 for ESP and AH.
const fn fits(protocol: ProtocolId, spi_size: u8) -> bool {
    match protocol {
        ProtocolId::IKE => spi_size <= 16,
        ProtocolId::AH | ProtocolId::ESP => spi_size == 4,
        _ => true,
    }
}

/// A decoded transform: one combination of algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransformRef<'a> {
    /// Its number, which the answer repeats.
    pub number: u8,
    /// Which transform of its protocol.
    pub id: u8,
    /// Its attributes.
    pub attributes: Attributes<'a>,
}

impl<'a> TransformRef<'a> {
    /// Next, Reserved, Length, Number, ID, Reserved.
    const FIXED_LEN: usize = 8;
    /// Value of the Next field if another transform follows.
    const MORE: u8 = 3;

    fn read(r: &mut Reader<'a>, last: bool) -> Result<Self, DecodeError> {
        let mut fixed = r.sub(Self::FIXED_LEN, "transform")?;
        read_more(&mut fixed, Self::MORE, last, "last transform")?;
        let attributes_len = read_length(&mut fixed, Self::FIXED_LEN, "transform length")?;
        let number = fixed.u8("transform number")?;
        let id = fixed.u8("transform ID")?;
        let attributes = Attributes::read(&mut r.sub(attributes_len, "transform attributes")?)?;
        Ok(Self { number, id, attributes })
    }
}

/// Attributes as they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

/// An attribute whose value is a number, in either form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// Its type; the registry depends on the phase.
    pub kind: u16,
    /// Its value; `None` if it exceeds 64 bits.
    pub value: Option<u64>,
}

impl Attribute {
    /// Attribute Format: set if the value is two bytes in place of the length.
    const SHORT: u16 = 0x8000;

    /// An attribute of our own.
    pub const fn new(kind: u16, value: u64) -> Self {
        Self { kind, value: Some(value) }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let format_and_type = r.u16("attribute type")?;
        let value = r.u16("attribute value")?;
        let kind = format_and_type & !Self::SHORT;
        if format_and_type & Self::SHORT != 0 {
            return Ok(Self::new(kind, value.into()));
        }
        let bytes = r.take(usize::from(value), "attribute value")?;
        Ok(Self { kind, value: number(bytes) })
    }

    // RFC 2408 §3.3: two-byte values use the short form, which RFC 2407 §4.5 requires for all but durations.
    fn write(self, w: &mut Writer) {
        let value = self.value.expect("attributes of our own are numbers");
        if let Ok(short) = u16::try_from(value) {
            w.u16(Self::SHORT | self.kind);
            return w.u16(short);
        }
        let bytes = value.to_be_bytes();
        let bytes = if value > u32::MAX.into() { &bytes[..] } else { &bytes[4..] };
        w.u16(self.kind);
        w.u16(u16::try_from(bytes.len()).expect("8 or 4 bytes"));
        w.bytes(bytes);
    }
}

/// A big-endian number of any length whose value fits.
fn number(bytes: &[u8]) -> Option<u64> {
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(8));
    let fits = !bytes.is_empty() && head.iter().all(|&byte| byte == 0);
    fits.then(|| tail.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

impl<'a> Attributes<'a> {
    /// Attributes outside a transform: those of RESPONDER-LIFETIME.
    ///
    /// # Errors
    /// An attribute is truncated or malformed.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut check = *r;
        while !check.is_empty() {
            Attribute::read(&mut check)?;
        }
        Ok(Self(r.rest()))
    }

    /// The bytes of all, which an answer repeats.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Attribute> + Clone + use<'a> {
        let mut r = Reader::new(self.0);
        std::iter::from_fn(move || if r.is_empty() { None } else { Attribute::read(&mut r).ok() })
    }

    /// Writes attributes of our own.
    pub fn write_all(attributes: &[Attribute], w: &mut Writer) {
        attributes.iter().for_each(|attribute| attribute.write(w));
    }
}

/// A proposal to send: one per SA payload, with all our suites as its transforms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its number.
    pub number: u8,
    /// Its protocol.
    pub protocol: ProtocolId,
    /// Our inbound SPI; `None` for ISAKMP.
    pub spi: Option<u32>,
    /// The transforms, best first.
    pub transforms: Vec<Transform>,
}

/// A transform of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    /// Its number.
    pub number: u8,
    /// Which transform of its protocol.
    pub id: u8,
    /// Its encoded attributes.
    pub attributes: Vec<u8>,
}

impl Proposal {
    /// Writes the body of an SA payload with only this proposal.
    pub fn write_sa(&self, w: &mut Writer) {
        w.u32(IPSEC_DOI);
        w.u32(IDENTITY_ONLY);
        let start = w.len();
        let count = u8::try_from(self.transforms.len()).expect("a proposal has at most 255 transforms");
        let spi_size = if self.spi.is_some() { 4 } else { 0 };
        w.bytes(&[0, 0, 0, 0, self.number, self.protocol.0, spi_size, count]);
        if let Some(spi) = self.spi {
            w.u32(spi);
        }
        for (index, transform) in self.transforms.iter().enumerate() {
            transform.write(index + 1 == self.transforms.len(), w);
        }
        patch_length(start, w);
    }
}

impl Transform {
    /// A transform of our own.
    pub fn new(number: u8, id: u8, attributes: &[Attribute]) -> Self {
        let mut w = Writer::with_capacity(40);
        Attributes::write_all(attributes, &mut w);
        Self { number, id, attributes: w.finish() }
    }

    fn write(&self, last: bool, w: &mut Writer) {
        let start = w.len();
        let more = if last { 0 } else { TransformRef::MORE };
        w.bytes(&[more, 0, 0, 0, self.number, self.id, 0, 0]);
        w.bytes(&self.attributes);
        patch_length(start, w);
    }
}

fn patch_length(start: usize, w: &mut Writer) {
    let length = w.len() - start;
    w.patch_u16(start + 2, u16::try_from(length).expect("255 transforms of 50 bytes fit a 16-bit length"));
}
