//! `keytoll run` and `keytoll study`: from a scenario to a run directory and a table.

mod streaming;
mod supplement;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use keytoll_analysis::study::Material;
use keytoll_analysis::{Findings, RowFindings};
use keytoll_lab::{Captures, Directory, Keepers, RowEnd};
use keytoll_report::{directory, study, summary, terminal};
use keytoll_scenario::Source;
use keytoll_scenario::catalogue::Fault;
use keytoll_scenario::plan::Plan;
use miette::{Report, miette};

use crate::args::{Execution, RunArgs, StudyArgs};
use crate::{capture, interrupt, screen};

/// Exit code when a row has no authentication that succeeded, or one that should not have.
const FAILED: u8 = 1;

/// Runs a scenario and shows what came of it.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Report> {
    let (plan, out) = (args.scenario.plan()?, args.out_dir());
    let stop = interrupt::watch(|| {})?;
    let findings = measure(&plan, &args.execution, &out, &stop)?;
    show(&findings, args.json)?;
    Ok(end(&plan, &findings, &out))
}

/// Runs the scenario of a study and shows what came of it beside what the paper printed.
pub(crate) fn study(args: &StudyArgs) -> Result<ExitCode, Report> {
    let study = args.study();
    let source = Source::text(&format!("scenarios/studies/{}.toml", study.name), study.scenario);
    let (plan, out) = (args.changes.plan(&source)?, args.execution.out_dir(study.name));
    let stop = interrupt::watch(|| {})?;
    let mut findings = measure(&plan, &args.execution, &out, &stop)?;
    if !study.wants.is_nothing() {
        findings = findings.supplemented(supplement::measure(study.wants, &plan, &stop)?);
        directory::write(&out, &findings).map_err(|error| miette!("{error}"))?;
    }
    if args.json {
        screen::written(|out| {
            study::write_json(
                &study.account(&Material { summary: &findings.summary, supplement: &findings.supplement }),
                out,
            )
        })?;
    } else {
        show(&findings, false)?;
    }
    Ok(end(&plan, &findings, &out))
}

/// Runs a plan and leaves all its files in a directory.
fn measure(plan: &Plan, execution: &Execution, out: &Path, stop: &AtomicBool) -> Result<Findings, Report> {
    let captured = execution.captured();
    let run = Run { plan, threads: execution.threads(), captured, out, stop };
    if execution.no_trace { run.streaming() } else { run.with_trace() }
}

/// A plan about to run.
struct Run<'a> {
    plan: &'a Plan,
    threads: usize,
    /// Of every row so many authentications are captured.
    captured: u32,
    out: &'a Path,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Writes the traces, then measures them from the files.
    fn with_trace(&self) -> Result<Findings, Report> {
        let run = Directory::create(self.out, self.plan).map_err(|error| miette!("{error}"))?;
        if self.capture(&run)? {
            run.complete().map_err(|error| miette!("{error}"))?;
        }
        directory::render(self.out).map_err(|error| miette!("{error}"))
    }

    /// Measures while it runs and keeps no trace.
    fn streaming(&self) -> Result<Findings, Report> {
        let (rows, out) = (streaming::Rows::new(self.plan), self.out);
        let complete = self.capture(&rows)?;
        let findings = rows.findings(complete);
        std::fs::create_dir_all(out)
            .map_err(|error| miette!("cannot make the directory `{}`: {error}", out.display()))?;
        directory::write(out, &findings).map_err(|error| miette!("{error}"))?;
        Ok(findings)
    }

    /// Runs all rows, and captures them if that was asked for; false if it was interrupted.
    fn capture(&self, keepers: &impl Keepers) -> Result<bool, Report> {
        if self.captured == 0 {
            return self.drive(keepers);
        }
        let captures = Captures::new(keepers, self.plan, self.out, self.captured);
        let captures = captures.map_err(|error| miette!("{error}"))?;
        let complete = self.drive(&captures)?;
        screen::note(&capture::note_of_run(&captures.taken(), captures.directory(), self.plan.crypto));
        Ok(complete)
    }

    /// Runs all rows under a progress bar; false if it was interrupted.
    fn drive(&self, keepers: &impl Keepers) -> Result<bool, Report> {
        let bar = screen::progress_bar(self.plan.authentications(), "authentications");
        let tick = || bar.inc(1);
        let ends = keytoll_lab::run(self.plan, self.threads, keepers, &tick, self.stop);
        bar.finish_and_clear();
        let ends = ends.map_err(|error| miette!("{error}"))?;
        let whole = |end: &Option<RowEnd>| end.is_some_and(|end| !end.stopped);
        let complete = ends.iter().all(whole);
        if !complete {
            let (kept, all) =
                (ends.iter().flatten().map(|end| end.samples).sum::<u32>(), self.plan.authentications());
            screen::note(&format!(
                "interrupted: {kept} of {all} authentications were measured and are kept\n"
            ));
        }
        Ok(complete)
    }
}

/// Shows a run as the study that it belongs to, or as the table of its rows.
pub(crate) fn show(findings: &Findings, json: bool) -> Result<(), Report> {
    match &findings.study {
        _ if json => screen::written(|out| summary::write(&findings.summary, out)),
        Some(account) => screen::written(|out| study::write(account, out)),
        None => screen::written(|out| terminal::write(&findings.summary, out)),
    }
}

/// Where the results are, and the verdict.
fn end(plan: &Plan, findings: &Findings, out: &Path) -> ExitCode {
    screen::note(&format!("\nresults in {}\n", out.display()));
    verdict(plan, findings)
}

/// A row in which nothing succeeded is not what a scenario is for, unless it asks for a fault; then nothing may.
fn verdict(plan: &Plan, findings: &Findings) -> ExitCode {
    let unexpected = findings.rows.iter().any(|RowFindings { row, tally }| {
        let planned = plan.rows.get(row.index as usize);
        let doomed = planned.and_then(|row| row.options.fault).is_some_and(Fault::is_fatal);
        if doomed { tally.established > 0 } else { tally.n > 0 && tally.established == 0 }
    });
    if unexpected { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}
