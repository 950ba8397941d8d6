//! Quick mode, on both sides. Read RFC 2409 §5.5, RFC 2407 §4.5, §4.6.2, RFC 3947 §5 first.
//!
//! ```text
//!   1  HASH(1) SA NONCE [KE] [IDci IDcr] [NAT-OA NAT-OA]  -->
//!   2                      <--  HASH(2) SA NONCE [KE] [IDci IDcr] [NAT-OA NAT-OA] [N]
//!   3  HASH(3)             -->
//! ```

use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::crypto::{KeyPair, Phase, Secret};
use keytoll_engine::suite::Suite;

use super::super::endpoint::Env;
use super::super::inbound::Inbound;
use super::super::keys;
use super::super::number::{CONNECTED, Phase1Attribute, Phase2Attribute, QUICK_MODE, payload};
use super::super::phase1::{Step, wishes};
use super::super::proposal::{self, Choice, Lifespan, Phase2Transform};
use super::super::protect::{self, Iv, Kind, Opened};
use super::super::sa::Core;
use super::super::selectors::{ClientId, can_offer, selector};
use super::super::transmission::{Packet, Sent};
use super::super::wire::message::push;
use super::super::wire::{Delete, Identification, Notify, OriginalAddress, Payload};
use super::child::{Agreed, Child, Traffic};
use super::refused::refuse;
use super::{ANSWERS_MAX, Established, Exchange, REFUSALS_MAX, Wait};
use crate::config::{ChildConfig, Mode};
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::spis::ProposedSpi;
use crate::wire::{MessageBuilder, TrafficSelector};

/// Waits for message 2.
#[derive(Debug)]
pub(super) struct Offer {
    suites: Vec<Suite>,
    spi: ProposedSpi,
    nonce: [u8; 32],
    pair: Option<KeyPair>,
    pub(super) traffic: Traffic,
    lifespan: Lifespan,
    rekeys: Option<u32>,
}

/// Waits for message 3.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) agreed: Agreed,
    nonces: [Vec<u8>; 2],
    shared: Option<Secret>,
    /// What was agreed on after it is there already.
    pub(super) is_outdated: bool,
    /// Held until there is an SA.
    _spi: ProposedSpi,
}

impl Answer {
    /// Whether a notification with this SPI is about it.
    pub(super) const fn is_about(&self, spi: u32) -> bool {
        self.agreed.inbound_spi == spi || self.agreed.outbound_spi == spi
    }
}

/// RFC 3947 §5.2: the addresses before any NAT, the initiator's first.
fn push_original_addresses(m: &mut MessageBuilder, mode: Mode, core: &Core, initiator: bool) {
    if mode == Mode::Transport && core.nat.found() {
        let (ours, theirs) = (core.route.local.ip, core.route.remote.ip);
        let order = if initiator { [ours, theirs] } else { [theirs, ours] };
        order.iter().for_each(|ip| push(m, &Payload::OriginalAddress(OriginalAddress(*ip))));
    }
}

/// The first selector of a configuration; where none is configured, the address itself.
// RFC 2407 §4.6.2: an identity is one address, subnet or range.
fn first(configured: &[TrafficSelector], dynamic: IpAddr) -> TrafficSelector {
    configured.first().copied().unwrap_or_else(|| TrafficSelector::host(dynamic))
}

