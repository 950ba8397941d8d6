//! Why a question has no answer.

/// A question that cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SizingError {
    message: String,
    hint: String,
}

impl SizingError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}
