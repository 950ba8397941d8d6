//! Regular files, opened without following a link and without waiting: somebody else may have put a link, a pipe or a device
//! where a file of ours is expected.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a regular file for reading.
///
/// # Errors
/// When it is a symbolic link or anything else that is no regular file, or cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Reads a regular file that has so many bytes at most.
///
/// # Errors
/// When it is no regular file, is longer, is no text, or cannot be read.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes"));
    let file = open(path)?;
    if file.metadata()?.len() > bytes_max {
        return Err(too_large());
    }
    // It may grow meanwhile.
    let mut text = String::new();
    file.take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max { Err(too_large()) } else { Ok(text) }
}

/// Reads a text that somebody has named, to which links may lead, as [`read_text`] does.
///
/// # Errors
/// As those of [`read_text`].
pub fn read_named_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    read_text(&fs::canonicalize(path)?, bytes_max)
}

/// Opens a regular file in this way.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = options.custom_flags(flags).open(path);
    let file = opened.map_err(|error| if is_of_another_kind(&error) { irregular() } else { error })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// A link, or a pipe or socket that nobody reads.
fn is_of_another_kind(error: &io::Error) -> bool {
    [Errno::LOOP, Errno::NXIO].iter().any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
}

pub(crate) fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn only_what_is_regular_is_opened_and_nothing_is_waited_for() {
        let scratch = std::env::temp_dir().join(format!("keytoll-regular-{}", std::process::id()));
        fs::create_dir(&scratch).unwrap();
        let path = |name: &str| scratch.join(name);
        fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        symlink("nowhere", path("loose")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        fs::create_dir(path("directory")).unwrap();
        mkfifoat(CWD, path("pipe"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        for other in ["link", "loose", "zero", "directory", "pipe", "socket"] {
            assert_eq!(open(&path(other)).unwrap_err().to_string(), "it is no regular file", "{other}");
            let written = open_with(OpenOptions::new().write(true), &path(other));
            assert!(written.is_err(), "{other}");
        }
        assert_eq!(open(Path::new("/dev/zero")).unwrap_err().to_string(), "it is no regular file");
        assert_eq!(open(&path("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read_text(&path("file"), 4).unwrap(), "text");
        assert_eq!(read_text(&path("file"), 3).unwrap_err().to_string(), "it has more than 3 bytes");
        assert_eq!(read_named_text(&path("link"), 4).unwrap(), "text");
        assert_eq!(read_named_text(&path("zero"), 4).unwrap_err().to_string(), "it is no regular file");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
