//! `summary.json` as a file: a written summary is read back unchanged.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keytoll_trace::regular;
use serde::Deserialize;

use super::{FORMAT, Summary};

/// Larger files are refused: a row takes some ten thousand bytes.
const BYTES_MAX: u64 = 1 << 28;

/// Why a file cannot be read as a summary.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Its content is not a summary.
    #[error("cannot use {}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ContentError,
    },
}

/// Why a text is no summary.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It is not JSON.
    #[error("it is no JSON: {0}")]
    Json(serde_json::Error),
    /// It is JSON of another kind.
    #[error("it is no summary of a run: it does not say its format")]
    Formatless,
    /// Its format is another.
    #[error("it is a summary of format {0}, and this keytoll reads format {FORMAT}")]
    Format(u64),
    /// A member is missing or invalid.
    #[error("at `{member}`: {source}")]
    Member {
        /// Its path, like `rows[2].delay_ms.p50`; `.` is the whole document.
        member: String,
        /// The error.
        source: serde_json::Error,
    },
}

/// Writes a summary as indented JSON with a final newline.
///
/// # Errors
/// It cannot be written.
pub fn write(summary: &Summary, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, summary)?;
    writeln!(out)
}

/// Reads a `summary.json`, which must be a regular file.
///
/// # Errors
/// It cannot be read, is too large, or is not a summary of this format.
pub fn read(path: &Path) -> Result<Summary, ReadError> {
    let text = regular::read_text(path, BYTES_MAX)
        .map_err(|source| ReadError::File { path: path.to_owned(), source })?;
    parse(&text).map_err(|source| ReadError::Content { path: path.to_owned(), source })
}

/// Parses a `summary.json`. Unknown members, which a later keytoll may have added, are ignored.
///
/// # Errors
/// It is not a summary of this format.
pub fn parse(text: &str) -> Result<Summary, ContentError> {
    let head: Head = serde_json::from_str(text).map_err(ContentError::of_head)?;
    match head.format {
        None => return Err(ContentError::Formatless),
        Some(format) if format != u64::from(FORMAT) => return Err(ContentError::Format(format)),
        Some(_) => {}
    }
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| ContentError::Member {
        member: error.path().to_string(),
        source: error.into_inner(),
    })
}

/// The part that every version of the interface has.
#[derive(Deserialize)]
struct Head {
    format: Option<u64>,
}

