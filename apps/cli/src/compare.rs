//! `keytoll compare`: two runs, or the rows of one, authentication by authentication.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use keytoll_analysis::compare::samples::{self, MeasuredRun, ReadError};
use keytoll_analysis::compare::threshold::{self, Condition, Resolved};
use keytoll_analysis::compare::{Comparison, rows, runs};
use keytoll_report::compare::{sentence, write};
use keytoll_report::page;
use miette::{Report, miette};

use crate::args::CompareArgs;
use crate::report::{of_authentications, unmeasured};
use crate::screen::{self, Page, Usage};

/// Exit code when a condition is met.
const MET: u8 = 1;

/// Compares and shows.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, Report> {
    let html = Page::open(args.html.as_deref())?;
    let a = read(&args.a)?;
    let b = args.b.as_deref().map(read).transpose()?;
    let both = [&a, b.as_ref().unwrap_or(&a)];
    let measures = measures(both);
    args.measures.iter().try_for_each(|measure| known(measure, &measures))?;
    let conditions = conditions(&args.fail_if, &measures)?;
    let mut compared = compared(&a, b.as_ref(), args.baseline.as_deref())?;
    for condition in &conditions {
        compared.breaches.extend(threshold::breaches(condition, &compared, both));
    }
    if !args.measures.is_empty() {
        compared.show_only(&args.measures);
    }
    show(&compared, args.json)?;
    html.map_or(Ok(()), |html| html.write(|out| page::write(&page::comparison(&compared), out)))?;
    Ok(if compared.breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(MET) })
}

fn compared(a: &MeasuredRun, b: Option<&MeasuredRun>, baseline: Option<&str>) -> Result<Comparison, Report> {
    match b {
        Some(b) => Ok(runs(a, b)),
        None => rows(a, baseline).map_err(|error| {
            let all: BTreeSet<_> = a.rows.iter().map(|row| row.name.subject().to_string()).collect();
            let all = all.into_iter().collect::<Vec<_>>().join("; ");
            Usage::because(error.to_string(), format!("it has {all}")).into()
        }),
    }
}

fn show(comparison: &Comparison, as_json: bool) -> Result<(), Report> {
    if !as_json {
        return screen::written(|out| write(comparison, screen::width(), out));
    }
    let met = comparison.breaches.iter().map(|breach| sentence(breach) + "\n");
    screen::note(&met.collect::<String>());
    screen::print_json(comparison)
}

fn conditions(read: &[Condition], measures: &BTreeSet<&str>) -> Result<Vec<Resolved>, Report> {
    let fields = threshold::fields(measures.iter().copied());
    let resolve = |condition: &Condition| {
        let resolved = condition.resolve(&fields, true)?;
        threshold::check(&resolved).map(|()| resolved)
    };
    let hint = "like `delay_ms.p95 > +10%`: more than ten percent above the first run";
    read.iter().map(|condition| resolve(condition).map_err(|why| Usage::hint(why, hint).into())).collect()
}

/// The names of everything that was measured.
fn measures(both: [&MeasuredRun; 2]) -> BTreeSet<&str> {
    both.into_iter().flat_map(MeasuredRun::measures).collect()
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

fn read(dir: &Path) -> Result<MeasuredRun, Report> {
    of_authentications(dir)?;
    samples::read(dir).map_err(|error| match error {
        ReadError::NoSamples(_) => {
            Usage::hint(error.to_string(), "`keytoll report DIR` writes it from the trace").into()
        }
        ReadError::Directory(error) => unmeasured(error),
        other => miette!("{other}"),
    })
}
