//! Output shared by all verbs: tables on stdout, errors on stderr.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_report::layout::{self, Head, Line};
use keytoll_scenario::ScenarioError;
use keytoll_trace::output::Output;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, Report, miette};
use serde::Serialize;

use crate::args::Color;
use crate::outputs::{Kind, check_place, check_replaceable};
use crate::printable;

/// The command line or the scenario is wrong.
const WRONG: u8 = 2;

/// A file is damaged, or the environment prevents the run.
pub(crate) const ENVIRONMENT: u8 = 3;

/// An argument that we cannot use.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Usage {
    message: String,
    hint: Cow<'static, str>,
}

impl Usage {
    /// An error with advice.
    pub(crate) fn hint(message: String, hint: &'static str) -> Self {
        Self { message, hint: hint.into() }
    }

    /// The same with advice that depends on the argument.
    pub(crate) fn because(message: String, hint: String) -> Self {
        Self { message, hint: hint.into() }
    }
}

/// The error for what this keytoll was built without.
pub(crate) fn not_built(what: &str, feature: &str) -> Usage {
    let message = format!("`{what}` needs a keytoll built with `--features {feature}`");
    Usage::because(message, format!("`cargo install --path apps/cli --features {feature}` installs one"))
}

impl Diagnostic for Usage {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&*self.hint))
    }
}

/// Prints why a verb failed, and returns its exit code.
pub(crate) fn fail(report: &Report, color: Color) -> ExitCode {
    let mut text = String::new();
    let is_colored = is_colored(color);
    let handler = GraphicalReportHandler::new_themed(theme(is_colored))
        .with_width(100)
        .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
    let drawn = handler.render_report(&mut text, report.as_ref());
    if drawn.is_err() {
        text = format!("{report}\n");
    }
    let text = shortened(&text);
    let shown = if is_colored { printable::colored(text) } else { printable::block(text).into_owned() };
    // A closed stderr is no error.
    let _ = io::stderr().write_all(shown.as_bytes());
    if text.ends_with(|letter| letter != '\n') {
        note(" …\n");
    }
    let is_wrong = report.is::<ScenarioError>() || report.is::<Usage>();
    ExitCode::from(if is_wrong { WRONG } else { ENVIRONMENT })
}

/// The longest error that is shown whole; what it repeats of a file may be somebody else's, and of any length.
const TOLD_BYTES_MAX: usize = 6000;

