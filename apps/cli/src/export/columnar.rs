//! `keytoll export --format parquet`: every table of a run as a Parquet file.

use std::process::ExitCode;

use keytoll_report::columnar::{self, ColumnarError, Unfit};
use keytoll_report::counted;
use miette::{Report, miette};

use crate::args::ExportArgs;
use crate::report::{of_a_run, unmeasured};
use crate::screen::{self, Usage};

/// Writes the tables of a run into the directory of `--out`.
pub(super) fn tables(args: &ExportArgs) -> Result<ExitCode, Report> {
    let Some(out) = &args.out else {
        let message = "tables are a file each, and there is no directory for them".to_owned();
        return Err(Usage::hint(message, "`--out DIR` names one").into());
    };
    of_a_run(&args.dir)?;
    let manifest = keytoll_analysis::directory::manifest(&args.dir).map_err(unmeasured)?;
    if !manifest.complete {
        super::note_incomplete(&args.dir);
    }
    let files = columnar::write(&args.dir, &manifest, out).map_err(refused)?;
    screen::note(&format!("{} in {}\n", counted(files.len() as u64, "table"), out.display()));
    Ok(ExitCode::SUCCESS)
}

fn refused(error: ColumnarError) -> Report {
    match error {
        ColumnarError::NoTables(_) => {
            Usage::hint(error.to_string(), "`keytoll report DIR` writes them, if the run has traces").into()
        }
        ColumnarError::Foreign(_) => {
            Usage::hint(error.to_string(), "name another directory, or move the file away").into()
        }
        ColumnarError::Table { why: Unfit::Unknown(_), .. } => {
            miette!(help = "`keytoll report DIR` writes it again, if the run has traces", "{error}")
        }
        ColumnarError::Directory(error) => unmeasured(error),
        error => miette!("{error}"),
    }
}
