//! `--set key=value`: changes to a scenario from the command line, judged as if they stood in the file.

use std::sync::Arc;

use crate::diagnostic::{ScenarioError, Spot, Text};
use crate::tree::{self, Item, Table, Value};

/// Values that replace those of a scenario, in the order they were given; the last one wins.
#[derive(Debug, Clone, Default)]
pub struct Overrides(Vec<Override>);

#[derive(Debug, Clone)]
struct Override {
    path: Vec<(String, Spot)>,
    item: Item,
}

impl Overrides {
    /// Reads arguments of `--set`: `samples=5`, `options.mode=transport`, `networks=["lte", "wifi-11g"]`.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Self, ScenarioError> {
        let mut overrides = Self::default();
        for argument in arguments {
            overrides.add("--set ", argument.as_ref())?;
        }
        Ok(overrides)
    }

    /// Adds `key=value`; `prefix` is what stood before it on the command line.
    pub fn add(&mut self, prefix: &str, argument: &str) -> Result<(), ScenarioError> {
        let line = format!("{prefix}{argument}");
        let text = Arc::new(Text::new("command line", &line));
        let start = prefix.len();
        let Some(equals) = argument.find('=').map(|at| at + start) else {
            let spot = Spot { span: start..text.text.len(), text };
            return Err(spot.error(format!("no value in `{argument}`"), "expected `key=value`"));
        };
        let path = path(&text, start, equals)?;
        let key = path.last().map_or("", |(key, _)| key.as_str());
        let item = value(&text, key, equals + 1)?;
        self.0.push(Override { path, item });
        Ok(())
    }

    /// Puts the values into a scenario.
    pub(crate) fn apply(&self, document: &mut Table) -> Result<(), ScenarioError> {
        self.0.iter().try_for_each(|one| document.set(&one.path, one.item.clone()))
    }
}

/// The dotted keys between two places.
fn path(text: &Arc<Text>, mut start: usize, end: usize) -> Result<Vec<(String, Spot)>, ScenarioError> {
    let mut path = Vec::new();
    for key in text.text[start..end].split('.') {
        let spot = Spot { text: Arc::clone(text), span: start..start + key.len() };
        if key.trim().is_empty() {
            return Err(spot.error("an empty key", "expected a key"));
        }
        start += key.len() + 1;
        path.push((key.trim().to_owned(), spot));
    }
    Ok(path)
}

/// A TOML value, or a string without its quotes: `10 s`, `wifi-11g`.
fn value(text: &Arc<Text>, key: &str, offset: usize) -> Result<Item, ScenarioError> {
    let raw = &text.text[offset..];
    let is_toml = raw.trim_start().starts_with(['"', '\'', '[', '{']);
    match tree::value(text, key, offset) {
        Ok(item) => Ok(item),
        Err(error) if is_toml => Err(error),
        Err(_) => {
            let spot = Spot { text: Arc::clone(text), span: offset..text.text.len() };
            Ok(Item { name: key.to_owned(), spot, value: Value::Text(raw.trim().to_owned()) })
        }
    }
}
