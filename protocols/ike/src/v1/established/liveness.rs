//! Dead peer detection. Read RFC 3706 §5, §6.1 first.

use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::wire::Reader;

use super::super::endpoint::Env;
use super::super::phase1::Step;
use super::super::sa::Core;
use super::super::transmission::{Packet, Sent};
use super::super::wire::{Notify, Payload};
use super::Established;
use super::exchange::{Exchange, Wait};
use crate::number::{NotifyType, ProtocolId};

/// State of dead peer detection in both directions.
#[derive(Debug)]
pub(super) struct Liveness {
    /// When an authenticated message of the peer last arrived.
    pub(super) heard: Time,
    /// The peer is probed after so much silence.
    silence_max: Option<Duration>,
    /// RFC 3706 §5.4: the sequence number of our last R-U-THERE, if there was one.
    asked: Option<u32>,
    /// The same of the peer's.
    answered: Option<u32>,
    /// Our answer to that.
    acknowledged: Option<Sent>,
}

impl Liveness {
    pub(super) const fn begin(now: Time, silence_max: Option<Duration>) -> Self {
        Self { heard: now, silence_max, asked: None, answered: None, acknowledged: None }
    }

    /// Our answer to this R-U-THERE, if it was the last one.
    pub(super) fn answer_to(&mut self, step: &Step<'_>) -> Option<&mut Sent> {
        self.acknowledged.as_mut().filter(|sent| sent.answers(step.fingerprint))
    }

    /// RFC 3706 §6.1: the first number is random, below 2^31.
    fn next_sequence(&mut self, env: &mut Env<'_, '_>) -> u32 {
        let sequence = match self.asked {
            Some(last) => last.wrapping_add(1),
            None => env.shared.fresh_message_id() >> 1,
        };
        self.asked = Some(sequence);
        sequence
    }

    /// RFC 3706 §6.1: an old number is a replay; the last one again is a retransmission.
    fn takes(&mut self, sequence: u32) -> bool {
        let is_old = self.answered.is_some_and(|last| sequence.wrapping_sub(last) > u32::MAX / 2);
        if !is_old {
            self.answered = Some(sequence);
        }
        !is_old
    }
}

impl Established {
    /// When the peer last sent something under it.
    pub(in crate::v1) const fn heard(&self) -> Time {
        self.liveness.heard
    }

    /// When a silent peer is to be probed; not while it owes us an answer anyway.
    pub(super) fn liveness_at(&self) -> Option<Time> {
        let busy = self.exchanges.iter().any(|exchange| exchange.wait.is_repeated());
        self.liveness.silence_max.filter(|_| !busy).map(|after| self.liveness.heard + after)
    }

    pub(super) fn tick_liveness(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if self.liveness_at().is_some_and(|at| at <= env.now()) {
            self.liveness.heard = env.now();
            self.probe(core, env);
        }
    }

    /// RFC 3706 §5.3: R-U-THERE, which must be answered.
    pub(super) fn on_probe(
        &mut self,
        notify: &Notify<'_>,
        step: &Step<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) {
        let Some(sequence) = sequence(notify, core) else { return env.discard("malformed R-U-THERE") };
        if !self.liveness.takes(sequence) {
            return env.discard("old R-U-THERE");
        }
        let packet = self.say(NotifyType::R_U_THERE_ACK, sequence, core, env);
        self.liveness.acknowledged = Some(Sent::on_demand(packet, step.fingerprint));
    }

    pub(super) fn on_probe_answer(&mut self, notify: &Notify<'_>, env: &mut Env<'_, '_>) {
        let said = Reader::new(notify.data).u32("sequence number").ok();
        if said.is_none() || said != self.liveness.asked {
            return env.discard("R-U-THERE-ACK of nothing");
        }
        self.exchanges.retain(|exchange| !exchange.is_probe());
    }

    /// Sends R-U-THERE, and retransmits it until it is answered.
    pub(super) fn probe(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if !self.extensions.dpd {
            return env.discard("the peer does not know R-U-THERE");
        }
        if self.exchanges.iter().any(Exchange::is_probe) {
            return;
        }
        let sequence = self.liveness.next_sequence(env);
        let packet = self.say(NotifyType::R_U_THERE, sequence, core, env);
        let id = packet.id;
        let sent = Sent::awaiting(packet, None, env.now(), &env.shared.config.retransmission);
        self.exchanges.push(Exchange { id, wait: Wait::Acknowledgement(sent) });
    }

    /// Retransmits R-U-THERE with the same sequence number, but as an exchange of its own.
    // RFC 2409 §5.7: a message id is used once, and some peers ignore it the second time.
    pub(super) fn probe_again(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let Some(sequence) = self.liveness.asked else { return };
        let packet = self.say(NotifyType::R_U_THERE, sequence, core, env);
        for exchange in &mut self.exchanges {
            if let Wait::Acknowledgement(sent) = &mut exchange.wait {
                exchange.id = packet.id;
                sent.packet = packet;
                return;
            }
        }
    }

    /// RFC 3706 §5.3: sends a notification with a sequence number.
    fn say(&mut self, kind: NotifyType, sequence: u32, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        let (cookies, data) = (core.cookie_bytes(), sequence.to_be_bytes());
        self.inform(&Payload::Notify(Notify::isakmp(kind, &cookies, &data)), core, env)
    }
}

/// The sequence number of an R-U-THERE for this SA.
fn sequence(notify: &Notify<'_>, core: &Core) -> Option<u32> {
    let ours = notify.protocol == ProtocolId::IKE && notify.spi == core.cookie_bytes();
    <[u8; 4]>::try_from(notify.data).ok().filter(|_| ours).map(u32::from_be_bytes)
}
