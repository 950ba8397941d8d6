//! The station: it asks, and encrypts what it gets. 802.11-2020 §12.3.3.3.2, §12.3.3.3.4.

use keytoll_crypto_api::{Rng, about};
use keytoll_engine::Ctx;

use super::message::Responded;
use super::{Config, Failure, PHASE, message};
use crate::cipher::wep::{self, Iv};
use crate::frame::{AuthenticationAlgorithm, Element, ElementId};

/// It waits for frame 2.
#[derive(Debug)]
pub struct AwaitingChallenge {
    config: Config,
}

/// It waits for frame 4.
#[derive(Debug)]
pub struct AwaitingResult {
    responded: Responded,
}

/// Begins, with the body of frame 1.
pub fn begin(config: Config) -> (AwaitingChallenge, Vec<u8>) {
    let body = message::write(AuthenticationAlgorithm::SHARED_KEY, 1, &[]);
    (AwaitingChallenge { config }, body)
}

impl AwaitingChallenge {
    /// Answers frame 2 with frame 3, which is protected.
    ///
    /// # Errors
    /// It is not that frame.
    pub fn on_challenge(
        &self,
        body: &[u8],
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<AwaitingResult, Failure> {
        let frame = message::read(body, AuthenticationAlgorithm::SHARED_KEY, 2)?;
        let challenge = Element { id: ElementId::CHALLENGE_TEXT, body: frame.challenge()? };
        let mut answer = message::write(AuthenticationAlgorithm::SHARED_KEY, 3, &[challenge]);
        cx.crypto.enter(PHASE);
        about(cx.crypto, "frame 3", |crypto| {
            wep::seal(&self.config.key, Iv::random(rng), self.config.key_id, &mut answer, crypto);
        });
        Ok(AwaitingResult { responded: Responded::new(body, answer) })
    }
}

impl AwaitingResult {
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
    /// It is not that frame, or the access point refuses.
    pub fn on_result(&self, body: &[u8]) -> Result<(), Failure> {
        message::read(body, AuthenticationAlgorithm::SHARED_KEY, 4).map(drop)
    }
}
