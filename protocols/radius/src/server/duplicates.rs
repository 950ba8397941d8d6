//! Duplicate detection: each request is processed once, and a retransmission gets the same response. RFC 5080 §2.2.2.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Socket;

use crate::wire::{Packet, Sealed};

/// Source and destination of a request, and its identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) from: Socket,
    pub(super) to: Socket,
    pub(super) identifier: u8,
}

/// Distinguishes requests under one key: retransmissions are equal byte for byte. The authenticator alone would suffice, if
/// null crypto did not compute all zeros for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(packet: &Packet<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(packet.bytes());
        Self(hasher.finish())
    }
}

#[cfg(test)]
impl Fingerprint {
    pub(super) const fn of_nothing() -> Self {
        Self(0)
    }
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    arrived_at: Time,
    response: Option<Sealed>,
}

/// What is known of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    /// Nothing.
    Never,
    /// It is being processed.
    Unanswered,
    /// This was its response.
    Answered(&'a Sealed),
}

/// The requests of the last seconds. If there are too many, the oldest of the client that has most is forgotten: nobody can make
/// the server forget what others have asked.
#[derive(Debug)]
pub(super) struct Duplicates {
    entries: BTreeMap<Key, Entry>,
    by_age: BTreeSet<(Time, Key)>,
    of_client: BTreeMap<IpAddr, BTreeSet<(Time, Key)>>,
    count_max: usize,
    kept: Duration,
}

impl Duplicates {
    pub(super) const fn new(count_max: usize, kept: Duration) -> Self {
        Self {
            entries: BTreeMap::new(),
            by_age: BTreeSet::new(),
            of_client: BTreeMap::new(),
            count_max,
            kept,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn seen(&self, key: Key, fingerprint: Fingerprint) -> Seen<'_> {
        match self.entries.get(&key).filter(|entry| entry.fingerprint == fingerprint) {
            None => Seen::Never,
            Some(Entry { response: None, .. }) => Seen::Unanswered,
            Some(Entry { response: Some(response), .. }) => Seen::Answered(response),
        }
    }

    // RFC 5080 §2.2.2: another request with the same identifier purges the previous one.
    /// Registers a request that is going to be processed.
    pub(super) fn insert(&mut self, key: Key, fingerprint: Fingerprint, now: Time) {
        self.remove(key);
        if self.entries.len() >= self.count_max {
            self.remove_of_busiest();
        }
        self.by_age.insert((now, key));
        self.of_client.entry(key.from.ip).or_default().insert((now, key));
        self.entries.insert(key, Entry { fingerprint, arrived_at: now, response: None });
    }

    /// Stores the response, unless its request was dropped meanwhile.
    pub(super) fn answer(&mut self, key: Key, fingerprint: Fingerprint, response: Sealed) {
        if let Some(entry) = self.entries.get_mut(&key).filter(|entry| entry.fingerprint == fingerprint) {
            entry.response = Some(response);
        }
    }

    /// Drops a request, unless its key belongs to another by now.
    pub(super) fn forget(&mut self, key: Key, fingerprint: Fingerprint) {
        if self.seen(key, fingerprint) != Seen::Never {
            self.remove(key);
        }
    }

    /// Drops expired entries.
    pub(super) fn purge(&mut self, now: Time) {
        while let Some(&(arrived_at, key)) = self.by_age.first()
            && arrived_at + self.kept <= now
        {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: Key) {
        let Some(entry) = self.entries.remove(&key) else { return };
        let place = (entry.arrived_at, key);
        self.by_age.remove(&place);
        if let Some(own) = self.of_client.get_mut(&key.from.ip) {
            own.remove(&place);
            if own.is_empty() {
                self.of_client.remove(&key.from.ip);
            }
        }
    }

    fn remove_of_busiest(&mut self) {
        let busiest = self.of_client.values().max_by_key(|own| own.len());
        if let Some(&(_, oldest)) = busiest.and_then(BTreeSet::first) {
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_makes_the_server_forget_its_own_requests_only() {
        let mut known = Duplicates::new(10, Duration::from_secs(30));
        let key = |client: u8, identifier: u8| Key {
            from: Socket::new(IpAddr::from([192, 0, 2, client]), 40_000),
            to: Socket::new(IpAddr::from([192, 0, 2, 9]), 1812),
            identifier,
        };
        let at = |n: u8| Time::ZERO + Duration::from_millis(n.into());
        (0..3).for_each(|n| known.insert(key(1, n), Fingerprint(1), at(n)));
        (0..200).for_each(|n| known.insert(key(2, n), Fingerprint(2), at(10 + n)));
        let seen = |client, n| known.seen(key(client, n), Fingerprint(client.into()));
        assert_eq!(known.len(), 10);
        assert!((0..3).all(|n| seen(1, n) == Seen::Unanswered), "older than all of the other");
        assert!(seen(2, 192) == Seen::Never && seen(2, 193) == Seen::Unanswered);
        known.purge(at(100) + Duration::from_secs(30));
        assert_eq!((known.len(), known.of_client.len()), (7, 1));
        known.purge(Time::MAX);
        assert!(known.by_age.is_empty() && known.of_client.is_empty() && known.len() == 0);
    }
}
