//! An associated station: 802.1X and the 4-way handshake, the keys that come of them, and the frames under those keys.

use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Deadline, Output, Time};

use super::{Config, Event, Failure, State, Station};
use crate::bss::{Air, Link, Security, discard, told_eapol, with_llc};
use crate::cipher::Side;
use crate::dot1x::{self, Eap, SupplicantConfig, SupplicantOutput};
use crate::eapol::{PacketType, Pdu, pdu};
use crate::frame::management::{Action, Farewell, SaQuery};
use crate::frame::{Management, ReasonCode};
use crate::handshake::{self, Declared, Master, Terms};
use crate::sae::Pmkid;
use crate::suite::Cipher;
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
    /// Until then it has to be a member.
    until: Time,
}

/// How long keys may take: longer than the longest EAP method with a message of each kind repeated, and an end where the last
/// message was lost, which EAPOL-Key frames of dynamic WEP do not repeat.
const PATIENCE: Duration = Duration::from_secs(60);

impl Secured {
    /// Begins; `declared` is what the access point and we have declared, and the PMK is there unless EAP makes one.
    pub(super) fn new(
        config: &Config,
        bssid: MacAddr,
        declared: [Declared; 2],
        pmk: Option<(Secret, Option<Pmkid>)>,
        now: Time,
    ) -> Self {
        let has_eap = config.security.has_eap();
        let rsn = config.security.rsn();
        let peer = declared[0].element.get(2..).and_then(|body| crate::frame::rsn::Rsne::read(body).ok());
        let protects_management = rsn.zip(peer).is_some_and(|(rsn, peer)| rsn.protects_management(&peer));
        let terms = rsn.map(|rsn| rsn.terms([bssid, config.address], declared, protects_management));
        let mut secured = Self {
            link: Link::new((bssid, bssid), protects_management, config.security == Security::Open),
            dot1x: has_eap.then(|| dot1x::Supplicant::new(SupplicantConfig::default())),
            terms,
            handshake: None,
            wep: match config.security {
                Security::Dot1xWep(cipher) => Some(cipher),
                Security::Open | Security::Rsn(_) => None,
            },
            until: now + PATIENCE,
        };
        if let Some(pmk) = pmk.filter(|_| !has_eap) {
            secured.begin_handshake(pmk, now);
        }
        secured
    }

    fn begin_handshake(&mut self, (key, name): (Secret, Option<Pmkid>), now: Time) {
        let master = Master::Pmk { key, name };
        self.handshake = self.terms.clone().map(|terms| handshake::Supplicant::new(terms, master, now));
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let of_handshake = self.handshake.as_ref().and_then(handshake::Supplicant::deadline);
        let of_port = self.dot1x.as_ref().and_then(dot1x::Supplicant::deadline);
        let of_keys = Deadline { at: self.until, why: "keys of the association" };
        let of_keys = (!self.link.is_member).then_some(of_keys);
        Deadline::earlier(of_keys, Deadline::earlier(of_handshake, of_port))
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
    /// The station is associated: without keys it is a member at once.
    pub(super) fn begin_securing(&mut self, _: &mut Ctx<'_>) {
        if let State::Associated(secured) = &self.state
            && secured.link.is_member
        {
            self.out.push_back(Output::Event(Event::Joined(secured.link.peer)));
        }
    }

    pub(super) fn on_eapol(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) {
        let State::Associated(secured) = &mut self.state else { return };
        let is_key = Pdu::read(bytes).is_ok_and(|pdu| pdu.packet_type == PacketType::KEY);
        if is_key && secured.terms.is_some() {
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
        let Some(pmk_len) = secured.terms.as_ref().map(|terms| terms.akm.pmk_len()) else { return };
        match msk.and_then(|msk| msk.get(..pmk_len)) {
            Some(pmk) => secured.begin_handshake((pmk.into(), None), cx.now),
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
                _ => ReasonCode::IEEE_802_1X_AUTH_FAILED,
            };
            let frame = secured.farewell(reason, &mut self.air, cx);
            self.out.extend(frame.map(Output::Datagram));
        }
        self.end(why);
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
