//! Stations that authenticate by a challenge: shared key authentication (802.11-2020 §12.3.3.3) and RRKM.
//!
//! Frame 1 has one place in a table of strangers, and comes again for the same challenge: who floods costs one encryption for each
//! address, and no more than the table holds. Frame 3 ends the wait, whatever it proves, so that another guess needs another
//! challenge.

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Output};

use super::rounds::Rounds;
use super::{AccessPoint, Config, Ended, Event};
use crate::MacAddr;
use crate::bss::{Credential, Security, discard};
use crate::frame::management::subtype;
use crate::frame::{AuthenticationAlgorithm, Management};
use crate::rrkm;
use crate::shared_key::{self, Answered, Failure, refusal};

/// Waits for frame 3 of a station.
#[derive(Debug)]
pub(super) enum Challenged {
    SharedKey(shared_key::access_point::AwaitingResponse),
    Rrkm(Box<rrkm::access_point::AwaitingResponse>),
}

impl Challenged {
    /// Answers frame 1 with frame 2.
    fn begin(
        config: &Config,
        rounds: Option<&mut Rounds>,
        (station, body): (MacAddr, &[u8]),
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<(Self, Vec<u8>), Failure> {
        if let Some(rounds) = rounds {
            let (parameters, cell) = rounds.of(station, config.address, cx).ok_or(Failure::NoKey)?;
            let (wait, challenge) = rrkm::access_point::on_request(parameters, cell, body, rng, cx)?;
            return Ok((Self::Rrkm(Box::new(wait)), challenge));
        }
        let shared = config.shared_key.clone().ok_or(Failure::NoKey)?;
        let (wait, challenge) = shared_key::access_point::on_request(shared, body, rng)?;
        Ok((Self::SharedKey(wait), challenge))
    }

    /// Frame 2 again.
    fn challenge(&self) -> Vec<u8> {
        match self {
            Self::SharedKey(wait) => wait.challenge_frame(),
            Self::Rrkm(wait) => wait.challenge_frame().to_vec(),
        }
    }

    /// Judges frame 3.
    fn on_response(
        &self,
        rounds: Option<&Rounds>,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<(Credential, Answered), Failure> {
        match self {
            Self::SharedKey(wait) => Ok((Credential::None, wait.on_response(body, cx)?)),
            Self::Rrkm(wait) => {
                let (established, answered) = wait.on_response(body, cx)?;
                let clock = rounds.ok_or(Failure::NoKey)?.clock();
                Ok((Credential::Chains(Box::new((established, clock))), answered))
            }
        }
    }
}

impl AccessPoint {
    const fn algorithm(&self) -> AuthenticationAlgorithm {
        match self.config.security {
            Security::Rrkm(_) => rrkm::ALGORITHM,
            _ => AuthenticationAlgorithm::SHARED_KEY,
        }
    }

    /// Takes an authentication frame, whose body is encrypted if it is protected.
    pub(super) fn on_challenging(
        &mut self,
        station: MacAddr,
        is_protected: bool,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) {
        match (is_protected, self.challenged.get(station)) {
            (true, _) => self.on_response(station, body, cx),
            // A station that has not heard the challenge asks again.
            (false, Some(wait)) if is_request(body, self.algorithm()) => {
                let challenge = wait.challenge();
                self.send_authentication(station, (2, &challenge), true, cx);
            }
            (false, _) => self.challenge(station, body, cx),
        }
    }

    fn challenge(&mut self, station: MacAddr, body: &[u8], cx: &mut Ctx<'_>) {
        let (config, rounds) = (&self.config, self.rounds.as_mut());
        match Challenged::begin(config, rounds, (station, body), &mut self.rng, cx) {
            Ok((wait, challenge)) => {
                self.challenged.insert(station, wait, cx.now);
                self.send_authentication(station, (2, &challenge), false, cx);
            }
            Err(why) => self.refuse(station, body, why, cx),
        }
    }

    // 802.11-2020 §11.3.4.3: whoever asks in another way is told so by a status code.
    /// Answers a frame that begins nothing, unless it is itself an answer.
    fn refuse(&mut self, station: MacAddr, body: &[u8], why: Failure, cx: &mut Ctx<'_>) {
        discard(Protocol::MANAGEMENT, &why, cx);
        if let Ok(Management::Authentication(request)) = Management::read(subtype::AUTHENTICATION, body)
            && !request.is_answer()
        {
            let sequence = request.sequence.saturating_add(1);
            let answer = refusal(request.algorithm, sequence, why);
            self.send_authentication(station, (sequence & !1, &answer), false, cx);
        }
    }

    fn on_response(&mut self, station: MacAddr, body: &[u8], cx: &mut Ctx<'_>) {
        let Some(wait) = self.challenged.remove(station) else {
            return self.on_repeated(station, body, cx);
        };
        match wait.on_response(self.rounds.as_ref(), body, cx) {
            Ok((credential, answered)) => {
                self.send_authentication(station, (4, answered.result()), false, cx);
                self.authenticate(station, credential, Some(answered), cx);
            }
            Err(why) => self.fail(station, why, cx),
        }
    }

    /// A station that has not heard the result answers the challenge again.
    fn on_repeated(&mut self, station: MacAddr, body: &[u8], cx: &mut Ctx<'_>) {
        let answered =
            self.authenticated.get(station).and_then(|authenticated| authenticated.answered.as_ref());
        match answered.and_then(|answered| answered.on_repeated(body)).map(<[u8]>::to_vec) {
            Some(result) => self.send_authentication(station, (4, &result), true, cx),
            None => cx.discard(Protocol::MANAGEMENT, "a response without a challenge"),
        }
    }

    /// The authentication of a station ends, and it is told; if it is a member, that it stays.
    pub(super) fn fail(&mut self, station: MacAddr, why: Failure, cx: &mut Ctx<'_>) {
        discard(Protocol::MANAGEMENT, &why, cx);
        let answer = refusal(self.algorithm(), 4, why);
        self.send_authentication(station, (4, &answer), false, cx);
        if self.members.get(station).is_none() {
            self.out.push_back(Output::Event(Event::Ended(station, Ended::Authentication(why))));
        }
    }

    fn send_authentication(
        &mut self,
        station: MacAddr,
        (sequence, body): (u16, &[u8]),
        again: bool,
        cx: &mut Ctx<'_>,
    ) {
        let frame = self.air.authenticate((station, self.air.own), (sequence, body), again, cx.trace);
        self.out.push_back(Output::Datagram(frame));
    }
}

/// Whether this is frame 1.
fn is_request(body: &[u8], algorithm: AuthenticationAlgorithm) -> bool {
    let read = Management::read(subtype::AUTHENTICATION, body);
    matches!(read, Ok(Management::Authentication(request))
        if request.sequence == 1 && request.algorithm == algorithm && !request.is_answer())
}
