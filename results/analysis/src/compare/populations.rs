//! Populations by what was counted of them, in the simulator and by loads of real targets.
//!
//! Delays are compared by the counts of their histogram, shares by those of attempts. What there is once for a whole population, such as
//! how busy a node was, has a ratio and no interval.

use std::path::Path;

use keytoll_census::{Account, NodeSummary, PopulationSummary};
use keytoll_document::condition::{Field, Limit, Resolved};

use super::ranked::Ranked;
use super::resampling::{Statistic, ratio_interval};
use super::share::{Share, ratio_of_shares};
use super::threshold::{Breach, Change, met, nothing, statistic};
use super::{Comparison, Figure, Pair, Row, RowName, Run, Verdict, contrast};
use crate::directory::{self, DirectoryError};
use crate::stats::Interval;
use crate::summary::LIVE;

/// A run of populations, or of a load.
pub type CountedRun = Run<CountedRow>;

/// A population.
#[derive(Debug, Clone)]
pub struct CountedRow {
    name: RowName,
    account: Account,
    delays_ms: Ranked,
}

/// The distribution of which points are compared.
const DELAY: &str = "delay_ms";
/// Its points on the screen.
const POINTS: [(&str, Statistic); 6] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::MEDIAN),
    ("p90", Statistic::Quantile(0.90)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
    ("p99.9", Statistic::Quantile(0.999)),
];
/// What a load calls the nodes that it measures.
const TARGET: &str = "target";
/// How loads call access by a RADIUS server.
const RADIUS: &str = "RADIUS";

/// Why populations cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CountedError {
    /// It is no run directory, or a damaged one.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// It has been counted by an older keytoll.
    #[error("{0} is of an older keytoll, which kept no histogram of delays")]
    NoHistogram(String),
}

/// Reads what was counted.
///
/// # Errors
/// See [`CountedError`].
pub fn read(run: &Path) -> Result<CountedRun, CountedError> {
    let findings = directory::measure(run)?;
    let place = run.display().to_string();
    let is_old = |account: &Account| account.summary.established > 0 && account.delays_us.is_empty();
    if findings.populations.is_empty() || findings.populations.iter().any(|one| is_old(&one.account)) {
        return Err(CountedError::NoHistogram(place));
    }
    let complete = findings.summary.complete;
    let other_load = super::samples::other_load(&findings.manifest.provenance);
    let (machine, seed) = (findings.manifest.provenance.machine.cpu, findings.manifest.seed);
    let row = |one: directory::Population| CountedRow::new(RowName::of(&one.row), one.account);
    Ok(Run {
        place,
        machine,
        seed,
        repeats_seed: 0,
        other_load,
        complete,
        rows: findings.populations.into_iter().map(row).collect(),
    })
}

impl CountedRow {
    pub(super) fn new(name: RowName, account: Account) -> Self {
        let counts = account.delays_us.iter().map(|[us, count]| (*us as f64 / 1000.0, *count));
        Self { name, delays_ms: Ranked::counted(counts), account }
    }

    fn summary(&self) -> &PopulationSummary {
        &self.account.summary
    }

    fn is_load(&self) -> bool {
        self.name.world == LIVE
    }

    /// The numbers that there are once for the whole population.
    fn numbers(&self, other: &Self) -> Vec<(String, f64)> {
        let it = self.summary();
        let rates = [("offered_per_s", it.offered_per_s), ("rate_per_s", it.established_per_s)];
        let rates = rates.into_iter().filter_map(|(name, rate)| Some((name.to_owned(), rate?)));
        let last = it.last_established_s.map(|last| ("last_established_s".to_owned(), last as f64));
        let again = ("amplification_ratio".to_owned(), it.messages.amplification);
        let is_mixed = self.is_load() != other.is_load();
        let nodes = it.nodes.iter().flat_map(|(name, node)| {
            let name = if is_mixed && name == TARGET { target_of(&self.name) } else { name };
            let busy = if is_mixed { self.busy_while_it_went_on(node) } else { Some(node.utilisation) };
            let each_us = node.busy_ns_per_established.map(|ns| ns / 1e3);
            let named = [(format!("utilisation_share.{name}"), busy), (format!("cpu_us.{name}"), each_us)];
            named.into_iter().filter_map(|(name, value)| Some((name, value?)))
        });
        rates.chain(last).chain([again]).chain(nodes).collect()
    }

    /// How busy a node was until the last start or success: a load and a simulation end differently after that.
    fn busy_while_it_went_on(&self, node: &NodeSummary) -> Option<f64> {
        let each_s = node.busy_ns_per_established? / 1e9;
        Some(each_s * self.summary().established_per_s? / f64::from(node.cores.max(1)))
    }

