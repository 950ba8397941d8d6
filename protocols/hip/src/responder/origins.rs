//! Of which addresses associations are, so that no address has more than its share.

use std::net::{IpAddr, Ipv6Addr};

use keytoll_engine::map::FastMap;

/// Associations, counted by the address that they are of.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    of: FastMap<u64, Option<IpAddr>>,
    by_origin: FastMap<Option<IpAddr>, usize>,
}

impl Origins {
    pub(crate) fn count(&self) -> usize {
        self.of.len()
    }

    /// How many are of this address.
    pub(crate) fn count_of(&self, ip: Option<IpAddr>) -> usize {
        self.by_origin.get(&ip.map(origin)).copied().unwrap_or(0)
    }

    /// Whether this association is counted with this address.
    pub(crate) fn is_of(&self, id: u64, ip: Option<IpAddr>) -> bool {
        self.of.get(&id) == Some(&ip.map(origin))
    }

    /// Counts an association; one that has moved stays with the address it began at.
    pub(crate) fn insert(&mut self, id: u64, ip: Option<IpAddr>) {
        if !self.of.contains_key(&id) {
            let origin = ip.map(origin);
            *self.by_origin.get_or_insert(&origin) += 1;
            self.of.insert(id, origin);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) {
        let Some(origin) = self.of.remove(&id) else { return };
        if let Some(count) = self.by_origin.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&origin);
            }
        }
    }
}

// RFC 8019 §4.2: whoever has one IPv6 address has a whole prefix of them, so that limits are for prefixes.
/// Of whom an address is one of many.
pub(crate) fn origin(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
