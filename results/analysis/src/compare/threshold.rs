//! `--fail-if 'delay_ms.p95 > +10%'`: a difference that is not to be, or a value of the second row that is not to be.

pub use keytoll_document::condition::{Condition, Field, Resolved};
use keytoll_document::condition::{Limit, Point, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{BlockValue, Difference, TOLERANCE, difference};
use super::ranked::Ranked;
use super::repeated::is_repeated;
use super::resampling::{Statistic, ratio_interval};
use super::samples::{JudgedBy, MeasuredRow};
use super::{CPU, Comparison, INTERVAL_FROM, Pair, Row, Run};
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

/// Refuses a difference between extremes, and of CPU times any but that of means or medians: in the tail is what else the machine did.
///
/// # Errors
/// With a sentence.
pub fn check(condition: &Resolved) -> Result<(), String> {
    if !matches!(condition.limit, Limit::Change(_)) {
        return Ok(());
    }
    let name = &condition.field.name;
    match condition.point {
        Some(Point::Min | Point::Max) => {
            Err(format!("`{condition}`: two extremes differ by chance, so compare percentiles or means"))
        }
        Some(point) if name.starts_with(CPU) && !is_central(point) => Err(format!(
            "`{condition}`: CPU times are compared by the fastest of each block, so write `{name}.p50`"
        )),
        _ => Ok(()),
    }
}

/// Whether a point is the mean or the median: blocks have no other points.
const fn is_central(point: Point) -> bool {
    matches!(point, Point::Mean | Point::Percentile(50_000))
}

/// The pairs of rows that meet a condition. A difference does if its whole interval is beyond the limit.
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
    let point = condition.point?;
    let value = statistic(point).of(&of_b);
    let limit = match condition.limit {
        Limit::Change(limit) => limit,
        Limit::Value(unit, limit) => return met(condition, value, (unit, limit), rows),
    };
    let unjudged =
        |why: &str| Some(Breach { measured: Some(why.to_owned()), ..Breach::of(condition, rows.clone()) });
    let Some(of_a) = of_a else { return unjudged("nothing to compare with in the first row") };
    if a.values(&condition.field.name) == b.values(&condition.field.name) {
        let same = Interval { low: 1.0, high: 1.0 };
        return Change { value, ratio: 1.0, interval: Some(same), is_one: false }.met(condition, limit, rows);
    }
    let judged = [a, b].map(|row| row.measured(&condition.field.name).map(|values| &values.judged_by));
    let by_blocks =
        |found: Difference| Change { value, ratio: found.ratio, interval: found.interval, is_one: false };
    match judged {
        [Some(JudgedBy::Blocks(BlockValue::Least, a)), Some(JudgedBy::Blocks(_, b))] => {
            let Some(found) = difference(a, b, BlockValue::Least) else { return unjudged(UNJUDGED) };
            by_blocks(found).met(condition, beyond_tolerance(condition, limit), rows)
        }
        [Some(JudgedBy::Blocks(BlockValue::Least, _)), _]
        | [_, Some(JudgedBy::Blocks(BlockValue::Least, _))] => unjudged(UNJUDGED),
        [Some(JudgedBy::Blocks(BlockValue::Median, a)), Some(JudgedBy::Blocks(_, b))]
            if is_central(point)
                && let Some(found) = difference(a, b, BlockValue::Median) =>
        {
            by_blocks(found).met(condition, limit, rows)
        }
        [Some(JudgedBy::Blocks(_, a)), Some(JudgedBy::Blocks(_, b))]
            if is_central(point) && [a, b].into_iter().any(|times| is_repeated(times)) =>
        {
            unjudged(UNJUDGED)
        }
        _ => by_authentications(point, [&of_a, &of_b]).met(condition, limit, rows),
    }
}

const UNJUDGED: &str = "cannot be judged";

/// A change of a point of all values, with its interval if they are enough.
fn by_authentications(point: Point, [a, b]: [&Ranked; 2]) -> Change {
    let (statistic, n) = (statistic(point), a.n().min(b.n()));
    let is_known = n >= INTERVAL_FROM && statistic.is_known_from(n);
    let interval = if is_known { ratio_interval(a, b, statistic) } else { None };
    let value = statistic.of(b);
    Change { value, ratio: value / statistic.of(a), interval, is_one: false }
}

/// The limit of a change of CPU time in percent, which accidents of a process do not reach.
fn beyond_tolerance(condition: &Resolved, limit: f64) -> f64 {
    let tolerance = TOLERANCE * 100.0;
    match condition.sign.is_above {
        true if limit >= 0.0 => limit.max(tolerance),
        false if limit <= 0.0 => limit.min(-tolerance),
        _ => limit,
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
        let is_beyond = |ratio: f64| condition.sign.is_met((ratio - 1.0) * 100.0, limit);
        let is_whole = self.interval.map_or(self.is_one, |it| is_beyond(it.low) && is_beyond(it.high));
        (is_beyond(self.ratio) && is_whole).then(|| Breach {
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
