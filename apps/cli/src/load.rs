//! `keytoll load`: many devices authenticate to one target on a schedule, whatever becomes of those before.
//!
//! ```text
//!   load file --> LoadBlueprint --> keytoll_load::run --a second--> view.rs: terminal; export.rs: Prometheus
//!                                        '--Outcome--> document.rs: table, load.json, verdict; gate.rs: --fail-if; series.csv
//! ```

mod document;
mod export;
mod gate;
mod hints;
mod view;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use keytoll_analysis::census::Accounts;
use keytoll_analysis::directory;
use keytoll_analysis::summary::{LIVE, LateStarts, LoadOutcome};
use keytoll_crypto_api::Seed;
use keytoll_lab::{Directory, Published, RowEnd};
use keytoll_live::{Capture, Clock, Streaming};
use keytoll_load::target::{Meter, Source as Measured};
use keytoll_load::{Load, Outcome, Starts, Stay, Visits, Worker, check_limits};
use keytoll_report::directory::render;
use keytoll_rigs::RADIUS;
use keytoll_rigs::node::{LoadBlueprint, radius_length};
use keytoll_scenario::Source;
use keytoll_scenario::node::load::{AccessPlan, LoadFile, LoadPlan, Measured as MeasuredPlan};
use keytoll_scenario::population::{Arrivals, Population};
use keytoll_trace::listing::{LOAD, POPULATION};
use keytoll_trace::manifest::{FORMAT, KIND, Manifest, ManifestRow};
use miette::{Report, miette};

pub(crate) use document::{Document as Loaded, Split, Untold};
pub(crate) use export::junit;

use crate::args::LoadArgs;
use crate::live::place;
use crate::metrics::Exported;
use crate::outputs::JUNIT;
use crate::report::{of_plan, unmeasured};
use crate::run::{begin, note_place, told};
use crate::screen::{self, Page, Usage};
use crate::{capture, interrupt, live, version};
use document::Document;
use view::View;

/// Exit code of a load that has failed.
const FAILED: u8 = 1;
/// Exit code of an inconclusive load: the generator was too slow.
const INCONCLUSIVE: u8 = 4;

/// Sessions close at least at this pace in the end, in a second.
const CLOSED_PER_S: u64 = 500;
/// How long sessions may take to close at least.
const FAREWELL: Duration = Duration::from_secs(5);

/// All requests that a connection may have outstanding, none longer than RFC 2865 §3 allows.
const UNSENT_BYTES_MAX: usize = 256 * 4096;

/// Runs a load.
pub(crate) fn load(args: &LoadArgs) -> Result<ExitCode, Report> {
    let LoadFile { mut plan, warnings } = Source::load_file(&args.file)?;
    warnings.iter().for_each(|warning| screen::note(&format!("warning: {warning}\n")));
    plan.fail_if.extend(args.fail_if.iter().cloned());
    let workers = workers(&plan, args);
    check_outputs(args)?;
    let mut load = prepare(&plan, args, workers)?;
    let exported = Exported::open(&args.metrics)?;
    // Before there is a directory that would remain unfinished.
    let junit = Page::open(args.junit.as_deref(), &JUNIT)?;
    let capture =
        args.pcap.as_deref().map(|path| Ok::<_, Report>((capture(path, &plan, args)?, path))).transpose()?;
    load.capture = capture.as_ref().map(|(capture, _)| capture.clone());
    let out = args.out_dir();
    let directory = begin(&out, manifest(args, &plan), args.force)?;
    let done = run(&plan, load, exported, workers);
    let (outcome, document) = match done {
        Ok(done) => done,
        Err(report) => {
            let _ = directory.give_up();
            return Err(report);
        }
    };
    let published = keep(directory, &outcome, &document)?;
    capture.map_or(Ok(()), |(capture, path)| capture::end(&capture, path))?;
    if let Some(page) = junit {
        let text = export::junit(&args.file.display().to_string(), &document);
        page.write(|out| out.write_all(text.as_bytes()))?;
    }
    if args.json {
        screen::print_json(&document)?;
    } else {
        screen::print(&document.text())?;
    }
    note_place(&published);
    Ok(match document.verdict.verdict {
        LoadOutcome::Passed => ExitCode::SUCCESS,
        LoadOutcome::Failed => ExitCode::from(FAILED),
        LoadOutcome::Inconclusive => ExitCode::from(INCONCLUSIVE),
    })
}

/// Starts the capture of all devices.
fn capture(path: &Path, plan: &LoadPlan, args: &LoadArgs) -> Result<Capture, Report> {
    let comment = format!("keytoll load {}", args.file.display());
    let capture = capture::begin(path, &Clock::start(), "load", &comment)?;
    if let AccessPlan::Radius(radius) = &plan.access {
        capture.share(&radius.secret);
    }
    Ok(capture)
}

