//! When a load counts as failed: `delay.p99 > 300ms`, `failed > 1 %`, `rate < 450/s`.

use std::fmt;

use crate::diagnostic::nearest;
use crate::quantity::{self, Kind};

/// A condition under which a load has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What is compared.
    pub metric: Metric,
    /// Whether values above the limit fail; otherwise those below.
    pub is_above: bool,
    /// Whether the limit itself fails, too.
    pub is_inclusive: bool,
    /// The limit, in the unit of the metric.
    pub limit: u64,
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

/// A point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The smallest value.
    Min,
    /// The mean.
    Mean,
    /// The largest value.
    Max,
    /// What this share of all values does not exceed, in thousandths of a percent.
    Percentile(u32),
}

/// The points, by name.
const POINTS: [(&str, Point); 10] = [
    ("min", Point::Min),
    ("mean", Point::Mean),
    ("max", Point::Max),
    ("p50", Point::Percentile(50_000)),
    ("p75", Point::Percentile(75_000)),
    ("p90", Point::Percentile(90_000)),
    ("p95", Point::Percentile(95_000)),
    ("p99", Point::Percentile(99_000)),
    ("p99.9", Point::Percentile(99_900)),
    ("p99.99", Point::Percentile(99_990)),
];
/// The numbers, by name.
const NUMBERS: [(&str, Metric); 5] = [
    ("failed", Metric::Failed),
    ("usable", Metric::Usable),
    ("lost", Metric::Lost),
    ("retransmissions", Metric::Retransmissions),
    ("rate", Metric::Rate),
];

/// All of something, in parts per billion.
const WHOLE: u64 = 1_000_000_000;

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// With a sentence on what is wrong and what is allowed.
    pub fn read(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or_else(|| {
            format!(
                "`{text}` compares nothing: write it like `delay.p99 > 300ms`, with `>`, `>=`, `<` or `<=`"
            )
        })?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let (sign, rest) = rest.split_at(1);
        let (is_inclusive, value) = match rest.strip_prefix('=') {
            Some(value) => (true, value.trim()),
            None => (false, rest.trim()),
        };
        let metric = metric(name, value.ends_with('%'))?;
        let limit = limit(metric, value).map_err(|why| format!("`{value}` in `{text}`: {why}"))?;
        let condition = Self { metric, is_above: sign == ">", is_inclusive, limit };
        if condition.is_possible() { Ok(condition) } else { Err(format!("`{text}` can never be so")) }
    }

    /// Whether any value can meet it: nothing is less than none, and no share is more than the whole.
    fn is_possible(&self) -> bool {
        let most = if self.metric == Metric::FailedShare { WHOLE } else { u64::MAX };
        let furthest = if self.is_above { most } else { 0 };
        self.is_met_by(furthest) && self.limit <= most
    }

    /// Whether a value meets it, which is then a failure; both are in the metric's unit.
    pub const fn is_met_by(&self, value: u64) -> bool {
        if self.is_inclusive && value == self.limit {
            return true;
        }
        if self.is_above { value > self.limit } else { value < self.limit }
    }
}

