//! An access point in a mobility domain: holder of PMK-R0s for stations that entered the domain here, target of stations that come
//! from elsewhere. 802.11-2020 §13.4.2, §13.5.2, §13.7.1.

use std::time::Duration;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Output, Time};

use super::member::Member;
use super::table::Expiring;
use super::{AccessPoint, Ended, Event, STRANGER_LIFE, ToOthers};
use crate::MacAddr;
use crate::bss::{Link, Rsn, discard, elements};
use crate::cipher::Side;
use crate::frame::management::{AssociationRequest, AssociationResponse, Authentication};
use crate::frame::{AuthenticationAlgorithm, ElementId, Elements, Management, StatusCode};
use crate::handshake::{self, Declared, Master, PairwiseKey, PmksaCache, Retransmission, Terms, Transition};
use crate::keys::{KeyName, PmkR0, PmkR1, R0Holder};
use crate::suite::Akm;
use crate::transition::access_point::{Asked, AwaitingReassociation};
use crate::transition::{self, Agreed, Domain, Failure, Pull};

/// What it keeps of the domain.
#[derive(Debug)]
pub(super) struct Mobility {
    pub(super) domain: Domain,
    /// Of stations that entered the domain here.
    roots: Expiring<PmkR0>,
    /// Of stations that came from elsewhere, for this access point alone.
    keys: Expiring<(Pull, PmkR1)>,
    /// Of stations that are about to come.
    transits: Expiring<Transit>,
}

/// A fast transition under way.
#[derive(Debug)]
enum Transit {
    /// Waits for the PMK-R1.
    Pulling(Asked),
    /// Waits for the reassociation request.
    Answered(Box<Answered>),
}

#[derive(Debug)]
struct Answered {
    asked: Asked,
    /// The elements of the second frame.
    answer: Vec<u8>,
    wait: AwaitingReassociation,
    /// Request and response, once the station is a member.
    done: Option<(Vec<u8>, Done)>,
}

/// A response that comes again for a request that comes again: keys are not installed twice.
#[derive(Debug, Clone)]
struct Done {
    aid: u16,
    elements: Vec<u8>,
}

/// A station that has proved its key.
struct Proved {
    done: Done,
    agreed: Agreed,
    group: handshake::GroupKeys,
}

impl Mobility {
    pub(super) const fn new(domain: Domain, members_max: usize, strangers_max: usize) -> Self {
        const KEY_LIFE: Duration = PmksaCache::LIFETIME;
        Self {
            domain,
            roots: Expiring::new(members_max, KEY_LIFE),
            keys: Expiring::new(members_max, KEY_LIFE),
            transits: Expiring::new(strangers_max, STRANGER_LIFE),
        }
    }

    /// What its first association leaves with a station that is a member now.
    pub(super) fn keep(&mut self, station: MacAddr, root: PmkR0, now: Time) {
        self.roots.insert(station, root, now);
    }

    /// The keys of a station that enters the domain here.
    pub(super) fn enter(
        &self,
        terms: &Terms,
        ssid: &[u8],
        xxkey: &[u8],
        crypto: &mut dyn Crypto,
    ) -> (PmkR0, Transition) {
        crypto.enter(transition::PHASE);
        let Domain { mde, r0kh_id } = &self.domain;
        let holder = R0Holder { ssid, mdid: mde.mdid, r0kh_id };
        let pmk_r0 = PmkR0::new(terms.akm, xxkey, &holder, terms.spa, crypto);
        let pmk_r1 = pmk_r0.r1(terms.akm, terms.aa, terms.spa, crypto);
        let fte = self.domain.first_fte(terms.akm, terms.aa);
        (pmk_r0, Transition { pmk_r1, mde: mde.to_bytes(), fte })
    }

    /// The PMK-R1 that this access point itself needs, if it is here.
    fn own_key(&self, pull: &Pull, akm: Akm, crypto: &mut dyn Crypto) -> Option<PmkR1> {
        let pulled = self.keys.get(pull.station).filter(|(pulled, _)| pulled == pull);
        pulled.map(|(_, key)| key.clone()).or_else(|| self.derive(pull, akm, crypto))
    }