/// Refuses files in one place.
fn check_outputs(args: &LoadArgs) -> Result<(), Report> {
    let out = args.out_dir();
    let [junit, pcap] = [args.junit.as_deref(), args.pcap.as_deref()];
    let outputs = [("--out", Some(&*out)), ("--junit", junit), ("--pcap", pcap), args.metrics.output()];
    screen::apart(&outputs, ("load file", &args.file))
}

fn run(plan: &LoadPlan, load: Load, exported: Exported, workers: u32) -> Result<(Outcome, Document), Report> {
    let stop = interrupt::watch(|| ())?;
    let mut view = View::new(exported, stop);
    let ran = keytoll_load::run(load, &mut view);
    view.end();
    let outcome = ran.map_err(|error| miette!("cannot {error}"))?;
    let document = Document::of(plan, workers, &outcome);
    Ok((outcome, document))
}

/// As many workers as are wanted, but none without a device, an identity, and a place in a closed loop.
fn workers(plan: &LoadPlan, args: &LoadArgs) -> u32 {
    let (wanted, population) = (args.workers.get(), &plan.population.value);
    let at_a_time = if let Arrivals::AtATime(count) = population.arrivals { count } else { u32::MAX };
    let workers = wanted.min(population.devices).min(plan.identities.value.count()).min(at_a_time).max(1);
    if workers < wanted {
        screen::note(&format!(
            "note: {workers} of {wanted} workers begin: there is no share for more of the devices, of the identities, or of \
             those that authenticate at a time\n"
        ));
    }
    workers
}

/// The workers of a plan, and what measures the target.
fn prepare(plan: &LoadPlan, args: &LoadArgs, workers: u32) -> Result<Load, Report> {
    let blueprint = Arc::new(LoadBlueprint::draw(plan)?);
    let count = workers as usize;
    let sockets: usize = (0..count).map(|worker| blueprint.sockets(worker).len()).sum();
    check_limits(sockets).map_err(|low| Usage::because(low.to_string(), low.command()))?;
    // RFC 2865 §3: Request Authenticators never repeat; and who reads a seed in manifest.json must not know the devices' keys.
    let seed = Seed::system().map_err(|error| miette!("the system gives no random numbers: {error}"))?;
    let schedule = args.seed.map_or_else(|| seed.stream("schedule").repeatable(), Seed::from);
    let span = plan.population.value.span(&schedule).map_err(|why| miette!("{why}"))?.unwrap_or_default();
    let worker = |number: usize| {
        let sockets: Vec<_> = blueprint.sockets(number).into_iter().map(place).collect::<Result<_, _>>()?;
        let (blueprint, own) = (Arc::clone(&blueprint), seed.clone());
        let name = format!("load/{number}");
        Ok(Worker {
            streaming: streaming(&blueprint, sockets.len(), &seed, &name),
            sockets,
            build: Box::new(move |locals| blueprint.build(locals, &own, &name)),
            visits: visits(plan, (number, count), (&schedule, span))?,
        })
    };
    Ok(Load {
        workers: (0..count).map(worker).collect::<Result<_, Report>>()?,
        is_closed_loop: plan.population.value.arrivals.is_closed_loop(),
        called: plan.called().collect(),
        meter: plan.measure.as_ref().map(meter).transpose()?,
        lateness_quantile: LateStarts::quantile(),
        capture: None,
    })
}

/// What a worker speaks over so many streams, if it does.
fn streaming(blueprint: &LoadBlueprint, count: usize, seed: &Seed, name: &str) -> Option<Streaming> {
    let secure = Some(blueprint.secure(seed, name)?);
    let streaming = Streaming::new(RADIUS, radius_length);
    Some(Streaming { secure, connections_max: count, unsent_bytes_max: UNSENT_BYTES_MAX, ..streaming })
}

fn meter(measured: &MeasuredPlan) -> Result<Meter, Report> {
    let source = match measured {
        MeasuredPlan::Process(pid) => Measured::Process(*pid),
        MeasuredPlan::Page(host, path) => Measured::Page(host.clone(), path.clone()),
    };
    Meter::start(source).map_err(|why| Usage::hint(why, "correct `measure`, or leave it out").into())
}

/// A worker's share of the population: every so-manieth arrival and identity.
fn visits(
    plan: &LoadPlan,
    (number, count): (usize, usize),
    (seed, span): (&Seed, Duration),
) -> Result<Visits, Report> {
    let population = &plan.population.value;
    let schedule = population.schedule(seed).map_err(|why| miette!("{why}"))?;
    let share = |of: u32| {
        let (of, count, number) = (of as usize, count, number);
        of / count + usize::from(number < of % count)
    };
    let starts = match (&population.arrivals, schedule) {
        (Arrivals::AtATime(at_a_time), _) => {
            Starts::Closed { at_a_time: share(*at_a_time) as u32, total: share(population.devices) as u64 }
        }
        (_, Some(times)) => Starts::Open { times: Box::new(times.skip(number).step_by(count)), span },
        (_, None) => Starts::Open { times: Box::new(std::iter::empty()), span },
    };
    let stay = population.stay.map(|stay| Population::draws(stay, seed, &format!("stay/{number}")));
    let sessions = u64::from(population.devices.min(plan.identities.value.count())) / count as u64;
    Ok(Visits {
        starts,
        devices: (0..plan.identities.value.count()).skip(number).step_by(count).collect(),
        stay: stay.map_or(Stay::Always, |mut stay| Stay::For(Box::new(move || stay.draw()))),
        within: plan.within,
        length: population.duration,
        farewell: FAREWELL + Duration::from_secs(sessions / CLOSED_PER_S),
    })
}

