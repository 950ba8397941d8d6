//! Duplicate detection: each request is processed once, and a retransmission gets the same response. RFC 5080 §2.2.2.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
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

/// The requests of the last seconds.
#[derive(Debug)]
pub(super) struct Duplicates {
    entries: BTreeMap<Key, Entry>,
    by_age: BTreeSet<(Time, Key)>,
    count_max: usize,
    kept: Duration,
}

impl Duplicates {
    pub(super) const fn new(count_max: usize, kept: Duration) -> Self {
        Self { entries: BTreeMap::new(), by_age: BTreeSet::new(), count_max, kept }
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
            self.remove_oldest();
        }
        self.by_age.insert((now, key));
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
        while self.by_age.first().is_some_and(|(arrived_at, _)| *arrived_at + self.kept <= now) {
            self.remove_oldest();
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(entry) = self.entries.remove(&key) {
            self.by_age.remove(&(entry.arrived_at, key));
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_first() {
            self.entries.remove(&key);
        }
    }
}