impl Offer {
    fn new(
        config: &ChildConfig,
        rekeyed: Option<&Child>,
        lifespan: Lifespan,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<Self, Reason> {
        let suites = proposal::offerable(config);
        let group = suites.first().ok_or(Reason::NoProposalChosen)?.group;
        if rekeyed.is_none() && !can_offer(config) {
            return Err(Reason::TrafficSelectors);
        }
        let traffic = rekeyed.map_or_else(
            || Traffic {
                mode: config.mode,
                local: first(&config.local, core.route.local.ip),
                remote: first(&config.remote, core.met_at),
            },
            |child| *child.traffic(),
        );
        Ok(Self {
            suites,
            spi: env.shared.fresh_child_spi(),
            nonce: env.shared.rng.bytes(),
            pair: group.map(|group| env.cx.crypto.generate(group, &mut env.shared.rng)),
            traffic,
            lifespan,
            rekeys: rekeyed.map(Child::inbound_spi),
        })
    }

    /// The child it is to take the place of.
    pub(super) const fn rekeys(&self) -> Option<u32> {
        self.rekeys
    }

    /// Whether a notification with this SPI is about it.
    pub(super) const fn is_about(&self, spi: u32) -> bool {
        self.spi.get() == spi
    }

    fn push(&self, m: &mut MessageBuilder, core: &Core) {
        let mode = (self.traffic.mode, core.nat.found());
        let proposal = proposal::propose_child(&self.suites, self.spi.get(), mode, self.lifespan);
        m.append(payload::SA, false, |w| proposal.write_sa(w));
        push(m, &Payload::Nonce(&self.nonce));
        if let Some(pair) = &self.pair {
            push(m, &Payload::KeyExchange(&pair.public));
        }
        for side in [&self.traffic.local, &self.traffic.remote] {
            let id = ClientId::of(side).expect("only traffic with identities is offered or agreed on");
            push(m, &Payload::Identification(id.as_payload()));
        }
        push_original_addresses(m, self.traffic.mode, core, true);
    }

    /// What the responder made of it.
    fn settle(&self, inbound: &Inbound<'_>, core: &Core, env: &mut Env<'_, '_>) -> Result<Settled, Reason> {
        let (sa, _) = inbound.need_sa()?;
        let choice = proposal::answered(&sa, ProtocolId::ESP).ok_or(Reason::NoProposalChosen)?;
        let chosen = Phase2Transform::read(&choice.1).ok_or(Reason::NoProposalChosen)?;
        let suite = chosen.suite(&self.suites).ok_or(Reason::NoProposalChosen)?;
        if (chosen.mode, chosen.encapsulated) != (self.traffic.mode, core.nat.found()) {
            return Err(Reason::NoProposalChosen);
        }
        let outbound_spi = choice.0.child_spi().ok_or(Reason::Syntax("child SPI"))?;
        let nonce = inbound.need_nonce()?.to_vec();
        let shared = match &self.pair {
            Some(pair) => {
                let shared = env.cx.crypto.agree(&pair.private, inbound.need_ke()?);
                Some(shared.map_err(|_| Reason::Syntax("public value"))?)
            }
            None => None,
        };
        // RFC 2407 §4.6.3.1: who answers may have told that the SAs will not live that long.
        let told = inbound
            .notify(NotifyType::RESPONDER_LIFETIME)
            .filter(|notify| notify.protocol == ProtocolId::ESP);
        let (life_type, duration) = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
        let told =
            told.map_or((None, None), |notify| proposal::read_lifetimes(notify.data, life_type, duration));
        let lifespan = self.lifespan.within(chosen.lifetime, chosen.kilobytes).within(told.0, told.1);
        let agreed = Agreed {
            inbound_spi: self.spi.get(),
            outbound_spi,
            suite,
            traffic: self.narrowed(inbound)?,
            lifespan,
            ours: true,
            rekeys: self.rekeys,
        };
        Ok(Settled { agreed, nonce, shared })
    }

    /// The traffic the responder repeated, or a part of it.
    fn narrowed(&self, inbound: &Inbound<'_>) -> Result<Traffic, Reason> {
        let ids: Vec<Identification<'_>> = inbound.identities().collect();
        let [local, remote] = match ids[..] {
            [] => return Ok(self.traffic),
            [ours, theirs] => [selector(&ours), selector(&theirs)],
            _ => return Err(Reason::Syntax("ID")),
        };
        let part = |whole: &TrafficSelector, part: Option<TrafficSelector>| {
            part.filter(|part| whole.contains(part)).ok_or(Reason::TrafficSelectors)
        };
        let (local, remote) = (part(&self.traffic.local, local)?, part(&self.traffic.remote, remote)?);
        Ok(Traffic { local, remote, ..self.traffic })
    }
}

/// What message 2 settles.
struct Settled {
    agreed: Agreed,
    nonce: Vec<u8>,
    shared: Option<Secret>,
}

impl Established {
    /// Sends message 1, for a new child or one that takes the place of another.
    pub(super) fn offer(&mut self, rekeys: Option<u32>, core: &mut Core, env: &mut Env<'_, '_>) {
        if self.has_too_many(rekeys, core, env) {
            return;
        }
        env.cx.crypto.enter(Phase::CreateChild);
        let connection = core.connection(env);
        let rekeyed = self.children.iter().find(|child| Some(child.inbound_spi()) == rekeys);
        let lifespan = Lifespan::of(&wishes(&connection));
        let config = connection.child.as_ref().ok_or(Reason::NoProposalChosen);
        let offer = match config.and_then(|config| Offer::new(config, rekeyed, lifespan, core, env)) {
            Ok(offer) => offer,
            Err(reason) => return env.emit(Event::ChildFailed(core.id(), reason)),
        };
        self.forget_withdrawn(&offer.traffic);
        let id = env.shared.fresh_message_id();
        let mut iv = self.iv.of_exchange(env.cx.crypto, &self.keys, id);
        let keys = &self.keys;
        let packet = protect::protected(
            core,
            Kind { exchange: QUICK_MODE, response: false, id },
            keys,
            &mut iv,
            |m| offer.push(m, core),
            |crypto, rest| keys::hash_1(crypto, keys, id, rest),
            env,
        );
        env.transmit(core.route, &packet, false);
        self.remember(id, env.now());
        let sent = Sent::awaiting(packet, None, env.now(), &env.shared.config.retransmission);
        self.exchanges.push(Exchange { id, iv, sent, wait: Wait::Offer(Box::new(offer)) });
    }

