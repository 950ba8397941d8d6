//! `keytoll run`: from a scenario to a run directory and a table.

pub(crate) mod streaming;
mod supplement;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_analysis::census::Accounts;
use keytoll_analysis::study::{SUPPLEMENT, Supplement, Wants};
use keytoll_analysis::{Findings, RowFindings, summary};
use keytoll_lab::{
    Captures, Directory, Keepers, Manifest, PlaceError, Published, RowEnd, RunError, Steps, Taken, steps,
};
use keytoll_report::page::nobody_back;
use keytoll_report::{curve, directory, study, terminal};
use keytoll_scenario::catalogue::Fault;
use keytoll_scenario::plan::{Plan, RowPlan, WorldKind};
use keytoll_scenario::quantity::Probability;
use keytoll_studies::judged;
use keytoll_trace::listing::POPULATION;
use keytoll_trace::output;
use miette::{Report, miette};

use crate::args::{Execution, RunArgs};
use crate::progress::{Counted, Progress};
use crate::report::of_plan;
use crate::screen::Usage;
use crate::{capture, interrupt, ready, screen, version};

/// Exit code when a row has no successful authentication, an unexpected one, or fewer than planned.
const FAILED: u8 = 1;

/// Runs a scenario and shows the results.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Report> {
    let (plan, out) = (args.scenario.plan()?, args.out_dir());
    ready::begin(&plan, &out, &args.execution)?;
    let stop = interrupt::watch(|| {})?;
    let run = Run { plan: &plan, execution: &args.execution, wants: Wants::NOTHING, stop: &stop };
    let (findings, published) = run.keep(&out)?;
    show(&findings, args.json)?;
    note_place(&published);
    Ok(verdict(&plan, &findings, &stop))
}