    /// The shares of attempts.
    fn shares(&self) -> [(&'static str, Share); 2] {
        let it = self.summary();
        [("established_share", it.established), ("failed_share", it.failed)]
            .map(|(name, count)| (name, Share { count, of: it.offered }))
    }

    /// A point of the delays.
    fn point(&self, other: &Self, measure: String, statistic: Statistic) -> Figure {
        let values = [self, other].map(|row| statistic.of(&row.delays_ms));
        Figure::of(measure, values, ratio_interval(&self.delays_ms, &other.delays_ms, statistic))
    }

    fn figures(&self, other: &Self) -> Vec<Figure> {
        let shares = self.shares().into_iter().zip(other.shares());
        let shares =
            shares.filter(|((_, a), (_, b))| a.is_of_some() && b.is_of_some() && a.count + b.count > 0);
        let shares = shares.map(|((name, a), (_, b))| {
            Figure::of(name.to_owned(), [a.value(), b.value()], ratio_of_shares(a, b))
        });
        let n = self.delays_ms.n().min(other.delays_ms.n());
        let points = POINTS
            .iter()
            .filter(|(_, statistic)| statistic.is_known_from(n))
            .map(|(name, statistic)| self.point(other, format!("{DELAY}.{name}"), *statistic));
        let of_other = other.numbers(self);
        let numbers = self.numbers(other).into_iter().filter_map(|(name, a)| {
            let (_, b) = of_other.iter().find(|(known, _)| *known == name)?;
            Some(Figure { verdict: None, ..Figure::of(name, [a, *b], None) })
        });
        shares.chain(points).chain(numbers).collect()
    }
}

/// The node that is the target of a load.
fn target_of(load: &RowName) -> &'static str {
    if load.method.starts_with(RADIUS) { "aaa" } else { "gw" }
}

impl Figure {
    /// Told apart if the interval has no 1.
    fn of(measure: String, [a, b]: [f64; 2], interval: Option<Interval>) -> Self {
        let verdict = interval.map(|it| match it {
            _ if a.total_cmp(&b).is_eq() => Verdict::Equal,
            Interval { low, .. } if low > 1.0 => Verdict::More,
            Interval { high, .. } if high < 1.0 => Verdict::Less,
            _ => Verdict::NotToldApart,
        });
        Self {
            measure,
            value_a: a,
            value_b: b,
            ratio: (a != 0.0).then(|| b / a),
            ratio_ci95_low: interval.map(|it| it.low),
            ratio_ci95_high: interval.map(|it| it.high).filter(|high| high.is_finite()),
            verdict,
        }
    }
}

impl Row for CountedRow {
    fn name(&self) -> &RowName {
        &self.name
    }

    fn pair(&self, other: &Self) -> Pair {
        let found = contrast(DELAY, &self.delays_ms, &other.delays_ms);
        let is_repeated = self.account == other.account;
        let found = found.map(|it| if is_repeated { it.identical() } else { it });
        let of = |of: fn(&PopulationSummary) -> u64| [of(self.summary()), of(other.summary())];
        Pair {
            a: self.name.clone(),
            b: other.name.clone(),
            n: of(|it| it.offered),
            failures: of(|it| it.failed),
            contrasts: found.into_iter().collect(),
            figures: self.figures(other),
        }
    }

    fn breach(&self, other: &Self, condition: &Resolved) -> Option<Breach> {
        let rows = [self, other].map(|row| row.name.to_string());
        let is_of_delays = condition.point.is_some();
        if other.summary().established == 0 {
            return Some(nothing(condition, rows));
        }
        let figure = match condition.point {
            Some(point) => self.point(other, String::new(), statistic(point)),
            None => self.figures(other).into_iter().find(|it| it.measure == condition.field.name)?,
        };
        let high = figure.ratio_ci95_high.unwrap_or(f64::INFINITY);
        let change = Change {
            value: figure.value_b,
            ratio: figure.value_b / figure.value_a,
            interval: figure.ratio_ci95_low.map(|low| Interval { low, high }),
            // What has no interval is there once, and differs by what it differs.
            is_one: figure.verdict.is_none() && !is_of_delays,
        };
        match condition.limit {
            Limit::Change(limit) => change.met(condition, limit, rows),
            Limit::Value(unit, limit) => met(condition, figure.value_b, (unit, limit), rows),
        }
    }
}

/// The fields of a comparison of populations.
pub fn fields(comparison: &Comparison) -> Vec<Field> {
    let figures = comparison.pairs.iter().flat_map(|pair| &pair.figures);
    let mut names: Vec<&str> = Vec::new();
    for name in figures.map(|figure| figure.measure.as_str()).filter(|name| !name.starts_with(DELAY)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // Without a failure there is nothing to compare, and still something to ask for.
    let failed = (!names.contains(&"failed_share")).then_some("failed_share");
    std::iter::once(Field::many(DELAY)).chain(names.into_iter().chain(failed).map(Field::one)).collect()
}

/// Why a load and a run cannot be compared, if so: a load is one population.
pub fn unlike(a: &CountedRun, b: &CountedRun) -> Option<String> {
    let of_load = |run: &CountedRun| run.rows.iter().any(CountedRow::is_load);
    let many = [a, b].into_iter().find(|run| run.rows.len() > 1)?;
    (of_load(a) || of_load(b))
        .then(|| format!("a load is one population, and `{}` has {}", many.place, many.rows.len()))
}

/// What a reader has to know of populations.
pub(super) fn notes(comparison: &Comparison) -> Vec<String> {
    let is_mixed = |pair: &&Pair| (pair.a.world == LIVE) != (pair.b.world == LIVE);
    let Some(mixed) = comparison.pairs.iter().find(is_mixed) else { return Vec::new() };
    let node = target_of(if mixed.a.world == LIVE { &mixed.a } else { &mixed.b });
    let has_node = mixed.figures.iter().any(|it| it.measure == format!("cpu_us.{node}"));
    vec![if has_node {
        format!(
            "The target of the load is compared with {node}; how busy either was counts until the last start or success."
        )
    } else {
        format!(
            "The load has not measured its target: with `measure` in its file it is compared with {node}."
        )
    }]
}

#[cfg(test)]
mod tests;
