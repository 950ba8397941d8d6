//! The path that a user names for a run, its current content, and the numbered directories beside it.
//!
//! ```text
//!   runs/quickstart               a symbolic link to the latest run, quickstart.2
//!   runs/quickstart.1             an earlier run
//!   runs/quickstart.2
//!   runs/quickstart.3.unfinished  a run in progress, or a killed one
//! ```
//!
//! A run is built in its `unfinished` directory, which reserves its number, and is renamed when it has ended. The link is
//! replaced by a rename, so that the path leads to a complete run at any moment. Existing content is never overwritten:
//! anything that is neither a run of keytoll nor a link to one is refused before the run starts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use keytoll_trace::listing::{MANIFEST, has_results, sync_folder};
use keytoll_trace::manifest::{Manifest, ManifestError};
use keytoll_trace::output::unused_name;
use keytoll_trace::regular;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

/// The suffix of a directory whose run is in progress.
const UNFINISHED: &str = ".unfinished";

/// Why a run cannot have a place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The place has content that must stay.
    #[error("{what}")]
    Occupied {
        /// The content and its path.
        what: String,
        /// Advice.
        hint: &'static str,
    },
    /// The operating system reports an error.
    #[error("`{}` cannot be used for a run: {source}", path.display())]
    Unusable {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The user's path of a run.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The directory of the link and of the numbered directories.
    parent: PathBuf,
    name: OsString,
}

/// The content of the place.
#[derive(Debug)]
pub(super) enum Occupant {
    /// Nothing, or an empty directory.
    Nothing,
    /// A run in a directory of this name.
    Run(Earlier),
    /// A link of keytoll, and its target if that exists.
    Link(Option<Earlier>),
}

/// A run that is there already.
#[derive(Debug)]
pub(super) struct Earlier {
    pub(super) path: PathBuf,
    /// The identity of its directory, independent of its path.
    pub(super) identity: Identity,
    /// `None` if another version of keytoll wrote it.
    pub(super) manifest: Option<Manifest>,
}

/// Distinguishes a run from a later one in the same place: the original path, and device and inode of its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity(PathBuf, u64, u64);

impl Earlier {
    /// The run in a directory; `None` without a manifest of keytoll, or for a link.
    fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
        let manifest = match Manifest::read(regular::open(&path.join(MANIFEST)).ok()?) {
            Ok(manifest) => Some(manifest),
            Err(ManifestError::Format { .. }) => None,
            Err(_) => return None,
        };
        let identity = Identity(path.to_owned(), found.dev(), found.ino());
        Some(Self { path: path.to_owned(), identity, manifest })
    }

    /// Whether it is complete. A run of another version is assumed to be.
    pub(super) fn is_whole(&self) -> bool {
        self.manifest.as_ref().is_none_or(|manifest| manifest.complete)
    }
}

/// Why a directory is no run although it looks like one.
fn no_run(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return None;
    }
    match regular::open(&path.join(MANIFEST)).map(Manifest::read) {
        Ok(Err(ManifestError::Foreign)) => Some(format!("holds a {MANIFEST} that keytoll did not write")),
        Ok(_) => Some(format!("holds a {MANIFEST} that keytoll cannot read")),
        Err(_) if has_results(path) => Some(format!("holds files of a run but no {MANIFEST}")),
        Err(_) => None,
    }
}

impl Occupant {
    /// The run at the place.
    pub(super) fn earlier(self) -> Option<Earlier> {
        match self {
            Self::Nothing => None,
            Self::Run(earlier) => Some(earlier),
            Self::Link(earlier) => earlier,
        }
    }
}

impl Place {
    /// The place of this path.
    pub(super) fn of(path: &Path) -> Result<Self, PlaceError> {
        let Some(name) = path.file_name() else {
            let what = format!("`{}` is no name for a new directory", path.display());
            return Err(PlaceError::Occupied { what, hint: "name one that is not there yet: `--out NAME`" });
        };
        let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        Ok(Self { parent: parent.to_owned(), name: name.to_owned() })
    }

    /// The path as the user gave it.
    pub(super) fn path(&self) -> PathBuf {
        if self.parent == Path::new(".") { PathBuf::from(&self.name) } else { self.parent.join(&self.name) }
    }

    fn beside(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().with_file_name(name.as_ref())
    }

