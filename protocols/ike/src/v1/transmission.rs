//! Retransmission. Read RFC 2408 §5.1 first.
//!
//! IKEv1 has neither requests nor responses: the side that waits for the next message of an exchange retransmits its own last
//! one, and the side that receives an answered message again retransmits its answer.

use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_engine::Time;
use keytoll_engine::trace::Message;

use crate::config::Retransmission;
use crate::names::{self, PayloadTypes};
use crate::number::ExchangeType;

/// A message as sent.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) exchange: ExchangeType,
    /// Whether it goes from the exchange's responder to its initiator.
    pub(super) response: bool,
    pub(super) id: u32,
    pub(super) payloads: PayloadTypes,
    pub(super) bytes: Vec<u8>,
}

impl Packet {
    /// The fact about sending it.
    pub(super) fn fact(&self, retransmission: bool) -> Message {
        Message {
            id: self.id,
            bytes: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX),
            retransmission,
            parts: self.payloads.parts(),
            ..names::message(self.exchange, self.response)
        }
    }
}

/// Identifies retransmissions; a collision gains its maker nothing but a repeated answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(message: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        message.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Bytes sent to and received from an address that has not proved that it receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reflection {
    received: usize,
    sent: usize,
}

impl Reflection {
    /// RFC 9000 §8.1 has this limit for QUIC. IKE has none, and responders that retransmit their first answer are abused to flood
    /// others, though the protocol requires it (CVE-2016-5361, of libreswan's IKEv1).
    const FACTOR: usize = 3;

    pub(super) const fn received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Counts the answer to the first message, whose length is not limited.
    pub(super) const fn answered(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
    }

    /// Whether so many bytes may be sent again.
    pub(super) const fn repeats(&mut self, bytes: usize) -> bool {
        let sent = self.sent.saturating_add(bytes);
        let may = sent <= self.received.saturating_mul(Self::FACTOR);
        if may {
            self.sent = sent;
        }
        may
    }
}

/// A retransmitted message is answered at most so often: more often than any retransmission timer needs.
const DEMANDS_MAX: u32 = 16;

/// Our last message of an exchange.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) packet: Packet,
    /// The message that it answers.
    answers: Option<Fingerprint>,
    /// When it was first sent, if a reply is expected.
    since: Option<Time>,
    times: u32,
    demands: u32,
    /// `None`: the exchange is complete for us, or the other side will retransmit.
    again_at: Option<Time>,
}

/// The result of the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing yet.
    NotYet,
    /// Retransmit.
    Again,
    /// The peer is dead.
    GiveUp,
}

impl Sent {
    /// Sent now, and retransmitted until something arrives.
    pub(super) fn awaiting(
        packet: Packet,
        answers: Option<Fingerprint>,
        now: Time,
        timers: &Retransmission,
    ) -> Self {
        let again_at = timers.wait(1).map(|wait| now + wait);
        Self { packet, answers, since: Some(now), times: 1, demands: 0, again_at }
    }

    /// Sent now, and retransmitted if the message that it answers is.
    pub(super) const fn on_demand(packet: Packet, answers: Fingerprint) -> Self {
        Self { packet, answers: Some(answers), since: None, times: 1, demands: 0, again_at: None }
    }

    /// Whether it answers the message with this fingerprint.
    pub(super) fn answers(&self, fingerprint: Fingerprint) -> bool {
        self.answers == Some(fingerprint)
    }

    /// The message that it answers was retransmitted: whether to retransmit the answer.
    pub(super) const fn demand(&mut self) -> bool {
        self.demands = self.demands.saturating_add(1);
        self.demands <= DEMANDS_MAX
    }

    /// When it was first sent, if a reply is expected.
    pub(super) const fn since(&self) -> Option<Time> {
        self.since
    }

    pub(super) const fn deadline(&self) -> Option<Time> {
        self.again_at
    }

    /// The expected message has arrived, or never will.
    pub(super) const fn settle(&mut self) {
        self.again_at = None;
    }

    /// Advances the retransmission timer.
    pub(super) fn tick(&mut self, now: Time, timers: &Retransmission) -> Due {
        if self.again_at.is_none_or(|at| at > now) {
            return Due::NotYet;
        }
        if self.times > timers.tries {
            return Due::GiveUp;
        }
        self.times += 1;
        self.again_at = timers.wait(self.times).map(|wait| now + wait);
        Due::Again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Sent {
        let packet = Packet {
            exchange: ExchangeType::INFORMATIONAL,
            response: true,
            id: 1,
            payloads: PayloadTypes::default(),
            bytes: vec![0; 100],
        };
        Sent::on_demand(packet, Fingerprint::of(b"a message"))
    }

    /// A peer that retransmits for ever is answered a limited number of times, however long it goes on: the count neither
    /// restarts nor overflows.
    #[test]
    fn an_answer_is_retransmitted_a_limited_number_of_times() {
        let mut last = sent();
        assert_eq!((0..100).filter(|_| last.demand()).count(), DEMANDS_MAX as usize);
        last.demands = u32::MAX - 1;
        assert!(!(0..3).any(|_| last.demand()));
    }

    #[test]
    fn only_answered_messages_are_answered_again() {
        let last = sent();
        assert!(
            last.answers(Fingerprint::of(b"a message")) && !last.answers(Fingerprint::of(b"another message"))
        );
    }

    /// CVE-2016-5361: an address that has proved nothing gets at most three times the bytes received from it, and no count
    /// overflows.
    #[test]
    fn an_unproved_address_gets_three_times_what_it_sent() {
        let mut reflection = Reflection::default();
        assert!(!reflection.repeats(1), "nothing came");
        reflection.received(100);
        reflection.answered(100);
        assert!(reflection.repeats(150) && reflection.repeats(50) && !reflection.repeats(1));
        reflection.received(1);
        assert!(reflection.repeats(3) && !reflection.repeats(1));
        reflection.received(usize::MAX);
        reflection.answered(usize::MAX);
        assert!(reflection.repeats(usize::MAX), "all that can be counted is allowed");
    }
}
