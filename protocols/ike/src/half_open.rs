//! A responder's table of half-open SAs, for both versions. Read RFC 8019 §4 first.
//!
//! ```text
//!   insert --> half open --authenticated----------------------------> its place is free
//!                  '-------dropped----> its place stays taken until it times out
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::map::FastMap;
use keytoll_net::Socket;

/// An initiator that has been silent for so long may lose its place in a full table.
// RFC 8019 §4.2: limits apply to addresses and prefixes; an attacker with thousands of prefixes takes a place with each. A genuine
// peer usually answers faster, and keeps its place for longer unless all others were heard more recently.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);

/// Origins with more half-open SAs than this lose silent ones before others do.
pub(crate) const CROWD: usize = 8;

/// A place in the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Its address and SPI.
    key: (Socket, u64),
    /// When it becomes free, unless the initiator authenticates before.
    until: Time,
}

impl Place {
    pub(crate) const fn new(key: (Socket, u64), until: Time) -> Self {
        Self { key, until }
    }
}

/// SAs of responders whose initiators have not authenticated yet.
#[derive(Debug)]
pub(crate) struct HalfOpenTable {
    /// Our SPIs by the initiator's address and SPI. Only its bytes identify a retransmission of the first message: peers behind
    /// one NAT may choose the same SPI, and messages can be forged.
    by_initiator: FastMap<(Socket, u64), Vec<u64>>,
    origins: BTreeMap<IpAddr, Origin>,
    /// The number of half-open SAs of each origin.
    crowds: BTreeSet<(usize, IpAddr)>,
    count: usize,
    /// When each of them was last heard, updated lazily, and their order by it.
    heard: FastMap<u64, Time>,
    silent: BTreeSet<(Time, u64)>,
    /// Places of dropped SAs, by the time when they become free, and by our SPI.
    held: BTreeSet<(Time, u64, IpAddr)>,
    held_max: usize,
}

/// The places of one origin.
#[derive(Debug, Default)]
struct Origin {
    /// Our SPIs of existing SAs, the oldest first.
    there: Vec<u64>,
    /// The number of places of dropped SAs.
    held: usize,
}

impl HalfOpenTable {
    /// At most so many places of dropped SAs stay taken.
    pub(crate) fn new(held_max: usize) -> Self {
        Self {
            by_initiator: FastMap::default(),
            origins: BTreeMap::new(),
            crowds: BTreeSet::new(),
            count: 0,
            heard: FastMap::default(),
            silent: BTreeSet::new(),
            held: BTreeSet::new(),
            held_max,
        }
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Whether no place is taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.held.is_empty()
    }

