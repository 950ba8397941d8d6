//! Same plan and seed, same bytes with a cost table and without cryptography: with any number of threads, and of each row alone.
//! `packaging/same-bytes.sh` compares builds.

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

/// Everything that a run keeps of one of its rows and that repeats: trace, costs, lines of tables and its row of the summary.
#[derive(Debug, PartialEq)]
struct OfRow {
    facts: Vec<Vec<u8>>,
    lines: Vec<String>,
    summary: Value,
}

const TABLES: [&str; 3] = ["samples.csv", "operations.csv", "messages.csv"];

/// The part of a run that belongs to one of its rows. Without cryptography CPU times are measured, and left out.
fn of_row(run: &Path, index: usize, method: &str) -> OfRow {
    let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    let mut summary = summary["rows"][index].clone();
    let is_timed = summary["crypto"] == "null";
    let costs = (!is_timed).then(|| format!("costs/{index:03}.costs"));
    let facts = std::iter::once(format!("trace/{index:03}.trace")).chain(costs);
    if is_timed {
        leave_out_times(&mut summary);
    }
    OfRow {
        facts: facts.map(|name| fs::read(run.join(name)).unwrap()).collect(),
        lines: TABLES.into_iter().flat_map(|table| lines(&run.join(table), method, is_timed)).collect(),
        summary,
    }
}

fn leave_out_times(row: &mut Value) {
    let row = row.as_object_mut().unwrap();
    assert!(row["memory_bytes"]["gw"]["peak"].as_f64().is_none_or(|bytes| bytes > 1000.0), "{row:?}");
    for timed in ["cpu", "disturbed"] {
        row.remove(timed);
    }
    let notes = row["notes"].as_array_mut().unwrap();
    notes.retain(|note| !note.as_str().unwrap().starts_with("disturbed"));
}

/// The lines of a method, without the columns of CPU times if these are measured. Heap stays.
fn lines(table: &Path, method: &str, is_timed: bool) -> Vec<String> {
    let text = fs::read_to_string(table).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let is_left_out = |column: &str| is_timed && (column.ends_with("_cpu_ns") || column == "disturbed");
    let kept = |line: &str| -> String {
        let fields = line.split(',').zip(&head).filter(|(_, column)| !is_left_out(column));
        fields.map(|(field, _)| format!("{field},")).collect()
    };
    let is_of_row = |line: &&str| line.starts_with(&format!("{method},"));
    let lines: Vec<String> = text.lines().filter(is_of_row).map(kept).collect();
    assert!(!lines.is_empty(), "{} has no line of {method}", table.display());
    lines
}

/// What repeats to the byte.
const TABLE: &str = "crypto = \"table\"\ncosts = \"reference\"\n";
const NULL: &str = "crypto = \"null\"\n";

/// A scenario with a row for each method: over LTE, or of a wireless LAN.
fn scenario(head: &str, methods: &[&str]) -> String {
    let row = |method: &&str| {
        let is_wireless = method.starts_with("wpa");
        let place = if is_wireless { "network = 'wlan-11g'\ntopology = 'wlan'" } else { "network = 'lte'" };
        format!("[[row]]\nmethod = '{method}'\n{place}\n")
    };
    format!("title = 'same'\n{head}{}", methods.iter().map(row).collect::<String>())
}

/// Enough authentications that small lists of nodes become maps.
fn authentications(crypto: &str, seed: u64, methods: &[&str]) -> String {
    scenario(&format!("seed = {seed}\n{crypto}samples = 12\n"), methods)
}

/// HIP makes real keys with any cryptography.
const METHODS: [&str; 3] = ["ikev2-psk", "ikev2-eap-aka", "hip-dex"];

#[test]
fn a_row_has_the_same_bytes_with_any_threads_and_alone() {
    assert_same_rows("rows", TABLE, &METHODS);
}

/// Each family, IKEv1 and v2, and EAP with and without TLS.
const FAMILIES: [&str; 7] = [
    "ikev1-main-psk",
    "ikev2-rsa2048",
    "ikev2-eap-aka",
    "ikev2-eap-peap-mschapv2",
    "hip-dex-aka",
    "wpa3-eap-tls",
    "knock-psk",
];

#[test]
fn without_cryptography_a_row_has_the_same_bytes_with_any_threads_and_alone() {
    assert_same_rows("null", NULL, &FAMILIES);
}

/// Runs a plan several times and each row alone. Another seed has other bytes, so that the comparison can fail.
fn assert_same_rows(name: &str, crypto: &str, methods: &[&str]) {
    let scratch = Scratch::new(name);
    let of_run = |run: &Path| -> Vec<OfRow> {
        methods.iter().enumerate().map(|(index, method)| of_row(run, index, method)).collect()
    };
    let run =
        |name, seed, threads| of_run(&scratch.run(name, &authentications(crypto, seed, methods), threads));
    let rows = run("first", 1, "1");
    for again in ["second", "third", "fourth"] {
        for ((row, same), method) in rows.iter().zip(run(again, 1, "2")).zip(methods) {
            assert_same(row, &same, &format!("{method} of the {again} run"));
        }
    }
    for (row, method) in rows.iter().zip(methods) {
        let alone = scratch.run(method, &authentications(crypto, 1, &[method]), "1");
        assert_same(row, &of_row(&alone, 0, method), &format!("{method} alone"));
    }
    for ((row, other), method) in rows.iter().zip(run("control", 2, "1")).zip(methods) {
        assert_ne!(row.facts[0], other.facts[0], "trace of {method} with another seed");
        assert_ne!(row.summary, other.summary, "summary of {method} with another seed");
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

fn crowd(crypto: &str, methods: &[&str]) -> String {
    let population = "[population]\ndevices = 60\narrivals = 'storm 60 in 2 s'\n";
    scenario(&format!("seed = 1\n{crypto}{population}"), methods)
}

/// The heap of each device, too.
#[test]
fn a_population_has_the_same_bytes_with_any_threads_and_alone() {
    for (name, crypto) in [("table", TABLE), ("null", NULL)] {
        let scratch = Scratch::new(&format!("populations-{name}"));
        let methods = &METHODS[..2];
        let whole = scratch.run("first", &crowd(crypto, methods), "1");
        let threads = scratch.run("second", &crowd(crypto, methods), "2");
        for (index, method) in methods.iter().enumerate() {
            let row = population(&whole, index);
            assert!(row["population"]["bytes_per_device"].as_f64().unwrap() > 1000.0, "{row}");
            assert_eq!(row, population(&threads, index), "{method} on two threads, {name}");
            let alone = scratch.run(method, &crowd(crypto, &[method]), "1");
            assert_eq!(row, population(&alone, 0), "{method} alone, {name}");
        }
    }
}

/// A row of the summary of a population.
fn population(run: &Path, index: usize) -> Value {
    let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    summary["rows"][index].clone()
}
