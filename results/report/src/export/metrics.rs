//! The numbers of all tables as metrics: a family for each column, in base units, with the names of rows as labels.

use keytoll_analysis::summary::SummaryRow;

use super::prometheus::{Kind, Metrics, Sample, name};
use super::{Cell, Column, Line, ROW, Table};
use crate::columns::Value;

/// Units, what they are of a base unit, and that unit's name; counts have no unit in their names.
const UNITS: [(&str, f64, &str); 14] = [
    ("ns", 1e-9, "seconds"),
    ("µs", 1e-6, "seconds"),
    ("ms", 1e-3, "seconds"),
    ("s", 1.0, "seconds"),
    ("%", 0.01, "ratio"),
    ("bytes", 1.0, "bytes"),
    ("kB", 1e3, "bytes"),
    ("KiB", 1024.0, "bytes"),
    ("MB", 1e6, "bytes"),
    ("MiB", 1_048_576.0, "bytes"),
    ("Mcycles", 1e6, "cycles"),
    ("cycles", 1.0, "cycles"),
    ("kbit/s", 1e3, "bits_per_second"),
    ("Mbit/s", 1e6, "bits_per_second"),
];

/// The whole page.
pub(super) fn text(rows: &[SummaryRow], tables: &[Table], is_complete: bool) -> String {
    let mut metrics = Metrics::default();
    let complete = [Sample::plain(f64::from(u8::from(is_complete)))];
    family(
        &mut metrics,
        "keytoll_run_complete",
        "Whether all planned authentications were measured.",
        complete.to_vec(),
    );
    outcomes(rows, &mut metrics);
    let (of_study, of_rows): (Vec<&Table>, Vec<&Table>) =
        tables.iter().partition(|table| !table.names.contains(&ROW[0]));
    of_rows.into_iter().for_each(|table| columns(table, &mut metrics));
    study(&of_study, &mut metrics);
    metrics.text()
}

/// How many authentications of each row succeeded, and why others did not.
fn outcomes(rows: &[SummaryRow], metrics: &mut Metrics) {
    let single = || rows.iter().filter(|row| row.population.is_none());
    let counted = |row: &SummaryRow, label: (&str, &str), count: u64| {
        let labels = row_labels(row).into_iter().chain([(label.0.to_owned(), label.1.to_owned())]);
        Sample { suffix: "", labels: labels.collect(), value: count as f64 }
    };
    let of_row = |row: &'_ SummaryRow| {
        [("established", row.succeeded), ("failed", row.n.saturating_sub(row.succeeded))]
            .map(|(outcome, count)| counted(row, ("outcome", outcome), count))
    };
    let all: Vec<Sample> = single().flat_map(of_row).collect();
    family(metrics, "keytoll_authentications", "Authentications of a row by outcome.", all);
    let failed = rows
        .iter()
        .flat_map(|row| row.failures.iter().map(move |(why, &count)| counted(row, ("reason", why), count)));
    let failed: Vec<Sample> = failed.collect();
    family(metrics, "keytoll_failures", "Authentications that failed, by reason.", failed);
}

