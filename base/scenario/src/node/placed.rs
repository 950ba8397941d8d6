//! A value and the place of the document that says it, so that whoever finds it unusable can blame that place.

use std::fmt;

use crate::diagnostic::{ScenarioError, Spot};
use crate::tree::Item;

/// A value with its place.
#[derive(Clone)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    spot: Spot,
}

impl<T> Placed<T> {
    pub(crate) fn new(value: T, item: &Item) -> Self {
        Self { value, spot: item.spot.clone() }
    }

    /// An error here: one sentence, and what to write under the line.
    pub fn error(&self, message: impl Into<String>, label: impl Into<String>) -> ScenarioError {
        self.spot.error(message, label)
    }
}

impl<T: fmt::Debug> fmt::Debug for Placed<T> {
    /// Without the document: there may be secrets in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
