//! Files with mode 0600: configurations contain keys and passwords.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::run::Trouble;

/// Creates a directory with mode 0700, with missing parents.
pub(crate) fn directory(path: &Path) -> Result<(), Trouble> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| Trouble::File { what: format!("make {}", path.display()), source })
}

/// Creates a new directory with mode 0700; an existing one is refused.
pub(crate) fn new_directory(path: &Path) -> Result<(), Trouble> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(|source| Trouble::File { what: format!("make {}", path.display()), source })
}

/// Creates an empty file with mode 0600.
pub(crate) fn create(path: &Path) -> Result<File, Trouble> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    opened.map_err(|source| Trouble::File { what: format!("write {}", path.display()), source })
}

/// Writes a file with mode 0600.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Trouble> {
    let written = create(path)?.write_all(bytes.as_ref());
    written.map_err(|source| Trouble::File { what: format!("write {}", path.display()), source })
}
