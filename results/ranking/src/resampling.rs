//! What a run might have measured as well: the statistics of which grades are made, computed again of resamples of its authentications.
//!
//! Read Efron & Tibshirani, An Introduction to the Bootstrap (1993) §6. Of each row as many authentications are drawn with replacement
//! as it has, and every statistic of the row is computed of the same ones: a resample with a long delay also has its retransmitted
//! bytes. Rows are resampled each by itself, with a random stream of its own.
//!
//! In rows of more than `GROUPS` authentications groups of them are drawn instead of single ones, the first with the four-hundred-and-first
//! and so on: their spread tells that of a statistic as well, and the time does not grow with the row.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::thread;

use keytoll_analysis::compare::RowName;
use keytoll_analysis::samples::{Counts, Line, ReadError, SAMPLES, Table};
use keytoll_analysis::summary::SummaryRow;
use keytoll_crypto_api::Rng;

/// Resamples of each row.
pub const RESAMPLES: usize = 1000;

/// What is drawn of a row: so many authentications, or groups of them if there are more.
const GROUPS: usize = 400;

/// The longest file of samples that is read, a million authentications: of more than that the intervals are as narrow as can be.
const BYTES_MAX: u64 = 256 << 20;

/// What is computed of the authentications of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The quantile at this fraction: type 7 of Hyndman and Fan, as everywhere in a summary.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
}

/// A number of an authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number {
    /// 1 if it succeeded, and 0 otherwise.
    Success,
    /// That in a column of `samples.csv`; none if the cell is empty.
    Column(String),
    /// The sum of several columns, whose empty cells are 0.
    Sum(Vec<String>),
}

/// How a value of a summary follows from single authentications, up to its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// What is computed.
    pub statistic: Statistic,
    /// Of which numbers.
    pub number: Number,
    /// Of which authentications.
    pub counts: Counts,
}

/// The single authentications of a run, or why there are none.
#[derive(Debug, Clone)]
pub enum Authentications {
    /// Those of each row: for each estimate its number of every authentication, which is no number where there is none.
    Read(BTreeMap<RowName, Vec<Vec<f64>>>),
    /// Why they were not read, as half a sentence: "the run has no samples.csv".
    Unread(String),
}

impl Authentications {
    /// Reads what these estimates need from the samples of a run directory; a directory without samples, or with too many, is no error.
    ///
    /// # Errors
    /// The samples are no table of ours, or cannot be read.
    pub fn read(run: &Path, estimates: &[Estimate]) -> Result<Self, ReadError> {
        match run.join(SAMPLES).metadata() {
            Err(_) => return Ok(Self::Unread(format!("the run has no {SAMPLES}"))),
            Ok(file) if file.len() > BYTES_MAX => {
                return Ok(Self::Unread(format!("{SAMPLES} has more than {} MiB", BYTES_MAX >> 20)));
            }
            Ok(_) => {}
        }
        let place = || run.display().to_string();
        let table = Table::open(run)?;
        rows(table, estimates).map(Self::Read).map_err(|why| ReadError::Table { place: place(), why })
    }
}

fn rows<R: std::io::Read>(
    mut table: Table<R>,
    estimates: &[Estimate],
) -> Result<BTreeMap<RowName, Vec<Vec<f64>>>, String> {
    let places: Vec<Places> = estimates.iter().map(|estimate| Places::of(estimate, &table)).collect();
    let mut rows: BTreeMap<RowName, Vec<Vec<f64>>> = BTreeMap::new();
    let (mut name, mut numbers) = (RowName::default(), Vec::new());
    while let Some(line) = table.read_line()? {
        if numbers.is_empty() || !line.is_of(&name) {
            let before = std::mem::replace(&mut name, line.name());
            if !numbers.is_empty() {
                rows.insert(before, numbers);
            }
            numbers = rows.remove(&name).unwrap_or_else(|| vec![Vec::new(); estimates.len()]);
        }
        for (of, numbers) in places.iter().zip(&mut numbers) {
            numbers.push(of.number(line)?.unwrap_or(f64::NAN));
        }
    }
    rows.insert(name, numbers);
    Ok(rows)
}

