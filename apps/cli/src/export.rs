//! `keytoll export`: the tables of a run for papers, issues and programs that read columns, its numbers for a monitor, what became of
//! it for a CI server.

#[cfg(feature = "parquet")]
mod columnar;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use keytoll_analysis::Summary;
use keytoll_analysis::study::{self, Account};
use keytoll_analysis::summary::SummaryRow;
use keytoll_report::directory::measured;
use keytoll_report::export::{Expected, Exported, Format, interrupted};
use keytoll_report::page;
use keytoll_scenario::plan::Plan;
use keytoll_scenario::quantity::Probability;
use keytoll_trace::manifest::Manifest;
use keytoll_trace::regular;
use miette::{Report, miette};

use crate::args::{ExportArgs, ExportFormat};
use crate::load::{self, Loaded};
use crate::outputs::{CSV, JUNIT, LATEX, MARKDOWN, METRICS, PICTURE, PICTURE_HEAD};
use crate::progress::{Counted, Progress};
use crate::report::{of_a_run, of_plan, plan_of, planned, summary_of, unmeasured};
use crate::run::is_doomed;
use crate::screen::{self, Page, Usage};

/// Writes a run in another format.
pub(crate) fn export(args: &ExportArgs) -> Result<ExitCode, Report> {
    let run = || Run::read(&args.dir);
    let (text, kind) = match args.format {
        ExportFormat::Csv => (run()?.text(Format::Csv), &CSV),
        ExportFormat::Latex => (run()?.text(Format::Latex), &LATEX),
        ExportFormat::Markdown => (run()?.text(Format::Markdown), &MARKDOWN),
        ExportFormat::Prometheus => (run()?.text(Format::Prometheus), &METRICS),
        ExportFormat::Junit => (run()?.junit(), &JUNIT),
        ExportFormat::Svg if page::CAN_DRAW => return pictures(&run()?, args),
        ExportFormat::Svg => return Err(not_built("svg")),
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => return columnar::tables(args),
        #[cfg(not(feature = "parquet"))]
        ExportFormat::Parquet => return Err(not_built("parquet")),
    };
    match Page::open(args.out.as_deref(), kind)? {
        Some(page) => page.write(|out| out.write_all(text.as_bytes()))?,
        None => screen::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The error for a format that has a cargo feature of its name, which this keytoll was built without.
fn not_built(format: &str) -> Report {
    screen::not_built(&format!("--format {format}"), format).into()
}

/// Writes every picture of the report of a run.
fn pictures(run: &Run, args: &ExportArgs) -> Result<ExitCode, Report> {
    let Some(out) = &args.out else {
        let message = "pictures are a file each, and there is no directory for them".to_owned();
        return Err(Usage::hint(message, "`--out DIR` names one").into());
    };
    if matches!(run, Run::Load(..)) && !load::has_page(&args.dir) {
        let message =
            format!("`{}` is a load of an older keytoll, whose results have no page", args.dir.display());
        return Err(Usage::hint(message, "`--format csv` has its numbers").into());
    }
    let findings = measured(&args.dir).map_err(unmeasured)?;
    let page = page::run(&findings, &of_plan(&findings.manifest), Some(&args.dir));
    let length = page::count(&page) as u64;
    let progress = Progress::begin(Counted { length, of: "pictures", switch: "" });
    let drawn = page::pictures(&page, &|| progress.tick()).map_err(|error| miette!("{error}"))?;
    drop(progress);
    std::fs::create_dir_all(out).map_err(|error| miette!("cannot make `{}`: {error}", out.display()))?;
    for picture in &drawn {
        let file = out.join(format!("{}.svg", picture.id));
        if let Some(file) = Page::open(Some(&file), &PICTURE)? {
            file.write(|to| write!(to, "{PICTURE_HEAD}{}", picture.svg))?;
        }
    }
    screen::note(&format!("{} pictures in {}\n", drawn.len(), out.display()));
    Ok(ExitCode::SUCCESS)
}

fn note_incomplete(dir: &Path) {
    screen::note(&format!("`{}` is not complete: this is what was measured\n", dir.display()));
}

/// What a directory has.
enum Run {
    /// Rows of a plan, of single authentications or populations.
    Rows(Box<Rows>),
    /// A load on a real target: its name, and what it has come to.
    Load(String, Box<Loaded>),
}

struct Rows {
    summary: Summary,
    study: Option<Account>,
    /// Of a capture there is none.
    plan: Option<Plan>,
}

impl Run {
    /// Reads one; says if it is not complete, which most formats have no place for.
    fn read(dir: &Path) -> Result<Self, Report> {
        let run = Self::read_whole(dir)?;
        let is_whole = match &run {
            Self::Rows(rows) => rows.summary.complete,
            Self::Load(_, document) => !document.was_stopped,
        };
        if !is_whole {
            note_incomplete(dir);
        }
        Ok(run)
    }

    fn read_whole(dir: &Path) -> Result<Self, Report> {
        of_a_run(dir)?;
        let manifest = keytoll_analysis::directory::manifest(dir).map_err(unmeasured)?;
        if load::is_one(dir) {
            return Ok(Self::Load(manifest.title, Box::new(load::read(dir)?)));
        }
        let summary = summary_of(dir, &manifest)?;
        Ok(Self::Rows(Box::new(Rows {
            summary,
            study: account(dir, &manifest)?,
            plan: plan_of(&manifest).ok(),
        })))
    }

    fn text(&self, format: Format) -> String {
        match self {
            Self::Rows(run) => run.exported().text(format),
            Self::Load(title, document) => {
                let rows = [document.row()];
                Exported { title, rows: &rows, study: None, is_complete: !document.was_stopped }.text(format)
            }
        }
    }

    fn junit(&self) -> String {
        match self {
            Self::Rows(run) => run.junit(),
            Self::Load(title, document) => load::junit(title, document),
        }
    }
}

impl Rows {
    fn exported(&self) -> Exported<'_> {
        let Summary { title, rows, complete, .. } = &self.summary;
        Exported { title, rows, study: self.study.as_ref(), is_complete: *complete }
    }

    fn junit(&self) -> String {
        let mut suite = self.exported().cases(|row| self.expected(row));
        suite.cases.extend((!self.summary.complete).then(|| interrupted(&self.summary.rows)));
        suite.text()
    }

    /// As the plan wants it.
    fn expected(&self, row: &SummaryRow) -> Expected {
        let Some(plan) = &self.plan else { return Expected::Success };
        let SummaryRow { method, variant, network, topology, .. } = row;
        let is_doomed = planned(plan, [method, variant, network, topology]).is_some_and(is_doomed);
        match plan.population.as_ref().map_or(Probability::ZERO, |population| population.wrong) {
            _ if is_doomed => Expected::Failure,
            Probability::ONE => Expected::Failure,
            Probability::ZERO => Expected::Success,
            _ => Expected::Part,
        }
    }
}

/// The account of the study that a run belongs to.
fn account(dir: &Path, manifest: &Manifest) -> Result<Option<Account>, Report> {
    if manifest.study.is_none() {
        return Ok(None);
    }
    keytoll_analysis::directory::unchanged(dir, manifest, STUDY).map_err(unmeasured)?;
    let path = dir.join(STUDY);
    let text = regular::read_text(&path, STUDY_BYTES_MAX)
        .map_err(|error| miette!("cannot read `{}`: {error}", path.display()))?;
    let account: Account = serde_json::from_str(&text)
        .map_err(|error| miette!("`{}` is no account of a study: {error}", path.display()))?;
    if account.format != study::FORMAT {
        let (found, reads) = (account.format, study::FORMAT);
        return Err(miette!(
            "`{}` is of format {found}, and this keytoll reads format {reads}",
            path.display()
        ));
    }
    Ok(Some(account))
}

/// The comparison with a paper.
const STUDY: &str = "study.json";
/// The longest one that is read; one that is written has some hundred kilobytes.
const STUDY_BYTES_MAX: u64 = 64 << 20;
