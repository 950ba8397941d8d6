//! Inner addresses that a responder assigns, RFC 7296 §2.19.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use super::config::{Config, Pool};

/// The pools of all connections, and their assigned addresses.
#[derive(Debug)]
pub(super) struct Pools {
    used: Vec<Option<Used>>,
    /// The address assigned since [`Self::settle`].
    unsettled: Option<Lease>,
}

#[derive(Debug)]
struct Used {
    pool: Pool,
    /// Never given away from here on.
    next: u32,
    returned: BTreeSet<u32>,
}

/// An assigned address, and its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lease {
    /// Counted from one, so that `Option<Lease>` is no larger.
    connection: NonZeroU32,
    index: u32,
}

impl Lease {
    fn of(connection: usize, index: u32) -> Option<Self> {
        let connection = u32::try_from(connection + 1).ok().and_then(NonZeroU32::new)?;
        Some(Self { connection, index })
    }

    const fn connection(self) -> usize {
        self.connection.get() as usize - 1
    }
}

impl Pools {
    pub(super) fn new(config: &Config) -> Self {
        let used = |pool| Used { pool, next: 0, returned: BTreeSet::new() };
        let used = config.connections.iter().map(|connection| connection.pool.map(used)).collect();
        Self { used, unsettled: None }
    }

    /// An address for a new SA of this connection, preferably the one returned first.
    pub(super) fn lease(&mut self, connection: usize) -> Option<Lease> {
        let used = self.used.get_mut(connection)?.as_mut()?;
        let index = used.returned.pop_first().or_else(|| {
            let fresh = (used.next < used.pool.size).then_some(used.next);
            used.next += u32::from(fresh.is_some());
            fresh
        })?;
        self.unsettled = Lease::of(connection, index);
        self.unsettled
    }

    /// Which address was given away.
    pub(super) fn address(&self, lease: Lease) -> Option<IpAddr> {
        let used = self.used.get(lease.connection())?.as_ref()?;
        Some(offset(used.pool.first, lease.index))
    }

    /// Whether an address belongs to one of the pools, assigned or not.
    pub(super) fn covers(&self, ip: IpAddr) -> bool {
        self.used.iter().flatten().any(|used| {
            let last = offset(used.pool.first, used.pool.size.saturating_sub(1));
            ip.is_ipv4() == last.is_ipv4() && (used.pool.first..=last).contains(&ip)
        })
    }

    /// The SA with the last assigned address is in the tables.
    pub(super) const fn settle(&mut self) {
        self.unsettled = None;
    }

    /// Returns the last assigned address, whose SA never got into the tables.
    pub(super) fn take_back(&mut self) {
        if let Some(lease) = self.unsettled.take() {
            self.give_back(lease);
        }
    }

    /// Takes an address back.
    pub(super) fn give_back(&mut self, lease: Lease) {
        if let Some(used) = self.used.get_mut(lease.connection()).and_then(Option::as_mut) {
            used.returned.insert(lease.index);
        }
    }
}

fn offset(first: IpAddr, index: u32) -> IpAddr {
    match first {
        IpAddr::V4(first) => Ipv4Addr::from(u32::from(first).wrapping_add(index)).into(),
        IpAddr::V6(first) => Ipv6Addr::from(u128::from(first).wrapping_add(u128::from(index))).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unique_while_leased_and_come_back() {
        let pool = Pool { first: "10.0.0.254".parse().unwrap(), size: 3 };
        let used = vec![None, Some(Used { pool, next: 0, returned: BTreeSet::new() })];
        let mut pools = Pools { used, unsettled: None };
        assert_eq!(pools.lease(0), None);
        let leases: Vec<Lease> = std::iter::from_fn(|| pools.lease(1)).collect();
        let addresses: Vec<String> =
            leases.iter().map(|lease| pools.address(*lease).unwrap().to_string()).collect();
        assert_eq!(addresses, ["10.0.0.254", "10.0.0.255", "10.0.1.0"]);
        pools.give_back(leases[1]);
        assert_eq!(pools.lease(1), Some(leases[1]));
        assert_eq!(pools.lease(1), None);
    }
}