    /// The content of the place. Anything that a run may not replace is an error.
    pub(super) fn occupant(&self) -> Result<Occupant, PlaceError> {
        let path = self.path();
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Occupant::Nothing),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(self.below_a_file()),
            Err(error) => return Err(self.unusable(error)),
            Ok(found) => found,
        };
        if found.is_symlink() {
            return self.link();
        }
        if !found.is_dir() {
            return Err(self.refused("is a file"));
        }
        if let Some(link) = self.link_to_it() {
            return Err(self.refused(&format!("is the run that `{}` leads to", link.display())));
        }
        if let Some(earlier) = Earlier::at(&path) {
            return Ok(Occupant::Run(earlier));
        }
        self.empty(&found).map(|()| Occupant::Nothing)
    }

    /// The link that leads to the run of this name: that run must not move.
    fn link_to_it(&self) -> Option<PathBuf> {
        let name = Path::new(&self.name);
        let link = Self { parent: self.parent.clone(), name: name.file_stem()?.to_owned() };
        let is_numbered = link.number_of(&self.name).is_some();
        let leads_here = || fs::read_link(link.path()).is_ok_and(|target| target == name);
        (is_numbered && leads_here()).then(|| link.path())
    }

    /// A link is keytoll's if it leads to a numbered directory beside it, which is a run if it exists.
    fn link(&self) -> Result<Occupant, PlaceError> {
        let target = fs::read_link(self.path()).map_err(|error| self.unusable(error))?;
        let foreign = || {
            self.refused(&format!("is a symbolic link to `{}`, which keytoll did not make", target.display()))
        };
        if target.components().count() != 1 || self.number_of(target.as_os_str()).is_none() {
            return Err(foreign());
        }
        let target = self.beside(&target);
        if fs::symlink_metadata(&target).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(Occupant::Link(None));
        }
        let unusable = || match no_run(&target) {
            Some(why) => self.refused(&format!("leads to `{}`, which {why}", target.display())),
            None => foreign(),
        };
        Earlier::at(&target).map(|earlier| Occupant::Link(Some(earlier))).ok_or_else(unusable)
    }

    /// An empty directory may be replaced, unless it is a working directory or the root of a file system.
    fn empty(&self, found: &fs::Metadata) -> Result<(), PlaceError> {
        let path = self.path();
        let mut entries = fs::read_dir(&path).map_err(|error| self.unusable(error))?;
        if let Some(entry) = entries.next() {
            let name = entry.map_err(|error| self.unusable(error))?.file_name();
            let what = no_run(&path).unwrap_or_else(|| {
                format!("is not empty and holds no run of keytoll: there is `{}` in it", name.display())
            });
            return Err(self.refused(&what));
        }
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        if path.canonicalize().is_ok_and(|path| here.is_ok_and(|here| here.starts_with(path))) {
            return Err(self.refused("is the directory that you are in"));
        }
        let parent = fs::metadata(&self.parent).map_err(|error| self.unusable(error))?;
        if parent.dev() != found.dev() {
            let what = format!("`{}` is a mount point, and cannot be replaced by a run", path.display());
            return Err(PlaceError::Occupied { what, hint: "name a directory in it" });
        }
        Ok(())
    }

    /// Whether a directory can be created beside the place: in its nearest existing ancestor.
    pub(super) fn writable(&self) -> Result<(), PlaceError> {
        let above =
            self.parent.ancestors().map(|path| if path == Path::new("") { Path::new(".") } else { path });
        let there = { above }.find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(Path::new("/"));
        let is_directory = fs::metadata(there).map_err(|error| self.unusable(error))?.is_dir();
        if !is_directory {
            return Err(self.below_a_file());
        }
        access(there, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|errno| self.unusable(errno.into()))
    }

    fn refused(&self, what: &str) -> PlaceError {
        let what = format!("`{}` {what}", self.path().display());
        PlaceError::Occupied {
            what,
            hint: "nothing was changed; name another directory with `--out`, or move this one away",
        }
    }

    /// A path through something that is no directory.
    fn below_a_file(&self) -> PlaceError {
        let path = self.path();
        let file = path.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
        let (path, file) = (path.display(), file.unwrap_or(&self.parent).display());
        let what = format!("`{path}` cannot be created: `{file}` is a file");
        PlaceError::Occupied { what, hint: "name another directory with `--out`" }
    }

    fn unusable(&self, source: io::Error) -> PlaceError {
        PlaceError::Unusable { path: self.path(), source }
    }

    /// Creates a directory for a run; returns it with its final path. With `leave` a number before it remains free.
    pub(super) fn claim(&self, leave: bool) -> Result<(PathBuf, PathBuf), PlaceError> {
        fs::create_dir_all(&self.parent).map_err(|error| self.unusable(error))?;
        let highest = self.highest().map_err(|error| self.unusable(error))?;
        let first = highest.saturating_add(1 + u64::from(leave));
        for number in first..=u64::MAX {
            let (building, home) = (self.numbered(number, UNFINISHED), self.numbered(number, ""));
            match fs::create_dir(&building) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.unusable(error)),
                // A run may have ended since then.
                Ok(()) if fs::symlink_metadata(&home).is_ok() => {
                    fs::remove_dir(&building).map_err(|error| self.unusable(error))?;
                }
                Ok(()) => return Ok((building, home)),
            }
        }
        Err(self.refused("has no number left"))
    }

    /// The highest number of a directory beside the place; 0 if there is none.
    fn highest(&self) -> io::Result<u64> {
        let mut highest = 0;
        for entry in fs::read_dir(&self.parent)? {
            highest = highest.max(self.number_of(&entry?.file_name()).unwrap_or(0));
        }
        Ok(highest)
    }

    /// `quickstart.3`, `quickstart.3.unfinished`.
    fn numbered(&self, number: u64, ending: &str) -> PathBuf {
        let mut name = self.name.clone();
        name.push(format!(".{number}{ending}"));
        self.beside(name)
    }

    /// The number in a name like that.
    fn number_of(&self, name: &OsStr) -> Option<u64> {
        let rest = name.as_encoded_bytes().strip_prefix(self.name.as_encoded_bytes())?;
        let number = std::str::from_utf8(rest).ok()?.strip_prefix('.')?;
        let number = number.strip_suffix(UNFINISHED).unwrap_or(number);
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        number.parse().ok().filter(|_| is_plain)
    }

    /// Locks the place. A file system without locks excludes nobody.
    pub(super) fn lock(&self) -> io::Result<File> {
        let parent = File::open(&self.parent)?;
        match parent.lock() {
            Err(error) if !knows_no_locks(&error) => Err(error),
            _ => Ok(parent),
        }
    }

    /// Flushes the names of the directories beside the place to the disk.
    pub(super) fn settle(&self) -> io::Result<()> {
        sync_folder(&self.parent)
    }

    /// Moves a run from the place to a number; returns its new path.
    pub(super) fn set_aside(&self, before: &Path) -> io::Result<PathBuf> {
        let left_free =
            before.file_name().and_then(|name| self.number_of(name)).map_or(1, |number| number - 1);
        let free = |number: &u64| {
            let is_free = |ending| fs::symlink_metadata(self.numbered(*number, ending)).is_err();
            is_free("") && is_free(UNFINISHED)
        };
        let above = self.highest()?.saturating_add(1);
        let number = Some(left_free).filter(|number| *number > 0 && free(number)).unwrap_or(above);
        let aside = self.numbered(number, "");
        fs::rename(self.path(), &aside)?;
        Ok(aside)
    }

    /// Redirects the place to a run beside it.
    pub(super) fn lead_to(&self, home: &Path) -> io::Result<()> {
        let place = self.path();
        if fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
            // It was empty before the run started, and is removed only if it still is.
            fs::remove_dir(&place)?;
        }
        let link = unused_name(&place, "link")?;
        symlink(home.file_name().unwrap_or_default(), &link)?;
        fs::rename(&link, &place).inspect_err(|_| drop(fs::remove_file(&link)))
    }
}

