//! `--fail-if 'delay_ms.p95 > +10%'`: a difference that is not to be, or a value of the second row that is not to be.

pub use keytoll_document::condition::{Condition, Field, Resolved};
use keytoll_document::condition::{Limit, Point, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{BlockValue, difference};
use super::ranked::Ranked;
use super::resampling::{Statistic, ratio_interval};
use super::samples::{JudgedBy, MeasuredRow};
use super::{Comparison, Pair, Row, Run};
use crate::stats::Interval;

/// A pair of rows that meets a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breach {
    /// The condition.
    pub condition: String,
    /// The rows: the second one differs.
    pub rows: [String; 2],
    /// By how much, in percent of the first one; absent if the condition is about the second one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Lower end of its 95 % interval; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_ci95_high: Option<f64>,
    /// What was measured of the second one, with its unit, or that nothing was; absent if the condition is about a difference that
    /// has a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// The fields of runs: a distribution for each measure.
pub fn fields<'a>(measures: impl IntoIterator<Item = &'a str>) -> Vec<Field> {
    measures.into_iter().map(Field::many).collect()
}

/// Refuses a difference between extremes.
///
/// # Errors
/// With a sentence.
pub fn check(condition: &Resolved) -> Result<(), String> {
    let is_extreme = matches!(condition.point, Some(Point::Min | Point::Max));
    if is_extreme && matches!(condition.limit, Limit::Change(_)) {
        return Err(format!("`{condition}`: two extremes differ by chance, so compare percentiles or means"));
    }
    Ok(())
}

/// The pairs of rows that meet a condition. A difference beyond the limit does not if its interval has both more and less: it may be
/// chance.
pub fn breaches<R: Row>(condition: &Resolved, comparison: &Comparison, [a, b]: [&Run<R>; 2]) -> Vec<Breach> {
    let breach = |pair: &Pair| a.row(&pair.a)?.breach(b.row(&pair.b)?, condition);
    comparison.pairs.iter().filter_map(breach).collect()
}

/// What a row, or how it differs from another, meets.
pub(super) fn breach(condition: &Resolved, a: &MeasuredRow, b: &MeasuredRow) -> Option<Breach> {
    let values = |row: &MeasuredRow| Some(Ranked::of(row.values(&condition.field.name)?));
    let (of_a, of_b) = (values(a), values(b));
    let rows = [a, b].map(|row| row.name.to_string());
    let Some(of_b) = of_b else {
        let is_missing = b.failed == b.n || of_a.is_some() && a.name.is_like(&b.name);
        return is_missing.then(|| nothing(condition, rows));
    };
    let statistic = statistic(condition.point?);
    let value = statistic.of(&of_b);
    let change = |of_a: &Ranked, interval| Change {
        value,
        ratio: value / statistic.of(of_a),
        interval,
        is_one: false,
    };
    match condition.limit {
        Limit::Change(limit) => {
            let of_a = of_a?;
            match judged(condition, a, b) {
                Judged::ByAuthentications => {
                    change(&of_a, ratio_interval(&of_a, &of_b, statistic)).met(condition, limit, rows)
                }
                Judged::ByBlocks(interval) => change(&of_a, interval).met(condition, limit, rows),
                Judged::Not => {
                    let measured = Some("cannot be judged".to_owned());
                    Some(Breach { measured, ..Breach::of(condition, rows) })
                }
            }
        }
        Limit::Value(unit, limit) => met(condition, value, (unit, limit), rows),
    }
}

/// How a change of a measure is judged.
enum Judged {
    ByAuthentications,
    /// With the interval of the ratio.
    ByBlocks(Option<Interval>),
    Not,
}

fn judged(condition: &Resolved, a: &MeasuredRow, b: &MeasuredRow) -> Judged {
    let judged = [a, b].map(|row| row.measured(&condition.field.name).map(|values| &values.judged_by));
    match judged {
        [Some(JudgedBy::Blocks(BlockValue::Least, a)), Some(JudgedBy::Blocks(_, b))] => {
            difference(a, b, BlockValue::Least).map_or(Judged::Not, |found| Judged::ByBlocks(found.interval))
        }
        [Some(JudgedBy::Blocks(BlockValue::Least, _)), _]
        | [_, Some(JudgedBy::Blocks(BlockValue::Least, _))] => Judged::Not,
        _ => Judged::ByAuthentications,
    }
}

/// A ratio, and its interval if there is one.
pub(super) struct Change {
    /// That of the second row.
    pub(super) value: f64,
    /// Infinite if the first one is 0.
    pub(super) ratio: f64,
    pub(super) interval: Option<Interval>,
    /// Whether it is of a number that there is once, which has no interval.
    pub(super) is_one: bool,
}

impl Change {
    pub(super) fn met(self, condition: &Resolved, limit: f64, rows: [String; 2]) -> Option<Breach> {
        let percent = |ratio: f64| Some((ratio - 1.0) * 100.0).filter(|percent| percent.is_finite());
        let may_be_chance = self.interval.map_or(!self.is_one, |it| it.low <= 1.0 && 1.0 <= it.high);
        let is_met = condition.sign.is_met((self.ratio - 1.0) * 100.0, limit) && !may_be_chance;
        is_met.then(|| Breach {
            percent: percent(self.ratio),
            percent_ci95_low: self.interval.and_then(|it| percent(it.low)),
            percent_ci95_high: self.interval.and_then(|it| percent(it.high)),
            measured: self
                .ratio
                .is_infinite()
                .then(|| format!("{}, from 0", condition.field.shown(self.value))),
            ..Breach::of(condition, rows)
        })
    }
}

impl Breach {
    fn of(condition: &Resolved, rows: [String; 2]) -> Self {
        Self {
            condition: condition.to_string(),
            rows,
            percent: None,
            percent_ci95_low: None,
            percent_ci95_high: None,
            measured: None,
        }
    }
}

/// Without a single value of the second row there is nothing that could be good.
pub(super) fn nothing(condition: &Resolved, rows: [String; 2]) -> Breach {
    Breach { measured: Some("nothing to measure".to_owned()), ..Breach::of(condition, rows) }
}

/// A value of the second row.
pub(super) fn met(
    condition: &Resolved,
    value: f64,
    (unit, limit): (Unit, u64),
    rows: [String; 2],
) -> Option<Breach> {
    let value = condition.field.scaled(value);
    condition
        .sign
        .is_met(value, limit as f64)
        .then(|| Breach { measured: Some(unit.shown(value.round() as u64)), ..Breach::of(condition, rows) })
}

/// What is computed for a point.
pub(super) const fn statistic(point: Point) -> Statistic {
    match point {
        Point::Min => Statistic::Quantile(0.0),
        Point::Mean => Statistic::Mean,
        Point::Max => Statistic::Quantile(1.0),
        Point::Percentile(thousandths) => Statistic::Quantile(thousandths as f64 / 100_000.0),
    }
}
