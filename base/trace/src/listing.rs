//! The files of a run: the names that keytoll gives them, how long each was when it was written, and whether it still is.
//! Whatever else lies in the directory of a run is somebody else's, and stays.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{Manifest, ManifestError};
use crate::regular;

/// The file that says what is in a run directory.
pub const MANIFEST: &str = "manifest.json";

/// Files that can be computed again from the traces, or from [`SUPPLEMENT`] or [`POPULATION`].
pub const DERIVED: [&str; 8] = [
    "samples.csv",
    "operations.csv",
    "messages.csv",
    SERIES,
    GATEWAYS,
    "summary.json",
    "study.json",
    "report.html",
];

/// What a run with a population has counted, instead of traces.
pub const POPULATION: &str = "population.json";

/// What a study measured besides its run.
pub const SUPPLEMENT: &str = "supplement.json";

/// What a load on a real target has come to.
pub const LOAD: &str = "load.json";

/// What happened in each second.
pub const SERIES: &str = "series.csv";

/// What happened in each second at each of several gateways.
pub const GATEWAYS: &str = "gateways.csv";

/// Folders of a run.
const FOLDERS: [(&str, &str); 3] = [("trace", ".trace"), ("costs", ".costs"), ("capture", ".pcapng")];

/// A file as it was when keytoll had written it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFile {
    /// Relative to the run directory.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// CRC-32 of its contents.
    pub crc32: u32,
    /// Rows of a table, without the names of its columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// Why a file is not the one that was written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// It does not exist any more.
    #[error("it is missing")]
    Missing,
    /// It is no file.
    #[error("it is no file")]
    Kind,
    /// It was cut off, or has grown.
    #[error("it is damaged: it has {found} bytes, and {written} were written")]
    Length {
        /// How many there are.
        found: u64,
        /// How many there were.
        written: u64,
    },
    /// Something in it has changed.
    #[error("it is damaged: its CRC-32 is {found:08x}, and {written:08x} was written")]
    Contents {
        /// What it is.
        found: u32,
        /// What it was.
        written: u32,
    },
}

impl RunFile {
    /// Reads a file of a run to its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(run: &Path, path: &str) -> io::Result<Self> {
        let mut input = BufReader::new(regular::open(&run.join(path))?);
        let (mut hasher, mut bytes, mut lines) = (Hasher::new(), 0, 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match input.read(&mut buffer)? {
                0 => break,
                count => &buffer[..count],
            };
            hasher.update(read);
            bytes += read.len() as u64;
            lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        let rows = path.ends_with(".csv").then(|| lines.saturating_sub(1));
        Ok(Self { path: path.to_owned(), bytes, crc32: hasher.finalize(), rows })
    }

    /// Whether the file is as long as it was.
    ///
    /// # Errors
    /// When it is not, or is no file.
    pub fn check_length(&self, run: &Path) -> Result<(), FileError> {
        let found = fs::symlink_metadata(run.join(&self.path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::Missing,
            _ => FileError::Io(error),
        })?;
        if !found.is_file() {
            return Err(FileError::Kind);
        }
        if found.len() != self.bytes {
            return Err(FileError::Length { found: found.len(), written: self.bytes });
        }
        Ok(())
    }

    /// Whether the file is what it was, byte for byte.
    ///
    /// # Errors
    /// When it is not, or is no file.
    pub fn check(&self, run: &Path) -> Result<(), FileError> {
        self.check_length(run)?;
        let found = Self::of(run, &self.path)?.crc32;
        if found != self.crc32 {
            return Err(FileError::Contents { found, written: self.crc32 });
        }
        Ok(())
    }
}

/// Whether keytoll gives this name to a file of a run; the path is relative to its directory.
pub fn is_of_a_run(path: &Path) -> bool {
    let Some(parts) = path.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>() else { return false };
    match parts[..] {
        [name] => DERIVED.contains(&name) || [SUPPLEMENT, LOAD, POPULATION].contains(&name),
        [folder, name] => FOLDERS.iter().any(|(of, ending)| *of == folder && is_numbered(name, ending)),
        ["capture", keys, table] => is_numbered(keys, ".keys") && KEY_TABLES.contains(&table),
        _ => false,
    }
}

