//! Security Association payload with its proposals, RFC 7296 §3.3, §3.3.1.
//!
//!   proposal: Last(1) Reserved(1) Length(2) Number(1) Protocol ID(1) SPI Size(1) Num Transforms(1) SPI(*) Transforms(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::Transform;
use crate::number::ProtocolId;

/// A decoded SA payload: checked once, and iterated on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityAssociation<'a> {
    body: &'a [u8],
}

/// More proposals in one payload are refused; one per suite of the whole catalogue is far fewer.
pub const PROPOSALS_MAX: usize = 128;

impl<'a> SecurityAssociation<'a> {
    /// The proposals, in their sender's order of preference.
    pub fn proposals(&self) -> impl Iterator<Item = ProposalRef<'a>> + use<'a> {
        let mut r = Reader::new(self.body);
        std::iter::from_fn(move || if r.is_empty() { None } else { ProposalRef::again(&mut r).ok() })
    }

    /// The payload's body.
    pub(crate) const fn body(&self) -> &'a [u8] {
        self.body
    }

    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        check_proposals(*r, |r| ProposalRef::read(r).map(drop))?;
        Ok(Self { body: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(self.body);
    }

    /// Writes the body of an SA payload.
    pub fn write_proposals(proposals: &[Proposal], w: &mut Writer) {
        for (index, proposal) in proposals.iter().enumerate() {
            proposal.write(index + 1 == proposals.len(), w);
        }
    }
}

/// A decoded proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalRef<'a> {
    /// Its number, which the answer repeats.
    pub number: u8,
    /// Its protocol.
    pub protocol: ProtocolId,
    /// The SPI its sender receives on.
    pub spi: Spi,
    transforms: &'a [u8],
}

impl<'a> ProposalRef<'a> {
    /// The transforms, in their sender's order of preference within each type.
    pub fn transforms(&self) -> impl Iterator<Item = Transform> + use<'a> {
        let mut r = Reader::new(self.transforms);
        std::iter::from_fn(move || {
            let last = is_last(&r);
            if r.is_empty() { None } else { Transform::read(&mut r, last).ok() }
        })
    }

    /// A copy that outlives the message.
    pub fn to_owned(&self) -> Proposal {
        let transforms = self.transforms().collect();
        Proposal { number: self.number, protocol: self.protocol, spi: self.spi, transforms }
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::framed(r, |framing| framing.transforms(|r, last| Transform::read(r, last).map(drop)))
    }

    /// Reads the next one of a payload that was checked before.
    fn again(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::framed(r, |mut framing| Ok(framing.rest.rest()))
    }

    fn framed(
        r: &mut Reader<'a>,
        transforms: impl FnOnce(Framing<'a>) -> Result<&'a [u8], DecodeError>,
    ) -> Result<Self, DecodeError> {
        let mut framing = Framing::read(r)?;
        let Framing { number, protocol, bad_spi, .. } = framing;
        let spi = Spi::from_wire(protocol, framing.spi()?).ok_or(bad_spi)?;
        Ok(Self { number, protocol, spi, transforms: transforms(framing)? })
    }
}

/// A proposal before its SPI is interpreted: the same in both versions (RFC 2408 §3.5, RFC 7296 §3.3.1).
pub(crate) struct Framing<'a> {
    pub(crate) number: u8,
    pub(crate) protocol: ProtocolId,
    pub(crate) spi_size: u8,
    /// The error if the protocol has no SPIs of this size.
    pub(crate) bad_spi: DecodeError,
    transform_count: u8,
    rest: Reader<'a>,
}

/// Reads one transform; the flag tells that it must be the last.
type ReadTransform = fn(&mut Reader<'_>, bool) -> Result<(), DecodeError>;

impl<'a> Framing<'a> {
    /// Last, Reserved, Length, Number, Protocol ID, SPI Size, Num Transforms.
    const FIXED_LEN: usize = 8;
    /// Value of the Last field if another proposal follows.
    pub(crate) const MORE: u8 = 2;

    /// Reads the next of several proposals in one payload; the last one must end it.
    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut fixed = r.sub(Self::FIXED_LEN, "proposal")?;
        let at_last = fixed;
        let last = fixed.u8("last proposal")? == 0;
        fixed.skip(1, "proposal reserved")?;
        let rest_len = read_length(&mut fixed, Self::FIXED_LEN, "proposal length")?;
        let number = fixed.u8("proposal number")?;
        let protocol = ProtocolId(fixed.u8("proposal protocol ID")?);
        let at_spi_size = fixed;
        let spi_size = fixed.u8("proposal SPI size")?;
        let transform_count = fixed.u8("number of transforms")?;
        let rest = r.sub(rest_len, "proposal")?;
        if last != r.is_empty() {
            let said = if last { 0 } else { Self::MORE };
            return Err(at_last.error("last proposal", Problem::Value(said.into())));
        }
        let bad_spi = at_spi_size.error("proposal SPI size", Problem::Length(spi_size.into()));
        Ok(Self { number, protocol, spi_size, bad_spi, transform_count, rest })
    }

    /// Its SPI, which comes before the transforms.
    pub(crate) fn spi(&mut self) -> Result<&'a [u8], DecodeError> {
        self.rest.take(usize::from(self.spi_size), "proposal SPI")
    }

    /// Its transforms, after the SPI: as many as stated and all valid.
    pub(crate) fn transforms(mut self, read: ReadTransform) -> Result<&'a [u8], DecodeError> {
        check_transforms(self.rest, self.transform_count, read)?;
        Ok(self.rest.rest())
    }
}

