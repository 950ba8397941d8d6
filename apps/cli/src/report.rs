//! `keytoll report`: generates the files and the table of a run directory again from its traces.

use std::process::ExitCode;

use keytoll_analysis::directory::DirectoryError;
use keytoll_report::directory::{RenderError, render};
use keytoll_trace::manifest::ManifestError;
use miette::{Report, miette};

use crate::args::ReportArgs;
use crate::run::show;
use crate::screen::Usage;

/// Measures the traces of a run directory again and writes all files computed from them.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode, Report> {
    let dir = &args.dir;
    if !dir.join("manifest.json").is_file() {
        let message = format!("`{}` is no run directory: it has no manifest.json", dir.display());
        return Err(Usage::hint(message, "`keytoll run --out DIR` writes one").into());
    }
    let findings = render(dir).map_err(told)?;
    show(&findings, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// A directory that is no run is the user's mistake; a damaged run is not.
fn told(error: RenderError) -> Report {
    match error {
        RenderError::Measure(DirectoryError::Manifest { path, source: ManifestError::Foreign }) => {
            let dir = path.parent().unwrap_or(&path);
            let message =
                format!("`{}` is no run directory: keytoll did not write its manifest.json", dir.display());
            Usage::hint(message, "`keytoll run --out DIR` writes one").into()
        }
        RenderError::Measure(DirectoryError::Untraced(dir)) => {
            let message =
                format!("`{}` was run with `--no-trace`: there is nothing to measure again", dir.display());
            Usage::hint(message, "its summary.json and report.html are all there is").into()
        }
        other => miette!("{other}"),
    }
}
