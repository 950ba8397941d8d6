//! `--set key=value`: changes to a scenario from the command line, checked like the file itself.

use std::sync::Arc;

use crate::diagnostic::{ScenarioError, Spot, Text};
use crate::resolve::TITLE_CHARS_MAX;
use crate::tree::{self, Item, Table, Value};

/// Values that replace those of a scenario, each key once, in the order given.
#[derive(Debug, Clone, Default)]
pub struct Overrides(Vec<Override>);

#[derive(Debug, Clone)]
struct Override {
    path: Vec<(String, Spot)>,
    item: Item,
}

impl Overrides {
    /// Parses arguments of `--set`: `samples=5`, `options.mode=transport`, `networks=["lte", "wifi-11g"]`.
    ///
    /// # Errors
    /// When an argument is not `key=value`, or a key is given twice.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Self, ScenarioError> {
        let mut overrides = Self::default();
        for argument in arguments {
            overrides.add("--set ", argument.as_ref())?;
        }
        Ok(overrides)
    }

    /// Adds `key=value`; `prefix` is the text before it on the command line.
    ///
    /// # Errors
    /// When the argument is not `key=value`, or the key is given already.
    pub fn add(&mut self, prefix: &str, argument: &str) -> Result<(), ScenarioError> {
        let line = format!("{prefix}{argument}");
        let text = Arc::new(Text::new("command line", &line));
        let start = prefix.len();
        let Some(equals) = argument.find('=').map(|at| at + start) else {
            let spot = Spot { span: start..text.text.len(), text };
            return Err(spot.error(format!("no value in `{argument}`"), "expected `key=value`"));
        };
        let path = path(&text, start, equals)?;
        if let Some(earlier) = self.0.iter().find(|earlier| meet(&earlier.path, &path)) {
            let message = format!("`{}` is set twice", dotted(shorter(&earlier.path, &path)));
            return Err(Spot { span: 0..text.text.len(), text }
                .error(message, "again")
                .hint("leave one of them out"));
        }
        let key = path.last().map_or("", |(key, _)| key.as_str());
        let item = value(&text, key, equals + 1)?;
        self.0.push(Override { path, item });
        Ok(())
    }

    /// Puts the values into a scenario.
    pub(crate) fn apply(&self, document: &mut Table) -> Result<(), ScenarioError> {
        self.0.iter().try_for_each(|one| document.set(&one.path, one.item.clone()))
    }

    /// The title with the changes appended, lest it mislead: `WiFi and UMTS, with networks = lte`.
    pub(crate) fn retitled(&self, title: String) -> String {
        let is = |one: &Override, key: &str| one.path[0].0 == key;
        if self.0.iter().any(|one| is(one, "title")) {
            return title;
        }
        let changed: Vec<_> =
            self.0.iter().filter(|one| !TOLD_ELSEWHERE.iter().any(|key| is(one, key))).collect();
        let told: Vec<_> =
            changed.iter().map(|one| format!("{} = {}", dotted(&one.path), one.text())).collect();
        let long = format!("{title}, with {}", told.join(", "));
        let short = format!(
            "{title}, with {} changed",
            changed.iter().map(|one| dotted(&one.path)).collect::<Vec<_>>().join(", ")
        );
        match (changed.len(), [long, short].into_iter().find(|text| text.chars().count() <= TITLE_CHARS_MAX))
        {
            (0, _) => title,
            (_, Some(told)) => told,
            (_, None) => "a changed scenario".to_owned(),
        }
    }
}

/// Keys that every summary shows anyway.
const TOLD_ELSEWHERE: [&str; 7] = ["title", "study", "seed", "samples", "crypto", "costs", "world"];

impl Override {
    /// The value as written, without quotes.
    fn text(&self) -> &str {
        self.item.spot.text.text[self.item.spot.span.clone()].trim().trim_matches(['"', '\''])
    }
}

/// Whether one of two paths is a prefix of the other.
fn meet(one: &[(String, Spot)], other: &[(String, Spot)]) -> bool {
    one.iter().zip(other).all(|((one, _), (other, _))| one == other)
}

fn shorter<'a>(one: &'a [(String, Spot)], other: &'a [(String, Spot)]) -> &'a [(String, Spot)] {
    if one.len() <= other.len() { one } else { other }
}

fn dotted(path: &[(String, Spot)]) -> String {
    path.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(".")
}

/// The dotted keys between two offsets.
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
