//! Associated stations: 802.1X and handshakes, and the keys that come of them.

use keytoll_crypto_api::Secret;
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Output, Time};

use super::member::Member;
use super::rounds::Rounds;
use super::{AccessPoint, Ended, Event};
use crate::bss::{Chains, Credential, Security, discard, told_eapol, wep_key, with_llc};
use crate::cipher::Side;
use crate::dot1x::{self, AuthenticatorOutput, Eap, Refused};
use crate::eapol::pdu;
use crate::frame::management::Farewell;
use crate::frame::{Management, ReasonCode};
use crate::handshake::{self, Handshake, Pmksa, Retransmission};
use crate::keys::master_of_msk;
use crate::sae::Pmkid;
use crate::{MacAddr, names};

impl AccessPoint {
    /// A station has associated: where no keys are agreed on it is a member at once.
    pub(super) fn welcome(
        &mut self,
        station: MacAddr,
        mut member: Member,
        credential: Credential,
        cx: &mut Ctx<'_>,
    ) {
        self.remove(station, Ended::Anew);
        self.install_first(&mut member, &credential, cx);
        let is_member = member.link.is_member;
        self.members.insert(station, member);
        if is_member {
            self.out.push_back(Output::Event(Event::Joined(station)));
            self.tell_origin(station);
        }
        match (&mut self.dot1x, credential) {
            (_, Credential::Pmk(pmk, name) | Credential::Cached(pmk, name)) => {
                self.begin_handshake(station, (pmk, Some(name)), cx);
            }
            (Some(dot1x), _) => match dot1x.begin(station, cx) {
                Ok(outputs) => self.on_dot1x(outputs, cx),
                Err(why) => {
                    discard(names::EAPOL, &why, cx);
                    let (reason, why) = match why {
                        Refused::Held => (ReasonCode::IEEE_802_1X_AUTH_FAILED, dot1x::Ended::Held),
                        _ => (ReasonCode::NO_MORE_STAS, dot1x::Ended::Displaced),
                    };
                    self.expel(station, reason, why.into(), cx);
                }
            },
            (None, _) => {
                let pmk = self.config.pmk.clone();
                pmk.into_iter().for_each(|pmk| self.begin_handshake(station, (pmk, None), cx));
            }
        }
    }

    /// The keys that an authentication by a challenge was about.
    fn install_first(&mut self, member: &mut Member, credential: &Credential, cx: &mut Ctx<'_>) {
        let keys = &mut member.link.keys;
        if let Credential::Chains(begun) = credential {
            let (established, clock) = &**begun;
            let mut chains = Chains::new(Side::Authenticator, established, *clock, &mut self.rng);
            // The epoch may have ended since the challenge.
            chains.advance(cx).expect("strangers are forgotten after a few epochs");
            keys.install_chains(chains);
        }
        if let (Security::SharedKey(cipher), Some(shared)) = (self.config.security, &self.config.shared_key) {
            let key = wep_key(true, shared);
            if keys.install_wep(Side::Authenticator, cipher, &key, &mut self.rng).is_err() {
                discard(Protocol::FRAMES, &"the shared key is none of the network's cipher", cx);
            }
        }
    }

    /// Goes on to the keys of now, where they change by themselves.
    pub(super) fn follow_epochs(&mut self, cx: &mut Ctx<'_>) {
        let Some(rounds) = self.rounds.as_mut().filter(|rounds| rounds.next_at() <= cx.now) else { return };
        rounds.advance(self.members.len() > 0, &mut self.rng, cx);
        for station in self.members.addresses() {
            let Some(member) = self.members.get_mut(station) else { continue };
            let Some(chains) = member.link.keys.chains() else { continue };
            if let Err(why) = chains.advance(cx) {
                discard(Protocol::FRAMES, &why, cx);
                self.expel(station, ReasonCode::INVALID_AUTHENTICATION, Ended::MissedEpochs(why), cx);
            }
        }
    }

    /// When keys change by themselves, if somebody has any.
    pub(super) fn next_key_at(&self) -> Option<Time> {
        self.rounds.as_ref().filter(|_| self.members.len() > 0).map(Rounds::next_at)
    }

