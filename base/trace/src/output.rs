//! Output files that are whole or not there: written beside their place, moved there when they are whole. Until then, and if
//! anything goes wrong, the file that was there before stays as it was.
//!
//! A file that its user named may be named by a symbolic link, which is followed. A file of a run is never a link: the run may
//! be somebody else's, who chose where its links lead.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::regular;

/// Who may read a file that holds a secret.
const SECRET_MODE: u32 = 0o600;

/// How much is written at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// A file that is being written. It takes its place with [`Output::finish`]; if it is dropped before, nothing is left of it.
#[derive(Debug)]
pub struct Output {
    out: Option<BufWriter<File>>,
    place: Place,
}

/// Where the bytes go.
#[derive(Debug)]
enum Place {
    /// Into a file of our own; before it replaces another it is on the disk.
    Beside { part: PathBuf, target: PathBuf, replaces: bool },
    /// Straight into a device or a pipe, which nothing can replace.
    Direct,
}

impl Output {
    /// Begins a file that its user named. One that it will replace keeps its permissions if it is ours; a symbolic link stays,
    /// and what it leads to is replaced.
    ///
    /// # Errors
    /// When the file that is there may not be written, is a directory, or no file can be made beside it.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Whoever may not write the file may not replace it either.
        let file = match OpenOptions::new().write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::anew(path),
            opened => opened?,
        };
        let found = file.metadata()?;
        if found.is_file() {
            return Self::beside(&path.canonicalize()?, 0o666)?.in_place_of(&found);
        }
        Ok(Self { out: Some(BufWriter::new(file)), place: Place::Direct })
    }

    /// Begins a file of a run. One that it will replace keeps its permissions if it is ours.
    ///
    /// # Errors
    /// When what is there is no regular file or may not be written, or no file can be made beside it.
    pub fn create_in_run(path: &Path) -> io::Result<Self> {
        match regular::open_with(OpenOptions::new().write(true), path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::anew(path),
            opened => Self::beside(path, 0o666)?.in_place_of(&opened?.metadata()?),
        }
    }

    /// Begins a file that only its owner reads, whoever could read the one in its place.
    ///
    /// # Errors
    /// When no file can be made beside it.
    pub fn create_secret(path: &Path) -> io::Result<Self> {
        let output = Self::beside(path, SECRET_MODE)?;
        output.set_mode(SECRET_MODE)?;
        Ok(output)
    }

    /// Begins a file where none is.
    fn anew(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(leads_nowhere());
        }
        Self::beside(path, 0o666)
    }

    fn beside(target: &Path, mode: u32) -> io::Result<Self> {
        let replaces = fs::symlink_metadata(target).is_ok();
        let (part, file) = new_file(target, mode)?;
        let place = Place::Beside { part, target: target.to_owned(), replaces };
        // Of a secret no copy is left in a buffer.
        let capacity = if mode == SECRET_MODE { 0 } else { BUFFER_BYTES };
        Ok(Self { out: Some(BufWriter::with_capacity(capacity, file)), place })
    }

    /// Takes over the permissions of the file that is replaced, unless its owner is not the one of the new file: what somebody
    /// allowed for a file of theirs says nothing about ours. A file that runs as its owner does so no more.
    fn in_place_of(self, found: &Metadata) -> io::Result<Self> {
        let owner = self.out.as_ref().map(|out| out.get_ref().metadata()).transpose()?;
        if owner.is_some_and(|new| new.uid() == found.uid()) {
            self.set_mode(found.mode() & 0o777)?;
        }
        Ok(self)
    }

    /// One that is soon written again: what a machine that loses its power leaves of it does not matter.
    fn passing(mut self) -> Self {
        if let Place::Beside { replaces, .. } = &mut self.place {
            *replaces = false;
        }
        self
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let set = |out: &BufWriter<File>| out.get_ref().set_permissions(Permissions::from_mode(mode));
        self.out.as_ref().map_or(Ok(()), set)
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// When something cannot be written; the file that was there before is still there then.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(mut out) = self.out.take() else { return Ok(()) };
        out.flush()?;
        if let Place::Beside { part, target, replaces } = &self.place {
            if *replaces {
                // A machine that loses its power must not be left with the new file's name and none of its contents.
                out.get_ref().sync_all()?;
            }
            fs::rename(part, target)?;
            self.place = Place::Direct;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Place::Beside { part, .. } = &self.place {
            // What cannot be removed has a name that says what it is.
            let _ = fs::remove_file(part);
        }
    }
}

