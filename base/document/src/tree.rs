//! A TOML document in which every key and value has its place, and readers whose errors refer to that place.
//!
//! Overrides from the command line are inserted into the same tree, so that they are checked like the file itself.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::diagnostic::{DocumentError, Spot, choice};
use crate::quantity::{self, Kind, QuantityError};
use crate::text::Text;

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its key, for error messages.
    pub name: String,
    /// Where it stands.
    pub spot: Spot,
    /// What it is.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer of any radix.
    Integer(i128),
    /// A decimal number; TOML also has `inf` and `nan`.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A list.
    List(Vec<Item>),
    /// A table.
    Table(Table),
    /// A date, a time or both.
    Date,
}

/// A table, in the order of the text.
#[derive(Debug, Clone)]
pub struct Table {
    /// Where it stands.
    pub spot: Spot,
    /// Its keys with their values.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_spot: Spot,
    /// Its value.
    pub item: Item,
}

/// Reads a document.
///
/// # Errors
/// It is not TOML.
pub fn document(text: &Arc<Text>) -> Result<Table, DocumentError> {
    let place = Origin { text, offset: 0 };
    let table = DeTable::parse(&text.text).map_err(|error| place.syntax(&error))?;
    place.table(table.span(), table.get_ref())
}

/// Parses one value, for `key`, from `offset` to the end of the text.
///
/// # Errors
/// It is not TOML.
pub fn value(text: &Arc<Text>, key: &str, offset: usize) -> Result<Item, DocumentError> {
    let place = Origin { text, offset };
    let value = DeValue::parse(&text.text[offset..]).map_err(|error| place.syntax(&error))?;
    place.item(key, &value)
}

/// The place of the parsed text.
struct Origin<'a> {
    text: &'a Arc<Text>,
    offset: usize,
}

impl Origin<'_> {
    fn spot(&self, span: Range<usize>) -> Spot {
        let span = span.start + self.offset..span.end + self.offset;
        Spot { text: Arc::clone(self.text), span }
    }

    fn syntax(&self, error: &toml::de::Error) -> DocumentError {
        let text = &self.text.text[self.offset..];
        let span = error.span().filter(|span| span.start < text.len()).unwrap_or_else(|| end_of(text));
        let shown = &self.text.shown[self.offset..];
        let word = shown.get(span.clone()).unwrap_or_default().trim();
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let hint = if word.starts_with(char::is_alphabetic)
            && !error.message().contains("key")
            && !word.contains('*')
        {
            format!("a string stands in quotes: `\"{word}\"`")
        } else {
            "the format is described at https://toml.io".to_owned()
        };
        self.spot(span).error(format!("not TOML: {message}"), "here").hint(hint)
    }

    fn table(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<Table, DocumentError> {
        let entries = table.iter().map(|(key, value)| self.entry(key.span(), key.get_ref(), value));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.key_spot.span.start);
        Ok(Table { spot: self.spot(span), entries })
    }

    fn entry(
        &self,
        span: Range<usize>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Entry, DocumentError> {
        Ok(Entry { key: key.to_owned(), key_spot: self.spot(span), item: self.item(key, value)? })
    }

    fn list(&self, key: &str, list: &DeArray<'_>) -> Result<Vec<Item>, DocumentError> {
        list.iter().map(|value| self.item(key, value)).collect()
    }

    fn item(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Item, DocumentError> {
        let spot = self.spot(value.span());
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => Value::Integer(integer(&spot, number.as_str(), number.radix())?),
            DeValue::Float(number) => Value::Float(float(&spot, number.as_str())?),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(list) => Value::List(self.list(key, list)?),
            DeValue::Table(table) => Value::Table(self.table(value.span(), table)?),
        };
        Ok(Item { name: key.to_owned(), spot, value })
    }
}

/// The last visible character.
fn end_of(text: &str) -> Range<usize> {
    let end = text.trim_end().len();
    let start = text[..end].char_indices().next_back().map_or(0, |(start, _)| start);
    start..end
}

fn integer(spot: &Spot, digits: &str, radix: u32) -> Result<i128, DocumentError> {
    let parsed = i128::from_str_radix(digits, radix);
    parsed.map_err(|_| spot.error("an integer that is far too large", "this number"))
}

fn float(spot: &Spot, digits: &str) -> Result<f64, DocumentError> {
    digits.parse().map_err(|_| spot.error(format!("`{digits}` is no number"), "this number"))
}

impl Value {
    /// Its name in error messages.
    const fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a decimal number",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Date => "a date",
        }
    }
}

impl Item {
    /// An error about an unexpected type or value.
    pub fn wrong(&self, expected: &str) -> DocumentError {
        let noun = self.value.noun();
        let message = format!("`{}` must be {expected}, not {noun}", self.name);
        self.spot.error(message, format!("{noun}, not {expected}"))
    }

