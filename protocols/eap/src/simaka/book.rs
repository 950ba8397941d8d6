//! State of a server between conversations: pseudonyms, and the full authentications behind fast re-authentication identities.
//! Read RFC 4186 §4.2.1 and §5.2 to §5.3 first. Bounded in number and time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keytoll_engine::Time;

use super::flavour::Flavour;
use super::identity::{Imsi, split};
use super::keys::Keys;

/// Limits of the stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of pseudonyms, and of fast re-authentication identities; the oldest are dropped first.
    pub entries_max: usize,
    /// How long one is valid.
    pub lifetime: Duration,
}

impl Default for Limits {
    /// A hundred thousand subscribers for a day.
    fn default() -> Self {
        Self { entries_max: 100_000, lifetime: Duration::from_secs(24 * 3600) }
    }
}

/// A full authentication that permits fast re-authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The subscriber.
    pub imsi: Imsi,
    /// The keys that stay.
    pub keys: Keys,
    /// The counter of the next fast re-authentication.
    pub counter: u16,
}

/// The state, shared by the conversations of one server.
#[derive(Debug, Clone, Default)]
pub struct Book(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    pseudonyms: Page<Imsi>,
    reauthentications: Page<Known>,
    limits: Limits,
}

impl Book {
    /// An empty book.
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Pages { limits, ..Pages::default() })))
    }

    /// The subscriber with this pseudonym.
    pub fn pseudonym(&self, flavour: Flavour, identity: &[u8], now: Time) -> Option<Imsi> {
        self.pages().pseudonyms.get(&key(flavour, identity), now).copied()
    }

    /// Removes and returns the state of a fast re-authentication identity, which is valid once.
    pub fn take(&self, flavour: Flavour, identity: &[u8], now: Time) -> Option<Known> {
        self.pages().reauthentications.take(&key(flavour, identity), now)
    }

    /// Remembers a pseudonym.
    pub fn remember_pseudonym(&self, flavour: Flavour, identity: &[u8], imsi: Imsi, now: Time) {
        let pages = &mut *self.pages();
        pages.pseudonyms.insert(key(flavour, identity), imsi, now, pages.limits);
    }

    /// Stores the state of a fast re-authentication identity.
    pub fn remember(&self, flavour: Flavour, identity: &[u8], known: Known, now: Time) {
        let pages = &mut *self.pages();
        pages.reauthentications.insert(key(flavour, identity), known, now, pages.limits);
    }

    /// Forgets everybody.
    pub fn forget(&self) {
        let pages = &mut *self.pages();
        *pages = Pages { limits: pages.limits, ..Pages::default() };
    }

    /// The number of pseudonyms and of fast re-authentication identities.
    pub fn len(&self) -> (usize, usize) {
        let pages = self.pages();
        (pages.pseudonyms.entries.len(), pages.reauthentications.entries.len())
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Key = (Flavour, Vec<u8>);

/// The user name alone: the peer may add another realm to a pseudonym.
fn key(flavour: Flavour, identity: &[u8]) -> Key {
    (flavour, split(identity).0.to_vec())
}

/// Entries by age.
#[derive(Debug)]
struct Page<V> {
    entries: BTreeMap<Key, Entry<V>>,
    order: BTreeMap<u64, Key>,
    next: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    number: u64,
    until: Time,
}

impl<V> Default for Page<V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), order: BTreeMap::new(), next: 0 }
    }
}

impl<V> Page<V> {
    fn get(&self, key: &Key, now: Time) -> Option<&V> {
        self.entries.get(key).filter(|entry| now < entry.until).map(|entry| &entry.value)
    }

    fn take(&mut self, key: &Key, now: Time) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.number);
        (now < entry.until).then_some(entry.value)
    }

    fn insert(&mut self, key: Key, value: V, now: Time, limits: Limits) {
        self.take(&key, now);
        while self.entries.len() >= limits.entries_max.max(1) || self.oldest_is_over(now) {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.entries.remove(&oldest);
        }
        let number = self.next;
        self.next += 1;
        self.order.insert(number, key.clone());
        self.entries.insert(key, Entry { value, number, until: now + limits.lifetime });
    }

    fn oldest_is_over(&self, now: Time) -> bool {
        let oldest = self.order.first_key_value().and_then(|(_, key)| self.entries.get(key));
        oldest.is_some_and(|entry| entry.until <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::real;

    const SECOND: Duration = Duration::from_secs(1);

    fn imsi(n: u32) -> Imsi {
        Imsi::parse(&format!("{n:015}")).unwrap()
    }

    #[test]
    fn a_pseudonym_is_known_for_its_method_and_time_under_any_realm() {
        let book = Book::new(Limits { entries_max: 10, lifetime: SECOND });
        book.remember_pseudonym(Flavour::Sim, b"3abc@a", imsi(1), Time::ZERO);
        let ask = |flavour, identity: &[u8], now| book.pseudonym(flavour, identity, now);
        assert_eq!(ask(Flavour::Sim, b"3abc@b", Time::ZERO), Some(imsi(1)));
        assert_eq!(ask(Flavour::Aka, b"3abc@b", Time::ZERO), None);
        assert_eq!(ask(Flavour::Sim, b"3abc", Time::ZERO + SECOND), None);
    }

    #[test]
    fn the_oldest_go_first_and_the_number_stays_bounded() {
        let book = Book::new(Limits { entries_max: 3, lifetime: SECOND });
        for n in 0..10 {
            book.remember_pseudonym(Flavour::Sim, format!("3{n}").as_bytes(), imsi(n), Time::ZERO);
        }
        assert_eq!(book.len(), (3, 0));
        assert_eq!(book.pseudonym(Flavour::Sim, b"36", Time::ZERO), None);
        assert_eq!(book.pseudonym(Flavour::Sim, b"37", Time::ZERO), Some(imsi(7)));
        book.remember_pseudonym(Flavour::Sim, b"3x", imsi(11), Time::ZERO + SECOND);
        assert_eq!(book.len(), (1, 0), "what is over goes with the next entry");
    }

    fn known(n: u32) -> Known {
        let (keys, _) = Keys::aka(b"0", &[1; 16], &[2; 16], &mut real());
        Known { imsi: imsi(n), keys, counter: 1 }
    }

    #[test]
    fn a_fast_identity_is_taken_once_and_not_after_its_time() {
        let book = Book::new(Limits { entries_max: 3, lifetime: SECOND });
        for (name, asked_at, expected) in
            [(b"4a", Time::ZERO, Some(known(1))), (b"4b", Time::ZERO + SECOND, None)]
        {
            book.remember(Flavour::Aka, name, known(1), Time::ZERO);
            assert_eq!(book.take(Flavour::Aka, name, asked_at), expected);
            assert_eq!(book.take(Flavour::Aka, name, Time::ZERO), None, "it is gone");
        }
        assert!(book.is_empty());
    }

    #[test]
    fn dropped_identities_are_unknown_and_the_limits_stay() {
        let book = Book::new(Limits { entries_max: 3, lifetime: SECOND });
        book.remember_pseudonym(Flavour::Sim, b"3a", imsi(1), Time::ZERO);
        assert!(!book.is_empty());
        book.forget();
        assert!(book.is_empty());
        for n in 0..10 {
            book.remember(Flavour::Aka, format!("4{n}").as_bytes(), known(n), Time::ZERO);
        }
        assert_eq!(book.len(), (0, 3));
        assert_eq!(book.take(Flavour::Aka, b"49", Time::ZERO + SECOND), None);
    }
}
