//! Management frames of stations: probes, authentication, association, farewells. 802.11-2020 §11.1.4.3.4, §11.3.4.3, §11.3.5.3.

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Datagram, Output, Time};

use super::member::Member;
use super::mobility::Mobility;
use super::{AccessPoint, Authenticated, Ended, Event, MOVED, ToOthers};
use crate::MacAddr;
use crate::bss::{self, Credential, Link, elements, mde_of, rsne_of};
use crate::frame::management::{
    Action, AssociationRequest, AssociationResponse, Authentication, Beacon, Farewell, SaQuery,
};
use crate::frame::{
    AuthenticationAlgorithm, Comeback, Element, ElementId, Elements, Management, ReasonCode, StatusCode,
};
use crate::handshake::{Declared, Generation, Pmksa, PmksaCache};
use crate::sae;
use crate::shared_key::Answered;
use crate::suite::Akm;

/// From one beacon to the next: 100 time units of 1024 microseconds, as everybody has it.
pub const BEACON_INTERVAL_TU: u16 = 100;

/// A traffic indication map (802.11-2020 §9.4.2.5) that knows of nothing: every beacon is a DTIM, and no station sleeps.
const NO_TRAFFIC: [u8; 4] = [0, 1, 0, 0];

impl AccessPoint {
    /// Takes a management frame of a station that is in the clear, or was opened.
    pub(super) fn admit(&mut self, station: MacAddr, body: &Management<'_>, cx: &mut Ctx<'_>) {
        match body {
            Management::ProbeRequest(elements) => self.on_probe(station, elements, cx),
            Management::Authentication(request) => self.on_authentication(station, request, cx),
            Management::AssociationRequest(request) => self.on_association(station, request, cx),
            Management::Deauthentication(farewell) | Management::Disassociation(farewell) => {
                self.on_farewell(station, farewell);
            }
            Management::Action(Action::SaQuery(query)) => self.on_sa_query(station, query, cx),
            _ => cx.discard(Protocol::MANAGEMENT, "nobody waits for it"),
        }
    }

    pub(super) fn manage(&mut self, station: MacAddr, body: &Management<'_>, cx: &mut Ctx<'_>) {
        let frame = self.air.manage((station, self.air.own), body, false, cx.trace);
        self.out.push_back(Output::Datagram(frame));
    }

    // 802.11-2020 §11.1.4.3.4: the wildcard SSID is every network's.
    fn on_probe(&mut self, station: MacAddr, asked: &Elements<'_>, cx: &mut Ctx<'_>) {
        let ssid = asked.find(ElementId::SSID).unwrap_or_default();
        if !ssid.is_empty() && ssid != self.config.ssid.octets() {
            return;
        }
        let (ssid, declared) = (self.config.ssid.clone(), self.declared());
        let elements = elements(&ssid, &declared);
        self.manage(station, &Management::Beacon(self.announcement(true, elements, cx.now)), cx);
    }

    /// A beacon, which whoever drives the access point sends at every beacon interval ([`BEACON_INTERVAL_TU`]): it keeps no time
    /// of its own for that.
    pub fn beacon(&mut self, cx: &mut Ctx<'_>) -> Datagram {
        let (ssid, declared) = (self.config.ssid.clone(), self.declared());
        let mut elements = elements(&ssid, &declared);
        // 802.11-2020 §9.3.3.2: the traffic indication map is between the rates and the RSNE.
        elements.0.insert(2, Element { id: ElementId::TIM, body: &NO_TRAFFIC });
        let body = Management::Beacon(self.announcement(false, elements, cx.now));
        self.air.manage((bss::BROADCAST, self.air.own), &body, false, cx.trace)
    }

