//! Criteria files: alternatives, criteria with their grades, experts. TOML into [`Criteria`]; whatever is wrong is said with its line.
//!
//! Nothing of a run is known here: what a criterion measures is looked up later (`measured.rs`).

mod experts;
mod grades;

use std::path::Path;
use std::sync::Arc;

use keytoll_document::tree::{self, Item, Table};
use keytoll_document::{DocumentError, Spot, Text, choice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::grading::Rule;
use crate::hierarchy::{Hierarchy, Node};
use crate::measured::Measurement;

pub use experts::Expert;
pub(crate) use grades::{BYTES, MILLISECONDS, NANOSECONDS};

/// What the texts are, in error messages.
const NOUN: &str = "criteria";

/// More alternatives than anybody compares.
pub(crate) const ALTERNATIVES_MAX: usize = 100;

/// More criteria than anybody weighs.
const CRITERIA_MAX: usize = 200;

/// A criteria file that is compiled in.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The name of its file without `.toml`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every one, the default first.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "epc-2012", text: include_str!("../../../../criteria/epc-2012.toml") },
    Builtin { name: MEASURED, text: include_str!("../../../../criteria/measured.toml") },
];

/// The built-in criteria that rank any run by what was measured of it.
pub const MEASURED: &str = "measured";

/// A whole file.
#[derive(Debug, Clone)]
pub struct Criteria {
    /// Its title.
    pub title: String,
    /// Where it is from; empty if it does not say.
    pub source: String,
    /// What is ranked; all methods of the run if empty.
    pub alternatives: Vec<Alternative>,
    /// What it is ranked by, parents before their children.
    pub criteria: Vec<Criterion>,
    /// The same as a tree.
    pub hierarchy: Hierarchy,
    /// Who compared the criteria.
    pub experts: Vec<Expert>,
}

/// What is ranked: a method of the run.
#[derive(Debug, Clone)]
pub struct Alternative {
    /// Its name in the file.
    pub name: String,
    /// The method.
    pub method: String,
    /// The variant of the method; needed if the run has several.
    pub variant: Option<String>,
    /// Where it stands.
    pub spot: Spot,
}

/// A criterion.
#[derive(Debug, Clone)]
pub struct Criterion {
    /// Its name.
    pub name: String,
    /// What it means.
    pub title: String,
    /// Where it and its numbers are from.
    pub source: String,
    /// How well they are founded.
    pub standing: Standing,
    /// Its weight within its group, if the file says one.
    pub weight: Option<f64>,
    /// Its importance as steps of the factor 2 above the least important one.
    pub importance: Option<f64>,
    /// γ of its grades.
    pub gamma: f64,
    /// How alternatives are graded, if there is nothing below it.
    pub grading: Option<Grading>,
    /// Where it stands.
    pub spot: Spot,
}

/// How a criterion grades; lists are in the order of the alternatives.
#[derive(Debug, Clone, PartialEq)]
pub enum Grading {
    /// As the file says.
    Given(Vec<f64>),
    /// By values in the file.
    Valued(Vec<f64>, Scale),
    /// By values of the run.
    Measured(Measurement, Scale),
}

/// How values become grades.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The rule.
    pub rule: Rule,
    /// What they are compared with, unless by thresholds.
    pub reference: crate::graded::Reference,
}

/// How well numbers are founded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The author of the file says so.
    Given,
    /// The source prints them.
    Printed,
    /// They follow from what the source prints.
    Derived,
    /// They are chosen so that they agree with what the source prints.
    Reconstructed,
}

impl Standing {
    const ALL: [Self; 4] = [Self::Given, Self::Printed, Self::Derived, Self::Reconstructed];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Printed => "printed",
            Self::Derived => "derived",
            Self::Reconstructed => "reconstructed",
        }
    }
}

impl Criteria {
    /// Reads a text; errors call it `name`.
    ///
    /// # Errors
    /// When it is not a valid criteria file.
    pub fn parse(name: &str, text: &str) -> Result<Self, DocumentError> {
        Self::read(Text::new(name, text))
    }

