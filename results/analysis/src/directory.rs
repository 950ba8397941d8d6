//! Measuring a run directory: `manifest.json`, `trace/` and `costs/` in, [`Findings`] out.

mod rows;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::iter;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, Scope};

use keytoll_census as census;
use keytoll_trace::file::{ReadError, Reader, Recorded};
use keytoll_trace::listing::{FileError, LOAD, POPULATION, RunFile};
use keytoll_trace::manifest::{Manifest, ManifestError, ManifestRow};
use keytoll_trace::{Cost, Record, regular};

use crate::metrics::{Meter, Sample, Tally};
use crate::study::{Account, SUPPLEMENT, Supplement, SupplementError};
use crate::summary::{Summary, summarise, summarise_population};

pub use keytoll_trace::listing::MANIFEST;
use rows::side_by_side;
pub use rows::{PIECE_BYTES, Pieces};

/// The longest `population.json` that is read: a day of one row has some fifty megabytes.
const POPULATION_BYTES_MAX: u64 = 1 << 28;
/// The longest `load.json` that is read; one that is written has a few kilobytes.
const LOAD_BYTES_MAX: u64 = 4 << 20;
/// How much of a file of records is read at a time.
const BUFFER_BYTES: usize = 1 << 16;
/// How many records one thread hands to another at a time, and how many times ahead.
const BATCH_RECORDS: usize = 2048;
const BATCHES_AHEAD: usize = 4;

/// All results of a run.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The plan and the machine.
    pub manifest: Manifest,
    /// The statistics, in the order of the plan; an interrupted run has fewer rows than its manifest.
    pub rows: Vec<RowFindings>,
    /// The same for people and programs.
    pub summary: Summary,
    /// Measurements besides the run.
    pub supplement: Supplement,
    /// The comparison with what a paper printed, once `keytoll-studies` has made it.
    pub study: Option<Account>,
    /// What populations have come to, in the order of the plan; empty without.
    pub populations: Vec<Population>,
}

/// What the population of a row has come to.
#[derive(Debug, Clone)]
pub struct Population {
    /// What was run.
    pub row: ManifestRow,
    /// What was counted.
    pub account: census::Account,
}

/// The results of a row.
#[derive(Debug, Clone)]
pub struct RowFindings {
    /// What was run.
    pub row: ManifestRow,
    /// Its statistics.
    pub tally: Tally,
}

impl Findings {
    /// Writes up measured rows.
    pub fn new(manifest: Manifest, rows: Vec<RowFindings>) -> Self {
        let summary = summarise(&manifest, rows.iter().map(|row| (&row.row, &row.tally)));
        let (supplement, study, populations) = (Supplement::default(), None, Vec::new());
        Self { manifest, rows, summary, supplement, study, populations }
    }

    /// Writes up populations.
    pub fn of_populations(manifest: Manifest, accounts: census::Accounts) -> Self {
        let found = manifest.rows.iter().cloned().zip(accounts.rows);
        let populations: Vec<_> =
            found.filter_map(|(row, account)| Some(Population { row, account: account? })).collect();
        let rows = populations.iter().map(|one| summarise_population(&one.row, &one.account)).collect();
        let complete = manifest.complete && populations.len() == manifest.rows.len();
        let empty = Self::new(manifest, Vec::new());
        Self { summary: Summary { complete, rows, ..empty.summary.clone() }, populations, ..empty }
    }

    /// Adds what a load tells besides its population, if it is one.
    fn with_load(mut self, directory: &Path) -> Result<Self, DirectoryError> {
        let path = directory.join(LOAD);
        if path.symlink_metadata().is_err() {
            return Ok(self);
        }
        unchanged(directory, &self.manifest, LOAD)?;
        let read = regular::read_text(&path, LOAD_BYTES_MAX);
        let load = read.and_then(|text| Ok(serde_json::from_str(&text)?));
        let load = load.map_err(|source| DirectoryError::Population { path, source })?;
        if let [row] = &mut self.summary.rows[..] {
            row.load = Some(load);
        }
        Ok(self)
    }

    /// Adds measurements besides the run.
    #[must_use]
    pub fn supplemented(self, supplement: Supplement) -> Self {
        Self { supplement, ..self }
    }
}

