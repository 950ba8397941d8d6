//! Authentication frames, 802.11-2020 §9.3.3.11.
//!
//!   Authentication Algorithm Number(2) Authentication Transaction Sequence Number(2) Status Code(2) what the algorithm says(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::frame::element::{ElementId, Elements};
use crate::frame::number::{AuthenticationAlgorithm, StatusCode};

/// 802.11-2020 §9.4.2.8: octets of the challenge of shared key authentication.
pub const CHALLENGE_LEN: usize = 128;

/// A message of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authentication<'a> {
    /// How the station authenticates.
    pub algorithm: AuthenticationAlgorithm,
    /// The number of the message, from 1.
    pub sequence: u16,
    /// What came of the message before.
    pub status: StatusCode,
    /// Elements, or the fields of SAE.
    pub rest: &'a [u8],
}

impl<'a> Authentication<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            algorithm: AuthenticationAlgorithm(r.u16_le("authentication algorithm number")?),
            sequence: r.u16_le("authentication transaction sequence number")?,
            status: StatusCode(r.u16_le("status code")?),
            rest: r.rest(),
        })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16_le(self.algorithm.0);
        w.u16_le(self.sequence);
        w.u16_le(self.status.0);
        w.bytes(self.rest);
    }

    // 802.11-2020 table 9-41: a station sends odd numbers, in which only SAE has a status.
    /// Whether an access point has sent it in answer to a station, so that nothing is to be answered. SAE's two messages are
    /// the same in both directions: whoever speaks SAE does not ask here.
    pub fn is_answer(&self) -> bool {
        let has_status = self.status != StatusCode::SUCCESS && self.algorithm != AuthenticationAlgorithm::SAE;
        self.sequence.is_multiple_of(2) || has_status
    }

    /// Octets before `rest`.
    pub const FIXED_LEN: usize = 6;

    /// Its elements; SAE has fields instead.
    ///
    /// # Errors
    /// If an element is cut short; offsets count from the start of the body.
    pub fn elements(&self) -> Result<Elements<'a>, DecodeError> {
        let within = |error: DecodeError| DecodeError { offset: error.offset + Self::FIXED_LEN, ..error };
        Elements::read(&mut Reader::new(self.rest)).map_err(within)
    }

    /// The challenge of shared key authentication.
    ///
    /// # Errors
    /// If there is none, or it does not have the length of one.
    pub fn challenge(&self) -> Result<&'a [u8; CHALLENGE_LEN], DecodeError> {
        let error = |problem| DecodeError { field: "challenge text", offset: Self::FIXED_LEN, problem };
        let challenge =
            self.elements()?.find(ElementId::CHALLENGE_TEXT).ok_or_else(|| error(Problem::Missing))?;
        challenge.try_into().map_err(|_| error(Problem::Length(challenge.len() as u64)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Management;
    use super::super::testing::check;
    use super::*;
    use crate::frame::element::write_element;

    proptest! {
        #[test]
        fn round_trip(algorithm: u16, sequence: u16, status: u16, rest: Vec<u8>) {
            let (algorithm, status) = (AuthenticationAlgorithm(algorithm), StatusCode(status));
            let frame = Authentication { algorithm, sequence, status, rest: &rest };
            check(&Management::Authentication(frame), Authentication::FIXED_LEN);
            let _ = (frame.elements(), frame.challenge());
        }
    }

    fn frame(rest: &[u8]) -> Authentication<'_> {
        let (algorithm, status) = (AuthenticationAlgorithm::SHARED_KEY, StatusCode::SUCCESS);
        Authentication { algorithm, sequence: 2, status, rest }
    }

    #[test]
    fn a_challenge_has_128_octets() {
        let with = |len: usize| {
            let mut w = Writer::default();
            write_element(&mut w, ElementId::CHALLENGE_TEXT, |w| w.bytes(&vec![7; len]));
            w.finish()
        };
        assert_eq!(frame(&with(128)).challenge(), Ok(&[7; 128]));
        assert_eq!(Management::Authentication(frame(&with(128))).to_bytes().len() + 24, 160);
        let error = frame(&with(127)).challenge().unwrap_err();
        assert_eq!(error.to_string(), "challenge text at offset 6: length 127 does not fit");
        assert_eq!(frame(&[]).challenge().unwrap_err().problem, Problem::Missing);
        assert_eq!(frame(&[16, 3, 1]).elements().unwrap_err().offset, 8);
    }
}
