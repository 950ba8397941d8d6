//! The access point: it sends a challenge, and compares what comes back. 802.11-2020 §12.3.3.3.3, §12.3.3.3.5.

use keytoll_crypto_api::{Rng, about};
use keytoll_engine::Ctx;

use super::{Answered, Config, Failure, PHASE, message};
use crate::cipher::wep;
use crate::frame::management::authentication::CHALLENGE_LEN;
use crate::frame::{AuthenticationAlgorithm, Element, ElementId};

/// It waits for frame 3.
#[derive(Debug)]
pub struct AwaitingResponse {
    config: Config,
    challenge: [u8; CHALLENGE_LEN],
}

/// Answers frame 1 with the body of frame 2.
///
/// # Errors
/// It is not that frame.
pub fn on_request(
    config: Config,
    body: &[u8],
    rng: &mut Rng,
) -> Result<(AwaitingResponse, Vec<u8>), Failure> {
    message::read(body, AuthenticationAlgorithm::SHARED_KEY, 1)?;
    let wait = AwaitingResponse { config, challenge: rng.bytes() };
    let answer = wait.challenge_frame();
    Ok((wait, answer))
}

impl AwaitingResponse {
    /// The body of frame 2, once more for a station that repeats frame 1.
    pub fn challenge_frame(&self) -> Vec<u8> {
        let challenge = Element { id: ElementId::CHALLENGE_TEXT, body: &self.challenge };
        message::write(AuthenticationAlgorithm::SHARED_KEY, 2, &[challenge])
    }

    // 802.11-2020 §12.3.3.3.5: if the ICV is right and the challenge is the same, the status is success, otherwise 15.
    /// Answers frame 3, whose body is encrypted, with frame 4.
    ///
    /// # Errors
    /// The station does not know the key, or this is not that frame.
    pub fn on_response(&self, body: &[u8], cx: &mut Ctx<'_>) -> Result<Answered, Failure> {
        let mut opened = body.to_vec();
        cx.crypto.enter(PHASE);
        let Config { key, key_id } = &self.config;
        about(cx.crypto, "frame 3", |crypto| wep::open_under(key, *key_id, &mut opened, crypto))
            .map_err(Failure::Encryption)?;
        let frame = message::read(&opened, AuthenticationAlgorithm::SHARED_KEY, 3)?;
        if *frame.challenge()? != self.challenge {
            return Err(Failure::Challenge);
        }
        let result = message::write(AuthenticationAlgorithm::SHARED_KEY, 4, &[]);
        Ok(Answered::new(body, result))
    }
}
