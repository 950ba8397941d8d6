//! CREATE_CHILD_SA for a child, on the requesting side. Read RFC 7296 §1.3.1, §1.3.3, §2.8 first.

use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::{KeyPair, Secret};

use super::super::child::Offer;
use super::super::config::ChildConfig;
use super::super::endpoint::Env;
use super::super::event::{ChildSa, Event, Reason};
use super::super::inbound::Inbound;
use super::super::keys::Nonces;
use super::super::proposal;
use super::super::sa::Core;
use super::collision::LowestNonce;
use super::not_replaced::Asked;
use super::{Child, Established, Pending, Task};
use crate::number::{ExchangeType, NotifyType, ProtocolId};
use crate::phase;
use crate::wire::{KeyExchange, Nonce, Notify, Payload};

/// A requested child, new or for rekeying.
#[derive(Debug)]
pub(super) struct ChildRequest {
    offer: Offer,
    nonce: [u8; 32],
    pair: Option<KeyPair>,
    /// The child that it replaces, by our inbound SPI.
    pub(super) replaces: Option<u32>,
    /// The peer has rekeyed the same child meanwhile.
    pub(super) rival: Option<LowestNonce>,
    /// The peer has closed a child unknown to us, which may be this one before its answer arrived: the last such SPI.
    pub(super) deleted_early: Option<u32>,
}

impl Established {
    /// RFC 7296 §1.3.3: the child remains in use until its successor is up.
    pub(super) fn rekey_child(&mut self, spi: u32, core: &mut Core, env: &mut Env<'_, '_>) {
        if self.has_current(spi) {
            self.request_child(Some(spi), core, env);
        }
    }

    /// Whether there is a child with this inbound SPI that was not replaced.
    pub(super) fn has_current(&self, spi: u32) -> bool {
        self.children.iter().any(|child| child.inbound_spi == spi && !child.replaced)
    }

    /// Requests a child with the group of our first suite.
    pub(super) fn request_child(&mut self, replaces: Option<u32>, core: &mut Core, env: &mut Env<'_, '_>) {
        let connection = core.connection(env);
        let Some(config) = &connection.child else {
            return env.emit(Event::ChildFailed(core.id(), Reason::NoProposalChosen));
        };
        let group = config.suites.first().and_then(|suite| suite.group);
        self.send_child_request(config, group, replaces, core, env);
    }

    /// [N(REKEY_SA)], [N(USE_TRANSPORT_MODE)], SA, Ni, [KEi], TSi, TSr.
    fn send_child_request(
        &mut self,
        config: &ChildConfig,
        group: Option<Group>,
        replaces: Option<u32>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let offer = Offer::new(config, env.shared.fresh_child_spi());
        let pair = group.map(|group| env.cx.crypto.generate(group, &mut env.shared.rng));
        let nonce = env.shared.rng.bytes();
        let addresses = self.addresses(core, env);
        let request = ChildRequest { offer, nonce, pair, replaces, rival: None, deleted_early: None };
        core.request(
            ExchangeType::CREATE_CHILD_SA,
            |m| {
                request.push_rekey(m);
                request.offer.push_notify(m);
                m.security_association(&request.offer.proposals(&config.suites));
                m.push(&Payload::Nonce(Nonce { data: &request.nonce }));
                if let Some(pair) = &request.pair {
                    m.push(&Payload::KeyExchange(KeyExchange::new(pair.private.group, &pair.public)));
                }
                request.offer.push_selectors(m, config, addresses, false);
            },
            &mut self.protection,
            env,
        );
        self.pending = Some(Pending::Child(Box::new(request)));
    }

    pub(super) fn on_child_response(
        &mut self,
        request: &ChildRequest,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let connection = core.connection(env);
        let Some(config) = &connection.child else { return };
        if self.tries_another_group(request, config, inbound, core, env) {
            return;
        }
        match self.accept_child(request, config, inbound, core, env) {
            Ok((child, nonces)) => {
                let spis = (child.pair.inbound_spi, child.pair.outbound_spi);
                self.child_came(request, config, child, &nonces, core, env);
                if request.deleted_early == Some(spis.1) {
                    self.forget_child(spis.0, core, env);
                }
            }
            Err(reason) => self.child_refused(request, reason, core, env),
        }
    }

