//! How many R1s an address gets: RFC 7401 §6.7 has a responder limit them, for anybody can send an I1 in another's name.

use std::net::IpAddr;

use keytoll_engine::Time;
use keytoll_engine::map::FastMap;

use crate::responder::origins::origin;

/// Counts events of the current second by address. It has a fixed number of counters, of which only the ones used in this second take
/// memory.
#[derive(Debug)]
pub(crate) struct Rate {
    second: u64,
    /// How many there were in it.
    counters: FastMap<usize, u32>,
    /// So many counters there are; two addresses that have one share it.
    counter_count: usize,
    /// So that nobody chooses with whom it shares a counter.
    key: u64,
}

impl Rate {
    pub(crate) fn new(counter_count: usize, key: u64) -> Self {
        Self { second: 0, counters: FastMap::default(), counter_count, key }
    }

    /// Counts one to this address, and says whether that is still within the limit.
    pub(crate) fn allows(&mut self, to: Option<IpAddr>, max: u32, now: Time) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != second {
            self.second = second;
            self.counters = FastMap::default();
        }
        let counter = self.counters.get_or_insert(&self.place(to));
        *counter = counter.saturating_add(1);
        *counter <= max
    }

    fn place(&self, to: Option<IpAddr>) -> usize {
        let number = match to.map(origin) {
            Some(IpAddr::V4(ip)) => u64::from(ip.to_bits()),
            Some(IpAddr::V6(ip)) => (ip.to_bits() >> 64) as u64,
            None => 0,
        };
        // The finalizer of MurmurHash3, over a secret number and the address.
        let mut mixed = number ^ self.key;
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
        }
        (mixed >> 33) as usize % self.counter_count
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_gets_so_many_in_a_second_and_others_as_many() {
        let mut rate = Rate::new(4096, 7);
        let ip = |last| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let now = Time::ZERO + Duration::from_secs(5);
        let allowed = (0..20).filter(|_| rate.allows(ip(1), 8, now)).count();
        assert_eq!(allowed, 8);
        assert!(rate.allows(ip(2), 8, now));
        assert!(rate.allows(ip(1), 8, now + Duration::from_secs(1)));
    }

    #[test]
    fn addresses_without_number_share_the_counters() {
        let mut rate = Rate::new(64, 7);
        let now = Time::ZERO + Duration::from_secs(5);
        let address = |number: u32| Some(IpAddr::V4(Ipv4Addr::from_bits(number)));
        let allowed = (0..10_000).filter(|number| rate.allows(address(*number), 8, now)).count();
        assert_eq!((allowed, rate.counters.len()), (64 * 8, 64));
        assert!(rate.allows(address(0), 8, now + Duration::from_secs(1)));
        assert_eq!(rate.counters.len(), 1, "a new second forgets the counters of the one before");
    }
}
