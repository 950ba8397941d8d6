//! The columns of all tables of a run, each defined once: its head, its unit, its meaning, the source of a cell and its
//! format; those of the CSV files also say what their cells hold ([`field`]). The screen, the page and the CSV files only lay them out; `docs/columns.md` and the schemas of the CSV files are
//! generated from them.
//!
//! Each file here has the columns of one subject, those of the CSV file and those of the table side by side.

pub(crate) mod authentication;
pub(crate) mod beside;
pub(crate) mod field;
pub(crate) mod kinds;
pub(crate) mod links;
pub(crate) mod load;
pub(crate) mod moves;
pub(crate) mod nodes;
pub(crate) mod population;
pub(crate) mod traffic;

use std::fmt::Write;

use keytoll_analysis::summary::{Median, SummaryRow};

use crate::export::in_cell;
use crate::number::{known, plain, ranged, uncertain};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<Of> {
    /// The head.
    pub(crate) head: &'static str,
    /// The unit; empty for names and numbers without unit.
    pub(crate) unit: &'static str,
    /// The meaning; empty where the head suffices.
    pub(crate) meaning: &'static str,
    /// Computes a cell.
    pub(crate) of: Of,
    /// The head on the screen, if it is shorter.
    short: Option<&'static str>,
    /// The head of CPU time that is of cryptography only.
    marked: Option<&'static str>,
    /// Whether only the page shows it, for the screen is too narrow.
    is_wide: bool,
    /// Whether it is empty in most runs; if so, it is explained below the tables only where it is not.
    pub(crate) is_rare: bool,
}

pub(crate) const fn column<Of: Copy>(
    head: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: Of,
) -> Column<Of> {
    Column { head, unit, meaning, of, short: None, marked: None, is_wide: false, is_rare: false }
}

/// A column with a shorter head on the screen.
const fn short<Of: Copy>(head: &'static str, column: Column<Of>) -> Column<Of> {
    Column { short: Some(head), ..column }
}

/// A column of CPU time, with its head where that is of cryptography only.
const fn cpu_time<Of: Copy>(marked: &'static str, column: Column<Of>) -> Column<Of> {
    Column { marked: Some(marked), ..column }
}

/// A column that only the page shows.
const fn wide<Of: Copy>(column: Column<Of>) -> Column<Of> {
    Column { is_wide: true, ..column }
}

/// A column that is empty in most runs.
const fn rare<Of: Copy>(column: Column<Of>) -> Column<Of> {
    Column { is_rare: true, ..column }
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Not applicable.
    Nothing,
    /// Not known, or not measured.
    Unknown,
    /// A name, or numbers with words.
    Text(String),
    /// A count.
    Whole(u64),
    /// A measured value.
    Number(f64),
    /// A median and its interval.
    Median(Median),
    /// A mean and half the width of its interval.
    Mean(f64, Option<f64>),
}

impl Value {
    /// Formatted for people: rounded to significant digits, with a dash for unknown values.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Unknown => known(None),
            Self::Text(text) => text.clone(),
            Self::Whole(count) => count.to_string(),
            Self::Number(value) => plain(*value),
            Self::Median(median) => ranged(*median),
            Self::Mean(mean, half_width) => uncertain(*mean, *half_width),
        }
    }

    /// Formatted for programs: with every digit, and empty for unknown values; no text is a formula.
    pub(crate) fn written(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Appends it as it is [`written`](Self::written).
    pub(crate) fn write(&self, to: &mut String) {
        // A string takes whatever is written into it.
        _ = match self {
            Self::Nothing | Self::Unknown => Ok(()),
            Self::Text(text) => to.write_str(&in_cell(text)),
            Self::Whole(count) => write!(to, "{count}"),
            Self::Number(value) | Self::Mean(value, _) => write!(to, "{value}"),
            Self::Median(median) => write!(to, "{}", median.value),
        };
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Whole(count)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Median> for Value {
    fn from(median: Median) -> Self {
        Self::Median(median)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, T::into)
    }
}

/// A cell of a table of a run, from a row of the summary and a line of it, counted from 0.
pub(crate) type OfLine = fn(&SummaryRow, usize) -> Value;

/// A table of a run: each row of the summary has some lines in it.
#[derive(Debug)]
pub(crate) struct Table {
    /// The title.
    pub(crate) title: &'static str,
    /// The columns, without the first, which is the label of the row.
    pub(crate) columns: &'static [Column<OfLine>],
    /// How many lines a row has; may be none.
    pub(crate) lines: fn(&SummaryRow) -> usize,
    /// The note below the table.
    pub(crate) note: &'static str,
}

/// The tables of a run, in the order of the screen.
pub(crate) const TABLES: [&Table; 14] = [
    &authentication::DELAY,
    &links::MESSAGES,
    &nodes::CPU,
    &nodes::MEMORY,
    &traffic::TRAFFIC,
    &moves::MOVES,
    &load::RATES,
    &population::ATTEMPTS,
    &population::DELAYS,
    &population::NODES,
    &population::LOSS,
    &population::LINKS,
    &load::CPU,
    &load::REASONS,
];

/// The medium of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// At most a hundred columns of text.
    Screen,
    /// As wide as need be.
    Page,
}

