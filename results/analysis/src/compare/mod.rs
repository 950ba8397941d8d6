//! Two runs, or the rows of one run, compared authentication by authentication: the ratio of medians with its bootstrap interval,
//! and whether the difference may be chance. Of populations, which keep no single authentication, what was counted is compared.
//!
//! ```text
//! samples.csv     --samples::read-----> MeasuredRun ┐
//! population.json --populations::read--> CountedRun ┴--two of a kind: runs, rows--> Comparison --threshold::breaches--> Breach
//! several MeasuredRun --repeated::joined--> MeasuredRun
//! ```
//!
//! Two rows differ if Mann and Whitney's test says so at 5 %, after Holm's correction for how many comparisons of that measure are
//! made at once. How much they differ is the ratio, and how much they overlap is the probability of superiority.

pub mod blocks;
pub mod populations;
mod ranked;
mod ranks;
pub mod repeated;
mod resampling;
pub mod samples;
mod share;
pub mod threshold;

use keytoll_document::condition::Resolved;
use keytoll_trace::manifest::ManifestRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparable::{Setting, Subject, Variant};
use crate::summary::SummaryRow;
use blocks::{BlockValue, Unit, difference};
use ranked::Ranked;
use ranks::rank_sum;
use resampling::{Statistic, ratio_interval};
use samples::{JudgedBy, MeasuredRow, Values};
pub use threshold::Breach;

/// The format of [`Comparison`].
pub const FORMAT: u32 = 1;

/// The measures of CPU time.
const CPU: &str = "cpu_us.";

/// How likely chance may be where two rows are still told apart.
const SIGNIFICANCE: f64 = 0.05;

/// What was compared, and how it differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The version of this interface.
    pub format: u32,
    /// The first run; of several, their directories with commas between them.
    pub a: String,
    /// The second run; the same as the first if its rows were compared with each other.
    pub b: String,
    /// Every pair of rows.
    pub pairs: Vec<Pair>,
    /// Rows that only one of the runs has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<Alone>,
    /// What a reader has to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The conditions that are met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<Breach>,
}

impl Comparison {
    /// Whether the rows of one run were compared with each other, and not two runs, which may be the same.
    pub fn is_of_rows(&self) -> bool {
        self.a == self.b && (self.pairs.is_empty() || self.pairs.iter().any(|pair| pair.a != pair.b))
    }

    /// Leaves only these measures.
    pub fn show_only(&mut self, measures: &[String]) {
        for pair in &mut self.pairs {
            pair.contrasts.retain(|contrast| measures.contains(&contrast.measure));
            pair.figures.retain(|figure| measures.contains(&figure.measure));
        }
    }

    /// The names of everything that was measured of both rows of any pair.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().flat_map(|pair| {
            let figures = pair.figures.iter().map(|figure| figure.measure.as_str());
            pair.contrasts.iter().map(|contrast| contrast.measure.as_str()).chain(figures)
        })
    }
}

/// A row of one run without its like in the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// The run that has it.
    pub run: String,
    /// The row.
    pub row: String,
}

/// Two rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The row of the first run, or the one with which the others are compared.
    pub a: RowName,
    /// The other row.
    pub b: RowName,
    /// Authentications of either.
    pub n: [u64; 2],
    /// Those that did not succeed.
    pub failures: [u64; 2],
    /// What was measured of both.
    pub contrasts: Vec<Contrast>,
    /// Of populations: numbers that there are once for all attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// By what a row is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RowName {
    /// The method's name in the catalogue.
    pub method: String,
    /// The options that differ from the method's default.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// `sim`, `live` or `captured`.
    pub world: String,
    /// `real`, `openssl`, `null`, `table` or `captured`.
    pub crypto: String,
}

impl RowName {
    /// That of a row of a manifest.
    pub fn of(row: &ManifestRow) -> Self {
        let ManifestRow { method, variant, network, topology, world, crypto, .. } = row.clone();
        Self { method, variant, network, topology, world, crypto }
    }

    /// The method and its options.
    pub fn subject(&self) -> Subject<'_> {
        Subject { method: &self.method, variant: Variant(&self.variant) }
    }

    /// Whether both have the same method and options over the same network; how they were run may differ.
    fn is_like(&self, other: &Self) -> bool {
        self.subject() == other.subject() && self.is_over_network_of(other)
    }

    /// Whether both have the same network and topology.
    pub fn is_over_network_of(&self, other: &Self) -> bool {
        (&self.network, &self.topology) == (&other.network, &other.topology)
    }

    /// Where and how the row was measured.
    pub fn setting(&self) -> Setting<'_> {
        let Self { network, topology, world, crypto, .. } = self;
        Setting { network, topology, world, crypto }
    }
}

