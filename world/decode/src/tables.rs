//! Reads key tables in Wireshark's formats, of any origin: `KeyTables`, strongSwan's save-keys plugin, a person. Each family has
//! its own formats.
//!
//! Tables are untrusted text: an unusable line is counted, not fatal, and keys are never printed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use keytoll_family::{Analyser, Families, OnAir, Tables, Unusable};
use keytoll_trace::regular;

/// The limit on the length of a table, in bytes.
const TABLE_BYTES_MAX: u64 = 512 << 20;
/// The file of a profile with shared secrets.
const PREFERENCES_FILE: &str = "preferences";

/// The keys for a capture, each with its family.
pub struct Keys {
    families: Families,
    analysers: Vec<Option<Box<dyn Analyser>>>,
    on_air: Vec<Box<dyn OnAir>>,
    unusable: u64,
    first_unusable: Option<Unusable>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.count())
    }
}

/// Why keys cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The directory has none of the files.
    #[error("no key tables in {}: neither {}", directory.display(), files.join(" nor "))]
    None {
        /// The directory.
        directory: PathBuf,
        /// Their names.
        files: Vec<&'static str>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Keys {
    /// No keys, for captures with packets of these families.
    pub fn none(families: Families) -> Self {
        Self::of(families, Tables::default())
    }

    /// Reads the tables of a directory, if they exist.
    ///
    /// # Errors
    /// When none exists, or one cannot be read.
    pub fn read(families: Families, directory: &Path) -> Result<Self, TablesError> {
        let tables = families.iter().flat_map(|family| family.key_tables());
        let files = tables.filter(|table| table.is_read).map(|table| table.file);
        let files: Vec<_> = files.chain([PREFERENCES_FILE]).collect();
        let mut texts = BTreeMap::new();
        for &file in &files {
            texts.extend(text(&directory.join(file))?.map(|text| (file.to_owned(), text)));
        }
        if texts.is_empty() {
            return Err(TablesError::None { directory: directory.to_owned(), files });
        }
        Ok(Self::of(families, Tables::new(texts)))
    }

    fn of(families: Families, mut tables: Tables) -> Self {
        let analysers = families.iter().map(|family| family.analyser(&mut tables)).collect();
        let on_air = families.iter().filter_map(|family| family.on_air(&mut tables)).collect();
        let (unusable, first_unusable) = (tables.unusable(), tables.first_unusable().cloned());
        Self { families, analysers, on_air, unusable, first_unusable }
    }

    /// Unusable lines: damaged, or with unknown algorithms.
    pub const fn unusable(&self) -> u64 {
        self.unusable
    }

    /// The first of them, and what is wrong with it.
    pub const fn first_unusable(&self) -> Option<&Unusable> {
        self.first_unusable.as_ref()
    }

    /// The number of keys.
    pub fn count(&self) -> usize {
        let of_frames = self.on_air.iter().map(|on_air| on_air.keys());
        self.analysers.iter().flatten().map(|analyser| analyser.keys()).chain(of_frames).sum()
    }

    /// The families that they are for.
    pub const fn families(&self) -> Families {
        self.families
    }

    /// What takes frames of wireless LANs apart, with the keys for it, which are then gone from here.
    pub(crate) fn take_on_air(&mut self) -> Vec<Box<dyn OnAir>> {
        std::mem::take(&mut self.on_air)
    }

    pub(crate) fn into_parts(self) -> (Families, Vec<Option<Box<dyn Analyser>>>) {
        (self.families, self.analysers)
    }
}

/// The text of a file, if it exists; lines that are not UTF-8 are unusable.
fn text(path: &Path) -> Result<Option<String>, TablesError> {
    let failed = |source| TablesError::Io { path: path.to_owned(), source };
    let file = match regular::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let mut bytes = Vec::new();
    file.take(TABLE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > TABLE_BYTES_MAX {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::{env, fs, process};

    use keytoll_rigs::FAMILIES;

    use super::*;

    /// A directory from somebody else may lead anywhere: to a device that never ends, to a file of the reader's.
    #[test]
    #[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    fn a_table_that_is_no_regular_file_is_refused() {
        let directory = env::temp_dir().join(format!("keytoll-tables-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let table = directory.join("esp_sa");
        symlink("/dev/zero", &table).unwrap();
        let refused = Keys::read(FAMILIES, &directory);
        assert!(matches!(&refused, Err(TablesError::Io { path, .. }) if *path == table), "{refused:?}");
        fs::remove_file(&table).unwrap();
        fs::write(&table, "").unwrap();
        assert_eq!(Keys::read(FAMILIES, &directory).unwrap().count(), 0);
        fs::remove_dir_all(&directory).unwrap();
    }
}
