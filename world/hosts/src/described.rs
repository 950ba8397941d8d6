//! Details of an event for people and outside programs, as named fields in the terms of its family.
//!
//! They are formatted only on demand: strangers can cause some events as often as they like, and most runs read none.

use std::fmt;

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text; identities that others claim may be any text.
    Text(String),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    List(Vec<String>),
}

impl Value {
    /// An identity, an address, a suite: anything with a text form.
    pub fn shown(value: impl fmt::Display) -> Self {
        Self::Text(value.to_string())
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Flag(_) | Self::List(_) => None,
        }
    }
}

/// Fields with their names, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    /// No fields.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a field, if there is a value for it.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Option<Value>>) -> Self {
        self.0.extend(value.into().map(|value| (name, value)));
        self
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Each field.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl IntoIterator for Fields {
    type Item = (&'static str, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Something that has named fields.
pub trait Described: fmt::Debug + Send {
    /// The fields for a line of the log, and for the JSON of an event.
    fn fields(&self) -> Fields;

    /// For a session: label and value of the rows in the table that `keytoll connect` prints.
    fn rows(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// For a session: the fields that `keytoll connect --json` prints.
    fn document(&self) -> Fields {
        self.fields()
    }
}

impl Described for Fields {
    fn fields(&self) -> Fields {
        self.clone()
    }
}

/// A family's own details of an event. Two are equal if their fields are.
#[derive(Debug)]
pub struct Details(Box<dyn Described>);

impl Details {
    /// Wraps the details of a family.
    pub fn of(described: Box<dyn Described>) -> Self {
        Self(described)
    }
}

impl std::ops::Deref for Details {
    type Target = dyn Described;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Details {
    fn eq(&self, other: &Self) -> bool {
        self.fields() == other.fields()
    }
}

impl Eq for Details {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_without_a_value_is_left_out() {
        let fields = Fields::new().with("peer", None).with("suite", Value::shown("aes"));
        assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["suite"]);
        assert_eq!(fields.get("suite").and_then(Value::text), Some("aes"));
        assert_eq!(Details::of(Box::new(fields.clone())), Details::of(Box::new(fields)));
    }
}
