//! A Rust source file taken apart just far enough: which part of each line is code and which is comment. Strings and
//! character literals belong to neither, so that a rule's own words do not break it.

use crate::{files, root, shown, text};

/// One source file.
#[derive(Debug)]
pub struct Source {
    /// The file, relative to the root.
    pub path: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line, taken apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Line {
    /// What the compiler reads, without literals.
    pub code: String,
    /// What only people read, with its slashes.
    pub comment: String,
}

/// All Rust sources of the project.
pub fn all() -> Result<Vec<Source>, String> {
    let read = |path: std::path::PathBuf| Ok(Source::read(&shown(&path), &text(&path)?));
    files(&root(), "rs").into_iter().map(read).collect()
}

impl Source {
    /// Takes a file apart.
    pub fn read(path: &str, text: &str) -> Self {
        let mut scanner = Scanner { place: Place::Code, rest: text, lines: vec![Line::default()] };
        while scanner.step() {}
        Self { path: path.to_owned(), lines: scanner.lines }
    }

    /// Whether all of it is test code.
    pub fn is_test(&self) -> bool {
        let folder = |name| self.path.split('/').rev().skip(1).any(|part| part == name);
        folder("tests") || folder("benches") || folder("fuzz") || self.path.ends_with("/tests.rs")
    }

    /// How many lines stand before the tests at the bottom.
    pub fn lines_before_tests(&self) -> usize {
        let test =
            |pair: &[Line]| pair[0].code.trim() == "#[cfg(test)]" && pair[1].code.trim().starts_with("mod ");
        self.lines.windows(2).position(test).unwrap_or(self.lines.len())
    }

    /// The lines counted from 1, each with the words to point at it.
    pub fn numbered(&self) -> impl Iterator<Item = (String, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (format!("{}:{}", self.path, index + 1), line))
    }
}

/// The words of all identifiers in a line of code, in small letters: `IKE_SA_INIT` and `ikeSaInit` have three.
pub fn words(code: &str) -> impl Iterator<Item = String> {
    let identifiers = code.split(|char: char| !char.is_alphanumeric());
    identifiers.flat_map(parts)
}