    /// A string.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self, expected: &str) -> Result<&str, DocumentError> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// A table.
    ///
    /// # Errors
    /// It is none.
    pub fn table(&self) -> Result<&Table, DocumentError> {
        match &self.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.wrong("a table")),
        }
    }

    /// The elements of a list; anything else counts as a list of one.
    pub fn elements(&self) -> &[Self] {
        match &self.value {
            Value::List(list) => list,
            _ => std::slice::from_ref(self),
        }
    }

    /// The elements of a list that must not be empty.
    ///
    /// # Errors
    /// It is empty.
    pub fn some_elements(&self, of: &str) -> Result<&[Self], DocumentError> {
        match self.elements() {
            [] => Err(self
                .spot
                .error(format!("`{}` is an empty list", self.name), format!("at least one {of}"))),
            elements => Ok(elements),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// It is none.
    pub fn boolean(&self) -> Result<bool, DocumentError> {
        match &self.value {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.wrong("`true` or `false`")),
        }
    }

    /// An integer between two others.
    ///
    /// # Errors
    /// It is none, or out of range.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, DocumentError> {
        let Value::Integer(value) = &self.value else {
            return Err(self.wrong("an integer"));
        };
        let fitting = u64::try_from(*value).ok().filter(|value| range.contains(value));
        fitting.ok_or_else(|| self.out_of_range(&value.to_string(), &range.start(), &range.end()))
    }

    /// A decimal number in a range.
    ///
    /// # Errors
    /// It is none, or out of range.
    pub fn number(&self, range: &RangeInclusive<f64>) -> Result<f64, DocumentError> {
        let value = match &self.value {
            Value::Float(value) => *value,
            Value::Integer(value) => *value as f64,
            _ => return Err(self.wrong("a decimal number")),
        };
        let fitting = range.contains(&value).then_some(value);
        fitting.ok_or_else(|| self.out_of_range(&value.to_string(), range.start(), range.end()))
    }

    /// A quantity with a unit, in a range, in the base unit of its kind.
    ///
    /// # Errors
    /// It is none of this kind, or out of range.
    pub fn quantity(&self, kind: Kind, range: RangeInclusive<u64>) -> Result<u64, DocumentError> {
        let expected = format!("{} like `\"{}\"`", kind.noun(), kind.example());
        let text = self.text(&expected)?;
        let value = quantity::read(kind, text).map_err(|error| self.bad_quantity(kind, text, &error))?;
        if range.contains(&value) {
            return Ok(value);
        }
        let bound = |value: &u64| quantity::print(kind, *value);
        Err(self.out_of_range(text, &bound(range.start()), &bound(range.end())))
    }

    fn bad_quantity(&self, kind: Kind, text: &str, error: &QuantityError) -> DocumentError {
        let message = format!("`{}` must be {}, not `{text}`: {error}", self.name, kind.noun());
        let hint =
            format!("a number and one of the units {}, like `\"{}\"`", kind.unit_names(), kind.example());
        self.spot.error(message, format!("not {}", kind.noun())).hint(hint)
    }

    fn out_of_range(
        &self,
        value: &str,
        low: &dyn std::fmt::Display,
        high: &dyn std::fmt::Display,
    ) -> DocumentError {
        let message = format!("`{}` must be from {low} to {high}, not {value}", self.name);
        self.spot.error(message, "out of range")
    }

    /// One of some named values.
    ///
    /// # Errors
    /// It is none of them.
    pub fn pick<T: Copy>(
        &self,
        noun: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, DocumentError> {
        let text = self.text(&format!("the name of a {noun}"))?;
        let found = all.iter().copied().find(|value| name(*value) == text);
        let names = || all.iter().map(|value| name(*value)).collect::<Vec<_>>();
        found.ok_or_else(|| self.spot.unknown(noun, text, &names()))
    }
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Item> {
        self.entry(key).map(|entry| &entry.item)
    }

    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key, or a default.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn or<'a, T>(
        &'a self,
        key: &str,
        default: T,
        read: impl FnOnce(&'a Item) -> Result<T, DocumentError>,
    ) -> Result<T, DocumentError> {
        self.get(key).map_or(Ok(default), read)
    }

    /// The value of a required key; `what` is the table's name.
    ///
    /// # Errors
    /// It is missing.
    pub fn need(&self, key: &str, what: &str) -> Result<&Item, DocumentError> {
        self.get(key)
            .ok_or_else(|| self.spot.error(format!("{what} without `{key}`"), format!("`{key}` is missing")))
    }

    /// Refuses keys that are not in `allowed`.
    ///
    /// # Errors
    /// There is another one.
    pub fn only(&self, what: &str, allowed: &[&str]) -> Result<(), DocumentError> {
        let unknown = self.entries.iter().find(|entry| !allowed.contains(&entry.key.as_str()));
        unknown.map_or(Ok(()), |entry| {
            let message = format!("unknown key `{}` in {what}", entry.key);
            Err(entry.key_spot.error(message, "no such key").hint(choice(&entry.key, allowed)))
        })
    }

    /// Inserts a value under a path of keys, with missing tables.
    ///
    /// # Errors
    /// A key of the path has a value that is no table.
    pub fn set(&mut self, path: &[(String, Spot)], item: Item) -> Result<(), DocumentError> {
        let [(key, key_spot), rest @ ..] = path else {
            return Ok(());
        };
        let position = self.entries.iter().position(|entry| entry.key == *key);
        let Some(position) = position else {
            let item = nest(rest, item);
            self.entries.push(Entry { key: key.clone(), key_spot: key_spot.clone(), item });
            return Ok(());
        };
        let entry = &mut self.entries[position];
        match &mut entry.item.value {
            _ if rest.is_empty() => entry.item = item,
            Value::Table(table) => table.set(rest, item)?,
            _ => return Err(key_spot.error(format!("`{key}` is no table"), "has no keys in it")),
        }
        Ok(())
    }
}

/// The item nested in a table for every key of the path.
fn nest(path: &[(String, Spot)], item: Item) -> Item {
    path.iter().rev().fold(item, |item, (key, spot)| {
        let entry = Entry { key: key.clone(), key_spot: spot.clone(), item };
        let table = Table { spot: spot.clone(), entries: vec![entry] };
        Item { name: key.clone(), spot: spot.clone(), value: Value::Table(table) }
    })
}
