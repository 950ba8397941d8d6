//! A figure of a paper as a table: what was measured in the first columns, what was published in the last ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Figure;

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The paper's figure, and what it shows.
    pub title: String,
    /// Of all its numbers.
    pub unit: String,
    /// The names of the columns; the first one holds what a chart shows.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub lines: Vec<Line>,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What it is about, in the paper's words.
    pub label: String,
    /// As many as there are columns; none where nothing is known.
    pub cells: Vec<Option<Figure>>,
}