    /// RFC 7296 §1.3: INVALID_KE_PAYLOAD names the group to try.
    fn tries_another_group(
        &mut self,
        request: &ChildRequest,
        config: &ChildConfig,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> bool {
        let (Some(notify), Some(pair)) = (inbound.notify(NotifyType::INVALID_KE_PAYLOAD), &request.pair)
        else {
            return false;
        };
        // The peer may have replaced or closed the child meanwhile.
        if request.replaces.is_some_and(|spi| !self.has_current(spi)) {
            return false;
        }
        let wanted = proposal::corrected_group(&notify, &config.suites, pair.private.group);
        if let Some(group) = wanted {
            self.send_child_request(config, Some(group), request.replaces, core, env);
        }
        wanted.is_some()
    }

    fn accept_child(
        &self,
        request: &ChildRequest,
        config: &ChildConfig,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(ChildSa, LowestNonce), Reason> {
        let addresses = self.addresses(core, env);
        let agreed = request.offer.accept_suite(&config.suites, config, addresses, inbound)?;
        let responder = inbound.need_nonce()?;
        let shared = match (agreed.suite.group, &request.pair) {
            (None, _) => None,
            (Some(_), Some(pair)) => Some(agree(pair, agreed.suite.group, inbound, env)?),
            (Some(_), None) => return Err(Reason::Syntax("KE")),
        };
        let nonces = Nonces { initiator: &request.nonce, responder };
        let child = agreed.keyed(self.protection.keys(), nonces, shared.as_ref(), core, env);
        Ok((child, LowestNonce::of(&request.nonce, responder)))
    }

    fn child_came(
        &mut self,
        request: &ChildRequest,
        config: &ChildConfig,
        sa: ChildSa,
        lowest: &LowestNonce,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let child = Child::up(&sa, config, env.now());
        let Some(old) = request.replaces else { return self.add_child(child, sa, core, env) };
        let loses = request.rival.as_ref().is_some_and(|rival| lowest.loses_to(rival));
        // RFC 7296 §2.8.1: the loser deletes the child it created; the winner deletes the replaced one.
        let redundant = if loses { child.inbound_spi } else { old };
        self.mark_replaced(old);
        self.children.push(child);
        env.emit(Event::ChildRekeyed { sa: core.id(), old, new: Box::new(sa) });
        self.tasks.push_front(Task::DeleteChild(redundant));
    }

    pub(super) fn mark_replaced(&mut self, spi: u32) {
        if let Some(child) = self.children.iter_mut().find(|child| child.inbound_spi == spi) {
            child.replaced = true;
            child.rekey_at = None;
        }
    }

    fn child_refused(&mut self, request: &ChildRequest, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        match request.replaces {
            None => env.emit(Event::ChildFailed(core.id(), reason)),
            Some(old) => self.not_replaced(Asked::Child(old), reason, core, env),
        }
    }
}

/// The shared secret with the KE payload of the answer.
pub(super) fn agree(
    pair: &KeyPair,
    group: Option<Group>,
    inbound: &Inbound<'_>,
    env: &mut Env<'_, '_>,
) -> Result<Secret, Reason> {
    let ke = inbound.need_ke()?;
    if ke.group() != group || ke.group() != Some(pair.private.group) {
        return Err(Reason::Syntax("KE group"));
    }
    env.cx.crypto.agree(&pair.private, ke.data).map_err(|_| Reason::Syntax("KE value"))
}

impl ChildRequest {
    fn push_rekey(&self, m: &mut crate::wire::MessageBuilder) {
        if let Some(spi) = self.replaces {
            let spi = spi.to_be_bytes();
            m.push(&Payload::Notify(Notify::about(NotifyType::REKEY_SA, ProtocolId::ESP, &spi)));
        }
    }
}