/// What the resamples of each row have of its values, each as a part of 1.
#[derive(Debug, Default)]
pub(crate) struct Resamples(BTreeMap<RowName, Vec<(Estimate, Vec<f64>)>>);

impl Resamples {
    /// Resamples rows whose authentications were read for these estimates.
    pub(crate) fn new(
        of: &BTreeMap<RowName, Vec<Vec<f64>>>,
        estimates: &[Estimate],
        names: impl Iterator<Item = RowName>,
        seed: u64,
    ) -> Self {
        let resampled = |name: &RowName| {
            let found = resampled(name, of.get(name)?, estimates, seed);
            let values = estimates.iter().cloned().zip(found).filter_map(|(of, found)| Some((of, found?)));
            Some((name.clone(), values.collect()))
        };
        let names: Vec<RowName> = names.collect();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let of_names = |names: &[RowName]| names.iter().filter_map(resampled).collect::<Vec<_>>();
        let each = names.len().div_ceil(cores).max(1);
        thread::scope(|scope| {
            let parts: Vec<_> =
                names.chunks(each).map(|names| scope.spawn(move || of_names(names))).collect();
            let found = parts.into_iter().map(|part| part.join().expect("arithmetic does not panic"));
            Self(found.flatten().collect())
        })
    }

    /// For an estimate of a row what every resample has of its value, as a part of 1; nothing if it was not resampled.
    pub(crate) fn of(&self, row: &SummaryRow, estimate: &Estimate) -> Option<&[f64]> {
        let values = self.0.get(&row.name())?;
        Some(&values.iter().find(|(of, _)| of == estimate)?.1)
    }
}

/// For each estimate that has a value its values of all resamples.
fn resampled(
    name: &RowName,
    numbers: &[Vec<f64>],
    estimates: &[Estimate],
    seed: u64,
) -> Vec<Option<Vec<f64>>> {
    let groups = numbers.first().map_or(0, Vec::len).min(GROUPS);
    let of = numbers.iter().zip(estimates);
    let grouped: Vec<Option<Grouped>> =
        of.map(|(numbers, of)| Grouped::new(numbers, of.statistic, groups)).collect();
    let mut found: Vec<_> = grouped.iter().map(|of| of.as_ref().map(|_| Vec::new())).collect();
    let (mut random, mut drawn) = (stream(name, seed), vec![0; groups]);
    for _ in 0..RESAMPLES {
        draw(&mut random, &mut drawn);
        for (of, found) in grouped.iter().zip(&mut found) {
            found.iter_mut().zip(of).for_each(|(found, of)| found.push(of.part(&drawn)));
        }
    }
    found
}

/// The random numbers of a row, whatever else is ranked.
fn stream(name: &RowName, seed: u64) -> Rng {
    let RowName { method, variant, network, topology, world, crypto } = name;
    let name = [method, variant, network, topology, world, crypto].map(String::as_str).join("/");
    Rng::named(seed, &format!("rank/resampling/{name}"))
}

/// Where the numbers of an estimate are.
struct Places<'a> {
    of: &'a Estimate,
    columns: Vec<(usize, &'a str)>,
}

impl<'a> Places<'a> {
    fn of<R: std::io::Read>(of: &'a Estimate, table: &Table<R>) -> Self {
        let names: Vec<&str> = match &of.number {
            Number::Success => Vec::new(),
            Number::Column(name) => vec![name],
            Number::Sum(names) => names.iter().map(String::as_str).collect(),
        };
        Self { of, columns: names.into_iter().filter_map(|name| Some((table.place(name)?, name))).collect() }
    }

    fn number(&self, line: Line<'_>) -> Result<Option<f64>, String> {
        if !line.counts(self.of.counts) {
            return Ok(None);
        }
        match &self.of.number {
            Number::Success => Ok(Some(f64::from(u8::from(line.has_succeeded())))),
            Number::Column(_) => match self.columns.first() {
                Some((place, name)) => line.number(*place, name),
                None => Ok(None),
            },
            Number::Sum(_) => {
                let number = |(place, name): &(usize, &str)| Ok(line.number(*place, name)?.unwrap_or(0.0));
                self.columns.iter().map(number).sum::<Result<f64, String>>().map(Some)
            }
        }
    }
}