fn row_labels(row: &SummaryRow) -> Vec<(String, String)> {
    let of_row = [&row.method, &row.variant, &row.network, &row.topology];
    let named = ROW.into_iter().zip(of_row).filter(|(_, value)| !value.is_empty());
    named.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// A family without samples says nothing.
fn family(metrics: &mut Metrics, name: &str, about: &str, samples: Vec<Sample>) {
    if !samples.is_empty() {
        metrics.family(name, about, Kind::Gauge, samples);
    }
}

/// A number of a cell.
type OfCell = fn(&Cell) -> Option<f64>;

fn columns(table: &Table, metrics: &mut Metrics) {
    for (place, column) in table.columns.iter().enumerate() {
        let (factor, called) = called(&table.title, &column.head, &column.unit);
        let about = if column.meaning.is_empty() { &column.head } else { &column.meaning };
        let of_lines = |of: OfCell| -> Vec<Sample> {
            let value = |line: &Line| Some(of(&line.cells[place])? * factor);
            let sample =
                |line: &Line| Some(Sample { suffix: "", labels: labels(table, line), value: value(line)? });
            table.lines.iter().filter_map(sample).collect()
        };
        let numbers: [(&str, &str, OfCell); 3] = [
            ("", "", number),
            ("_ci95_low", ": lower end of the 95 % interval", |cell| Some(cell.interval()?.0)),
            ("_ci95_high", ": upper end of the 95 % interval", |cell| Some(cell.interval()?.1)),
        ];
        for (suffix, which, of) in numbers {
            family(metrics, &format!("{called}{suffix}"), &format!("{about}{which}"), of_lines(of));
        }
    }
}

/// The factor to the base unit, and the name of the family of a table's column.
pub(super) fn called(title: &str, head: &str, unit: &str) -> (f64, String) {
    let known = UNITS.into_iter().find(|(known, ..)| *known == unit);
    let (factor, base) = known.map_or((1.0, ""), |(_, factor, base)| (factor, base));
    let head = if known.is_some() { without_unit(head, unit) } else { head.to_owned() };
    let head = name(&head.replace('/', " per "));
    let head = head.strip_suffix("_per_s").map_or_else(|| head.clone(), |of| format!("{of}_per_second"));
    let title = title.strip_suffix(", ms").unwrap_or(title);
    let parts = ["keytoll", &name(title), &head, base];
    (factor, parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_"))
}

/// A head without the word that is its unit: `CPU` of `CPU s`, `/device` of `kB/device`.
fn without_unit(head: &str, unit: &str) -> String {
    let word = |(at, _): &(usize, &str)| {
        let (before, after) = (&head[..*at], &head[at + unit.len()..]);
        (before.is_empty() || before.ends_with([' ', ',']))
            && (after.is_empty() || after.starts_with(['/', ' ']))
    };
    match head.match_indices(unit).find(word) {
        Some((at, _)) => format!("{}{}", &head[..at], &head[at + unit.len()..]),
        None => head.to_owned(),
    }
}

fn labels(table: &Table, line: &Line) -> Vec<(String, String)> {
    let named = table.names.iter().zip(&line.names).filter(|(_, value)| !value.is_empty());
    named.map(|(head, value)| (name(head), value.clone())).collect()
}

/// The number of a cell, also of a share that is written with its sign.
fn number(cell: &Cell) -> Option<f64> {
    match &cell.value {
        Value::Number(value) | Value::Mean(value, _) => Some(*value),
        Value::Median(median) => Some(median.value),
        Value::Whole(count) => Some(*count as f64),
        Value::Text(text) => text.trim_end_matches('%').trim().parse().ok(),
        Value::Nothing | Value::Unknown => None,
    }
}

/// Figures of a paper have no names of their own, so they are one family; findings are another.
fn study(tables: &[&Table], metrics: &mut Metrics) {
    let mut figures = Vec::new();
    let mut findings = Vec::new();
    for table in tables {
        for line in &table.lines {
            let is_finding = table.names == ["finding"];
            let cells = table.columns.iter().zip(&line.cells);
            match is_finding {
                true => findings.extend(line.cells.first().map(|cell| finding(line, cell))),
                false => figures.extend(cells.filter_map(|(column, cell)| figure(table, line, column, cell))),
            }
        }
    }
    family(metrics, "keytoll_study_finding", "1 for the verdict of each finding of a study.", findings);
    let about = "A number of a study, in the unit of its label, ours and the paper's.";
    family(metrics, "keytoll_study_figure", about, figures);
}

fn finding(line: &Line, verdict: &Cell) -> Sample {
    let labels = [("finding", line.names.concat()), ("verdict", verdict.shown.clone())];
    Sample { suffix: "", labels: labels.map(|(name, value)| (name.to_owned(), value)).to_vec(), value: 1.0 }
}

fn figure(table: &Table, line: &Line, column: &Column, cell: &Cell) -> Option<Sample> {
    let labels = [
        ("table", table.title.clone()),
        ("line", line.names.concat()),
        ("column", column.head.clone()),
        ("unit", column.unit.clone()),
        ("basis", cell.basis.to_owned()),
    ];
    let labels = labels.map(|(name, value)| (name.to_owned(), value)).to_vec();
    Some(Sample { suffix: "", labels, value: number(cell)? })
}
