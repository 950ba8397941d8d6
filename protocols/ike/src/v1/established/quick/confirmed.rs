//! Quick mode after its last message: CONNECTED, if the peer has set the commit bit, then only retransmissions.
//! Read RFC 2408 §3.1 first.

use keytoll_engine::Time;

use super::super::super::endpoint::Env;
use super::super::super::keys;
use super::super::super::number::CONNECTED;
use super::super::super::phase1::Step;
use super::super::super::sa::Core;
use super::super::super::transmission::Sent;
use super::super::Established;
use super::super::exchange::{Exchange, Wait};
use super::{Answer, authentic};

/// Waits for CONNECTED, with a time limit, because it is not retransmitted.
#[derive(Debug)]
pub(in super::super) struct AwaitingConnected {
    pub(in super::super) answer: Answer,
    /// Our last message.
    pub(in super::super) sent: Sent,
    pub(in super::super) until: Time,
}

/// Complete: our last message, for the child with this inbound SPI, is retransmitted until then if the message that it answers
/// is.
#[derive(Debug)]
pub(in super::super) struct Confirmed {
    pub(in super::super) spi: u32,
    pub(in super::super) sent: Sent,
    pub(in super::super) until: Time,
}

impl Confirmed {
    pub(super) fn new(answer: &Answer, sent: Sent, env: &Env<'_, '_>) -> Self {
        let until = env.now() + env.shared.config.retransmission.total();
        Self { spi: answer.agreed.inbound_spi, sent, until }
    }
}

impl AwaitingConnected {
    // RFC 2408 §3.1: a side that has not set the commit bit waits for CONNECTED. The bit is not protected, hence the short
    // limit.
    pub(super) fn new(answer: Answer, sent: Sent, env: &Env<'_, '_>) -> Self {
        Self { answer, sent, until: env.now() + env.shared.config.retransmission.first }
    }

    /// Handles CONNECTED under the message id of its quick mode.
    pub(in super::super) fn on_message(
        self: Box<Self>,
        at: usize,
        sa: &mut Established,
        step: &Step<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Wait {
        let id = step.header.message_id;
        let iv = sa.iv.of_exchange(env.cx.crypto, &sa.keys, id);
        let Some(opened) = sa.open(step, iv, env) else {
            env.discard("not decryptable");
            return Wait::Connected(self);
        };
        let inbound = authentic(&opened, |rest| keys::hash_1(env.cx.crypto, &sa.keys, id, rest));
        if inbound.is_none_or(|inbound| inbound.notify(CONNECTED).is_none()) {
            env.discard("not authentic");
            return Wait::Connected(self);
        }
        sa.heard_from(step, core, env);
        self.connected(at, sa, core, env)
    }

    /// The child is up; our last message may have to be retransmitted.
    fn connected(
        self: Box<Self>,
        at: usize,
        sa: &mut Established,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Wait {
        let Self { answer, sent, .. } = *self;
        let confirmed = Confirmed::new(&answer, sent, env);
        sa.answer_up(&answer, at, core, env);
        Wait::Confirmed(confirmed)
    }

    /// Whether CONNECTED has not arrived in time.
    fn is_in_vain(&self, now: Time) -> bool {
        self.until <= now
    }
}

impl Established {
    /// Ends overdue waits for CONNECTED.
    pub(in super::super) fn tick_commitments(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        let is_due = |it: &Exchange| matches!(&it.wait, Wait::Connected(wait) if wait.is_in_vain(now));
        while let Some(at) = self.exchanges.iter().position(is_due) {
            let Exchange { id, wait } = self.exchanges.remove(at);
            let wait = match wait {
                Wait::Connected(wait) => wait.connected(at, self, core, env),
                other => other,
            };
            self.exchanges.insert(at, Exchange { id, wait });
        }
    }
}
