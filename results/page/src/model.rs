//! What a page consists of. All texts are plain: whoever writes the page escapes them.

use serde::Serialize;
use serde_json::{Map, Value};

/// A page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The verdict: a few sentences below the title, one paragraph each.
    pub verdict: Vec<String>,
    /// What was run, when and on what: names and values.
    pub facts: Vec<(String, String)>,
    /// A warning above everything else, such as that a run is not complete.
    pub warnings: Vec<String>,
    /// From top to bottom; the table of contents is made of them.
    pub sections: Vec<Section>,
}

/// A section with its heading.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its anchor: lower-case letters, digits and hyphens; unique on the page.
    pub id: String,
    /// The heading.
    pub title: String,
    /// Its content.
    pub blocks: Vec<Block>,
    /// Sections within it.
    pub sections: Vec<Section>,
}

/// A piece of a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph in smaller print: how something was measured, what it cannot say.
    Note(String),
    /// Names and their meaning.
    Meanings(Vec<(String, String)>),
    /// Text in a fixed-width font, such as the scenario or a command.
    Code(String),
    /// What is shown on request only.
    Details(String, Vec<Block>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
    /// Messages between nodes over time.
    Ladder(Ladder),
    /// A ranking whose weights can be moved.
    Ranking(Ranking),
}

/// A table that can be sorted by each column and filtered by words.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Its anchor, and the name of its CSV file.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its lines, each with as many cells as there are columns.
    pub lines: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// The head.
    pub head: String,
    /// The unit; empty for names and counts.
    pub unit: String,
    /// The meaning; empty where the head suffices.
    pub meaning: String,
    /// Whether its cells are numbers, which stand on the right.
    pub is_number: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// As people read it.
    pub shown: String,
    /// As its CSV file has it, with every digit; the table is sorted by it.
    pub written: String,
    /// Whether it is from a publication rather than from a run: shown in a colour of its own.
    pub is_published: bool,
}

/// A chart as Vega-Lite draws it, with its data beside it.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Its anchor, and the name of its CSV and SVG files.
    pub id: String,
    /// What it shows, with the unit.
    pub title: String,
    /// The same in words, for those who cannot see it: what is compared, who is least and greatest.
    pub description: String,
    /// n, the interval, how whiskers are meant: shown below it.
    pub note: String,
    /// A Vega-Lite specification (version 6) without `data`, `title`, `width` and `config`. Fields are the columns; `type` is given with
    /// every field. A colour is named `@network`, and `@network-fill` with the pattern that tells it from others without colour:
    /// the names are in `web/src/palette.json`, `series-1` to `series-8` among them; the page resolves them for its theme. Without
    /// `height`, names along the vertical axis get as much as they need, and other charts a usual height.
    pub spec: Map<String, Value>,
    /// The names of its data's columns.
    pub columns: Vec<String>,
    /// Its data, line by line: numbers, texts, or null.
    pub lines: Vec<Vec<Value>>,
    /// The text that stands in for it where there is no script: the most important figures.
    pub instead: String,
}

/// The messages of an exchange as a ladder between nodes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ladder {
    /// Its anchor.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The nodes from left to right.
    pub nodes: Vec<String>,
    /// The messages in the order of sending.
    pub hops: Vec<Hop>,
    /// Which sample it is, and how it was chosen.
    pub note: String,
}

/// A message of a ladder.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Hop {
    /// The place of its sender in `nodes`.
    pub from: usize,
    /// The place of its receiver.
    pub to: usize,
    /// When it was sent, in milliseconds from the start.
    pub sent_ms: f64,
    /// When it arrived; nothing if it was lost.
    pub arrived_ms: Option<f64>,
    /// Its name in the standard.
    pub label: String,
    /// Bytes on the link.
    pub bytes: u64,
    /// Whether it was sent again.
    pub is_repeated: bool,
}

/// A ranking that the page computes again when a weight is moved.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ranking {
    /// Its anchor.
    pub id: String,
    /// What is ranked by what.
    pub title: String,
    /// How utilities become scores.
    pub rule: Rule,
    /// The criteria as a tree, those above before those below.
    pub criteria: Vec<Criterion>,
    /// The alternatives in the order of the ranking.
    pub alternatives: Vec<Weighed>,
    /// Where weights and grades are from.
    pub note: String,
}

/// How the steps of an alternative and the weights become its score: the methods of `results/ranking`, by which the page ranks again.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Multiplicative AHP: 2 to the weighted sum of steps, as a share of the sum over all alternatives.
    #[default]
    Multiplicative,
    /// Weighted sum: 2 to every step, as a part of the greatest of its criterion, weighted and added.
    Sum,
    /// Weighted product: 2 to the weighted sum of steps.
    Product,
    /// TOPSIS: the closeness of 2 to every step to the best of its criterion.
    Topsis,
}

/// A criterion of a ranking.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Criterion {
    /// Its name.
    pub name: String,
    /// What it means.
    pub title: String,
    /// The place of the criterion above it in `criteria`.
    pub under: Option<usize>,
    /// Its weight within its group, from 0 to 1.
    pub weight: f64,
}

/// An alternative of a ranking.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Weighed {
    /// Its name.
    pub name: String,
    /// Its steps γ·g for each criterion of the ranking's `criteria`, whatever the rule; nothing for those with criteria under them.
    pub steps: Vec<Option<f64>>,
    /// Its score as the ranking computed it; the page must come to the same.
    pub score: f64,
}
