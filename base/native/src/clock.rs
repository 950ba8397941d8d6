//! The clocks and the operating system's randomness, for the few places that may use them.
//!
//! Three clocks by cost (on this project's reference machine): [`ticks`] costs 17 ns and may enclose a single primitive
//! once [`empty_span_ticks`] is subtracted; [`monotonic_ns`] costs 21 ns and is for the wall clock of a live run;
//! [`thread_cpu_ns`] is a system call of 365 ns and belongs around whole roles or batches, never around one operation.
//! One tick is not one core cycle: [`core_hz`] measures the actual frequency of the core.

use std::hint::black_box;
use std::sync::OnceLock;

/// The CPU's time-stamp counter: constant rate, read only after the instructions before it have completed.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn ticks() -> u64 {
    let mut core = 0;
    // SAFETY: every x86_64 CPU made since 2008 has RDTSCP; it writes the core's number to `core` and nothing else.
    unsafe { core::arch::x86_64::__rdtscp(&raw mut core) }
}

/// The CPU's virtual counter: constant rate, read only after the instructions before it have completed.
#[cfg(target_arch = "aarch64")]
#[inline]
pub fn ticks() -> u64 {
    let value;
    // SAFETY: Linux lets user space read CNTVCT_EL0; ISB makes the read wait for the instructions before it.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nostack, nomem)) };
    value
}

/// Nanoseconds of CLOCK_MONOTONIC_RAW, where no counter can be read directly.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub fn ticks() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// The number of [`ticks`] in a second: measured once per process against CLOCK_MONOTONIC_RAW over 5 ms, and rounded to
/// 100 kHz (less than the error of the measurement) so that processes on one machine agree.
pub fn ticks_hz() -> f64 {
    static HZ: OnceLock<f64> = OnceLock::new();
    *HZ.get_or_init(|| (calibrate() / 1e5).round() * 1e5)
}

/// A span of [`ticks`] in nanoseconds.
#[inline]
pub fn ticks_to_ns(ticks: u64) -> f64 {
    ticks as f64 * (1e9 / ticks_hz())
}

/// A span of nanoseconds in [`ticks`].
pub fn ns_to_ticks(ns: u64) -> u64 {
    (ns as f64 * (ticks_hz() / 1e9)) as u64
}

/// The overhead of measuring: the median span between two [`ticks`] with nothing in between.
pub fn empty_span_ticks() -> u64 {
    static TICKS: OnceLock<u64> = OnceLock::new();
    *TICKS.get_or_init(|| {
        let mut spans = [0; 1001];
        // Twice, because the first round warms the instruction cache.
        for _ in 0..2 {
            spans.fill_with(|| {
                let start = ticks();
                ticks() - start
            });
        }
        median(spans)
    })
}

/// CPU time this thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds since some moment at or before start-up, never going back.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Seconds since 1970-01-01T00:00:00Z.
pub fn unix_seconds() -> u64 {
    unix_ns() / 1_000_000_000
}

/// Nanoseconds since 1970-01-01T00:00:00Z.
pub fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The current frequency of this core in Hz: a chain of dependent additions takes one cycle each. The fastest of five
/// rounds of about 0.2 ms, because interruptions only ever make a round slower.
pub fn core_hz() -> f64 {
    (0..5).map(|_| add_chain_hz()).fold(0.0, f64::max)
}

/// One clock in nanoseconds.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec we own; the clocks named in this file exist on every Linux since 2.6.28.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks per second over five milliseconds. An interruption in between does no harm, because both clocks keep running.
fn calibrate() -> f64 {
    let (first_tick, first_ns) = moment();
    while read(libc::CLOCK_MONOTONIC_RAW) - first_ns < 5_000_000 {}
    let (last_tick, last_ns) = moment();
    (last_tick - first_tick) as f64 * 1e9 / (last_ns - first_ns) as f64
}

/// A tick and the nanosecond it belongs to: the quickest of eight attempts, which was not interrupted.
fn moment() -> (u64, u64) {
    let attempt = || {
        let before = ticks();
        let ns = read(libc::CLOCK_MONOTONIC_RAW);
        let after = ticks();
        (after - before, (before + (after - before) / 2, ns))
    };
    (0..8).map(|_| attempt()).min_by_key(|&(width, _)| width).expect("eight attempts were made").1
}

/// Additions per second of a chain in which each needs the one before it.
fn add_chain_hz() -> f64 {
    const ROUNDS: u32 = 30_000;
    const PER_ROUND: u32 = 20;
    let start = ticks();
    let mut sum = black_box(1_u64);
    for _ in 0..ROUNDS {
        sum = twenty_additions(sum);
    }
    black_box(sum);
    f64::from(ROUNDS * PER_ROUND) * 1e9 / ticks_to_ns(ticks() - start)
}

/// Twenty dependent additions in registers, which no compiler can fold and no CPU can rename away.
#[inline(always)]
fn twenty_additions(mut sum: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    macro_rules! twenty {
        ($instruction:literal) => {
            concat!(
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction,
                "\n",
                $instruction
            )
        };
    }
    let step = black_box(3_u64);
    // SAFETY: only the named registers are touched.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(twenty!("add {0}, {1}"), inout(reg) sum, in(reg) step, options(nostack, nomem, pure));
    }
    // SAFETY: only the named registers are touched.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(twenty!("add {0}, {0}, {1}"), inout(reg) sum, in(reg) step, options(nostack, nomem, pure));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    for _ in 0..20 {
        sum = black_box(sum.wrapping_add(step));
    }
    sum
}

/// The middle one of an odd number of values.
fn median<T: PartialOrd + Copy, const N: usize>(mut values: [T; N]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("clocks give no NaN"));
    values[N / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_agree_with_the_monotonic_clock() {
        let (from, start) = (ticks(), monotonic_ns());
        while monotonic_ns() - start < 20_000_000 {}
        let (by_ticks, by_clock) = (ticks_to_ns(ticks() - from), (monotonic_ns() - start) as f64);
        assert!(
            (by_ticks / by_clock - 1.0).abs() < 0.01,
            "{by_ticks} ns by ticks, {by_clock} ns by the clock"
        );
    }

    #[test]
    fn an_empty_span_is_short_and_not_negative() {
        assert!((0.0..1000.0).contains(&ticks_to_ns(empty_span_ticks())), "{} ticks", empty_span_ticks());
    }

    #[test]
    fn thread_time_passes_while_computing() {
        let start = thread_cpu_ns();
        black_box(core_hz());
        let computed = thread_cpu_ns() - start;
        assert!(computed > 100_000, "{computed} ns");
    }

    #[test]
    fn the_core_runs_at_a_believable_frequency() {
        let hz = core_hz();
        assert!((2e8..8e9).contains(&hz), "{hz} Hz");
    }

    #[test]
    fn the_calendar_stands_after_2023() {
        assert!(unix_seconds() > 1_700_000_000);
    }
}
