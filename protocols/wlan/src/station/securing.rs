//! An associated station: 802.1X and the 4-way handshake, the keys that come of them, and the frames under those keys.

use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Output, Time};

use super::joining::{self, Authenticated, Found};
use super::{Config, Event, Failure, State, Station};
use crate::bss::{
    self, Air, Chains, Credential, Link, Security, Ssid, discard, mde_of, told_eapol, wep_key, with_llc,
};
use crate::cipher::Side;
use crate::dot1x::{self, Eap, SupplicantConfig, SupplicantOutput};
use crate::eapol::pdu;
use crate::frame::management::{Action, Farewell, SaQuery};
use crate::frame::rsn::{Fte, Mde, Rsne};
use crate::frame::{Element, ElementId, Elements, Management, ReasonCode};
use crate::handshake::{self, Declared, Generation, Master, PairwiseKey, Pmksa, Reason, Terms, Transition};
use crate::keys::{PmkR0, R0Holder, master_of_msk};
use crate::reveal::{self, reveal};
use crate::rrkm::MissedTooMany;
use crate::sae::Pmkid;
use crate::suite::{Akm, Cipher};
use crate::transition::station::Membership;
use crate::transition::{self, Agreed};
use crate::{MacAddr, names};

/// An association, with its keys or on the way to them.
#[derive(Debug)]
pub(super) struct Secured {
    pub(super) link: Link,
    dot1x: Option<dot1x::Supplicant>,
    /// The terms of the handshake, in a robust security network.
    terms: Option<Terms>,
    handshake: Option<handshake::Supplicant>,
    /// The cipher of dynamic WEP.
    wep: Option<Cipher>,
    /// The mobility domain, as its association response shows it.
    first: Option<First>,
    /// What the handshake will have left in the domain.
    membership: Option<Membership>,
    /// The access point from which it has moved, until it is a member here.
    pub(super) from: Option<MacAddr>,
    /// Until then it has to be a member.
    until: Time,
}

/// What the response to a first association in a mobility domain says (802.11-2020 §13.4.2).
#[derive(Debug)]
struct First {
    mde: Mde,
    r0kh_id: Vec<u8>,
    r1kh_id: MacAddr,
    /// As it is on the air.
    fte: Vec<u8>,
}

impl First {
    fn read(found: &Found, akm: Akm, elements: &Elements<'_>) -> Result<Self, Reason> {
        let mde = mde_of(elements).filter(|mde| Some(*mde) == found.mde).ok_or(Reason::AnotherMde)?;
        let body = elements.find(ElementId::FAST_TRANSITION).ok_or(Reason::AnotherFte)?;
        let fte = Fte::read(body, akm.mic_len()).map_err(|_| Reason::AnotherFte)?;
        let (Some(r0kh_id), Some(r1kh_id)) = (fte.r0kh_id, fte.r1kh_id) else {
            return Err(Reason::AnotherFte);
        };
        let fte = Element { id: ElementId::FAST_TRANSITION, body }.to_bytes();
        Ok(Self { mde, r0kh_id: r0kh_id.to_vec(), r1kh_id, fte })
    }
}

/// The terms of an association with the access point that we have found.
pub(super) fn terms(config: &Config, found: &Found, credential: &Credential) -> Option<Terms> {
    let rsn = config.security.rsn()?;
    let peer = found.declared.element.get(2..).and_then(|body| Rsne::read(body).ok());
    let protects_management = peer.is_some_and(|peer| rsn.protects_management(&peer));
    let declared = [found.declared.clone(), own_declaration(config, credential)];
    Some(rsn.terms([found.bssid, config.address], declared, protects_management))
}

/// What we declare ourselves.
fn own_declaration(config: &Config, credential: &Credential) -> Declared {
    let declared = [config.security.rsne(credential.cached()), config.security.rsnxe()].concat();
    Declared::of(&bss::read(&declared), Generation::Rsn)
}

/// How long keys may take: longer than the longest EAP method with a message of each kind repeated, and an end where the last
/// message was lost, which EAPOL-Key frames of dynamic WEP do not repeat.
const PATIENCE: Duration = Duration::from_secs(60);

