//! The command line: words with `=` are settings, others are steps.

use std::collections::BTreeMap;

use crate::Outcome;

/// Settings by name, and steps in their order.
pub struct Settings {
    values: BTreeMap<String, String>,
    pub steps: Vec<String>,
}

impl Settings {
    /// Reads the command line.
    pub fn of(words: impl Iterator<Item = String>) -> Self {
        let mut settings = Self { values: BTreeMap::new(), steps: Vec::new() };
        for word in words {
            match word.split_once('=') {
                Some((key, value)) => drop(settings.values.insert(key.to_owned(), value.to_owned())),
                None => settings.steps.push(word),
            }
        }
        settings
    }

    /// A setting that may be missing.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// A setting that must be there.
    pub fn need(&self, key: &str) -> Outcome<&str> {
        self.get(key).ok_or_else(|| format!("{key}=… is missing").into())
    }
}
