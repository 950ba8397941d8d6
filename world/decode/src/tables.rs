//! Reads the key tables that Wireshark reads, whoever wrote them: `KeyTables`, strongSwan's save-keys plugin, a person. The
//! formats are each family's own.
//!
//! A table is plain text from somewhere: a line that cannot be used is counted, not fatal, and no key is ever shown.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use keytoll_family::{Analyser, Families, Tables};

/// A longer table is refused, in bytes.
const TABLE_BYTES_MAX: u64 = 512 << 20;
/// The file of a profile that holds what nodes share.
const PREFERENCES_FILE: &str = "preferences";

/// Keys that a capture can be read with, each with the family that opens with it.
pub struct Keys {
    families: Families,
    analysers: Vec<Option<Box<dyn Analyser>>>,
    unusable: u64,
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
    /// A file that is there and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Keys {
    /// None, for captures with packets of these families.
    pub fn none(families: Families) -> Self {
        Self::of(families, Tables::default())
    }

    /// Reads the tables of a directory, those that are there.
    ///
    /// # Errors
    /// If none is there, or one cannot be read.
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
        Self { families, analysers, unusable: tables.unusable() }
    }

    /// Lines that could not be used: damaged, or of algorithms that we do not have.
    pub const fn unusable(&self) -> u64 {
        self.unusable
    }

    /// How many keys there are that open something.
    pub fn count(&self) -> usize {
        self.analysers.iter().flatten().map(|analyser| analyser.keys()).sum()
    }

    /// The families that they are for.
    pub const fn families(&self) -> Families {
        self.families
    }

    pub(crate) fn into_parts(self) -> (Families, Vec<Option<Box<dyn Analyser>>>) {
        (self.families, self.analysers)
    }
}

/// A file's text, if it is there; what is not UTF-8 in it is in lines that cannot be used.
fn text(path: &Path) -> Result<Option<String>, TablesError> {
    let failed = |source| TablesError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(file) if file.len() > TABLE_BYTES_MAX => Err(failed(io::ErrorKind::FileTooLarge.into())),
        Ok(_) => {
            let bytes = fs::read(path).map_err(failed)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}
