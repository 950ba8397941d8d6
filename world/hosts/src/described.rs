//! What only people and programs outside want to know of an event, in the words of its family: fields with names.
//!
//! Nothing is put into words before somebody reads it: strangers cause some events as often as they like, and most runs read
//! none of them.

use std::fmt;

/// What one field says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text; what others say of themselves may be any.
    Text(String),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    List(Vec<String>),
}

impl Value {
    /// An identity, an address, a suite: whatever has a text.
    pub fn shown(value: impl fmt::Display) -> Self {
        Self::Text(value.to_string())
    }

    /// The text, if it is one.
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

    /// With one more field, if there is a value for it.
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

/// Something that can be put into words.
pub trait Described: fmt::Debug + Send {
    /// For a line of the log, and for the JSON of an event.
    fn fields(&self) -> Fields;

    /// Of a session, for the table that `keytoll connect` prints: what, and how it is.
    fn rows(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Of a session, for what `keytoll connect --json` prints.
    fn document(&self) -> Fields {
        self.fields()
    }
}

impl Described for Fields {
    fn fields(&self) -> Fields {
        self.clone()
    }
}

/// What a family knows of an event besides what all families have in common. Two are the same if they say the same.
#[derive(Debug)]
pub struct Details(Box<dyn Described>);

impl Details {
    /// What this says.
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
