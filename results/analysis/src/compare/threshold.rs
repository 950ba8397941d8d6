//! `--fail-if 'delay_ms.p95 > +10%'`: a difference that is not to be.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resampling::{Statistic, ratio_interval, sorted};
use super::samples::MeasuredRow;
use super::{Comparison, Pair};
use crate::compare::samples::MeasuredRun;

/// A measure, a statistic of it, and by how much it may differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    measure: String,
    statistic: Statistic,
    exceeds: bool,
    percent: f64,
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It has not the three parts.
    #[error("`{0}` is no condition: it needs a measure, `<` or `>`, and percent")]
    Shape(String),
    /// No such statistic.
    #[error("`{0}` is no statistic: p5, p50, p90, p95, p99 or mean")]
    Statistic(String),
    /// No number of percent.
    #[error("`{0}` is no difference in percent, such as +10%")]
    Percent(String),
}

/// The statistics by name.
const STATISTICS: [(&str, Statistic); 6] = [
    ("p5", Statistic::Quantile(0.05)),
    ("p50", Statistic::MEDIAN),
    ("p90", Statistic::Quantile(0.90)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
    ("mean", Statistic::Mean),
];

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let shape = || ConditionError::Shape(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(shape)?;
        let (path, limit) = (text[..at].trim(), text[at + 1..].trim());
        let (measure, statistic) =
            path.rsplit_once('.').filter(|parts| !parts.0.is_empty()).ok_or_else(shape)?;
        let found = STATISTICS.iter().find(|(name, _)| *name == statistic);
        let statistic = found.ok_or_else(|| ConditionError::Statistic(statistic.to_owned()))?.1;
        let number = limit.strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let percent = number.filter(|percent: &f64| percent.is_finite());
        Ok(Self {
            text: text.trim().to_owned(),
            measure: measure.to_owned(),
            statistic,
            exceeds: text[at..].starts_with('>'),
            percent: percent.ok_or_else(|| ConditionError::Percent(limit.to_owned()))?,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A pair of rows that meets a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breach {
    /// The condition.
    pub condition: String,
    /// The rows: the second one differs.
    pub rows: [String; 2],
    /// By how much, in percent of the first one.
    pub percent: f64,
    /// Lower end of its 95 % interval; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_ci95_high: Option<f64>,
}

impl Condition {
    /// The measure that it is about.
    pub fn measure(&self) -> &str {
        &self.measure
    }

    /// The pairs of rows that meet it. A difference beyond the limit does not if its interval has both more and less: it may be
    /// chance.
    pub fn breaches(&self, comparison: &Comparison, [a, b]: [&MeasuredRun; 2]) -> Vec<Breach> {
        let breach = |pair: &Pair| self.breach(a.row(&pair.a)?, b.row(&pair.b)?);
        comparison.pairs.iter().filter_map(breach).collect()
    }

    fn breach(&self, a: &MeasuredRow, b: &MeasuredRow) -> Option<Breach> {
        let (of_a, of_b) = (a.values(&self.measure)?, b.values(&self.measure)?);
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let found = percent(self.statistic.of(&sorted(of_b)) / self.statistic.of(&sorted(of_a)));
        let interval = ratio_interval(of_a, of_b, self.statistic);
        let may_be_chance = interval.is_none_or(|it| it.low <= 1.0 && 1.0 <= it.high);
        let is_met = if self.exceeds { found > self.percent } else { found < self.percent };
        (is_met && !may_be_chance).then(|| Breach {
            condition: self.text.clone(),
            rows: [a, b].map(|row| row.name.to_string()),
            percent: found,
            percent_ci95_low: interval.map(|it| percent(it.low)),
            percent_ci95_high: interval.map(|it| percent(it.high)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Condition, ConditionError> {
        text.parse()
    }

    #[test]
    fn conditions_are_read() {
        let condition = parsed(" cpu_us.gw.p95 > +10% ").unwrap();
        assert_eq!((condition.measure(), condition.exceeds, condition.percent), ("cpu_us.gw", true, 10.0));
        assert_eq!(parsed("delay_ms.mean<-2.5 %").unwrap().percent, -2.5);
        for (text, why) in [
            ("delay_ms.p95", "no condition"),
            ("> 10%", "no condition"),
            ("delay_ms.p42 > 10%", "`p42` is no statistic"),
            ("delay_ms.p95 > 10", "`10` is no difference"),
            ("delay_ms.p95 > inf%", "`inf%` is no difference"),
            ("delay_ms.p95 >= 10%", "`= 10%` is no difference"),
        ] {
            let told = parsed(text).unwrap_err().to_string();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
