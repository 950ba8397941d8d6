//! `keytoll man`: manual pages of the program and of each verb, generated from the text of `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use miette::Report;

use crate::args::{Cli, ManArgs};
use crate::outputs::MANUAL;
use crate::screen::{self, Page, Usage};

/// The footer of a page.
const SOURCE: &str = concat!("keytoll ", env!("CARGO_PKG_VERSION"));

/// The start of the sentence about exit codes in the help of a verb.
const EXIT_CODE: &str = "Exit code";

/// Writes the pages into a directory, which is created if missing.
pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, Report> {
    let dir = &args.dir;
    if dir.is_file() {
        let message = format!("`{}` is a file, and the pages need a directory", dir.display());
        return Err(Usage::hint(message, "name a directory; it is created if missing").into());
    }
    fs::create_dir_all(dir).map_err(|error| screen::unwritable(dir, &error))?;
    let mut program = Cli::command().subcommand_help_heading("VERBS").subcommand_value_name("verb");
    program.build();
    let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut pages = std::iter::once(&program).chain(verbs);
    pages.try_for_each(|command| write(dir, command))?;
    Ok(ExitCode::SUCCESS)
}

fn write(dir: &Path, command: &Command) -> Result<(), Report> {
    let man = Man::new(command.clone()).source(SOURCE);
    let path = dir.join(man.get_filename());
    match Page::open(Some(&path), &MANUAL)? {
        Some(file) => file.write(|out| page(&man, command, out)),
        None => Ok(()),
    }
}

/// The sections in the order of man-pages(7).
fn page(man: &Man, command: &Command, out: &mut impl Write) -> io::Result<()> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = Help::parse(&help);
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    paragraph(help.prose).to_writer(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    help.tail().to_writer(out)?;
    see_also(command).to_writer(out)
}

/// The text below the options in the help of a verb.
struct Help<'a> {
    /// Command lines.
    examples: Vec<&'a str>,
    /// The files that it reads and writes.
    prose: &'a str,
    /// `Exit code: 0 done, …`, if the verb has codes of its own.
    exit: &'a str,
}

impl<'a> Help<'a> {
    fn parse(text: &'a str) -> Self {
        let (text, exit) = text.split_at(text.find(EXIT_CODE).unwrap_or(text.len()));
        let (examples, prose) = match text.split_once("\n\n") {
            Some((examples, prose)) if examples.starts_with("Example") => (examples, prose),
            _ => ("", text),
        };
        let examples = examples.lines().skip(1).map(str::trim).collect();
        Self { examples, prose: prose.trim(), exit: exit.trim() }
    }

    /// The sections below the options.
    fn tail(&self) -> Roff {
        let mut roff = Roff::new();
        if !self.exit.is_empty() {
            roff.control("SH", ["EXIT STATUS"]).text([roman(self.exit)]);
        }
        if !self.examples.is_empty() {
            roff.control("SH", ["EXAMPLES"]);
        }
        for example in &self.examples {
            roff.control("PP", []).control("RS", ["4"]).control("nf", []).text([roman(*example)]);
            roff.control("fi", []).control("RE", []);
        }
        roff
    }
}

fn paragraph(text: &str) -> Roff {
    let mut roff = Roff::new();
    if !text.is_empty() {
        roff.control("PP", []).text([roman(text)]);
    }
    roff
}

/// A verb refers to the program; the page of the program lists the verbs itself.
fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::new();
    if !command.has_subcommands() {
        roff.control("SH", ["SEE ALSO"]).text([bold("keytoll"), roman("(1)")]);
    }
    roff
}
