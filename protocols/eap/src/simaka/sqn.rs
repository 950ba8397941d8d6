//! Sequence numbers, which make challenges fresh. Read 3GPP TS 33.102 §6.3.3, §6.3.5 and Annex C first.
//!
//! SQN(48 bits) is SEQ(43) ‖ IND(5). The authentication centre increments SEQ and cycles IND; the USIM keeps the highest
//! accepted SEQ for each IND, so that vectors fetched in a batch may be used out of order.

use std::fmt;

/// Bits of IND (TS 33.102 §C.3.2 profile 1).
const IND_BITS: u32 = 5;
/// How many values IND has.
pub const INDS: usize = 1 << IND_BITS;
/// The highest SEQ.
pub const SEQ_MAX: u64 = (1 << (48 - IND_BITS)) - 1;
const MASK: u64 = (1 << 48) - 1;

/// TS 33.102 §C.2.1: a jump of more than Δ = 2²⁸ is refused, so that the counter cannot be exhausted by an attacker.
const JUMP_MAX: u64 = 1 << 28;

/// A sequence number, 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Sqn(u64);

impl Sqn {
    /// The low 48 bits of a number.
    pub const fn new(value: u64) -> Self {
        Self(value & MASK)
    }

    /// The encoding in AUTN and AUTS.
    pub fn to_bytes(self) -> [u8; 6] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    /// The authentication centre's next number: the next SEQ under the next IND (TS 33.102 §C.1.1.1, §C.1.2).
    pub const fn next(self) -> Self {
        let ind = (self.0 + 1) % INDS as u64;
        Self::new((self.seq() + 1) << IND_BITS | ind)
    }

    /// The number with SEQ increased by `steps` and the same IND.
    pub const fn advanced(self, steps: u64) -> Self {
        Self::new(self.0.wrapping_add(steps << IND_BITS))
    }

    const fn seq(self) -> u64 {
        self.0 >> IND_BITS
    }

    fn ind(self) -> usize {
        usize::try_from(self.0 % INDS as u64).expect("IND has five bits")
    }
}

impl From<[u8; 6]> for Sqn {
    fn from(bytes: [u8; 6]) -> Self {
        Self(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
}

impl fmt::Debug for Sqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sqn({:012x})", self.0)
    }
}

/// The sequence numbers that a USIM has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    seqs: [u64; INDS],
}

impl Window {
    /// A card that has accepted nothing above `highest`.
    pub fn starting_at(highest: Sqn) -> Self {
        Self { seqs: [highest.seq(); INDS] }
    }

    /// A card that has accepted these values of SEQ, one for each IND; `None` if one has more than 43 bits.
    pub fn restored(seqs: [u64; INDS]) -> Option<Self> {
        seqs.iter().all(|&seq| seq <= SEQ_MAX).then_some(Self { seqs })
    }

    /// The highest accepted SEQ for each IND.
    pub const fn seqs(&self) -> &[u64; INDS] {
        &self.seqs
    }

    /// Accepts a fresh sequence number and remembers it; returns whether it was fresh.
    pub fn accept(&mut self, sqn: Sqn) -> bool {
        let slot = &self.seqs[sqn.ind()];
        // TS 33.102 §C.2.1–2: SEQ must exceed the highest of its IND, but not exceed the highest of all by too much.
        let fresh = sqn.seq() > *slot && sqn.seq() <= self.highest_seq().saturating_add(JUMP_MAX);
        if fresh {
            self.seqs[sqn.ind()] = sqn.seq();
        }
        fresh
    }

    /// SQN_MS, the highest accepted sequence number, which AUTS carries.
    pub fn highest(&self) -> Sqn {
        let seq = self.highest_seq();
        let ind = self.seqs.iter().position(|&known| known == seq).expect("the maximum is one of them");
        Sqn::new(seq << IND_BITS | ind as u64)
    }

    fn highest_seq(&self) -> u64 {
        self.seqs.iter().copied().max().expect("there are 32")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_next_counts_seq_and_cycles_ind() {
        assert_eq!(Sqn::new(0x21).next(), Sqn::new(0x42));
        assert_eq!(Sqn::new(31).next(), Sqn::new(32));
        assert_eq!(Sqn::new(MASK).next(), Sqn::new(0));
    }

    #[test]
    fn bytes_are_big_endian() {
        assert_eq!(
            Sqn::from([0xff, 0x9b, 0xb4, 0xd0, 0xb6, 7]).to_bytes(),
            [0xff, 0x9b, 0xb4, 0xd0, 0xb6, 7]
        );
        assert_eq!(Sqn::new(0x0102_0304_0506).to_bytes(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_window_takes_each_number_once_in_any_order_of_a_batch() {
        let mut window = Window::starting_at(Sqn::new(0));
        let batch: Vec<_> =
            std::iter::successors(Some(Sqn::new(0).next()), |sqn| Some(sqn.next())).take(32).collect();
        for &sqn in batch.iter().rev() {
            assert!(window.accept(sqn), "{sqn:?}");
            assert!(!window.accept(sqn), "{sqn:?} again");
        }
        assert_eq!(window.highest(), batch[31]);
    }

    #[test]
    fn a_window_is_restored_as_it_was_unless_it_cannot_have_been() {
        let mut seqs: [u64; INDS] = std::array::from_fn(|ind| 100 + ind as u64);
        seqs[7] = SEQ_MAX;
        let window = Window::restored(seqs).unwrap();
        assert_eq!(window.seqs(), &seqs);
        seqs[31] = SEQ_MAX + 1;
        assert_eq!(Window::restored(seqs), None);
    }

    #[test]
    fn a_jump_is_bounded() {
        let mut window = Window::starting_at(Sqn::new(32));
        assert!(!window.accept(Sqn::new(32).advanced(JUMP_MAX + 1)));
        assert!(window.accept(Sqn::new(32).advanced(JUMP_MAX)));
    }

    proptest! {
        #[test]
        fn what_follows_the_highest_is_always_fresh(start in 0..MASK / 2, taken in proptest::collection::vec(0..1000_u64, 0..50)) {
            let mut window = Window::starting_at(Sqn::new(start));
            for steps in taken {
                window.accept(Sqn::new(start).advanced(steps));
            }
            let next = window.highest().next();
            prop_assert!(window.accept(next));
        }
    }
}
