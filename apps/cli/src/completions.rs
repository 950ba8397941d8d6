//! `keytoll completions`: scripts with which a shell completes our command line.

use std::process::ExitCode;

use clap::CommandFactory;
use miette::Report;

use crate::args::{Cli, CompletionsArgs};
use crate::screen;

/// Prints the script for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Report> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "keytoll", &mut script);
    screen::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
