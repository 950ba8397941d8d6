//! `keytoll run`: replaced by the module that drives `keytoll-lab`.

use std::process::ExitCode;

use miette::{Report, miette};

use crate::args::RunArgs;

/// Resolves the scenario; the laboratory that runs it is joined on in this place.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Report> {
    let plan = args.scenario.plan()?;
    let RunArgs { threads, json, no_trace, .. } = args;
    let (rows, out) = (plan.rows.len(), args.out_dir());
    Err(miette!("no laboratory yet for {rows} rows in {out:?} ({threads:?} {json} {no_trace})"))
}
