//! Secrets and files that a node file names. A secret is in the document, in a file of its own or in the environment; there
//! is a warning about a file with a secret that others may read, and about a short secret.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use keytoll_crypto_api::Secret;

use super::Placed;
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table, Value};

/// The limit on the length of a secret.
const SECRET_BYTES_MAX: u64 = 4096;
/// A shared secret has at least so many bytes.
const SHARED_BYTES_MIN: usize = 16;
/// Group and others.
const NOT_OWNER: u32 = 0o077;
/// The group reads: so a service reads a file of root.
const GROUP_READS: u32 = 0o040;
/// The user root.
const ROOT: u32 = 0;

/// The directory of the document, and warnings about the files it names.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    warnings: Vec<String>,
    /// Whether the document has a secret in it.
    holds_secret: bool,
}

impl Files {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), warnings: Vec::new(), holds_secret: false }
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The warnings, with one about the document itself if it has a secret and others may read it.
    pub(crate) fn into_warnings(mut self, document: &str) -> Vec<String> {
        if self.holds_secret {
            self.warn_if_open(Path::new(document));
        }
        self.warnings
    }

    /// The same path, relative to the document.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// A path, relative to the document.
    pub(crate) fn path(&self, item: &Item) -> Result<Placed<PathBuf>, ScenarioError> {
        let path = item.text("the path of a file")?;
        Ok(Placed::new(self.beside(path), item))
    }

    /// The path of a file that only its owner should be able to read.
    pub(crate) fn private(&mut self, item: &Item) -> Result<Placed<PathBuf>, ScenarioError> {
        let path = self.path(item)?;
        self.warn_if_open(&path.value);
        Ok(path)
    }

    /// A file whose mode cannot be read is refused when it is opened.
    fn warn_if_open(&mut self, path: &Path) {
        let Ok(metadata) = std::fs::metadata(path) else { return };
        let mode = metadata.permissions().mode() & 0o777;
        let allowed = if metadata.uid() == ROOT { GROUP_READS } else { 0 };
        if mode & NOT_OWNER & !allowed != 0 {
            let path = path.display();
            self.warnings.push(format!(
                "`{path}` holds a secret and others may read it (mode {mode:03o}): chmod 600 {path}"
            ));
        }
    }

    // RFC 2865 §3, RFC 7296 §2.15: a short secret is found by trying all, from one recorded exchange.
    /// A secret that two programs share, not one that a person remembers: with a warning if it is short.
    pub(crate) fn shared(&mut self, item: &Item) -> Result<Secret, ScenarioError> {
        let secret = self.secret(item)?;
        if secret.len() < SHARED_BYTES_MIN {
            self.warnings.push(format!(
                "`{}` has {} bytes, and an attacker who records an exchange can try all such secrets. Use {SHARED_BYTES_MIN} random bytes or \
                 more, like `{{ hex = \"…\" }}` from `openssl rand -hex {SHARED_BYTES_MIN}`",
                item.name,
                secret.len()
            ));
        }
        Ok(secret)
    }

    /// `"text"`, `{ file = "path" }`, `{ env = "NAME" }` or `{ hex = "00ff" }`.
    pub(crate) fn secret(&mut self, item: &Item) -> Result<Secret, ScenarioError> {
        let secret = match &item.value {
            Value::Text(text) => {
                self.holds_secret = true;
                Secret::from(text.as_bytes())
            }
            Value::Table(table) => self.kept_elsewhere(item, table)?,
            _ => return Err(item.wrong("a string, `{ file = … }`, `{ env = … }` or `{ hex = … }`")),
        };
        if secret.is_empty() {
            return Err(item
                .spot
                .error(format!("`{}` is empty", item.name), "a secret has at least one byte"));
        }
        Ok(secret)
    }

    fn kept_elsewhere(&mut self, item: &Item, table: &Table) -> Result<Secret, ScenarioError> {
        table.only("a secret", &["file", "env", "hex"])?;
        match table.entries.as_slice() {
            [entry] if entry.key == "file" => self.of_file(&entry.item),
            [entry] if entry.key == "env" => of_environment(&entry.item),
            [entry] => {
                self.holds_secret = true;
                hex(&entry.item).map(Secret::new)
            }
            _ => Err(item.spot.error(
                format!("`{}` needs one of `file`, `env` and `hex`", item.name),
                "one source of the secret",
            )),
        }
    }

    /// The first line of a file, without the line end that editors add.
    fn of_file(&mut self, item: &Item) -> Result<Secret, ScenarioError> {
        let path = self.private(item)?;
        let shown = path.value.display();
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path.value)
            .and_then(|file| file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| {
            path.error(format!("the secret in `{shown}` cannot be read: {error}"), "this file")
        })?;
        if bytes.len() as u64 > SECRET_BYTES_MAX {
            let message = format!("`{shown}` is too long for a secret: more than {SECRET_BYTES_MAX} bytes");
            return Err(path.error(message, "this file"));
        }
        let secret = Secret::new(bytes);
        let end = secret.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(secret.len());
        Ok(Secret::from(&secret[..end]))
    }
}

fn of_environment(item: &Item) -> Result<Secret, ScenarioError> {
    let name = item.text("the name of an environment variable")?;
    let value = std::env::var(name).map_err(|_| {
        item.spot.error(format!("the environment variable `{name}` is not set"), "the secret is to be there")
    })?;
    Ok(Secret::from(value.as_bytes()))
}

/// Hexadecimal digits as bytes.
pub(crate) fn hex(item: &Item) -> Result<Vec<u8>, ScenarioError> {
    let text = item.text("hexadecimal digits")?;
    let wrong = || {
        let message = format!("`{}` must be pairs of hexadecimal digits", item.name);
        item.spot.error(message, "not hexadecimal")
    };
    let digit = |c: char| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits = text.chars().map(digit).collect::<Option<Vec<u8>>>().ok_or_else(wrong)?;
    if digits.len() % 2 != 0 {
        return Err(wrong());
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
