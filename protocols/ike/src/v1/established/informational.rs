//! Informational exchanges under an ISAKMP SA: DELETE, notifications, dead peer detection.
//! Read RFC 2408 §5.14, §5.15, RFC 3706 §5 first.

use std::time::Duration;

use keytoll_engine::crypto::Phase;
use keytoll_engine::wire::Reader;

use super::super::endpoint::{Deed, Env};
use super::super::inbound::Inbound;
use super::super::keys;
use super::super::phase1::Step;
use super::super::sa::{Core, State};
use super::super::transmission::{Packet, Sent};
use super::super::wire::{Delete, Notify, Payload};
use super::quick::authentic;
use super::{Established, Estate, Exchange, REKEY_PERCENT, Wait, percent};
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::peers_spis::PeersSpis;

impl Established {
    pub(super) fn on_informational(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(Phase::Informational);
        let id = step.header.message_id;
        let iv = self.iv.of_exchange(env.cx.crypto, &self.keys, id);
        let Some(opened) = self.open(step, iv, env) else {
            env.discard("not decryptable");
            return State::Established(self);
        };
        let inbound = authentic(&opened, |rest| keys::hash_1(env.cx.crypto, &self.keys, id, rest));
        let Some(inbound) = inbound else {
            env.discard("not authentic");
            return State::Established(self);
        };
        self.remember(id, env.now());
        let error =
            inbound.notifies().find(|notify| notify.kind.is_error() && notify.protocol == ProtocolId::IKE);
        match error {
            Some(error) if core.is_unconfirmed() || error.kind == NotifyType::AUTHENTICATION_FAILED => {
                self.lost(Reason::Refused(error.kind.0), core, env)
            }
            _ => {
                self.heard_from(step, core, env);
                self.on_authentic(&inbound, step, core, env)
            }
        }
    }

