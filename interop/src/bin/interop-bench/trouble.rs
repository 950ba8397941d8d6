//! What is said in one line before the program ends.

/// Whatever went wrong, in words.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