/// The files of a Wireshark profile that opens a capture.
const KEY_TABLES: [&str; 7] = [
    "80211_keys",
    "ikev1_decryption_table",
    "ikev2_decryption_table",
    "esp_sa",
    "tls.keys",
    "decode_as_entries",
    "preferences",
];

/// `000.trace`, `017.gw.pcapng`.
fn is_numbered(name: &str, ending: &str) -> bool {
    let Some(stem) = name.strip_suffix(ending) else { return false };
    let (number, node) = stem.split_once('.').unwrap_or((stem, ""));
    let is_number = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && node.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The run that has, or would have, a file at this path: the directory with a manifest of keytoll in which it has a name of ours.
pub fn run_of(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok();
    let real = path.canonicalize().ok();
    [Some(path.to_owned()), absolute, real].into_iter().flatten().find_map(|path| {
        let runs = path.ancestors().skip(1).take(FOLDERS_DEEP).filter(|run| *run != Path::new(""));
        let mut runs = runs.filter(|run| path.strip_prefix(run).is_ok_and(is_kept)).filter(|run| is_run(run));
        runs.next().map(Path::to_owned)
    })
}

/// `capture/000.keys/esp_sa` is in the third directory below that of its run.
const FOLDERS_DEEP: usize = 3;

fn is_kept(path: &Path) -> bool {
    path == Path::new(MANIFEST) || is_of_a_run(path)
}

/// Whether a directory has a manifest of keytoll, of any version and even if it is damaged.
fn is_run(directory: &Path) -> bool {
    let manifest = regular::open(&directory.join(MANIFEST)).map(Manifest::read);
    manifest.is_ok_and(|read| !matches!(read, Err(ManifestError::Foreign)))
}

/// Whether a directory has results or traces with the names that keytoll gives them.
pub fn has_results(directory: &Path) -> bool {
    let is_file = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let names = DERIVED.into_iter().chain([SUPPLEMENT, LOAD, POPULATION, "trace/000.trace"]);
    names.map(|name| directory.join(name)).any(is_file)
}

/// Every file of a directory that has a name of ours, but for the manifest, in the order of their names.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn list(run: &Path) -> io::Result<Vec<RunFile>> {
    let mut files = named(run)?;
    files.sort();
    let names = files.iter().filter_map(|path| path.to_str());
    names.map(|name| RunFile::of(run, name)).collect()
}

/// What lies in the directory of a run and is not, or not any more, what keytoll wrote there. Nothing that is missing counts.
///
/// # Errors
/// When the directory cannot be read.
pub fn strangers(run: &Path, files: &[RunFile]) -> io::Result<Vec<PathBuf>> {
    let is_known_folder = |path: &Path| files.iter().any(|file| Path::new(&file.path).starts_with(path));
    let is_known_file = |path: &Path| {
        path == Path::new(MANIFEST)
            || files.iter().any(|file| Path::new(&file.path) == path && file.check(run).is_ok())
    };
    let is_known = |entry: &Entry| {
        if entry.is_folder { is_known_folder(&entry.path) } else { is_known_file(&entry.path) }
    };
    Ok(entries(run)?.into_iter().filter(|entry| !is_known(entry)).map(|entry| entry.path).collect())
}

/// Removes a run: these files, each looked at once more, the manifest after them, and what folders are empty then, the
/// directory itself being the last.
///
/// # Errors
/// When a file is not as it was written, and those after it stay with the manifest, or one cannot be removed; that it is not
/// there is no error, nor that a folder holds something else.
pub fn remove(run: &Path, files: &[RunFile]) -> io::Result<()> {
    for file in files {
        match file.check(run) {
            Err(FileError::Missing) => continue,
            checked => checked.map_err(io::Error::other)?,
        }
        remove_file(run, Path::new(&file.path))?;
    }
    remove_rest(run)
}

/// Removes a run that has not ended: every file with a name of ours, whatever is in it.
///
/// # Errors
/// When one cannot be removed; that a folder holds something else is no error.
pub fn remove_unfinished(run: &Path) -> io::Result<()> {
    named(run)?.iter().try_for_each(|path| remove_file(run, path))?;
    remove_rest(run)
}

