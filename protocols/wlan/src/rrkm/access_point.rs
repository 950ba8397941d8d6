//! The access point: it encrypts a challenge, checks the proof of the station, and proves itself.

use keytoll_crypto_api::{Rng, about};
use keytoll_engine::Ctx;

use super::challenge::Challenge;
use super::signature::{self, Signature};
use super::{ALGORITHM, AUTHENTICATION, Cell, Established, OWN_KEY_ID, Parameters};
use crate::cipher::wep::{self, Iv};
use crate::frame::{Element, ElementId};
use crate::shared_key::{Answered, Failure, message};

/// It waits for frame 3.
pub struct AwaitingResponse {
    established: Established,
    challenge: Challenge,
    iv: Iv,
    /// Frame 2.
    question: Vec<u8>,
}

/// Answers frame 1 with the body of frame 2.
///
/// # Errors
/// It is not that frame.
pub fn on_request(
    parameters: Parameters,
    cell: Cell,
    body: &[u8],
    rng: &mut Rng,
    cx: &mut Ctx<'_>,
) -> Result<(AwaitingResponse, Vec<u8>), Failure> {
    message::read(body, ALGORITHM, 1)?;
    let (challenge, iv) = (Challenge::new(&cell, rng), Iv::random(rng));
    let mut sealed = challenge.octets.to_vec();
    cx.crypto.enter(AUTHENTICATION);
    about(cx.crypto, "challenge", |crypto| wep::seal(&parameters.key, iv, OWN_KEY_ID, &mut sealed, crypto));
    let element = Element { id: ElementId::CHALLENGE_TEXT, body: &sealed };
    let question = message::write(ALGORITHM, 2, &[element]);
    let established = Established { parameters, cell };
    Ok((AwaitingResponse { established, challenge, iv, question: question.clone() }, question))
}

impl AwaitingResponse {
    /// The body of frame 2 again, for a station that repeats frame 1.
    pub fn challenge_frame(&self) -> &[u8] {
        &self.question
    }

    /// Answers frame 3, whose body is encrypted, with frame 4.
    ///
    /// # Errors
    /// It is not that frame, or the station does not prove that it knows the key.
    pub fn on_response(&self, body: &[u8], cx: &mut Ctx<'_>) -> Result<(Established, Answered), Failure> {
        let proof = self.proof(body, cx)?;
        Ok((self.established.clone(), Answered::new(body, proof)))
    }

    fn proof(&self, body: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<u8>, Failure> {
        let Established { parameters, cell } = &self.established;
        let mut opened = body.to_vec();
        cx.crypto.enter(AUTHENTICATION);
        let iv = about(cx.crypto, "frame 3", |crypto| {
            wep::open_under(&parameters.key, OWN_KEY_ID, &mut opened, crypto)
        })
        .map_err(Failure::Encryption)?;
        let frame = message::read(&opened, ALGORITHM, 3)?;
        if *frame.challenge()? != self.challenge.octets {
            return Err(Failure::Challenge);
        }
        if iv == self.iv {
            return Err(Failure::RepeatedIv);
        }
        let signature = Signature::new(parameters, &self.challenge, iv, cell.epoch, cx.crypto);
        Signature::check(&frame, &signature.of_station())?;
        Ok(message::write(ALGORITHM, 4, &[signature::element(&signature.of_access_point())]))
    }
}

impl std::fmt::Debug for AwaitingResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwaitingResponse").field("cell", &self.established.cell).finish_non_exhaustive()
    }
}
