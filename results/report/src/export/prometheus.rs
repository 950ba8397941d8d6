//! Prometheus's text exposition format, version 0.0.4.

use std::fmt::Write as _;

/// What kind of numbers a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They only grow.
    Counter,
    /// They grow and shrink.
    Gauge,
    /// Quantiles and their count.
    Summary,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Summary => "summary",
        }
    }
}

/// A number with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Behind the name of the family, such as `_count` of a summary.
    pub suffix: &'static str,
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// The number.
    pub value: f64,
}

impl Sample {
    /// One without labels.
    pub const fn plain(value: f64) -> Self {
        Self { suffix: "", labels: Vec::new(), value }
    }

    /// One with a label.
    pub fn labelled(name: &str, of: &str, value: f64) -> Self {
        Self { suffix: "", labels: vec![(name.to_owned(), of.to_owned())], value }
    }
}

/// Whether a file that begins like this is a page of ours: the name of one of its first families begins with `keytoll_`.
pub fn is_page(beginning: &[u8]) -> bool {
    let mut lines = beginning.split(|byte| *byte == b'\n');
    beginning.starts_with(b"# HELP ") && lines.any(|line| line.starts_with(b"# TYPE keytoll_"))
}

/// A page of metrics.
#[derive(Debug, Default)]
pub struct Metrics(String);

impl Metrics {
    /// Writes a family. Its name and those of labels must be [`name`]s.
    pub fn family(&mut self, name: &str, about: &str, kind: Kind, samples: impl IntoIterator<Item = Sample>) {
        let about = lines(about);
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {about}\n# TYPE {name} {}", kind.name());
        for Sample { suffix, labels, value } in samples {
            let _ = writeln!(self.0, "{name}{suffix}{} {}", braced(&labels), number(value));
        }
    }

    /// The page.
    pub fn text(self) -> String {
        self.0
    }
}

fn braced(labels: &[(String, String)]) -> String {
    let of = |(name, value): &(String, String)| format!("{name}=\"{}\"", lines(value).replace('"', "\\\""));
    let all: Vec<String> = labels.iter().map(of).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// Lines as one, of letters that are escaped nowhere after this.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| super::fit(line).replace('\\', "\\\\")).collect();
    lines.join("\\n")
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// A text as a part of a metric's name or of a label's: letters, digits and single underscores.
pub fn name(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => out.push(letter.to_ascii_lowercase()),
            '+' => out.push_str("more_"),
            'µ' => out.push('u'),
            _ if out.is_empty() || out.ends_with('_') => {}
            _ => out.push('_'),
        }
    }
    out.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut metrics = Metrics::default();
        let samples =
            [Sample::labelled("reason", "a \"b\"\n\\\r\u{202e}", 2.0), Sample::plain(f64::INFINITY)];
        metrics.family("keytoll_failed_total", "of\nwhat \\", Kind::Counter, samples);
        let expected = "# HELP keytoll_failed_total of\\nwhat \\\\\n# TYPE keytoll_failed_total counter\n\
                        keytoll_failed_total{reason=\"a \\\"b\\\"\\n\\\\  \"} 2\nkeytoll_failed_total +Inf\n";
        assert_eq!(metrics.text(), expected);
    }

    #[test]
    fn names_have_letters_digits_and_underscores() {
        let names =
            ["Delay from the intended start, ms", "p99.99", "sent ×", "+bytes", "ns/pkt (busy)", "peak/s"]
                .map(name);
        assert_eq!(
            names,
            ["delay_from_the_intended_start_ms", "p99_99", "sent", "more_bytes", "ns_pkt_busy", "peak_s"]
        );
    }
}
