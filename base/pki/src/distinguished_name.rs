//! X.500 names as text, so that different names have different texts. Read RFC 4514 §2 first.
//!
//! The attributes are in the order of the certificate, separated by `, `, as OpenSSL shows them; RFC 4514 reverses the order.
//! Types without a short name are shown as object identifiers.

use std::borrow::Cow;

use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::x509::{AttributeTypeAndValue, RelativeDistinguishedName, X509Name};

/// The text of a name; `None` if an attribute is not text.
pub(crate) fn text(name: &X509Name<'_>) -> Option<String> {
    let parts = name.iter_rdn().map(part).collect::<Option<Vec<String>>>()?;
    Some(parts.join(", "))
}

fn part(part: &RelativeDistinguishedName<'_>) -> Option<String> {
    let attributes = part.iter().map(attribute).collect::<Option<Vec<String>>>()?;
    Some(attributes.join(" + "))
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let kind = attribute.attr_type();
    let kind =
        oid2abbrev(kind, oid_registry()).map_or_else(|_| Cow::Owned(kind.to_id_string()), Cow::Borrowed);
    Some(format!("{kind}={}", escaped(attribute.as_str().ok()?)))
}

// RFC 4514 §2.4: separators of attributes and values, a leading number sign and blanks at either end are escaped.
fn escaped(value: &str) -> String {
    let last = value.len().saturating_sub(1);
    let mut text = String::with_capacity(value.len());
    for (at, char) in value.char_indices() {
        match char {
            '"' | '+' | ',' | ';' | '<' | '=' | '>' | '\\' => text.extend(['\\', char]),
            '#' if at == 0 => text.push_str("\\#"),
            ' ' if at == 0 || at == last => text.push_str("\\ "),
            '\0' => text.push_str("\\00"),
            char => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_be_taken_for_attributes() {
        for (value, expected) in [
            ("a, CN=boss", r"a\, CN\=boss"),
            ("a + CN=boss", r"a \+ CN\=boss"),
            (" #a# ", r"\ #a#\ "),
            ("#a", r"\#a"),
            (r#""<>;\"#, r#"\"\<\>\;\\"#),
            ("a\0b", r"a\00b"),
            ("Müller & Söhne ", "Müller & Söhne\\ "),
            (" ", r"\ "),
            ("", ""),
        ] {
            assert_eq!(escaped(value), expected, "{value:?}");
        }
    }
}
