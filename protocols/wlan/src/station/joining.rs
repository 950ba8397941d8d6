//! From a probe request to an association: what a station waits for before it has to do with keys. 802.11-2020 §11.1.4.3 (active
//! scanning), §11.3.4 (authentication), §11.3.5 (association).

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Ctx, Output, Time};

use super::securing::Secured;
use super::{Config, Event, Failure, LISTEN_INTERVAL};
use crate::MacAddr;
use crate::bss::{Air, Attempt, BROADCAST, Credential, elements, mde_of, rsne_of};
use crate::frame::management::beacon::Capabilities;
use crate::frame::management::{AssociationRequest, AssociationResponse, Authentication, Beacon};
use crate::frame::rsn::Mde;
use crate::frame::{AuthenticationAlgorithm, Comeback, ElementId, Management, ManagementHeader, StatusCode};
use crate::handshake::{Declared, Generation};

type Out = VecDeque<Output<Event>>;

/// Waits for a probe response of its network.
#[derive(Debug)]
pub(super) struct Probing {
    /// If it is a member already.
    pub(super) roam: Option<Roam>,
    pub(super) attempt: Attempt,
}

/// Between which access points a station moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roam {
    pub(super) from: MacAddr,
    pub(super) to: MacAddr,
}

/// The access point of its network, as its probe response shows it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) bssid: MacAddr,
    /// What it declared.
    pub(super) declared: Declared,
    /// Its mobility domain.
    pub(super) mde: Option<Mde>,
    /// The access point from which we move.
    pub(super) from: Option<MacAddr>,
}

/// The access point has authenticated us, and this has come of it.
#[derive(Debug, Clone)]
pub(super) struct Authenticated {
    pub(super) found: Found,
    pub(super) credential: Credential,
}

/// Waits for the answer to open system authentication.
#[derive(Debug)]
pub(super) struct Authenticating {
    /// What there is when it is answered.
    pub(super) authenticated: Authenticated,
    pub(super) attempt: Attempt,
}

/// Waits for the answer to its association request, or to ask again when it may.
#[derive(Debug)]
pub(super) struct Associating {
    pub(super) authenticated: Authenticated,
    pub(super) attempt: Attempt,
    /// How often it was told to come back.
    comebacks: u8,
}

/// So often it comes back.
const COMEBACKS_MAX: u8 = 2;
/// And waits so long at most: nobody proves who tells it so.
const COMEBACK_MAX: Duration = Duration::from_secs(10);

impl Probing {
    pub(super) fn begin(
        config: &Config,
        roam: Option<Roam>,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Self {
        let wait = Self { roam, attempt: Attempt::begin(cx.now) };
        probe(config, (wait.whom(), false), (air, out), cx);
        wait
    }

    fn whom(&self) -> MacAddr {
        self.roam.map_or(BROADCAST, |roam| roam.to)
    }

    pub(super) fn again(&mut self, config: &Config, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        probe(config, (self.whom(), true), (air, out), cx);
        true
    }
}

/// Asks whoever has the network, or this access point.
pub(super) fn probe(
    config: &Config,
    (to, again): (MacAddr, bool),
    (air, out): (&mut Air, &mut Out),
    cx: &mut Ctx<'_>,
) {
    let request = Management::ProbeRequest(elements(&config.ssid, &[]));
    let frame = air.manage((to, to), &request, again, cx.trace);
    out.push_back(Output::Datagram(frame));
}

/// A beacon or probe response: if it is of our network, that is found.
pub(super) fn on_beacon(
    config: &Config,
    roam: Option<Roam>,
    header: ManagementHeader,
    beacon: &Beacon<'_>,
) -> Result<Option<Found>, Failure> {
    let is_of_network = beacon.elements.find(ElementId::SSID) == Some(config.ssid.octets());
    if !is_of_network || roam.is_some_and(|roam| roam.to != header.source) {
        return Ok(None);
    }
    check(config, beacon)?;
    let declared = Declared::of(&beacon.elements, Generation::Rsn);
    let mde = mde_of(&beacon.elements);
    Ok(Some(Found { bssid: header.source, declared, mde, from: roam.map(|roam| roam.from) }))
}

/// Whether the network protects as we demand.
fn check(config: &Config, beacon: &Beacon<'_>) -> Result<(), Failure> {
    let offered = rsne_of(&beacon.elements);
    let suits = match (config.security.rsn(), &offered) {
        (Some(rsn), Some(offered)) => {
            rsn.suits(offered) && (!rsn.akm.has_fast_transition() || mde_of(&beacon.elements).is_some())
        }
        (Some(_), None) | (None, Some(_)) => false,
        // 802.11-2020 §9.4.1.4: the Privacy bit says that data frames are encrypted.
        (None, None) => {
            let is_private = |capabilities: Capabilities| capabilities.has(Capabilities::PRIVACY);
            is_private(beacon.capabilities) == is_private(config.security.capabilities())
        }
    };
    if suits { Ok(()) } else { Err(Failure::NoCommonSuite) }
}

impl Authenticating {
    /// Asks with open system authentication.
    pub(super) fn begin(
        authenticated: Authenticated,
        air: &mut Air,
        out: &mut Out,
        cx: &mut Ctx<'_>,
    ) -> Self {
        let wait = Self { authenticated, attempt: Attempt::begin(cx.now) };
        wait.ask(false, (air, out), cx);
        wait
    }