    /// Message 2.
    pub(super) fn on_answer(&mut self, at: usize, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(Phase::CreateChild);
        let exchange = &self.exchanges[at];
        let (Wait::Offer(offer) | Wait::Withdrawn(_, offer)) = &exchange.wait else {
            unreachable!("whoever calls has looked")
        };
        let id = exchange.id;
        let opened = self.open(step, exchange.iv, env);
        let Some(opened) = opened else { return env.discard("not decryptable") };
        let inbound =
            authentic(&opened, |rest| keys::hash_2(env.cx.crypto, &self.keys, id, &offer.nonce, rest));
        let Some(inbound) = inbound else { return env.discard("not authentic") };
        let settled = offer.settle(&inbound, core, env);
        let (nonce, rekeys) = (offer.nonce, offer.rekeys);
        let lifetime = super::told_lifetime(&inbound);
        self.heard_from(step, core, env);
        if let Some(lifetime) = lifetime {
            self.shorten(lifetime, env);
        }
        match settled {
            Ok(settled) => {
                let offer = self.confirm(at, step, opened.next_iv, nonce, &settled, core, env);
                let Settled { agreed, nonce: theirs, shared } = settled;
                let nonces = [nonce.to_vec(), theirs];
                let answer = Box::new(Answer { agreed, nonces, shared, is_outdated: false, _spi: offer.spi });
                if step.header.flags.is_committing() {
                    self.exchanges[at].wait = Wait::Connected(connected_by(env), answer);
                } else {
                    self.answer_up(&answer, self.exchanges.len(), core, env);
                }
            }
            Err(reason) => {
                self.exchanges.remove(at);
                self.refuse(reason, proposed_spi(&inbound), core, env);
                self.offer_failed(rekeys, reason, core, env);
            }
        }
    }