impl ContentError {
    fn of_head(error: serde_json::Error) -> Self {
        if error.is_data() { Self::Formatless } else { Self::Json(error) }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_trace::provenance::Provenance;
    use proptest::prelude::*;

    use super::super::{Cpu, Delay, LinkMeans, Memory, SummaryRow};
    use super::*;
    use crate::Named;

    fn empty() -> Summary {
        Summary {
            format: FORMAT,
            title: "a run".into(),
            seed: u64::MAX.to_string(),
            complete: true,
            provenance: None,
            rows: Vec::new(),
            beside: Vec::new(),
        }
    }

    fn text(summary: &Summary) -> String {
        let mut out = Vec::new();
        write(summary, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn complaint(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn another_format_is_refused_with_an_explanation() {
        let later = text(&empty()).replacen("\"format\": 1", "\"format\": 2", 1);
        assert_eq!(complaint(&later), "it is a summary of format 2, and this keytoll reads format 1");
        // Whatever else a later format has.
        assert_eq!(
            complaint(r#"{ "format": 3 }"#),
            "it is a summary of format 3, and this keytoll reads format 1"
        );
        for other in ["{}", "[]", "7", r#"{ "format": "1" }"#] {
            assert_eq!(complaint(other), "it is no summary of a run: it does not say its format", "{other}");
        }
        assert!(complaint("{ \"format\": 1").starts_with("it is no JSON: EOF"));
    }

    #[test]
    fn invalid_members_are_named_with_their_path() {
        let whole = Summary { rows: vec![SummaryRow::default(); 2], ..empty() };
        let value = serde_json::to_value(&whole).unwrap();
        let broken = |change: fn(&mut serde_json::Value)| {
            let mut value = value.clone();
            change(&mut value);
            complaint(&value.to_string())
        };
        let message = broken(|value| value["rows"][1]["n"] = "many".into());
        assert!(message.starts_with("at `rows[1].n`: invalid type: string \"many\""), "{message}");
        let message = broken(|value| value["rows"][0]["delay_ms"] = serde_json::json!({ "mean": 1.0 }));
        assert!(message.starts_with("at `rows[0].delay_ms`: missing field `min`"), "{message}");
        let message = broken(|value| _ = value.as_object_mut().unwrap().remove("title"));
        assert!(message.starts_with("at `.`: missing field `title`"), "{message}");
        assert!(complaint(&(text(&whole) + "{}")).starts_with("it is no JSON: trailing characters"));
    }

    #[test]
    fn unknown_members_are_ignored() {
        let later = text(&empty()).replacen("\"title\"", "\"added\": [1, { \"deep\": null }], \"title\"", 1);
        assert_eq!(parse(&later).unwrap(), empty());
    }

    #[test]
    fn a_file_is_named_and_no_link_is_followed() {
        let directory = std::env::temp_dir().join(format!("keytoll-summary-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (path, link) = (directory.join("summary.json"), directory.join("link.json"));
        let message = read(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot read {}: ", path.display())), "{message}");
        std::fs::write(&path, text(&empty())).unwrap();
        assert_eq!(read(&path).unwrap(), empty());
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let message = read(&link).unwrap_err().to_string();
        assert!(message.ends_with("it is no regular file"), "{message}");
        std::fs::write(&path, r#"{ "format": 9 }"#).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("cannot use {}: it is a summary of format 9", path.display())),
            "{message}"
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }

    /// Any finite number.
    fn number() -> impl Strategy<Value = f64> {
        any::<f64>().prop_filter("JSON has no others", |number| number.is_finite())
    }

    fn maybe() -> impl Strategy<Value = Option<f64>> {
        prop::option::of(number())
    }

    prop_compose! {
        fn delay()(
            [mean, min, p5, p50, p95, p99, max] in prop::array::uniform7(number()),
            [ci95_low, ci95_high, p50_ci95_low, p50_ci95_high, stddev] in prop::array::uniform5(maybe()),
            [p50_blocks_ci95_low, p50_blocks_ci95_high] in prop::array::uniform2(maybe()),
            [p95_ci95_low, p95_ci95_high, p99_ci95_low, p99_ci95_high] in prop::array::uniform4(maybe()),
            (n, blocks) in (any::<u64>(), prop::option::of(any::<u64>())),
        ) -> Delay {
            Delay {
                mean, ci95_low, ci95_high, min, p5, p50, p50_ci95_low, p50_ci95_high, blocks, p50_blocks_ci95_low,
                p50_blocks_ci95_high, p95, p95_ci95_low, p95_ci95_high, p99, p99_ci95_low, p99_ci95_high, max, stddev, n,
            }
        }
    }

    prop_compose! {
        fn cpu()(
            [ns, ns_p5, ns_p50, ns_p95] in prop::array::uniform4(number()),
            [ns_p50_ci95_low, ns_p50_ci95_high, cycles, cycles_p50] in prop::array::uniform4(maybe()),
            [crypto_ns, crypto_ns_p50, ns_ci95_low, ns_ci95_high] in prop::array::uniform4(maybe()),
            [ns_blocks_ci95_low, ns_blocks_ci95_high] in prop::array::uniform2(maybe()),
            (n, blocks) in (any::<u64>(), prop::option::of(any::<u64>())),
        ) -> Cpu {
            Cpu {
                ns, ns_p5, ns_p50, ns_p50_ci95_low, ns_p50_ci95_high, ns_p95, cycles, cycles_p50, crypto_ns, crypto_ns_p50,
                ns_ci95_low, ns_ci95_high, blocks, ns_blocks_ci95_low, ns_blocks_ci95_high, n, sampled: None,
            }
        }
    }

    prop_compose! {
        fn row()(
            [method, variant, network] in prop::array::uniform3(".{0,20}"),
            [delay_ms, failed_after_ms, waiting_for_repeats_ms] in prop::array::uniform3(prop::option::of(delay())),
            failures in prop::collection::btree_map(".{1,20}", any::<u64>(), 0..3),
            nodes in prop::collection::btree_map("[a-z]{1,4}", (cpu(), prop::option::of(any::<u64>()), maybe()), 0..3),
            [messages, packets, bytes, retransmissions, lost_packets] in prop::array::uniform5(number()),
            notes in prop::collection::vec(".{0,20}", 0..3),
            [n, succeeded] in prop::array::uniform2(any::<u64>()),
        ) -> SummaryRow {
            let means = LinkMeans { messages, packets, bytes, retransmissions, lost_packets };
            let memory = |peak, idle_sa| Memory { peak, stack_peak: None, idle_sa, resident_max: None };
            SummaryRow {
                method, variant, network, delay_ms, failed_after_ms, waiting_for_repeats_ms, failures, n, succeeded, notes,
                links: Named::from_iter([("ue-gw".to_owned(), means)]),
                memory_bytes:
                    nodes.iter().map(|(node, (_, peak, idle))| (node.clone(), memory(*peak, *idle))).collect(),
                cpu: nodes.into_iter().map(|(node, (cpu, ..))| (node, cpu)).collect(),
                after: Some(means),
                ..SummaryRow::default()
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(rows in prop::collection::vec(row(), 0..4), title in ".{0,40}", whole in any::<bool>()) {
            let provenance = whole.then(|| Provenance::of("0.1.0", Default::default()));
            let summary = Summary { rows, title, complete: whole, provenance, ..empty() };
            prop_assert_eq!(parse(&text(&summary)).unwrap(), summary);
        }

        #[test]
        fn no_text_is_a_panic(text in any::<String>(), cut in 0_usize..2000) {
            _ = parse(&text);
            let whole = self::text(&Summary { rows: vec![SummaryRow::default()], ..empty() });
            let end = (0..=cut.min(whole.len())).rev().find(|&end| whole.is_char_boundary(end)).unwrap();
            prop_assert_eq!(parse(&whole[..end]).is_ok(), end >= whole.trim_end().len());
        }
    }
}
