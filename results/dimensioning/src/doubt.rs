//! Where numbers say less than they seem to: of too few samples, of waits in which devices send again or give up, of lost packets.

use keytoll_analysis::stats::ranks95;
use keytoll_analysis::summary::SummaryRow;

use crate::outcome::{CookieLoad, Verdict};
use crate::sized::SLOWER_MAX;

/// So many samples have a 99th percentile: the greatest of n is above it with a probability of 1 − 0.99ⁿ, which is 95 % from here on
/// (Wilks, Annals of Mathematical Statistics 12 (1941) 91).
pub const SAMPLES_MIN: u64 = 299;
/// A smaller share of devices with a cookie is not noted.
const ASKED_SHARE_MIN: f64 = 0.005;
/// A wait of this length makes devices send again what is on its way, which no formula here counts.
const RESENDING_S: f64 = 0.5;
/// A device whose message has no answer for so long gives up: 4 s · 1.8ⁿ and five repetitions, as the gateway's peers have by default.
pub const PATIENCE_S: f64 = 165.0;

/// That devices send again, where one waits so long.
pub(crate) fn resending(longest_s: f64) -> Option<String> {
    (longest_s > RESENDING_S).then(|| {
        format!("waits of {longest_s:.1} s make devices send again, which adds load that no formula here counts: `--simulate` does")
    })
}

/// That devices give up, where it takes so long until the last one is served.
pub(crate) fn giving_up(lasts_s: f64) -> Option<String> {
    (lasts_s > PATIENCE_S).then(|| {
        format!(
            "devices give up after {PATIENCE_S:.0} s without an answer, and a gateway refuses those beyond its `half_open_max`: \
             `--arrivals storm:N/TIME --simulate`, or `keytoll run` with a storm, shows how many get in"
        )
    })
}

/// Standard deviations on either side of 95 % of a normal distribution.
const NORMAL_95: f64 = 1.96;
/// A count that is computed from a share may be off by so much.
const ROUNDING: f64 = 1e-6;
/// Probability at most of a sample as far from its verdict.
const ERROR_MAX: f64 = 0.05;

/// Whether a verdict follows from so many samples, this share of which is too slow: the binomial test of 1 %, one-sided, at 95 %.
pub(crate) fn is_certain(verdict: Verdict, n: u64, too_slow_share: f64) -> bool {
    let too_slow = too_slow_share * n as f64;
    match verdict {
        Verdict::TooFewCores | Verdict::HalfOpenFull => true,
        Verdict::Kept | Verdict::Contradicted => {
            binomial_within((too_slow - ROUNDING).ceil() as u64, n) <= ERROR_MAX
        }
        Verdict::TooSlow | Verdict::SlowWithoutLoad | Verdict::SlowWithCookies => {
            match (too_slow + ROUNDING).floor() as u64 {
                0 => false,
                fewest => 1.0 - binomial_within(fewest - 1, n) <= ERROR_MAX,
            }
        }
    }
}

/// The probability that at most `k` of `n` are too slow if 1 % of all are.
fn binomial_within(k: u64, n: u64) -> f64 {
    const NEGLIGIBLE: f64 = 1e-18;
    let odds = SLOWER_MAX / (1.0 - SLOWER_MAX);
    let first = n as f64 * (-SLOWER_MAX).ln_1p();
    let mean = n as f64 * SLOWER_MAX;
    let terms = (0..k.min(n)).scan(first, |log, k| {
        *log += ((n - k) as f64 / (k + 1) as f64 * odds).ln();
        Some((k as f64, log.exp()))
    });
    // Above the mean terms fall faster and faster.
    let terms = terms.take_while(|(k, term)| *k < mean || *term > NEGLIGIBLE);
    (first.exp() + terms.map(|(_, term)| term).sum::<f64>()).min(1.0)
}

/// The shares between which the 99th percentile of so many samples is at 95 % confidence; `None` if the longest of them may be below it.
pub(crate) fn p99_ranks(n: u64) -> Option<[f64; 2]> {
    ranks95(n, 1.0 - SLOWER_MAX).map(|ranks| ranks.map(|rank| share_of(rank, n)))
}

/// The share of all delays that are expected within the one of this rank, from 1 on, of so many: David & Nagaraja, Order Statistics (2003) §2.1.
pub(crate) fn share_of(rank: u64, n: u64) -> f64 {
    rank as f64 / (n + 1) as f64
}

/// That so many samples leave open whether 99 % are fast enough.
pub(crate) fn open(is_certain: bool, n: u64) -> Option<String> {
    (!is_certain && n >= SAMPLES_MIN).then(|| {
        format!("{n} samples leave open whether 99 % are within the delay: about 1 % take longer; `--samples {}` narrows it", 4 * n)
    })
}

/// That authentications failed without any load.
pub(crate) fn failures(n: u64, succeeded: u64) -> Option<String> {
    (succeeded < n).then(|| {
        format!(
            "{} of {n} authentications of the run failed, without load: a failure counts as too slow",
            n - succeeded
        )
    })
}

