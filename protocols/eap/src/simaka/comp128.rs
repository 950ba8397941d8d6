//! COMP128, the A3/A8 algorithms of GSM cards before MILENAGE: versions 1, 2 and 3.
//!
//! No standard publishes them; they are known from a leaked document (1988), from reading cards out, and from cards' answers.
//! Version 1 is broken (Briceno, Goldberg, Wagner 1998: about 2¹⁷ challenges reveal Ki); versions 1 and 2 leave ten bits of Kc
//! zero.
//!
//! ```text
//!   version 1       eight rounds of: 32 bytes = Ki ‖ x; five levels of a butterfly network that halve the value range
//!                   (9 → 4 bits); 32 nibbles, permuted to the next x
//!   versions 2, 3   eight rounds of the same butterfly on bytes, the tables nested, Ki ⊕ RAND as the constant half
//! ```

use keytoll_crypto_api::Secret;
use zeroize::Zeroizing;

use super::comp128_tables::{V1_LEVEL0, V1_LEVEL1, V1_LEVEL2, V1_LEVEL3, V1_LEVEL4, V23_INNER, V23_OUTER};
use super::milenage::xor;

/// The version of COMP128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// COMP128-1; broken.
    V1,
    /// COMP128-2: ten bits of Kc are zero.
    V2,
    /// COMP128-3: all 64 bits of Kc.
    V3,
}

/// SRES and Kc: what a card computes from Ki and RAND.
pub fn comp128(version: Version, ki: &[u8; 16], rand: &[u8; 16]) -> (Secret, Secret) {
    let out = match version {
        Version::V1 => version1(ki, rand),
        Version::V2 | Version::V3 => version23(ki, rand, version == Version::V2),
    };
    (Secret::from(&out[..4]), Secret::from(&out[4..]))
}

/// The tables of version 1's levels.
const LEVELS: [&[u8]; 5] = [&V1_LEVEL0, &V1_LEVEL1, &V1_LEVEL2, &V1_LEVEL3, &V1_LEVEL4];

const ROUNDS: usize = 8;

fn version1(ki: &[u8; 16], rand: &[u8; 16]) -> Zeroizing<[u8; 12]> {
    let mut x = Zeroizing::new([0; 32]);
    x[16..].copy_from_slice(rand);
    for round in 1..=ROUNDS {
        x[..16].copy_from_slice(ki);
        LEVELS.iter().enumerate().for_each(|(level, table)| compress(&mut x, level, table));
        if round < ROUNDS {
            let next = permuted(&x);
            x[16..].copy_from_slice(next.as_ref());
        }
    }
    packed(&x)
}

/// One level: 2^level groups, in each of which the lower half is combined with the upper half.
fn compress(x: &mut [u8; 32], level: usize, table: &[u8]) {
    let half = 16 >> level;
    let mask = table.len() - 1;
    for group in x.chunks_exact_mut(2 * half) {
        let (low, high) = group.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            let (m, n) = (usize::from(*low), usize::from(*high));
            *low = table[(m + 2 * n) & mask];
            *high = table[(2 * m + n) & mask];
        }
    }
}

/// The 128 bits of 32 nibbles, bit i of the result being bit 17·i mod 128.
fn permuted(x: &[u8; 32]) -> Zeroizing<[u8; 16]> {
    let bit = |i: usize| x[i / 4] >> (3 - i % 4) & 1;
    let mut next = Zeroizing::new([0; 16]);
    (0..128).for_each(|i| next[i / 8] |= bit(i * 17 % 128) << (7 - i % 8));
    next
}

/// SRES is the first eight nibbles, Kc bits 74 to 127, then ten zero bits.
fn packed(x: &[u8; 32]) -> Zeroizing<[u8; 12]> {
    let bit = |i: usize| x[i / 4] >> (3 - i % 4) & 1;
    let mut out = Zeroizing::new([0; 12]);
    let kept = (0..32).chain(74..128);
    kept.enumerate().for_each(|(to, from)| out[to / 8] |= bit(from) << (7 - to % 8));
    out
}

fn version23(ki: &[u8; 16], rand: &[u8; 16], clear_ten_bits: bool) -> Zeroizing<[u8; 12]> {
    let mut constant = Zeroizing::new(*ki);
    xor(constant.as_mut(), rand);
    constant.reverse();
    let mut x = Zeroizing::new(*rand);
    x.reverse();
    (0..ROUNDS).for_each(|_| *x = *mixed(&x, &constant));
    x.reverse();
    if clear_ten_bits {
        x[15] = 0;
        x[14] &= 0xfc;
    }
    let mut out = Zeroizing::new([0; 12]);
    out[..4].copy_from_slice(&x[..4]);
    out[4..].copy_from_slice(&x[8..]);
    // The card's answer is bytes 0–3, 8–11 and 12–15 of its sixteen.
    out
}

/// One round of versions 2 and 3: five levels over 32 bytes, then 128 bits selected from the 256.
fn mixed(x: &[u8; 16], constant: &[u8; 16]) -> Zeroizing<[u8; 16]> {
    let mut wide = Zeroizing::new([0; 32]);
    wide[..16].copy_from_slice(x);
    wide[16..].copy_from_slice(constant);
    (0..5).for_each(|level| interleave(&mut wide, level));
    let bit = |i: usize| {
        let at = 19 * (i + 1) % 256;
        wide[at / 8] >> (at % 8) & 1
    };
    let mut next = Zeroizing::new([0; 16]);
    (0..128).for_each(|i| next[i / 8] |= bit(i) << (i % 8));
    next
}

/// One level: both halves are looked up against each other and distributed alternately in runs of 2^level.
fn interleave(wide: &mut [u8; 32], level: usize) {
    let look_up = |inner: u8, with: u8| V23_OUTER[usize::from(V23_INNER[usize::from(inner)] ^ with)];
    let (low, high) = wide.split_at(16);
    let first: Zeroizing<Vec<u8>> =
        Zeroizing::new(low.iter().zip(high).map(|(l, h)| look_up(*h, *l)).collect());
    let second: Zeroizing<Vec<u8>> =
        Zeroizing::new(first.iter().zip(high).map(|(f, h)| look_up(*f, *h)).collect());
    let run = 1 << level;
    for i in 0..16 {
        let (deal, within) = (i >> level, i % run);
        wide[2 * deal * run + within] = first[i];
        wide[(2 * deal + 1) * run + within] = second[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::{bytes, hex, rows};

    fn check(version: Version, ki: &[u8; 16], rand: &str, answer: &str) {
        let (sres, kc) = comp128(version, ki, &hex(rand));
        assert_eq!([&sres[..], &kc[..]].concat(), bytes(answer), "{version:?} {rand}");
    }

    #[test]
    fn version_1_answers_as_cards_do() {
        for row in rows(include_str!("vectors/comp128v1.txt")) {
            check(Version::V1, &hex(row[0]), row[1], row[2]);
        }
    }

    #[test]
    fn versions_2_and_3_answer_as_cards_do() {
        for row in rows(include_str!("vectors/comp128.txt")) {
            let version = if row[0] == "2" { Version::V2 } else { Version::V3 };
            check(version, &[0xaa; 16], row[1], row[2]);
        }
    }
}