    /// Sends message 3.
    #[expect(clippy::too_many_arguments, reason = "all of it is of this one message")]
    fn confirm(
        &mut self,
        at: usize,
        step: &Step<'_>,
        mut iv: Iv,
        nonce: [u8; 32],
        settled: &Settled,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Box<Offer> {
        let (keys, id) = (&self.keys, self.exchanges[at].id);
        let packet = protect::protected(
            core,
            Kind { exchange: QUICK_MODE, response: false, id },
            keys,
            &mut iv,
            |_| {},
            |crypto, _| keys::hash_3(crypto, keys, id, [&nonce, &settled.nonce]),
            env,
        );
        env.transmit(core.route, &packet, false);
        let until = env.now() + env.shared.config.retransmission.total();
        let sent = Sent::on_demand(packet, step.fingerprint);
        let next = Exchange { id, iv, sent, wait: Wait::Confirmed(until, settled.agreed.inbound_spi) };
        let (Wait::Offer(offer) | Wait::Withdrawn(_, offer)) =
            std::mem::replace(&mut self.exchanges[at], next).wait
        else {
            unreachable!("whoever calls has looked")
        };
        offer
    }

    /// What both sides have agreed on is there; the exchanges before `at` are older.
    fn answer_up(&mut self, answer: &Answer, at: usize, core: &Core, env: &mut Env<'_, '_>) {
        if answer.is_outdated {
            let spi = answer.agreed.inbound_spi.to_be_bytes();
            self.inform(&Payload::Delete(Delete::child(&spi)), core, env);
            return env.discard("replaced before it was confirmed");
        }
        self.outdate(answer.agreed.traffic, at);
        let [nonce_i, nonce_r] = &answer.nonces;
        self.child_up(&answer.agreed, [nonce_i, nonce_r], answer.shared.as_ref(), core, env);
    }

    /// CONNECTED under the message id of its quick mode.
    pub(super) fn on_connected(
        &mut self,
        at: usize,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        let id = self.exchanges[at].id;
        let iv = self.iv.of_exchange(env.cx.crypto, &self.keys, id);
        let Some(opened) = self.open(step, iv, env) else { return env.discard("not decryptable") };
        let inbound = authentic(&opened, |rest| keys::hash_1(env.cx.crypto, &self.keys, id, rest));
        if inbound.is_none_or(|inbound| inbound.notify(CONNECTED).is_none()) {
            return env.discard("not authentic");
        }
        self.heard_from(step, core, env);
        self.connected(at, core, env);
    }

    /// What waited for CONNECTED is up; who confirmed may have to repeat its last message.
    pub(super) fn connected(&mut self, at: usize, core: &Core, env: &mut Env<'_, '_>) {
        let until = env.now() + env.shared.config.retransmission.total();
        let Wait::Connected(_, answer) = &self.exchanges[at].wait else { return };
        let next = Wait::Confirmed(until, answer.agreed.inbound_spi);
        if let Wait::Connected(_, answer) = std::mem::replace(&mut self.exchanges[at].wait, next) {
            self.answer_up(&answer, at, core, env);
        }
    }

    /// CONNECTED has not come in time.
    pub(super) fn tick_commitments(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        let is_due = |it: &Exchange| matches!(it.wait, Wait::Connected(until, _) if until <= now);
        while let Some(at) = self.exchanges.iter().position(is_due) {
            self.connected(at, core, env);
        }
    }

    /// Message 1.
    pub(super) fn on_offer(&mut self, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(Phase::CreateChild);
        let id = step.header.message_id;
        let is_begun = |it: &&Exchange| matches!(it.wait, Wait::Answer(_) | Wait::Connected(..));
        if self.exchanges.iter().filter(is_begun).count() >= ANSWERS_MAX {
            return env.discard("too many quick modes");
        }
        let iv = self.iv.of_exchange(env.cx.crypto, &self.keys, id);
        let Some(opened) = self.open(step, iv, env) else { return env.discard("not decryptable") };
        let Some(inbound) = authentic(&opened, |rest| keys::hash_1(env.cx.crypto, &self.keys, id, rest))
        else {
            return env.discard("not authentic");
        };
        self.heard_from(step, core, env);
        self.announce_now(core, env);
        match self.choose(&inbound, core, env) {
            // It is not remembered, so that it counts when it is repeated.
            Ok(None) => env.discard("the child is being replaced by us"),
            Ok(Some(reply)) => {
                self.remember(id, env.now());
                self.reply(id, opened.next_iv, reply, step, core, env);
            }
            Err(reason) => {
                self.remember(id, env.now());
                let packet = self.refuse(reason, proposed_spi(&inbound), core, env);
                self.keep_refusal(id, packet, step, env);
                env.emit(Event::ChildFailed(core.id(), reason));
            }
        }
    }

    /// What we answer to an offer; nothing for now if it is to replace what we are replacing.
    fn choose(
        &self,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<Option<Reply>, Reason> {
        let children_max = env.shared.config.children_max;
        // Those count, too, that are being replaced; one at least can be.
        if self.children.len() >= children_max.max(2) {
            return Err(Reason::NoProposalChosen);
        }
        let connection = core.connection(env);
        let config = connection.child.as_ref().ok_or(Reason::NoProposalChosen)?;
        let (sa, sa_body) = inbound.need_sa()?;
        let chosen = proposal::choices(&sa, ProtocolId::ESP).find_map(|choice| {
            acceptable(&choice, config, core).map(|(transform, suite)| (choice, transform, suite))
        });
        let (choice, transform, suite) = chosen.ok_or_else(|| refuse((&sa, sa_body), config, core, env))?;
        let outbound_spi = choice.0.child_spi().ok_or(Reason::Syntax("child SPI"))?;
        let ids: Vec<Identification<'_>> = inbound.identities().collect();
        let traffic = covered(&ids, config, core)?;
        let theirs = inbound.need_nonce()?;
        // IKEv1 does not say so, but an SA for the same traffic takes the place of the one there is.
        let rekeys = self.to_replace(&traffic);
        if rekeys.is_some() && self.goes_first(&traffic, core) {
            return Ok(None);
        }
        if rekeys.is_none() && self.children_to_be() >= children_max {
            return Err(Reason::NoProposalChosen);
        }
        let nonce: [u8; 32] = env.shared.rng.bytes();
        let (public, shared) = agree(suite, inbound, env)?;
        let lifespan = Lifespan::of(&wishes(&connection)).within(transform.lifetime, transform.kilobytes);
        let spi = env.shared.fresh_child_spi();
        let inbound_spi = spi.get();
        let agreed = Agreed { inbound_spi, outbound_spi, suite, traffic, lifespan, ours: false, rekeys };
        Ok(Some(Reply {
            sa_body: proposal::sa_body(&proposal::answer(&choice, Some(inbound_spi))),
            public,
            ids: ids.iter().map(id_body).collect(),
            tells_lifetime: transform.lifetime.is_some_and(|theirs| lifespan.time < theirs)
                || lifespan.kilobytes != transform.kilobytes,
            answer: Answer {
                agreed,
                nonces: [theirs.to_vec(), nonce.to_vec()],
                shared,
                is_outdated: false,
                _spi: spi,
            },
        }))
    }

    /// Sends message 2.
    fn reply(
        &mut self,
        id: u32,
        mut iv: Iv,
        reply: Reply,
        step: &Step<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let (keys, untold) = (&self.keys, self.untold_lifetime.take());
        let packet = protect::protected(
            core,
            Kind { exchange: QUICK_MODE, response: true, id },
            keys,
            &mut iv,
            |m| reply.push(m, untold, core),
            |crypto, rest| keys::hash_2(crypto, keys, id, &reply.answer.nonces[0], rest),
            env,
        );
        env.transmit(core.route, &packet, false);
        let timers = env.shared.config.retransmission;
        let replaced = reply.answer.agreed.rekeys;
        self.children
            .iter_mut()
            .filter(|child| Some(child.inbound_spi()) == replaced)
            .for_each(|child| child.wait_until(env.now() + timers.total()));
        let sent = Sent::awaiting(packet, Some(step.fingerprint), env.now(), &timers);
        self.exchanges.push(Exchange { id, iv, sent, wait: Wait::Answer(Box::new(reply.answer)) });
    }

    /// Message 3.
    pub(super) fn on_confirmation(
        &mut self,
        at: usize,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        env.cx.crypto.enter(Phase::CreateChild);
        let exchange = &self.exchanges[at];
        let Wait::Answer(answer) = &exchange.wait else { unreachable!("whoever calls has looked") };
        let Some(opened) = self.open(step, exchange.iv, env) else { return env.discard("not decryptable") };
        let [nonce_i, nonce_r] = &answer.nonces;
        let inbound =
            authentic(&opened, |_| keys::hash_3(env.cx.crypto, &self.keys, exchange.id, [nonce_i, nonce_r]));
        if inbound.is_none() {
            return env.discard("not authentic");
        }
        self.heard_from(step, core, env);
        // In the order in which they were begun.
        let mut exchange = self.exchanges.remove(at);
        let Wait::Answer(answer) = exchange.wait else { unreachable!("it was one a moment ago") };
        if !step.header.flags.is_committing() {
            return self.answer_up(&answer, at, core, env);
        }
        exchange.sent.settle();
        exchange.wait = Wait::Connected(connected_by(env), answer);
        self.exchanges.push(exchange);
    }

    /// Keys for a child, and the news for the owner.
    fn child_up(
        &mut self,
        agreed: &Agreed,
        nonces: [&[u8]; 2],
        shared: Option<&Secret>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let connection = core.connection(env);
        let config = connection.child.as_ref().expect("a child was agreed on because one is configured");
        let new = Box::new(agreed.keyed(&self.keys, nonces, shared, core, env));
        let sa = core.id();
        match self.predecessor(agreed) {
            Some(at) => {
                let old = self.children[at].inbound_spi();
                self.children[at].replace(agreed.ours, env.now());
                self.withdraw(&agreed.traffic, env);
                env.emit(Event::ChildRekeyed { sa, old, new });
            }
            None => env.emit(Event::ChildUp(sa, new)),
        }
        self.children.push(Child::up(agreed, config, env.now()));
    }

    /// There is no answer to an offer, or one that cannot be used.
    pub(super) fn offer_failed(
        &mut self,
        rekeys: Option<u32>,
        reason: Reason,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let old = self.children.iter_mut().find(|child| Some(child.inbound_spi()) == rekeys);
        let Some(old) = old else { return env.emit(Event::ChildFailed(core.id(), reason)) };
        // The peer may have replaced it meanwhile.
        if old.is_not_replaced(env.now()) {
            env.discard("the child is not replaced");
        }
    }

    /// The peer repeats its offer if it has not heard that it was refused.
    fn keep_refusal(&mut self, id: u32, packet: Packet, step: &Step<'_>, env: &Env<'_, '_>) {
        let is_refusal = |exchange: &Exchange| matches!(exchange.wait, Wait::Refused(_));
        if self.exchanges.iter().filter(|exchange| is_refusal(exchange)).count() >= REFUSALS_MAX
            && let Some(oldest) = self.exchanges.iter().position(is_refusal)
        {
            self.exchanges.remove(oldest);
        }
        let until = env.now() + env.shared.config.retransmission.total();
        let sent = Sent::on_demand(packet, step.fingerprint);
        self.exchanges.push(Exchange { id, iv: self.iv, sent, wait: Wait::Refused(until) });
    }

    /// Tells the peer why it gets no child, or why we cannot use its answer; `spi` is what it proposed.
    fn refuse(&mut self, reason: Reason, spi: Option<u32>, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        let kind = match reason {
            Reason::NoProposalChosen => NotifyType::NO_PROPOSAL_CHOSEN,
            Reason::TrafficSelectors => NotifyType::INVALID_ID_INFORMATION,
            _ => NotifyType::PAYLOAD_MALFORMED,
        };
        let spi = spi.map(u32::to_be_bytes);
        let spi: &[u8] = spi.as_ref().map_or(&[], |spi| spi);
        self.inform(&Payload::Notify(Notify::of_child(kind, spi, &[])), core, env)
    }

    pub(super) fn open(&self, step: &Step<'_>, iv: Iv, env: &mut Env<'_, '_>) -> Option<Opened> {
        protect::open(step.header, step.message, &self.keys, iv, env.cx.crypto).ok()
    }
}

/// The payloads, if HASH comes first and is what it should be.
pub(super) fn authentic<'o>(
    opened: &'o Opened,
    expected: impl FnOnce(&[u8]) -> keytoll_engine::crypto::Digest,
) -> Option<Inbound<'o>> {
    let inbound = Inbound::new(opened.payloads()).ok()?;
    let (hash, covered) = inbound.leading_hash()?;
    let rest = opened.plaintext().get(covered)?;
    expected(rest).matches(hash).then_some(inbound)
}

/// When CONNECTED must have come.
// RFC 2408 §3.1: who has not set the commit bit waits for it. Nothing protects the bit, which is why nobody waits for long.
fn connected_by(env: &Env<'_, '_>) -> Time {
    env.now() + env.shared.config.retransmission.first
}

/// The SPI of the peer's only or first proposal.
fn proposed_spi(inbound: &Inbound<'_>) -> Option<u32> {
    let (sa, _) = inbound.need_sa().ok()?;
    sa.proposals().find(|proposal| proposal.protocol == ProtocolId::ESP)?.child_spi()
}

/// A transform we would choose, and the suite it is.
fn acceptable(choice: &Choice<'_>, config: &ChildConfig, core: &Core) -> Option<(Phase2Transform, Suite)> {
    let transform = Phase2Transform::read(&choice.1)?;
    let suite = transform.suite(&config.suites)?;
    let fits = transform.mode == config.mode && transform.encapsulated == core.nat.found();
    fits.then_some((transform, suite))
}

/// RFC 2409 §5.5: with perfect forward secrecy both sides send a public value, without it neither does.
fn agree(
    suite: Suite,
    inbound: &Inbound<'_>,
    env: &mut Env<'_, '_>,
) -> Result<(Option<Vec<u8>>, Option<Secret>), Reason> {
    let Some(group) = suite.group else { return Ok((None, None)) };
    let theirs = inbound.need_ke()?;
    let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
    let shared = env.cx.crypto.agree(&pair.private, theirs).map_err(|_| Reason::Syntax("public value"))?;
    Ok((Some(pair.public), Some(shared)))
}

/// The traffic of an offer, if our policy covers it.
// RFC 2409 §5.5: without identities it is that of the peers themselves.
fn covered(ids: &[Identification<'_>], config: &ChildConfig, core: &Core) -> Result<Traffic, Reason> {
    let (ours, theirs) = (core.route.local.ip, core.met_at);
    let [mut remote, mut local] = match ids {
        [] => [TrafficSelector::host(theirs), TrafficSelector::host(ours)],
        [initiator, responder] => {
            let both = [selector(initiator), selector(responder)];
            both.map(|one| one.ok_or(Reason::TrafficSelectors)).into_iter().collect::<Result<Vec<_>, _>>()?[..]
                .try_into()
                .expect("two went in")
        }
        _ => return Err(Reason::Syntax("ID")),
    };
    // RFC 3947 §5.2: behind a NAT a host names itself by an address that only it knows.
    if config.mode == Mode::Transport && core.nat.there {
        remote = TrafficSelector::host(theirs).only(remote.protocol, remote.ports);
    }
    if config.mode == Mode::Transport && core.nat.here {
        local = TrafficSelector::host(ours).only(local.protocol, local.ports);
    }
    let allowed = |configured: &[TrafficSelector], dynamic: IpAddr, offered: &TrafficSelector| {
        configured.iter().any(|policy| policy.contains(offered))
            || configured.is_empty() && TrafficSelector::host(dynamic).contains(offered)
    };
    let fits = allowed(&config.local, ours, &local) && allowed(&config.remote, theirs, &remote);
    fits.then_some(Traffic { mode: config.mode, local, remote }).ok_or(Reason::TrafficSelectors)
}

fn id_body(id: &Identification<'_>) -> Vec<u8> {
    let mut w = keytoll_engine::wire::Writer::with_capacity(16);
    id.write(&mut w);
    w.finish()
}

/// What message 2 says, and what we wait for after it.
struct Reply {
    sa_body: Vec<u8>,
    public: Option<Vec<u8>>,
    ids: Vec<Vec<u8>>,
    tells_lifetime: bool,
    answer: Answer,
}

impl Reply {
    fn push(&self, m: &mut MessageBuilder, untold: Option<Duration>, core: &Core) {
        let Agreed { inbound_spi, lifespan, traffic, .. } = &self.answer.agreed;
        m.append(payload::SA, false, |w| w.bytes(&self.sa_body));
        push(m, &Payload::Nonce(&self.answer.nonces[1]));
        if let Some(public) = &self.public {
            push(m, &Payload::KeyExchange(public));
        }
        for id in &self.ids {
            m.append(payload::ID, false, |w| w.bytes(id));
        }
        push_original_addresses(m, traffic.mode, core, false);
        // RFC 2407 §4.6.3.1: our lifetimes, where they are shorter than what was offered.
        if self.tells_lifetime {
            let kinds = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
            let data = proposal::lifetime_attributes(kinds.0, kinds.1, *lifespan);
            let spi = inbound_spi.to_be_bytes();
            let kind = NotifyType::RESPONDER_LIFETIME;
            push(m, &Payload::Notify(Notify::of_child(kind, &spi, &data)));
        }
        if let Some(lifetime) = untold {
            let kinds = (Phase1Attribute::LIFE_TYPE.0, Phase1Attribute::LIFE_DURATION.0);
            let data = proposal::lifetime_attributes(kinds.0, kinds.1, lifetime);
            let cookies = core.cookie_bytes();
            push(m, &Payload::Notify(Notify::isakmp(NotifyType::RESPONDER_LIFETIME, &cookies, &data)));
        }
    }
}
