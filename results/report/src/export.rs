//! What other programs read of a run: its tables as CSV, LaTeX and Markdown, its numbers in Prometheus's text format, and what became of
//! it as JUnit's XML. The columns are those of all tables (`columns`); here they are only laid out.
//!
//! [`prometheus`] and [`junit`] are also written while a load runs.

mod cases;
mod delimited;
pub mod junit;
mod latex;
mod markdown;
mod metrics;
pub mod prometheus;

pub use cases::{Expected, interrupted};
pub use keytoll_page::is_invisible;

use std::borrow::Cow;

use keytoll_analysis::study::{Account, Figure, Finding};
use keytoll_analysis::summary::SummaryRow;

use crate::columns::{self, Medium, OfLine, TABLES, Value};
use crate::study::{evidence, figure};

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    /// The title of the run.
    pub title: &'a str,
    /// Its rows.
    pub rows: &'a [SummaryRow],
    /// The study that it belongs to.
    pub study: Option<&'a Account>,
    /// False if it was interrupted: then each title has a note; in Prometheus's format `keytoll_run_complete` is 0.
    pub is_complete: bool,
}

/// A format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line for each number, with every digit.
    Csv,
    /// Tables with booktabs' rules.
    Latex,
    /// Tables as GitHub shows them.
    Markdown,
    /// A sample for each number.
    Prometheus,
}

impl Format {
    /// Whether a file that begins like this is an earlier export in this format.
    pub fn is_in(self, beginning: &[u8]) -> bool {
        match self {
            Self::Csv => delimited::is_one(beginning),
            Self::Latex => latex::is_one(beginning),
            Self::Markdown => markdown::is_one(beginning),
            Self::Prometheus => prometheus::is_page(beginning),
        }
    }
}

impl Exported<'_> {
    /// The whole text.
    pub fn text(&self, format: Format) -> String {
        let mut tables = self.tables();
        if !self.is_complete && format != Format::Prometheus {
            tables.iter_mut().for_each(|table| table.title.push_str(" (run not complete)"));
        }
        match format {
            Format::Csv => delimited::text(&tables),
            Format::Latex => latex::text(self.title, &tables),
            Format::Markdown => markdown::text(self.title, &tables),
            Format::Prometheus => metrics::text(self.rows, &tables, self.is_complete),
        }
    }

    /// What became of every row, or of every finding of its study.
    pub fn cases(&self, expected: impl Fn(&SummaryRow) -> Expected) -> junit::Suite {
        match self.study {
            Some(account) => cases::of_study(account),
            None => cases::of_rows(self.title, self.rows, expected),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let of_study = self.study.into_iter().flat_map(of_study);
        let told = TABLES.into_iter().filter(|table| table.is_told(self.rows));
        of_study.chain(told.map(|table| of_rows(table, self.rows))).collect()
    }
}

/// What other programs refuse, or show otherwise than it is: control characters, what hides or reverses the text around it, and what
/// is no character (XML 1.0 §2.2).
fn is_unfit(letter: char) -> bool {
    letter.is_control() || is_invisible(letter) || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// A text in which spaces stand for them.
fn fit(text: &str) -> String {
    text.chars().map(|letter| if is_unfit(letter) { ' ' } else { letter }).collect()
}

/// A text as a cell of a file that spreadsheets open: nothing in it is unfit, and none takes it for a formula (OWASP, CSV Injection).
pub(crate) fn in_cell(text: &str) -> Cow<'_, str> {
    // A spreadsheet skips spaces, and characters that became spaces.
    let begin = text.trim_start_matches(|letter: char| letter.is_whitespace() || is_unfit(letter));
    let is_formula = begin.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    match is_formula {
        true => format!("'{}", fit(text)).into(),
        false if text.contains(is_unfit) => fit(text).into(),
        false => text.into(),
    }
}

/// A table in no format yet.
#[derive(Debug, Clone)]
struct Table {
    title: String,
    note: String,
    /// The heads of what names a line: empty ones are shown nowhere.
    names: Vec<&'static str>,
    columns: Vec<Column>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Column {
    head: String,
    /// Empty for names and texts.
    unit: String,
    meaning: String,
}

#[derive(Debug, Clone)]
struct Line {
    /// As many as the table has of them.
    names: Vec<String>,
    /// As many as it has columns.
    cells: Vec<Cell>,
}

#[derive(Debug, Clone)]
struct Cell {
    value: Value,
    /// As people read it.
    shown: String,
    /// The origin of a number of a study.
    basis: &'static str,
    source: String,
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self { shown: value.shown(), value, basis: "", source: String::new() }
    }
}

impl Cell {
    const fn is_empty(&self) -> bool {
        matches!(self.value, Value::Nothing | Value::Unknown)
    }