/// The words of an identifier without underscores: they begin at a capital after a small letter, and at the last capital of
/// several before a small one.
fn parts(identifier: &str) -> Vec<String> {
    let chars: Vec<char> = identifier.chars().collect();
    let begins = |at: usize| {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        chars[at].is_uppercase() && before.is_some_and(|before| !before.is_uppercase() || after)
    };
    let mut words = vec![String::new()];
    for (at, char) in chars.iter().enumerate() {
        if begins(at) {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").extend(char.to_lowercase());
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Where in the text the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text,
    RawText { hashes: usize },
}

struct Scanner<'a> {
    place: Place,
    rest: &'a str,
    lines: Vec<Line>,
}

impl Scanner<'_> {
    /// Takes at least one character; false at the end.
    fn step(&mut self) -> bool {
        let Some(next) = self.rest.chars().next() else { return false };
        if next == '\n' {
            self.newline();
            return true;
        }
        match self.place {
            Place::Code => self.code(next),
            Place::LineComment => self.take(next.len_utf8(), |line| &mut line.comment),
            Place::BlockComment { depth } => self.block_comment(depth, next),
            Place::Text => self.text(next),
            Place::RawText { hashes } => self.raw_text(hashes, next),
        }
        true
    }

    fn newline(&mut self) {
        self.rest = &self.rest[1..];
        self.lines.push(Line::default());
        if self.place == Place::LineComment {
            self.place = Place::Code;
        }
    }

    fn take(&mut self, bytes: usize, part: impl FnOnce(&mut Line) -> &mut String) {
        let (taken, rest) = self.rest.split_at(bytes);
        let line = self.lines.last_mut().expect("there is always a current line");
        part(line).push_str(taken);
        self.rest = rest;
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn code(&mut self, next: char) {
        if self.rest.starts_with("//") {
            self.place = Place::LineComment;
        } else if self.rest.starts_with("/*") {
            self.place = Place::BlockComment { depth: 1 };
            self.skip(2);
        } else if next == '"' {
            self.place = Place::Text;
            self.skip(1);
        } else if let Some(hashes) = self.raw_text_begins() {
            self.place = Place::RawText { hashes };
            self.skip(hashes + 2);
        } else if let Some(bytes) = char_literal(self.rest) {
            self.skip(bytes);
        } else {
            self.take(next.len_utf8(), |line| &mut line.code);
        }
    }

    /// `r"` or `r#"` that is not the end of an identifier; a leading `b` stays behind as harmless code.
    fn raw_text_begins(&self) -> Option<usize> {
        let after = self.rest.strip_prefix('r')?;
        let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
        let before = self.lines.last().and_then(|line| line.code.chars().last());
        let inside_word = before.is_some_and(|c| c != 'b' && (c.is_alphanumeric() || c == '_'));
        (after[hashes..].starts_with('"') && !inside_word).then_some(hashes)
    }

    fn block_comment(&mut self, depth: u32, next: char) {
        if self.rest.starts_with("/*") {
            self.place = Place::BlockComment { depth: depth + 1 };
            self.skip(2);
        } else if self.rest.starts_with("*/") {
            self.place = if depth == 1 { Place::Code } else { Place::BlockComment { depth: depth - 1 } };
            self.skip(2);
        } else {
            self.take(next.len_utf8(), |line| &mut line.comment);
        }
    }

    fn text(&mut self, next: char) {
        let escaped = self.rest.starts_with("\\\"") || self.rest.starts_with("\\\\");
        if next == '"' {
            self.place = Place::Code;
        }
        self.skip(if escaped { 2 } else { next.len_utf8() });
    }

    fn raw_text(&mut self, hashes: usize, next: char) {
        let end =
            next == '"' && self.rest[1..].bytes().take(hashes).filter(|byte| *byte == b'#').count() == hashes;
        if end {
            self.place = Place::Code;
        }
        self.skip(if end { 1 + hashes } else { next.len_utf8() });
    }
}

/// Bytes of a character literal at the start of `rest`; a lifetime is none.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let skipped = escape.chars().next()?.len_utf8();
        return Some(2 + skipped + escape[skipped..].find('\'')? + 1);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(1 + first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &[&str], comment: &[&str]) {
        let lines = Source::read("x.rs", text).lines;
        assert_eq!(lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>(), code, "code of {text:?}");
        assert_eq!(
            lines.iter().map(|line| line.comment.as_str()).collect::<Vec<_>>(),
            comment,
            "in {text:?}"
        );
    }

    #[test]
    fn comments_and_literals_are_told_from_code() {
        check("let a = 1; // one", &["let a = 1; "], &["// one"]);
        check("a /* b /* c */ d */ e", &["a  e"], &[" b  c  d "]);
        check("f(\"a // \\\" b\") // c", &["f() "], &["// c"]);
        check("r#\"x \" // y\"# z", &[" z"], &[""]);
        check("br\"x\" y", &["b y"], &[""]);
        check("['\"', '\\'', '\\u{41}', 'ä'] // q", &["[, , , ] "], &["// q"]);
        check("fn f<'a>(x: &'a str) {}", &["fn f<'a>(x: &'a str) {}"], &[""]);
        check("\"two\nlines // no\" b", &["", " b"], &["", ""]);
    }

    #[test]
    fn tests_at_the_bottom_are_not_counted() {
        let source = Source::read("a/src/b.rs", "//! Doc.\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(source.lines_before_tests(), 3);
        assert!(!source.is_test());
        assert!(Source::read("a/tests/b.rs", "").is_test());
        assert!(Source::read("a/src/b/tests.rs", "").is_test());
    }
}
