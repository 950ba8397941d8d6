//! What a responder holds of initiators that may not exist, for both versions. Read RFC 8019 §4 first.
//!
//! ```text
//!   insert --> half open --authenticated----------------------------> its place is free
//!                  '-------forgotten--> its place is held until its time is over
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::map::FastMap;
use keytoll_net::Socket;

/// Whoever has said nothing for so long may lose its place in a full table.
// RFC 8019 §4.2: limits are for addresses and prefixes; whoever has thousands of prefixes takes a place with each. A peer that is
// there answers in less than that, mostly, and keeps its place for longer unless all others were heard later.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);

/// So many of one origin are a crowd, whose silent ones make room before those of others.
pub(crate) const CROWD: usize = 8;

/// The place of one initiator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Its address and SPI.
    key: (Socket, u64),
    /// It is not free before, unless the initiator authenticates.
    until: Time,
}

impl Place {
    pub(crate) const fn new(key: (Socket, u64), until: Time) -> Self {
        Self { key, until }
    }
}

/// SAs of responders that have not authenticated their initiators yet.
#[derive(Debug)]
pub(crate) struct HalfOpenTable {
    /// Our SPIs by the initiator's address and SPI. Whether a first message is a repeated one, its bytes decide: peers
    /// behind one NAT may choose the same SPI, and somebody may have sent a message that only looks like the peer's.
    by_initiator: FastMap<(Socket, u64), Vec<u64>>,
    origins: BTreeMap<IpAddr, Origin>,
    /// Which of them has how many that are there.
    crowds: BTreeSet<(usize, IpAddr)>,
    count: usize,
    /// When each of them was last heard, as far as anybody has asked, and their order by it.
    heard: FastMap<u64, Time>,
    silent: BTreeSet<(Time, u64)>,
    /// Places of those that are forgotten, by the end of their time, and by the SPI that was ours.
    held: BTreeSet<(Time, u64, IpAddr)>,
    held_max: usize,
}

/// Places that one origin has taken.
#[derive(Debug, Default)]
struct Origin {
    /// Our SPIs of those that are there, the oldest first.
    there: Vec<u64>,
    /// How many are held for those that are forgotten.
    held: usize,
}

impl HalfOpenTable {
    /// Of those that are forgotten, so many places are held at the most.
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

    /// Our SPIs for this initiator.
    pub(crate) fn candidates(&self, key: (Socket, u64)) -> &[u64] {
        self.by_initiator.get(&key).map_or(&[], Vec::as_slice)
    }

    /// How many places one address has taken, in IPv6 its /64.
    pub(crate) fn taken(&mut self, ip: IpAddr, now: Time) -> usize {
        while let Some(&(until, _, origin)) = self.held.first()
            && until <= now
        {
            self.held.pop_first();
            self.free(origin);
        }
        self.origins.get(&origin(ip)).map_or(0, |of_it| of_it.there.len() + of_it.held)
    }

    /// A new one, which counts as heard then.
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

    /// Who is there from an origin changes.
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

    /// Our SPIs for the origin that has most, the oldest first, if it has more than a newcomer's would have.
    // RFC 8019 §4.2: those of few must not have to wait until those of many are given up.
    pub(crate) fn most_crowded(&self, newcomer: IpAddr) -> &[u64] {
        let own = self.of_origin(newcomer).len();
        let crowd = self.crowds.last().filter(|(count, _)| *count > own + 1);
        crowd.map_or(&[], |(_, origin)| &self.origins[origin].there)
    }

    /// Our SPI for whoever has been silent longest and at least for so long; `heard` knows when each was last heard, which
    /// is never earlier than what it said before.
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

    /// One has authenticated: its place is free.
    pub(crate) fn remove(&mut self, place: Place, spi: u64) {
        self.take(place, spi, 0);
    }

    // RFC 8019 §4.2: the rate of one origin is limited; otherwise whoever is refused could ask for keys again at once.
    /// One is forgotten that has not authenticated: its place is held until its time is over.
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

    /// Whether it was there; so many places are held for it.
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

/// Of whom an address is one of many.
// RFC 8019 §4.2: whoever has one IPv6 address has a whole prefix of them, so that limits are for prefixes.
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
    fn a_place_is_free_when_its_initiator_is_proved_or_its_time_is_over() {
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
    fn the_most_crowded_origin_makes_room_for_whoever_has_less() {
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
    fn whoever_is_silent_longest_makes_room_if_nobody_is_crowded() {
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
    fn of_too_many_places_that_are_held_the_oldest_is_free() {
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

    /// The limits of RFC 8019 hold as long as these figures are true: each SA counts once, at its prefix and in all, and
    /// what is taken away twice, or was never there, gives nobody a place.
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

    /// RFC 8019 §4.2: a /64 is one origin, an IPv4 address is one however it is written.
    #[test]
    fn whoever_has_one_address_of_a_prefix_has_them_all() {
        let same = |a: &str, b: &str| {
            origin(a.parse().expect("an address")) == origin(b.parse().expect("an address"))
        };
        assert!(same("2001:db8:0:7::1", "2001:db8:0:7:ffff:ffff:ffff:ffff"));
        assert!(!same("2001:db8:0:7::1", "2001:db8:0:8::1"));
        assert!(same("192.0.2.1", "::ffff:192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
    }
}
