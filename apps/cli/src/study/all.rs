//! `keytoll study all`: every study, each in a run directory of its own, and one report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_analysis::study::{Account, Accounts};
use keytoll_lab::PlaceError;
use keytoll_report::page::write;
use keytoll_report::studies;
use keytoll_scenario::Plan;
use keytoll_studies::{STUDIES, Study};
use miette::Report;

use super::plan;
use crate::args::{Color, StudyArgs};
use crate::outputs::{PAGE, check_replaceable};
use crate::progress::about;
use crate::run::{Run, note_place, told, verdict};
use crate::screen::Page;
use crate::{interrupt, ready, screen};

/// The name of its folder.
const NAME: &str = "studies";

/// The report of all, beside the run directories.
const REPORT: &str = "report.html";

/// Runs all studies. One that cannot run is told, and the others go on.
pub(crate) fn all(args: &StudyArgs, color: Color) -> Result<ExitCode, Report> {
    let folder = args.execution.out_dir(NAME);
    check_replaceable(&folder.join(REPORT), &PAGE)?;
    let planned = STUDIES.iter().map(|study| Planned::new(study, args, &folder));
    let planned: Vec<Planned> = planned.collect::<Result<_, _>>()?;
    let unusable = |source| PlaceError::Unusable { path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(|error| told(unusable(error).into()))?;
    tell_time(&planned, args);
    let stop = interrupt::watch(|| {})?;
    let mut done = Done::default();
    for (number, planned) in (1..).zip(&planned).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let Planned { study, .. } = planned;
        screen::note(&format!("\nstudy {number} of {}: {}\n", STUDIES.len(), study.name));
        done.add(planned, planned.run(args, &stop), color);
    }
    done.end(args, &folder)
}

/// A study about to run.
struct Planned {
    study: &'static Study,
    plan: Plan,
    out: PathBuf,
}

impl Planned {
    /// Mistakes are told before anything runs.
    fn new(study: &'static Study, args: &StudyArgs, folder: &Path) -> Result<Self, Report> {
        let (plan, out) = (plan(study, &args.changes)?, folder.join(study.name));
        ready::begin(&plan, &out, &args.execution)?;
        Ok(Self { study, plan, out })
    }

    fn run(&self, args: &StudyArgs, stop: &AtomicBool) -> Result<(Account, ExitCode), Report> {
        let run = Run { plan: &self.plan, execution: &args.execution, wants: self.study.wants, stop };
        let (findings, published) = run.keep(&self.out)?;
        note_place(&published);
        let code = verdict(&self.plan, &findings, stop);
        let account = findings.study.expect("the plan is of a study that is in the list");
        Ok((account, code))
    }

    /// About how long its run and the repetitions of it take, where that can be estimated.
    fn time(&self, args: &StudyArgs) -> Duration {
        let times = 1 + u32::try_from(self.study.wants.processors.len()).unwrap_or(0);
        ready::time(&self.plan, &args.execution).unwrap_or_default().saturating_mul(times)
    }
}

/// Says how long it will take.
fn tell_time(planned: &[Planned], args: &StudyArgs) {
    let time: Duration = planned.iter().map(|planned| planned.time(args)).sum();
    let count = planned.len();
    screen::note(&format!(
        "{count} studies: their authentications take about {}; profiles, primitives and simulations come on top; `--samples` asks for fewer\n",
        about(time)
    ));
}

/// What has been run.
#[derive(Default)]
struct Done {
    accounts: Vec<Account>,
    /// The first code that is not that of success.
    code: Option<ExitCode>,
}

impl Done {
    fn add(&mut self, planned: &Planned, run: Result<(Account, ExitCode), Report>, color: Color) {
        let code = match run {
            Ok((account, code)) => {
                self.accounts.push(account);
                code
            }
            Err(report) => {
                screen::note(&format!("the study {} could not be run:\n", planned.study.name));
                screen::fail(&report, color)
            }
        };
        self.code = self.code.or_else(|| (code != ExitCode::SUCCESS).then_some(code));
    }

    /// Shows everything, and what is missing of it.
    fn end(self, args: &StudyArgs, folder: &Path) -> Result<ExitCode, Report> {
        let names = STUDIES.iter().map(|study| study.name);
        let accounts = Accounts::new(self.accounts, names);
        let path = folder.join(REPORT);
        if let Some(page) = Page::open(Some(&path), &PAGE)? {
            page.write(|out| write(&studies::page(&accounts), out))?;
        }
        match args.json {
            true => screen::print_json(&accounts)?,
            false => screen::written(|out| studies::write(&accounts, screen::width(), out))?,
        }
        if !accounts.missing.is_empty() {
            screen::note(&format!("\nmissing: {}\n", accounts.missing.join(", ")));
        }
        screen::note(&format!("\nreport of all in {}\n", path.display()));
        Ok(self.code.unwrap_or(ExitCode::SUCCESS))
    }
}