impl SummaryRow {
    /// By what it is known.
    pub fn name(&self) -> RowName {
        RowName {
            method: self.method.clone(),
            variant: self.variant.clone(),
            network: self.network.clone(),
            topology: self.topology.clone(),
            world: self.world.clone(),
            crypto: self.crypto.clone(),
        }
    }
}

/// `ikev2-psk, wifi-11g, raw`; a load knows no topology.
impl std::fmt::Display for RowName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.subject(), self.network)?;
        if self.topology.is_empty() { Ok(()) } else { write!(f, ", {}", self.topology) }
    }
}

/// A run of rows.
#[derive(Debug, Clone)]
pub struct Run<R> {
    /// The directory, as the user has named it.
    pub place: String,
    /// The processor.
    pub machine: String,
    /// The seed of the plan.
    pub seed: String,
    /// How many runs of this side repeat the seed of an earlier one.
    pub repeats_seed: u32,
    /// The load average when it began, if other programs kept more than half of the processors busy.
    pub other_load: Option<f64>,
    /// Whether all planned authentications were measured.
    pub complete: bool,
    /// Its rows, in order.
    pub rows: Vec<R>,
}

impl<R: Row> Run<R> {
    /// The row with this name.
    fn row(&self, name: &RowName) -> Option<&R> {
        self.rows.iter().find(|row| row.name() == name)
    }
}

/// What can be compared with its like.
pub trait Row {
    /// By what it is known.
    fn name(&self) -> &RowName;
    /// Compares it with another one.
    fn pair(&self, other: &Self) -> Pair;
    /// That the other one, or how it differs, meets a condition; `None` if not.
    fn breach(&self, other: &Self, condition: &Resolved) -> Option<Breach>;
}

/// One measure of two rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contrast {
    /// Its name, with its unit: `delay_ms`, `cpu_us.gw`.
    pub measure: String,
    /// The first row.
    pub a: Side,
    /// The second row.
    pub b: Side,
    /// The median of the second ÷ that of the first; absent if the latter is 0, and of CPU times that cannot be judged. For CPU times the fastest authentication of each block of the
    /// second ÷ that of each block of the first, median of all pairs: not the ratio of the medians in `a` and `b`. By runs: the median of those
    /// fastest in each run, geometric mean of the second side ÷ that of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval: bootstrap (percentile, 4000 resamples), by blocks Hodges and Lehmann, by runs Welch; absent below six
    /// values in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95_high: Option<f64>,
    /// How likely chance alone makes such a difference of ranks: Mann and Whitney, two-sided; of CPU times, and of delays that contain them, by
    /// blocks of authentications, and beyond a tolerance of 3 %; by runs Welch's test, beyond the same tolerance; absent if it cannot be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The same after Holm's correction for all comparisons of this measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value_holm: Option<f64>,
    /// How likely a value of the second row is greater than one of the first, ties counting half.
    pub superiority_share: f64,
    /// The independent value of the test.
    #[serde(default)]
    pub unit: Unit,
    /// How many of them either row has.
    #[serde(default)]
    pub units_count: [u64; 2],
    /// What follows.
    pub verdict: Verdict,
}

/// One number of two populations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Its name, with its unit: `delay_ms.p99`, `established_share`, `cpu_us.gw`.
    pub measure: String,
    /// That of the first row.
    pub value_a: f64,
    /// That of the second row.
    pub value_b: f64,
    /// The second ÷ the first; absent if the latter is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval, of points of delays by the bootstrap (percentile, 4000 resamples), of shares after Donner and Zou
    /// (MOVER-R of Wilson's intervals), with attempts taken as independent; absent for what there is once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95_low: Option<f64>,
    /// Its upper end; absent also where it has none, for the first may be 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95_high: Option<f64>,
    /// What follows; absent without an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A row's values of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// How many.
    pub n: u64,
    /// Median.
    pub value_p50: f64,
    /// Lower end of its distribution-free 95 % interval; absent below six values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_p50_ci95_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_p50_ci95_high: Option<f64>,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All values of both are equal.
    Equal,
    /// A row of two runs has the same values in both, one after the other.
    Identical,
    /// The difference may be chance.
    NotToldApart,
    /// The second row has less.
    Less,
    /// The second row has more.
    More,
    /// Too few blocks were measured at full speed of the machine, or none.
    CannotBeJudged,
}

