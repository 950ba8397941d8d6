//! Rules for every Rust source file.

use keytoll_tidy::none;
use keytoll_tidy::source::{Source, all};

/// More lines than this before the tests, and a file is two.
const LINES_MAX: usize = 700;

/// Files that are longer for a reason: path, lines it may have, reason. Entries only go away.
const LONG_FILES: &[(&str, usize, &str)] = &[];

/// Code that must not be committed, and what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "facts go to the trace"),
    ("#[ignore", "a test that does not run proves nothing; delete it or make it fast"),
    ("too_many_lines", "a function over 60 lines is missing a name for a part of it"),
];

fn introduction(source: &Source) -> Vec<String> {
    let introduced = source.lines.first().is_some_and(|line| line.comment.starts_with("//! "));
    if introduced {
        vec![]
    } else {
        vec![format!("{}:1: a file introduces itself: begin with //!", source.path)]
    }
}

fn length(source: &Source) -> Vec<String> {
    let lines = source.lines_before_tests();
    let ratchet = LONG_FILES.iter().find(|(path, ..)| *path == source.path);
    let allowed = ratchet.map_or(LINES_MAX, |(_, lines, _)| *lines);
    if !source.is_test() && lines > allowed {
        return vec![format!(
            "{}: {lines} lines before its tests, {allowed} are the limit: split it",
            source.path
        )];
    }
    if ratchet.is_some() && lines <= LINES_MAX {
        return vec![format!("{}: short enough now, take it off LONG_FILES", source.path)];
    }
    Vec::new()
}

fn forbidden(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (place, line) in source.numbered() {
        for (word, instead) in FORBIDDEN.iter().filter(|(word, _)| line.code.contains(word)) {
            found.push(format!("{place}: {word}: {instead}"));
        }
        for word in ["FIXME", "TODO", "XXX"].iter().filter(|word| has_word(&line.comment, word)) {
            found.push(format!("{place}: {word}: do it now or open an issue"));
        }
    }
    found
}

fn unsafe_code(source: &Source) -> Vec<String> {
    if source.path.starts_with("base/native/") {
        return Vec::new();
    }
    let found = source.numbered().filter(|(_, line)| has_word(&line.code, "unsafe"));
    found.map(|(place, _)| format!("{place}: unsafe code lives in base/native alone")).collect()
}

/// In `protocols/`, a comment line that names a section of an RFC is a citation; doc comments are free.
fn citations(source: &Source) -> Vec<String> {
    if !source.path.starts_with("protocols/") {
        return Vec::new();
    }
    let own_line = source.numbered().filter(|(_, line)| line.code.trim().is_empty());
    let wrong = own_line.filter(|(_, line)| names_section(&line.comment) && !is_citation(&line.comment));
    wrong.map(|(place, _)| format!("{place}: cite as `// RFC 7296 §2.1: why`, in our own words")).collect()
}

fn names_section(comment: &str) -> bool {
    let doc = comment.starts_with("///") || comment.starts_with("//!");
    !doc && comment.split("RFC ").skip(1).any(|after| section(after).is_some())
}

/// One RFC, one or more of its sections, and why.
fn is_citation(comment: &str) -> bool {
    let mut after = comment.strip_prefix("// RFC ").and_then(section);
    while let Some(another) = after.and_then(|rest| rest.strip_prefix(", §")) {
        after = section_number(another);
    }
    after.and_then(|rest| rest.strip_prefix(": ")).is_some_and(|why| !why.trim().is_empty())
}

/// What follows `7296 §2.1` at the start of `text`.
fn section(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - number.len();
    let rest = section_number(number.strip_prefix(" §")?)?;
    (3..=5).contains(&digits).then_some(rest)
}

/// What follows `2.1` at the start of `text`.
fn section_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
    (rest.len() < text.len()).then_some(rest)
}

fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !part(c)).any(|found| found == word)
}

fn check(rule: fn(&Source) -> Vec<String>) {
    let sources = all().expect("the project's sources are readable");
    assert!(sources.len() > 20, "the sources were not found");
    none(&sources.iter().flat_map(rule).collect::<Vec<_>>());
}

#[test]
fn every_file_introduces_itself() {
    check(introduction);
}

#[test]
fn files_stay_short() {
    check(length);
}

#[test]
fn nothing_unfinished_is_committed() {
    check(forbidden);
}

#[test]
fn unsafe_stays_in_native() {
    check(unsafe_code);
}

#[test]
fn citations_have_their_form() {
    check(citations);
}

#[test]
fn the_rules_bite() {
    let complaints =
        |rule: fn(&Source) -> Vec<String>, path: &str, text: &str| rule(&Source::read(path, text)).len();
    assert_eq!(complaints(introduction, "a.rs", "fn a() {}"), 1);
    assert_eq!(complaints(introduction, "a.rs", "//! What it is.\nfn a() {}"), 0);
    assert_eq!(complaints(length, "a.rs", &"x\n".repeat(LINES_MAX + 1)), 1);
    assert_eq!(complaints(length, "a/tests/b.rs", &"x\n".repeat(LINES_MAX + 1)), 0);
    assert_eq!(complaints(forbidden, "a.rs", "fn a() { todo!() } // TODO"), 2);
    assert_eq!(complaints(forbidden, "a.rs", "#[ignore = \"slow\"]"), 1);
    assert_eq!(complaints(unsafe_code, "base/trace/src/a.rs", "unsafe { f() }"), 1);
    assert_eq!(complaints(unsafe_code, "base/trace/src/a.rs", "// unsafe\nlet not_unsafe = \"unsafe\";"), 0);
    for good in
        ["// RFC 7296 §2.1: why", "/// RFC 7296 §2.1 says", "// Since RFC 7296, all", "f(); // RFC 7296 §2.1"]
    {
        assert_eq!(complaints(citations, "protocols/ike/src/a.rs", good), 0, "{good}");
    }
    for bad in
        ["// see RFC 7296 §2.1: why", "// RFC 7296 §2.1 why", "// RFC 7296 §2.1:", "// RFC 7296 §3.10.1, why"]
    {
        assert_eq!(complaints(citations, "protocols/ike/src/a.rs", bad), 1, "{bad}");
    }
}