/// Writes what is kept, and what is made of it: summary, series and page, as of a run.
fn keep(directory: Directory, outcome: &Outcome, document: &Document) -> Result<Published, Report> {
    let path = directory.path().to_owned();
    write(&path, outcome, document).map_err(|error| miette!("cannot write {}: {error}", path.display()))?;
    let attempts = u32::try_from(document.population.offered).unwrap_or(u32::MAX);
    directory.ended(0, RowEnd::of_attempts(attempts));
    let ended = if outcome.was_stopped { directory.incomplete() } else { directory.complete() };
    ended.map_err(told)?;
    render(&path, of_plan).map_err(|error| miette!("{error}"))?;
    directory.publish().map_err(told)
}

fn write(directory: &Path, outcome: &Outcome, document: &Document) -> std::io::Result<()> {
    let create = |name: &str| File::create_new(directory.join(name)).map(BufWriter::new);
    let mut summary = create(LOAD)?;
    serde_json::to_writer_pretty(&mut summary, document)?;
    writeln!(summary)?;
    summary.flush()?;
    let accounts = Accounts { rows: vec![Some(keytoll_load::account(outcome, document.workers))] };
    let mut population = create(POPULATION)?;
    accounts.write(&mut population)?;
    population.flush()
}

/// The load as the one row of a run.
fn manifest_row(plan: &LoadPlan) -> ManifestRow {
    ManifestRow {
        index: 0,
        method: plan.access_name(),
        variant: String::new(),
        network: plan.target.to_string(),
        topology: String::new(),
        world: LIVE.to_owned(),
        crypto: "real".to_owned(),
        samples_planned: plan.population.value.devices,
        trace: "trace/000.trace".to_owned(),
        costs: "costs/000.costs".to_owned(),
        notes: Vec::new(),
    }
}

fn manifest(args: &LoadArgs, plan: &LoadPlan) -> Manifest {
    let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
    Manifest {
        kind: KIND.to_owned(),
        format: FORMAT,
        provenance: version::program().measuring(None),
        title: name.into_owned(),
        study: None,
        seed: args.seed.map(|seed| seed.to_string()).unwrap_or_default(),
        // The file names secrets; they stay where they are.
        plan: String::new(),
        complete: false,
        traced: false,
        rows: vec![manifest_row(plan)],
        files: Vec::new(),
    }
}

/// Makes the files again that are made of the results of a load in a directory, and shows it; `None` if they are those of a run.
pub(crate) fn show(dir: &Path, as_json: bool) -> Option<Result<(), Report>> {
    is_one(dir).then(|| {
        let document = read(dir)?;
        if has_page(dir) {
            render(dir, of_plan).map_err(crate::report::told)?;
        }
        if as_json { screen::print_json(&document) } else { screen::print(&document.text()) }
    })
}

/// Whether a load has kept what its page is made of; one of an older keytoll has not.
pub(crate) fn has_page(dir: &Path) -> bool {
    dir.join(POPULATION).symlink_metadata().is_ok()
}

/// Whether the results in a directory are those of a load. Whatever stands in their place is refused when it is read.
pub(crate) fn is_one(dir: &Path) -> bool {
    dir.join(LOAD).symlink_metadata().is_ok()
}

/// Reads the results of a load.
pub(crate) fn read(dir: &Path) -> Result<Document, Report> {
    let path = dir.join(LOAD);
    let manifest = directory::manifest(dir).map_err(unmeasured)?;
    directory::unchanged(dir, &manifest, LOAD).map_err(unmeasured)?;
    Document::read(&path).map_err(|error| miette!("`{}` is damaged: {error}", path.display()))
}

/// Describes a load file, with all files opened that it names, but no socket bound.
pub(crate) fn describe(source: &Source, as_json: bool) -> Result<(), Report> {
    let LoadFile { plan, warnings } = source.load()?;
    let blueprint = LoadBlueprint::draw(&plan)?;
    warnings.iter().for_each(|warning| screen::note(&format!("warning: {warning}\n")));
    let what = if plan.has_streams() { "connections" } else { "sockets" };
    let sockets = (what, format!("{} for each worker", blueprint.sockets(0).len()));
    let lines = [plan.lines(), vec![sockets]].concat();
    live::tell("load", "load", lines, "a load", as_json)
}
