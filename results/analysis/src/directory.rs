//! A run directory, measured: `manifest.json`, `trace/` and `costs/` in, [`Findings`] out.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use keytoll_trace::file::{ReadError, Reader, Recorded};
use keytoll_trace::manifest::{Manifest, ManifestError, ManifestRow};

use crate::metrics::{Meter, Sample, Tally};
use crate::study::{Account, Material, SUPPLEMENT, Study, Supplement, SupplementError};
use crate::summary::{Summary, summarise};

/// The file that says what is in a run directory.
pub const MANIFEST: &str = "manifest.json";

/// Everything known of a run.
#[derive(Debug, Clone)]
pub struct Findings {
    /// What was run, and on what.
    pub manifest: Manifest,
    /// The statistics, in the order of the plan; an interrupted run has fewer rows than its manifest.
    pub rows: Vec<RowFindings>,
    /// The public account of them.
    pub summary: Summary,
    /// What was measured besides the run.
    pub supplement: Supplement,
    /// The same beside what a paper printed, if the run belongs to a study.
    pub study: Option<Account>,
}

/// What is known of a row.
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
        Self { manifest, rows, summary, supplement: Supplement::default(), study: None }
            .supplemented(Supplement::default())
    }

    /// The same with what was measured besides the run.
    #[must_use]
    pub fn supplemented(self, supplement: Supplement) -> Self {
        let study = self.manifest.study.as_deref().and_then(Study::named);
        let material = Material { summary: &self.summary, supplement: &supplement };
        let study = study.map(|study| study.account(&material));
        Self { supplement, study, ..self }
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
        /// What the operating system said.
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
    /// What was measured besides the run.
    #[error("cannot use {}: {source}", path.display())]
    Supplement {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SupplementError,
    },
    /// A trace or cost file that cannot be read.
    #[error("cannot use {}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// The receiver of the samples gave up.
    #[error("cannot write the samples: {0}")]
    Sink(io::Error),
}

/// Reads the manifest of a run directory.
pub fn manifest(directory: &Path) -> Result<Manifest, DirectoryError> {
    let path = directory.join(MANIFEST);
    let file = open(&path)?;
    Manifest::read(file).map_err(|source| DirectoryError::Manifest { path, source })
}

/// Measures every row of a run directory; `sink` gets each authentication once, row by row. Rows whose
/// files an interrupted run never wrote, and damaged ends of its last files, are left out.
pub fn measure(
    directory: &Path,
    sink: &mut dyn FnMut(&ManifestRow, &Sample) -> io::Result<()>,
) -> Result<Findings, DirectoryError> {
    let manifest = manifest(directory)?;
    let mut rows = Vec::with_capacity(manifest.rows.len());
    for row in &manifest.rows {
        if !manifest.complete && !has_begun(directory, row) {
            continue;
        }
        let tally = measure_row(directory, row, manifest.complete, sink)?;
        rows.push(RowFindings { row: row.clone(), tally });
    }
    Ok(Findings::new(manifest, rows).supplemented(supplement(directory)?))
}

/// What was measured besides the run; nothing, if there is no such file.
fn supplement(directory: &Path) -> Result<Supplement, DirectoryError> {
    let path = directory.join(SUPPLEMENT);
    if !path.exists() {
        return Ok(Supplement::default());
    }
    let file = BufReader::new(open(&path)?);
    Supplement::read(file).map_err(|source| DirectoryError::Supplement { path, source })
}

/// Whether both files of a row were written to at all.
fn has_begun(directory: &Path, row: &ManifestRow) -> bool {
    let begun = |name: &str| directory.join(name).metadata().is_ok_and(|file| file.len() > 0);
    begun(&row.trace) && begun(&row.costs)
}

/// Measures one row; the costs of an authentication are read with its records.
fn measure_row(
    directory: &Path,
    row: &ManifestRow,
    complete: bool,
    sink: &mut dyn FnMut(&ManifestRow, &Sample) -> io::Result<()>,
) -> Result<Tally, DirectoryError> {
    let mut records = Source::open(directory.join(&row.trace), complete)?;
    let mut costs = Source::open(directory.join(&row.costs), complete)?;
    let mut refused = None;
    let mut meter = Meter::new(|sample: &Sample| {
        if refused.is_none() {
            refused = sink(row, sample).err();
        }
    });
    meter.feed(records.by_ref(), costs.by_ref());
    let tally = meter.finish();
    match refused.map(DirectoryError::Sink).or(records.error).or(costs.error) {
        Some(error) => Err(error),
        None => Ok(tally),
    }
}

/// The records of a file until its end or the first error, which is kept.
struct Source<R: Recorded> {
    path: PathBuf,
    reader: Reader<R, BufReader<File>>,
    /// An interrupted run may have been cut off in the middle of a record.
    whole: bool,
    error: Option<DirectoryError>,
}

impl<R: Recorded> Source<R> {
    fn open(path: PathBuf, whole: bool) -> Result<Self, DirectoryError> {
        let reader = Reader::new(BufReader::new(open(&path)?));
        match reader {
            Ok(reader) => Ok(Self { path, reader, whole, error: None }),
            Err(source) => Err(DirectoryError::Records { path, source }),
        }
    }
}

impl<R: Recorded> Iterator for Source<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        match self.reader.next()? {
            Ok(record) => Some(record),
            Err(ReadError::Io(error)) if !self.whole && error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(source) => {
                self.error.get_or_insert(DirectoryError::Records { path: self.path.clone(), source });
                None
            }
        }
    }
}

fn open(path: &Path) -> Result<File, DirectoryError> {
    File::open(path).map_err(|source| DirectoryError::Open { path: path.to_owned(), source })
}
