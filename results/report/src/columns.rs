//! The columns of all tables of a run, each in one place: what stands above it, what its numbers are numbers of, what it is,
//! where a cell comes from and how it is printed. The screen, the page and the CSV files only lay them out, and
//! `docs/columns.md` and the schemas of the CSV files are made of them.
//!
//! A file here has the columns about one thing, those of the CSV file and those of the table side by side.

pub(crate) mod authentication;
pub(crate) mod beside;
pub(crate) mod kinds;
pub(crate) mod links;
pub(crate) mod nodes;
pub(crate) mod traffic;

use keytoll_analysis::summary::{Median, SummaryRow};

use crate::number::{known, plain, ranged, uncertain};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<Of> {
    /// What stands above it.
    pub(crate) head: &'static str,
    /// What its numbers are numbers of; empty where they are none, or names.
    pub(crate) unit: &'static str,
    /// What it is; empty where its head says so.
    pub(crate) meaning: &'static str,
    /// Where a cell comes from.
    pub(crate) of: Of,
    /// What stands above it on the screen, if that is shorter.
    short: Option<&'static str>,
    /// Whether the screen has no room for it.
    is_wide: bool,
    /// Whether most runs have nothing in it, so that it is explained below the tables of those only that have.
    pub(crate) is_rare: bool,
}

pub(crate) const fn column<Of: Copy>(
    head: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: Of,
) -> Column<Of> {
    Column { head, unit, meaning, of, short: None, is_wide: false, is_rare: false }
}

/// A column that has another head on the screen.
const fn short<Of: Copy>(head: &'static str, column: Column<Of>) -> Column<Of> {
    Column { short: Some(head), ..column }
}

/// A column that the page alone has room for.
const fn wide<Of: Copy>(column: Column<Of>) -> Column<Of> {
    Column { is_wide: true, ..column }
}

/// A column that most runs have nothing in.
const fn rare<Of: Copy>(column: Column<Of>) -> Column<Of> {
    Column { is_rare: true, ..column }
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Nothing is to be said there.
    Nothing,
    /// Something that is not known, or was not measured.
    Unknown,
    /// A name, or numbers with words.
    Text(String),
    /// What was counted.
    Whole(u64),
    /// What was measured.
    Number(f64),
    /// A median and its interval.
    Median(Median),
    /// A mean and half the width of its interval.
    Mean(f64, Option<f64>),
}

impl Value {
    /// For people: as many digits as they deserve, and a dash for what is not known.
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

    /// For programs: every digit, and nothing for what is not known.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Nothing | Self::Unknown => String::new(),
            Self::Text(text) => text.clone(),
            Self::Whole(count) => count.to_string(),
            Self::Number(value) | Self::Mean(value, _) => value.to_string(),
            Self::Median(median) => median.value.to_string(),
        }
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

/// A table of a run, in which every row of the summary has some lines.
#[derive(Debug)]
pub(crate) struct Table {
    /// What it is about.
    pub(crate) title: &'static str,
    /// Its columns, behind the one that says of which row a line is.
    pub(crate) columns: &'static [Column<OfLine>],
    /// How many lines a row has; none where it has nothing to say.
    pub(crate) lines: fn(&SummaryRow) -> usize,
    /// What a reader must know of it.
    pub(crate) note: &'static str,
}

/// The tables of a run, in the order of the screen.
pub(crate) const TABLES: [&Table; 5] =
    [&authentication::DELAY, &links::MESSAGES, &nodes::CPU, &nodes::MEMORY, &traffic::TRAFFIC];

/// Where a table is laid out.
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

    /// What stands above a column.
    pub(crate) fn head<Of>(self, column: &Column<Of>) -> &'static str {
        column.short.filter(|_| self == Self::Screen).unwrap_or(column.head)
    }
}

impl Table {
    /// Whether any row has something to say.
    pub(crate) fn is_told<'a>(&self, rows: impl IntoIterator<Item = &'a SummaryRow>) -> bool {
        rows.into_iter().any(|row| (self.lines)(row) > 0)
    }

    /// The columns that only some runs have something in, if this is one of them.
    pub(crate) fn rare<'a>(
        &self,
        rows: &'a [SummaryRow],
    ) -> impl Iterator<Item = &'static Column<OfLine>> + use<'a> {
        let is_told = |column: &&Column<OfLine>| rows.iter().any(|row| (column.of)(row, 0) != Value::Nothing);
        self.columns.iter().filter(|column| column.is_rare).filter(is_told)
    }

    /// A cell; nothing where the row has fewer lines.
    fn cell(&self, column: &Column<OfLine>, row: &SummaryRow, line: usize) -> Value {
        if line < (self.lines)(row) { (column.of)(row, line) } else { Value::Nothing }
    }
}

/// The columns of tables side by side, each with its table. What several of them begin with, like the node that a line is
/// about, stands once.
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
pub(crate) fn lines(tables: &[&'static Table], row: &SummaryRow, medium: Medium) -> Vec<Vec<String>> {
    let columns = side_by_side(tables, medium);
    let count = tables.iter().map(|table| (table.lines)(row)).max().unwrap_or(0);
    let line = |line| columns.iter().map(|(table, column)| table.cell(column, row, line).shown()).collect();
    (0..count).map(line).collect()
}

/// What the heads of the tables mean, where they do not say so.
pub(crate) fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let columns = TABLES.into_iter().flat_map(|table| table.columns);
    columns.map(|column| (column.head, column.meaning)).filter(|(_, meaning)| !meaning.is_empty())
}