/// NFS does not lock directories (EBADF), or anything if its server has no locks (ENOLCK).
fn knows_no_locks(error: &io::Error) -> bool {
    let known = [Errno::EBADF, Errno::ENOLCK, Errno::EOPNOTSUPP];
    error.kind() == io::ErrorKind::Unsupported
        || known.into_iter().any(|errno| error.raw_os_error() == Some(errno as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_excludes_nobody() {
        let from = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        for errno in [Errno::EBADF, Errno::ENOLCK, Errno::EOPNOTSUPP, Errno::ENOSYS] {
            assert!(knows_no_locks(&from(errno)), "{errno}");
        }
        assert!(!knows_no_locks(&from(Errno::EINTR)) && !knows_no_locks(&from(Errno::EACCES)));
    }

    fn place(path: &str) -> Place {
        Place::of(Path::new(path)).unwrap()
    }

    #[test]
    fn numbers_are_read_from_names_of_ours_alone() {
        let place = place("runs/lossy");
        let number = |name: &str| place.number_of(OsStr::new(name));
        assert_eq!((number("lossy.3"), number("lossy.17.unfinished")), (Some(3), Some(17)));
        for other in [
            "lossy",
            "lossy.",
            "lossy.0",
            "lossy.03",
            "lossy.+3",
            "lossy.3x",
            "other.3",
            "lossy.3.1",
            "lossy3",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn a_place_has_a_name() {
        for nameless in [".", "..", "/", "runs/..", ""] {
            assert!(Place::of(Path::new(nameless)).is_err(), "{nameless}");
        }
        assert_eq!(place("first").path(), Path::new("first"));
        assert_eq!(place("./runs/first/").path(), Path::new("./runs/first"));
    }
}
