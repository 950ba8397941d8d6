//! Which of several gateways a device has: that with the greatest hash of the device's address and its own number, as a router chooses
//! that spreads flows over equal paths. A device keeps its gateway as long as it has its address and that gateway is there; when one is
//! lost, only those that had it get others.

use std::net::IpAddr;

use keytoll_crypto_api::Seed;
use keytoll_net::Host as Address;

/// A gateway.
#[derive(Debug)]
struct Gateway {
    name: String,
    is_lost: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Gateways {
    key: u64,
    all: Vec<Gateway>,
}

impl Gateways {
    /// So many.
    pub(super) fn new(count: u32, seed: &Seed) -> Self {
        let gateway = |number| Gateway { name: name(number, count), is_lost: false };
        Self { key: seed.stream("population/gateways").u64(), all: (0..count).map(gateway).collect() }
    }

    /// Whether there is more than one.
    pub(super) const fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// What one of them is called.
    pub(super) fn name(&self, number: u32) -> &str {
        &self.all[number as usize].name
    }

    /// One of them is lost.
    pub(super) fn lose(&mut self, number: u32) {
        self.all[number as usize].is_lost = true;
    }

    /// The number of the one that a device at this address has.
    pub(super) fn of(&self, address: Address) -> u32 {
        if !self.are_several() {
            return 0;
        }
        let device = mixed(self.key ^ of_address(address));
        let there = (0..).zip(&self.all).filter(|(_, gateway)| !gateway.is_lost);
        let chosen = there.max_by_key(|(number, _)| mixed(device ^ u64::from(number + 1)));
        chosen.expect("one gateway at most is lost, and there are several").0
    }
}

/// What a gateway of a population is called: `gw`, or of several `gw-1` and so on, in the order of their names.
pub(super) fn name(number: u32, count: u32) -> String {
    let digits = count.to_string().len();
    if count == 1 { "gw".to_owned() } else { format!("gw-{:0digits$}", number + 1) }
}

fn of_address(address: Address) -> u64 {
    let folded = |bits: u128| (bits >> 64) as u64 ^ bits as u64;
    match address {
        Address::Ip(IpAddr::V4(ip)) => ip.to_bits().into(),
        Address::Ip(IpAddr::V6(ip)) => folded(ip.to_bits()),
        Address::Mac(octets) => octets.iter().fold(0, |bits, octet| bits << 8 | u64::from(*octet)),
    }
}

/// The finaliser of `SplitMix64`: every bit of the input changes half of those of the output.
const fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const DEVICES: u32 = 20_000;

    fn chosen(gateways: &Gateways) -> Vec<u32> {
        let address = |number| Address::Ip(Ipv4Addr::from_bits(0x0a00_0000 | number).into());
        (0..DEVICES).map(|number| gateways.of(address(number))).collect()
    }

    fn counts(chosen: &[u32], count: usize) -> Vec<i64> {
        let mut counts = vec![0; count];
        chosen.iter().for_each(|number| counts[*number as usize] += 1);
        counts
    }

    #[test]
    fn devices_are_spread_evenly() {
        for count in [2, 3, 8, 64] {
            let counts = counts(&chosen(&Gateways::new(count, &Seed::from(1))), count as usize);
            let mean = i64::from(DEVICES / count);
            // Five standard deviations of the binomial distribution, at most.
            let most = (25.0 * mean as f64).sqrt() as i64;
            assert!(counts.iter().all(|of_one| (of_one - mean).abs() < most), "{count}: {counts:?}");
        }
    }

    #[test]
    fn only_those_of_the_lost_one_get_others_and_evenly() {
        let mut gateways = Gateways::new(5, &Seed::from(1));
        let before = chosen(&gateways);
        gateways.lose(2);
        let after = chosen(&gateways);
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
        assert!(moved.clone().all(|(before, after)| *before == 2 && *after != 2));
        let new: Vec<u32> = moved.map(|(_, after)| *after).collect();
        let counts = counts(&new, 5);
        assert!(new.len() > 3700 && counts[2] == 0, "{counts:?}");
        assert!([0, 1, 3, 4].iter().all(|&place| (900..1100).contains(&counts[place])), "{counts:?}");
        assert_ne!(chosen(&Gateways::new(5, &Seed::from(2))), before, "another seed, another hash");
    }

    #[test]
    fn names_are_in_the_order_of_the_numbers() {
        assert_eq!((name(0, 1), name(1, 3), name(1, 64)), ("gw".into(), "gw-2".into(), "gw-02".into()));
    }
}
