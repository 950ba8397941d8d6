//! `keytoll report`: generates the files and the table of a run directory again from its traces.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use keytoll_analysis::directory::{DirectoryError, MANIFEST};
use keytoll_analysis::{Summary, summary};
use keytoll_report::directory::{RenderError, render};
use keytoll_report::page::OfPlan;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::listing::{DERIVED, FileError, LOAD, POPULATION, has_results};
use keytoll_trace::manifest::{Manifest, ManifestError};
use miette::{Report, miette};

use crate::args::ReportArgs;
use crate::load;
use crate::run::show;
use crate::screen::Usage;
use crate::size;

/// Measures the traces of a run directory again and writes all files computed from them.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode, Report> {
    let dir = &args.dir;
    of_a_run(dir)?;
    if let Some(shown) = load::show(dir, args.json) {
        return shown.map(|()| ExitCode::SUCCESS);
    }
    let findings = render(dir, of_plan).map_err(told)?;
    show(&findings, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The results of a run.
pub(crate) const SUMMARY: &str = "summary.json";

/// Refuses a directory without a manifest.
pub(crate) fn of_a_run(dir: &Path) -> Result<(), Report> {
    if dir.join(MANIFEST).is_file() {
        return Ok(());
    }
    let name = dir.display();
    let another = "`keytoll run --out DIR` writes one";
    let (message, hint) = match dir.symlink_metadata() {
        Err(_) => (format!("there is no run directory `{name}`"), another),
        Ok(_) if let Some(run) = of_all_studies(dir) => {
            let message = format!("`{name}` holds run directories, one of each study, and is none itself");
            let hint = format!("name one of them, like `{}`", run.display());
            return Err(Usage::because(message, hint).into());
        }
        Ok(_) if has_results(dir) => (
            format!("`{name}` has files of a run but no {MANIFEST}, which says what was run"),
            "restore the file, or run the scenario again",
        ),
        Ok(_) if dir.is_dir() => (format!("`{name}` is no run directory: it has no {MANIFEST}"), another),
        Ok(_) => (format!("`{name}` is no directory"), "name the directory of the run"),
    };
    Err(Usage::hint(message, hint).into())
}

/// The run directory of a study in the directory of all.
fn of_all_studies(dir: &Path) -> Option<PathBuf> {
    let mut runs = keytoll_studies::STUDIES.iter().map(|study| dir.join(study.name));
    runs.find(|run| run.join(MANIFEST).is_file())
}

/// Whether a directory has what was counted of many devices, and no single authentication.
pub(crate) fn has_counted(dir: &Path) -> bool {
    [LOAD, POPULATION].iter().any(|file| dir.join(file).symlink_metadata().is_ok())
}

/// Refuses a directory that has not the results of single authentications.
pub(crate) fn of_authentications(dir: &Path) -> Result<(), Report> {
    of_a_run(dir)?;
    let has = |file: &str| dir.join(file).is_file();
    let file = match (has(LOAD), has(POPULATION)) {
        (true, _) => LOAD,
        (_, true) => SUMMARY,
        _ => return Ok(()),
    };
    let message = format!("`{}` has counted many devices, and kept no single authentication", dir.display());
    Err(Usage::because(message, format!("its figures are in {file}; `keytoll report DIR` shows them")).into())
}

/// The summary of a run directory, as it was written.
pub(crate) fn summary_of(dir: &Path, manifest: &Manifest) -> Result<Summary, Report> {
    let path = dir.join(SUMMARY);
    match manifest.file(SUMMARY) {
        Some(file) => {
            let damaged = |source| DirectoryError::File { path: path.clone(), source };
            file.check(dir).map_err(|source| unmeasured(damaged(source)))?;
        }
        None if !path.is_file() => {
            let message = format!("`{}` has no {SUMMARY}: the run did not end", dir.display());
            return Err(Usage::hint(message, "`keytoll report DIR` writes what there is of it").into());
        }
        None => {}
    }
    summary::read(&path).map_err(|error| miette!("{error}"))
}

/// The plan of a run.
pub(crate) fn plan_of(manifest: &Manifest) -> Result<Plan, Report> {
    let plan = Source::text("manifest.json", &manifest.plan).plan(&Overrides::default());
    plan.map_err(|error| miette!("the plan in manifest.json is of another keytoll: {error}"))
}

/// What a page tells of the plan; nothing where that is of another keytoll, for all else of the run can be shown.
pub(crate) fn of_plan(manifest: &Manifest) -> OfPlan {
    let told = |plan: Plan| OfPlan { planned: size::planned(&plan), nobody_back: plan.nobody_back() };
    plan_of(manifest).map(told).unwrap_or_default()
}

/// A row's method, variant, network and topology.
pub(crate) fn name(row: &RowPlan) -> [&str; 4] {
    [row.method.name(), &row.variant, &row.network.name, row.topology.name()]
}

/// The plan of a row with this name.
pub(crate) fn planned<'a>(plan: &'a Plan, named: [&str; 4]) -> Option<&'a RowPlan> {
    plan.rows.iter().find(|row| name(row) == named)
}

pub(crate) fn told(error: RenderError) -> Report {
    match error {
        RenderError::Measure(error) => unmeasured(error),
        other => miette!("{other}"),
    }
}

/// Why a directory cannot be measured. One that is no run is the user's mistake; a damaged run is not.
pub(crate) fn unmeasured(error: DirectoryError) -> Report {
    match error {
        DirectoryError::Manifest { path, source: ManifestError::Foreign } => {
            let dir = path.parent().unwrap_or(&path);
            let message =
                format!("`{}` is no run directory: keytoll did not write its manifest.json", dir.display());
            Usage::hint(message, "`keytoll run --out DIR` writes one").into()
        }
        DirectoryError::Untraced(dir) => {
            let message =
                format!("`{}` was run with `--no-trace`: there is nothing to measure again", dir.display());
            Usage::hint(message, "its summary.json and report.html are all there is").into()
        }
        DirectoryError::File { ref path, source: FileError::Missing } if is_derived(path) => {
            let help = "`keytoll report DIR` writes it again, if the run has traces";
            miette!(help = help, "{error}")
        }
        other => miette!("{other}"),
    }
}

fn is_derived(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| DERIVED.contains(&name))
}