/// A plan about to run.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) execution: &'a Execution,
    /// Further measurements of the study.
    pub(crate) wants: Wants,
    pub(crate) stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Runs the plan and leaves all its files in the user's directory.
    pub(crate) fn keep(&self, out: &Path) -> Result<(Findings, Published), Report> {
        let manifest = keytoll_lab::manifest(self.plan, &version::program());
        let manifest = Manifest { traced: manifest.traced && !self.execution.no_trace, ..manifest };
        let directory = begin(out, manifest, self.execution.force)?;
        let filled = match () {
            () if self.plan.population.is_some() => self.populate(&directory),
            () if self.execution.no_trace => self.stream(&directory),
            () => self.trace(&directory),
        };
        let (findings, taken) = match filled {
            Ok(filled) => filled,
            Err(report) => {
                if let Some(kept) = directory.give_up() {
                    screen::note(&format!("what was measured until then is kept in {}\n", kept.display()));
                }
                return Err(report);
            }
        };
        let published = directory.publish().map_err(told)?;
        if let Some(taken) = taken {
            let captures = published.path().join("capture");
            screen::note(&capture::note_of_run(&taken, &captures, self.plan.crypto));
        }
        Ok((findings, published))
    }

    /// Writes the traces, then measures the files.
    fn trace(&self, directory: &Directory) -> Result<(Findings, Option<Taken>), Report> {
        let (whole, taken) = self.capture(directory, directory)?;
        let (supplement, path) = (self.supplement()?, directory.path().join(SUPPLEMENT));
        if supplement != Supplement::default() {
            let written = output::replace_in_run(&path, |out| supplement.write(out));
            written.map_err(|error| screen::unwritable(&path, &error))?;
        }
        self.end(directory, whole)?;
        let findings = directory::render(directory.path(), of_plan).map_err(|error| miette!("{error}"))?;
        Ok((findings, taken))
    }

    /// Measures during the run and keeps no trace.
    fn stream(&self, directory: &Directory) -> Result<(Findings, Option<Taken>), Report> {
        let rows = streaming::Rows::new(directory, self.plan.rows.len());
        let (whole, taken) = self.capture(&rows, directory)?;
        let supplement = self.supplement()?;
        self.end(directory, whole)?;
        let findings = judged(rows.findings().supplemented(supplement));
        directory::write(directory.path(), &findings, &of_plan(&findings.manifest))
            .map_err(|error| miette!("{error}"))?;
        Ok((findings, taken))
    }

    /// Lets populations live, and keeps what was counted of them.
    fn populate(&self, directory: &Directory) -> Result<(Findings, Option<Taken>), Report> {
        let Steps { count: length, of } = steps(self.plan).expect("a plan with a population");
        let progress = Progress::begin(Counted { length, of, switch: "--set population.devices=N" });
        let tick = || progress.tick();
        let ends = keytoll_lab::populate(self.plan, self.execution.threads(), &tick, self.stop);
        drop(progress);
        let ends = ends.map_err(told)?;
        let whole = ends.iter().all(|end| end.as_ref().is_some_and(|end| end.is_whole));
        for (index, end) in ends.iter().enumerate() {
            let attempts = end.as_ref().map_or(0, |end| end.account.summary.offered);
            let samples = u32::try_from(attempts).unwrap_or(u32::MAX);
            directory.ended(index, RowEnd::of_attempts(samples));
        }
        let accounts = Accounts { rows: ends.into_iter().map(|end| Some(end?.account)).collect() };
        let path = directory.path().join(POPULATION);
        let written = output::replace_in_run(&path, |out| accounts.write(out));
        written.map_err(|error| screen::unwritable(&path, &error))?;
        if !whole {
            screen::note("interrupted: what was counted until then is kept\n");
        }
        self.end(directory, whole)?;
        let findings = directory::render(directory.path(), of_plan).map_err(|error| miette!("{error}"))?;
        Ok((findings, None))
    }

    /// Marks a run as ended; it is complete if nothing is missing.
    fn end(&self, directory: &Directory, whole: bool) -> Result<(), Report> {
        let is_complete = whole && !self.stop.load(Ordering::Relaxed);
        if is_complete { directory.complete() } else { directory.incomplete() }.map_err(told)
    }

    fn supplement(&self) -> Result<Supplement, Report> {
        if self.wants.is_nothing() {
            return Ok(Supplement::default());
        }
        supplement::measure(self.wants, self.plan, self.execution.threads(), self.stop)
    }

    /// Runs all rows, and captures them on request; returns false if a row is incomplete.
    fn capture(
        &self,
        keepers: &impl Keepers,
        directory: &Directory,
    ) -> Result<(bool, Option<Taken>), Report> {
        let captured = self.execution.captured();
        if captured == 0 {
            return Ok((self.drive(keepers)?, None));
        }
        let captures = Captures::new(keepers, self.plan, directory.path(), captured).map_err(told)?;
        let whole = self.drive(&captures)?;
        Ok((whole, Some(captures.taken())))
    }

    /// Runs all rows under a progress bar; returns false if a row is incomplete.
    fn drive(&self, keepers: &impl Keepers) -> Result<bool, Report> {
        let length = self.plan.authentications();
        let progress = Progress::begin(Counted { length, of: "authentications", switch: "--samples" });
        let tick = || progress.tick();
        let ends = match self.plan.world {
            WorldKind::Sim => {
                keytoll_lab::run(self.plan, self.execution.threads(), keepers, &tick, self.stop)
            }
            WorldKind::Live => keytoll_lab_live::run(self.plan, keepers, &tick, self.stop),
        };
        drop(progress);
        let ends = ends.map_err(told)?;
        let is_over = |end: &Option<RowEnd>| end.is_some_and(|end| !end.stopped);
        if !ends.iter().all(is_over) {
            screen::note(&interrupted(&ends, self.plan));
        }
        Ok(ends.iter().all(|end| end.is_some_and(|end| end.is_whole())))
    }
}