fn shortened(text: &str) -> &str {
    let end = (0..=TOLD_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn is_colored(color: Color) -> bool {
    color == Color::Auto && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn theme(is_colored: bool) -> GraphicalTheme {
    if is_colored { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() }
}

/// The width without a terminal.
const WIDTH: usize = 100;

/// The width of a line in columns: `COLUMNS` if set, otherwise the terminal's.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    let columns = || terminal().map(|(terminal_size::Width(columns), _)| columns.into());
    told.filter(|&columns| columns > 0).or_else(columns).unwrap_or(WIDTH)
}

/// Writes data to stdout. A closed pipe (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Report> {
    let mut out = io::stdout().lock();
    match out.write_all(printable::block(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(miette!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints the output of a writer.
pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<(), Report> {
    let mut text = Vec::new();
    write(&mut text).map_err(|error| miette!("{error}"))?;
    print(&String::from_utf8_lossy(&text))
}

/// An option, and the file that it names if it is given.
pub(crate) type Named<'a> = (&'static str, Option<&'a Path>);

/// Refuses two files in one place, and one in the place of the file that says what is to be done.
pub(crate) fn apart(outputs: &[Named<'_>], (what, input): (&str, &Path)) -> Result<(), Report> {
    let given: Vec<_> = outputs.iter().filter_map(|(option, path)| Some((*option, (*path)?))).collect();
    for (place, (option, path)) in given.iter().enumerate() {
        let shown = path.display();
        if whole(path) == whole(input) {
            let message = format!("`{option}` would replace the {what} `{shown}`");
            return Err(Usage::hint(message, "name another file").into());
        }
        if let Some((other, _)) = given[..place].iter().find(|(_, other)| whole(other) == whole(path)) {
            let message = format!("`{other}` and `{option}` both write `{shown}`");
            return Err(Usage::hint(message, "name two files").into());
        }
    }
    Ok(())
}

/// A path from the root, without links, as far as there are files.
fn whole(path: &Path) -> Option<PathBuf> {
    let there = || {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        Some(folder.map_or_else(|| path.clone(), |folder| folder.join(path.file_name().unwrap_or_default())))
    };
    path.canonicalize().ok().or_else(there)
}

/// A requested file, created before the measurement, so that an unwritable one is noticed at once. An earlier file is replaced
/// only by the complete one.
pub(crate) struct Page {
    path: PathBuf,
    output: Output,
}

impl Page {
    /// Creates the file, if one is requested. One that exists must be of this kind.
    pub(crate) fn open(path: Option<&Path>, kind: &Kind) -> Result<Option<Self>, Report> {
        path.map(|path| Self::create(path, kind)).transpose()
    }

    fn create(path: &Path, kind: &Kind) -> Result<Self, Report> {
        check_replaceable(path, kind)?;
        check_place(path)?;
        let output = Output::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), output })
    }

    /// Writes the contents and moves the file to its place.
    pub(crate) fn write(mut self, write: impl FnOnce(&mut Output) -> io::Result<()>) -> Result<(), Report> {
        let written = write(&mut self.output).and_then(|()| self.output.finish());
        written.map_err(|error| unwritable(&self.path, &error))
    }

    /// The same, unless interrupted: an incomplete file must not replace a complete one.
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

/// Prints a message on stderr.
pub(crate) fn note(text: &str) {
    // A closed stderr is no error.
    let _ = io::stderr().write_all(printable::block(text).as_bytes());
}

/// Notes on stderr that there is less than requested, if interrupted.
pub(crate) fn note_interruption(stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed) {
        note("interrupted: what was measured until then is shown\n");
    }
}

/// The note for figures of an interrupted measurement.
pub(crate) fn interrupted(stop: &AtomicBool) -> Option<String> {
    let text = "The measurement was interrupted and is not complete: the counts say how much there is of it.";
    stop.load(Ordering::Relaxed).then(|| text.to_owned())
}

/// Indented JSON with a final newline. It is written while it is serialized, so that it is never in memory as a whole.
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

/// Passes JSON on line by line, made safe to print. JSON has line ends only between its strings.
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

/// Rows of cells, aligned in columns two spaces apart and indented. Empty columns are left out. Where it is too wide for the
/// screen, the last column wraps below itself, or else everything after the first.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    self::rows(rows).concat()
}

/// The same, row by row.
pub(crate) fn rows(rows: &[Vec<String>]) -> Vec<String> {
    fitted(rows, width())
}

/// Rows of many text columns, with their heads: columns that do not fit beside the first `fixed` ones stand below, after these.
pub(crate) fn folded(heads: &[&str], rows: impl Iterator<Item = Vec<String>>, fixed: usize) -> String {
    let blanks = " ".repeat(INDENT);
    let first = heads.first().map_or_else(String::new, |head| format!("{blanks}{head}"));
    let heads = std::iter::once(first.as_str()).chain(heads.iter().skip(1).copied());
    let head: Vec<Head<'_>> = heads.map(|head| (head, false)).collect();
    let indented = |mut row: Vec<String>| {
        row.iter_mut().take(1).for_each(|cell| cell.insert_str(0, &blanks));
        Line::Cells(row)
    };
    let lines: Vec<Line> = rows.map(indented).collect();
    let mut text = Vec::new();
    let written = layout::table(&head, fixed, &lines, width(), &mut text);
    written.expect("memory takes everything that is written");
    String::from_utf8_lossy(&text).into_owned()
}

/// A text wrapped into lines, continued lines indented.
pub(crate) fn paragraph(text: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(width()).subsequent_indent("  ").break_words(false)) + "\n"
}

/// A text below a row, further indented.
pub(crate) fn below(text: &str) -> String {
    let (first, next) = (" ".repeat(3 * INDENT), " ".repeat(4 * INDENT));
    let options = textwrap::Options::new(width()).initial_indent(&first).subsequent_indent(&next);
    textwrap::fill(text, options.break_words(false)) + "\n"
}

fn fitted(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let rows = used(rows);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let widths = (0..columns).map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0));
    let widths = widths.collect::<Vec<_>>();
    let before: usize = widths.iter().take(columns.saturating_sub(1)).map(|width| width + 2).sum();
    match width.checked_sub(INDENT + before) {
        Some(room) if room >= LAST_MIN => rows.iter().map(|row| line(row, &widths, room)).collect(),
        _ => rows.iter().map(|row| row_paragraph(row, width)).collect(),
    }
}