/// Compares the rows of two runs with their likes. Rows that only one has are listed. A load is like whatever it is compared with.
pub fn runs<R: Row>(a: &Run<R>, b: &Run<R>) -> Comparison {
    let are_one = a.rows.len() == 1 && b.rows.len() == 1;
    let is_like = |one: &RowName, other: &RowName| {
        one.is_like(other) || are_one && [one, other].iter().any(|name| name.topology.is_empty())
    };
    let like = |row: &R, run: &Run<R>| -> Option<usize> {
        // The one that was run alike, if there are several.
        let likes = |place: &usize| is_like(run.rows[*place].name(), row.name());
        let exact = (0..run.rows.len()).find(|place| run.rows[*place].name() == row.name());
        exact.or_else(|| (0..run.rows.len()).find(likes))
    };
    let pairs = a.rows.iter().filter_map(|row| Some((row, &b.rows[like(row, b)?])));
    let of_a = a.rows.iter().filter(|row| like(row, b).is_none()).map(|row| alone(a, row));
    let of_b = b.rows.iter().filter(|row| like(row, a).is_none()).map(|row| alone(b, row));
    comparison([a, b], &pairs.collect::<Vec<_>>(), of_a.chain(of_b).collect())
}

/// Compares the rows of one run: all of a setting with its first one, or with the one that has this method or this method and
/// options.
///
/// # Errors
/// No row is called so.
pub fn rows<R: Row>(run: &Run<R>, baseline: Option<&str>) -> Result<Comparison, NoSuchRow> {
    let is_baseline =
        |row: &R, name: &str| row.name().method == name || row.name().subject().to_string() == name;
    if let Some(name) = baseline.filter(|name| !run.rows.iter().any(|row| is_baseline(row, name))) {
        return Err(NoSuchRow(name.to_owned()));
    }
    let base_of = |row: &R| {
        let mut comparable = run.rows.iter().filter(|other| other.name().setting() == row.name().setting());
        comparable.find(|other| baseline.is_none_or(|name| is_baseline(other, name)))
    };
    let pairs = run.rows.iter().filter_map(|row| Some((base_of(row)?, row)));
    let pairs: Vec<_> = pairs.filter(|(base, row)| !std::ptr::eq(*base, *row)).collect();
    let without = run.rows.iter().filter(|row| base_of(row).is_none()).map(|row| alone(run, row));
    Ok(comparison([run, run], &pairs, without.collect()))
}

/// There is no such row to compare the others with.
#[derive(Debug, thiserror::Error)]
#[error("the run has no row `{0}`")]
pub struct NoSuchRow(String);

fn alone<R: Row>(run: &Run<R>, row: &R) -> Alone {
    Alone { run: run.place.clone(), row: row.name().to_string() }
}

fn comparison<R: Row>([a, b]: [&Run<R>; 2], pairs: &[(&R, &R)], alone: Vec<Alone>) -> Comparison {
    let mut pairs = grouped(&pairs.iter().map(|(one, other)| one.pair(other)).collect::<Vec<_>>());
    correct(&mut pairs);
    let notes = notes([a, b], &pairs);
    let [a, b] = [a, b].map(|run| run.place.clone());
    let mut comparison = Comparison { format: FORMAT, a, b, pairs, alone, notes, breaches: Vec::new() };
    comparison.notes.extend(populations::notes(&comparison));
    comparison
}

/// Pairs over one network behind one another, the networks in order of first appearance.
fn grouped(pairs: &[Pair]) -> Vec<Pair> {
    let place = |pair: &Pair| pairs.iter().position(|first| pair.b.is_over_network_of(&first.b));
    let mut placed: Vec<_> = pairs.iter().map(|pair| (place(pair), pair.clone())).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, pair)| pair).collect()
}

impl Row for MeasuredRow {
    fn name(&self) -> &RowName {
        &self.name
    }

    fn pair(&self, other: &Self) -> Pair {
        let contrast = |it: &Values| {
            let others = other.measured(&it.measure)?;
            let found = contrast(&it.measure, &Ranked::of(&it.values), &Ranked::of(&others.values))?;
            let is_repeated = self.name == other.name && it.values == others.values;
            Some(if is_repeated {
                found.identical()
            } else {
                found.judged_by(&it.judged_by, &others.judged_by)
            })
        };
        Pair {
            a: self.name.clone(),
            b: other.name.clone(),
            n: [self.n, other.n],
            failures: [self.failed, other.failed],
            contrasts: self.values.iter().filter_map(contrast).collect(),
            figures: Vec::new(),
        }
    }

