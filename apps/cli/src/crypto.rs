//! `keytoll crypto`: measures single crypto operations, repeats a paper's table of them, and writes cost tables.

mod messages;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use keytoll_analysis::primitives::{self, Primitives};
use keytoll_analysis::study::Sheet;
use keytoll_crypto::Exponents;
use keytoll_primitives::{Ask, Effort, Library, Primitive, catalogue, measure};
use keytoll_report::{primitives as shown, study};
use keytoll_scenario::nearest;
use keytoll_scenario::plan::CryptoMode;
use keytoll_studies::{dh_groups, rrkm};
use keytoll_trace::cost_table::CostTable;
use keytoll_trace::primitive::Timings;
use keytoll_trace::provenance::Provenance;
use miette::{Report, miette};

use crate::args::{CryptoArgs, RSA_RC4_SHA1};
use crate::outputs::COST_TABLE;
use crate::progress::{Counted, Progress};
use crate::{interrupt, screen, version};
use messages::Messages;
use screen::{Page, Usage};

/// The two sizes that determine the cost line; packets and TLS records lie between them.
const CALIBRATION_SIZES: [usize; 2] = [64, 4096];

/// CPU time for each point of a calibration, of which there are several hundred.
const CALIBRATION_TIME: Duration = Duration::from_millis(25);

/// Measures the chosen primitives and shows the results.
pub(crate) fn crypto(args: &CryptoArgs) -> Result<ExitCode, Report> {
    match (&args.calibrate, args.table.as_deref()) {
        (Some(path), _) => calibrate(args, path),
        (None, Some(table)) => paper(args, table),
        (None, None) => costs(args),
    }
}