/// The keys of a mobility domain, of which the handshake that follows proves that both have them.
fn enter_domain(
    terms: &Terms,
    first: &First,
    ssid: &Ssid,
    xxkey: &Secret,
    cx: &mut Ctx<'_>,
) -> (Membership, Transition) {
    cx.crypto.enter(transition::PHASE);
    let First { mde, r0kh_id, r1kh_id, fte } = first;
    let holder = R0Holder { ssid: ssid.octets(), mdid: mde.mdid, r0kh_id };
    let pmk_r0 = PmkR0::new(terms.akm, xxkey, &holder, terms.spa, cx.crypto);
    let pmk_r1 = pmk_r0.r1(terms.akm, *r1kh_id, terms.spa, cx.crypto);
    let transition = Transition { pmk_r1, mde: mde.to_bytes(), fte: fte.clone() };
    (Membership { mde: *mde, r0kh_id: r0kh_id.clone(), pmk_r0 }, transition)
}

impl Secured {
    /// Begins with what the authentication has left.
    pub(super) fn new(
        config: &Config,
        Authenticated { found, credential }: Authenticated,
        answer: &Elements<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<Self, Failure> {
        let has_eap = config.security.has_eap();
        let terms = terms(config, &found, &credential);
        let first = terms.as_ref().filter(|terms| terms.akm.has_fast_transition());
        let first = first.map(|terms| First::read(&found, terms.akm, answer)).transpose();
        let protects_management = terms.as_ref().is_some_and(|terms| terms.group_management.is_some());
        let mut secured = Self {
            link: Link::new(
                (found.bssid, found.bssid),
                protects_management,
                config.security.is_complete_at_association(),
            ),
            dot1x: has_eap.then(|| dot1x::Supplicant::new(SupplicantConfig::default())),
            terms,
            handshake: None,
            wep: config.security.dynamic_wep(),
            first: first.map_err(Failure::Handshake)?,
            membership: None,
            from: found.from,
            until: cx.now + PATIENCE,
        };
        match credential {
            Credential::Chains(begun) => {
                let (established, clock) = *begun;
                secured.link.keys.install_chains(Chains::new(Side::Supplicant, &established, clock, rng));
            }
            Credential::Pmk(key, name) | Credential::Cached(key, name) => {
                secured.begin_handshake(config, (key, Some(name)), cx);
            }
            Credential::None => secured.begin_with_shared(config, rng, cx)?,
        }
        Ok(secured)
    }

    /// The association that a fast transition has agreed on, with its keys.
    pub(super) fn after_transition(
        bssid: MacAddr,
        agreed: Agreed,
        rng: &mut Rng,
        now: Time,
    ) -> Result<Self, Failure> {
        let terms = agreed.terms.clone();
        let mut link = Link::new((bssid, bssid), terms.group_management.is_some(), true);
        let key = PairwiseKey { cipher: terms.pairwise, tk: agreed.ptk.tk.clone(), index: 0 };
        link.keys.install(Side::Supplicant, &key, rng).map_err(|_| Failure::NoKey)?;
        for group in &agreed.groups {
            link.keys.install_group(group).map_err(|_| Failure::NoKey)?;
        }
        Ok(Self {
            link,
            dot1x: None,
            terms: Some(terms),
            handshake: Some(handshake::Supplicant::after_transition(agreed, now)),
            wep: None,
            first: None,
            membership: None,
            from: None,
            until: now,
        })
    }

    /// Begins with the keys that all stations share, if there are any.
    fn begin_with_shared(&mut self, config: &Config, rng: &mut Rng, cx: &mut Ctx<'_>) -> Result<(), Failure> {
        match config.security {
            Security::SharedKey(cipher) => {
                let shared = config.shared_key.as_ref().ok_or(Failure::NoKey)?;
                for unicast in [true, false] {
                    let key = wep_key(unicast, shared);
                    let installed = self.link.keys.install_wep(Side::Supplicant, cipher, &key, rng);
                    installed.map_err(|_| Failure::NoKey)?;
                }
                reveal(reveal::WEP, &shared.key, cx.trace);
            }
            Security::Rsn(rsn) if !rsn.akm.has_eap() => {
                config.pmk.clone().into_iter().for_each(|pmk| self.begin_handshake(config, (pmk, None), cx));
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_handshake(&mut self, config: &Config, (key, name): (Secret, Option<Pmkid>), cx: &mut Ctx<'_>) {
        let Some(terms) = self.terms.clone() else { return };
        let master = match &self.first {
            None => Master::Pmk { key, name },
            Some(first) => {
                let (membership, transition) = enter_domain(&terms, first, &config.ssid, &key, cx);
                self.membership = Some(membership);
                Master::Transition(transition)
            }
        };
        self.handshake = Some(handshake::Supplicant::new(terms, master, cx.now));
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let of_handshake = self.handshake.as_ref().and_then(handshake::Supplicant::deadline);
        let of_port = self.dot1x.as_ref().and_then(dot1x::Supplicant::deadline);
        let of_keys = Deadline { at: self.until, why: "keys of the association" };
        let of_keys = (!self.link.is_member).then_some(of_keys);
        let of_next = self.link.keys.next_at().map(|at| Deadline { at, why: "next key" });
        [of_keys, of_handshake, of_port, of_next].into_iter().flatten().min()
    }

    /// Tells the access point that we leave.
    pub(super) fn farewell(
        &mut self,
        reason: ReasonCode,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        self.link.manage(&Management::Deauthentication(Farewell::new(reason)), air, cx)
    }

    /// Answers a query whether we still have our keys (802.11-2020 §11.13).
    pub(super) fn answer(
        &mut self,
        query: &SaQuery<'_>,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let answer = SaQuery { is_response: true, ..query.clone() };
        self.link.manage(&Management::Action(Action::SaQuery(answer)), air, cx)
    }
}

impl Station {
    /// The station is associated: where no keys are agreed on it is a member at once.
    pub(super) fn begin_securing(&mut self, secured: Secured) {
        if secured.link.is_member {
            self.out.push_back(Output::Event(Event::Joined(secured.link.peer)));
        }
        self.state = State::Associated(Box::new(secured));
    }

    pub(super) fn on_eapol(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        if pdu::is_key(bytes) && secured.terms.is_some() {
            let Some(handshake) = &mut secured.handshake else {
                return cx.discard(names::EAPOL, "4-way handshake without a PMK");
            };
            match handshake.on_pdu(bytes, &mut self.rng, cx) {
                Ok(outputs) => self.on_handshake(outputs, cx),
                Err(why) => discard(names::EAPOL, &why, cx),
            }
        } else if let Some(dot1x) = &mut secured.dot1x {
            match dot1x.on_pdu(bytes, cx) {
                Ok(outputs) => self.on_dot1x(outputs, cx),
                Err(why) => discard(names::EAPOL, &why, cx),
            }
        } else {
            cx.discard(names::EAPOL, "nobody waits for it");
        }
    }

    /// What the EAP peer makes of the last packet.
    pub(super) fn on_eap(&mut self, eap: Eap, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        let outputs = secured.dot1x.as_mut().map(|dot1x| dot1x.on_eap(eap, cx));
        self.on_dot1x(outputs.unwrap_or_default(), cx);
    }

    fn on_dot1x(&mut self, outputs: Vec<SupplicantOutput>, cx: &mut Ctx<'_>) {
        for output in outputs {
            match output {
                SupplicantOutput::Send(pdu) => self.send_eapol(&pdu, cx),
                SupplicantOutput::EapStart => self.out.push_back(Output::Event(Event::EapStart)),
                SupplicantOutput::Eap(packet) => self.out.push_back(Output::Event(Event::Eap(packet))),
                SupplicantOutput::Authorized(msk) => self.authorized(msk.as_ref(), cx),
                SupplicantOutput::Failed => self.give_up(Failure::EapFailed, cx),
                SupplicantOutput::Unanswered => self.give_up(Failure::Timeout, cx),
                SupplicantOutput::Install(key) => {
                    let State::Associated(secured) = &mut self.state else { return };
                    let Some(cipher) = secured.wep else { return };
                    let is_pairwise = key.unicast;
                    reveal(reveal::WEP, &key.key, cx.trace);
                    if secured.link.keys.install_wep(Side::Supplicant, cipher, &key, &mut self.rng).is_err() {
                        self.give_up(Failure::NoKey, cx);
                    } else if is_pairwise {
                        self.joined();
                    }
                }
            }
        }
    }

    /// EAP has succeeded: its MSK begins with the PMK (802.11-2020 §12.7.1.3); keys of WEP come by themselves.
    fn authorized(&mut self, msk: Option<&Secret>, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        let Some(akm) = secured.terms.as_ref().map(|terms| terms.akm) else { return };
        match msk.and_then(|msk| master_of_msk(akm, msk)) {
            Some(pmk) => {
                if let Some(terms) = secured.terms.as_ref().filter(|_| self.pmksas.is_used()) {
                    let made = Pmksa::of_eap(terms.akm, &pmk, [terms.aa, terms.spa], cx.now, cx.crypto);
                    made.into_iter().for_each(|made| self.pmksas.insert(terms.aa, made));
                }
                secured.begin_handshake(&self.config, (pmk, None), cx);
            }
            None => self.give_up(Failure::NoKey, cx),
        }
    }

    fn on_handshake(&mut self, outputs: Vec<handshake::Output>, cx: &mut Ctx<'_>) {
        for output in outputs {
            let State::Associated(secured) = &mut self.state else { return };
            let installed = match output {
                handshake::Output::Send(pdu) => {
                    self.send_eapol(&pdu, cx);
                    Ok(())
                }
                handshake::Output::Install(key) => {
                    secured.link.keys.install(Side::Supplicant, &key, &mut self.rng)
                }
                handshake::Output::InstallGroup(key) => secured.link.keys.install_group(&key),
                handshake::Output::Completed(handshake::Handshake::FourWay) => {
                    self.joined();
                    Ok(())
                }
                handshake::Output::Failed(reason) => {
                    self.give_up(Failure::Handshake(reason), cx);
                    Ok(())
                }
                // Only an authenticator is asked for keys.
                handshake::Output::Completed(_) | handshake::Output::Requested { .. } => Ok(()),
            };
            if installed.is_err() {
                self.give_up(Failure::NoKey, cx);
            }
        }
    }

    fn joined(&mut self) {
        let State::Associated(secured) = &mut self.state else { return };
        if !std::mem::replace(&mut secured.link.is_member, true) {
            secured.from = None;
            if let Some(membership) = secured.membership.take() {
                self.membership = Some(membership);
            }
            self.out.push_back(Output::Event(Event::Joined(secured.link.peer)));
        }
    }

    fn send_eapol(&mut self, pdu: &[u8], cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        cx.trace.record(Fact::Sent(told_eapol(pdu, Side::Supplicant)));
        let frame = secured.link.send(with_llc(pdu::ETHER_TYPE, pdu), names::EAPOL, &mut self.air, cx);
        self.out.extend(frame.map(Output::Datagram));
    }

    /// Leaves because the keys cannot be agreed on.
    fn give_up(&mut self, why: Failure, cx: &mut Ctx<'_>) {
        if let State::Associated(secured) = &mut self.state {
            let reason = match why {
                Failure::Handshake(reason) => ReasonCode(reason.code()),
                Failure::MissedEpochs(_) => ReasonCode::INVALID_AUTHENTICATION,
                _ => ReasonCode::IEEE_802_1X_AUTH_FAILED,
            };
            let frame = secured.farewell(reason, &mut self.air, cx);
            self.out.extend(frame.map(Output::Datagram));
        }
        self.end(why);
    }

    /// Goes on to the keys of now, where they change by themselves; now and then it asks what time it is.
    pub(super) fn follow_epochs(&mut self, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        let Some(chains) = secured.link.keys.chains().filter(|chains| chains.next_at() <= cx.now) else {
            return;
        };
        let advanced = chains.advance(cx);
        if chains.wants_timer(cx.now) {
            joining::probe(&self.config, (secured.link.peer, false), (&mut self.air, &mut self.out), cx);
        }
        self.unless_missed(advanced, cx);
    }

    /// The access point's timer, which chains of keys go by.
    pub(super) fn on_timer(&mut self, source: MacAddr, timer_us: u64, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        let chains = secured.link.keys.chains().filter(|_| secured.link.peer == source);
        let followed = chains.map(|chains| chains.on_timer(timer_us, cx));
        self.unless_missed(followed.unwrap_or(Ok(())), cx);
    }

    fn unless_missed(&mut self, advanced: Result<(), MissedTooMany>, cx: &mut Ctx<'_>) {
        if let Err(why) = advanced {
            discard(Protocol::FRAMES, &why, cx);
            self.give_up(Failure::MissedEpochs(why), cx);
        }
    }

    pub(super) fn tick_securing(&mut self, cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        if !secured.link.is_member && secured.until <= cx.now {
            return self.give_up(Failure::Timeout, cx);
        }
        if let Some(handshake) = &mut secured.handshake {
            let outputs = handshake.tick(cx);
            self.on_handshake(outputs, cx);
        }
        let State::Associated(secured) = &mut self.state else { return };
        if let Some(dot1x) = &mut secured.dot1x {
            let outputs = dot1x.tick(cx);
            self.on_dot1x(outputs, cx);
        }
    }
}
