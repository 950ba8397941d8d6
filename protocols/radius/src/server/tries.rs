//! Recent password attempts: the limit for each user. An attempt counts for a fixed time, independent of its conversation, because an
//! attacker can end a conversation right after the verdict, or keep it open for long.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use keytoll_engine::Time;

use super::event::{ConversationId, Tried};
use super::familiar::{Familiar, steady};

/// Maximum number of tries that are remembered; beyond it no password is judged until one is forgotten.
const COUNT_MAX: usize = 100_000;
/// Maximum number of tries with a familiar device, which may be that of a stranger who claims to have it.
const FAMILIAR_MAX: usize = 2;

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

/// The tries of the last while.
#[derive(Debug)]
pub(super) struct Tries {
    of: BTreeMap<Trier, BTreeSet<ConversationId>>,
    /// Until when each counts, the oldest first.
    ends: VecDeque<(Time, Trier, ConversationId)>,
    count_max: usize,
    counts_for: Duration,
}

impl Tries {
    pub(super) const fn new(count_max: usize, counts_for: Duration) -> Self {
        Self { of: BTreeMap::new(), ends: VecDeque::new(), count_max, counts_for }
    }

    /// Whether there is a limit at all.
    pub(super) const fn are_limited(&self) -> bool {
        self.count_max < usize::MAX
    }

    /// Counts one more; false if there are as many as may be.
    pub(super) fn admits(&mut self, trier: &Trier, id: ConversationId, now: Time) -> bool {
        if !self.are_limited() {
            return true;
        }
        self.purge(now);
        let count_max = match trier {
            Trier::Familiar(..) => self.count_max.min(FAMILIAR_MAX),
            Trier::Outside(_) | Trier::Inside(_) => self.count_max,
        };
        let count = self.of.get(trier).map_or(0, BTreeSet::len);
        if count >= count_max || self.ends.len() >= COUNT_MAX {
            return false;
        }
        self.of.entry(trier.clone()).or_default().insert(id);
        self.ends.push_back((now + self.counts_for, trier.clone(), id));
        true
    }

    /// One counts no more: the user was let in.
    pub(super) fn forget(&mut self, trier: &Trier, id: ConversationId) {
        if let Some(its) = self.of.get_mut(trier) {
            its.remove(&id);
            if its.is_empty() {
                self.of.remove(trier);
            }
        }
    }

    fn purge(&mut self, now: Time) {
        while self.ends.front().is_some_and(|(until, ..)| *until <= now)
            && let Some((_, trier, id)) = self.ends.pop_front()
        {
            self.forget(&trier, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_counts_for_a_while_and_not_if_its_user_was_let_in() {
        let mut tries = Tries::new(3, Duration::from_secs(2));
        let alice = Trier::Inside(b"alice".to_vec());
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let told = [(0, 0), (1, 0), (2, 1), (3, 1)]
            .map(|(id, second)| tries.admits(&alice, ConversationId(id), at(second)));
        assert_eq!(told, [true, true, true, false]);
        assert!(tries.admits(&Trier::Outside(b"alice".to_vec()), ConversationId(9), at(1)));
        tries.forget(&alice, ConversationId(2));
        let told: Vec<_> = (10..12).map(|id| tries.admits(&alice, ConversationId(id), at(1))).collect();
        assert_eq!(told, [true, false]);
        let told: Vec<_> = (20..23).map(|id| tries.admits(&alice, ConversationId(id), at(2))).collect();
        assert_eq!(told, [true, true, false], "those of the beginning are over");
        assert!(tries.admits(&alice, ConversationId(30), at(9)));
        assert_eq!((tries.of.len(), tries.ends.len()), (1, 1));
    }
}
