//! Where numbers say less than they seem to: of too few samples, of waits in which devices send again or give up, of lost packets.

use keytoll_analysis::summary::SummaryRow;

use crate::outcome::Verdict;

/// So many samples have a 99th percentile: the greatest of n is above it with a probability of 1 − 0.99ⁿ, which is 95 % from here on
/// (Wilks, Annals of Mathematical Statistics 12 (1941) 91).
pub const SAMPLES_MIN: u64 = 299;
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

/// Whether a verdict follows from so many samples.
pub(crate) fn is_certain(verdict: Verdict, n: u64, half_are_too_slow: bool) -> bool {
    n >= SAMPLES_MIN || verdict == Verdict::TooFewCores || half_are_too_slow
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
            "packets were lost, {lost:.2} in an authentication: that devices wait until they send again is in the {p99_s:.1} s that 99 % \
             take without load (half of them {p50_s:.2} s), and is no queueing, which cores would change"
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
        assert!(is_certain(Verdict::TooFewCores, 1, false) && is_certain(Verdict::SlowWithoutLoad, 8, true));
        assert!(!is_certain(Verdict::Kept, SAMPLES_MIN - 1, false));
    }

    /// The last repetition is sent 4 · (1 + 1.8 + … + 1.8⁴) s after the first message, and waits for 4 · 1.8⁵ s.
    #[test]
    fn patience_is_the_sum_of_all_waits() {
        let waits: f64 = (0..=5).map(|n| 4.0 * 1.8_f64.powi(n)).sum();
        assert_eq!(waits.floor(), PATIENCE_S);
        assert!(giving_up(PATIENCE_S).is_none() && giving_up(166.0).unwrap().contains("give up after 165 s"));
    }
}
