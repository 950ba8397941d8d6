//! Tables by address with a time at which each entry is due: what has a limit and a life, and members.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::member::Member;
use crate::MacAddr;

/// What is known of stations for a time. Each has one place and one life; in a full table the oldest makes room.
#[derive(Debug)]
pub(super) struct Expiring<T> {
    max: usize,
    life: Duration,
    by_address: BTreeMap<MacAddr, (Time, T)>,
    by_end: BTreeSet<(Time, MacAddr)>,
}

impl<T> Expiring<T> {
    pub(super) const fn new(max: usize, life: Duration) -> Self {
        Self { max, life, by_address: BTreeMap::new(), by_end: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(super) fn get(&self, station: MacAddr) -> Option<&T> {
        self.by_address.get(&station).map(|(_, known)| known)
    }

    pub(super) fn get_mut(&mut self, station: MacAddr) -> Option<&mut T> {
        self.by_address.get_mut(&station).map(|(_, known)| known)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.by_address.values().map(|(_, known)| known)
    }

    pub(super) fn remove(&mut self, station: MacAddr) -> Option<T> {
        let (end, known) = self.by_address.remove(&station)?;
        self.by_end.remove(&(end, station));
        Some(known)
    }

    pub(super) fn insert(&mut self, station: MacAddr, known: T, now: Time) {
        self.remove(station);
        if self.len() >= self.max
            && let Some(&(_, oldest)) = self.by_end.first()
        {
            self.remove(oldest);
        }
        let end = now + self.life;
        self.by_address.insert(station, (end, known));
        self.by_end.insert((end, station));
    }

    /// When the oldest is forgotten.
    pub(super) fn ends_at(&self) -> Option<Time> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// Forgets one whose time is over.
    pub(super) fn pop_over(&mut self, now: Time) -> Option<(MacAddr, T)> {
        let &(_, oldest) = self.by_end.first().filter(|(end, _)| *end <= now)?;
        self.remove(oldest).map(|known| (oldest, known))
    }
}

/// Associated stations.
#[derive(Debug, Default)]
pub(super) struct Members {
    by_address: BTreeMap<MacAddr, Box<Member>>,
    /// When the handshake or the query of each wants something.
    timers: BTreeSet<(Time, MacAddr)>,
    /// Those without keys, by the time at which they associated.
    keyless: BTreeSet<(Time, MacAddr)>,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// How many have no keys yet.
    pub(super) fn keyless_count(&self) -> usize {
        self.keyless.len()
    }

    /// The one that has been without keys for longest.
    pub(super) fn oldest_keyless(&self) -> Option<MacAddr> {
        self.keyless.first().map(|(_, station)| *station)
    }

    pub(super) fn get(&self, station: MacAddr) -> Option<&Member> {
        self.by_address.get(&station).map(|member| &**member)
    }

    /// For what changes neither timers nor whether it has keys; otherwise [`Self::settle`] follows.
    pub(super) fn get_mut(&mut self, station: MacAddr) -> Option<&mut Member> {
        self.by_address.get_mut(&station).map(|member| &mut **member)
    }

    pub(super) fn addresses(&self) -> Vec<MacAddr> {
        self.by_address.keys().copied().collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.by_address.values().map(|member| &**member)
    }

    pub(super) fn insert(&mut self, station: MacAddr, member: Member) {
        self.remove(station);
        self.by_address.insert(station, Box::new(member));
        self.settle(station);
    }

    pub(super) fn remove(&mut self, station: MacAddr) -> bool {
        let Some(member) = self.by_address.remove(&station) else { return false };
        self.keyless.remove(&(member.since, station));
        member.timer.into_iter().for_each(|at| {
            self.timers.remove(&(at, station));
        });
        true
    }

    /// Follows what has changed in a member.
    pub(super) fn settle(&mut self, station: MacAddr) {
        let Some(member) = self.by_address.get_mut(&station) else { return };
        let timer = member.deadline().map(|deadline| deadline.at);
        if timer != member.timer {
            let before = std::mem::replace(&mut member.timer, timer);
            before.into_iter().for_each(|at| {
                self.timers.remove(&(at, station));
            });
            self.timers.extend(timer.map(|at| (at, station)));
        }
        if member.link.is_member {
            self.keyless.remove(&(member.since, station));
        } else {
            self.keyless.insert((member.since, station));
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let (_, station) = self.timers.first()?;
        self.get(*station)?.deadline()
    }

    /// Those whose handshake or query wants something by now.
    pub(super) fn due(&self, now: Time) -> Vec<MacAddr> {
        self.timers.iter().take_while(|(at, _)| *at <= now).map(|(_, station)| *station).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_each_has_its_time() {
        let mut strangers = Expiring::new(2, Duration::from_secs(5));
        let [a, b, c] = [1, 2, 3].map(|number| [number; 6]);
        strangers.insert(a, "a", at(0));
        strangers.insert(b, "b", at(1));
        // It begins anew, and is not the oldest any more.
        strangers.insert(a, "a again", at(2));
        strangers.insert(c, "c", at(3));
        assert_eq!(
            [a, b, c].map(|station| strangers.get(station).copied()),
            [Some("a again"), None, Some("c")]
        );
        assert_eq!((strangers.ends_at(), strangers.pop_over(at(6))), (Some(at(7)), None));
        assert_eq!(strangers.pop_over(at(9)), Some((a, "a again")));
        assert_eq!((strangers.remove(c), strangers.len(), strangers.ends_at()), (Some("c"), 0, None));
    }
}
