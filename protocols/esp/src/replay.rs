//! The anti-replay window of RFC 4303 §3.4.3, kept as RFC 6479 keeps it: a ring of words, of which whole ones are
//! cleared as the window moves. Extended sequence numbers are guessed as RFC 4303 appendix A2.2 does.

/// Which sequence numbers below the highest one were seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    highest: u64,
    size: u32,
    /// RFC 6479 §2: a word more than the window needs, so that clearing a word forgets nothing inside it.
    ring: Ring,
}

/// A power of two of words. Most windows need two, and no memory of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ring {
    Short([u64; 2]),
    Long(Box<[u64]>),
}

impl Ring {
    fn new(words: usize) -> Self {
        if words <= 2 { Self::Short([0; 2]) } else { Self::Long(vec![0; words].into()) }
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match self {
            Self::Short(words) => words,
            Self::Long(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Short(words) => words,
            Self::Long(words) => words,
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new(Self::SIZE_DEFAULT)
    }
}

impl Window {
    /// RFC 4303 §3.4.3: 32 MUST be supported, 64 is preferred.
    pub const SIZE_DEFAULT: u32 = 64;

    /// The smallest and the largest window.
    pub const SIZES: std::ops::RangeInclusive<u32> = 32..=4096;

    /// A window of so many packets.
    ///
    /// # Panics
    /// If the size is not among [`Window::SIZES`].
    pub fn new(size: u32) -> Self {
        assert!(Self::SIZES.contains(&size), "an anti-replay window holds 32 to 4096 packets");
        let words = (size.div_ceil(u64::BITS) + 1).next_power_of_two();
        Self { highest: 0, size, ring: Ring::new(words as usize) }
    }

    /// The highest number seen.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// The whole of an extended sequence number of which `low` was sent; none if it lies before the first.
    // RFC 4303 A2.2: a number is taken to be the one nearest above the window's lower edge.
    pub const fn extend(&self, low: u32) -> Option<u64> {
        let bottom = (self.highest as u32).wrapping_sub(self.size - 1);
        let high = (self.highest >> 32) as u32;
        // Case B: the window reaches into the numbers before, whose high half is one less.
        let window_spans_wrap = (self.highest as u32) < self.size - 1;
        let high = match (window_spans_wrap, low >= bottom) {
            (false, true) | (true, false) => Some(high),
            (false, false) => high.checked_add(1),
            (true, true) => high.checked_sub(1),
        };
        match high {
            Some(high) => Some(((high as u64) << 32) + low as u64),
            None => None,
        }
    }

    /// Whether a number is new and not too old. RFC 4303 §3.4.3: checked before the ICV, marked after it.
    #[inline]
    pub fn accepts(&self, sequence: u64) -> bool {
        if sequence > self.highest {
            return true;
        }
        // RFC 4303 §3.3.3: the first packet has number 1.
        sequence != 0
            && self.highest - sequence < u64::from(self.size)
            && self.ring.words()[self.word(sequence)] & bit(sequence) == 0
    }

    /// Marks an authenticated number as seen.
    #[inline]
    pub fn mark(&mut self, sequence: u64) {
        if self.highest.saturating_sub(sequence) >= u64::from(self.size) {
            return;
        }
        self.advance(sequence);
        let word = self.word(sequence);
        self.ring.words_mut()[word] |= bit(sequence);
    }

    /// Takes all numbers up to this one for seen.
    pub fn skip_to(&mut self, sequence: u64) {
        self.highest = sequence;
        self.ring.words_mut().fill(u64::MAX);
        // Of the last word only what is not above the number.
        let word = self.word(sequence);
        self.ring.words_mut()[word] = bit(sequence) | (bit(sequence) - 1);
    }

    /// RFC 6479 §2: the words between the old and the new highest number, if it is one, are cleared, each at most once.
    #[inline]
    fn advance(&mut self, sequence: u64) {
        let (from, to) = (self.highest / WORD, sequence / WORD);
        for step in 1..=to.saturating_sub(from).min(self.ring.words().len() as u64) {
            let word = self.word((from + step) * WORD);
            self.ring.words_mut()[word] = 0;
        }
        self.highest = self.highest.max(sequence);
    }

    #[inline]
    fn word(&self, sequence: u64) -> usize {
        (sequence / WORD) as usize & (self.ring.words().len() - 1)
    }
}

const WORD: u64 = u64::BITS as u64;

const fn bit(sequence: u64) -> u64 {
    1 << (sequence % WORD)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_accepted_once() {
        let mut window = Window::default();
        assert!(!window.accepts(0));
        for sequence in [1, 5, 3, 2, 64, 200] {
            assert!(window.accepts(sequence), "{sequence}");
            window.mark(sequence);
            window.mark(sequence);
            assert!(!window.accepts(sequence), "{sequence} again");
        }
        assert!(!window.accepts(136), "64 behind 200 is too old");
        assert!(window.accepts(137));
    }

    #[test]
    fn every_position_of_every_size_refuses_a_replay() {
        for size in [32, 33, 64, 100, 1024, 4096] {
            let mut window = Window::new(size);
            let top = 3 * u64::from(size);
            (1..=top).for_each(|sequence| window.mark(sequence));
            assert!((0..=top).all(|sequence| !window.accepts(sequence)), "{size}: all were seen");
            // A gap as wide as the window, less one: only what lies in it is new.
            window.mark(top + u64::from(size) - 1);
            let fresh = (0..=top + u64::from(size)).filter(|sequence| window.accepts(*sequence));
            assert_eq!(fresh.count(), size as usize - 2 + 1, "{size}");
        }
    }

    /// A number outside the window shares its bit with one inside, or with one to come.
    #[test]
    fn what_is_too_old_to_be_marked_marks_nothing() {
        let mut window = Window::default();
        window.mark(1000);
        (0..=1000 - 64).for_each(|old| window.mark(old));
        assert_eq!(window.highest(), 1000);
        assert!((1000 - 63..1000).all(|sequence| window.accepts(sequence)));
        window.mark(1020);
        assert!((1001..1020).all(|sequence| window.accepts(sequence)));
    }

    #[test]
    fn what_was_skipped_counts_as_seen() {
        let mut window = Window::default();
        window.skip_to(1000);
        assert!((0..=1000).all(|sequence| !window.accepts(sequence)));
        assert!((1001..3000).all(|sequence| window.accepts(sequence)));
        window.mark(1002);
        assert!(window.accepts(1001) && !window.accepts(1000) && !window.accepts(1002));
    }

    /// RFC 4303 A2.2, both cases and both of their branches, with a window of 64.
    #[test]
    fn high_halves_are_guessed_from_the_window() {
        let at = |highest| Window { highest, ..Window::default() };
        let wrap = 1_u64 << 32;
        // Case A: the window lies within one high half.
        assert_eq!(at(wrap + 1000).extend(1000 - 63), Some(wrap + 1000 - 63));
        assert_eq!(at(wrap + 1000).extend(1000 - 64), Some(2 * wrap + 1000 - 64));
        assert_eq!(at(wrap + 1000).extend(u32::MAX), Some(2 * wrap - 1));
        // Case B: it spans two.
        assert_eq!(at(wrap + 10).extend(10), Some(wrap + 10));
        assert_eq!(at(wrap + 10).extend(u32::MAX - 52), Some(wrap + 10 - 63));
        assert_eq!(at(wrap + 10).extend(u32::MAX - 53), Some(2 * wrap - 54));
        // Before the first, and after the last.
        assert_eq!(at(10).extend(u32::MAX), None);
        assert_eq!(at(u64::MAX).extend(0), None);
        assert_eq!(at(0).extend(1), Some(1));
    }

    proptest! {
        /// Against the plain definition: not seen, and less than the window's width behind the highest.
        #[test]
        fn as_the_definition_says(
            size in proptest::sample::select(&[32, 64, 96, 128, 1000][..]),
            numbers in proptest::collection::vec(1_u64..2000, 0..400),
        ) {
            let (mut window, mut seen, mut highest) = (Window::new(size), BTreeSet::new(), 0);
            for n in numbers {
                let expected = !seen.contains(&n) && n + u64::from(size) > highest;
                prop_assert_eq!(window.accepts(n), expected);
                if expected {
                    window.mark(n);
                    seen.insert(n);
                    highest = highest.max(n);
                }
            }
        }

        /// Whatever is within reach of the window comes back whole.
        #[test]
        fn a_number_near_the_window_is_guessed_right(
            highest in 1_u64..u64::MAX / 2, size in proptest::sample::select(&[32, 64, 4096][..]),
            distance in -4095_i64..1 << 31,
        ) {
            let window = Window { highest, ..Window::new(size) };
            let sequence = highest.saturating_add_signed(distance.max(1 - i64::from(size)));
            prop_assert_eq!(window.extend(sequence as u32), Some(sequence));
        }
    }
}