/// That the gateway asks for cookies.
pub(crate) fn cookies(load: &CookieLoad) -> Option<String> {
    let CookieLoad { half_open_mean, asked_from_half_open, asked_share, round_trip_ms } = load;
    (*asked_share > ASKED_SHARE_MIN).then(|| {
        format!(
            "the gateway asks {:.0} % of devices for a cookie (RFC 7296 §2.6), a round trip of {round_trip_ms:.0} ms more: on average \
             {half_open_mean:.0} SAs are half open, and it asks from {asked_from_half_open} on, an eighth of `half_open_max`",
            100.0 * asked_share
        )
    })
}

/// Whether the gateway refuses devices. So many half-open SAs as there are on average are exceeded half of the time.
pub(crate) fn is_overfull(load: &CookieLoad, half_open_max: u32) -> bool {
    load.half_open_mean + NORMAL_95 * load.half_open_mean.sqrt() > half_open_max.into()
}

/// That the gateway refuses devices.
pub(crate) fn too_many_half_open(load: &CookieLoad, half_open_max: u32) -> Option<String> {
    let CookieLoad { half_open_mean, .. } = load;
    is_overfull(load, half_open_max).then(|| {
        format!(
            "on average {half_open_mean:.0} SAs are half open, and the gateway keeps {half_open_max} (`half_open_max`): it drops the longest \
             silent ones or refuses new ones, so devices wait or fail. No formula counts that; `--simulate` does"
        )
    })
}

/// That there are too few of them.
pub(crate) fn too_few_samples(n: u64) -> Option<String> {
    (n < SAMPLES_MIN).then(|| {
        format!(
            "a 99th percentile cannot be said from {n} samples, for at 95 % confidence it takes {SAMPLES_MIN}: `keytoll run` with \
             `--samples 500` measures enough"
        )
    })
}

/// That it is lost packets that decide, and no queue: without load the slowest wait longer than any wait for cores.
pub(crate) fn lost_packets(row: &SummaryRow, [p50_s, p99_s]: [f64; 2], waiting_p99_s: f64) -> Option<String> {
    let lost: f64 = row.links.iter().map(|(_, means)| means.lost_packets).sum();
    let is_decisive = lost > 0.0 && p99_s - p50_s > RESENDING_S.max(waiting_p99_s);
    is_decisive.then(|| {
        format!(
            "lost packets, {lost:.2} in an authentication, make the {p99_s:.1} s that 99 % take without load (half of them take {p50_s:.2} s): \
             devices wait until they send again, and more cores do not help"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_99th_percentile_has_values_on_both_sides() {
        let above = |n: u64| 1.0 - 0.99_f64.powi(i32::try_from(n).unwrap());
        assert!(above(SAMPLES_MIN) >= 0.95 && above(SAMPLES_MIN - 1) < 0.95);
        assert!(
            too_few_samples(SAMPLES_MIN).is_none() && too_few_samples(8).unwrap().contains("from 8 samples")
        );
    }

    /// Binomial tables with p = 1 %: of 1000, P(X ≤ 4) = 0.0287 and P(X ≤ 5) = 0.0661.
    #[test]
    fn a_share_near_one_per_cent_leaves_the_verdict_open() {
        assert!(
            (binomial_within(4, 1000) - 0.0287).abs() < 5e-5
                && (binomial_within(5, 1000) - 0.0661).abs() < 5e-5
        );
        let kept = |n, too_slow: f64| is_certain(Verdict::Kept, n, too_slow / n as f64);
        assert!(kept(SAMPLES_MIN, 0.0) && !kept(SAMPLES_MIN - 1, 0.0) && kept(1000, 4.0) && !kept(1000, 5.0));
        let slow = |n, too_slow: f64| is_certain(Verdict::SlowWithoutLoad, n, too_slow / n as f64);
        assert!(slow(8, 4.0) && slow(1000, 20.0) && !slow(1000, 12.0) && !slow(8, 0.0));
        assert!(is_certain(Verdict::TooFewCores, 1, 0.0));
        assert!(
            open(false, 1000).unwrap().contains("`--samples 4000`")
                && open(true, 1000).is_none()
                && open(false, 8).is_none()
        );
    }

    /// 1980 ± 8.7 of 2000 by the normal approximation.
    #[test]
    fn a_99th_percentile_is_between_two_ranks() {
        let [low, high] = p99_ranks(2000).unwrap();
        assert!((low - 0.98564).abs() < 1.2e-3 && (high - 0.99436).abs() < 1.2e-3, "{low} {high}");
        assert_eq!([p99_ranks(0), p99_ranks(SAMPLES_MIN)], [None; 2]);
    }

    /// The last repetition is sent 4 · (1 + 1.8 + … + 1.8⁴) s after the first message, and waits for 4 · 1.8⁵ s.
    #[test]
    fn patience_is_the_sum_of_all_waits() {
        let waits: f64 = (0..=5).map(|n| 4.0 * 1.8_f64.powi(n)).sum();
        assert_eq!(waits.floor(), PATIENCE_S);
        assert!(giving_up(PATIENCE_S).is_none() && giving_up(166.0).unwrap().contains("give up after 165 s"));
    }
}