/// Removes a file of a run, and never one of another directory that a link leads to.
fn remove_file(run: &Path, path: &Path) -> io::Result<()> {
    let folders = path.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
    for folder in folders {
        if !fs::symlink_metadata(run.join(folder))?.is_dir() {
            return Err(io::Error::other(format!("{} is no folder of a run", folder.display())));
        }
    }
    if !is_of_a_run(path) {
        return Err(io::Error::other(format!("{} is no file of a run", path.display())));
    }
    gone(fs::remove_file(run.join(path)))
}

/// Removes the manifest and what folders are empty.
fn remove_rest(run: &Path) -> io::Result<()> {
    gone(fs::remove_file(run.join(MANIFEST)))?;
    folders(run)?.iter().try_for_each(|folder| gone(fs::remove_dir(run.join(folder))))?;
    gone(fs::remove_dir(run))
}

/// The folders of a directory; what is inside comes before what it is in.
fn folders(run: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> =
        entries(run)?.into_iter().filter(|entry| entry.is_folder).map(|entry| entry.path).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(path.iter().count()));
    Ok(folders)
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Ok(())
        }
        result => result,
    }
}

/// Puts a run on the disk, so that a machine that loses its power keeps it, and looks whether all of it is there.
///
/// # Errors
/// When a file is not as it was written, or the operating system cannot write it.
pub fn settle(run: &Path, files: &[RunFile]) -> io::Result<()> {
    for file in files {
        file.check(run).map_err(io::Error::other)?;
        regular::open(&run.join(&file.path))?.sync_all()?;
    }
    regular::open(&run.join(MANIFEST))?.sync_all()?;
    let folders = folders(run)?;
    folders
        .iter()
        .map(|folder| run.join(folder))
        .chain([run.to_owned()])
        .try_for_each(|folder| sync_folder(&folder))
}

/// Puts the names in a folder on the disk.
///
/// # Errors
/// When the operating system cannot.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// The paths of a directory's files that have a name of ours.
fn named(run: &Path) -> io::Result<Vec<PathBuf>> {
    let files = entries(run)?.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.path);
    Ok(files.filter(|path| is_of_a_run(path)).collect())
}

/// Something in a directory.
struct Entry {
    /// Relative to the directory.
    path: PathBuf,
    /// A symbolic link to a folder is none.
    is_folder: bool,
}