    fn breach(&self, other: &Self, condition: &Resolved) -> Option<Breach> {
        threshold::breach(condition, self, other)
    }
}

/// Nothing if either has no values.
fn contrast(measure: &str, a: &Ranked, b: &Ranked) -> Option<Contrast> {
    let (side_a, side_b) = (side(a)?, side(b)?);
    let ranks = rank_sum(a, b);
    let known = a.n().min(b.n()) >= INTERVAL_FROM;
    let interval = known.then(|| ratio_interval(a, b, Statistic::MEDIAN)).flatten();
    Some(Contrast {
        measure: measure.to_owned(),
        a: side_a,
        b: side_b,
        ratio: (side_a.value_p50 != 0.0).then(|| side_b.value_p50 / side_a.value_p50),
        ratio_ci95_low: interval.map(|interval| interval.low),
        ratio_ci95_high: interval.map(|interval| interval.high),
        p_value: Some(ranks.p),
        p_value_holm: Some(ranks.p),
        superiority_share: ranks.superiority,
        unit: Unit::Authentication,
        units_count: [a.n(), b.n()],
        verdict: if are_equal(a, b) { Verdict::Equal } else { Verdict::NotToldApart },
    })
}

/// Fewer values say nothing of how medians vary.
const INTERVAL_FROM: u64 = 6;

fn side(values: &Ranked) -> Option<Side> {
    let interval = values.median_interval95();
    let [low, high] = [interval.map(|it| it.low), interval.map(|it| it.high)];
    (values.n() > 0).then(|| Side {
        n: values.n(),
        value_p50: Statistic::MEDIAN.of(values),
        value_p50_ci95_low: low,
        value_p50_ci95_high: high,
    })
}

fn are_equal(a: &Ranked, b: &Ranked) -> bool {
    a.is_one_value() && b.is_one_value() && a.at(0) == b.at(0)
}

impl Contrast {
    /// The same judged by blocks, if either row has its values in blocks.
    fn judged_by(self, a: &JudgedBy, b: &JudgedBy) -> Self {
        let (value, [a, b]) = match (a, b) {
            (JudgedBy::Blocks(value, a), JudgedBy::Blocks(_, b)) => (*value, [&a[..], b]),
            (JudgedBy::Blocks(BlockValue::Least, _), _) | (_, JudgedBy::Blocks(BlockValue::Least, _)) => {
                (BlockValue::Least, [&[][..], &[]])
            }
            _ => return self,
        };
        match (difference(a, b, value), value) {
            (Some(found), _) => Self {
                ratio: Some(found.ratio),
                ratio_ci95_low: found.interval.map(|it| it.low),
                ratio_ci95_high: found.interval.map(|it| it.high),
                superiority_share: found.superiority,
                unit: found.unit,
                units_count: found.units,
                ..self.with_p(found.p)
            },
            (None, value) if value == BlockValue::Least || [a, b].into_iter().any(repeated::is_repeated) => {
                // The ratio of all times would be that of what else the machine did.
                let [ratio, ratio_ci95_low, ratio_ci95_high, p_value, p_value_holm] = [None; 5];
                let verdict = Verdict::CannotBeJudged;
                Self { ratio, ratio_ci95_low, ratio_ci95_high, p_value, p_value_holm, verdict, ..self }
            }
            (None, _) => self,
        }
    }

    fn with_p(self, p: f64) -> Self {
        Self { p_value: Some(p), p_value_holm: Some(p), ..self }
    }

    /// Whether the second row has less, if they differ.
    fn is_less(&self) -> bool {
        match (self.unit, self.ratio) {
            (Unit::Run, Some(ratio)) => ratio < 1.0,
            _ => self.superiority_share < 0.5,
        }
    }

    /// Of two rows that have the same values.
    fn identical(self) -> Self {
        let is_equal = self.verdict == Verdict::Equal;
        Self { verdict: if is_equal { Verdict::Equal } else { Verdict::Identical }, ..self }
    }
}

