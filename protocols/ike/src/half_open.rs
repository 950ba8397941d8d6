//! What a responder holds of initiators that may not exist, for both versions.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use keytoll_engine::Addr;
use keytoll_engine::map::FastMap;

/// SAs of responders that have not authenticated their initiators yet.
#[derive(Debug, Default)]
pub(crate) struct HalfOpenTable {
    /// Our SPIs by the initiator's address and SPI. Whether a first message is a repeated one, its bytes decide: peers
    /// behind one NAT may choose the same SPI, and somebody may have sent a message that only looks like the peer's.
    by_initiator: FastMap<(Addr, u64), Vec<u64>>,
    by_origin: BTreeMap<IpAddr, usize>,
    count: usize,
}

impl HalfOpenTable {
    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Our SPIs for this initiator.
    pub(crate) fn candidates(&self, key: (Addr, u64)) -> &[u64] {
        self.by_initiator.get(&key).map_or(&[], Vec::as_slice)
    }

    /// How many there are from one address, in IPv6 from its /64.
    pub(crate) fn from(&self, ip: IpAddr) -> usize {
        self.by_origin.get(&origin(ip)).copied().unwrap_or(0)
    }

    /// A new one.
    pub(crate) fn insert(&mut self, key: (Addr, u64), spi: u64) {
        match self.by_initiator.get_mut(&key) {
            Some(spis) => spis.push(spi),
            None => drop(self.by_initiator.insert(key, vec![spi])),
        }
        *self.by_origin.entry(origin(key.0.ip)).or_default() += 1;
        self.count += 1;
    }

    /// One is gone, or authenticated.
    pub(crate) fn remove(&mut self, key: (Addr, u64), spi: u64) {
        let Some(spis) = self.by_initiator.get_mut(&key) else { return };
        let Some(at) = spis.iter().position(|known| *known == spi) else { return };
        spis.swap_remove(at);
        if spis.is_empty() {
            self.by_initiator.remove(&key);
        }
        self.count -= 1;
        let origin = origin(key.0.ip);
        if let Some(count) = self.by_origin.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&origin);
            }
        }
    }
}

/// Of whom an address is one of many.
// RFC 8019 §4.2: whoever has one IPv6 address has a whole prefix of them, so that limits are for prefixes.
fn origin(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
