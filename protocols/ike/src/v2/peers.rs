//! Which IKE SAs each initiator has that proved who it is. Read RFC 7296 §2.4 (INITIAL_CONTACT) and RFC 8019 §5 first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::wire::Identity;

/// Between whom an IKE SA is, as both sides have proved it: ours first.
pub(super) type Names = (Identity, Identity);

/// The IKE SAs of all initiators, by the SPIs that we chose.
#[derive(Debug, Default)]
pub(super) struct Peers {
    by_names: BTreeMap<Arc<Names>, Line>,
}

/// Those of one initiator.
#[derive(Debug, Default)]
struct Line {
    /// In use, the oldest first.
    up: VecDeque<u64>,
    /// That one had to go, and the peer may not have said yet that it knows.
    leaving: Option<u64>,
}

/// What is to be done to an IKE SA that had to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parting {
    /// The peer is told.
    Delete(u64),
    /// The peer knows nothing of it any more, or has had its time to say that it does not.
    Forget(u64),
}

impl Peers {
    /// An initiator has one more; it has no more than `max`, and only this one if it says so. Gives which others must go.
    pub(super) fn arrives(
        &mut self,
        names: &Arc<Names>,
        spi: u64,
        max: usize,
        is_alone: bool,
    ) -> Vec<Parting> {
        let line = self.by_names.entry(Arc::clone(names)).or_default();
        let mut parting = Vec::new();
        if is_alone {
            parting.extend(line.up.drain(..).chain(line.leaving.take()).map(Parting::Forget));
        }
        while line.up.len() >= max.max(1)
            && let Some(oldest) = line.up.pop_front()
        {
            parting.extend(line.leaving.replace(oldest).map(Parting::Forget));
            parting.push(Parting::Delete(oldest));
        }
        line.up.push_back(spi);
        parting
    }

    /// An IKE SA has a new name.
    pub(super) fn renamed(&mut self, names: &Names, old: u64, new: u64) {
        let line = self.by_names.get_mut(names);
        let place = line.and_then(|line| line.up.iter_mut().find(|spi| **spi == old));
        place.into_iter().for_each(|spi| *spi = new);
    }

    /// One is over. With the last in use that goes, too, which was leaving.
    pub(super) fn leaves(&mut self, names: &Names, spi: u64) -> Option<Parting> {
        let line = self.by_names.get_mut(names)?;
        line.up.retain(|own| *own != spi);
        if !line.up.is_empty() {
            return None;
        }
        self.by_names.remove(names)?.leaving.filter(|leaving| *leaving != spi).map(Parting::Forget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(theirs: &str) -> Arc<Names> {
        Arc::new(("gw.lab".parse().unwrap(), theirs.parse().unwrap()))
    }

    #[test]
    fn of_too_many_the_oldest_goes_and_one_at_a_time_is_leaving() {
        let (mut peers, one) = (Peers::default(), names("one@lab"));
        assert_eq!(peers.arrives(&one, 1, 2, false), []);
        assert_eq!(peers.arrives(&one, 2, 2, false), []);
        assert_eq!(peers.arrives(&names("other@lab"), 9, 2, false), []);
        assert_eq!(peers.arrives(&one, 3, 2, false), [Parting::Delete(1)]);
        peers.renamed(&one, 2, 20);
        assert_eq!(peers.arrives(&one, 4, 2, false), [Parting::Forget(1), Parting::Delete(20)]);
        assert_eq!(peers.leaves(&one, 20), None, "it is not in use any more");
        assert_eq!(peers.leaves(&one, 3), None);
        assert_eq!(peers.leaves(&one, 4), Some(Parting::Forget(20)));
        assert_eq!(peers.by_names.len(), 1);
    }

    #[test]
    fn whoever_says_that_it_has_no_other_has_no_other() {
        let (mut peers, one) = (Peers::default(), names("one@lab"));
        (1..=3).for_each(|spi| drop(peers.arrives(&one, spi, 2, false)));
        let all = [2, 3, 1].map(Parting::Forget);
        assert_eq!(peers.arrives(&one, 4, 2, true), all);
        assert_eq!(peers.leaves(&one, 4), None);
        assert!(peers.by_names.is_empty());
    }
}
