//! A station that moves to another access point of its network: by fast transition within a mobility domain (802.11-2020 §13.5.2),
//! otherwise by an association anew.

use std::collections::VecDeque;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Output};

use super::joining::{Found, Probing, Roam};
use super::securing::{Secured, terms};
use super::{Config, Event, Failure, LISTEN_INTERVAL, State, Station};
use crate::MacAddr;
use crate::bss::{Air, Attempt, Credential, discard, elements};
use crate::frame::management::{AssociationRequest, AssociationResponse, Authentication};
use crate::frame::{AuthenticationAlgorithm, Management, StatusCode};
use crate::transition::Agreed;
use crate::transition::station::{AwaitingAnswer, AwaitingReassociation, Membership, begin};

type Out = VecDeque<Output<Event>>;

/// Waits for the second frame of a fast transition.
#[derive(Debug)]
pub(super) struct Transiting {
    pub(super) found: Found,
    exchange: AwaitingAnswer,
    /// The elements of the first frame.
    asked: Vec<u8>,
    pub(super) attempt: Attempt,
}

/// Waits for the response to its reassociation.
#[derive(Debug)]
pub(super) struct Reassociating {
    pub(super) found: Found,
    exchange: AwaitingReassociation,
    /// The elements of the request.
    asked: Vec<u8>,
    pub(super) attempt: Attempt,
}

impl Transiting {
    fn begin(
        config: &Config,
        (found, membership): (Found, Membership),
        rng: &mut Rng,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Option<Self> {
        let terms = terms(config, &found, &Credential::None)?;
        let (exchange, asked) = begin(membership, terms, rng).ok()?;
        let wait = Self { found, exchange, asked, attempt: Attempt::begin(cx.now) };
        wait.ask(false, (air, out), cx);
        Some(wait)
    }

    fn ask(&self, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let request = Management::Authentication(Authentication {
            algorithm: AuthenticationAlgorithm::FAST_BSS_TRANSITION,
            sequence: 1,
            status: StatusCode::SUCCESS,
            rest: &self.asked,
        });
        let bssid = self.found.bssid;
        out.push_back(Output::Datagram(air.manage((bssid, bssid), &request, again, cx.trace)));
    }

    pub(super) fn again(&mut self, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.ask(true, (air, out), cx);
        true
    }

    /// Takes the second frame, and asks to reassociate.
    pub(super) fn on_answer(
        &self,
        config: &Config,
        answer: &Authentication<'_>,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Reassociating>, Failure> {
        if (answer.algorithm, answer.sequence) != (AuthenticationAlgorithm::FAST_BSS_TRANSITION, 2) {
            return Ok(None);
        }
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        let taken =
            answer.elements().map_err(Into::into).and_then(|heard| self.exchange.on_answer(&heard, cx));
        let (exchange, asked) = match taken {
            Ok(taken) => taken,
            // Nothing proves who has sent it: the right one may still come.
            Err(why) => {
                discard(Protocol::MANAGEMENT, &why, cx);
                return Ok(None);
            }
        };
        let wait =
            Reassociating { found: self.found.clone(), exchange, asked, attempt: Attempt::begin(cx.now) };
        wait.ask(config, false, (air, out), cx);
        Ok(Some(wait))
    }
}

impl Reassociating {
    fn ask(&self, config: &Config, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let request = Management::AssociationRequest(AssociationRequest {
            capabilities: config.security.capabilities(),
            listen_interval: LISTEN_INTERVAL,
            current_ap: self.found.from,
            elements: elements(&config.ssid, &self.asked),
        });
        let bssid = self.found.bssid;
        out.push_back(Output::Datagram(air.manage((bssid, bssid), &request, again, cx.trace)));
    }

    pub(super) fn again(&mut self, config: &Config, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.ask(config, true, (air, out), cx);
        true
    }

    pub(super) fn on_answer(
        &self,
        answer: &AssociationResponse<'_>,
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Agreed>, Failure> {
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        match self.exchange.on_response(&answer.elements, cx) {
            Ok(agreed) => Ok(Some(agreed)),
            Err(why) => {
                discard(Protocol::MANAGEMENT, &why, cx);
                Ok(None)
            }
        }
    }
}

impl Station {
    /// Moves to another access point of its network; its keys with the present one end here and now.
    pub(super) fn roam(&mut self, to: MacAddr, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &self.state else { return };
        let roam = Roam { from: secured.link.peer, to };
        if !secured.link.is_member || roam.from == to {
            return;
        }
        cx.crypto.enter(super::JOIN);
        let air = (&mut self.air, &mut self.out);
        self.state = State::Probing(Probing::begin(&self.config, Some(roam), air, cx));
    }

    /// The keys of the mobility domain, if the access point to which it moves is of that.
    pub(super) fn membership(&self, found: &Found) -> Option<Membership> {
        let membership = self.membership.clone()?;
        (found.from.is_some() && found.mde == Some(membership.mde)).then_some(membership)
    }

    pub(super) fn transit(&mut self, found: Found, membership: Membership, cx: &mut Ctx<'_>) {
        let (config, air) = (&self.config, (&mut self.air, &mut self.out));
        match Transiting::begin(config, (found, membership), &mut self.rng, air, cx) {
            Some(wait) => self.state = State::Transiting(Box::new(wait)),
            None => self.end(Failure::NoKey),
        }
    }

    /// The target does not get our key: what is left is an association anew.
    pub(super) fn associate_instead(&mut self, cx: &mut Ctx<'_>) {
        let State::Transiting(wait) = &self.state else { return };
        let found = wait.found.clone();
        self.membership = None;
        self.authenticate(found, cx);
    }

    /// The target has admitted it, and has proved that it has the key.
    pub(super) fn moved(&mut self, agreed: Agreed, cx: &mut Ctx<'_>) {
        let State::Reassociating(wait) = &self.state else { return };
        match Secured::after_transition(wait.found.bssid, agreed, &mut self.rng, cx.now) {
            Ok(secured) => self.begin_securing(secured),
            Err(why) => self.end(why),
        }
    }
}
