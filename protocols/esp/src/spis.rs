//! Where the pair of an SPI is: a table of open addresses.
//!
//! RFC 4301 §4.4.2: who receives chooses the SPI, and we choose at random. So nobody else decides which of them meet in the
//! table, and one multiplication is hash enough; strangers can ask for what is not there, and are done after as many steps
//! as our own SPIs lie side by side. At least half of the table is empty.

use crate::sad::Place;

/// SPIs and their places.
#[derive(Debug, Default)]
pub(crate) struct Spis {
    /// A power of two of slots, or none; from where an SPI belongs to where it is, no slot is empty.
    slots: Vec<Option<(u32, Place)>>,
    len: usize,
}

impl Spis {
    /// The smallest table that is not empty.
    const SLOTS: usize = 8;

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Where the pair of an SPI is.
    #[inline]
    pub(crate) fn get(&self, spi: u32) -> Option<Place> {
        let mut at = self.home(spi);
        loop {
            match self.slots.get(at).copied().flatten()? {
                (found, place) if found == spi => return Some(place),
                _ => at = self.next(at),
            }
        }
    }

    /// Puts an SPI in, which must not be in it.
    pub(crate) fn insert(&mut self, spi: u32, place: Place) {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.put(spi, place);
        self.len += 1;
    }

    /// Takes an SPI out.
    pub(crate) fn remove(&mut self, spi: u32) -> Option<Place> {
        let place = self.get(spi)?;
        let mut at = self.home(spi);
        while self.slots[at].is_none_or(|(found, _)| found != spi) {
            at = self.next(at);
        }
        self.slots[at] = None;
        self.len -= 1;
        self.close_up(self.next(at));
        Some(place)
    }

    /// What follows an emptied slot goes to where it is found without it.
    fn close_up(&mut self, mut at: usize) {
        while let Some((spi, place)) = self.slots[at].take() {
            self.put(spi, place);
            at = self.next(at);
        }
    }

    fn put(&mut self, spi: u32, place: Place) {
        let mut at = self.home(spi);
        while self.slots[at].is_some() {
            at = self.next(at);
        }
        self.slots[at] = Some((spi, place));
    }

    fn grow(&mut self) {
        let larger = vec![None; (self.slots.len() * 2).max(Self::SLOTS)];
        let before = std::mem::replace(&mut self.slots, larger);
        before.into_iter().flatten().for_each(|(spi, place)| self.put(spi, place));
    }

    /// Where an SPI belongs. Fibonacci's hash: the high bits of a product are the well mixed ones.
    #[inline]
    fn home(&self, spi: u32) -> usize {
        let mixed = u64::from(spi).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize & self.slots.len().wrapping_sub(1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map, with few SPIs, so that they come and go and meet.
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((any::<bool>(), 0_u32..40), 0..400)) {
            let (mut spis, mut map) = (Spis::default(), BTreeMap::new());
            for (n, (is_put, spi)) in (0..).zip(steps) {
                let spi = spi.wrapping_mul(0x1000_0001);
                if is_put && !map.contains_key(&spi) {
                    spis.insert(spi, Place::after(n));
                    map.insert(spi, Place::after(n));
                } else if !is_put {
                    prop_assert_eq!(spis.remove(spi), map.remove(&spi));
                }
                prop_assert_eq!(spis.len(), map.len());
                for spi in (0..40_u32).map(|spi| spi.wrapping_mul(0x1000_0001)) {
                    prop_assert_eq!(spis.get(spi), map.get(&spi).copied());
                }
            }
        }
    }

    #[test]
    fn ten_thousand_random_spis_are_found_in_a_few_steps() {
        let mut rng = keytoll_crypto_api::Rng::named(1, "spis");
        let mut random = || {
            let mut spi = [0; 4];
            rng.fill(&mut spi);
            u32::from_be_bytes(spi)
        };
        let mut spis = Spis::default();
        for n in 0..10_000 {
            let spi = random();
            if spis.get(spi).is_none() {
                spis.insert(spi, Place::after(n));
            }
        }
        assert!(spis.slots.len() <= 4 * spis.len());
        let longest = spis.slots.split(Option::is_none).map(<[_]>::len).max().unwrap();
        assert!(longest < 64, "{longest} side by side");
    }
}
