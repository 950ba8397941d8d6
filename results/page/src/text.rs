//! Text and data as HTML carries them.

use std::fmt::{self, Display, Formatter, Write as _};
use std::io;

use serde::Serialize;

/// Text as it stands in elements and in quoted attributes.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(place) =
            rest.bytes().position(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'' | 0))
        {
            let (before, after) = rest.split_at(place);
            to.write_str(before)?;
            to.write_str(reference(after.as_bytes()[0]))?;
            rest = &after[1..];
        }
        to.write_str(rest)
    }
}

/// What stands for a letter that HTML would take as its own. U+0000 has no reference at all.
const fn reference(letter: u8) -> &'static str {
    match letter {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&#39;",
        _ => "\u{fffd}",
    }
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
    for (place, part) in serde_json::to_string(value)?.split('<').enumerate() {
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
    fn an_anchor_is_one_word() {
        assert_eq!(anchor("delay-raw_1"), "delay-raw_1");
        assert_eq!(anchor("a b\"é"), "a-20b-22-e9");
    }

    proptest! {
        #[test]
        fn escaped_text_opens_nothing_and_is_read_as_it_was(text in ".*") {
            let html = Escaped(&text).to_string();
            prop_assert!(!html.contains(['<', '>', '"', '\'', '\0']));
            prop_assert_eq!(read(&html), text.replace('\0', "\u{fffd}"));
        }

        #[test]
        fn data_cannot_end_its_element(text in "(<!--|</script>|<script|[<>/a]|.)*") {
            let html = written(&text);
            let inner = html.strip_prefix(r#"<script type="application/json">"#).unwrap();
            let inner = inner.strip_suffix("</script>\n").unwrap();
            prop_assert!(!inner.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(inner).unwrap(), text);
        }
    }
}
