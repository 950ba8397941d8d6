//! A figure of a paper as a table: measured numbers in the first columns, published ones in the last.

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
    /// The names of the columns; the first one is shown in charts.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub lines: Vec<Line>,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Its subject, in the paper's words.
    pub label: String,
    /// As many as there are columns; `null` for unknown numbers.
    pub cells: Vec<Option<Figure>>,
}
