//! SPIs of the IPsec SAs that a host receives on. Read RFC 4301 §4.1, RFC 4303 §2.1 first.
//!
//! Both versions of IKE draw from one pool, for a packet finds its SA by the SPI alone, whoever has negotiated it. An SPI is
//! taken from its draw on: while it is proposed by its lease, then until the owner hears that the SA is gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keytoll_engine::map::FastMap;

use crate::event::Event;

/// The SPIs of a host that are taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spis(Arc<Mutex<FastMap<u32, Use>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Somebody proposes it.
    Proposed,
    /// There is an SA.
    Up,
}

/// An SPI that is proposed; it is free again when this is dropped, unless an SA has come of it.
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

    /// What the owner hears says which SAs there are.
    pub(crate) fn note(&self, event: &Event) {
        match event {
            Event::ChildUp(_, new) | Event::ChildRekeyed { new, .. } => {
                self.taken().insert(new.inbound_spi, Use::Up);
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
    fn what_is_taken_is_not_drawn_again() {
        let spis = Spis::default();
        let first = spis.propose(draws(&[0, 255, 256]));
        assert_eq!(first.get(), 256, "what is reserved is never drawn");
        let second = spis.clone().propose(draws(&[256, 256, 1000]));
        assert_eq!(second.get(), 1000);
        drop(first);
        assert_eq!(spis.propose(draws(&[256])).get(), 256, "nothing has come of it");
    }

    #[test]
    fn an_sa_has_its_spi_until_it_is_gone() {
        let spis = Spis::default();
        let proposed = spis.propose(draws(&[256]));
        spis.taken().insert(256, Use::Up);
        drop(proposed);
        assert_eq!(spis.propose(draws(&[256, 257])).get(), 257);
        spis.note(&Event::ChildDown(SaId(1), 256));
        assert_eq!(spis.propose(draws(&[256])).get(), 256);
    }
}
