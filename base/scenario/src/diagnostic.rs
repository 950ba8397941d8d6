//! Errors of scenarios are those of documents: one sentence, the line, and a hint.

pub use keytoll_document::{DocumentError as ScenarioError, nearest};
pub(crate) use keytoll_document::{Spot, Text, choice};
