//! A short list, of which there are many: mostly of one value, which needs no memory of its own.

use std::ops::{Deref, DerefMut};

/// Values in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T>(Kept<T>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept<T> {
    Nothing,
    One(T),
    #[expect(clippy::box_collection, reason = "a table of lists with one value each is smaller")]
    Several(Box<Vec<T>>),
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Kept::Nothing)
    }
}

impl<T: Copy> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Copy> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: Copy> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut few = Self::default();
        values.into_iter().for_each(|value| few.push(value));
        few
    }
}

impl<T: Copy, const N: usize> From<[T; N]> for Few<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T: Copy> Few<T> {
    /// One.
    pub const fn of(only: T) -> Self {
        Self(Kept::One(only))
    }

    /// All of them.
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Kept::Nothing => &[],
            Kept::One(only) => std::slice::from_ref(only),
            Kept::Several(all) => all,
        }
    }

    /// All of them, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.0 {
            Kept::Nothing => &mut [],
            Kept::One(only) => std::slice::from_mut(only),
            Kept::Several(all) => all,
        }
    }

    /// Adds one at the end.
    pub fn push(&mut self, value: T) {
        match &mut self.0 {
            Kept::Nothing => self.0 = Kept::One(value),
            Kept::One(first) => self.0 = Kept::Several(Box::new(vec![*first, value])),
            Kept::Several(all) => all.push(value),
        }
    }

    /// Takes the first one out.
    pub fn pop_first(&mut self) -> Option<T> {
        let first = self.as_slice().first().copied()?;
        match &mut self.0 {
            Kept::Nothing | Kept::One(_) => self.0 = Kept::Nothing,
            Kept::Several(all) => drop(all.remove(0)),
        }
        self.shrink();
        Some(first)
    }

    /// Keeps those for which this holds.
    pub fn retain(&mut self, keeps: impl Fn(T) -> bool) {
        match &mut self.0 {
            Kept::One(only) if !keeps(*only) => self.0 = Kept::Nothing,
            Kept::Nothing | Kept::One(_) => {}
            Kept::Several(all) => all.retain(|value| keeps(*value)),
        }
        self.shrink();
    }

    fn shrink(&mut self) {
        if let Kept::Several(all) = &self.0 {
            match all[..] {
                [] => self.0 = Kept::Nothing,
                [only] => self.0 = Kept::One(only),
                [_, _, ..] => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u8]) -> Few<u8> {
        values.iter().copied().collect()
    }

    #[test]
    fn values_keep_their_order_however_many_there_are() {
        for length in 0..5 {
            let values: Vec<u8> = (0..length).collect();
            let mut few = of(&values);
            assert_eq!(few.as_slice(), values);
            few.as_mut_slice().iter_mut().for_each(|value| *value += 10);
            let popped: Vec<u8> = std::iter::from_fn(|| few.pop_first()).collect();
            assert_eq!(popped, values.iter().map(|value| value + 10).collect::<Vec<_>>());
            assert_eq!(few, Few::default());
        }
    }

    #[test]
    fn what_is_kept_is_equal_to_what_was_never_more() {
        for gone in 0..8_u8 {
            let (mut few, keeps) = (of(&[0, 1, 2]), |value: u8| gone & (1 << value) == 0);
            few.retain(keeps);
            let left: Vec<u8> = (0..3).filter(|value| keeps(*value)).collect();
            assert_eq!(few, of(&left));
        }
        let mut only = of(&[7]);
        only.retain(|value| value == 7);
        assert_eq!(only.as_slice(), [7]);
    }

    #[test]
    fn one_value_needs_no_more_room_than_a_pointer_and_a_tag() {
        assert_eq!(size_of::<Few<u64>>(), 16);
    }
}
