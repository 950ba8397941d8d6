//! Recent password attempts: the limit for each user. An attempt counts for a fixed time, independent of its conversation, because an
//! attacker can end a conversation right after the verdict, or keep it open for long. Further attempts queue until others count no more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;

use super::event::{ConversationId, Tried};
use super::familiar::{Familiar, steady};

/// Maximum number of tries that are remembered; beyond it no password is judged until one is forgotten.
const COUNT_MAX: usize = 100_000;
/// Maximum number of tries with a familiar device, which may be that of a stranger who claims to have it.
const FAMILIAR_MAX: usize = 2;
/// Maximum number of queued attempts of a counter: as many devices with one name at the same moment are let in one after another.
const QUEUED_MAX: usize = 64;

/// When an attempt may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// It is queued.
    Later,
}

/// The counter of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trier {
    /// Any attempt for this user, without a tunnel.
    Outside(Vec<u8>),
    /// The same inside a tunnel. It is counted separately, so that cheap tries without a tunnel do not use up the others.
    Inside(Vec<u8>),
    /// This user with a device that it was let in with before. It is counted separately, so that others who try the password do not keep the
    /// device out.
    Familiar(Vec<u8>, Vec<u8>),
}

impl Trier {
    /// The counters that an attempt may use, in this order.
    pub(super) fn of(tried: &Tried<'_>, station: Option<&[u8]>, familiar: &Familiar) -> Vec<Self> {
        let account = account(tried.user);
        let station = station.map(steady);
        let known = |user: &&[u8]| station.is_some_and(|station| familiar.knows(user, station));
        let own = [tried.user, account].into_iter().find(known).zip(station);
        let own = own.map(|(user, station)| Self::Familiar(user.to_vec(), station.to_vec()));
        let of_all = if tried.is_inside { Self::Inside } else { Self::Outside };
        own.into_iter().chain([of_all(account.to_vec())]).collect()
    }

    /// Whether the password is that of this user.
    pub(super) fn is_user(&self, user: &[u8]) -> bool {
        match self {
            Self::Outside(name) | Self::Inside(name) => name == account(user),
            Self::Familiar(name, _) => name == user || name == account(user),
        }
    }
}

/// The name that a password may be found under.
// RFC 2759 §4: the domain before a name does not count, so that alice has one password in all domains.
fn account(user_name: &[u8]) -> &[u8] {
    let domain_bytes = user_name.iter().position(|byte| *byte == b'\\').map_or(0, |place| place + 1);
    &user_name[domain_bytes..]
}

/// The attempts of a counter.
#[derive(Debug, Default)]
struct Counter {
    /// Those that count, each with its end.
    counted: BTreeMap<ConversationId, Time>,
    /// Those that wait until others count no more.
    queued: Vec<ConversationId>,
}

/// The tries of the last while.
#[derive(Debug)]
pub(super) struct Tries {
    of: BTreeMap<Trier, Counter>,
    ends: BTreeSet<(Time, ConversationId, Trier)>,
    queued_count: usize,
    /// Counters that may have room for a queued attempt.
    freed: BTreeSet<Trier>,
    limits: Limits,
}

/// The limits of attempts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of a counter at a time.
    pub(super) count_max: usize,
    /// How long one counts.
    pub(super) counts_for: Duration,
    /// Queued ones of all counters: each keeps a conversation.
    pub(super) queued_max: usize,
}