    fn begin_handshake(&mut self, station: MacAddr, key: (Secret, Option<Pmkid>), cx: &mut Ctx<'_>) {
        let Some(terms) = self.members.get(station).and_then(|member| member.terms.clone()) else { return };
        let (master, root) = self.master(&terms, key, cx);
        let Some(member) = self.members.get_mut(station) else { return };
        let Some(group) = self.group.keys(member.link.protects_management()) else { return };
        member.root = root;
        let timers = Retransmission::default();
        let handshake = member.handshake.insert(handshake::Authenticator::new(terms, master, group, timers));
        let outputs = handshake.begin(&mut self.rng, cx);
        self.on_handshake(station, outputs, cx);
    }

    pub(super) fn on_eapol(&mut self, station: MacAddr, bytes: &[u8], cx: &mut Ctx<'_>) {
        let Some(member) = self.members.get_mut(station) else { return };
        if let Some(handshake) = member.handshake.as_mut().filter(|_| pdu::is_key(bytes)) {
            match handshake.on_pdu(bytes, &mut self.rng, cx) {
                Ok(outputs) => self.on_handshake(station, outputs, cx),
                Err(why) => discard(names::EAPOL, &why, cx),
            }
        } else if let Some(dot1x) = &mut self.dot1x {
            match dot1x.on_pdu(station, bytes, cx) {
                Ok(outputs) => self.on_dot1x(outputs, cx),
                Err(why) => discard(names::EAPOL, &why, cx),
            }
        } else {
            cx.discard(names::EAPOL, "nobody waits for it");
        }
    }

    /// What the EAP server makes of a station's last packet.
    pub(super) fn on_eap(&mut self, station: MacAddr, eap: Eap, cx: &mut Ctx<'_>) {
        let Some(dot1x) = &mut self.dot1x else { return };
        match dot1x.on_eap(station, eap, cx) {
            Ok(outputs) => self.on_dot1x(outputs, cx),
            Err(why) => discard(names::EAPOL, &why, cx),
        }
    }

    fn on_dot1x(&mut self, outputs: Vec<AuthenticatorOutput>, cx: &mut Ctx<'_>) {
        for output in outputs {
            match output {
                AuthenticatorOutput::Send(station, pdu) => self.send_eapol(station, &pdu, cx),
                AuthenticatorOutput::EapStart(station) => {
                    self.out.push_back(Output::Event(Event::EapStart(station)));
                }
                AuthenticatorOutput::Eap(station, packet) => {
                    self.out.push_back(Output::Event(Event::Eap(station, packet)));
                }
                AuthenticatorOutput::Authorized(station, msk) => self.authorized(station, msk.as_ref(), cx),
                AuthenticatorOutput::Install(station, key) => {
                    let Security::Dot1xWep(cipher) = self.config.security else { continue };
                    let Some(member) = self.members.get_mut(station) else { continue };
                    if member.link.keys.install_wep(Side::Authenticator, cipher, &key, &mut self.rng).is_ok()
                    {
                        self.joined(station, cx.now);
                    }
                }
                AuthenticatorOutput::Ended(station, why) => {
                    self.expel(station, ReasonCode::IEEE_802_1X_AUTH_FAILED, why.into(), cx);
                }
            }
        }
    }

    /// EAP has succeeded.
    fn authorized(&mut self, station: MacAddr, msk: Option<&Secret>, cx: &mut Ctx<'_>) {
        let Some(member) = self.members.get(station) else { return };
        match &member.terms {
            Some(terms) => match msk.and_then(|msk| master_of_msk(terms.akm, msk)) {
                Some(pmk) => {
                    if self.pmksas.is_used() {
                        let addresses = [terms.aa, terms.spa];
                        let made = Pmksa::of_eap(terms.akm, &pmk, addresses, cx.now, cx.crypto);
                        made.into_iter().for_each(|made| self.pmksas.insert(station, made));
                    }
                    self.begin_handshake(station, (pmk, None), cx);
                }
                None => self.expel(station, ReasonCode::IEEE_802_1X_AUTH_FAILED, Ended::NoKey, cx),
            },
            None => self.use_wep_key(),
        }
    }

    fn on_handshake(&mut self, station: MacAddr, outputs: Vec<handshake::Output>, cx: &mut Ctx<'_>) {
        self.members.settle(station);
        for output in outputs {
            match output {
                handshake::Output::Send(pdu) => self.send_eapol(station, &pdu, cx),
                handshake::Output::Install(key) => {
                    let Some(member) = self.members.get_mut(station) else { return };
                    if member.link.keys.install(Side::Authenticator, &key, &mut self.rng).is_err() {
                        self.expel(station, ReasonCode::UNSPECIFIED_REASON, Ended::NoKey, cx);
                    }
                }
                handshake::Output::Completed(Handshake::FourWay) => self.joined(station, cx.now),
                handshake::Output::Failed(why) => {
                    self.pmksas.remove(station);
                    self.expel(station, ReasonCode(why.code()), why.into(), cx);
                }
                handshake::Output::Requested { handshake, .. } => self.on_request(station, handshake, cx),
                handshake::Output::Completed(_) | handshake::Output::InstallGroup(_) => {}
            }
        }
    }

