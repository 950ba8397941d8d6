//! A whole packet: header and parameters, RFC 7401 §5.1 and §5.2.

use std::net::IpAddr;

use keytoll_net::transport_checksum;
use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::header::{CHECKSUM_AT, HEADER_LEN, Header, LENGTH_AT, PACKET_LEN_MAX, RECEIVER_AT};
use super::parameter::Parameter;
use crate::leniency::Leniency;
use crate::number::ParameterType;

/// IP protocol number of HIP.
pub const IP_PROTOCOL: u8 = 139;
/// More parameters in one packet are not read: 2048 octets have room for 251 of the shortest ones, the longest packet of ours has 16.
const PARAMETERS_MAX: usize = 64;
/// Room for those that packets usually have.
const PARAMETERS_USUAL: usize = 16;

/// A packet that was read: its parameters are whole and in order.
#[derive(Debug, Clone)]
pub struct Packet<'a> {
    /// Its header.
    pub header: Header,
    /// All of it.
    pub bytes: &'a [u8],
    parameters: Vec<Parameter<'a>>,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// If header or parameters are cut short, or the parameters are not in order.
    pub fn read(bytes: &'a [u8], leniency: Leniency) -> Result<Self, DecodeError> {
        let (header, mut rest) = Header::read(&mut Reader::new(bytes))?;
        let mut parameters: Vec<Parameter<'a>> = Vec::with_capacity(PARAMETERS_USUAL);
        while !rest.is_empty() {
            let at = rest;
            let parameter = Parameter::read(&mut rest)?;
            let last = parameters.last().map_or(ParameterType(0), |last| last.kind);
            // RFC 7401 §5.2.1: a packet whose types do not ascend is malformed.
            if parameter.kind < last && !leniency.any_order {
                return Err(at.error("HIP parameter type", Problem::Value(parameter.kind.0.into())));
            }
            if parameters.len() == PARAMETERS_MAX {
                return Err(at.error("HIP parameters", Problem::Length(PARAMETERS_MAX as u64 + 1)));
            }
            parameters.push(parameter);
        }
        Ok(Self { header, bytes, parameters })
    }

    /// Its parameters, in their order.
    pub fn parameters(&self) -> &[Parameter<'a>] {
        &self.parameters
    }

    /// The first parameter of a type.
    pub fn find(&self, kind: ParameterType) -> Option<&Parameter<'a>> {
        self.parameters.iter().find(|parameter| parameter.kind == kind)
    }

    /// The parameter of a type, which occurs once.
    ///
    /// # Errors
    /// If it is missing or there are several.
    pub fn one(&self, kind: ParameterType, field: &'static str) -> Result<Parameter<'a>, DecodeError> {
        let mut found = self.parameters.iter().filter(|parameter| parameter.kind == kind);
        match (found.next(), found.next()) {
            (Some(parameter), None) => Ok(*parameter),
            (Some(_), Some(second)) => Err(second.contents.error(field, Problem::Repeated)),
            (None, _) => Err(DecodeError { field, offset: self.bytes.len(), problem: Problem::Missing }),
        }
    }

    // RFC 7401 §5.2.1: whoever does not know a critical parameter does not process the packet.
    /// The first critical parameter that is not in this list.
    pub fn unknown_critical(&self, known: &[ParameterType]) -> Option<ParameterType> {
        let kinds = self.parameters.iter().map(|parameter| parameter.kind);
        kinds.into_iter().find(|kind| kind.is_critical() && !known.contains(kind))
    }

    // RFC 7401 §5.1.1: the pseudo-header has the addresses of the IP packet, and protocol 139.
    /// Whether its checksum is right between these addresses.
    pub fn has_checksum(&self, addresses: (IpAddr, IpAddr)) -> bool {
        transport_checksum(addresses, IP_PROTOCOL, self.bytes) == 0
    }

    // RFC 7401 §5.2.1: parameters ascend, so that what comes behind a MAC or a signature is known by its type, which is greater.
    /// Whether a MAC or a signature covers every parameter of a lesser type. Only a reader that overlooks the order meets another.
    pub fn has_covered(&self, by: &Parameter<'_>) -> bool {
        self.parameters.iter().all(|parameter| parameter.begins <= by.begins || parameter.kind >= by.kind)
    }

    /// The packet up to a parameter, as MACs and signatures see it: the length ends there and the checksum is zero.
    pub fn scope(&self, end: usize) -> Scope<'a> {
        scope(self.bytes, end)
    }
}

