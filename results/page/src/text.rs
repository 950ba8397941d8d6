//! Text and data as HTML carries them.

use std::fmt::{self, Display, Formatter, Write as _};
use std::io;

use serde::Serialize;

/// Text as it stands in elements and in quoted attributes.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((place, letter)) = rest.char_indices().find(|(_, letter)| reference(*letter).is_some())
        {
            let (before, after) = rest.split_at(place);
            to.write_str(before)?;
            to.write_str(reference(letter).unwrap_or_default())?;
            rest = &after[letter.len_utf8()..];
        }
        to.write_str(rest)
    }
}

/// The replacement of a letter that HTML would take as its own, or that hides or reverses the text around it.
fn reference(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\n' | '\t' | '\r' => None,
        _ if letter.is_control() || is_invisible(letter) => Some("\u{fffd}"),
        _ => None,
    }
}

/// Whether a character ends lines, joins or reverses the text around it, without being visible.
pub const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// A number without digits that say nothing, for people: four significant ones.
pub(crate) struct Number(pub(crate) f64);

impl Display for Number {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let whole = if self.0 == 0.0 { 0 } else { self.0.abs().log10().floor() as i32 + 1 };
        let places = usize::try_from(4 - whole).unwrap_or(0).min(9);
        let text = format!("{:.places$}", self.0);
        match text.contains('.') {
            true => to.write_str(text.trim_end_matches('0').trim_end_matches('.')),
            false => to.write_str(&text),
        }
    }
}

/// Writes data for the page's script. Without `<` nothing in it can end the element or open a comment.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn data(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut json = String::new();
    let shown = serde_json::to_string(value)?.replace(is_invisible, "\u{fffd}");
    for (place, part) in shown.split('<').enumerate() {
        if place > 0 {
            json.push_str("\\u003c");
        }
        json.push_str(part);
    }
    writeln!(out, r#"<script type="application/json">{json}</script>"#)
}

/// A name for an anchor or a file: of letters, digits and hyphens, whatever it was made of.
pub(crate) fn anchor(id: &str) -> String {
    let mut anchor = String::with_capacity(id.len());
    for letter in id.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => anchor.push(letter),
            other => write!(anchor, "-{:x}", u32::from(other)).expect("a string grows"),
        }
    }
    anchor
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a browser makes of the text again.
    fn read(html: &str) -> String {
        let mut text = html.to_owned();
        for (reference, letter) in
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        {
            text = text.replace(reference, letter);
        }
        text
    }

    fn written(value: &str) -> String {
        let mut out = Vec::new();
        data(&value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown =
            [0.0, 1.0, 0.25, 1234.5, 12.345, 0.000_123_46, -3.5, 100.0].map(|x| Number(x).to_string());
        assert_eq!(shown, ["0", "1", "0.25", "1234", "12.35", "0.0001235", "-3.5", "100"]);
    }

    #[test]
    fn what_reverses_a_title_is_replaced() {
        assert_eq!(Escaped("a\u{202e}b\u{1b}[31m\n").to_string(), "a\u{fffd}b\u{fffd}[31m\n");
        assert!(written("a\u{202e}b").contains("a\u{fffd}b"));
    }

    #[test]
    fn an_anchor_is_one_word() {
        assert_eq!(anchor("delay-raw_1"), "delay-raw_1");
        assert_eq!(anchor("a b\"é"), "a-20b-22-e9");
    }

    proptest! {
        #[test]
        fn escaped_text_opens_nothing_and_is_read_as_it_was(text in ".*") {
            let html = Escaped(&text).to_string();
            prop_assert!(!html.contains(['<', '>', '"', '\'', '\0']) && !html.contains(is_invisible));
            let unfit = |letter: char| !matches!(letter, '\t' | '\r') && (letter.is_control() || is_invisible(letter));
            prop_assert_eq!(read(&html), text.replace(unfit, "\u{fffd}"));
        }

        #[test]
        fn data_cannot_end_its_element(text in "(<!--|</script>|<script|[<>/a]|.)*") {
            let html = written(&text);
            let inner = html.strip_prefix(r#"<script type="application/json">"#).unwrap();
            let inner = inner.strip_suffix("</script>\n").unwrap();
            prop_assert!(!inner.contains('<'));
            let shown = text.replace(is_invisible, "\u{fffd}");
            prop_assert_eq!(serde_json::from_str::<String>(inner).unwrap(), shown);
        }
    }
}