/// Why a run directory cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file that cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A manifest that cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ManifestError,
    },
    /// The measurements besides the run cannot be read.
    #[error("cannot use {}: {source}", path.display())]
    Supplement {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SupplementError,
    },
    /// What populations have come to cannot be read.
    #[error("cannot use {}: {source}", path.display())]
    Population {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A trace or cost file cannot be read.
    #[error("cannot use {}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// A file's length or contents differ from the manifest.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// The traces of the run were not kept.
    #[error("{} has no traces to measure: it was run with --no-trace", .0.display())]
    Untraced(PathBuf),
    /// The run keeps no traces, and has not written its results.
    #[error("{} has no results: the run goes on, or it was ended before it wrote them", .0.display())]
    Unfinished(PathBuf),
    /// A run that has ended lists a file that is missing, or does not list one that is there.
    #[error("{} does not say that the run has {file}, although it has ended", manifest.display())]
    Unlisted {
        /// The manifest.
        manifest: PathBuf,
        /// The file.
        file: String,
    },
    /// The receiver of the samples failed.
    #[error("cannot write the samples: {0}")]
    Sink(io::Error),
}

/// What makes text of the authentications of a row.
pub trait Lines {
    /// Writes that of an authentication.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(&mut self, sample: &Sample) -> io::Result<()>;

    /// Writes what it has gathered.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(self) -> io::Result<()>;
}

/// No text.
impl Lines for () {
    fn write(&mut self, _sample: &Sample) -> io::Result<()> {
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the manifest of a run directory.
///
/// # Errors
/// It cannot be opened, or is not a manifest of this format.
pub fn manifest(directory: &Path) -> Result<Manifest, DirectoryError> {
    let path = directory.join(MANIFEST);
    let file = open(&path)?;
    Manifest::read(file).map_err(|source| DirectoryError::Manifest { path, source })
}

/// Checks that a file is what was written, as the manifest lists it; of a run that is still going on none is listed yet.
///
/// # Errors
/// It has been changed or removed, or somebody else put it there.
pub fn unchanged(directory: &Path, manifest: &Manifest, file: &str) -> Result<(), DirectoryError> {
    let Some(listed) = manifest.file(file) else {
        let unlisted =
            || DirectoryError::Unlisted { manifest: directory.join(MANIFEST), file: file.to_owned() };
        return if manifest.is_sealed() { Err(unlisted()) } else { Ok(()) };
    };
    listed.check(directory).map_err(|source| DirectoryError::File { path: directory.join(file), source })
}

/// Reads the supplement of a run; empty without the file.
///
/// # Errors
/// It cannot be read, or has been changed.
pub fn supplement(directory: &Path, manifest: &Manifest) -> Result<Supplement, DirectoryError> {
    let path = directory.join(SUPPLEMENT);
    if let Some(file) = manifest.file(SUPPLEMENT) {
        file.check(directory).map_err(|source| DirectoryError::File { path: path.clone(), source })?;
    }
    if !path.exists() {
        return Ok(Supplement::default());
    }
    let file = BufReader::new(open(&path)?);
    Supplement::read(file).map_err(|source| DirectoryError::Supplement { path, source })
}

/// Measures every row of a run directory, as [`measure_into`] does, and makes no text of it.
///
/// # Errors
/// A file cannot be read, or has been changed.
pub fn measure(directory: &Path) -> Result<Findings, DirectoryError> {
    measure_into(directory, |_, _| (), &mut io::sink())
}

/// Measures every row of a run directory, several at the same time. `lines_of` a row get each of its authentications once, in order
/// of their conclusion; the text that they make of them is written to `out` row by row.
///
/// Every file must be unchanged. Only for a run that is still going on or was killed, whose manifest does not list the lengths of
/// its files yet, they may be truncated: their complete records are measured, and the run is marked as not complete.
///
/// # Errors
/// A file cannot be read, or has been changed.
pub fn measure_into<L: Lines>(
    directory: &Path,
    lines_of: impl Fn(&ManifestRow, Pieces) -> L + Sync,
    out: &mut dyn Write,
) -> Result<Findings, DirectoryError> {
    let manifest = manifest(directory)?;
    let populations = directory.join(POPULATION);
    if !manifest.traced && (populations.is_file() || manifest.file(POPULATION).is_some()) {
        unchanged(directory, &manifest, POPULATION)?;
        let text = regular::read_text(&populations, POPULATION_BYTES_MAX);
        let accounts = text.and_then(|text| Ok(census::Accounts::parse(&text)?));
        let accounts =
            accounts.map_err(|source| DirectoryError::Population { path: populations.clone(), source });
        return Findings::of_populations(manifest, accounts?).with_load(directory);
    }
    if !manifest.traced {
        let directory = directory.to_owned();
        let has_ended = manifest.is_sealed();
        return Err(if has_ended {
            DirectoryError::Untraced(directory)
        } else {
            DirectoryError::Unfinished(directory)
        });
    }
    let run = Run { directory, manifest: &manifest };
    run.check_lengths()?;
    let rows = run.measure_rows(&lines_of, out)?;
    let supplement = supplement(directory, run.manifest)?;
    Ok(Findings::new(manifest, rows).supplemented(supplement))
}

/// Where the records of a row are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// In the thread that measures them.
    Between,
    /// In a thread of its own, because cores have nothing else to do.
    Beside,
}

/// A run directory and its manifest.
struct Run<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
}

