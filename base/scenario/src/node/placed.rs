//! A value with its place in the document, so that later errors can refer to it.

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

    /// Another value at the same place.
    pub fn with<U>(&self, value: U) -> Placed<U> {
        Placed { value, spot: self.spot.clone() }
    }

    /// An error at this place: one sentence, and the label under the line.
    pub fn error(&self, message: impl Into<String>, label: impl Into<String>) -> ScenarioError {
        self.spot.error(message, label)
    }
}

impl<T: fmt::Debug> fmt::Debug for Placed<T> {
    /// The document is left out: it may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
