//! `keytoll study`: runs the scenario of a study, or of every one, and compares the results with the paper.

mod all;

use std::process::ExitCode;

use keytoll_report::study;
use keytoll_scenario::{Plan, Source};
use keytoll_studies::Study;
use miette::Report;

use crate::args::{Changes, Color, StudyArgs};
use crate::run::{Run, note_place, show, verdict};
use crate::{interrupt, ready, screen};

/// Runs one study or all.
pub(crate) fn study(args: &StudyArgs, color: Color) -> Result<ExitCode, Report> {
    match Study::named(&args.name) {
        Some(study) => one(study, args),
        None => all::all(args, color),
    }
}

/// Runs the scenario of a study and compares the results with the paper.
fn one(study: &'static Study, args: &StudyArgs) -> Result<ExitCode, Report> {
    let (plan, out) = (plan(study, &args.changes)?, args.execution.out_dir(study.name));
    ready::begin(&plan, &out, &args.execution)?;
    let stop = interrupt::watch(|| {})?;
    let run = Run { plan: &plan, execution: &args.execution, wants: study.wants, stop: &stop };
    let (findings, published) = run.keep(&out)?;
    if args.json {
        screen::written(|out| {
            findings.study.iter().try_for_each(|account| study::write_json(account, &mut *out))
        })?;
    } else {
        show(&findings, false)?;
    }
    note_place(&published);
    Ok(verdict(&plan, &findings, &stop))
}

/// What a study runs, with the changes of the command line. A scenario may be that of several studies: the plan is of this one.
fn plan(study: &Study, changes: &Changes) -> Result<Plan, Report> {
    let name = format!("scenarios/studies/{}.toml", study.scenario.name);
    let plan = changes.plan(&Source::text(&name, study.scenario.text))?;
    Ok(Plan { study: Some(study.name.to_owned()), ..plan })
}
