//! From a probe request to an association: what a station waits for before it has to do with keys. 802.11-2020 §11.1.4.3 (active
//! scanning), §11.3.4 (authentication), §11.3.5 (association).

use std::collections::VecDeque;

use keytoll_crypto_api::Secret;
use keytoll_engine::{Ctx, Output, Time};

use super::securing::Secured;
use super::{Config, Event, Failure};
use crate::MacAddr;
use crate::bss::{Air, Attempt, BROADCAST, elements, rsne_of};
use crate::frame::management::{AssociationRequest, AssociationResponse, Authentication, Beacon};
use crate::frame::{AuthenticationAlgorithm, ElementId, Elements, Management, ManagementHeader, StatusCode};
use crate::handshake::{Declared, Generation};
use crate::sae::Pmkid;

type Out = VecDeque<Output<Event>>;

/// In how many beacons a station that sleeps looks for frames. Ours do not sleep.
const LISTEN_INTERVAL: u16 = 10;

/// Waits for a probe response of its network.
#[derive(Debug)]
pub(super) struct Probing {
    pub(super) attempt: Attempt,
}

/// Waits for the answer to open system authentication.
#[derive(Debug)]
pub(super) struct Authenticating {
    pub(super) bssid: MacAddr,
    /// What the access point declared in its probe response.
    pub(super) declared: Declared,
    pub(super) attempt: Attempt,
}

/// Waits for the answer to its association request.
#[derive(Debug)]
pub(super) struct Associating {
    pub(super) bssid: MacAddr,
    declared: Declared,
    /// The PMK of SAE, with its name.
    pmk: Option<(Secret, Pmkid)>,
    pub(super) attempt: Attempt,
}

impl Probing {
    pub(super) fn begin(config: &Config, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> Self {
        probe(config, false, (air, out), cx);
        Self { attempt: Attempt::begin(cx.now) }
    }

    pub(super) fn again(&mut self, config: &Config, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        probe(config, true, (air, out), cx);
        true
    }
}

fn probe(config: &Config, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
    let request = Management::ProbeRequest(elements(&config.ssid, &[]));
    let frame = air.manage((BROADCAST, BROADCAST), &request, again, cx.trace);
    out.push_back(Output::Datagram(frame));
}

/// A beacon or probe response: if it is of our network, authentication begins.
pub(super) fn on_beacon(
    config: &Config,
    header: ManagementHeader,
    beacon: &Beacon<'_>,
    (air, out): (&mut Air, &mut Out),
    cx: &mut Ctx<'_>,
) -> Result<Option<Authenticating>, Failure> {
    if beacon.elements.find(ElementId::SSID) != Some(config.ssid.octets()) {
        return Ok(None);
    }
    check(config, beacon)?;
    let declared = Declared::of(&beacon.elements, Generation::Rsn);
    let wait = Authenticating { bssid: header.source, declared, attempt: Attempt::begin(cx.now) };
    if !config.security.has_sae() {
        wait.ask(false, (air, out), cx);
    }
    Ok(Some(wait))
}

/// Whether the network protects as we demand.
fn check(config: &Config, beacon: &Beacon<'_>) -> Result<(), Failure> {
    let offered = rsne_of(&beacon.elements);
    let suits = match (config.security.rsn(), &offered) {
        (Some(rsn), Some(offered)) => rsn.suits(offered),
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => beacon.capabilities.has(config.security.capabilities()),
    };
    if suits { Ok(()) } else { Err(Failure::NoCommonSuite) }
}

impl Authenticating {
    fn ask(&self, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let request = Authentication {
            algorithm: AuthenticationAlgorithm::OPEN_SYSTEM,
            sequence: 1,
            status: StatusCode::SUCCESS,
            rest: &[],
        };
        let request = Management::Authentication(request);
        let frame = air.manage((self.bssid, self.bssid), &request, again, cx.trace);
        out.push_back(Output::Datagram(frame));
    }

    pub(super) fn again(&mut self, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.ask(true, (air, out), cx);
        true
    }

    pub(super) fn on_answer(
        &self,
        config: &Config,
        answer: &Authentication<'_>,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Associating>, Failure> {
        if (answer.algorithm, answer.sequence) != (AuthenticationAlgorithm::OPEN_SYSTEM, 2) {
            return Ok(None);
        }
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        let authenticated = (self.bssid, self.declared.clone(), None);
        Ok(Some(Associating::begin(config, authenticated, (air, out), cx)))
    }
}

impl Associating {
    /// Asks the access point that has authenticated us, by SAE with a PMK.
    pub(super) fn begin(
        config: &Config,
        (bssid, declared, pmk): (MacAddr, Declared, Option<(Secret, Pmkid)>),
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Self {
        let wait = Self { bssid, declared, pmk, attempt: Attempt::begin(cx.now) };
        wait.ask(config, false, (air, out), cx);
        wait
    }

    fn ask(&self, config: &Config, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let rsne = config.security.rsne();
        let request = Management::AssociationRequest(AssociationRequest {
            capabilities: config.security.capabilities(),
            listen_interval: LISTEN_INTERVAL,
            current_ap: None,
            elements: elements(&config.ssid, &rsne),
        });
        let frame = air.manage((self.bssid, self.bssid), &request, again, cx.trace);
        out.push_back(Output::Datagram(frame));
    }

    pub(super) fn again(&mut self, config: &Config, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.ask(config, true, (air, out), cx);
        true
    }

    pub(super) fn on_answer(
        &self,
        config: &Config,
        answer: &AssociationResponse<'_>,
        now: Time,
    ) -> Result<Option<Secured>, Failure> {
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        let rsne = config.security.rsne();
        let station = Declared::of(&declared(&rsne), Generation::Rsn);
        let declared = [self.declared.clone(), station];
        let pmk = self.pmk.clone().map(|(pmk, name)| (pmk, Some(name)));
        let pmk = pmk.or_else(|| config.pmk.clone().map(|pmk| (pmk, None)));
        Ok(Some(Secured::new(config, self.bssid, declared, pmk, now)))
    }
}

/// The RSNE alone, with id and length, as elements.
fn declared(rsne: &[u8]) -> Elements<'_> {
    Elements::read(&mut keytoll_net::wire::Reader::new(rsne)).unwrap_or_default()
}