    /// A station asks for new keys.
    fn on_request(&mut self, station: MacAddr, handshake: Handshake, cx: &mut Ctx<'_>) {
        if handshake == Handshake::GroupKey {
            return self.change_group_keys(cx);
        }
        let Some(member) = self.members.get_mut(station) else { return };
        let Some(handshake) = &mut member.handshake else { return };
        let outputs = handshake.begin(&mut self.rng, cx);
        self.on_handshake(station, outputs, cx);
    }

    /// The keys of the group change, and every member is told.
    pub(super) fn change_group_keys(&mut self, cx: &mut Ctx<'_>) {
        self.group.change(&mut self.rng);
        for station in self.members.addresses() {
            let Some(member) = self.members.get_mut(station) else { continue };
            let keys = self.group.keys(member.link.protects_management());
            let (Some(handshake), Some(keys)) = (&mut member.handshake, keys) else { continue };
            let outputs = handshake.change_group(keys, &mut self.rng, cx);
            self.on_handshake(station, outputs, cx);
        }
        if let Some(dot1x) = &mut self.dot1x {
            let outputs = dot1x.change_group_key(cx);
            self.on_dot1x(outputs, cx);
            self.use_wep_key();
        }
    }

    /// Sends to the group under the key that members were given last.
    fn use_wep_key(&mut self) {
        let key = self.dot1x.as_ref().and_then(|dot1x| dot1x.group_key().cloned());
        if let (Security::Dot1xWep(cipher), Some(key)) = (self.config.security, key) {
            self.group.install_wep(cipher, &key, &mut self.rng);
        }
    }

    fn joined(&mut self, station: MacAddr, now: Time) {
        let Some(member) = self.members.get_mut(station) else { return };
        if let (Some(mobility), Some(root)) = (&mut self.mobility, member.root.take()) {
            mobility.keep(station, root, now);
        }
        if !std::mem::replace(&mut member.link.is_member, true) {
            self.members.settle(station);
            self.out.push_back(Output::Event(Event::Joined(station)));
            self.tell_origin(station);
        }
    }

    fn send_eapol(&mut self, station: MacAddr, pdu: &[u8], cx: &mut Ctx<'_>) {
        let Some(member) = self.members.get_mut(station) else { return };
        cx.trace.record(Fact::Sent(told_eapol(pdu, Side::Authenticator)));
        let frame = member.link.send(with_llc(pdu::ETHER_TYPE, pdu), names::EAPOL, &mut self.air, cx);
        self.out.extend(frame.map(Output::Datagram));
    }

    /// Tells a station that it is no member, and forgets it.
    pub(super) fn expel(&mut self, station: MacAddr, reason: ReasonCode, why: Ended, cx: &mut Ctx<'_>) {
        if let Some(member) = self.members.get_mut(station) {
            let body = Management::Deauthentication(Farewell::new(reason));
            let frame = member.link.manage(&body, &mut self.air, cx);
            self.out.extend(frame.map(Output::Datagram));
        }
        self.remove(station, why);
    }

    /// A station has to leave.
    pub(super) fn disconnect(&mut self, station: MacAddr, cx: &mut Ctx<'_>) {
        self.expel(station, ReasonCode::UNSPECIFIED_REASON, Ended::Asked, cx);
    }

    pub(super) fn tick_securing(&mut self, cx: &mut Ctx<'_>) {
        for station in self.members.due(cx.now) {
            let Some(member) = self.members.get_mut(station) else { continue };
            let query = member.ask_again(&mut self.air, cx);
            self.out.extend(query.map(Output::Datagram));
            let outputs = member.handshake.as_mut().map(|handshake| handshake.tick(cx));
            self.on_handshake(station, outputs.unwrap_or_default(), cx);
        }
        if let Some(dot1x) = &mut self.dot1x {
            let outputs = dot1x.tick(cx);
            self.on_dot1x(outputs, cx);
        }
    }
}
