//! `keytoll run`: from a scenario to a run directory and a table.

mod streaming;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keytoll_analysis::{Findings, RowFindings};
use keytoll_lab::{Directory, Keepers, RowEnd};
use keytoll_report::{directory, summary, terminal};
use keytoll_scenario::catalogue::Fault;
use keytoll_scenario::plan::Plan;
use miette::{Report, miette};

use crate::args::RunArgs;
use crate::screen;

/// Exit code when a row has no authentication that succeeded, or one that should not have.
const FAILED: u8 = 1;

/// Runs a scenario and shows what came of it.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Report> {
    let plan = args.scenario.plan()?;
    let out = args.out_dir();
    let stop = stop_on_interrupt()?;
    let run = Run { plan: &plan, threads: threads(args), stop: &stop };
    let findings = if args.no_trace { run.streaming(&out)? } else { run.with_trace(&out)? };
    show(&findings, args.json)?;
    screen::note(&format!("\nresults in {}\n", out.display()));
    Ok(verdict(&plan, &findings))
}

fn threads(args: &RunArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    args.threads.map_or_else(cores, std::num::NonZeroUsize::get)
}

/// Ctrl-C ends the run after the authentications in progress; a second one ends the program.
fn stop_on_interrupt() -> Result<Arc<AtomicBool>, Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| miette!("cannot watch for Ctrl-C: {error}"))?;
    Ok(stop)
}

/// A plan about to run.
struct Run<'a> {
    plan: &'a Plan,
    threads: usize,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Writes the traces, then measures them from the files.
    fn with_trace(&self, out: &Path) -> Result<Findings, Report> {
        let run = Directory::create(out, self.plan).map_err(|error| miette!("{error}"))?;
        if self.drive(&run)? {
            run.complete().map_err(|error| miette!("{error}"))?;
        }
        directory::render(out).map_err(|error| miette!("{error}"))
    }

    /// Measures while it runs and keeps no trace.
    fn streaming(&self, out: &Path) -> Result<Findings, Report> {
        let rows = streaming::Rows::new(self.plan);
        let complete = self.drive(&rows)?;
        let findings = rows.findings(complete);
        std::fs::create_dir_all(out)
            .map_err(|error| miette!("cannot make the directory `{}`: {error}", out.display()))?;
        directory::write(out, &findings).map_err(|error| miette!("{error}"))?;
        Ok(findings)
    }

    /// Runs all rows under a progress bar; false if it was interrupted.
    fn drive(&self, keepers: &impl Keepers) -> Result<bool, Report> {
        let bar = progress_bar(self.plan.authentications());
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

/// A bar on stderr, if that is a terminal.
fn progress_bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let template = "{bar:40} {pos}/{len} authentications, {eta} left";
    bar.with_style(ProgressStyle::with_template(template).expect("a literal template"))
}

fn show(findings: &Findings, json: bool) -> Result<(), Report> {
    let mut text = Vec::new();
    let written = if json {
        summary::write(&findings.summary, &mut text)
    } else {
        terminal::write(&findings.summary, &mut text)
    };
    written.map_err(|error| miette!("{error}"))?;
    screen::print(&String::from_utf8_lossy(&text))
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
