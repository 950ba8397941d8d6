//! Answers that a server keeps for retransmitted requests. Read RFC 6733 §3 (End-to-End Identifier) and §5.5.4 first.
//!
//! They contain subscribers' keys. So an answer is repeated only to its requester: same address, same Origin-Host, same session
//! and identical request. It is kept for a short time, and the number per address is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_engine::Time;

use crate::wire::Message;

/// The identity of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    address: IpAddr,
    /// Origin-Host of the peer's capabilities.
    host: Vec<u8>,
    end_to_end: u32,
    command: u32,
    /// Every AVP: Session-Id, Origin-Host, and the request's own.
    avps: Box<[u8]>,
}

impl Asked {
    pub(crate) fn new(address: IpAddr, host: Vec<u8>, message: &Message<'_>) -> Self {
        let (header, avps) = (message.header, message.avps.bytes().into());
        Self { address, host, end_to_end: header.end_to_end, command: header.command, avps }
    }
}

struct Kept {
    asked: Arc<Asked>,
    /// Wiped when dropped.
    answer: Secret,
    until: Time,
}

/// The answers.
pub(crate) struct Answers {
    /// By sequence number, the oldest first.
    kept: BTreeMap<u64, Kept>,
    /// The number of each, and those of each address.
    numbers: BTreeMap<Arc<Asked>, u64>,
    of_address: BTreeMap<IpAddr, BTreeSet<u64>>,
    given: u64,
    count_max: usize,
    lifetime: Duration,
}

impl Answers {
    pub(crate) const fn new(count_max: usize, lifetime: Duration) -> Self {
        Self {
            kept: BTreeMap::new(),
            numbers: BTreeMap::new(),
            of_address: BTreeMap::new(),
            given: 0,
            count_max,
            lifetime,
        }
    }

    /// The stored answer, if it is still valid.
    pub(crate) fn get(&self, asked: &Asked, now: Time) -> Option<Vec<u8>> {
        let kept = self.kept.get(self.numbers.get(asked)?).filter(|kept| now < kept.until)?;
        Some(kept.answer.to_vec())
    }

    /// Stores an answer. An address at its limit loses its oldest one.
    pub(crate) fn put(&mut self, asked: Asked, answer: Secret, now: Time) {
        self.numbers.get(&asked).copied().into_iter().for_each(|before| self.forget(before));
        let own = self.of_address.get(&asked.address);
        let makes_room = if own.is_some_and(|own| own.len() >= (self.count_max / 4).max(1)) {
            own.and_then(BTreeSet::first)
        } else if self.kept.len() >= self.count_max.max(1) {
            self.kept.keys().next()
        } else {
            None
        };
        makes_room.copied().into_iter().for_each(|oldest| self.forget(oldest));
        self.given += 1;
        let asked = Arc::new(asked);
        self.of_address.entry(asked.address).or_default().insert(self.given);
        self.numbers.insert(Arc::clone(&asked), self.given);
        self.kept.insert(self.given, Kept { asked, answer, until: now + self.lifetime });
    }

    fn forget(&mut self, number: u64) {
        let Some(Kept { asked, .. }) = self.kept.remove(&number) else { return };
        self.numbers.remove(&asked);
        if let Some(own) = self.of_address.get_mut(&asked.address) {
            own.remove(&number);
            if own.is_empty() {
                self.of_address.remove(&asked.address);
            }
        }
    }

    /// Wipes expired answers.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((&oldest, _)) = self.kept.first_key_value().filter(|(_, kept)| kept.until <= now) {
            self.forget(oldest);
        }
    }

    /// When the next becomes too old.
    pub(crate) fn expiry(&self) -> Option<Time> {
        self.kept.first_key_value().map(|(_, kept)| kept.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: u8, end_to_end: u32) -> Asked {
        let address = IpAddr::from([192, 0, 2, host]);
        Asked { address, host: b"aaa".to_vec(), end_to_end, command: 303, avps: Box::from(&b"who"[..]) }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_address_is_limited_and_loses_its_oldest_answer() {
        let mut answers = Answers::new(8, Duration::from_secs(10));
        let put = |answers: &mut Answers, host, n: u32| {
            answers.put(asked(host, n), Secret::from(&n.to_be_bytes()[..]), at(0));
        };
        (1..=3).for_each(|n| put(&mut answers, 1, n));
        assert_eq!(answers.get(&asked(1, 1), at(0)), None);
        assert_eq!(answers.get(&asked(1, 2), at(0)), Some(vec![0, 0, 0, 2]));
        assert_eq!(answers.get(&asked(2, 2), at(0)), None, "another's");
        (2..=5).for_each(|host| (1..=2).for_each(|n| put(&mut answers, host, n)));
        assert_eq!((answers.kept.len(), answers.numbers.len()), (8, 8));
        assert_eq!(answers.get(&asked(1, 3), at(0)), None, "the oldest of all");
        assert_eq!(answers.of_address.len(), 4);
    }

    #[test]
    fn expired_answers_are_gone_and_can_be_stored_anew() {
        let mut answers = Answers::new(8, Duration::from_secs(10));
        answers.put(asked(1, 1), Secret::from(&b"old"[..]), at(0));
        assert_eq!((answers.get(&asked(1, 1), at(10)), answers.expiry()), (None, Some(at(10))));
        answers.put(asked(1, 1), Secret::from(&b"new"[..]), at(10));
        answers.expire(at(19));
        assert_eq!(answers.get(&asked(1, 1), at(19)).as_deref(), Some(&b"new"[..]));
        answers.expire(at(20));
        assert!(answers.kept.is_empty() && answers.numbers.is_empty() && answers.of_address.is_empty());
    }
}
