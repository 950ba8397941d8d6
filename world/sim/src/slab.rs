//! Storage for the payloads of events, addressed by small numbers, so that the events themselves stay small.

/// A vector that reuses vacant places.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Inserts an element and returns its place.
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(place) = self.vacant.pop() {
            self.places[place as usize] = Some(thing);
            return place;
        }
        self.places.push(Some(thing));
        u32::try_from(self.places.len() - 1).expect("the limits keep fewer than 2³² things waiting")
    }

    /// Takes a thing out.
    pub(crate) fn take(&mut self, place: u32) -> T {
        self.vacant.push(place);
        self.places[place as usize].take().expect("every place is taken once, by the event that names it")
    }

    /// How many things wait.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!((slab.take(a), slab.len()), ('a', 1));
        assert_eq!(slab.insert('c'), a);
        assert_eq!((slab.take(b), slab.take(a), slab.len()), ('b', 'c', 0));
    }
}
