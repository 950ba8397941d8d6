//! The station: it reads the challenge with its key, proves that it has, and checks the proof of the access point.

use keytoll_crypto_api::{Rng, about};
use keytoll_engine::Ctx;

use super::challenge::Challenge;
use super::signature::{self, Signature};
use super::{ALGORITHM, AUTHENTICATION, Cell, Established, OWN_KEY_ID, Parameters};
use crate::cipher::wep::Iv;
use crate::cipher::{Refused, wep};
use crate::frame::{Element, ElementId};
use crate::shared_key::Failure;
use crate::shared_key::message::{self, Responded};

/// It waits for frame 2.
#[derive(Debug)]
pub struct AwaitingChallenge {
    parameters: Parameters,
}

/// It waits for frame 4.
pub struct AwaitingProof {
    established: Established,
    /// The half of SIG that the access point has to send.
    expected: Vec<u8>,
    responded: Responded,
}

/// Begins, with the body of frame 1.
pub fn begin(parameters: Parameters) -> (AwaitingChallenge, Vec<u8>) {
    (AwaitingChallenge { parameters }, message::write(ALGORITHM, 1, &[]))
}

impl AwaitingChallenge {
    /// Answers frame 2 with frame 3, which is protected.
    ///
    /// # Errors
    /// It is not that frame, or not encrypted with the key of this station.
    pub fn on_challenge(
        &self,
        body: &[u8],
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<AwaitingProof, Failure> {
        let frame = message::read(body, ALGORITHM, 2)?;
        let sealed = message::find(&frame, |element| element.id == ElementId::CHALLENGE_TEXT)?;
        let mut opened = sealed.ok_or(Failure::Challenge)?.to_vec();
        cx.crypto.enter(AUTHENTICATION);
        let key = &self.parameters.key;
        let iv_2 =
            about(cx.crypto, "challenge", |crypto| wep::open_under(key, OWN_KEY_ID, &mut opened, crypto))
                .map_err(Failure::Encryption)?;
        let octets = opened.try_into().map_err(|_| Failure::Encryption(Refused::TooShort))?;
        let challenge = Challenge { octets };
        let cell = challenge.cell(key.len())?;
        let iv = other_than(iv_2, rng);
        let signature = Signature::new(&self.parameters, &challenge, iv, cell.epoch, cx.crypto);
        let half = signature.of_station();
        let text = Element { id: ElementId::CHALLENGE_TEXT, body: &challenge.octets };
        let mut response = message::write(ALGORITHM, 3, &[text, signature::element(&half)]);
        about(cx.crypto, "frame 3", |crypto| wep::seal(key, iv, OWN_KEY_ID, &mut response, crypto));
        Ok(AwaitingProof {
            established: Established { parameters: self.parameters.clone(), cell },
            expected: signature.of_access_point(),
            responded: Responded::new(body, response),
        })
    }
}

impl AwaitingProof {
    /// What the access point says of its cell, which it has not proved yet.
    pub const fn cell(&self) -> &Cell {
        &self.established.cell
    }

    /// The body of frame 3, which is encrypted.
    pub fn response(&self) -> &[u8] {
        self.responded.response()
    }

    /// The same, if this is frame 2 again, as an access point sends it that missed our answer.
    pub fn on_repeated(&self, body: &[u8]) -> Option<&[u8]> {
        self.responded.on_repeated(body)
    }

    /// Takes frame 4.
    ///
    /// # Errors
    /// It is not that frame, the access point refuses, or does not prove that it knows the key.
    pub fn on_proof(&self, body: &[u8]) -> Result<Established, Failure> {
        Signature::check(&message::read(body, ALGORITHM, 4)?, &self.expected)?;
        Ok(self.established.clone())
    }
}

impl std::fmt::Debug for AwaitingProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwaitingProof").field("cell", &self.established.cell).finish_non_exhaustive()
    }
}

// The key stream of frame 2 would encrypt frame 3, too, and C is in both.
/// A random IV that is not the one of the challenge.
fn other_than(iv_2: Iv, rng: &mut Rng) -> Iv {
    let iv = Iv::random(rng);
    if iv == iv_2 { iv.next() } else { iv }
}
