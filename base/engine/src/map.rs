//! A hash map that cannot be iterated, so that its random order can never reach a trace.

use std::borrow::Borrow;
use std::hash::Hash;

/// Look-up by key in constant time; no iteration on purpose.
#[derive(Debug)]
pub struct FastMap<K, V>(Inner<K, V>);

// Keyed at random, because strangers choose some of the keys; faster than the standard library's hash.
#[expect(clippy::disallowed_types, reason = "this is the wrapper that hides the iteration order")]
type Inner<K, V> = std::collections::HashMap<K, V, ahash::RandomState>;

impl<K, V> Default for FastMap<K, V> {
    fn default() -> Self {
        Self(Inner::default())
    }
}

impl<K: Eq + Hash, V> FastMap<K, V> {
    /// The value under a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// The value under a key, mutable.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.0.get_mut(key)
    }

    /// Inserts a value and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// The value under a key, which is put there if there is none.
    pub fn get_or_insert(&mut self, key: &K) -> &mut V
    where
        K: Clone,
        V: Default,
    {
        self.0.entry(key.clone()).or_default()
    }

    /// Keeps the entries for which this holds. It sees them in no order, and cannot remember one.
    pub fn retain(&mut self, keeps: impl Fn(&K, &mut V) -> bool) {
        self.0.retain(keeps);
    }

    /// Removes a value and returns it.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key)
    }

    /// Whether there is a value under this key.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
