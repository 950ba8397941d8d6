//! Identifiers on source ports: which are free, and their order of use. RFC 2865 §2.5 and RFC 5080 §2.2.2.

use std::collections::{BTreeSet, VecDeque};

/// Which of the server's two services; each has its own identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Service {
    Authentication,
    Accounting,
}

/// What matches a response with its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) service: Service,
    pub(super) port: u16,
    pub(super) identifier: u8,
}

/// The identifiers of one service.
#[derive(Debug)]
pub(super) struct Identifiers {
    service: Service,
    /// In ascending order.
    ports: Vec<u16>,
    /// Ports in use from the first one on, each with its free identifiers, the one used longest ago in front.
    open: Vec<VecDeque<u8>>,
    /// Indices of open ports with free identifiers.
    free: BTreeSet<usize>,
}

impl Identifiers {
    pub(super) fn new(service: Service, mut ports: Vec<u16>) -> Self {
        ports.sort_unstable();
        ports.dedup();
        Self { service, ports, open: Vec::new(), free: BTreeSet::new() }
    }

    // RFC 5080 §2.2.2: identifiers of a port are used in the order in which they became free.
    /// An identifier on the first port that has one; `None` if all are outstanding.
    pub(super) fn allocate(&mut self) -> Option<Slot> {
        let index = self.free.first().copied().or_else(|| self.open_port())?;
        self.take(index)
    }

    /// An identifier on a usable port: on that for this number, or on the next one that has one free.
    pub(super) fn allocate_near(&mut self, number: u64, is_usable: impl Fn(u16) -> bool) -> Option<Slot> {
        while self.open_port().is_some() {}
        let count = self.ports.len().max(1) as u64;
        let near = (number % count) as usize;
        let mut free = self.free.range(near..).chain(self.free.range(..near)).copied();
        let index = free.find(|index| is_usable(self.ports[*index]))?;
        self.take(index)
    }

    fn take(&mut self, index: usize) -> Option<Slot> {
        let free = &mut self.open[index];
        let identifier = free.pop_front().expect("ports without free identifiers are not in `free`");
        if free.is_empty() {
            self.free.remove(&index);
        }
        Some(Slot { service: self.service, port: self.port(index)?, identifier })
    }

    /// All ports, in ascending order.
    pub(super) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Takes an identifier back.
    pub(super) fn release(&mut self, slot: Slot) {
        let index = self.ports.binary_search(&slot.port).expect("slots are on ports of ours");
        self.open[index].push_back(slot.identifier);
        self.free.insert(index);
    }

    fn open_port(&mut self) -> Option<usize> {
        let index = self.open.len();
        self.port(index)?;
        self.open.push((0..=u8::MAX).collect());
        self.free.insert(index);
        Some(index)
    }

    fn port(&self, index: usize) -> Option<u16> {
        self.ports.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_port_opens_after_256_and_nothing_is_given_twice() {
        let mut identifiers = Identifiers::new(Service::Authentication, vec![65_535, 40_000]);
        let slots: Vec<Slot> = std::iter::from_fn(|| identifiers.allocate()).collect();
        assert_eq!(slots.len(), 512);
        assert!(slots[..256].iter().all(|slot| slot.port == 40_000) && slots[256].port == 65_535);
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), 512);
        identifiers.release(slots[300]);
        assert_eq!(identifiers.allocate(), Some(slots[300]));
        assert_eq!(identifiers.allocate(), None);
    }

    #[test]
    fn the_identifier_used_longest_ago_comes_next() {
        let mut identifiers = Identifiers::new(Service::Accounting, vec![5000]);
        for expected in (0..=u8::MAX).chain(0..=10) {
            let slot = identifiers.allocate().unwrap();
            assert_eq!(slot.identifier, expected);
            identifiers.release(slot);
        }
    }

    #[test]
    fn conversations_are_spread_over_ports_and_stay_on_theirs_as_long_as_it_is_usable() {
        let mut identifiers = Identifiers::new(Service::Authentication, vec![1, 2, 3]);
        let mut port =
            |number, lost: u16| identifiers.allocate_near(number, |port| port != lost).map(|slot| slot.port);
        assert_eq!([0, 1, 2, 3, 1].map(|number| port(number, 0)), [1, 2, 3, 1, 2].map(Some));
        assert_eq!([1, 2].map(|number| port(number, 3)), [2, 1].map(Some));
        let more = std::iter::repeat_with(|| port(0, 0)).take_while(Option::is_some).count();
        assert_eq!(more, 3 * 256 - 7);
    }

    #[test]
    fn without_ports_there_is_nothing() {
        let mut identifiers = Identifiers::new(Service::Authentication, Vec::new());
        assert_eq!(identifiers.allocate(), None);
        assert_eq!(identifiers.allocate_near(7, |_| true), None);
    }
}
