//! Quick mode of the initiator: sends message 1, waits for message 2, sends message 3.
//! Read RFC 2409 §5.5, RFC 2407 §4.5, §4.6.2 first.

use std::net::IpAddr;

use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{KeyPair, Secret};
use keytoll_engine::Time;

use super::super::super::endpoint::Env;
use super::super::super::inbound::Inbound;
use super::super::super::keys;
use super::super::super::number::{Phase2Attribute, QUICK_MODE, payload};
use super::super::super::phase1::{Step, wishes};
use super::super::super::proposal::{self, Lifespan, Phase2Transform};
use super::super::super::protect::{self, Iv, Kind};
use super::super::super::sa::Core;
use super::super::super::selectors::{ClientId, can_offer, selector};
use super::super::super::transmission::Sent;
use super::super::super::wire::message::push;
use super::super::super::wire::{Identification, Payload};
use super::super::Established;
use super::super::child::{Agreed, Child, Place, Traffic};
use super::super::exchange::{Exchange, Wait};
use super::super::lifetime::told_lifetime;
use super::{Answer, AwaitingConnected, Confirmed, authentic, proposed_spi, push_original_addresses};
use crate::config::ChildConfig;
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::phase;
use crate::spis::ProposedSpi;
use crate::wire::{MessageBuilder, TrafficSelector};

/// Waits for message 2.
#[derive(Debug)]
pub(in super::super) struct AwaitingAnswer {
    pub(in super::super) offer: Offer,
    /// Of message 2.
    iv: Iv,
    pub(in super::super) asking: Asking,
}

/// Whether we still ask.
#[derive(Debug)]
pub(in super::super) enum Asking {
    /// Message 1 is repeated.
    Repeated(Sent),
    /// The peer's offer for the same traffic came first. It may have answered ours, which counts until then.
    Withdrawn { until: Time },
}

/// The contents of message 1.
#[derive(Debug)]
pub(in super::super) struct Offer {
    suites: Vec<Suite>,
    spi: ProposedSpi,
    nonce: [u8; 32],
    pair: Option<KeyPair>,
    pub(in super::super) traffic: Traffic,
    lifespan: Lifespan,
    rekeys: Option<u32>,
}

/// The result of message 2.
struct Settled {
    agreed: Agreed,
    nonce: Vec<u8>,
    shared: Option<Secret>,
}

impl Established {
    /// Sends message 1, for a new child or one that replaces another.
    pub(in super::super) fn offer(&mut self, rekeys: Option<u32>, core: &mut Core, env: &mut Env<'_, '_>) {
        if self.has_too_many(rekeys, core, env) {
            return;
        }
        env.cx.crypto.enter(phase::CREATE_CHILD);
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
        let wait = AwaitingAnswer { offer, iv, asking: Asking::Repeated(sent) };
        self.exchanges.push(Exchange { id, wait: Wait::Answer(Box::new(wait)) });
    }

    /// There is no answer to an offer, or an unusable one.
    pub(in super::super) fn offer_failed(
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

    /// Sends message 3. The child is up, unless the peer makes us wait for CONNECTED.
    fn confirm(
        &mut self,
        (offer, settled): (Offer, Settled),
        mut iv: Iv,
        step: &Step<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Wait {
        let (keys, id) = (&self.keys, step.header.message_id);
        let packet = protect::protected(
            core,
            Kind { exchange: QUICK_MODE, response: false, id },
            keys,
            &mut iv,
            |_| {},
            |crypto, _| keys::hash_3(crypto, keys, id, [&offer.nonce, &settled.nonce]),
            env,
        );
        env.transmit(core.route, &packet, false);
        let sent = Sent::on_demand(packet, step.fingerprint);
        let Settled { agreed, nonce, shared } = settled;
        let answer = Answer { agreed, nonces: [offer.nonce.to_vec(), nonce], shared, _spi: offer.spi };
        if step.header.flags.is_committing() {
            return Wait::Connected(Box::new(AwaitingConnected::new(answer, sent, env)));
        }
        self.answer_up(&answer, self.exchanges.len(), core, env);
        Wait::Confirmed(Confirmed::new(&answer, sent, env))
    }
}

impl AwaitingAnswer {
    /// Whether the peer's offer for the same traffic came first.
    pub(in super::super) const fn is_withdrawn(&self) -> bool {
        matches!(self.asking, Asking::Withdrawn { .. })
    }

    /// Handles message 2; returns the next wait, `None` if it is unusable.
    pub(in super::super) fn on_message(
        self: Box<Self>,
        sa: &mut Established,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Option<Wait> {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let Some(opened) = sa.open(step, self.iv, env) else {
            env.discard("not decryptable");
            return Some(Wait::Answer(self));
        };
        let id = step.header.message_id;
        let hash = |rest: &[u8]| keys::hash_2(env.cx.crypto, &sa.keys, id, &self.offer.nonce, rest);
        let Some(inbound) = authentic(&opened, hash) else {
            env.discard("not authentic");
            return Some(Wait::Answer(self));
        };
        let settled = self.offer.settle(&inbound, core, env);
        sa.heard_from(step, core, env);
        if let Some(lifetime) = told_lifetime(&inbound) {
            sa.shorten(lifetime, env);
        }
        match settled {
            Ok(settled) => Some(sa.confirm((self.offer, settled), opened.next_iv, step, core, env)),
            Err(reason) => {
                sa.refuse(reason, proposed_spi(&inbound), core, env);
                sa.offer_failed(self.offer.rekeys, reason, core, env);
                None
            }
        }
    }
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

    /// The child that it is to replace.
    pub(in super::super) const fn rekeys(&self) -> Option<u32> {
        self.rekeys
    }

    /// Whether a notification with this SPI concerns it.
    pub(in super::super) const fn is_about(&self, spi: u32) -> bool {
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

    /// The responder's choice.
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
        let shared = self.agree(inbound, env)?;
        let agreed = Agreed {
            inbound_spi: self.spi.get(),
            outbound_spi,
            suite,
            traffic: self.narrowed(inbound)?,
            lifespan: self.shortened(&chosen, inbound),
            ours: true,
            place: Place::of(self.rekeys),
        };
        Ok(Settled { agreed, nonce, shared })
    }

    /// The shared secret, with perfect forward secrecy.
    fn agree(&self, inbound: &Inbound<'_>, env: &mut Env<'_, '_>) -> Result<Option<Secret>, Reason> {
        let Some(pair) = &self.pair else { return Ok(None) };
        let shared = env.cx.crypto.agree(&pair.private, inbound.need_ke()?);
        shared.map(Some).map_err(|_| Reason::Syntax("public value"))
    }

    /// RFC 2407 §4.6.3.1: the responder may have announced a shorter lifetime of the SAs.
    fn shortened(&self, chosen: &Phase2Transform, inbound: &Inbound<'_>) -> Lifespan {
        let told = inbound
            .notify(NotifyType::RESPONDER_LIFETIME)
            .filter(|notify| notify.protocol == ProtocolId::ESP);
        let (life_type, duration) = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
        let told =
            told.map_or((None, None), |notify| proposal::read_lifetimes(notify.data, life_type, duration));
        self.lifespan.within(chosen.lifetime, chosen.kilobytes).within(told.0, told.1)
    }

    /// The traffic in the responder's answer: ours, or a part of it.
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

/// The first selector of a configuration; if none is configured, the address itself.
// RFC 2407 §4.6.2: an identity is one address, subnet or range.
fn first(configured: &[TrafficSelector], dynamic: IpAddr) -> TrafficSelector {
    configured.first().copied().unwrap_or_else(|| TrafficSelector::host(dynamic))
}