/// Describes an interrupted run: measured authentications and complete rows.
fn interrupted(ends: &[Option<RowEnd>], plan: &Plan) -> String {
    let ended = || ends.iter().flatten().map(|end| end.samples);
    let (kept, all) = (ended().sum::<u32>(), plan.authentications());
    let (rows, whole) = (ends.len(), ended().filter(|&samples| samples >= plan.samples).count());
    let of_rows = format!("; {whole} of {rows} rows are complete, because several are measured at a time");
    let of_rows = if rows > 1 { &of_rows } else { "" };
    format!("interrupted: {kept} of {all} authentications were measured and are kept{of_rows}\n")
}

/// Creates a run directory; an existing file in its place is the user's to move.
pub(crate) fn begin(out: &Path, manifest: Manifest, replaces: bool) -> Result<Directory, Report> {
    Directory::create(out, manifest, replaces).map_err(told)
}

/// The reason why a run cannot go on, with advice where we have any.
pub(crate) fn told(error: RunError) -> Report {
    match error {
        RunError::Place(PlaceError::Occupied { what, hint }) => Usage::hint(what, hint).into(),
        RunError::NoLiveness { .. } => {
            Usage::hint(error.to_string(), "leave it out, or name methods of IKE only").into()
        }
        RunError::Times(_) => {
            let hint = "a file of times has a line with `at_s`, and under it the seconds of each device, a line each";
            Usage::hint(error.to_string(), hint).into()
        }
        RunError::NoOpenSsl => screen::not_built("--crypto openssl", "ossl").into(),
        RunError::Costs(_) | RunError::Unpriced { .. } => {
            Usage::hint(error.to_string(), "`keytoll crypto --calibrate FILE` writes a cost table").into()
        }
        other => miette!("{other}"),
    }
}

/// Shows a run as the study that it belongs to, or as the table of its rows.
pub(crate) fn show(findings: &Findings, json: bool) -> Result<(), Report> {
    match &findings.study {
        _ if json => screen::written(|out| summary::write(&findings.summary, out)),
        Some(account) => screen::written(|out| study::write(account, screen::width(), out)),
        None => screen::written(|out| {
            terminal::write(&findings.summary, screen::width(), &mut *out)?;
            curve::write(findings, screen::width(), &mut *out)?;
            let why = nobody_back(findings, &of_plan(&findings.manifest));
            why.map_or(Ok(()), |why| write!(out, "\n{}", screen::paragraph(&why)))
        }),
    }
}

/// Prints where the results are, and where the earlier ones.
pub(crate) fn note_place(published: &Published) {
    let Published { home, place, hidden, earlier, strangers } = published;
    let (name, place) = (home.file_name().unwrap_or_default().display(), place.display());
    let mut text = match hidden {
        None => format!("\nresults in {place}, which leads to {name}\n"),
        Some(why) => format!("\nresults in {}, and not in {place}: {why}\n", home.display()),
    };
    if let Some(earlier) = earlier.as_ref().filter(|_| hidden.is_none()) {
        text += &format!("the earlier run is in {}\n", earlier.display());
    }
    if let Some(stranger) = strangers.first() {
        text +=
            &format!("it was kept because keytoll did not write all that is in it: {}\n", stranger.display());
    }
    screen::note(&text);
}

/// Whether nobody can succeed in a row.
pub(crate) fn is_doomed(row: &RowPlan) -> bool {
    row.options.fault.is_some_and(Fault::is_fatal)
}

/// A row without any success is a failure, unless the scenario injects a fault or all credentials are wrong; then any success is one. So is a row in which
/// authentications are missing or unfinished.
pub(crate) fn verdict(plan: &Plan, findings: &Findings, stop: &AtomicBool) -> ExitCode {
    let is_short = !findings.summary.complete && !stop.load(Ordering::Relaxed);
    let unexpected = findings.rows.iter().any(|RowFindings { row, tally }| {
        let doomed = plan.rows.get(row.index as usize).is_some_and(is_doomed);
        if doomed { tally.established > 0 } else { tally.n > 0 && tally.established == 0 }
    });
    let all_are_wrong =
        plan.population.as_ref().is_some_and(|population| population.wrong == Probability::ONE);
    let misled =
        findings.populations.iter().any(|one| (one.account.summary.established > 0) == all_are_wrong);
    if unexpected || is_short || misled { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}
