//! `keytoll report`: the files and the table of a run directory, made again from its traces.

use std::process::ExitCode;

use keytoll_report::directory::render;
use miette::{Report, miette};

use crate::args::ReportArgs;
use crate::run::show;
use crate::screen::Usage;

/// Measures the traces of a run directory again and writes everything that is computed from them.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode, Report> {
    let dir = &args.dir;
    if !dir.join("manifest.json").is_file() {
        let message = format!("`{}` is no run directory: it has no manifest.json", dir.display());
        return Err(Usage::hint(message, "`keytoll run --out DIR` writes one").into());
    }
    let findings = render(dir).map_err(|error| miette!("{error}"))?;
    show(&findings, args.json)?;
    Ok(ExitCode::SUCCESS)
}