    // 802.11-2020 §12.7.1.6.4: a PMK-R1 is for one R1KH, and none but the holder of the PMK-R0 derives it.
    /// The PMK-R1 of a station that entered the domain here.
    fn derive(&self, pull: &Pull, akm: Akm, crypto: &mut dyn Crypto) -> Option<PmkR1> {
        if pull.r0kh_id != self.domain.r0kh_id {
            return None;
        }
        let root = self.roots.get(pull.station).filter(|root| root.name == pull.pmk_r0_name)?;
        crypto.enter(transition::PHASE);
        Some(root.r1(akm, pull.r1kh_id, pull.station, crypto))
    }

    pub(super) fn expire(&mut self, now: Time) {
        while self.roots.pop_over(now).is_some() {}
        while self.keys.pop_over(now).is_some() {}
        while self.transits.pop_over(now).is_some() {}
    }

    /// When somebody who is about to come is forgotten.
    pub(super) fn ends_at(&self) -> Option<Time> {
        self.transits.ends_at()
    }

    /// How many are about to come.
    pub(super) fn transit_count(&self) -> usize {
        let is_open =
            |transit: &&Transit| !matches!(transit, Transit::Answered(answered) if answered.done.is_some());
        self.transits.iter().filter(is_open).count()
    }
}

impl AccessPoint {
    /// The PMK-R1 of a station that entered the domain here, for another access point of the domain; none if it did not.
    pub fn pmk_r1(&mut self, pull: &Pull, cx: &mut Ctx<'_>) -> Option<PmkR1> {
        let akm = self.config.security.rsn()?.akm;
        let mobility = self.mobility.as_mut()?;
        mobility.expire(cx.now);
        mobility.derive(pull, akm, cx.crypto)
    }

    /// Takes the first frame of a fast transition.
    pub(super) fn on_transition(&mut self, station: MacAddr, request: &Authentication<'_>, cx: &mut Ctx<'_>) {
        let (Some(rsn), Some(mobility)) = (self.config.security.rsn(), &mut self.mobility) else { return };
        mobility.expire(cx.now);
        if request.sequence != 1 {
            return self.refuse_transition(station, StatusCode::TRANSACTION_SEQUENCE_ERROR, cx);
        }
        let asked = request
            .elements()
            .map_err(Failure::from)
            .and_then(|elements| Asked::read(&elements, &mobility.domain, rsn.akm, [self.air.own, station]));
        let asked = match asked {
            Ok(asked) if rsn.suits(&asked.rsne) => asked,
            Ok(_) => return self.refuse_transition(station, StatusCode::CIPHER_OUT_OF_POLICY, cx),
            Err(why) => {
                discard(Protocol::MANAGEMENT, &why, cx);
                return self.refuse_transition(station, why.status(), cx);
            }
        };
        match mobility.transits.get(station) {
            Some(Transit::Answered(before)) if before.asked.is_again(&asked) && before.done.is_none() => {
                let answer = before.answer.clone();
                return self.send_transition(station, StatusCode::SUCCESS, &answer, cx);
            }
            Some(Transit::Pulling(before)) if before.is_again(&asked) => return,
            _ => {}
        }
        match mobility.own_key(&asked.pull, rsn.akm, cx.crypto) {
            Some(key) => self.answer_transition(asked, key, cx),
            None if asked.pull.r0kh_id == mobility.domain.r0kh_id => {
                self.refuse_transition(station, StatusCode::INVALID_PMKID, cx);
            }
            None => {
                let pull = asked.pull.clone();
                mobility.transits.insert(station, Transit::Pulling(asked), cx.now);
                self.tell_others(ToOthers::Pull(pull));
            }
        }
    }

