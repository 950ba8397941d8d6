//! Children by the peer's inbound SPI, which the peer chooses and may use twice.

use std::collections::{BTreeMap, BTreeSet};

/// Our inbound SPIs by those of the peer, to look up many at a time.
#[derive(Debug)]
pub(crate) struct PeersSpis {
    ours: BTreeMap<u32, Vec<u32>>,
    gone: BTreeSet<u32>,
}

impl PeersSpis {
    /// Builds the index from (outbound, inbound) SPIs; of two with the same outbound SPI the first is found first.
    pub(crate) fn of(children: impl DoubleEndedIterator<Item = (u32, u32)>) -> Self {
        let mut ours: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (outbound, inbound) in children.rev() {
            ours.entry(outbound).or_default().push(inbound);
        }
        Self { ours, gone: BTreeSet::new() }
    }

    /// Removes the child with this outbound SPI; returns its inbound SPI.
    pub(crate) fn take(&mut self, outbound: u32) -> Option<u32> {
        let inbound = self.ours.get_mut(&outbound)?.pop()?;
        self.gone.insert(inbound);
        Some(inbound)
    }

    /// Whether the child with this inbound SPI was removed.
    pub(crate) fn is_gone(&self, inbound: u32) -> bool {
        self.gone.contains(&inbound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_with_the_same_spi_are_removed_one_after_the_other() {
        let mut spis = PeersSpis::of([(7, 1), (8, 2), (7, 3)].into_iter());
        assert_eq!([spis.take(7), spis.take(9), spis.take(7), spis.take(7)], [Some(1), None, Some(3), None]);
        assert_eq!([1, 2, 3].map(|spi| spis.is_gone(spi)), [true, false, true]);
    }
}