    fn on_authentic(
        mut self: Box<Self>,
        inbound: &Inbound<'_>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        for delete in inbound.deletes() {
            if delete.cookies().any(|cookies| cookies == core.cookie_bytes()) {
                return self.deleted(core, env);
            }
            self.children_deleted(&delete, core, env);
        }
        for notify in inbound.notifies() {
            match notify.kind {
                NotifyType::R_U_THERE => self.on_probe(&notify, step, core, env),
                NotifyType::R_U_THERE_ACK => self.on_probe_answer(&notify, env),
                NotifyType::IPSEC_INITIAL_CONTACT => {
                    let peer = env.shared.peer(core, &self.peer);
                    env.shared.deeds.push_back(Deed::InitialContact { new: core.cookie, peer });
                }
                NotifyType::RESPONDER_LIFETIME => {
                    if let Some(lifetime) = super::told_lifetime(inbound) {
                        self.shorten(lifetime, env);
                    }
                }
                error if error.is_error() => self.on_error(&notify, core, env),
                _ => {}
            }
        }
        State::Established(self)
    }

    /// RFC 2408 §5.15: the peer has closed the SA. Its children live on if another SA with the peer takes them over.
    fn deleted(self: Box<Self>, core: &Core, env: &mut Env<'_, '_>) -> State {
        if self.children.is_empty() {
            return self.lost(Reason::Deleted, core, env);
        }
        let (peer, ip) = (env.shared.peer(core, &self.peer), core.route.remote.ip);
        let estate = Estate::of(*self);
        env.shared.deeds.push_back(Deed::Inherit { old: core.cookie, peer, ip, estate });
        State::Gone
    }

    /// The peer does not receive on these any more.
    fn children_deleted(&mut self, delete: &Delete<'_>, core: &Core, env: &mut Env<'_, '_>) {
        if delete.protocol != ProtocolId::ESP {
            return;
        }
        let mut known =
            PeersSpis::of(self.children.iter().map(|child| (child.outbound_spi(), child.inbound_spi())));
        for inbound_spi in delete.child_spis().filter_map(|spi| known.take(spi)) {
            env.emit(Event::ChildDown(core.id(), inbound_spi));
        }
        self.children.retain(|child| !known.is_gone(child.inbound_spi()));
    }

    /// The responder of a quick mode says why there will be no child, or its initiator why our answer is of no use; in an
    /// exchange of its own.
    fn on_error(&mut self, notify: &Notify<'_>, core: &Core, env: &mut Env<'_, '_>) {
        let Some(at) = self.quick_mode_of(notify) else { return env.discard("notification about nothing") };
        let reason = Reason::Refused(notify.kind.0);
        match self.exchanges.remove(at).wait {
            Wait::Offer(offer) => self.offer_failed(offer.rekeys(), reason, core, env),
            _ => env.emit(Event::ChildFailed(core.id(), reason)),
        }
    }

    /// The quick mode that a notification is about: of its SPI, or if it has none the oldest.
    // RFC 2407 §4.6.3: the SPI is that of the IPsec SA; there are peers that leave it out.
    fn quick_mode_of(&self, notify: &Notify<'_>) -> Option<usize> {
        let spi = <[u8; 4]>::try_from(notify.spi).ok().map(u32::from_be_bytes);
        let find = |fits: &dyn Fn(&Wait) -> bool| self.exchanges.iter().position(|it| fits(&it.wait));
        find(&|wait| matches!(wait, Wait::Offer(offer) if spi.is_none_or(|spi| offer.is_about(spi))))
            .or_else(|| {
                find(&|wait| matches!(wait, Wait::Answer(answer) if spi.is_none_or(|spi| answer.is_about(spi))))
            })
    }

    /// RFC 3706 §5.3: R-U-THERE, which its receiver must answer.
    fn on_probe(&mut self, notify: &Notify<'_>, step: &Step<'_>, core: &Core, env: &mut Env<'_, '_>) {
        let Some(sequence) = sequence(notify, core) else { return env.discard("malformed R-U-THERE") };
        // RFC 3706 §6.1: an old number is a replay; the last one again is a repetition.
        let last = self.sequences.1.replace(sequence);
        if last.is_some_and(|last| sequence.wrapping_sub(last) > u32::MAX / 2) {
            self.sequences.1 = last;
            return env.discard("old R-U-THERE");
        }
        let (cookies, data) = (core.cookie_bytes(), sequence.to_be_bytes());
        let answer = Payload::Notify(Notify::isakmp(NotifyType::R_U_THERE_ACK, &cookies, &data));
        let packet = self.inform(&answer, core, env);
        self.acknowledged = Some(Sent::on_demand(packet, step.fingerprint));
    }

    fn on_probe_answer(&mut self, notify: &Notify<'_>, env: &mut Env<'_, '_>) {
        let said = Reader::new(notify.data).u32("sequence number").ok();
        if said.is_none() || said != self.sequences.0 {
            return env.discard("R-U-THERE-ACK of nothing");
        }
        self.exchanges.retain(|exchange| !matches!(exchange.wait, Wait::Probe));
    }

    /// Sends R-U-THERE, and again until it is answered.
    pub(super) fn probe(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if !self.extensions.dpd {
            return env.discard("the peer does not know R-U-THERE");
        }
        if self.exchanges.iter().any(|exchange| matches!(exchange.wait, Wait::Probe)) {
            return;
        }
        // RFC 3706 §6.1: the first number is random, below 2^31.
        let sequence = match self.sequences.0 {
            Some(last) => last.wrapping_add(1),
            None => env.shared.fresh_message_id() >> 1,
        };
        self.sequences.0 = Some(sequence);
        let packet = self.ask(sequence, core, env);
        let id = packet.id;
        let sent = Sent::awaiting(packet, None, env.now(), &env.shared.config.retransmission);
        self.exchanges.push(Exchange { id, iv: self.iv, sent, wait: Wait::Probe });
    }

    fn ask(&mut self, sequence: u32, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        let (cookies, data) = (core.cookie_bytes(), sequence.to_be_bytes());
        self.inform(&Payload::Notify(Notify::isakmp(NotifyType::R_U_THERE, &cookies, &data)), core, env)
    }

    /// Sends R-U-THERE again: under the same number, but as an exchange of its own.
    // RFC 2409 §5.7: a message id is used once, and there are peers that ignore it the second time.
    pub(super) fn probe_again(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let Some(sequence) = self.sequences.0 else { return };
        let packet = self.ask(sequence, core, env);
        if let Some(exchange) = self.exchanges.iter_mut().find(|it| matches!(it.wait, Wait::Probe)) {
            exchange.id = packet.id;
            exchange.sent.packet = packet;
        }
    }

    /// The peer's lifetime for the ISAKMP SA holds if it is shorter.
    pub(super) fn shorten(&mut self, lifetime: Duration, env: &Env<'_, '_>) {
        let (now, lifetime) = (env.now(), lifetime.min(self.lifetime));
        self.expires_at = self.expires_at.min(now + lifetime);
        self.rekey_at = self.rekey_at.map(|at| at.min(now + percent(lifetime, REKEY_PERCENT)));
    }
}

/// The number of an R-U-THERE for this SA.
fn sequence(notify: &Notify<'_>, core: &Core) -> Option<u32> {
    let ours = notify.protocol == ProtocolId::IKE && notify.spi == core.cookie_bytes();
    <[u8; 4]>::try_from(notify.data).ok().filter(|_| ours).map(u32::from_be_bytes)
}