    const fn announcement<'a>(&self, is_response: bool, elements: Elements<'a>, now: Time) -> Beacon<'a> {
        Beacon {
            is_response,
            timestamp_us: now.as_nanos() / 1000,
            interval_tu: BEACON_INTERVAL_TU,
            capabilities: self.config.security.capabilities(),
            elements,
        }
    }

    /// RSNE, MDE and RSNXE, as in beacons.
    fn declared(&self) -> Vec<u8> {
        let mde = self.mobility.as_ref().map(|mobility| mobility.domain.mde.to_bytes());
        let security = &self.config.security;
        [security.rsne(None), mde.unwrap_or_default(), security.rsnxe()].concat()
    }

    // 802.11-2020 §13.4.2: in a mobility domain, the response to a first association has MDE and FTE.
    fn first_elements(&self) -> Vec<u8> {
        let (Some(rsn), Some(mobility)) = (self.config.security.rsn(), &self.mobility) else {
            return Vec::new();
        };
        let Mobility { domain, .. } = mobility;
        [domain.mde.to_bytes(), domain.first_fte(rsn.akm, self.air.own)].concat()
    }

    fn on_authentication(&mut self, station: MacAddr, request: &Authentication<'_>, cx: &mut Ctx<'_>) {
        if let (Some(sae), AuthenticationAlgorithm::SAE) = (&mut self.sae, request.algorithm) {
            let outputs = bss::sae_heard(sae, station, request, cx);
            return self.on_sae(outputs, cx);
        }
        if request.is_answer() {
            return cx.discard(Protocol::MANAGEMENT, "an answer of another access point");
        }
        let is_transition = request.algorithm == AuthenticationAlgorithm::FAST_BSS_TRANSITION;
        if is_transition && self.mobility.is_some() {
            return self.on_transition(station, request, cx);
        }
        let status = match (request.algorithm, request.sequence) {
            (AuthenticationAlgorithm::OPEN_SYSTEM, 1) => {
                self.authenticate(station, Credential::None, None, cx);
                StatusCode::SUCCESS
            }
            (AuthenticationAlgorithm::OPEN_SYSTEM, _) => StatusCode::TRANSACTION_SEQUENCE_ERROR,
            _ => StatusCode::UNSUPPORTED_AUTH_ALGORITHM,
        };
        let sequence = request.sequence.saturating_add(1);
        let answer = Authentication { algorithm: request.algorithm, sequence, status, rest: &[] };
        self.manage(station, &Management::Authentication(answer), cx);
    }

    /// A station has authenticated.
    pub(super) fn authenticate(
        &mut self,
        station: MacAddr,
        credential: Credential,
        answered: Option<Answered>,
        cx: &Ctx<'_>,
    ) {
        self.authenticated.insert(station, Authenticated { credential, answered }, cx.now);
    }

    pub(super) fn on_sae(&mut self, outputs: Vec<sae::Output>, cx: &mut Ctx<'_>) {
        for output in outputs {
            match output {
                sae::Output::Send(message) => self.manage(message.peer, &bss::sae_frame(&message), cx),
                sae::Output::Accepted { peer, pmk, pmkid } => {
                    let until = cx.now + PmksaCache::LIFETIME;
                    let pmksa = Pmksa { pmkid, pmk: pmk.clone(), akm: Akm::Sae, until };
                    self.pmksas.insert(peer, pmksa);
                    self.authenticate(peer, Credential::Pmk(pmk, pmkid), None, cx);
                }
                sae::Output::Failed { peer, why } => self.on_sae_failed(peer, why, cx),
            }
        }
    }

    /// Nothing came of an exchange. Who floods answers no commit; a wrong confirm is told.
    fn on_sae_failed(&mut self, station: MacAddr, why: sae::Failure, cx: &mut Ctx<'_>) {
        bss::discard(Protocol::MANAGEMENT, &why, cx);
        if why == sae::Failure::WrongConfirm && self.members.get(station).is_none() {
            self.out.push_back(Output::Event(Event::Ended(station, Ended::Sae(why))));
        }
    }

    /// Makes room for one more station: whoever has no keys yet cannot hold a place that one with a name needs.
    pub(super) fn make_room(&mut self, station: MacAddr, cx: &mut Ctx<'_>) {
        let has_room = self.members.keyless_count() < self.config.strangers_max
            && self.members.len() < self.config.members_max;
        if has_room || self.members.get(station).is_some() {
            return;
        }
        if let Some(oldest) = self.members.oldest_keyless() {
            self.expel(oldest, ReasonCode::NO_MORE_STAS, Ended::Displaced, cx);
        }
    }

    fn on_association(&mut self, station: MacAddr, request: &AssociationRequest<'_>, cx: &mut Ctx<'_>) {
        if self.on_reassociation(station, request, cx) {
            return;
        }
        let Some(Authenticated { credential, .. }) = self.authenticated.get(station) else {
            // 802.11-2020 §11.3.5.3: it is told that it is not authenticated.
            self.deauthenticate(station, ReasonCode::NOT_AUTHENTICATED, cx);
            return cx.discard(Protocol::MANAGEMENT, "association without authentication");
        };
        let credential = self.cached(station, request, cx.now).unwrap_or_else(|| credential.clone());
        // 802.11-2020 §12.6.8.3: with SAE the station has proved that it knows the password, or there is no PMK.
        let has_pmk = matches!(credential, Credential::Pmk(..) | Credential::Cached(..))
            || !self.config.security.has_sae();
        let admitted =
            if has_pmk { self.judge(station, request, cx) } else { Err(StatusCode::INVALID_PMKID) };
        let (status, aid) = match &admitted {
            Ok(member) => (StatusCode::SUCCESS, member.aid),
            Err(status) => (*status, 0),
        };
        let behind = match status {
            StatusCode::REFUSED_TEMPORARILY => self.comeback(station, cx.now),
            _ => self.first_elements(),
        };
        let ssid = self.config.ssid.clone();
        let answer = AssociationResponse {
            reassociation: request.current_ap.is_some(),
            capabilities: self.config.security.capabilities(),
            status,
            aid: AssociationResponse::AID_BITS | aid,
            elements: Elements(elements(&ssid, &behind).0.split_off(1)),
        };
        self.manage(station, &Management::AssociationResponse(answer), cx);
        if let Ok(member) = admitted {
            self.authenticated.remove(station);
            self.welcome(station, member, credential, cx);
        }
    }

    // 802.11-2020 §11.3.5.3: who is refused for now hears when the SA Query is over.
    fn comeback(&self, station: MacAddr, now: Time) -> Vec<u8> {
        let query = self.members.get(station).and_then(|member| member.query);
        query.map_or_else(Vec::new, |query| Comeback::after(query.left(now)).to_bytes())
    }

    // 802.11-2020 §12.6.10.3: if the PMKSA is not there, the station authenticates with EAP as if it had named none.
    /// The PMK of an association before that a station names.
    fn cached(&self, station: MacAddr, request: &AssociationRequest<'_>, now: Time) -> Option<Credential> {
        let (akm, named) = (self.config.security.rsn()?.akm, rsne_of(&request.elements)?.pmkids);
        let pmksa = self.pmksas.named(station, akm, &named, now)?;
        Some(Credential::Cached(pmksa.pmk.clone(), pmksa.pmkid))
    }

    /// Whether a station may associate, and as what.
    fn judge(
        &mut self,
        station: MacAddr,
        request: &AssociationRequest<'_>,
        cx: &mut Ctx<'_>,
    ) -> Result<Member, StatusCode> {
        self.check_member(station, cx)?;
        let offered = rsne_of(&request.elements);
        let mut protects_management = false;
        match (self.config.security.rsn(), &offered) {
            (Some(rsn), Some(offered)) if rsn.suits(offered) => {
                protects_management = rsn.protects_management(offered);
            }
            (Some(_), Some(_)) => return Err(StatusCode::CIPHER_OUT_OF_POLICY),
            (Some(_), None) => return Err(StatusCode::INVALID_ELEMENT),
            (None, _) => {}
        }
        if let Some(mobility) = &self.mobility
            && mde_of(&request.elements) != Some(mobility.domain.mde)
        {
            return Err(StatusCode::INVALID_MDE);
        }
        let declaration = self.declared();
        let ours = bss::read(&declaration);
        let declared = [&ours, &request.elements].map(|elements| Declared::of(elements, Generation::Rsn));
        let addresses = [self.air.own, station];
        let terms = self.config.security.rsn().map(|rsn| rsn.terms(addresses, declared, protects_management));
        let is_complete = self.config.security.is_complete_at_association();
        self.make_room(station, cx);
        Ok(Member {
            aid: self.free_aid(station).ok_or(StatusCode::DENIED_NO_MORE_STAS)?,
            link: Link::new((station, self.air.own), protects_management, is_complete),
            terms,
            handshake: None,
            root: None,
            from: request.current_ap,
            timer: None,
            since: cx.now,
            query: None,
        })
    }

    // 802.11-2020 §11.3.5.3: who has keys that protect management frames does not lose them to a request in the clear: it is
    // asked first whether it still has them.
    fn check_member(&mut self, station: MacAddr, cx: &mut Ctx<'_>) -> Result<(), StatusCode> {
        let Some(member) = self.members.get_mut(station) else { return Ok(()) };
        if !member.link.is_robust_now() {
            return Ok(());
        }
        match member.query {
            Some(query) if query.is_over(cx.now) => return Ok(()),
            Some(_) => {}
            None => {
                let query = member.ask(self.rng.bytes(), &mut self.air, cx);
                self.out.extend(query.map(Output::Datagram));
                self.members.settle(station);
            }
        }
        Err(StatusCode::REFUSED_TEMPORARILY)
    }

    /// The number of a station: its own if it has one, else one that nobody has.
    pub(super) fn free_aid(&self, station: MacAddr) -> Option<u16> {
        if let Some(member) = self.members.get(station) {
            return Some(member.aid);
        }
        if self.members.len() >= self.config.members_max {
            return None;
        }
        let taken: std::collections::BTreeSet<u16> = self.members.iter().map(|member| member.aid).collect();
        (1..=2007).find(|aid| !taken.contains(aid))
    }

    fn on_farewell(&mut self, station: MacAddr, farewell: &Farewell<'_>) {
        self.authenticated.remove(station);
        self.remove(station, Ended::Left(farewell.reason.0));
    }

    fn on_sa_query(&mut self, station: MacAddr, query: &SaQuery<'_>, cx: &mut Ctx<'_>) {
        let Some(member) = self.members.get_mut(station) else { return };
        if query.is_response {
            // The station still has its keys: whoever asked to associate was somebody else.
            member.query = member.query.filter(|asked| !asked.is_answered_by(query.transaction));
            self.members.settle(station);
            return;
        }
        let answer = SaQuery { is_response: true, ..query.clone() };
        let answer = Management::Action(Action::SaQuery(answer));
        let frame = member.link.manage(&answer, &mut self.air, cx);
        self.out.extend(frame.map(Output::Datagram));
    }

    /// The access point from which a new member came is told so. Before it has its keys, anybody may have named that one.
    pub(super) fn tell_origin(&mut self, station: MacAddr) {
        let Some(member) = self.members.get_mut(station) else { return };
        if let Some(from) = member.from.take().filter(|from| *from != self.air.own) {
            self.tell_others(ToOthers::CameFrom(station, from));
        }
    }

    /// A station is a member elsewhere. Of one that is none here there is nothing to forget.
    pub(super) fn forget(&mut self, station: MacAddr) {
        if self.members.get(station).is_some() {
            self.remove(station, MOVED);
        }
    }

    /// A station is a member no more.
    pub(super) fn remove(&mut self, station: MacAddr, why: Ended) {
        if let Some(dot1x) = &mut self.dot1x {
            dot1x.forget(station);
        }
        if let Some(sae) = self.sae.as_mut().filter(|_| why != Ended::Anew) {
            sae.forget(station);
        }
        if self.members.remove(station) {
            self.out.push_back(Output::Event(Event::Ended(station, why)));
        }
    }
}
