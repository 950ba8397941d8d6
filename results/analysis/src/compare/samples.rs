//! `samples.csv` of a run directory as groups of values: every measure of every row.

use std::io::Read;
use std::path::Path;

use keytoll_trace::manifest::Manifest;
use keytoll_trace::provenance::Provenance;

use super::blocks::{BlockValue, Timed};
use super::{RowName, Run};
use crate::directory;
pub use crate::samples::ReadError;
use crate::samples::{Counts, Line, Table, check};

/// A run, authentication by authentication.
pub type MeasuredRun = Run<MeasuredRow>;

impl MeasuredRun {
    /// The names of everything that was measured in any row.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flat_map(|row| row.values.iter().map(|values| values.measure.as_str()))
    }
}

/// A row.
#[derive(Debug, Clone)]
pub struct MeasuredRow {
    /// By what it is known.
    pub name: RowName,
    /// Its authentications.
    pub n: u64,
    /// Those that did not succeed.
    pub failed: u64,
    /// What was measured of them, in the order of reports.
    pub values: Vec<Values>,
}

/// The values of a measure.
#[derive(Debug, Clone)]
pub struct Values {
    /// Its name, with its unit.
    pub measure: String,
    /// Of one authentication after another.
    pub values: Vec<f64>,
    /// The unit of the comparison.
    pub judged_by: JudgedBy,
}

/// The unit by which values are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgedBy {
    /// By authentications, which are independent.
    Authentications,
    /// By blocks of authentications, with the times in them; without any they cannot be judged.
    Blocks(BlockValue, Vec<Timed>),
}

impl MeasuredRow {
    /// The values of a measure; none if there are none.
    pub(super) fn values(&self, measure: &str) -> Option<&[f64]> {
        Some(&self.measured(measure)?.values)
    }

    /// The values of a measure with their unit; none if there are none.
    pub(super) fn measured(&self, measure: &str) -> Option<&Values> {
        self.values.iter().find(|values| values.measure == measure)
    }
}

/// Reads the samples of a run directory, whose length and checksum must be those that its manifest tells.
///
/// # Errors
/// See [`ReadError`].
pub fn read(run: &Path) -> Result<MeasuredRun, ReadError> {
    let manifest = directory::manifest(run)?;
    let place = run.display().to_string();
    check(run, &manifest)?;
    let rows = rows(Table::open(run)?).map_err(|why| ReadError::Table { place: place.clone(), why })?;
    let complete = manifest.complete && is_whole(&manifest, &rows);
    let (machine, other_load) = (manifest.provenance.machine.cpu.clone(), other_load(&manifest.provenance));
    Ok(MeasuredRun { machine, seed: manifest.seed, repeats_seed: 0, other_load, place, complete, rows })
}

/// The load average at the beginning, if it was more than half of the processors.
pub(super) fn other_load(provenance: &Provenance) -> Option<f64> {
    let load = provenance.load_at_begin?.over_1_min;
    (load > f64::from(provenance.machine.cores) / 2.0).then_some(load)
}

fn is_whole(manifest: &Manifest, rows: &[MeasuredRow]) -> bool {
    let planned: u64 = manifest.rows.iter().map(|row| u64::from(row.samples_planned)).sum();
    planned <= rows.iter().map(|row| row.n).sum()
}

/// A column that is compared.
struct Measure {
    name: String,
    place: usize,
    /// Units of the measure in one of the column.
    scale: f64,
    /// Whether only successful authentications have it.
    of_successes: bool,
    counts: Counts,
    kind: Kind,
}

/// The causes of a measure's variation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// On the protocol alone.
    Count,
    /// On links, and on the speed of the machine if computation takes virtual time.
    Delay,
    /// On the speed of the machine.
    Cpu,
}

impl Kind {
    /// The unit in a row of this name.
    fn judged_by(self, row: &RowName) -> JudgedBy {
        match self {
            Self::Cpu if row.crypto != TABLE => JudgedBy::Blocks(BlockValue::Least, Vec::new()),
            Self::Delay if row.crypto != TABLE => JudgedBy::Blocks(BlockValue::Median, Vec::new()),
            _ => JudgedBy::Authentications,
        }
    }
}

/// The cryptography that takes its times from a table.
const TABLE: &str = "table";

/// The columns of times, and their measures.
const TIMES: [(&str, &str, Counts); 2] =
    [("delay_ns", "delay_ms", Counts::Sound), ("first_packet_ns", "first_packet_ms", Counts::Sound)];
/// The columns of counts, and their measures.
const COUNTED: [(&str, &str); 2] = [("messages", "messages"), ("bytes", "bytes")];
const NS_PER_MS: f64 = 1e6;
const NS_PER_US: f64 = 1e3;

