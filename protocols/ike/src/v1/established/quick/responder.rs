//! Quick mode of the responder: answers message 1, waits for message 3.
//! Read RFC 2409 §5.5, RFC 2407 §4.5, §4.6.2, RFC 3947 §5 first.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::Time;

use super::super::super::endpoint::Env;
use super::super::super::inbound::Inbound;
use super::super::super::keys;
use super::super::super::number::{Phase1Attribute, Phase2Attribute, QUICK_MODE, payload};
use super::super::super::phase1::{Step, wishes};
use super::super::super::proposal::{self, Choice, Lifespan, Phase2Transform};
use super::super::super::protect::{self, Iv, Kind};
use super::super::super::sa::Core;
use super::super::super::selectors::selector;
use super::super::super::transmission::{Packet, Sent};
use super::super::super::wire::message::push;
use super::super::super::wire::{Identification, Notify, Payload};
use super::super::Established;
use super::super::child::{Agreed, Place, Traffic};
use super::super::exchange::{Exchange, Wait};
use super::super::refused::refuse;
use super::{Answer, AwaitingConnected, authentic, proposed_spi, push_original_addresses};
use crate::config::{ChildConfig, Mode};
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::phase;
use crate::wire::{MessageBuilder, TrafficSelector};

/// Maximum number of unfinished quick modes of a peer.
const ANSWERS_MAX: usize = 8;

/// Maximum number of refusals that are kept for retransmission: the latest.
const REFUSALS_MAX: usize = 8;

/// Waits for message 3.
#[derive(Debug)]
pub(in super::super) struct AwaitingConfirmation {
    pub(in super::super) answer: Answer,
    /// Of message 3.
    iv: Iv,
    /// Message 2.
    pub(in super::super) sent: Sent,
}

/// The offer was refused; the refusal is retransmitted until then if the offer is.
#[derive(Debug)]
pub(in super::super) struct Refused {
    pub(in super::super) sent: Sent,
    pub(in super::super) until: Time,
}

impl Established {
    /// Message 1.
    pub(in super::super) fn on_offer(&mut self, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let id = step.header.message_id;
        if self.exchanges.iter().filter(|it| it.wait.agreed().is_some()).count() >= ANSWERS_MAX {
            return env.discard("too many quick modes");
        }
        let iv = self.iv.of_exchange(env.cx.crypto, &self.keys, id);
        let Some(opened) = self.open(step, iv, env) else { return env.discard("not decryptable") };
        let Some(inbound) = authentic(&opened, |rest| keys::hash_1(env.cx.crypto, &self.keys, id, rest))
        else {
            return env.discard("not authentic");
        };
        self.heard_from(step, core, env);
        self.announce(core, env);
        match self.choose(&inbound, core, env) {
            // It is not remembered, so its retransmission counts as new.
            Ok(None) => env.discard("the child is being replaced by us"),
            Ok(Some(reply)) => {
                self.remember(id, env.now());
                self.reply(opened.next_iv, reply, step, core, env);
            }
            Err(reason) => {
                self.remember(id, env.now());
                let packet = self.refuse(reason, proposed_spi(&inbound), core, env);
                self.keep_refusal(packet, step, env);
                env.emit(Event::ChildFailed(core.id(), reason));
            }
        }
    }

    /// Our answer to an offer; `None` for now if it is to replace a child that we are replacing.
    fn choose(
        &self,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<Option<Reply>, Reason> {
        let children_max = env.shared.config.children_max;
        // Children being replaced count, too; at least one can be replaced.
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
        // IKEv1 does not specify it, but an SA for the same traffic replaces the existing one.
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
        let place = Place::of(rekeys);
        let agreed = Agreed { inbound_spi, outbound_spi, suite, traffic, lifespan, ours: false, place };
        Ok(Some(Reply {
            sa_body: proposal::sa_body(&proposal::answer(&choice, Some(inbound_spi))),
            public,
            ids: ids.iter().map(id_body).collect(),
            tells_lifetime: transform.lifetime.is_some_and(|theirs| lifespan.time < theirs)
                || lifespan.kilobytes != transform.kilobytes,
            answer: Answer { agreed, nonces: [theirs.to_vec(), nonce.to_vec()], shared, _spi: spi },
        }))
    }

    /// Sends message 2.
    fn reply(&mut self, mut iv: Iv, reply: Reply, step: &Step<'_>, core: &Core, env: &mut Env<'_, '_>) {
        let (keys, untold, id) = (&self.keys, self.untold_lifetime.take(), step.header.message_id);
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
        let replaced = reply.answer.agreed.place.rekeys();
        self.children
            .iter_mut()
            .filter(|child| Some(child.inbound_spi()) == replaced)
            .for_each(|child| child.wait_until(env.now() + timers.total()));
        let sent = Sent::awaiting(packet, Some(step.fingerprint), env.now(), &timers);
        let wait = AwaitingConfirmation { answer: reply.answer, iv, sent };
        self.exchanges.push(Exchange { id, wait: Wait::Confirmation(Box::new(wait)) });
    }

    /// Keeps a refusal, because the peer retransmits its offer until it receives the refusal.
    fn keep_refusal(&mut self, packet: Packet, step: &Step<'_>, env: &Env<'_, '_>) {
        let is_refusal = |exchange: &Exchange| matches!(exchange.wait, Wait::Refused(_));
        if self.exchanges.iter().filter(|exchange| is_refusal(exchange)).count() >= REFUSALS_MAX
            && let Some(oldest) = self.exchanges.iter().position(is_refusal)
        {
            self.exchanges.remove(oldest);
        }
        let until = env.now() + env.shared.config.retransmission.total();
        let wait = Wait::Refused(Refused { sent: Sent::on_demand(packet, step.fingerprint), until });
        self.exchanges.push(Exchange { id: step.header.message_id, wait });
    }
}

impl AwaitingConfirmation {
    /// Handles message 3. `at` is the exchange's position in the order of their start.
    pub(in super::super) fn on_message(
        self: Box<Self>,
        at: usize,
        sa: &mut Established,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Option<Wait> {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let Some(opened) = sa.open(step, self.iv, env) else {
            env.discard("not decryptable");
            return Some(Wait::Confirmation(self));
        };
        let (id, [nonce_i, nonce_r]) = (step.header.message_id, &self.answer.nonces);
        let hash = |_: &[u8]| keys::hash_3(env.cx.crypto, &sa.keys, id, [nonce_i, nonce_r]);
        if authentic(&opened, hash).is_none() {
            env.discard("not authentic");
            return Some(Wait::Confirmation(self));
        }
        sa.heard_from(step, core, env);
        let Self { answer, mut sent, .. } = *self;
        if step.header.flags.is_committing() {
            sent.settle();
            let wait = AwaitingConnected::new(answer, sent, env);
            sa.exchanges.push(Exchange { id, wait: Wait::Connected(Box::new(wait)) });
        } else {
            sa.answer_up(&answer, at, core, env);
        }
        None
    }
}

/// The suite of an acceptable transform.
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
// RFC 2409 §5.5: without identities it is that between the peers themselves.
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
    // RFC 3947 §5.2: a host behind a NAT identifies itself by its private address.
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
    let mut w = keytoll_net::wire::Writer::with_capacity(16);
    id.write(&mut w);
    w.finish()
}

/// The parameters of message 2, and the wait after it.
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
        // RFC 2407 §4.6.3.1: our lifetimes, if they are shorter than the offered ones.
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