    /// The holder has answered.
    pub(super) fn on_pulled(&mut self, pull: &Pull, key: Option<PmkR1>, cx: &mut Ctx<'_>) {
        let Some(mobility) = &mut self.mobility else { return };
        let asked = match mobility.transits.get(pull.station) {
            Some(Transit::Pulling(asked)) if asked.pull == *pull => asked.clone(),
            _ => return cx.discard(Protocol::MANAGEMENT, "a PMK-R1 that nobody waits for"),
        };
        let Some(key) = key else {
            mobility.transits.remove(pull.station);
            return self.refuse_transition(pull.station, StatusCode::INVALID_PMKID, cx);
        };
        mobility.keys.insert(pull.station, (pull.clone(), key.clone()), cx.now);
        self.answer_transition(asked, key, cx);
    }

    fn answer_transition(&mut self, asked: Asked, key: PmkR1, cx: &mut Ctx<'_>) {
        let station = asked.pull.station;
        let (Some(rsn), Some(mobility)) = (self.config.security.rsn(), &mut self.mobility) else { return };
        let terms = target_terms(rsn, &asked, [self.air.own, station]);
        match asked.answer(&mobility.domain, terms, key, &mut self.rng, cx) {
            Ok((wait, answer)) => {
                let answered = Answered { asked, answer: answer.clone(), wait, done: None };
                mobility.transits.insert(station, Transit::Answered(Box::new(answered)), cx.now);
                self.send_transition(station, StatusCode::SUCCESS, &answer, cx);
            }
            Err(why) => self.refuse_transition(station, why.status(), cx),
        }
    }

    fn refuse_transition(&mut self, station: MacAddr, status: StatusCode, cx: &mut Ctx<'_>) {
        self.send_transition(station, status, &[], cx);
    }

    fn send_transition(&mut self, station: MacAddr, status: StatusCode, elements: &[u8], cx: &mut Ctx<'_>) {
        let algorithm = AuthenticationAlgorithm::FAST_BSS_TRANSITION;
        let answer = Authentication { algorithm, sequence: 2, status, rest: elements };
        self.manage(station, &Management::Authentication(answer), cx);
    }

    /// Takes a reassociation request; whether it is one of a fast transition.
    pub(super) fn on_reassociation(
        &mut self,
        station: MacAddr,
        request: &AssociationRequest<'_>,
        cx: &mut Ctx<'_>,
    ) -> bool {
        let is_transition = request.elements.find(ElementId::FAST_TRANSITION).is_some();
        let transit = self.mobility.as_ref().and_then(|mobility| mobility.transits.get(station));
        let (Some(from), true, Some(Transit::Answered(answered))) =
            (request.current_ap, is_transition, transit)
        else {
            return false;
        };
        let bytes = elements_of(&request.elements);
        match &answered.done {
            Some((before, done)) if *before == bytes => {
                let done = done.clone();
                self.send_reassociation(station, StatusCode::SUCCESS, &done, cx);
            }
            Some(_) => cx.discard(Protocol::MANAGEMENT, "another reassociation under the same keys"),
            None => self.admit_transition(station, from, request, bytes, cx),
        }
        true
    }

    fn admit_transition(
        &mut self,
        station: MacAddr,
        from: MacAddr,
        request: &AssociationRequest<'_>,
        bytes: Vec<u8>,
        cx: &mut Ctx<'_>,
    ) {
        match self.judge_transition(station, request, cx) {
            Ok(Proved { done, agreed, group }) => {
                self.remember(station, bytes, &done);
                self.send_reassociation(station, StatusCode::SUCCESS, &done, cx);
                self.welcome_from(station, from, done.aid, (agreed, group), cx);
            }
            Err(why) => {
                discard(Protocol::MANAGEMENT, &why, cx);
                let none = Done { aid: 0, elements: Vec::new() };
                self.send_reassociation(station, why.status(), &none, cx);
            }
        }
    }