/// Blanks before every row.
const INDENT: usize = 2;
/// The least width of the last column.
const LAST_MIN: usize = 20;

/// The cells of the columns that are not empty.
fn used(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let is_used = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()));
    let of_row = |row: &Vec<String>| {
        row.iter().enumerate().filter(|(column, _)| is_used(*column)).map(|(_, cell)| cell.clone()).collect()
    };
    rows.iter().map(of_row).collect()
}

/// A row in columns; the last one has the width `room`.
fn line(row: &[String], widths: &[usize], room: usize) -> String {
    let last = widths.len().saturating_sub(1);
    let cells = row.iter().zip(widths).take(last).map(|(cell, &width)| format!("{cell:width$}  "));
    let begin = format!("{:INDENT$}{}", "", cells.collect::<String>());
    let below = " ".repeat(begin.chars().count());
    let text = row.get(last).map_or("", String::as_str);
    let parts = textwrap::wrap(text, textwrap::Options::new(room).break_words(false));
    let line = |(place, part): (usize, &Cow<'_, str>)| {
        format!("{}{part}", if place == 0 { &begin } else { &below }).trim_end().to_owned() + "\n"
    };
    parts.iter().enumerate().map(line).collect()
}

/// A row as a paragraph, its continued lines indented.
fn row_paragraph(row: &[String], width: usize) -> String {
    let cells = row.iter().filter(|cell| !cell.is_empty()).map(String::as_str);
    let text = cells.collect::<Vec<_>>().join("  ");
    let (first, below) = (" ".repeat(INDENT), " ".repeat(3 * INDENT));
    let options = textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&below);
    textwrap::fill(&text, options.break_words(false)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_cut_between_letters() {
        assert_eq!(shortened("short\n"), "short\n");
        let long = "ű".repeat(TOLD_BYTES_MAX);
        assert_eq!(shortened(&long).len(), TOLD_BYTES_MAX);
        assert_eq!(shortened(&format!("a{long}")).len(), TOLD_BYTES_MAX - 1);
    }

    #[test]
    fn tables_are_aligned_and_skip_empty_columns() {
        let rows = [["a", "", "long name", "x"], ["bcd", "", "e", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(fitted(&rows, 100).concat(), "  a    long name  x\n  bcd  e\n");
        assert_eq!(fitted(&[], 100).concat(), "");
    }

    #[test]
    fn wide_text_wraps_and_is_never_cut() {
        let rows = [["umts", "384 kbit/s down, 64 kbit/s up; 120 ms; loss 0.2 %"], ["lo", "no limit"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let beside =
            "  umts  384 kbit/s down, 64\n        kbit/s up; 120 ms; loss\n        0.2 %\n  lo    no limit\n";
        assert_eq!(fitted(&rows, 32).concat(), beside);
        let below =
            "  umts  384 kbit/s down,\n      64 kbit/s up; 120\n      ms; loss 0.2 %\n  lo  no limit\n";
        assert_eq!(fitted(&rows, 24).concat(), below);
    }
}