/// How often each group is drawn if as many are drawn as there are.
fn draw(random: &mut Rng, drawn: &mut [u32]) {
    drawn.fill(0);
    for _ in 0..drawn.len() {
        let group = random.below(drawn.len() as u64) as usize;
        drawn[group] += 1;
    }
}

/// The numbers of a row by the groups in which they are drawn.
struct Grouped {
    statistic: Statistic,
    /// Of all numbers; positive.
    value: f64,
    /// How many numbers each group has.
    counts: Vec<u32>,
    /// Their sums.
    sums: Vec<f64>,
    /// All numbers in ascending order, each with its group, but for those that hardly any resample looks at.
    sorted: Vec<(f64, u32)>,
    /// How many come before the first one that resamples look at.
    skipped: usize,
    /// How many of these each group has.
    below: Vec<u32>,
}

/// How many standard deviations the rank of a quantile hardly ever moves by.
const DEVIATIONS: f64 = 6.0;

impl Grouped {
    /// Nothing without numbers, or where their statistic is 0: nothing is a part of that.
    fn new(numbers: &[f64], statistic: Statistic, groups: usize) -> Option<Self> {
        let known = || numbers.iter().enumerate().filter(|(_, number)| !number.is_nan());
        let (mut counts, mut sums, mut below) = (vec![0; groups], vec![0.0; groups], vec![0; groups]);
        for (place, number) in known() {
            counts[place % groups] += 1;
            sums[place % groups] += number;
        }
        let mut sorted: Vec<(f64, u32)> = match statistic {
            Statistic::Mean => Vec::new(),
            Statistic::Quantile(_) => known().map(|(at, number)| (*number, (at % groups) as u32)).collect(),
        };
        sorted.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let skipped = match statistic {
            Statistic::Mean => 0,
            Statistic::Quantile(fraction) => skipped(sorted.len(), fraction),
        };
        sorted[..skipped].iter().for_each(|(_, group)| below[*group as usize] += 1);
        let all = Self { statistic, value: 1.0, counts, sums, sorted, skipped, below };
        let value = all.of(&vec![1; groups]).filter(|value| *value > 0.0)?;
        Some(Self { value, ..all })
    }

    /// The statistic of a resample as a part of that of all; all of it if the resample has no number.
    fn part(&self, drawn: &[u32]) -> f64 {
        self.of(drawn).map_or(1.0, |value| value / self.value)
    }

    /// The statistic where each group was drawn so often; nothing if there is no number then.
    fn of(&self, drawn: &[u32]) -> Option<f64> {
        let total = times(drawn, &self.counts);
        match self.statistic {
            _ if total == 0 => None,
            Statistic::Mean => {
                let sum: f64 = drawn.iter().zip(&self.sums).map(|(times, sum)| f64::from(*times) * sum).sum();
                Some(sum / total as f64)
            }
            Statistic::Quantile(fraction) => {
                let rank = (total - 1) as f64 * fraction;
                let [below, above] = self.ranked(drawn, rank as u64);
                Some(below + (above - below) * rank.fract())
            }
        }
    }

    /// The number of this rank, counted from 0, and the next one; the last one twice.
    fn ranked(&self, drawn: &[u32], rank: u64) -> [f64; 2] {
        let before = times(drawn, &self.below);
        let (from, mut before) = if before > rank { (0, 0) } else { (self.skipped, before) };
        let mut found = None;
        for (number, group) in &self.sorted[from..] {
            before += u64::from(drawn[*group as usize]);
            if before > rank {
                found.get_or_insert(*number);
            }
            if before > rank + 1 {
                return [found.unwrap_or(*number), *number];
            }
        }
        [found.unwrap_or(self.value); 2]
    }
}

/// How many numbers a resample need not look at one by one.
fn skipped(n: usize, fraction: f64) -> usize {
    let deviation = (n as f64 * fraction * (1.0 - fraction)).sqrt();
    (n as f64 * fraction - DEVIATIONS * deviation - 1.0).max(0.0) as usize
}

fn times(drawn: &[u32], counts: &[u32]) -> u64 {
    drawn.iter().zip(counts).map(|(times, count)| u64::from(times * count)).sum()
}

#[cfg(test)]
mod tests;
