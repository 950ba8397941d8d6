//! The station: it asks, and encrypts what it gets. 802.11-2020 §12.3.3.3.2, §12.3.3.3.4.

use keytoll_crypto_api::{Rng, about};
use keytoll_engine::{Ctx, Time};

use super::{Config, Failure, PHASE, message};
use crate::cipher::wep::{self, Iv};
use crate::frame::{AuthenticationAlgorithm, Element, ElementId};

/// It waits for frame 2.
#[derive(Debug)]
pub struct AwaitingChallenge {
    config: Config,
    /// When it gives up.
    pub deadline: Time,
}

/// It waits for frame 4.
#[derive(Debug)]
pub struct AwaitingResult {
    /// When it gives up.
    pub deadline: Time,
}

/// Begins, with the body of frame 1.
pub fn begin(config: Config, now: Time) -> (AwaitingChallenge, Vec<u8>) {
    let deadline = now + config.timeout;
    let body = message::write(AuthenticationAlgorithm::SHARED_KEY, 1, &[]);
    (AwaitingChallenge { config, deadline }, body)
}

impl AwaitingChallenge {
    /// Answers frame 2 with the body of frame 3, whose frame is protected.
    ///
    /// # Errors
    /// It is not that frame.
    pub fn on_challenge(
        &self,
        body: &[u8],
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<(AwaitingResult, Vec<u8>), Failure> {
        let frame = message::read(body, AuthenticationAlgorithm::SHARED_KEY, 2)?;
        let challenge = Element { id: ElementId::CHALLENGE_TEXT, body: frame.challenge()? };
        let mut answer = message::write(AuthenticationAlgorithm::SHARED_KEY, 3, &[challenge]);
        cx.crypto.enter(PHASE);
        about(cx.crypto, "frame 3", |crypto| {
            wep::seal(&self.config.key, Iv::random(rng), self.config.key_id, &mut answer, crypto);
        });
        Ok((AwaitingResult { deadline: cx.now + self.config.timeout }, answer))
    }
}

impl AwaitingResult {
    /// Takes frame 4.
    ///
    /// # Errors
    /// It is not that frame, or the access point refuses.
    pub fn on_result(&self, body: &[u8]) -> Result<(), Failure> {
        message::read(body, AuthenticationAlgorithm::SHARED_KEY, 4).map(drop)
    }
}
