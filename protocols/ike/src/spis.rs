//! Allocation of inbound IPsec SPIs. Read RFC 4301 §4.1, RFC 4303 §2.1 first.
//!
//! Both versions of IKE share one pool, because a packet finds its SA by the SPI alone, whichever version negotiated it. An
//! SPI is taken when it is drawn: first by the proposal, then until the owner is told that the SA is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keytoll_engine::map::FastMap;

use crate::event::Event;

/// The allocated SPIs of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spis(Arc<Mutex<FastMap<u32, Use>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is in a proposal.
    Proposed,
    /// There is an SA.
    Up,
}

/// A proposed SPI; it is free again when this is dropped, unless an SA uses it by then.
#[derive(Debug)]
pub(crate) struct ProposedSpi {
    spi: u32,
    spis: Spis,
}

impl Spis {
    fn taken(&self) -> MutexGuard<'_, FastMap<u32, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first number drawn that is free.
    // RFC 4303 §2.1: 0 to 255 are reserved.
    pub(crate) fn propose(&self, draw: impl FnMut() -> u32) -> ProposedSpi {
        let mut taken = self.taken();
        let is_free = |spi: &u32| *spi > 255 && taken.get(spi).is_none();
        let spi = std::iter::repeat_with(draw).find(is_free).expect("repeat_with has no end");
        taken.insert(spi, Use::Proposed);
        ProposedSpi { spi, spis: self.clone() }
    }

    /// There is an SA with this SPI.
    pub(crate) fn is_up(&self, spi: u32) {
        self.taken().insert(spi, Use::Up);
    }

    /// Updates the existing SAs from an event to the owner.
    pub(crate) fn note(&self, event: &Event) {
        match event {
            Event::ChildUp(_, new) | Event::ChildRekeyed { new, .. } => {
                self.is_up(new.pair.inbound_spi);
            }
            Event::ChildDown(_, spi) => {
                self.taken().remove(spi);
            }
            _ => {}
        }
    }
}

impl ProposedSpi {
    /// The number.
    pub(crate) const fn get(&self) -> u32 {
        self.spi
    }
}

impl Drop for ProposedSpi {
    fn drop(&mut self) {
        let mut taken = self.spis.taken();
        if taken.get(&self.spi) == Some(&Use::Proposed) {
            taken.remove(&self.spi);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SaId;

    fn draws(numbers: &[u32]) -> impl FnMut() -> u32 {
        let mut numbers = numbers.iter().copied();
        move || numbers.next().unwrap()
    }

    #[test]
    fn allocated_spis_are_not_drawn_again() {
        let spis = Spis::default();
        let first = spis.propose(draws(&[0, 255, 256]));
        assert_eq!(first.get(), 256, "what is reserved is never drawn");
        let second = spis.clone().propose(draws(&[256, 256, 1000]));
        assert_eq!(second.get(), 1000);
        drop(first);
        assert_eq!(spis.propose(draws(&[256])).get(), 256, "nothing has come of it");
    }

    #[test]
    fn an_sa_keeps_its_spi_until_it_is_closed() {
        let spis = Spis::default();
        let proposed = spis.propose(draws(&[256]));
        spis.taken().insert(256, Use::Up);
        drop(proposed);
        assert_eq!(spis.propose(draws(&[256, 257])).get(), 257);
        spis.note(&Event::ChildDown(SaId(1), 256));
        assert_eq!(spis.propose(draws(&[256])).get(), 256);
    }
}
