//! The speed of the CPU during a row. A core slowed down by a sibling thread, another guest or a lower frequency counts its full
//! time, and no clock shows it. A known workload does if it is similar to the measured one: multiplications of long numbers, which
//! dominate public-key cryptography.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use keytoll_native::clock;

/// 64-bit words of a number.
const WORDS: usize = 8;
/// Multiplications of a probe, which takes about 20 µs.
const ROUNDS: usize = 400;
/// The fastest of so many probes counts for the pace of a row: the others may have been interrupted.
const LOOKS: usize = 5;
/// At least this speed is normal, in percent.
const USUAL_PERCENT: u64 = 90;

/// The fastest probe of this process, in ticks.
static QUICKEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// The speed during one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace {
    ticks: u64,
    looks: u64,
}

impl Pace {
    /// Probes the current speed: the median of some probes, in ticks.
    pub(crate) fn look(&mut self) -> u64 {
        let mut probes: [u64; LOOKS] = std::array::from_fn(|_| multiply());
        probes.sort_unstable();
        QUICKEST.fetch_min(probes[0], Ordering::Relaxed);
        self.add(probes[0]);
        probes[LOOKS / 2]
    }

    const fn add(&mut self, ticks: u64) {
        (self.ticks, self.looks) = (self.ticks.saturating_add(ticks), self.looks + 1);
    }

    /// A note for the reader if the row was slow, relative to the fastest probe so far: to be called when all rows have been
    /// measured, for the first rows may have been slow.
    pub(crate) fn note(self) -> Option<String> {
        let percent = self.percent_of(QUICKEST.load(Ordering::Relaxed))?;
        Some(format!("slowed down, in percent of the quickest that this CPU was seen computing: {percent} %"))
    }

    /// The mean speed, in percent of the fastest probe; `None` if it is normal.
    fn percent_of(self, quickest: u64) -> Option<u64> {
        let percent = (quickest.saturating_mul(self.looks).saturating_mul(100)).checked_div(self.ticks)?;
        (percent < USUAL_PERCENT).then_some(percent)
    }
}

/// A fixed amount of work, in ticks.
fn multiply() -> u64 {
    let mut number = [0x9e37_79b9_7f4a_7c15; WORDS];
    let begun = clock::ticks();
    for _ in 0..ROUNDS {
        number = low_half_and_high(black_box(number));
    }
    black_box(number);
    clock::ticks().saturating_sub(begun).max(1)
}

/// The square of a number, both halves of it added.
fn low_half_and_high(number: [u64; WORDS]) -> [u64; WORDS] {
    let mut product = [0_u64; 2 * WORDS];
    for (place, &digit) in number.iter().enumerate() {
        let mut carry = 0;
        for (other, &by) in number.iter().enumerate() {
            let sum = u128::from(digit) * u128::from(by) + u128::from(product[place + other]) + carry;
            product[place + other] = sum as u64;
            carry = sum >> 64;
        }
        product[place + WORDS] = carry as u64;
    }
    std::array::from_fn(|place| product[place].wrapping_add(product[place + WORDS]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row that crawled.
    pub(crate) const SLOW: Pace = Pace { ticks: 1 << 50, looks: 1 };

    #[test]
    fn a_slow_row_is_reported_in_percent_of_the_fastest() {
        let pace = |ticks: &[u64]| {
            let mut pace = Pace::default();
            ticks.iter().for_each(|ticks| pace.add(*ticks));
            pace
        };
        assert_eq!(pace(&[100, 102, 104]).percent_of(100), None);
        assert_eq!(pace(&[100, 200, 150]).percent_of(100), Some(66));
        assert_eq!(Pace::default().percent_of(100), None);
    }

    #[test]
    fn a_probe_takes_microseconds_and_the_product_is_right() {
        let mut number = [0; WORDS];
        (number[0], number[1]) = (u64::MAX, 3);
        // (2^64 · 3 + 2^64 - 1)^2 = 2^128 · 16 - 2^65 · 4 + 1
        assert_eq!(low_half_and_high(number)[..3], [1, 0_u64.wrapping_sub(8), 15]);
        let mut pace = Pace::default();
        pace.look();
        assert!(clock::ticks_to_ns(pace.ticks) > 500.0, "{} ns", clock::ticks_to_ns(pace.ticks));
    }
}