impl Medium {
    fn has<Of>(self, column: &Column<Of>) -> bool {
        self == Self::Page || !column.is_wide
    }

    /// The head of a column in this medium; it has a mark if CPU time is of cryptography only.
    pub(crate) fn head<Of>(self, column: &Column<Of>, is_cryptography_only: bool) -> &'static str {
        let marked = column.marked.filter(|_| is_cryptography_only);
        marked.or(column.short.filter(|_| self == Self::Screen)).unwrap_or(column.head)
    }
}

impl Table {
    /// Whether any row has a value in this column.
    pub(crate) fn is_told<'a>(&self, rows: impl IntoIterator<Item = &'a SummaryRow>) -> bool {
        rows.into_iter().any(|row| (self.lines)(row) > 0)
    }

    /// The columns that are empty in most runs but not in this one.
    pub(crate) fn rare<'a>(
        &self,
        rows: &'a [SummaryRow],
    ) -> impl Iterator<Item = &'static Column<OfLine>> + use<'a> {
        let is_told = |column: &&Column<OfLine>| rows.iter().any(|row| (column.of)(row, 0) != Value::Nothing);
        self.columns.iter().filter(|column| column.is_rare).filter(is_told)
    }

    /// A cell; empty where the row has fewer lines.
    fn cell(&self, column: &Column<OfLine>, row: &SummaryRow, line: usize) -> Value {
        if line < (self.lines)(row) { (column.of)(row, line) } else { Value::Nothing }
    }
}

/// The columns of tables side by side, each with its table. Leading columns that they share, like the node, appear once.
fn side_by_side(tables: &[&'static Table], medium: Medium) -> Vec<(&'static Table, &'static Column<OfLine>)> {
    let mut all: Vec<(&Table, &Column<OfLine>)> = Vec::new();
    for &table in tables {
        for column in table.columns.iter().filter(|column| medium.has(column)) {
            if all.iter().all(|(_, known)| known.head != column.head) {
                all.push((table, column));
            }
        }
    }
    all
}

/// The columns of tables side by side.
pub(crate) fn columns(
    tables: &[&'static Table],
    medium: Medium,
) -> impl Iterator<Item = &'static Column<OfLine>> + use<> {
    side_by_side(tables, medium).into_iter().map(|(_, column)| column)
}

/// The lines of a row in tables side by side, as many as the longest of them has.
pub(crate) fn values(tables: &[&'static Table], row: &SummaryRow, medium: Medium) -> Vec<Vec<Value>> {
    let columns = side_by_side(tables, medium);
    let count = tables.iter().map(|table| (table.lines)(row)).max().unwrap_or(0);
    let line = |line| columns.iter().map(|(table, column)| table.cell(column, row, line)).collect();
    (0..count).map(line).collect()
}

/// The same as text for people.
pub(crate) fn lines(tables: &[&'static Table], row: &SummaryRow, medium: Medium) -> Vec<Vec<String>> {
    let shown = |line: Vec<Value>| line.iter().map(Value::shown).collect();
    values(tables, row, medium).into_iter().map(shown).collect()
}