/// Holm, Scandinavian Journal of Statistics 6 (1979) 65: the least p counts as often as there are comparisons, the next one once
/// less, and none counts for less than the one before. Then the verdicts.
fn correct(pairs: &mut [Pair]) {
    let all = pairs.iter_mut().flat_map(|pair| &mut pair.contrasts);
    let mut all: Vec<(f64, &mut Contrast)> = all.filter_map(|it| Some((it.p_value?, it))).collect();
    all.sort_by(|(p_a, a), (p_b, b)| a.measure.cmp(&b.measure).then(p_a.total_cmp(p_b)));
    for of_measure in all.chunk_by_mut(|(_, a), (_, b)| a.measure == b.measure) {
        let (count, mut before) = (of_measure.len(), 0.0_f64);
        for (place, (p, contrast)) in of_measure.iter_mut().enumerate() {
            before = before.max((*p * (count - place) as f64).min(1.0));
            contrast.p_value_holm = Some(before);
            contrast.verdict = verdict(contrast, before);
        }
    }
}

fn verdict(contrast: &Contrast, p_holm: f64) -> Verdict {
    match contrast.verdict {
        certain @ (Verdict::Equal | Verdict::Identical) => certain,
        _ if p_holm >= SIGNIFICANCE => Verdict::NotToldApart,
        _ if contrast.is_less() => Verdict::Less,
        _ => Verdict::More,
    }
}

fn notes<R: Row>(both: [&Run<R>; 2], pairs: &[Pair]) -> Vec<String> {
    let mut runs = both.to_vec();
    runs.dedup_by_key(|run| &run.place);
    let incomplete = runs.iter().filter(|run| !run.complete);
    let incomplete =
        incomplete.map(|run| format!("{} is not complete: this is what was measured of it.", run.place));
    let unlike = pairs.iter().find(|pair| (&pair.a.world, &pair.a.crypto) != (&pair.b.world, &pair.b.crypto));
    let unlike = unlike.map(|Pair { a, b, .. }| {
        let how = |of: &RowName| format!("{}, {} crypto", of.world, of.crypto);
        format!("They were not run alike: {} against {}.", how(a), how(b))
    });
    let machines = (runs.len() == 2 && runs[0].machine != runs[1].machine)
        .then(|| format!("They ran on different machines: {} and {}.", runs[0].machine, runs[1].machine));
    let loads: Vec<String> = runs.iter().filter_map(|run| Some(format!("{:.1}", run.other_load?))).collect();
    let is_by_blocks = |it: &Contrast| {
        it.measure.starts_with(CPU) && it.verdict != Verdict::CannotBeJudged && it.unit != Unit::Run
    };
    let has_cpu = pairs.iter().flat_map(|pair| &pair.contrasts).any(is_by_blocks);
    let busy = (has_cpu && !loads.is_empty()).then(|| {
        format!(
            "Other programs kept the machine busy (load average {} at the beginning): they fill its caches, and CPU times of two runs of \
             one build then differ by up to a tenth. Run both again on a quiet machine, or each {} times or more in turn, and compare \
             them with `keytoll compare A1 A2 … --against B1 B2 …`.",
            loads.join(" and "),
            repeated::RUNS_MIN
        )
    });
    let is_same = |it: &Contrast| matches!(it.verdict, Verdict::Equal | Verdict::Identical);
    let mut contrasts = pairs.iter().flat_map(|pair| &pair.contrasts).peekable();
    let is_repeated = contrasts.peek().is_some() && contrasts.all(is_same);
    let repeated = (is_repeated && pairs.iter().all(|pair| pair.a == pair.b && pair.n[0] == pair.n[1])).then(|| {
        "All values of both are the same, one after the other: it is the same run, or one that repeats it.".to_owned()
    });
    let left_out = repeated::left_out(both);
    let all = incomplete.chain(unlike).chain(machines).chain(repeated).chain(left_out);
    all.chain(busy).chain(unjudged(pairs)).collect()
}

/// How many CPU times cannot be judged, and what to do.
fn unjudged(pairs: &[Pair]) -> Option<String> {
    let all = || pairs.iter().flat_map(|pair| &pair.contrasts).filter(|it| it.measure.starts_with(CPU));
    let count = all().filter(|it| it.verdict == Verdict::CannotBeJudged).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} CPU times cannot be judged: that takes {} blocks at full speed of the machine in both rows, and runs of older \
             versions, live runs and those with a cost table or without cryptography have none. Run with `--crypto real`, with more samples \
             or on a less busy machine. Where a side has several runs, both sides need {} with a block at full speed.",
            all().count(),
            blocks::BLOCKS_MIN,
            repeated::RUNS_MIN
        )
    })
}

#[cfg(test)]
mod tests;
