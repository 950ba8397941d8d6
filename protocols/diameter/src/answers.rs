//! Answers that a server keeps for repeated requests. Read RFC 6733 §3 (End-to-End Identifier) and §5.5.4 first.
//!
//! There are keys of subscribers in them. So an answer is for whoever asked: the same address, whose peer called itself the
//! same, in the same session and word for word; it is kept for a short time, and no address keeps more than its share.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::crypto::Secret;

use crate::wire::Message;

/// Who asked what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    address: IpAddr,
    /// Origin-Host of the peer's capabilities.
    host: Vec<u8>,
    end_to_end: u32,
    command: u32,
    /// Every AVP: Session-Id, Origin-Host, and what is asked.
    avps: Box<[u8]>,
}

impl Asked {
    pub(crate) fn new(address: IpAddr, host: Vec<u8>, message: &Message<'_>) -> Self {
        let (header, avps) = (message.header, message.avps.bytes().into());
        Self { address, host, end_to_end: header.end_to_end, command: header.command, avps }
    }
}

struct Kept {
    asked: Asked,
    /// Wiped when it goes.
    answer: Secret,
    until: Time,
}

/// The answers, the oldest first.
pub(crate) struct Answers {
    kept: VecDeque<Kept>,
    count_max: usize,
    lifetime: Duration,
}

impl Answers {
    pub(crate) const fn new(count_max: usize, lifetime: Duration) -> Self {
        Self { kept: VecDeque::new(), count_max, lifetime }
    }

    /// The answer that was given, if it is still kept.
    pub(crate) fn get(&self, asked: &Asked, now: Time) -> Option<Vec<u8>> {
        let kept = self.kept.iter().find(|kept| kept.asked == *asked && now < kept.until)?;
        Some(kept.answer.to_vec())
    }

    /// Keeps an answer. An address that has its share loses the oldest of its own.
    pub(crate) fn put(&mut self, asked: Asked, answer: Secret, now: Time) {
        let of_address = |kept: &Kept| kept.asked.address == asked.address;
        let own = self.kept.iter().filter(|kept| of_address(kept)).count();
        if own >= (self.count_max / 4).max(1) {
            let oldest = self.kept.iter().position(of_address);
            oldest.map(|oldest| self.kept.remove(oldest));
        } else if self.kept.len() >= self.count_max.max(1) {
            self.kept.pop_front();
        }
        self.kept.push_back(Kept { asked, answer, until: now + self.lifetime });
    }

    /// Wipes what is too old.
    pub(crate) fn expire(&mut self, now: Time) {
        while self.kept.front().is_some_and(|kept| kept.until <= now) {
            self.kept.pop_front();
        }
    }

    /// When the next becomes too old.
    pub(crate) fn expiry(&self) -> Option<Time> {
        self.kept.front().map(|kept| kept.until)
    }
}
