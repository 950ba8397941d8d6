//! Texts of documents: given, or read from a file or standard input, and never more than a limit.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::DocumentError;

/// The limit on the length of a document: ten thousand rows of a scenario are shorter. A device or a capture given by mistake is
/// not read to its end, which may never come.
const BYTES_MAX: u64 = 4 << 20;

/// A text with a name for error messages.
#[derive(Debug)]
pub struct Text {
    /// Path, name of a built-in document, or `command line`.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    /// The text as error messages show it: secrets are replaced by asterisks, byte for byte.
    pub shown: Arc<str>,
}

impl Text {
    /// A text without secrets.
    pub fn new(name: &str, text: &str) -> Self {
        let text: Arc<str> = text.into();
        Self { name: name.to_owned(), shown: Arc::clone(&text), text }
    }

    /// The text of a file; `noun` is what it should be, like `scenario`.
    ///
    /// # Errors
    /// When the file cannot be read, is too long, or is not UTF-8.
    pub fn file(path: &Path, noun: &str) -> Result<Self, DocumentError> {
        let bytes = File::open(path).and_then(beginning).map_err(|error| unreadable(path, &error))?;
        Self::bytes(&path.display().to_string(), noun, bytes)
    }

    /// The text of standard input until its end.
    ///
    /// # Errors
    /// As for a file.
    pub fn stdin(noun: &str) -> Result<Self, DocumentError> {
        let path = Path::new("standard input");
        let bytes = beginning(io::stdin().lock()).map_err(|error| unreadable(path, &error))?;
        Self::bytes("stdin", noun, bytes)
    }

    fn bytes(name: &str, noun: &str, bytes: Vec<u8>) -> Result<Self, DocumentError> {
        let hint = format!("a {noun} is a TOML file");
        if bytes.len() as u64 > BYTES_MAX {
            let message = format!("`{name}` is too long for a {noun}: more than {} MiB", BYTES_MAX >> 20);
            return Err(DocumentError::nowhere(message).hint(hint));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            DocumentError::nowhere(format!("`{name}` is not UTF-8 text: byte {offset}")).hint(hint)
        })?;
        Ok(Self::new(name, &text))
    }
}

/// The whole input, or a beginning that exceeds the limit.
fn beginning(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &Error) -> DocumentError {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => DocumentError::nowhere(format!("no file `{shown}`")),
        ErrorKind::IsADirectory => DocumentError::nowhere(format!("`{shown}` is a directory, not a file")),
        _ => DocumentError::nowhere(format!("`{shown}` cannot be read: {error}")),
    }
}