    /// The built-in file of this name, or else the file at this path.
    ///
    /// # Errors
    /// When there is neither, it cannot be read, or is not a valid criteria file.
    pub fn find(argument: &str) -> Result<Self, DocumentError> {
        if let Some(builtin) = BUILTIN.iter().find(|builtin| builtin.name == argument) {
            return Self::parse(&format!("criteria/{argument}.toml"), builtin.text);
        }
        let path = Path::new(argument);
        if path.exists() || argument.contains(['/', '\\', '.']) {
            return Self::read(Text::file(path, NOUN)?);
        }
        let names: Vec<_> = BUILTIN.iter().map(|builtin| builtin.name).collect();
        let hint = format!("{}; or the path of a file", choice(argument, &names));
        Err(DocumentError::nowhere(format!("unknown criteria `{argument}`")).hint(hint))
    }

    fn read(text: Text) -> Result<Self, DocumentError> {
        let document = tree::document(&Arc::new(text))?;
        document.only("criteria", &["title", "source", "alternative", "criterion", "expert"])?;
        let alternatives = alternatives(&document)?;
        let (criteria, nodes) = criteria(&document, &alternatives)?;
        let hierarchy = Hierarchy::new(nodes);
        let experts = experts::experts(&document, &criteria, &hierarchy)?;
        Ok(Self {
            title: document.need("title", "criteria")?.text("a string")?.to_owned(),
            source: words(&document, "source")?,
            alternatives,
            criteria,
            hierarchy,
            experts,
        })
    }

    /// The index of a criterion.
    pub fn criterion(&self, name: &str) -> Option<usize> {
        self.criteria.iter().position(|criterion| criterion.name == name)
    }
}

/// A string that may be missing.
fn words(table: &Table, key: &str) -> Result<String, DocumentError> {
    table.or(key, String::new(), |item| Ok(item.text("a string")?.to_owned()))
}

/// A name: not empty, and not that of another.
fn name(table: &Table, what: &str, taken: &[&str]) -> Result<String, DocumentError> {
    let item = table.need("name", what)?;
    let name = item.text("a string")?;
    if name.is_empty() {
        return Err(item.spot.error(format!("{what} with an empty name"), "a name is needed"));
    }
    if taken.contains(&name) {
        return Err(item.spot.error(format!("{what} `{name}` stands here twice"), "the second one"));
    }
    Ok(name.to_owned())
}

/// The tables of a list that must have some.
fn tables<'a>(document: &'a Table, key: &str, most: usize) -> Result<Vec<&'a Table>, DocumentError> {
    let item = document.need(key, "criteria")?;
    let tables = item.some_elements(key)?.iter().map(Item::table).collect::<Result<Vec<_>, _>>()?;
    if tables.len() > most {
        let message = format!("{} times `{key}`, and {most} are the limit", tables.len());
        return Err(tables[most].spot.error(message, "too many"));
    }
    Ok(tables)
}

fn standing(table: &Table) -> Result<Standing, DocumentError> {
    table.or("standing", Standing::Given, |item| item.pick("standing", &Standing::ALL, Standing::name))
}

fn alternatives(document: &Table) -> Result<Vec<Alternative>, DocumentError> {
    let mut alternatives: Vec<Alternative> = Vec::new();
    if document.get("alternative").is_none() {
        return Ok(alternatives);
    }
    for table in tables(document, "alternative", ALTERNATIVES_MAX)? {
        table.only("an alternative", &["name", "method", "variant"])?;
        let taken: Vec<_> = alternatives.iter().map(|one| one.name.as_str()).collect();
        let name = name(table, "an alternative", &taken)?;
        let text = |item: &Item| Ok(item.text("a string")?.to_owned());
        let method = table.or("method", name.clone(), text)?;
        let variant = table.or("variant", None, |item| text(item).map(Some))?;
        alternatives.push(Alternative { name, method, variant, spot: table.spot.clone() });
    }
    match &alternatives[..] {
        [only] => Err(only.spot.error("one alternative alone cannot be ranked", "the only alternative")),
        _ => Ok(alternatives),
    }
}

