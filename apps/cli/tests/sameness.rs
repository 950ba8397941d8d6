//! Same plan, seed and cost table, same bytes: with any number of threads, and of each row alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scratch::keytoll;

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-sameness-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Runs a scenario in a process of its own.
    fn run(&self, name: &str, scenario: &str, threads: &str) -> PathBuf {
        let (file, out) = (self.0.join("scenario.toml"), self.0.join(name));
        fs::write(&file, scenario).unwrap();
        let paths = [&file, &out].map(|path| path.to_str().unwrap());
        let done = keytoll(&["run", paths[0], "--threads", threads, "--out", paths[1]]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Everything that a run keeps of one of its rows: trace, costs, lines of tables and its row of the summary.
#[derive(Debug, PartialEq)]
struct OfRow {
    facts: Vec<Vec<u8>>,
    lines: Vec<String>,
    summary: Value,
}

const TABLES: [&str; 3] = ["samples.csv", "operations.csv", "messages.csv"];

/// The part of a run that belongs to one of its rows.
fn of_row(run: &Path, index: usize, method: &str) -> OfRow {
    let facts = [format!("trace/{index:03}.trace"), format!("costs/{index:03}.costs")];
    let is_of_row = |line: &&str| line.starts_with(&format!("{method},"));
    let lines = |table: &str| {
        let text = fs::read_to_string(run.join(table)).unwrap();
        let lines: Vec<String> = text.lines().filter(is_of_row).map(str::to_owned).collect();
        assert!(!lines.is_empty(), "{table} has no line of {method}");
        lines
    };
    let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    OfRow {
        facts: facts.map(|name| fs::read(run.join(name)).unwrap()).into(),
        lines: TABLES.into_iter().flat_map(lines).collect(),
        summary: summary["rows"][index].clone(),
    }
}

/// Enough authentications that small lists of nodes become maps. HIP makes real keys with any cryptography.
const ROWS: [&str; 3] = ["ikev2-psk", "ikev2-eap-aka", "hip-dex"];

fn scenario(methods: &[&str], more: &str) -> String {
    let costs = "crypto = \"table\"\ncosts = \"reference\"\n";
    format!("title = \"same\"\nseed = 1\n{costs}networks = \"lte\"\nmethods = {methods:?}\n{more}")
}

#[test]
fn a_row_has_the_same_bytes_with_any_threads_and_alone() {
    let scratch = Scratch::new("rows");
    let authentications = |methods: &[&str]| scenario(methods, "samples = 12\n");
    let whole = scratch.run("first", &authentications(&ROWS), "1");
    let rows = [0, 1, 2].map(|index| of_row(&whole, index, ROWS[index]));
    assert_ne!(rows[0].facts, rows[1].facts);
    for again in ["second", "third", "fourth"] {
        let run = scratch.run(again, &authentications(&ROWS), "2");
        for (index, row) in rows.iter().enumerate() {
            assert_same(
                row,
                &of_row(&run, index, ROWS[index]),
                &format!("{} of the {again} run", ROWS[index]),
            );
        }
    }
    for (row, method) in rows.iter().zip(ROWS) {
        let alone = scratch.run(method, &authentications(&[method]), "1");
        assert_same(row, &of_row(&alone, 0, method), &format!("{method} alone"));
    }
}

/// Names the first difference only: files are long.
fn assert_same(one: &OfRow, other: &OfRow, what: &str) {
    let mut lines = one.lines.iter().zip(&other.lines);
    let differing = lines.find(|(line, same)| line != same);
    assert_eq!(differing, None, "{what}");
    assert!(one.facts == other.facts, "trace or costs of {what} differ");
    assert!(one == other, "tables of {what} differ: {} {}", one.summary, other.summary);
}

fn crowd(methods: &[&str]) -> String {
    scenario(methods, "[population]\ndevices = 60\narrivals = \"storm 60 in 2 s\"\n")
}

/// The heap of each device, too.
#[test]
fn a_population_has_the_same_bytes_with_any_threads_and_alone() {
    let scratch = Scratch::new("populations");
    let of_run = |run: &Path, index: usize| {
        let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
        summary["rows"][index].clone()
    };
    let methods = &ROWS[..2];
    let whole = scratch.run("first", &crowd(methods), "1");
    let threads = scratch.run("second", &crowd(methods), "2");
    for (index, method) in methods.iter().enumerate() {
        let row = of_run(&whole, index);
        assert!(row["population"]["bytes_per_device"].as_f64().unwrap() > 1000.0, "{row}");
        assert_eq!(row, of_run(&threads, index), "{method} on two threads");
        assert_eq!(row, of_run(&scratch.run(method, &crowd(&[method]), "1"), 0), "{method} alone");
    }
}
