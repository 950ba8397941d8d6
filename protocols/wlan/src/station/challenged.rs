//! A station that authenticates by a challenge: shared key authentication (802.11-2020 §12.3.3.3) and RRKM. It asks with frame 1,
//! gets the challenge with frame 2, answers with frame 3, which is encrypted, and frame 4 says what came of it.

use std::collections::VecDeque;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Output, Time};

use super::joining::{Authenticated, Found};
use super::{Config, Event, Failure};
use crate::bss::{Air, Attempt, Credential, Security, discard};
use crate::reveal::{self, reveal};
use crate::rrkm;
use crate::shared_key;

type Out = VecDeque<Output<Event>>;

/// Waits for frame 2.
#[derive(Debug)]
pub(super) struct AwaitingChallenge {
    pub(super) found: Found,
    exchange: Asking,
    request: Vec<u8>,
    pub(super) attempt: Attempt,
}

#[derive(Debug)]
enum Asking {
    SharedKey(shared_key::station::AwaitingChallenge),
    Rrkm(rrkm::station::AwaitingChallenge),
}

/// Waits for frame 4.
#[derive(Debug)]
pub(super) struct AwaitingResult {
    pub(super) found: Found,
    exchange: Answering,
    /// When the challenge came.
    challenged_at: Time,
    pub(super) attempt: Attempt,
}

#[derive(Debug)]
enum Answering {
    SharedKey(shared_key::station::AwaitingResult),
    Rrkm(rrkm::station::AwaitingProof),
}

impl AwaitingChallenge {
    /// Sends frame 1.
    pub(super) fn begin(
        config: &Config,
        found: Found,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Result<Self, Failure> {
        let (exchange, request) = ask(config, &found).ok_or(Failure::NoKey)?;
        let wait = Self { found, exchange, request, attempt: Attempt::begin(cx.now) };
        wait.send(false, (air, out), cx);
        Ok(wait)
    }

    fn send(&self, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let bssid = self.found.bssid;
        let frame = air.authenticate((bssid, bssid), (1, &self.request), again, cx.trace);
        out.push_back(Output::Datagram(frame));
    }

    pub(super) fn again(&mut self, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.send(true, (air, out), cx);
        true
    }

    /// Takes frame 2, and sends frame 3.
    pub(super) fn on_challenge(
        &self,
        body: &[u8],
        rng: &mut Rng,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Result<Option<AwaitingResult>, Failure> {
        let exchange = match &self.exchange {
            Asking::SharedKey(wait) => wait.on_challenge(body, rng, cx).map(Answering::SharedKey),
            Asking::Rrkm(wait) => wait.on_challenge(body, rng, cx).map(Answering::Rrkm),
        };
        let Some(exchange) = unless_stray(exchange, cx)? else { return Ok(None) };
        let (found, attempt) = (self.found.clone(), Attempt::begin(cx.now));
        let wait = AwaitingResult { found, exchange, challenged_at: cx.now, attempt };
        wait.send(false, (air, out), cx);
        Ok(Some(wait))
    }
}

fn ask(config: &Config, found: &Found) -> Option<(Asking, Vec<u8>)> {
    match config.security {
        Security::SharedKey(_) => {
            let (wait, request) = shared_key::station::begin(config.shared_key.clone()?);
            Some((Asking::SharedKey(wait), request))
        }
        Security::Rrkm(_) => {
            let own = config.rrkm.as_ref()?;
            let (wait, request) = rrkm::station::begin(rrkm::Parameters {
                key: own.key.clone(),
                station: config.address,
                access_point: found.bssid,
                hash: own.hash,
            });
            Some((Asking::Rrkm(wait), request))
        }
        Security::Open | Security::Dot1xWep(_) | Security::Rsn(_) => None,
    }
}

/// What a frame brings; none if it is not the one that is waited for, which may still come.
fn unless_stray<T>(heard: Result<T, shared_key::Failure>, cx: &mut Ctx<'_>) -> Result<Option<T>, Failure> {
    use shared_key::Failure as Of;
    match heard {
        Ok(taken) => Ok(Some(taken)),
        Err(why @ (Of::Algorithm | Of::Sequence | Of::Unreadable(_))) => {
            discard(Protocol::MANAGEMENT, &why, cx);
            Ok(None)
        }
        Err(Of::Refused(status)) => Err(Failure::Refused(status.0)),
        Err(why) => Err(Failure::Authentication(why)),
    }
}

impl AwaitingResult {
    fn send(&self, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let response = match &self.exchange {
            Answering::SharedKey(wait) => wait.response(),
            Answering::Rrkm(wait) => wait.response(),
        };
        let bssid = self.found.bssid;
        let frame = air.authenticate((bssid, bssid), (3, response), again, cx.trace);
        out.push_back(Output::Datagram(frame));
    }

    pub(super) fn again(&mut self, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.send(true, (air, out), cx);
        true
    }

    /// Takes frame 4; frame 2 again is answered again.
    pub(super) fn on_result(
        &self,
        config: &Config,
        body: &[u8],
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Authenticated>, Failure> {
        if self.is_challenge_again(body) {
            self.send(true, (air, out), cx);
            return Ok(None);
        }
        let proved = match &self.exchange {
            Answering::SharedKey(wait) => wait.on_result(body).map(|()| Credential::None),
            Answering::Rrkm(wait) => wait.on_proof(body).map(|established| {
                reveal(reveal::WEP, &established.parameters.key, cx.trace);
                // It was right when the challenge came.
                let drift_ppm = config.rrkm.as_ref().map_or(0, |own| own.clock_drift_ppm);
                let clock = established.cell.clock(self.challenged_at, drift_ppm);
                Credential::Chains(Box::new((established, clock)))
            }),
        };
        let credential = unless_stray(proved, cx)?;
        Ok(credential.map(|credential| Authenticated { found: self.found.clone(), credential }))
    }

    fn is_challenge_again(&self, body: &[u8]) -> bool {
        let again = match &self.exchange {
            Answering::SharedKey(wait) => wait.on_repeated(body),
            Answering::Rrkm(wait) => wait.on_repeated(body),
        };
        again.is_some()
    }
}
