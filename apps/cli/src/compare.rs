//! `keytoll compare`: two runs, or the rows of one, authentication by authentication; populations and loads by what was counted of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use keytoll_analysis::comparable::listed;
use keytoll_analysis::compare::populations::{self, CountedError, CountedRun};
use keytoll_analysis::compare::repeated::{copies, joined};
use keytoll_analysis::compare::samples::{self, MeasuredRun, ReadError};
use keytoll_analysis::compare::threshold::{self, Condition, Field, Resolved};
use keytoll_analysis::compare::{Comparison, Row, RowName, Run, rows, runs};
use keytoll_analysis::directory;
use keytoll_report::compare::{sentence, write};
use keytoll_report::{counted as counted_of, page};
use keytoll_trace::listing::POPULATION;
use keytoll_trace::manifest::Manifest;
use miette::{Report, miette};

use crate::args::CompareArgs;
use crate::outputs::PAGE;
use crate::report::{has_counted, of_a_run, unmeasured};
use crate::screen::{self, Page, Usage};

/// Exit code when a condition is met.
const MET: u8 = 1;

/// Compares and shows.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, Report> {
    let sides = Sides::of(args)?;
    sides.all().try_for_each(|run| of_a_run(run))?;
    match sides.all().find(|run| is_counted(run)) {
        None => authentications(args, &sides),
        Some(counted) => match sides.all().find(|run| !is_counted(run)) {
            Some(single) => Err(of_two_kinds(counted, single)),
            None => populations(args, &sides),
        },
    }
}

/// The runs of either side.
struct Sides<'a> {
    a: &'a [PathBuf],
    /// Empty if the rows of a run are compared with each other.
    b: &'a [PathBuf],
}

impl<'a> Sides<'a> {
    fn of(args: &'a CompareArgs) -> Result<Self, Report> {
        let sides = match (&args.runs[..], &args.against[..]) {
            ([a, b], []) => Self { a: std::slice::from_ref(a), b: std::slice::from_ref(b) },
            ([_, _, _, ..], []) => {
                let message = format!("{} runs are given: which are the second side's?", args.runs.len());
                return Err(
                    Usage::hint(message, "write `keytoll compare A1 A2 A3 --against B1 B2 B3`").into()
                );
            }
            (a, b) => Self { a, b },
        };
        if !sides.b.is_empty() && args.baseline.is_some() {
            let message = "`--baseline` names a row of one run, and two are given".to_owned();
            return Err(Usage::hint(message, "leave out `--baseline`, or name one run").into());
        }
        sides.unlike()
    }

    /// A run that counts twice would make the others look alike.
    fn unlike(self) -> Result<Self, Report> {
        if self.a.len().max(self.b.len()) > 1 {
            let mut seen = BTreeSet::new();
            let again =
                |run: &&PathBuf| !seen.insert(run.canonicalize().unwrap_or_else(|_| run.to_path_buf()));
            if let Some(run) = self.all().find(again) {
                let message = format!("`{}` is named twice", run.display());
                return Err(Usage::hint(message, "name each run once: they are taken as independent").into());
            }
        }
        Ok(self)
    }

    fn all(&self) -> impl Iterator<Item = &'a PathBuf> {
        self.a.iter().chain(self.b)
    }

    /// Reads both sides.
    fn read<R>(
        &self,
        read: impl Fn(&Path) -> Result<R, Report>,
        join: impl Fn(Vec<R>) -> Result<R, Report>,
    ) -> Result<(R, Option<R>), Report> {
        let side = |runs: &[PathBuf]| {
            runs.iter().map(|run| read(run)).collect::<Result<Vec<R>, Report>>().and_then(&join)
        };
        Ok((side(self.a)?, if self.b.is_empty() { None } else { Some(side(self.b)?) }))
    }
}

/// Whether a run has counted many devices, even if the file is missing now that its manifest lists.
fn is_counted(dir: &Path) -> bool {
    let is_listed = |manifest: Manifest| manifest.file(POPULATION).is_some();
    has_counted(dir) || directory::manifest(dir).is_ok_and(is_listed)
}

fn authentications(args: &CompareArgs, sides: &Sides) -> Result<ExitCode, Report> {
    let (a, b) = sides.read(samples, side)?;
    let both = [&a, b.as_ref().unwrap_or(&a)];
    let measures: BTreeSet<&str> = both.into_iter().flat_map(MeasuredRun::measures).collect();
    args.measures.iter().try_for_each(|measure| known(measure, &measures))?;
    let fields = threshold::fields(measures.iter().copied());
    let conditions = conditions(&args.fail_if, &fields)?;
    let compared = compared(&a, b.as_ref(), args.baseline.as_deref())?;
    end(args, compared, both, &conditions)
}

/// Several runs as one side.
fn side(runs: Vec<MeasuredRun>) -> Result<MeasuredRun, Report> {
    if let Some([one, other]) = copies(&runs) {
        let message = format!("`{other}` has the CPU times of `{one}`: it is a copy");
        return Err(Usage::hint(message, "name runs that were made one after the other").into());
    }
    Ok(joined(runs))
}

