//! What solutions of puzzles have paid for. RFC 7401 §6.9; its appendix A says why a puzzle stands before each key agreement.
//!
//! A solution pays for one association, or for a few I2s that come to nothing. Then it is refused before any of the work that the
//! puzzle is there to make dear, until its puzzle does not count any more.

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_engine::Sorted;

use crate::responder::origins::origin;
use crate::responder::r1::Solved;

/// The solutions that have paid for something, and the I2s of each address that were not believed.
#[derive(Debug, Default)]
pub(crate) struct Solutions {
    paid: Sorted<Key, Paid>,
    /// By the generation in which they came.
    broken: BTreeMap<(u64, Option<IpAddr>), u32>,
}

/// The generation of the puzzle, #I and #J. Without #I, which belongs to one initiator, others could use up a #J for it.
type Key = (u64, Vec<u8>, Vec<u8>);

/// What a solution has paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paid {
    Association,
    /// So many I2s that were not believed.
    Broken(u8),
}

impl Solutions {
    /// Whether a solution still pays for an I2, of which so many may be broken.
    pub(crate) fn pays(&self, solved: &Solved, broken_max: u8) -> Result<(), &'static str> {
        match self.paid.get(&key(solved)) {
            Some(Paid::Association) => Err("solution used before"),
            Some(Paid::Broken(count)) if *count >= broken_max => Err("solution of too many broken I2s"),
            Some(Paid::Broken(_)) | None => Ok(()),
        }
    }

    /// How many are known.
    pub(crate) fn count(&self) -> usize {
        self.paid.len()
    }

    /// How many broken I2s have come of this address in a generation.
    pub(crate) fn broken_of(&self, at: Option<IpAddr>, generation: u64) -> u32 {
        self.broken.get(&(generation, at.map(origin))).copied().unwrap_or(0)
    }

    /// An association has come of a solution.
    pub(crate) fn spend(&mut self, solved: &Solved) {
        self.paid.insert(key(solved), Paid::Association);
    }

    /// An I2 with this solution, which came from there in generation `now`, was not believed.
    pub(crate) fn count_broken(&mut self, solved: &Solved, at: Option<IpAddr>, now: u64) {
        let key = key(solved);
        let before = self.paid.get(&key).copied().unwrap_or(Paid::Broken(0));
        if let Paid::Broken(count) = before {
            self.paid.insert(key, Paid::Broken(count.saturating_add(1)));
        }
        let count = self.broken.entry((now, at.map(origin))).or_default();
        *count = count.saturating_add(1);
    }

    /// Forgets what is refused by its age: puzzles count in generation `now` and the one before.
    pub(crate) fn forget(&mut self, now: u64) {
        while self.paid.first().is_some_and(|((generation, ..), _)| generation + 1 < now) {
            self.paid.pop_first();
        }
        while let Some(first) = self.broken.first_entry().filter(|first| first.key().0 < now) {
            first.remove();
        }
    }
}

fn key(solved: &Solved) -> Key {
    (solved.generation, solved.random.clone(), solved.solution.clone())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn solved(generation: u64, solution: u8) -> Solved {
        Solved { generation, random: vec![1; 16], solution: vec![solution; 16] }
    }

    fn ip(last: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(192, 0, 2, last).into())
    }

    #[test]
    fn a_solution_pays_for_one_association_or_a_few_broken_i2s() {
        let mut solutions = Solutions::default();
        for _ in 0..2 {
            assert_eq!(solutions.pays(&solved(4, 1), 2), Ok(()));
            solutions.count_broken(&solved(4, 1), ip(1), 5);
        }
        assert_eq!(solutions.pays(&solved(4, 1), 2), Err("solution of too many broken I2s"));
        assert_eq!(solutions.pays(&solved(5, 1), 2), Ok(()), "that of another puzzle");
        solutions.spend(&solved(5, 1));
        solutions.count_broken(&solved(5, 1), ip(1), 5);
        assert_eq!(solutions.pays(&solved(5, 1), 200), Err("solution used before"));
    }

    #[test]
    fn what_is_too_old_to_count_is_forgotten() {
        let mut solutions = Solutions::default();
        solutions.count_broken(&solved(4, 1), ip(1), 5);
        solutions.count_broken(&solved(5, 2), ip(1), 5);
        solutions.count_broken(&solved(5, 3), ip(2), 5);
        solutions.forget(5);
        assert_eq!(
            (solutions.count(), solutions.broken_of(ip(1), 5), solutions.broken_of(ip(2), 5)),
            (3, 2, 1)
        );
        solutions.forget(6);
        assert_eq!((solutions.count(), solutions.broken.len()), (2, 0));
        solutions.forget(7);
        assert_eq!(solutions.count(), 0);
    }
}
