//! The conditions under which a load has failed, applied to what was measured.

use std::time::Duration;

use keytoll_analysis::summary::{Concern, LoadCondition, LoadOutcome};
use keytoll_census::{Delays, Percentiles};
use keytoll_load::Totals;
use keytoll_scenario::node::load::{Condition, Metric, Point};

/// Applies a condition. One without a measured value is met, because nothing shows that the target is good.
pub(super) fn applied(condition: &Condition, totals: &Totals) -> LoadCondition {
    let measured = measured(condition.metric, totals);
    LoadCondition {
        condition: condition.to_string(),
        measured: measured.map(|value| condition.shown(value)),
        failed: measured.is_none_or(|value| condition.is_met_by(value)),
        concerns: concern(condition),
        outcome: LoadOutcome::default(),
    }
}

/// Late starts add to delays and take from the rate. A condition that too few failures meet limits none.
const fn concern(condition: &Condition) -> Concern {
    match condition.metric {
        Metric::Delay(_) | Metric::Rate => Concern::Delay,
        Metric::FailedShare | Metric::Failed if condition.is_met_above() => Concern::Failures,
        Metric::Usable if !condition.is_met_above() => Concern::Failures,
        _ => Concern::Other,
    }
}

/// A metric's value in its unit.
fn measured(metric: Metric, totals: &Totals) -> Option<u64> {
    let counts = &totals.tally.counts;
    match metric {
        Metric::Delay(point) => at(&totals.tally.delays, point),
        Metric::Lateness(point) => at(&totals.tally.lateness, point),
        Metric::FailedShare => counts.failed_share().map(|share| (share * 1e9) as u64),
        Metric::Failed => Some(counts.failed_sum()),
        Metric::Usable => Some(counts.usable),
        Metric::Lost => Some(counts.lost.values().sum()),
        Metric::Retransmissions => Some(counts.retransmissions),
        Metric::Rate => totals.tally.reached_per_s().map(|rate| (rate * 1000.0).round() as u64),
    }
}

/// A point of delays, in nanoseconds.
fn at(delays: &Delays, point: Point) -> Option<u64> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let of = |pick: fn(&Percentiles) -> f64| {
        delays.percentiles().map(|all| nanos(Duration::from_secs_f64(pick(&all) / 1000.0)))
    };
    match point {
        Point::Min => of(|all| all.min),
        Point::Mean => of(|all| all.mean),
        Point::Max => of(|all| all.max),
        Point::Percentile(thousandths) => delays.quantile(f64::from(thousandths) / 100_000.0).map(nanos),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str, totals: &Totals) -> bool {
        applied(&Condition::read(text).unwrap(), totals).failed
    }

    /// `failed < 10%` is met by a good target: it does not say how many may fail.
    #[test]
    fn failures_concern_what_limits_them() {
        for (text, wanted) in [
            ("failed > 10%", Concern::Failures),
            ("failed < 10%", Concern::Other),
            ("usable < 900", Concern::Failures),
            ("usable > 900", Concern::Other),
            ("rate < 450/s", Concern::Delay),
        ] {
            assert_eq!(concern(&Condition::read(text).unwrap()), wanted, "{text}");
        }
    }

    #[test]
    fn conditions_are_about_what_was_measured() {
        let mut totals = Totals::default();
        totals.tally.asked_span = Duration::from_secs(2);
        totals.tally.counts.usable = 900;
        totals.tally.counts.failed.insert("timeout", 100);
        (1..=900).for_each(|ms| totals.tally.delays.record(Duration::from_millis(ms)));
        for (text, is_failure) in [
            ("delay.p50 > 300ms", true),
            ("delay.p99 > 1s", false),
            ("failed > 9%", true),
            ("failed > 10%", false),
            ("failed >= 10%", true),
            ("rate < 451/s", true),
            ("rate < 450/s", false),
            ("lost > 0", false),
            // No start was late, and none was early: nothing was measured.
            ("lateness.p99 > 1ms", true),
        ] {
            assert_eq!((text, failed(text, &totals)), (text, is_failure));
        }
    }
}
