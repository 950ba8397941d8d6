//! Files that the user names for an output. An existing file is replaced only if it is recognized as an earlier output of the same
//! kind, by its first bytes; files of runs are not replaced at all, because their manifest lists their checksums.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use keytoll_report::export::{Format, junit, prometheus};
use keytoll_report::page;
use keytoll_trace::cost_table::CostTable;
use keytoll_trace::listing::run_of;
use miette::Report;

use crate::screen::Usage;

/// A kind of output file.
pub(crate) struct Kind {
    /// What messages call it.
    name: &'static str,
    /// Whether a file that begins like this is one.
    is_one: fn(&[u8]) -> bool,
}

/// `--html`.
pub(crate) const PAGE: Kind = Kind { name: "a page of keytoll", is_one: page::is_page };
/// `--calibrate`.
pub(crate) const COST_TABLE: Kind = Kind { name: "a cost table of keytoll", is_one: CostTable::is_one };
/// `--junit`, and exports in this format.
pub(crate) const JUNIT: Kind = Kind { name: "a JUnit file of keytoll", is_one: junit::is_one };
/// `--prometheus-file`, and exports in this format.
pub(crate) const METRICS: Kind = Kind { name: "a metrics file of keytoll", is_one: prometheus::is_page };
/// `export --format csv`.
pub(crate) const CSV: Kind =
    Kind { name: "a CSV export of keytoll", is_one: |beginning| Format::Csv.is_in(beginning) };
/// `export --format latex`.
pub(crate) const LATEX: Kind =
    Kind { name: "a LaTeX export of keytoll", is_one: |beginning| Format::Latex.is_in(beginning) };
/// `export --format markdown`.
pub(crate) const MARKDOWN: Kind =
    Kind { name: "a Markdown export of keytoll", is_one: |beginning| Format::Markdown.is_in(beginning) };
/// `export --format svg`.
pub(crate) const PICTURE: Kind =
    Kind { name: "a picture of keytoll", is_one: |beginning| beginning.starts_with(PICTURE_HEAD.as_bytes()) };
/// A page of `keytoll man`.
pub(crate) const MANUAL: Kind = Kind { name: "a manual page of keytoll", is_one: is_manual };
/// `--pcap` of a node. An earlier capture is renamed, not replaced.
pub(crate) const CAPTURE: Kind =
    Kind { name: "a pcapng file", is_one: |beginning| beginning.starts_with(&PCAPNG_MAGIC) };

/// The first line of a picture, by which it is recognized.
pub(crate) const PICTURE_HEAD: &str = "<!-- Written by keytoll export. -->\n";

/// The type of a pcapng section header block.
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// roff's title line comes after a few lines about fonts.
fn is_manual(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').any(|line| line.starts_with(b".TH keytoll"))
}

/// How much of a file is read to recognize it.
const BEGINNING_BYTES: u64 = 4096;

/// Refuses to replace a file that is not of this kind, or belongs to a run. Devices, pipes and empty files lose nothing.
pub(crate) fn check_replaceable(path: &Path, kind: &Kind) -> Result<(), Report> {
    if let Some(run) = run_of(path) {
        let message = format!("`{}` is the name of a file of the run in `{}`", path.display(), run.display());
        return Err(Usage::hint(message, "nothing was changed; name another file").into());
    }
    if path.is_dir() {
        let message = format!("`{}` is a directory, not a file", path.display());
        return Err(Usage::hint(message, "name a file").into());
    }
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    if !is_file || beginning(path).is_some_and(|beginning| (kind.is_one)(&beginning)) {
        return Ok(());
    }
    let message = format!("`{}` exists and is not {}", path.display(), kind.name);
    Err(Usage::hint(message, "nothing was changed; name another file, or move this one away").into())
}

/// Refuses a place in a directory that does not exist.
pub(crate) fn check_place(path: &Path) -> Result<(), Report> {
    match path.parent().filter(|folder| *folder != Path::new("") && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (file, folder) = (path.display(), folder.display());
            let message = format!("`{file}` cannot be created: there is no directory `{folder}`");
            Err(Usage::hint(message, "create it, or name another file").into())
        }
    }
}

fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut beginning = Vec::new();
    File::open(path).ok()?.take(BEGINNING_BYTES).read_to_end(&mut beginning).ok()?;
    Some(beginning)
}
