//! The verbs on real sockets: `keytoll gateway`, `aaa` and `hss` serve until they are stopped; `keytoll connect` is a device
//! that connects and shows how long it took.
//!
//! ```text
//!   node file --open.rs--> host on sockets --node.rs--> events --happening.rs--> log on stderr, JSON on stdout
//!                                              facts --log.rs-----------------'
//!                                              datagrams --steps.rs--> connect.rs --> outcome.rs
//! ```

mod connect;
mod control;
mod describe;
mod document;
mod happening;
mod log;
mod metrics;
mod node;
mod open;
mod outcome;
mod repeats;
mod sessions;
mod steps;
mod tun;

use std::process::ExitCode;

use keytoll_scenario::node::Role;
use miette::Report;
use tracing_subscriber::filter::{LevelFilter, Targets};

pub(crate) use describe::{Described, describe, tell};
pub(crate) use document::Document as Connected;
pub(crate) use log::FACT;
pub(crate) use open::place;

use crate::args::{Color, ConnectArgs, NodeArgs, ServeArgs};
use crate::screen;

/// Runs a node until it is stopped.
pub(crate) fn serve(args: &ServeArgs, role: Role, color: Color) -> Result<ExitCode, Report> {
    log::install(filter(&args.node, LevelFilter::INFO), color);
    let outputs = [args.metrics.output(), ("--pcap", args.node.pcap.as_deref())];
    screen::apart(&outputs, ("node file", &args.node.file))?;
    let plan = open::read(&args.node.file, role, args.listen)?;
    let metrics = metrics::Metrics::open(&args.metrics)?;
    let mut node = node::Node::start(&plan, &args.node, metrics, keytoll_live::NoTap)?;
    node.serve();
    node.drain();
    node.end_capture()?;
    Ok(ExitCode::SUCCESS)
}

/// Is a device that connects.
pub(crate) fn connect(args: &ConnectArgs, color: Color) -> Result<ExitCode, Report> {
    // The events are on stdout already.
    log::install(filter(&args.node, LevelFilter::WARN), color);
    connect::connect(args)
}

/// The log filter of the command line, or this level.
fn filter(args: &NodeArgs, usual: LevelFilter) -> Targets {
    args.log.clone().unwrap_or_else(|| Targets::new().with_default(usual))
}
