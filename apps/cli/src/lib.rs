//! `keytoll`: what does network access authentication cost? One verb per step from scenario to report, and one for each node
//! that can run on real sockets.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 done; 1 measured, but no authentication of a row succeeded, one
//! did in spite of a fault, a condition was met, or the simulator contradicts a sizing; 2 the command line or the scenario is wrong, or a file that either names is missing,
//! unreadable or not of its kind; 3 a file is damaged, or the environment prevents it; 130 Ctrl-C; 143 SIGTERM.

mod args;
mod calibrate;
mod capture;
mod check;
mod compare;
mod completions;
mod crypto;
mod decode;
mod export;
mod interrupt;
mod list;
mod live;
mod load;
mod man;
mod measure;
mod metrics;
mod outputs;
mod printable;
mod profile;
mod progress;
mod rank;
mod ready;
mod report;
mod run;
mod schema;
mod screen;
mod size;
mod study;
mod version;

use std::process::ExitCode;

use clap::Parser;
use keytoll_scenario::node::Role;

use args::{Cli, Verb};

#[global_allocator]
static HEAP: keytoll_native::heap::TaggedHeap = keytoll_native::heap::TaggedHeap;

/// Runs the verb of the command line.
pub fn main() -> ExitCode {
    // This must precede the first call of the crypto library and the first thread. If it fails, only that heap is not counted.
    let counted = keytoll_native::heap::install_crypto_heap();
    debug_assert!(counted.is_ok(), "main has called nothing yet");
    let cli = Cli::parse();
    if cli.verb.is_live() {
        keytoll_live::small_pages();
        keytoll_live::forbid_core_dumps(std::env::var_os(keytoll_live::CORE_DUMPS).as_deref());
    }
    let serves = cli.verb.serves();
    let done = match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Study(args) => study::study(&args, cli.color),
        Verb::Profile(args) => profile::profile(&args),
        Verb::Gateway(args) => live::serve(&args, Role::Gateway, cli.color),
        Verb::Aaa(args) => live::serve(&args, Role::Aaa, cli.color),
        Verb::Hss(args) => live::serve(&args, Role::Hss, cli.color),
        Verb::Connect(args) => live::connect(&args, cli.color),
        Verb::Load(args) => load::load(&args),
        Verb::Check(args) => check::check(&args),
        Verb::List(args) => list::list(&args),
        Verb::Schema(args) => schema::schema(&args),
        Verb::Report(args) => report::report(&args),
        Verb::Export(args) => export::export(&args),
        Verb::Compare(args) => compare::compare(&args),
        Verb::Rank(args) => rank::rank(&args),
        Verb::Size(args) => size::size(&args),
        Verb::Node => node(),
        Verb::Decode(args) => decode::decode(&args),
        Verb::Measure(args) => measure::measure(&args),
        Verb::Crypto(args) => crypto::crypto(&args),
        Verb::Calibrate(args) => calibrate::calibrate(&args),
        Verb::Completions(args) => completions::completions(&args),
        Verb::Man(args) => man::man(&args),
    };
    let code = done.unwrap_or_else(|report| screen::fail(&report, cli.color));
    interrupt::exit_code().filter(|_| !serves).unwrap_or(code)
}

/// A process of `keytoll run --world live`.
fn node() -> Result<ExitCode, miette::Report> {
    keytoll_lab_live::serve().map_err(|error| miette::miette!("{error}"))?;
    Ok(ExitCode::SUCCESS)
}