fn metric(name: &str, is_share: bool) -> Result<Metric, String> {
    if name == "failed" && is_share {
        return Ok(Metric::FailedShare);
    }
    if let Some((_, metric)) = NUMBERS.iter().find(|(known, _)| *known == name) {
        return Ok(*metric);
    }
    let (of, point) = name.split_once('.').unwrap_or((name, ""));
    let point = POINTS.iter().find(|(known, _)| *known == point).map(|(_, point)| *point);
    match (of, point) {
        ("delay", Some(point)) => Ok(Metric::Delay(point)),
        ("lateness", Some(point)) => Ok(Metric::Lateness(point)),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> String {
    let of = |of: &'static str| POINTS.iter().map(move |(point, _)| format!("{of}.{point}"));
    let numbers = NUMBERS.iter().map(|(name, _)| (*name).to_owned());
    let all: Vec<_> = of("delay").chain(of("lateness")).chain(numbers).collect();
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    let meant = nearest(name, &names).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    format!(
        "nothing measured is called `{name}`{meant}; allowed: delay or lateness with .min, .mean, .p50, .p75, .p90, .p95, .p99, \
         .p99.9, .p99.99 or .max, and failed, usable, lost, retransmissions, rate"
    )
}

fn limit(metric: Metric, value: &str) -> Result<u64, String> {
    let quantity = |kind: Kind, like: &str| {
        quantity::read(kind, value).map_err(|error| format!("{error}, expected one like {like}"))
    };
    match metric {
        Metric::Delay(_) | Metric::Lateness(_) => quantity(Kind::Duration, "300ms"),
        Metric::FailedShare => quantity(Kind::Probability, "1 %"),
        Metric::Rate => {
            let number = value.strip_suffix("/s").ok_or("no rate, expected one like 450/s")?;
            // Thousandths, by way of the reader of decimal numbers.
            quantity::read(Kind::Frequency, &format!("{} kHz", number.trim()))
                .map_err(|error| format!("{error}, expected one like 450/s"))
        }
        Metric::Failed | Metric::Usable | Metric::Lost | Metric::Retransmissions => {
            value.parse().map_err(|_| "no whole number".to_owned())
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point =
            |point: &Point| POINTS.iter().find(|(_, known)| known == point).map_or("", |(name, _)| name);
        match self {
            Self::Delay(at) => write!(f, "delay.{}", point(at)),
            Self::Lateness(at) => write!(f, "lateness.{}", point(at)),
            Self::FailedShare | Self::Failed => f.write_str("failed"),
            Self::Usable => f.write_str("usable"),
            Self::Lost => f.write_str("lost"),
            Self::Retransmissions => f.write_str("retransmissions"),
            Self::Rate => f.write_str("rate"),
        }
    }
}

impl Metric {
    /// A value of it, with its unit.
    pub fn shown(self, value: u64) -> String {
        match self {
            Self::Delay(_) | Self::Lateness(_) => quantity::print(Kind::Duration, value),
            Self::FailedShare => quantity::print(Kind::Probability, value),
            Self::Rate if value.is_multiple_of(1000) => format!("{}/s", value / 1000),
            Self::Rate => format!("{}.{:03}/s", value / 1000, value % 1000),
            Self::Failed | Self::Usable | Self::Lost | Self::Retransmissions => value.to_string(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match (self.is_above, self.is_inclusive) {
            (true, false) => ">",
            (true, true) => ">=",
            (false, false) => "<",
            (false, true) => "<=",
        };
        write!(f, "{} {sign} {}", self.metric, self.metric.shown(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_printed() {
        for (text, printed) in [
            ("delay.p99 > 300ms", "delay.p99 > 300 ms"),
            ("lateness.p99.9>=1 ms", "lateness.p99.9 >= 1 ms"),
            ("failed > 0", "failed > 0"),
            ("failed>1.5%", "failed > 1.5 %"),
            ("rate < 450.5/s", "rate < 450.500/s"),
            ("usable <= 10", "usable <= 10"),
        ] {
            let read = Condition::read(text).unwrap();
            assert_eq!(read.to_string(), printed);
            assert_eq!(Condition::read(printed), Ok(read));
        }
    }

    #[test]
    fn a_value_meets_a_condition_or_not() {
        let met = |text: &str, value| Condition::read(text).unwrap().is_met_by(value);
        assert!(met("failed > 0", 1) && !met("failed > 0", 0) && met("failed >= 1", 1));
        assert!(met("rate < 450/s", 449_999) && !met("rate < 450/s", 450_000));
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        for (text, told) in [
            ("delay.p99", "`delay.p99` compares nothing"),
            ("delay.p98 > 1s", "nothing measured is called `delay.p98` (did you mean `delay.p9"),
            ("delay > 1s", "nothing measured is called `delay`"),
            ("delay.p99 > 300", "`300` in `delay.p99 > 300`: no unit after the number"),
            ("failed > many", "`many` in `failed > many`: no whole number"),
            ("failed > 101%", "`failed > 101%` can never be so"),
            ("failed > 100 %", "`failed > 100 %` can never be so"),
            ("lost < 0", "`lost < 0` can never be so"),
            ("rate < 450", "`450` in `rate < 450`: no rate, expected one like 450/s"),
        ] {
            let error = Condition::read(text).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
