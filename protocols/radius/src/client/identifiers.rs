//! Identifiers on source ports: which are free, and which was used longest ago. RFC 2865 §2.5 and RFC 5080 §2.2.2.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// Which of the server's two services; each has its own identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Service {
    Authentication,
    Accounting,
}

/// What ties a response to its request.
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
    ports: RangeInclusive<u16>,
    /// Ports in use from the first one on, each with its free identifiers, the one used longest ago in front.
    open: Vec<VecDeque<u8>>,
    /// Indices of open ports with free identifiers.
    free: BTreeSet<usize>,
}

impl Identifiers {
    pub(super) const fn new(service: Service, ports: RangeInclusive<u16>) -> Self {
        Self { service, ports, open: Vec::new(), free: BTreeSet::new() }
    }

    // RFC 5080 §2.2.2: identifiers of a port are used in the order in which they came back.
    /// An identifier on the first port that has one; none if everything is outstanding.
    pub(super) fn allocate(&mut self) -> Option<Slot> {
        let index = self.free.first().copied().or_else(|| self.open_port())?;
        let free = &mut self.open[index];
        let identifier = free.pop_front().expect("ports without free identifiers are not in `free`");
        if free.is_empty() {
            self.free.remove(&index);
        }
        Some(Slot { service: self.service, port: self.port(index)?, identifier })
    }

    /// Takes an identifier back.
    pub(super) fn release(&mut self, slot: Slot) {
        let index = usize::from(slot.port - self.ports.start());
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
        let port = self.ports.start().checked_add(u16::try_from(index).ok()?)?;
        self.ports.contains(&port).then_some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_port_opens_after_256_and_nothing_is_given_twice() {
        let mut identifiers = Identifiers::new(Service::Authentication, 65_534..=65_535);
        let slots: Vec<Slot> = std::iter::from_fn(|| identifiers.allocate()).collect();
        assert_eq!(slots.len(), 512);
        assert!(slots[..256].iter().all(|slot| slot.port == 65_534) && slots[256].port == 65_535);
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), 512);
        identifiers.release(slots[300]);
        assert_eq!(identifiers.allocate(), Some(slots[300]));
        assert_eq!(identifiers.allocate(), None);
    }

    #[test]
    fn the_identifier_used_longest_ago_comes_next() {
        let mut identifiers = Identifiers::new(Service::Accounting, 5000..=5000);
        for expected in (0..=u8::MAX).chain(0..=10) {
            let slot = identifiers.allocate().unwrap();
            assert_eq!(slot.identifier, expected);
            identifiers.release(slot);
        }
    }

    #[test]
    fn an_empty_range_of_ports_gives_nothing() {
        #[expect(clippy::reversed_empty_ranges, reason = "a configuration may say so")]
        let mut identifiers = Identifiers::new(Service::Authentication, 2..=1);
        assert_eq!(identifiers.allocate(), None);
    }
}