fn populations(args: &CompareArgs, sides: &Sides) -> Result<ExitCode, Report> {
    if sides.a.len().max(sides.b.len()) > 1 {
        let message = "a side has several populations or loads".to_owned();
        return Err(
            Usage::hint(message, "compare one with one: only runs of `keytoll run` are joined").into()
        );
    }
    let one = |mut runs: Vec<CountedRun>| Ok(runs.remove(0));
    let (a, b) = sides.read(counted, one)?;
    let both = [&a, b.as_ref().unwrap_or(&a)];
    if let Some(why) = populations::unlike(both[0], both[1]) {
        let hint = "run one method over one network, with `--set methods=NAME` and `--set networks=NAME`";
        return Err(Usage::hint(why, hint).into());
    }
    let compared = compared(&a, b.as_ref(), args.baseline.as_deref())?;
    let measures = compared.measures().collect();
    args.measures.iter().try_for_each(|measure| known(measure, &measures))?;
    let conditions = conditions(&args.fail_if, &populations::fields(&compared))?;
    end(args, compared, both, &conditions)
}

/// Applies the conditions, and shows what is left.
fn end<R: Row>(
    args: &CompareArgs,
    mut compared: Comparison,
    both: [&Run<R>; 2],
    conditions: &[Resolved],
) -> Result<ExitCode, Report> {
    let html = Page::open(args.html.as_deref(), &PAGE)?;
    for condition in conditions {
        compared.breaches.extend(threshold::breaches(condition, &compared, both));
    }
    if !args.measures.is_empty() {
        compared.show_only(&args.measures);
    }
    if !args.json && !conditions.is_empty() && compared.breaches.is_empty() {
        let pairs = counted_of(compared.pairs.len() as u64, "pair");
        screen::print(&format!(
            "passed: no condition is met ({} of {pairs} of rows)\n\n",
            counted_of(conditions.len() as u64, "condition")
        ))?;
    }
    show(&compared, args.json)?;
    html.map_or(Ok(()), |html| html.write(|out| page::write(&page::comparison(&compared), out)))?;
    Ok(if compared.breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(MET) })
}

/// Populations have no single authentications that could be compared with those of a run.
fn of_two_kinds(counted: &Path, single: &Path) -> Report {
    let (counted, single) = (counted.display(), single.display());
    let message = format!("`{counted}` has counted many devices, and `{single}` has single authentications");
    Usage::hint(message, "compare populations and loads with each other").into()
}

/// Where there is nothing to compare no condition could be met, and nothing be told.
fn compared<R: Row>(a: &Run<R>, b: Option<&Run<R>>, baseline: Option<&str>) -> Result<Comparison, Report> {
    let compared = match b {
        Some(b) => runs(a, b),
        None => rows(a, baseline).map_err(|error| {
            Report::from(Usage::because(
                error.to_string(),
                format!("it has {}", named(a, |row| row.subject().to_string())),
            ))
        })?,
    };
    match b {
        _ if !compared.pairs.is_empty() => Ok(compared),
        Some(b) => {
            let message = format!("no row of `{}` has its like in `{}`", a.place, b.place);
            let hint = "likes have one method with the same options, network and topology; the first has";
            Err(Usage::because(
                message,
                format!(
                    "{hint} {}, the second {}",
                    named(a, RowName::to_string),
                    named(b, RowName::to_string)
                ),
            )
            .into())
        }
        None => {
            let message = format!("`{}` has no two rows of one network to compare with each other", a.place);
            Err(Usage::hint(message, "name a second run to compare it with").into())
        }
    }
}

/// Some rows of a run.
fn named<R: Row>(run: &Run<R>, name: impl Fn(&RowName) -> String) -> String {
    let names: Vec<_> = run.rows.iter().map(|row| name(row.name())).collect();
    listed(names.iter().map(String::as_str))
}

fn show(comparison: &Comparison, as_json: bool) -> Result<(), Report> {
    if !as_json {
        return screen::written(|out| write(comparison, screen::width(), out));
    }
    let met = comparison.breaches.iter().map(|breach| sentence(breach) + "\n");
    screen::note(&met.collect::<String>());
    screen::print_json(comparison)
}

fn conditions(read: &[Condition], fields: &[Field]) -> Result<Vec<Resolved>, Report> {
    let resolve = |condition: &Condition| {
        let resolved = condition.resolve(fields, true)?;
        threshold::check(&resolved).map(|()| resolved)
    };
    let hint = "like `delay_ms.p95 > +10%`: more than ten percent above the first run";
    read.iter().map(|condition| resolve(condition).map_err(|why| Usage::hint(why, hint).into())).collect()
}

fn known(measure: &str, measures: &BTreeSet<&str>) -> Result<(), Report> {
    if measures.contains(measure) {
        return Ok(());
    }
    let hint = if measures.is_empty() {
        "no authentication succeeded".to_owned()
    } else {
        format!("there are {}", measures.iter().copied().collect::<Vec<_>>().join(", "))
    };
    Err(Usage::because(format!("nothing measured is called `{measure}`"), hint).into())
}

fn samples(dir: &Path) -> Result<MeasuredRun, Report> {
    samples::read(dir).map_err(|error| match error {
        ReadError::NoSamples(_) => {
            Usage::hint(error.to_string(), "`keytoll report DIR` writes it from the trace").into()
        }
        ReadError::Directory(error) => unmeasured(error),
        other => miette!("{other}"),
    })
}

fn counted(dir: &Path) -> Result<CountedRun, Report> {
    populations::read(dir).map_err(|error| match error {
        CountedError::Directory(error) => unmeasured(error),
        CountedError::NoHistogram(_) => Usage::hint(error.to_string(), "run it again").into(),
    })
}