    /// Its ends, if it has an interval.
    fn interval(&self) -> Option<(f64, f64)> {
        match self.value {
            Value::Median(median) => median.interval,
            Value::Mean(mean, half) => half.map(|half| (mean - half, mean + half)),
            _ => None,
        }
    }
}

impl Table {
    /// Without names that no line has.
    fn told_names(self) -> Self {
        let told: Vec<usize> = (0..self.names.len())
            .filter(|&place| self.lines.iter().any(|line| !line.names[place].is_empty()))
            .collect();
        let lines = self.lines.into_iter().map(|line| Line {
            names: told.iter().map(|&place| line.names[place].clone()).collect(),
            cells: line.cells,
        });
        Self {
            names: told.iter().map(|&place| self.names[place]).collect(),
            lines: lines.collect(),
            title: self.title,
            note: self.note,
            columns: self.columns,
        }
    }
}

/// The unit of all columns, unless heads say it, or the title does.
fn common_unit(table: &Table) -> Option<&str> {
    let unit = table.columns.first()?.unit.as_str();
    let is_common = table.columns.iter().all(|column| column.unit == unit);
    let is_said = table.columns.iter().any(|column| column.head.contains(unit)) || table.title.contains(unit);
    (is_common && !is_said && !unit.is_empty()).then_some(unit)
}

/// What names a row of a run.
const ROW: [&str; 4] = ["method", "variant", "network", "topology"];

/// A table of a run; where its rows have several lines, its first columns name these.
fn of_rows(shown: &'static columns::Table, rows: &[SummaryRow]) -> Table {
    let all = columns::columns(&[shown], Medium::Page);
    type Columns = Vec<&'static columns::Column<OfLine>>;
    let (names, numbers): (Columns, Columns) = all.partition(|column| is_name(column.head));
    let line = |row: &SummaryRow, place: usize| {
        let of_row = [&row.method, &row.variant, &row.network, &row.topology].map(Clone::clone);
        let of_line = names.iter().map(|column| (column.of)(row, place).written());
        Line {
            names: of_row.into_iter().chain(of_line).collect(),
            cells: numbers.iter().map(|column| (column.of)(row, place).into()).collect(),
        }
    };
    let lines = rows.iter().flat_map(|row| (0..(shown.lines)(row)).map(move |place| (row, place)));
    let columns = numbers.iter().map(|column| Column {
        head: Medium::Page.head(column, rows.iter().any(SummaryRow::is_cryptography_only)).to_owned(),
        unit: column.unit.to_owned(),
        meaning: column.meaning.to_owned(),
    });
    Table {
        title: shown.title.to_owned(),
        note: shown.note.to_owned(),
        names: ROW.into_iter().chain(names.iter().map(|column| column.head)).collect(),
        columns: columns.collect(),
        lines: lines.map(|(row, place)| line(row, place)).collect(),
    }
    .told_names()
}

/// Columns that name the lines of a row.
fn is_name(head: &str) -> bool {
    ["node", "link", "way", "what", "why"].contains(&head)
}

/// The findings of a study, and its tables.
fn of_study(account: &Account) -> Vec<Table> {
    let findings = Table {
        title: format!("{}: findings", account.title),
        note: String::new(),
        names: vec!["finding"],
        columns: ["verdict", "claim", "in the paper", "here"].map(text_column).to_vec(),
        lines: account.findings.iter().map(of_finding).collect(),
    };
    std::iter::once(findings).chain(account.tables.iter().map(of_figures)).collect()
}

fn text_column(head: &str) -> Column {
    Column { head: head.to_owned(), unit: String::new(), meaning: String::new() }
}

fn of_finding(finding: &Finding) -> Line {
    let Finding { name, claim, source, .. } = finding;
    let cells = [&finding.verdict_words(), claim, source, &evidence(finding)]
        .map(|text| Value::from(text.as_str()).into());
    Line { names: vec![name.clone()], cells: cells.to_vec() }
}

fn of_figures(shown: &keytoll_analysis::study::Table) -> Table {
    let column =
        |head: &String| Column { head: head.clone(), unit: shown.unit.clone(), meaning: String::new() };
    let lines = shown.lines.iter().map(|line| Line {
        names: vec![line.label.trim().to_owned()],
        cells: line
            .cells
            .iter()
            .map(|cell| cell.as_ref().map_or_else(|| Value::Unknown.into(), of_figure))
            .collect(),
    });
    Table {
        title: shown.title.clone(),
        note: String::new(),
        names: vec!["line"],
        columns: shown.columns.iter().map(column).collect(),
        lines: lines.collect(),
    }
}

fn of_figure(of: &Figure) -> Cell {
    let median = keytoll_analysis::summary::Median { value: of.value, interval: of.low.zip(of.high) };
    let source = of.source.clone().unwrap_or_default();
    Cell { value: Value::Median(median), shown: figure(of), basis: of.basis.name(), source }
}

#[cfg(test)]
mod tests;
