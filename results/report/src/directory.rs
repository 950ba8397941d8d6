//! The files that a run directory gets from its traces: `samples.csv`, `operations.csv`, `messages.csv`,
//! `summary.json`, `report.html`, and of a study `study.json` and `supplement.json`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use keytoll_analysis::directory::{DirectoryError, measure};
use keytoll_analysis::study::{SUPPLEMENT, Supplement};
use keytoll_analysis::trace::manifest::ManifestRow;
use keytoll_analysis::{Findings, Sample};

use crate::{csv, html, study, summary};

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The traces cannot be measured.
    #[error(transparent)]
    Measure(#[from] DirectoryError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Measures a run directory and writes all its files, those that were there replaced.
pub fn render(directory: &Path) -> Result<Findings, RenderError> {
    let path = directory.join("samples.csv");
    let because = |source| RenderError::Write { path: path.clone(), source };
    let mut samples = create(&path).and_then(csv::Samples::new).map_err(because)?;
    let mut sink = |row: &ManifestRow, sample: &Sample| samples.write(row, sample);
    let findings = measure(directory, &mut sink)?;
    samples.finish().map_err(because)?;
    write(directory, &findings)?;
    Ok(findings)
}

/// Writes the files that need no single authentications: all but `samples.csv`.
pub fn write(directory: &Path, findings: &Findings) -> Result<(), RenderError> {
    file(directory, "operations.csv", |out| csv::operations(findings, out))?;
    file(directory, "messages.csv", |out| csv::messages(findings, out))?;
    file(directory, "summary.json", |out| summary::write(&findings.summary, out))?;
    if findings.supplement != Supplement::default() {
        file(directory, SUPPLEMENT, |out| findings.supplement.write(out))?;
    }
    if let Some(account) = &findings.study {
        file(directory, "study.json", |out| study::write_json(account, out))?;
    }
    file(directory, "report.html", |out| html::write(findings, out))
}

fn file(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RenderError> {
    let path = directory.join(name);
    let written = create(&path).and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    written.map_err(|source| RenderError::Write { path, source })
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path)?))
}
