//! The conditions under which a load has failed, applied to what was measured.

use std::time::Duration;

use keytoll_analysis::summary::{Concern, LoadCondition};
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
        concerns: concern(condition.metric),
    }
}

/// Late starts add to delays and take from the rate.
const fn concern(metric: Metric) -> Concern {
    match metric {
        Metric::Delay(_) | Metric::Rate => Concern::Delay,
        Metric::FailedShare | Metric::Failed | Metric::Usable => Concern::Failures,
        Metric::Lateness(_) | Metric::Lost | Metric::Retransmissions => Concern::Other,
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
