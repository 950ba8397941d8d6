//! Key tables in Wireshark's formats: how a family writes its keys, and reads them.

use std::collections::BTreeMap;
use std::fmt;

/// A key table, a file of a Wireshark profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTable {
    /// Its name.
    pub file: &'static str,
    /// The preference with its path, for a table that Wireshark does not find by itself.
    pub preference: Option<&'static str>,
    /// Whether keytoll reads it.
    pub is_read: bool,
}

impl KeyTable {
    /// A table that Wireshark finds by itself, and that keytoll reads.
    pub const fn new(file: &'static str) -> Self {
        Self { file, preference: None, is_read: true }
    }
}

/// A key, written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// Identifies the key without revealing it: both ends of a conversation report the same.
    pub of: String,
    /// The file of the table.
    pub table: &'static str,
    /// The line, or the algorithms that Wireshark cannot decrypt.
    pub line: Result<String, String>,
}

/// The texts of key tables, of any origin.
#[derive(Debug, Default)]
pub struct Tables {
    texts: BTreeMap<String, String>,
    unusable: u64,
    first_unusable: Option<Unusable>,
}

/// A line of a table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The table.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, why } = self;
        write!(f, "line {line} of {file}: {why}")
    }
}

/// The limit on the lines of a table.
const LINES_MAX: usize = 1_000_000;

impl Tables {
    /// These files with their texts.
    pub const fn new(texts: BTreeMap<String, String>) -> Self {
        Self { texts, unusable: 0, first_unusable: None }
    }

    /// The text of a file, if it exists.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.texts.get(file).map(String::as_str)
    }

    /// Passes every line of a table to `add`, split into unquoted fields, and counts those that it cannot use.
    pub fn each_line(&mut self, file: &str, mut add: impl FnMut(&[&str]) -> Option<()>) {
        self.judge_lines(file, |fields| add(fields).ok_or("damaged, or of an unknown algorithm"));
    }

    /// The same, where `judge` says what is wrong with a line.
    pub fn judge_lines(&mut self, file: &str, mut judge: impl FnMut(&[&str]) -> Result<(), &'static str>) {
        let text = self.texts.get(file).map_or("", String::as_str);
        let lines = text.lines().map(str::trim).zip(1..);
        let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        for (text, line) in lines.take(LINES_MAX) {
            let Err(why) = judge(&fields(text)) else { continue };
            self.unusable += 1;
            self.first_unusable.get_or_insert_with(|| Unusable { file: file.to_owned(), line, why });
        }
    }

    /// Unusable lines: damaged, or with unknown algorithms.
    pub const fn unusable(&self) -> u64 {
        self.unusable
    }

    /// The first of them.
    pub const fn first_unusable(&self) -> Option<&Unusable> {
        self.first_unusable.as_ref()
    }
}

/// The fields of a line: commas within quotes are no ends of fields.
fn fields(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let ends = |char: char| {
        is_quoted ^= char == '"';
        char == ',' && !is_quoted
    };
    line.split(ends).map(|field| field.trim().trim_matches('"')).collect()
}

/// A secret in the syntax of the preferences, if it is printable.
pub fn typed(secret: &[u8]) -> Option<&str> {
    let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let text = std::str::from_utf8(secret).ok()?;
    (!text.is_empty() && text.bytes().all(is_printable) && text.trim() == text).then_some(text)
}

/// A key in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| text += &format!("{byte:02x}"));
    text
}

/// Bytes in hexadecimal, with or without `0x`.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_start_matches("0x").as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_goes_both_ways_and_nonsense_is_refused() {
        assert_eq!(
            (hex(&[0, 0xab]), unhex("0x00ab"), unhex("00AB")),
            ("00ab".into(), Some(vec![0, 0xab]), Some(vec![0, 0xab]))
        );
        assert_eq!((unhex("abc"), unhex("zz"), unhex("")), (None, None, Some(Vec::new())));
    }

    #[test]
    fn a_secret_that_a_line_does_not_hold_whole_is_not_typed() {
        assert_eq!(typed(b"a secret"), Some("a secret"));
        for secret in [&b""[..], b" padded", b"two\nlines", b"\xff", "ä".as_bytes()] {
            assert_eq!(typed(secret), None, "{secret:?}");
        }
    }

    #[test]
    fn a_comma_within_quotes_is_part_of_its_field() {
        assert_eq!(fields(r#""one, two", "three",4"#), ["one, two", "three", "4"]);
        assert_eq!(fields(r#"1,,"two"#), ["1", "", "two"]);
    }

    #[test]
    fn lines_that_are_of_no_use_are_counted() {
        let text = "# comment\n\n\"1\", 2\nthree\n".to_owned();
        let mut tables = Tables::new(BTreeMap::from([("table".to_owned(), text)]));
        let mut found = Vec::new();
        tables.each_line("table", |fields| {
            let &[first, second] = fields else { return None };
            found.push((first.to_owned(), second.to_owned()));
            Some(())
        });
        tables.each_line("another", |_| None);
        assert_eq!((found, tables.unusable()), (vec![("1".to_owned(), "2".to_owned())], 1));
        let first = tables.first_unusable().map(ToString::to_string);
        assert_eq!(first.as_deref(), Some("line 4 of table: damaged, or of an unknown algorithm"));
    }
}