impl Run<'_> {
    /// Whether files may break off.
    fn may_break_off(&self) -> bool {
        !self.manifest.complete && !self.manifest.is_sealed()
    }

    /// Checks that everything that cannot be recomputed has its original length. Captures may have been removed.
    fn check_lengths(&self) -> Result<(), DirectoryError> {
        let is_measured = |file: &&RunFile| [".trace", ".costs"].iter().any(|end| file.path.ends_with(end));
        let is_kept = |file: &&RunFile| {
            file.path.ends_with(".pcapng") && self.directory.join(&file.path).symlink_metadata().is_ok()
        };
        let files = self.manifest.files.iter().filter(|file| is_measured(file) || is_kept(file));
        for file in files {
            file.check_length(self.directory).map_err(|source| self.damaged(&file.path, source))?;
        }
        Ok(())
    }

    fn damaged(&self, file: &str, source: FileError) -> DirectoryError {
        DirectoryError::File { path: self.directory.join(file), source }
    }

    /// The rows of which there are records.
    fn begun(&self) -> Result<Vec<&ManifestRow>, DirectoryError> {
        let begun = |row| Ok(self.has_begun(row)?.then_some(row));
        self.manifest.rows.iter().filter_map(|row| begun(row).transpose()).collect()
    }

    /// Whether there are records of a row. Only a run that is not complete may lack them.
    fn has_begun(&self, row: &ManifestRow) -> Result<bool, DirectoryError> {
        if self.may_break_off() {
            return Ok(self.is_readable::<Record>(&row.trace) && self.is_readable::<Cost>(&row.costs));
        }
        if !self.manifest.is_sealed() {
            return Ok(true);
        }
        let missing = [&row.trace, &row.costs].into_iter().find(|file| self.manifest.file(file).is_none());
        match missing {
            Some(file) if self.manifest.complete => {
                Err(DirectoryError::Unlisted { manifest: self.directory.join(MANIFEST), file: file.clone() })
            }
            missing => Ok(missing.is_none()),
        }
    }

    /// Whether a possibly truncated file exists and has its beginning.
    fn is_readable<R: Recorded>(&self, file: &str) -> bool {
        let opened = regular::open(&self.directory.join(file));
        opened.is_ok_and(|file| {
            !matches!(Reader::<R, _>::new(BufReader::new(file)), Err(ReadError::Unfinished { .. }))
        })
    }

    /// Measures all rows, as many at a time as there are cores.
    fn measure_rows<L: Lines>(
        &self,
        lines_of: &(impl Fn(&ManifestRow, Pieces) -> L + Sync),
        out: &mut dyn Write,
    ) -> Result<Vec<RowFindings>, DirectoryError> {
        let begun = self.begun()?;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let reading = if begun.len() < cores { Reading::Beside } else { Reading::Between };
        let measure = |row: &ManifestRow, text| {
            let tally = self.measure_row(row, reading, lines_of(row, text))?;
            Ok(RowFindings { row: row.clone(), tally })
        };
        side_by_side(&begun, cores.min(begun.len()), &measure, out)
    }

    /// Measures one row; the costs of an authentication are read with its records.
    fn measure_row(
        &self,
        row: &ManifestRow,
        reading: Reading,
        mut lines: impl Lines,
    ) -> Result<Tally, DirectoryError> {
        let may_break_off = self.may_break_off();
        let mut records = Source::open(self.directory.join(&row.trace), may_break_off)?;
        let mut costs = Source::open(self.directory.join(&row.costs), may_break_off)?;
        let mut written = Ok(());
        let mut meter = Meter::new(|sample: &Sample| {
            if written.is_ok() {
                written = lines.write(sample);
            }
        });
        match reading {
            _ if may_break_off => meter.feed(Settled::of(records.by_ref()), costs.by_ref()),
            Reading::Between => meter.feed(records.by_ref(), costs.by_ref()),
            Reading::Beside => thread::scope(|scope| meter.feed(records.ahead(scope), costs.by_ref())),
        }
        // Records that were not requested may be damaged all the same.
        records.by_ref().for_each(drop);
        costs.by_ref().for_each(drop);
        let tally = meter.finish();
        written.and_then(|()| lines.finish()).map_err(DirectoryError::Sink)?;
        records.error.or(costs.error).map_or(Ok(tally), Err)
    }
}