/// Checks that there is at least one proposal, at most [`PROPOSALS_MAX`], and that all are valid.
pub(crate) fn check_proposals(
    mut r: Reader<'_>,
    read: fn(&mut Reader<'_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut proposals = 0;
    while !r.is_empty() {
        proposals += 1;
        if proposals > PROPOSALS_MAX {
            return Err(r.error("proposal count", Problem::Length(proposals as u64)));
        }
        read(&mut r)?;
    }
    if proposals == 0 { Err(r.error("proposal", Problem::Missing)) } else { Ok(()) }
}

/// Checks that there are exactly `count` transforms.
fn check_transforms(mut r: Reader<'_>, count: u8, read: ReadTransform) -> Result<(), DecodeError> {
    for index in 1..=count {
        read(&mut r, index == count)?;
    }
    r.end("transforms")
}

/// Whether the substructure at the cursor is marked as the last one.
pub(crate) fn is_last(r: &Reader<'_>) -> bool {
    let mut peek = *r;
    peek.u8("last transform") == Ok(0)
}

/// Reads the Last and Reserved fields, which must be `more` if another one follows, otherwise 0.
pub(crate) fn read_more(
    r: &mut Reader<'_>,
    more: u8,
    last: bool,
    field: &'static str,
) -> Result<(), DecodeError> {
    let at = *r;
    let value = r.u8(field)?;
    if value != if last { 0 } else { more } {
        return Err(at.error(field, Problem::Value(value.into())));
    }
    r.skip(1, field)
}

/// Reads a length field that includes `fixed_len` bytes of header; returns the length of the rest.
pub(crate) fn read_length(
    r: &mut Reader<'_>,
    fixed_len: usize,
    field: &'static str,
) -> Result<usize, DecodeError> {
    let at = *r;
    let length = r.u16(field)?;
    usize::from(length).checked_sub(fixed_len).ok_or(at.error(field, Problem::Length(length.into())))
}

/// The security parameter index in a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spi {
    /// None, in proposals for an initial IKE SA.
    None,
    /// Of an ESP or AH SA.
    Child(u32),
    /// For rekeying an IKE SA.
    Ike(u64),
    /// Of an unknown protocol.
    Foreign,
}

impl Spi {
    // RFC 7296 §3.3.1: no SPI for an initial IKE SA, 8 bytes for rekeying one, 4 for ESP and AH.
    fn from_wire(protocol: ProtocolId, bytes: &[u8]) -> Option<Self> {
        match (protocol, bytes.len()) {
            (ProtocolId::IKE, 0) => Some(Self::None),
            (ProtocolId::IKE, _) => bytes.try_into().ok().map(u64::from_be_bytes).map(Self::Ike),
            (ProtocolId::ESP | ProtocolId::AH, _) => {
                bytes.try_into().ok().map(u32::from_be_bytes).map(Self::Child)
            }
            _ => Some(Self::Foreign),
        }
    }

    const fn len(self) -> u8 {
        match self {
            Self::None | Self::Foreign => 0,
            Self::Child(_) => 4,
            Self::Ike(_) => 8,
        }
    }

    fn write(self, w: &mut Writer) {
        match self {
            Self::None | Self::Foreign => {}
            Self::Child(spi) => w.u32(spi),
            Self::Ike(spi) => w.u64(spi),
        }
    }
}

/// A proposal of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its number, from 1.
    pub number: u8,
    /// Its protocol.
    pub protocol: ProtocolId,
    /// The SPI we receive on.
    pub spi: Spi,
    /// The transforms; several of one type are alternatives.
    pub transforms: Vec<Transform>,
}

