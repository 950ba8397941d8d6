//! The anti-replay window of RFC 4303 §3.4.3, 64 packets wide.

/// Which sequence numbers below the highest one were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    highest: u32,
    /// Bit n: `highest - n` was seen.
    seen: u64,
}

impl Window {
    /// How far behind the highest number a packet may come.
    pub const SIZE: u32 = u64::BITS;

    /// Whether a number is new and not too old. RFC 4303 §3.4.3: checked before the ICV, marked after it.
    pub const fn accepts(&self, sequence: u32) -> bool {
        if sequence == 0 {
            return false;
        }
        if sequence > self.highest {
            return true;
        }
        let behind = self.highest - sequence;
        behind < Self::SIZE && self.seen & (1 << behind) == 0
    }

    /// Marks an authenticated number as seen.
    pub const fn mark(&mut self, sequence: u32) {
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            self.seen = if ahead < Self::SIZE { self.seen << ahead | 1 } else { 1 };
            self.highest = sequence;
        } else if self.highest - sequence < Self::SIZE {
            self.seen |= 1 << (self.highest - sequence);
        }
    }
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
            assert!(!window.accepts(sequence), "{sequence} again");
        }
        assert!(!window.accepts(136), "64 behind 200 is too old");
        assert!(window.accepts(137));
    }

    proptest! {
        /// Against the plain definition: not seen, and less than the window's width behind the highest.
        #[test]
        fn as_the_definition_says(numbers in proptest::collection::vec(1_u32..300, 0..200)) {
            let (mut window, mut seen, mut highest) = (Window::default(), BTreeSet::new(), 0);
            for n in numbers {
                let expected = !seen.contains(&n) && n + Window::SIZE > highest;
                prop_assert_eq!(window.accepts(n), expected);
                if expected {
                    window.mark(n);
                    seen.insert(n);
                    highest = highest.max(n);
                }
            }
        }
    }
}