fn entries(directory: &Path) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(directory.join(&folder))? {
            let entry = entry?;
            let (path, is_folder) = (folder.join(entry.file_name()), entry.file_type()?.is_dir());
            if is_folder {
                waiting.push(path.clone());
            }
            found.push(Entry { path, is_folder });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_known_and_no_others() {
        for ours in [
            "summary.json",
            "trace/000.trace",
            "costs/1234.costs",
            "capture/017.gw.pcapng",
            "capture/017.pcapng",
            "capture/000.keys/esp_sa",
        ] {
            assert!(is_of_a_run(Path::new(ours)), "{ours}");
        }
        for other in [
            "notes.txt",
            "manifest.json",
            ".git/config",
            "trace/first.trace",
            "trace/000.costs",
            "trace/00.trace",
            "capture/000.keys/notes",
            "capture/mine.pcapng",
            "sub/summary.json",
            "trace/000.trace/x",
        ] {
            assert!(!is_of_a_run(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn files_of_a_run_are_known_by_name_and_place() {
        let home = std::env::temp_dir().join(format!("keytoll-run-of-{}", std::process::id()));
        let (run, other) = (home.join("run"), home.join("other"));
        for directory in [&run, &other] {
            fs::create_dir_all(directory.join("capture/000.keys")).unwrap();
        }
        assert!(!has_results(&run));
        fs::write(run.join(MANIFEST), format!("{{ \"kind\": {:?} }}", crate::manifest::KIND)).unwrap();
        fs::write(run.join("report.html"), "").unwrap();
        fs::write(other.join(MANIFEST), "{ \"name\": \"a web application\" }").unwrap();
        std::os::unix::fs::symlink(run.join("report.html"), home.join("page")).unwrap();
        for kept in ["report.html", "summary.json", MANIFEST, "capture/000.pcapng", "capture/000.keys/esp_sa"]
        {
            assert_eq!(run_of(&run.join(kept)), Some(run.clone()), "{kept}");
            assert_eq!(run_of(&other.join(kept)), None, "{kept}");
        }
        assert_eq!(run_of(&home.join("page")), Some(run.canonicalize().unwrap()));
        assert_eq!(run_of(&run.join("mine.html")), None);
        assert!(has_results(&run) && !has_results(&other));
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn what_is_not_ours_is_found_and_stays() {
        let run = std::env::temp_dir().join(format!("keytoll-listing-{}", std::process::id()));
        fs::create_dir_all(run.join("trace")).unwrap();
        fs::write(run.join(MANIFEST), "{}").unwrap();
        fs::write(run.join("trace/000.trace"), "facts").unwrap();
        fs::write(run.join("samples.csv"), "n\n1\n2\n").unwrap();
        let files = list(&run).unwrap();
        assert_eq!(files.iter().map(|file| file.rows).collect::<Vec<_>>(), [Some(2), None]);
        assert_eq!(strangers(&run, &files).unwrap(), Vec::<PathBuf>::new());

        fs::write(run.join("trace/notes"), "mine").unwrap();
        fs::write(run.join("samples.csv"), "n\n1\n3\n").unwrap();
        let mut found = strangers(&run, &files).unwrap();
        found.sort();
        assert_eq!(found, [Path::new("samples.csv"), Path::new("trace/notes")]);
        assert!(matches!(files[0].check(&run), Err(FileError::Contents { .. })));
        fs::write(run.join("samples.csv"), "n\n").unwrap();
        assert!(matches!(files[0].check(&run), Err(FileError::Length { found: 2, written: 6 })));

        assert!(
            remove(&run, &files).is_err() && run.join("samples.csv").exists(),
            "it is not what was written"
        );
        fs::write(run.join("samples.csv"), "n\n1\n2\n").unwrap();
        remove(&run, &files).unwrap();
        assert_eq!(entries(&run).unwrap().len(), 2, "the folder and the notes in it");
        fs::remove_dir_all(&run).unwrap();
    }

    #[test]
    fn nothing_outside_a_run_is_ever_removed() {
        let home = std::env::temp_dir().join(format!("keytoll-removal-{}", std::process::id()));
        let (run, other) = (home.join("run"), home.join("other"));
        for directory in [&run, &other] {
            fs::create_dir_all(directory.join("trace")).unwrap();
            fs::write(directory.join("trace/000.trace"), "precious").unwrap();
            fs::write(directory.join("notes"), "precious").unwrap();
        }
        let listed = |path: &str| RunFile { path: path.to_owned(), ..RunFile::of(&other, "notes").unwrap() };
        for outside in ["../other/notes", "notes", other.join("notes").to_str().unwrap(), "trace/../notes"] {
            assert!(remove(&run, &[listed(outside)]).is_err(), "{outside}");
        }
        // The folder of another run, to which a link leads.
        fs::remove_dir_all(run.join("trace")).unwrap();
        std::os::unix::fs::symlink("../other/trace", run.join("trace")).unwrap();
        assert!(remove(&run, &[listed("trace/000.trace")]).is_err());
        remove_unfinished(&run).unwrap();
        for kept in ["run/notes", "run/trace/000.trace", "other/notes", "other/trace/000.trace"] {
            assert_eq!(fs::read(home.join(kept)).unwrap(), b"precious", "{kept}");
        }
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn only_a_run_that_is_all_there_is_on_the_disk() {
        let run = std::env::temp_dir().join(format!("keytoll-settled-{}", std::process::id()));
        fs::create_dir_all(run.join("trace")).unwrap();
        fs::write(run.join(MANIFEST), "{}").unwrap();
        fs::write(run.join("trace/000.trace"), "facts").unwrap();
        let files = list(&run).unwrap();
        settle(&run, &files).unwrap();
        fs::write(run.join("trace/000.trace"), "fact").unwrap();
        assert!(settle(&run, &files).is_err());
        fs::remove_file(run.join("trace/000.trace")).unwrap();
        assert!(settle(&run, &files).is_err());
        fs::remove_dir_all(&run).unwrap();
    }
}