impl Tries {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { of: BTreeMap::new(), ends: BTreeSet::new(), queued_count: 0, freed: BTreeSet::new(), limits }
    }

    /// Whether there is a limit at all.
    pub(super) const fn are_limited(&self) -> bool {
        self.limits.count_max < usize::MAX
    }

    /// Counts an attempt with the first of these counters that has room, or else queues it at the first one with a queue that has room; returns
    /// that counter, and when the attempt may be answered.
    pub(super) fn admit(
        &mut self,
        triers: Vec<Trier>,
        id: ConversationId,
        now: Time,
    ) -> Option<(Trier, Turn)> {
        self.purge(now);
        // Queued ones go first.
        let is_free = |trier: &&Trier| self.has_room(trier) && self.queue_len(trier) == 0;
        if let Some(trier) = triers.iter().find(is_free) {
            if self.are_limited() {
                self.count(trier, id, now);
            }
            return Some((trier.clone(), Turn::Now));
        }
        let is_full = self.queued_count >= self.limits.queued_max || self.ends.len() >= COUNT_MAX;
        let trier = triers.into_iter().find(|trier| !is_full && self.queue_len(trier) < QUEUED_MAX)?;
        self.of.entry(trier.clone()).or_default().queued.push(id);
        self.queued_count += 1;
        Some((trier, Turn::Later))
    }

    /// One counts no more: the user was let in. Another one of the queue takes its place.
    pub(super) fn forget(&mut self, trier: &Trier, id: ConversationId) {
        if let Some(until) = self.of.get_mut(trier).and_then(|counter| counter.counted.remove(&id)) {
            self.ends.remove(&(until, id, trier.clone()));
            self.tidy(trier);
        }
    }

    /// One leaves the queue, because its conversation is over.
    pub(super) fn leave(&mut self, trier: &Trier, id: ConversationId) {
        let Some(counter) = self.of.get_mut(trier) else { return };
        if let Some(place) = counter.queued.iter().position(|queued| *queued == id) {
            counter.queued.swap_remove(place);
            self.queued_count -= 1;
        }
        self.tidy(trier);
    }

    /// Counts the next queued one that may be answered now. It is drawn: an attacker could time attempts so that the oldest or the newest one
    /// in the queue is always his.
    pub(super) fn next_released(&mut self, now: Time, rng: &mut Rng) -> Option<ConversationId> {
        self.purge(now);
        while let Some(trier) = self.freed.first().cloned() {
            let has_room = self.has_room(&trier);
            let queued = self.of.get_mut(&trier).map(|counter| &mut counter.queued);
            if let Some(queued) = queued.filter(|queued| has_room && !queued.is_empty()) {
                let place = rng.below(queued.len() as u64) as usize;
                let id = queued.swap_remove(place);
                self.queued_count -= 1;
                self.count(&trier, id, now);
                return Some(id);
            }
            self.freed.remove(&trier);
        }
        None
    }

    /// When the next one may leave its queue.
    pub(super) fn deadline(&self) -> Option<Time> {
        let (until, ..) = self.ends.first().filter(|_| self.queued_count > 0)?;
        Some(*until)
    }

    fn has_room(&self, trier: &Trier) -> bool {
        let count_max = match trier {
            Trier::Familiar(..) => self.limits.count_max.min(FAMILIAR_MAX),
            Trier::Outside(_) | Trier::Inside(_) => self.limits.count_max,
        };
        let count = self.of.get(trier).map_or(0, |counter| counter.counted.len());
        count < count_max && self.ends.len() < COUNT_MAX
    }

    fn queue_len(&self, trier: &Trier) -> usize {
        self.of.get(trier).map_or(0, |counter| counter.queued.len())
    }

    fn count(&mut self, trier: &Trier, id: ConversationId, now: Time) {
        let until = now + self.limits.counts_for;
        self.of.entry(trier.clone()).or_default().counted.insert(id, until);
        self.ends.insert((until, id, trier.clone()));
    }

    fn purge(&mut self, now: Time) {
        while self.ends.first().is_some_and(|(until, ..)| *until <= now)
            && let Some((_, id, trier)) = self.ends.pop_first()
        {
            let counter = self.of.get_mut(&trier);
            counter.and_then(|counter| counter.counted.remove(&id));
            self.tidy(&trier);
        }
    }

    /// A counter has changed: it has room for a queued attempt, or it is empty.
    fn tidy(&mut self, trier: &Trier) {
        let Some(counter) = self.of.get(trier) else { return };
        match (counter.counted.is_empty(), counter.queued.is_empty()) {
            (true, true) => drop(self.of.remove(trier)),
            (_, false) => drop(self.freed.insert(trier.clone())),
            (false, true) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn admit(tries: &mut Tries, trier: &Trier, id: u64, second: u64) -> Option<Turn> {
        let admitted = tries.admit(vec![trier.clone()], ConversationId(id), at(second));
        admitted.map(|(_, turn)| turn)
    }

    fn released(tries: &mut Tries, second: u64) -> Vec<u64> {
        let mut rng = Rng::named(1, "queue");
        let mut all: Vec<_> = std::iter::from_fn(|| tries.next_released(at(second), &mut rng)).collect();
        all.sort_unstable();
        all.into_iter().map(|ConversationId(id)| id).collect()
    }

    fn limits(count_max: usize, seconds: u64, queued_max: usize) -> Limits {
        Limits { count_max, counts_for: Duration::from_secs(seconds), queued_max }
    }

    #[test]
    fn a_try_counts_for_a_while_and_not_if_its_user_was_let_in() {
        let mut tries = Tries::new(limits(3, 2, 100));
        let alice = Trier::Inside(b"alice".to_vec());
        let told = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1)]
            .map(|(id, second)| admit(&mut tries, &alice, id, second));
        let [now, later] = [Some(Turn::Now), Some(Turn::Later)];
        assert_eq!(told, [now, now, now, later, later]);
        assert_eq!(admit(&mut tries, &Trier::Outside(b"alice".to_vec()), 9, 1), now);
        assert_eq!((released(&mut tries, 1), tries.deadline()), (vec![], Some(at(2))));
        tries.forget(&alice, ConversationId(2));
        assert_eq!(released(&mut tries, 1), [3]);
        assert_eq!(admit(&mut tries, &alice, 5, 1), later);
        assert_eq!(released(&mut tries, 2), [4, 5], "those of the beginning are over");
        assert_eq!(
            admit(&mut tries, &alice, 6, 2),
            later,
            "one of the first second and two of the second one count"
        );
        tries.leave(&alice, ConversationId(6));
        assert_eq!((released(&mut tries, 9), tries.deadline()), (vec![], None));
        assert!(tries.of.is_empty() && tries.ends.is_empty() && tries.queued_count == 0);
    }

    #[test]
    fn a_queue_is_bounded_and_a_known_device_has_its_own() {
        let mut tries = Tries::new(limits(1, 1, QUEUED_MAX + 1));
        let alice = Trier::Outside(b"alice".to_vec());
        let own = Trier::Familiar(b"alice".to_vec(), b"02-00".to_vec());
        let last = u64::try_from(QUEUED_MAX).unwrap() + 1;
        let told: Vec<_> = (0..=last).map(|id| admit(&mut tries, &alice, id, 0)).collect();
        assert_eq!(
            (told[0], told[1], told[QUEUED_MAX]),
            (Some(Turn::Now), Some(Turn::Later), Some(Turn::Later))
        );
        assert_eq!(told[QUEUED_MAX + 1], None);
        let hers =
            (100..102).map(|id| tries.admit(vec![own.clone(), alice.clone()], ConversationId(id), at(0)));
        let hers: Vec<_> = hers.collect();
        assert_eq!(hers, [Some((own.clone(), Turn::Now)), Some((own, Turn::Later))]);
        assert_eq!(admit(&mut tries, &Trier::Outside(b"bob".to_vec()), 200, 0), Some(Turn::Now));
        assert_eq!(
            admit(&mut tries, &Trier::Outside(b"bob".to_vec()), 201, 0),
            None,
            "so many are queued in all"
        );
    }

    /// Attempts that come just before one counts no more do not take its place each time.
    #[test]
    fn the_next_one_of_a_queue_is_drawn() {
        let alice = Trier::Outside(b"alice".to_vec());
        let mut rng = Rng::named(1, "queue");
        let mut first = || {
            let mut tries = Tries::new(limits(1, 1, 100));
            for id in 0..4 {
                admit(&mut tries, &alice, id, 0).unwrap();
            }
            let ConversationId(id) = tries.next_released(at(1), &mut rng).unwrap();
            id
        };
        let drawn: BTreeSet<u64> = (0..50).map(|_| first()).collect();
        assert_eq!(drawn, BTreeSet::from([1, 2, 3]));
    }
}
