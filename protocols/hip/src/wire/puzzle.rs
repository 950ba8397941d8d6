//! PUZZLE and SOLUTION, RFC 7401 §5.2.4 and §5.2.5, and R1_COUNTER, §5.2.3.
//!
//!   PUZZLE      #K(1) Lifetime(1) Opaque(2) #I(RHASH_len)
//!   SOLUTION    #K(1) Reserved(1) Opaque(2) #I(RHASH_len) #J(RHASH_len)
//!   R1_COUNTER  Reserved(4) Generation(8)

use std::time::Duration;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// RFC 7401 §5.2.4: lifetimes are 2^(value − 32) seconds.
const LIFETIME_OF_ONE_SECOND: i32 = 32;
/// Octets before #I.
pub const RANDOM_AT: usize = 4;
/// Octets before Opaque.
pub const OPAQUE_AT: usize = 2;

/// A puzzle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Puzzle<'a> {
    /// #K: how many bits must be zero.
    pub difficulty_bits: u8,
    /// How long a solution is accepted, as the wire has it.
    pub lifetime: u8,
    /// What the responder finds the puzzle by.
    pub opaque: [u8; 2],
    /// #I.
    pub random: &'a [u8],
}

impl<'a> Puzzle<'a> {
    /// How long a solution is accepted: 2^(lifetime − 32) seconds, at least a nanosecond and at most 136 years.
    pub fn lifetime(&self) -> Duration {
        match i32::from(self.lifetime) - LIFETIME_OF_ONE_SECOND {
            power @ 32.. => Duration::from_secs(1 << power.min(32)),
            power @ 0.. => Duration::from_secs(1 << power),
            power => Duration::from_nanos((1_000_000_000_u64 >> power.unsigned_abs()).max(1)),
        }
    }

    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            difficulty_bits: r.u8("PUZZLE #K")?,
            lifetime: r.u8("PUZZLE lifetime")?,
            opaque: r.array("PUZZLE opaque")?,
            random: r.rest(),
        })
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u8(self.difficulty_bits);
        w.u8(self.lifetime);
        w.bytes(&self.opaque);
        w.bytes(self.random);
    }
}

/// A solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solution<'a> {
    /// #K of the puzzle.
    pub difficulty_bits: u8,
    /// Opaque of the puzzle.
    pub opaque: [u8; 2],
    /// #I of the puzzle.
    pub random: &'a [u8],
    /// #J, as long as #I.
    pub solution: &'a [u8],
}

impl<'a> Solution<'a> {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short, or #I and #J have not the same length.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        let difficulty_bits = r.u8("SOLUTION #K")?;
        r.skip(1, "SOLUTION reserved")?;
        let opaque = r.array("SOLUTION opaque")?;
        let both = r.len();
        if both % 2 == 1 {
            return Err(r.error("SOLUTION #I and #J", Problem::Length(both as u64)));
        }
        let random = r.take(both / 2, "SOLUTION #I")?;
        Ok(Self { difficulty_bits, opaque, random, solution: r.rest() })
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u8(self.difficulty_bits);
        w.u8(0);
        w.bytes(&self.opaque);
        w.bytes(self.random);
        w.bytes(self.solution);
    }
}

/// The generation of a responder's puzzles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct R1Counter {
    /// Echoed as it was received.
    pub reserved: u32,
    /// The generation.
    pub generation: u64,
}

impl R1Counter {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they have another length.
    pub fn read(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let counter =
            Self { reserved: r.u32("R1_COUNTER reserved")?, generation: r.u64("R1 generation counter")? };
        r.end("R1_COUNTER")?;
        Ok(counter)
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u32(self.reserved);
        w.u64(self.generation);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lifetimes_are_powers_of_two_seconds() {
        let lifetime =
            |lifetime| Puzzle { difficulty_bits: 0, lifetime, opaque: [0; 2], random: &[] }.lifetime();
        assert_eq!(lifetime(32), Duration::from_secs(1));
        assert_eq!(lifetime(38), Duration::from_secs(64));
        assert_eq!(lifetime(31), Duration::from_millis(500));
        assert_eq!(lifetime(0), Duration::from_nanos(1));
        assert_eq!(lifetime(255), Duration::from_secs(1 << 32));
    }

    proptest! {
        #[test]
        fn round_trip(difficulty_bits: u8, lifetime: u8, opaque: [u8; 2], random in proptest::collection::vec(any::<u8>(), 0..48)) {
            let puzzle = Puzzle { difficulty_bits, lifetime, opaque, random: &random };
            let mut w = Writer::default();
            puzzle.write(&mut w);
            let bytes = w.finish();
            prop_assert_eq!(Puzzle::read(Reader::new(&bytes)).unwrap(), puzzle);
            prop_assert!((0..4).all(|cut| Puzzle::read(Reader::new(&bytes[..cut])).is_err()));
            let solution = Solution { difficulty_bits, opaque, random: &random, solution: &random };
            let mut w = Writer::default();
            solution.write(&mut w);
            let bytes = w.finish();
            prop_assert_eq!(Solution::read(Reader::new(&bytes)).unwrap(), solution);
            prop_assert!(bytes.len() == 4 || Solution::read(Reader::new(&bytes[..bytes.len() - 1])).is_err());
        }
    }
}