/// Writes a whole file that its user named.
///
/// # Errors
/// When it cannot be written; the file that was there before is still there then.
pub fn replace(path: &Path, write: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
    whole(Output::create(path)?, write)
}

/// Writes a whole file of a run.
///
/// # Errors
/// When it cannot be written, or what is there is no regular file; that is still there then.
pub fn replace_in_run(path: &Path, write: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
    whole(Output::create_in_run(path)?, write)
}

/// The same of a file that is written again and again, for which no disk is waited.
///
/// # Errors
/// As those of [`replace_in_run`].
pub fn refresh_in_run(path: &Path, write: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
    whole(Output::create_in_run(path)?.passing(), write)
}

fn whole(mut output: Output, write: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
    write(&mut output)?;
    output.finish()
}

/// Where a file is that its user named and that is written again and again: links are followed now, and no more. Whatever is put
/// in its place later is refused ([`refresh_in_run`]) and not waited for.
///
/// # Errors
/// When what is there is no regular file, or a link leads nowhere.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => path.canonicalize(),
        Ok(_) => Err(regular::irregular()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => place_of_none(path),
        Err(error) => Err(error),
    }
}

/// The same where no file is.
fn place_of_none(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(leads_nowhere());
    }
    let Some(name) = path.file_name() else { return Err(no_name()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize()?.join(name))
}

fn leads_nowhere() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it is a symbolic link that leads nowhere")
}

fn no_name() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file")
}

/// A file that was not there, with a name that tells what it is a part of.
fn new_file(target: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    loop {
        let part = unused_name(target, "part")?;
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&part) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((part, opened?)),
        }
    }
}

/// Renames a file or directory to a name that nothing has; what has it stays.
///
/// # Errors
/// When something has the name, or the operating system cannot rename.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot look and rename in one step.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

