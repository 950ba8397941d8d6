//! What the verbs have in common on the screen: tables on stdout, errors on stderr.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_scenario::ScenarioError;
use keytoll_trace::output::Output;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, Report, miette};
use serde::Serialize;

use crate::args::Color;
use crate::printable;

/// The command line or the scenario is wrong.
const WRONG: u8 = 2;

/// A file is damaged, or the environment does not let us.
pub(crate) const ENVIRONMENT: u8 = 3;

/// An argument that names nothing we can use.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Usage {
    message: String,
    hint: Cow<'static, str>,
}

impl Usage {
    /// What is wrong, and what to do instead.
    pub(crate) fn hint(message: String, hint: &'static str) -> Self {
        Self { message, hint: hint.into() }
    }

    /// The same with a hint that depends on what was written.
    pub(crate) fn because(message: String, hint: String) -> Self {
        Self { message, hint: hint.into() }
    }
}

impl Diagnostic for Usage {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&*self.hint))
    }
}

/// Shows why a verb did not do its work, and says it in an exit code.
pub(crate) fn fail(report: &Report, color: Color) -> ExitCode {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme(color))
        .with_width(100)
        .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
    let drawn = handler.render_report(&mut text, report.as_ref());
    if drawn.is_err() {
        text = format!("{report}\n");
    }
    // Nobody is left to tell when stderr is closed.
    let _ = io::stderr().write_all(printable::colored(&text).as_bytes());
    let is_wrong = report.is::<ScenarioError>() || report.is::<Usage>();
    ExitCode::from(if is_wrong { WRONG } else { ENVIRONMENT })
}

fn theme(color: Color) -> GraphicalTheme {
    let colored =
        color == Color::Auto && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colored { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() }
}

/// How many columns the terminal has; without one, as many as given.
pub(crate) fn width(otherwise: usize) -> usize {
    let terminal = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(otherwise, |(terminal_size::Width(columns), _)| columns.into())
}

/// Writes data to stdout. A reader that has gone (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Report> {
    let mut out = io::stdout().lock();
    match out.write_all(printable::block(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(miette!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints what somebody writes.
pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<(), Report> {
    let mut text = Vec::new();
    write(&mut text).map_err(|error| miette!("{error}"))?;
    print(&String::from_utf8_lossy(&text))
}

/// A file that is asked for and begun before anything is measured, because one that cannot be written should not be found out
/// after half a minute. Until it has its contents, an earlier one stays.
pub(crate) struct Page {
    path: PathBuf,
    output: Output,
}

impl Page {
    /// Begins the file, if there is to be one.
    pub(crate) fn open(path: Option<&Path>) -> Result<Option<Self>, Report> {
        let open = |path: &Path| match Output::create(path) {
            Ok(output) => Ok(Self { path: path.to_owned(), output }),
            Err(error) => Err(unwritable(path, &error)),
        };
        path.map(open).transpose()
    }

    /// Fills it, and puts it into its place.
    pub(crate) fn write(mut self, write: impl FnOnce(&mut Output) -> io::Result<()>) -> Result<(), Report> {
        let written = write(&mut self.output).and_then(|()| self.output.finish());
        written.map_err(|error| unwritable(&self.path, &error))
    }

    /// The same, unless somebody wanted an end: what lacks something does not replace what is whole.
    pub(crate) fn write_unless(
        self,
        stop: &AtomicBool,
        write: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<(), Report> {
        if stop.load(Ordering::Relaxed) && self.path.exists() {
            note(&format!("`{}` is left as it was\n", self.path.display()));
            return Ok(());
        }
        self.write(write)
    }
}

/// A file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Report {
    miette!("cannot write `{}`: {error}", path.display())
}

/// Says something on stderr that is not data.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = io::stderr().write_all(printable::block(text).as_bytes());
}

/// Says on stderr that there is less than was asked for, if somebody wanted an end.
pub(crate) fn note_interruption(stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed) {
        note("interrupted: what was measured until then is shown\n");
    }
}

/// What a reader must know of figures if somebody wanted an end while they were measured.
pub(crate) fn interrupted(stop: &AtomicBool) -> Option<String> {
    let text = "The measurement was interrupted and is not complete: the counts say how much there is of it.";
    stop.load(Ordering::Relaxed).then(|| text.to_owned())
}

/// JSON as people can read it, with a newline at its end. It is written while it is made: however long, it is never there
/// as a whole.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Report> {
    let mut lines = Lines { out: BufWriter::new(io::stdout().lock()), line: Vec::new() };
    let written = serde_json::to_writer_pretty(&mut lines, value).map_err(io::Error::from);
    match written.and_then(|()| writeln!(lines)).and_then(|()| lines.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(miette!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

/// Passes JSON on line by line, fit to be shown. JSON has its line ends between its strings.
struct Lines<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.out.write_all(printable::json(&String::from_utf8_lossy(&self.line)).as_bytes())?;
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Rows of cells, aligned in columns two spaces apart. A column that is empty everywhere is left out.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let widths = (0..columns).map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0));
    let widths = widths.collect::<Vec<_>>();
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let used = row.iter().zip(widths).filter(|(_, width)| **width > 0);
    let cells = used.map(|(cell, &width)| format!("{cell:width$}"));
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("  {}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_skip_empty_columns() {
        let rows = [["a", "", "long name", "x"], ["bcd", "", "e", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "  a    long name  x\n  bcd  e\n");
        assert_eq!(table(&[]), "");
    }
}