    fn ask(&self, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let request = Authentication {
            algorithm: AuthenticationAlgorithm::OPEN_SYSTEM,
            sequence: 1,
            status: StatusCode::SUCCESS,
            rest: &[],
        };
        let request = Management::Authentication(request);
        let bssid = self.authenticated.found.bssid;
        let frame = air.manage((bssid, bssid), &request, again, cx.trace);
        out.push_back(Output::Datagram(frame));
    }

    pub(super) fn again(&mut self, air: &mut Air, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Some(attempt) = self.attempt.again(cx.now) else { return false };
        self.attempt = attempt;
        self.ask(true, (air, out), cx);
        true
    }

    pub(super) fn on_answer(&self, answer: &Authentication<'_>) -> Result<Option<Authenticated>, Failure> {
        if (answer.algorithm, answer.sequence) != (AuthenticationAlgorithm::OPEN_SYSTEM, 2) {
            return Ok(None);
        }
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        Ok(Some(self.authenticated.clone()))
    }
}

impl Associating {
    /// Asks the access point that has authenticated us.
    pub(super) fn begin(
        config: &Config,
        authenticated: Authenticated,
        (air, out): (&mut Air, &mut Out),
        cx: &mut Ctx<'_>,
    ) -> Self {
        let wait = Self { authenticated, attempt: Attempt::begin(cx.now), comebacks: 0 };
        wait.ask(config, false, (air, out), cx);
        wait
    }

    // 802.11-2020 §11.3.5.2: a station that is refused for now asks again after the association comeback time.
    /// Whether it is to come back, and does.
    pub(super) fn comes_back(&mut self, answer: &AssociationResponse<'_>, now: Time) -> bool {
        let told = answer.elements.find(ElementId::TIMEOUT_INTERVAL).map(Comeback::read);
        let (StatusCode::REFUSED_TEMPORARILY, Some(Ok(comeback))) = (answer.status, told) else {
            return false;
        };
        if self.comebacks >= COMEBACKS_MAX || comeback.time() > COMEBACK_MAX {
            return false;
        }
        self.comebacks += 1;
        self.attempt = Attempt::at(now + comeback.time());
        true
    }

    fn ask(&self, config: &Config, again: bool, (air, out): (&mut Air, &mut Out), cx: &mut Ctx<'_>) {
        let Authenticated { found, credential } = &self.authenticated;
        let rsne = config.security.rsne(credential.cached());
        // 802.11-2020 §13.4.2: in a mobility domain it declares that, too.
        let mde = found.mde.filter(|_| config.security.has_fast_transition());
        let mde = mde.as_ref().map(Mde::to_bytes).unwrap_or_default();
        let declared = [rsne, mde, config.security.rsnxe()].concat();
        let request = Management::AssociationRequest(AssociationRequest {
            capabilities: config.security.capabilities(),
            listen_interval: LISTEN_INTERVAL,
            current_ap: found.from,
            elements: elements(&config.ssid, &declared),
        });
        let bssid = self.authenticated.found.bssid;
        let frame = air.manage((bssid, bssid), &request, again, cx.trace);
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
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Secured>, Failure> {
        if answer.status != StatusCode::SUCCESS {
            return Err(Failure::Refused(answer.status.0));
        }
        Secured::new(config, self.authenticated.clone(), &answer.elements, rng, cx).map(Some)
    }
}
