//! What a diet exchange with AKA carries inside ENCRYPTED; a reconstruction, see [`crate::aka`].
//!
//!   AKA_ID         IMSI or NAI(*)
//!   AKA_CHALLENGE  RAND(16) AUTN(16)
//!   AKA_RESPONSE   Kind(1): 1 RES(4-16), 2 AUTS(14), 3 the network is not believed
//!   AKA_RESULT     Kind(1): 1 the subscriber is believed

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// RAND and AUTN of an authentication vector (TS 33.102 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    /// RAND.
    pub rand: [u8; 16],
    /// AUTN.
    pub autn: [u8; 16],
}

impl Challenge {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they have another length.
    pub fn read(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let challenge = Self { rand: r.array("RAND")?, autn: r.array("AUTN")? };
        r.end("AKA_CHALLENGE")?;
        Ok(challenge)
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.bytes(&self.rand);
        w.bytes(&self.autn);
    }
}

/// What a card says to a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// RES, 4 to 16 octets (TS 33.102 §6.3.7).
    Res(Vec<u8>),
    /// The sequence number is not one that the card accepts: AUTS.
    Auts([u8; 14]),
    /// AUTN's MAC is wrong.
    Reject,
}

const RES: u8 = 1;
const AUTS: u8 = 2;
const REJECT: u8 = 3;

impl Response {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they are of an unknown kind or a length that this kind cannot have.
    pub fn read(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let kind_field = r;
        let response = match r.u8("AKA_RESPONSE kind")? {
            RES if (4..=16).contains(&r.len()) => Self::Res(r.rest().to_vec()),
            RES => return Err(r.error("RES", Problem::Length(r.len() as u64))),
            AUTS => Self::Auts(r.array("AUTS")?),
            REJECT => Self::Reject,
            other => return Err(kind_field.error("AKA_RESPONSE kind", Problem::Value(other.into()))),
        };
        r.end("AKA_RESPONSE")?;
        Ok(response)
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::Res(res) => {
                w.u8(RES);
                w.bytes(res);
            }
            Self::Auts(auts) => {
                w.u8(AUTS);
                w.bytes(auts);
            }
            Self::Reject => w.u8(REJECT),
        }
    }
}

/// The only result that is sent; a subscriber that is not believed gets a NOTIFICATION.
pub const BELIEVED: u8 = 1;

/// Reads AKA_RESULT.
///
/// # Errors
/// If it says anything else than that the subscriber is believed.
pub fn read_result(mut r: Reader<'_>) -> Result<(), DecodeError> {
    let field = r;
    let result = r.u8("AKA_RESULT")?;
    if result != BELIEVED {
        return Err(field.error("AKA_RESULT", Problem::Value(result.into())));
    }
    r.end("AKA_RESULT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_cuts() {
        let challenge = Challenge { rand: [1; 16], autn: [2; 16] };
        let mut w = Writer::default();
        challenge.write(&mut w);
        let bytes = w.finish();
        assert_eq!(Challenge::read(Reader::new(&bytes)).unwrap(), challenge);
        assert!((0..32).all(|cut| Challenge::read(Reader::new(&bytes[..cut])).is_err()));
        for response in [Response::Res(vec![7; 8]), Response::Auts([3; 14]), Response::Reject] {
            let mut w = Writer::default();
            response.write(&mut w);
            let bytes = w.finish();
            assert_eq!(Response::read(Reader::new(&bytes)).unwrap(), response);
            assert!(Response::read(Reader::new(&[&bytes[..], &[0; 10]].concat())).is_err());
        }
        assert!(Response::read(Reader::new(&[9])).is_err());
        assert!(Response::read(Reader::new(&[RES, 1, 2, 3])).is_err());
        assert!(read_result(Reader::new(&[BELIEVED])).is_ok() && read_result(Reader::new(&[0])).is_err());
    }
}
