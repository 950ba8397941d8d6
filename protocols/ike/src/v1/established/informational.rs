//! Informational exchanges under an ISAKMP SA: DELETE and notifications. Read RFC 2408 §5.14, §5.15, RFC 2409 §5.7 first.

use super::super::endpoint::Env;
use super::super::inbound::Inbound;
use super::super::keys;
use super::super::phase1::Step;
use super::super::replacement::Action;
use super::super::sa::{Core, State};
use super::super::wire::{Delete, Notify};
use super::exchange::Wait;
use super::lifetime::told_lifetime;
use super::quick::authentic;
use super::{Established, Handover};
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::peers_spis::PeersSpis;
use crate::phase;

impl Established {
    pub(super) fn on_informational(
        mut self: Box<Self>,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::INFORMATIONAL);
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
                    env.shared.actions.push_back(Action::InitialContact { new: core.cookie, peer });
                }
                NotifyType::RESPONDER_LIFETIME => {
                    if let Some(lifetime) = told_lifetime(inbound) {
                        self.shorten(lifetime, env);
                    }
                }
                error if error.is_error() => self.on_error(&notify, core, env),
                _ => {}
            }
        }
        State::Established(self)
    }

    /// RFC 2408 §5.15: the peer has closed the SA. Its children survive if another SA with the peer takes them over.
    fn deleted(self: Box<Self>, core: &Core, env: &mut Env<'_, '_>) -> State {
        if self.children.is_empty() {
            return self.lost(Reason::Deleted, core, env);
        }
        let (peer, ip) = (env.shared.peer(core, &self.peer), core.route.remote.ip);
        let handover = Handover::of(*self);
        env.shared.actions.push_back(Action::Inherit { old: core.cookie, peer, ip, handover });
        State::Gone
    }

    /// The peer has closed these children.
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

    /// An error notification in an exchange of its own: the responder of a quick mode refuses a child, or its initiator cannot
    /// use our answer.
    fn on_error(&mut self, notify: &Notify<'_>, core: &Core, env: &mut Env<'_, '_>) {
        let Some(at) = self.quick_mode_of(notify) else { return env.discard("notification about nothing") };
        let reason = Reason::Refused(notify.kind.0);
        match self.exchanges.remove(at).wait.asking() {
            Some(offer) => self.offer_failed(offer.rekeys(), reason, core, env),
            None => env.emit(Event::ChildFailed(core.id(), reason)),
        }
    }

    /// The quick mode that a notification concerns: by its SPI, or without one the oldest.
    // RFC 2407 §4.6.3: the SPI is that of the IPsec SA; some peers omit it.
    fn quick_mode_of(&self, notify: &Notify<'_>) -> Option<usize> {
        let spi = <[u8; 4]>::try_from(notify.spi).ok().map(u32::from_be_bytes);
        let find = |fits: &dyn Fn(&Wait) -> bool| self.exchanges.iter().position(|it| fits(&it.wait));
        let offered =
            |wait: &Wait| wait.asking().is_some_and(|offer| spi.is_none_or(|spi| offer.is_about(spi)));
        find(&offered).or_else(|| {
            find(&|wait| matches!(wait, Wait::Confirmation(it) if spi.is_none_or(|spi| it.answer.is_about(spi))))
        })
    }
}