    /// Whether a station may come, and under which number: only who has proved its key takes one, and the place of another.
    fn judge_transition(
        &mut self,
        station: MacAddr,
        request: &AssociationRequest<'_>,
        cx: &mut Ctx<'_>,
    ) -> Result<Proved, Failure> {
        const NO_ROOM: Failure = Failure::Refused(StatusCode::DENIED_NO_MORE_STAS);
        let transit = self.mobility.as_ref().and_then(|it| it.transits.get(station));
        let Some(Transit::Answered(answered)) = transit else { return Err(NO_ROOM) };
        let group = self.group.keys(answered.wait.protects_management()).ok_or(NO_ROOM)?;
        let (agreed, elements) = answered.wait.on_request(&request.elements, &group, cx)?;
        self.make_room(station, cx);
        let aid = self.free_aid(station).ok_or(NO_ROOM)?;
        Ok(Proved { done: Done { aid, elements }, agreed, group })
    }

    /// What a request that comes again is answered with.
    fn remember(&mut self, station: MacAddr, request: Vec<u8>, done: &Done) {
        let transit = self.mobility.as_mut().and_then(|it| it.transits.get_mut(station));
        if let Some(Transit::Answered(answered)) = transit {
            answered.done = Some((request, done.clone()));
        }
    }

    fn send_reassociation(&mut self, station: MacAddr, status: StatusCode, done: &Done, cx: &mut Ctx<'_>) {
        let ssid = self.config.ssid.clone();
        let answer = AssociationResponse {
            reassociation: true,
            capabilities: self.config.security.capabilities(),
            status,
            aid: AssociationResponse::AID_BITS | done.aid,
            elements: Elements(elements(&ssid, &done.elements).0.split_off(1)),
        };
        self.manage(station, &Management::AssociationResponse(answer), cx);
    }

    /// A station has proved that it has the PMK-R1, and is a member with its keys.
    fn welcome_from(
        &mut self,
        station: MacAddr,
        from: MacAddr,
        aid: u16,
        (agreed, group): (Agreed, handshake::GroupKeys),
        cx: &mut Ctx<'_>,
    ) {
        self.remove(station, Ended::Anew);
        let terms = agreed.terms.clone();
        let mut link = Link::new((station, self.air.own), terms.group_management.is_some(), true);
        let key = PairwiseKey { cipher: terms.pairwise, tk: agreed.ptk.tk.clone(), index: 0 };
        if link.keys.install(Side::Authenticator, &key, &mut self.rng).is_err() {
            return cx.discard(Protocol::MANAGEMENT, "a key that is none of its cipher");
        }
        let handshake = handshake::Authenticator::after_transition(agreed, group, Retransmission::default());
        let member = Member {
            aid,
            link,
            terms: Some(terms),
            handshake: Some(handshake),
            root: None,
            from: Some(from),
            timer: None,
            since: cx.now,
            query: None,
        };
        self.members.insert(station, member);
        self.out.push_back(Output::Event(Event::Joined(station)));
        self.tell_origin(station);
    }

    /// What the handshake of a station proves: a PMK, or in a mobility domain its PMK-R1.
    pub(super) fn master(
        &mut self,
        terms: &Terms,
        (key, name): (keytoll_crypto_api::Secret, Option<KeyName>),
        cx: &mut Ctx<'_>,
    ) -> (Master, Option<PmkR0>) {
        match self.mobility.as_ref().filter(|_| terms.akm.has_fast_transition()) {
            None => (Master::Pmk { key, name }, None),
            Some(mobility) => {
                let ssid = self.config.ssid.octets();
                let (root, transition) = mobility.enter(terms, ssid, &key, cx.crypto);
                (Master::Transition(transition), Some(root))
            }
        }
    }
}

/// The terms of an association to which a station comes from elsewhere.
fn target_terms(rsn: Rsn, asked: &Asked, addresses: [MacAddr; 2]) -> Terms {
    let ours = rsn.declared();
    let theirs = Declared { element: asked.rsne.to_bytes(), rsnxe: None };
    rsn.terms(addresses, [ours, theirs], rsn.protects_management(&asked.rsne))
}

fn elements_of(elements: &Elements<'_>) -> Vec<u8> {
    elements.0.iter().flat_map(crate::frame::Element::to_bytes).collect()
}
