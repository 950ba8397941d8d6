//! INFORMATIONAL exchanges: deletion, errors, liveness. Read RFC 7296 §1.4, §1.4.1 first.

use super::super::endpoint::Env;
use super::super::event::{Event, Reason};
use super::super::inbound::Inbound;
use super::super::sa::{Core, State};
use super::{Closing, Established, Pending, Turn, report_unrequested};
use crate::number::{ExchangeType, NotifyType, ProtocolId};
use crate::peers_spis::PeersSpis;
use crate::phase;
use crate::wire::{Delete, Payload};

impl Established {
    pub(super) fn on_informational(
        mut self: Box<Self>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::INFORMATIONAL);
        if let Some(reason) = end_of_sa(inbound) {
            core.respond(ExchangeType::INFORMATIONAL, |_| {}, &mut self.protection, env);
            let linger = core.linger(env);
            self.end(reason, core, env);
            return linger;
        }
        let ours = self.deleted_by_peer(inbound, core, env);
        core.respond(
            ExchangeType::INFORMATIONAL,
            |m| {
                if !ours.is_empty() {
                    m.push(&Payload::Delete(Delete::children(ProtocolId::ESP, &ours)));
                }
            },
            &mut self.protection,
            env,
        );
        self.next(core, env)
    }

    /// RFC 7296 §1.4.1: a deletion lists the sender's inbound SPIs; the answer lists those of the other direction, unless we
    /// requested the same deletion ourselves.
    fn deleted_by_peer(&mut self, inbound: &Inbound<'_>, core: &Core, env: &mut Env<'_, '_>) -> Vec<[u8; 4]> {
        let mut ours = Vec::new();
        let mut known =
            PeersSpis::of(self.children.iter().map(|child| (child.outbound_spi, child.inbound_spi)));
        let deletes = inbound.deletes().filter(|delete| delete.protocol == ProtocolId::ESP);
        for outbound in deletes.flat_map(|delete| delete.spis()) {
            let Some(inbound_spi) = known.take(outbound) else {
                self.note_deleted_early(outbound);
                continue;
            };
            if !matches!(self.pending, Some(Pending::DeleteChild(spi)) if spi == inbound_spi) {
                ours.push(inbound_spi.to_be_bytes());
            }
            env.emit(Event::ChildDown(core.id(), inbound_spi));
        }
        self.children.retain(|child| !known.is_gone(child.inbound_spi));
        ours
    }

    /// A child that is still unknown, because the answer that creates it is in transit.
    fn note_deleted_early(&mut self, outbound: u32) {
        if let Some(Pending::Child(request)) = &mut self.pending {
            request.deleted_early = Some(outbound);
        }
    }

    /// Drops a child and reports it to the owner.
    pub(super) fn forget_child(&mut self, inbound_spi: u32, core: &Core, env: &mut Env<'_, '_>) {
        let before = self.children.len();
        self.children.retain(|child| child.inbound_spi != inbound_spi);
        if self.children.len() < before {
            env.emit(Event::ChildDown(core.id(), inbound_spi));
        }
    }

    pub(super) fn delete_child(&mut self, spi: u32, core: &mut Core, env: &mut Env<'_, '_>) {
        if !self.children.iter().any(|child| child.inbound_spi == spi) {
            return;
        }
        env.cx.crypto.enter(phase::INFORMATIONAL);
        let spis = [spi.to_be_bytes()];
        let delete = Payload::Delete(Delete::children(ProtocolId::ESP, &spis));
        core.request(ExchangeType::INFORMATIONAL, |m| m.push(&delete), &mut self.protection, env);
        self.pending = Some(Pending::DeleteChild(spi));
    }

    /// Closes the IKE SA; the owner is told now, the peer's answer ends the rest.
    pub(super) fn delete(mut self, reason: Reason, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        env.cx.crypto.enter(phase::INFORMATIONAL);
        let delete = Payload::Delete(Delete::IKE_SA);
        core.request(ExchangeType::INFORMATIONAL, |m| m.push(&delete), &mut self.protection, env);
        let Self { protection, peer, children, tasks, turn, .. } = self;
        report_unrequested(tasks.iter(), reason, core.id(), env);
        for child in children.iter() {
            env.emit(Event::ChildDown(core.id(), child.inbound_spi));
        }
        if let Some(lease) = peer.lease {
            env.shared.pools.give_back(lease);
        }
        if turn == Turn::Now {
            peer.leaves(core.id(), env);
            env.emit(Event::Closed(core.id(), reason));
        }
        Closing::state(protection)
    }
}

/// Whether the peer ends the IKE SA: by DELETE, or because our authentication failed (RFC 7296 §2.21.2).
pub(in crate::v2) fn end_of_sa(inbound: &Inbound<'_>) -> Option<Reason> {
    if inbound.deletes().any(|delete| delete.protocol == ProtocolId::IKE) {
        return Some(Reason::Deleted);
    }
    let fatal = [NotifyType::AUTHENTICATION_FAILED, NotifyType::INVALID_SYNTAX];
    fatal.into_iter().find(|kind| inbound.says(*kind)).map(|kind| Reason::Refused(kind.0))
}
