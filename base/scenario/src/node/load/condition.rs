//! When a load counts as failed: `delay.p99 > 300ms`, `failed > 1 %`, `rate < 450/s`.

use std::fmt;

use keytoll_document::condition::{self, Field, Limit, Resolved};

pub use keytoll_document::condition::Point;

/// A condition under which a load has failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// What is compared.
    pub metric: Metric,
    resolved: Resolved,
}

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The delay from the intended start, in nanoseconds.
    Delay(Point),
    /// How late the generator was, in nanoseconds.
    Lateness(Point),
    /// The share of calls that failed, in parts per billion.
    FailedShare,
    /// The number of calls that failed.
    Failed,
    /// The number of calls that were authenticated.
    Usable,
    /// The number of sessions that the target closed or lost.
    Lost,
    /// The number of messages sent again.
    Retransmissions,
    /// Authenticated calls in a second, in thousandths.
    Rate,
}

/// The numbers, by name.
const NUMBERS: [(&str, Metric); 6] = [
    ("failed", Metric::Failed),
    ("failed_share", Metric::FailedShare),
    ("usable", Metric::Usable),
    ("lost", Metric::Lost),
    ("retransmissions", Metric::Retransmissions),
    ("rate_per_s", Metric::Rate),
];
const DELAY: &str = "delay_ms";
const LATENESS: &str = "lateness_ms";

impl Condition {
    /// Reads a condition. A load has nothing before it that it could have changed from.
    ///
    /// # Errors
    /// With a sentence on what is wrong and what is allowed.
    pub fn read(text: &str) -> Result<Self, String> {
        let numbers = NUMBERS.iter().map(|(name, _)| Field::one(name));
        let fields: Vec<_> = [DELAY, LATENESS].map(Field::many).into_iter().chain(numbers).collect();
        let resolved = condition::Condition::read(text)?.resolve(&fields, false)?;
        Ok(Self { metric: metric(&resolved), resolved })
    }

    /// Whether a value meets it, which is then a failure; it is in the metric's unit.
    pub fn is_met_by(&self, value: u64) -> bool {
        let Limit::Value(_, limit) = self.resolved.limit else { return false };
        self.resolved.sign.is_met(value as f64, limit as f64)
    }

    /// Whether values above its limit meet it, and not those below.
    pub const fn is_met_above(&self) -> bool {
        self.resolved.sign.is_above
    }

    /// A value of its metric, with its unit.
    pub fn shown(&self, value: u64) -> String {
        let Limit::Value(unit, _) = self.resolved.limit else { return value.to_string() };
        unit.shown(value)
    }
}

fn metric(resolved: &Resolved) -> Metric {
    let number = NUMBERS.iter().find(|(name, _)| *name == resolved.field.name);
    match (resolved.point, number) {
        (Some(point), _) if resolved.field.name == DELAY => Metric::Delay(point),
        (Some(point), _) => Metric::Lateness(point),
        (None, number) => number.expect("what is no distribution is a number").1,
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resolved.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_a_metric_and_a_value_meets_a_condition_or_not() {
        let read = |text: &str| Condition::read(text).unwrap();
        for (text, metric, printed) in [
            ("delay_ms.p99 > 300ms", Metric::Delay(Point::Percentile(99_000)), "delay_ms.p99 > 300 ms"),
            ("lateness.max>=1 ms", Metric::Lateness(Point::Max), "lateness.max >= 1 ms"),
            ("failed > 0", Metric::Failed, "failed > 0"),
            ("failed>1.5%", Metric::FailedShare, "failed > 1.5 %"),
            ("rate < 450.5/s", Metric::Rate, "rate < 450.500/s"),
            ("usable <= 10", Metric::Usable, "usable <= 10"),
            ("lost > 1", Metric::Lost, "lost > 1"),
            ("retransmissions > 1", Metric::Retransmissions, "retransmissions > 1"),
        ] {
            assert_eq!((read(text).metric, read(text).to_string().as_str()), (metric, printed));
        }
        let rate = read("rate < 450/s");
        assert!(rate.is_met_by(449_999) && !rate.is_met_by(450_000));
        assert_eq!(rate.shown(449_999), "449.999/s");
    }

    #[test]
    fn a_load_has_no_baseline() {
        let error = Condition::read("delay.p99 > +10%").unwrap_err();
        assert!(error.ends_with("is a change, and there is nothing before to change from"), "{error}");
    }
}
