//! CREATE_CHILD_SA on the responding side. Read RFC 7296 §1.3, §2.8, §2.25 first.

use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{KeyPair, Secret};

use super::super::child::{Answer, Refusal};
use super::super::config::ChildConfig;
use super::super::endpoint::Env;
use super::super::event::{Event, SaId};
use super::super::inbound::Inbound;
use super::super::keys::{Nonces, Role};
use super::super::proposal::{self, Preference};
use super::super::sa::{Core, State};
use super::collision::LowestNonce;
use super::{Child, Established, Pending, Turn};
use crate::number::{ExchangeType, NotifyType, ProtocolId};
use crate::phase;
use crate::refused::Acceptable;
use crate::wire::{KeyExchange, Nonce, Payload, Spi};

/// Our half of the exchange.
struct Half {
    nonce: [u8; 32],
    pair: Option<KeyPair>,
    shared: Option<Secret>,
}

impl Half {
    /// Draws a nonce and, if the suite has a group, computes a shared secret with the peer's public value.
    fn make(suite: &Suite, inbound: &Inbound<'_>, env: &mut Env<'_, '_>) -> Result<Self, Refusal> {
        let ke = inbound.ke();
        proposal::check_group(suite, ke.as_ref()).map_err(Refusal::Group)?;
        let nonce = env.shared.rng.bytes();
        let (Some(group), Some(ke)) = (suite.group, ke) else {
            return Ok(Self { nonce, pair: None, shared: None });
        };
        let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
        let shared = env.cx.crypto.agree(&pair.private, ke.data).map_err(|_| Refusal::Syntax("KE value"))?;
        Ok(Self { nonce, pair: Some(pair), shared: Some(shared) })
    }

    /// Nr, [KEr].
    fn push(&self, m: &mut crate::wire::MessageBuilder) {
        m.push(&Payload::Nonce(Nonce { data: &self.nonce }));
        if let Some(pair) = &self.pair {
            m.push(&Payload::KeyExchange(KeyExchange::new(pair.private.group, &pair.public)));
        }
    }
}