/// The records of a file until its end or the first error, which is kept.
struct Source<R: Recorded> {
    path: PathBuf,
    reader: Reader<R, BufReader<File>>,
    /// Whether truncation is no error.
    may_break_off: bool,
    /// Whether it is truncated.
    broke_off: bool,
    error: Option<DirectoryError>,
}

impl<R: Recorded> Source<R> {
    fn open(path: PathBuf, may_break_off: bool) -> Result<Self, DirectoryError> {
        let reader = Reader::new(BufReader::with_capacity(BUFFER_BYTES, open(&path)?));
        match reader {
            Ok(reader) => Ok(Self { path, reader, may_break_off, broke_off: false, error: None }),
            Err(source) => Err(DirectoryError::Records { path, source }),
        }
    }
}

impl<R: Recorded + Send> Source<R> {
    /// Its records, read in a thread of its own.
    fn ahead<'scope>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
    ) -> impl Iterator<Item = R> + use<'scope, R> {
        let (to, from) = mpsc::sync_channel(BATCHES_AHEAD);
        scope.spawn(move || {
            let batches = iter::repeat_with(|| self.batch()).take_while(|batch| !batch.is_empty());
            // Nobody takes them any more when measuring has panicked.
            batches.map(|batch| to.send(batch)).take_while(Result::is_ok).for_each(drop);
        });
        from.into_iter().flatten()
    }

    /// The next records; none at the end.
    fn batch(&mut self) -> Vec<R> {
        let mut batch = Vec::with_capacity(BATCH_RECORDS);
        batch.extend(self.by_ref().take(BATCH_RECORDS));
        batch
    }
}

impl<R: Recorded> Iterator for Source<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        match self.reader.next()? {
            Ok(record) => Some(record),
            Err(ReadError::Unfinished { .. }) if self.may_break_off => {
                self.broke_off = true;
                None
            }
            Err(source) => {
                self.error.get_or_insert(DirectoryError::Records { path: self.path.clone(), source });
                None
            }
        }
    }
}

/// The records of a possibly truncated file, without those since its last authentication started, whose outcome is
/// unknown.
struct Settled<'a> {
    source: &'a mut Source<Record>,
    newest: Option<u32>,
    /// Records since the newest authentication started.
    held: VecDeque<Record>,
    /// Records ready to be returned.
    told: VecDeque<Record>,
}

impl<'a> Settled<'a> {
    fn of(source: &'a mut Source<Record>) -> Self {
        Self { source, newest: None, held: VecDeque::new(), told: VecDeque::new() }
    }
}

impl Iterator for Settled<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.told.is_empty() {
            let Some(record) = self.source.next() else {
                if !self.source.broke_off {
                    self.told.append(&mut self.held);
                }
                break;
            };
            if self.newest.is_none_or(|newest| record.sample > newest) {
                self.newest = Some(record.sample);
                self.told.append(&mut self.held);
            }
            self.held.push_back(record);
        }
        self.told.pop_front()
    }
}

fn open(path: &Path) -> Result<File, DirectoryError> {
    regular::open(path).map_err(|source| DirectoryError::Open { path: path.to_owned(), source })
}
