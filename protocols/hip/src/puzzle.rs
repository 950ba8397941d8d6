//! Solving puzzles and judging solutions: RFC 7401 §6.3 with RHASH, draft-ietf-hip-dex-24 §6.1 with CMAC.
//!
//!   Ltrunc( RHASH( #I ‖ HIT-I ‖ HIT-R ‖ #J ), #K ) == 0       the #K lowest-order bits are zero
//!   Ltrunc( CMAC( #I, HIT-I ‖ HIT-R ‖ #J ), #K ) == 0

use keytoll_crypto_api::Digest;
use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Rng};

use crate::hit::Hit;
use crate::number::{HitSuite, Rhash};

/// Octets of #I and #J in the diet exchange, whose RHASH is CMAC (draft-ietf-hip-dex-24 §4.1.1).
const CMAC_LEN: usize = 16;

/// With what puzzles of a responder are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PuzzleFunction {
    /// A hash.
    Rhash(Rhash),
    /// CMAC, keyed with #I.
    Cmac,
}

#[expect(clippy::len_without_is_empty, reason = "no puzzle is empty")]
impl PuzzleFunction {
    /// That of a responder with a HIT of such a suite.
    pub const fn of(suite: HitSuite) -> Self {
        match suite.rhash() {
            Some(rhash) => Self::Rhash(rhash),
            None => Self::Cmac,
        }
    }

    /// Octets of #I and of #J.
    pub const fn len(self) -> usize {
        match self {
            Self::Rhash(rhash) => rhash.len(),
            Self::Cmac => CMAC_LEN,
        }
    }
}

/// What a solution is for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The function.
    pub function: PuzzleFunction,
    /// #K.
    pub difficulty_bits: u8,
    /// #I.
    pub random: &'a [u8],
    /// The initiator's HIT.
    pub initiator: Hit,
    /// The responder's HIT.
    pub responder: Hit,
}

impl Question<'_> {
    /// Whether this #J solves it: one computation.
    pub fn is_solved_by(&self, solution: &[u8], crypto: &mut dyn Crypto) -> bool {
        ends_in_zeros(&self.image(solution, crypto), self.difficulty_bits)
    }

    /// A #J that solves it, found by trying one number after another from a random one: 2^#K computations on average. None
    /// if `tries_max` were not enough.
    pub fn solve(&self, tries_max: u64, rng: &mut Rng, crypto: &mut dyn Crypto) -> Option<Vec<u8>> {
        let mut candidate = vec![0; self.function.len()];
        rng.fill(&mut candidate);
        for _ in 0..tries_max {
            if self.is_solved_by(&candidate, crypto) {
                return Some(candidate);
            }
            increment(&mut candidate);
        }
        None
    }

    fn image(&self, solution: &[u8], crypto: &mut dyn Crypto) -> Digest {
        let (initiator, responder) = (&self.initiator.0, &self.responder.0);
        match self.function {
            PuzzleFunction::Rhash(rhash) => {
                crypto.hash(rhash.hash(), &[self.random, initiator, responder, solution])
            }
            PuzzleFunction::Cmac => {
                crypto.prf(Prf::AesCmac128, self.random, &[initiator, responder, solution])
            }
        }
    }
}

/// Whether the `bits` lowest-order bits are zero; of more bits than there are, all.
fn ends_in_zeros(image: &[u8], bits: u8) -> bool {
    let (octets, rest) = (usize::from(bits / 8), bits % 8);
    let mut from_the_end = image.iter().rev();
    let whole = from_the_end.by_ref().take(octets).all(|octet| *octet == 0);
    whole && from_the_end.next().is_none_or(|octet| octet & ((1 << rest) - 1) == 0)
}

/// Adds one to a number in network byte order.
fn increment(number: &mut [u8]) {
    for octet in number.iter_mut().rev() {
        *octet = octet.wrapping_add(1);
        if *octet != 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    #[test]
    fn the_lowest_bits_are_those_at_the_end() {
        assert!(ends_in_zeros(&[0xff, 0xff, 0], 8));
        assert!(ends_in_zeros(&[0xff, 0xf0, 0], 12));
        assert!(!ends_in_zeros(&[0xff, 0xf0, 0], 13));
        assert!(ends_in_zeros(&[0xff], 0));
        assert!(ends_in_zeros(&[0, 0], 255));
    }

    #[test]
    fn counting_goes_over_octets() {
        let mut number = [0, 0xff, 0xff];
        increment(&mut number);
        assert_eq!(number, [1, 0, 0]);
        let mut number = [0xff, 0xff];
        increment(&mut number);
        assert_eq!(number, [0, 0]);
    }

    #[test]
    fn a_solution_solves_its_own_puzzle_only() {
        let mut crypto = Real::default();
        for function in
            [PuzzleFunction::Rhash(Rhash::Sha256), PuzzleFunction::Rhash(Rhash::Sha384), PuzzleFunction::Cmac]
        {
            let random = vec![7; function.len()];
            let question = Question {
                function,
                difficulty_bits: 10,
                random: &random,
                initiator: Hit([1; 16]),
                responder: Hit([2; 16]),
            };
            let solution = question.solve(1 << 20, &mut Rng::named(1, "puzzle"), &mut crypto).unwrap();
            assert!(question.is_solved_by(&solution, &mut crypto));
            let swapped = Question { initiator: Hit([2; 16]), responder: Hit([1; 16]), ..question };
            assert!(!swapped.is_solved_by(&solution, &mut crypto));
            assert_eq!(
                Question { difficulty_bits: 200, ..question }.solve(
                    10,
                    &mut Rng::named(1, "puzzle"),
                    &mut crypto
                ),
                None
            );
        }
    }

    /// The vector of a laboratory: #I = 00..0f, HITs of RFC 5903's keys, #K = 8 lowest-order bits, smallest #J = 395.
    #[test]
    fn the_smallest_solution_of_a_known_puzzle() {
        let mut crypto = Real::default();
        let random: Vec<u8> = (0..16).collect();
        let question = Question {
            function: PuzzleFunction::Cmac,
            difficulty_bits: 8,
            random: &random,
            initiator: Hit(0x2001_0024_18bb_916c_ef66_0475_a853_498d_u128.to_be_bytes()),
            responder: Hit(0x2001_0024_31dc_4bac_f0e0_c33e_765e_0f1d_u128.to_be_bytes()),
        };
        let first = (0..1000_u128).find(|number| question.is_solved_by(&number.to_be_bytes(), &mut crypto));
        assert_eq!(first, Some(395));
        let image = question.image(&395_u128.to_be_bytes(), &mut crypto);
        assert_eq!(image[..4], [0x67, 0xb4, 0xf8, 0x93]);
    }
}
