//! The lines of a CSV file: which columns they have, and what is wrong with them.

use std::io::{self, Read};

use csv::{ErrorKind, Position, StringRecord};

use crate::csv::{FileColumn, Holds};

/// The longest line that is read: ours have a few kilobytes.
const LINE_BYTES_MAX: usize = 1 << 20;

/// So much of a cell is told.
const SHOWN_LETTERS: usize = 80;

/// A file whose lines end: one that is longer takes no memory.
pub(super) struct Bounded<R> {
    input: R,
    /// How much of the line may come still.
    left: usize,
}

impl<R> Bounded<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, left: LINE_BYTES_MAX }
    }

    /// A line has ended.
    pub(super) const fn begin_line(&mut self) {
        self.left = LINE_BYTES_MAX;
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(format!("a line is longer than {LINE_BYTES_MAX} bytes")));
        }
        let wanted = into.len().min(self.left);
        let read = self.input.read(&mut into[..wanted])?;
        self.left -= read;
        Ok(read)
    }
}

/// Why a CSV file is no table of ours.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(io::Error),
    /// It is empty.
    #[error("it has no line with the names of its columns")]
    Headless,
    /// A column of nobody.
    #[error("line 1: this keytoll knows no column `{0}`")]
    Unknown(String),
    /// A column that is there already.
    #[error("line 1: there are two columns `{0}`")]
    Twice(String),
    /// A line that is too short or too long.
    #[error("line {line} has {found} cells, and there are {wanted} columns")]
    Length {
        /// The line, from 1.
        line: u64,
        /// How many cells it has.
        found: u64,
        /// How many it should have.
        wanted: u64,
    },
    /// A cell that is no text.
    #[error("line {line}, cell {cell}: it is not in UTF-8")]
    Letters {
        /// The line, from 1.
        line: u64,
        /// The cell, from 1.
        cell: usize,
    },
    /// A cell that holds something else than its column.
    #[error("line {line}, column `{column}`: `{cell}` stands where {} belongs", holds.words())]
    Cell {
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// The cell.
        cell: String,
        /// What its column holds.
        holds: Holds,
    },
}

impl Unfit {
    /// A cell that holds something else than its column.
    pub(super) fn cell(line: &StringRecord, column: &FileColumn, cell: &str) -> Self {
        Self::Cell {
            line: number(line.position()),
            column: column.name.clone(),
            cell: shown(cell),
            holds: column.holds,
        }
    }
}

impl From<csv::Error> for Unfit {
    fn from(error: csv::Error) -> Self {
        let said = error.to_string();
        match error.into_kind() {
            ErrorKind::Io(error) => Self::Unreadable(error),
            ErrorKind::UnequalLengths { pos, expected_len, len } => {
                Self::Length { line: number(pos.as_ref()), found: len, wanted: expected_len }
            }
            ErrorKind::Utf8 { pos, err } => {
                Self::Letters { line: number(pos.as_ref()), cell: err.field() + 1 }
            }
            _ => Self::Unreadable(io::Error::other(said)),
        }
    }
}

/// The beginning of a cell, for a terminal.
fn shown(cell: &str) -> String {
    cell.chars().take(SHOWN_LETTERS).flat_map(char::escape_default).collect()
}

fn number(position: Option<&Position>) -> u64 {
    position.map_or(0, Position::line)
}

/// The columns of a table by the names in its first line. A table of an earlier keytoll has fewer than we know.
pub(super) fn columns(head: &StringRecord, known: &[FileColumn]) -> Result<Vec<FileColumn>, Unfit> {
    if head.is_empty() {
        return Err(Unfit::Headless);
    }
    let mut columns: Vec<FileColumn> = Vec::with_capacity(head.len());
    for name in head {
        let Some(column) = known.iter().find(|column| column.name == name) else {
            return Err(Unfit::Unknown(shown(name)));
        };
        if columns.contains(column) {
            return Err(Unfit::Twice(column.name.clone()));
        }
        columns.push(column.clone());
    }
    Ok(columns)
}
