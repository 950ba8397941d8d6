//! A map that cannot be iterated, so that its random order can never reach a trace.

use std::borrow::Borrow;
use std::hash::Hash;

use smallvec::SmallVec;

/// Look-up by key in constant time; no iteration on purpose. A few entries are a list, and one needs no memory of its own: a million
/// devices have maps of one entry each.
#[derive(Debug)]
pub struct FastMap<K, V>(Kept<K, V>);

/// So many entries are found as fast in a list.
const FEW: usize = 8;

#[derive(Debug)]
enum Kept<K, V> {
    Few(SmallVec<[(K, V); 1]>),
    Many(Box<Table<K, V>>),
}

// Keyed at random, because strangers choose some of the keys; faster than the standard library's hash.
#[expect(clippy::disallowed_types, reason = "this is the wrapper that hides the iteration order")]
type Table<K, V> = std::collections::HashMap<K, V, ahash::RandomState>;

/// Allocates the seeds that the hash functions of all maps share. The first map with many entries allocates them otherwise, and the heap
/// of its node would depend on which node of the process comes first.
pub fn allocate_seeds() {
    let _ = ahash::RandomState::new();
}

impl<K, V> Default for FastMap<K, V> {
    fn default() -> Self {
        Self(Kept::Few(SmallVec::new()))
    }
}

impl<K: Eq + Hash, V> FastMap<K, V> {
    /// The value under a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            Kept::Few(few) => few.iter().find(|(known, _)| known.borrow() == key).map(|(_, value)| value),
            Kept::Many(table) => table.get(key),
        }
    }

    /// The key that is equal to another.
    pub fn key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&K>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            Kept::Few(few) => few.iter().map(|(known, _)| known).find(|known| (*known).borrow() == key),
            Kept::Many(table) => table.get_key_value(key).map(|(known, _)| known),
        }
    }

    /// The value under a key, mutable.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match &mut self.0 {
            Kept::Few(few) => {
                few.iter_mut().find(|(known, _)| (*known).borrow() == key).map(|(_, value)| value)
            }
            Kept::Many(table) => table.get_mut(key),
        }
    }

    /// Inserts a value and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match &mut self.0 {
            Kept::Few(few) => {
                if let Some((_, known)) = few.iter_mut().find(|(known, _)| *known == key) {
                    return Some(std::mem::replace(known, value));
                }
            }
            Kept::Many(table) => return table.insert(key, value),
        }
        self.make_room();
        match &mut self.0 {
            Kept::Few(few) => _ = push(few, key, value),
            Kept::Many(table) => drop(table.insert(key, value)),
        }
        None
    }

    /// The value under a key, which is put there if there is none.
    pub fn get_or_insert(&mut self, key: &K) -> &mut V
    where
        K: Clone,
        V: Default,
    {
        if matches!(&self.0, Kept::Few(few) if few.iter().all(|(known, _)| known != key)) {
            self.make_room();
        }
        match &mut self.0 {
            Kept::Few(few) => {
                let place = few.iter().position(|(known, _)| known == key);
                let place = place.unwrap_or_else(|| push(few, key.clone(), V::default()));
                &mut few[place].1
            }
            Kept::Many(table) => table.entry(key.clone()).or_default(),
        }
    }

    /// One more entry finds room where it is looked for.
    fn make_room(&mut self) {
        if let Kept::Few(few) = &mut self.0
            && few.len() >= FEW
        {
            self.0 = Kept::Many(Box::new(few.drain(..).collect()));
        }
    }

    /// Keeps the entries for which this holds. It sees them in no order, and cannot remember one.
    pub fn retain(&mut self, keeps: impl Fn(&K, &mut V) -> bool) {
        match &mut self.0 {
            Kept::Few(few) => few.retain(|(key, value)| keeps(key, value)),
            Kept::Many(table) => table.retain(keeps),
        }
    }

    /// Removes a value and returns it.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match &mut self.0 {
            Kept::Few(few) => {
                let place = few.iter().position(|(known, _)| known.borrow() == key)?;
                Some(few.swap_remove(place).1)
            }
            Kept::Many(table) => table.remove(key),
        }
    }

    /// Whether there is a value under this key.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Few(few) => few.len(),
            Kept::Many(table) => table.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Adds an entry to a list, which takes no more memory than it needs; returns its place.
fn push<K, V>(few: &mut SmallVec<[(K, V); 1]>, key: K, value: V) -> usize {
    if few.len() == few.capacity() {
        few.reserve_exact(few.len());
    }
    few.push((key, value));
    few.len() - 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Whatever comes and goes, with few entries and with many.
    #[test]
    fn it_is_a_map() {
        for keys in [3, 8, 9, 100_u64] {
            let (mut fast, mut sorted) = (FastMap::default(), BTreeMap::new());
            let mut drawn = keys;
            for n in 0..4000 {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (drawn >> 33) % keys;
                match drawn >> 61 {
                    0..=2 => assert_eq!(fast.insert(key, n), sorted.insert(key, n)),
                    3..=5 => assert_eq!(fast.remove(&key), sorted.remove(&key)),
                    6 => {
                        *fast.get_or_insert(&key) += n;
                        *sorted.entry(key).or_default() += n;
                    }
                    _ => {
                        fast.retain(|key, _| (key + n) % 3 > 0);
                        sorted.retain(|key, _| (key + n) % 3 > 0);
                    }
                }
                assert_eq!(fast.get(&key), sorted.get(&key));
                assert_eq!(fast.key(&key).is_some(), sorted.contains_key(&key));
                assert_eq!(fast.get_mut(&key), sorted.get_mut(&key));
                assert_eq!((fast.len(), fast.is_empty()), (sorted.len(), sorted.is_empty()));
                assert!((0..keys).all(|key| fast.contains_key(&key) == sorted.contains_key(&key)));
            }
        }
    }
}