    /// Our SPIs for this initiator.
    pub(crate) fn candidates(&self, key: (Socket, u64)) -> &[u64] {
        self.by_initiator.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The number of places that one address has taken, in IPv6 its /64.
    pub(crate) fn taken(&mut self, ip: IpAddr, now: Time) -> usize {
        while let Some(&(until, _, origin)) = self.held.first()
            && until <= now
        {
            self.held.pop_first();
            self.free(origin);
        }
        self.origins.get(&origin(ip)).map_or(0, |of_it| of_it.there.len() + of_it.held)
    }

    /// Adds an SA, last heard at that time.
    pub(crate) fn insert(&mut self, place: Place, spi: u64, heard: Time) {
        match self.by_initiator.get_mut(&place.key) {
            Some(spis) => spis.push(spi),
            None => drop(self.by_initiator.insert(place.key, vec![spi])),
        }
        self.count += 1;
        self.crowd(origin(place.key.0.ip), |of_it| of_it.there.push(spi));
        self.hear(spi, heard);
    }

    fn hear(&mut self, spi: u64, now: Time) {
        if let Some(before) = self.heard.insert(spi, now) {
            self.silent.remove(&(before, spi));
        }
        self.silent.insert((now, spi));
    }

    /// Changes the entry of an origin.
    fn crowd(&mut self, origin: IpAddr, change: impl FnOnce(&mut Origin)) {
        let of_it = self.origins.entry(origin).or_default();
        self.crowds.remove(&(of_it.there.len(), origin));
        change(of_it);
        if !of_it.there.is_empty() {
            self.crowds.insert((of_it.there.len(), origin));
        } else if of_it.held == 0 {
            self.origins.remove(&origin);
        }
    }

    /// Our SPIs for the origin with the most, the oldest first, if it has more than the newcomer's would have.
    // RFC 8019 §4.2: origins with few SAs need not wait until those with many time out.
    pub(crate) fn most_crowded(&self, newcomer: IpAddr) -> &[u64] {
        let own = self.of_origin(newcomer).len();
        let crowd = self.crowds.last().filter(|(count, _)| *count > own + 1);
        crowd.map_or(&[], |(_, origin)| &self.origins[origin].there)
    }

    /// Our SPI of the initiator that has been silent longest and at least for so long; `heard` returns when each was last heard,
    /// which is never earlier than it returned before.
    pub(crate) fn most_silent(
        &mut self,
        (now, silence): (Time, Duration),
        heard: impl Fn(u64) -> Option<Time>,
    ) -> Option<u64> {
        loop {
            let (known, spi) = *self.silent.first().filter(|(at, _)| *at + silence <= now)?;
            match heard(spi).filter(|at| *at > known) {
                Some(later) => self.hear(spi, later),
                None => return Some(spi),
            }
        }
    }

    /// Our SPIs for the origin of an address, the oldest first.
    pub(crate) fn of_origin(&self, ip: IpAddr) -> &[u64] {
        self.origins.get(&origin(ip)).map_or(&[], |of_it| &of_it.there)
    }

    /// Removes an authenticated SA: its place is free.
    pub(crate) fn remove(&mut self, place: Place, spi: u64) {
        self.take(place, spi, 0);
    }

    // RFC 8019 §4.2: the rate of each origin is limited; otherwise a refused initiator could demand new keys at once.
    /// Drops an SA that has not authenticated: its place stays taken until it times out.
    pub(crate) fn forget(&mut self, place: Place, spi: u64) {
        if !self.take(place, spi, 1) {
            return;
        }
        self.held.insert((place.until, spi, origin(place.key.0.ip)));
        if self.held.len() > self.held_max
            && let Some((_, _, origin)) = self.held.pop_first()
        {
            self.free(origin);
        }
    }

    /// Removes an SA if it was in the table, and keeps so many places taken for it.
    fn take(&mut self, place: Place, spi: u64, held: usize) -> bool {
        let Some(spis) = self.by_initiator.get_mut(&place.key) else { return false };
        let Some(at) = spis.iter().position(|known| *known == spi) else { return false };
        spis.swap_remove(at);
        if spis.is_empty() {
            self.by_initiator.remove(&place.key);
        }
        self.count -= 1;
        self.crowd(origin(place.key.0.ip), |of_it| {
            of_it.there.retain(|known| *known != spi);
            of_it.held += held;
        });
        if let Some(heard) = self.heard.remove(&spi) {
            self.silent.remove(&(heard, spi));
        }
        true
    }

    /// A place is held no longer.
    fn free(&mut self, origin: IpAddr) {
        self.crowd(origin, |of_it| of_it.held = of_it.held.saturating_sub(1));
    }
}

/// The origin that an address belongs to.
// RFC 8019 §4.2: a host with one IPv6 address has a whole prefix of them, so limits apply to prefixes.
pub(crate) fn origin(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ip: u32, seconds: u64) -> Place {
        let ip = std::net::Ipv4Addr::from_bits(ip).into();
        Place::new((Socket::new(ip, 500), 1), Time::ZERO + Duration::from_secs(seconds))
    }

    fn taken(table: &mut HalfOpenTable, ip: u32, seconds: u64) -> usize {
        let place = place(ip, seconds);
        table.taken(place.key.0.ip, place.until)
    }

    #[test]
    fn a_place_is_free_when_its_initiator_authenticates_or_times_out() {
        let mut table = HalfOpenTable::new(8);
        (1..=3).for_each(|spi| table.insert(place(7, 30), spi, Time::ZERO));
        table.remove(place(7, 30), 1);
        table.forget(place(7, 30), 2);
        table.forget(place(7, 30), 2);
        assert_eq!((table.count(), taken(&mut table, 7, 29)), (1, 2));
        assert_eq!((table.count(), taken(&mut table, 7, 30)), (1, 1));
        table.remove(place(7, 30), 3);
        assert_eq!((table.count(), taken(&mut table, 7, 30)), (0, 0));
        assert!(table.by_initiator.get(&place(7, 30).key).is_none() && table.origins.is_empty());
        assert!(table.crowds.is_empty());
    }

    #[test]
    fn the_most_crowded_origin_loses_a_place_to_one_with_fewer() {
        let mut table = HalfOpenTable::new(8);
        (1..=3).for_each(|spi| table.insert(place(7, 30), spi, Time::ZERO));
        (4..=5).for_each(|spi| table.insert(place(8, 30), spi, Time::ZERO));
        let ip = |n| place(n, 0).key.0.ip;
        assert_eq!(table.most_crowded(ip(9)), [1, 2, 3]);
        assert_eq!(table.most_crowded(ip(8)), [0; 0], "as many as it would have itself");
        assert_eq!(table.most_crowded(ip(7)), [0; 0]);
        table.forget(place(7, 30), 1);
        table.remove(place(7, 30), 3);
        assert_eq!(table.most_crowded(ip(9)), [4, 5]);
        assert_eq!((table.of_origin(ip(7)), table.of_origin(ip(9))), (&[2][..], &[][..]));
    }