/// A hidden name beside a file or directory that this process has not given before.
///
/// # Errors
/// When the path has no last name.
pub fn unused_name(beside: &Path, ending: &str) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(name) = beside.file_name() else { return Err(no_name()) };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-{count}.{ending}", process::id()));
    Ok(beside.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of a test's own.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("keytoll-output-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let scratch = Scratch::new("whole");
        let path = scratch.0.join("page.html");
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), scratch.names()), (b"new".to_vec(), vec!["page.html".into()]));
    }

    #[test]
    fn what_fails_leaves_the_earlier_file() {
        let scratch = Scratch::new("fails");
        let path = scratch.0.join("costs.json");
        fs::write(&path, "earlier").unwrap();
        replace(&path, |out| {
            out.write_all(&[0; 100_000])?;
            Err(io::Error::other("no"))
        })
        .unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"earlier");
        assert_eq!(scratch.names(), ["costs.json"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_a_secret_is_nobody_elses() {
        let scratch = Scratch::new("mode");
        let path = scratch.0.join("costs.json");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, "earlier").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(mode(), 0o640);
        Output::create_secret(&path).unwrap().finish().unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn what_replaces_a_file_runs_as_nobody_and_takes_no_permissions_from_others() {
        let scratch = Scratch::new("owner");
        let path = scratch.0.join("summary.json");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
        let leave = |mode| {
            fs::write(&path, "earlier").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        let write = |out: &mut Output| out.write_all(b"new");
        leave(0o6755);
        replace(&path, write).unwrap();
        assert_eq!(mode(), 0o755);
        leave(0o6775);
        replace_in_run(&path, write).unwrap();
        assert_eq!(mode(), 0o775);
        // Only root can give a file away; others have nobody else's to try.
        for replace in [replace, replace_in_run] {
            leave(0o6777);
            if std::os::unix::fs::chown(&path, Some(4711), None).is_ok() {
                fs::set_permissions(&path, Permissions::from_mode(0o6777)).unwrap();
                replace(&path, write).unwrap();
                assert_eq!((fs::metadata(&path).unwrap().uid(), mode() & 0o7133), (0, 0), "{:o}", mode());
            }
        }
    }

    #[test]
    fn in_a_run_a_link_is_refused_wherever_it_leads() {
        let scratch = Scratch::new("run");
        let (victim, link) = (scratch.0.join("victim"), scratch.0.join("samples.csv"));
        fs::write(&victim, "precious").unwrap();
        for target in ["victim", "nowhere", "/dev/null"] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            let refused = replace_in_run(&link, |out| out.write_all(b"new")).unwrap_err().to_string();
            assert_eq!(refused, "it is no regular file", "{target}");
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(scratch.names(), ["victim"]);
        fs::hard_link(&victim, &link).unwrap();
        replace_in_run(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(
            (fs::read(&victim).unwrap(), fs::read(&link).unwrap()),
            (b"precious".into(), b"new".into())
        );
    }

    #[test]
    fn a_link_stays_a_link() {
        let scratch = Scratch::new("link");
        let (path, link) = (scratch.0.join("costs.json"), scratch.0.join("link"));
        fs::write(&path, "earlier").unwrap();
        std::os::unix::fs::symlink("costs.json", &link).unwrap();
        replace(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_file(&path).unwrap();
        assert!(Output::create(&link).unwrap_err().to_string().contains("leads nowhere"));
    }

    #[test]
    fn a_place_is_looked_up_once() {
        let scratch = Scratch::new("place");
        let at = |name: &str| scratch.0.join(name);
        let write = |path: &Path| refresh_in_run(path, |out| out.write_all(b"page"));
        fs::write(at("foreign"), "precious").unwrap();
        fs::write(at("page"), "earlier").unwrap();
        std::os::unix::fs::symlink("page", at("link")).unwrap();
        let [named, new] = ["link", "new"].map(|name| place(&at(name)).unwrap());
        assert_eq!((named.file_name(), new.file_name()), (at("page").file_name(), at("new").file_name()));
        for place in [&named, &new] {
            write(place).unwrap();
            // Somebody else puts something else there.
            fs::remove_file(place).unwrap();
            std::os::unix::fs::symlink("foreign", place).unwrap();
            assert_eq!(write(place).unwrap_err().to_string(), "it is no regular file");
            fs::remove_file(place).unwrap();
            rustix::fs::mkfifoat(CWD, place, rustix::fs::Mode::RWXU).unwrap();
            assert_eq!(write(place).unwrap_err().to_string(), "it is no regular file");
            assert_eq!(super::place(place).unwrap_err().to_string(), "it is no regular file");
        }
        assert_eq!(fs::read(at("foreign")).unwrap(), b"precious");
        assert!(
            place(&at("link")).is_err() && place(&at("nowhere/page")).is_err() && place(&scratch.0).is_err()
        );
    }

    #[test]
    fn what_has_the_name_is_not_replaced() {
        let scratch = Scratch::new("new");
        let at = |name: &str| scratch.0.join(name);
        for name in ["from", "to"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        for taken in ["to", "link"] {
            let refused = rename_new(&at("from"), &at(taken)).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{taken}");
        }
        assert_eq!(fs::read(at("to")).unwrap(), b"to");
        rename_new(&at("from"), &at("new")).unwrap();
        assert_eq!(scratch.names(), ["link", "new", "to"]);
    }

    #[test]
    fn a_directory_is_refused_and_a_device_is_written() {
        let scratch = Scratch::new("device");
        assert_eq!(Output::create(&scratch.0).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        replace(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
