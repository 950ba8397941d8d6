//! A map in the order of its keys. A few entries are a list, and one needs no memory of its own: a million devices have maps of one
//! entry each, and a node of a tree has room for eleven.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use smallvec::SmallVec;

/// Values in the order of their keys.
#[derive(Debug)]
pub struct Sorted<K, V = ()>(Kept<K, V>);

/// So many entries are found as fast in a list.
const FEW: usize = 8;

#[derive(Debug)]
enum Kept<K, V> {
    Few(SmallVec<[(K, V); 1]>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self(Kept::Few(SmallVec::new()))
    }
}

impl<K: Ord, V> Sorted<K, V> {
    /// Inserts a value and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Kept::Few(few) = &mut self.0
            && few.len() >= FEW
        {
            self.0 = Kept::Many(few.drain(..).collect());
        }
        let few = match &mut self.0 {
            Kept::Few(few) => few,
            Kept::Many(many) => return many.insert(key, value),
        };
        match few.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(place) => Some(std::mem::replace(&mut few[place].1, value)),
            Err(place) => {
                if few.len() == few.capacity() {
                    few.reserve_exact(few.len());
                }
                few.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a value and returns it.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        match &mut self.0 {
            Kept::Few(few) => {
                let place = few.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
                Some(few.remove(place).1)
            }
            Kept::Many(many) => many.remove(key),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        match &self.0 {
            Kept::Few(few) => {
                few.binary_search_by(|(known, _)| known.cmp(key)).ok().map(|place| &few[place].1)
            }
            Kept::Many(many) => many.get(key),
        }
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&K, &V)> {
        match &self.0 {
            Kept::Few(few) => few.first().map(|(key, value)| (key, value)),
            Kept::Many(many) => many.first_key_value(),
        }
    }

    /// Removes the first entry and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        match &mut self.0 {
            Kept::Few(few) => (!few.is_empty()).then(|| few.remove(0)),
            Kept::Many(many) => many.pop_first(),
        }
    }

    /// The first key that is not less than this one.
    pub fn first_from(&self, from: &K) -> Option<&K> {
        match &self.0 {
            Kept::Few(few) => few.iter().map(|(key, _)| key).find(|key| *key >= from),
            Kept::Many(many) => many.range(from..).next().map(|(key, _)| key),
        }
    }

    /// The first key that is greater than this one.
    pub fn first_after(&self, from: &K) -> Option<&K> {
        match &self.0 {
            Kept::Few(few) => few.iter().map(|(key, _)| key).find(|key| *key > from),
            Kept::Many(many) => many.range((Excluded(from), Unbounded)).next().map(|(key, _)| key),
        }
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries().map(|(_, value)| value)
    }

    fn entries(&self) -> impl Iterator<Item = (&K, &V)> {
        let (few, many) = match &self.0 {
            Kept::Few(few) => (&few[..], None),
            Kept::Many(many) => (&[][..], Some(many)),
        };
        few.iter().map(|(key, value)| (key, value)).chain(many.into_iter().flatten())
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Few(few) => few.len(),
            Kept::Many(many) => many.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever comes and goes, with few entries and with many.
    #[test]
    fn it_is_a_sorted_map() {
        for keys in [3, 8, 9, 100_u64] {
            let (mut sorted, mut tree) = (Sorted::default(), BTreeMap::new());
            let mut drawn = keys;
            for n in 0..4000 {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (drawn >> 33) % keys;
                match drawn >> 61 {
                    0..=3 => assert_eq!(sorted.insert(key, n), tree.insert(key, n)),
                    4..=6 => assert_eq!(sorted.remove(&key), tree.remove(&key)),
                    _ => assert_eq!(sorted.pop_first(), tree.pop_first()),
                }
                assert_eq!(sorted.first(), tree.first_key_value());
                assert_eq!(sorted.first_from(&key), tree.range(key..).next().map(|(key, _)| key));
                let after = tree.range((Excluded(key), Unbounded)).next();
                assert_eq!(sorted.first_after(&key), after.map(|(key, _)| key));
                assert_eq!(sorted.get(&key), tree.get(&key));
                assert!(sorted.keys().eq(tree.keys()) && sorted.values().eq(tree.values()));
                assert_eq!((sorted.len(), sorted.is_empty()), (tree.len(), tree.is_empty()));
            }
        }
    }
}
