//! The verbs on real sockets: `keytoll gateway`, `aaa` and `hss` serve until they are told to stop, `keytoll connect` is
//! a device that connects and says what it took.
//!
//! ```text
//!   node file --open.rs--> host on sockets --node.rs--> events --happening.rs--> log on stderr, JSON on stdout
//!                                              facts --log.rs-----------------'
//!                                              datagrams --steps.rs--> connect.rs --> outcome.rs
//! ```

mod books;
mod connect;
mod control;
mod describe;
mod document;
mod happening;
mod log;
mod node;
mod open;
mod outcome;
mod refusals;
mod steps;
mod tun;

use std::process::ExitCode;

use keytoll_scenario::node::Role;
use miette::Report;

pub(crate) use describe::{Described, describe};
pub(crate) use document::Document as Connected;

use crate::args::{Color, ConnectArgs, ServeArgs};

/// Is a node until somebody says stop.
pub(crate) fn serve(args: &ServeArgs, role: Role, color: Color) -> Result<ExitCode, Report> {
    log::install(args.node.log.as_deref().unwrap_or("info"), color)?;
    let plan = open::read(&args.node.file, role, args.listen)?;
    let mut node = node::Node::start(&plan, &args.node, keytoll_live::NoTap)?;
    node.serve();
    node.drain();
    node.end_capture()?;
    Ok(ExitCode::SUCCESS)
}

/// Is a device that connects.
pub(crate) fn connect(args: &ConnectArgs, color: Color) -> Result<ExitCode, Report> {
    // What it is about stands on stdout already.
    log::install(args.node.log.as_deref().unwrap_or("warn"), color)?;
    connect::connect(args)
}
