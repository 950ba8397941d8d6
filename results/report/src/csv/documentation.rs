//! The documentation of the CSV files: their columns as data, and as `docs/columns.md`. Both are generated from the column
//! definitions, so that they are complete.

use std::fmt::Write;

use keytoll_analysis::samples::SAMPLES;
use keytoll_analysis::trace::listing::{GATEWAYS, SERIES};

use super::parts;
use crate::columns::authentication::{BLOCK, IDENTITY, SAMPLE, SAMPLE_ADDED};
use crate::columns::field::{Field, Holds};
use crate::columns::kinds::{MESSAGES, OPERATIONS};
use crate::columns::population::{POINT, POINT_ADDED, POINT_GATEWAY, POINT_NODE, POINT_NODE_ADDED, SERVING};
use crate::columns::{links, moves, nodes, traffic};

/// A column of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// Its name.
    pub name: String,
    /// What a cell holds.
    pub holds: Holds,
    /// The unit; empty for names and numbers without unit.
    pub unit: &'static str,
    /// The meaning.
    pub meaning: &'static str,
}

/// A CSV file of a run.
#[derive(Debug, Clone, Copy)]
pub struct CsvFile {
    /// Its name.
    pub name: &'static str,
    /// Computes its columns.
    pub columns: fn() -> Vec<FileColumn>,
}

/// Every CSV file of a run.
pub const FILES: [CsvFile; 5] = [
    CsvFile { name: SAMPLES, columns: sample_columns },
    CsvFile { name: "operations.csv", columns: operation_columns },
    CsvFile { name: "messages.csv", columns: message_columns },
    CsvFile { name: SERIES, columns: series_columns },
    CsvFile { name: GATEWAYS, columns: gateway_columns },
];

/// The columns of `samples.csv`.
pub fn sample_columns() -> Vec<FileColumn> {
    documented("", &IDENTITY).into_iter().chain(parts().flat_map(|part| part.documented())).collect()
}

/// The columns of `operations.csv`.
pub fn operation_columns() -> Vec<FileColumn> {
    documented("", &IDENTITY).into_iter().chain(documented("", &OPERATIONS)).collect()
}

/// The columns of `messages.csv`.
pub fn message_columns() -> Vec<FileColumn> {
    documented("", &IDENTITY).into_iter().chain(documented("", &MESSAGES)).collect()
}

/// The columns of `series.csv`.
pub fn series_columns() -> Vec<FileColumn> {
    let of_nodes = |columns: &[Field<_>]| {
        SERVING.iter().flat_map(|node| documented(&format!("{node}_"), columns)).collect()
    };
    let parts = [
        documented("", &IDENTITY),
        documented("", &POINT),
        of_nodes(&POINT_NODE),
        documented("", &POINT_ADDED),
        of_nodes(&POINT_NODE_ADDED),
    ];
    parts.concat()
}

/// The columns of `gateways.csv`.
pub fn gateway_columns() -> Vec<FileColumn> {
    documented("", &IDENTITY).into_iter().chain(own_gateway_columns()).collect()
}

/// Those that other files do not have.
fn own_gateway_columns() -> Vec<FileColumn> {
    let parts = [
        documented("", &POINT[..1]),
        documented("", &POINT_GATEWAY),
        documented("", &POINT_NODE),
        documented("", &POINT_NODE_ADDED),
    ];
    parts.concat()
}

/// Columns, with a prefix for the name of each.
pub(super) fn documented<Of>(before: &str, columns: &[Field<Of>]) -> Vec<FileColumn> {
    let documented = |&Field { name, holds, unit, meaning, .. }: &Field<Of>| FileColumn {
        name: format!("{before}{name}"),
        holds,
        unit,
        meaning,
    };
    columns.iter().map(documented).collect()
}

/// The placeholder of the link in a name.
const ANY_LINK: &str = "LINK_";

/// The placeholder of the node in a name.
const ANY_NODE: &str = "NODE_";

