//! The files that a run directory gets from its traces: `samples.csv`, `operations.csv`, `messages.csv`,
//! of a population `series.csv` and, with several gateways, `gateways.csv`, `summary.json`, `report.html`, and of a study `study.json` and `supplement.json`.

use std::io;
use std::path::{Path, PathBuf};

use keytoll_analysis::directory::{DirectoryError, measure, measure_into};
use keytoll_analysis::study::{SUPPLEMENT, Supplement};
use keytoll_analysis::trace::listing::{DERIVED, GATEWAYS, MANIFEST, RunFile, SERIES};
use keytoll_analysis::trace::manifest::Manifest;
use keytoll_analysis::trace::output::{self, Output};
use keytoll_analysis::{Findings, summary};
use keytoll_studies::judged;

use crate::page::{self, OfPlan};
use crate::{csv, study};

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
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Measures a run directory and writes all its files, replacing existing ones; nothing is written if it cannot be measured.
/// If the manifest lists the lengths of the files, these are updated. `of_plan` reads out of the plan what the page tells of it.
///
/// # Errors
/// When the traces cannot be measured, or a file cannot be written.
pub fn render(directory: &Path, of_plan: impl Fn(&Manifest) -> OfPlan) -> Result<Findings, RenderError> {
    let path = directory.join("samples.csv");
    let because = |source| RenderError::Write { path: path.clone(), source };
    // A directory without a valid manifest must get no file at all.
    let manifest = keytoll_analysis::directory::manifest(directory)?;
    if !manifest.traced {
        let findings = measured(directory)?;
        write(directory, &findings, &of_plan(&manifest))?;
        list_again(directory, &findings.manifest)?;
        return Ok(findings);
    }
    let mut output = Output::create_in_run(&path).map_err(because)?;
    csv::sample_names(&mut output).map_err(because)?;
    let findings = judged(measure_into(directory, csv::Samples::new, &mut output)?);
    output.finish().map_err(because)?;
    write(directory, &findings, &of_plan(&manifest))?;
    list_again(directory, &findings.manifest)?;
    Ok(findings)
}

/// Measures a run directory, and writes nothing.
///
/// # Errors
/// When the traces cannot be measured.
pub fn measured(directory: &Path) -> Result<Findings, DirectoryError> {
    Ok(judged(measure(directory)?))
}

/// Writes the files that do not need the single authentications: all but `samples.csv`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(directory: &Path, findings: &Findings, of_plan: &OfPlan) -> Result<(), RenderError> {
    // Of a population no single authentication is kept.
    if findings.populations.is_empty() {
        file(directory, "operations.csv", |out| csv::operations(findings, out))?;
        file(directory, "messages.csv", |out| csv::messages(findings, out))?;
    }
    file(directory, "summary.json", |out| summary::write(&findings.summary, out))?;
    if findings.supplement != Supplement::default() {
        file(directory, SUPPLEMENT, |out| findings.supplement.write(out))?;
    }
    if !findings.populations.is_empty() {
        file(directory, SERIES, |out| csv::series(findings, out))?;
    }
    if csv::has_gateways(findings) {
        file(directory, GATEWAYS, |out| csv::gateways(findings, out))?;
    }
    if let Some(account) = &findings.study {
        file(directory, "study.json", |out| study::write_json(account, out))?;
    }
    file(directory, "report.html", |out| page::write(&page::run(findings, of_plan, Some(directory)), out))
}

/// Updates the lengths of the rewritten files in the manifest of a complete run.
fn list_again(directory: &Path, manifest: &Manifest) -> Result<(), RenderError> {
    if !manifest.is_sealed() {
        return Ok(());
    }
    let mut manifest = manifest.clone();
    let written_again = |path: &str| DERIVED.contains(&path) || path == SUPPLEMENT;
    manifest.files.retain(|file| !written_again(&file.path));
    for name in DERIVED.into_iter().chain([SUPPLEMENT]).filter(|name| directory.join(name).is_file()) {
        let listed = RunFile::of(directory, name);
        manifest
            .files
            .push(listed.map_err(|source| RenderError::Write { path: directory.join(name), source })?);
    }
    manifest.files.sort_by(|one, other| one.path.cmp(&other.path));
    file(directory, MANIFEST, |out| manifest.write(out))
}

fn file(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), RenderError> {
    let path = directory.join(name);
    output::replace_in_run(&path, write).map_err(|source| RenderError::Write { path, source })
}
