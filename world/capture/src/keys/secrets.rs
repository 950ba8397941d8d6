//! Files with secrets in a directory with mode 0700, safe against other users with access to its parent.
//!
//! The directory is opened once and checked as opened: symbolic links, directories of other users and accessible ones are refused.
//! Files are always created, never opened: an existing file or link of the same name is removed first.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Only the owner reads and writes.
const SECRET_FILE: u32 = 0o600;
/// Only the owner enters.
const SECRET_DIRECTORY: u32 = 0o700;

/// A directory, held open so that it cannot be exchanged.
#[derive(Debug)]
pub(super) struct SecretDirectory(File);

impl SecretDirectory {
    /// Creates it, or takes an existing one of ours and sets its mode to 0700.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(SECRET_DIRECTORY).create(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let directory = Self::existing(path)?;
        directory.0.set_permissions(Permissions::from_mode(SECRET_DIRECTORY))?;
        Ok(directory)
    }

    /// Takes an existing one of ours.
    pub(super) fn existing(path: &Path) -> io::Result<Self> {
        let named = fs::symlink_metadata(path)?;
        if !named.is_dir() {
            return Err(refused(path, "is no directory"));
        }
        let directory = File::open(path)?;
        let opened = directory.metadata()?;
        if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(refused(path, "was replaced by another"));
        }
        if opened.uid() != geteuid().as_raw() {
            return Err(refused(path, "belongs to another user"));
        }
        Ok(Self(directory))
    }

    /// Creates an empty file with mode 0600, replacing whatever had its name.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // With O_EXCL a link is never followed.
        let file = OpenOptions::new().write(true).create_new(true).mode(SECRET_FILE).open(path)?;
        file.set_permissions(Permissions::from_mode(SECRET_FILE))?;
        Ok(file)
    }

    /// A path in the directory that is held open, wherever its name leads now.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name)
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    let message = format!("{} {why}, so no keys are written there", path.display());
    io::Error::new(ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("keytoll-secrets-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_refused() {
        let scratch = scratch("directory");
        let (elsewhere, keys) = (scratch.join("elsewhere"), scratch.join("run.keys"));
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &keys).unwrap();
        let error = SecretDirectory::open(&keys).unwrap_err();
        assert!(error.to_string().ends_with("is no directory, so no keys are written there"), "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        // Neither are a dangling link and a file.
        for wrong in [scratch.join("nowhere.keys"), scratch.join("file.keys")] {
            if wrong.ends_with("file.keys") {
                fs::write(&wrong, "").unwrap();
            } else {
                symlink(scratch.join("later"), &wrong).unwrap();
            }
            assert!(SecretDirectory::open(&wrong).is_err(), "{wrong:?}");
        }
        assert!(!scratch.join("later").exists());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_link_in_place_of_a_file_is_replaced_and_its_target_remains() {
        let scratch = scratch("file");
        let (victim, keys) = (scratch.join("victim"), scratch.join("run.keys"));
        fs::write(&victim, "precious").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o644)).unwrap();
        fs::create_dir(&keys).unwrap();
        symlink(&victim, keys.join("tls.keys")).unwrap();
        let directory = SecretDirectory::open(&keys).unwrap();
        io::Write::write_all(&mut directory.create("tls.keys").unwrap(), b"secret").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(mode(&victim), 0o644);
        assert!(fs::symlink_metadata(keys.join("tls.keys")).unwrap().is_file());
        assert_eq!(fs::read_to_string(keys.join("tls.keys")).unwrap(), "secret");
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_was_open_is_ours_alone_afterwards_and_no_reader_keeps_the_old_file() {
        let scratch = scratch("modes");
        let keys = scratch.join("deep/run.keys");
        fs::create_dir_all(&keys).unwrap();
        fs::set_permissions(&keys, Permissions::from_mode(0o777)).unwrap();
        fs::write(keys.join("esp_sa"), "").unwrap();
        fs::set_permissions(keys.join("esp_sa"), Permissions::from_mode(0o666)).unwrap();
        let mut reader = File::open(keys.join("esp_sa")).unwrap();
        let directory = SecretDirectory::open(&keys).unwrap();
        io::Write::write_all(&mut directory.create("esp_sa").unwrap(), b"secret").unwrap();
        assert_eq!((mode(&keys), mode(&keys.join("esp_sa"))), (0o700, 0o600));
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "", "who had it open reads the old one");
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn files_stay_in_the_checked_directory() {
        let scratch = scratch("moved");
        let (keys, moved) = (scratch.join("run.keys"), scratch.join("moved"));
        let directory = SecretDirectory::open(&keys).unwrap();
        fs::rename(&keys, &moved).unwrap();
        fs::create_dir(&keys).unwrap();
        directory.create("esp_sa").unwrap();
        assert!(moved.join("esp_sa").exists() && !keys.join("esp_sa").exists());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn the_directory_of_another_user_is_refused() {
        // Only root can give a directory to another user.
        let scratch = scratch("owner");
        let keys = scratch.join("run.keys");
        fs::create_dir(&keys).unwrap();
        if std::os::unix::fs::chown(&keys, Some(geteuid().as_raw() + 1), None).is_ok() {
            let error = SecretDirectory::open(&keys).unwrap_err();
            assert!(error.to_string().contains("belongs to another user"), "{error}");
        }
        fs::remove_dir_all(scratch).unwrap();
    }
}
