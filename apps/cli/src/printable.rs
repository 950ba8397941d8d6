//! Untrusted text, made safe to print: an IMSI, a user name, an identity or an error text from the network may contain anything,
//! including newlines that would forge a log line and escape sequences of terminals. Everything that the program prints passes
//! through here, in `screen` and in the log.

use std::borrow::Cow;
use std::fmt::Write as _;

use keytoll_report::export::is_invisible;

/// Text for a part of one line: no line ends, no escape sequences, no change of direction.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |char| char.is_control() || is_invisible(char),
        |out, char| {
            let _ = write!(out, "{}", char.escape_default());
        },
    )
}

/// Text for the value of a field, `key=value`, in a line of fields: quoted if it could be taken for another field.
pub(crate) fn value(text: &str) -> Cow<'_, str> {
    let is_plain = |char: char| !char.is_whitespace() && !matches!(char, '"' | '=' | '\\');
    if !text.is_empty() && text.chars().all(is_plain) {
        return line(text);
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(format!("\"{}\"", line(&quoted)))
}

/// As a block of lines of ours.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    let is_unfit = |char: char| !matches!(char, '\n' | '\t') && (char.is_control() || is_invisible(char));
    escaped(text, is_unfit, |out, char| {
        let _ = write!(out, "{}", char.escape_default());
    })
}

/// Text for a block of lines in our own colours: sequences that set a colour remain.
pub(crate) fn colored(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut shown = block(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        shown.push_str(if is_color(part) { "\u{1b}" } else { "\\u{1b}" });
        shown.push_str(&block(part));
    }
    shown
}

/// JSON text in which characters that serde leaves as they are but terminals interpret are escaped.
// RFC 8259 §7: any character may be escaped.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    let is_unfit = |char: char| (char.is_control() && char >= '\u{7f}') || is_invisible(char);
    escaped(text, is_unfit, |out, char| {
        let _ = char.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"));
    })
}

/// Whether a sequence, after its ESC, only sets a colour in which text can be read: `[…m`.
fn is_color(after: &str) -> bool {
    let sequence = after.strip_prefix('[').and_then(|rest| rest.split_once('m'));
    sequence.is_some_and(|(parameters, _)| parameters.split(';').all(|one| READABLE.contains(&one)))
}

/// ECMA-48 §8.3.117: bold, faint, underlined, and the colours of text from red to white; neither black, concealed nor blinking.
const READABLE: [&str; 15] =
    ["0", "1", "2", "4", "22", "24", "31", "32", "33", "34", "35", "36", "37", "39", ""];

fn escaped(text: &str, is_unfit: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_unfit(char) { escape(&mut shown, char) } else { shown.push(char) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: &str = "ue\r\n2026 INFO accepted\tuser=boss\u{1b}[2J\u{9b}31m\u{7f}\u{202e}";

    #[test]
    fn a_line_stays_one_line() {
        let shown = r"ue\r\n2026 INFO accepted\tuser=boss\u{1b}[2J\u{9b}31m\u{7f}\u{202e}";
        assert_eq!(line(FOREIGN), shown);
        assert!(matches!(line("ű – 文字"), Cow::Borrowed("ű – 文字")));
    }

    #[test]
    fn a_block_keeps_its_lines_and_tabs_alone() {
        assert_eq!(block("a\n\tb\u{1b}]0;title\u{7}\r"), "a\n\tb\\u{1b}]0;title\\u{7}\\r");
    }

    #[test]
    fn only_colour_sequences_remain() {
        let text = "\u{1b}[1;31mwrong\u{1b}[0m \u{1b}[2J\u{1b}]0;t\u{7}\u{1b}[3";
        assert_eq!(colored(text), "\u{1b}[1;31mwrong\u{1b}[0m \\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}[3");
        assert_eq!(colored("a\u{1b}[8mb\u{1b}[31;40mc"), "a\\u{1b}[8mb\\u{1b}[31;40mc", "nothing is hidden");
    }

    #[test]
    fn json_reads_back_as_it_was() {
        let value = serde_json::Value::from(FOREIGN);
        let shown = json(&value.to_string()).into_owned();
        assert!(!shown.chars().any(|char| char.is_control() || is_invisible(char)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
