//! A table that strangers fill: of limited size, the oldest entry makes room for a new one.

use std::collections::{BTreeMap, VecDeque};

/// What is known of each of the latest so many keys.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    known: BTreeMap<K, V>,
    /// The keys, oldest first.
    order: VecDeque<K>,
    len_max: usize,
}

impl<K: Ord + Copy, V: Default> Recent<K, V> {
    /// Of at most so many entries, one at least.
    pub(super) const fn new(len_max: usize) -> Self {
        Self { known: BTreeMap::new(), order: VecDeque::new(), len_max }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.known.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.known.get_mut(key)
    }

    /// The entry of a key, a new one if there is none.
    pub(super) fn entry(&mut self, key: K) -> &mut V {
        if !self.known.contains_key(&key) {
            if self.order.len() >= self.len_max {
                self.order.pop_front().map(|oldest| self.known.remove(&oldest));
            }
            self.order.push_back(key);
        }
        self.known.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut recent = Recent::<u8, u8>::new(2);
        (1..=3).for_each(|key| *recent.entry(key) = key);
        *recent.entry(3) += 1;
        assert_eq!([1, 2, 3].map(|key| recent.get(&key).copied()), [None, Some(2), Some(4)]);
    }
}