impl Established {
    pub(super) fn on_create_child(
        mut self: Box<Self>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let outcome = match self.wanted(inbound, env.shared.config.children_max) {
            Ok(Wanted::Child(replaces)) => self.answer_child(replaces, inbound, core, env),
            Ok(Wanted::IkeSa) => self.answer_rekey(inbound, core, env),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = outcome {
            core.respond(ExchangeType::CREATE_CHILD_SA, |m| refusal.push(m), &mut self.protection, env);
        }
        self.next(core, env)
    }

    /// What the peer requests, unless it must be refused now (RFC 7296 §2.25) or exceeds a limit.
    fn wanted(&self, inbound: &Inbound<'_>, children_max: usize) -> Result<Wanted, Refusal> {
        let not_now = Err(Refusal::Notify(NotifyType::TEMPORARY_FAILURE));
        let for_ike = inbound.need_sa()?.proposals().any(|proposal| proposal.protocol == ProtocolId::IKE);
        // RFC 7296 §2.25.2: no new children while the IKE SA is being rekeyed, and vice versa.
        match &self.pending {
            _ if self.turn != Turn::Now => return not_now,
            // The peer has rekeyed it already, and our own request decides about that one first.
            Some(Pending::RekeyIke(request)) if !for_ike || request.rival.is_some() => return not_now,
            Some(Pending::Child(_) | Pending::DeleteChild(_)) if for_ike => return not_now,
            _ => {}
        }
        if for_ike {
            return Ok(Wanted::IkeSa);
        }
        let rekey = inbound.notify(NotifyType::REKEY_SA);
        if self.has_enough_children(rekey.is_some(), children_max) {
            return Err(Refusal::Notify(NotifyType::NO_ADDITIONAL_SAS));
        }
        let Some(rekey) = rekey else { return Ok(Wanted::Child(None)) };
        let outbound = rekey.child_spi().ok_or(Refusal::Syntax("REKEY_SA"))?;
        // RFC 7296 §2.25.1: a child that does not exist cannot be rekeyed; one that is being deleted, not now.
        let child = self.children.iter().find(|child| child.outbound_spi == outbound);
        // It may be the one that we have requested, with its answer still in transit.
        let missing = match self.pending {
            Some(Pending::Child(_)) => NotifyType::TEMPORARY_FAILURE,
            _ => NotifyType::CHILD_SA_NOT_FOUND,
        };
        let child = child.ok_or(Refusal::Notify(missing))?;
        match self.pending {
            Some(Pending::DeleteChild(spi)) if spi == child.inbound_spi => not_now,
            _ => Ok(Wanted::Child(Some(child.inbound_spi))),
        }
    }

    /// RFC 8019 §5: a peer with too many children gets NO_ADDITIONAL_SAS (RFC 7296 §3.10.1). Children being rekeyed do not
    /// count, but are limited, too.
    fn has_enough_children(&self, is_rekey: bool, children_max: usize) -> bool {
        let current = self.children.iter().filter(|child| !child.replaced).count();
        let is_full = !is_rekey && current >= children_max;
        is_full || self.children.len() >= children_max.saturating_mul(2)
    }

    fn answer_child(
        &mut self,
        replaces: Option<u32>,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Refusal> {
        let connection = core.connection(env);
        let config = connection.child.as_ref().ok_or(Refusal::Notify(NotifyType::NO_ADDITIONAL_SAS))?;
        let addresses = (self.addresses(core, env), core.route.remote);
        let answer = Answer::choose(inbound, &config.suites, config, addresses, env)?;
        let half = Half::make(&answer.agreed.suite, inbound, env)?;
        let initiator = inbound.need_nonce()?;
        core.respond(
            ExchangeType::CREATE_CHILD_SA,
            |m| {
                answer.push_sa(m);
                half.push(m);
                answer.push_selectors(m);
            },
            &mut self.protection,
            env,
        );
        let nonces = Nonces { initiator, responder: &half.nonce };
        self.install_answer(answer, &half, nonces, (replaces, config), core, env);
        Ok(())
    }

    fn install_answer(
        &mut self,
        answer: Answer,
        half: &Half,
        nonces: Nonces<'_>,
        (replaces, config): (Option<u32>, &ChildConfig),
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let sa = answer.agreed.keyed(self.protection.keys(), nonces, half.shared.as_ref(), core, env);
        let child = Child::up(&sa, config, env.now());
        let Some(old) = replaces else { return self.add_child(child, sa, core, env) };
        self.note_child_rival(old, &LowestNonce::of(nonces.initiator, nonces.responder));
        self.mark_replaced(old);
        self.children.push(child);
        env.emit(Event::ChildRekeyed { sa: core.id(), old, new: Box::new(sa) });
    }

    /// RFC 7296 §2.8.1: if we are rekeying the same child, the nonces will decide.
    fn note_child_rival(&mut self, old: u32, lowest: &LowestNonce) {
        if let Some(Pending::Child(request)) = &mut self.pending
            && request.replaces == Some(old)
        {
            request.rival = Some(lowest.clone());
        }
    }

    /// The peer rekeys the IKE SA: SA, Nr, KEr.
    fn answer_rekey(
        &mut self,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Refusal> {
        let connection = core.connection(env);
        let offered = inbound.need_sa()?;
        let chosen = proposal::select(&offered, ProtocolId::IKE, &connection.suites, Preference::Initiator);
        let Some(chosen) = chosen else {
            env.refuse_proposal(core.route.remote, &offered, Acceptable::suites(&connection.suites));
            return Err(Refusal::Notify(NotifyType::NO_PROPOSAL_CHOSEN));
        };
        let Spi::Ike(initiator_spi) = chosen.spi else { return Err(Refusal::Syntax("IKE SPI")) };
        let suite = chosen.suite;
        let half = Half::make(&suite, inbound, env)?;
        let initiator = inbound.need_nonce()?;
        let shared = half.shared.as_ref().ok_or(Refusal::Syntax("KE"))?;
        let spi = env.shared.fresh_spi();
        core.respond(
            ExchangeType::CREATE_CHILD_SA,
            |m| {
                m.security_association(&[chosen.answer(Spi::Ike(spi))]);
                half.push(m);
            },
            &mut self.protection,
            env,
        );
        let nonces = Nonces { initiator, responder: &half.nonce };
        let spis = (initiator_spi, spi);
        let keys = self.protection.keys().rekeyed(env.cx.crypto, &suite, shared, nonces, spis);
        keys.reveal(spis, env.cx.trace);
        let successor = self.successor(keys, Role::Responder, spis, core, env);
        env.shared.new_sas.push(successor);
        self.settle_succession(SaId(spi), LowestNonce::of(initiator, &half.nonce), core, env);
        Ok(())
    }

    /// Without a collision the successor takes over at once; with one, when our own request is answered.
    fn settle_succession(
        &mut self,
        successor: SaId,
        lowest: LowestNonce,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        if let Some(Pending::RekeyIke(request)) = &mut self.pending {
            request.rival = Some((successor.0, lowest));
            return;
        }
        self.hand_over(successor.0, core, env);
    }
}

/// What a CREATE_CHILD_SA request asks for.
enum Wanted {
    /// A child, perhaps to replace the one with this inbound SPI.
    Child(Option<u32>),
    /// An IKE SA that replaces this one.
    IkeSa,
}