fn costs(args: &CryptoArgs) -> Result<ExitCode, Report> {
    let library = library(&args.crypto)?;
    let chosen = chosen(&args.primitives, catalogue::all(&ask(args), library))?;
    let (timings, provenance) =
        timed(args, &chosen, Effort { operations: operations(args), ..Effort::default() })?;
    let measured = Primitives { provenance: Some(provenance), ..primitives::summarise(&timings) };
    if args.json {
        screen::print_json(&serde_json::to_value(&measured).map_err(|error| miette!("{error}"))?)?;
    } else {
        screen::written(|out| shown::write(&measured, screen::width(), out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A paper's table.
fn paper(args: &CryptoArgs, table: &str) -> Result<ExitCode, Report> {
    let (chosen, usual, sheet): (_, _, fn(&Timings) -> Sheet) = match table {
        RSA_RC4_SHA1 => (catalogue::rsa_rc4_sha1(rrkm::BYTES), rrkm::OPERATIONS, rrkm::sheet),
        _ => {
            let chosen = catalogue::exchanges(&ask(args), library(&args.crypto)?);
            (chosen, dh_groups::EXCHANGES, dh_groups::sheet)
        }
    };
    let effort = Effort { operations: operations(args).or(Some(usual)), ..Effort::default() };
    let (timings, provenance) = timed(args, &chosen, effort)?;
    let sheet = Sheet { provenance: Some(provenance), ..sheet(&timings) };
    if args.json {
        screen::print_json(&serde_json::to_value(&sheet).map_err(|error| miette!("{error}"))?)?;
    } else {
        screen::written(|out| study::write_sheet(&sheet, screen::width(), out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a cost table. An earlier file is replaced only by a complete one.
fn calibrate(args: &CryptoArgs, path: &Path) -> Result<ExitCode, Report> {
    let messages = Messages::read(&args.messages)?;
    let page = Page::open(Some(path), &COST_TABLE)?;
    let ask = Ask { sizes: CALIBRATION_SIZES.to_vec(), every_scheme: true, ..Ask::default() };
    let effort = Effort { operations: operations(args), time: CALIBRATION_TIME };
    let (timings, _) = timed(args, &catalogue::all(&ask, library(&args.crypto)?), effort)?;
    let costs = primitives::costs(&timings);
    let table = CostTable { message: messages.price(&costs)?, ..costs };
    let table =
        table.sound().map_err(|error| miette!("`{}` is not written: the table {error}", path.display()))?;
    page.map_or(Ok(()), |page| page.write(|out| table.write(out)))?;
    let (costs, spread) = (table.costs.len(), table.costs.iter().map(|cost| cost.spread).fold(0.0, f64::max));
    screen::note(&format!(
        "{costs} costs of {} on {} in {}; measurements of one vary by up to {:.0} %\n",
        table.library,
        table.machine.cpu,
        path.display(),
        spread * 100.0
    ));
    table.message.as_ref().map(messages::told).iter().for_each(|told| screen::note(told));
    Ok(ExitCode::SUCCESS)
}

/// Paper 002's key exchanges for its study; `None` if interrupted.
pub(crate) fn exchanges(mode: CryptoMode, count: u64, stop: &AtomicBool) -> Result<Option<Timings>, Report> {
    let library = library_of(mode)?;
    let chosen = catalogue::exchanges(&Ask::default(), library);
    Ok(watched(&chosen, library, times(count), stop))
}

/// Paper 001's operations for its study, those that depend on it also with the length of what RRKM hashes; `None` if interrupted.
pub(crate) fn rsa_rc4_sha1(
    mode: CryptoMode,
    count: u64,
    stop: &AtomicBool,
) -> Result<Option<Timings>, Report> {
    let library = library_of(mode)?;
    let lengths = |primitive: Primitive| {
        let short = primitive.sized.then_some(Primitive { bytes: rrkm::HASHED_BYTES, ..primitive });
        short.into_iter().chain([primitive])
    };
    let chosen: Vec<_> = catalogue::rsa_rc4_sha1(rrkm::BYTES).into_iter().flat_map(lengths).collect();
    Ok(watched(&chosen, library, times(count), stop))
}

fn times(count: u64) -> Effort {
    Effort { operations: Some(count), ..Effort::default() }
}

/// The library of a run.
fn library_of(mode: CryptoMode) -> Result<Library, Report> {
    match mode {
        CryptoMode::OpenSsl => library("openssl"),
        _ => Ok(Library::AwsLc),
    }
}

/// Measures everything; Ctrl-C ends it without results.
fn timed(args: &CryptoArgs, chosen: &[Primitive], effort: Effort) -> Result<(Timings, Provenance), Report> {
    let (stop, library) = (interrupt::watch(|| {})?, library(&args.crypto)?);
    let mut provenance = version::program().measuring(Some(library.version()));
    let timings = watched(chosen, library, effort, &stop);
    keytoll_lab::end(&mut provenance);
    timings.map(|timings| (timings, provenance)).ok_or_else(|| miette!("interrupted: nothing is kept"))
}

/// Measures under a progress bar.
fn watched(chosen: &[Primitive], library: Library, effort: Effort, stop: &AtomicBool) -> Option<Timings> {
    let length = chosen.len() as u64;
    let progress = Progress::begin(Counted { length, of: "primitives", switch: "--count" });
    measure(chosen, library, effort, keytoll_lab::machine(), &|| progress.tick(), stop)
}

fn operations(args: &CryptoArgs) -> Option<u64> {
    args.count.map(|count| u64::from(count.get()))
}

fn ask(args: &CryptoArgs) -> Ask {
    let usual = Ask::default();
    let sizes = args.sizes.iter().map(|&size| size as usize).collect::<Vec<_>>();
    let exponents = match args.exponents.as_str() {
        "short" => vec![Exponents::Short],
        "full" => vec![Exponents::Full],
        _ => usual.exponents.clone(),
    };
    Ask { sizes: if sizes.is_empty() { usual.sizes.clone() } else { sizes }, exponents, ..usual }
}

#[cfg_attr(feature = "ossl", expect(clippy::unnecessary_wraps, reason = "other builds lack a library"))]
fn library(name: &str) -> Result<Library, Report> {
    match name {
        #[cfg(feature = "ossl")]
        "openssl" => Ok(Library::OpenSsl),
        #[cfg(not(feature = "ossl"))]
        "openssl" => Err(screen::not_built("--crypto openssl", "ossl").into()),
        _ => Ok(Library::AwsLc),
    }
}

/// The primitives that the words name, in the order of the catalogue; all of them without words.
fn chosen(words: &[String], all: Vec<Primitive>) -> Result<Vec<Primitive>, Report> {
    let names = |word: &str| all.iter().any(|primitive| catalogue::is_named(primitive, word));
    if let Some(unknown) = words.iter().find(|word| !names(word)) {
        return Err(no_primitive(unknown));
    }
    let is_chosen = |primitive: &Primitive| {
        words.is_empty() || words.iter().any(|word| catalogue::is_named(primitive, word))
    };
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn no_primitive(word: &str) -> Report {
    let names = catalogue::names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let families = keytoll_primitives::Family::ALL.map(keytoll_primitives::Family::name).join(", ");
    let hint = match nearest(word, &names) {
        Some(name) => format!("did you mean `{name}`? Families are {families}"),
        None => format!("families are {families}; `keytoll crypto` without names measures everything"),
    };
    Usage::because(format!("no primitive is named `{word}`"), hint).into()
}
