//! Associations of initiators whose subscription is not proved yet: how many there are, and from where.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::association::{Association, State};
use crate::config::Limits;

/// Who has not proved a subscription yet.
#[derive(Debug, Default)]
pub(crate) struct Unproved {
    of: BTreeMap<u64, Option<IpAddr>>,
    by_origin: BTreeMap<Option<IpAddr>, usize>,
}

impl Unproved {
    pub(crate) fn count(&self) -> usize {
        self.of.len()
    }

    /// Whether there is a place for one more from there.
    pub(crate) fn has_room(&self, ip: Option<IpAddr>, limits: &Limits) -> bool {
        let taken = self.by_origin.get(&ip.map(origin)).copied().unwrap_or(0);
        self.of.len() < limits.unproved_max && taken < limits.unproved_per_address_max
    }

    /// An association goes into its table.
    pub(crate) fn note(&mut self, association: &Association) {
        let id = association.core.id.0;
        if !matches!(association.state, State::AwaitsVector(_) | State::AwaitsResponse(_)) {
            return self.remove(id);
        }
        let origin = association.core.route.remote.ip().map(origin);
        if self.of.insert(id, origin).is_none() {
            *self.by_origin.entry(origin).or_default() += 1;
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