    #[test]
    fn the_longest_silent_loses_its_place_if_no_origin_is_crowded() {
        let mut table = HalfOpenTable::new(8);
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        (1..=4_u32).for_each(|n| table.insert(place(n, 30), n.into(), at(n.into())));
        assert_eq!(table.most_crowded(place(9, 0).key.0.ip), [0; 0]);
        let silent = |table: &mut HalfOpenTable, now, last: [u64; 4]| {
            table.most_silent((at(now), Duration::from_secs(3)), |spi| {
                last.get(spi as usize - 1).map(|last| at(*last))
            })
        };
        assert_eq!(silent(&mut table, 3, [1, 2, 3, 4]), None, "two seconds");
        assert_eq!(silent(&mut table, 4, [1, 2, 3, 4]), Some(1));
        assert_eq!(silent(&mut table, 6, [5, 2, 3, 4]), Some(2), "the first has gone on");
        table.remove(place(2, 30), 2);
        table.forget(place(3, 30), 3);
        assert_eq!(silent(&mut table, 7, [5, 2, 3, 6]), None);
        assert_eq!(silent(&mut table, 8, [5, 2, 3, 6]), Some(1));
        table.remove(place(1, 30), 1);
        table.remove(place(4, 30), 4);
        assert!(table.heard.is_empty() && table.silent.is_empty());
    }

    #[test]
    fn the_oldest_of_too_many_taken_places_becomes_free() {
        let mut table = HalfOpenTable::new(8);
        for n in 0..1000 {
            table.insert(place(n, 30 + u64::from(n)), 1, Time::ZERO);
            table.forget(place(n, 30 + u64::from(n)), 1);
        }
        assert_eq!((table.held.len(), table.origins.len(), table.count()), (8, 8, 0));
        assert_eq!((taken(&mut table, 991, 0), taken(&mut table, 992, 0)), (0, 1));
    }

    fn initiator(ip: &str) -> Place {
        Place::new(
            (Socket::new(ip.parse().expect("an address"), 500), 1),
            Time::ZERO + Duration::from_secs(30),
        )
    }

    /// The limits of RFC 8019 need exact counts: each SA counts once, for its prefix and in total, and removing one twice, or
    /// one that was never there, changes nothing.
    #[test]
    fn every_sa_counts_once_until_it_is_gone() {
        let mut table = HalfOpenTable::new(8);
        let (one, neighbour, other) =
            (initiator("2001:db8::1"), initiator("2001:db8::2"), initiator("192.0.2.1"));
        for (place, spi) in [(one, 10), (one, 11), (neighbour, 12), (other, 13)] {
            table.insert(place, spi, Time::ZERO);
        }
        let figures = |table: &mut HalfOpenTable| {
            let [here, there] = [one, other].map(|place| table.taken(place.key.0.ip, Time::ZERO));
            (table.count(), here, there)
        };
        assert_eq!(table.candidates(one.key), [10, 11]);
        assert_eq!(figures(&mut table), (4, 3, 1));
        table.remove(one, 99);
        table.remove(initiator("192.0.2.9"), 13);
        assert_eq!(figures(&mut table), (4, 3, 1), "nobody took a place of these");
        for (place, spi, left) in
            [(one, 10, (3, 2, 1)), (one, 10, (3, 2, 1)), (other, 13, (2, 2, 0)), (one, 11, (1, 1, 0))]
        {
            table.remove(place, spi);
            assert_eq!(figures(&mut table), left);
        }
        table.remove(neighbour, 12);
        assert_eq!(figures(&mut table), (0, 0, 0));
        assert!(table.by_initiator.get(&one.key).is_none() && table.origins.is_empty(), "nothing is left");
    }

    /// RFC 8019 §4.2: a /64 is one origin; an IPv4 address is one however it is written.
    #[test]
    fn all_addresses_of_a_prefix_are_one_origin() {
        let same = |a: &str, b: &str| {
            origin(a.parse().expect("an address")) == origin(b.parse().expect("an address"))
        };
        assert!(same("2001:db8:0:7::1", "2001:db8:0:7:ffff:ffff:ffff:ffff"));
        assert!(!same("2001:db8:0:7::1", "2001:db8:0:8::1"));
        assert!(same("192.0.2.1", "::ffff:192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
    }
}