/// The measures of a table with these columns.
fn measures<R: Read>(table: &Table<R>) -> Vec<Measure> {
    let place = |column: &str| table.place(column);
    let times = TIMES.iter().filter_map(|(column, name, counts)| {
        let (name, place) = ((*name).to_owned(), place(column)?);
        let (scale, of_successes, kind) = (1.0 / NS_PER_MS, true, Kind::Delay);
        Some(Measure { name, place, scale, of_successes, counts: *counts, kind })
    });
    let counted = COUNTED.iter().filter_map(|(column, name)| {
        let (name, place) = ((*name).to_owned(), place(column)?);
        let (scale, of_successes, kind) = (1.0, true, Kind::Count);
        Some(Measure { name, place, scale, of_successes, counts: Counts::All, kind })
    });
    let cpus = table.columns().enumerate().filter_map(|(place, column)| {
        let name = format!("cpu_us.{}", column.strip_suffix("_cpu_ns")?);
        Some(Measure {
            name,
            place,
            scale: 1.0 / NS_PER_US,
            of_successes: false,
            counts: Counts::Undisturbed,
            kind: Kind::Cpu,
        })
    });
    times.chain(cpus).chain(counted).collect()
}

fn rows<R: Read>(mut table: Table<R>) -> Result<Vec<MeasuredRow>, String> {
    let measures = measures(&table);
    let turn = table.place("block").zip(table.place("reference_ns"));
    let mut rows: Vec<MeasuredRow> = Vec::new();
    while let Some(line) = table.read_line()? {
        let place = rows.iter().rposition(|row| line.is_of(&row.name)).unwrap_or(rows.len());
        if place == rows.len() {
            let name = line.name();
            let of_measure = |it: &Measure| Values {
                measure: it.name.clone(),
                values: Vec::new(),
                judged_by: it.kind.judged_by(&name),
            };
            let values = measures.iter().map(of_measure).collect();
            rows.push(MeasuredRow { n: 0, failed: 0, values, name });
        }
        add(&mut rows[place], &measures, turn, line)?;
    }
    rows.iter_mut().for_each(|row| row.values.retain(|values| !values.values.is_empty()));
    rows.iter_mut().flat_map(|row| &mut row.values).for_each(Values::settle);
    Ok(rows)
}

impl Values {
    /// Delays that were not measured in blocks are judged by authentications: they depend on links more than on the machine.
    fn settle(&mut self) {
        if matches!(&self.judged_by, JudgedBy::Blocks(BlockValue::Median, times) if times.is_empty()) {
            self.judged_by = JudgedBy::Authentications;
        }
    }
}

/// Block and reference of an authentication, which has both or neither.
fn turn_of(line: Line<'_>, places: Option<(usize, usize)>) -> Result<Option<(u32, f64)>, String> {
    let Some((block, reference)) = places else { return Ok(None) };
    let block = line.number(block, "block")?.map(|block| block as u32);
    Ok(block.zip(line.number(reference, "reference_ns")?))
}

fn add(
    row: &mut MeasuredRow,
    measures: &[Measure],
    turn: Option<(usize, usize)>,
    line: Line<'_>,
) -> Result<(), String> {
    let turn = turn_of(line, turn)?;
    let succeeded = line.has_succeeded();
    row.n += 1;
    row.failed += u64::from(!succeeded);
    for (measure, into) in measures.iter().zip(&mut row.values) {
        if line.counts(measure.counts) && (succeeded || !measure.of_successes) {
            let value = line.number(measure.place, &measure.name)?.map(|value| value * measure.scale);
            into.values.extend(value);
            if let (JudgedBy::Blocks(_, times), Some((block, reference)), Some(value)) =
                (&mut into.judged_by, turn, value)
            {
                times.push(Timed { run: 0, block, reference, value });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "method,variant,network,topology,world,crypto,outcome,delay_ns,charged,disturbed,ue_cpu_ns,messages";

    fn read(lines: &[&str]) -> Result<Vec<MeasuredRow>, String> {
        rows(Table::new([&[HEAD], lines].concat().join("\n").as_bytes())?)
    }

    #[test]
    fn what_was_disturbed_or_failed_counts_where_it_says_something() {
        let rows = read(&[
            "psk,,wifi,raw,sim,real,established,2000000,true,false,5000,4",
            "psk,,wifi,raw,sim,real,established,9000000,true,true,90000,4",
            "psk,,wifi,raw,sim,real,failed,,true,false,6000,2",
            "rsa,,wifi,raw,live,real,established,3000000,false,true,7000,4",
        ])
        .unwrap();
        let values = |row: usize, measure: &str| rows[row].values(measure).unwrap_or_default();
        assert_eq!((rows.len(), rows[0].n, rows[0].failed), (2, 3, 1));
        assert_eq!(values(0, "delay_ms"), [2.0]);
        assert_eq!(values(0, "cpu_us.ue"), [5.0, 6.0]);
        assert_eq!(values(0, "messages"), [4.0, 4.0]);
        assert_eq!(values(1, "delay_ms"), [3.0], "nothing is charged to a real clock");
        assert_eq!(rows[1].values("cpu_us.ue"), None);
    }

    #[test]
    fn a_table_of_others_is_refused_with_the_line() {
        assert_eq!(Table::new("a,b\n1,2\n".as_bytes()).unwrap_err(), "it has no column `method`");
        let wrong = read(&["psk,,wifi,raw,sim,real,established,soon,true,false,5000,4"]).unwrap_err();
        assert_eq!(wrong, "line 2: `soon` of delay_ms is no number");
        assert!(read(&["psk,,wifi"]).unwrap_err().contains("3 fields"));
    }
}