const HEAD: &str = "# Columns of the CSV files\n
An empty cell means unknown, or not measured. Only in the columns of a `LINK` does it mean zero: no packet crossed this link during the
authentication, and means in `summary.json` count it as 0. `keytoll export RUN --format parquet` writes each file with typed columns
(texts in UTF-8, whole numbers as 64-bit integers, numbers as 64-bit floats, `true` or `false` as
booleans) and with a null for an empty cell, but for those that name the row of the run. Columns are only ever added, at the end. `LINK`
stands for the two ends of a link (`ue_gw`, `gw_aaa`, `aaa_hss`, `gw_hss`, `ue_ap`, `ap_aaa`), `NODE` for a node (`ue`, `gw`, `aaa`,
`hss`, `ap`).
Several gateways are `gw` together in `series.csv`: the means of their cores and queues, the longest queue, the sum of discards.
Made of `results/report/src/columns/`: `UPDATE_COLUMNS=1 cargo test -p keytoll-report columns`.\n";

/// All of it as Markdown.
pub fn markdown() -> String {
    let samples = [
        documented("", &SAMPLE),
        documented(ANY_LINK, &links::LINK),
        documented(ANY_NODE, &nodes::NODE),
        documented("", &traffic::SAMPLE),
        documented("", &SAMPLE_ADDED),
        documented("", &moves::SAMPLE),
        documented("", &BLOCK),
    ];
    let titled = [
        ("Every file begins with these, which name the row of the run", documented("", &IDENTITY)),
        ("`samples.csv`: a line for each authentication", samples.concat()),
        (
            "`operations.csv`: a line for each crypto operation of a row of the run",
            documented("", &OPERATIONS),
        ),
        ("`messages.csv`: a line for each kind of message of a row of the run", documented("", &MESSAGES)),
        (
            "`series.csv`: a line for each second of a population",
            [
                documented("", &POINT),
                documented(ANY_NODE, &POINT_NODE),
                documented("", &POINT_ADDED),
                documented(ANY_NODE, &POINT_NODE_ADDED),
            ]
            .concat(),
        ),
        ("`gateways.csv`: a line for each second of each of several gateways", own_gateway_columns()),
    ];
    titled.iter().fold(HEAD.to_owned(), |text, (title, columns)| text + &table(title, columns))
}

fn table(title: &str, columns: &[FileColumn]) -> String {
    let mut text = format!("\n## {title}\n\n| column | holds | unit | what it is |\n|---|---|---|---|\n");
    for FileColumn { name, holds, unit, meaning } in columns {
        let _ = writeln!(text, "| `{name}` | {} | {unit} | {meaning} |", holds.words());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = FileColumn> {
        FILES.iter().flat_map(|file| (file.columns)())
    }

    #[test]
    fn the_published_columns_are_these() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/columns.md");
        if std::env::var_os("UPDATE_COLUMNS").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), markdown());
    }

    #[test]
    fn every_column_that_is_written_is_documented() {
        let text = markdown();
        for FileColumn { name, meaning, .. } in all() {
            let is_told = |line: &str| line.ends_with(&format!(" | {meaning} |"));
            assert!(!meaning.is_empty() && text.lines().any(is_told), "{name}");
        }
    }

    /// The name of a measured value has its unit; that of a counted one has what is counted, or `count`.
    #[test]
    fn units_are_in_the_names() {
        for FileColumn { name, unit, .. } in all() {
            let has = |word: &str| name.split('_').any(|part| part == word);
            let is_named = match unit {
                "" => !["ns", "bytes", "s", "count"].into_iter().any(has),
                "bits per second" => name.ends_with("_bits_per_s"),
                "ns" | "bytes" => has(unit),
                "messages" => has("messages") || has("retransmissions") || has("discards") || has("count"),
                "rekeyings" => has("rekeys"),
                counted => has(counted) || has("count"),
            };
            assert!(is_named, "{name} in {unit}");
        }
    }
}
