//! `samples.csv` of a run directory, line by line: what the authentications of a run were, and any of their numbers.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use keytoll_trace::listing::FileError;
use keytoll_trace::manifest::Manifest;
use keytoll_trace::regular;

use crate::compare::RowName;
use crate::directory::DirectoryError;

/// The file with a line for each authentication.
pub const SAMPLES: &str = "samples.csv";

/// Why samples cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no run directory, or a damaged one.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// It has no samples.
    #[error("{0} has no samples.csv")]
    NoSamples(String),
    /// Its samples are not those that were written.
    #[error("cannot use {place}/samples.csv: {source}")]
    File {
        /// The directory.
        place: String,
        /// Why.
        source: FileError,
    },
    /// Its samples are no table of ours.
    #[error("cannot use {place}/samples.csv: {why}")]
    Table {
        /// The directory.
        place: String,
        /// Why.
        why: String,
    },
}

/// Checks that the samples of a run directory are those that its manifest tells, by length and checksum.
///
/// # Errors
/// They are not, or there are none.
pub fn check(run: &Path, manifest: &Manifest) -> Result<(), ReadError> {
    let place = || run.display().to_string();
    match manifest.file(SAMPLES) {
        Some(file) => file.check(run).map_err(|source| ReadError::File { place: place(), source }),
        None if !run.join(SAMPLES).is_file() => Err(ReadError::NoSamples(place())),
        None => Ok(()),
    }
}

/// Which authentications count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counts {
    /// All of them.
    All,
    /// Those that were not disturbed if computation takes virtual time.
    Sound,
    /// Those that were not disturbed.
    Undisturbed,
}

/// The table, read from its beginning.
#[derive(Debug)]
pub struct Table<R> {
    csv: csv::Reader<R>,
    head: StringRecord,
    identity: Identity,
    line: StringRecord,
}

impl Table<BufReader<File>> {
    /// Opens the samples of a run directory.
    ///
    /// # Errors
    /// They cannot be read, or are no table of ours.
    pub fn open(run: &Path) -> Result<Self, ReadError> {
        let place = run.display().to_string();
        match regular::open(&run.join(SAMPLES)) {
            Ok(file) => Self::new(BufReader::new(file)).map_err(|why| ReadError::Table { place, why }),
            Err(error) => Err(ReadError::File { place, source: error.into() }),
        }
    }
}

impl<R: Read> Table<R> {
    /// Reads the names of the columns.
    ///
    /// # Errors
    /// They are not those of samples: why.
    pub fn new(input: R) -> Result<Self, String> {
        let mut csv = csv::Reader::from_reader(input);
        let head = csv.headers().map_err(|error| error.to_string())?.clone();
        Ok(Self { identity: Identity::of(&head)?, csv, head, line: StringRecord::new() })
    }

    /// The names of the columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.head.iter()
    }

    /// The place of a column.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns().position(|name| name == column)
    }

    /// The next authentication.
    ///
    /// # Errors
    /// The line is no line of this table: why.
    pub fn read_line(&mut self) -> Result<Option<Line<'_>>, String> {
        let is_line = self.csv.read_record(&mut self.line).map_err(|error| error.to_string())?;
        Ok(is_line.then_some(Line { identity: &self.identity, cells: &self.line }))
    }
}

/// Where the columns are that say what a line is about.
#[derive(Debug)]
struct Identity {
    row: [usize; 6],
    outcome: usize,
    charged: usize,
    disturbed: usize,
}

impl Identity {
    fn of(head: &StringRecord) -> Result<Self, String> {
        let place = |column: &str| {
            let found = head.iter().position(|name| name == column);
            found.ok_or_else(|| format!("it has no column `{column}`"))
        };
        let [method, variant, network] = ["method", "variant", "network"].map(place);
        let [topology, world, crypto] = ["topology", "world", "crypto"].map(place);
        Ok(Self {
            row: [method?, variant?, network?, topology?, world?, crypto?],
            outcome: place("outcome")?,
            charged: place("charged")?,
            disturbed: place("disturbed")?,
        })
    }
}

/// An authentication.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    identity: &'a Identity,
    cells: &'a StringRecord,
}

impl Line<'_> {
    fn cell(&self, place: usize) -> &str {
        self.cells.get(place).unwrap_or_default()
    }

    /// The row that it is of.
    pub fn name(&self) -> RowName {
        let [method, variant, network, topology, world, crypto] =
            self.identity.row.map(|place| self.cell(place).to_owned());
        RowName { method, variant, network, topology, world, crypto }
    }

    /// Whether it is of this row.
    pub fn is_of(&self, name: &RowName) -> bool {
        let RowName { method, variant, network, topology, world, crypto } = name;
        self.identity.row.map(|place| self.cell(place))
            == [method, variant, network, topology, world, crypto].map(String::as_str)
    }

    /// Whether it ended with a usable SA.
    pub fn has_succeeded(&self) -> bool {
        self.cell(self.identity.outcome) == "established"
    }

    /// Whether it is one of those that count.
    pub fn counts(&self, counts: Counts) -> bool {
        let is = |place: usize| self.cell(place) == "true";
        match counts {
            Counts::All => true,
            Counts::Sound => !(is(self.identity.charged) && is(self.identity.disturbed)),
            Counts::Undisturbed => !is(self.identity.disturbed),
        }
    }

    /// A number of it, about which an error tells; nothing where there is none.
    ///
    /// # Errors
    /// It is no number.
    pub fn number(&self, place: usize, about: &str) -> Result<Option<f64>, String> {
        let cell = self.cell(place);
        if cell.is_empty() {
            return Ok(None);
        }
        let value = cell.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
            let number = self.cells.position().map_or(0, csv::Position::line);
            format!("line {number}: `{}` of {about} is no number", cell.escape_default())
        })?;
        Ok(Some(value))
    }
}