impl Proposal {
    fn write(&self, last: bool, w: &mut Writer) {
        let start = w.len();
        let count = u8::try_from(self.transforms.len()).expect("a proposal has at most 255 transforms");
        let more = if last { 0 } else { Framing::MORE };
        w.bytes(&[more, 0, 0, 0, self.number, self.protocol.0, self.spi.len(), count]);
        self.spi.write(w);
        for (index, transform) in self.transforms.iter().enumerate() {
            transform.write(index + 1 == self.transforms.len(), w);
        }
        let length = w.len() - start;
        w.patch_u16(
            start + 2,
            u16::try_from(length).expect("255 transforms of 12 bytes fit a 16-bit length"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{PayloadType, TransformType};
    use crate::wire::payload::read_chain;
    use crate::wire::testing::check_codec;
    use crate::wire::{Attribute, Payload};
    use keytoll_crypto_api::algorithm::{Encryption, Group, Prf};
    use proptest::prelude::*;

    fn sample() -> Vec<Proposal> {
        let transforms = vec![
            Transform::encryption(Encryption::Aes128Gcm16),
            Transform::of(Prf::HmacSha256),
            Transform::of(Group::X25519),
        ];
        vec![Proposal { number: 1, protocol: ProtocolId::IKE, spi: Spi::None, transforms }]
    }

    fn body(proposals: &[Proposal]) -> Vec<u8> {
        let mut w = Writer::default();
        SecurityAssociation::write_proposals(proposals, &mut w);
        w.finish()
    }

    fn refused(body: &[u8]) -> DecodeError {
        let generic = [0, 0, 0, u8::try_from(body.len() + 4).unwrap()];
        read_chain(PayloadType::SA, &mut Reader::new(&[&generic, body].concat())).unwrap_err()
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let expected = [
            0, 0, 0, 36, 1, 1, 0, 3, 3, 0, 0, 12, 1, 0, 0, 20, 0x80, 14, 0, 128, 3, 0, 0, 8, 2, 0, 0, 5, 0,
            0, 0, 8, 4, 0, 0, 31,
        ];
        assert_eq!(body(&sample()), expected);
    }

    #[test]
    fn counts_and_last_fields_that_contradict_the_bytes_are_refused() {
        let damaged = |at: usize, value: u8| {
            let mut bytes = body(&sample());
            bytes[at] = value;
            refused(&bytes).field
        };
        assert_eq!(damaged(0, 2), "last proposal");
        assert_eq!(damaged(3, 7), "proposal length");
        assert_eq!(damaged(3, 37), "proposal");
        assert_eq!(damaged(6, 4), "proposal SPI size");
        assert_eq!(damaged(7, 2), "last transform");
        assert_eq!(damaged(7, 4), "last transform");
        assert_eq!(damaged(8, 0), "last transform");
        assert_eq!(damaged(11, 7), "transform length");
        assert_eq!(damaged(11, 13), "attribute type");
    }

    #[test]
    fn no_proposals_and_too_many_are_refused() {
        assert_eq!(refused(&[]).problem, Problem::Missing);
        let mut many = [[2, 0, 0, 8, 1, 1, 0, 0]; 129].concat();
        many[128 * 8] = 0;
        let generic = u16::try_from(many.len() + 4).unwrap().to_be_bytes();
        let bytes = [&[0, 0], &generic[..], &many].concat();
        let error = read_chain(PayloadType::SA, &mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.field, "proposal count");
    }

    fn transforms() -> impl Strategy<Value = Vec<Transform>> {
        let attribute = prop_oneof![Just(Attribute::None), any::<u16>().prop_map(Attribute::KeyLength)];
        let transform = (any::<u8>(), any::<u16>(), attribute).prop_map(|(kind, id, attribute)| Transform {
            kind: TransformType(kind),
            id,
            attribute,
        });
        proptest::collection::vec(transform, 0..12)
    }

    fn spis() -> impl Strategy<Value = (ProtocolId, Spi)> {
        prop_oneof![
            Just((ProtocolId::IKE, Spi::None)),
            any::<u64>().prop_map(|spi| (ProtocolId::IKE, Spi::Ike(spi))),
            any::<u32>().prop_map(|spi| (ProtocolId::ESP, Spi::Child(spi))),
        ]
    }

    fn proposals() -> impl Strategy<Value = Vec<Proposal>> {
        let proposal = (any::<u8>(), spis(), transforms())
            .prop_map(|(number, (protocol, spi), transforms)| Proposal { number, protocol, spi, transforms });
        proptest::collection::vec(proposal, 1..6)
    }

    proptest! {
        #[test]
        fn round_trip(proposals in proposals()) {
            let body = body(&proposals);
            let sa = SecurityAssociation { body: &body };
            check_codec(&Payload::SecurityAssociation(sa));
            let read: Vec<Proposal> = sa.proposals().map(|proposal| proposal.to_owned()).collect();
            prop_assert_eq!(read, proposals);
        }
    }
}