/// The criteria and their places in the tree.
fn criteria(
    document: &Table,
    alternatives: &[Alternative],
) -> Result<(Vec<Criterion>, Vec<Node>), DocumentError> {
    let (mut criteria, mut parents) = (Vec::new(), Vec::new());
    for table in tables(document, "criterion", CRITERIA_MAX)? {
        parents.push(parent(table, &criteria)?);
        criteria.push(criterion(table, &criteria, alternatives)?);
    }
    let nodes = parents.iter().enumerate().map(|(place, &parent)| {
        let has_children = parents.contains(&Some(place));
        check_is_graded(&criteria[place], has_children)?;
        Ok(Node { parent, is_leaf: !has_children })
    });
    let nodes = nodes.collect::<Result<_, DocumentError>>()?;
    Ok((criteria, nodes))
}

fn parent(table: &Table, before: &[Criterion]) -> Result<Option<usize>, DocumentError> {
    let Some(item) = table.get("under") else { return Ok(None) };
    let under = item.text("the name of a criterion")?;
    let found = before.iter().position(|criterion| criterion.name == under);
    let names = || before.iter().map(|criterion| criterion.name.as_str()).collect::<Vec<_>>();
    found.map(Some).ok_or_else(|| {
        let message = format!("no criterion before this one is called `{under}`");
        let hint = if before.is_empty() { "it is the first one".to_owned() } else { choice(under, &names()) };
        item.spot.error(message, "must stand before").hint(hint)
    })
}

fn check_is_graded(criterion: &Criterion, has_children: bool) -> Result<(), DocumentError> {
    let name = &criterion.name;
    match (&criterion.grading, has_children) {
        (Some(_), true) => {
            let message = format!("`{name}` has grades of its own and criteria under it");
            Err(criterion.spot.error(message, "only one of both").hint("grade by the criteria under it"))
        }
        (None, false) => {
            let message = format!("`{name}` grades nothing: it has no grades, and no criteria under it");
            let hint = "`grades`, `values` or `measure`; or a criterion with `under` and this name";
            Err(criterion.spot.error(message, "nothing to grade by").hint(hint))
        }
        _ => Ok(()),
    }
}

/// A step is at most a factor of 2⁸.
const GAMMA_MAX: f64 = 8.0;

/// The range of a γ.
const GAMMAS: std::ops::RangeInclusive<f64> = 0.01..=GAMMA_MAX;

fn criterion(
    table: &Table,
    before: &[Criterion],
    alternatives: &[Alternative],
) -> Result<Criterion, DocumentError> {
    let own = ["name", "title", "under", "weight", "importance", "gamma", "standing", "source"];
    table.only("a criterion", &[&own[..], grades::KEYS].concat())?;
    let taken: Vec<_> = before.iter().map(|one| one.name.as_str()).collect();
    let name = name(table, "a criterion", &taken)?;
    Ok(Criterion {
        title: table.or("title", name.clone(), |item| Ok(item.text("a string")?.to_owned()))?,
        source: words(table, "source")?,
        standing: standing(table)?,
        weight: table.or("weight", None, |item| item.number(&(0.0..=1.0)).map(Some))?,
        importance: table.or("importance", None, |item| importance(item).map(Some))?,
        gamma: table.or("gamma", 1.0, |item| item.number(&GAMMAS))?,
        grading: grades::grading(table, alternatives)?,
        spot: table.spot.clone(),
        name,
    })
}

/// Words of requirements as RFC 2119 has them, in steps.
const REQUIREMENTS: [(&str, f64); 3] = [("must", 2.0), ("should", 1.0), ("may", 0.0)];

/// A number of steps, or a word.
fn importance(item: &Item) -> Result<f64, DocumentError> {
    let tree::Value::Text(word) = &item.value else { return item.number(&(-20.0..=20.0)) };
    let found = REQUIREMENTS.iter().find(|(name, _)| name == word);
    let names = REQUIREMENTS.map(|(name, _)| name);
    found.map(|(_, steps)| *steps).ok_or_else(|| item.spot.unknown("importance", word, &names))
}
