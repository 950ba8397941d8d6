//! Errors of documents: one sentence, the line, and a hint.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::text::Text;

/// Why a document cannot be used. `Display` prints one sentence; as a [`Diagnostic`] it also shows the line and a hint.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.message)]
pub struct DocumentError(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    message: String,
    hint: Option<String>,
    place: Option<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    spot: Spot,
    source: NamedSource<Arc<str>>,
    label: String,
}

/// The longest line that is shown.
const LINE_BYTES_MAX: usize = 2000;

impl DocumentError {
    /// An error without a line.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { message: message.into(), hint: None, place: None }))
    }

    /// Adds advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The name of the source, line and column, both from 1.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        let spot = &self.0.place.as_ref()?.spot;
        let before = spot.text.text.get(..spot.span.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Some((&spot.text.name, line, before[line_start..].chars().count() + 1))
    }

    /// The place, if its line is short enough to be shown: miette cannot pad further than 65 535 columns.
    fn shown(&self) -> Option<&Place> {
        let place = self.0.place.as_ref()?;
        let (text, Range { start, end }) = (&place.spot.text.text, place.spot.span.clone());
        let begin = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
        let stop = text.get(end..)?.find('\n').map_or(text.len(), |newline| end + newline);
        (stop - begin <= LINE_BYTES_MAX).then_some(place)
    }

    /// The place and its label as text, if the line is too long to be shown.
    fn told(&self) -> Option<String> {
        let ((name, line, column), place) = self.location().zip(self.0.place.as_ref())?;
        self.shown().is_none().then(|| format!("{name}, line {line}, column {column}: {}", place.label))
    }

    /// The advice, if there is any.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl Diagnostic for DocumentError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let parts: Vec<String> = self.told().into_iter().chain(self.0.hint.clone()).collect();
        (!parts.is_empty()).then(|| Box::new(parts.join("; ")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.shown().map(|place| &place.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.shown()?;
        let label = LabeledSpan::new_with_span(Some(place.label.clone()), place.spot.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// A place in a text.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The text.
    pub text: Arc<Text>,
    /// The bytes from and to.
    pub span: Range<usize>,
}

impl Spot {
    /// The start of the text, for missing keys.
    pub fn start(&self) -> Self {
        Self { text: Arc::clone(&self.text), span: 0..0 }
    }

    /// An error at this place; the label stands under the line.
    pub fn error(&self, message: impl Into<String>, label: impl Into<String>) -> DocumentError {
        let source = NamedSource::new(&self.text.name, Arc::clone(&self.text.shown));
        let place = Place { spot: self.clone(), source, label: label.into() };
        DocumentError(Box::new(Inner { message: message.into(), hint: None, place: Some(place) }))
    }

    /// An error about a name that is not one of `allowed`.
    pub fn unknown(&self, noun: &str, name: &str, allowed: &[&str]) -> DocumentError {
        self.error(format!("unknown {noun} `{name}`"), format!("no such {noun}")).hint(choice(name, allowed))
    }
}

/// "did you mean `a`? allowed: `a`, `b`", or how to write several values.
pub fn choice(name: &str, allowed: &[&str]) -> String {
    let list = allowed.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match nearest(name, allowed) {
        _ if name.contains(',') => format!("several are written `[\"a\", \"b\"]`; allowed: {list}"),
        Some(nearest) => format!("did you mean `{nearest}`? allowed: {list}"),
        None => format!("allowed: {list}"),
    }
}

/// The allowed name closest to `name`, within a typing error or two.
pub fn nearest<'a>(name: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let best = allowed.iter().copied().min_by_key(|other| distance(other))?;
    // At most a third of the letters may differ.
    (distance(best) <= name.chars().count().max(3) / 3).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_found() {
        let names = ["ikev2-psk", "ikev2-rsa2048", "ikev2-ecdsa-p256"];
        assert_eq!(nearest("ikev2-pks", &names), Some("ikev2-psk"));
        assert_eq!(nearest("IKEv2-RSA-2048", &names), Some("ikev2-rsa2048"));
        assert_eq!(nearest("kerberos", &names), None);
        assert_eq!(nearest("", &names), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_not_shown() {
        let text = format!("a = 1\n{} = 1\n", "b".repeat(70_000));
        let at = |span: Range<usize>| {
            Spot { text: Arc::new(Text::new("d.toml", &text)), span }.error("wrong", "this is wrong")
        };
        let short = at(0..1);
        assert!(short.source_code().is_some() && short.labels().is_some() && short.help().is_none());
        let long = at(70_000..70_001).hint("write less");
        assert!(long.source_code().is_none() && long.labels().is_none());
        let told = long.help().unwrap().to_string();
        assert_eq!(told, "d.toml, line 2, column 69995: this is wrong; write less");
    }
}