/// The first `end` octets of a packet, as MACs and signatures see them.
///
/// # Panics
/// If there is no whole header: packets that were read have one, and those of ours begin with it.
pub(super) fn scope(bytes: &[u8], end: usize) -> Scope<'_> {
    let (header, rest) = bytes.split_first_chunk().expect("every packet begins with its header");
    Scope::of(header, rest, end)
}

/// What a MAC or a signature covers, RFC 7401 §6.4: the packet up to a parameter, except that the header says another length and
/// no checksum. It is computed with in pieces, none of which is copied but the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope<'a> {
    header: [u8; HEADER_LEN],
    /// What follows the header: up to what is cleared, zeros in its place, what comes after, and what is added at the end.
    rest: [&'a [u8]; 4],
}

/// In place of what is cleared.
static ZEROS: [u8; PACKET_LEN_MAX] = [0; PACKET_LEN_MAX];

impl<'a> Scope<'a> {
    /// The first `end` octets of a packet, which has its header at least.
    fn of(header: &[u8; HEADER_LEN], rest: &'a [u8], end: usize) -> Self {
        let rest = &rest[..end.saturating_sub(HEADER_LEN).min(rest.len())];
        let mut scope = Self { header: *header, rest: [rest, &[], &[], &[]] };
        scope.header[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
        scope.measure();
        scope
    }

    /// Adds a parameter that is not in the packet: HIP_MAC_2's HOST_ID.
    #[must_use]
    pub fn and(mut self, parameter: &'a [u8]) -> Self {
        self.rest[3] = parameter;
        self.measure();
        self
    }

    // RFC 7401 §6.4.2: HIP_SIGNATURE_2 covers neither the receiver's HIT nor the puzzle's Opaque and #I, which differ from
    // one initiator to the next while R1 is signed once.
    /// Clears what a precomputed R1 does not know yet: between these places of the packet Opaque begins and #I ends.
    #[must_use]
    pub fn without_puzzle(mut self, begin: usize, end: usize) -> Self {
        self.header[RECEIVER_AT..].fill(0);
        let whole = self.rest[0];
        let (begin, end) = (begin.saturating_sub(HEADER_LEN), end.saturating_sub(HEADER_LEN));
        let cleared = whole.get(begin..end).and_then(|puzzle| ZEROS.get(..puzzle.len()));
        if let Some(cleared) = cleared {
            self.rest = [&whole[..begin], cleared, &whole[end..], self.rest[3]];
        }
        self
    }

    fn measure(&mut self) {
        let len = HEADER_LEN + self.rest.iter().map(|part| part.len()).sum::<usize>();
        self.header[LENGTH_AT] = u8::try_from(len / 8 - 1).unwrap_or(u8::MAX);
    }

    /// What is covered, piece by piece.
    pub fn parts(&self) -> [&[u8]; 5] {
        let [before, cleared, after, added] = self.rest;
        [&self.header, before, cleared, after, added]
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;
    use crate::hit::Hit;
    use crate::number::PacketType;
    use crate::wire::builder::{Builder, put_checksum};

    /// RFC 7401 appendix C: an I1 with the groups 3, 4 and 8, over IPv6 and over IPv4.
    #[test]
    fn the_checksums_of_the_standard() {
        let hit = |last: u128| Hit((0x2001_0020_u128 << 96 | last).to_be_bytes());
        let mut builder = Builder::new(PacketType::I1, hit(1), hit(2));
        builder.parameter(ParameterType::DH_GROUP_LIST, |w| w.bytes(&[3, 4, 8]));
        let mut bytes = builder.finish().unwrap();
        let v6 = |last: u128| Ipv6Addr::from(0x2001_0db8_u128 << 96 | last).into();
        let v4 = |last| Ipv4Addr::new(192, 0, 2, last).into();
        for (addresses, checksum) in [((v6(1), v6(2)), 0x1a5e), ((v4(1), v4(2)), 0xf1ce)] {
            put_checksum(&mut bytes, addresses);
            let packet = Packet::read(&bytes, Leniency::default()).unwrap();
            assert_eq!((packet.header.checksum, packet.has_checksum(addresses)), (checksum, true));
            let mut other = bytes.clone();
            other[39] ^= 1;
            assert!(!Packet::read(&other, Leniency::default()).unwrap().has_checksum(addresses));
        }
    }

    fn packet(kinds: &[u16]) -> Vec<u8> {
        let mut bytes = Builder::new(PacketType::I1, Hit([1; 16]), Hit([2; 16])).finish().unwrap();
        for kind in kinds {
            bytes.extend_from_slice(&kind.to_be_bytes());
            bytes.extend_from_slice(&[0, 4, 1, 2, 3, 4]);
        }
        bytes[LENGTH_AT] = u8::try_from(bytes.len() / 8 - 1).unwrap();
        bytes
    }

    #[test]
    fn parameters_ascend_unless_the_reader_overlooks_it() {
        let bytes = packet(&[511, 257]);
        let error = Packet::read(&bytes, Leniency::default()).unwrap_err();
        assert_eq!((error.field, error.offset), ("HIP parameter type", 48));
        let lenient = Packet::read(&bytes, Leniency { any_order: true, ..Leniency::NONE }).unwrap();
        assert_eq!(lenient.find(ParameterType::PUZZLE).unwrap().bytes(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_mac_covers_what_is_before_it() {
        let covered = |kinds: &[u16]| {
            let bytes = packet(kinds);
            let read = Packet::read(&bytes, Leniency { any_order: true, ..Leniency::NONE }).unwrap();
            read.has_covered(read.find(ParameterType::HIP_MAC).unwrap())
        };
        assert!(covered(&[511, 257, 61505, 61697, 63425]));
        assert!(covered(&[63425, 61505]));
        assert!(!covered(&[61505, 257]));
        assert!(!covered(&[257, 61505, 61697, 511]));
    }

    #[test]
    fn a_critical_parameter_that_nobody_knows_is_found() {
        let bytes = packet(&[257, 1001, 1002]);
        let read = Packet::read(&bytes, Leniency::default()).unwrap();
        assert_eq!(read.unknown_critical(ParameterType::KNOWN), Some(ParameterType(1001)));
        let harmless = packet(&[257, 1002]);
        let read = Packet::read(&harmless, Leniency::default()).unwrap();
        assert_eq!(read.unknown_critical(ParameterType::KNOWN), None);
    }

    #[test]
    fn what_must_be_there_once_is_there_once() {
        let bytes = packet(&[257, 257]);
        let read = Packet::read(&bytes, Leniency::default()).unwrap();
        assert_eq!(read.one(ParameterType::PUZZLE, "PUZZLE").unwrap_err().problem, Problem::Repeated);
        assert_eq!(read.one(ParameterType::SEQ, "SEQ").unwrap_err().problem, Problem::Missing);
    }

    #[test]
    fn more_parameters_than_a_packet_of_anybodys_are_too_many() {
        let error = Packet::read(&packet(&[257; 65]), Leniency::default()).unwrap_err();
        assert_eq!((error.field, error.problem), ("HIP parameters", Problem::Length(65)));
    }

    #[test]
    fn a_signature_of_r1_covers_neither_receiver_nor_puzzle() {
        let bytes = packet(&[257]);
        let covered = scope(&bytes, bytes.len()).without_puzzle(46, 48).parts().concat();
        assert_eq!((bytes.len(), covered.len()), (48, 48));
        assert_eq!(covered[24..40], [0; 16]);
        assert_eq!(covered[44..], [1, 2, 0, 0]);
        let extended = scope(&bytes, 40).and(&[9; 8]).parts().concat();
        assert_eq!((extended.len(), extended[1]), (48, 5));
    }

    proptest! {
        /// What anybody sends is read or refused.
        #[test]
        fn nothing_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), any_order: bool) {
            let _ = Packet::read(&bytes, Leniency { any_order, ..Leniency::NONE });
            let mut framed = packet(&[]);
            framed.extend_from_slice(&bytes);
            framed.truncate(framed.len() / 8 * 8);
            framed[1] = u8::try_from(framed.len() / 8 - 1).unwrap();
            let _ = Packet::read(&framed, Leniency { any_order, ..Leniency::NONE });
        }

        #[test]
        fn a_packet_that_is_cut_is_refused(cut in 0_usize..64) {
            let bytes = packet(&[257, 511]);
            prop_assert!(Packet::read(&bytes[..cut.min(bytes.len() - 1)], Leniency::default()).is_err());
        }
    }
}
