//! The tables of a run as Parquet files, for programs that read columns: each CSV file as one of the same name.
//!
//! They are made of the CSV files and not of the traces, because a run without traces has tables, too, and both then say the same.
//! What a column holds is declared with it ([`Holds`](crate::csv::Holds)): nothing is guessed from its cells. A line is read,
//! put into the columns of a row group and forgotten, so that a table of any length, and lines of any length, need the memory of one
//! group.

mod group;
mod layout;
mod lines;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use keytoll_analysis::directory::{DirectoryError, unchanged};
use keytoll_analysis::trace::manifest::Manifest;
use keytoll_analysis::trace::output::Output;
use keytoll_analysis::trace::regular;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::csv::{CsvFile, FILES};
use group::Rows;
use lines::Bounded;
pub use lines::Unfit;

/// Why a run has no Parquet files.
#[derive(Debug, thiserror::Error)]
pub enum ColumnarError {
    /// A table is not what was written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// It has no tables.
    #[error("{} has no tables: the run goes on, or it was ended before it wrote them", .0.display())]
    NoTables(PathBuf),
    /// A table is none of ours.
    #[error("cannot use {}: {why}", path.display())]
    Table {
        /// The CSV file.
        path: PathBuf,
        /// Why.
        why: Unfit,
    },
    /// Something else has the name of a table.
    #[error("{} is there already, and keytoll has not written it", .0.display())]
    Foreign(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a table is not written.
#[derive(Debug)]
enum Fault {
    Read(Unfit),
    Write(io::Error),
}

impl From<Unfit> for Fault {
    fn from(why: Unfit) -> Self {
        Self::Read(why)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes every table of a run into a folder, which is made if need be, and names the files. Earlier ones of keytoll are replaced,
/// and only when all tables are written.
///
/// # Errors
/// When a table is missing, damaged or has been changed, a file of somebody else has its name, or it cannot be written.
pub fn write(run: &Path, manifest: &Manifest, folder: &Path) -> Result<Vec<PathBuf>, ColumnarError> {
    let tables = tables(run, manifest, folder)?;
    let because = |path: &Path, source| ColumnarError::Write { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|error| because(folder, error))?;
    let facts = layout::facts(manifest);
    let written = tables.iter().map(|table| table.written(&facts)).collect::<Result<Vec<_>, _>>()?;
    for (table, output) in tables.iter().zip(written) {
        // Somebody may have put a file there meanwhile.
        table.replaces_nobodys()?;
        output.finish().map_err(|error| because(&table.target, error))?;
    }
    Ok(tables.into_iter().map(|table| table.target).collect())
}

/// A table of a run.
struct Table {
    /// What keytoll calls it, and which columns it may have.
    file: CsvFile,
    /// The CSV file.
    source: PathBuf,
    /// The Parquet file.
    target: PathBuf,
}

/// The tables that a run has, as they were written, none of which would replace a file of somebody else.
fn tables(run: &Path, manifest: &Manifest, folder: &Path) -> Result<Vec<Table>, ColumnarError> {
    let is_there = |file: &CsvFile| {
        if manifest.is_sealed() { manifest.file(file.name).is_some() } else { run.join(file.name).is_file() }
    };
    let table = |file: CsvFile| {
        let target = folder.join(file.name).with_extension("parquet");
        Table { file, source: run.join(file.name), target }
    };
    let tables: Vec<Table> = FILES.into_iter().filter(is_there).map(table).collect();
    for table in &tables {
        unchanged(run, manifest, table.file.name)?;
        table.replaces_nobodys()?;
    }
    if tables.is_empty() { Err(ColumnarError::NoTables(run.to_owned())) } else { Ok(tables) }
}

impl Table {
    /// Whether nothing has its name, or an earlier one of ours.
    fn replaces_nobodys(&self) -> Result<(), ColumnarError> {
        match regular::open(&self.target) {
            Ok(file) if is_ours(&file) => Ok(()),
            Ok(_) => Err(ColumnarError::Foreign(self.target.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(ColumnarError::Write { path: self.target.clone(), source }),
        }
    }

    /// The whole file, which is not in its place yet.
    fn written(&self, facts: &[layout::Fact]) -> Result<Output, ColumnarError> {
        let write = || -> Result<Output, Fault> {
            let input = BufReader::new(regular::open(&self.source).map_err(Unfit::Unreadable)?);
            let mut output = Output::create_in_run(&self.target)?;
            convert(input, self.file, facts, &mut output)?;
            Ok(output)
        };
        write().map_err(|fault| match fault {
            Fault::Read(why) => ColumnarError::Table { path: self.source.clone(), why },
            Fault::Write(source) => ColumnarError::Write { path: self.target.clone(), source },
        })
    }
}

/// Whether keytoll has written it.
fn is_ours(file: &File) -> bool {
    let read = ParquetMetaDataReader::new().parse_and_finish(file);
    read.is_ok_and(|data| data.file_metadata().created_by().is_some_and(layout::is_our_name))
}

/// Writes a table from its first line to its last.
fn convert(
    input: impl Read,
    CsvFile { name, columns }: CsvFile,
    facts: &[layout::Fact],
    out: impl Write + Send,
) -> Result<(), Fault> {
    let mut csv = csv::Reader::from_reader(Bounded::new(input));
    let columns = lines::columns(csv.headers().map_err(Unfit::from)?, &columns())?;
    let mut rows = Rows::new(name, columns, facts, out)?;
    let mut line = csv::StringRecord::new();
    while csv.read_record(&mut line).map_err(Unfit::from)? {
        rows.push(&line)?;
        csv.get_mut().begin_line();
    }
    Ok(rows.finish()?)
}
